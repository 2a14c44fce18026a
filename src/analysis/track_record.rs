//! What became of the patterns that were confirmed in the past: how many reached their target before their stop, and how many entries at
//! any other candle would have. Every pattern counts as it was told on its day: only candles up to its breakout are looked at to find
//! it, and only later ones to judge it.

pub mod returns;

use super::{
    numeric::median,
    patterns::{self, Direction, HORIZON, PatternName, PatternRecord, market::Model},
};
use crate::dataset::{
    candles::Candles,
    time::{DAY_MS, Time},
};

/// Candles over which patterns are looked for anew, day by day.
pub const REPLAYED: usize = 2_000;
/// Candles that are looked at to find the patterns of a day.
pub const SEEN: usize = 500;

/// A pattern on the day of its breakout, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal {
    pub name: PatternName,
    pub direction: Direction,
    /// Start of the breakout candle, at whose close one would have entered.
    pub timestamp: Time,
    /// `None` while neither target nor stop was met and fewer candles than the horizon came after.
    pub outcome: Option<TradeOutcome>,
    /// Of entries at every candle of the replayed stretch, in the same direction with target and stop at the same distances, of those
    /// that are decided: the fraction that reached the target, and the fraction that was stopped.
    pub random_target: f64,
    pub random_stop: f64,
}

/// What came first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TradeOutcome {
    /// A high, or a low of those that point down, reached the target after so many days.
    Target(f64),
    /// A close lay beyond the stop after so many days.
    Stop(f64),
    /// Neither within the horizon.
    Neither,
}

/// The breakouts of the last candles, oldest first. `candles` are valid ones; `go_on` is told (done, total) and false ends it early.
/// One whose close lies beyond its target already leaves nothing to enter for, and is left out.
pub fn replay(candles: &Candles<'_>, model: &Model, go_on: &mut dyn FnMut(usize, usize) -> bool) -> Option<Vec<Signal>> {
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
            let way =
                Way { up: breakout.direction == Direction::Up, target: breakout.target_price / close, stop: breakout.stop_price / close };
            if !way.is_open() {
                continue;
            }
            let (random_target, random_stop) = way.anywhere(candles, first);
            signals.push(Signal {
                name: breakout.name,
                direction: breakout.direction,
                timestamp: Time(candles.timestamp[at]),
                outcome: way.outcome(candles, at),
                random_target,
                random_stop,
            });
        }
    }
    Some(signals)
}

/// The records of the names that have signals, the most frequent first.
pub fn records(signals: &[Signal]) -> Vec<PatternRecord> {
    let mut records: Vec<PatternRecord> = PatternName::ALL.iter().filter_map(|name| record(*name, signals)).collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.count));
    records
}

fn record(name: PatternName, signals: &[Signal]) -> Option<PatternRecord> {
    let of_name = || signals.iter().filter(|signal| signal.name == name);
    let decided: Vec<(&Signal, TradeOutcome)> = of_name().filter_map(|signal| Some((signal, signal.outcome?))).collect();
    let open = of_name().count() - decided.len();
    if decided.is_empty() && open == 0 {
        return None;
    }
    let fraction = |of: fn(&TradeOutcome) -> bool| share(decided.iter().filter(|(_, outcome)| of(outcome)).count() as f64, decided.len());
    let mut days: Vec<f64> = decided.iter().filter_map(|(_, outcome)| outcome.days()).collect();
    let mean = |of: fn(&Signal) -> f64| share(decided.iter().map(|(signal, _)| of(signal)).sum(), decided.len());
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

/// How far a fraction lies from what any entry came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Percentage points.
    pub points: f64,
    /// Standard errors of such a fraction, √(p (1 − p) / n) with the p of any entry: as if all entries were independent.
    pub errors: f64,
}

/// None where nothing is known, or any entry came to the same each time.
pub fn edge(fraction: Option<f64>, any: Option<f64>, count: u64) -> Option<Edge> {
    let (fraction, any) = fraction.zip(any)?;
    let error = (any * (1.0 - any) / count as f64).sqrt();
    (error > 0.0).then(|| Edge { points: 100.0 * (fraction - any), errors: (fraction - any) / error })
}

/// Nothing of none.
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

/// A direction with its target and stop, as multiples of the close that one enters at.
#[derive(Debug, Clone, Copy)]
struct Way {
    up: bool,
    target: f64,
    stop: f64,
}

impl Way {
    /// Whether both still lie ahead.
    fn is_open(self) -> bool {
        if self.up { self.stop < 1.0 && self.target > 1.0 } else { self.target < 1.0 && self.stop > 1.0 }
    }

    /// What comes of an entry at the close of candle `at`. Within a candle the high and the low come before the close, so a target that is
    /// touched there counts before a stop that needs a close; as in the status that a pattern is answered with.
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

    /// The fractions of target and stop among entries at every candle from `first` on, of those that are decided. All of them, so that no
    /// dice are needed.
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
