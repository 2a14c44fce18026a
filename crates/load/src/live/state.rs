//! State of the live tables: past requests and their times in `live/asked.json` of the dataset, and the result of each table's last refresh
//! in `live/refresh.json`. Both are written after the rows, so that rows which they call known are on disk.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::LiveError;
use crate::live_files::FOLDER;
use model::{
    address::Address,
    chain::Chain,
    private_files::{read_text, try_exclusive, write_atomic},
    time::{DAY_MS, MINUTE_MS, Time},
};
use wire::web::WebVersion;

const FILE: &str = "refresh.json";
const ASKED_FILE: &str = "asked.json";
const LOCK: &str = "refresh.lock";
const FILE_MAX: u64 = 256 << 20;
/// How long a provider counts as not knowing a token.
const UNKNOWN_FOR: i64 = DAY_MS;

/// Recorded state of all live tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefreshState {
    pub tables: BTreeMap<String, TableRefreshed>,
    /// Records by request.
    #[serde(skip)]
    pub(crate) asked: BTreeMap<String, RequestHistory>,
    /// The pool that a token's candles come from, by token and chain: they stay those of one pool.
    #[serde(skip)]
    pub(crate) pools: BTreeMap<String, String>,
}

/// The last refresh of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableRefreshed {
    /// When it ended, in milliseconds; `None` before the first refresh that returned rows.
    pub last: Option<i64>,
    /// When the last attempt ended, with or without success, in milliseconds.
    pub tried: Option<i64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Notes about odd rows.
    pub notes: Vec<String>,
    /// Providers of the stored rows, from this refresh or earlier ones.
    pub providers: BTreeSet<String>,
}

/// What is known of one thing that was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RequestHistory {
    pub(crate) at: i64,
    /// The span that is covered, in milliseconds: nothing in it has to be asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) covered: Option<(i64, i64)>,
    /// The provider does not know it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unknown: bool,
    /// It gave rows once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gave: bool,
    #[serde(flatten)]
    pub(crate) version: WebVersion,
}

impl RefreshState {
    /// Reads the recorded state; empty if the file is missing or unreadable.
    pub fn read(dataset: &Path) -> Self {
        let asked: AskedFile<'static> = read_file(dataset, ASKED_FILE);
        Self {
            asked: asked.asked.into_owned(),
            pools: asked.pools.into_owned(),
            ..Self::read_tables(dataset)
        }
    }

    /// Reads the results of the tables only, without the record of requests, which may be long.
    pub fn read_tables(dataset: &Path) -> Self {
        read_file(dataset, FILE)
    }

    pub(crate) fn write(&self, dataset: &Path) -> Result<(), LiveError> {
        write_file(
            dataset,
            ASKED_FILE,
            &AskedFile {
                asked: Cow::Borrowed(&self.asked),
                pools: Cow::Borrowed(&self.pools),
            },
        )?;
        write_file(dataset, FILE, self)
    }

    /// Whether the provider was found not to know it, a short while ago.
    pub(crate) fn is_unknown(&self, key: &str, now: Time) -> bool {
        self.asked
            .get(key)
            .is_some_and(|asked| asked.unknown && (0..UNKNOWN_FOR).contains(&(now.0 - asked.at)))
    }

    pub(crate) fn pool_of(&self, token: Address, chain: &Chain) -> Option<Address> {
        self.pools
            .get(&format!("{token} {chain}"))
            .and_then(|pool| Address::parse(pool))
    }

    pub(crate) fn keep_pool(&mut self, token: Address, chain: &Chain, pool: Address) {
        self.pools
            .insert(format!("{token} {chain}"), pool.to_string());
    }

    /// When the table is due, if it is refreshed every `every` milliseconds. After a failure it is retried after a while; after the clock
    /// went backwards, immediately.
    pub fn due(&self, table: &str, every: i64, now: Time) -> Time {
        let Some(known) = self.tables.get(table) else {
            return now;
        };
        let wait = if known.failure.is_some() {
            every.clamp(MINUTE_MS, 15 * MINUTE_MS)
        } else {
            every
        };
        known
            .tried
            .filter(|last| *last <= now.0 + MINUTE_MS)
            .map_or(now, |last| Time(last.saturating_add(wait)))
    }
}

