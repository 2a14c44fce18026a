//! Search for heads and shoulders, double and triple tops. Bottoms are found on the upside-down view.

use super::{
    View,
    find::{BoundaryLine, tolerance_used},
    name::PatternName as P,
    shape::{PatternShape, ShapeScores, evenness, explained, off_the_legs, scatter},
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

/// Minimum height, in median true ranges.
const HEIGHT_LEAST: f64 = 2.0;
/// Maximum ratio of the durations of the two halves.
const HALVES: f64 = 2.5;
/// Weight of the worst level mismatch, which is subtracted from the clarity…
const MISMATCH: f64 = 0.45;
/// …and the minimum of the result.
const CLARITY_LEAST: f64 = 0.3;
/// A third low within this many heights of the two of a triple top makes it a rectangle.
const THIRD: f64 = 0.12;
/// Maximum excess of closes between the turns beyond the boundary, in heights.
const BEYOND_MOST: f64 = 0.06;

/// All tops at one pivot scale of a view.
pub(super) fn search(view: View<'_>, pivots: &[Pivot], found: &mut Vec<PatternShape>) {
    for start in 0..pivots.len().saturating_sub(2) {
        if !pivots[start].high {
            continue;
        }
        let fresh = |count: usize| {
            pivots[start.saturating_sub(1)..start + count - 1]
                .iter()
                .any(|pivot| pivot.fresh)
        };
        if fresh(3) {
            found.extend(double_top(view, pivots, start));
        }
        if start + 5 <= pivots.len() && fresh(5) {
            found.extend(head_and_shoulders(view, pivots, start));
            found.extend(triple_top(view, pivots, start));
        }
    }
}

/// The lowest low of the rise into the first top, back to the last turn above that top. Returns `None` if only the wick of a single candle
/// reached below the floor: that is no trend.
fn foot(view: View<'_>, pivots: &[Pivot], start: usize, floor: f64) -> Option<f64> {
    const FAR: usize = 7;
    let top = pivots[start].price;
    let before = &pivots[start.saturating_sub(FAR)..start];
    let rise = || {
        before
            .iter()
            .rev()
            .take_while(|pivot| !pivot.high || pivot.price < top)
            .filter(|pivot| !pivot.high)
    };
    let stayed = |pivot: &Pivot| {
        let at = pivot.at as usize;
        let beside = [at.checked_sub(1), Some(at + 1)]
            .into_iter()
            .flatten()
            .filter_map(|at| view.low.get(at));
        beside.fold(view.close[at], |lowest, low| lowest.min(*low)) < floor
    };
    if rise().any(stayed) {
        rise().map(|pivot| pivot.price).min_by(f64::total_cmp)
    } else {
        None
    }
}

/// Tolerance used by two durations that should be about equal.
fn halves(first: f64, second: f64) -> f64 {
    (first / second).ln().abs() / HALVES.ln()
}

struct Top<'a> {
    name: P,
    turns: &'a [Pivot],
    boundary: Line,
    height: f64,
    patience: f64,
    /// Difference of levels that should be equal, in heights.
    mismatch: f64,
    worst_use: f64,
    /// Height of the rise into the first top.
    rise: f64,
}

impl Top<'_> {
    fn shape(&self, view: View<'_>, live: bool) -> Option<PatternShape> {
        let Self {
            turns,
            boundary,
            height,
            ..
        } = *self;
        if self.worst_use > 1.0 || height < HEIGHT_LEAST * view.range {
            return None;
        }
        let (first, last) = (turns[0], turns[turns.len() - 1]);
        let (a, b) = (first.at as usize, last.at as usize);
        let closes = &view.close[a..=b];
        let clarity = explained(off_the_legs(view, turns), scatter(closes));
        if clarity - MISMATCH * self.mismatch < CLARITY_LEAST {
            return None;
        }
        let floor = |slot: &u32| boundary.at(f64::from(slot - first.slot)) - BEYOND_MOST * height;
        if closes
            .iter()
            .zip(&view.slot[a..=b])
            .any(|(close, slot)| *close < floor(slot))
        {
            return None;
        }
        // A close well above the first top is a breakout in the other direction, not a second top.
        if live && view.close[view.len() - 1] > first.price + BEYOND_MOST * height {
            return None;
        }
        let highest = turns.iter().map(|turn| turn.price).fold(f64::MIN, f64::max);
        Some(PatternShape {
            name: self.name,
            turns: Turns::of(turns),
            start: first.at,
            upper: BoundaryLine::Voids(Line::level(highest)),
            lower: BoundaryLine::Breaks(boundary),
            height,
            patience: self.patience,
            slack: 0.0,
            live,
            usually_up: false,
            scores: ShapeScores {
                clarity,
                fit: 1.0 - self.worst_use,
                even: evenness(turns),
                prior: (self.rise / height).clamp(0.0, 1.0),
            },
        })
    }
}

