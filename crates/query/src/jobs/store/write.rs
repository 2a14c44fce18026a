//! Job state changes in the store, each in one transaction.

use rusqlite::{OptionalExtension, Transaction, params};

use super::{
    ClaimedJob, Durability, JobStore, NewToken, StoreResult, TaskEnding, TaskKey, address, read,
};
use crate::jobs::{Analysis, Job, JobStatus, Sources, TaskStatus, id, no_job};
use model::{
    error::{Code, Problem},
    time::{DAY_MS, Time},
    wall_clock::now,
};

impl JobStore {
    /// Appends a job to the dataset's queue. Errors: `queue` jobs are queued already.
    pub(in crate::jobs) fn insert(
        &self,
        dataset: &str,
        tokens: &[NewToken],
        queue: usize,
    ) -> StoreResult<Job> {
        self.write(Durability::Synced, |tx| {
            let waiting: i64 = tx.query_row(
                "SELECT count(*) FROM job WHERE status = 'queued' AND dataset = ?",
                [dataset],
                |row| row.get(0),
            )?;
            if waiting >= queue as i64 {
                return Err(Problem::new(
                    Code::Busy,
                    format!(
                        "{waiting} jobs are already queued, the maximum; start this one later."
                    ),
                )
                .into());
            }
            // A job that the clock put far ahead does not take the later ones along.
            let ahead = id::first_at(Time(now().0.saturating_add(DAY_MS)));
            let last: Option<String> = tx.query_row(
                "SELECT max(job_id) FROM job WHERE job_id < ?",
                [ahead],
                |row| row.get(0),
            )?;
            let id = id::new(id::JOB, last.as_deref())?;
            self.insert_rows(tx, &id, dataset, tokens)?;
            read::job(tx, &id)?.ok_or_else(|| no_job(&id).into())
        })
    }

    fn insert_rows(
        &self,
        tx: &Transaction<'_>,
        id: &str,
        dataset: &str,
        tokens: &[NewToken],
    ) -> rusqlite::Result<()> {
        tx.execute(
            "INSERT INTO job (job_id, status, changed, dataset) VALUES (?, 'queued', 0, ?)",
            [id, dataset],
        )?;
        let mut token_row = tx.prepare_cached(
            "INSERT INTO token (job_id, position, token_address, label) VALUES (?, ?, ?, ?)",
        )?;
        let mut task_row = tx.prepare_cached(
            "INSERT INTO task (job_id, position, analysis, status) VALUES (?, ?, ?, 'queued')",
        )?;
        for (position, token) in tokens.iter().enumerate() {
            token_row.execute(params![
                id,
                position as i64,
                token.address.to_string(),
                token.label
            ])?;
            for analysis in Analysis::ALL {
                task_row.execute(params![id, position as i64, analysis as i64])?;
            }
        }
        touch(tx, id)?;
        self.delete_old(tx, id)
    }

    /// Sets the dataset's oldest queued job to `running`.
    pub(in crate::jobs) fn claim(&self, dataset: &str) -> StoreResult<Option<ClaimedJob>> {
        self.write(Durability::Deferred, |tx| {
            let next = "SELECT job_id FROM job WHERE status = 'queued' AND dataset = ? ORDER BY job_id LIMIT 1";
            let Some(id) = tx.query_row(next, [dataset], |row| row.get::<_, String>(0)).optional()? else { return Ok(None) };
            tx.execute("UPDATE job SET status = 'running' WHERE job_id = ?", [&id])?;
            touch(tx, &id)?;
            let mut tokens = tx.prepare_cached("SELECT token_address FROM token WHERE job_id = ? ORDER BY position")?;
            let tokens = tokens.query_map([&id], |row| address(row, 0))?.collect::<rusqlite::Result<_>>()?;
            Ok(Some(ClaimedJob { id, dataset: dataset.to_owned(), tokens }))
        })
    }

    /// Stores the sources at the job's start; for later tokens, only marks whether they have changed.
    pub(in crate::jobs) fn save_sources(
        &self,
        id: &str,
        sources: &Sources,
        first: bool,
    ) -> StoreResult<()> {
        let json = |sources: &Sources| serde_json::to_string(sources).unwrap_or_default();
        self.write(Durability::Deferred, |tx| {
            if first {
                tx.execute(
                    "UPDATE job SET sources = ? WHERE job_id = ?",
                    params![json(sources), id],
                )?;
                return Ok(());
            }
            let kept = tx
                .query_row("SELECT sources FROM job WHERE job_id = ?", [id], |row| {
                    row.get::<_, Option<String>>(0)
                })
                .optional()?;
            let Some(kept) = kept
                .flatten()
                .and_then(|kept| serde_json::from_str::<Sources>(&kept).ok())
            else {
                return Ok(());
            };
            let same = Sources {
                changed: false,
                ..kept.clone()
            } == *sources;
            if !same && !kept.changed {
                let changed = json(&Sources {
                    changed: true,
                    ..kept
                });
                tx.execute(
                    "UPDATE job SET sources = ? WHERE job_id = ?",
                    params![changed, id],
                )?;
            }
            Ok(())
        })
    }

