//! Candidate of a search: a range of candles that may be a pattern, with its turns, lines and the measures of its family.

use super::{Claim, name::PatternName as P, pivots::MarketPivot, zigzag};
use crate::numeric::Line;

/// Number of kind-specific measures.
pub(super) const OWN: usize = 14;

/// Kind of candidate. Each kind is searched for in its rising form; the falling one is found upside down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CandidateKind {
    Double,
    HeadAndShoulders,
    Triple,
    Rounding,
    Cup,
    Rectangle,
    Channel,
    Wedge,
    LevelTriangle,
    SymmetricalTriangle,
    Broadening,
    Flag,
    Pennant,
}

impl CandidateKind {
    pub const ALL: [Self; 13] = [
        Self::Double,
        Self::HeadAndShoulders,
        Self::Triple,
        Self::Rounding,
        Self::Cup,
        Self::Rectangle,
        Self::Channel,
        Self::Wedge,
        Self::LevelTriangle,
        Self::SymmetricalTriangle,
        Self::Broadening,
        Self::Flag,
        Self::Pennant,
    ];

    /// Name in the file of coefficients.
    pub fn word(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::HeadAndShoulders => "head_and_shoulders",
            Self::Triple => "triple",
            Self::Rounding => "rounding",
            Self::Cup => "cup",
            Self::Rectangle => "rectangle",
            Self::Channel => "channel",
            Self::Wedge => "wedge",
            Self::LevelTriangle => "level_triangle",
            Self::SymmetricalTriangle => "symmetrical_triangle",
            Self::Broadening => "broadening",
            Self::Flag => "flag",
            Self::Pennant => "pennant",
        }
    }

    /// Whether a close beyond either line confirms it.
    pub(super) fn breaks_both_ways(self) -> bool {
        matches!(self, Self::Rectangle | Self::Channel | Self::Wedge | Self::LevelTriangle | Self::SymmetricalTriangle | Self::Broadening)
    }

    /// Pattern name of its rising form.
    fn rising(self) -> P {
        match self {
            Self::Double => P::DoubleBottom,
            Self::HeadAndShoulders => P::InverseHeadAndShoulders,
            Self::Triple => P::TripleBottom,
            Self::Rounding => P::RoundingBottom,
            Self::Cup => P::CupAndHandle,
            Self::Rectangle => P::Rectangle,
            Self::Channel => P::AscendingChannel,
            Self::Wedge => P::RisingWedge,
            Self::LevelTriangle => P::AscendingTriangle,
            Self::SymmetricalTriangle => P::SymmetricalTriangle,
            Self::Broadening => P::BroadeningTop,
            Self::Flag => P::BullFlag,
            Self::Pennant => P::BullPennant,
        }
    }
}

pub(super) type MarketTurns = zigzag::Turns<MarketPivot>;

/// Last candle of a pattern: its breakout, or the latest candle while it forms.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternEnd {
    pub(super) at: usize,
    pub(super) broken: bool,
}

/// A possible pattern in the orientation of its kind's rising form.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternCandidate {
    pub(super) kind: CandidateKind,
    /// Whether it was found in the upside-down prices.
    pub(super) flipped: bool,
    pub(super) turns: MarketTurns,
    /// Index among the valid candles.
    pub(super) start: u32,
    /// Breakout candle; while it forms, the last candle.
    pub(super) end: u32,
    pub(super) broken: bool,
    /// Direction of the actual or expected breakout.
    pub(super) up: bool,
    /// Lines over candle offsets from the first turn.
    pub(super) upper: Line,
    pub(super) lower: Line,
    /// Height by the measure rule, in log price.
    pub(super) height: f64,
    /// Kind-specific measures.
    pub(super) own: [f64; OWN],
}

impl PatternCandidate {
    pub(super) fn name(&self) -> P {
        if self.flipped { self.kind.rising().mirrored() } else { self.kind.rising() }
    }

    pub(super) fn claim(&self) -> Claim {
        let Self { start, end, kind, flipped, .. } = *self;
        Claim { start, end, kind, flipped }
    }

    pub(super) fn length(&self) -> f64 {
        f64::from(self.end - self.start + 1)
    }

    /// Height by the measure rule: of triangles and wedges at their widest, of double and triple patterns from the neckline to the further
    /// extreme.
    pub(super) fn reach(&self) -> f64 {
        let width = |x: f64| self.upper.at(x) - self.lower.at(x);
        let last = self.turns.last().x(self.turns.first().at);
        match self.kind {
            CandidateKind::Wedge | CandidateKind::LevelTriangle | CandidateKind::SymmetricalTriangle | CandidateKind::Broadening => {
                width(0.0).max(width(last))
            }
            CandidateKind::Double | CandidateKind::Triple => width(0.0),
            _ => self.height,
        }
    }

    /// Level of the boundary at a candle.
    pub(super) fn level(&self, at: u32) -> f64 {
        if self.up { self.upper } else { self.lower }.at(f64::from(at) - f64::from(self.turns.first().at))
    }

    /// The same candidate in the mirrored prices.
    pub(super) fn mirrored(&self) -> Self {
        Self {
            flipped: !self.flipped,
            turns: self.turns.mirrored(),
            up: !self.up,
            upper: self.lower.mirrored(),
            lower: self.upper.mirrored(),
            ..*self
        }
    }
}

/// Fraction of a tolerance used up: 0 at `ease`, 1 at `limit`, whichever of the two is larger; clamped to 0..=3.
pub(super) fn tolerance_used(value: f64, limit: f64, ease: f64) -> f64 {
    ((ease - value) / (ease - limit)).clamp(0.0, 3.0)
}
