//! Candidate search for double and triple bottoms and inverse heads and shoulders. Tops are found on the upside-down tape.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, TapeTurns, strain},
    pivots::{PivotScale, TapePivot},
    search::Candidates,
    series::Tape,
};
use crate::analysis::numeric::Line;

/// Offset of the middle turn from the middle at the textbook's limit: halves lasting at most 2.5 times each other.
const UNEVEN: f64 = 2.5 / 3.5 - 0.5;

/// A bottom reverses a fall, so the price must have come from near the line above it: at least this many heights above the line.
const FALL_LEAST: f64 = -0.3;
/// Maximum offset of a double bottom's middle turn from the middle of its duration: neither half lasts longer than four times the other.
const UNEVEN_MOST: f64 = 0.3;

/// All bottoms at one scale of a tape.
pub(super) fn search(tape: &Tape, pivots: &[TapePivot], scale: &PivotScale, found: &mut Candidates<'_>) {
    for start in 0..pivots.len().saturating_sub(2) {
        if pivots[start].high {
            continue;
        }
        for skipped in 0..3 {
            let count = 3 + 2 * skipped;
            if let Some(run) = pivots.get(start..start + count).filter(|_| scale.is_new(start, count)) {
                double(tape, run, scale, found);
            }
        }
        if let Some(run) = pivots.get(start..start + 5).filter(|_| scale.is_new(start, 5)) {
            head_and_shoulders(tape, run, found);
            triple(tape, run, found);
        }
    }
}

/// Breakout of a bottom: the first close above the level, unless a close below the floor or too many candles precede it.
struct Exit {
    at: usize,
    broken: bool,
}

fn exit(tape: &Tape, from: usize, patience: usize, floor: f64, level: impl Fn(usize) -> f64) -> Option<Exit> {
    let last = tape.len() - 1;
    for at in from + 1..=last.min(from + patience) {
        if tape.close[at] > level(at) {
            return Some(Exit { at, broken: true });
        }
        if tape.close[at] < floor {
            return None;
        }
    }
    (from + patience > last).then_some(Exit { at: last, broken: false })
}

/// Highest high before the pattern, back to the last price below its first low, minus the level.
fn fall(tape: &Tape, start: usize, level: f64) -> f64 {
    const FAR: usize = 45;
    let low = tape.low[start];
    let mut highest = tape.high[start];
    for at in (start.saturating_sub(FAR)..start).rev() {
        if tape.low[at] < low {
            break;
        }
        highest = highest.max(tape.high[at]);
    }
    highest - level
}

/// Builds a bottom's candidate between its breakout line and its lowest price.
fn bottom(
    kind: CandidateKind,
    turns: TapeTurns,
    exit: &Exit,
    (upper, lowest): (Line, f64),
    height: f64,
    own: [f64; OWN],
) -> PatternCandidate {
    let (start, end) = (turns.first().at, exit.at as u32);
    PatternCandidate {
        kind,
        flipped: false,
        turns,
        start,
        end,
        broken: exit.broken,
        up: true,
        upper,
        lower: Line::level(lowest),
        height,
        own,
    }
}

fn double(tape: &Tape, run: &[TapePivot], scale: &PivotScale, found: &mut Candidates<'_>) {
    let (first, last) = (run[0], run[run.len() - 1]);
    let (a, c) = (first.at as usize, last.at as usize);
    let gap = c - a;
    if !(4..=90).contains(&gap) {
        return;
    }
    let range = tape.range[c];
    let peak = run.iter().filter(|pivot| pivot.high).fold(run[1], |best, pivot| if pivot.price > best.price { *pivot } else { best });
    let height = peak.price - f64::midpoint(first.price, last.price);
    let apart = last.price - first.price;
    if height <= range || apart.abs() >= 0.45 * height {
        return;
    }
    let lowest = first.price.min(last.price);
    let under = lowest - tape.bottom(a, c);
    if under > 0.15 * height {
        return;
    }
    let floor = lowest - 0.1 * height;
    let patience = (1.6 * gap as f64) as usize + 3;
    let turns = TapeTurns::of(&[first, peak, last]);
    let first_half = peak.x(first.at) / gap as f64;
    let uneven = (first_half - 0.5).abs();
    let fall = fall(tape, a, peak.price) / height;
    if uneven > UNEVEN_MOST || fall < FALL_LEAST {
        return;
    }
    let mut before = usize::MAX;
    for (early, level) in [(0.0, peak.price), (1.0, peak.price - 0.15 * height)] {
        let Some(exit) = exit(tape, c, patience, floor, |_| level) else { continue };
        if exit.at == before || !exit.broken && (early > 0.0 || tape.close[exit.at] < last.price + 0.4 * height) {
            continue;
        }
        before = exit.at;
        let mut own = [0.0; OWN];
        own[0] = apart / height;
        own[1] = apart.abs() / height;
        own[2] = first_half;
        own[3] = uneven;
        own[4] = under / height;
        own[5] = (exit.at - c) as f64 / gap as f64;
        own[6] = early;
        own[7] = (run.len() - 3) as f64 / 2.0;
        own[8] = scale.theta;
        own[9] = (tape.top(c, exit.at) - peak.price) / height;
        own[12] = (apart.abs() / height / 0.15).max(uneven / UNEVEN);
        own[13] = fall;
        found.push(&bottom(CandidateKind::Double, turns, &exit, (Line::level(peak.price), lowest), height, own));
    }
}

