//! Background work with a durable store: deep-analysis jobs, which run several analyses of several tokens, and alerts, which are evaluated
//! on each data snapshot. A request is acknowledged only once it is on disk. Knows neither the API nor the terminal.

mod alert;
mod alert_checks;
mod alerts;
mod ask;
mod id;
mod list;
mod notifications;
mod owner;
mod request;
mod sources;
mod store;
mod worker;

use std::{fs::File, path::Path, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use self::{
    store::{HistoryLimits, JobDataset, JobStore, NewToken},
    worker::Workers,
};
use super::queries::holders::Holders;
use crate::{error::JobsError, queries::parameter::clip, service::QueryService};
use analysis::{
    dex::DexList, patterns::PatternsAnswer, token::TokenDetail, trendlines::TrendlineAnswer,
};
use model::{
    address::Address,
    error::{Code, Problem, ProblemBody, Result},
};
use security::SecurityInference;

pub use self::{
    alert::{ALERTS_MAX, Alert, AlertList, FIRED_ID_MAX, FiredAlert},
    alerts::AlertCursor,
    ask::token_report,
    id::created,
    list::{JobList, JobsWanted},
    notifications::{AlertCommand, AlertRoutes},
    request::JobBody,
    sources::{JobSourceFile, SourceTable, Sources},
    store::{JOBS_VERSION, Purge},
};

/// Maximum number of tokens per job.
pub const TOKENS_MAX: usize = 100;

/// Limits of the job queue and history.
#[derive(Debug, Clone)]
pub struct JobOptions {
    /// Jobs run concurrently.
    pub workers: usize,
    /// Maximum queue length; one more job is refused as busy.
    pub queue: usize,
    /// Retention of ended jobs in days since their creation; 0: unlimited.
    pub keep_days: u64,
    /// Maximum number of stored jobs; beyond it the oldest ended ones are deleted.
    pub keep_count: u64,
    /// Where fired alerts are sent outside the program.
    pub alert_routes: AlertRoutes,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            workers: 1,
            queue: 1_000,
            keep_days: 0,
            keep_count: 10_000,
            alert_routes: AlertRoutes::default(),
        }
    }
}

/// Capacity for findings in bytes, after compression.
const FINDINGS_BYTES_MAX: u64 = 512 << 20;
const STORE: &str = "jobs.sqlite";

impl JobOptions {
    fn limits(&self) -> HistoryLimits {
        HistoryLimits {
            jobs: self.keep_count,
            bytes: FINDINGS_BYTES_MAX,
            days: self.keep_days,
        }
    }
}

model::words! {
    /// queued → running → completed or terminated; queued → terminated.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum JobStatus { Queued = "queued", Running = "running", Completed = "completed", Terminated = "terminated", }
}

model::words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TaskStatus { Queued = "queued", Running = "running", Completed = "completed", Failed = "failed", Skipped = "skipped", }
}

model::words! {
    /// An analysis that a job runs for each of its tokens, in this order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Analysis {
        Market = "market", Trendline = "trendline", Patterns = "patterns", Security = "security", Dex = "dex", Holders = "holders",
    }
}

impl JobStatus {
    pub fn ended(self) -> bool {
        matches!(self, Self::Completed | Self::Terminated)
    }
}

impl Analysis {
    fn about(self) -> &'static str {
        match self {
            Self::Market => "Market and social metrics",
            Self::Trendline => "Trendlines",
            Self::Patterns => "Chart patterns",
            Self::Security => "Security inference",
            Self::Dex => "DEXes and pools",
            Self::Holders => "Largest holders",
        }
    }
}

/// A deep analysis of one or several tokens.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Job {
    pub job_id: String,
    pub status: JobStatus,
    /// Number of tokens whose data the job has read so far.
    pub tokens_used: u64,
    /// Six per token: market, trendline, patterns, security, dex, holders.
    pub tasks: Vec<Task>,
}

/// One analysis of one token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Task {
    /// Analysis and token address, such as `market-0x…`.
    pub task_id: String,
    pub status: TaskStatus,
    /// What the task does, with its progress or the reason why it has no result.
    pub description: String,
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskProgress {
    pub task_id: String,
    pub status: TaskStatus,
    pub done: u64,
    /// 0 while unknown.
    pub total: u64,
}

/// This user's jobs, in the store of the state folder. Dropping it stops them.
#[derive(Debug)]
pub struct Jobs {
    workers: Workers,
    notice: Option<String>,
    /// The lock of the first process on the store, which alone may replace a damaged one.
    _first: Option<File>,
}

