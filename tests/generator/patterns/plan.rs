//! Geometry of a pattern before noise: corners, lines, boundary, in units of its height.

use super::{Kind, bowls, lines, reversals};
use crate::random::Random;

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// The level at bar 0.
    pub(super) level: f64,
    pub(super) slope: f64,
}

impl Line {
    pub(super) fn flat(level: f64) -> Self {
        Self { level, slope: 0.0 }
    }

    pub(super) fn through(a: Corner, b: Corner) -> Self {
        let slope = (b.level - a.level) / (b.bar - a.bar);
        Self {
            level: a.level - slope * a.bar,
            slope,
        }
    }

    pub(super) fn at(self, bar: f64) -> f64 {
        self.level + self.slope * bar
    }

    fn mirrored(self) -> Self {
        Self {
            level: -self.level,
            slope: -self.slope,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub(super) bar: f64,
    pub(super) level: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Lead-in corners, then the pattern's pivots. The first is at bar 0.
    pub(super) corners: Vec<Corner>,
    /// Index of the pattern's first corner.
    pub(super) start: usize,
    /// First corner, upper and lower line; no close leaves the lines from there on.
    pub(super) between: Option<(usize, Line, Line)>,
    /// First of the three corners (rim, low, rim) of a bowl, and its exponent: 1 is a V, 2 a parabola.
    pub(super) bowl: Option<(usize, f64)>,
    pub(super) boundary: Line,
    /// Whether it breaks out upward.
    pub(super) up: bool,
    /// Height by the measure rule.
    pub(super) height: f64,
    /// Minimum unit in true ranges.
    pub(super) least: f64,
    /// Whether it may break either way, so that a forming one has no determined direction.
    pub(super) either: bool,
}

impl Plan {
    fn mirrored(mut self) -> Self {
        for corner in &mut self.corners {
            corner.level = -corner.level;
        }
        self.between = self
            .between
            .map(|(from, upper, lower)| (from, lower.mirrored(), upper.mirrored()));
        self.boundary = self.boundary.mirrored();
        self.up = !self.up;
        self
    }

    pub(super) fn last(&self) -> Corner {
        self.corners[self.corners.len() - 1]
    }

    /// Bars from the first to the last pivot.
    pub(super) fn length(&self) -> f64 {
        self.last().bar - self.corners[self.start].bar
    }

    /// Typical height and length of a leg.
    pub(super) fn leg(&self) -> (f64, f64) {
        let legs = &self.corners[self.start..];
        let count = (legs.len() - 1) as f64;
        let heights: f64 = legs
            .windows(2)
            .map(|pair| (pair[1].level - pair[0].level).abs())
            .sum();
        (heights / count, self.length() / count)
    }
}

/// Random choices made before the geometry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constraints {
    pub(super) hard: bool,
    pub(super) confirmed: bool,
    /// The one rule to break.
    pub(super) broken: Option<&'static str>,
}

impl Constraints {
    pub(super) fn breaks(&self, rule: &str) -> bool {
        self.broken == Some(rule)
    }

    /// Random lengths of `legs` legs that sum to about `length`, each at least `least`.
    pub(super) fn legs(
        &self,
        random: &mut Random,
        legs: usize,
        length: f64,
        least: f64,
    ) -> Vec<f64> {
        let uneven = if self.hard { 0.55 } else { 0.22 };
        let weights: Vec<f64> = (0..legs)
            .map(|_| 1.0 + random.between(-uneven, uneven))
            .collect();
        let sum: f64 = weights.iter().sum();
        weights
            .iter()
            .map(|weight| (weight / sum * length).round().max(least))
            .collect()
    }
}

/// Patterns that share rules.
type Family = &'static [&'static str];

const HEADS: Family = &["head_and_shoulders", "inverse_head_and_shoulders"];
const DOUBLES: Family = &["double_top", "double_bottom"];
const TRIPLES: Family = &["triple_top", "triple_bottom"];
const LEVEL_TRIANGLES: Family = &["ascending_triangle", "descending_triangle"];
const NARROWING: Family = &["symmetrical_triangle", "rising_wedge", "falling_wedge"];
const BROADENING: Family = &["broadening_top", "broadening_bottom"];
const RECTANGLE: Family = &["rectangle"];
const CHANNELS: Family = &["ascending_channel", "descending_channel"];
const FLAGS: Family = &["bull_flag", "bear_flag"];
const PENNANTS: Family = &["bull_pennant", "bear_pennant"];
const CUPS: Family = &["cup_and_handle", "inverse_cup_and_handle"];
const ROUNDINGS: Family = &["rounding_bottom", "rounding_top"];