fn head_and_shoulders(tape: &Tape, run: &[TapePivot], found: &mut Candidates<'_>) {
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
    if height <= 0.8 * tape.range[c] || mean <= 0.8 * tape.range[c] || left.min(right) - head <= 0.08 * height {
        return;
    }
    let shoulder = [neckline.at(0.0) - left, neckline.at(run[4].x(first.at)) - right].map(|deep| deep / height);
    if shoulder.iter().any(|deep| *deep <= 0.05) || (left - right).abs() >= 0.8 * height {
        return;
    }
    let fall = fall(tape, a, neck.min(nape)) / height;
    if fall < FALL_LEAST {
        return;
    }
    let floor = left.min(right) - 0.35 * height;
    let patience = (0.9 * gap as f64) as usize + 3;
    let uneven = (run[2].x(first.at) / gap as f64 - 0.5).abs();
    let outer = run[3].x(run[1].at) / gap as f64;
    let mut before = usize::MAX;
    for (level, line) in [(0.0, neckline), (1.0, Line::level(nape))] {
        let Some(exit) = exit(tape, c, patience, floor, |at| line.at((at - a) as f64)) else { continue };
        if exit.at == before {
            continue;
        }
        before = exit.at;
        let mut own = [0.0; OWN];
        own[0] = (left - right) / height;
        own[1] = (left - right).abs() / height;
        own[2] = (nape - neck) / height;
        own[3] = (nape - neck).abs() / height;
        own[4] = (left.min(right) - head) / height;
        own[5] = uneven;
        own[6] = outer;
        own[7] = (exit.at - c) as f64 / gap as f64;
        own[8] = level;
        own[9] = (tape.top(c, exit.at) - neckline.at((exit.at - a) as f64)) / height;
        own[10] = shoulder[0].min(shoulder[1]);
        own[11] = shoulder[0].max(shoulder[1]);
        own[12] = (own[1] / 0.22)
            .max(own[3] / 0.25)
            .max(uneven / UNEVEN)
            .max(strain(own[4], 0.12, 0.25))
            .max(strain(own[10], 0.28, 0.4))
            .max(strain(own[11], 0.92, 0.8));
        own[13] = fall;
        found.push(&bottom(CandidateKind::HeadAndShoulders, TapeTurns::of(run), &exit, (line, head), height, own));
    }
}

fn triple(tape: &Tape, run: &[TapePivot], found: &mut Candidates<'_>) {
    let (first, last) = (run[0], run[4]);
    let (a, c) = (first.at as usize, last.at as usize);
    let gap = c - a;
    if !(8..=110).contains(&gap) {
        return;
    }
    let lows = [run[0].price, run[2].price, run[4].price];
    let (lowest, highest_low) = (lows.iter().copied().fold(f64::MAX, f64::min), lows.iter().copied().fold(f64::MIN, f64::max));
    let (peak, lower_peak) = (run[1].price.max(run[3].price), run[1].price.min(run[3].price));
    let height = peak - lowest;
    if height <= tape.range[c] || highest_low - lowest > 0.35 * height || peak - lower_peak > 0.45 * height {
        return;
    }
    let fall = fall(tape, a, peak) / height;
    if fall < FALL_LEAST {
        return;
    }
    let Some(exit) = exit(tape, c, gap / 2 + 5, lowest - 0.1 * height, |_| peak) else { return };
    let mut own = [0.0; OWN];
    own[0] = (highest_low - lowest) / height;
    own[1] = (peak - lower_peak) / height;
    own[2] = (run[2].x(first.at) / gap as f64 - 0.5).abs();
    own[3] = (lows[1] - f64::midpoint(lows[0], lows[2])) / height;
    own[4] = (exit.at - c) as f64 / gap as f64;
    own[5] = (tape.top(c, exit.at) - peak) / height;
    own[12] = (own[0] / 0.2).max(own[1] / 0.25);
    own[13] = fall;
    found.push(&bottom(CandidateKind::Triple, TapeTurns::of(run), &exit, (Line::level(peak), lowest), height, own));
}
