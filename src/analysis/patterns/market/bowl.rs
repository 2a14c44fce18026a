//! Candidate search for cups with a handle and rounding bottoms. Their mirrored forms are found on the upside-down tape.

use super::{
    candidate::{CandidateKind, OWN, PatternCandidate, TapeTurns, strain},
    pivots::{PivotScale, TapePivot},
    search::Candidates,
    series::Tape,
};
use crate::analysis::numeric::Line;

/// Number of segments a bowl is divided into to fit its curve.
const PARTS: usize = 12;
/// Maximum number of turns in which the right rim is searched for.
const TURNS: usize = 12;

/// All bowls at one pivot scale of a tape.
pub(super) fn search(tape: &Tape, pivots: &[TapePivot], scale: &PivotScale, found: &mut Candidates<'_>) {
    if scale.theta < 1.4 {
        return;
    }
    for start in 0..pivots.len() {
        let rim = pivots[start];
        if !rim.high {
            continue;
        }
        let mut low = None::<TapePivot>;
        let mut passed = false;
        for next in &pivots[start + 1..pivots.len().min(start + 1 + TURNS)] {
            if !next.high {
                if low.is_none_or(|low| next.price < low.price) {
                    low = Some(*next);
                }
                // Tries the next high as the right rim.
                continue;
            }
            let Some(low) = low else { continue };
            if next.at - rim.at > 115 {
                break;
            }
            bowl(tape, rim, low, *next, found);
            if next.price > rim.price + 0.5 * (rim.price - low.price) {
                passed = true;
                break;
            }
        }
        if let (Some(low), false) = (low, passed) {
            live(tape, rim, low, found);
        }
    }
}

/// A bowl that has risen again without a turn, up to the last candle.
fn live(tape: &Tape, rim: TapePivot, low: TapePivot, found: &mut Candidates<'_>) {
    let last = tape.len() - 1;
    if last - rim.at as usize > 115 || (low.at as usize) + 2 >= last {
        return;
    }
    if tape.close[last] > low.price + 0.6 * (rim.price - low.price) {
        let price = tape.high[last];
        bowl(tape, rim, low, TapePivot { at: last as u32, price, high: true }, found);
    }
}

struct Curve {
    bend: f64,
    fit: f64,
    low: f64,
    deepest: f64,
}

/// Least-squares parabola through the mean closes of twelve equal segments.
fn curve(tape: &Tape, a: usize, b: usize) -> Curve {
    let length = (b - a + 1) as f64;
    let mut parts = [0.0; PARTS];
    for (k, part) in parts.iter_mut().enumerate() {
        let from = a + (length * k as f64 / PARTS as f64) as usize;
        let to = (a + (length * (k + 1) as f64 / PARTS as f64) as usize).max(from + 1) - 1;
        *part = tape.mean_close(from, to.min(b));
    }
    let mean = parts.iter().sum::<f64>() / PARTS as f64;
    let middle = (PARTS - 1) as f64 / 2.0;
    let (mut s2, mut s4) = (0.0, 0.0);
    for k in 0..PARTS {
        let u = (k as f64 - middle) / middle;
        s2 += u * u;
        s4 += u.powi(4);
    }
    let flat = s2 / PARTS as f64;
    let (mut yy, mut y1, mut y2) = (0.0, 0.0, 0.0);
    for (k, part) in parts.iter().enumerate() {
        let (u, y) = ((k as f64 - middle) / middle, part - mean);
        yy += y * y;
        y1 += u * y;
        y2 += (u * u - flat) * y;
    }
    let q2 = s4 - flat * s2;
    let bend = y2 / q2;
    let fit = if yy > 0.0 { (y1 * y1 / s2 + y2 * y2 / q2) / yy } else { 0.0 };
    let (lowest, highest) = parts.iter().fold((f64::MAX, f64::MIN), |(low, high), part| (low.min(*part), high.max(*part)));
    let low = parts.iter().filter(|part| **part < lowest + 0.4 * (highest - lowest)).count() as f64 / PARTS as f64;
    let place = parts.iter().position(|part| *part == lowest).unwrap_or(0) as f64 / (PARTS - 1) as f64;
    Curve { bend, fit, low, deepest: place }
}

