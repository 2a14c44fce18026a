//! Deep-analysis jobs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    dataset::address::Address,
    error::{Code, Problem, Result},
};

/// The jobs of this user.
#[derive(Debug)]
pub struct Jobs;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Job {
    pub job_id: String,
    pub status: String,
    pub tokens_used: u64,
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Task {
    pub task_id: String,
    pub status: String,
    pub description: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct JobList {
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    pub jobs: Vec<Job>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    pub job_id: String,
}

impl Jobs {
    pub fn open_count(&self) -> usize {
        0
    }

    pub fn create(&self, _: Vec<Address>) -> Result<Job> {
        Err(missing())
    }

    pub fn list(&self, page: u64, limit: u64) -> Result<JobList> {
        Ok(JobList { page, limit, total: 0, jobs: Vec::new() })
    }

    pub fn job(&self, _: &str) -> Result<Job> {
        Err(missing())
    }

    pub fn terminate(&self, _: &str) -> Result<Job> {
        Err(missing())
    }

    pub fn report(&self, _: &str) -> Result<Report> {
        Err(missing())
    }
}

pub fn parse_request(_: &[u8]) -> Result<Vec<Address>> {
    Ok(Vec::new())
}

fn missing() -> Problem {
    Problem::new(Code::JobNotFound, "No such job.")
}
