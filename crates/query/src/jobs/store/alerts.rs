//! Alerts in the store: their conditions, the tokens that met them at the last check, and their firings. A check is one transaction.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{Durability, JobStore, StoreResult, address, optional_address};
use crate::jobs::{
    alert::{ALERTS_MAX, Alert, AlertList, FiredAlert, no_alert},
    id,
};
use model::{
    address::Address,
    error::{Code, Problem},
    time::Time,
};

/// Firings kept per alert; beyond it the oldest delivered ones are deleted.
const FIRED_MAX: u32 = 1_000;
/// Firings kept of all removed alerts together.
const FIRED_BY_REMOVED_MAX: u32 = 10_000;
/// Page size of `fired_after`.
const FIRED_AT_ONCE: i64 = 1_000;

/// `held`: tokens that must stop meeting the condition before they fire again, 20 bytes each; `holds`: number of tokens that met it at the
/// last check; `digest`: digest of that check's data. `told`: the last firing of a dataset delivered to the user.
pub(super) const SCHEMA: &str = "
    CREATE TABLE alert (
        alert_id TEXT PRIMARY KEY,
        dataset TEXT NOT NULL,
        token_address TEXT,
        symbol TEXT,
        condition TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        checked_at INTEGER NOT NULL,
        problem TEXT,
        held BLOB NOT NULL,
        holds INTEGER NOT NULL DEFAULT 0,
        digest BLOB NOT NULL DEFAULT x'',
        fired_count INTEGER NOT NULL DEFAULT 0,
        last_fired_at INTEGER
    ) WITHOUT ROWID;
    CREATE INDEX alert_by_dataset ON alert (dataset, alert_id);
    CREATE TABLE fired (
        fired_id INTEGER PRIMARY KEY AUTOINCREMENT,
        alert_id TEXT NOT NULL,
        dataset TEXT NOT NULL,
        token_address TEXT NOT NULL,
        symbol TEXT,
        condition TEXT NOT NULL,
        fired_at INTEGER NOT NULL
    );
    CREATE INDEX fired_by_alert ON fired (alert_id);
    CREATE INDEX fired_by_dataset ON fired (dataset);
    CREATE TABLE told (
        dataset TEXT PRIMARY KEY,
        fired_id INTEGER NOT NULL
    ) WITHOUT ROWID;
";

