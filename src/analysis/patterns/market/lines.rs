//! Candidate search for patterns between two lines: rectangles, channels, wedges, triangles, broadening formations. Fits two lines to runs
//! of turns; their slopes give the kind.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, TapeTurns, strain},
    pivots::{PivotScale, TapePivot},
    search::{CandidateSpan, Candidates},
    series::Tape,
    side::PivotSide,
    zigzag::TURNS_MOST,
};

/// Maximum mean swing, relative to that of a random walk of the same length.
const WIDEST: f64 = 1.15;
/// Maximum number of turns; longer runs appear at a coarser scale with fewer.
const TURNS_LONGEST: usize = TURNS_MOST;

/// All runs of turns at one scale, searched on the upright tape only.
pub(super) fn search(tape: &Tape, scale: &PivotScale, found: &mut Candidates<'_>) {
    let pivots = &scale.pivots;
    let mut sides = [PivotSide::new(-1.0), PivotSide::new(1.0)];
    for start in 0..pivots.len().saturating_sub(3) {
        if !scale.is_new(start, TURNS_LONGEST) {
            continue;
        }
        let first = pivots[start];
        let mut off = 0.0;
        sides.iter_mut().for_each(PivotSide::clear);
        for count in 1..=TURNS_LONGEST {
            let Some(run) = pivots.get(start..start + count) else { break };
            let last = run[count - 1];
            let length = last.at - first.at;
            if length > 120 {
                break;
            }
            sides[usize::from(last.high)].push(last, first.at);
            if count < 3 {
                continue;
            }
            off += swing(&run[count - 3..]);
            if count >= 4 && length >= 6 && scale.is_new(start, count) {
                between(tape, run, &sides, off / (count - 2) as f64, found);
            }
        }
    }
}

/// Vertical distance of the middle of three turns from the straight line between the others.
fn swing(three: &[TapePivot]) -> f64 {
    let share = three[1].x(three[0].at) / three[2].x(three[0].at);
    (three[1].price - three[0].price - share * (three[2].price - three[0].price)).abs()
}

/// Fits two lines to a run whose turns swing by `height` on average.
fn between(tape: &Tape, run: &[TapePivot], sides: &[PivotSide; 2], height: f64, found: &mut Candidates<'_>) {
    let (first, last) = (run[0], run[run.len() - 1]);
    let length = last.x(first.at);
    let range = tape.range[last.at as usize];
    // Chartists draw neither lines that single candles fill, nor swings as wide as those of a random walk of that length.
    let (tall, usual) = (height / range, height / (tape.mean_range(first.at as usize, last.at as usize) * length.sqrt()));
    if tall <= 0.9 || usual > WIDEST {
        return;
    }
    let tolerance = (0.12 * height).max(0.15 * range);
    let [lower, upper] = [sides[0].best(tolerance), sides[1].best(tolerance)];
    let touches = upper.touches + lower.touches;
    let width = |x: f64| upper.line.at(x) - lower.line.at(x);
    let (w0, w1) = (width(0.0), width(length));
    let mean = f64::midpoint(w0, w1);
    if touches < 4 || mean <= range || w0 <= 0.1 * mean || w1 <= 0.05 * mean {
        return;
    }
    let (up, down) = (upper.line.slope * length / mean, lower.line.slope * length / mean);
    let kinds = kinds(up, down, w1 / w0);
    if kinds.iter().all(Option::is_none) {
        return;
    }
    let a = first.at as usize;
    let slack = 0.05 * mean;
    let limit = last.at as usize + (0.6 * length) as usize + 3;
    let end = tape.len() - 1;
    let mut exit = None;
    let (over, under) = (upper.line.intercept + slack, lower.line.intercept - slack);
    let from = last.at as usize + 1;
    let mut x = length;
    for (at, close) in (from..).zip(&tape.close[from..=end.min(limit)]) {
        x += 1.0;
        let is_over = *close > over + upper.line.slope * x;
        if is_over || *close < under + lower.line.slope * x {
            exit = Some((at, true, is_over));
            break;
        }
        // No breakout is possible past the apex.
        if width(x) <= 0.0 {
            return;
        }
    }
    if exit.is_none() && limit > end {
        exit = Some((end, false, !last.high));
    }
    let Some((at, broken, over)) = exit else { return };
    let mut own = [0.0; OWN];
    own[0] = touches as f64;
    own[1] = upper.over.max(lower.over) / mean;
    own[2] = (upper.stray + lower.stray) / run.len() as f64 / mean;
    own[3] = up;
    own[4] = down;
    own[5] = w1 / w0;
    own[6] = run.len() as f64;
    own[7] = f64::from(u8::from(over));
    own[8] = f64::midpoint(up, down).abs();
    own[9] = (up - down).abs();
    let span = CandidateSpan { start: first.at, end: at as u32, broken, height: mean };
    for (kind, flipped) in kinds.into_iter().flatten() {
        let mut own = own;
        if flipped {
            (own[3], own[4], own[7]) = (-down, -up, 1.0 - own[7]);
        }
        own[12] = strained(kind, (own[3], own[4]), w1 / w0);
        let Some(logit) = found.weigh(kind, flipped, span, &own) else { continue };
        let shape = PatternCandidate {
            kind,
            flipped: false,
            turns: TapeTurns::of(run),
            start: first.at,
            end: at as u32,
            broken,
            up: if broken { over } else { expected(tape, kind, flipped, a, last.high) },
            upper: upper.line,
            lower: lower.line,
            height: mean,
            own,
        };
        found.keep(&if flipped { shape.turned() } else { shape }, logit);
    }
}

