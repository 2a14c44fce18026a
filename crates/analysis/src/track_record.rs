//! Track record of past confirmed patterns: the fraction that reached the target before the stop, compared with entries at any other
//! candle. Free of look-ahead: a pattern is detected using only the candles up to its breakout, and judged using only later ones.

mod advice;
pub mod errors;
pub mod posts;
pub mod returns;

pub use self::advice::advice;

use std::{collections::BTreeMap, ops::Range};

use self::errors::{Entries, day_of};
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
pub const COUNTED_BY: u32 = 2;

/// A pattern at its breakout, and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal {
    pub name: PatternName,
    pub direction: Direction,
    /// Start of the breakout candle; the entry is at its close.
    pub timestamp: Time,
    /// `None` while neither target nor stop is reached and fewer candles than the horizon have followed.
    pub outcome: Option<TradeOutcome>,
    /// Baseline: of entries at every replayed candle apart from the pattern, in the same direction with target and stop at the same relative
    /// distances, the fraction of decided ones that reached the target; `random_stop`: that were stopped.
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
    /// Neither within the horizon, of this many days.
    Neither(f64),
}

/// The patterns of one token, and the outcomes that their base rates are made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    /// Oldest first.
    pub signals: Vec<Signal>,
    pub baseline: Vec<Baseline>,
}

/// What some days contribute to the base rates of a name's completed patterns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baseline {
    pub name: PatternName,
    /// A UTC day in the middle of these days.
    pub day: i32,
    /// As in `Entries::add_baseline`.
    pub excess: f32,
}

/// Candles that are summed up in one row of the baseline: shorter than most trades.
const BASELINE_CANDLES: i64 = 8;

/// Replays the breakouts of the last candles, oldest first. `candles` must be valid; `go_on` is called with (done, total) and cancels by
/// returning false. Breakouts whose candle already reached the target, or closed beyond the stop, leave no trade and are skipped.
pub fn replay(
    candles: &Candles<'_>,
    model: &Model,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Replay> {
    let count = candles.len();
    let first = count.saturating_sub(REPLAYED);
    let mut signals = Vec::new();
    let mut baseline: BTreeMap<(PatternName, i32), f64> = BTreeMap::new();
    let width = baseline_days(candles.timestamp);
    for at in first..count {
        if !go_on(at - first, count - first) {
            return None;
        }
        let oldest = (at + 1).saturating_sub(SEEN);
        let day = candles.part(oldest..at + 1);
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
            let anywhere = setup.anywhere(candles, first);
            let pattern = oldest + breakout.start..at;
            let (random_target, random_stop) = fractions(&apart(&anywhere, candles, &pattern));
            let (mean_target, _) = fractions(&anywhere);
            let outcome = setup.outcome(candles, at);
            signals.push(Signal {
                name: breakout.name,
                direction: breakout.direction,
                timestamp: Time(candles.timestamp[at]),
                outcome,
                random_target,
                random_stop,
            });
            for (at, any) in anywhere.iter().filter(|_| outcome.is_some()) {
                let day = day_of(Time(candles.timestamp[*at]));
                let middle = day.div_euclid(width) * width + width / 2;
                *baseline.entry((breakout.name, middle)).or_default() +=
                    (f64::from(u8::from(any.is_target())) - mean_target) / anywhere.len() as f64;
            }
        }
    }
    let row = |((name, day), excess): ((PatternName, i32), f64)| Baseline {
        name,
        day,
        excess: excess as f32,
    };
    Some(Replay {
        signals,
        baseline: baseline.into_iter().map(row).collect(),
    })
}

/// Days of one row of the baseline; the same for all tokens of a timeframe, so that their rows add up.
fn baseline_days(timestamps: &[i64]) -> i32 {
    let steps = timestamps.windows(2).map(|pair| pair[1] - pair[0]);
    let days = BASELINE_CANDLES * steps.min().unwrap_or(DAY_MS) / DAY_MS;
    i32::try_from(days).unwrap_or(i32::MAX / 2).max(1)
}

/// Track records of the names with signals in these tokens, the most frequent first. The verdicts are not set yet.
pub fn records(tokens: &[&Replay]) -> Vec<PatternRecord> {
    let mut records: Vec<PatternRecord> = PatternName::ALL
        .iter()
        .filter_map(|name| record(*name, tokens))
        .collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.count));
    records
}

