//! A table in place: its rows are at the engine. This file counts and aggregates it when a snapshot is loaded; `on_demand` queries rows
//! later, `streamed` queries all of them, and `stored` keeps the aggregates on disk for an offline start.

mod on_demand;
mod stored;
mod streamed;

use std::{collections::HashMap, sync::Arc};

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use self::on_demand::OnDemand;
use super::{
    Columns, EngineQuery, LoadContext, name_of,
    sql::{EngineColumn, HexSpelling},
    sum::{Aggregation, holders, market},
};
use crate::{
    RemoteOrigin, Storage, Table, TableFile,
    candle_table::HeldCandles,
    in_place::InPlaceCache,
    load::{
        remote::{self, Pulse},
        task::{TableLoad, TableLoadError},
    },
    wall_clock,
};
use model::{
    address::Address,
    findings::{Finding, Severity},
    format::plural,
    holding::ListedBalances,
    schema::TableSchema,
    time::Time,
};
use source::{field_hash::FieldHash, locate::Answer, manifest::EngineTable};

/// State of an engine's table that a snapshot was loaded from: later queries must see exactly these rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EngineSnapshot {
    /// Its columns, with the spelling of their values.
    pub(super) described: Vec<EngineColumn>,
    /// Whether sums carry a checksum of the rows' content.
    summed: bool,
    /// Parts of the table, if the engine lists them.
    #[serde(default)]
    parts: Option<String>,
    /// Whether all of its rows are used: candles with a token, a time and prices.
    #[serde(default)]
    whole: bool,
    /// SQL conditions that keep the rows of this state, and its end for display.
    pub(super) until: Vec<String>,
    pub(super) as_of: Option<String>,
}

impl EngineSnapshot {
    /// Whether the answer belongs to this state.
    pub(in crate::load) fn is_of(&self, answer: &Answer) -> bool {
        answer.as_of == self.as_of
            && self
                .until
                .iter()
                .all(|condition| answer.sql.contains(condition))
    }
}

/// A table in place, as loaded.
struct LoadedAggregates {
    state: LoadedState,
    /// The candles that the market metrics need, or the number of holders per token.
    sums: DataFrame,
}

/// What is known of it besides its aggregates; stored on disk too.
#[derive(Debug, Serialize, Deserialize)]
struct LoadedState {
    /// Time of the load, in milliseconds.
    at: i64,
    snapshot: EngineSnapshot,
    rows: u64,
    /// Findings for the user: warnings, such as about excluded rows, and notes.
    #[serde(default)]
    warnings: Vec<String>,
    notes: Vec<String>,
    #[serde(rename = "mark")]
    hash: [u8; 32],
}

/// Loads the table: its aggregates, and a cache that queries the rest on demand. Where the engine fails, the last load is used.
pub(in crate::load) fn in_place(
    load: &TableLoad<'_>,
    asked: &EngineTable,
    pulse: &Pulse,
) -> Result<Table, TableLoadError> {
    let TableLoad {
        context,
        schema,
        manifest,
    } = *load;
    let Some(wire) = context.wire else {
        return Err(TableLoadError::Cancelled);
    };
    let (known, stale) = match LoadedAggregates::ask(load, asked, pulse) {
        Ok(known) => {
            known.keep(load);
            (known, None)
        }
        Err(error) => {
            let why = remote::source_failure(manifest, &error);
            let Some((known, why)) = why.and_then(|why| Some((LoadedAggregates::kept(load)?, why)))
            else {
                return Err(error);
            };
            (known, Some(why))
        }
    };
    let known_here = known.of_table(schema)?;
    let LoadedState {
        at,
        snapshot,
        rows,
        warnings,
        notes,
        hash,
    } = known.state;
    let old = stale.map(|why| (Time(at), why));
    let file = name_of(asked);
    let on_demand = OnDemand::new(context, schema, Arc::clone(wire), snapshot, hash);
    let rows_there = InPlaceCache::new(rows, asked.source.clone(), known_here, Arc::new(on_demand));
    let mut table = Table::stored(schema, Storage::InPlace(Arc::new(rows_there)));
    table.sources = vec![TableFile {
        file: file.clone(),
        rows,
        ends: hash,
        ..TableFile::default()
    }];
    table.remote = Some(RemoteOrigin {
        sources: vec![asked.source.clone()],
        as_of: old.as_ref().map(|(then, _)| *then),
        ..RemoteOrigin::default()
    });
    if let Some((then, why)) = old {
        table.findings.add(remote::stale_note(&file, then, &why));
    }
    let told = [(Severity::Warning, warnings), (Severity::Note, notes)];
    for (severity, reason) in told
        .into_iter()
        .flat_map(|(severity, all)| all.into_iter().map(move |reason| (severity, reason)))
    {
        table.findings.add(Finding::new(severity, &file, reason));
    }
    Ok(table)
}