/// Migration from the version that counted firings by the rows of `fired` and had no table `told`: marks all of them as delivered.
pub(super) const FROM_COUNTED_BY_ROWS: &str = "
    ALTER TABLE alert ADD COLUMN holds INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE alert ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
    ALTER TABLE alert ADD COLUMN fired_count INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE alert ADD COLUMN last_fired_at INTEGER;
    UPDATE alert SET holds = length(held) / 20,
        fired_count = (SELECT count(*) FROM fired WHERE fired.alert_id = alert.alert_id),
        last_fired_at = (SELECT max(fired_at) FROM fired WHERE fired.alert_id = alert.alert_id);
    CREATE INDEX fired_by_dataset ON fired (dataset);
    CREATE TABLE told (
        dataset TEXT PRIMARY KEY,
        fired_id INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO told SELECT dataset, max(fired_id) FROM fired GROUP BY dataset;
";

/// Probe statement: fails to compile if a table or column is missing.
pub(super) const PROBE: &str = "SELECT alert.alert_id, alert.dataset, alert.token_address, alert.symbol, alert.condition, created_at,
    checked_at, problem, held, holds, digest, fired_count, last_fired_at, fired.fired_id, fired_at, told.fired_id
    FROM alert JOIN fired USING (alert_id) JOIN told ON told.dataset = alert.dataset LIMIT 1";

/// A new alert.
#[derive(Debug)]
pub(in crate::jobs) struct NewAlert {
    pub(in crate::jobs) dataset: String,
    pub(in crate::jobs) token: Option<Address>,
    pub(in crate::jobs) symbol: Option<String>,
    pub(in crate::jobs) condition: String,
    pub(in crate::jobs) held: Vec<Address>,
    /// Digest of the data in which `held` was determined; empty if its first check is to determine it.
    pub(in crate::jobs) digest: Vec<u8>,
    pub(in crate::jobs) at: Time,
}

/// An alert with the outcome of its last check.
#[derive(Debug)]
pub(in crate::jobs) struct StoredAlert {
    pub(in crate::jobs) id: String,
    pub(in crate::jobs) dataset: String,
    pub(in crate::jobs) token: Option<Address>,
    pub(in crate::jobs) condition: String,
    pub(in crate::jobs) held: Vec<Address>,
    /// Digest of the last check's data; empty if there was none, or an older program version stored none.
    pub(in crate::jobs) digest: Vec<u8>,
}

/// Outcome of a check.
#[derive(Debug)]
pub(in crate::jobs) struct AlertCheck {
    /// Tokens that must stop meeting the condition before they fire again.
    pub(in crate::jobs) held: Vec<Address>,
    /// Number of tokens that meet the condition.
    pub(in crate::jobs) holds: usize,
    /// Tokens it fired for, with their symbols.
    pub(in crate::jobs) fired: Vec<(Address, Option<String>)>,
    /// Milliseconds in which it does not fire again for a token.
    pub(in crate::jobs) cooldown: Option<i64>,
    pub(in crate::jobs) digest: [u8; 32],
    pub(in crate::jobs) at: Time,
}

const ALERT: &str = "SELECT alert_id, token_address, symbol, condition, created_at, checked_at, problem, holds, fired_count, last_fired_at
    FROM alert";
const FIRED: &str =
    "SELECT fired_id, alert_id, token_address, symbol, condition, fired_at FROM fired";

impl JobStore {
    /// Adds an alert, or returns the existing one with the same token and condition.
    pub(in crate::jobs) fn add_alert(&self, new: &NewAlert) -> StoreResult<Alert> {
        self.write(Durability::Synced, |tx| {
            let token = new.token.map(|token| token.to_string());
            let like = "SELECT alert_id FROM alert WHERE dataset = ? AND token_address IS ? AND condition = ?";
            let known: Option<String> = tx.query_row(like, params![new.dataset, token, new.condition], |row| row.get(0)).optional()?;
            if let Some(id) = known {
                return one(tx, &id);
            }
            let count: i64 = tx.query_row("SELECT count(*) FROM alert WHERE dataset = ?", [&new.dataset], |row| row.get(0))?;
            if count >= ALERTS_MAX as i64 {
                let detail = format!("There are already {count} alerts, the maximum; remove one first.");
                return Err(Problem::new(Code::InvalidValue, detail).into());
            }
            let last: Option<String> = tx.query_row("SELECT max(alert_id) FROM alert", [], |row| row.get(0))?;
            let id = id::new(id::ALERT, last.as_deref())?;
            tx.execute(
                "INSERT INTO alert (alert_id, dataset, token_address, symbol, condition, created_at, checked_at, held, holds, digest)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9)",
                params![
                    id,
                    new.dataset,
                    token,
                    new.symbol,
                    new.condition,
                    new.at.0,
                    bytes(&new.held),
                    new.held.len() as i64,
                    new.digest.as_slice()
                ],
            )?;
            one(tx, &id)
        })
    }

    /// Deletes an alert; its firings stay.
    pub(in crate::jobs) fn remove_alert(&self, id: &str) -> StoreResult<()> {
        let removed = self.write(Durability::Synced, |tx| {
            let removed = tx.execute("DELETE FROM alert WHERE alert_id = ?", [id])?;
            let by_removed = "alert_id NOT IN (SELECT alert_id FROM alert)";
            tx.execute(
                &format!(
                    "DELETE FROM fired WHERE {by_removed} AND fired_id <= {LAST_DELIVERED} AND fired_id <=
                     (SELECT fired_id FROM fired WHERE {by_removed} ORDER BY fired_id DESC LIMIT 1 OFFSET {FIRED_BY_REMOVED_MAX})"
                ),
                [],
            )?;
            Ok(removed)
        })?;
        if removed == 0 {
            Err(no_alert(id).into())
        } else {
            Ok(())
        }
    }

    pub(in crate::jobs) fn alerts(
        &self,
        dataset: &str,
        limit: u64,
        before: u64,
    ) -> StoreResult<AlertList> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        let mut alerts =
            moment.prepare_cached(&format!("{ALERT} WHERE dataset = ? ORDER BY alert_id DESC"))?;
        let alerts = alerts
            .query_map([dataset], alert)?
            .collect::<rusqlite::Result<_>>()?;
        let mut fired = moment.prepare_cached(&format!(
            "{FIRED} WHERE dataset = ? AND fired_id < ? ORDER BY fired_id DESC LIMIT ?"
        ))?;
        let fired = fired
            .query_map(params![dataset, before as i64, limit as i64], fired_alert)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(AlertList { alerts, fired })
    }

    /// Returns the dataset's alerts, and whether the last check of each was on these data.
    pub(in crate::jobs) fn alerts_checked_in(
        &self,
        dataset: &str,
        digest: &[u8; 32],
    ) -> StoreResult<Vec<(String, bool)>> {
        let reader = self.reader();
        let mut rows =
            reader.prepare_cached("SELECT alert_id, digest = ? FROM alert WHERE dataset = ?")?;
        let rows = rows.query_map(params![digest.as_slice(), dataset], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the alert with the outcome of its last check; `None` if it was deleted.
    pub(in crate::jobs) fn stored_alert(&self, id: &str) -> StoreResult<Option<StoredAlert>> {
        let reader = self.reader();
        let mut rows =
            reader.prepare_cached("SELECT alert_id, dataset, token_address, condition, held, digest FROM alert WHERE alert_id = ?")?;
        let watched = rows.query_row([id], |row| {
            let held = row
                .get_ref(4)?
                .as_blob()?
                .chunks_exact(20)
                .filter_map(|bytes| Some(Address(bytes.try_into().ok()?)));
            let (id, dataset, token, condition) = (
                row.get(0)?,
                row.get(1)?,
                optional_address(row, 2)?,
                row.get(3)?,
            );
            Ok(StoredAlert {
                id,
                dataset,
                token,
                condition,
                held: held.collect(),
                digest: row.get(5)?,
            })
        });
        Ok(watched.optional()?)
    }

    /// Stores the outcome of a check and returns its firings. Stores nothing and returns `None` if the alert was deleted, or checked by
    /// another process, since `watched` was read.
    pub(in crate::jobs) fn save_check(
        &self,
        watched: &StoredAlert,
        found: &AlertCheck,
    ) -> StoreResult<Option<Vec<FiredAlert>>> {
        let durability = if found.fired.is_empty() {
            Durability::Deferred
        } else {
            Durability::Synced
        };
        self.write(durability, |tx| {
            let keep = "UPDATE alert SET held = ?, holds = ?, digest = ?, checked_at = ?, problem = NULL WHERE alert_id = ?
                AND held = ? AND digest = ?";
            let (held, before) = (bytes(&found.held), bytes(&watched.held));
            let kept = params![held, found.holds as i64, found.digest.as_slice(), found.at.0, watched.id, before, watched.digest];
            if tx.execute(keep, kept)? == 0 {
                return Ok(None);
            }
            if found.fired.is_empty() {
                return Ok(Some(Vec::new()));
            }
            let mut recent = HashSet::new();
            if let Some(cooldown) = found.cooldown {
                let mut rows = tx.prepare_cached("SELECT DISTINCT token_address FROM fired WHERE alert_id = ? AND fired_at > ?")?;
                let since = found.at.0.saturating_sub(cooldown);
                for token in rows.query_map(params![watched.id, since], |row| address(row, 0))? {
                    recent.insert(token?);
                }
            }
            let mut row = tx.prepare_cached(
                "INSERT INTO fired (alert_id, dataset, token_address, symbol, condition, fired_at) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            let mut fired = Vec::with_capacity(found.fired.len());
            for (token, symbol) in found.fired.iter().filter(|(token, _)| !recent.contains(token)) {
                let fired_id =
                    row.insert(params![watched.id, watched.dataset, token.to_string(), symbol, watched.condition, found.at.0])?;
                fired.push(FiredAlert {
                    fired_id: fired_id as u64,
                    alert_id: watched.id.clone(),
                    token_address: *token,
                    symbol: symbol.clone(),
                    condition: watched.condition.clone(),
                    fired_at: found.at,
                });
            }
            let count = "UPDATE alert SET fired_count = fired_count + ?, last_fired_at = ? WHERE alert_id = ?";
            if !fired.is_empty() {
                tx.execute(count, params![fired.len() as i64, found.at.0, watched.id])?;
            }
            tx.execute(
                &format!(
                    "DELETE FROM fired WHERE alert_id = ?1 AND fired_id <= {LAST_DELIVERED} AND fired_id <=
                     (SELECT fired_id FROM fired WHERE alert_id = ?1 ORDER BY fired_id DESC LIMIT 1 OFFSET {FIRED_MAX})"
                ),
                [&watched.id],
            )?;
            Ok(Some(fired))
        })
    }

    /// Stores why the check failed; with the data's digest if retrying on the same data is pointless.
    pub(in crate::jobs) fn save_failed_check(
        &self,
        id: &str,
        why: &str,
        digest: Option<&[u8; 32]>,
        at: Time,
    ) -> StoreResult<()> {
        let keep = "UPDATE alert SET problem = ?, checked_at = ?, digest = coalesce(?, digest) WHERE alert_id = ?";
        let digest = digest.map(<[u8; 32]>::as_slice);
        self.write(Durability::Deferred, |tx| {
            Ok(tx.execute(keep, params![why, at.0, digest, id]).map(drop)?)
        })
    }

    /// Returns one page of the dataset's firings after this one, oldest first.
    pub(in crate::jobs) fn fired_after(
        &self,
        dataset: &str,
        last: u64,
    ) -> StoreResult<Vec<FiredAlert>> {
        let reader = self.reader();
        let mut rows = reader.prepare_cached(&format!(
            "{FIRED} WHERE dataset = ? AND fired_id > ? ORDER BY fired_id LIMIT {FIRED_AT_ONCE}"
        ))?;
        let rows = rows.query_map(
            params![dataset, i64::try_from(last).unwrap_or(i64::MAX)],
            fired_alert,
        )?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the dataset's last firing; 0 without any.
    pub(in crate::jobs) fn last_fired(&self, dataset: &str) -> StoreResult<u64> {
        self.number(
            "SELECT coalesce(max(fired_id), 0) FROM fired WHERE dataset = ?",
            dataset,
        )
    }

    /// Returns the dataset's last firing delivered to the user.
    pub(in crate::jobs) fn last_delivered(&self, dataset: &str) -> StoreResult<u64> {
        self.number(
            "SELECT coalesce(max(fired_id), 0) FROM told WHERE dataset = ?",
            dataset,
        )
    }

    fn number(&self, query: &str, dataset: &str) -> StoreResult<u64> {
        let number: i64 = self
            .reader()
            .prepare_cached(query)?
            .query_row([dataset], |row| row.get(0))?;
        Ok(number as u64)
    }

    /// Records that all firings up to this one were delivered to the user.
    pub(in crate::jobs) fn set_last_delivered(&self, dataset: &str, last: u64) -> StoreResult<()> {
        let keep = "INSERT INTO told VALUES (?, ?) ON CONFLICT DO UPDATE SET fired_id = max(fired_id, excluded.fired_id)";
        self.write(Durability::Deferred, |tx| {
            Ok(tx.execute(keep, params![dataset, last as i64]).map(drop)?)
        })
    }
}

/// SQL subquery within a query of `fired`: the last firing of its dataset delivered to the user.
const LAST_DELIVERED: &str =
    "coalesce((SELECT told.fired_id FROM told WHERE told.dataset = fired.dataset), 0)";

fn bytes(tokens: &[Address]) -> Vec<u8> {
    tokens.iter().flat_map(|token| token.0).collect()
}

fn one(tx: &Transaction<'_>, id: &str) -> StoreResult<Alert> {
    tx.query_row(&format!("{ALERT} WHERE alert_id = ?"), [id], alert)
        .optional()?
        .ok_or_else(|| no_alert(id).into())
}

fn alert(row: &Row<'_>) -> rusqlite::Result<Alert> {
    Ok(Alert {
        alert_id: row.get(0)?,
        token_address: optional_address(row, 1)?,
        symbol: row.get(2)?,
        condition: row.get(3)?,
        created_at: Time(row.get(4)?),
        checked_at: Time(row.get(5)?),
        problem: row.get(6)?,
        holds: row.get::<_, i64>(7)? as u64,
        fired: row.get::<_, i64>(8)? as u64,
        last_fired_at: row.get::<_, Option<i64>>(9)?.map(Time),
    })
}

fn fired_alert(row: &Row<'_>) -> rusqlite::Result<FiredAlert> {
    Ok(FiredAlert {
        fired_id: row.get::<_, i64>(0)? as u64,
        alert_id: row.get(1)?,
        token_address: address(row, 2)?,
        symbol: row.get(3)?,
        condition: row.get(4)?,
        fired_at: Time(row.get(5)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::{
        alert::FIRED_ID_MAX,
        store::tests::{LIMITS, store},
    };

    const A: Address = Address([1; 20]);
    const B: Address = Address([2; 20]);

    fn new(condition: &str, held: &[Address]) -> NewAlert {
        let (condition, held) = (condition.to_owned(), held.to_vec());
        NewAlert {
            dataset: "d".to_owned(),
            token: None,
            symbol: None,
            condition,
            held,
            digest: vec![1; 32],
            at: Time(1),
        }
    }

    fn found(held: &[Address], fired: &[Address], at: i64) -> AlertCheck {
        let fired = fired.iter().map(|token| (*token, None)).collect();
        AlertCheck {
            held: held.to_vec(),
            holds: held.len(),
            fired,
            cooldown: None,
            digest: [2; 32],
            at: Time(at),
        }
    }

    #[test]
    fn a_check_is_kept_once_however_many_programs_made_it() {
        let (store, _folder) = store(LIMITS);
        let made = store.add_alert(&new("price>2", &[A])).expect("an alert");
        assert_eq!((made.holds, made.fired, made.alert_id.len()), (1, 0, 28));
        assert_eq!(
            store
                .add_alert(&new("price>2", &[]))
                .map(|again| again.alert_id),
            Ok(made.alert_id.clone()),
            "the same one"
        );
        let checked_in = |digest: u8| {
            store
                .alerts_checked_in("d", &[digest; 32])
                .map(|alerts| alerts[0].1)
        };
        assert_eq!(
            (checked_in(1), checked_in(2)),
            (Ok(true), Ok(false)),
            "in the data it was made in"
        );
        assert_eq!(store.alerts_checked_in("e", &[1; 32]), Ok(vec![]));
        let watched = store
            .stored_alert(&made.alert_id)
            .expect("a store")
            .expect("an alert");
        let fired = store
            .save_check(&watched, &found(&[A, B], &[B], 5))
            .expect("kept")
            .expect("the first check");
        assert_eq!((checked_in(1), checked_in(2)), (Ok(false), Ok(true)));
        // A second check that started from the same state changes nothing.
        assert_eq!(
            store.save_check(&watched, &found(&[A, B], &[B], 6)),
            Ok(None)
        );
        let list = store.alerts("d", 10, FIRED_ID_MAX).expect("a list");
        assert_eq!(
            (list.fired.len(), &list.fired),
            (1, &fired),
            "what the check returned"
        );
        assert_eq!(
            (
                list.alerts[0].holds,
                list.alerts[0].fired,
                list.alerts[0].last_fired_at
            ),
            (2, 1, Some(Time(5)))
        );
        assert_eq!(store.fired_after("d", 0).map(|fired| fired.len()), Ok(1));
        assert_eq!(store.fired_after("e", 0), Ok(vec![]), "another dataset's");
        assert_eq!(
            (store.last_fired("d"), store.last_fired("e")),
            (Ok(list.fired[0].fired_id), Ok(0))
        );
        store
            .save_failed_check(&made.alert_id, "gone", None, Time(7))
            .expect("kept");
        let told = store.alerts("d", 0, FIRED_ID_MAX).expect("a list");
        assert_eq!(
            (
                told.alerts[0].problem.as_deref(),
                told.alerts[0].holds,
                told.fired.len()
            ),
            (Some("gone"), 2, 0)
        );
        assert!(
            store
                .alerts("e", 9, FIRED_ID_MAX)
                .expect("none")
                .alerts
                .is_empty()
        );
        assert_eq!(store.remove_alert(&made.alert_id), Ok(()));
        assert_eq!(
            store
                .remove_alert(&made.alert_id)
                .map_err(|error| Problem::from(error).code),
            Err(Code::AlertNotFound)
        );
        assert_eq!(
            store
                .alerts("d", 9, FIRED_ID_MAX)
                .expect("a list")
                .fired
                .len(),
            1,
            "what fired stays"
        );
    }

    #[test]
    fn within_the_cooldown_a_token_does_not_fire_again() {
        let (store, _folder) = store(LIMITS);
        let made = store.add_alert(&new("price>2 cooldown 100", &[]));
        let id = made.expect("an alert").alert_id;
        let fire = |held: &[Address], fired: &[Address], at| {
            let watched = store.stored_alert(&id).expect("a store").expect("an alert");
            let check = AlertCheck {
                cooldown: Some(100),
                ..found(held, fired, at)
            };
            let fired = store.save_check(&watched, &check).expect("kept");
            fired.map_or(0, |fired| fired.len())
        };
        assert_eq!(fire(&[A], &[A], 5), 1);
        assert_eq!(fire(&[], &[], 20), 0);
        assert_eq!(fire(&[A, B], &[A, B], 50), 1, "another token does");
        assert_eq!(fire(&[], &[], 60), 0);
        assert_eq!(fire(&[A], &[A], 105), 1);
        let list = store.alerts("d", 10, FIRED_ID_MAX).expect("a list");
        assert_eq!((list.alerts[0].fired, list.fired.len()), (3, 3));
    }

    #[test]
    fn firings_are_deleted_only_after_they_were_delivered_and_still_count() {
        let (store, _folder) = store(LIMITS);
        let id = store
            .add_alert(&new("price>2", &[]))
            .expect("an alert")
            .alert_id;
        let many: Vec<Address> = (0..1_500_u16)
            .map(|i| {
                Address(
                    [&i.to_be_bytes()[..], &[0; 18]]
                        .concat()
                        .try_into()
                        .expect("20"),
                )
            })
            .collect();
        let fire = |held: &[Address], fired: &[Address]| {
            let watched = store.stored_alert(&id).expect("a store").expect("an alert");
            store
                .save_check(&watched, &found(held, fired, 5))
                .expect("kept");
        };
        let rows = || {
            store
                .alerts("d", 10_000, FIRED_ID_MAX)
                .expect("a list")
                .fired
                .len()
        };
        fire(&many, &many);
        assert_eq!(rows(), 1_500, "none was delivered");
        assert_eq!(
            store.fired_after("d", 0).map(|page| page.len()),
            Ok(1_000),
            "a page"
        );
        store
            .set_last_delivered("d", store.last_fired("d").expect("a number"))
            .expect("kept");
        store.set_last_delivered("d", 3).expect("kept");
        assert_eq!(
            store.last_delivered("d"),
            store.last_fired("d"),
            "it never goes back"
        );
        fire(&[A], &[A]);
        let list = store.alerts("d", 10_000, FIRED_ID_MAX).expect("a list");
        assert_eq!((list.fired.len(), list.alerts[0].fired), (1_000, 1_501));
        let page = store
            .alerts("d", 3, list.fired[9].fired_id)
            .expect("a page")
            .fired;
        assert_eq!(page, list.fired[10..13], "the three before");
    }

    #[test]
    fn a_dataset_has_a_limited_number_of_alerts() {
        let (store, _folder) = store(LIMITS);
        store
            .write(Durability::Deferred, |tx| {
                let add = "INSERT INTO alert (alert_id, dataset, condition, created_at, checked_at, held) VALUES (?, 'd', ?, 0, 0, x'')";
                let mut row = tx.prepare(add)?;
                (0..ALERTS_MAX).try_for_each(|i| row.execute(params![format!("a_{i}"), format!("price>{i}")]).map(drop))?;
                Ok(())
            })
            .expect("rows");
        assert_eq!(
            store
                .add_alert(&new("price<1", &[]))
                .map_err(|error| Problem::from(error).code),
            Err(Code::InvalidValue)
        );
        store.remove_alert("a_7").expect("removed");
        assert!(store.add_alert(&new("price<1", &[])).is_ok());
    }
}
