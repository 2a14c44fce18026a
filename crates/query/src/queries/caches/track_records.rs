//! Cache of track records: the replayed pattern signals of each token, and the records of all tokens with the state of their counting.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use analysis::{
    patterns::PatternRecord,
    track_record::{
        Replay,
        returns::{ReturnRecord, SignalReturn},
    },
};
use model::{
    address::Address,
    error::{Problem, Result},
    locks::Locked as _,
    time::Time,
};
use security::track_record::VerdictRecord;
use serde::{Serialize, de::DeserializeOwned};

use crate::queries::snapshot::Snapshot;

/// Most replays kept: of the tokens of a record on each timeframe, and some that were asked for alone.
const REPLAYS_MAX: usize = 5_000;

/// Maximum number of cached security verdicts at past times.
const VERDICTS_MAX: usize = 20_000;

/// Cached replays by token and timeframe, security verdicts at past times, and the records of all tokens.
#[derive(Debug, Default)]
pub struct TrackRecordCache {
    tokens: Mutex<HashMap<(Address, &'static str), Arc<ReplayedToken>>>,
    /// Security verdicts by the hash of their inputs.
    verdicts: Mutex<HashMap<[u8; 32], &'static str>>,
    /// The records of the patterns, by timeframe.
    counted: CountedRecords<&'static str, WholeRecord>,
    security: CountedRecords<(), SecurityRecord>,
    /// How often a record of all tokens was published.
    version: AtomicU64,
}

/// A record of all tokens that is counted in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordName {
    /// Of the patterns, trend labels and holder-growth ranks on this timeframe.
    Patterns(&'static str),
    /// Of the security verdicts.
    Security,
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patterns(timeframe) => write!(f, "patterns on {timeframe}"),
            Self::Security => f.write_str("security verdicts"),
        }
    }
}

/// Receives (done, total); total is 0 while unknown. Errors: canceled.
pub type Step<'a> = &'a dyn Fn(u64, u64) -> Result<()>;

/// A record of all tokens that is counted in the background, on one thread.
pub trait Counted {
    type Record;
    /// What it is counted from.
    type Inputs;
    /// The part that is stored.
    type Kept: Serialize + DeserializeOwned;

    fn name(&self) -> RecordName;
    /// The inputs, and the digest of them and of the rules. Errors: the record cannot be counted; canceled.
    fn inputs(&self, snapshot: &Snapshot, step: Step<'_>) -> Result<(Self::Inputs, [u8; 32])>;
    /// Counts the record, or uses the stored part. Returns the part to store. Errors: canceled.
    fn count(
        &self,
        snapshot: &Snapshot,
        inputs: (Self::Inputs, [u8; 32]),
        known: Option<Self::Kept>,
        step: Step<'_>,
    ) -> Result<(Self::Record, Self::Kept)>;
}

/// The record of the security verdicts of all tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct SecurityRecord {
    /// Of the rows and of the rules that it was counted by.
    pub digest: [u8; 32],
    /// Number of verdicts, and of their tokens.
    pub verdicts: u64,
    pub tokens: u64,
    /// Number of these whose launch is their first row, because they have no deployment time.
    pub by_first_row: u64,
    /// Tokens without a verdict: their launch is unknown; no outcome is known; their rows are queried in place; above the limit.
    pub left_out: [u64; 4],
    pub as_of: Option<Time>,
    pub records: Arc<[VerdictRecord]>,
}

/// The record of all tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRecord {
    /// Of the candles and of the rules that it was counted by.
    pub digest: [u8; 32],
    /// Number of tokens followed.
    pub tokens: u64,
    pub as_of: Option<Time>,
    pub patterns: Arc<[PatternRecord]>,
    pub trends: Vec<ReturnRecord>,
    pub growth: Vec<ReturnRecord>,
}

/// A record of all tokens, as far as it is counted.
#[derive(Debug, Clone)]
pub struct RecordCount<R = WholeRecord> {
    pub record: Option<Arc<R>>,
    /// The record is that of an earlier reading of the data, until this one is counted.
    pub inherited: bool,
    /// Tokens followed and to be followed.
    pub progress: (u64, u64),
    /// Why it cannot be counted.
    pub problem: Option<Problem>,
}

impl<R> Default for RecordCount<R> {
    fn default() -> Self {
        Self {
            record: None,
            inherited: false,
            progress: (0, 0),
            problem: None,
        }
    }
}

impl<R> RecordCount<R> {
    fn is_due(&self) -> bool {
        (self.record.is_none() || self.inherited) && self.problem.is_none()
    }
}

/// Records of one kind that are wanted, with the state of their counting.
#[derive(Debug)]
struct CountedRecords<K, R>(Mutex<HashMap<K, RecordCount<R>>>);

impl<K, R> Default for CountedRecords<K, R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Ord + Hash, R: Clone> CountedRecords<K, R> {
    fn want(&self, key: K) -> RecordCount<R> {
        self.0.locked().entry(key).or_default().clone()
    }

