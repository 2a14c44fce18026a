//! Search for flags and pennants: a steep pole, then a short consolidation near its top. Falling ones are found on the upside-down view.

use super::{
    View, confidence,
    find::{BoundaryLine, tolerance_used},
    name::PatternName as P,
    pair::{self, LinePair},
    pivots::Fresh,
    shape::{
        PatternShape, ShapeScores, evenness, explained, off_the_legs, scatter, smallest_swing,
    },
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

const TURNS: std::ops::RangeInclusive<usize> = 4..=7;
/// Length of the consolidation, in bars.
const LENGTH: std::ops::RangeInclusive<f64> = 9.0..=32.0;
const POLE_MOST: f64 = 14.0;
/// Minimum height of the pole, in depths of the consolidation…
const POLE_LEAST: f64 = 2.2;
/// …and the fraction of it that must lie between closes: a flash wick is no pole.
const CLOSES_LEAST: f64 = 0.7;
/// Minimum width, in median true ranges.
const WIDTH_LEAST: f64 = 1.0;
const TILT_MOST: f64 = 0.25;
const MISMATCH: f64 = 0.45;
const CLARITY_LEAST: f64 = 0.25;

/// All rising flags and pennants at one pivot scale of a view.
pub(super) fn search(view: View<'_>, pivots: &[Pivot], found: &mut Vec<PatternShape>) {
    let mut fresh = Fresh::new(pivots);
    for start in 1..pivots.len().saturating_sub(TURNS.start() - 1) {
        if !pivots[start].high || !fresh.is_any(start - 1, start + TURNS.end() - 1) {
            continue;
        }
        let mut pole = None;
        for count in TURNS {
            let Some(turns) = pivots.get(start..start + count) else {
                break;
            };
            let length = turns[count - 1].x(turns[0].slot);
            if length > *LENGTH.end() {
                break;
            }
            let fresh = pivots[start - 1..start + count - 1]
                .iter()
                .any(|pivot| pivot.fresh);
            if length < *LENGTH.start() || !fresh {
                continue;
            }
            let Some(pole) = pole
                .get_or_insert_with(|| Pole::into(view, turns[0], turns[0].price - turns[1].price))
            else {
                break;
            };
            if is_hopeful(view, turns) {
                found.extend(shape(view, turns, pole, start + count == pivots.len()));
            }
        }
    }
}

fn is_hopeful(view: View<'_>, turns: &[Pivot]) -> bool {
    confidence::FLAG.may_find(
        turns.len(),
        evenness(turns),
        smallest_swing(turns) / view.range,
    )
}

struct Pole {
    at: u32,
    bars: f64,
    height: f64,
}

impl Pole {
    /// The steep rise into a high, from the low at most 14 bars back whose gain is largest relative to that of a random walk. Returns
    /// `None` if the rise is too small for a consolidation of this depth.
    fn into(view: View<'_>, top: Pivot, depth: f64) -> Option<Self> {
        let near = &view.low[(top.at as usize).saturating_sub(POLE_MOST as usize)..top.at as usize];
        if top.price - near.iter().fold(f64::MAX, |a, b| a.min(*b)) < POLE_LEAST * depth {
            return None;
        }
        let mut best: Option<(f64, Self)> = None;
        for at in (0..top.at as usize).rev() {
            let bars = f64::from(top.slot - view.slot[at]);
            if bars > POLE_MOST || view.high[at] > top.price {
                break;
            }
            let height = top.price - view.low[at];
            // The expected range of a random walk grows with the square root of time.
            let steep = height / (bars + 2.0).sqrt();
            if best.as_ref().is_none_or(|(most, _)| steep > *most) {
                best = Some((
                    steep,
                    Self {
                        at: at as u32,
                        bars,
                        height,
                    },
                ));
            }
        }
        best.map(|(_, pole)| pole)
    }

    /// Whether it is high and quick enough for a consolidation of this depth and length after the top.
    fn carries(&self, view: View<'_>, top: Pivot, depth: f64, length: f64) -> bool {
        let foot = self.at as usize;
        let lowest_close = view.close[foot].min(view.close[foot.saturating_sub(1)]);
        let between_closes = view.close[top.at as usize] - lowest_close;
        self.height >= POLE_LEAST * depth
            && self.bars <= length
            && between_closes >= CLOSES_LEAST * self.height
    }
}

/// Name of a consolidation by its last width over its first, and the tolerance that this uses.
fn name_by_ratio(ratio: f64) -> Option<(P, f64)> {
    match ratio {
        ..=0.62 => Some((P::BullPennant, tolerance_used(ratio, 0.62, 0.45))),
        0.78..=1.28 => Some((P::BullFlag, ratio.ln().abs() / 1.28_f64.ln())),
        _ => None,
    }
}

fn is_any_close_outside(view: View<'_>, turns: &[Pivot], pair: &LinePair) -> bool {
    let (first, last) = (turns[0], turns[turns.len() - 1]);
    let (a, b) = (first.at as usize, last.at as usize);
    let slack = pair::BEYOND_MOST * pair.width;
    let outside = |(close, slot): (&f64, &u32)| {
        let x = f64::from(slot - first.slot);
        *close > pair.upper.at(x) + slack || *close < pair.lower.at(x) - slack
    };
    view.close[a..=b].iter().zip(&view.slot[a..=b]).any(outside)
}

/// The flag or pennant of a pole and the turns after it, if it keeps the rules.
fn shape(view: View<'_>, turns: &[Pivot], pole: &Pole, live: bool) -> Option<PatternShape> {
    let (first, last) = (turns[0], turns[turns.len() - 1]);
    let lowest = turns.iter().map(|turn| turn.price).fold(f64::MAX, f64::min);
    let depth = first.price - lowest;
    let length = last.x(first.slot);
    if !pole.carries(view, first, depth, length) || live && pair::is_breaking(view, turns) {
        return None;
    }
    let pair = LinePair::through(turns)?;
    let width = pair.width;
    if width < WIDTH_LEAST * view.range || pair.residual > pair::RESIDUAL_MOST * width {
        return None;
    }
    let (name, ratio_tolerance) = name_by_ratio(pair.ratio())?;
    let tilt = f64::midpoint(pair.climb(pair.upper), pair.climb(pair.lower));
    if tilt > TILT_MOST
        || pair::has_odd_leg(turns, width)
        || is_any_close_outside(view, turns, &pair)
    {
        return None;
    }
    let clarity = explained(
        off_the_legs(view, turns),
        scatter(&view.close[first.at as usize..=last.at as usize]),
    );
    let residual = pair.residual / width;
    if clarity - MISMATCH * residual < CLARITY_LEAST {
        return None;
    }
    let worst_use = ratio_tolerance
        .max(residual / pair::RESIDUAL_MOST)
        .max(tolerance_used(tilt, TILT_MOST, 0.05))
        .max(tolerance_used(pole.height / depth, POLE_LEAST, 2.6));
    Some(PatternShape {
        name,
        turns: Turns::of(turns),
        start: pole.at,
        upper: BoundaryLine::Breaks(pair.upper),
        lower: BoundaryLine::Voids(Line::level(lowest)),
        height: pole.height,
        patience: length,
        slack: pair::SLACK * width,
        live,
        usually_up: true,
        scores: ShapeScores {
            clarity,
            fit: 1.0 - worst_use,
            even: evenness(turns),
            prior: (pole.height / depth / 4.0).min(1.0),
        },
    })
}