impl LoadedAggregates {
    /// Queries the engine for the current state.
    fn ask(
        load: &TableLoad<'_>,
        asked: &EngineTable,
        pulse: &Pulse,
    ) -> Result<Self, TableLoadError> {
        let TableLoad {
            schema, manifest, ..
        } = *load;
        let asking = EngineQuery::new(load, asked)?;
        if asking.old {
            return Err(asking.cannot_stay("its server is too old; set read = \"bring\""));
        }
        let columns = asking.columns()?;
        let conditions = asking.conditions(&columns);
        if let Some((name, _)) = manifest
            .filters
            .iter()
            .find(|(name, _)| columns.of_condition(name).0.is_none())
        {
            return Err(asking.cannot_stay(format!(
                "`where` uses `{name}`, which is not a column at the source"
            )));
        }
        if conditions.len() < manifest.filters.len() || !asking.is_exact(&columns) {
            return Err(asking
                .cannot_stay("`where` cannot be fully expressed in SQL; set read = \"bring\""));
        }
        let before = asking.parts();
        let counted = asking.count(&columns, &conditions)?;
        let base = asking.base(&columns, &counted.conditions, counted.summed, false)?;
        let Summed {
            sums,
            seen,
            content,
            mixed_case,
            findings,
        } = if schema.name == "candles" {
            asking.market(&base, pulse)?
        } else {
            asking.listed(&base, pulse)?
        };
        let left_out = asking.left_out(&columns, &counted.conditions, counted.rows, seen)?;
        let parts = before.filter(|before| asking.parts().as_ref() == Some(before));
        let source = asking.engine.source();
        let of_server = [&source.url, &source.database, &source.user];
        let hash = FieldHash::of(
            [&base, &counted.rows.to_string(), &content.to_string()]
                .into_iter()
                .chain(of_server),
        )
        .finish();
        let stays = format!(
            "the {} rows are queried in place at `{}`, per token; {}",
            super::grouped(counted.rows),
            asked.source,
            unchecked(schema)
        );
        let snapshot = EngineSnapshot {
            described: with_spelling(columns, mixed_case),
            summed: counted.summed,
            parts,
            whole: schema.name == "candles" && seen == counted.rows,
            until: counted.conditions,
            as_of: counted.as_of,
        };
        let (warnings, notes) = (
            left_out.into_iter().chain(findings).collect(),
            counted.notes.into_iter().chain([stays]).collect(),
        );
        Ok(Self {
            state: LoadedState {
                at: wall_clock::now().0,
                snapshot,
                rows: counted.rows,
                warnings,
                notes,
                hash,
            },
            sums,
        })
    }

    /// The aggregates, in the form for the cache.
    fn of_table(
        &self,
        schema: &TableSchema,
    ) -> Result<(HashMap<Address, ListedBalances>, HeldCandles), TableLoadError> {
        let known = if schema.name == "candles" {
            market::listed(&self.sums).zip(HeldCandles::of_series(&self.sums))
        } else {
            holders::of_frame(&self.sums).map(|listed| (listed, HeldCandles::default()))
        };
        known.ok_or_else(|| {
            TableLoadError::Unusable("its local copy cannot be read; reload the data".to_owned())
        })
    }
}

/// Aggregates over the whole table.
struct Summed {
    sums: DataFrame,
    /// Number of rows that they count.
    seen: u64,
    /// Checksum of these rows.
    content: u64,
    /// Whether some tokens are written in mixed case; queries would not find their rows.
    mixed_case: bool,
    /// Finding about tokens without a usable row.
    findings: Vec<String>,
}

