//! The candles of all tokens. A token's candles are a slice of the sorted table, which is in memory, memory-mapped or queried in place.

use std::{collections::HashMap, ops::Range, sync::Arc};

use polars::prelude::{DataFrame, Float64Chunked, Int64Chunked, StringChunked};

use crate::{
    Storage, Table,
    cache::LargeTable,
    engine_rows::EngineRows,
    held_columns::{floats, integers, part},
};
use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval, latest_close},
    time::{DAY_MS, Time},
};
use source::text_runs::pairs;

/// The candles of all tokens.
#[derive(Debug)]
pub struct CandleTable {
    here: CandleRows,
    /// Set for a table at an engine: `here` then has the days of each token and its latest hours; other candles are here while an answer
    /// holds them.
    engine: Option<Arc<EngineRows>>,
}

/// Candles that are read without a query.
#[derive(Debug)]
enum CandleRows {
    Held(Arc<HeldCandles>),
    Large(Arc<LargeTable>),
}

/// Candles in memory, sorted by (token, interval, time).
#[derive(Debug, Default)]
pub struct HeldCandles {
    /// These columns have one chunk and no nulls; they share the table's memory.
    timestamp: Int64Chunked,
    open: Float64Chunked,
    high: Float64Chunked,
    low: Float64Chunked,
    close: Float64Chunked,
    volume: Float64Chunked,
    /// Only for files with such a column.
    volume_usd: Option<Float64Chunked>,
    source: Option<StringChunked>,
    index: HashMap<Address, Vec<(Interval, Range<usize>)>>,
}

impl Default for CandleTable {
    fn default() -> Self {
        Self {
            here: CandleRows::Held(Arc::default()),
            engine: None,
        }
    }
}

impl CandleTable {
    pub fn new(table: &Table) -> Self {
        let here = match &table.storage {
            Storage::Memory(frame) => CandleRows::Held(Arc::new(HeldCandles::new(frame))),
            Storage::Large(large) => CandleRows::Large(Arc::clone(large)),
            Storage::InPlace(rows) => {
                let days = rows.days().map_or_else(Self::default, Self::new);
                return Self {
                    engine: Some(Arc::clone(rows)),
                    ..days
                };
            }
        };
        Self { here, engine: None }
    }

    /// The token's candles; empty if it has none, or if they are at an engine and nobody brought them.
    pub fn of(&self, token: &Address) -> ChartCandles<'_> {
        match &self.engine {
            Some(engine) => engine
                .get(token)
                .map_or_else(ChartCandles::default, |held| ChartCandles::Fetched(held)),
            None => self.loaded(token),
        }
    }

    /// The token's candles that came with the table: all, or of a table at an engine its days and latest hours.
    pub fn loaded(&self, token: &Address) -> ChartCandles<'_> {
        ChartCandles::Here(self.here.of(token))
    }

    /// Like `of`, but only the candles of each interval that start less than `span` milliseconds before its last one; the flag is true if
    /// candles are omitted. Older rows are not read.
    pub fn recent(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        let mut cut = false;
        let recent = self.here.runs(token).into_iter().map(|(interval, rows)| {
            // Twice the candles that fit in the span, in case some are closer together than their interval.
            let most = usize::try_from(2 * span / interval.0.max(1))
                .unwrap_or(usize::MAX)
                .saturating_add(2);
            let recent = self
                .here
                .slice(rows.end.saturating_sub(most).max(rows.start)..rows.end)
                .last(span);
            cut |= recent.len() < rows.len();
            (interval, recent)
        });
        let recent = recent.collect();
        (recent, cut)
    }

    /// The first token's candles, for a table of a single token.
    pub(super) fn one(&self) -> Vec<(Interval, Candles<'_>)> {
        self.tokens()
            .first()
            .map_or_else(Vec::new, |token| self.here.of(token))
    }

    /// The provider of the token's last candle in this interval, if its file contains one.
    pub fn source(&self, token: &Address, interval: Interval) -> Option<String> {
        let rows = self.here.rows(token, interval)?;
        self.here.sources(rows.end.checked_sub(1)?..rows.end).pop()
    }

    /// The providers of the token's candles in this interval, each once, in order of time.
    pub fn sources(&self, token: &Address, interval: Interval) -> Vec<String> {
        self.here
            .rows(token, interval)
            .map_or_else(Vec::new, |rows| self.here.sources(rows))
    }

    /// Number of intervals for which all of the token's candles are loaded.
    pub fn intervals(&self, token: &Address) -> usize {
        if self.engine.is_some() {
            0
        } else {
            self.here.runs(token).len()
        }
    }

    pub fn tokens(&self) -> Vec<Address> {
        match &self.here {
            CandleRows::Held(held) => held.index.keys().copied().collect(),
            CandleRows::Large(table) => table.tokens().collect(),
        }
    }

    /// The close of the token's latest valid candle in any interval; if two candles start at the same time, that of the finer interval.
    pub fn latest_close(&self, token: &Address) -> Option<(Time, f64)> {
        let (recent, cut) = self.recent(token, DAY_MS);
        latest_close(&recent).or_else(|| {
            if cut {
                latest_close(&self.here.of(token))
            } else {
                None
            }
        })
    }
}

