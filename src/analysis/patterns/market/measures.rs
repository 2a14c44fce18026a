//! Measures of a candidate: first those common to all kinds, then those of its family. All are dimensionless, in pattern heights, local
//! mean true ranges or fractions of its length, so that they are comparable between tokens.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate},
    search::CandidateSpan,
    series::Tape,
};

/// Number of measures common to all kinds.
const COMMON: usize = 37;
/// Number of all measures of a candidate.
pub const ALL: usize = COMMON + OWN;

/// Labels of the common measures, in a trader's words.
const WORDS: [&str; COMMON] = [
    "length in candles",
    "height in true ranges",
    "height over a random walk's",
    "true range over that at its start",
    "rise 20 candles before, heights",
    "rise 45 candles before, heights",
    "fall 20 candles before, heights",
    "fall 45 candles before, heights",
    "share of closes its legs explain",
    "unevenness of its legs in time",
    "smallest swing in heights",
    "time after last turn, lengths",
    "close past boundary, true ranges",
    "last candle's body, true ranges",
    "best move 10 candles on, heights",
    "worst move 10 candles on, heights",
    "best move 25 candles on, heights",
    "time since so extreme, lengths",
    "start off the extreme, heights",
    "closes' way over the legs'",
    "net move in heights",
    "mean close, 1st sixth, of range",
    "mean close, 2nd sixth, of range",
    "mean close, 3rd sixth, of range",
    "mean close, 4th sixth, of range",
    "mean close, 5th sixth, of range",
    "mean close, last sixth, of range",
    "still forming",
    "true range, 2nd half over 1st",
    "span's range in heights",
    "smallest swing in true ranges",
    "close before start, of range",
    "last turn off extreme, heights",
    "closes outside its lines",
    "candles before within its lines",
    "candles since the end, up to 25",
    "upside down: the falling form",
];

/// Labels of a kind's own measures.
fn own_words(kind: CandidateKind) -> [&'static str; OWN] {
    match kind {
        CandidateKind::Double => [
            "second turn beyond the first, in heights",
            "difference of the two turns, in heights",
            "share of its time before the middle turn",
            "middle turn off the middle of its time",
            "prices beyond both turns between them, in heights",
            "wait for the breakout, in gaps of the turns",
            "breakout a little early",
            "turns between the two",
            "swing at which it shows, in true ranges",
            "wick beyond the neckline before the breakout, in heights",
            "",
            "",
            "worst use of the textbook's tolerances",
            "trend into it, in heights",
        ],
        CandidateKind::HeadAndShoulders => [
            "left shoulder beyond the right, in heights",
            "difference of the shoulders, in heights",
            "slope of the neckline, in heights",
            "tilt of the neckline, in heights",
            "head beyond the shoulders, in heights",
            "middle turn off the middle of its time",
            "share of its time that the head takes",
            "wait for the breakout, in lengths",
            "level neckline",
            "wick beyond the neckline before the breakout, in heights",
            "smaller shoulder, in heights",
            "larger shoulder, in heights",
            "worst use of the textbook's tolerances",
            "trend into it, in heights",
        ],
        CandidateKind::Triple => [
            "difference of the three turns, in heights",
            "difference of the two turns between, in heights",
            "middle turn off the middle of its time",
            "middle turn against the outer ones, in heights",
            "wait for the breakout, in lengths",
            "wick beyond the boundary before the breakout, in heights",
            "",
            "",
            "",
            "",
            "",
            "",
            "worst use of the textbook's tolerances",
            "trend into it, in heights",
        ],
        CandidateKind::Rounding | CandidateKind::Cup => [
            "right rim over the left, in heights",
            "difference of the rims, in heights",
            "turn off the middle, in lengths",
            "bend of its curve, in heights",
            "share of the spread that a parabola explains",
            "share of its time near the turn",
            "deepest part off the middle, in lengths",
            "closed beyond the left rim",
            "depth of the handle, in heights",
            "handle's time over the cup's",
            "breakout a little early",
            "",
            "worst use of the textbook's tolerances",
            "",
        ],
        CandidateKind::Flag | CandidateKind::Pennant => [
            "pole in true ranges",
            "candles of the pole",
            "flag's time over the pole's",
            "share of the pole that the flag gives back",
            "slope of the flag's outer line, in poles",
            "slope of the flag's inner line, in poles",
            "flag's last width over its first",
            "pole's way over that of its closes",
            "pole over the way of a random walk as long",
            "flag's width in poles",
            "closed beyond the pole's end",
            "candles of the flag",
            "how fast the flag's lines meet, in widths",
            "",
        ],
        _ => [
            "touches of its lines",
            "furthest turn outside its lines, in widths",
            "mean distance of turns from their lines, in widths",
            "rise of the upper line, in widths",
            "rise of the lower line, in widths",
            "last width over the first",
            "turns",
            "broke out upward",
            "slope of both lines, in widths",
            "difference of the lines' slopes, in widths",
            "",
            "",
            "worst use of the textbook's tolerances",
            "",
        ],
    }
}

