//! A table in place: its rows stay at the engine. Here it is counted and aggregated when a generation is loaded; `on_demand` queries the
//! rows of a token later, `stored` keeps the aggregates on disk for an offline start.

mod on_demand;
mod stored;

use std::sync::Arc;

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use self::on_demand::OnDemand;
use super::{
    Columns, EngineQuery, LoadContext, name_of,
    sql::{EngineColumn, HexSpelling},
    sum::{Aggregation, holders, market},
};
use crate::{
    RemoteOrigin, Table, TableFile,
    candle_table::HeldCandles,
    field_hash::FieldHash,
    in_place::{self, InPlaceCache},
    load::{
        remote::{self, Pulse},
        table::{self, TableLoadError},
    },
    manifest::{EngineTable, TableManifest},
    source::locate::Answer,
};
use model::{
    findings::{Finding, Severity},
    schema::TableSchema,
    table_state::TableState,
};

/// State of an engine's table that a generation was loaded from: later queries ask for exactly these rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EngineSnapshot {
    /// Its columns, with the spelling of their values.
    pub(super) described: Vec<EngineColumn>,
    /// Whether sums carry a checksum of the rows' content.
    summed: bool,
    /// SQL conditions that keep the rows of this state, and its end for display.
    pub(super) until: Vec<String>,
    pub(super) as_of: Option<String>,
}

impl EngineSnapshot {
    /// Whether the answer belongs to this state.
    pub(in crate::load) fn is_of(&self, answer: &Answer) -> bool {
        answer.as_of == self.as_of && self.until.iter().all(|condition| answer.sql.contains(condition))
    }
}

/// A table in place, as loaded.
struct LoadedAggregates {
    snapshot: EngineSnapshot,
    rows: u64,
    /// Findings for the user: warnings, such as about excluded rows, and notes.
    warnings: Vec<String>,
    notes: Vec<String>,
    hash: [u8; 32],
    /// The candles that market figures need, or the number of holders per token.
    sums: DataFrame,
}

/// Loads the table: its aggregates, and a cache that queries the rest on demand. Where the engine fails, the last load is used.
pub(in crate::load) fn in_place(
    context: &LoadContext<'_>,
    schema: &'static TableSchema,
    manifest: &TableManifest,
    asked: &EngineTable,
    pulse: &Pulse,
) -> Result<(Table, [u8; 32]), TableLoadError> {
    let Some(wire) = context.wire else { return Err(TableLoadError::Cancelled) };
    let (known, old) = match LoadedAggregates::ask(context, schema, manifest, asked, pulse) {
        Ok(known) => {
            known.keep(context, schema, manifest);
            (known, None)
        }
        Err(error) => {
            let kept =
                remote::source_failure(manifest, &error).and_then(|why| Some((LoadedAggregates::kept(context, schema, manifest)?, why)));
            let Some(((known, then), why)) = kept else { return Err(error) };
            (known, Some((then, why)))
        }
    };
    let known_here = known.of_table(schema)?;
    let LoadedAggregates { snapshot, rows, warnings, notes, hash, .. } = known;
    let file = name_of(asked);
    let mut table = Table::absent(schema);
    table.sources = vec![TableFile { file: file.clone(), bytes: 0, modified: None, rows }];
    table.remote =
        Some(RemoteOrigin { sources: vec![asked.source.clone()], as_of: old.as_ref().map(|(then, _)| *then), ..RemoteOrigin::default() });
    table.frame = table::empty(schema)?;
    table.state = TableState::Loaded;
    if let Some((then, why)) = old {
        table.findings.add(remote::stale_note(&file, then, &why));
    }
    let told = [(Severity::Warning, warnings), (Severity::Note, notes)];
    for (severity, reason) in told.into_iter().flat_map(|(severity, all)| all.into_iter().map(move |reason| (severity, reason))) {
        table.findings.add(Finding::new(severity, &file, reason));
    }
    let on_demand = OnDemand::new(context, schema, Arc::clone(wire), snapshot, hash);
    table.in_place = Some(Arc::new(InPlaceCache::new(rows, asked.source.clone(), known_here, Box::new(on_demand))));
    Ok((table, hash))
}

impl LoadedAggregates {
    /// Queries the engine for the current state.
    fn ask(
        context: &LoadContext<'_>,
        schema: &'static TableSchema,
        manifest: &TableManifest,
        asked: &EngineTable,
        pulse: &Pulse,
    ) -> Result<Self, TableLoadError> {
        let asking = EngineQuery::new(context, schema, manifest, asked)?;
        if asking.old {
            return Err(TableLoadError::Unusable(format!(
                "`{}` cannot stay in place: its server is too old; say read = \"bring\"",
                asking.name
            )));
        }
        let columns = asking.columns()?;
        let conditions = asking.conditions(&columns);
        if conditions.len() < manifest.filters.len() || !asking.is_exact(&columns) {
            let name = &asking.name;
            return Err(TableLoadError::Unusable(format!(
                "`{name}` cannot stay in place: not all of `where` can be said in SQL; say read = \"bring\""
            )));
        }
        let counted = asking.count(&columns, &conditions)?;
        let base = asking.base(&columns, &counted.conditions, counted.summed)?;
        let Summed { sums, seen, content, mixed_case, without_price } =
            if schema.name == "holders" { asking.listed(&base, pulse)? } else { asking.market(&base, pulse)? };
        let left_out = asking.left_out(&columns, &counted.conditions, counted.rows, seen)?;
        let source = asking.engine.source();
        let of_server = [&source.url, &source.database, &source.user];
        let hash = FieldHash::of([&base, &counted.rows.to_string(), &content.to_string()].into_iter().chain(of_server)).finish();
        let stays = format!(
            "its {} rows stay at `{}`: an answer about a token queries them there; {}",
            super::grouped(counted.rows),
            asked.source,
            unchecked(schema)
        );
        Ok(Self {
            snapshot: EngineSnapshot {
                described: with_spelling(columns, mixed_case),
                summed: counted.summed,
                until: counted.conditions,
                as_of: counted.as_of,
            },
            rows: counted.rows,
            warnings: left_out.into_iter().chain(without_price).collect(),
            notes: counted.notes.into_iter().chain([stays]).collect(),
            hash,
            sums,
        })
    }

