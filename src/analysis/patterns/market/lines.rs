//! Patterns between two lines: rectangles, channels, wedges, triangles, broadening formations. Runs of turns are fitted with two
//! lines; how these run gives the names.

use super::{
    candidate::{Candidate, Kind, OWN, TURNS_MOST, Turns, strain},
    pivots::{Pivot, Scale},
    series::Tape,
};
use crate::analysis::numeric::Line;

/// The widest lines, in ranges of a random walk as long.
const WIDEST: f64 = 1.15;
/// Longer runs show at a coarser scale with fewer turns.
const TURNS_LONGEST: usize = TURNS_MOST;

/// All runs of turns at one scale, found in the tape as it is.
pub(super) fn search(tape: &Tape, scale: &Scale, found: &mut Vec<Candidate>) {
    let pivots = &scale.pivots;
    for start in 0..pivots.len().saturating_sub(3) {
        for count in 4..=TURNS_LONGEST {
            let Some(run) = pivots.get(start..start + count) else { break };
            let length = run[count - 1].at - run[0].at;
            if length > 120 {
                break;
            }
            if length >= 6 && scale.is_new(start, count) {
                between(tape, run, found);
            }
        }
    }
}

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

/// How badly turns keep to a line: distances in tolerances, each counted up to three, and thrice as much outside. Given up once it is
/// past `most`.
fn cost(points: &[(f64, f64)], line: Line, sign: f64, tolerance: f64, most: f64) -> f64 {
    let mut cost = 0.0;
    for (x, y) in points {
        let off = sign * (y - line.at(*x)) / tolerance;
        cost += off.abs().min(3.0) + 2.0 * (off - 1.0).max(0.0);
        if cost >= most {
            return f64::MAX;
        }
    }
    cost
}

/// The line of the lowest cost among least squares and all pairs. `sign` is 1 for tops and -1 for bottoms.
fn side(points: &[(f64, f64)], sign: f64, tolerance: f64) -> Side {
    let mut line = Line::through(points[0], points[points.len() - 1]);
    if points.len() > 2 {
        let mut least = cost(points, line, sign, tolerance, f64::MAX);
        let mut consider = |tried: Line| {
            let cost = cost(points, tried, sign, tolerance, least);
            if cost < least {
                (least, line) = (cost, tried);
            }
        };
        consider(least_squares(points));
        for (k, a) in points.iter().enumerate() {
            for b in &points[k + 1..] {
                consider(Line::through(*a, *b));
            }
        }
    }
    let mut side = Side { line, touches: 0.0, over: 0.0, stray: 0.0 };
    for (x, y) in points {
        let off = sign * (y - line.at(*x));
        side.touches += f64::from(u8::from(off.abs() <= tolerance));
        side.over = side.over.max(off);
        side.stray += off.abs();
    }
    side
}

/// In one pass: there are few points, and they start near 0.
fn least_squares(points: &[(f64, f64)]) -> Line {
    let base = points[0].1;
    let (mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0);
    for (x, y) in points {
        let y = y - base;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    let n = points.len() as f64;
    let slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    Line { slope, intercept: base + (sy - slope * sx) / n }
}

fn between(tape: &Tape, run: &[Pivot], found: &mut Vec<Candidate>) {
    let (first, last) = (run[0], run[run.len() - 1]);
    let length = last.x(first.at);
    let range = tape.range[last.at as usize];
    // How far each turn lies from the straight way between its neighbours.
    let mut height = 0.0;
    for three in run.windows(3) {
        let share = three[1].x(three[0].at) / three[2].x(three[0].at);
        height += (three[1].price - three[0].price - share * (three[2].price - three[0].price)).abs();
    }
    height /= (run.len() - 2) as f64;
    // Chartists draw neither lines that single candles fill nor swings as wide as a random walk's of that length.
    let (tall, usual) = (height / range, height / (tape.mean_range(first.at as usize, last.at as usize) * length.sqrt()));
    if tall <= 0.9 || usual > WIDEST {
        return;
    }
    let tolerance = (0.12 * height).max(0.15 * range);
    let mut points = [[(0.0, 0.0); TURNS_MOST]; 2];
    let mut counts = [0; 2];
    for pivot in run {
        let k = usize::from(pivot.high);
        points[k][counts[k]] = (pivot.x(first.at), pivot.price);
        counts[k] += 1;
    }
    let upper = side(&points[1][..counts[1]], 1.0, tolerance);
    let lower = side(&points[0][..counts[0]], -1.0, tolerance);
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
