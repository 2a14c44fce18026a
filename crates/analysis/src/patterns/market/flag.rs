//! Candidate search for bull flags and pennants: a consolidation after a steep rise. Bear flags are found in the upside-down prices.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, PatternEnd},
    measure_table::flag,
    search::Candidates,
    series::LogPrices,
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

const POLE_LONGEST: usize = 22;
const FLAG_SHORTEST: usize = 4;
const FLAG_LONGEST: usize = 31;

/// All flags. `tops` are the indices of high turns at any scale, ascending.
pub(super) fn search(prices: &LogPrices, tops: &[u32], found: &mut Candidates<'_>) {
    let mut feet = Vec::new();
    for top in tops.iter().map(|top| *top as usize).filter(|top| *top > 0) {
        feet.clear();
        add_feet(prices, top, &mut feet);
        if !feet.is_empty() {
            flags(prices, top, &feet, found);
        }
    }
}

/// Candidate start points of the pole.
fn add_feet(prices: &LogPrices, top: usize, feet: &mut Vec<usize>) {
    let (high, low) = (prices.high[top], &prices.low);
    let least = 2.2 * prices.range[top];
    // No high between the foot and the top exceeds the top.
    let mut add = |foot: usize| {
        if high - low[foot] > least && !feet.contains(&foot) && prices.top(foot, top) <= high {
            feet.push(foot);
        }
    };
    let mut lowest = top - 1;
    let mut from = top;
    for far in [3, 6, 10, POLE_LONGEST] {
        let to = top.saturating_sub(far);
        lowest = (to..from).rev().fold(
            lowest,
            |lowest, at| if low[at] <= low[lowest] { at } else { lowest },
        );
        from = to;
        add(lowest);
    }
    if high - low[lowest] > least {
        let steepness = |at: usize| (at, (high - low[at]) / ((top - at) as f64 + 2.0).sqrt());
        let steeper = |a: (usize, f64), b: (usize, f64)| if b.1 >= a.1 { b } else { a };
        add((top.saturating_sub(14)..top)
            .map(steepness)
            .fold((top, f64::MIN), steeper)
            .0);
    }
}

