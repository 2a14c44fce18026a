//! Patterns between two lines: rectangles, channels, wedges, triangles, broadening formations. Runs of turns are fitted with two
//! lines; how these run gives the names.

use super::{
    candidate::{Candidate, Kind, OWN, Turns, strain},
    pivots::{Pivot, Scale},
    search::Found,
    series::Tape,
    zigzag::TURNS_MOST,
};
use crate::analysis::numeric::Line;

/// The widest lines, in ranges of a random walk as long.
const WIDEST: f64 = 1.15;
/// Longer runs show at a coarser scale with fewer turns.
const TURNS_LONGEST: usize = TURNS_MOST;

/// All runs of turns at one scale, found in the tape as it is.
pub(super) fn search(tape: &Tape, scale: &Scale, found: &mut Found<'_>) {
    let pivots = &scale.pivots;
    for start in 0..pivots.len().saturating_sub(3) {
        let mut off = swing(&pivots[start..start + 3]);
        for count in 4..=TURNS_LONGEST {
            let Some(run) = pivots.get(start..start + count) else { break };
            let length = run[count - 1].at - run[0].at;
            if length > 120 {
                break;
            }
            off += swing(&run[count - 3..]);
            if length >= 6 && scale.is_new(start, count) {
                between(tape, run, off / (count - 2) as f64, found);
            }
        }
    }
}

/// How far the middle one of three turns lies from the straight way between the others.
fn swing(three: &[Pivot]) -> f64 {
    let share = three[1].x(three[0].at) / three[2].x(three[0].at);
    (three[1].price - three[0].price - share * (three[2].price - three[0].price)).abs()
}

/// The turns of one side: candles from the first turn of the run, and prices.
struct Points {
    x: [f64; SIDE_MOST],
    y: [f64; SIDE_MOST],
    count: usize,
}

/// Turns alternate, so half of them are on one side.
const SIDE_MOST: usize = TURNS_MOST / 2;

/// A line through the turns of one side.
#[derive(Clone, Copy)]
struct Side {
    line: Line,
    touches: f64,
    /// The largest way by which a turn is outside.
    over: f64,
    /// The sum of the turns' distances.
    stray: f64,
}

/// The line of the lowest cost among least squares and all pairs. `sign` is 1 for tops and -1 for bottoms.
fn side(points: &Points, sign: f64, tolerance: f64) -> Side {
    let Points { x, y, count } = points;
    let line = match count {
        3 => best::<3>(x, y, sign, tolerance),
        4 => best::<4>(x, y, sign, tolerance),
        5 => best::<5>(x, y, sign, tolerance),
        _ => Line::through((x[0], y[0]), (x[1], y[1])),
    };
    let mut side = Side { line, touches: 0.0, over: 0.0, stray: 0.0 };
    for (x, y) in x.iter().zip(y).take(*count) {
        let off = sign * (y - line.at(*x));
        side.touches += f64::from(u8::from(off.abs() <= tolerance));
        side.over = side.over.max(off);
        side.stray += off.abs();
    }
    side
}

/// In tolerances outward from the first turn, where a distance counts up to three, and thrice as much outside. Of so many points as the
/// type says, so that the loops are laid out flat: this is what the search spends most of its time on.
fn best<const N: usize>(x: &[f64; SIDE_MOST], y: &[f64; SIDE_MOST], sign: f64, tolerance: f64) -> Line {
    let (x, base, scale) = (&x[..N], y[0], sign / tolerance);
    let mut off = [0.0; N];
    for (off, y) in off.iter_mut().zip(y) {
        *off = (y - base) * scale;
    }
    let cost = |slope: f64, intercept: f64| {
        let mut cost = 0.0;
        for k in 0..N {
            let away = off[k] - intercept - slope * x[k];
            let (near, outside) = (away.abs(), away - 1.0);
            cost += if near < 3.0 { near } else { 3.0 };
            cost += if outside > 0.0 { 2.0 * outside } else { 0.0 };
        }
        cost
    };
    let (mut least, mut line) = (f64::MAX, (0.0, 0.0));
    let mut consider = |slope: f64, intercept: f64| {
        let cost = cost(slope, intercept);
        // Lines that miss the same turn by far cost the same: then the first, not the one that rounding favours.
        if cost < least - 1e-9 {
            (least, line) = (cost, (slope, intercept));
        }
    };
    let through = |a: usize, b: usize| {
        let slope = (off[b] - off[a]) / (x[b] - x[a]);
        (slope, off[a] - slope * x[a])
    };
    let (slope, intercept) = through(0, N - 1);
    consider(slope, intercept);
    let (slope, intercept) = least_squares(x, &off);
    consider(slope, intercept);
    for a in 0..N {
        for b in a + 1..N {
            let (slope, intercept) = through(a, b);
            consider(slope, intercept);
        }
    }
    Line { slope: line.0 / scale, intercept: base + line.1 / scale }
}

