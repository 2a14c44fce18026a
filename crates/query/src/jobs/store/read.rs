//! Job queries of the store, each in one transaction, so that it sees a consistent state.

use model::scalar::Scalar;
use std::cmp::Ordering;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params, types::ValueRef};
use serde_json::value::RawValue;

use super::{JobStore, StoreResult, address};
use crate::{
    jobs::{Analysis, Job, JobStatus, JobsWanted, Report, Task, TaskStatus, TokenReport, no_job},
    queries::list::{Listed as _, sort_rows},
};
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
        let kept: Option<Option<String>> = self
            .reader()
            .query_row("SELECT dataset FROM job WHERE job_id = ?", [id], |row| {
                row.get(0)
            })
            .optional()?;
        Ok(kept.map_or(JobDataset::NoJob, |dataset| {
            dataset.map_or(JobDataset::Unknown, JobDataset::Known)
        }))
    }

    /// Returns the number of jobs and one page of them, newest first: those of the dataset and those of an unknown one, or all.
    pub(in crate::jobs) fn list(
        &self,
        dataset: Option<&str>,
        page: u64,
        limit: u64,
    ) -> StoreResult<(u64, Vec<Job>)> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        let total: i64 = moment.query_row(
            &format!("SELECT count(*) FROM job WHERE {OF_DATASET}"),
            [dataset],
            |row| row.get(0),
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let skip = i64::try_from(page.saturating_sub(1))
            .unwrap_or(i64::MAX)
            .saturating_mul(limit);
        let mut ids = moment.prepare_cached(&format!(
            "SELECT job_id FROM job WHERE {OF_DATASET} ORDER BY job_id DESC LIMIT ?2 OFFSET ?3"
        ))?;
        let ids: Vec<String> = ids
            .query_map(params![dataset, limit, skip], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let jobs: Vec<_> = ids
            .iter()
            .map(|id| job(&moment, id))
            .collect::<rusqlite::Result<_>>()?;
        Ok((total as u64, jobs.into_iter().flatten().collect()))
    }

    /// Returns the number of the dataset's jobs, and of those of an unknown one, that the filter wants, and one page of them as they are
    /// sorted. Of the others, no more is read than the filter and the order name.
    pub(in crate::jobs) fn select(
        &self,
        dataset: &str,
        wanted: &JobsWanted,
    ) -> StoreResult<(u64, Vec<Job>)> {
        let JobsWanted {
            filter,
            sort,
            page,
            limit,
            ..
        } = wanted;
        let is_read =
            |name: &str| filter.names(name) || sort.iter().any(|order| order.column == name);
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        let mut tokens = (is_read("tokens") || is_read("tasks"))
            .then(|| Tokens::new(&moment, is_read("tasks")))
            .transpose()?;
        let mut heads = moment.prepare_cached(&format!(
            "SELECT job_id, status, tokens_used FROM job WHERE {OF_DATASET} ORDER BY job_id DESC"
        ))?;
        let mut heads = heads.query([dataset])?;
        let mut found: Vec<(String, Vec<Option<Scalar<'static>>>)> = Vec::new();
        while let Some(row) = heads.next()? {
            let tasks = tokens.as_mut().map_or(Ok(Vec::new()), |tokens| {
                tokens.tasks_of(row.get_ref(0)?.as_str()?)
            })?;
            let job = Job {
                job_id: row.get(0)?,
                status: row.get(1)?,
                tokens_used: row.get::<_, i64>(2)? as u64,
                tasks,
            };
            if filter.matches(|column| job.field(column)) {
                let keys = sort
                    .iter()
                    .map(|order| job.field(order.column).sort_key())
                    .collect();
                found.push((job.job_id, keys));
            }
        }
        let key = |(_, keys): &(String, Vec<Option<Scalar<'static>>>), column: &str| {
            sort.iter()
                .zip(keys)
                .find(|(order, _)| order.column == column)
                .and_then(|(_, key)| key.clone())
        };
        if !sort.is_empty() {
            sort_rows(&mut found, sort, key, |_, _| Ordering::Equal);
        }
        let skipped =
            usize::try_from(page.saturating_sub(1).saturating_mul(*limit)).unwrap_or(usize::MAX);
        let ids = found
            .iter()
            .skip(skipped)
            .take(usize::try_from(*limit).unwrap_or(usize::MAX));
        let jobs: Vec<_> = ids
            .map(|(id, _)| job(&moment, id))
            .collect::<rusqlite::Result<_>>()?;
        Ok((found.len() as u64, jobs.into_iter().flatten().collect()))
    }

    pub(in crate::jobs) fn report(&self, id: &str) -> StoreResult<Report> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        report(&moment, id)?.ok_or_else(|| no_job(id).into())
    }

    /// Returns the status; `None` if the job does not exist (any more).
    pub(in crate::jobs) fn status(&self, id: &str) -> StoreResult<Option<JobStatus>> {
        Ok(self
            .reader()
            .query_row("SELECT status FROM job WHERE job_id = ?", [id], |row| {
                row.get(0)
            })
            .optional()?)
    }

    /// Number of queued and running jobs.
    pub(in crate::jobs) fn open_count(&self, dataset: &str) -> StoreResult<usize> {
        let count =
            "SELECT count(*) FROM job WHERE status IN ('queued', 'running') AND dataset = ?";
        Ok(self
            .reader()
            .query_row(count, [dataset], |row| row.get::<_, i64>(0))? as usize)
    }

    pub(in crate::jobs) fn any_queued(&self, dataset: &str) -> StoreResult<bool> {
        let any = "SELECT EXISTS (SELECT 1 FROM job WHERE status = 'queued' AND dataset = ?)";
        Ok(self.reader().query_row(any, [dataset], |row| row.get(0))?)
    }

    /// Returns the latest change number.
    pub(in crate::jobs) fn last_change(&self) -> StoreResult<i64> {
        Ok(self
            .reader()
            .query_row("SELECT coalesce(max(changed), 0) FROM job", [], |row| {
                row.get(0)
            })?)
    }

    /// Returns the dataset's jobs that changed after `since`, ordered by their last change.
    pub(in crate::jobs) fn changes(
        &self,
        dataset: &str,
        since: i64,
    ) -> StoreResult<Vec<(i64, String)>> {
        let reader = self.reader();
        let mut rows = reader
            .prepare_cached("SELECT changed, job_id FROM job WHERE changed > ?2 AND (dataset = ?1 OR dataset IS NULL) ORDER BY changed")?;
        let rows = rows
            .query_map(params![dataset, since], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        Ok(rows)
    }
}

/// Reads the tokens of many jobs, for conditions on them.
struct Tokens<'c>(CachedStatement<'c>);