    /// Sets the task to `running` and updates its job's `tokens_used`; false if the job is not running any more.
    pub(in crate::jobs) fn begin_task(
        &self,
        key: TaskKey<'_>,
        tokens_used: u64,
    ) -> StoreResult<bool> {
        self.write(Durability::Deferred, |tx| {
            let used = "UPDATE job SET tokens_used = ? WHERE job_id = ? AND status = 'running'";
            if tx
                .prepare_cached(used)?
                .execute(params![tokens_used as i64, key.job])?
                == 0
            {
                return Ok(false);
            }
            set_task(tx, key, TaskStatus::Running, None)?;
            Ok(true)
        })
    }

    /// Stores a task's finding; false if the job is not running any more.
    pub(in crate::jobs) fn end_task(
        &self,
        key: TaskKey<'_>,
        ending: &TaskEnding,
    ) -> StoreResult<bool> {
        // This level takes a fraction of the answer's own time and leaves about a tenth of its bytes.
        let part = zstd::bulk::compress(ending.part.as_bytes(), 3).map_err(|_| {
            Problem::new(
                Code::Busy,
                "Out of memory: the task's result cannot be stored.",
            )
        })?;
        self.write(Durability::Deferred, |tx| {
            let bytes = "UPDATE job SET bytes = bytes + ? WHERE job_id = ? AND status = 'running'";
            if tx.prepare_cached(bytes)?.execute(params![part.len() as i64, key.job])? == 0 {
                return Ok(false);
            }
            tx.prepare_cached("INSERT OR REPLACE INTO part (job_id, position, analysis, json) VALUES (?, ?, ?, ?)")?.execute(params![
                key.job,
                key.position as i64,
                key.analysis as i64,
                part
            ])?;
            set_task(tx, key, ending.status, ending.reason.as_deref())?;
            Ok(true)
        })
    }

    /// Ends a job whose tasks have all ended: as `terminated` if every one failed, otherwise as `completed`.
    pub(in crate::jobs) fn finish(&self, id: &str) -> StoreResult<()> {
        self.write(Durability::Synced, |tx| {
            let any = "SELECT EXISTS (SELECT 1 FROM task WHERE job_id = ? AND status <> 'failed')";
            let status = if tx.query_row(any, [id], |row| row.get(0))? {
                JobStatus::Completed
            } else {
                JobStatus::Terminated
            };
            tx.execute(
                "UPDATE job SET status = ? WHERE job_id = ? AND status = 'running'",
                params![status, id],
            )?;
            touch(tx, id)?;
            Ok(self.delete_old(tx, id)?)
        })
    }

    /// Terminates a queued or running job; its unfinished tasks are skipped.
    pub(in crate::jobs) fn terminate(&self, id: &str) -> StoreResult<Job> {
        self.write(Durability::Synced, |tx| {
            let status: Option<JobStatus> = tx.query_row("SELECT status FROM job WHERE job_id = ?", [id], |row| row.get(0)).optional()?;
            let status = status.ok_or_else(|| no_job(id))?;
            if status.ended() {
                return Err(Problem::new(Code::JobEnded, format!("Job `{id}` is already {}.", status.word())).into());
            }
            tx.execute("UPDATE job SET status = 'terminated' WHERE job_id = ?", [id])?;
            tx.execute(
                "UPDATE task SET status = 'skipped', reason = 'The job was terminated before this task finished.'
                     WHERE job_id = ? AND status IN ('queued', 'running')",
                [id],
            )?;
            touch(tx, id)?;
            read::job(tx, id)?.ok_or_else(|| no_job(id).into())
        })
    }

    /// Returns the dataset's running jobs to the queue, to start over; with an id, this one alone.
    pub(in crate::jobs) fn requeue(&self, dataset: &str, id: Option<&str>) -> StoreResult<()> {
        self.write(Durability::Synced, |tx| {
            let mut running =
                tx.prepare("SELECT job_id FROM job WHERE status = 'running' AND dataset = ? AND job_id = coalesce(?, job_id)")?;
            let ids: Vec<String> = running.query_map(params![dataset, id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            for id in ids {
                tx.execute("DELETE FROM part WHERE job_id = ?", [&id])?;
                tx.execute("UPDATE task SET status = 'queued', reason = NULL WHERE job_id = ?", [&id])?;
                tx.execute("UPDATE job SET status = 'queued', tokens_used = 0, bytes = 0 WHERE job_id = ?", [&id])?;
                touch(tx, &id)?;
            }
            Ok(())
        })
    }
}

fn set_task(
    tx: &Transaction<'_>,
    key: TaskKey<'_>,
    status: TaskStatus,
    reason: Option<&str>,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE task SET status = ?, reason = ? WHERE job_id = ? AND position = ? AND analysis = ?",
    )?
    .execute(params![
        status,
        reason,
        key.job,
        key.position as i64,
        key.analysis as i64
    ])?;
    touch(tx, key.job)
}

/// Assigns the job the next change number, by which all processes on the store notice.
fn touch(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE job SET changed = (SELECT max(changed) + 1 FROM job) WHERE job_id = ?",
    )?
    .execute([id])
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::store::{
        HistoryLimits, Purge,
        tests::{LIMITS, store},
    };
    use model::address::Address;