/// In one pass: there are few points, and they start near 0.
fn least_squares(x: &[f64], y: &[f64]) -> (f64, f64) {
    let (mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    let n = x.len() as f64;
    let slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    (slope, (sy - slope * sx) / n)
}

/// Two lines along a run whose turns swing by `height` on average.
fn between(tape: &Tape, run: &[Pivot], height: f64, found: &mut Found<'_>) {
    let (first, last) = (run[0], run[run.len() - 1]);
    let length = last.x(first.at);
    let range = tape.range[last.at as usize];
    // Chartists draw neither lines that single candles fill nor swings as wide as a random walk's of that length.
    let (tall, usual) = (height / range, height / (tape.mean_range(first.at as usize, last.at as usize) * length.sqrt()));
    if tall <= 0.9 || usual > WIDEST {
        return;
    }
    let tolerance = (0.12 * height).max(0.15 * range);
    let mut sides = [const { Points { x: [0.0; SIDE_MOST], y: [0.0; SIDE_MOST], count: 0 } }; 2];
    for pivot in run {
        let side = &mut sides[usize::from(pivot.high)];
        side.x[side.count] = pivot.x(first.at);
        side.y[side.count] = pivot.price;
        side.count += 1;
    }
    let upper = side(&sides[1], 1.0, tolerance);
    let lower = side(&sides[0], -1.0, tolerance);
    let touches = upper.touches + lower.touches;
    let width = |x: f64| upper.line.at(x) - lower.line.at(x);
    let (w0, w1) = (width(0.0), width(length));
    let mean = f64::midpoint(w0, w1);
    if touches < 4.0 || mean <= range || w0 <= 0.1 * mean || w1 <= 0.05 * mean {
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
    for at in last.at as usize + 1..=end.min(limit) {
        let x = (at - a) as f64;
        let (over, under) = (tape.close[at] > upper.line.at(x) + slack, tape.close[at] < lower.line.at(x) - slack);
        if over || under {
            exit = Some((at, true, over));
            break;
        }
        // Past the apex there is nothing to break out of.
        if width(x) <= 0.0 {
            return;
        }
    }
    if exit.is_none() && limit > end {
        exit = Some((end, false, !last.high));
    }
    let Some((at, broken, over)) = exit else { return };
    let mut own = [0.0; OWN];
    own[0] = touches;
    own[1] = upper.over.max(lower.over) / mean;
    own[2] = (upper.stray + lower.stray) / run.len() as f64 / mean;
    own[3] = up;
    own[4] = down;
    own[5] = w1 / w0;
    own[6] = run.len() as f64;
    own[7] = f64::from(u8::from(over));
    own[8] = f64::midpoint(up, down).abs();
    own[9] = (up - down).abs();
    let shape = Candidate {
        kind: Kind::Rectangle,
        flipped: false,
        turns: Turns::of(run),
        start: first.at,
        end: at as u32,
        broken,
        up: over,
        upper: upper.line,
        lower: lower.line,
        height: mean,
        own,
    };
    for (kind, flipped) in kinds.into_iter().flatten() {
        let mut shape = Candidate { kind, ..shape };
        if !broken {
            shape.up = expected(tape, kind, flipped, a, last.high);
        }
        shape.own[12] = strained(kind, if flipped { (-down, -up) } else { (up, down) }, w1 / w0);
        if !flipped {
            found.push(shape);
            continue;
        }
        let mut turned = shape.turned();
        turned.own[3] = -down;
        turned.own[4] = -up;
        turned.own[7] = 1.0 - own[7];
        found.push(turned);
    }
}

/// Where one that has not broken out yet is expected to: rising triangles and falling wedges up, the others on with the trend before.
fn expected(tape: &Tape, kind: Kind, flipped: bool, start: usize, high: bool) -> bool {
    match kind {
        Kind::LevelTriangle => !flipped,
        Kind::Wedge => flipped,
        _ => {
            let came = tape.close[start] - tape.close[start.saturating_sub(20)];
            if came == 0.0 { !high } else { came > 0.0 }
        }
    }
}

/// The worst use of the textbook's tolerances.
fn strained(kind: Kind, (up, down): (f64, f64), narrowing: f64) -> f64 {
    let tilt = f64::midpoint(up, down).abs();
    let parallel = (narrowing.max(1.0 / narrowing) - 1.0) / 0.28;
    let narrows = strain(narrowing, 0.68, 0.5);
    match kind {
        Kind::Rectangle => parallel.max(tilt / 0.2),
        Kind::Channel => parallel.max(strain(tilt, 0.6, 0.9)),
        Kind::LevelTriangle => narrows.max(up.abs() / 0.16).max(strain(down, 0.25, 0.4)),
        Kind::SymmetricalTriangle => narrows.max(strain(up, -0.16, -0.3)).max(strain(down, 0.16, 0.3)),
        Kind::Wedge => narrows.max(strain(up.min(down), 0.16, 0.3)),
        Kind::Broadening => strain(narrowing, 1.5, 1.9).max(strain(up, 0.08, 0.2)).max(strain(down, -0.08, -0.2)),
        _ => 0.0,
    }
}

/// The kinds that two lines may be, and whether upside down: by their rises over the pattern in mean widths.
fn kinds(up: f64, down: f64, narrowing: f64) -> [Option<(Kind, bool)>; 4] {
    let mut kinds = [None; 4];
    let tilt = f64::midpoint(up, down);
    if up.abs() < 0.55 && down.abs() < 0.55 {
        kinds[0] = Some((Kind::Rectangle, tilt < 0.0));
    }
    if up.min(down) > 0.25 || up.max(down) < -0.25 {
        let kind = if (up - down).abs() < 0.7 { Kind::Channel } else { Kind::Wedge };
        // A wedge narrows; one that widens along its way is none.
        if kind == Kind::Channel || narrowing < 0.75 {
            kinds[1] = Some((kind, tilt < 0.0));
        }
        if kind == Kind::Channel && narrowing < 0.72 {
            kinds[3] = Some((Kind::Wedge, tilt < 0.0));
        }
    }
    if narrowing < 0.75 && up < 0.35 && down > -0.35 {
        kinds[2] = Some(if up.abs() < 0.45 * down.abs() {
            (Kind::LevelTriangle, false)
        } else if down.abs() < 0.45 * up.abs() {
            (Kind::LevelTriangle, true)
        } else {
            (Kind::SymmetricalTriangle, tilt < 0.0)
        });
    }
    if narrowing > 1.45 && up > 0.05 && down < -0.05 {
        kinds[3] = Some((Kind::Broadening, tilt < 0.0));
    }
    kinds
}
