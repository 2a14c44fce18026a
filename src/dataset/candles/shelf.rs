//! Candles that stay where they are. Of every token the last ones are here, which tell what the market's figures need; the others of a
//! token are fetched once somebody asks for them, and stay for as long as the generation does. A generation never changes: what is fetched
//! later is of the same state.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use polars::prelude::DataFrame;

use super::{CandleTable, Candles, HeldCandles, Interval};
use crate::dataset::{
    Table,
    address::Address,
    cache::LargeTable,
    progress::LoadProgress,
    time::{DAY_MS, HOUR_MS},
};

/// Days of candles that are here, before the last of each interval.
pub const RECENT_DAYS: i64 = 40;
/// Daily closes that the market's figures look at.
pub const HISTORY_DAYS: usize = 30;
/// How far back, in milliseconds, the market's figures look for a price to compare the last one with.
pub(crate) const CHANGES: [i64; 4] = [HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];
/// Tokens whose candles one generation holds.
const TOKENS_MAX: usize = 4_096;
/// How often one who waits for another's fetching looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(10);

/// Why the candles of a token are not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfetched {
    Cancelled,
    /// In words for the person.
    Unavailable(String),
}

/// Fetches the rows of a token.
pub(crate) trait Fetch: Send + Sync + fmt::Debug {
    fn fetch(&self, token: &Address, progress: &dyn LoadProgress) -> Result<Table, Unfetched>;
}

/// A token's candles, once they are here: as they came, and as they are read.
#[derive(Debug, Default)]
struct Slot {
    /// Held by the one who fetches them.
    fetching: Mutex<()>,
    table: OnceLock<(Table, CandleTable)>,
}

/// The candles of every token, as far as they are here.
#[derive(Debug)]
pub struct Shelf {
    /// Rows that there are.
    pub rows: u64,
    /// What the person calls the source.
    pub source: String,
    recent: HeldCandles,
    slots: HashMap<Address, Slot>,
    /// Those that have a slot, in the order of the table.
    tokens: Vec<Address>,
    held: AtomicUsize,
    /// Those of them that are in the cache.
    large: Mutex<Vec<Arc<LargeTable>>>,
    fetch: Box<dyn Fetch>,
}

impl Shelf {
    /// `recent`: of each token and interval those candles that the market's figures need, in the order of the table.
    pub(crate) fn new(rows: u64, source: String, recent: &DataFrame, fetch: Box<dyn Fetch>) -> Self {
        let recent = HeldCandles::new(recent);
        let slots: HashMap<Address, Slot> = recent.index.keys().map(|token| (*token, Slot::default())).collect();
        let mut tokens: Vec<Address> = slots.keys().copied().collect();
        tokens.sort_unstable();
        Self { rows, source, recent, slots, tokens, held: AtomicUsize::new(0), large: Mutex::default(), fetch }
    }

    /// Every token that has candles, in the order of the table.
    pub fn tokens(&self) -> &[Address] {
        &self.tokens
    }

    /// The token's rows as the table has them; none before they were fetched.
    pub fn rows_of(&self, token: &Address) -> Option<&Table> {
        self.slots.get(token)?.table.get().map(|(table, _)| table)
    }

    /// The token's candles that are here from the start.
    pub(super) fn known(&self, token: &Address) -> Vec<(Interval, Candles<'_>)> {
        let runs = self.recent.index.get(token).into_iter().flatten();
        runs.map(|(interval, rows)| (*interval, self.recent.slice(rows.clone()))).collect()
    }

    /// See `CandleTable::recent`. Over as long a time as the market looks at, what is here stands for all there are.
    pub(super) fn recent(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        let mut known = self.known(token);
        if span >= RECENT_DAYS * DAY_MS {
            return (known, false);
        }
        let mut cut = false;
        for (_, candles) in &mut known {
            let last = candles.timestamp.last().copied().unwrap_or_default();
            let first = candles.timestamp.partition_point(|&time| time <= last.saturating_sub(span));
            cut |= first > 0;
            *candles = candles.part(first..candles.len());
        }
        (known, cut)
    }

    /// The token's candles, all of them; none before they were fetched.
    pub(super) fn of(&self, token: &Address) -> Vec<(Interval, Candles<'_>)> {
        self.slots.get(token).and_then(|slot| slot.table.get()).map_or_else(Vec::new, |(_, table)| table.of(token))
    }

    /// Whether there are candles of the token that are not here.
    pub fn lacks(&self, token: &Address) -> bool {
        self.slots.get(token).is_some_and(|slot| slot.table.get().is_none())
    }

    /// Fetches the token's candles, unless they are here; of several who ask at once one does.
    pub fn fetch(&self, token: &Address, progress: &dyn LoadProgress) -> Result<(), Unfetched> {
        let Some(slot) = self.slots.get(token) else { return Ok(()) };
        let _fetching = loop {
            match slot.fetching.try_lock() {
                Ok(guard) => break guard,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    progress.step("candles", 0, 0).map_err(|_| Unfetched::Cancelled)?;
                    std::thread::sleep(LOOK);
                }
            }
        };
        if slot.table.get().is_some() {
            return Ok(());
        }
        if self.held.fetch_add(1, Ordering::AcqRel) >= TOKENS_MAX {
            self.held.fetch_sub(1, Ordering::AcqRel);
            let reason = format!("the candles of {TOKENS_MAX} tokens are here already, which is as many as are held: load again");
            return Err(Unfetched::Unavailable(reason));
        }
        let fetched = self.fetch.fetch(token, progress).inspect_err(|_| {
            self.held.fetch_sub(1, Ordering::AcqRel);
        })?;
        if let Some(large) = &fetched.large {
            self.large.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(large));
        }
        let candles = CandleTable::new(&fetched);
        slot.table.set((fetched, candles)).ok();
        Ok(())
    }

    /// Whether what is here of some token is damaged on disk.
    pub(crate) fn is_damaged(&self) -> bool {
        self.large.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|large| large.is_damaged())
    }
}
