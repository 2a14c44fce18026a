//! Candidate search for double and triple bottoms and inverse heads and shoulders. Tops are found in the upside-down prices.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, PatternEnd},
    find::tolerance_used,
    measure_table::{double, head_and_shoulders, triple},
    pivots::PivotScale,
    search::Candidates,
    series::LogPrices,
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

/// Offset of the middle turn from the middle at the textbook's limit: halves lasting at most 2.5 times each other.
const UNEVEN: f64 = 2.5 / 3.5 - 0.5;

/// A bottom reverses a fall, so the price must have come from near the line above it: at least this many heights above the line.
const FALL_LEAST: f64 = -0.3;
/// Maximum offset of a double bottom's middle turn from the middle of its duration: neither half lasts longer than four times the other.
const UNEVEN_MOST: f64 = 0.3;

/// All bottoms at one scale.
pub(super) fn search(
    prices: &LogPrices,
    pivots: &[Pivot],
    scale: &PivotScale,
    found: &mut Candidates<'_>,
) {
    for start in 0..pivots.len().saturating_sub(2) {
        if pivots[start].high {
            continue;
        }
        for skipped in 0..3 {
            let count = 3 + 2 * skipped;
            if let Some(run) = pivots
                .get(start..start + count)
                .filter(|_| scale.is_new(start, count))
            {
                double(prices, run, scale, found);
            }
        }
        if let Some(run) = pivots
            .get(start..start + 5)
            .filter(|_| scale.is_new(start, 5))
        {
            head_and_shoulders(prices, run, found);
            triple(prices, run, found);
        }
    }
}

/// The first close above the level; `None` if a close below the floor precedes it, or it is not in the range.
fn end(
    prices: &LogPrices,
    from: usize,
    to: usize,
    floor: f64,
    level: impl Fn(usize) -> f64,
) -> Option<PatternEnd> {
    let last = prices.len() - 1;
    for at in from..=last.min(to) {
        if prices.close[at] > level(at) {
            return Some(PatternEnd { at, broken: true });
        }
        if prices.close[at] < floor {
            return None;
        }
    }
    (to > last).then_some(PatternEnd {
        at: last,
        broken: false,
    })
}

/// Highest high before the pattern, back to the last price below its first low, minus the level.
fn fall(prices: &LogPrices, start: usize, level: f64) -> f64 {
    const FAR: usize = 45;
    let mut before = Some(start);
    // Back over prices as low, to one below.
    while let Some(at) = before.filter(|at| prices.low[*at] >= prices.low[start]) {
        before = at.checked_sub(prices.since(at, false) as usize);
    }
    let from = before
        .map_or(0, |before| before + 1)
        .max(start.saturating_sub(FAR));
    prices.top(from, start) - level
}

/// Builds a bottom's candidate between its breakout line and its lowest price.
fn bottom(
    kind: CandidateKind,
    turns: Turns,
    end: PatternEnd,
    (upper, lowest): (Line, f64),
    height: f64,
    own: [f64; OWN],
) -> PatternCandidate {
    PatternCandidate {
        kind,
        flipped: false,
        turns,
        start: turns.first().at,
        end: end.at as u32,
        broken: end.broken,
        up: true,
        upper,
        lower: Line::level(lowest),
        height,
        own,
    }
}

