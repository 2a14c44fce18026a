//! The rows of a table in place, which is queried at the engine: the rows prefetched for the market metrics, and an LRU cache of those
//! fetched for queries. A snapshot is immutable: later fetches must see the same version of the rows. `load::engine` does the fetching.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, Weak},
    time::Duration,
};

use polars::prelude::DataFrame;

use crate::{
    Dataset, Table,
    candle_table::{CandleTable, HeldCandles},
    export::RowBatches,
    frame_rows::FromFrame as _,
};
use model::{
    address::Address,
    candles::{Candles, FetchedCandles, Interval},
    data::AddressRows as _,
    error::{Code, Problem},
    fetch_key::FetchKey,
    holding::{Balances, ListedBalances},
    locks::Locked as _,
    progress::LoadProgress,
    rows::{FromColumns as _, HolderRow},
    table_ask::SourceQuery,
    transfer_sums::{TransferAnswer, TransferPart},
};

/// Capacity of the LRU cache, the same as for memoised answers: the charts of some hundred tokens. An entry in use stays in memory until
/// its question is answered, however large.
const BYTES_MAX: u64 = 48 << 20;
/// Most tokens whose charts one query reads, and most rows unless a single token has more: some 25 MB here.
const QUERY_TOKENS_MAX: usize = 100;
const QUERY_ROWS_MAX: u64 = 500_000;
/// Size charged for memory-mapped rows: only their index is in memory.
const MAPPED: u64 = 64 << 10;
/// Polling interval for cancellation while another thread fetches the same rows.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Fetch error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    Cancelled,
    /// The reason, as a message for the user.
    Unavailable(String),
}

/// Fetched rows.
#[derive(Debug)]
pub enum Fetched {
    Chart(Box<HeldCandles>),
    Rows(Box<Table>, CandleTable),
    /// Result of a table query, and the number of rows that match it.
    Answer(DataFrame, u64),
    Balances(Arc<Balances>),
    Transfers(Arc<TransferAnswer>),
}

/// Version of a token's rows in this snapshot: their number and a checksum of their content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowsVersion {
    pub rows: u64,
    pub checksum: u64,
}

impl Fetched {
    pub fn rows(table: Table) -> Self {
        let candles = if table.schema.name == "candles" {
            CandleTable::new(&table)
        } else {
            CandleTable::default()
        };
        Self::Rows(Box::new(table), candles)
    }

    /// Approximate memory, in bytes.
    fn bytes(&self) -> u64 {
        match self {
            Self::Chart(candles) => candles.bytes(),
            Self::Rows(table, _) if table.large().is_some() => MAPPED,
            // Rows are held twice: as typed columns, and as candle slices.
            Self::Rows(table, _) => 2 * table.frame().estimated_size() as u64,
            Self::Answer(rows, _) => rows.estimated_size() as u64,
            Self::Balances(balances) => balances.bytes(),
            Self::Transfers(answer) => answer.bytes(),
        }
    }

    /// The rows as holders.
    pub fn holders(&self) -> Vec<HolderRow> {
        match self {
            Self::Answer(rows, _) => HolderRow::rows(rows),
            Self::Rows(table, _) => match table.large() {
                Some(large) => {
                    HolderRow::rows(&large.slice(0..large.height(), Some(HolderRow::COLUMNS)))
                }
                None => HolderRow::rows(table.frame()),
            },
            Self::Chart(_) | Self::Balances(_) | Self::Transfers(_) => Vec::new(),
        }
    }

    fn is_damaged(&self) -> bool {
        matches!(self, Self::Rows(table, _) if table.is_damaged())
    }
}

impl FetchedCandles for Fetched {
    fn series(&self) -> Vec<(Interval, Candles<'_>)> {
        match self {
            Self::Chart(candles) => candles.series(),
            Self::Rows(_, candles) => candles.one(),
            Self::Answer(..) | Self::Balances(_) | Self::Transfers(_) => Vec::new(),
        }
    }
}

/// Candles for the charts of tokens, ordered by address; tokens without candles are absent.
pub type Charts = Vec<(Address, HeldCandles)>;

/// Fetches rows of tokens in a given version. Fails if the rows have changed since.
pub trait Fetch: Send + Sync + fmt::Debug {
    fn fetch(
        &self,
        key: &FetchKey,
        version: RowsVersion,
        progress: &dyn LoadProgress,
    ) -> Result<Fetched, FetchError>;

