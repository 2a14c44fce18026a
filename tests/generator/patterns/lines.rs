//! Patterns between two lines: triangles, wedges, broadening patterns, rectangles, channels, flags and pennants.

use super::{
    plan::{Constraints, Corner, Line, Plan},
    reversals::length,
};
use crate::random::Random;

/// Two lines, given by their widths (mean 1) and slope.
struct Pair {
    /// Width at the first and at the last pivot.
    widths: (f64, f64),
    /// Rise of the upper line from the first to the last pivot.
    rise: f64,
    pivots: usize,
    first_high: bool,
    length: f64,
    least_leg: f64,
}

impl Pair {
    /// Widths with ratio `last / first` and mean 1.
    fn widths(ratio: f64) -> (f64, f64) {
        let first = 2.0 / (1.0 + ratio);
        (first, first * ratio)
    }
}

/// Pivots alternating between the lines from bar 0 on, each up to `slack` off its line; and the lines.
fn pivots(
    random: &mut Random,
    constraints: &Constraints,
    pair: &Pair,
) -> (Vec<Corner>, Line, Line) {
    let slack = if constraints.hard { 0.055 } else { 0.025 };
    loop {
        let legs = constraints.legs(random, pair.pivots - 1, pair.length, pair.least_leg);
        let length: f64 = legs.iter().sum();
        let fall = pair.rise + pair.widths.0 - pair.widths.1;
        let upper = Line {
            level: pair.widths.0 / 2.0,
            slope: pair.rise / length,
        };
        let lower = Line {
            level: -pair.widths.0 / 2.0,
            slope: fall / length,
        };
        let mut bar = 0.0;
        let mut corners = Vec::with_capacity(pair.pivots);
        for k in 0..pair.pivots {
            let line = if k.is_multiple_of(2) == pair.first_high {
                upper
            } else {
                lower
            };
            corners.push(Corner {
                bar,
                level: line.at(bar) + random.between(-slack, slack),
            });
            bar += legs.get(k).copied().unwrap_or_default();
        }
        // A pivot in the middle that misses its line leaves no five valid ones in a row.
        if constraints.breaks("turns on the lines") {
            let k = pair.pivots / 2;
            let out = if k.is_multiple_of(2) == pair.first_high {
                1.0
            } else {
                -1.0
            };
            corners[k].level += out * random.between(0.35, 0.55);
        }
        let alternate = corners.windows(2).enumerate().all(|(k, two)| {
            let down = k.is_multiple_of(2) == pair.first_high;
            let step = if down {
                two[0].level - two[1].level
            } else {
                two[1].level - two[0].level
            };
            step >= 0.22
        });
        if alternate {
            return (corners, upper, lower);
        }
    }
}

/// The corner before the first pivot: beyond the other line, but too near for a pole.
fn lead(random: &mut Random, pair: &Pair, corners: &[Corner], lower: Line, upper: Line) -> Corner {
    let bars = (pair.length / (pair.pivots - 1) as f64 * random.between(0.9, 1.6))
        .round()
        .max(4.0);
    let beyond = pair.widths.0 * random.between(0.3, 0.6);
    let level = if pair.first_high {
        lower.at(-bars).min(corners[1].level) - beyond
    } else {
        upper.at(-bars).max(corners[1].level) + beyond
    };
    Corner { bar: -bars, level }
}

fn shifted(corners: &mut [Corner], lines: &mut [&mut Line], bars: f64) {
    for corner in corners {
        corner.bar += bars;
    }
    for line in lines {
        line.level -= line.slope * bars;
    }
}