fn bowl(tape: &Tape, rim: TapePivot, low: TapePivot, right: TapePivot, found: &mut Candidates<'_>) {
    let (a, c) = (rim.at as usize, right.at as usize);
    let length = c - a;
    let height = f64::midpoint(rim.price, right.price) - low.price;
    let range = tape.range[low.at as usize];
    if length < 10 || height <= 1.6 * range {
        return;
    }
    let place = low.x(rim.at) / length as f64;
    if !(0.12..=0.88).contains(&place) {
        return;
    }
    let apart = (right.price - rim.price) / height;
    if !(-0.55..=0.8).contains(&apart) {
        return;
    }
    let up = Way { tape, rim, low, right, height, apart, place };
    // If the right side rises above the left rim, the bowl ends at the first close above it; if it turns below, at the first close near the
    // lower rim.
    let first_over = |level: f64| (low.at as usize + 1..=c).find(|&at| tape.close[at] > level);
    let over = first_over(rim.price);
    let lower_rim = rim.price.min(right.price) - 0.1 * height;
    let live = c == tape.len() - 1;
    match (over, live) {
        (Some(at), _) => up.rounding(at, true, rim.price, found),
        (None, true) => up.rounding(c, false, rim.price, found),
        (None, false) => {
            if let Some(at) = first_over(lower_rim) {
                up.rounding(at, true, lower_rim, found);
            }
        }
    }
    if over.is_none_or(|at| at + 1 >= c) && apart.abs() < 0.5 {
        up.cup(found);
    }
}

/// A decline from the left rim to the low and the rise to the right rim.
struct Way<'a> {
    tape: &'a Tape,
    rim: TapePivot,
    low: TapePivot,
    right: TapePivot,
    height: f64,
    /// Right rim minus left rim, in heights.
    apart: f64,
    /// Position of the low between the rims, 0 to 1.
    place: f64,
}

impl Way<'_> {
    /// Measures shared by both kinds; `None` if the shape is no bowl.
    fn measures(&self, end: usize) -> Option<[f64; OWN]> {
        let a = self.rim.at as usize;
        let curve = curve(self.tape, a, end);
        if end - a < 10 || curve.bend <= 0.0 || curve.fit < 0.25 {
            return None;
        }
        let mut own = [0.0; OWN];
        own[0] = self.apart;
        own[1] = self.apart.abs();
        own[2] = (self.place - 0.5).abs();
        own[3] = curve.bend / self.height;
        own[4] = curve.fit;
        own[5] = curve.low;
        own[6] = (curve.deepest - 0.5).abs();
        own[12] = (own[1] / 0.17).max(own[2] / 0.25).max(strain(own[4], 0.85, 0.95)).max(strain(own[5], 0.5, 0.6));
        Some(own)
    }

    fn candidate(
        &self,
        kind: CandidateKind,
        turns: &[TapePivot],
        (end, broken): (usize, bool),
        level: f64,
        own: [f64; OWN],
    ) -> PatternCandidate {
        PatternCandidate {
            kind,
            flipped: false,
            turns: TapeTurns::of(turns),
            start: self.rim.at,
            end: end as u32,
            broken,
            up: true,
            upper: Line::level(level),
            lower: Line::level(self.low.price),
            height: self.height,
            own,
        }
    }

    fn rounding(&self, end: usize, broken: bool, level: f64, found: &mut Candidates<'_>) {
        let Some(mut own) = self.measures(end) else { return };
        own[7] = f64::from(u8::from(broken && level >= self.rim.price));
        let end_turn = TapePivot { at: end as u32, price: self.tape.high[end], high: true };
        found.push(&self.candidate(CandidateKind::Rounding, &[self.rim, self.low, end_turn], (end, broken), level, own));
    }

    fn cup(&self, found: &mut Candidates<'_>) {
        let (tape, c, height) = (self.tape, self.right.at as usize, self.height);
        let Some(own) = self.measures(c) else { return };
        let length = self.right.x(self.rim.at);
        let last = tape.len() - 1;
        let limit = last.min(c + (0.6 * length) as usize + 4);
        let mut handle = c;
        let levels = [self.right.price, self.rim.price.max(self.right.price) - 0.1 * height];
        let mut done = [false; 2];
        let mut before = usize::MAX;
        for at in c + 1..=limit {
            if handle == c || tape.low[at] < tape.low[handle] {
                handle = at;
            }
            let depth = (self.right.price - tape.low[handle]) / height;
            if depth > 0.65 || done[0] && done[1] {
                return;
            }
            for (k, level) in levels.iter().enumerate() {
                let broken = tape.close[at] > *level;
                let live = at == last && k == 0 && !broken && tape.close[at] > tape.low[handle];
                if done[k] || !(broken || live) || at < c + 2 {
                    continue;
                }
                done[k] = true;
                if depth < 0.06 || before == at {
                    continue;
                }
                before = at;
                let mut own = own;
                own[8] = depth;
                own[9] = (at - c) as f64 / length;
                own[10] = k as f64;
                own[12] = own[12].max(strain(depth, 0.55, 0.4)).max(strain(depth, 0.08, 0.12));
                let turns = [self.rim, self.low, self.right, TapePivot { at: handle as u32, price: tape.low[handle], high: false }];
                found.push(&self.candidate(CandidateKind::Cup, &turns, (at, broken), *level, own));
            }
        }
    }
}