    /// The aggregates, in the form for the cache.
    fn of_table(&self, schema: &TableSchema) -> Result<in_place::Prefetched, TableLoadError> {
        if schema.name != "holders" {
            let known = market::versions(&self.sums)
                .map(|versions| in_place::Prefetched::Candles(Box::new(HeldCandles::new(&self.sums)), versions));
            return known.ok_or_else(unread);
        }
        holders::of_frame(&self.sums).map(in_place::Prefetched::Holders).ok_or_else(unread)
    }
}

/// Aggregates over the whole table.
struct Summed {
    sums: DataFrame,
    /// Number of rows that they count.
    seen: u64,
    /// Checksum of these rows.
    content: u64,
    /// Whether tokens are written in mixed case, by which their rows would not be found.
    mixed_case: bool,
    /// Finding about tokens without a usable candle.
    without_price: Option<String>,
}

/// Note about the checks that are not made for a table in place.
fn unchecked(schema: &TableSchema) -> &'static str {
    if schema.name == "holders" {
        "a balance below zero is left empty there, without a finding; that the balances are within the supply is not checked"
    } else {
        "a volume below zero is left empty there, and a candle whose prices break a rule is not used, without a finding; gaps, intervals, \
         steps and the size of volumes are not checked"
    }
}

fn unread() -> TableLoadError {
    TableLoadError::Unusable("its local copy cannot be read: load again".to_owned())
}

impl EngineQuery<'_> {
    /// Queries the candles that market figures need.
    fn market(&self, base: &str, pulse: &Pulse) -> Result<Summed, TableLoadError> {
        let ask = |aggregation: &Aggregation| {
            let frames = self.sum(aggregation, base, pulse)?;
            if let Some(coin) = frames.iter().find_map(market::coin) {
                return Err(self.coins(&coin));
            }
            let rows: Option<Vec<Vec<market::Row>>> = frames.iter().map(market::read).collect();
            rows.map(|rows| rows.into_iter().flatten().collect()).ok_or_else(|| self.unread())
        };
        let mut rows: Vec<market::Row> = ask(&Aggregation::Market)?;
        let short = market::short(&rows);
        if !short.is_empty() {
            let all = ask(&Aggregation::WholeMarket(short.clone()))?;
            rows.retain(|row| !short.contains(&row.token));
            rows.extend(all);
        }
        let duplicates: u64 = rows.iter().map(|row| row.duplicates).sum();
        if duplicates > 0 {
            return Err(TableLoadError::Unusable(format!(
                "`{}` cannot stay in place: {} of its newest candles come twice: say final = true, or a `query` with one row for each candle; \
                 or say read = \"bring\"",
                self.name,
                super::grouped(duplicates)
            )));
        }
        let sum = |number: &dyn Fn(&market::Row) -> u64| rows.iter().map(number).fold(0, u64::wrapping_add);
        let (seen, content, mixed_case) = (sum(&|row| row.count), sum(&|row| row.checksum), rows.iter().any(|row| row.mixed_case));
        let without_price = market::without_price(&rows);
        Ok(Summed { sums: market::frame(rows)?, seen, content, mixed_case, without_price })
    }

    /// Queries the number of holders per token.
    fn listed(&self, base: &str, pulse: &Pulse) -> Result<Summed, TableLoadError> {
        let frames = self.sum(&Aggregation::Listed, base, pulse)?;
        if let Some(coin) = frames.iter().find_map(market::coin) {
            return Err(self.coins(&coin));
        }
        let (listed, faults) = holders::read_listed(&frames).ok_or_else(|| self.unread())?;
        let why = match faults {
            holders::Faults { duplicates: 1.., .. } => Some(format!(
                "{} of its rows are of holders that come twice: say final = true, or a `query` with one row for each holder",
                super::grouped(faults.duplicates)
            )),
            holders::Faults { invalid: 1.., .. } => Some(format!(
                "{} of its rows are of holders that are no addresses: leave them out with a `query`",
                super::grouped(faults.invalid)
            )),
            _ => None,
        };
        if let Some(why) = why {
            return Err(TableLoadError::Unusable(format!("`{}` cannot stay in place: {why}; or say read = \"bring\"", self.name)));
        }
        let content = listed.values().map(|listed| listed.checksum).fold(0, u64::wrapping_add);
        let sums = holders::frame(&listed).ok_or_else(|| self.unread())?;
        Ok(Summed { sums, seen: faults.rows, content, mixed_case: faults.mixed_case, without_price: None })
    }

    /// Error for coins: rows are queried by token address, and a coin has many spellings.
    fn coins(&self, coin: &str) -> TableLoadError {
        let name = &self.name;
        TableLoadError::Unusable(format!(
            "`{name}` cannot stay in place: it has coins without a contract, as `{coin}`; say read = \"bring\""
        ))
    }
}

/// All columns; that of the tokens is marked where some are in mixed case.
fn with_spelling(columns: Columns<'_>, mixed_case: bool) -> Vec<EngineColumn> {
    let tokens = columns.serving("token_address").filter(|_| mixed_case).map(|column| column.name.clone());
    let mut all = columns.all;
    for column in all.iter_mut().filter(|column| Some(&column.name) == tokens.as_ref()) {
        column.spelling = HexSpelling::MixedCase;
    }
    all
}
