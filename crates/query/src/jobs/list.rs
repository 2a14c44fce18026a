//! The job list: its filterable and sortable columns, and one page of the matching jobs.

use model::scalar::Scalar;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Job, JobStatus, Jobs, created};
use crate::queries::{
    list::{Rows, listed},
    order::Order,
};
use model::error::Result;
use table::filter::{AddressOf, Filter};

/// A page of jobs, newest first unless `sort` is given.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobList {
    pub page: u64,
    pub limit: u64,
    /// Number of matching jobs.
    pub total: u64,
    pub jobs: Rows<Job>,
}

/// Filter, order, columns and page of a job list query.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsWanted {
    pub filter: Filter,
    pub sort: Vec<Order>,
    /// A subset of `Job::MEMBERS`; empty: all.
    pub only: Vec<&'static str>,
    pub page: u64,
    pub limit: u64,
}

listed!(Job ["job_id", "status", "tokens_used", "tasks"] {
    "job_id": Text ["job", "id"].searched() = |job| Scalar::text(&job.job_id);
    "status": Text [].of_words(statuses).searched() = |job| Scalar::text(job.status.word());
    // By their addresses.
    "tokens": List ["token"].searched().addresses(AddressOf::Tokens) = |job| Scalar::list(job.tasks.iter().filter_map(|task| Some(task.task_id.split_once('-')?.1)));
    "tasks": Number [] = |job| Scalar::Float(job.tasks.len() as f64);
    "tokens_used": Number ["used"] = |job| Scalar::Float(job.tokens_used as f64);
    "created_at": Time ["created"] = |job| created(&job.job_id).into();
});

fn statuses() -> Vec<&'static str> {
    JobStatus::ALL.iter().map(|status| status.word()).collect()
}

impl Jobs {
    /// Returns one page of the matching jobs.
    pub fn select(&self, wanted: &JobsWanted) -> Result<JobList> {
        let JobsWanted {
            filter,
            sort,
            only,
            page,
            limit,
        } = wanted;
        let (total, rows) = if filter.is_empty() && sort.is_empty() {
            self.list(*page, *limit)?
        } else {
            let shared = self.workers.shared();
            let (total, mut rows) = shared.store.select(&self.dataset(), wanted)?;
            for job in &mut rows {
                shared.describe_progress(job);
            }
            (total, rows)
        };
        Ok(JobList {
            page: *page,
            limit: *limit,
            total,
            jobs: Rows::new(rows, only),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        jobs::{Task, TaskStatus},
        queries::list::{Listed as _, tests::check},
    };
    use table::filter;

    #[test]
    fn jobs_are_filtered_by_every_column() {
        check::<Job>();
        let task = |id: &str| Task {
            task_id: id.to_owned(),
            status: TaskStatus::Completed,
            description: String::new(),
        };
        let job = Job {
            job_id: "j_01j5g3v7y8q2m4n6p8r0s2t4v6".to_owned(),
            status: JobStatus::Running,
            tokens_used: 1,
            tasks: vec![
                task(&format!("market-0x{:040x}", 0xab)),
                task(&format!("market-0x{:040x}", 0xcd)),
            ],
        };
        for (text, holds) in [
            ("status:running tasks=2 used<2", true),
            ("status:completed", false),
            ("token:0x00000000000000000000000000000000000000CD", true),
            ("tokens!=0x00000000000000000000000000000000000000cd", false),
            ("tokens!=0x00000000000000000000000000000000000000ce", true),
            ("created>=2024 created<2025", true),
            ("created>2024", false),
            ("id:j_01j5", true),
        ] {
            let filter = filter::conditions(text, Job::COLUMNS).expect("a filter that reads");
            assert_eq!(filter.matches(|column| job.field(column)), holds, "{text}");
        }
    }
}
