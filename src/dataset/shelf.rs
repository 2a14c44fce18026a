//! The shelf of a table in place: what the market's figures need of it, from the start, and an LRU cache of what was fetched for questions.
//! A generation never changes: rows that are fetched later are of the same state. `load::engine` fetches them.

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

/// Memory of the LRU cache, as much as for memoised answers: the charts of some hundred tokens. What one question needs is held for as long
/// as it is answered, however large.
const BYTES_MAX: u64 = 48 << 20;
/// What memory-mapped rows count as: only their index is in memory.
const MAPPED: u64 = 64 << 10;
/// How often one who waits for another's fetch looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// Something that an answer needs of a table in place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Want {
    /// A token's candles for its charts: those of intervals that divide an hour come by the hour.
    Chart(Address),
    /// All rows of a token.
    Rows { table: &'static str, token: Address },
    /// A page of a token's rows, in the order of the table: `count` of them, with `from` before and `behind` after them.
    Page { table: &'static str, token: Address, from: u64, count: u64, behind: u64 },
    /// The balances of a token, for a question about the token `about`: its own, or those of its liquidity pool.
    Balances { token: Address, about: Address, apart: Arc<Apart> },
}

impl Want {
    /// The table that it is of.
    pub fn table(&self) -> &'static str {
        match self {
            Self::Chart(_) => "candles",
            Self::Balances { .. } => "holders",
            Self::Rows { table, .. } | Self::Page { table, .. } => table,
        }
    }

    /// The token that it is of.
    pub fn token(&self) -> Address {
        match self {
            Self::Chart(token) | Self::Rows { token, .. } | Self::Page { token, .. } | Self::Balances { token, .. } => *token,
        }
    }

    /// The key of fetched balances.
    pub fn balances(token: Address, about: Address) -> Self {
        Self::Balances { token, about, apart: Arc::default() }
    }

    /// Without the holders counted apart, of whom there may be as many as labels.
    fn as_key(&self) -> Self {
        if let Self::Balances { token, about, .. } = self { Self::balances(*token, *about) } else { self.clone() }
    }

    /// Not cached: who pages through a table asks for each page once.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Page { .. })
    }
}

/// Why something could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfetched {
    Cancelled,
    /// In words for the person.
    Unavailable(String),
}

/// Something that was fetched.
#[derive(Debug)]
pub enum Fetched {
    Chart(Box<HeldCandles>),
    Rows(Box<Table>, CandleTable),
    Page(DataFrame),
    Balances(Balances),
}

/// By which a token's rows are known to be those of the generation: their number, and a checksum of their content.
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

    /// Memory, about.
    fn bytes(&self) -> u64 {
        match self {
            Self::Chart(candles) => candles.bytes(),
            // As columns, and candles as slices of them.
            Self::Rows(table, _) if table.large.is_some() => MAPPED,
            Self::Rows(table, _) => 2 * table.frame.estimated_size() as u64,
            Self::Page(rows) => rows.estimated_size() as u64,
            Self::Balances(balances) => balances.bytes(),
        }
    }

    /// Its rows of holders.
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

/// Fetches what is wanted of a token's rows in this state; rows of another state are an error.
pub(crate) trait Fetch: Send + Sync + fmt::Debug {
    fn fetch(&self, want: &Want, state: State, progress: &dyn LoadProgress) -> Result<Fetched, Unfetched>;
}

/// What is there from the start.
#[derive(Debug)]
pub(crate) enum Prefetched {
    /// The candles that the market's figures need, and the state of each token's rows.
    Candles(Box<HeldCandles>, HashMap<Address, State>),
    /// How many holders each token has.
    Holders(HashMap<Address, ListedBalances>),
}

/// An entry of the cache: held, or there for as long as a question holds it.
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
    /// Counts up with every use.
    now: u64,
}

/// What is held of a table in place.
#[derive(Debug)]
pub struct Shelf {
    /// Rows of the table.
    pub rows: u64,
    /// What the person calls the source.
    pub source: String,
    known: Prefetched,
    /// Every token that has rows, in the order of the table, and how many rows they have together.
    tokens: Vec<Address>,
    total: u64,
    held: Mutex<Held>,
    bytes_max: u64,
    /// What is being fetched.
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

    /// Every token that has rows, in the order of the table.
    pub fn tokens(&self) -> &[Address] {
        &self.tokens
    }

    /// The candles that are here from the start.
    pub(super) fn recent(&self) -> Option<&HeldCandles> {
        if let Prefetched::Candles(recent, _) = &self.known { Some(recent) } else { None }
    }

    /// How many holders the token has.
    pub fn listed(&self, token: &Address) -> Option<ListedBalances> {
        if let Prefetched::Holders(listed) = &self.known { listed.get(token).copied() } else { None }
    }

    /// How many rows the token has.
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

    /// Rows that can be fetched: those of a token.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The page of a token's rows from `from` on, of `most` at most.
    pub fn page(&self, table: &'static str, token: Address, from: u64, most: u64) -> Want {
        let left = self.count(&token).saturating_sub(from);
        let count = most.min(left);
        Want::Page { table, token, from, count, behind: left - count }
    }

    /// The pages that hold these rows of all tokens' rows in order.
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

    /// What was fetched, if it is still held.
    pub fn get(&self, want: &Want) -> Option<Arc<Fetched>> {
        let mut held = self.held();
        held.now += 1;
        let now = held.now;
        let entry = held.entries.get_mut(want)?;
        entry.used = now;
        entry.there.upgrade()
    }

    /// The balances of a token, if they are held.
    pub(super) fn balances(&self, token: &Address, about: &Address) -> Option<Arc<Fetched>> {
        self.get(&Want::balances(*token, *about))
    }

    /// Whether it has to be fetched; tokens without rows have nothing to fetch.
    pub fn lacks(&self, want: &Want) -> bool {
        self.has(&want.token()) && self.get(want).is_none()
    }

    pub fn has(&self, token: &Address) -> bool {
        self.tokens.binary_search(token).is_ok()
    }

    /// Fetches it unless it is held; of several who ask at once one fetches. It is held for as long as the value returned.
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
        // Whoever had the turn may have fetched it.
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

    /// Whether fetched rows of some token are damaged on disk.
    pub(crate) fn is_damaged(&self) -> bool {
        self.held().entries.values().filter_map(|entry| entry.there.upgrade()).any(|fetched| fetched.is_damaged())
    }
}

impl Dataset {
    /// The shelf of the table, if it is in place.
    pub fn shelf(&self, table: &str) -> Option<&Arc<Shelf>> {
        self.table(table)?.shelf.as_ref()
    }

    /// Whether any table is in place.
    pub fn stays_anywhere(&self) -> bool {
        self.tables.iter().any(|table| table.shelf.is_some())
    }
}

/// The turn to fetch something, given up when it is dropped.
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

    /// Gives a kilobyte of each token, and counts.
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
            // The first one is used all the time.
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
        // Larger than all that may be held: there for the one who asked.
        let (shelf, _) = self::shelf(100);
        let held = shelf.fetch(&want(1), &Silent).expect("fetched");
        assert!(shelf.get(&want(1)).is_some());
        drop(held);
        assert_eq!((shelf.get(&want(1)).is_none(), shelf.held().bytes), (true, 0));
        // Nobody is asked of a token without rows.
        assert!(shelf.fetch(&want(200), &Silent).expect("nothing").is_none() && !shelf.lacks(&want(200)));
    }
}
