//! Which ended jobs are deleted: by number, by age, by size, or on request. A job that is queued or running never is.

use rusqlite::{Transaction, params};

use super::{JobStore, Sync};
use crate::{
    dataset::time::{DAY_MS, Time},
    error::Result,
    jobs::id,
};

const ENDED: &str = "status IN ('completed', 'terminated')";

/// How much is kept; beyond it the oldest ended jobs are deleted.
#[derive(Debug, Clone, Copy)]
pub(in crate::jobs) struct HistoryLimits {
    pub(in crate::jobs) jobs: u64,
    /// Bytes of stored findings.
    pub(in crate::jobs) bytes: u64,
    /// Days from a job's creation; 0: for ever.
    pub(in crate::jobs) days: u64,
}

/// Which ended jobs to remove.
#[derive(Debug, Clone, PartialEq)]
pub enum Purge {
    All,
    /// Created before this time.
    Before(Time),
    One(String),
}

impl JobStore {
    /// Removes ended jobs with all they found, and says how many.
    pub(in crate::jobs) fn purge(&self, which: &Purge) -> Result<u64> {
        self.write(Sync::BeforeReturning, |tx| {
            let removed = match which {
                Purge::All => tx.execute(&format!("DELETE FROM job WHERE {ENDED}"), [])?,
                Purge::Before(time) => delete_before(tx, *time)?,
                Purge::One(id) => tx.execute(&format!("DELETE FROM job WHERE job_id = ? AND {ENDED}"), [id])?,
            };
            Ok(removed as u64)
        })
    }

    /// Gives the space of removed jobs back to the disk.
    pub(in crate::jobs) fn shrink(&self) -> Result<()> {
        let connection = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?)
    }

    /// Deletes the oldest ended jobs, but never `keep`, until the limits hold.
    pub(super) fn delete_old(&self, tx: &Transaction<'_>, keep: &str) -> rusqlite::Result<()> {
        if let (days @ 1.., Some(created)) = (self.limits.days, id::created(keep)) {
            delete_before(tx, Time(created.0 - i64::try_from(days).unwrap_or(i64::MAX / DAY_MS).saturating_mul(DAY_MS)))?;
        }
        let oldest = format!("SELECT job_id FROM job WHERE {ENDED} AND job_id <> ? ORDER BY job_id");
        let count: i64 = tx.query_row("SELECT count(*) FROM job", [], |row| row.get(0))?;
        let surplus = count - i64::try_from(self.limits.jobs).unwrap_or(i64::MAX);
        if surplus > 0 {
            tx.execute(&format!("DELETE FROM job WHERE job_id IN ({oldest} LIMIT ?)"), params![keep, surplus])?;
        }
        loop {
            let bytes: i64 = tx.query_row("SELECT coalesce(sum(bytes), 0) FROM job", [], |row| row.get(0))?;
            let fits = bytes <= i64::try_from(self.limits.bytes).unwrap_or(i64::MAX);
            if fits || tx.execute(&format!("DELETE FROM job WHERE job_id = ({oldest} LIMIT 1)"), [keep])? == 0 {
                return Ok(());
            }
        }
    }
}

fn delete_before(tx: &Transaction<'_>, time: Time) -> rusqlite::Result<usize> {
    tx.execute(&format!("DELETE FROM job WHERE {ENDED} AND job_id < ?"), [id::first_at(time)])
}
