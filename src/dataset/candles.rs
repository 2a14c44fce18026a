//! Candles as struct-of-arrays slices. A token's rows are a slice of the ordered table, whatever
//! the table is made of: vectors in memory, or a mapped file. Resampling is the analysis's.

use std::{collections::HashMap, ops::Range, sync::Arc};

use polars::prelude::{ChunkFull, ChunkedArray, DataFrame, DataType, Float64Chunked, Int64Chunked, PolarsNumericType};

use super::{
    Table,
    address::Address,
    cache::LargeTable,
    shelf::{Fetched, Shelf, Want},
    text_runs::pairs,
    time::{DAY_MS, HOUR_MS, Time},
};
pub use super::{interval::Interval, invariants::sound};

/// Days of candles that are here of what stays elsewhere, before the last of each interval.
pub const RECENT_DAYS: i64 = 40;
/// Daily closes that the market's figures look at.
pub const HISTORY_DAYS: usize = 30;
/// How far back, in milliseconds, the market's figures look for a price to compare the last one with.
pub(crate) const CHANGES: [i64; 4] = [HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];

/// One token's candles of one interval, oldest first. All slices have one length.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candles<'a> {
    /// Start of each candle, milliseconds since 1970 UTC.
    pub timestamp: &'a [i64],
    pub open: &'a [f64],
    pub high: &'a [f64],
    pub low: &'a [f64],
    pub close: &'a [f64],
    /// Whole tokens traded; NaN where unknown.
    pub volume: &'a [f64],
}

impl<'a> Candles<'a> {
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// Those at these places.
    #[must_use]
    pub fn part(&self, places: Range<usize>) -> Candles<'a> {
        Candles {
            timestamp: &self.timestamp[places.clone()],
            open: &self.open[places.clone()],
            high: &self.high[places.clone()],
            low: &self.low[places.clone()],
            close: &self.close[places.clone()],
            volume: &self.volume[places],
        }
    }

    /// Those that start less than `span` milliseconds before the last.
    fn last(&self, span: i64) -> Candles<'a> {
        let last = self.timestamp.last().copied().unwrap_or_default();
        let first = self.timestamp.partition_point(|&time| time <= last.saturating_sub(span));
        self.part(first..self.len())
    }

    /// Whether candle `i` can be believed: prices finite and above zero, the high and low around the rest.
    pub fn valid(&self, i: usize) -> bool {
        sound(self.open[i], self.high[i], self.low[i], self.close[i])
    }
}

/// The candles of every token, and where each token's lie.
#[derive(Debug)]
pub enum CandleTable {
    Memory(Box<HeldCandles>),
    Large(Arc<LargeTable>),
    /// They stay where they are: here are the last of each token, and the charts of those tokens that were asked for.
    InPlace(Arc<Shelf>),
}

/// A token's candles, held for as long as somebody looks at them.
#[derive(Debug)]
pub enum ChartCandles<'a> {
    Here(Vec<(Interval, Candles<'a>)>),
    /// `Fetched::Chart`.
    Fetched(Arc<Fetched>),
}

impl Default for ChartCandles<'_> {
    fn default() -> Self {
        Self::Here(Vec::new())
    }
}

impl ChartCandles<'_> {
    /// The series of each interval, the finest first.
    pub fn series(&self) -> Vec<(Interval, Candles<'_>)> {
        match self {
            Self::Here(series) => series.clone(),
            Self::Fetched(fetched) => fetched.series(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.series().is_empty()
    }
}

/// Candles in memory, ordered by (token, interval, time).
#[derive(Debug, Default)]
pub struct HeldCandles {
    /// Of one chunk each and without an empty cell; the memory is the table's.
    timestamp: Int64Chunked,
    open: Float64Chunked,
    high: Float64Chunked,
    low: Float64Chunked,
    close: Float64Chunked,
    volume: Float64Chunked,
    index: HashMap<Address, Vec<(Interval, Range<usize>)>>,
}

impl Default for CandleTable {
    fn default() -> Self {
        Self::Memory(Box::default())
    }
}

impl CandleTable {
    pub fn new(table: &Table) -> Self {
        if let Some(shelf) = &table.shelf {
            return Self::InPlace(Arc::clone(shelf));
        }
        match &table.large {
            Some(large) => Self::Large(Arc::clone(large)),
            None => Self::Memory(Box::new(HeldCandles::new(&table.frame))),
        }
    }

    /// The token's candles; empty without any, and where they stay elsewhere and were not fetched.
    pub fn of(&self, token: &Address) -> ChartCandles<'_> {
        if let Self::InPlace(shelf) = self {
            return shelf.get(&Want::Chart(*token)).map_or_else(ChartCandles::default, ChartCandles::Fetched);
        }
        ChartCandles::Here(self.held(token))
    }

    /// The token's candles that are here.
    fn held(&self, token: &Address) -> Vec<(Interval, Candles<'_>)> {
        self.runs(token).into_iter().map(|(interval, rows)| (interval, self.slice(rows))).collect()
    }

    /// As `of`, of each interval the last candles alone, that start less than `span` milliseconds before its last; and whether that is
    /// fewer than there are. What is not asked for is not read.
    pub fn recent(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        let mut cut = false;
        // Where the rows stay at their source, the recent ones are here.
        if let Self::InPlace(shelf) = self {
            return shelf.recent().map_or_else(Default::default, |recent| recent.recent(token, span));
        }
        let recent = self.runs(token).into_iter().map(|(interval, rows)| {
            // As many as there can be at this interval, with room for some that lie closer.
            let most = usize::try_from(2 * span / interval.0.max(1)).unwrap_or(usize::MAX).saturating_add(2);
            let recent = self.slice(rows.end.saturating_sub(most).max(rows.start)..rows.end).last(span);
            cut |= recent.len() < rows.len();
            (interval, recent)
        });
        let recent = recent.collect();
        (recent, cut)
    }

    /// The first token's, of a table that holds one token.
    pub(super) fn one(&self) -> Vec<(Interval, Candles<'_>)> {
        self.tokens().first().map_or_else(Vec::new, |token| self.held(token))
    }

    fn runs(&self, token: &Address) -> Vec<(Interval, Range<usize>)> {
        match self {
            Self::Memory(held) => held.index.get(token).cloned().unwrap_or_default(),
            Self::InPlace(_) => Vec::new(),
            Self::Large(table) => {
                let mut runs: Vec<_> = table.runs_of(token).collect();
                runs.sort_by_key(|(interval, _)| *interval);
                runs
            }
        }
    }

    pub fn tokens(&self) -> Vec<Address> {
        match self {
            Self::Memory(held) => held.index.keys().copied().collect(),
            Self::Large(table) => table.tokens().collect(),
            Self::InPlace(shelf) => shelf.tokens().to_vec(),
        }
    }

    /// The close of the token's latest candle in any interval; of two that start together, the finer.
    pub fn latest_close(&self, token: &Address) -> Option<(Time, f64)> {
        let (recent, cut) = self.recent(token, DAY_MS);
        let all = || match self {
            Self::InPlace(shelf) => shelf.recent().map_or_else(Vec::new, |recent| recent.of(token)),
            Self::Memory(_) | Self::Large(_) => self.held(token),
        };
        latest_close(&recent).or_else(|| if cut { latest_close(&all()) } else { None })
    }

    fn slice(&self, rows: Range<usize>) -> Candles<'_> {
        match self {
            Self::Memory(held) => held.slice(rows),
            Self::InPlace(_) => Candles::default(),
            // A part that is damaged gives no candles; the table tells that it is.
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
    })
}