/// Label of a measure, in a trader's words.
pub(super) fn word(kind: CandidateKind, measure: usize) -> &'static str {
    match measure.checked_sub(COMMON) {
        None => WORDS[measure],
        Some(own) => own_words(kind)[own],
    }
}

/// Number of candles on either side of a turn within which it should be the extreme.
const AROUND: usize = 3;

/// Writes only the cheap measures, by which most candidates are rejected.
pub(super) fn quick(tape: &Tape, flipped: bool, span: CandidateSpan, own: &[f64; OWN], m: &mut [f64; ALL]) {
    let CandidateSpan { start, end, broken, height } = span;
    let (a, b) = (start as usize, end as usize);
    let (length, range) = (f64::from(end - start + 1), tape.range[a]);
    let inside = tape.mean_range(a, b);
    m[0] = length;
    m[1] = height / range;
    m[2] = height / (inside * length.sqrt());
    m[3] = inside / range;
    m[20] = (tape.close[b] - tape.close[a]) / height;
    m[27] = f64::from(u8::from(!broken));
    // Chartists draw more falling flags than rising ones, and more tops.
    m[36] = f64::from(u8::from(flipped));
    m[COMMON..].copy_from_slice(own);
}

/// Whether a measure is one of the cheap ones.
pub fn is_quick(measure: usize) -> bool {
    matches!(measure, 0..=3 | 20 | 27 | 36 | COMMON..)
}

/// All measures, in the orientation of the kind's rising form.
pub(super) fn all(tape: &Tape, candidate: &PatternCandidate) -> [f64; ALL] {
    let mut m = [0.0; ALL];
    most(tape, candidate, &mut m);
    thorough(tape, candidate, &mut m);
    m
}

/// Whether a measure reads every candle.
pub(super) fn is_thorough(measure: usize) -> bool {
    matches!(measure, 8 | 33 | 34)
}

/// Writes all measures except the thorough ones.
pub(super) fn most(tape: &Tape, candidate: &PatternCandidate, m: &mut [f64; ALL]) {
    let PatternCandidate { start, end, broken, height: h, .. } = *candidate;
    quick(tape, candidate.flipped, CandidateSpan { start, end, broken, height: h }, &candidate.own, m);
    let (a, b) = (start as usize, end as usize);
    let turns = candidate.turns.as_slice();
    let last = candidate.turns.last();
    let (length, range) = (candidate.length(), tape.range[a]);
    let (top, bottom) = (tape.top(a, b), tape.bottom(a, b));
    let span = (top - bottom).max(f64::MIN_POSITIVE);
    let from = turns[0].price;
    let ago = |far: usize| a.saturating_sub(far);
    m[4] = (from - tape.bottom(ago(20), a)) / h;
    m[5] = (from - tape.bottom(ago(45), a)) / h;
    m[6] = (tape.top(ago(20), a) - from) / h;
    m[7] = (tape.top(ago(45), a) - from) / h;
    let legs = legs(tape, candidate);
    m[9] = legs.uneven;
    m[10] = legs.smallest / h;
    m[11] = f64::from(candidate.end - last.at) / length;
    let side = if candidate.up { 1.0 } else { -1.0 };
    let level = candidate.level(candidate.end);
    m[12] = side * (tape.close[b] - level) / tape.range[b];
    m[13] = side * (tape.close[b] - tape.close[b - 1]) / tape.range[b];
    (m[14], m[15], m[16]) = (0.0, 0.0, 0.0);
    let after = |far: usize| (b + 1, (b + far).min(tape.len() - 1));
    let (next, until) = after(10);
    if next <= until {
        let (up, down) = ((tape.top(next, until) - tape.close[b]) / h, (tape.close[b] - tape.bottom(next, until)) / h);
        (m[14], m[15]) = if candidate.up { (up, down) } else { (down, up) };
        let (next, until) = after(25);
        m[16] = if candidate.up { tape.top(next, until) - tape.close[b] } else { tape.close[b] - tape.bottom(next, until) } / h;
    }
    m[17] = alone(tape, a, turns[0].high) / length;
    m[18] = off_extreme(tape, a, turns[0].high) / h;
    m[19] = tape.walked(a, b) / legs.way.max(f64::MIN_POSITIVE);
    for k in 0..6 {
        let part = |k: usize| a + (b + 1 - a) * k / 6;
        m[21 + k] = (tape.mean_close(part(k), part(k + 1).max(part(k) + 1) - 1) - bottom) / span;
    }
    let middle = usize::midpoint(a, b);
    m[28] = tape.mean_range(middle, b) / tape.mean_range(a, middle).max(f64::MIN_POSITIVE);
    m[29] = span / h;
    m[30] = legs.smallest / range;
    m[31] = (tape.close[a.saturating_sub(5)] - bottom) / span;
    m[32] = off_extreme(tape, last.at as usize, last.high) / h;
    m[35] = ((tape.len() - 1 - b) as f64).min(25.0);
}