    /// Candles for the charts of these tokens, by one query.
    fn charts(
        &self,
        tokens: &[Address],
        version: RowsVersion,
        progress: &dyn LoadProgress,
    ) -> Result<Charts, FetchError>;

    /// The rows of a page with these columns, exactly as many as were counted; they are fetched while they are written.
    fn rows(
        self: Arc<Self>,
        ask: Arc<SourceQuery>,
        version: RowsVersion,
        columns: Vec<&'static str>,
    ) -> Box<dyn RowBatches>;
}

/// A cache entry: `strong` keeps it in the cache, `weak` finds it while any question still uses it.
#[derive(Debug)]
struct Entry {
    strong: Option<Arc<Fetched>>,
    weak: Weak<Fetched>,
    bytes: u64,
    used: u64,
}

#[derive(Debug, Default)]
struct CacheState {
    entries: HashMap<FetchKey, Entry>,
    bytes: u64,
    /// LRU clock: increases with every use.
    now: u64,
}

/// The prefetched and cached rows of a table in place.
#[derive(Debug)]
pub struct InPlaceCache {
    /// Number of rows of the table.
    pub rows: u64,
    /// The source's name in config.toml.
    pub source: String,
    /// Number of rows of each token, and what else the load counted.
    listed: HashMap<Address, ListedBalances>,
    /// The candles that the market figures need.
    recent: Arc<HeldCandles>,
    /// The tokens that have rows, in table order.
    tokens: Vec<Address>,
    cached: Mutex<CacheState>,
    bytes_max: u64,
    /// Fetches in flight.
    fetching: Mutex<HashSet<FetchKey>>,
    fetch: Arc<dyn Fetch>,
}

impl InPlaceCache {
    pub fn new(
        rows: u64,
        source: String,
        (listed, recent): (HashMap<Address, ListedBalances>, HeldCandles),
        fetch: Arc<dyn Fetch>,
    ) -> Self {
        let mut tokens: Vec<Address> = listed.keys().copied().collect();
        tokens.sort_unstable();
        let (cached, fetching, recent) = (Mutex::default(), Mutex::default(), Arc::new(recent));
        Self {
            rows,
            source,
            listed,
            recent,
            tokens,
            cached,
            bytes_max: BYTES_MAX,
            fetching,
            fetch,
        }
    }

    /// The tokens that have rows, in table order.
    pub fn tokens(&self) -> &[Address] {
        &self.tokens
    }

    /// The prefetched candles.
    pub(super) fn recent(&self) -> &Arc<HeldCandles> {
        &self.recent
    }

    /// Number of the token's rows, and what else the load counted.
    pub fn listed(&self, token: &Address) -> ListedBalances {
        self.listed.get(token).copied().unwrap_or_default()
    }

    /// The token's number of rows.
    pub fn count(&self, token: &Address) -> u64 {
        self.listed(token).rows
    }

    /// Total number of rows of all tokens; every one of them can be fetched.
    pub fn total(&self) -> u64 {
        self.listed.values().map(|listed| listed.rows).sum()
    }

    /// The page of a token's rows that starts at `from` and has at most `most` rows.
    pub fn page(&self, table: &'static str, token: Address, from: u64, most: u64) -> FetchKey {
        let left = self.count(&token).saturating_sub(from);
        let (count, from_end) = (most.min(left), left.saturating_sub(most) < from);
        FetchKey::page(
            table,
            token,
            if from_end { left - count } else { from },
            count,
            from_end,
        )
    }

    /// Version of the rows of these tokens; of all, where none is named.
    fn version(&self, tokens: &[Address]) -> RowsVersion {
        let of = |all: &mut dyn Iterator<Item = ListedBalances>| {
            all.fold(RowsVersion::default(), |sum, own| RowsVersion {
                rows: sum.rows + own.rows,
                checksum: sum.checksum.wrapping_add(own.checksum),
            })
        };
        if tokens.is_empty() {
            of(&mut self.listed.values().copied())
        } else {
            of(&mut tokens.iter().map(|token| self.listed(token)))
        }
    }

    /// Whether rows exist that match the key.
    fn has_some(&self, key: &FetchKey) -> bool {
        key.tokens().is_empty() || key.tokens().iter().any(|token| self.has(token))
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.cached.locked()
    }

