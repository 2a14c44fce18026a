//! Tests: each of the 24 patterns drawn by hand, and next to it a drawing that breaks one rule of its definition.

use super::{
    PatternName as P, PatternsAnswer, Status, overlap, patterns, series::CandleSeries, textbook,
};
use crate::timeframes::{CandleVec, tests::level};

/// Turns as (candle, log price in units of 0.03).
type Path = &'static [(usize, f64)];

/// Name, valid drawing, near miss, and the rule that the near miss breaks.
struct Example {
    name: P,
    path: Path,
    miss: Path,
    rule: &'static str,
}

/// Index of the first of the two legs that are curved into a bowl.
fn bowl(name: P) -> Option<usize> {
    match name {
        P::CupAndHandle => Some(1),
        P::RoundingBottom => Some(2),
        _ => None,
    }
}

macro_rules! examples {
    ($($name:ident $rule:literal $path:tt $miss:tt;)*) => {
        [$(Example { name: P::$name, path: &$path, miss: &$miss, rule: $rule }),*]
    };
}

const EXAMPLES: [Example; 13] = examples! {
    HeadAndShoulders "shoulders within 0.22 heights"
        [(0, -4.0), (14, 5.0), (22, 0.0), (32, 10.0), (42, 0.0), (50, 5.0), (64, -6.0)]
        [(0, -4.0), (14, 5.0), (22, 0.0), (32, 10.0), (42, 0.0), (50, 8.0), (64, -6.0)];
    DoubleTop "tops within 0.15 heights"
        [(0, -5.0), (15, 10.0), (25, 0.0), (35, 10.0), (50, -5.0)]
        [(0, -5.0), (15, 10.0), (25, 0.0), (35, 7.5), (50, -5.0)];
    TripleTop "tops within 0.20 heights"
        [(0, -6.0), (16, 10.0), (26, 0.0), (36, 9.7), (46, 0.5), (56, 10.0), (72, -6.0)]
        [(0, -6.0), (16, 10.0), (26, 0.0), (36, 7.0), (46, 0.5), (56, 10.0), (72, -6.0)];
    AscendingTriangle "the lower line rises by 0.25 widths"
        [(0, -6.0), (16, 10.0), (26, 0.0), (36, 10.0), (44, 4.0), (52, 10.0), (58, 7.0), (70, 17.0)]
        [(0, -6.0), (16, 10.0), (26, 0.0), (36, 10.0), (44, 0.5), (52, 10.0), (60, 1.0), (75, 17.0)];
    SymmetricalTriangle "narrows to 0.68"
        [(0, -5.0), (12, 10.0), (22, 0.0), (31, 8.0), (39, 2.0), (46, 6.0), (52, 3.6), (62, 14.0)]
        [(0, -5.0), (12, 10.0), (22, 0.0), (31, 9.5), (39, 0.5), (46, 9.0), (54, 1.0), (66, 16.0)];
    RisingWedge "narrows to 0.68"
        [(0, -6.0), (12, 10.0), (22, 2.0), (32, 13.0), (41, 8.0), (50, 16.0), (58, 13.4), (74, 0.0)]
        [(0, -6.0), (12, 10.0), (22, 2.0), (32, 13.0), (41, 5.0), (50, 16.0), (58, 7.7), (78, -6.0)];
    BroadeningTop "widens to 1.5"
        [(0, -5.0), (12, 5.0), (20, 0.0), (29, 7.0), (39, -2.5), (50, 9.5), (62, -5.0), (84, 19.0)]
        [(0, -5.0), (12, 7.0), (22, 0.0), (32, 7.3), (42, -0.3), (52, 7.6), (62, -0.6), (78, 14.0)];
    Rectangle "climbs at most 0.20 widths"
        [(0, -8.0), (16, 10.0), (26, 0.0), (36, 10.0), (46, 0.0), (56, 10.0), (66, 0.0), (82, 16.0)]
        [(0, -8.0), (16, 10.0), (26, 0.8), (36, 11.6), (46, 2.4), (56, 13.2), (66, 4.0), (82, 20.0)];
    AscendingChannel "climbs 0.6 widths"
        [(0, -10.0), (16, 10.0), (26, 2.4), (36, 14.8), (46, 7.2), (56, 19.6), (66, 12.0), (86, 34.0)]
        [(0, -8.0), (16, 10.0), (26, 0.8), (36, 11.6), (46, 2.4), (56, 13.2), (66, 4.0), (82, 20.0)];
    BullFlag "the pole is 2.2 depths"
        [(0, 8.0), (20, 0.0), (26, 24.0), (30, 20.3), (34, 23.6), (38, 20.0), (48, 34.0)]
        [(0, 22.0), (20, 16.5), (26, 24.0), (30, 20.3), (34, 23.6), (38, 20.0), (48, 34.0)];
    BullPennant "the pole is 2.2 depths"
        [(0, 8.0), (20, 0.0), (26, 24.0), (30, 18.0), (34, 23.0), (37, 20.0), (40, 22.2), (42, 20.9), (52, 34.0)]
        [(0, 17.0), (20, 12.0), (26, 24.0), (30, 18.0), (34, 23.0), (37, 20.0), (40, 22.2), (42, 20.9), (52, 34.0)];
    CupAndHandle "the handle retraces at most 0.55"
        [(0, -4.0), (12, 10.0), (42, 0.0), (72, 10.0), (80, 7.0), (92, 15.0)]
        [(0, -4.0), (12, 10.0), (42, 0.0), (72, 10.0), (84, 3.0), (96, 15.0)];
    RoundingBottom "the low lies in the middle"
        [(0, 20.0), (10, 6.0), (15, 10.0), (45, 0.0), (75, 10.0), (80, 14.0)]
        [(0, 20.0), (10, 6.0), (15, 10.0), (27, 0.0), (75, 10.0), (80, 14.0)];
};

