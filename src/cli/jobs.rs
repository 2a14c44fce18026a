//! `tokendeck jobs`: lists and purges stored deep analyses. They are started from the terminal or over the API.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use color_eyre::eyre::bail;
use serde_json::json;

use super::{
    outcome::{Outcome, print, print_json},
    program::{configuration, offline_jobs},
    table::section,
    whole_number,
};
use model::{
    error::Problem,
    format::plural,
    time::{DAY_MS, Time},
    wall_clock::now,
};
use query::jobs::{Job, OfflineJobs, Purge, created};

/// Jobs listed by default.
const LISTED: u64 = 50;
const LISTED_MAX: u64 = 1_000_000;
/// A century, beyond any job's age.
const DAYS_MAX: u64 = 36_500;

#[derive(Debug, Args)]
pub(super) struct JobsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Configuration file
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List jobs, newest first: creation time, status, tokens, id
    List {
        /// Maximum number of jobs
        #[arg(long, default_value_t = LISTED, allow_negative_numbers = true, value_parser = whole_number::<u64>(0..=LISTED_MAX))]
        limit: u64,
        /// Print JSON, each job as GET /deep-analysis/jobs returns it
        #[arg(long)]
        json: bool,
    },
    /// Delete finished jobs and their results
    Purge {
        /// Delete only this job
        #[arg(value_name = "ID", conflicts_with = "days")]
        id: Option<String>,
        /// Delete only jobs older than N days
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number::<u32>(0..=DAYS_MAX))]
        days: Option<u32>,
    },
}

pub(super) fn run(args: &JobsArgs) -> Outcome {
    let config = configuration(args.config.as_deref())?;
    let jobs = offline_jobs(&config)?;
    match &args.command {
        None => print(listed(&jobs, LISTED)?),
        Some(Command::List { limit, json: true }) => {
            let (total, jobs) = jobs.list(1, *limit)?;
            print_json(&json!({ "total": total, "jobs": jobs }))
        }
        Some(Command::List { limit, json: false }) => print(listed(&jobs, *limit)?),
        Some(Command::Purge { id, days }) => {
            let which = match (id, days) {
                (Some(id), _) => Purge::One(id.clone()),
                (None, Some(days)) => Purge::Before(Time(now().0 - i64::from(*days) * DAY_MS)),
                (None, None) => Purge::All,
            };
            let removed = jobs.purge(&which)?;
            if let (Some(id), 0) = (id, removed) {
                bail!("no finished job `{id}`; list jobs with `tokendeck jobs list`");
            }
            print(format!("removed {}\n", plural(removed, "job", "jobs")))
        }
    }
}

/// The newest jobs of all datasets, as a table.
fn listed(store: &OfflineJobs, limit: u64) -> Result<String, Problem> {
    let (total, jobs) = store.list(1, limit)?;
    let row = |job: &Job| {
        let created = created(&job.job_id).map_or_else(String::new, Time::minute_text);
        let about = job.tasks.first().map_or("", |task| {
            task.description.split(" of ").nth(1).unwrap_or_default()
        });
        let about = about.split([':', ',']).next().unwrap_or_default();
        let dataset = store
            .dataset_of(&job.job_id)?
            .unwrap_or_else(|| "unknown".to_owned());
        Ok(vec![
            created,
            job.status.word().to_owned(),
            job.tokens_used.to_string(),
            about.to_owned(),
            job.job_id.clone(),
            dataset,
        ])
    };
    let rows = jobs.iter().map(row).collect::<Result<Vec<_>, Problem>>()?;
    let table = section(
        &[
            "created",
            "status",
            "tokens",
            "first token",
            "job_id",
            "dataset",
        ],
        rows,
    );
    let shown = if (jobs.len() as u64) < total {
        format!(", newest {} shown", jobs.len())
    } else {
        String::new()
    };
    Ok(format!("{table}{}{shown}\n", plural(total, "job", "jobs")))
}