    /// Returns the cached rows and marks them as used.
    pub fn get(&self, key: &FetchKey) -> Option<Arc<Fetched>> {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        let entry = state.entries.get_mut(key)?;
        entry.used = now;
        entry.weak.upgrade()
    }

    /// Returns the token's balances if cached.
    pub(super) fn balances(&self, token: &Address, about: &Address) -> Option<Arc<Balances>> {
        match &*self.get(&FetchKey::balances(*token, *about))? {
            Fetched::Balances(balances) => Some(Arc::clone(balances)),
            _ => None,
        }
    }

    pub fn has(&self, token: &Address) -> bool {
        self.tokens.binary_search(token).is_ok()
    }

    /// Returns the rows, fetching them on a cache miss; concurrent requests for the same rows share one fetch. The rows stay in memory at
    /// least as long as the returned `Arc`.
    pub fn fetch(
        &self,
        key: &FetchKey,
        progress: &dyn LoadProgress,
    ) -> Result<Option<Arc<Fetched>>, FetchError> {
        if !self.has_some(key) {
            return Ok(None);
        }
        let _guard = loop {
            if let Some(fetched) = self.get(key) {
                return Ok(Some(fetched));
            }
            if let Some(guard) = FetchGuard::of(&self.fetching, key) {
                break guard;
            }
            progress
                .step(key.table(), 0, 0)
                .map_err(|_| FetchError::Cancelled)?;
            std::thread::sleep(POLL_INTERVAL);
        };
        // The previous holder of the guard may have fetched it.
        if let Some(fetched) = self.get(key) {
            return Ok(Some(fetched));
        }
        let fetched = Arc::new(
            self.fetch
                .fetch(key, self.version(key.tokens()), progress)?,
        );
        self.keep(key.as_key(), &fetched);
        Ok(Some(fetched))
    }

    /// Candles for the charts of the first of these tokens, fetched in one query or shared with a fetch in flight; afterwards, `tokens`
    /// lists those still to be fetched. The rows stay in memory at least as long as the result, which is empty only if none of the tokens
    /// has candles.
    pub fn fetch_charts(
        &self,
        tokens: &mut Vec<Address>,
        progress: &dyn LoadProgress,
    ) -> Result<Vec<Arc<Fetched>>, FetchError> {
        let (mut held, mut asked, mut guards, mut rows) = (Vec::new(), Vec::new(), Vec::new(), 0);
        loop {
            tokens.retain(|token| {
                let key = FetchKey::Chart(*token);
                if !self.has(token) {
                    return false;
                }
                if let Some(fetched) = self.get(&key) {
                    held.push(fetched);
                    return false;
                }
                let fits = asked.is_empty()
                    || (asked.len() < QUERY_TOKENS_MAX
                        && rows + self.count(token) <= QUERY_ROWS_MAX);
                let Some(guard) = fits.then(|| FetchGuard::of(&self.fetching, &key)).flatten()
                else {
                    return true;
                };
                rows += self.count(token);
                guards.push(guard);
                asked.push(*token);
                false
            });
            if !held.is_empty() || !asked.is_empty() || tokens.is_empty() {
                break;
            }
            // Others are fetching them.
            progress
                .step("candles", 0, 0)
                .map_err(|_| FetchError::Cancelled)?;
            std::thread::sleep(POLL_INTERVAL);
        }
        if asked.is_empty() {
            return Ok(held);
        }
        let mut charts: HashMap<Address, HeldCandles> = self
            .fetch
            .charts(&asked, self.version(&asked), progress)?
            .into_iter()
            .collect();
        for token in asked {
            let fetched = Arc::new(Fetched::Chart(Box::new(
                charts.remove(&token).unwrap_or_default(),
            )));
            self.keep(FetchKey::Chart(token), &fetched);
            held.push(fetched);
        }
        Ok(held)
    }

    /// The rows of a page with these columns, exactly as many as were counted; they are fetched while they are written.
    pub fn rows(&self, ask: SourceQuery, columns: Vec<&'static str>) -> Box<dyn RowBatches> {
        let version = self.version(&ask.tokens);
        Arc::clone(&self.fetch).rows(Arc::new(ask), version, columns)
    }

