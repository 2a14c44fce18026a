//! Head and shoulders, double and triple tops. Levels are relative to the boundary; `plan` mirrors them.

use super::plan::{Constraints, Corner, Line, Plan};
use crate::random::Random;

/// Builds corners from leg lengths and levels; `levels` has one more.
fn corners(legs: &[f64], levels: &[f64]) -> Vec<Corner> {
    let mut bar = 0.0;
    let mut corners = vec![Corner {
        bar,
        level: levels[0],
    }];
    for (leg, level) in legs.iter().zip(&levels[1..]) {
        bar += leg;
        corners.push(Corner { bar, level: *level });
    }
    corners
}

/// Log-uniform length from the shortest allowed to some four months of days.
pub(super) fn length(random: &mut Random, least: f64) -> f64 {
    random.scale(least, 4.5 * least.max(20.0)).round()
}

fn reversal(
    random: &mut Random,
    constraints: &Constraints,
    mut corners: Vec<Corner>,
    boundary: Line,
    height: f64,
) -> Plan {
    let mut plan = Plan {
        corners: Vec::new(),
        start: 1,
        between: None,
        bowl: None,
        boundary,
        up: false,
        height,
        least: 2.3,
        either: false,
    };
    if constraints.breaks("a trend before") {
        // The shallow low is approached from above the tops, so that a longer window shows no rise either.
        let bars = random.between(6.0, 14.0).round();
        for corner in &mut corners {
            corner.bar += bars;
        }
        corners.insert(
            0,
            Corner {
                bar: 0.0,
                level: random.between(1.3, 1.9),
            },
        );
        plan.boundary.level -= plan.boundary.slope * bars;
        plan.start = 2;
    }
    plan.corners = corners;
    plan
}

/// Level of the low before the first top: below `bottom`, or well above it if the prior-trend rule is to be broken.
fn before(random: &mut Random, constraints: &Constraints, bottom: f64, top: f64) -> f64 {
    if constraints.breaks("a trend before") {
        return bottom + (top - bottom) * random.between(0.35, 0.6);
    }
    bottom - random.between(0.22, 0.8)
}

pub(super) fn head_and_shoulders(random: &mut Random, constraints: &Constraints) -> Plan {
    let tilt = if constraints.breaks("neckline near level") {
        random.between(0.5, 0.8)
    } else {
        random.between(0.0, 0.2)
    };
    let tilt = random.either(tilt);
    // The shoulders are .28 to .92 of the head above the neckline, at most .22 apart, and .12 below the head.
    let mut shoulders = [0.0; 2];
    loop {
        shoulders = shoulders.map(|_| random.between(0.32, 0.82));
        let apart = (shoulders[0] - shoulders[1] - tilt * 0.8).abs();
        if constraints.breaks("shoulders of one height") {
            shoulders = [0.25, 0.85];
            if random.chance(0.5) {
                shoulders.swap(0, 1);
            }
            break;
        }
        if apart <= 0.18 {
            break;
        }
    }
    let head = if constraints.breaks("head above the shoulders") {
        shoulders[0].min(shoulders[1]) - 0.08
    } else {
        1.0
    };
    let span = length(random, 18.0);
    let mut legs = constraints.legs(random, 5, span * 1.25, 3.0);
    if constraints.breaks("halves alike long") {
        legs = if random.chance(0.5) {
            vec![8.0, 4.0, 4.0, 18.0, 20.0]
        } else {
            vec![8.0, 18.0, 20.0, 4.0, 4.0]
        };
    }
    let times: Vec<f64> = legs
        .iter()
        .scan(0.0, |bar, leg| {
            *bar += leg;
            Some(*bar)
        })
        .collect();
    // The neckline is 0 below the head and tilts about it.
    let neckline = Line {
        level: -tilt * times[2] / (times[3] - times[1]),
        slope: tilt / (times[3] - times[1]),
    };
    let lows = [neckline.at(times[1]), neckline.at(times[3])];
    let tops = [
        neckline.at(times[0]) + shoulders[0],
        head,
        neckline.at(times[4]) + shoulders[1],
    ];
    let first = before(random, constraints, lows[0].min(lows[1]), tops[0]);
    let corners = corners(&legs, &[first, tops[0], lows[0], tops[1], lows[1], tops[2]]);
    let boundary = Line::through(corners[2], corners[4]);
    reversal(random, constraints, corners, boundary, head.max(0.3))
}

pub(super) fn double_top(random: &mut Random, constraints: &Constraints) -> Plan {
    let apart = if constraints.breaks("tops of one height") {
        random.between(0.32, 0.5)
    } else {
        random.between(0.0, 0.12)
    };
    let mut tops = [1.0, 1.0 - apart];
    if random.chance(0.5) {
        tops.swap(0, 1);
    }
    let span = length(random, 13.0);
    let mut legs = constraints.legs(random, 3, span * 1.5, 5.0);
    if constraints.breaks("halves alike long") {
        legs = if random.chance(0.5) {
            vec![8.0, 5.0, 25.0]
        } else {
            vec![8.0, 25.0, 5.0]
        };
    }
    let first = before(random, constraints, 0.0, tops[0]);
    let corners = corners(&legs, &[first, tops[0], 0.0, tops[1]]);
    reversal(random, constraints, corners, Line::flat(0.0), 1.0)
}

pub(super) fn triple_top(random: &mut Random, constraints: &Constraints) -> Plan {
    // The middle top is at most .07 above the others: higher it would be a head.
    let mut tops = [0.0; 3];
    loop {
        tops = tops.map(|_| random.between(0.84, 1.0));
        if tops[1] - tops[0].max(tops[2]) < 0.07 {
            break;
        }
    }
    if constraints.breaks("tops of one height") {
        tops[1] = random.between(0.45, 0.6);
    }
    let highest = tops.iter().copied().fold(0.0, f64::max);
    let mut bottoms = [0.0, random.between(0.0, 0.18)];
    if random.chance(0.5) {
        bottoms.swap(0, 1);
    }
    let span = length(random, 22.0);
    let legs = constraints.legs(random, 5, span * 1.25, 4.0);
    let first = before(random, constraints, 0.0, tops[0]);
    let corners = corners(
        &legs,
        &[first, tops[0], bottoms[0], tops[1], bottoms[1], tops[2]],
    );
    reversal(random, constraints, corners, Line::flat(0.0), highest)
}
