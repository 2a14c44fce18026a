//! Measures of a candidate: first those common to all kinds, then those of its family. All are dimensionless, in pattern heights, local
//! mean true ranges or fractions of its length, so that they are comparable between tokens.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate},
    measure_table::{COMMON, common},
    search::CandidateSpan,
    series::LogPrices,
};

/// Number of all measures of a candidate.
pub const ALL: usize = COMMON + OWN;

/// Number of candles on either side of a turn within which it should be the extreme.
const AROUND: usize = 3;

/// Writes only the cheap measures, by which most candidates are rejected.
pub(super) fn quick(
    prices: &LogPrices,
    flipped: bool,
    span: CandidateSpan,
    own: &[f64; OWN],
    m: &mut [f64; ALL],
) {
    let CandidateSpan {
        start,
        end,
        broken,
        height,
    } = span;
    let (a, b) = (start as usize, end as usize);
    let (length, range) = (f64::from(end - start + 1), prices.range[a]);
    let inside = prices.mean_range(a, b);
    m[common::LENGTH] = length;
    m[common::HEIGHT] = height / range;
    m[common::HEIGHT_OVER_RANDOM_WALK] = height / (inside * length.sqrt());
    m[common::RANGE_OVER_START] = inside / range;
    m[common::NET_MOVE] = (prices.close[b] - prices.close[a]) / height;
    m[common::FORMING] = f64::from(u8::from(!broken));
    // Chartists draw more falling flags than rising ones, and more tops.
    m[common::UPSIDE_DOWN] = f64::from(u8::from(flipped));
    m[COMMON..].copy_from_slice(own);
}

/// Whether a measure is one of the cheap ones.
pub fn is_quick(measure: usize) -> bool {
    matches!(
        measure,
        common::LENGTH
            | common::HEIGHT
            | common::HEIGHT_OVER_RANDOM_WALK
            | common::RANGE_OVER_START
            | common::NET_MOVE
            | common::FORMING
            | common::UPSIDE_DOWN
            | COMMON..
    )
}

/// All measures, in the orientation of the kind's rising form.
pub(super) fn all(prices: &LogPrices, candidate: &PatternCandidate) -> [f64; ALL] {
    let mut m = [0.0; ALL];
    all_but_thorough(prices, candidate, &mut m);
    thorough(prices, candidate, &mut m);
    m
}

/// Whether a measure reads every candle.
pub(super) fn is_thorough(measure: usize) -> bool {
    matches!(
        measure,
        common::EXPLAINED_BY_LEGS | common::CLOSES_OUTSIDE | common::INSIDE_BEFORE_START
    )
}

/// Writes all measures except the thorough ones.
pub(super) fn all_but_thorough(
    prices: &LogPrices,
    candidate: &PatternCandidate,
    m: &mut [f64; ALL],
) {
    let PatternCandidate {
        start,
        end,
        broken,
        height: h,
        ..
    } = *candidate;
    quick(
        prices,
        candidate.flipped,
        CandidateSpan {
            start,
            end,
            broken,
            height: h,
        },
        &candidate.own,
        m,
    );
    let (a, b) = (start as usize, end as usize);
    let turns = candidate.turns.as_slice();
    let last = candidate.turns.last();
    let (length, range) = (candidate.length(), prices.range[a]);
    let (top, bottom) = (prices.top(a, b), prices.bottom(a, b));
    let span = (top - bottom).max(f64::MIN_POSITIVE);
    let from = turns[0].price;
    let ago = |far: usize| a.saturating_sub(far);
    m[common::RISE_20] = (from - prices.bottom(ago(20), a)) / h;
    m[common::RISE_45] = (from - prices.bottom(ago(45), a)) / h;
    m[common::FALL_20] = (prices.top(ago(20), a) - from) / h;
    m[common::FALL_45] = (prices.top(ago(45), a) - from) / h;
    let legs = legs(prices, candidate);
    m[common::UNEVEN_LEGS] = legs.uneven;
    m[common::SMALLEST_SWING] = legs.smallest / h;
    m[common::TIME_AFTER_LAST_TURN] = f64::from(candidate.end - last.at) / length;
    let side = if candidate.up { 1.0 } else { -1.0 };
    let level = candidate.level(candidate.end);
    m[common::CLOSE_PAST_BOUNDARY] = side * (prices.close[b] - level) / prices.range[b];
    m[common::LAST_BODY] = side * (prices.close[b] - prices.close[b - 1]) / prices.range[b];
    (
        m[common::BEST_MOVE_10],
        m[common::WORST_MOVE_10],
        m[common::BEST_MOVE_25],
    ) = (0.0, 0.0, 0.0);
    let after = |far: usize| (b + 1, (b + far).min(prices.len() - 1));
    let (next, until) = after(10);
    if next <= until {
        let (up, down) = (
            (prices.top(next, until) - prices.close[b]) / h,
            (prices.close[b] - prices.bottom(next, until)) / h,
        );
        (m[common::BEST_MOVE_10], m[common::WORST_MOVE_10]) =
            if candidate.up { (up, down) } else { (down, up) };
        let (next, until) = after(25);
        let best = if candidate.up {
            prices.top(next, until) - prices.close[b]
        } else {
            prices.close[b] - prices.bottom(next, until)
        };
        m[common::BEST_MOVE_25] = best / h;
    }
    m[common::TIME_SINCE_EXTREME] = candles_since_as_extreme(prices, a, turns[0].high) / length;
    m[common::START_OFF_EXTREME] = off_extreme(prices, a, turns[0].high) / h;
    m[common::WAY_OVER_LEGS] = prices.walked(a, b) / legs.way.max(f64::MIN_POSITIVE);
    for k in 0..6 {
        let part = |k: usize| a + (b + 1 - a) * k / 6;
        m[common::FIRST_SIXTH + k] =
            (prices.mean_close(part(k), part(k + 1).max(part(k) + 1) - 1) - bottom) / span;
    }
    let middle = usize::midpoint(a, b);
    m[common::RANGE_OF_HALVES] =
        prices.mean_range(middle, b) / prices.mean_range(a, middle).max(f64::MIN_POSITIVE);
    m[common::SPAN] = span / h;
    m[common::SMALLEST_SWING_IN_RANGES] = legs.smallest / range;
    m[common::CLOSE_BEFORE_START] = (prices.close[a.saturating_sub(5)] - bottom) / span;
    m[common::END_OFF_EXTREME] = off_extreme(prices, last.at as usize, last.high) / h;
    m[common::CANDLES_SINCE_END] = ((prices.len() - 1 - b) as f64).min(25.0);
}