    fn insert(store: &JobStore) -> Job {
        store
            .insert(
                "d",
                &[NewToken {
                    address: Address([7; 20]),
                    label: "X".into(),
                }],
                100,
            )
            .expect("a job")
    }

    #[test]
    fn beyond_the_number_kept_the_oldest_ended_jobs_are_deleted() {
        let (store, _folder) = store(HistoryLimits { jobs: 3, ..LIMITS });
        let open = insert(&store).job_id;
        let ended: Vec<_> = (0..4).map(|_| insert(&store).job_id).collect();
        for id in &ended {
            store.terminate(id).expect("terminated");
        }
        let newest = insert(&store).job_id;
        let (total, jobs) = store.list(Some("d"), 1, 10).expect("a list");
        assert_eq!(total, 3);
        assert_eq!(
            jobs.iter().map(|job| &job.job_id).collect::<Vec<_>>(),
            [&newest, &ended[3], &open]
        );
    }

    #[test]
    fn beyond_the_bytes_kept_the_oldest_ended_jobs_are_deleted() {
        let (store, _folder) = store(HistoryLimits {
            bytes: 45,
            ..LIMITS
        });
        let run = || {
            let id = insert(&store).job_id;
            store.claim("d").expect("a claim").expect("a job");
            let key = TaskKey {
                job: &id,
                position: 0,
                analysis: Analysis::Market,
            };
            let ending = TaskEnding {
                status: TaskStatus::Completed,
                reason: None,
                part: "\"12345678\"".into(),
            };
            assert!(
                store.begin_task(key, 1).expect("begun")
                    && store.end_task(key, &ending).expect("ended")
            );
            store.finish(&id).expect("finished");
            id
        };
        let ids: Vec<_> = (0..4).map(|_| run()).collect();
        let (_, jobs) = store.list(Some("d"), 1, 10).expect("a list");
        assert_eq!(
            jobs.iter().map(|job| &job.job_id).collect::<Vec<_>>(),
            [&ids[3], &ids[2]]
        );
    }

    #[test]
    fn a_purge_removes_ended_jobs_by_id_by_age_or_all() {
        let (store, _folder) = store(LIMITS);
        let ids: Vec<_> = (0..4).map(|_| insert(&store).job_id).collect();
        for id in &ids[..3] {
            store.terminate(id).expect("terminated");
        }
        let left = |store: &JobStore| {
            store
                .list(Some("d"), 1, 10)
                .expect("a list")
                .1
                .into_iter()
                .map(|job| job.job_id)
                .rev()
                .collect::<Vec<_>>()
        };
        assert_eq!(store.purge(&Purge::One(ids[3].clone())), Ok(0), "it waits");
        assert_eq!(store.purge(&Purge::One(ids[1].clone())), Ok(1));
        assert_eq!(left(&store), [&ids[0], &ids[2], &ids[3]].map(Clone::clone));
        assert_eq!(
            store.purge(&Purge::Before(id::created(&ids[2]).expect("a time"))),
            Ok(1)
        );
        assert_eq!(left(&store), ids[2..]);
        assert_eq!(store.purge(&Purge::All), Ok(1));
        store.shrink().expect("shrunk");
        assert_eq!(left(&store), ids[3..]);
    }

    #[test]
    fn a_terminated_job_does_not_change_any_more() {
        let (store, _folder) = store(LIMITS);
        let id = insert(&store).job_id;
        store.claim("d").expect("a claim").expect("a job");
        let key = TaskKey {
            job: &id,
            position: 0,
            analysis: Analysis::Dex,
        };
        assert!(store.begin_task(key, 1).expect("begun"));
        let terminated = store.terminate(&id).expect("terminated");
        let ending = TaskEnding {
            status: TaskStatus::Completed,
            reason: None,
            part: "1".into(),
        };
        assert!(!store.end_task(key, &ending).expect("refused"));
        assert!(!store.begin_task(key, 2).expect("refused"));
        store.finish(&id).expect("nothing to do");
        store.requeue("d", None).expect("nothing to do");
        assert_eq!(store.job(&id), Ok(terminated));
    }

    #[test]
    fn changes_are_numbered_across_jobs() {
        let (store, _folder) = store(LIMITS);
        let ids: Vec<_> = (0..2).map(|_| insert(&store).job_id).collect();
        let since = store.last_change().expect("a number");
        assert_eq!(store.changes("d", since), Ok(vec![]));
        store.terminate(&ids[0]).expect("terminated");
        assert_eq!(
            store.changes("d", since),
            Ok(vec![(since + 1, ids[0].clone())])
        );
    }
}
