//! The shelf of a table in place (its rows stay at the engine): the rows prefetched for the market figures, and an LRU cache of those
//! fetched for questions. A generation is immutable: later fetches must see the same state. `load::engine` does the fetching.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use polars::prelude::DataFrame;

use super::{
    Dataset, Table,
    address::Address,
    candles::{CandleTable, Candles, HeldCandles, Interval},
    holding::{Apart, Balances, ListedBalances},
    progress::LoadProgress,
    rows::{FromFrame as _, HolderRow},
};

/// Capacity of the LRU cache, the same as for memoised answers: the charts of some hundred tokens. An entry in use stays in memory until
/// its question is answered, however large.
const BYTES_MAX: u64 = 48 << 20;
/// Size charged for memory-mapped rows: only their index is in memory.
const MAPPED: u64 = 64 << 10;
/// Polling interval for cancellation while another thread fetches the same rows.
const LOOK: Duration = Duration::from_millis(10);

/// A cache key: rows of a table in place that an answer needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Want {
    /// A token's candles for its charts, with intervals that divide an hour resampled to hours.
    Chart(Address),
    /// All rows of a token.
    Rows { table: &'static str, token: Address },
    /// A page of a token's rows in table order: `count` rows, with `from` rows before and `behind` rows after them.
    Page { table: &'static str, token: Address, from: u64, count: u64, behind: u64 },
    /// A token's balances, for a question about the token `about`: its own, or those of its liquidity pool.
    Balances { token: Address, about: Address, apart: Arc<Apart> },
}

impl Want {
    /// The table the rows are in.
    pub fn table(&self) -> &'static str {
        match self {
            Self::Chart(_) => "candles",
            Self::Balances { .. } => "holders",
            Self::Rows { table, .. } | Self::Page { table, .. } => table,
        }
    }

    /// The token the rows are of.
    pub fn token(&self) -> Address {
        match self {
            Self::Chart(token) | Self::Rows { token, .. } | Self::Page { token, .. } | Self::Balances { token, .. } => *token,
        }
    }

    /// The cache key of fetched balances.
    pub fn balances(token: Address, about: Address) -> Self {
        Self::Balances { token, about, apart: Arc::default() }
    }

    /// The key without the holders reported individually, who may be as many as there are labels.
    fn as_key(&self) -> Self {
        if let Self::Balances { token, about, .. } = self { Self::balances(*token, *about) } else { self.clone() }
    }

    /// Whether it bypasses the cache: paging asks for each page once.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Page { .. })
    }
}

/// Fetch error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfetched {
    Cancelled,
    /// The reason, worded for the user.
    Unavailable(String),
}

/// Fetched rows.
#[derive(Debug)]
pub enum Fetched {
    Chart(Box<HeldCandles>),
    Rows(Box<Table>, CandleTable),
    Page(DataFrame),
    Balances(Balances),
}

/// Identifies the version of a token's rows that the generation has: their number and a checksum of their content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) rows: u64,
    pub(crate) mark: u64,
}

impl Fetched {
    pub(crate) fn rows(table: Table) -> Self {
        let candles = if table.schema.name == "candles" { CandleTable::new(&table) } else { CandleTable::default() };
        Self::Rows(Box::new(table), candles)
    }

    /// Approximate memory, in bytes.
    fn bytes(&self) -> u64 {
        match self {
            Self::Chart(candles) => candles.bytes(),
            // Rows are held twice: as typed columns, and as candle slices.
            Self::Rows(table, _) if table.large.is_some() => MAPPED,
            Self::Rows(table, _) => 2 * table.frame.estimated_size() as u64,
            Self::Page(rows) => rows.estimated_size() as u64,
            Self::Balances(balances) => balances.bytes(),
        }
    }

    /// The rows as holders.
    pub fn holders(&self) -> Vec<HolderRow> {
        match self {
            Self::Page(rows) => HolderRow::rows(rows),
            Self::Rows(table, _) => match &table.large {
                Some(large) => HolderRow::rows(&large.stretch(0..large.height(), Some(HolderRow::COLUMNS))),
                None => HolderRow::rows(&table.frame),
            },
            Self::Chart(_) | Self::Balances(_) => Vec::new(),
        }
    }

    pub(super) fn series(&self) -> Vec<(Interval, Candles<'_>)> {
        match self {
            Self::Chart(candles) => candles.series(),
            Self::Rows(_, candles) => candles.one(),
            Self::Page(_) | Self::Balances(_) => Vec::new(),
        }
    }