/// Writes the thorough measures: those that read every candle.
pub(super) fn thorough(prices: &LogPrices, candidate: &PatternCandidate, m: &mut [f64; ALL]) {
    m[common::EXPLAINED_BY_LEGS] = explained(prices, candidate);
    (m[common::CLOSES_OUTSIDE], m[common::INSIDE_BEFORE_START]) = kept(prices, candidate);
}

struct Legs {
    uneven: f64,
    smallest: f64,
    way: f64,
}

/// Statistics of the straight legs between turns; `way` includes the one from the last turn to the end.
fn legs(prices: &LogPrices, candidate: &PatternCandidate) -> Legs {
    let turns = candidate.turns.as_slice();
    let last = candidate.turns.last();
    let count = (turns.len() - 1) as f64;
    let even = last.x(turns[0].at) / count;
    let (mut smallest, mut way, mut squares) = (
        f64::MAX,
        (prices.close[candidate.end as usize] - last.price).abs(),
        0.0,
    );
    for two in turns.windows(2) {
        let leg = (two[1].price - two[0].price).abs();
        smallest = smallest.min(leg);
        way += leg;
        squares += (two[1].x(two[0].at) - even).powi(2);
    }
    Legs {
        uneven: (squares / count).sqrt() / even.max(0.5),
        smallest,
        way,
    }
}

/// Fraction of the closes' variance explained by the straight legs between turns and on to the end (R²).
fn explained(prices: &LogPrices, candidate: &PatternCandidate) -> f64 {
    let (a, b) = (candidate.start as usize, candidate.end as usize);
    let mean = prices.mean_close(a, b);
    let (mut off, mut scatter) = (0.0, (prices.close[b] - mean).powi(2));
    let mut leg = |from: (usize, f64), to: (usize, f64)| {
        let slope = (to.1 - from.1) / (to.0 - from.0).max(1) as f64;
        for (i, close) in prices.close[from.0..to.0].iter().enumerate() {
            let away = close - from.1 - slope * i as f64;
            off += away * away;
            scatter += (close - mean) * (close - mean);
        }
    };
    for two in candidate.turns.as_slice().windows(2) {
        leg(
            (two[0].at as usize, two[0].price),
            (two[1].at as usize, two[1].price),
        );
    }
    let last = candidate.turns.last();
    leg((last.at as usize, last.price), (b, prices.close[b]));
    if scatter > 0.0 {
        (1.0 - off / scatter).clamp(-1.0, 1.0)
    } else {
        0.0
    }
}

/// Number of candles before a turn since the price was as extreme, at most 64.
fn candles_since_as_extreme(prices: &LogPrices, at: usize, high: bool) -> f64 {
    const FAR: u32 = 64;
    let since = prices.since(at, high);
    f64::from(
        if since == u32::MAX && at > 32 {
            at as u32 + 1
        } else {
            since
        }
        .min(FAR),
    )
}

fn off_extreme(prices: &LogPrices, at: usize, high: bool) -> f64 {
    let (from, to) = (
        at.saturating_sub(AROUND),
        (at + AROUND).min(prices.len() - 1),
    );
    if high {
        prices.top(from, to) - prices.high[at]
    } else {
        prices.low[at] - prices.bottom(from, to)
    }
}

/// Fraction of closes between start and last turn that lie outside the lines by more than a tenth of the height, and the number of
/// consecutive candles before the start, at most ten, that lie within them.
fn kept(prices: &LogPrices, candidate: &PatternCandidate) -> (f64, f64) {
    if matches!(
        candidate.kind,
        CandidateKind::Flag | CandidateKind::Pennant | CandidateKind::Rounding | CandidateKind::Cup
    ) {
        return (0.0, 0.0);
    }
    let (a, c) = (candidate.start as usize, candidate.turns.last().at as usize);
    let slack = 0.1 * candidate.height;
    let inside = |close: f64, x: f64| {
        (close <= candidate.upper.at(x) + slack) & (close >= candidate.lower.at(x) - slack)
    };
    let of_pattern = prices.close[a..=c].iter().zip(0..);
    let outside: i32 = of_pattern
        .map(|(close, x)| i32::from(!inside(*close, f64::from(x))))
        .sum();
    let before = (1..=10.min(a))
        .take_while(|k| inside(prices.close[a - k], -(*k as f64)))
        .count();
    (f64::from(outside) / (c - a + 1) as f64, before as f64)
}
