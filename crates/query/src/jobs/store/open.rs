//! Opening the store: settings, schema, migrations from earlier versions, and replacement of a damaged file.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use model::wall_clock::now;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{HistoryLimits, JobStore, alerts, damaged};
use crate::error::{JobsError, StoreFault};

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Switching to WAL fails at once, ignoring the timeout, while another process opens the store.
const WAL_TRIES: u32 = 100;

/// Schema version, stored in `user_version`.
pub const JOBS_VERSION: i64 = 6;
/// Earlier versions: with uncompressed findings (still readable); without alerts; counting an alert's firings by the rows of `fired`;
/// without a job's sources; without its dataset.
const PLAIN_FINDINGS: i64 = 1;
const NO_ALERTS: i64 = 2;
const COUNTED_BY_ROWS: i64 = 3;
const NO_SOURCES: i64 = 4;
const NO_DATASET: i64 = 5;
const ADD_SOURCES: &str = "ALTER TABLE job ADD COLUMN sources TEXT";
/// A job of before belongs to no known dataset, so none may run it.
const ADD_DATASET: &str = "
    ALTER TABLE job ADD COLUMN dataset TEXT;
    CREATE INDEX job_by_dataset ON job (dataset, job_id);
    UPDATE task SET status = 'skipped', reason = 'An earlier version did not store the dataset of this job; start it again.'
        WHERE status IN ('queued', 'running') AND job_id IN (SELECT job_id FROM job WHERE status IN ('queued', 'running'));
    UPDATE job SET status = 'terminated' WHERE status IN ('queued', 'running');
";
const SCHEMA: &str = "
    CREATE TABLE job (
        job_id TEXT PRIMARY KEY,
        status TEXT NOT NULL,
        tokens_used INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0,
        changed INTEGER NOT NULL,
        sources TEXT,
        dataset TEXT
    ) WITHOUT ROWID;
    CREATE INDEX job_by_dataset ON job (dataset, job_id);
    CREATE INDEX job_by_status ON job (status, job_id);
    CREATE INDEX job_by_change ON job (changed);
    CREATE TABLE token (
        job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE,
        position INTEGER NOT NULL,
        token_address TEXT NOT NULL,
        label TEXT NOT NULL,
        PRIMARY KEY (job_id, position)
    ) WITHOUT ROWID;
    CREATE TABLE task (
        job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE,
        position INTEGER NOT NULL,
        analysis INTEGER NOT NULL,
        status TEXT NOT NULL,
        reason TEXT,
        PRIMARY KEY (job_id, position, analysis)
    ) WITHOUT ROWID;
    CREATE TABLE part (
        job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE,
        position INTEGER NOT NULL,
        analysis INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (job_id, position, analysis)
    );
";
/// Probe statement: fails to compile if a table or column is missing.
const PROBE: &str =
    "SELECT job.job_id, job.status, tokens_used, bytes, changed, sources, job.dataset, token.position, token_address, label, task.analysis,
    task.status, reason, json FROM job JOIN token USING (job_id) JOIN task USING (job_id) JOIN part USING (job_id) LIMIT 1";

enum Failure {
    Damaged(StoreFault),
    Other(StoreFault),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        if damaged(&error) {
            Self::Damaged(StoreFault::Sqlite(error))
        } else {
            Self::Other(StoreFault::Sqlite(error))
        }
    }
}

impl JobStore {
    /// Opens or creates the store. The owner also checks its integrity and sets a damaged file aside, reported in the text.
    pub(in crate::jobs) fn open(
        path: &Path,
        owner: bool,
        limits: HistoryLimits,
    ) -> Result<(Self, Option<String>), JobsError> {
        match connect(path, owner, limits) {
            Ok(store) => Ok((store, None)),
            Err(Failure::Other(fault)) => Err(JobsError::NotOpened {
                path: path.to_owned(),
                fault,
            }),
            Err(Failure::Damaged(fault)) if !owner => Err(JobsError::InUse {
                path: path.to_owned(),
                fault,
            }),
            Err(Failure::Damaged(fault)) => {
                let aside = match set_aside(path) {
                    Ok(aside) => aside,
                    Err(error) => {
                        return Err(JobsError::NotRenamed {
                            path: path.to_owned(),
                            fault,
                            error,
                        });
                    }
                };
                let store = connect(path, owner, limits).map_err(|failure| {
                    let (Failure::Damaged(fault) | Failure::Other(fault)) = failure;
                    JobsError::NotCreated {
                        path: path.to_owned(),
                        fault,
                    }
                })?;
                let notice = format!(
                    "the job store was damaged ({fault}); it was saved as `{}` and a new one was created, so earlier jobs are not listed",
                    aside.display()
                );
                Ok((store, Some(notice)))
            }
        }
    }
}