    fn is_damaged(&self) -> bool {
        matches!(self, Self::Rows(table, _) if table.large.as_ref().is_some_and(|large| large.is_damaged()))
    }
}

/// Fetches rows of a token in a given state. Errors: also if the rows have changed since.
pub(crate) trait Fetch: Send + Sync + fmt::Debug {
    fn fetch(&self, want: &Want, state: State, progress: &dyn LoadProgress) -> Result<Fetched, Unfetched>;
}

/// Rows loaded together with the dataset.
#[derive(Debug)]
pub(crate) enum Prefetched {
    /// The candles that the market figures need, and each token's state.
    Candles(Box<HeldCandles>, HashMap<Address, State>),
    /// Holder counts of each token.
    Holders(HashMap<Address, ListedBalances>),
}

/// A cache entry: `held` keeps it in the cache, `there` finds it while any question still uses it.
#[derive(Debug)]
struct Entry {
    held: Option<Arc<Fetched>>,
    there: Weak<Fetched>,
    bytes: u64,
    used: u64,
}

#[derive(Debug, Default)]
struct Held {
    entries: HashMap<Want, Entry>,
    bytes: u64,
    /// LRU clock: increases with every use.
    now: u64,
}

/// The prefetched and cached rows of a table in place.
#[derive(Debug)]
pub struct Shelf {
    /// Number of rows of the table.
    pub rows: u64,
    /// The source's name in config.toml.
    pub source: String,
    known: Prefetched,
    /// The tokens that have rows, in table order, and their total number of rows.
    tokens: Vec<Address>,
    total: u64,
    held: Mutex<Held>,
    bytes_max: u64,
    /// Fetches in flight.
    fetching: Mutex<HashSet<Want>>,
    fetch: Box<dyn Fetch>,
}

impl Shelf {
    pub(crate) fn new(rows: u64, source: String, known: Prefetched, fetch: Box<dyn Fetch>) -> Self {
        let mut tokens: Vec<Address> = match &known {
            Prefetched::Candles(recent, _) => recent.tokens().collect(),
            Prefetched::Holders(listed) => listed.keys().copied().collect(),
        };
        tokens.sort_unstable();
        let total = match &known {
            Prefetched::Candles(_, states) => states.values().map(|state| state.rows).sum(),
            Prefetched::Holders(listed) => listed.values().map(|listed| listed.rows).sum(),
        };
        Self { rows, source, known, tokens, total, held: Mutex::default(), bytes_max: BYTES_MAX, fetching: Mutex::default(), fetch }
    }

    /// The tokens that have rows, in table order.
    pub fn tokens(&self) -> &[Address] {
        &self.tokens
    }

    /// The prefetched candles.
    pub(super) fn recent(&self) -> Option<&HeldCandles> {
        if let Prefetched::Candles(recent, _) = &self.known { Some(recent) } else { None }
    }

    /// The token's holder counts.
    pub fn listed(&self, token: &Address) -> Option<ListedBalances> {
        if let Prefetched::Holders(listed) = &self.known { listed.get(token).copied() } else { None }
    }

    /// The token's number of rows.
    pub fn count(&self, token: &Address) -> u64 {
        self.state(token).rows
    }

    /// The state of the token's rows.
    fn state(&self, token: &Address) -> State {
        match &self.known {
            Prefetched::Candles(_, states) => states.get(token).copied().unwrap_or_default(),
            Prefetched::Holders(listed) => listed.get(token).map_or_else(State::default, |own| State { rows: own.rows, mark: own.mark }),
        }
    }

    /// Total number of rows of all tokens, all of which can be fetched.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The page of a token's rows that starts at `from` and has at most `most` rows.
    pub fn page(&self, table: &'static str, token: Address, from: u64, most: u64) -> Want {
        let left = self.count(&token).saturating_sub(from);
        let count = most.min(left);
        Want::Page { table, token, from, count, behind: left - count }
    }