impl Jobs {
    /// Opens the store in `state_dir` and starts the workers. Jobs belong to the dataset they were made in, and so does the queue: while
    /// another process owns that of this dataset, this one only lists and creates jobs, and takes over when that process ends.
    pub fn open(
        state_dir: &Path,
        service: Arc<QueryService>,
        options: JobOptions,
    ) -> std::result::Result<Arc<Self>, JobsError> {
        ::model::private_files::create_dir(state_dir).map_err(JobsError::Folder)?;
        let owner = owner::Owner::new(state_dir, &alerts::open_dataset(&service))?;
        let first = owner::first(state_dir)?;
        let (store, notice) =
            JobStore::open(&state_dir.join(STORE), first.is_some(), options.limits())?;
        ::model::private_files::sync_folder(state_dir);
        if let Some(notice) = &notice {
            tracing::warn!("{notice}");
        }
        Ok(Arc::new(Self {
            workers: Workers::start(store, service, options, owner)?,
            notice,
            _first: first,
        }))
    }

    /// Opens the store in `state_dir` to show its jobs: runs none, takes no queue and announces no trigger.
    pub fn open_to_read(
        state_dir: &Path,
        service: Arc<QueryService>,
        options: JobOptions,
    ) -> std::result::Result<Arc<Self>, JobsError> {
        ::model::private_files::create_dir(state_dir).map_err(JobsError::Folder)?;
        let (store, notice) = JobStore::open(&state_dir.join(STORE), false, options.limits())?;
        Ok(Arc::new(Self {
            workers: Workers::none(store, service, options, owner::Owner::none(state_dir))?,
            notice,
            _first: None,
        }))
    }

    /// Message for the user if the store was damaged and replaced by an empty one.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Whether new jobs are taken: not if the store was opened to read, or the program ends.
    pub fn takes_jobs(&self) -> bool {
        !self.workers.shared().stopping()
    }

    /// Queues a job; on return it is on disk. Blocks on disk, so must not be called on a drawing or serving thread.
    pub fn create(&self, request: &JobBody) -> Result<Job> {
        let shared = self.workers.shared();
        if shared.stopping() {
            return Err(Problem::new(
                Code::ShuttingDown,
                "tokendeck is shutting down; start the job again after the restart.",
            ));
        }
        let tokens = request.tokens()?;
        let snapshot = shared.service.complete_snapshot()?;
        let mut named = Vec::with_capacity(tokens.len());
        for (address, pointer) in tokens {
            let Some(token) = snapshot.dataset.token(&address) else {
                let detail = format!(
                    "`{pointer}`: no token `{address}` in the dataset. Find tokens with GET /tokens?query=…"
                );
                return Err(Problem::new(Code::InvalidValue, detail));
            };
            let label = token
                .row
                .symbol
                .as_deref()
                .map_or_else(|| address.short(), clip);
            named.push(NewToken { address, label });
        }
        let dataset = alerts::dataset(&snapshot.dataset.folder);
        let job = shared
            .store
            .insert(&dataset, &named, shared.options.queue)?;
        shared.notify();
        Ok(job)
    }

    /// Returns the number of the open dataset's jobs and one page of them, newest first; `page` is 1-based. Jobs of an unknown dataset are
    /// among them.
    pub fn list(&self, page: u64, limit: u64) -> Result<(u64, Vec<Job>)> {
        let shared = self.workers.shared();
        let (total, mut jobs) = shared.store.list(Some(&self.dataset()), page, limit)?;
        for job in &mut jobs {
            shared.describe_progress(job);
        }
        Ok((total, jobs))
    }

    /// Errors: there is no such job, or it is another dataset's.
    fn known(&self, id: &str) -> Result<()> {
        match self.workers.shared().store.dataset_of(id)? {
            JobDataset::Unknown => Ok(()),
            JobDataset::Known(dataset) if dataset == self.dataset() => Ok(()),
            JobDataset::Known(_) | JobDataset::NoJob => Err(no_job(id)),
        }
    }

    pub fn job(&self, id: &str) -> Result<Job> {
        self.known(id)?;
        let shared = self.workers.shared();
        let mut job = shared.store.job(id)?;
        shared.describe_progress(&mut job);
        Ok(job)
    }

    /// Terminates a queued or running job; its results remain.
    pub fn terminate(&self, id: &str) -> Result<Job> {
        self.known(id)?;
        let shared = self.workers.shared();
        let job = shared.store.terminate(id)?;
        shared.cancel(id);
        shared.notify();
        Ok(job)
    }

    /// Deletes a job with its findings, terminating it first if necessary.
    pub fn purge(&self, id: &str) -> Result<()> {
        self.known(id)?;
        let shared = self.workers.shared();
        if !shared.store.job(id)?.status.ended() {
            // It may have ended meanwhile.
            self.terminate(id).map(drop).or_else(|problem| {
                if problem.code == Code::JobEnded {
                    Ok(())
                } else {
                    Err(problem)
                }
            })?;
        }
        shared.store.purge(&Purge::One(id.to_owned()))?;
        shared.notify();
        Ok(())
    }

    pub fn report(&self, id: &str) -> Result<Report> {
        self.known(id)?;
        Ok(self.workers.shared().store.report(id)?)
    }

