//! Retention: deletes ended jobs by number, age, size, or on request; never a queued or running one.

use rusqlite::{Transaction, params};

use super::{Durability, JobStore, StoreResult};
use crate::jobs::id;
use model::{
    locks::Locked as _,
    time::{DAY_MS, Time},
    wall_clock::now,
};

const HOUR_MS: i64 = 3_600_000;
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
                Purge::One(id) => tx.execute(
                    &format!("DELETE FROM job WHERE job_id = ? AND {ENDED}"),
                    [id],
                )?,
            };
            Ok(removed as u64)
        })
    }

    /// Returns the space of deleted jobs to the file system (VACUUM).
    pub(in crate::jobs) fn shrink(&self) -> StoreResult<()> {
        let connection = self.writer.locked();
        Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?)
    }

    /// The time that it is at least, as a clock that jumps ahead deletes nothing: the last job before this program, a day, and the time that
    /// this program runs. None without such a job.
    fn certain_time(&self, tx: &Transaction<'_>, now: Time) -> rusqlite::Result<Option<Time>> {
        let (started, opened) = self.opened;
        // Not of a program that has just ended, by the same wrong clock.
        let before = id::first_at(Time(opened.0.saturating_sub(HOUR_MS)));
        let last: Option<String> = tx.query_row(
            "SELECT max(job_id) FROM job WHERE job_id < ?",
            [before],
            |row| row.get(0),
        )?;
        let running = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let certain = |last: Time| {
            Time(
                last.0
                    .saturating_add(DAY_MS)
                    .saturating_add(running)
                    .min(now.0),
            )
        };
        Ok(last.as_deref().and_then(id::created).map(certain))
    }

    /// Deletes the oldest ended jobs, but never `keep`, until the limits are met.
    pub(super) fn delete_old(&self, tx: &Transaction<'_>, keep: &str) -> rusqlite::Result<()> {
        if let (days @ 1.., Some(certain)) = (self.limits.days, self.certain_time(tx, now())?) {
            let kept = i64::try_from(days)
                .unwrap_or(i64::MAX / DAY_MS)
                .saturating_mul(DAY_MS);
            delete_before(tx, Time(certain.0.saturating_sub(kept)))?;
        }
        let oldest =
            format!("SELECT job_id FROM job WHERE {ENDED} AND job_id <> ? ORDER BY job_id");
        let count: i64 = tx.query_row("SELECT count(*) FROM job", [], |row| row.get(0))?;
        let surplus = count - i64::try_from(self.limits.jobs).unwrap_or(i64::MAX);
        if surplus > 0 {
            tx.execute(
                &format!("DELETE FROM job WHERE job_id IN ({oldest} LIMIT ?)"),
                params![keep, surplus],
            )?;
        }
        loop {
            let bytes: i64 =
                tx.query_row("SELECT coalesce(sum(bytes), 0) FROM job", [], |row| {
                    row.get(0)
                })?;
            let fits = bytes <= i64::try_from(self.limits.bytes).unwrap_or(i64::MAX);
            if fits
                || tx.execute(
                    &format!("DELETE FROM job WHERE job_id = ({oldest} LIMIT 1)"),
                    [keep],
                )? == 0
            {
                return Ok(());
            }
        }
    }
}

fn delete_before(tx: &Transaction<'_>, time: Time) -> rusqlite::Result<usize> {
    tx.execute(
        &format!("DELETE FROM job WHERE {ENDED} AND job_id < ?"),
        [id::first_at(time)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::store::{
        NewToken,
        tests::{LIMITS, store},
    };
    use model::address::Address;

    /// Ages in days of the ended jobs that remain after a new one, if the clock is `ahead` days ahead.
    fn left_after(ages: &[i64], ahead: i64) -> Vec<i64> {
        let (mut store, _folder) = store(HistoryLimits { days: 90, ..LIMITS });
        let today = now();
        let id_of = |age: i64| id::first_at(Time(today.0 - age * DAY_MS));
        let insert =
            "INSERT INTO job (job_id, status, changed, dataset) VALUES (?, 'completed', 0, 'd')";
        for age in ages {
            store
                .writer
                .locked()
                .execute(insert, [id_of(*age)])
                .expect("a job");
        }
        // The clock of this program is ahead from its start.
        store.opened.1 = Time(today.0 + ahead * DAY_MS);
        let wrong = Time(today.0 + ahead * DAY_MS);
        let certain = store
            .write(
                Durability::Deferred,
                |tx| Ok(store.certain_time(tx, wrong)?),
            )
            .expect("a time");
        if let Some(certain) = certain {
            store
                .purge(&Purge::Before(Time(certain.0 - 90 * DAY_MS)))
                .expect("purged");
        }
        store
            .insert(
                "d",
                &[NewToken {
                    address: Address([7; 20]),
                    label: "X".into(),
                }],
                9,
            )
            .expect("a job");
        ages.iter()
            .copied()
            .filter(|age| store.job(&id_of(*age)).is_ok())
            .collect()
    }

    #[test]
    fn jobs_are_deleted_by_their_age_and_not_by_a_clock_that_jumps() {
        assert_eq!(left_after(&[200, 92, 80, 1], 0), [80, 1]);
        assert_eq!(
            left_after(&[80, 40, 1], 100),
            [80, 40, 1],
            "the clock was ahead"
        );
        assert_eq!(
            left_after(&[80, 40, 1, -100], 0),
            [80, 40, 1, -100],
            "it was ahead before"
        );
        assert_eq!(
            left_after(&[200, 150], 0),
            [200, 150],
            "no later job shows that this much time has passed"
        );
    }

    #[test]
    fn a_job_far_ahead_does_not_take_later_ones_along() {
        let (store, _folder) = store(LIMITS);
        let ahead = id::first_at(Time(now().0 + 100 * DAY_MS));
        store
            .writer
            .locked()
            .execute(
                "INSERT INTO job (job_id, status, changed) VALUES (?, 'completed', 0)",
                [&ahead],
            )
            .expect("a job");
        let new = || {
            store
                .insert(
                    "d",
                    &[NewToken {
                        address: Address([7; 20]),
                        label: "X".into(),
                    }],
                    9,
                )
                .expect("a job")
                .job_id
        };
        let (first, second) = (new(), new());
        assert!(first < second && second < ahead);
    }
}
