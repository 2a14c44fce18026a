//! Technical indicators over candles by their usual definitions, named as in requests: `sma_20`, `macd_12_26_9`. Pure functions; the choice
//! of candles and the requests belong elsewhere.
//!
//! Means and deviations are recalculated for each window. Running sums, as common libraries keep them, carry the rounding error of one
//! extreme price into every later value.

use std::{fmt, ops::Range};

use model::{candles::Candles, time::DAY_MS};

/// Longest period, in candles.
pub const PERIOD_MAX: usize = 500;
/// Maximum number of indicators per request.
pub const INDICATORS_MAX: usize = 16;
/// Allowed band widths of Bollinger bands, in standard deviations.
const WIDTHS: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// An indicator with its parameters; periods in candles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Indicator {
    /// Simple moving average of the closes.
    Sma(usize),
    /// Exponential moving average: α = 2 / (period + 1), seeded with the mean of the first `period` closes.
    Ema(usize),
    /// Relative strength index, 0–100, smoothed as in J. Welles Wilder, "New Concepts in Technical Trading Systems" (1978): averages of
    /// gains and losses seeded with the mean of the first `period` changes, then (previous · (period − 1) + change) / period. No value if
    /// the price never moved.
    Rsi(usize),
    /// Moving average convergence/divergence (Gerald Appel): EMA fast − EMA slow; its signal line, an EMA of that; and their difference,
    /// the histogram.
    Macd {
        fast: usize,
        slow: usize,
        signal: usize,
    },
    /// Bollinger bands (John Bollinger): the simple moving average ± `width` population standard deviations of the closes.
    Bollinger { period: usize, width: f64 },
    /// Average true range (Wilder 1978): true range = max(high, previous close) − min(low, previous close), smoothed as in `Rsi`.
    Atr(usize),
    /// On-balance volume (Joseph Granville): running sum of volumes, those of falling closes subtracted. It starts at the token's first
    /// candle in the data, so only its changes are meaningful, not its level. No values from the first unknown volume on.
    Obv,
    /// Volume-weighted average price over the window: Σ volume · (high + low + close) / 3 ÷ Σ volume. No value if a volume in the window is
    /// unknown or all are zero.
    Vwap(usize),
    /// Number of posts about the token in each candle. The query counts them: candles alone have no values.
    Mentions,
}

/// A kind of indicator and its spelling in requests.
#[derive(Debug)]
pub struct IndicatorKind {
    pub word: &'static str,
    /// Spelling with the usual parameters.
    pub usual: &'static str,
    pub title: &'static str,
    /// Whether it is drawn over the candles, not in its own pane.
    pub over_price: bool,
    /// Suffixes of its column names.
    columns: &'static [&'static str],
}

/// All kinds, in display order.
pub const KINDS: &[IndicatorKind] = &[
    IndicatorKind {
        word: "sma",
        usual: "sma_20",
        title: "Simple moving average",
        over_price: true,
        columns: &[""],
    },
    IndicatorKind {
        word: "ema",
        usual: "ema_50",
        title: "Exponential moving average",
        over_price: true,
        columns: &[""],
    },
    IndicatorKind {
        word: "bollinger",
        usual: "bollinger_20_2",
        title: "Bollinger bands",
        over_price: true,
        columns: &["_lower", "_middle", "_upper"],
    },
    IndicatorKind {
        word: "vwap",
        usual: "vwap_20",
        title: "Volume-weighted average price",
        over_price: true,
        columns: &[""],
    },
    IndicatorKind {
        word: "rsi",
        usual: "rsi_14",
        title: "Relative strength index",
        over_price: false,
        columns: &[""],
    },
    IndicatorKind {
        word: "macd",
        usual: "macd_12_26_9",
        title: "Moving average convergence/divergence",
        over_price: false,
        columns: &["", "_signal", "_histogram"],
    },
    IndicatorKind {
        word: "obv",
        usual: "obv",
        title: "On-balance volume",
        over_price: false,
        columns: &[""],
    },
    IndicatorKind {
        word: "atr",
        usual: "atr_14",
        title: "Average true range",
        over_price: false,
        columns: &[""],
    },
    IndicatorKind {
        word: "mentions",
        usual: "mentions",
        title: "Posts about the token",
        over_price: false,
        columns: &[""],
    },
];

impl fmt::Display for Indicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sma(period) => write!(f, "sma_{period}"),
            Self::Ema(period) => write!(f, "ema_{period}"),
            Self::Rsi(period) => write!(f, "rsi_{period}"),
            Self::Macd { fast, slow, signal } => write!(f, "macd_{fast}_{slow}_{signal}"),
            Self::Bollinger { period, width } => write!(f, "bollinger_{period}_{width}"),
            Self::Atr(period) => write!(f, "atr_{period}"),
            Self::Obv => f.write_str("obv"),
            Self::Vwap(period) => write!(f, "vwap_{period}"),
            Self::Mentions => f.write_str("mentions"),
        }
    }
}

