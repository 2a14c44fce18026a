//! The store of jobs: shared by two programs, damaged, unwritable, and under kills.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use model::error::Code;
use query::{
    jobs::{JobOptions, JobStatus, Jobs, TOKENS_MAX},
    service::{QueryService, ServiceEvent, ServiceOptions},
};

use super::{bench, ended, everything, one, service, several};
use crate::wait::wait_until;

#[test]
fn two_programs_share_a_store_and_one_runs_it() {
    let bench = bench();
    let first = bench.open(1);
    let second = bench.open(1);
    assert!(first.runs_here() && !second.runs_here());
    let mut events = bench.service.listen();
    let id = second.create(&one(0)).expect("created").job_id;
    assert_eq!(ended(&second, &id).status, JobStatus::Completed);
    assert_eq!(first.job(&id), second.job(&id));
    wait_until(
        "both programs tell of it",
        || matches!(events.try_recv(), Ok(ServiceEvent::JobUpdated(told)) if told == id),
    );
    let long = first
        .create(&several(everything(TOKENS_MAX)))
        .expect("created")
        .job_id;
    // Terminated by the other process, or already done.
    second
        .terminate(&long)
        .map_or_else(|problem| assert_eq!(problem.code, Code::JobEnded), drop);
    assert!(first.job(&long).expect("the job").status.ended());
    drop(first);
    wait_until("the second takes over", || second.runs_here());
    let id = second.create(&one(1)).expect("created").job_id;
    assert_eq!(ended(&second, &id).status, JobStatus::Completed);
}

