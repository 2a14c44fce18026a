//! Cups with a handle and rounding bottoms.

use super::plan::{Constraints, Corner, Line, Plan};
use crate::random::Random;

/// Exponent of the bowl: 1 is a V, 2 a parabola; higher ones have flatter bottoms.
fn roundness(random: &mut Random, constraints: &Constraints) -> f64 {
    if constraints.breaks("round, not a V") {
        1.0
    } else if constraints.hard {
        random.between(1.8, 3.2)
    } else {
        random.between(1.95, 2.6)
    }
}

/// Position of the low between the rims.
fn middle(random: &mut Random, constraints: &Constraints) -> f64 {
    if constraints.breaks("low in the middle") {
        return if random.chance(0.5) { 0.12 } else { 0.88 };
    }
    let off = if constraints.hard { 0.13 } else { 0.08 };
    0.5 + random.between(-off, off)
}

pub(super) fn cup_and_handle(random: &mut Random, constraints: &Constraints) -> Plan {
    let length = random.scale(30.0, 110.0).round();
    let apart = if constraints.breaks("rims of one height") {
        random.between(0.35, 0.5)
    } else {
        random.between(0.0, 0.13)
    };
    let apart = random.either(apart);
    let retrace = if constraints.breaks("handle shallow") {
        random.between(0.75, 0.9)
    } else {
        random.between(0.14, 0.48)
    };
    let handle = (length * random.between(0.12, 0.38)).round().max(4.0);
    let lead = random.between(6.0, 16.0).round();
    // Levels: the right rim, which is the boundary, at 0; the low at -1.
    let corners = vec![
        Corner {
            bar: 0.0,
            level: apart - random.between(0.5, 1.4),
        },
        Corner {
            bar: lead,
            level: apart,
        },
        Corner {
            bar: lead + (length * middle(random, constraints)).round(),
            level: -1.0,
        },
        Corner {
            bar: lead + length,
            level: 0.0,
        },
        Corner {
            bar: lead + length + handle,
            level: -retrace,
        },
    ];
    Plan {
        corners,
        start: 1,
        between: None,
        bowl: Some((1, roundness(random, constraints))),
        boundary: Line::flat(0.0),
        up: true,
        height: 1.0,
        least: 4.0,
        either: false,
    }
}

/// A lower high in a downtrend, the bowl, and back to that high's level.
pub(super) fn rounding_bottom(random: &mut Random, constraints: &Constraints) -> Plan {
    let length = random.scale(29.0, 120.0).round();
    let end = if constraints.confirmed {
        -random.between(0.0, 0.05)
    } else {
        -random.between(0.03, 0.14)
    };
    let (fall, rise) = (
        random.between(6.0, 14.0).round(),
        random.between(4.0, 8.0).round(),
    );
    let low = fall + rise + (length * middle(random, constraints)).round();
    let corners = vec![
        Corner {
            bar: 0.0,
            level: random.between(0.5, 1.2),
        },
        Corner {
            bar: fall,
            level: -random.between(0.22, 0.4),
        },
        Corner {
            bar: fall + rise,
            level: 0.0,
        },
        Corner {
            bar: low,
            level: -1.0,
        },
        Corner {
            bar: fall + rise + length,
            level: end,
        },
    ];
    Plan {
        corners,
        start: 2,
        between: None,
        bowl: Some((2, roundness(random, constraints))),
        boundary: Line::flat(0.0),
        up: true,
        height: 1.0,
        least: 4.0,
        either: false,
    }
}