impl<'c> Tokens<'c> {
    /// `counted`: with as many tasks as each token has, else with one.
    fn new(moment: &'c Connection, counted: bool) -> rusqlite::Result<Self> {
        let count = "(SELECT count(*) FROM task WHERE task.job_id = token.job_id AND task.position = token.position)";
        let count = if counted { count } else { "1" };
        moment
            .prepare_cached(&format!(
                "SELECT token_address, {count} FROM token WHERE job_id = ? ORDER BY position"
            ))
            .map(Self)
    }

    /// Tasks that name their token, and nothing else.
    fn tasks_of(&mut self, job: &str) -> rusqlite::Result<Vec<Task>> {
        let (mut rows, mut tasks) = (self.0.query([job])?, Vec::new());
        while let Some(row) = rows.next()? {
            let task_id = format!("-{}", row.get_ref(0)?.as_str()?);
            let task = Task {
                task_id,
                status: TaskStatus::Queued,
                description: String::new(),
            };
            tasks.extend(std::iter::repeat_n(task, row.get::<_, i64>(1)? as usize));
        }
        Ok(tasks)
    }
}

/// Reads an analysis, stored as its index in `Analysis::ALL`.
fn analysis(row: &Row<'_>, column: usize) -> rusqlite::Result<Analysis> {
    let index: i64 = row.get(column)?;
    let known = usize::try_from(index)
        .ok()
        .and_then(|index| Analysis::ALL.get(index))
        .copied();
    known.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, index))
}

pub(super) fn job(moment: &Connection, id: &str) -> rusqlite::Result<Option<Job>> {
    let head = moment
        .prepare_cached("SELECT status, tokens_used, dataset IS NULL FROM job WHERE job_id = ?")?
        .query_row([id], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
        })
        .optional()?;
    let Some((status, tokens_used, is_unknown)) = head else {
        return Ok(None);
    };
    let mut tasks = moment.prepare_cached(
        "SELECT token_address, label, analysis, status, reason FROM task JOIN token USING (job_id, position)
         WHERE job_id = ? ORDER BY position, analysis",
    )?;
    let tasks = tasks.query_map([id], |row| {
        let (token, label, analysis) = (
            address(row, 0)?,
            row.get::<_, String>(1)?,
            analysis(row, 2)?,
        );
        let (status, reason) = (
            row.get::<_, TaskStatus>(3)?,
            row.get::<_, Option<String>>(4)?,
        );
        let unknown = if is_unknown {
            ", in an unknown dataset"
        } else {
            ""
        };
        let about = format!("{} of {label}{unknown}", analysis.about());
        let description =
            reason.map_or_else(|| about.clone(), |reason| format!("{about}: {reason}"));
        Ok(Task {
            task_id: task_id(analysis, &token),
            status,
            description,
        })
    })?;
    Ok(Some(Job {
        job_id: id.to_owned(),
        status,
        tokens_used: tokens_used as u64,
        tasks: tasks.collect::<rusqlite::Result<_>>()?,
    }))
}

