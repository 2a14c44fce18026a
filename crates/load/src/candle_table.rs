//! The candles of all tokens. A token's candles are a slice of the sorted table.

use std::{ops::Range, sync::Arc};

use crate::{Table, engine_rows::EngineRows};
use frames::rows::Frames as _;
use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval, latest_close},
    time::{DAY_MS, Time},
};
use table::TableRows;

/// The candles of all tokens. Those of a table at an engine are its days and the latest hours; others are here while an answer holds them.
#[derive(Debug, Default)]
pub struct CandleTable {
    here: Arc<TableRows>,
    engine: Option<Arc<EngineRows>>,
}

impl CandleTable {
    pub fn new(table: &Table) -> Self {
        Self {
            here: Arc::clone(&table.rows),
            engine: table.engine.clone(),
        }
    }

    /// The token's candles; empty if it has none, or if they are at an engine and were not fetched.
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
        ChartCandles::Here(self.series(token))
    }

    /// Like `of`, but only the candles of each interval that start less than `span` milliseconds before its last one; the flag is true if
    /// candles are omitted. Older rows are not read.
    pub fn recent(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        let mut cut = false;
        let recent = self.runs(token).into_iter().map(|(interval, rows)| {
            // Twice the candles that fit in the span, in case some are closer together than their interval.
            let most = usize::try_from(2 * span / interval.0.max(1))
                .unwrap_or(usize::MAX)
                .saturating_add(2);
            let recent = self
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
        self.here
            .tokens()
            .next()
            .map_or_else(Vec::new, |token| self.series(&token))
    }

    /// The provider of the token's last candle in this interval, if its file contains one.
    pub fn source(&self, token: &Address, interval: Interval) -> Option<String> {
        let rows = self.rows(token, interval)?;
        self.sources_of(rows.end.checked_sub(1)?..rows.end).pop()
    }

    /// The providers of the token's candles in this interval, each once, in order of time.
    pub fn sources(&self, token: &Address, interval: Interval) -> Vec<String> {
        self.rows(token, interval)
            .map_or_else(Vec::new, |rows| self.sources_of(rows))
    }

    /// Number of intervals for which all of the token's candles are loaded.
    pub fn intervals(&self, token: &Address) -> usize {
        if self.engine.is_some() {
            0
        } else {
            self.runs(token).len()
        }
    }

    pub fn tokens(&self) -> Vec<Address> {
        self.here.tokens().collect()
    }

    /// The close of the token's latest valid candle in any interval; if two candles start at the same time, that of the finer interval.
    pub fn latest_close(&self, token: &Address) -> Option<(Time, f64)> {
        let (recent, cut) = self.recent(token, DAY_MS);
        latest_close(&recent).or_else(|| {
            if cut {
                latest_close(&self.series(token))
            } else {
                None
            }
        })
    }

    fn series(&self, token: &Address) -> Vec<(Interval, Candles<'_>)> {
        self.runs(token)
            .into_iter()
            .map(|(interval, rows)| (interval, self.slice(rows)))
            .collect()
    }

    fn runs(&self, token: &Address) -> Vec<(Interval, Range<usize>)> {
        let mut runs: Vec<_> = self.here.runs_of(token).collect();
        runs.sort_by_key(|(interval, _)| *interval);
        runs
    }

    fn rows(&self, token: &Address, interval: Interval) -> Option<Range<usize>> {
        self.runs(token)
            .into_iter()
            .find(|(known, _)| *known == interval)
            .map(|(_, rows)| rows)
    }

    /// The sources of the rows, each once.
    fn sources_of(&self, rows: Range<usize>) -> Vec<String> {
        if self.here.is_hollow("source") {
            return Vec::new();
        }
        let frame = self.here.slice(rows, Some(&["source"]));
        let column = frame.column("source").ok();
        let mut sources: Vec<String> = Vec::new();
        let texts = column.and_then(|column| column.str().ok());
        for source in texts.iter().flat_map(|texts| texts.iter().flatten()) {
            // Mostly it is the same as before.
            if !sources.iter().rev().any(|known| known == source) {
                sources.push(source.to_owned());
            }
        }
        sources
    }

    fn slice(&self, rows: Range<usize>) -> Candles<'_> {
        // A damaged part yields no candles; the table reports the damage.
        slice_of(&self.here, &rows).unwrap_or_default()
    }
}

fn slice_of<'a>(table: &'a TableRows, rows: &Range<usize>) -> Option<Candles<'a>> {
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