/// Expected breakout direction while it forms: up for ascending triangles and falling wedges; otherwise the trend before the pattern
/// continues.
fn expected(tape: &Tape, kind: CandidateKind, flipped: bool, start: usize, high: bool) -> bool {
    match kind {
        CandidateKind::LevelTriangle => !flipped,
        CandidateKind::Wedge => flipped,
        _ => {
            let came = tape.close[start] - tape.close[start.saturating_sub(20)];
            if came == 0.0 { !high } else { came > 0.0 }
        }
    }
}

/// The largest fraction used of any textbook tolerance.
fn strained(kind: CandidateKind, (up, down): (f64, f64), narrowing: f64) -> f64 {
    let tilt = f64::midpoint(up, down).abs();
    let parallel = (narrowing.max(1.0 / narrowing) - 1.0) / 0.28;
    let narrows = strain(narrowing, 0.68, 0.5);
    match kind {
        CandidateKind::Rectangle => parallel.max(tilt / 0.2),
        CandidateKind::Channel => parallel.max(strain(tilt, 0.6, 0.9)),
        CandidateKind::LevelTriangle => narrows.max(up.abs() / 0.16).max(strain(down, 0.25, 0.4)),
        CandidateKind::SymmetricalTriangle => narrows.max(strain(up, -0.16, -0.3)).max(strain(down, 0.16, 0.3)),
        CandidateKind::Wedge => narrows.max(strain(up.min(down), 0.16, 0.3)),
        CandidateKind::Broadening => strain(narrowing, 1.5, 1.9).max(strain(up, 0.08, 0.2)).max(strain(down, -0.08, -0.2)),
        _ => 0.0,
    }
}

/// Kinds that two lines may form, and whether upside down, by their rises over the pattern in mean widths.
fn kinds(up: f64, down: f64, narrowing: f64) -> [Option<(CandidateKind, bool)>; 4] {
    let mut kinds = [None; 4];
    let tilt = f64::midpoint(up, down);
    if up.abs() < 0.55 && down.abs() < 0.55 {
        kinds[0] = Some((CandidateKind::Rectangle, tilt < 0.0));
    }
    if up.min(down) > 0.25 || up.max(down) < -0.25 {
        let kind = if (up - down).abs() < 0.7 { CandidateKind::Channel } else { CandidateKind::Wedge };
        // A wedge must narrow along its way.
        if kind == CandidateKind::Channel || narrowing < 0.75 {
            kinds[1] = Some((kind, tilt < 0.0));
        }
        if kind == CandidateKind::Channel && narrowing < 0.72 {
            kinds[3] = Some((CandidateKind::Wedge, tilt < 0.0));
        }
    }
    if narrowing < 0.75 && up < 0.35 && down > -0.35 {
        kinds[2] = Some(if up.abs() < 0.45 * down.abs() {
            (CandidateKind::LevelTriangle, false)
        } else if down.abs() < 0.45 * up.abs() {
            (CandidateKind::LevelTriangle, true)
        } else {
            (CandidateKind::SymmetricalTriangle, tilt < 0.0)
        });
    }
    if narrowing > 1.45 && up > 0.05 && down < -0.05 {
        kinds[3] = Some((CandidateKind::Broadening, tilt < 0.0));
    }
    kinds
}
