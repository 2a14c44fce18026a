//! A table that is queried in place at an engine (`read = "in place"`): what was counted when it was loaded, and an LRU cache of the rows
//! that were fetched for answers. The queries themselves belong to `load::engine`.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use polars::prelude::DataFrame;
use quick_cache::{
    Weighter,
    sync::{Cache, GuardResult},
};

use crate::{Dataset, RowsOf, Table, candle_table::CandleTable};
use frames::export::RowBatches;
use model::{
    address::Address,
    candles::{Candles, FetchedCandles, Interval},
    holding::Listed,
    locks::Locked as _,
    progress::LoadProgress,
    rows::HolderRow,
    table_ask::SourceQuery,
};

/// Most holders of a token that are brought, the largest first, and most transfers, the newest.
pub const HOLDERS_MAX: u64 = 10_000;
pub const TRANSFERS_MAX: u64 = 250_000;

/// Capacity of the cache in bytes, the same as for memoised answers: the charts of some hundred tokens.
const BYTES_MAX: u64 = 48 << 20;
/// Tokens that the cache is laid out for.
const TOKENS_USUAL: usize = 256;
/// Bytes charged for memory-mapped rows: only their index is in memory.
const MAPPED: u64 = 64 << 10;
/// How often a thread that waits for another's rows looks whether its own query was canceled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Reason why rows did not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    Cancelled,
    /// The reason, as a message for the user.
    Unavailable(String),
}

/// Rows of one token that were brought, as a table like any other.
#[derive(Debug)]
pub struct FetchedRows {
    table: Table,
    candles: CandleTable,
}

impl FetchedRows {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            candles: CandleTable::new(&table),
            table,
        }
    }

    pub(crate) fn holders(&self) -> RowsOf<'_, HolderRow> {
        RowsOf::all(&self.table.rows)
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Approximate memory, in bytes.
    fn bytes(&self) -> u64 {
        if self.table.large().is_some() {
            MAPPED
        } else {
            self.table.rows.bytes()
        }
    }
}

impl FetchedCandles for FetchedRows {
    fn series(&self) -> Vec<(Interval, Candles<'_>)> {
        self.candles.one()
    }
}

/// Asks the engine for rows, as the table was when it was loaded.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// The rows of a token: candles by the hour or longer, the largest holders, the newest transfers.
    fn rows(&self, token: &Address, progress: &dyn LoadProgress) -> Result<Table, FetchError>;

    /// The result of a query of the table, and the number of rows that it is about.
    fn page(
        &self,
        ask: &Arc<SourceQuery>,
        progress: &dyn LoadProgress,
    ) -> Result<(DataFrame, Option<u64>), FetchError>;

    /// The rows of a page with these columns, exactly as many as were counted; they are fetched while they are written.
    fn stream(
        self: Arc<Self>,
        ask: Arc<SourceQuery>,
        columns: Vec<&'static str>,
    ) -> Box<dyn RowBatches>;
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Address, Arc<FetchedRows>> for ByBytes {
    fn weight(&self, _: &Address, rows: &Arc<FetchedRows>) -> u64 {
        rows.bytes().max(1)
    }
}

/// A table at an engine.
#[derive(Debug)]
pub struct EngineRows {
    /// Number of its rows.
    pub rows: u64,
    /// The source's name in config.toml.
    pub source: String,
    listed: HashMap<Address, Listed>,
    /// The tokens that have rows, in table order.
    tokens: Vec<Address>,
    cached: Cache<Address, Arc<FetchedRows>, ByBytes>,
    /// Rows that an answer holds are found here, however large they are.
    held: Mutex<HashMap<Address, Weak<FetchedRows>>>,
    missed: AtomicU64,
    fetch: Arc<dyn Fetch>,
}

impl EngineRows {
    pub fn new(
        rows: u64,
        source: String,
        listed: HashMap<Address, Listed>,
        fetch: Arc<dyn Fetch>,
    ) -> Self {
        let mut tokens: Vec<Address> = listed.keys().copied().collect();
        tokens.sort_unstable();
        Self {
            rows,
            source,
            listed,
            tokens,
            cached: Cache::with_weighter(TOKENS_USUAL, BYTES_MAX, ByBytes),
            held: Mutex::default(),
            missed: AtomicU64::new(0),
            fetch,
        }
    }