fn double_top(view: View<'_>, pivots: &[Pivot], start: usize) -> Option<PatternShape> {
    let live = start + 3 == pivots.len();
    let turns = &pivots[start..start + 3];
    let [first, low, second] = [turns[0].price, turns[1].price, turns[2].price];
    let length = turns[2].x(turns[0].slot);
    let height = first.max(second) - low;
    let mismatch = (first - second).abs() / height;
    if length < 12.0 || mismatch > 0.15 {
        return None;
    }
    let foot = foot(view, pivots, start, low)?;
    if foot > low - 0.15 * height {
        return None;
    }
    let worst_use =
        (mismatch / 0.15).max(halves(turns[1].x(turns[0].slot), turns[2].x(turns[1].slot)));
    let boundary = Line::level(low);
    Top {
        name: P::DoubleTop,
        turns,
        boundary,
        height,
        patience: length,
        mismatch,
        worst_use,
        rise: first - foot,
    }
    .shape(view, live)
}

fn head_and_shoulders(view: View<'_>, pivots: &[Pivot], start: usize) -> Option<PatternShape> {
    let live = start + 5 == pivots.len();
    let turns = &pivots[start..start + 5];
    let [left, low, head, high_low, right] = [0, 1, 2, 3, 4].map(|k| turns[k].price);
    if head <= left.max(right) {
        return None;
    }
    let x = [0, 1, 2, 3, 4].map(|k| turns[k].x(turns[0].slot));
    let neckline = Line::through((x[1], low), (x[3], high_low));
    let height = head - neckline.at(x[2]);
    if x[4] < 16.0 || height <= 0.0 {
        return None;
    }
    let shoulders = [
        (left - neckline.at(x[0])) / height,
        (right - neckline.at(x[4])) / height,
    ];
    let margin = (head - left.max(right)) / height;
    if margin < 0.12
        || shoulders
            .iter()
            .any(|shoulder| !(0.28..=0.92).contains(shoulder))
    {
        return None;
    }
    let (tops, lows) = (
        (left - right).abs() / height,
        (low - high_low).abs() / height,
    );
    let foot = foot(view, pivots, start, low.min(high_low))?;
    let worst_use = (tops / 0.22)
        .max(lows / 0.25)
        .max(halves(x[2], x[4] - x[2]))
        .max(tolerance_used(margin, 0.12, 0.25));
    let patience = x[4] / 2.0 + 5.0;
    let rise = left - foot;
    Top {
        name: P::HeadAndShoulders,
        turns,
        boundary: neckline,
        height,
        patience,
        mismatch: tops.max(lows),
        worst_use,
        rise,
    }
    .shape(view, live)
}

fn triple_top(view: View<'_>, pivots: &[Pivot], start: usize) -> Option<PatternShape> {
    let live = start + 5 == pivots.len();
    let turns = &pivots[start..start + 5];
    let tops = [turns[0].price, turns[2].price, turns[4].price];
    let (highest, lowest_top) = (
        tops.iter().fold(f64::MIN, |a, b| a.max(*b)),
        tops.iter().fold(f64::MAX, |a, b| a.min(*b)),
    );
    let bottom = turns[1].price.min(turns[3].price);
    let height = highest - bottom;
    let length = turns[4].x(turns[0].slot);
    let (apart, lows) = (
        (highest - lowest_top) / height,
        (turns[1].price - turns[3].price).abs() / height,
    );
    if length < 20.0 || apart > 0.20 || lows > 0.25 {
        return None;
    }
    if is_rectangle(pivots, start, height) {
        return None;
    }
    let foot = foot(view, pivots, start, bottom)?;
    let worst_use = (apart / 0.20).max(lows / 0.25);
    let boundary = Line::level(bottom);
    let patience = length / 2.0 + 5.0;
    Top {
        name: P::TripleTop,
        turns,
        boundary,
        height,
        patience,
        mismatch: apart.max(lows),
        worst_use,
        rise: tops[0] - foot,
    }
    .shape(view, live)
}

/// Whether the low before or after the five turns is a third one at the level of the two: then it is a rectangle.
fn is_rectangle(pivots: &[Pivot], start: usize, height: f64) -> bool {
    let bottom = f64::midpoint(pivots[start + 1].price, pivots[start + 3].price);
    let touches = |pivot: Option<&Pivot>| {
        pivot.is_some_and(|pivot| (pivot.price - bottom).abs() <= THIRD * height)
    };
    touches(start.checked_sub(1).and_then(|k| pivots.get(k))) || touches(pivots.get(start + 5))
}