fn double(prices: &LogPrices, run: &[Pivot], scale: &PivotScale, found: &mut Candidates<'_>) {
    let (first, last) = (run[0], run[run.len() - 1]);
    let (a, c) = (first.at as usize, last.at as usize);
    let gap = c - a;
    if !(4..=90).contains(&gap) {
        return;
    }
    let range = prices.range[c];
    let peak = run
        .iter()
        .filter(|pivot| pivot.high)
        .fold(run[1], |best, pivot| {
            if pivot.price > best.price {
                *pivot
            } else {
                best
            }
        });
    let height = peak.price - f64::midpoint(first.price, last.price);
    let apart = last.price - first.price;
    if height <= range || apart.abs() >= 0.45 * height {
        return;
    }
    let lowest = first.price.min(last.price);
    let under = lowest - prices.bottom(a, c);
    if under > 0.15 * height {
        return;
    }
    let floor = lowest - 0.1 * height;
    let patience = (1.6 * gap as f64) as usize + 3;
    let turns = Turns::of(&[first, peak, last]);
    let first_half = peak.x(first.at) / gap as f64;
    let uneven = (first_half - 0.5).abs();
    let fall = fall(prices, a, peak.price) / height;
    if uneven > UNEVEN_MOST || fall < FALL_LEAST {
        return;
    }
    // No close is above the peak before one is above the early level.
    let early_level = peak.price - 0.15 * height;
    let Some(early_end) = end(prices, c + 1, c + patience, floor, |_| early_level) else {
        return;
    };
    let late_end = end(prices, early_end.at, c + patience, floor, |_| peak.price);
    let late_end =
        late_end.filter(|end| end.broken || prices.close[end.at] >= last.price + 0.4 * height);
    let early_end =
        Some(early_end).filter(|end| end.broken && late_end.is_none_or(|late| late.at != end.at));
    for (early, end) in [(0.0, late_end), (1.0, early_end)] {
        let Some(end) = end else { continue };
        let mut own = [0.0; OWN];
        own[double::LEVEL_CHANGE] = apart / height;
        own[double::LEVEL_DIFFERENCE] = apart.abs() / height;
        own[double::FIRST_HALF] = first_half;
        own[double::OFF_MIDDLE] = uneven;
        own[double::BEYOND_TURNS] = under / height;
        own[double::BREAKOUT_WAIT] = (end.at - c) as f64 / gap as f64;
        own[double::EARLY_BREAKOUT] = early;
        own[double::TURNS_BETWEEN] = (run.len() - 3) as f64 / 2.0;
        own[double::SCALE] = scale.theta;
        own[double::WICK_BEYOND] = (prices.top(c, end.at) - peak.price) / height;
        own[double::TOLERANCE_USED] = (apart.abs() / height / 0.15).max(uneven / UNEVEN);
        own[double::TREND_BEFORE] = fall;
        found.push(&bottom(
            CandidateKind::Double,
            turns,
            end,
            (Line::level(peak.price), lowest),
            height,
            own,
        ));
    }
}

fn head_and_shoulders(prices: &LogPrices, run: &[Pivot], found: &mut Candidates<'_>) {
    let (first, last) = (run[0], run[4]);
    let (a, c) = (first.at as usize, last.at as usize);
    let gap = c - a;
    if !(7..=110).contains(&gap) {
        return;
    }
    let [left, neck, head, nape, right] = [0, 1, 2, 3, 4].map(|k| run[k].price);
    let neckline = Line::through((run[1].x(first.at), neck), (run[3].x(first.at), nape));
    let height = neckline.at(run[2].x(first.at)) - head;
    let mean = f64::midpoint(neck, nape) - head;
    if height <= 0.8 * prices.range[c]
        || mean <= 0.8 * prices.range[c]
        || left.min(right) - head <= 0.08 * height
    {
        return;
    }
    let shoulder = [
        neckline.at(0.0) - left,
        neckline.at(run[4].x(first.at)) - right,
    ]
    .map(|deep| deep / height);
    if shoulder.iter().any(|deep| *deep <= 0.05) || (left - right).abs() >= 0.8 * height {
        return;
    }
    let fall = fall(prices, a, neck.min(nape)) / height;
    if fall < FALL_LEAST {
        return;
    }
    let floor = left.min(right) - 0.35 * height;
    let patience = (0.9 * gap as f64) as usize + 3;
    let uneven = (run[2].x(first.at) / gap as f64 - 0.5).abs();
    let outer = run[3].x(run[1].at) / gap as f64;
    let mut before = usize::MAX;
    for (level, line) in [(0.0, neckline), (1.0, Line::level(nape))] {
        let Some(end) = end(prices, c + 1, c + patience, floor, |at| {
            line.at((at - a) as f64)
        }) else {
            continue;
        };
        if end.at == before {
            continue;
        }
        before = end.at;
        let mut own = [0.0; OWN];
        own[head_and_shoulders::SHOULDER_CHANGE] = (left - right) / height;
        own[head_and_shoulders::SHOULDER_DIFFERENCE] = (left - right).abs() / height;
        own[head_and_shoulders::NECKLINE_SLOPE] = (nape - neck) / height;
        own[head_and_shoulders::NECKLINE_TILT] = (nape - neck).abs() / height;
        own[head_and_shoulders::HEAD_BEYOND_SHOULDERS] = (left.min(right) - head) / height;
        own[head_and_shoulders::OFF_MIDDLE] = uneven;
        own[head_and_shoulders::HEAD_TIME] = outer;
        own[head_and_shoulders::BREAKOUT_WAIT] = (end.at - c) as f64 / gap as f64;
        own[head_and_shoulders::LEVEL_NECKLINE] = level;
        own[head_and_shoulders::WICK_BEYOND] =
            (prices.top(c, end.at) - neckline.at((end.at - a) as f64)) / height;
        own[head_and_shoulders::SMALLER_SHOULDER] = shoulder[0].min(shoulder[1]);
        own[head_and_shoulders::LARGER_SHOULDER] = shoulder[0].max(shoulder[1]);
        own[head_and_shoulders::TOLERANCE_USED] = (own[head_and_shoulders::SHOULDER_DIFFERENCE]
            / 0.22)
            .max(own[head_and_shoulders::NECKLINE_TILT] / 0.25)
            .max(uneven / UNEVEN)
            .max(tolerance_used(
                own[head_and_shoulders::HEAD_BEYOND_SHOULDERS],
                0.12,
                0.25,
            ))
            .max(tolerance_used(
                own[head_and_shoulders::SMALLER_SHOULDER],
                0.28,
                0.4,
            ))
            .max(tolerance_used(
                own[head_and_shoulders::LARGER_SHOULDER],
                0.92,
                0.8,
            ));
        own[head_and_shoulders::TREND_BEFORE] = fall;
        found.push(&bottom(
            CandidateKind::HeadAndShoulders,
            Turns::of(run),
            end,
            (line, head),
            height,
            own,
        ));
    }
}