/// Rules that near misses break, each with the patterns it belongs to.
pub(crate) const RULES: &[(&str, &[Family])] = &[
    ("shoulders of one height", &[HEADS]),
    ("neckline near level", &[HEADS]),
    ("head above the shoulders", &[HEADS]),
    ("halves alike long", &[HEADS, DOUBLES]),
    ("tops of one height", &[DOUBLES, TRIPLES]),
    ("a trend before", &[HEADS, DOUBLES, TRIPLES]),
    (
        "width changes",
        &[LEVEL_TRIANGLES, NARROWING, BROADENING, PENNANTS],
    ),
    (
        "turns on the lines",
        &[LEVEL_TRIANGLES, NARROWING, BROADENING, RECTANGLE, CHANNELS],
    ),
    ("one side level", &[LEVEL_TRIANGLES]),
    ("lines parallel", &[RECTANGLE, CHANNELS, FLAGS]),
    ("level", &[RECTANGLE]),
    ("pole longer than the flag is deep", &[FLAGS, PENNANTS]),
    ("round, not a V", &[CUPS, ROUNDINGS]),
    ("rims of one height", &[CUPS]),
    ("handle shallow", &[CUPS]),
    ("low in the middle", &[ROUNDINGS]),
];

/// Random geometry of `name` within its definition.
pub(super) fn plan(random: &mut Random, name: &str, kind: &Kind, confirmed: bool) -> Plan {
    let hard = match kind {
        Kind::Easy => false,
        Kind::Hard => true,
        Kind::NearMiss(_) => random.chance(0.5),
    };
    let broken = if let Kind::NearMiss(rule) = kind {
        Some(*rule)
    } else {
        None
    };
    let constraints = &Constraints {
        hard,
        confirmed,
        broken,
    };
    match name {
        "head_and_shoulders" => reversals::head_and_shoulders(random, constraints),
        "inverse_head_and_shoulders" => {
            reversals::head_and_shoulders(random, constraints).mirrored()
        }
        "double_top" => reversals::double_top(random, constraints),
        "double_bottom" => reversals::double_top(random, constraints).mirrored(),
        "triple_top" => reversals::triple_top(random, constraints),
        "triple_bottom" => reversals::triple_top(random, constraints).mirrored(),
        "ascending_triangle" => lines::ascending_triangle(random, constraints),
        "descending_triangle" => lines::ascending_triangle(random, constraints).mirrored(),
        "symmetrical_triangle" => lines::symmetrical_triangle(random, constraints),
        "rising_wedge" => lines::rising_wedge(random, constraints),
        "falling_wedge" => lines::rising_wedge(random, constraints).mirrored(),
        "broadening_top" => lines::broadening_top(random, constraints),
        "broadening_bottom" => lines::broadening_top(random, constraints).mirrored(),
        "rectangle" => lines::rectangle(random, constraints),
        "ascending_channel" => lines::ascending_channel(random, constraints),
        "descending_channel" => lines::ascending_channel(random, constraints).mirrored(),
        "bull_flag" => lines::bull_flag(random, constraints, false),
        "bear_flag" => lines::bull_flag(random, constraints, false).mirrored(),
        "bull_pennant" => lines::bull_flag(random, constraints, true),
        "bear_pennant" => lines::bull_flag(random, constraints, true).mirrored(),
        "cup_and_handle" => bowls::cup_and_handle(random, constraints),
        "inverse_cup_and_handle" => bowls::cup_and_handle(random, constraints).mirrored(),
        "rounding_bottom" => bowls::rounding_bottom(random, constraints),
        "rounding_top" => bowls::rounding_bottom(random, constraints).mirrored(),
        _ => panic!("no pattern `{name}`"),
    }
}
