//! Track record of past confirmed patterns: the fraction that reached the target before the stop, compared with entries at any other
//! candle. Free of look-ahead: a pattern is detected using only the candles up to its breakout, and judged using only later ones.

mod advice;
pub mod returns;

pub use self::advice::advice;

use super::{
    numeric::median,
    patterns::{self, Direction, HORIZON, PatternName, PatternRecord, market::Model},
};
use model::{
    candles::Candles,
    time::{DAY_MS, Time},
};

/// Number of candles whose breakouts are replayed, one by one.
pub const REPLAYED: usize = 2_000;
/// Number of candles used to detect the patterns of each replayed candle.
pub const SEEN: usize = 500;

/// Version of the rules that detect and follow patterns. It increases with each change, so that no record of other rules is used.
pub const COUNTED_BY: u32 = 1;

/// A pattern at its breakout, and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal {
    pub name: PatternName,
    pub direction: Direction,
    /// Start of the breakout candle; the entry is at its close.
    pub timestamp: Time,
    /// `None` while neither target nor stop is reached and fewer candles than the horizon have followed.
    pub outcome: Option<TradeOutcome>,
    /// Baseline: of entries at every replayed candle, in the same direction with target and stop at the same relative distances, the
    /// fraction of decided ones that reached the target; `random_stop`: that were stopped.
    pub random_target: f64,
    pub random_stop: f64,
}

/// Result of an entry: the first of target and stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TradeOutcome {
    /// A high (or, for falling patterns, a low) reached the target after this many days.
    Target(f64),
    /// A close beyond the stop after this many days.
    Stop(f64),
    /// Neither within the horizon.
    Neither,
}

/// Replays the breakouts of the last candles, oldest first. `candles` must be valid; `go_on` is called with (done, total) and cancels by
/// returning false. Breakouts whose candle already reached the target, or closed beyond the stop, leave no trade and are skipped.
pub fn replay(
    candles: &Candles<'_>,
    model: &Model,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Vec<Signal>> {
    let count = candles.len();
    let first = count.saturating_sub(REPLAYED);
    let mut signals = Vec::new();
    for at in first..count {
        if !go_on(at - first, count - first) {
            return None;
        }
        let day = candles.part((at + 1).saturating_sub(SEEN)..at + 1);
        for breakout in patterns::breakouts(&day, model) {
            let close = candles.close[at];
            let setup = TradeSetup {
                up: breakout.direction == Direction::Up,
                target: breakout.target_price / close,
                stop: breakout.stop_price / close,
            };
            let reach = if setup.up {
                candles.high[at]
            } else {
                candles.low[at]
            };
            if !setup.is_open(reach / close) {
                continue;
            }
            let (random_target, random_stop) = setup.anywhere(candles, first);
            signals.push(Signal {
                name: breakout.name,
                direction: breakout.direction,
                timestamp: Time(candles.timestamp[at]),
                outcome: setup.outcome(candles, at),
                random_target,
                random_stop,
            });
        }
    }
    Some(signals)
}

/// Track records of the names with signals, the most frequent first.
pub fn records(signals: &[Signal]) -> Vec<PatternRecord> {
    let mut records: Vec<PatternRecord> = PatternName::ALL
        .iter()
        .filter_map(|name| record(*name, signals))
        .collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.count));
    records
}

