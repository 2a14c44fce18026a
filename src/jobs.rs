//! Deep-analysis jobs.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    dataset::{address::Address, time::Time},
    error::{Code, Problem, Result},
};

macro_rules! words {
    ($name:ident { $($variant:ident $word:literal,)* }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum $name { $(#[serde(rename = $word)] $variant),* }

        impl $name {
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

words! { JobStatus { Queued "queued", Running "running", Completed "completed", Terminated "terminated", } }
words! { TaskStatus { Queued "queued", Running "running", Completed "completed", Failed "failed", Skipped "skipped", } }

impl JobStatus {
    pub fn ended(self) -> bool {
        matches!(self, Self::Completed | Self::Terminated)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Job {
    pub job_id: String,
    pub status: JobStatus,
    pub tokens_used: u64,
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    pub task_id: String,
    pub status: TaskStatus,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobList {
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    pub jobs: Vec<Job>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskProgress {
    pub task_id: String,
    pub status: TaskStatus,
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub job_id: String,
    pub status: JobStatus,
    pub tokens: Vec<TokenReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TokenReport {
    pub token_address: Address,
    pub token: Option<Box<RawValue>>,
}

/// The jobs of this user.
#[derive(Debug)]
pub struct Jobs;

fn not_built<T>() -> Result<T> {
    Err(Problem::new(Code::NotBuilt, "Jobs are not built yet."))
}

impl Jobs {
    pub fn open_count(&self) -> usize {
        0
    }

    pub fn create(&self, _: Vec<Address>) -> Result<Job> {
        not_built()
    }

    pub fn list(&self, _: u64, _: u64) -> Result<JobList> {
        not_built()
    }

    pub fn job(&self, _: &str) -> Result<Job> {
        not_built()
    }

    pub fn terminate(&self, _: &str) -> Result<Job> {
        not_built()
    }

    pub fn report(&self, _: &str) -> Result<Report> {
        not_built()
    }

    pub fn progress(&self, _: &str) -> Result<Vec<TaskProgress>> {
        not_built()
    }
}

/// When the job with this id was created; `None` when it is no job id.
pub fn created(id: &str) -> Option<Time> {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let digits = id.strip_prefix("j_").filter(|digits| digits.len() == 26)?;
    let mut bits = 0u128;
    for digit in digits.bytes() {
        bits = bits << 5 | DIGITS.iter().position(|known| *known == digit)? as u128;
    }
    Some(Time((bits >> 80) as i64))
}
