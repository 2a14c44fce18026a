//! Cache of track records: the replayed pattern signals of each token, and the returns after holder-growth rankings.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock,
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
use model::{address::Address, locks::Locked as _, time::Time};

/// Cached replays by token and timeframe, filled on demand, and the growth records.
#[derive(Debug, Default)]
pub struct TrackRecordCache {
    tokens: Mutex<HashMap<(Address, &'static str), Arc<ReplayedToken>>>,
    growth: OnceLock<Vec<ReturnRecord>>,
    /// The records of all tokens, by timeframe, once every token is replayed.
    whole: Mutex<HashMap<&'static str, WholeRecords>>,
    /// How often records of all tokens were counted.
    version: AtomicU64,
}

/// The records of all tokens.
#[derive(Debug, Clone)]
pub struct WholeRecords {
    pub records: Arc<[PatternRecord]>,
    /// Of an earlier reading of the data, and not counted anew yet.
    pub inherited: bool,
}

/// The replay of one token and timeframe.
#[derive(Debug)]
pub(in crate::question) struct ReplayedToken {
    pub as_of: Option<Time>,
    pub signals: Box<[Signal]>,
    pub trends: Box<[SignalReturn]>,
    /// Whether it holds a peg, to the dollar or to a coin; unknown until the record of all tokens is asked for.
    pub holds_peg: OnceLock<bool>,
}

impl TrackRecordCache {
    pub(in crate::question) fn get(&self, token: Address, timeframe: &'static str) -> Option<Arc<ReplayedToken>> {
        self.tokens.locked().get(&(token, timeframe)).cloned()
    }

    /// Needs no eviction: there is at most one entry for each token and timeframe.
    pub(in crate::question) fn insert(&self, token: Address, timeframe: &'static str, replay: &Arc<ReplayedToken>) {
        self.tokens.locked().insert((token, timeframe), Arc::clone(replay));
    }

    /// The records of all tokens; `None` until every token is replayed.
    pub fn whole(&self, timeframe: &'static str) -> Option<WholeRecords> {
        self.whole.locked().get(timeframe).cloned()
    }

    pub(in crate::question) fn keep_whole(&self, timeframe: &'static str, records: &[PatternRecord]) {
        self.whole.locked().insert(timeframe, WholeRecords { records: records.into(), inherited: false });
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over the records of all tokens of an earlier reading of the same data, until they are counted anew.
    pub(in crate::question) fn inherit(&self, before: &Self) {
        let whole = before.whole.locked().clone();
        let inherited = whole.into_iter().map(|(timeframe, whole)| (timeframe, WholeRecords { inherited: true, ..whole }));
        *self.whole.locked() = inherited.collect();
        self.version.store(before.version(), Ordering::Relaxed);
    }

    /// Grows with each count of all tokens, on which advice depends.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub(in crate::question) fn growth(&self) -> Option<&Vec<ReturnRecord>> {
        self.growth.get()
    }

    pub(in crate::question) fn growth_or_init(&self, compute: impl FnOnce() -> Vec<ReturnRecord>) -> &Vec<ReturnRecord> {
        self.growth.get_or_init(compute)
    }
}
