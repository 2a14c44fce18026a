//! Common result of the textbook and the market search: a pattern with its turns, boundary lines and target.

use super::{Reason, name::PatternName, zigzag::Turns};
use crate::numeric::Line;

/// Fraction of the way from one price to another that is covered, below 1; 0 without a way.
pub(super) fn covered(from: f64, to: f64, now: f64) -> f64 {
    let way = to - from;
    if way == 0.0 {
        0.0
    } else {
        ((now - from) / way).clamp(0.0, 0.999)
    }
}

/// Fraction of a tolerance used up: 0 at `ease`, 1 at `limit`, whichever of the two is larger; clamped to 0..=3.
pub(super) fn tolerance_used(value: f64, limit: f64, ease: f64) -> f64 {
    ((ease - value) / (ease - limit)).clamp(0.0, 3.0)
}

/// Largest fall, as a fraction of the level, that is measured as a price difference.
const LINEAR_MOST: f64 = 0.5;

/// A pattern's line, by the effect of a close beyond it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoundaryLine {
    /// Confirms the pattern.
    Breaks(Line),
    /// Invalidates the pattern.
    Voids(Line),
}

impl BoundaryLine {
    pub(super) fn line(self) -> Line {
        match self {
            Self::Breaks(line) | Self::Voids(line) => line,
        }
    }
}

/// A valid pattern in upright orientation (not mirrored).
#[derive(Debug, Clone)]
pub(super) struct FoundPattern {
    pub(super) name: PatternName,
    pub(super) turns: Turns,
    /// Index among the valid candles.
    pub(super) start: u32,
    /// Index of the first close beyond the boundary, among the valid candles.
    pub(super) breakout: Option<u32>,
    pub(super) up: bool,
    /// Log price of the boundary at the breakout, or at the last candle.
    pub(super) level: f64,
    pub(super) height: f64,
    /// Percent.
    pub(super) completion: f64,
    pub(super) confidence: f64,
    pub(super) upper: BoundaryLine,
    pub(super) lower: BoundaryLine,
    /// Contributions to its confidence, if requested.
    pub(super) why: Vec<Reason>,
}

impl FoundPattern {
    /// Last candle of the pattern, out of `count` valid ones.
    pub(super) fn end(&self, count: usize) -> u32 {
        self.breakout.unwrap_or(count as u32 - 1)
    }

    /// Height as a price difference, relative to the level.
    pub(super) fn steepness(&self) -> f64 {
        if self.up {
            -(-self.height).exp_m1()
        } else {
            self.height.exp_m1()
        }
    }

    /// Projected move in signed percent of the breakout level, by the measure rule: the height as a price difference. A fall by more than half
    /// of the level is measured on the logarithmic scale, as chartists do with large moves: else it would lead to nothing, or below.
    pub(super) fn movement(&self) -> f64 {
        match self.up {
            true => -100.0 * (-self.height).exp_m1(),
            false if self.is_by_log() => 100.0 * (-self.height).exp_m1(),
            false => -100.0 * self.height.exp_m1(),
        }
    }

    /// Log price of the target.
    pub(super) fn target(&self) -> f64 {
        self.level + (self.movement() / 100.0).ln_1p()
    }

    pub(super) fn is_by_log(&self) -> bool {
        !self.up && self.steepness() > LINEAR_MOST
    }

    pub(super) fn mirrored(self) -> Self {
        let negated = |edge: BoundaryLine| match edge {
            BoundaryLine::Breaks(line) => BoundaryLine::Breaks(line.mirrored()),
            BoundaryLine::Voids(line) => BoundaryLine::Voids(line.mirrored()),
        };
        Self {
            name: self.name.mirrored(),
            turns: self.turns.mirrored(),
            up: !self.up,
            level: -self.level,
            upper: negated(self.lower),
            lower: negated(self.upper),
            ..self
        }
    }
}

/// A pattern between 1 and e^-0.2 or e^0.2. Upwards, its target is 1 + (1 − e^-0.2) = 1.181 and its stop e^-0.1 = 0.905; downwards,
/// they are 1 − (e^0.2 − 1) = 0.779 and e^0.1 = 1.105.
#[cfg(test)]
pub(super) fn sample(up: bool, breakout: Option<u32>) -> FoundPattern {
    FoundPattern {
        name: if up {
            PatternName::DoubleBottom
        } else {
            PatternName::DoubleTop
        },
        turns: Turns::of(&[super::zigzag::Pivot::default()]),
        start: 0,
        breakout,
        up,
        level: 0.0,
        height: 0.2,
        completion: if breakout.is_some() { 100.0 } else { 60.0 },
        confidence: 0.7,
        upper: if up {
            BoundaryLine::Breaks(Line::level(0.0))
        } else {
            BoundaryLine::Voids(Line::level(0.2))
        },
        lower: if up {
            BoundaryLine::Voids(Line::level(-0.2))
        } else {
            BoundaryLine::Breaks(Line::level(0.0))
        },
        why: Vec::new(),
    }
}
