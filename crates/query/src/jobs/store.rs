//! The store of jobs and alerts: one SQLite file in WAL mode. A job's creation, end and termination are synced to disk before the call
//! returns; progress in between is not, since an interrupted job starts over anyway.

mod alerts;
mod history;
mod open;
mod read;
mod write;

use std::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

pub(super) use self::{
    alerts::{AlertCheck, NewAlert, StoredAlert},
    history::HistoryLimits,
    read::{JobDataset, task_id},
};
pub use self::{history::Purge, open::JOBS_VERSION};

use super::{Analysis, JobStatus, TaskStatus};
use crate::error::JobsError;
use model::{
    address::Address,
    error::{Code, Problem},
    locks::Locked as _,
    time::Time,
};

/// A token of a new job.
#[derive(Debug)]
pub(super) struct NewToken {
    pub(super) address: Address,
    /// Its symbol, else its short address.
    pub(super) label: String,
}

/// A job taken from the queue.
#[derive(Debug)]
pub(super) struct ClaimedJob {
    pub(super) id: String,
    pub(super) dataset: String,
    pub(super) tokens: Vec<Address>,
}

/// Key of a task: job, token and analysis.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskKey<'a> {
    pub(super) job: &'a str,
    /// Index of the token in the job, 0-based.
    pub(super) position: usize,
    pub(super) analysis: Analysis,
}

/// Outcome of a task.
#[derive(Debug)]
pub(super) struct TaskEnding {
    pub(super) status: TaskStatus,
    /// Why it has no result.
    pub(super) reason: Option<String>,
    /// JSON of the answer, or of the problem.
    pub(super) part: String,
}

#[derive(Debug)]
pub(super) struct JobStore {
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    limits: HistoryLimits,
    /// When it was opened, by both clocks.
    opened: (Instant, Time),
}

/// Durability of a write: synced before returning, or later.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Durability {
    Synced,
    Deferred,
}

impl JobStore {
    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.locked()
    }

    /// Runs `change` in one transaction.
    fn write<T>(
        &self,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> StoreResult<T>,
    ) -> StoreResult<T> {
        let mut connection = self.writer.locked();
        connection.pragma_update(
            None,
            "synchronous",
            if durability == Durability::Deferred {
                "NORMAL"
            } else {
                "FULL"
            },
        )?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = change(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }
}

/// Reason why a request to the store failed.
#[derive(Debug, PartialEq)]
pub(in crate::jobs) struct JobStoreError(Problem);

pub(in crate::jobs) type StoreResult<T> = std::result::Result<T, JobStoreError>;

impl From<Problem> for JobStoreError {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl std::fmt::Display for JobStoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<JobStoreError> for JobsError {
    fn from(error: JobStoreError) -> Self {
        Self::Query(error.0)
    }
}

impl From<JobStoreError> for Problem {
    fn from(error: JobStoreError) -> Self {
        error.0
    }
}

/// The user is told the remedy; the cause goes to the log.
impl From<rusqlite::Error> for JobStoreError {
    fn from(error: rusqlite::Error) -> Self {
        tracing::error!("job store: {error}");
        Self(if damaged(&error) {
            Problem::new(
                Code::Defect,
                "The job store is damaged; restart tokendeck, which sets it aside and creates a new one.",
            )
        } else {
            Problem::new(
                Code::Busy,
                "The job store is unavailable; check that its disk has free space and is writable, then retry.",
            )
        })
    }
}

fn damaged(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
        ),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..) => true,
        _ => false,
    }
}

/// Stores enums of words as text columns.
macro_rules! word_columns {
    ($($name:ident)*) => {$(
        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                let word = value.as_str()?;
                $name::ALL.iter().find(|known| known.word() == word).copied().ok_or(rusqlite::types::FromSqlError::InvalidType)
            }
        }

        impl rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.word().into())
            }
        }
    )*};
}

word_columns!(JobStatus TaskStatus);

/// Reads a text column as an address.
fn address(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Address> {
    let text: String = row.get(column)?;
    let odd =
        || rusqlite::Error::InvalidColumnType(column, text.clone(), rusqlite::types::Type::Text);
    Address::parse(&text).ok_or_else(odd)
}

fn optional_address(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Address>> {
    if row.get_ref(column)? == rusqlite::types::ValueRef::Null {
        Ok(None)
    } else {
        address(row, column).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::{HistoryLimits, JobStore};

    pub(super) const LIMITS: HistoryLimits = HistoryLimits {
        jobs: 10_000,
        bytes: 1 << 30,
        days: 0,
    };

    /// An empty store in a temporary folder.
    pub(super) fn store(limits: HistoryLimits) -> (JobStore, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        (
            JobStore::open(&folder.path().join("jobs.sqlite"), true, limits)
                .expect("a store")
                .0,
            folder,
        )
    }
}
