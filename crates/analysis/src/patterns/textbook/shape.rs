//! Shape of a textbook search: the turns of a pattern, its lines, height and scores. And the sums that every search needs.

use super::{
    View,
    find::BoundaryLine,
    name::PatternName,
    zigzag::{Pivot, Turns},
};

/// A pattern by its turns, before its outcome is determined.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternShape {
    /// Its name in the view in which it was found.
    pub(super) name: PatternName,
    pub(super) turns: Turns,
    /// Index of its start among the valid candles: the first turn or the foot of the pole.
    pub(super) start: u32,
    /// Log-price lines over bars from the slot of the first turn.
    pub(super) upper: BoundaryLine,
    pub(super) lower: BoundaryLine,
    /// Height by the measure rule, in log price.
    pub(super) height: f64,
    /// Number of bars after the last turn until it expires.
    pub(super) patience: f64,
    /// Tolerance of a close beyond a line, in log price.
    pub(super) slack: f64,
    /// Whether the last turn is the live extreme, not yet confirmed.
    pub(super) live: bool,
    /// Typical breakout direction, used while it forms.
    pub(super) usually_up: bool,
    pub(super) scores: ShapeScores,
}

/// Quality scores, each 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShapeScores {
    /// Fraction of the closes' variance explained by the legs.
    pub(super) clarity: f64,
    /// 1 − the largest fraction used of any tolerance.
    pub(super) fit: f64,
    /// Evenness of the legs' durations.
    pub(super) even: f64,
    /// The move before it, in its heights.
    pub(super) prior: f64,
}

/// Height of the smallest leg.
pub(super) fn smallest_swing(turns: &[Pivot]) -> f64 {
    turns
        .windows(2)
        .map(|leg| (leg[1].price - leg[0].price).abs())
        .fold(f64::MAX, f64::min)
}

/// 1 − the coefficient of variation of the legs' durations.
pub(super) fn evenness(turns: &[Pivot]) -> f64 {
    let count = (turns.len() - 1) as f64;
    let mean = turns[turns.len() - 1].x(turns[0].slot) / count;
    let squares: f64 = turns
        .windows(2)
        .map(|leg| (leg[1].x(leg[0].slot) - mean).powi(2))
        .sum();
    1.0 - ((squares / count).sqrt() / mean).min(1.0)
}

/// Residual sum of squares of the closes from the straight legs between turns.
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

/// Total sum of squares of the closes about their mean.
pub(super) fn scatter(closes: &[f64]) -> f64 {
    let Some(&base) = closes.first() else {
        return 0.0;
    };
    let (mut sum, mut squares) = (0.0, 0.0);
    for close in closes {
        let off = close - base;
        sum += off;
        squares += off * off;
    }
    squares - sum * sum / closes.len() as f64
}

/// R² = 1 − left/all; 0 if there is no variance.
pub(super) fn explained(left: f64, all: f64) -> f64 {
    if all > 0.0 {
        (1.0 - left / all).clamp(0.0, 1.0)
    } else {
        0.0
    }
}