fn record(name: PatternName, tokens: &[&Replay]) -> Option<PatternRecord> {
    let of_name = || {
        tokens
            .iter()
            .flat_map(|token| token.signals.iter().filter(|signal| signal.name == name))
    };
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
        .filter(|(_, outcome)| !outcome.is_neither())
        .map(|(_, outcome)| outcome.days())
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
        target: fraction(TradeOutcome::is_target),
        stop: fraction(|outcome| matches!(outcome, TradeOutcome::Stop(_))),
        neither: fraction(TradeOutcome::is_neither),
        median_days: (!days.is_empty()).then(|| median(&mut days)),
        random_target: mean(|signal| signal.random_target),
        random_stop: mean(|signal| signal.random_stop),
        evidence: entries(name, tokens).evidence(tokens.len()),
    })
}

fn entries(name: PatternName, tokens: &[&Replay]) -> Entries {
    let mut entries = Entries::default();
    for (number, token) in tokens.iter().enumerate() {
        for signal in token.signals.iter().filter(|signal| signal.name == name) {
            let Some(outcome) = signal.outcome else {
                continue;
            };
            entries.add(
                day_of(signal.timestamp),
                number,
                outcome.is_target(),
                signal.random_target,
                outcome.days(),
            );
        }
        for row in token.baseline.iter().filter(|row| row.name == name) {
            entries.add_baseline(row.day, f64::from(row.excess));
        }
    }
    entries
}

/// Returns `None` for a count of 0.
fn share(part: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| part / count as f64)
}

impl TradeOutcome {
    fn days(self) -> f64 {
        match self {
            Self::Target(days) | Self::Stop(days) | Self::Neither(days) => days,
        }
    }

    fn is_target(&self) -> bool {
        matches!(self, Self::Target(_))
    }

    fn is_neither(&self) -> bool {
        matches!(self, Self::Neither(_))
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
        let days = |i: usize| (candles.timestamp[i] - candles.timestamp[at]) as f64 / DAY_MS as f64;
        for i in at + 1..end {
            let (reached, stopped) = if self.up {
                (candles.high[i] >= target, candles.close[i] < stop)
            } else {
                (candles.low[i] <= target, candles.close[i] > stop)
            };
            if reached {
                return Some(TradeOutcome::Target(days(i)));
            }
            if stopped {
                return Some(TradeOutcome::Stop(days(i)));
            }
        }
        (end == at + 1 + HORIZON).then(|| TradeOutcome::Neither(days(end - 1)))
    }

    /// Decided entries at every candle from `first` on. Exhaustive, so no random sampling is needed.
    fn anywhere(self, candles: &Candles<'_>, first: usize) -> Vec<(usize, TradeOutcome)> {
        (first..candles.len())
            .filter_map(|at| Some((at, self.outcome(candles, at)?)))
            .collect()
    }
}

/// The entries whose trades last, on average, until before the pattern, and those after it. The move that forms the pattern is part of the
/// trades of the others: with them, the base rate of a pattern that follows this move is too high, and against it too low, by percentage points
/// in a short history (Miller and Sanjurjo 2018). All entries if less than half are apart.
fn apart(
    decided: &[(usize, TradeOutcome)],
    candles: &Candles<'_>,
    pattern: &Range<usize>,
) -> Vec<(usize, TradeOutcome)> {
    let days: f64 = decided.iter().map(|(_, outcome)| outcome.days()).sum();
    let mean = (days / decided.len() as f64 * DAY_MS as f64) as i64;
    let first = candles.timestamp[pattern.start] - mean;
    let is_apart = |at: usize| candles.timestamp[at] < first || at > pattern.end;
    let apart: Vec<_> = decided
        .iter()
        .copied()
        .filter(|(at, _)| is_apart(*at))
        .collect();
    if 2 * apart.len() < decided.len() {
        return decided.to_vec();
    }
    apart
}

/// Fractions of target and stop.
fn fractions(decided: &[(usize, TradeOutcome)]) -> (f64, f64) {
    let of = |is: fn(&TradeOutcome) -> bool| {
        let count = decided.iter().filter(|(_, outcome)| is(outcome)).count();
        share(count as f64, decided.len()).unwrap_or_default()
    };
    (
        of(TradeOutcome::is_target),
        of(|outcome| matches!(outcome, TradeOutcome::Stop(_))),
    )
}

#[cfg(test)]
mod tests;
