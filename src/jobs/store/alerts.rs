//! The alerts in the store: what is watched, for which tokens it held at the last look, and what fired. A look is one transaction.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{Store, Sync};
use crate::{
    dataset::{address::Address, time::Time},
    error::{Code, Problem, Result},
    jobs::{
        alerts::{ALERTS_MAX, Alert, AlertList, FiredAlert, no_alert},
        id,
    },
};

/// What fired is kept so many times; beyond it the oldest are dropped.
const FIRED_MAX: i64 = 10_000;
/// Told at once to who follows.
const FIRED_AT_ONCE: i64 = 1_000;

/// `held`: the tokens that met the condition at the last look, 20 bytes each.
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
        held BLOB NOT NULL
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
";

/// Fails to compile where a table or a column is missing.
pub(super) const PROBE: &str = "SELECT alert.alert_id, alert.dataset, alert.token_address, alert.symbol, alert.condition, created_at,
    checked_at, problem, held, fired_id, fired_at FROM alert JOIN fired USING (alert_id) LIMIT 1";

/// An alert to be.
#[derive(Debug)]
pub(in crate::jobs) struct NewAlert {
    pub(in crate::jobs) dataset: String,
    pub(in crate::jobs) token: Option<Address>,
    pub(in crate::jobs) symbol: Option<String>,
    pub(in crate::jobs) condition: String,
    pub(in crate::jobs) held: Vec<Address>,
    pub(in crate::jobs) at: Time,
}

/// What is looked at.
#[derive(Debug)]
pub(in crate::jobs) struct Watched {
    pub(in crate::jobs) id: String,
    pub(in crate::jobs) dataset: String,
    pub(in crate::jobs) token: Option<Address>,
    pub(in crate::jobs) condition: String,
    pub(in crate::jobs) held: Vec<Address>,
}

const ALERT: &str = "SELECT alert_id, token_address, symbol, condition, created_at, checked_at, problem, length(held) / 20,
    (SELECT count(*) FROM fired WHERE fired.alert_id = alert.alert_id),
    (SELECT max(fired_at) FROM fired WHERE fired.alert_id = alert.alert_id) FROM alert";
const FIRED: &str = "SELECT fired_id, alert_id, token_address, symbol, condition, fired_at FROM fired";

impl Store {
    /// The alert; where there is one like it already, that one.
    pub(in crate::jobs) fn add_alert(&self, new: &NewAlert) -> Result<Alert> {
        self.write(Sync::BeforeReturning, |tx| {
            let token = new.token.map(|token| token.to_string());
            let like = "SELECT alert_id FROM alert WHERE dataset = ? AND token_address IS ? AND condition = ?";
            let known: Option<String> = tx.query_row(like, params![new.dataset, token, new.condition], |row| row.get(0)).optional()?;
            if let Some(id) = known {
                return one(tx, &id);
            }
            let count: i64 = tx.query_row("SELECT count(*) FROM alert WHERE dataset = ?", [&new.dataset], |row| row.get(0))?;
            if count >= ALERTS_MAX as i64 {
                let detail = format!("There are {count} alerts already, the most there may be: remove one first.");
                return Err(Problem::new(Code::InvalidValue, detail));
            }
            let last: Option<String> = tx.query_row("SELECT max(alert_id) FROM alert", [], |row| row.get(0))?;
            let last = last.map(|last| last.replacen("a_", "j_", 1));
            let id = id::new(last.as_deref())
                .map_err(|_| Problem::new(Code::Busy, "The system has no random numbers to give right now: ask again in a moment."))?;
            let id = id.replacen("j_", "a_", 1);
            tx.execute(
                "INSERT INTO alert (alert_id, dataset, token_address, symbol, condition, created_at, checked_at, held)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)",
                params![id, new.dataset, token, new.symbol, new.condition, new.at.0, bytes(&new.held)],
            )?;
            one(tx, &id)
        })
    }

