//! Synthetic labelled chart patterns built from their definitions, near misses, random walks, and the scorer of a detector's findings.
//! Seeded, and independent of any detector: knows bars, names and spans, nothing of the program.

#[path = "patterns/bars.rs"]
mod bars;
#[path = "patterns/bowls.rs"]
mod bowls;
#[path = "patterns/lines.rs"]
mod lines;
#[path = "patterns/path.rs"]
mod path;
#[path = "patterns/plan.rs"]
mod plan;
#[path = "patterns/reversals.rs"]
mod reversals;
#[path = "patterns/score.rs"]
mod score;
#[path = "patterns/set.rs"]
mod set;

pub(crate) use bars::{Bars, walk};
pub(crate) use score::{Found, score};
pub(crate) use set::{DEVELOPMENT, REPORT, Set, Sizes, set};

use crate::random::Random;

/// The 24 pattern names; a mirror image follows its original.
pub(crate) const NAMES: [&str; 24] = [
    "head_and_shoulders",
    "inverse_head_and_shoulders",
    "double_top",
    "double_bottom",
    "triple_top",
    "triple_bottom",
    "ascending_triangle",
    "descending_triangle",
    "symmetrical_triangle",
    "rising_wedge",
    "falling_wedge",
    "broadening_top",
    "broadening_bottom",
    "rectangle",
    "ascending_channel",
    "descending_channel",
    "bull_flag",
    "bear_flag",
    "bull_pennant",
    "bear_pennant",
    "cup_and_handle",
    "inverse_cup_and_handle",
    "rounding_bottom",
    "rounding_top",
];

/// Ground truth of a synthetic series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    pub(crate) name: &'static str,
    /// First pivot; for flags and pennants the start of the pole.
    pub(crate) start: usize,
    /// Breakout bar if confirmed, else the last bar.
    pub(crate) end: usize,
    pub(crate) confirmed: bool,
    /// Signed move in percent of the breakout level.
    pub(crate) movement: f64,
    /// Whether the sign of `movement` is determined: not while a pattern that breaks either way is forming.
    pub(crate) signed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Easy,
    Hard,
    /// Breaks this one rule of the labelled pattern.
    NearMiss(&'static str),
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) bars: Bars,
    pub(crate) kind: Kind,
    pub(crate) label: Label,
}

/// Generates a case of `name`, deterministically from the generator's state.
pub(crate) fn case(random: &mut Random, name: &'static str, kind: Kind) -> Case {
    // Rejection sampling: noise may drown the pattern, or bend a bowl out of its definition.
    for _ in 0..200 {
        if let Some((bars, label)) = path::draw(random, name, &kind) {
            return Case { bars, kind, label };
        }
    }
    panic!("200 draws without a valid `{name}` ({kind:?})")
}