/// A pattern between two lines, breaking out through the line opposite its last pivot.
fn between(random: &mut Random, constraints: &Constraints, pair: &Pair, height: f64) -> Plan {
    let (mut corners, mut upper, mut lower) = pivots(random, constraints, pair);
    let lead = lead(random, pair, &corners, lower, upper);
    corners.insert(0, lead);
    shifted(&mut corners, &mut [&mut upper, &mut lower], -lead.bar);
    let last_high = (pair.pivots % 2 == 1) == pair.first_high;
    let boundary = if last_high { lower } else { upper };
    Plan {
        corners,
        start: 1,
        // The near miss must be allowed to leave the lines.
        between: (!constraints.breaks("turns on the lines")).then_some((1, upper, lower)),
        bowl: None,
        boundary,
        up: !last_high,
        height,
        least: 3.2,
        either: true,
    }
}

/// Number of pivots, and whether the first is high, so that it mostly breaks `up` (`None`: either way equally).
fn count(
    random: &mut Random,
    constraints: &Constraints,
    least: usize,
    up: Option<bool>,
) -> (usize, bool) {
    let most = if constraints.broken.is_some() {
        least + 1
    } else {
        8
    };
    let pivots = random.whole(least, most);
    let up = random.chance(if up.is_some() { 0.7 } else { 0.5 }) == up.unwrap_or(true);
    // An upward breakout needs a low as last pivot.
    (pivots, pivots.is_multiple_of(2) == up)
}

/// Width ratio of converging lines; nearly parallel if that rule is to be broken.
fn narrowing(random: &mut Random, constraints: &Constraints) -> f64 {
    if constraints.breaks("width changes") {
        random.between(0.88, 1.05)
    } else {
        random.between(0.28, 0.6)
    }
}

pub(super) fn ascending_triangle(random: &mut Random, constraints: &Constraints) -> Plan {
    let (pivots, first_high) = count(random, constraints, 5, Some(true));
    let widths = Pair::widths(narrowing(random, constraints));
    let rise = if constraints.breaks("one side level") {
        random.between(0.5, 0.9)
    } else {
        random.between(-0.12, 0.12)
    };
    let pair = Pair {
        widths,
        rise,
        pivots,
        first_high,
        length: length(random, 22.0),
        least_leg: 3.0,
    };
    between(random, constraints, &pair, widths.0)
}

pub(super) fn symmetrical_triangle(random: &mut Random, constraints: &Constraints) -> Plan {
    let (pivots, first_high) = count(random, constraints, 5, None);
    let widths = Pair::widths(narrowing(random, constraints));
    let narrowed = widths.0 - widths.1;
    let share = if narrowed > 0.44 {
        random.between(0.22 / narrowed, 1.0 - 0.22 / narrowed)
    } else {
        0.5
    };
    let pair = Pair {
        widths,
        rise: -share * narrowed,
        pivots,
        first_high,
        length: length(random, 22.0),
        least_leg: 3.0,
    };
    between(random, constraints, &pair, widths.0)
}

pub(super) fn rising_wedge(random: &mut Random, constraints: &Constraints) -> Plan {
    let (pivots, first_high) = count(random, constraints, 5, Some(false));
    let widths = Pair::widths(narrowing(random, constraints));
    let pair = Pair {
        widths,
        rise: random.between(0.25, 1.0),
        pivots,
        first_high,
        length: length(random, 22.0),
        least_leg: 3.0,
    };
    between(random, constraints, &pair, widths.0)
}

/// The first pivot is high; the number of pivots determines the breakout side.
pub(super) fn broadening_top(random: &mut Random, constraints: &Constraints) -> Plan {
    let pivots = random.whole(5, if constraints.broken.is_some() { 6 } else { 8 });
    let ratio = if constraints.breaks("width changes") {
        random.between(0.95, 1.15)
    } else {
        random.between(1.7, 3.0)
    };
    let widths = Pair::widths(ratio);
    let share = random.between(0.3, 0.7);
    let pair = Pair {
        widths,
        rise: share * (widths.1 - widths.0),
        pivots,
        first_high: true,
        length: length(random, 24.0),
        least_leg: 3.0,
    };
    between(random, constraints, &pair, widths.1)
}