fn connect(path: &Path, check: bool, limits: HistoryLimits) -> Result<JobStore, Failure> {
    // Created here first, it is private to the user: SQLite would make it as readable as the umask allows.
    ::model::private_files::open_private(path)
        .map_err(|error| Failure::Other(StoreFault::Io(error)))?;
    let mut writer = Connection::open(path)?;
    writer.busy_timeout(BUSY_TIMEOUT)?;
    use_wal(&writer)?;
    writer.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216;")?;
    if check {
        let verdict: String = writer.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            let finding = verdict.lines().last().unwrap_or_default().to_owned();
            return Err(Failure::Damaged(StoreFault::Check(finding)));
        }
    }
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match transaction.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? {
        0 => {
            let schema = [SCHEMA, alerts::SCHEMA].concat();
            transaction
                .execute_batch(&schema)
                .map_err(|error| Failure::Damaged(StoreFault::Sqlite(error)))?;
            transaction.pragma_update(None, "user_version", JOBS_VERSION)?;
        }
        before @ (PLAIN_FINDINGS | NO_ALERTS | COUNTED_BY_ROWS | NO_SOURCES | NO_DATASET) => {
            match before {
                COUNTED_BY_ROWS => transaction.execute_batch(alerts::FROM_COUNTED_BY_ROWS)?,
                NO_SOURCES | NO_DATASET => {}
                _ => transaction.execute_batch(alerts::SCHEMA)?,
            }
            if before != NO_DATASET {
                transaction.execute_batch(ADD_SOURCES)?;
            }
            transaction.execute_batch(ADD_DATASET)?;
            transaction.pragma_update(None, "user_version", JOBS_VERSION)?;
        }
        JOBS_VERSION => {}
        newer => return Err(Failure::Other(StoreFault::Version(newer))),
    }
    transaction.commit()?;
    for probe in [PROBE, alerts::PROBE] {
        writer
            .prepare(probe)
            .map_err(|error| Failure::Damaged(StoreFault::Sqlite(error)))?;
    }
    let reader = Connection::open(path)?;
    reader.busy_timeout(BUSY_TIMEOUT)?;
    reader.execute_batch("PRAGMA query_only = ON")?;
    Ok(JobStore {
        writer: Mutex::new(writer),
        reader: Mutex::new(reader),
        limits,
        opened: (Instant::now(), now()),
    })
}

fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..WAL_TRIES {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        }) {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == ErrorCode::DatabaseBusy =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            outcome => return outcome.map(drop),
        }
    }
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
}

