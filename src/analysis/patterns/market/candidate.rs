//! What a search hands on: a stretch of candles that may be a pattern, with its turns, its lines and what its family measured.

use super::{Claim, name::PatternName as P, pivots::TapePivot, zigzag};
use crate::analysis::numeric::Line;

/// Measures that only one kind has.
pub(super) const OWN: usize = 14;

/// What a candidate may be. Each kind is sought in its rising form; the falling one is the same upside down.
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

    /// Whether a close beyond either line confirms it.
    pub(super) fn breaks_both_ways(self) -> bool {
        matches!(self, Self::Rectangle | Self::Channel | Self::Wedge | Self::LevelTriangle | Self::SymmetricalTriangle | Self::Broadening)
    }

    /// The name of its rising form.
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

pub(super) type TapeTurns = zigzag::Turns<TapePivot>;

/// A stretch that may be a pattern, as seen in the view of its kind's rising form.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternCandidate {
    pub(super) kind: CandidateKind,
    /// Whether the tape is the one upside down.
    pub(super) flipped: bool,
    pub(super) turns: TapeTurns,
    /// Among the valid candles.
    pub(super) start: u32,
    /// The candle that broke out; while it forms, the last one.
    pub(super) end: u32,
    pub(super) broken: bool,
    /// Where it broke out, or is expected to.
    pub(super) up: bool,
    /// Lines over candles from the first turn.
    pub(super) upper: Line,
    pub(super) lower: Line,
    /// By the measure rule, as a logarithm.
    pub(super) height: f64,
    /// What only its kind measures.
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

    /// The height of the measure rule: of triangles and wedges where they are widest, of double turns from the further one.
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

    /// The boundary's level at a candle.
    pub(super) fn level(&self, at: u32) -> f64 {
        if self.up { self.upper } else { self.lower }.at(f64::from(at) - f64::from(self.turns.first().at))
    }

    /// The same in the other tape.
    pub(super) fn turned(&self) -> Self {
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

/// A share of a tolerance that is used up, of rules with one limit: 1 at the limit, 0 at `ease`, whichever side that is on.
pub(super) fn strain(value: f64, limit: f64, ease: f64) -> f64 {
    ((ease - value) / (ease - limit)).clamp(0.0, 3.0)
}
