//! Retention: deletes ended jobs by number, age, size, or on request; never a queued or running one.

use rusqlite::{Transaction, params};

use super::{Durability, JobStore, StoreResult};
use crate::jobs::id;
use model::{
    locks::Locked as _,
    time::{DAY_MS, Time},
};

const ENDED: &str = "status IN ('completed', 'terminated')";

/// Retention limits; beyond them the oldest ended jobs are deleted.
#[derive(Debug, Clone, Copy)]
pub(in crate::jobs) struct HistoryLimits {
    pub(in crate::jobs) jobs: u64,
    /// Bytes of stored findings.
    pub(in crate::jobs) bytes: u64,
    /// Days since a job's creation; 0: unlimited.
    pub(in crate::jobs) days: u64,
}

/// Selection of ended jobs to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum Purge {
    All,
    /// Created before this time.
    Before(Time),
    One(String),
}

impl JobStore {
    /// Deletes ended jobs with their findings; returns their number.
    pub(in crate::jobs) fn purge(&self, which: &Purge) -> StoreResult<u64> {
        self.write(Durability::Synced, |tx| {
            let removed = match which {
                Purge::All => tx.execute(&format!("DELETE FROM job WHERE {ENDED}"), [])?,
                Purge::Before(time) => delete_before(tx, *time)?,
                Purge::One(id) => tx.execute(&format!("DELETE FROM job WHERE job_id = ? AND {ENDED}"), [id])?,
            };
            Ok(removed as u64)
        })
    }

    /// Returns the space of deleted jobs to the file system (VACUUM).
    pub(in crate::jobs) fn shrink(&self) -> StoreResult<()> {
        let connection = self.writer.locked();
        Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?)
    }

    /// Deletes the oldest ended jobs, but never `keep`, until the limits are met.
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