pub(in crate::jobs) fn task_id(analysis: Analysis, address: &Address) -> String {
    format!("{}-{address}", analysis.word())
}

fn report(moment: &Connection, id: &str) -> rusqlite::Result<Option<Report>> {
    let kept = moment.query_row(
        "SELECT status, sources FROM job WHERE job_id = ?",
        [id],
        |row| {
            let sources = row
                .get_ref(1)?
                .as_str_or_null()?
                .and_then(|json| serde_json::from_str(json).ok());
            Ok((row.get::<_, JobStatus>(0)?, sources))
        },
    );
    let Some((status, sources)) = kept.optional()? else {
        return Ok(None);
    };
    let mut tokens = moment
        .prepare_cached("SELECT token_address FROM token WHERE job_id = ? ORDER BY position")?;
    let mut tokens: Vec<_> = tokens
        .query_map([id], |row| address(row, 0).map(TokenReport::empty))?
        .collect::<rusqlite::Result<_>>()?;
    let mut parts =
        moment.prepare_cached("SELECT position, analysis, json FROM part WHERE job_id = ?")?;
    let mut rows = parts.query([id])?;
    while let Some(row) = rows.next()? {
        let token = usize::try_from(row.get::<_, i64>(0)?)
            .ok()
            .and_then(|position| tokens.get_mut(position));
        // JSON damaged on disk is left out.
        let json = finding(row.get_ref(2)?).and_then(|json| RawValue::from_string(json).ok());
        if let (Some(token), Some(json)) = (token, json) {
            *token.part_mut(analysis(row, 1)?) = Some(json);
        }
    }
    Ok(Some(Report {
        job_id: id.to_owned(),
        status,
        tokens,
        sources,
    }))
}

/// Reads a finding: zstd-compressed, or plain text as in earlier versions.
fn finding(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Blob(bytes) => {
            String::from_utf8(zstd::bulk::decompress(bytes, FINDING_BYTES_MAX).ok()?).ok()
        }
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        jobs::store::{NewToken, tests::store},
        queries::{list::filter_and_sort, order::Order},
    };
    use table::filter::{self, Filter};

    #[test]
    fn a_page_of_wanted_jobs_is_that_of_all_jobs_filtered_and_sorted() {
        let (store, _folder) = store(crate::jobs::store::tests::LIMITS);
        let token = |number: u8| NewToken {
            address: Address([number; 20]),
            label: "X".into(),
        };
        for number in 1..=9 {
            let tokens: Vec<_> = (0..=number % 3).map(|more| token(number + more)).collect();
            let id = store.insert("d", &tokens, 100).expect("a job").job_id;
            if number % 2 == 0 {
                store.terminate(&id).expect("terminated");
            }
        }
        store.insert("another", &[token(1)], 100).expect("a job");
        let (_, all) = store.list(Some("d"), 1, 100).expect("a list");
        for text in [
            "",
            "status:terminated",
            "status!=queued tasks>6",
            "tasks=12",
            "used<1",
            "created>2020",
            "tokens:0x0303030303030303030303030303030303030303",
        ] {
            for sort in [
                vec![],
                vec![Order::rising("created_at")],
                vec![Order::falling("tasks"), Order::rising("status")],
                vec![Order::rising("tokens")],
            ] {
                let filter = if text.is_empty() {
                    Filter::default()
                } else {
                    filter::conditions(text, Job::COLUMNS).expect("a filter")
                };
                let mut expected = all.clone();
                filter_and_sort(&mut expected, &filter, &sort);
                let wanted = |page, limit| JobsWanted {
                    filter: filter.clone(),
                    sort: sort.clone(),
                    only: Vec::new(),
                    page,
                    limit,
                };
                let select = |page, limit| store.select("d", &wanted(page, limit)).expect("a page");
                assert_eq!(
                    select(1, 100),
                    (expected.len() as u64, expected.clone()),
                    "{text} {sort:?}"
                );
                assert_eq!(
                    select(2, 2).1,
                    expected.iter().skip(2).take(2).cloned().collect::<Vec<_>>(),
                    "{text} {sort:?}"
                );
                assert!(!expected.is_empty() && select(u64::MAX, u64::MAX).1.is_empty());
            }
        }
    }
}