/// Widths of parallel lines.
fn parallel(random: &mut Random, constraints: &Constraints) -> (f64, f64) {
    Pair::widths(if constraints.breaks("lines parallel") {
        random.between(0.3, 0.5)
    } else {
        random.between(0.86, 1.17)
    })
}

pub(super) fn rectangle(random: &mut Random, constraints: &Constraints) -> Plan {
    let (pivots, first_high) = count(random, constraints, 6, None);
    let widths = parallel(random, constraints);
    let slope = if constraints.breaks("level") {
        random.either(0.4)
    } else {
        random.between(-0.13, 0.13)
    };
    let rise = slope + (widths.1 - widths.0) / 2.0;
    let pair = Pair {
        widths,
        rise,
        pivots,
        first_high,
        length: length(random, 26.0),
        least_leg: 3.0,
    };
    between(random, constraints, &pair, 1.0)
}

pub(super) fn ascending_channel(random: &mut Random, constraints: &Constraints) -> Plan {
    let (pivots, first_high) = count(random, constraints, 6, None);
    let widths = parallel(random, constraints);
    let rise = random.between(0.75, 2.6) + (widths.1 - widths.0) / 2.0;
    let pair = Pair {
        widths,
        rise,
        pivots,
        first_high,
        length: length(random, 26.0),
        least_leg: 3.0,
    };
    between(random, constraints, &pair, 1.0)
}

/// A pole, then above its middle a small channel, or a small triangle for a pennant. The unit is the flag's width.
pub(super) fn bull_flag(random: &mut Random, constraints: &Constraints, pennant: bool) -> Plan {
    // It breaks out upwards, so a confirmed one ends in a low.
    let pivots = if constraints.confirmed {
        2 * random.whole(2, 3)
    } else {
        random.whole(4, 7)
    };
    let span = random.whole((3 * (pivots - 1)).max(10), 30) as f64;
    let widths = if pennant {
        Pair::widths(narrowing(random, constraints).min(0.95))
    } else {
        parallel(random, constraints)
    };
    let tilt = if pennant {
        random.between(-0.3, 0.15)
    } else {
        random.between(-1.0, 0.15)
    };
    let pair = Pair {
        widths,
        rise: tilt + (widths.1 - widths.0) / 2.0,
        pivots,
        first_high: true,
        length: span,
        least_leg: 2.0,
    };
    let (mut corners, mut upper, mut lower) = pivots_of_flag(random, constraints, &pair);
    let top = corners[0];
    let depth = top.level
        - corners
            .iter()
            .map(|corner| corner.level)
            .fold(f64::INFINITY, f64::min);
    let pole = depth
        * if constraints.breaks("pole longer than the flag is deep") {
            random.between(1.05, 1.4)
        } else {
            random.between(2.5, 4.0)
        };
    let longest = 12.0_f64.min(span);
    let bars = random.between(3.0, longest).round();
    let foot = Corner {
        bar: -bars,
        level: top.level - pole,
    };
    let lead = Corner {
        bar: -bars - random.between(4.0, 9.0).round(),
        level: foot.level + depth * random.between(0.35, 0.8),
    };
    corners.splice(0..0, [lead, foot]);
    shifted(&mut corners, &mut [&mut upper, &mut lower], -lead.bar);
    Plan {
        corners,
        start: 1,
        between: Some((2, upper, lower)),
        bowl: None,
        boundary: upper,
        up: true,
        height: pole,
        least: 1.3,
        either: false,
    }
}

fn pivots_of_flag(
    random: &mut Random,
    constraints: &Constraints,
    pair: &Pair,
) -> (Vec<Corner>, Line, Line) {
    loop {
        let (corners, upper, lower) = pivots(random, constraints, pair);
        let length = corners[corners.len() - 1].bar;
        if (9.0..=32.0).contains(&length) {
            return (corners, upper, lower);
        }
    }
}
