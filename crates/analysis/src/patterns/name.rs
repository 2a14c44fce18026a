//! The 24 pattern names: spelling, mirror image and family of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of a pattern. Its declaration order breaks ties and orders the report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PatternName {
    HeadAndShoulders,
    InverseHeadAndShoulders,
    DoubleTop,
    DoubleBottom,
    TripleTop,
    TripleBottom,
    AscendingTriangle,
    DescendingTriangle,
    SymmetricalTriangle,
    RisingWedge,
    FallingWedge,
    BroadeningTop,
    BroadeningBottom,
    Rectangle,
    AscendingChannel,
    DescendingChannel,
    BullFlag,
    BearFlag,
    BullPennant,
    BearPennant,
    CupAndHandle,
    InverseCupAndHandle,
    RoundingBottom,
    RoundingTop,
}

use PatternName as P;

/// Each name, its spelling, the name of its mirror image (prices upside down), and its family.
const TABLE: [(P, &str, P, Family); 24] = [
    (
        P::HeadAndShoulders,
        "head_and_shoulders",
        P::InverseHeadAndShoulders,
        Family::Reversal,
    ),
    (
        P::InverseHeadAndShoulders,
        "inverse_head_and_shoulders",
        P::HeadAndShoulders,
        Family::Reversal,
    ),
    (
        P::DoubleTop,
        "double_top",
        P::DoubleBottom,
        Family::Reversal,
    ),
    (
        P::DoubleBottom,
        "double_bottom",
        P::DoubleTop,
        Family::Reversal,
    ),
    (
        P::TripleTop,
        "triple_top",
        P::TripleBottom,
        Family::Reversal,
    ),
    (
        P::TripleBottom,
        "triple_bottom",
        P::TripleTop,
        Family::Reversal,
    ),
    (
        P::AscendingTriangle,
        "ascending_triangle",
        P::DescendingTriangle,
        Family::Triangle,
    ),
    (
        P::DescendingTriangle,
        "descending_triangle",
        P::AscendingTriangle,
        Family::Triangle,
    ),
    (
        P::SymmetricalTriangle,
        "symmetrical_triangle",
        P::SymmetricalTriangle,
        Family::Triangle,
    ),
    (
        P::RisingWedge,
        "rising_wedge",
        P::FallingWedge,
        Family::Triangle,
    ),
    (
        P::FallingWedge,
        "falling_wedge",
        P::RisingWedge,
        Family::Triangle,
    ),
    (
        P::BroadeningTop,
        "broadening_top",
        P::BroadeningBottom,
        Family::Triangle,
    ),
    (
        P::BroadeningBottom,
        "broadening_bottom",
        P::BroadeningTop,
        Family::Triangle,
    ),
    (P::Rectangle, "rectangle", P::Rectangle, Family::Channel),
    (
        P::AscendingChannel,
        "ascending_channel",
        P::DescendingChannel,
        Family::Channel,
    ),
    (
        P::DescendingChannel,
        "descending_channel",
        P::AscendingChannel,
        Family::Channel,
    ),
    (P::BullFlag, "bull_flag", P::BearFlag, Family::Flag),
    (P::BearFlag, "bear_flag", P::BullFlag, Family::Flag),
    (P::BullPennant, "bull_pennant", P::BearPennant, Family::Flag),
    (P::BearPennant, "bear_pennant", P::BullPennant, Family::Flag),
    (
        P::CupAndHandle,
        "cup_and_handle",
        P::InverseCupAndHandle,
        Family::Rounded,
    ),
    (
        P::InverseCupAndHandle,
        "inverse_cup_and_handle",
        P::CupAndHandle,
        Family::Rounded,
    ),
    (
        P::RoundingBottom,
        "rounding_bottom",
        P::RoundingTop,
        Family::Rounded,
    ),
    (
        P::RoundingTop,
        "rounding_top",
        P::RoundingBottom,
        Family::Rounded,
    ),
];

impl PatternName {
    pub const ALL: [Self; 24] = {
        let mut all = [Self::HeadAndShoulders; 24];
        let mut k = 0;
        while k < all.len() {
            all[k] = TABLE[k].0;
            k += 1;
        }
        all
    };

    /// Spelling in responses.
    pub fn word(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The pattern that it becomes when prices are turned upside down.
    #[must_use]
    pub fn mirrored(self) -> Self {
        TABLE[self as usize].2
    }

    pub fn family(self) -> Family {
        TABLE[self as usize].3
    }

    /// Whether its shape alone says where the price goes; of the others only the breakout does.
    pub fn points_one_way(self) -> bool {
        !matches!(
            self,
            P::Rectangle
                | P::AscendingChannel
                | P::DescendingChannel
                | P::SymmetricalTriangle
                | P::BroadeningTop
                | P::BroadeningBottom
        )
    }
}

/// A family of patterns, shown or hidden on a chart together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Heads and shoulders, double and triple tops and bottoms.
    Reversal,
    /// Triangles, wedges and broadening formations: two lines that converge or diverge.
    Triangle,
    /// Rectangles and channels: two parallel lines.
    Channel,
    /// Flags and pennants: a consolidation after a pole.
    Flag,
    /// Cups and rounding tops and bottoms.
    Rounded,
}

impl Family {
    pub const ALL: [Self; 5] = [
        Self::Reversal,
        Self::Triangle,
        Self::Channel,
        Self::Flag,
        Self::Rounded,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_follows_the_list_and_its_mirrors_return() {
        for (k, name) in PatternName::ALL.into_iter().enumerate() {
            assert_eq!(name as usize, k);
            assert_eq!(name.mirrored().mirrored(), name);
            assert_eq!(name.mirrored().family(), name.family());
            assert_eq!(serde_json::to_value(name).expect("a word"), name.word());
        }
    }
}