/// Why a name is not an indicator; `usual` is a valid name of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndicatorError {
    Kind,
    Period { usual: &'static str },
    FastBelowSlow,
    Width { usual: &'static str },
    ParameterCount { usual: &'static str },
}

impl fmt::Display for IndicatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => {
                let usual: Vec<&str> = KINDS.iter().map(|kind| kind.usual).collect();
                write!(f, "expected an indicator such as {}", usual.join(", "))
            }
            Self::Period { usual } => write!(
                f,
                "expected a period of 2 to {PERIOD_MAX} candles, as in {usual}"
            ),
            Self::FastBelowSlow => f.write_str("expected a fast period below the slow one"),
            Self::Width { usual } => write!(
                f,
                "expected a width of {} to {} standard deviations, as in {usual}",
                WIDTHS.start(),
                WIDTHS.end()
            ),
            Self::ParameterCount { usual } => {
                write!(f, "expected the same number of parameters as in {usual}")
            }
        }
    }
}

impl std::error::Error for IndicatorError {}

impl Indicator {
    /// Parses a name such as `sma_20`.
    pub fn parse(name: &str) -> Result<Self, IndicatorError> {
        let mut parts = name.split('_');
        let word = parts.next().unwrap_or_default();
        let numbers: Vec<&str> = parts.collect();
        let kind = KINDS
            .iter()
            .find(|kind| kind.word == word)
            .ok_or(IndicatorError::Kind)?;
        let usual = kind.usual;
        let period = |text: &&str| {
            let period = text
                .parse()
                .ok()
                .filter(|period| (2..=PERIOD_MAX).contains(period));
            period.ok_or(IndicatorError::Period { usual })
        };
        match (kind.word, &numbers[..]) {
            ("sma", [n]) => Ok(Self::Sma(period(n)?)),
            ("ema", [n]) => Ok(Self::Ema(period(n)?)),
            ("rsi", [n]) => Ok(Self::Rsi(period(n)?)),
            ("atr", [n]) => Ok(Self::Atr(period(n)?)),
            ("vwap", [n]) => Ok(Self::Vwap(period(n)?)),
            ("obv", []) => Ok(Self::Obv),
            ("mentions", []) => Ok(Self::Mentions),
            ("macd", [fast, slow, signal]) => {
                let (fast, slow, signal) = (period(fast)?, period(slow)?, period(signal)?);
                if fast < slow {
                    Ok(Self::Macd { fast, slow, signal })
                } else {
                    Err(IndicatorError::FastBelowSlow)
                }
            }
            ("bollinger", [n, width]) => {
                let period = period(n)?;
                let width = width.parse().ok().filter(|width| WIDTHS.contains(width));
                width
                    .map(|width| Self::Bollinger { period, width })
                    .ok_or(IndicatorError::Width { usual })
            }
            _ => Err(IndicatorError::ParameterCount { usual }),
        }
    }

    pub fn kind(&self) -> &'static IndicatorKind {
        let word = match self {
            Self::Sma(_) => 0,
            Self::Ema(_) => 1,
            Self::Bollinger { .. } => 2,
            Self::Vwap(_) => 3,
            Self::Rsi(_) => 4,
            Self::Macd { .. } => 5,
            Self::Obv => 6,
            Self::Atr(_) => 7,
            Self::Mentions => 8,
        };
        &KINDS[word]
    }

    /// Column names: the indicator's name, with a suffix each if it has several columns.
    pub fn columns(&self) -> impl Iterator<Item = String> {
        let name = self.to_string();
        self.kind()
            .columns
            .iter()
            .map(move |end| format!("{name}{end}"))
    }

    /// The value at the last candle, of an indicator of one column.
    pub fn last(&self, candles: &Candles) -> Option<f64> {
        let last = candles.len().saturating_sub(1)..candles.len();
        self.values(candles, last)
            .into_iter()
            .flatten()
            .next()
            .flatten()
    }

    /// Values of its columns at `rows` of the candles, which must be valid and in time order; `None` where too few candles precede.
    pub fn values(&self, candles: &Candles, rows: Range<usize>) -> Vec<Vec<Option<f64>>> {
        let close = candles.close;
        let part = |all: Vec<f64>| {
            rows.clone()
                .map(|i| all.get(i).copied().filter(|value| value.is_finite()))
                .collect()
        };
        match *self {
            Self::Sma(period) => vec![windows(rows, period, |window| Some(mean(&close[window])))],
            Self::Ema(period) => vec![part(ema(close, period, 0))],
            Self::Rsi(period) => vec![part(rsi(close, period))],
            Self::Atr(period) => vec![part(wilder(&true_ranges(candles), period))],
            Self::Mentions => vec![rows.map(|_| None).collect()],
            Self::Obv => vec![part(obv(close, candles.volume))],
            Self::Vwap(period) => vec![windows(rows, period, |window| vwap(candles, window))],
            Self::Macd { fast, slow, signal } => {
                let line: Vec<f64> = ema(close, fast, 0)
                    .iter()
                    .zip(ema(close, slow, 0))
                    .map(|(fast, slow)| fast - slow)
                    .collect();
                let signal = ema(&line, signal, slow - 1);
                let histogram = line
                    .iter()
                    .zip(&signal)
                    .map(|(line, signal)| line - signal)
                    .collect();
                vec![part(line), part(signal), part(histogram)]
            }
            Self::Bollinger { period, width } => {
                let band = |sign: f64| {
                    windows(rows.clone(), period, |window| {
                        let (mean, deviation) = spread(&close[window]);
                        Some(mean + sign * width * deviation)
                    })
                };
                vec![band(-1.0), band(0.0), band(1.0)]
            }
        }
    }
}