    fn keep(&self, key: FetchKey, fetched: &Arc<Fetched>) {
        let mut state = self.lock();
        state.now += 1;
        let (used, bytes) = (state.now, fetched.bytes());
        let keeps = !key.is_passing() && bytes <= self.bytes_max;
        state.bytes += if keeps { bytes } else { 0 };
        state.entries.insert(
            key,
            Entry {
                strong: keeps.then(|| Arc::clone(fetched)),
                weak: Arc::downgrade(fetched),
                bytes,
                used,
            },
        );
        while state.bytes > self.bytes_max {
            let oldest = state
                .entries
                .values_mut()
                .filter(|entry| entry.strong.is_some())
                .min_by_key(|entry| entry.used);
            let Some(oldest) = oldest else { break };
            let bytes = oldest.bytes;
            oldest.strong = None;
            state.bytes -= bytes;
        }
        state
            .entries
            .retain(|_, entry| entry.weak.strong_count() > 0);
    }

    /// Whether fetched rows in use are damaged on disk.
    pub fn is_damaged(&self) -> bool {
        self.lock()
            .entries
            .values()
            .filter_map(|entry| entry.weak.upgrade())
            .any(|fetched| fetched.is_damaged())
    }
}

impl Dataset {
    /// The rows of a table in place; `None` unless the table is in place.
    pub fn in_place(&self, table: &str) -> Option<&Arc<InPlaceCache>> {
        self.table(table)?.in_place()
    }

    /// Whether the transfers are queried in place.
    pub fn transfers_stay(&self) -> bool {
        self.in_place("transfers").is_some()
    }

    /// Number of transfers of the token.
    pub fn transfers_listed(&self, token: &Address) -> u64 {
        self.in_place("transfers").map_or_else(
            || self.transfers.count(token) as u64,
            |in_place| in_place.count(token),
        )
    }

    /// The requested sums of the token's transfers, which are queried in place. Fails if they have not been fetched yet, or if the token
    /// has none.
    pub fn transfer_answer(
        &self,
        token: &Address,
        part: &TransferPart,
    ) -> model::error::Result<Arc<TransferAnswer>> {
        let key = FetchKey::Transfers {
            token: *token,
            part: part.clone(),
        };
        match self.require([key])?.first().map(|fetched| &**fetched) {
            Some(Fetched::Transfers(answer)) => Ok(Arc::clone(answer)),
            _ => Err(Problem::new(
                Code::SourceUnavailable,
                format!("The transfers of `{token}` are not queried in place."),
            )),
        }
    }

    /// The requested rows that are queried in place; they stay in memory at least as long as the result. Keys of other tables, and of
    /// tokens without rows, need no fetch. Fails if rows have not been fetched yet; the error names them.
    pub fn require(
        &self,
        keys: impl IntoIterator<Item = FetchKey>,
    ) -> model::error::Result<Vec<Arc<Fetched>>> {
        let (mut held, mut missing) = (Vec::new(), Vec::new());
        for key in keys {
            match self
                .in_place(key.table())
                .filter(|in_place| in_place.has_some(&key))
            {
                None => {}
                Some(in_place) => match in_place.get(&key) {
                    Some(rows) => held.push(rows),
                    None => missing.push((key, &in_place.source)),
                },
            }
        }
        let Some((key, source)) = missing.first() else {
            return Ok(held);
        };
        let table = key.table();
        let detail = match key.tokens() {
            [token] => format!(
                "The {table} of `{token}` are queried in place at `{source}`; request this token alone, or set read = \"bring\" in dataset.toml."
            ),
            _ => format!(
                "The {table} are queried in place at `{source}`; set read = \"bring\" in dataset.toml."
            ),
        };
        Err(Problem::missing_rows(
            missing.into_iter().map(|(key, _)| key).collect(),
            detail,
        ))
    }
}

/// Exclusive right to fetch one key, released on drop.
struct FetchGuard<'a> {
    fetching: &'a Mutex<HashSet<FetchKey>>,
    key: FetchKey,
}

impl<'a> FetchGuard<'a> {
    fn of(fetching: &'a Mutex<HashSet<FetchKey>>, key: &FetchKey) -> Option<Self> {
        let is_free = fetching.locked().insert(key.clone());
        is_free.then(|| Self {
            fetching,
            key: key.clone(),
        })
    }
}

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        self.fetching.locked().remove(&self.key);
    }
}

#[cfg(test)]
mod tests;
