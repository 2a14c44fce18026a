//! What both searches end in: a pattern with its turns, its lines and what it points to.

use super::{
    Reason,
    name::PatternName,
    zigzag::{self, Extreme},
};
use crate::analysis::numeric::Line;

/// A turning point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pivot {
    /// Its place among the valid candles.
    pub(super) at: u32,
    /// Its place in the frame, the x of every line.
    pub(super) slot: u32,
    pub(super) price: f64,
    pub(super) high: bool,
    /// Whether the leg to the next pivot was not there at the finer scale, so that what spans it has not been looked at.
    pub(super) fresh: bool,
}

impl Extreme for Pivot {
    fn at(&self) -> u32 {
        self.at
    }

    fn price(&self) -> f64 {
        self.price
    }

    fn mirrored(self) -> Self {
        Self { price: -self.price, high: !self.high, ..self }
    }
}

impl Pivot {
    /// Bars from `origin`.
    pub(super) fn x(self, origin: u32) -> f64 {
        f64::from(self.slot) - f64::from(origin)
    }
}

pub(super) type PatternTurns = zigzag::Turns<Pivot>;

/// What a close beyond a line means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoundaryLine {
    /// It confirms the pattern.
    Breaks(Line),
    /// It voids the pattern.
    Voids(Line),
}

impl BoundaryLine {
    pub(super) fn line(self) -> Line {
        match self {
            Self::Breaks(line) | Self::Voids(line) => line,
        }
    }
}

/// A pattern that is not void, upright.
#[derive(Debug, Clone)]
pub(super) struct FoundPattern {
    pub(super) name: PatternName,
    pub(super) turns: PatternTurns,
    /// Among the valid candles.
    pub(super) start: u32,
    /// The first close beyond the boundary, among the valid candles.
    pub(super) breakout: Option<u32>,
    pub(super) up: bool,
    /// The boundary's logarithm at the breakout, or at the last candle.
    pub(super) level: f64,
    pub(super) height: f64,
    /// Percent.
    pub(super) completion: f64,
    pub(super) confidence: f64,
    pub(super) upper: BoundaryLine,
    pub(super) lower: BoundaryLine,
    /// What made its confidence, where that is asked for.
    pub(super) why: Vec<Reason>,
}

impl FoundPattern {
    /// The last candle of the pattern, of `count` valid ones.
    pub(super) fn end(&self, count: usize) -> u32 {
        self.breakout.unwrap_or(count as u32 - 1)
    }

    /// The height in price over the level.
    pub(super) fn steepness(&self) -> f64 {
        if self.up { -(-self.height).exp_m1() } else { self.height.exp_m1() }
    }

    /// Signed percent of the breakout level by the measure rule: the height in price over the level, −99.9 at the least.
    pub(super) fn movement(&self) -> f64 {
        if self.up { -100.0 * (-self.height).exp_m1() } else { (-100.0 * self.height.exp_m1()).max(-99.9) }
    }

    /// The logarithm of the price that the movement leads to. A height of more than the level itself leads below zero; then it is laid
    /// off on the logarithmic scale that the lines are straight on, as chartists do there.
    pub(super) fn target(&self) -> f64 {
        let way = if !self.up && self.height.exp_m1() >= 1.0 { -self.height } else { (self.movement() / 100.0).ln_1p() };
        self.level + way
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
