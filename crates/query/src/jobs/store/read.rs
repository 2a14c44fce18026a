//! Job queries of the store, each in one transaction, so that it sees a consistent state.

use rusqlite::{Connection, OptionalExtension, Row, params, types::ValueRef};
use serde_json::value::RawValue;

use super::{JobStore, StoreResult, address};
use crate::jobs::{Analysis, Job, JobStatus, Report, Task, TaskStatus, TokenReport, no_job};
use model::address::Address;

/// Selects the jobs of the dataset `?1` and those of an unknown one; of none given, all.
const OF_DATASET: &str = "(?1 IS NULL OR dataset = ?1 OR dataset IS NULL)";
/// Decompression limit, above any answer's size.
const FINDING_BYTES_MAX: usize = 256 << 20;

/// The dataset of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::jobs) enum JobDataset {
    Known(String),
    /// An earlier version kept the job, and not its dataset.
    Unknown,
    NoJob,
}

impl JobStore {
    pub(in crate::jobs) fn job(&self, id: &str) -> StoreResult<Job> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        job(&moment, id)?.ok_or_else(|| no_job(id).into())
    }

    /// Whether there is such a job, and the dataset it is for.
    pub(in crate::jobs) fn dataset_of(&self, id: &str) -> StoreResult<JobDataset> {
        let kept: Option<Option<String>> =
            self.reader().query_row("SELECT dataset FROM job WHERE job_id = ?", [id], |row| row.get(0)).optional()?;
        Ok(kept.map_or(JobDataset::NoJob, |dataset| dataset.map_or(JobDataset::Unknown, JobDataset::Known)))
    }

    /// Returns the number of jobs and one page of them, newest first: those of the dataset and those of an unknown one, or all.
    pub(in crate::jobs) fn list(&self, dataset: Option<&str>, page: u64, limit: u64) -> StoreResult<(u64, Vec<Job>)> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        let total: i64 = moment.query_row(&format!("SELECT count(*) FROM job WHERE {OF_DATASET}"), [dataset], |row| row.get(0))?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let skip = i64::try_from(page.saturating_sub(1)).unwrap_or(i64::MAX).saturating_mul(limit);
        let mut ids =
            moment.prepare_cached(&format!("SELECT job_id FROM job WHERE {OF_DATASET} ORDER BY job_id DESC LIMIT ?2 OFFSET ?3"))?;
        let ids: Vec<String> = ids.query_map(params![dataset, limit, skip], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let jobs: Vec<_> = ids.iter().map(|id| job(&moment, id)).collect::<rusqlite::Result<_>>()?;
        Ok((total as u64, jobs.into_iter().flatten().collect()))
    }

    pub(in crate::jobs) fn report(&self, id: &str) -> StoreResult<Report> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        report(&moment, id)?.ok_or_else(|| no_job(id).into())
    }

    /// Returns the status; `None` if the job does not exist (any more).
    pub(in crate::jobs) fn status(&self, id: &str) -> StoreResult<Option<JobStatus>> {
        Ok(self.reader().query_row("SELECT status FROM job WHERE job_id = ?", [id], |row| row.get(0)).optional()?)
    }

    /// Number of queued and running jobs.
    pub(in crate::jobs) fn open_count(&self, dataset: &str) -> StoreResult<usize> {
        let count = "SELECT count(*) FROM job WHERE status IN ('queued', 'running') AND dataset = ?";
        Ok(self.reader().query_row(count, [dataset], |row| row.get::<_, i64>(0))? as usize)
    }

    pub(in crate::jobs) fn any_queued(&self, dataset: &str) -> StoreResult<bool> {
        let any = "SELECT EXISTS (SELECT 1 FROM job WHERE status = 'queued' AND dataset = ?)";
        Ok(self.reader().query_row(any, [dataset], |row| row.get(0))?)
    }

    /// Returns the latest change number.
    pub(in crate::jobs) fn last_change(&self) -> StoreResult<i64> {
        Ok(self.reader().query_row("SELECT coalesce(max(changed), 0) FROM job", [], |row| row.get(0))?)
    }

    /// Returns the dataset's jobs that changed after `since`, ordered by their last change.
    pub(in crate::jobs) fn changes(&self, dataset: &str, since: i64) -> StoreResult<Vec<(i64, String)>> {
        let reader = self.reader();
        let mut rows = reader
            .prepare_cached("SELECT changed, job_id FROM job WHERE changed > ?2 AND (dataset = ?1 OR dataset IS NULL) ORDER BY changed")?;
        let rows = rows.query_map(params![dataset, since], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
        Ok(rows)
    }
}