fn record(name: PatternName, signals: &[Signal]) -> Option<PatternRecord> {
    let of_name = || signals.iter().filter(|signal| signal.name == name);
    let decided: Vec<(&Signal, TradeOutcome)> = of_name()
        .filter_map(|signal| Some((signal, signal.outcome?)))
        .collect();
    let open = of_name().count() - decided.len();
    if decided.is_empty() && open == 0 {
        return None;
    }
    let fraction = |of: fn(&TradeOutcome) -> bool| {
        share(
            decided.iter().filter(|(_, outcome)| of(outcome)).count() as f64,
            decided.len(),
        )
    };
    let mut days: Vec<f64> = decided
        .iter()
        .filter_map(|(_, outcome)| outcome.days())
        .collect();
    let mean = |of: fn(&Signal) -> f64| {
        share(
            decided.iter().map(|(signal, _)| of(signal)).sum(),
            decided.len(),
        )
    };
    Some(PatternRecord {
        name,
        count: decided.len() as u64,
        open: open as u64,
        target: fraction(|outcome| matches!(outcome, TradeOutcome::Target(_))),
        stop: fraction(|outcome| matches!(outcome, TradeOutcome::Stop(_))),
        neither: fraction(|outcome| matches!(outcome, TradeOutcome::Neither)),
        median_days: (!days.is_empty()).then(|| median(&mut days)),
        random_target: mean(|signal| signal.random_target),
        random_stop: mean(|signal| signal.random_stop),
    })
}

/// Difference between a fraction and its base rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// In percentage points.
    pub points: f64,
    /// In standard errors of a fraction, √(p (1 − p) / n) with the baseline's p: as if all entries were independent.
    pub errors: f64,
}

/// Returns `None` if either is unknown, or if the baseline has no variance.
pub fn edge(fraction: Option<f64>, baseline: Option<f64>, count: u64) -> Option<Edge> {
    let (fraction, baseline) = fraction.zip(baseline)?;
    let error = (baseline * (1.0 - baseline) / count as f64).sqrt();
    (error > 0.0).then(|| Edge {
        points: 100.0 * (fraction - baseline),
        errors: (fraction - baseline) / error,
    })
}

/// Returns `None` for a count of 0.
fn share(part: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| part / count as f64)
}

impl TradeOutcome {
    fn days(self) -> Option<f64> {
        match self {
            Self::Target(days) | Self::Stop(days) => Some(days),
            Self::Neither => None,
        }
    }
}

/// A trade direction with target and stop as multiples of the entry price.
#[derive(Debug, Clone, Copy)]
struct TradeSetup {
    up: bool,
    target: f64,
    stop: f64,
}

impl TradeSetup {
    /// Whether both are still ahead of an entry at 1, where the price has already been at `reach`.
    fn is_open(self, reach: f64) -> bool {
        if self.up {
            self.stop < 1.0 && self.target > reach
        } else {
            self.target < reach && self.stop > 1.0
        }
    }

    /// Outcome of an entry at the close of candle `at`. Within a candle, high and low precede the close, so touching the target counts
    /// before a stop that needs a close; as in a pattern's `Status`.
    fn outcome(self, candles: &Candles<'_>, at: usize) -> Option<TradeOutcome> {
        let close = candles.close[at];
        let (target, stop) = (close * self.target, close * self.stop);
        let end = candles.len().min(at + 1 + HORIZON);
        for i in at + 1..end {
            let days = || (candles.timestamp[i] - candles.timestamp[at]) as f64 / DAY_MS as f64;
            let (reached, stopped) = if self.up {
                (candles.high[i] >= target, candles.close[i] < stop)
            } else {
                (candles.low[i] <= target, candles.close[i] > stop)
            };
            if reached {
                return Some(TradeOutcome::Target(days()));
            }
            if stopped {
                return Some(TradeOutcome::Stop(days()));
            }
        }
        (end == at + 1 + HORIZON).then_some(TradeOutcome::Neither)
    }

    /// Fractions of target and stop among decided entries at every candle from `first` on. Exhaustive, so no random sampling is needed.
    fn anywhere(self, candles: &Candles<'_>, first: usize) -> (f64, f64) {
        let (mut decided, mut target, mut stop) = (0_usize, 0_usize, 0_usize);
        for outcome in (first..candles.len()).filter_map(|at| self.outcome(candles, at)) {
            decided += 1;
            match outcome {
                TradeOutcome::Target(_) => target += 1,
                TradeOutcome::Stop(_) => stop += 1,
                TradeOutcome::Neither => {}
            }
        }
        let fraction = |count: usize| share(count as f64, decided).unwrap_or_default();
        (fraction(target), fraction(stop))
    }
}

#[cfg(test)]
mod tests;