fn triple(prices: &LogPrices, run: &[Pivot], found: &mut Candidates<'_>) {
    let (first, last) = (run[0], run[4]);
    let (a, c) = (first.at as usize, last.at as usize);
    let gap = c - a;
    if !(8..=110).contains(&gap) {
        return;
    }
    let lows = [run[0].price, run[2].price, run[4].price];
    let (lowest, highest_low) = (
        lows.iter().copied().fold(f64::MAX, f64::min),
        lows.iter().copied().fold(f64::MIN, f64::max),
    );
    let (peak, lower_peak) = (
        run[1].price.max(run[3].price),
        run[1].price.min(run[3].price),
    );
    let height = peak - lowest;
    if height <= prices.range[c]
        || highest_low - lowest > 0.35 * height
        || peak - lower_peak > 0.45 * height
    {
        return;
    }
    let fall = fall(prices, a, peak) / height;
    if fall < FALL_LEAST {
        return;
    }
    let Some(end) = end(
        prices,
        c + 1,
        c + gap / 2 + 5,
        lowest - 0.1 * height,
        |_| peak,
    ) else {
        return;
    };
    let mut own = [0.0; OWN];
    own[triple::LEVEL_DIFFERENCE] = (highest_low - lowest) / height;
    own[triple::BETWEEN_DIFFERENCE] = (peak - lower_peak) / height;
    own[triple::OFF_MIDDLE] = (run[2].x(first.at) / gap as f64 - 0.5).abs();
    own[triple::MIDDLE_AGAINST_OUTER] = (lows[1] - f64::midpoint(lows[0], lows[2])) / height;
    own[triple::BREAKOUT_WAIT] = (end.at - c) as f64 / gap as f64;
    own[triple::WICK_BEYOND] = (prices.top(c, end.at) - peak) / height;
    own[triple::TOLERANCE_USED] =
        (own[triple::LEVEL_DIFFERENCE] / 0.2).max(own[triple::BETWEEN_DIFFERENCE] / 0.25);
    own[triple::TREND_BEFORE] = fall;
    found.push(&bottom(
        CandidateKind::Triple,
        Turns::of(run),
        end,
        (Line::level(peak), lowest),
        height,
        own,
    ));
}