/// Reads an analysis, stored as its index in `Analysis::ALL`.
fn analysis(row: &Row<'_>, column: usize) -> rusqlite::Result<Analysis> {
    let index: i64 = row.get(column)?;
    let known = usize::try_from(index).ok().and_then(|index| Analysis::ALL.get(index)).copied();
    known.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, index))
}

pub(super) fn job(moment: &Connection, id: &str) -> rusqlite::Result<Option<Job>> {
    let head = moment
        .prepare_cached("SELECT status, tokens_used, dataset IS NULL FROM job WHERE job_id = ?")?
        .query_row([id], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?)))
        .optional()?;
    let Some((status, tokens_used, is_unknown)) = head else { return Ok(None) };
    let mut tasks = moment.prepare_cached(
        "SELECT token_address, label, analysis, status, reason FROM task JOIN token USING (job_id, position)
         WHERE job_id = ? ORDER BY position, analysis",
    )?;
    let tasks = tasks.query_map([id], |row| {
        let (token, label, analysis) = (address(row, 0)?, row.get::<_, String>(1)?, analysis(row, 2)?);
        let (status, reason) = (row.get::<_, TaskStatus>(3)?, row.get::<_, Option<String>>(4)?);
        let unknown = if is_unknown { ", in an unknown dataset" } else { "" };
        let about = format!("{} of {label}{unknown}", analysis.about());
        let description = reason.map_or_else(|| about.clone(), |reason| format!("{about}: {reason}"));
        Ok(Task { task_id: task_id(analysis, &token), status, description })
    })?;
    Ok(Some(Job { job_id: id.to_owned(), status, tokens_used: tokens_used as u64, tasks: tasks.collect::<rusqlite::Result<_>>()? }))
}

pub(in crate::jobs) fn task_id(analysis: Analysis, address: &Address) -> String {
    format!("{}-{address}", analysis.word())
}

fn report(moment: &Connection, id: &str) -> rusqlite::Result<Option<Report>> {
    let kept = moment.query_row("SELECT status, sources FROM job WHERE job_id = ?", [id], |row| {
        let sources = row.get_ref(1)?.as_str_or_null()?.and_then(|json| serde_json::from_str(json).ok());
        Ok((row.get::<_, JobStatus>(0)?, sources))
    });
    let Some((status, sources)) = kept.optional()? else { return Ok(None) };
    let mut tokens = moment.prepare_cached("SELECT token_address FROM token WHERE job_id = ? ORDER BY position")?;
    let mut tokens: Vec<_> = tokens.query_map([id], |row| address(row, 0).map(TokenReport::empty))?.collect::<rusqlite::Result<_>>()?;
    let mut parts = moment.prepare_cached("SELECT position, analysis, json FROM part WHERE job_id = ?")?;
    let mut rows = parts.query([id])?;
    while let Some(row) = rows.next()? {
        let token = usize::try_from(row.get::<_, i64>(0)?).ok().and_then(|position| tokens.get_mut(position));
        // JSON damaged on disk is left out.
        let json = finding(row.get_ref(2)?).and_then(|json| RawValue::from_string(json).ok());
        if let (Some(token), Some(json)) = (token, json) {
            *token.part_mut(analysis(row, 1)?) = Some(json);
        }
    }
    Ok(Some(Report { job_id: id.to_owned(), status, tokens, sources }))
}

/// Reads a finding: zstd-compressed, or plain text as in earlier versions.
fn finding(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Blob(bytes) => String::from_utf8(zstd::bulk::decompress(bytes, FINDING_BYTES_MAX).ok()?).ok(),
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    }
}