    /// The pages that cover a range of rows, counted over all tokens in order.
    pub fn pages(&self, table: &'static str, rows: Range<u64>) -> impl Iterator<Item = Want> {
        let mut before = 0;
        self.tokens.iter().filter_map(move |token| {
            let own = before..before + self.count(token);
            before = own.end;
            let (start, end) = (rows.start.max(own.start), rows.end.min(own.end));
            (start < end).then(|| self.page(table, *token, start - own.start, end - start))
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached rows and marks them as used.
    pub fn get(&self, want: &Want) -> Option<Arc<Fetched>> {
        let mut held = self.held();
        held.now += 1;
        let now = held.now;
        let entry = held.entries.get_mut(want)?;
        entry.used = now;
        entry.there.upgrade()
    }

    /// Returns the token's balances if cached.
    pub(super) fn balances(&self, token: &Address, about: &Address) -> Option<Arc<Fetched>> {
        self.get(&Want::balances(*token, *about))
    }

    /// Whether the rows have to be fetched first; never for tokens without rows.
    pub fn lacks(&self, want: &Want) -> bool {
        self.has(&want.token()) && self.get(want).is_none()
    }

    pub fn has(&self, token: &Address) -> bool {
        self.tokens.binary_search(token).is_ok()
    }

    /// Returns the rows, fetching them on a cache miss; concurrent requests for the same rows share one fetch. The rows stay in memory at
    /// least as long as the returned `Arc`.
    pub fn fetch(&self, want: &Want, progress: &dyn LoadProgress) -> Result<Option<Arc<Fetched>>, Unfetched> {
        if !self.has(&want.token()) {
            return Ok(None);
        }
        let _turn = loop {
            if let Some(fetched) = self.get(want) {
                return Ok(Some(fetched));
            }
            if let Some(turn) = Turn::of(&self.fetching, want) {
                break turn;
            }
            progress.step(want.table(), 0, 0).map_err(|_| Unfetched::Cancelled)?;
            std::thread::sleep(LOOK);
        };
        // The previous holder of the turn may have fetched it.
        if let Some(fetched) = self.get(want) {
            return Ok(Some(fetched));
        }
        let fetched = Arc::new(self.fetch.fetch(want, self.state(&want.token()), progress)?);
        self.keep(want.as_key(), &fetched);
        Ok(Some(fetched))
    }

    fn keep(&self, key: Want, fetched: &Arc<Fetched>) {
        let mut held = self.held();
        held.now += 1;
        let (used, bytes) = (held.now, fetched.bytes());
        let keeps = !key.is_passing() && bytes <= self.bytes_max;
        held.bytes += if keeps { bytes } else { 0 };
        held.entries.insert(key, Entry { held: keeps.then(|| Arc::clone(fetched)), there: Arc::downgrade(fetched), bytes, used });
        while held.bytes > self.bytes_max {
            let oldest = held.entries.values_mut().filter(|entry| entry.held.is_some()).min_by_key(|entry| entry.used);
            let Some(oldest) = oldest else { break };
            let bytes = oldest.bytes;
            oldest.held = None;
            held.bytes -= bytes;
        }
        held.entries.retain(|_, entry| entry.there.strong_count() > 0);
    }

    /// Whether fetched rows in use are damaged on disk.
    pub(crate) fn is_damaged(&self) -> bool {
        self.held().entries.values().filter_map(|entry| entry.there.upgrade()).any(|fetched| fetched.is_damaged())
    }
}

impl Dataset {
    /// The shelf of a table; `None` unless the table is in place.
    pub fn shelf(&self, table: &str) -> Option<&Arc<Shelf>> {
        self.table(table)?.shelf.as_ref()
    }

    /// Whether any table is in place.
    pub fn stays_anywhere(&self) -> bool {
        self.tables.iter().any(|table| table.shelf.is_some())
    }
}

/// Exclusive right to fetch one key, released on drop.
struct Turn<'a> {
    fetching: &'a Mutex<HashSet<Want>>,
    want: Want,
}

impl<'a> Turn<'a> {
    fn of(fetching: &'a Mutex<HashSet<Want>>, want: &Want) -> Option<Self> {
        let is_free = fetching.lock().unwrap_or_else(PoisonError::into_inner).insert(want.clone());
        is_free.then(|| Self { fetching, want: want.clone() })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.fetching.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.want);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use polars::prelude::{NamedFrom as _, Series};

    use super::*;
    use crate::dataset::progress::Silent;

    /// Returns a kilobyte per token and counts the fetches.
    #[derive(Debug, Default)]
    struct Kilobytes(Arc<AtomicUsize>);

    impl Fetch for Kilobytes {
        fn fetch(&self, want: &Want, _: State, _: &dyn LoadProgress) -> Result<Fetched, Unfetched> {
            self.0.fetch_add(1, Ordering::AcqRel);
            let balances = vec![(want.token(), Some(1.0)); 1_024 / size_of::<(Address, Option<f64>)>()];
            if let Want::Balances { .. } = want {
                return Ok(Fetched::Balances(Balances { rows: balances, ..Balances::default() }));
            }
            let column = Series::new("balance".into(), vec![1.0; 128]);
            let rows = DataFrame::new(128, vec![column.into()]).map_err(|error| Unfetched::Unavailable(error.to_string()))?;
            Ok(Fetched::Page(rows))
        }
    }

    fn address(nth: u8) -> Address {
        Address([nth; 20])
    }

    fn shelf(bytes_max: u64) -> (Shelf, Arc<AtomicUsize>) {
        let fetch = Kilobytes::default();
        let count = Arc::clone(&fetch.0);
        let known = Prefetched::Holders((0..100).map(|nth| (address(nth), ListedBalances::default())).collect());
        let shelf = Shelf::new(100, "there".to_owned(), known, Box::new(fetch));
        (Shelf { bytes_max, ..shelf }, count)
    }

    fn want(nth: u8) -> Want {
        Want::balances(address(nth), address(nth))
    }

    #[test]
    fn the_cache_keeps_to_its_memory_and_evicts_the_least_recently_used() {
        let (shelf, count) = shelf(4 << 10);
        for nth in 0..100 {
            shelf.fetch(&want(nth), &Silent).expect("fetched");
            // The first entry is used all the time.
            assert!(shelf.get(&want(0)).is_some(), "{nth}");
            assert!(shelf.held().bytes <= 4 << 10);
        }
        assert_eq!(count.load(Ordering::Acquire), 100);
        let here = |nth: &u8| shelf.get(&want(*nth)).is_some();
        assert_eq!((0..100).filter(here).collect::<Vec<u8>>(), [0, 97, 98, 99]);
        shelf.fetch(&want(50), &Silent).expect("fetched");
        shelf.fetch(&want(50), &Silent).expect("here");
        assert_eq!((count.load(Ordering::Acquire), here(&0), here(&98)), (101, false, true));
    }

    #[test]
    fn holders_counted_apart_are_not_kept_with_the_balances() {
        let (shelf, _) = shelf(4 << 10);
        let apart = Arc::new(Apart { named: vec![address(9); 1_000], ..Apart::default() });
        let wide = Want::Balances { token: address(1), about: address(1), apart: Arc::clone(&apart) };
        shelf.fetch(&wide, &Silent).expect("fetched");
        drop(wide);
        assert!(shelf.get(&want(1)).is_some());
        assert_eq!(Arc::strong_count(&apart), 1, "it takes memory that nobody counts");
    }

    #[test]
    fn what_a_question_holds_stays_until_it_ends_and_pages_are_not_cached() {
        let (shelf, count) = shelf(2 << 10);
        let fetched: Vec<_> = (0..20).map(|nth| shelf.fetch(&want(nth), &Silent).expect("fetched")).collect();
        assert!((0..20).all(|nth| shelf.get(&want(nth)).is_some()), "a question that needs them all has them all");
        drop(fetched);
        assert_eq!((0..20).filter(|nth| shelf.get(&want(*nth)).is_some()).count(), 2);
        for from in 0..50 {
            let page = Want::Page { table: "holders", token: address(1), from, count: 128, behind: 0 };
            let held = shelf.fetch(&page, &Silent).expect("fetched");
            assert!(shelf.get(&page).is_some());
            drop(held);
            assert!(shelf.get(&page).is_none(), "{from}");
        }
        assert_eq!((count.load(Ordering::Acquire), shelf.held().entries.len() < 25), (70, true));
        // Larger than the cache's capacity: available only while the caller holds it.
        let (shelf, _) = self::shelf(100);
        let held = shelf.fetch(&want(1), &Silent).expect("fetched");
        assert!(shelf.get(&want(1)).is_some());
        drop(held);
        assert_eq!((shelf.get(&want(1)).is_none(), shelf.held().bytes), (true, 0));
        // No fetch for a token without rows.
        assert!(shelf.fetch(&want(200), &Silent).expect("nothing").is_none() && !shelf.lacks(&want(200)));
    }
}
