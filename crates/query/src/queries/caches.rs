//! Caches that live as long as one generation: results that are computed once and shared by many queries. Computing them is each
//! query's part.

mod track_records;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, OnceLock},
};

use analysis::market::TokenSummary;
use load::Dataset;
use model::{
    address::Address, error::Result, flight::Flights, locks::Locked as _, progress::Progress,
};
use security::{
    Danger, SecurityInference,
    changes::Scan,
    corpus::Corpus,
    resemblance::CodeTraits,
    score::{too_little_known, word_of},
};
use table::{RowSelection, filter::ExcludedRows};

pub(super) use self::track_records::ReplayedToken;
pub use self::track_records::{
    Counted, RecordCount, RecordName, SecurityRecord, Step, TrackRecordCache, WholeRecord,
};

// The tokens of a snapshot by symbol, in order.

/// The places of all tokens, in the order of their symbols in lower case.
#[derive(Debug, Default)]
pub struct SymbolOrder(Vec<u32>);

impl SymbolOrder {
    pub fn new(tokens: &[TokenSummary]) -> Self {
        let mut order: Vec<u32> = (0..tokens.len() as u32).collect();
        order.sort_by_cached_key(|place| symbol(&tokens[*place as usize]));
        Self(order)
    }

    /// The tokens with this symbol, which is in lower case, and their places.
    pub fn of<'a>(
        &self,
        tokens: &'a [TokenSummary],
        symbol: &str,
    ) -> Vec<(usize, &'a TokenSummary)> {
        let key = |place: &u32| self::symbol(&tokens[*place as usize]);
        let from = self.0.partition_point(|place| key(place).as_str() < symbol);
        let same = self.0[from..]
            .iter()
            .take_while(|place| key(place) == symbol);
        same.map(|place| (*place as usize, &tokens[*place as usize]))
            .collect()
    }
}

fn symbol(token: &TokenSummary) -> String {
    token
        .symbol
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_lowercase()
}

// Cache of the latest row orders of tables, so that the pages of one query are not sorted again. Long orders are spilled to files.

/// Maximum number of cached orders; each holds at most a million row indices in memory.
const ORDERS_MAX: usize = 4;

/// The rows of a query, in order.
#[derive(Debug, Clone, Default)]
pub struct OrderedRows {
    pub places: RowSelection,
    /// All matching rows, unsorted, if `places` contains only the first of the sorted ones.
    pub unsorted: Option<RowSelection>,
    /// Rows left out by the filter because of missing values; empty where they were not counted.
    pub left_out: ExcludedRows,
}

impl OrderedRows {
    pub fn all(height: usize) -> Self {
        Self::complete(RowSelection::Run(0..height))
    }

    pub(in crate::queries) fn complete(places: RowSelection) -> Self {
        Self {
            places,
            ..Self::default()
        }
    }

    /// Number of rows in the complete order.
    pub fn total(&self) -> usize {
        self.unsorted
            .as_ref()
            .map_or(self.places.len(), RowSelection::len)
    }
}

/// The row orders of one generation, by query.
#[derive(Debug, Default)]
pub struct RowOrderCache(Mutex<VecDeque<(String, OrderedRows)>>);

impl RowOrderCache {
    pub(in crate::queries) fn get(&self, key: &str) -> Option<OrderedRows> {
        let orders = self.0.locked();
        orders
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, order)| order.clone())
    }

    pub(in crate::queries) fn insert(&self, key: String, order: OrderedRows) {
        let mut orders = self.0.locked();
        orders.retain(|(known, _)| *known != key);
        orders.push_front((key, order));
        orders.truncate(ORDERS_MAX);
    }
}

// Caches of security inference for one data snapshot: the corpus of contracts to compare with, built on first use, the traits of executed
// scam contracts, and security summaries. No inference here.

/// Maximum number of scams with cached traits.
const TRAITS_MAX: usize = 10_000;

