//! Candidate search for bull flags and pennants: a consolidation after a steep rise. Bear flags are found on the upside-down tape.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, TapeTurns},
    pivots::TapePivot,
    search::Candidates,
    series::Tape,
};
use crate::analysis::numeric::Line;

const POLE_LONGEST: usize = 22;
const FLAG_SHORTEST: usize = 4;
const FLAG_LONGEST: usize = 31;

/// All flags of a tape. `tops` are the indices of high turns at any scale, ascending.
pub(super) fn search(tape: &Tape, tops: &[u32], found: &mut Candidates<'_>) {
    for top in tops {
        let feet = feet(tape, *top as usize);
        if !feet.is_empty() {
            flags(tape, *top as usize, &feet, found);
        }
    }
}

/// Candidate start points of the pole.
fn feet(tape: &Tape, top: usize) -> Vec<usize> {
    let high = tape.high[top];
    let least = 2.2 * tape.range[top];
    let from = top.saturating_sub(POLE_LONGEST);
    let lowest = |far: usize| (top.saturating_sub(far).max(from)..top).min_by(|a, b| tape.low[*a].total_cmp(&tape.low[*b]));
    let steepness = |at: usize| (high - tape.low[at]) / ((top - at) as f64 + 2.0).sqrt();
    let steepest = (top.saturating_sub(14)..top).max_by(|a, b| steepness(*a).total_cmp(&steepness(*b)));
    let mut feet = Vec::new();
    for foot in [lowest(3), lowest(6), lowest(10), lowest(POLE_LONGEST), steepest].into_iter().flatten() {
        // No high between the foot and the top exceeds the top.
        if high - tape.low[foot] > least && !feet.contains(&foot) && tape.top(foot, top) <= high {
            feet.push(foot);
        }
    }
    feet
}

/// Incremental least squares.
#[derive(Default, Clone, Copy)]
struct Running {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Running {
    fn add(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    fn line(&self) -> Line {
        let spread = self.n * self.xx - self.x * self.x;
        let slope = if spread > 0.0 { (self.n * self.xy - self.x * self.y) / spread } else { 0.0 };
        Line { slope, intercept: (self.y - slope * self.x) / self.n }
    }
}

fn flags(tape: &Tape, top: usize, feet: &[usize], found: &mut Candidates<'_>) {
    let high = tape.high[top];
    let lowest_foot = feet.iter().map(|foot| tape.low[*foot]).fold(f64::MAX, f64::min);
    let last = tape.len() - 1;
    let (mut highs, mut lows) = (Running::default(), Running::default());
    let mut lowest = f64::MAX;
    let mut breaks = 0;
    for at in top + 1..=last.min(top + FLAG_LONGEST) {
        let x = (at - top) as f64;
        let length = at - top;
        let mut done = false;
        if length >= FLAG_SHORTEST {
            let over = tape.close[at] > high;
            let upper = highs.line();
            let rising = tape.close[at] > tape.close[at - 1];
            let line_broken = rising && tape.close[at] > upper.at(x) && {
                let most = (top + 1..at).map(|k| tape.high[k] - upper.at((k - top) as f64)).fold(0.0, f64::max);
                tape.close[at] > upper.at(x) + 0.8 * most
            };
            let live = at == last;
            if over || line_broken && breaks < 3 || live {
                breaks += usize::from(line_broken || over);
                let broken = over || line_broken;
                emit(tape, top, at, feet, (upper, lows.line()), (lowest, broken, over), found);
                done = over;
            }
        } else if tape.close[at] > high {
            done = true;
        }
        if done {
            return;
        }
        highs.add(x, tape.high[at]);
        lows.add(x, tape.low[at]);
        lowest = lowest.min(tape.low[at]);
        if high - lowest > 0.78 * (high - lowest_foot) {
            return;
        }
    }
}

fn emit(
    tape: &Tape,
    top: usize,
    at: usize,
    feet: &[usize],
    (upper, lower): (Line, Line),
    (lowest, broken, over): (f64, bool, bool),
    found: &mut Candidates<'_>,
) {
    let high = tape.high[top];
    let range = tape.range[at];
    let length = (at - top) as f64;
    let (w0, w1) = (upper.at(1.0) - lower.at(1.0), upper.at(length - 1.0) - lower.at(length - 1.0));
    let low_at = (top + 1..at).min_by(|a, b| tape.low[*a].total_cmp(&tape.low[*b])).unwrap_or(top);
    for foot in feet {
        let pole = high - tape.low[*foot];
        let retrace = (high - lowest) / pole;
        if retrace > 0.75 {
            continue;
        }
        let lasts = (top - foot) as f64;
        let mut own = [0.0; OWN];
        own[0] = pole / range;
        own[1] = lasts;
        own[2] = length / lasts;
        own[3] = retrace;
        own[4] = upper.slope * length / pole;
        own[5] = lower.slope * length / pole;
        own[6] = w1 / w0;
        own[7] = pole / tape.walked(*foot, top).max(pole);
        own[8] = pole / (tape.mean_range(*foot + 1, top) * lasts.sqrt());
        own[9] = f64::midpoint(w0, w1) / pole;
        own[10] = f64::from(u8::from(over));
        own[11] = length;
        own[12] = (upper.slope - lower.slope) * length / f64::midpoint(w0, w1).max(f64::MIN_POSITIVE);
        let pivot = |at: usize, high: bool| TapePivot { at: at as u32, price: if high { tape.high[at] } else { tape.low[at] }, high };
        // Line offsets are counted from the foot.
        let shifted = |line: Line| Line { slope: line.slope, intercept: line.at(-lasts) };
        let shape = PatternCandidate {
            kind: CandidateKind::Flag,
            flipped: false,
            turns: TapeTurns::of(&[pivot(*foot, false), pivot(top, true), pivot(low_at, false)]),
            start: *foot as u32,
            end: at as u32,
            broken,
            up: true,
            upper: shifted(upper),
            lower: shifted(lower),
            height: pole,
            own,
        };
        found.push(&shape);
        if w1 < 0.65 * w0 && upper.slope < 0.0 && lower.slope > 0.0 && length >= 6.0 {
            found.push(&PatternCandidate { kind: CandidateKind::Pennant, ..shape });
        }
    }
}