/// Incremental least squares.
#[derive(Default, Clone, Copy)]
struct LeastSquares {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl LeastSquares {
    fn add(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    fn line(&self) -> Line {
        let spread = self.n * self.xx - self.x * self.x;
        let slope = if spread > 0.0 {
            (self.n * self.xy - self.x * self.y) / spread
        } else {
            0.0
        };
        Line {
            slope,
            intercept: (self.y - slope * self.x) / self.n,
        }
    }
}

fn flags(prices: &LogPrices, top: usize, feet: &[usize], found: &mut Candidates<'_>) {
    let high = prices.high[top];
    let lowest_foot = feet
        .iter()
        .map(|foot| prices.low[*foot])
        .fold(f64::MAX, f64::min);
    let last = prices.len() - 1;
    let (mut highs, mut lows) = (LeastSquares::default(), LeastSquares::default());
    let (mut lowest, mut lowest_at) = (f64::MAX, top);
    let mut breaks = 0;
    for at in top + 1..=last.min(top + FLAG_LONGEST) {
        let x = (at - top) as f64;
        let length = at - top;
        let mut done = false;
        if length >= FLAG_SHORTEST {
            let over = prices.close[at] > high;
            let rising = prices.close[at] > prices.close[at - 1];
            let live = at == last;
            if over || rising && breaks < 3 || live {
                let upper = highs.line();
                let line_broken = rising && prices.close[at] > upper.at(x) && {
                    let most = (top + 1..at)
                        .map(|k| prices.high[k] - upper.at((k - top) as f64))
                        .fold(0.0, f64::max);
                    prices.close[at] > upper.at(x) + 0.8 * most
                };
                if over || line_broken || live {
                    breaks += usize::from(line_broken || over);
                    let end = PatternEnd {
                        at,
                        broken: over || line_broken,
                    };
                    propose(
                        prices,
                        feet,
                        &Consolidation {
                            top,
                            upper,
                            lower: lows.line(),
                            lowest,
                            lowest_at,
                            end,
                            over,
                        },
                        found,
                    );
                    done = over;
                }
            }
        } else if prices.close[at] > high {
            done = true;
        }
        if done {
            return;
        }
        highs.add(x, prices.high[at]);
        lows.add(x, prices.low[at]);
        if prices.low[at] < lowest {
            (lowest, lowest_at) = (prices.low[at], at);
        }
        if high - lowest > 0.78 * (high - lowest_foot) {
            return;
        }
    }
}

/// A consolidation after a high.
struct Consolidation {
    top: usize,
    upper: Line,
    lower: Line,
    /// Lowest low before the end, and its candle.
    lowest: f64,
    lowest_at: usize,
    end: PatternEnd,
    /// Whether the last close is above the high.
    over: bool,
}

/// Proposes the flags of a consolidation, one for each start of the pole.
fn propose(prices: &LogPrices, feet: &[usize], flag: &Consolidation, found: &mut Candidates<'_>) {
    let Consolidation {
        top,
        upper,
        lower,
        end,
        ..
    } = *flag;
    let high = prices.high[top];
    let range = prices.range[end.at];
    let length = (end.at - top) as f64;
    let (w0, w1) = (
        upper.at(1.0) - lower.at(1.0),
        upper.at(length - 1.0) - lower.at(length - 1.0),
    );
    for foot in feet {
        let pole = high - prices.low[*foot];
        let retrace = (high - flag.lowest) / pole;
        if retrace > 0.75 {
            continue;
        }
        let lasts = (top - foot) as f64;
        let mut own = [0.0; OWN];
        own[flag::POLE_HEIGHT] = pole / range;
        own[flag::POLE_CANDLES] = lasts;
        own[flag::TIME_OVER_POLE] = length / lasts;
        own[flag::RETRACEMENT] = retrace;
        own[flag::UPPER_SLOPE] = upper.slope * length / pole;
        own[flag::LOWER_SLOPE] = lower.slope * length / pole;
        own[flag::NARROWING] = w1 / w0;
        own[flag::POLE_OVER_WAY] = pole / prices.walked(*foot, top).max(pole);
        own[flag::POLE_OVER_RANDOM_WALK] =
            pole / (prices.mean_range(*foot + 1, top) * lasts.sqrt());
        own[flag::WIDTH] = f64::midpoint(w0, w1) / pole;
        own[flag::OVER_POLE] = f64::from(u8::from(flag.over));
        own[flag::CANDLES] = length;
        own[flag::CONVERGENCE] =
            (upper.slope - lower.slope) * length / f64::midpoint(w0, w1).max(f64::MIN_POSITIVE);
        let pivot = |at: usize, high: bool| {
            Pivot::new(
                at,
                if high {
                    prices.high[at]
                } else {
                    prices.low[at]
                },
                high,
            )
        };
        // Line offsets are counted from the foot.
        let shifted = |line: Line| Line {
            slope: line.slope,
            intercept: line.at(-lasts),
        };
        let shape = PatternCandidate {
            kind: CandidateKind::Flag,
            flipped: false,
            turns: Turns::of(&[
                pivot(*foot, false),
                pivot(top, true),
                pivot(flag.lowest_at, false),
            ]),
            start: *foot as u32,
            end: end.at as u32,
            broken: end.broken,
            up: true,
            upper: shifted(upper),
            lower: shifted(lower),
            height: pole,
            own,
        };
        found.push(&shape);
        if w1 < 0.65 * w0 && upper.slope < 0.0 && lower.slope > 0.0 && length >= 6.0 {
            found.push(&PatternCandidate {
                kind: CandidateKind::Pennant,
                ..shape
            });
        }
    }
}
