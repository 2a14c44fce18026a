//! Candidate of a search: a range of candles that may be a pattern, with its turns, lines and the measures of its family.

use super::{Claim, name::PatternName as P, zigzag::Turns};
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

use CandidateKind as K;

/// Each kind, its name in the file of coefficients, the pattern name of its rising form, and whether a close beyond either line confirms it.
const KINDS: [(K, &str, P, bool); 13] = [
    (K::Double, "double", P::DoubleBottom, false),
    (
        K::HeadAndShoulders,
        "head_and_shoulders",
        P::InverseHeadAndShoulders,
        false,
    ),
    (K::Triple, "triple", P::TripleBottom, false),
    (K::Rounding, "rounding", P::RoundingBottom, false),
    (K::Cup, "cup", P::CupAndHandle, false),
    (K::Rectangle, "rectangle", P::Rectangle, true),
    (K::Channel, "channel", P::AscendingChannel, true),
    (K::Wedge, "wedge", P::RisingWedge, true),
    (
        K::LevelTriangle,
        "level_triangle",
        P::AscendingTriangle,
        true,
    ),
    (
        K::SymmetricalTriangle,
        "symmetrical_triangle",
        P::SymmetricalTriangle,
        true,
    ),
    (K::Broadening, "broadening", P::BroadeningTop, true),
    (K::Flag, "flag", P::BullFlag, false),
    (K::Pennant, "pennant", P::BullPennant, false),
];

impl CandidateKind {
    pub const ALL: [Self; KINDS.len()] = {
        let mut all = [K::Double; KINDS.len()];
        let mut k = 0;
        while k < all.len() {
            all[k] = KINDS[k].0;
            k += 1;
        }
        all
    };

    /// Name in the file of coefficients.
    pub fn word(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// Pattern name of its rising form.
    fn rising(self) -> P {
        KINDS[self as usize].2
    }

    /// Whether a close beyond either line confirms it.
    pub(super) fn breaks_both_ways(self) -> bool {
        KINDS[self as usize].3
    }
}

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
    pub(super) turns: Turns,
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
        if self.flipped {
            self.kind.rising().mirrored()
        } else {
            self.kind.rising()
        }
    }

    pub(super) fn claim(&self) -> Claim {
        let Self {
            start,
            end,
            kind,
            flipped,
            ..
        } = *self;
        Claim {
            start,
            end,
            kind,
            flipped,
        }
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
            CandidateKind::Wedge
            | CandidateKind::LevelTriangle
            | CandidateKind::SymmetricalTriangle
            | CandidateKind::Broadening => width(0.0).max(width(last)),
            CandidateKind::Double | CandidateKind::Triple => width(0.0),
            _ => self.height,
        }
    }

    /// Level of the boundary at a candle.
    pub(super) fn level(&self, at: u32) -> f64 {
        if self.up { self.upper } else { self.lower }
            .at(f64::from(at) - f64::from(self.turns.first().at))
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
