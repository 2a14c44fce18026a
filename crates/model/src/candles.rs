//! Candles (OHLCV) as struct-of-arrays slices. Storing them belongs to the storage, resampling to the analysis.

use std::{fmt, ops::Range, sync::Arc};

pub use super::interval::Interval;
use super::time::{DAY_MS, HOUR_MS, Time};

/// Days before the last candle of each interval that usually suffice for the market metrics.
pub const RECENT_DAYS: i64 = 40;
/// Daily closes in a token's price history.
pub const HISTORY_DAYS: usize = 30;
/// Lookback periods of the market metrics' price changes, in milliseconds.
pub const CHANGES: [i64; 4] = [HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];

/// One token's candles of one interval, oldest first. All slices have the same length.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candles<'a> {
    /// Start of each candle, milliseconds since 1970 UTC.
    pub timestamp: &'a [i64],
    pub open: &'a [f64],
    pub high: &'a [f64],
    pub low: &'a [f64],
    pub close: &'a [f64],
    /// Base volume: whole tokens traded; NaN where unknown.
    pub volume: &'a [f64],
    /// Quote volume: USD traded; NaN where unknown, and empty if the series has none.
    pub volume_usd: &'a [f64],
}

impl<'a> Candles<'a> {
    #[inline]
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// The candles at a range of positions.
    #[must_use]
    pub fn part(&self, places: Range<usize>) -> Candles<'a> {
        Candles {
            timestamp: &self.timestamp[places.clone()],
            open: &self.open[places.clone()],
            high: &self.high[places.clone()],
            low: &self.low[places.clone()],
            close: &self.close[places.clone()],
            volume: &self.volume[places.clone()],
            volume_usd: self.volume_usd.get(places).unwrap_or_default(),
        }
    }

    /// The candles that start less than `span` milliseconds before the last one.
    #[must_use]
    pub fn last(&self, span: i64) -> Candles<'a> {
        let last = self.timestamp.last().copied().unwrap_or_default();
        let first = self
            .timestamp
            .partition_point(|&time| time <= last.saturating_sub(span));
        self.part(first..self.len())
    }

    /// Whether candle `i` is valid: prices finite and above zero, with the open and close between the low and the high.
    #[inline]
    pub fn valid(&self, i: usize) -> bool {
        is_valid_candle(self.open[i], self.high[i], self.low[i], self.close[i])
    }
}

/// A token's candles as its storage fetched them.
pub trait FetchedCandles: fmt::Debug + Send + Sync {
    fn series(&self) -> Vec<(Interval, Candles<'_>)>;
}

/// One token's candles; fetched ones stay in memory while this value exists.
#[derive(Debug)]
pub enum ChartCandles<'a> {
    Here(Vec<(Interval, Candles<'a>)>),
    Fetched(Arc<dyn FetchedCandles>),
}

impl Default for ChartCandles<'_> {
    fn default() -> Self {
        Self::Here(Vec::new())
    }
}

impl ChartCandles<'_> {
    /// The series of each interval, finest interval first.
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

/// The start and close of the latest valid candle in any interval; if two candles start at the same time, those of the finer interval.
pub fn latest_close(series: &[(Interval, Candles<'_>)]) -> Option<(Time, f64)> {
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

/// Defines `is_valid_candle`, and the same comparisons as texts for code that builds them into queries.
macro_rules! valid_candle {
    ([$open:ident, $high:ident, $low:ident, $close:ident] $($left:ident $sign:tt $right:tt),*) => {
        /// The comparisons of `is_valid_candle` between finite prices: left, sign, right.
        pub const VALID_CANDLE: &[[&str; 3]] = &[$([stringify!($left), stringify!($sign), stringify!($right)]),*];

        /// Whether the prices form a valid candle: finite and above zero, with the open and close between the low and the high.
        #[inline]
        #[allow(clippy::needless_bitwise_bool, reason = "without a way out the processor looks at many candles at a time")]
        pub fn is_valid_candle($open: f64, $high: f64, $low: f64, $close: f64) -> bool {
            // A comparison with NaN is false, so these six cover NaN and infinity as well.
            ($high < f64::INFINITY) $(& ($left $sign $right))*
        }
    };
}

valid_candle!([open, high, low, close] low > 0.0, low <= open, low <= close, open <= high, close <= high);