/// Renames the store with its WAL and shared-memory files, so that nothing is lost.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let with = |path: &Path, suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let stamp = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_millis());
    let aside = with(path, &format!(".damaged-{stamp}"));
    std::fs::rename(path, &aside)?;
    for suffix in ["-wal", "-shm"] {
        let companion = with(path, suffix);
        if companion.exists() {
            std::fs::rename(&companion, with(&aside, suffix))?;
        }
    }
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::store::tests::LIMITS;

    #[test]
    fn a_store_of_a_newer_version_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.sqlite");
        drop(JobStore::open(&path, true, LIMITS).expect("a store"));
        Connection::open(&path)
            .and_then(|c| c.pragma_update(None, "user_version", JOBS_VERSION + 1))
            .expect("a newer store");
        let reason = JobStore::open(&path, true, LIMITS)
            .expect_err("it is refused")
            .to_string();
        assert!(
            reason.contains(&format!("version {}", JOBS_VERSION + 1)),
            "{reason}"
        );
        assert!(path.exists());
    }

    /// What each version lacks that the next one has, latest first.
    const STEPS_BACK: &[(i64, &str)] = &[
        (NO_DATASET, "DROP INDEX job_by_dataset; ALTER TABLE job DROP COLUMN dataset"),
        (NO_SOURCES, "ALTER TABLE job DROP COLUMN sources"),
        (
            COUNTED_BY_ROWS,
            "DROP TABLE told; DROP INDEX fired_by_dataset; ALTER TABLE alert DROP COLUMN holds; ALTER TABLE alert DROP COLUMN digest;
            ALTER TABLE alert DROP COLUMN fired_count; ALTER TABLE alert DROP COLUMN last_fired_at",
        ),
        (NO_ALERTS, "DROP TABLE alert; DROP TABLE fired"),
        (PLAIN_FINDINGS, ""),
    ];

    /// A store as that version left it, with one finished job.
    fn earlier_store(path: &Path, version: i64) -> Connection {
        drop(JobStore::open(path, true, LIMITS).expect("a store"));
        let earlier = Connection::open(path).expect("a database");
        earlier
            .execute(
                "INSERT INTO job VALUES ('j_1', 'completed', 0, 0, 1, NULL, 'd')",
                [],
            )
            .expect("a job");
        for (_, step) in STEPS_BACK
            .iter()
            .take_while(|(reached, _)| *reached >= version)
        {
            earlier.execute_batch(step).expect("a step back");
        }
        earlier
            .pragma_update(None, "user_version", version)
            .expect("its version");
        earlier
    }

    #[test]
    fn a_store_of_every_earlier_version_is_read() {
        assert!(
            STEPS_BACK
                .iter()
                .map(|step| step.0)
                .eq((1..JOBS_VERSION).rev())
        );
        for (version, _) in STEPS_BACK {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("jobs.sqlite");
            drop(earlier_store(&path, *version));
            let (store, notice) = JobStore::open(&path, true, LIMITS)
                .unwrap_or_else(|reason| panic!("{version}: {reason}"));
            let kept = |question: &str| {
                store
                    .reader()
                    .query_row(question, [], |row| row.get::<_, i64>(0))
            };
            assert_eq!(
                (
                    notice,
                    kept("SELECT count(*) FROM job"),
                    kept("PRAGMA user_version")
                ),
                (None, Ok(1), Ok(JOBS_VERSION)),
                "{version}"
            );
        }
    }

    #[test]
    fn a_store_that_counted_firings_by_rows_is_migrated() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.sqlite");
        let fired = "INSERT INTO alert VALUES ('a_1', 'd', NULL, NULL, 'price>2', 1, 1, NULL, zeroblob(40));
            INSERT INTO fired VALUES (7, 'a_1', 'd', '0x0000000000000000000000000000000000000000', NULL, 'price>2', 5)";
        earlier_store(&path, COUNTED_BY_ROWS)
            .execute_batch(fired)
            .expect("an alert that fired");
        let (store, notice) = JobStore::open(&path, true, LIMITS).expect("a store");
        let alert = &store.alerts("d", 0, 1).expect("a list").alerts[0];
        assert_eq!(
            (
                notice,
                alert.holds,
                alert.fired,
                alert.last_fired_at.map(|at| at.0)
            ),
            (None, 2, 1, Some(5))
        );
        assert_eq!(store.last_delivered("d"), Ok(7));
    }

    #[test]
    fn a_store_without_its_tables_counts_as_damaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.sqlite");
        Connection::open(&path)
            .and_then(|c| {
                c.execute_batch("CREATE TABLE job (job_id, status, x); CREATE TABLE task (status, reason, job_id); PRAGMA user_version = 1")
            })
            .expect("a database");
        assert!(
            JobStore::open(&path, false, LIMITS)
                .is_err_and(|error| matches!(error, JobsError::InUse { .. }))
        );
        let (_, notice) = JobStore::open(&path, true, LIMITS).expect("a fresh store");
        assert!(notice.expect("a notice").contains("damaged"));
    }
}