/// Two programs of one user, on two datasets with the same tokens at other prices.
#[test]
fn a_job_belongs_to_the_dataset_it_was_made_in() {
    let bench = bench();
    let other = tempfile::tempdir().expect("a folder");
    drop(service(other.path()));
    let dearer = std::fs::read_to_string(other.path().join("tokens.csv"))
        .expect("tokens")
        .replace(",eth,1\n", ",eth,700\n");
    let more = format!("{dearer}0x{:040x},ONLY,Only here,eth,5\n", 0xffff);
    std::fs::write(other.path().join("tokens.csv"), more).expect("written");
    let there = QueryService::new(
        other.path(),
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .expect("a query service");
    there.load().expect("the dataset loads");
    let jobs_of = |service: &Arc<QueryService>| {
        Jobs::open(
            bench.state.path(),
            Arc::clone(service),
            JobOptions {
                workers: 2,
                ..JobOptions::default()
            },
        )
        .expect("the jobs open")
    };
    let price = |jobs: &Jobs, id: &str| -> f64 {
        let report = serde_json::to_value(jobs.report(id).expect("a report")).expect("JSON");
        report["tokens"][0]["token"]["price"]
            .as_f64()
            .unwrap_or_else(|| panic!("{report}"))
    };
    let (mut here, mut beside) = (jobs_of(&bench.service), jobs_of(&there));
    let mut made = Vec::new();
    for round in 0..10 {
        // Programs end and start again between the jobs.
        if round == 5 {
            here.stop();
            drop(here);
            here = jobs_of(&bench.service);
            beside.stop();
            drop(beside);
            beside = jobs_of(&there);
        }
        made.push((
            here.create(&one(0)).expect("created").job_id,
            beside.create(&one(0)).expect("created").job_id,
        ));
    }
    let only = beside
        .create(&one(0xffff - 0xa000))
        .expect("created")
        .job_id;
    for (own, others) in &made {
        assert_eq!(
            (ended(&here, own).status, ended(&beside, others).status),
            (JobStatus::Completed, JobStatus::Completed)
        );
        assert_eq!((price(&here, own), price(&beside, others)), (1.0, 700.0));
        assert_eq!(
            here.job(others).map_err(|problem| problem.code),
            Err(Code::JobNotFound)
        );
        assert_eq!(
            here.terminate(others).map_err(|problem| problem.code),
            Err(Code::JobNotFound)
        );
    }
    assert_eq!(ended(&beside, &only).status, JobStatus::Completed);
    assert_eq!(
        (
            here.list(1, 50).expect("a list").0,
            beside.list(1, 50).expect("a list").0
        ),
        (10, 11)
    );
    assert!(here.runs_here() && beside.runs_here(), "each runs its own");
}

#[test]
fn a_damaged_store_is_set_aside_and_a_fresh_one_started() {
    let bench = bench();
    let jobs = bench.open(0);
    for _ in 0..40 {
        jobs.create(&several(everything(20))).expect("created");
    }
    drop(jobs);
    let sound = std::fs::read(bench.store()).expect("the store");
    assert!(sound.len() > 40_000);
    let mut holed = sound.clone();
    holed[4_096 * 3..4_096 * 6].fill(0xa5);
    let mut headless = sound.clone();
    headless[..100].fill(0);
    for (damage, bytes) in [
        ("other text", b"this was never a database, but it is long enough to be mistaken for one by its size alone, see: ".repeat(20)),
        ("cut short", sound[..sound.len() / 2].to_vec()),
        ("a hole", holed),
        ("no header", headless),
    ] {
        let state = tempfile::tempdir().expect("a folder");
        std::fs::write(state.path().join("jobs.sqlite"), &bytes).expect("a damaged store");
        let jobs = Jobs::open(state.path(), Arc::clone(&bench.service), JobOptions::default()).expect(damage);
        assert!(jobs.notice().is_some_and(|notice| notice.contains("damaged") && notice.contains("jobs.sqlite.damaged-")), "{damage}");
        let id = jobs.create(&one(0)).expect(damage).job_id;
        assert_eq!(ended(&jobs, &id).status, JobStatus::Completed, "{damage}");
        let kept = std::fs::read_dir(state.path()).expect("a folder").flatten().find(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.contains(".damaged-") && !name.ends_with("-wal") && !name.ends_with("-shm")
        });
        assert_eq!(std::fs::read(kept.expect("kept aside").path()).expect("kept").len(), bytes.len(), "{damage}");
    }
    let state = tempfile::tempdir().expect("a folder");
    std::fs::write(state.path().join("jobs.sqlite"), b"").expect("an empty store");
    let jobs = Jobs::open(
        state.path(),
        Arc::clone(&bench.service),
        JobOptions::default(),
    )
    .expect("an empty file is a new store");
    assert_eq!(jobs.notice(), None);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_reported_in_words() {
    let bench = bench();
    let file = bench.state.path().join("file");
    std::fs::write(&file, b"").expect("a file");
    let reason = Jobs::open(
        &file.join("state"),
        Arc::clone(&bench.service),
        JobOptions::default(),
    )
    .expect_err("no folder can be made there")
    .to_string();
    assert!(reason.contains("cannot create the folder"), "{reason}");
    std::fs::create_dir(bench.store()).expect("a folder in the way");
    let reason = Jobs::open(
        bench.state.path(),
        Arc::clone(&bench.service),
        JobOptions::default(),
    )
    .expect_err("a folder is no store")
    .to_string();
    assert!(reason.contains("cannot open the job store"), "{reason}");
}

const CHILD_STATE: &str = "TOKENDECK_TEST_JOBS_STATE";

/// Child process to be killed: creates jobs and prints each once it is acknowledged.
#[test]
#[ignore = "started by the test below as a program of its own"]
fn child_that_creates_jobs() {
    let Some(state) = std::env::var_os(CHILD_STATE) else {
        return;
    };
    let data = Path::new(&state).join("data");
    std::fs::create_dir_all(&data).expect("a folder");
    let jobs = Jobs::open(
        Path::new(&state),
        service(&data),
        JobOptions {
            queue: 9_000,
            ..JobOptions::default()
        },
    )
    .expect("jobs");
    let mut out = std::io::stdout().lock();
    for i in 0.. {
        let job = jobs
            .create(&several(everything(1 + i % 5)))
            .expect("created");
        writeln!(out, "\nacknowledged {}", job.job_id)
            .and_then(|()| out.flush())
            .expect("the parent reads");
    }
}

#[test]
fn no_acknowledged_job_is_lost_when_the_program_is_killed() {
    let mut bench = bench();
    // The child's own, or its jobs would be another dataset's.
    let data = bench.state.path().join("data");
    std::fs::create_dir_all(&data).expect("a folder");
    bench.service = service(&data);
    let mut acknowledged: Vec<String> = Vec::new();
    let mut random = 88_172_645_463_325_252_u64;
    for round in 0..15 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "jobs::storage::child_that_creates_jobs",
                "--ignored",
                "--nocapture",
            ])
            .env(CHILD_STATE, bench.state.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let (sender, first) = std::sync::mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let reader = std::thread::spawn(move || {
            let mut ids = Vec::new();
            for line in out.lines().map_while(Result::ok) {
                // A line truncated by the kill does not count.
                if let Some(id) = line
                    .strip_prefix("acknowledged ")
                    .filter(|id| id.len() == 28)
                {
                    ids.push(id.to_owned());
                    sender.send(()).ok();
                }
            }
            ids
        });
        first
            .recv_timeout(Duration::from_secs(30))
            .expect("the child acknowledges a job");
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 60_000));
        child.kill().expect("killed");
        child.wait().expect("gone");
        acknowledged.extend(reader.join().expect("its ids"));

        let jobs = bench.open(0);
        assert_eq!(jobs.notice(), None, "round {round}");
        for id in &acknowledged {
            let job = jobs
                .job(id)
                .unwrap_or_else(|problem| panic!("round {round}: {problem}"));
            assert_ne!(
                job.status,
                JobStatus::Running,
                "round {round}: it is queued again"
            );
        }
        drop(jobs);
    }
    assert!(acknowledged.len() > 15, "{}", acknowledged.len());
    let jobs = bench.open(2);
    for id in &acknowledged {
        assert_eq!(ended(&jobs, id).status, JobStatus::Completed);
    }
}