/// Candles along the path or, if `upside_down`, along its mirror image.
fn drawn(path: &[(usize, f64)], bowl: Option<usize>, upside_down: bool) -> CandleVec {
    let mut levels = Vec::new();
    for (k, leg) in path.windows(2).enumerate() {
        let ((from, a), (to, b)) = (leg[0], leg[1]);
        for bar in from..to {
            let share = (bar - from) as f64 / (to - from) as f64;
            let bent = match bowl {
                Some(rim) if k == rim => 1.0 - (1.0 - share).powi(2),
                Some(rim) if k == rim + 1 => share.powi(2),
                _ => share,
            };
            levels.push(a + (b - a) * bent);
        }
    }
    let side = if upside_down { -0.03 } else { 0.03 };
    let mut made = CandleVec::default();
    for (i, pair) in levels.windows(2).enumerate() {
        let (open, close) = ((side * pair[0]).exp(), (side * pair[1]).exp());
        made.timestamp.push(i as i64 * 86_400_000);
        made.open.push(open);
        made.high.push(open.max(close) * 1.002);
        made.low.push(open.min(close) / 1.002);
        made.close.push(close);
        made.volume.push(f64::NAN);
    }
    made
}

fn names(answer: &PatternsAnswer) -> Vec<P> {
    answer.patterns.iter().map(|pattern| pattern.name).collect()
}

/// Patterns by the textbook rules. The full response, like chartists, is less strict: a near miss may still get the name.
fn textbook_names(candles: &CandleVec) -> Vec<P> {
    let series = CandleSeries::of(&candles.as_candles(), 20).expect("candles that move");
    overlap::better(textbook::all(&series, false), series.len())
        .iter()
        .map(|find| find.name)
        .collect()
}

