//! Deep-analysis jobs: from request to report, through a full queue, a termination and a stop.

mod storage;

use std::{path::Path, sync::Arc};

use load::Dataset;
use model::{address::Address, error::Code, progress::Progress};
use query::{
    document::{self, DocumentForm},
    jobs::{Analysis, Job, JobBody, JobOptions, JobStatus, Jobs, TOKENS_MAX, TaskStatus},
    queries::{dexes::DexListQuery, token::TokenQuery},
    service::{QueryService, ServiceEvent, ServiceOptions},
};
use tempfile::TempDir;

use crate::wait::wait_until;

/// The first token has candles and a pool, the others nothing.
fn token(i: usize) -> Address {
    Address::parse(&format!("0x{:040x}", i + 0xa000)).expect("an address")
}

fn one(i: usize) -> JobBody {
    JobBody::One {
        token_address: token(i),
    }
}

fn several(token_addresses: Vec<Address>) -> JobBody {
    JobBody::Several { token_addresses }
}

fn service(folder: &Path) -> Arc<QueryService> {
    let rows = |header: &str, rows: Vec<String>| format!("{header}\n{}\n", rows.join("\n"));
    let tokens = (0..TOKENS_MAX)
        .map(|i| format!("{},T{i},Token {i},eth,{}", token(i), i + 1))
        .collect();
    let tokens = rows("token_address,symbol,name,chain,price", tokens);
    let candle = |day: i64| {
        let close = 100 + day;
        format!(
            "{},{},{close},{},{},{close},5",
            token(0),
            1_700_006_400 + day * 86_400,
            close + 2,
            close - 2
        )
    };
    let candles = rows(
        "token_address,timestamp,open,high,low,close,volume",
        (0..40).map(candle).collect(),
    );
    let pools = format!(
        "address,dex_id,chain,token0,token1,liquidity,volume24h\n0x{:040x},uniswap-v3,eth,{},{},1000,50\n",
        0xb000,
        token(0),
        token(1)
    );
    for (name, text) in [
        ("tokens.csv", tokens),
        ("candles.csv", candles),
        ("pools.csv", pools),
    ] {
        std::fs::write(folder.join(name), text).expect("a dataset is written");
    }
    let service = QueryService::new(
        folder,
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .expect("a query service");
    service.load().expect("the dataset loads");
    service
}

struct Bench {
    data: TempDir,
    state: TempDir,
    service: Arc<QueryService>,
}

fn bench() -> Bench {
    let data = tempfile::tempdir().expect("a folder");
    Bench {
        service: service(data.path()),
        data,
        state: tempfile::tempdir().expect("a folder"),
    }
}

impl Bench {
    fn open(&self, workers: usize) -> Arc<Jobs> {
        Jobs::open(
            self.state.path(),
            Arc::clone(&self.service),
            JobOptions {
                workers,
                ..JobOptions::default()
            },
        )
        .expect("the jobs open")
    }

    fn store(&self) -> std::path::PathBuf {
        self.state.path().join("jobs.sqlite")
    }
}

fn ended(jobs: &Jobs, id: &str) -> Job {
    wait_until("the job ends", || {
        jobs.job(id).expect("the job").status.ended()
    });
    jobs.job(id).expect("the job")
}

fn count_of(job: &Job, status: TaskStatus) -> usize {
    job.tasks
        .iter()
        .filter(|task| task.status == status)
        .count()
}

fn everything(count: usize) -> Vec<Address> {
    (0..count).map(token).collect()
}

#[test]
fn a_job_goes_from_the_queue_to_its_report() {
    let bench = bench();
    let mut events = bench.service.listen();
    let jobs = bench.open(1);
    let created = jobs
        .create(&several(vec![token(0), token(7), token(0)]))
        .expect("created");
    assert_eq!(
        (created.status, created.tokens_used, created.tasks.len()),
        (JobStatus::Queued, 0, 12)
    );
    let words: Vec<_> = created
        .tasks
        .iter()
        .map(|task| task.task_id.split('-').next().unwrap_or_default())
        .collect();
    assert_eq!(
        words[..6],
        [
            "market",
            "trendline",
            "patterns",
            "security",
            "dex",
            "holders"
        ]
    );
    assert!(
        created
            .tasks
            .iter()
            .all(|task| task.status == TaskStatus::Queued
                && task.description.ends_with(" T0") | task.description.ends_with(" T7"))
    );

    let job = ended(&jobs, &created.job_id);
    assert_eq!((job.status, job.tokens_used), (JobStatus::Completed, 2));
    let task = |i: usize, analysis: Analysis| &job.tasks[i * 6 + analysis as usize];
    for (i, analysis, status, part) in [
        (0, Analysis::Market, TaskStatus::Completed, "T0"),
        (0, Analysis::Trendline, TaskStatus::Completed, "T0"),
        (0, Analysis::Security, TaskStatus::Skipped, "contracts"),
        (0, Analysis::Dex, TaskStatus::Completed, "T0"),
        (0, Analysis::Holders, TaskStatus::Skipped, "no holder"),
        (1, Analysis::Market, TaskStatus::Completed, "T7"),
        (1, Analysis::Trendline, TaskStatus::Skipped, "No candles"),
        (1, Analysis::Patterns, TaskStatus::Skipped, "No candles"),
        (1, Analysis::Dex, TaskStatus::Skipped, "no pool"),
    ] {
        let task = task(i, analysis);
        assert_eq!(task.status, status, "{task:?}");
        assert!(task.description.contains(part), "{task:?}");
    }

    let report = jobs.report(&job.job_id).expect("a report");
    let market = bench
        .service
        .answer(
            &TokenQuery {
                token_address: token(0),
                explain: false,
            },
            &Progress::default(),
        )
        .expect("an answer");
    let dexes = bench
        .service
        .answer(
            &DexListQuery {
                contract_address: token(0),
                explain: false,
            },
            &Progress::default(),
        )
        .expect("an answer");
    assert_eq!(
        report
            .tokens
            .iter()
            .map(|token| token.token_address)
            .collect::<Vec<_>>(),
        [token(0), token(7)]
    );
    assert_eq!(
        report.tokens[0]
            .token
            .as_ref()
            .map(|part| part.get().as_bytes()),
        Some(&market.json[..])
    );
    assert_eq!(
        report.tokens[0]
            .dexes
            .as_ref()
            .map(|part| part.get().as_bytes()),
        Some(&dexes.json[..])
    );
    let json = serde_json::to_value(&report).expect("JSON");
    let error = &json["tokens"][1]["trendline"]["error"];
    assert_eq!(
        (error["status"].as_u64(), error["code"].as_str()),
        (Some(404), Some("no_candles"))
    );
    assert_eq!(
        error["instance"].as_str(),
        Some(format!("/technical/{}/trendline", token(7)).as_str())
    );

    wait_until(
        "listeners hear of it",
        || matches!(events.try_recv(), Ok(ServiceEvent::JobUpdated(id)) if id == job.job_id),
    );
    wait_until("it is open no more", || jobs.open_count() == 0);
    let progress = jobs.progress(&job.job_id).expect("progress");
    assert!(
        progress.len() == 12
            && progress
                .iter()
                .all(|task| (task.done, task.total) == (1, 1))
    );
    assert_eq!(
        jobs.terminate(&job.job_id).map_err(|problem| problem.code),
        Err(Code::JobEnded)
    );
}

#[test]
fn a_report_keeps_the_sources_its_job_read() {
    let bench = bench();
    let jobs = bench.open(1);
    let id = jobs.create(&one(0)).expect("a job").job_id;
    ended(&jobs, &id);
    let sources = || {
        let report = jobs.report(&id).expect("a report");
        let text = document::of_job(&bench.service, &report, &Progress::default())
            .expect("a document")
            .write(DocumentForm::Markdown);
        text.split_once("## Sources")
            .or_else(|| text.split_once("## sources"))
            .expect("the sources")
            .1
            .to_owned()
    };
    let before = sources();
    assert!(
        before.contains("| tokens | 100 |") && before.contains("pools.csv"),
        "{before}"
    );
    // The files change, but not the report: the job read the old ones.
    std::fs::remove_file(bench.data.path().join("pools.csv")).expect("removed");
    std::fs::write(
        bench.data.path().join("tokens.csv"),
        format!("token_address,symbol,name,chain\n{},T0,T,eth\n", token(0)),
    )
    .expect("written");
    bench.service.load().expect("the dataset loads");
    assert_eq!(sources(), before);
    assert!(
        !before.contains("newer") && !before.contains("after the job"),
        "{before}"
    );
}

#[test]
fn a_refused_job_names_the_wrong_member() {
    let bench = bench();
    let jobs = bench.open(0);
    let stranger = Address([9; 20]);
    for (tokens, part) in [
        (vec![], "0 tokens"),
        (vec![stranger], "`/token_addresses/0`"),
        (vec![token(0), token(0), stranger], "`/token_addresses/2`"),
        ((0..=TOKENS_MAX).map(token).collect(), "101 tokens"),
    ] {
        let problem = jobs.create(&several(tokens)).expect_err(part);
        assert!(
            problem.code == Code::InvalidValue && problem.detail.contains(part),
            "{problem:?}"
        );
    }
    for id in [
        "",
        "j_",
        "' OR 1=1 --",
        "j_00000000000000000000000000",
        &"x".repeat(10_000),
    ] {
        let codes = [
            jobs.job(id).map(drop),
            jobs.report(id).map(drop),
            jobs.terminate(id).map(drop),
            jobs.progress(id).map(drop),
        ];
        for outcome in codes {
            let problem = outcome.expect_err(id);
            assert!(
                problem.code == Code::JobNotFound && problem.detail.len() < 300,
                "{problem:?}"
            );
        }
    }
    let empty = QueryService::new(
        bench.data.path(),
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .expect("a query service");
    let other = tempfile::tempdir().expect("a folder");
    let loading = Jobs::open(other.path(), empty, JobOptions::default()).expect("jobs");
    assert_eq!(
        loading.create(&one(0)).map_err(|problem| problem.code),
        Err(Code::Loading)
    );
    jobs.stop();
    assert_eq!(
        jobs.create(&one(0)).map_err(|problem| problem.code),
        Err(Code::ShuttingDown)
    );
}

#[test]
fn the_list_is_paged_newest_first() {
    let bench = bench();
    let jobs = bench.open(0);
    let ids: Vec<_> = (0..5)
        .map(|i| jobs.create(&one(i)).expect("created").job_id)
        .collect();
    let page = |page, limit| {
        let list = jobs.list(page, limit).expect("a list");
        assert_eq!(list.0, 5);
        list.1.into_iter().map(|job| job.job_id).collect::<Vec<_>>()
    };
    assert_eq!(page(1, 2), [ids[4].clone(), ids[3].clone()]);
    assert_eq!(page(3, 2), [ids[0].clone()]);
    assert_eq!(page(4, 2), Vec::<String>::new());
    assert_eq!(page(1_000_000_000, 250), Vec::<String>::new());
    assert_eq!(page(u64::MAX, u64::MAX), Vec::<String>::new());
}

#[test]
fn a_full_queue_refuses_until_a_job_leaves_it() {
    let bench = bench();
    let options = JobOptions {
        workers: 0,
        queue: 2,
        ..JobOptions::default()
    };
    let jobs = Jobs::open(bench.state.path(), Arc::clone(&bench.service), options).expect("jobs");
    let first = jobs.create(&one(0)).expect("room").job_id;
    jobs.create(&one(1)).expect("room");
    assert_eq!(
        jobs.create(&one(2)).map_err(|problem| problem.code),
        Err(Code::Busy)
    );
    let terminated = jobs.terminate(&first).expect("terminated");
    assert_eq!(terminated.status, JobStatus::Terminated);
    assert!(
        terminated.tasks.len() == 6
            && terminated
                .tasks
                .iter()
                .all(|task| task.status == TaskStatus::Skipped
                    && task.description.contains("terminated"))
    );
    jobs.create(&one(2)).expect("room again");
}

#[test]
fn a_running_job_can_be_terminated_and_keeps_what_it_found() {
    let bench = bench();
    let jobs = bench.open(1);
    let mut caught = None;
    // The job may end before it is terminated: then retry.
    for _ in 0..20 {
        let id = jobs
            .create(&several(everything(TOKENS_MAX)))
            .expect("created")
            .job_id;
        wait_until("the job reads a token", || {
            jobs.job(&id).expect("the job").tokens_used > 0
        });
        if let Ok(job) = jobs.terminate(&id) {
            caught = Some(job);
            break;
        }
    }
    let job = caught.expect("a job is caught running");
    assert_eq!(job.status, JobStatus::Terminated);
    assert_eq!(
        count_of(&job, TaskStatus::Queued) + count_of(&job, TaskStatus::Running),
        0
    );
    assert!(count_of(&job, TaskStatus::Skipped) > 0);
    let next = jobs.create(&one(0)).expect("created");
    assert_eq!(
        ended(&jobs, &next.job_id).status,
        JobStatus::Completed,
        "the worker is free again"
    );
    assert_eq!(
        jobs.job(&job.job_id).expect("the job"),
        job,
        "nothing was added after the end"
    );
    assert_eq!(
        jobs.report(&job.job_id).expect("a report").tokens.len(),
        TOKENS_MAX
    );
}

#[test]
fn stopping_puts_a_running_job_back_on_the_queue() {
    let bench = bench();
    let mut interrupted = None;
    for _ in 0..20 {
        let jobs = bench.open(1);
        let id = jobs
            .create(&several(everything(TOKENS_MAX)))
            .expect("created")
            .job_id;
        wait_until("the job reads a token", || {
            jobs.job(&id).expect("the job").tokens_used > 0
        });
        jobs.stop();
        let job = jobs.job(&id).expect("the job");
        if !job.status.ended() {
            interrupted = Some(job);
            break;
        }
    }
    let job = interrupted.expect("a job is interrupted");
    assert_eq!((job.status, job.tokens_used), (JobStatus::Queued, 0));
    assert_eq!(count_of(&job, TaskStatus::Queued), 6 * TOKENS_MAX);
    let jobs = bench.open(1);
    let job = ended(&jobs, &job.job_id);
    assert_eq!(
        (job.status, job.tokens_used),
        (JobStatus::Completed, TOKENS_MAX as u64)
    );
}

#[test]
fn a_job_whose_tokens_are_gone_fails_and_ends_terminated() {
    let bench = bench();
    let id = bench.open(0).create(&one(0)).expect("created").job_id;
    let mut empty = Dataset::default();
    bench.data.path().clone_into(&mut empty.folder);
    bench.service.publish(empty);
    let job = ended(&bench.open(1), &id);
    assert_eq!((job.status, job.tokens_used), (JobStatus::Terminated, 0));
    assert!(
        job.tasks.len() == 6
            && job
                .tasks
                .iter()
                .all(|task| task.status == TaskStatus::Failed
                    && task.description.contains("No token")),
        "{job:?}"
    );
}