/// Note about the checks that are not made for a table in place.
fn unchecked(schema: &TableSchema) -> &'static str {
    match schema.name {
        "holders" => {
            "negative balances are cleared there and not reported as issues; balances are not compared with the supply"
        }
        "transfers" => {
            "empty addresses, amounts and times are excluded from the sums and not reported as issues; amounts are not compared with the \
                supply, and times are not checked"
        }
        _ => {
            "negative volumes are cleared and candles whose prices break a rule are excluded, but neither is reported as an issue; gaps, \
                intervals, steps and the size of volumes are not checked"
        }
    }
}

impl EngineQuery<'_> {
    /// Queries the candles that market figures need.
    fn market(&self, base: &str, pulse: &Pulse) -> Result<Summed, TableLoadError> {
        let ask = |aggregation: &Aggregation| {
            let frames = self.sum(aggregation, base, pulse)?;
            if let Some(coin) = frames.iter().find_map(market::coin) {
                return Err(self.coins(&coin));
            }
            let mut rows = Vec::new();
            // A part of the answer leaves memory once it is read.
            for frame in frames {
                rows.extend(market::read(&frame).ok_or_else(|| self.unread())?);
            }
            Ok(rows)
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
            return Err(self.cannot_stay(format!(
                "{}; set final = true, use a `query` with one row per candle, or set read = \"bring\"",
                plural(duplicates, "of its newest candles is a duplicate", "of its newest candles are duplicates")
            )));
        }
        let sum = |number: &dyn Fn(&market::Row) -> u64| {
            rows.iter().map(number).fold(0, u64::wrapping_add)
        };
        let (seen, content, mixed_case) = (
            sum(&|row| row.count),
            sum(&|row| row.checksum),
            rows.iter().any(|row| row.mixed_case),
        );
        let findings = market::without_price(&rows)
            .into_iter()
            .chain(market::too_close(&rows))
            .collect();
        Ok(Summed {
            sums: market::frame(rows)?,
            seen,
            content,
            mixed_case,
            findings,
        })
    }

    /// Queries the number of holders, or of transfers, per token.
    fn listed(&self, base: &str, pulse: &Pulse) -> Result<Summed, TableLoadError> {
        let frames = self.sum(&Aggregation::Listed(self.load.schema.name), base, pulse)?;
        if let Some(coin) = frames.iter().find_map(market::coin) {
            return Err(self.coins(&coin));
        }
        let (listed, faults) = holders::read_listed(&frames).ok_or_else(|| self.unread())?;
        let why = match faults {
            holders::Faults {
                duplicates: 1.., ..
            } => Some(format!(
                "{}; set final = true, use a `query` with one row per holder",
                plural(
                    faults.duplicates,
                    "of its rows is a duplicate holder",
                    "of its rows are duplicate holders"
                )
            )),
            holders::Faults { invalid: 1.., .. } => Some(format!(
                "{}; exclude such rows with a `query`",
                plural(
                    faults.invalid,
                    "of its rows has a holder that is not an address",
                    "of its rows have holders that are not addresses"
                )
            )),
            _ => None,
        };
        if let Some(why) = why {
            return Err(self.cannot_stay(format!("{why}, or set read = \"bring\"")));
        }
        let content = listed
            .values()
            .map(|listed| listed.checksum)
            .fold(0, u64::wrapping_add);
        let sums = holders::frame(&listed).ok_or_else(|| self.unread())?;
        Ok(Summed {
            sums,
            seen: faults.rows,
            content,
            mixed_case: faults.mixed_case,
            findings: holders::no_tokens(&frames).into_iter().collect(),
        })
    }

    /// Error for coins: rows are queried by token address, and a coin has many spellings.
    fn coins(&self, coin: &str) -> TableLoadError {
        self.cannot_stay(format!(
            "it has coins without a contract, such as `{coin}`; set read = \"bring\""
        ))
    }
}

/// All columns; that of the tokens is marked where some are in mixed case.
fn with_spelling(columns: Columns<'_>, mixed_case: bool) -> Vec<EngineColumn> {
    let tokens = columns
        .serving("token_address")
        .filter(|_| mixed_case)
        .map(|column| column.name.clone());
    let mut all = columns.all;
    for column in all
        .iter_mut()
        .filter(|column| Some(&column.name) == tokens.as_ref())
    {
        column.spelling = HexSpelling::MixedCase;
    }
    all
}