    /// The tokens that have rows, in table order.
    pub fn tokens(&self) -> &[Address] {
        &self.tokens
    }

    /// What was counted of the token.
    pub fn listed(&self, token: &Address) -> Listed {
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

    pub fn has(&self, token: &Address) -> bool {
        self.listed.contains_key(token)
    }

    /// The token's rows if they were fetched. If the token has rows that were not, this is noted: an answer that lacks them would be wrong.
    pub(crate) fn get(&self, token: &Address) -> Option<Arc<FetchedRows>> {
        let here = self.here(token);
        if here.is_none() && self.has(token) {
            self.missed.fetch_add(1, Ordering::AcqRel);
        }
        here
    }

    fn here(&self, token: &Address) -> Option<Arc<FetchedRows>> {
        let held = self.held.locked().get(token).and_then(Weak::upgrade);
        held.or_else(|| self.cached.get(token))
    }

    /// How many times an analysis read rows that were not fetched.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Acquire)
    }

    /// Brings the token's rows, from the cache or the engine; concurrent calls for the same token share one query. They are found by
    /// analyses as long as the result is held. `None`: the token has none.
    pub fn fetch(
        &self,
        token: &Address,
        progress: &dyn LoadProgress,
    ) -> Result<Option<Arc<FetchedRows>>, FetchError> {
        if !self.has(token) {
            return Ok(None);
        }
        if let Some(here) = self.here(token) {
            return Ok(Some(self.hold(token, here)));
        }
        loop {
            match self.cached.get_value_or_guard(token, Some(POLL_INTERVAL)) {
                GuardResult::Value(rows) => return Ok(Some(self.hold(token, rows))),
                GuardResult::Guard(guard) => {
                    let rows = Arc::new(FetchedRows::new(self.fetch.rows(token, progress)?));
                    let held = self.hold(token, Arc::clone(&rows));
                    guard.insert(rows).ok();
                    return Ok(Some(held));
                }
                GuardResult::Timeout => {
                    progress.step("", 0, 0).map_err(|_| FetchError::Cancelled)?;
                }
            }
        }
    }

    fn hold(&self, token: &Address, rows: Arc<FetchedRows>) -> Arc<FetchedRows> {
        let mut held = self.held.locked();
        held.retain(|_, rows| rows.strong_count() > 0);
        held.insert(*token, Arc::downgrade(&rows));
        rows
    }

    /// The result of a query of the table, and the number of rows that it is about.
    pub fn page(
        &self,
        ask: &Arc<SourceQuery>,
        progress: &dyn LoadProgress,
    ) -> Result<(DataFrame, u64), FetchError> {
        let (frame, counted) = self.fetch.page(ask, progress)?;
        let all = || match ask.tokens.as_slice() {
            [] => self.total(),
            tokens => tokens.iter().map(|token| self.count(token)).sum(),
        };
        Ok((frame, counted.unwrap_or_else(all)))
    }

    /// The rows of a page with these columns, exactly as many as were counted; they are fetched while they are written.
    pub fn rows(&self, ask: SourceQuery, columns: Vec<&'static str>) -> Box<dyn RowBatches> {
        Arc::clone(&self.fetch).stream(Arc::new(ask), columns)
    }

    /// Whether rows in use are damaged on disk.
    pub fn is_damaged(&self) -> bool {
        let held = self.held.locked();
        held.values()
            .filter_map(Weak::upgrade)
            .any(|rows| rows.table.is_damaged())
    }
}

impl Dataset {
    /// The table's rows at an engine; `None` unless they stay there.
    pub fn engine_rows(&self, table: &str) -> Option<&Arc<EngineRows>> {
        self.table(table)?.engine_rows()
    }

    /// Number of transfers of the token, here or at an engine.
    pub fn transfers_listed(&self, token: &Address) -> u64 {
        self.engine_rows("transfers").map_or_else(
            || model::data::AddressRows::count(&self.transfers, token) as u64,
            |rows| rows.count(token),
        )
    }

    /// Number of the token's transfers that are at an engine and not here: all but the newest.
    pub fn transfers_left_out(&self, token: &Address) -> u64 {
        self.engine_rows("transfers")
            .map_or(0, |rows| rows.count(token).saturating_sub(TRANSFERS_MAX))
    }
}

#[cfg(test)]
mod tests;