    /// Progress of each task, in the job's order.
    pub fn progress(&self, id: &str) -> Result<Vec<TaskProgress>> {
        self.known(id)?;
        let shared = self.workers.shared();
        let job = shared.store.job(id)?;
        let running = shared.running_task(id);
        let progress = job.tasks.into_iter().map(|task| {
            let (done, total) = match (task.status, &running) {
                (TaskStatus::Running, Some((task_id, state))) if *task_id == task.task_id => *state,
                (TaskStatus::Queued | TaskStatus::Running, _) => (0, 0),
                _ => (1, 1),
            };
            TaskProgress {
                task_id: task.task_id,
                status: task.status,
                done,
                total,
            }
        });
        Ok(progress.collect())
    }

    /// Queued and running jobs as of the last announced change; does no I/O.
    pub fn open_count(&self) -> usize {
        self.workers.shared().open_count()
    }

    /// Whether this process runs the jobs, not another one on the same store.
    pub fn runs_here(&self) -> bool {
        self.workers.shared().owner.is_owner(&self.dataset())
    }

    /// Stops the workers, waiting up to 3 s; running jobs return to the queue for the next start.
    pub fn stop(&self) {
        self.workers.stop(Duration::from_secs(3));
    }
}

/// The store of jobs and alerts for command-line use; runs no job.
#[derive(Debug)]
pub struct OfflineJobs(JobStore);

impl OfflineJobs {
    pub fn open(state_dir: &Path, options: &JobOptions) -> std::result::Result<Self, JobsError> {
        ::model::private_files::create_dir(state_dir).map_err(JobsError::Folder)?;
        Ok(Self(
            JobStore::open(&state_dir.join(STORE), false, options.limits())?.0,
        ))
    }

    /// Returns the number of jobs of all datasets and one page of them, newest first; `page` is 1-based.
    pub fn list(&self, page: u64, limit: u64) -> Result<(u64, Vec<Job>)> {
        Ok(self.0.list(None, page, limit)?)
    }

    /// The folder of the dataset that a job is for; `None` where an earlier version did not keep it.
    pub fn dataset_of(&self, id: &str) -> Result<Option<String>> {
        Ok(if let JobDataset::Known(dataset) = self.0.dataset_of(id)? {
            Some(dataset)
        } else {
            None
        })
    }

    /// Deletes ended jobs with their findings, shrinks the file and returns the number deleted.
    pub fn purge(&self, which: &Purge) -> Result<u64> {
        let removed = self.0.purge(which)?;
        self.0.shrink()?;
        Ok(removed)
    }
}

/// The problem `job_not_found`.
fn no_job(id: &str) -> Problem {
    Problem::new(
        Code::JobNotFound,
        format!(
            "No job `{}`. GET /deep-analysis/jobs lists all jobs.",
            clip(id)
        ),
    )
}

// A job's report: six parts per token, each the exact answer of its endpoint, security with `explain=true`.

/// A job's results so far; partial while it runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    pub job_id: String,
    pub status: JobStatus,
    /// In request order.
    pub tokens: Vec<TokenReport>,
    /// Files used for the report; none before the first task, and for jobs of older program versions.
    #[serde(skip)]
    pub sources: Option<Sources>,
}

/// Each part is the response of its endpoint, `{"error": problem}` if that failed, or null if its task has not run yet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TokenReport {
    pub token_address: Address,
    #[schemars(with = "Part<TokenDetail>")]
    pub token: Option<Box<RawValue>>,
    #[schemars(with = "Part<TrendlineAnswer>")]
    pub trendline: Option<Box<RawValue>>,
    #[schemars(with = "Part<PatternsAnswer>")]
    pub patterns: Option<Box<RawValue>>,
    #[schemars(with = "Part<SecurityInference>")]
    pub security: Option<Box<RawValue>>,
    #[schemars(with = "Part<DexList>")]
    pub dexes: Option<Box<RawValue>>,
    #[schemars(with = "Part<Holders>")]
    pub holders: Option<Box<RawValue>>,
}

/// The endpoint's response, its problem if it failed, or null if the task has not run yet.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(
    dead_code,
    reason = "only a shape for the OpenAPI document: each part is stored as the text of its response"
)]
enum Part<A> {
    Answer(A),
    Failed { error: ProblemBody },
    Unasked,
}

impl TokenReport {
    fn empty(token_address: Address) -> Self {
        Self {
            token_address,
            token: None,
            trendline: None,
            patterns: None,
            security: None,
            dexes: None,
            holders: None,
        }
    }

    fn part_mut(&mut self, analysis: Analysis) -> &mut Option<Box<RawValue>> {
        match analysis {
            Analysis::Market => &mut self.token,
            Analysis::Trendline => &mut self.trendline,
            Analysis::Patterns => &mut self.patterns,
            Analysis::Security => &mut self.security,
            Analysis::Dex => &mut self.dexes,
            Analysis::Holders => &mut self.holders,
        }
    }
}