    /// Takes it out; what it fired stays.
    pub(in crate::jobs) fn remove_alert(&self, id: &str) -> Result<()> {
        let removed = self.write(Sync::BeforeReturning, |tx| Ok(tx.execute("DELETE FROM alert WHERE alert_id = ?", [id])?))?;
        if removed == 0 { Err(no_alert(id)) } else { Ok(()) }
    }

    pub(in crate::jobs) fn alerts(&self, dataset: &str, limit: u64) -> Result<AlertList> {
        let mut reader = self.reader();
        let moment = reader.transaction()?;
        let mut alerts = moment.prepare_cached(&format!("{ALERT} WHERE dataset = ? ORDER BY alert_id DESC"))?;
        let alerts = alerts.query_map([dataset], alert)?.collect::<rusqlite::Result<_>>()?;
        let mut fired = moment.prepare_cached(&format!("{FIRED} WHERE dataset = ? ORDER BY fired_id DESC LIMIT ?"))?;
        let fired = fired.query_map(params![dataset, limit as i64], fired_alert)?.collect::<rusqlite::Result<_>>()?;
        Ok(AlertList { alerts, fired })
    }

    pub(in crate::jobs) fn watched(&self, dataset: &str) -> Result<Vec<Watched>> {
        let reader = self.reader();
        let mut rows = reader.prepare_cached("SELECT alert_id, dataset, token_address, condition, held FROM alert WHERE dataset = ?")?;
        let rows = rows.query_map([dataset], |row| {
            let held = row.get_ref(4)?.as_blob()?.chunks_exact(20).filter_map(|bytes| Some(Address(bytes.try_into().ok()?)));
            Ok(Watched { id: row.get(0)?, dataset: row.get(1)?, token: row.get(2)?, condition: row.get(3)?, held: held.collect() })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Keeps what a look found: what holds now, and what fired by it. Nothing of an alert that was taken out meanwhile, or that
    /// another program looked at.
    pub(in crate::jobs) fn checked(
        &self,
        watched: &Watched,
        held: &[Address],
        fired: &[(Address, Option<String>)],
        at: Time,
    ) -> Result<()> {
        let sync = if fired.is_empty() { Sync::Sometime } else { Sync::BeforeReturning };
        self.write(sync, |tx| {
            let keep = "UPDATE alert SET held = ?, checked_at = ?, problem = NULL WHERE alert_id = ? AND held = ?";
            if tx.execute(keep, params![bytes(held), at.0, watched.id, bytes(&watched.held)])? == 0 {
                return Ok(());
            }
            let mut row = tx.prepare_cached(
                "INSERT INTO fired (alert_id, dataset, token_address, symbol, condition, fired_at) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            for (token, symbol) in fired {
                row.execute(params![watched.id, watched.dataset, token.to_string(), symbol, watched.condition, at.0])?;
            }
            if !fired.is_empty() {
                tx.execute("DELETE FROM fired WHERE fired_id <= (SELECT max(fired_id) FROM fired) - ?", [FIRED_MAX])?;
            }
            Ok(())
        })
    }

    /// Says why it could not be looked at.
    pub(in crate::jobs) fn not_checked(&self, id: &str, why: &str, at: Time) -> Result<()> {
        let keep = "UPDATE alert SET problem = ?, checked_at = ? WHERE alert_id = ?";
        self.write(Sync::Sometime, |tx| Ok(tx.execute(keep, params![why, at.0, id]).map(drop)?))
    }

    /// What fired after this one, the oldest first.
    pub(in crate::jobs) fn fired_after(&self, last: u64) -> Result<Vec<FiredAlert>> {
        let reader = self.reader();
        let mut rows = reader.prepare_cached(&format!("{FIRED} WHERE fired_id > ? ORDER BY fired_id LIMIT {FIRED_AT_ONCE}"))?;
        let rows = rows.query_map([i64::try_from(last).unwrap_or(i64::MAX)], fired_alert)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub(in crate::jobs) fn last_fired(&self) -> Result<u64> {
        let last: i64 = self.reader().query_row("SELECT coalesce(max(fired_id), 0) FROM fired", [], |row| row.get(0))?;
        Ok(last as u64)
    }
}

fn bytes(tokens: &[Address]) -> Vec<u8> {
    tokens.iter().flat_map(|token| token.0).collect()
}

fn one(tx: &Transaction<'_>, id: &str) -> Result<Alert> {
    tx.query_row(&format!("{ALERT} WHERE alert_id = ?"), [id], alert).optional()?.ok_or_else(|| no_alert(id))
}

fn alert(row: &Row<'_>) -> rusqlite::Result<Alert> {
    Ok(Alert {
        alert_id: row.get(0)?,
        token_address: row.get(1)?,
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
        token_address: row.get(2)?,
        symbol: row.get(3)?,
        condition: row.get(4)?,
        fired_at: Time(row.get(5)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::store::tests::LIMITS;

    const A: Address = Address([1; 20]);
    const B: Address = Address([2; 20]);

    fn new(condition: &str, held: &[Address]) -> NewAlert {
        let (condition, held) = (condition.to_owned(), held.to_vec());
        NewAlert { dataset: "d".to_owned(), token: None, symbol: None, condition, held, at: Time(1) }
    }

    #[test]
    fn a_look_is_kept_whole_and_counts_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("jobs.sqlite"), true, LIMITS).expect("a store").0;
        let made = store.add_alert(&new("price>2", &[A])).expect("an alert");
        assert_eq!((made.holds, made.fired, made.alert_id.len()), (1, 0, 28));
        assert_eq!(store.add_alert(&new("price>2", &[])).map(|again| again.alert_id), Ok(made.alert_id.clone()), "the same one");
        let watched = store.watched("d").expect("alerts").remove(0);
        store.checked(&watched, &[A, B], &[(B, Some("B".to_owned()))], Time(5)).expect("kept");
        // Who looked at what held before, beside another look, changes nothing.
        store.checked(&watched, &[A, B], &[(B, None)], Time(6)).expect("nothing");
        let list = store.alerts("d", 10).expect("a list");
        assert_eq!(list.fired.len(), 1);
        assert_eq!((list.alerts[0].holds, list.alerts[0].fired, list.alerts[0].last_fired_at), (2, 1, Some(Time(5))));
        assert_eq!(store.fired_after(0).map(|fired| fired.len()), Ok(1));
        assert_eq!(store.last_fired(), Ok(list.fired[0].fired_id));
        store.not_checked(&made.alert_id, "gone", Time(7)).expect("kept");
        let told = store.alerts("d", 0).expect("a list");
        assert_eq!((told.alerts[0].problem.as_deref(), told.alerts[0].holds, told.fired.len()), (Some("gone"), 2, 0));
        assert!(store.watched("e").expect("none").is_empty() && store.alerts("e", 9).expect("none").alerts.is_empty());
        assert_eq!(store.remove_alert(&made.alert_id), Ok(()));
        assert_eq!(store.remove_alert(&made.alert_id).map_err(|problem| problem.code), Err(Code::AlertNotFound));
        assert_eq!(store.alerts("d", 9).expect("a list").fired.len(), 1, "what fired stays");
    }

    #[test]
    fn there_are_only_so_many() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("jobs.sqlite"), true, LIMITS).expect("a store").0;
        store
            .write(Sync::Sometime, |tx| {
                let mut row = tx.prepare("INSERT INTO alert VALUES (?, 'd', NULL, NULL, ?, 0, 0, NULL, x'')")?;
                (0..ALERTS_MAX).try_for_each(|i| row.execute(params![format!("a_{i}"), format!("price>{i}")]).map(drop))?;
                Ok(())
            })
            .expect("rows");
        assert_eq!(store.add_alert(&new("price<1", &[])).map_err(|problem| problem.code), Err(Code::InvalidValue));
        store.remove_alert("a_7").expect("removed");
        assert!(store.add_alert(&new("price<1", &[])).is_ok());
    }
}