/// For each row, the value of the window that ends at it.
fn windows(
    rows: Range<usize>,
    period: usize,
    value: impl Fn(Range<usize>) -> Option<f64>,
) -> Vec<Option<f64>> {
    rows.map(|i| {
        (i + 1)
            .checked_sub(period)
            .and_then(|start| value(start..i + 1))
    })
    .map(|value| value.filter(|v| v.is_finite()))
    .collect()
}

/// Days of the 52-week high: exchanges count a whole year, one day more than 52 weeks.
const YEAR_DAYS: i64 = 365;

/// Percent distance of the last close from the highest high of the last 52 weeks, taken as 365 days: 0 at that high, else negative. They end with the
/// last candle; each candle is `length` milliseconds long. Returns `None` if the candles do not reach back so far.
pub fn from_52w_high(candles: &Candles, length: i64) -> Option<f64> {
    let (&close, &last) = candles.close.last().zip(candles.timestamp.last())?;
    let begin = last
        .saturating_add(length)
        .saturating_sub(YEAR_DAYS * DAY_MS);
    if candles.timestamp[0] > begin {
        return None;
    }
    let first = candles.timestamp.partition_point(|&start| start < begin);
    let high = candles.high[first..]
        .iter()
        .copied()
        .fold(f64::NAN, f64::max);
    (high > 0.0)
        .then(|| 100.0 * (close / high - 1.0))
        .filter(|percent| percent.is_finite())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean and population standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / values.len() as f64).sqrt())
}

/// NaN before the first `period` values from `start` on.
fn ema(values: &[f64], period: usize, start: usize) -> Vec<f64> {
    let mut all = vec![f64::NAN; values.len()];
    let first = start + period;
    if values.len() < first {
        return all;
    }
    let weight = 2.0 / (period as f64 + 1.0);
    let mut average = mean(&values[start..first]);
    all[first - 1] = average;
    for i in first..values.len() {
        average += weight * (values[i] - average);
        all[i] = average;
    }
    all
}

/// Wilder's smoothing; the first value is skipped as unknown.
fn wilder(values: &[f64], period: usize) -> Vec<f64> {
    let mut all = vec![f64::NAN; values.len()];
    if values.len() <= period {
        return all;
    }
    let mut average = mean(&values[1..=period]);
    all[period] = average;
    for i in period + 1..values.len() {
        average += (values[i] - average) / period as f64;
        all[i] = average;
    }
    all
}

fn rsi(close: &[f64], period: usize) -> Vec<f64> {
    let changes = |sign: f64| -> Vec<f64> {
        let steps = close
            .windows(2)
            .map(|pair| (sign * (pair[1] - pair[0])).max(0.0));
        std::iter::once(f64::NAN).chain(steps).collect()
    };
    let (gains, losses) = (
        wilder(&changes(1.0), period),
        wilder(&changes(-1.0), period),
    );
    gains
        .iter()
        .zip(&losses)
        .map(|(gain, loss)| 100.0 * gain / (gain + loss))
        .collect()
}

/// True ranges; the first is NaN, as it has no previous close.
fn true_ranges(candles: &Candles) -> Vec<f64> {
    let range = |i: usize| {
        let before = candles.close[i - 1];
        candles.high[i].max(before) - candles.low[i].min(before)
    };
    (0..candles.len())
        .map(|i| if i == 0 { f64::NAN } else { range(i) })
        .collect()
}

fn obv(close: &[f64], volume: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sign = |i: usize| {
        if i == 0 || close[i] > close[i - 1] {
            1.0
        } else if close[i] < close[i - 1] {
            -1.0
        } else {
            0.0
        }
    };
    let mut next = |i: usize| {
        sum += sign(i) * volume[i];
        sum
    };
    (0..close.len()).map(&mut next).collect()
}

fn vwap(candles: &Candles, window: Range<usize>) -> Option<f64> {
    let price = |i: usize| (candles.high[i] + candles.low[i] + candles.close[i]) / 3.0;
    let volume: f64 = candles.volume[window.clone()].iter().sum();
    let paid: f64 = window.map(|i| price(i) * candles.volume[i]).sum();
    (volume > 0.0).then_some(paid / volume)
}

#[cfg(test)]
mod tests;