/// Content of `asked.json`.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct AskedFile<'a> {
    asked: Cow<'a, BTreeMap<String, RequestHistory>>,
    pools: Cow<'a, BTreeMap<String, String>>,
}

pub(super) fn read_file<T: Default + DeserializeOwned>(dataset: &Path, name: &str) -> T {
    let path = dataset.join(FOLDER).join(name);
    let read = read_text(&path, FILE_MAX)
        .ok()
        .map(|text| serde_json::from_str(&text));
    if let Some(Err(error)) = &read {
        tracing::warn!(
            "cannot read `{}`: {error}; everything is fetched again",
            path.display()
        );
    }
    read.and_then(Result::ok).unwrap_or_default()
}

pub(super) fn write_file(
    dataset: &Path,
    name: &str,
    content: &impl Serialize,
) -> Result<(), LiveError> {
    let text = serde_json::to_vec(content)?;
    Ok(write_atomic(&dataset.join(FOLDER).join(name), &text)?)
}

/// The right to fetch for a dataset: one program at a time has it.
#[derive(Debug)]
pub(crate) struct RefreshLock(#[expect(dead_code, reason = "dropping it frees the lock")] File);

impl RefreshLock {
    /// Takes the lock; none while another program has it.
    pub(crate) fn take(dataset: &Path) -> Result<Option<Self>, LiveError> {
        Ok(try_exclusive(&dataset.join(FOLDER).join(LOCK))?.map(Self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_due_after_its_time_and_at_once_when_the_clock_went_back() {
        let mut state = RefreshState::default();
        let now = Time(100 * DAY_MS);
        assert_eq!(state.due("candles", 1_000, now), now);
        state.tables.insert(
            "candles".to_owned(),
            TableRefreshed {
                tried: Some(now.0),
                ..TableRefreshed::default()
            },
        );
        assert_eq!(state.due("candles", 300_000, now), Time(now.0 + 300_000));
        assert_eq!(
            state.due("candles", 300_000, Time(now.0 - DAY_MS)),
            Time(now.0 - DAY_MS)
        );
        let failed = TableRefreshed {
            tried: Some(now.0),
            failure: Some("away".to_owned()),
            ..TableRefreshed::default()
        };
        state.tables.insert("candles".to_owned(), failed);
        assert_eq!(state.due("candles", 10_000, now), Time(now.0 + MINUTE_MS));
        assert_eq!(
            state.due("candles", DAY_MS, now),
            Time(now.0 + 15 * MINUTE_MS)
        );
    }

    #[test]
    fn what_is_remembered_is_there_again_and_one_program_fetches() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = RefreshLock::take(folder.path()).expect("a lock");
        assert!(lock.is_some() && RefreshLock::take(folder.path()).expect("held").is_none());
        drop(lock);
        assert!(RefreshLock::take(folder.path()).expect("free").is_some());
        let mut state = RefreshState::default();
        state.asked.insert(
            "a".to_owned(),
            RequestHistory {
                at: 5,
                unknown: true,
                ..RequestHistory::default()
            },
        );
        state.asked.insert(
            "b".to_owned(),
            RequestHistory {
                at: 5,
                covered: Some((1, 2)),
                ..RequestHistory::default()
            },
        );
        state.write(folder.path()).expect("written");
        let again = RefreshState::read(folder.path());
        assert_eq!(again, state);
        assert!(
            again.is_unknown("a", Time(6))
                && !again.is_unknown("a", Time(6 + DAY_MS))
                && !again.is_unknown("b", Time(6))
        );
        for name in [FILE, ASKED_FILE] {
            std::fs::write(folder.path().join(FOLDER).join(name), "{half").expect("written");
        }
        assert_eq!(RefreshState::read(folder.path()), RefreshState::default());
    }
}