    fn known(&self, key: &K) -> Option<Arc<R>> {
        self.0.locked().get(key)?.record.clone()
    }

    fn due(&self) -> Option<K> {
        let counted = self.0.locked();
        let due = counted.iter().filter(|(_, counted)| counted.is_due());
        due.map(|(key, _)| *key).min()
    }

    fn report(&self, key: K, progress: (u64, u64)) {
        self.0.locked().entry(key).or_default().progress = progress;
    }

    fn publish(&self, key: K, counted: Result<R>) {
        let (record, problem) = match counted {
            Ok(record) => (Some(Arc::new(record)), None),
            Err(problem) => (None, Some(problem)),
        };
        let counted = RecordCount {
            record,
            problem,
            ..RecordCount::default()
        };
        self.0.locked().insert(key, counted);
    }

    fn inherit(&self, before: &Self) {
        let counted = before.0.locked().clone();
        let inherited = |counted: RecordCount<R>| RecordCount {
            record: counted.record,
            inherited: true,
            ..RecordCount::default()
        };
        *self.0.locked() = counted
            .into_iter()
            .map(|(key, counted)| (key, inherited(counted)))
            .collect();
    }
}

/// The replay of one token and timeframe.
#[derive(Debug)]
pub(in crate::queries) struct ReplayedToken {
    pub as_of: Option<Time>,
    pub patterns: Replay,
    pub trends: Box<[SignalReturn]>,
    /// Of the candles that were replayed.
    pub digest: [u8; 32],
}

impl TrackRecordCache {
    pub(in crate::queries) fn get(
        &self,
        token: Address,
        timeframe: &'static str,
    ) -> Option<Arc<ReplayedToken>> {
        self.tokens.locked().get(&(token, timeframe)).cloned()
    }

    pub(in crate::queries) fn insert(
        &self,
        token: Address,
        timeframe: &'static str,
        replay: &Arc<ReplayedToken>,
    ) {
        let mut tokens = self.tokens.locked();
        if tokens.len() < REPLAYS_MAX || tokens.contains_key(&(token, timeframe)) {
            tokens.insert((token, timeframe), Arc::clone(replay));
        }
    }

    pub(in crate::queries) fn verdict(&self, inputs: &[u8; 32]) -> Option<&'static str> {
        self.verdicts.locked().get(inputs).copied()
    }

    pub(in crate::queries) fn keep_verdict(&self, inputs: [u8; 32], verdict: &'static str) {
        let mut verdicts = self.verdicts.locked();
        if verdicts.len() >= VERDICTS_MAX {
            verdicts.clear();
        }
        verdicts.insert(inputs, verdict);
    }

    /// The record of all tokens, as far as it is; from now on it is wanted.
    pub fn want(&self, timeframe: &'static str) -> RecordCount {
        self.counted.want(timeframe)
    }

    /// The record of all tokens, if there is one, without wanting it.
    pub fn known(&self, timeframe: &str) -> Option<Arc<WholeRecord>> {
        let counted = self.counted.0.locked();
        counted.get(timeframe)?.record.clone()
    }

    /// The same two of the security verdicts.
    pub fn want_security(&self) -> RecordCount<SecurityRecord> {
        self.security.want(())
    }

    pub fn known_security(&self) -> Option<Arc<SecurityRecord>> {
        self.security.known(&())
    }

    /// A record that is wanted and not counted yet.
    pub fn due(&self) -> Option<RecordName> {
        let patterns = self.counted.due().map(RecordName::Patterns);
        patterns.or_else(|| self.security.due().map(|()| RecordName::Security))
    }

    /// Done and total of the record.
    pub fn progress(&self, name: RecordName) -> (u64, u64) {
        match name {
            RecordName::Patterns(timeframe) => self.want(timeframe).progress,
            RecordName::Security => self.want_security().progress,
        }
    }

    pub fn report(&self, name: RecordName, progress: (u64, u64)) {
        match name {
            RecordName::Patterns(timeframe) => self.counted.report(timeframe, progress),
            RecordName::Security => self.security.report((), progress),
        }
    }

    /// Publishes the record, or why it cannot be counted.
    pub fn publish(&self, timeframe: &'static str, counted: Result<WholeRecord>) {
        self.counted.publish(timeframe, counted);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    pub fn publish_security(&self, counted: Result<SecurityRecord>) {
        self.security.publish((), counted);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over the replays of an earlier snapshot of the same data, and its track records until they are recomputed.
    pub(in crate::queries) fn inherit(&self, before: &Self) {
        self.tokens.locked().clone_from(&before.tokens.locked());
        self.verdicts.locked().clone_from(&before.verdicts.locked());
        self.counted.inherit(&before.counted);
        self.security.inherit(&before.security);
        self.version.store(before.version(), Ordering::Relaxed);
    }

    /// Grows with each published record of all tokens, on which advice depends.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
}