fn latest_close(series: &[(Interval, Candles<'_>)]) -> Option<(Time, f64)> {
    let mut latest: Option<(Time, f64)> = None;
    for (_, candles) in series {
        let last = (0..candles.len()).rev().find(|&i| candles.valid(i));
        if let Some(i) = last
            && latest.is_none_or(|(time, _)| candles.timestamp[i] > time.0)
        {
            latest = Some((Time(candles.timestamp[i]), candles.close[i]));
        }
    }
    latest
}

impl HeldCandles {
    /// From a canonical frame: ordered, `interval` filled, no empty cell but in `volume`.
    pub(crate) fn new(frame: &DataFrame) -> Self {
        let floats = |name: &str| {
            let column = frame.column(name).ok().and_then(|column| column.f64().ok());
            match column.map(|column| column.rechunk().into_owned()) {
                Some(numbers) if numbers.null_count() == 0 => numbers,
                Some(numbers) => Float64Chunked::from_vec(name.into(), numbers.iter().map(|number| number.unwrap_or(f64::NAN)).collect()),
                None => Float64Chunked::full(name.into(), f64::NAN, frame.height()),
            }
        };
        let times = frame.column("timestamp").ok().and_then(|column| column.to_physical_repr().cast(&DataType::Int64).ok());
        let timestamp = times.and_then(|times| times.i64().ok().map(|times| times.rechunk().into_owned())).unwrap_or_default();
        let mut table = Self {
            open: floats("open"),
            high: floats("high"),
            low: floats("low"),
            close: floats("close"),
            volume: floats("volume"),
            timestamp,
            index: HashMap::new(),
        };
        table.index(frame);
        table
    }

    pub(super) fn tokens(&self) -> impl Iterator<Item = Address> {
        self.index.keys().copied()
    }

    fn of(&self, token: &Address) -> Vec<(Interval, Candles<'_>)> {
        self.index.get(token).into_iter().flatten().map(|(interval, rows)| (*interval, self.slice(rows.clone()))).collect()
    }

    /// The first token's, of a table that holds one token.
    pub(super) fn series(&self) -> Vec<(Interval, Candles<'_>)> {
        self.tokens().next().map_or_else(Vec::new, |token| self.of(&token))
    }

    /// About how much memory they take.
    pub(super) fn bytes(&self) -> u64 {
        6 * 8 * self.timestamp.len() as u64
    }

    /// See `CandleTable::recent`. Of candles picked for the market's figures, those of as long a time as these look at stand for all.
    fn recent(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        let mut known = self.of(token);
        if span >= RECENT_DAYS * DAY_MS {
            return (known, false);
        }
        let mut cut = false;
        for (_, candles) in &mut known {
            let recent = candles.last(span);
            cut |= recent.len() < candles.len();
            *candles = recent;
        }
        (known, cut)
    }

    fn index(&mut self, frame: &DataFrame) {
        let texts = |name: &str| frame.column(name).ok().and_then(|column| column.str().ok()).map(|texts| texts.rechunk());
        let (Some(tokens), Some(intervals)) = (texts("token_address"), texts("interval")) else { return };
        for (rows, token, interval) in pairs(&tokens, &intervals) {
            if let (Some(token), Some(interval)) = (token.and_then(Address::parse), interval.and_then(Interval::parse)) {
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
        }
    }
}

/// Some rows of a column of one chunk without an empty cell.
fn part<'a, T: PolarsNumericType>(column: &'a ChunkedArray<T>, rows: &Range<usize>) -> &'a [T::Native] {
    column.cont_slice().ok().and_then(|numbers| numbers.get(rows.clone())).unwrap_or_default()
}
