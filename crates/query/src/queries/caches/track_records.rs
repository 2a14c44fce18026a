//! Cache of track records: the replayed pattern signals of each token, and the records of all tokens with the state of their counting.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use analysis::{
    patterns::PatternRecord,
    track_record::{
        Signal,
        returns::{ReturnRecord, SignalReturn},
    },
};
use model::{address::Address, error::Problem, locks::Locked as _, time::Time};

/// Most replays kept: of the tokens of a record on each timeframe, and some that were asked for alone.
const REPLAYS_MAX: usize = 5_000;

/// Cached replays by token and timeframe, and the records of all tokens by timeframe.
#[derive(Debug, Default)]
pub struct TrackRecordCache {
    tokens: Mutex<HashMap<(Address, &'static str), Arc<ReplayedToken>>>,
    counted: Mutex<HashMap<&'static str, RecordCount>>,
    /// How often the record of all tokens was published.
    version: AtomicU64,
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

/// The record of all tokens on one timeframe, as far as it is counted.
#[derive(Debug, Clone, Default)]
pub struct RecordCount {
    pub record: Option<Arc<WholeRecord>>,
    /// The record is that of an earlier reading of the data, until this one is counted.
    pub inherited: bool,
    /// Tokens followed and to be followed.
    pub progress: (u64, u64),
    /// Why it cannot be counted.
    pub problem: Option<Problem>,
}

impl RecordCount {
    fn is_due(&self) -> bool {
        (self.record.is_none() || self.inherited) && self.problem.is_none()
    }
}

/// The replay of one token and timeframe.
#[derive(Debug)]
pub(in crate::queries) struct ReplayedToken {
    pub as_of: Option<Time>,
    pub signals: Box<[Signal]>,
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

    /// The record of all tokens, as far as it is; from now on it is wanted.
    pub fn want(&self, timeframe: &'static str) -> RecordCount {
        self.counted.locked().entry(timeframe).or_default().clone()
    }

    /// The record of all tokens, if there is one, without wanting it.
    pub fn known(&self, timeframe: &str) -> Option<Arc<WholeRecord>> {
        self.counted.locked().get(timeframe)?.record.clone()
    }

    /// A timeframe whose record is wanted and not counted yet.
    pub fn due(&self) -> Option<&'static str> {
        self.counted
            .locked()
            .iter()
            .filter(|(_, counted)| counted.is_due())
            .map(|(timeframe, _)| *timeframe)
            .min()
    }

    pub fn report(&self, timeframe: &'static str, progress: (u64, u64)) {
        self.counted.locked().entry(timeframe).or_default().progress = progress;
    }

    /// Publishes the record, or why it cannot be counted.
    pub fn publish(&self, timeframe: &'static str, counted: Result<WholeRecord, Problem>) {
        let (record, problem) = match counted {
            Ok(record) => (Some(Arc::new(record)), None),
            Err(problem) => (None, Some(problem)),
        };
        self.counted.locked().insert(
            timeframe,
            RecordCount {
                record,
                problem,
                ..RecordCount::default()
            },
        );
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over the replays of an earlier snapshot of the same data, and its track records until they are recomputed.
    pub(in crate::queries) fn inherit(&self, before: &Self) {
        self.tokens.locked().clone_from(&before.tokens.locked());
        let counted = before.counted.locked().clone();
        let inherited = |counted: RecordCount| RecordCount {
            record: counted.record,
            inherited: true,
            ..RecordCount::default()
        };
        *self.counted.locked() = counted
            .into_iter()
            .map(|(timeframe, counted)| (timeframe, inherited(counted)))
            .collect();
        self.version.store(before.version(), Ordering::Relaxed);
    }

    /// Grows with each published record of all tokens, on which advice depends.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
}
