//! The snapshot that queries read: one dataset generation, data derived from it once, and the settings that influence answers.

use std::{collections::BTreeSet, sync::Arc};

use sha2::{Digest, Sha256};

use super::{
    caches::{RowOrderCache, SecurityCache, SymbolOrder, TrackRecordCache},
    exchanges,
    paging::with_parameter,
    parameter::{AS_OF, GENERATION},
    tokens::TokenFacts,
};
use analysis::{market::Market, yields::pools::Pools};
use load::{Dataset, Table};
use model::{
    error::{Code, Problem, Result},
    wall_clock::now,
};
use security::code::live::Exchanges;

/// One generation, immutable; replaced as a whole on reload.
#[derive(Debug)]
pub struct Snapshot {
    /// Starts at 1 and grows with every load; no two snapshots of a program have the same.
    pub generation: u64,
    /// The generation as people count them: as of a time, that of the present it was cut from.
    pub number: u64,
    pub dataset: Dataset,
    pub market: Market,
    pub token_facts: TokenFacts,
    /// The pools available to yield plans.
    pub yields: Pools,
    pub settings: AnswerSettings,
    /// Caches of security inference.
    pub security: SecurityCache,
    /// Cached row orders of tables.
    pub row_orders: RowOrderCache,
    /// Cached pattern track records.
    pub track_records: TrackRecordCache,
    pub symbols: SymbolOrder,
    /// Hash of every input of answers: program version, settings, sources.
    digest: [u8; 32],
}

/// The settings that influence answers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSettings {
    /// USD of a token from which a smart follower (the wallet of a key opinion leader) counts as a whale.
    pub whale_usd: f64,
    /// USD from which a holder counts as medium.
    pub medium_usd: f64,
    /// Percent by which the whales' balance must change to count as accumulating or distributing.
    pub whale_change_percent: f64,
    /// Where tokens are traded, for trades over the state of a chain.
    pub exchanges: Arc<Exchanges>,
}

impl Default for AnswerSettings {
    fn default() -> Self {
        Self {
            whale_usd: 100_000.0,
            medium_usd: 10_000.0,
            whale_change_percent: 1.0,
            exchanges: exchanges::built_in(),
        }
    }
}

impl Snapshot {
    pub fn new(generation: u64, dataset: Dataset, settings: AnswerSettings) -> Self {
        let market = Market::new(&dataset);
        // A pool ends by the calendar, whatever the age of the data; the day alone makes answers of one day equal.
        let today = dataset.as_of.as_ref().map_or_else(now, |as_of| as_of.time);
        let yields = Pools::new(&dataset, today.day().start());
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update(format!("{settings:?}"));
        hash.update(dataset.identity);
        if yields.knows_ends() {
            hash.update(today.day().0.to_le_bytes());
        }
        // The state of a chain is read while queries are answered: an answer of another run may be of another block.
        if let Some(states) = dataset.chain_states() {
            hash.update(states.begun.0.to_le_bytes());
            hash.update(generation.to_le_bytes());
        }
        Self {
            generation,
            number: generation,
            symbols: SymbolOrder::new(&market.tokens),
            token_facts: TokenFacts::new(&market.tokens),
            market,
            yields,
            dataset,
            security: SecurityCache::default(),
            row_orders: RowOrderCache::default(),
            track_records: TrackRecordCache::default(),
            digest: hash.finalize().into(),
            settings,
        }
    }

    /// The same, cut from that generation of the present.
    #[must_use]
    pub fn by_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// Takes over the reusable parts of the previous snapshot: the scans that security compares, and the track records of all tokens, which
    /// are costly and hardly change.
    pub fn inherit(&self, before: &Self) {
        if self.dataset.folder == before.dataset.folder {
            self.security
                .inherit(&before.security, before.dataset.importing.is_empty());
        }
        let tokens = |snapshot: &Self| {
            snapshot
                .market
                .tokens
                .iter()
                .map(|token| token.token_address)
                .collect::<BTreeSet<_>>()
        };
        if self.dataset.folder == before.dataset.folder && tokens(self) == tokens(before) {
            self.track_records.inherit(&before.track_records);
        }
    }

    /// Errors: large tables are still loading.
    pub fn require_complete(&self) -> Result<()> {
        let still_loading = || {
            Problem::new(
                Code::Loading,
                "Large tables are still loading; retry in a moment.",
            )
        };
        if self.dataset.importing.is_empty() {
            Ok(())
        } else {
            Err(still_loading())
        }
    }

    /// Errors: one of the tables is unreachable or refused at its source, or still loading.
    pub fn require(&self, tables: &[&str]) -> Result<()> {
        let unreached =
            |table: &&Table| table.remote.as_ref().is_some_and(|remote| remote.unreached);
        let unreached = self
            .dataset
            .tables
            .iter()
            .filter(unreached)
            .find(|table| tables.contains(&table.schema.name));
        if let Some(table) = unreached {
            let sources = table
                .remote
                .iter()
                .flat_map(|remote| &remote.sources)
                .map(|name| format!("`{name}`"));
            let sources = sources.collect::<Vec<_>>().join(", ");
            let detail = format!(
                "Table `{}` is unavailable from {sources}; see /datasets for the reason and retry later.",
                table.schema.name
            );
            return Err(Problem::new(Code::SourceUnavailable, detail));
        }
        let refused = |table: &&Table| table.remote.as_ref().is_some_and(|remote| remote.refused);
        let refused = self
            .dataset
            .tables
            .iter()
            .filter(refused)
            .find(|table| tables.contains(&table.schema.name));
        if let Some((table, lack)) =
            refused.and_then(|table| Some((table, self.dataset.absence_reason(table.schema.name)?)))
        {
            let detail = format!(
                "{lack} Fix [tables.{}] in dataset.toml, or the table at its source, and reload.",
                table.schema.name
            );
            return Err(Problem::new(Code::SourceUnavailable, detail));
        }
        match self
            .dataset
            .importing
            .iter()
            .find(|table| tables.contains(table))
        {
            None => Ok(()),
            Some(table) => Err(Problem::new(
                Code::Loading,
                format!("Table `{table}` is still loading; retry in a moment."),
            )),
        }
    }

    /// Hash of every input of answers: equal for equal data, settings and program.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The strong ETag of the answer to the canonical request, quotes included.
    pub fn etag(&self, canonical: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.digest);
        hash.update(canonical);
        format!("\"{}\"", const_hex::encode(&hash.finalize()[..16]))
    }

    /// As `etag`, of an answer that changes with the record of all tokens on this timeframe.
    pub fn etag_of_advice(&self, canonical: &str, timeframe: &str) -> String {
        let digest = self
            .track_records
            .known(timeframe)
            .map(|record| const_hex::encode(record.digest));
        self.etag(&format!(
            "{canonical}\nrecord {}",
            digest.as_deref().unwrap_or("none")
        ))
    }

    /// As `etag`, of an answer that changes with the record of the security verdicts.
    pub fn etag_of_verdicts(&self, canonical: &str) -> String {
        let record = self.track_records.known_security();
        let digest = record.map(|record| const_hex::encode(record.digest));
        self.etag(&format!("{canonical}\nverdicts {digest:?}"))
    }

    /// The request, pinned to this data: its snapshot number and its point in time.
    pub fn named_in(&self, target: &str) -> String {
        let target = with_parameter(target, GENERATION, &self.number.to_string());
        let as_of = self.dataset.as_of.as_ref();
        as_of.map_or_else(
            || target.clone(),
            |as_of| with_parameter(&target, AS_OF, &as_of.time.to_string()),
        )
    }
}
