//! What a search hands on: the turns of a pattern, its lines, its height, and how well it keeps its rules. And the sums that every
//! search needs.

use super::{
    View,
    find::{BoundaryLine, PatternTurns, Pivot},
    name::PatternName,
};

/// A pattern by its turns; what came of it is not known yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternShape {
    /// Its name in the view in which it was found.
    pub(super) name: PatternName,
    pub(super) turns: PatternTurns,
    /// Where it starts, among the valid candles: the first turn or the foot of the pole.
    pub(super) start: u32,
    /// Lines by logarithm over bars from the slot of the first turn.
    pub(super) upper: BoundaryLine,
    pub(super) lower: BoundaryLine,
    /// By the measure rule, as a logarithm.
    pub(super) height: f64,
    /// So many bars after the last turn it has run out of time.
    pub(super) patience: f64,
    /// A close this little beyond a line is not beyond it yet.
    pub(super) slack: f64,
    /// Whether the last turn is the live extreme.
    pub(super) live: bool,
    /// The usual direction of its breakout, while there is none.
    pub(super) usually_up: bool,
    pub(super) marks: ShapeScores,
}

/// How good it is, each 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShapeScores {
    /// Share of the closes' variance that the legs explain.
    pub(super) clarity: f64,
    /// 1 − the worst share of a tolerance that is used up.
    pub(super) fit: f64,
    /// Evenness of the legs' lengths.
    pub(super) even: f64,
    /// The move before it, in its heights.
    pub(super) prior: f64,
}

/// A share of a tolerance that is used up, of rules with one limit: 1 at the limit, 0 at `ease`, whichever side that is on.
pub(super) fn strain(value: f64, limit: f64, ease: f64) -> f64 {
    ((ease - value) / (ease - limit)).clamp(0.0, 1.0)
}

/// 1 − the deviation of the legs' bars over their mean.
pub(super) fn evenness(turns: &[Pivot]) -> f64 {
    let count = (turns.len() - 1) as f64;
    let mean = turns[turns.len() - 1].x(turns[0].slot) / count;
    let squares: f64 = turns.windows(2).map(|leg| (leg[1].x(leg[0].slot) - mean).powi(2)).sum();
    1.0 - ((squares / count).sqrt() / mean).min(1.0)
}

/// Σ (close − the straight legs from turn to turn)².
pub(super) fn off_the_legs(view: View<'_>, turns: &[Pivot]) -> f64 {
    let mut squares = 0.0;
    for leg in turns.windows(2) {
        let (a, b) = (leg[0].at as usize, leg[1].at as usize);
        let slope = (leg[1].price - leg[0].price) / leg[1].x(leg[0].slot);
        for (slot, close) in view.slot[a..b].iter().zip(&view.close[a..b]) {
            let off = close - leg[0].price - slope * f64::from(slot - leg[0].slot);
            squares += off * off;
        }
    }
    squares
}

/// Σ (close − mean close)² of the candles from `a` to before `b`.
pub(super) fn scatter(closes: &[f64]) -> f64 {
    let Some(&base) = closes.first() else { return 0.0 };
    let (mut sum, mut squares) = (0.0, 0.0);
    for close in closes {
        let off = close - base;
        sum += off;
        squares += off * off;
    }
    squares - sum * sum / closes.len() as f64
}

/// 1 − left/all, 0 where there is nothing to explain.
pub(super) fn explained(left: f64, all: f64) -> f64 {
    if all > 0.0 { (1.0 - left / all).clamp(0.0, 1.0) } else { 0.0 }
}