#[test]
fn each_pattern_is_found_where_it_is_drawn_and_not_where_one_rule_is_broken() {
    let mut seen = Vec::new();
    for example in &EXAMPLES {
        for upside_down in [false, true] {
            let name = if upside_down {
                example.name.mirrored()
            } else {
                example.name
            };
            let found = names(&patterns(
                &drawn(example.path, bowl(example.name), upside_down).as_candles(),
                false,
            ));
            assert!(
                found.contains(&name),
                "{name:?} is drawn, but {found:?} was found"
            );
            let found = textbook_names(&drawn(example.miss, bowl(example.name), upside_down));
            assert!(
                !found.contains(&name),
                "{name:?} must have: {}; found {found:?}",
                example.rule
            );
            seen.push(name);
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, P::ALL);
}

/// A drawing whose turns alone match the pattern, with an optional wick from a candle to a level, and the reason to reject it.
struct Rejected {
    name: P,
    path: Path,
    wick: Option<(usize, f64)>,
    rule: &'static str,
}

const REJECTED: [Rejected; 5] = [
    Rejected {
        name: P::HeadAndShoulders,
        path: &[
            (0, 24.0),
            (8, 1.5),
            (14, 5.0),
            (22, 0.0),
            (32, 10.0),
            (42, 0.0),
            (50, 5.0),
            (64, -6.0),
        ],
        wick: Some((7, -6.0)),
        rule: "the rise is only a wick",
    },
    Rejected {
        name: P::SymmetricalTriangle,
        path: EXAMPLES[4].path,
        wick: Some((30, -12.0)),
        rule: "a wick right through the lower line",
    },
    Rejected {
        name: P::BroadeningTop,
        path: &[
            (0, -5.0),
            (12, 5.0),
            (20, 0.0),
            (29, 7.0),
            (39, -2.5),
            (50, 9.5),
            (62, 1.0),
            (84, 23.0),
        ],
        wick: None,
        rule: "the next turn falls short of the line",
    },
    Rejected {
        name: P::BullFlag,
        path: EXAMPLES[9].miss,
        wick: Some((20, 4.0)),
        rule: "the pole is only a wick",
    },
    Rejected {
        name: P::CupAndHandle,
        path: &[
            (0, -4.0),
            (12, 10.0),
            (42, 0.0),
            (72, 10.0),
            (74, 7.5),
            (80, 16.0),
        ],
        wick: None,
        rule: "a handle of two candles",
    },
];

#[test]
fn shapes_that_break_a_textbook_rule_are_not_found() {
    for Rejected {
        name,
        path,
        wick,
        rule,
    } in &REJECTED
    {
        for upside_down in [false, true] {
            let mut candles = drawn(path, bowl(*name), upside_down);
            let name = if upside_down { name.mirrored() } else { *name };
            match wick {
                Some((at, level)) if upside_down => candles.high[*at] = (-0.03 * level).exp(),
                Some((at, level)) => candles.low[*at] = (0.03 * level).exp(),
                None => {}
            }
            let found = textbook_names(&candles);
            assert!(!found.contains(&name), "{name:?}: {rule}; found {found:?}");
        }
    }
}

#[test]
fn the_target_of_a_fall_by_more_than_the_price_is_laid_off_on_the_logarithmic_scale() {
    let tall: Vec<(usize, f64)> = EXAMPLES[1]
        .path
        .iter()
        .map(|&(at, level)| (at, 4.0 * level))
        .collect();
    let full = drawn(&tall, None, false);
    let answer = patterns(&full.as_candles(), true);
    let top = answer
        .patterns
        .iter()
        .find(|pattern| pattern.name == P::DoubleTop)
        .expect("it is drawn");
    let (high, low) = (full.high[14].max(full.high[34]), full.low[24]);
    let expected = 100.0 * (low / high - 1.0);
    assert!(
        (top.projected_movement - expected).abs() < 1e-9,
        "{} for {expected}",
        top.projected_movement
    );
    let target = top.detail.as_ref().expect("explained").target_price;
    assert!((target / (low * low / high) - 1.0).abs() < 1e-9, "{target}");
}

#[test]
fn a_sharp_v_is_no_rounding_bottom() {
    for k in [11, 12] {
        for upside_down in [false, true] {
            let example = &EXAMPLES[k];
            let name = if upside_down {
                example.name.mirrored()
            } else {
                example.name
            };
            let found = textbook_names(&drawn(example.path, None, upside_down));
            assert!(!found.contains(&name), "{name:?}, found {found:?}");
        }
    }
}

#[test]
fn a_double_top_is_told_with_its_boundary_its_target_and_what_came_of_it() {
    let path = EXAMPLES[1].path;
    let full = drawn(path, None, false);
    let answer = patterns(&full.as_candles(), true);
    let top = answer
        .patterns
        .iter()
        .find(|pattern| pattern.name == P::DoubleTop)
        .expect("it is drawn");
    let detail = top.detail.as_ref().expect("explained");
    assert_eq!((top.start_index, top.completion_percent), (14, 100.0));
    assert_eq!(
        detail
            .anchors
            .iter()
            .map(|anchor| anchor.index)
            .collect::<Vec<_>>(),
        [14, 24, 34]
    );
    // Down by the height of the tops above the low: the low's price, times their ratio minus one.
    let (high, low) = (full.high[14].max(full.high[34]), full.low[24]);
    let projected = -100.0 * (high / low - 1.0);
    assert!(
        (top.projected_movement - projected).abs() < 1e-6,
        "{} {projected}",
        top.projected_movement
    );
    assert!(
        (detail.target_price - low * (1.0 + projected / 100.0)).abs() < 1e-6 * low,
        "{detail:?}"
    );
    assert_eq!(detail.breakout_index, Some(top.end_index));
    assert!(full.close[top.end_index] < low && full.close[top.end_index - 1] >= low);

    // Cut before the breakout, the pattern is forming and ends at the last candle.
    let bars = top.end_index - 2;
    let cut = drawn(
        &[(0, -5.0), (15, 10.0), (25, 0.0), (35, 10.0), (bars, 2.0)],
        None,
        false,
    );
    let answer = patterns(&cut.as_candles(), true);
    let top = answer
        .patterns
        .iter()
        .find(|pattern| pattern.name == P::DoubleTop)
        .expect("it is forming");
    let detail = top.detail.as_ref().expect("explained");
    assert_eq!(
        (detail.status, detail.breakout_index, top.end_index),
        (Status::Forming, None, bars - 2)
    );
    assert!(
        (75.0..100.0).contains(&top.completion_percent),
        "{}",
        top.completion_percent
    );
}

#[test]
fn fewer_than_twenty_candles_and_flat_prices_show_nothing() {
    let drawn = drawn(
        &[(0, 0.0), (5, 3.0), (10, 0.0), (15, 3.0), (20, -1.0)],
        None,
        false,
    );
    assert_eq!(drawn.close.len(), 19);
    assert_eq!(
        patterns(&drawn.as_candles(), false),
        PatternsAnswer::empty()
    );
    let flat = level((0..100).map(|at| (at, 2.0)), 0.0);
    assert_eq!(patterns(&flat.as_candles(), true), PatternsAnswer::empty());
}