impl CandleRows {
    fn of(&self, token: &Address) -> Vec<(Interval, Candles<'_>)> {
        self.runs(token)
            .into_iter()
            .map(|(interval, rows)| (interval, self.slice(rows)))
            .collect()
    }

    fn runs(&self, token: &Address) -> Vec<(Interval, Range<usize>)> {
        match self {
            Self::Held(held) => held.index.get(token).cloned().unwrap_or_default(),
            Self::Large(table) => {
                let mut runs: Vec<_> = table.runs_of(token).collect();
                runs.sort_by_key(|(interval, _)| *interval);
                runs
            }
        }
    }

    fn rows(&self, token: &Address, interval: Interval) -> Option<Range<usize>> {
        self.runs(token)
            .into_iter()
            .find(|(known, _)| *known == interval)
            .map(|(_, rows)| rows)
    }

    /// The sources of the rows, each once.
    fn sources(&self, rows: Range<usize>) -> Vec<String> {
        let column = match self {
            Self::Held(held) => held
                .source
                .as_ref()
                .map(|source| source.slice(rows.start as i64, rows.len())),
            Self::Large(table) if table.is_hollow("source") => None,
            Self::Large(table) => table
                .slice(rows, Some(&["source"]))
                .column("source")
                .ok()
                .and_then(|column| column.str().ok().cloned()),
        };
        let mut sources: Vec<String> = Vec::new();
        for source in column.iter().flat_map(|column| column.iter().flatten()) {
            // Mostly it is the same as before.
            if !sources.iter().rev().any(|known| known == source) {
                sources.push(source.to_owned());
            }
        }
        sources
    }

    fn slice(&self, rows: Range<usize>) -> Candles<'_> {
        match self {
            Self::Held(held) => held.slice(rows),
            // A damaged part yields no candles; the table reports the damage.
            Self::Large(table) => large_slice(table, &rows).unwrap_or_default(),
        }
    }
}

fn large_slice<'a>(table: &'a LargeTable, rows: &Range<usize>) -> Option<Candles<'a>> {
    let floats = |column: &str| table.floats(column, rows.clone());
    Some(Candles {
        timestamp: table.whole_numbers("timestamp", rows.clone())?,
        open: floats("open")?,
        high: floats("high")?,
        low: floats("low")?,
        close: floats("close")?,
        volume: floats("volume")?,
        volume_usd: floats("volume_usd").unwrap_or_default(),
    })
}

impl HeldCandles {
    /// Builds the candles from a canonical frame: sorted, `interval` filled, nulls only in optional columns.
    pub fn new(frame: &DataFrame) -> Self {
        let floats = |name: &str| floats(frame, name);
        let has_cells = |name: &str| {
            frame
                .column(name)
                .is_ok_and(|column| column.null_count() < column.len())
        };
        let mut table = Self {
            open: floats("open"),
            high: floats("high"),
            low: floats("low"),
            close: floats("close"),
            volume: floats("volume"),
            volume_usd: has_cells("volume_usd").then(|| floats("volume_usd")),
            source: has_cells("source")
                .then(|| frame.column("source").ok()?.str().ok().cloned())
                .flatten(),
            timestamp: integers(frame, "timestamp", 0),
            index: HashMap::new(),
        };
        table.index(frame);
        table
    }

    fn index(&mut self, frame: &DataFrame) {
        let texts = |name: &str| {
            frame
                .column(name)
                .ok()
                .and_then(|column| column.str().ok())
                .map(|texts| texts.rechunk())
        };
        let (Some(tokens), Some(intervals)) = (texts("token_address"), texts("interval")) else {
            return;
        };
        for (rows, token, interval) in pairs(&tokens, &intervals) {
            if let (Some(token), Some(interval)) = (
                token.and_then(Address::parse),
                interval.and_then(Interval::parse),
            ) {
                self.index.entry(token).or_default().push((interval, rows));
            }
        }
        for runs in self.index.values_mut() {
            runs.sort_by_key(|(interval, _)| *interval);
        }
    }

    fn slice(&self, rows: Range<usize>) -> Candles<'_> {
        Candles {
            timestamp: part(&self.timestamp, &rows),
            open: part(&self.open, &rows),
            high: part(&self.high, &rows),
            low: part(&self.low, &rows),
            close: part(&self.close, &rows),
            volume: part(&self.volume, &rows),
            volume_usd: self
                .volume_usd
                .as_ref()
                .map_or(&[], |volume| part(volume, &rows)),
        }
    }
}