/// Number of earlier scans stored per token: the last one may be of the same files.
const SCANS_MAX: usize = 2;

#[derive(Debug, Default)]
pub struct SecurityCache {
    corpus: OnceLock<Corpus>,
    /// The one building of the corpus.
    building: Flights<(), ()>,
    traits: Mutex<HashMap<Address, CodeTraits>>,
    /// The security summaries by token, shown in token lists.
    summaries: Mutex<HashMap<Address, SecuritySummary>>,
    /// The scan of each token, and those of earlier snapshots, newest first.
    scans: Mutex<HashMap<Address, Scan>>,
    earlier: Mutex<HashMap<Address, Vec<Scan>>>,
}

/// Summary of a token's security result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecuritySummary {
    pub score: i64,
    /// The first word of the recommendation.
    pub recommendation: &'static str,
    pub danger: Danger,
    /// Whether the scan differs from the previous one, of the chain or of the files.
    pub changed: bool,
    /// Fraction of the free supply that the largest cluster of holders has; `None` without all transfers.
    pub largest_cluster: Option<f64>,
}

impl SecuritySummary {
    /// The score; `None` if it is only an upper limit because of missing data.
    pub fn known_score(&self) -> Option<i64> {
        Some(self.score).filter(|_| !too_little_known(self.recommendation))
    }

    pub(in crate::queries) fn of(answer: &SecurityInference) -> Self {
        Self {
            score: answer.security_score,
            recommendation: word_of(&answer.recommendation),
            danger: answer.danger,
            changed: answer
                .changed
                .as_ref()
                .is_some_and(|changed| !changed.changes.is_empty()),
            largest_cluster: answer.largest_cluster,
        }
    }
}

impl SecurityCache {
    /// The corpus of the snapshot, built on first use. After a canceled build, the next caller builds it.
    pub fn corpus(&self, dataset: &Dataset, progress: &Progress) -> Result<&Corpus> {
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let _building = self.building.wait(&(), || progress.step(0, 0))?;
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let corpus = Corpus::new(dataset, &|done, total| progress.step(done, total))?;
        Ok(self.corpus.get_or_init(|| corpus))
    }

    /// The scans of earlier snapshots, newest first.
    pub fn earlier(&self, token: &Address) -> Vec<Scan> {
        self.earlier
            .locked()
            .get(token)
            .cloned()
            .unwrap_or_default()
    }

    pub fn keep_scan(&self, token: Address, scan: Scan) {
        self.scans.locked().insert(token, scan);
    }

    /// Takes over the scans of an earlier snapshot, and those before it; of an incomplete snapshot, only the latter.
    pub fn inherit(&self, before: &Self, is_whole: bool) {
        let mut earlier = before.earlier.locked().clone();
        for (token, scan) in before.scans.locked().iter().filter(|_| is_whole) {
            let known = earlier.entry(*token).or_default();
            if known.first() != Some(scan) {
                known.insert(0, scan.clone());
                known.truncate(SCANS_MAX);
            }
        }
        *self.earlier.locked() = earlier;
    }

    pub fn summary(&self, token: &Address) -> Option<SecuritySummary> {
        self.summaries.locked().get(token).copied()
    }

    /// Caches a token's summary; needs no eviction: there is at most one for each token.
    pub fn insert(&self, token: Address, summary: SecuritySummary) {
        self.summaries.locked().insert(token, summary);
    }

    /// The traits of a known scam, which is executed at most once unless the caller cancels.
    pub fn traits(
        &self,
        scam: &Address,
        progress: &Progress,
        execute: impl FnOnce() -> CodeTraits,
    ) -> CodeTraits {
        let lock = || self.traits.locked();
        if let Some(known) = lock().get(scam) {
            return known.clone();
        }
        let traits = execute();
        let mut known = lock();
        if !progress.cancelled() && known.len() < TRAITS_MAX {
            known.insert(*scam, traits.clone());
        }
        traits
    }
}