/// Writes the thorough measures: those that read every candle.
pub(super) fn thorough(tape: &Tape, candidate: &PatternCandidate, m: &mut [f64; ALL]) {
    m[8] = explained(tape, candidate);
    (m[33], m[34]) = kept(tape, candidate);
}

struct Legs {
    uneven: f64,
    smallest: f64,
    way: f64,
}

/// Statistics of the straight legs between turns; `way` includes the one from the last turn to the end.
fn legs(tape: &Tape, candidate: &PatternCandidate) -> Legs {
    let turns = candidate.turns.as_slice();
    let last = candidate.turns.last();
    let count = (turns.len() - 1) as f64;
    let even = last.x(turns[0].at) / count;
    let (mut smallest, mut way, mut squares) = (f64::MAX, (tape.close[candidate.end as usize] - last.price).abs(), 0.0);
    for two in turns.windows(2) {
        let leg = (two[1].price - two[0].price).abs();
        smallest = smallest.min(leg);
        way += leg;
        squares += (two[1].x(two[0].at) - even).powi(2);
    }
    Legs { uneven: (squares / count).sqrt() / even.max(0.5), smallest, way }
}

/// Fraction of the closes' variance explained by the straight legs between turns and on to the end (R²).
fn explained(tape: &Tape, candidate: &PatternCandidate) -> f64 {
    let (a, b) = (candidate.start as usize, candidate.end as usize);
    let mean = tape.mean_close(a, b);
    let (mut off, mut scatter) = (0.0, (tape.close[b] - mean).powi(2));
    let mut leg = |from: (usize, f64), to: (usize, f64)| {
        let slope = (to.1 - from.1) / (to.0 - from.0).max(1) as f64;
        for (i, close) in tape.close[from.0..to.0].iter().enumerate() {
            let away = close - from.1 - slope * i as f64;
            off += away * away;
            scatter += (close - mean) * (close - mean);
        }
    };
    for two in candidate.turns.as_slice().windows(2) {
        leg((two[0].at as usize, two[0].price), (two[1].at as usize, two[1].price));
    }
    let last = candidate.turns.last();
    leg((last.at as usize, last.price), (b, tape.close[b]));
    if scatter > 0.0 { (1.0 - off / scatter).clamp(-1.0, 1.0) } else { 0.0 }
}

/// Number of candles before a turn since the price was as extreme, at most 64.
fn alone(tape: &Tape, at: usize, high: bool) -> f64 {
    const FAR: u32 = 64;
    let since = tape.since(at, high);
    f64::from(if since == u32::MAX && at > 32 { at as u32 + 1 } else { since }.min(FAR))
}

fn off_extreme(tape: &Tape, at: usize, high: bool) -> f64 {
    let (from, to) = (at.saturating_sub(AROUND), (at + AROUND).min(tape.len() - 1));
    if high { tape.top(from, to) - tape.high[at] } else { tape.low[at] - tape.bottom(from, to) }
}

/// Fraction of closes between start and last turn that lie outside the lines by more than a tenth of the height, and the number of
/// consecutive candles before the start, at most ten, that lie within them.
fn kept(tape: &Tape, candidate: &PatternCandidate) -> (f64, f64) {
    if matches!(candidate.kind, CandidateKind::Flag | CandidateKind::Pennant | CandidateKind::Rounding | CandidateKind::Cup) {
        return (0.0, 0.0);
    }
    let (a, c) = (candidate.start as usize, candidate.turns.last().at as usize);
    let slack = 0.1 * candidate.height;
    let inside = |at: usize| {
        let x = at as f64 - a as f64;
        tape.close[at] <= candidate.upper.at(x) + slack && tape.close[at] >= candidate.lower.at(x) - slack
    };
    let outside = (a..=c).filter(|at| !inside(*at)).count() as f64 / (c - a + 1) as f64;
    let before = (1..=10.min(a)).take_while(|k| inside(a - k)).count() as f64;
    (outside, before)
}
