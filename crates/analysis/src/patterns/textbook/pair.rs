//! Search for patterns between two lines: triangles, wedges, broadening formations, rectangles and channels. The rules are symmetric, so
//! the upright view is enough.

use super::{
    View, confidence,
    find::{BoundaryLine, tolerance_used},
    name::PatternName as P,
    pivots::Fresh,
    shape::{PatternShape, ShapeScores, evenness, off_the_legs},
    zigzag::{Pivot, Turns},
};
use crate::numeric::Line;

/// Minimum and maximum number of turns.
const LEAST: usize = 5;
const MOST: usize = 8;
/// Rectangles and channels need three turns on each side.
const PARALLEL_LEAST: usize = 6;
/// Minimum mean width, in median true ranges.
const WIDTH_LEAST: f64 = 3.0;
/// A close less than this many widths beyond a line does not count as beyond, since the line was fitted through noisy turns.
pub(super) const SLACK: f64 = 0.02;

/// The following limits are in mean widths. Minimum step between neighboring turns:
const STEP_LEAST: f64 = 0.18;
/// Maximum root-mean-square residual of the turns from their line:
pub(super) const RESIDUAL_MOST: f64 = 0.10;
/// and of a single turn: a mean alone lets the turn before a rectangle bend its line into a triangle's.
const FARTHEST_MOST: f64 = 0.09;
/// Maximum excess of a close beyond a line, between first and last turn:
pub(super) const BEYOND_MOST: f64 = 0.06;
/// and of a wick: a spike right through a line leaves it no boundary.
const WICK_MOST: f64 = 0.25;
/// Maximum distance by which the turn after the last of a broadening pattern may miss its line (between lines that do not widen, missing it
/// is the usual end of the pattern),
const SHORT_MOST: f64 = 0.35;
/// if that turn covered at least this fraction of the way to the line; smaller ones are noise.
const WAY_LEAST: f64 = 0.45;
/// Maximum length of a leg, in mean legs.
const LEG_MOST: f64 = 3.2;
/// Minimum of clarity minus 0.8 residuals.
const CLARITY_LEAST: f64 = 0.5;

/// Two least-squares lines through alternating turns.
pub(super) struct LinePair {
    pub(super) upper: Line,
    pub(super) lower: Line,
    /// Number of bars from the first turn to the last.
    pub(super) length: f64,
    /// Width at the first turn, at the last turn, and their mean.
    pub(super) first: f64,
    pub(super) last: f64,
    pub(super) width: f64,
    /// Root-mean-square residual of the turns from their lines.
    pub(super) residual: f64,
}

impl LinePair {
    /// Returns `None` if the lines cross.
    pub(super) fn through(turns: &[Pivot]) -> Option<Self> {
        Self::by(&SideSums::of(turns), turns)
    }

    /// The same by the sums of the turns.
    fn by(sums: &SideSums, turns: &[Pivot]) -> Option<Self> {
        let origin = turns[0].slot;
        let [(even, off_even), (odd, off_odd)] = sums.lines()?;
        let (upper, lower) = if turns[0].high {
            (even, odd)
        } else {
            (odd, even)
        };
        let length = turns[turns.len() - 1].x(origin);
        let (first, last) = (
            upper.intercept - lower.intercept,
            upper.at(length) - lower.at(length),
        );
        let residual = ((off_even + off_odd) / turns.len() as f64).sqrt();
        (first > 0.0 && last > 0.0).then_some(Self {
            upper,
            lower,
            length,
            first,
            last,
            width: f64::midpoint(first, last),
            residual,
        })
    }

    /// Rise of the line from the first turn to the last, in mean widths.
    pub(super) fn climb(&self, line: Line) -> f64 {
        line.slope * self.length / self.width
    }

    /// Largest residual of a turn from its line.
    fn farthest(&self, turns: &[Pivot]) -> f64 {
        let off = |turn: &Pivot| {
            (turn.price - if turn.high { self.upper } else { self.lower }.at(turn.x(turns[0].slot)))
                .abs()
        };
        turns.iter().map(off).fold(0.0, f64::max)
    }

    /// Whether the turn after the last reversed well before reaching its line: then the line is no boundary of the price.
    fn is_short_of(&self, turns: &[Pivot], next: Pivot) -> bool {
        let line = if next.high { self.upper } else { self.lower }.at(next.x(turns[0].slot));
        let (way, whole) = (
            next.price - turns[turns.len() - 1].price,
            line - turns[turns.len() - 1].price,
        );
        let short = if next.high {
            line - next.price
        } else {
            next.price - line
        };
        short > SHORT_MOST * self.width && way / whole > WAY_LEAST
    }

    pub(super) fn ratio(&self) -> f64 {
        self.last / self.first
    }

    pub(super) fn middle(&self) -> Line {
        Line {
            slope: f64::midpoint(self.upper.slope, self.lower.slope),
            intercept: f64::midpoint(self.upper.intercept, self.lower.intercept),
        }
    }
}

/// Sums of the turns of a run, for least-squares lines through every other one, from the first and from the second.
struct SideSums {
    first: Pivot,
    count: usize,
    sums: [[f64; 6]; 2],
}

impl SideSums {
    fn of(turns: &[Pivot]) -> Self {
        let mut sums = Self {
            first: turns[0],
            count: 0,
            sums: [[0.0; 6]; 2],
        };
        for turn in turns {
            sums.push(*turn);
        }
        sums
    }

    fn push(&mut self, turn: Pivot) {
        let (x, y) = (turn.x(self.first.slot), turn.price - self.first.price);
        for (total, term) in
            self.sums[self.count % 2]
                .iter_mut()
                .zip([1.0, x, y, x * x, x * y, y * y])
        {
            *total += term;
        }
        self.count += 1;
    }

    /// Each line with its residual sum of squares.
    fn lines(&self) -> Option<[(Line, f64); 2]> {
        let fit = |[n, x, y, xx, xy, yy]: [f64; 6]| {
            let (spread, along) = (xx - x * x / n, xy - x * y / n);
            let slope = along / spread;
            let left = (yy - y * y / n - slope * along).max(0.0);
            (n >= 2.0 && spread > 0.0).then(|| {
                (
                    Line {
                        slope,
                        intercept: self.first.price + (y - slope * x) / n,
                    },
                    left,
                )
            })
        };
        Some([fit(self.sums[0])?, fit(self.sums[1])?])
    }
}

/// All patterns between two lines at one pivot scale: through consecutive turns, and through the turns that remain when one pair smaller
/// than its neighbors is skipped. A zigzag with a single threshold cannot ignore the noise in the wide part of a narrowing pattern and yet
/// keep the small swings at its end.
pub(super) fn search(view: View<'_>, pivots: &[Pivot], found: &mut Vec<PatternShape>) {
    let mut fresh = Fresh::new(pivots);
    for start in 0..pivots.len().saturating_sub(LEAST - 1) {
        // A gap skips two more turns.
        if !fresh.is_any(start.saturating_sub(1), start + MOST + 1) {
            continue;
        }
        for gap in 0..MOST - 1 {
            if gap == 0 || is_notch(pivots, start + gap) {
                runs(view, pivots, (start, gap), found);
            }
        }
    }
}

/// Patterns that begin at one turn; with a gap, two turns are skipped before that position.
fn runs(
    view: View<'_>,
    pivots: &[Pivot],
    (start, gap): (usize, usize),
    found: &mut Vec<PatternShape>,
) {
    let mut run = Run::new(pivots[start], start > 0 && pivots[start - 1].fresh);
    let mut previous = start;
    for k in 1..MOST {
        let from = start + k + if gap > 0 && k >= gap { 2 } else { 0 };
        let Some(pivot) = pivots.get(from) else { break };
        run.push(
            *pivot,
            pivots[previous..from].iter().any(|pivot| pivot.fresh),
        );
        previous = from;
        if k + 1 >= LEAST && k >= gap && run.fresh && run.is_hopeful(view.range) {
            // The live extreme is not a confirmed turn yet.
            let next = pivots.get(from + 1).filter(|_| from + 2 < pivots.len());
            found.extend(shape(
                view,
                &run,
                next,
                from + 1 == pivots.len(),
                before(pivots, start),
            ));
        }
    }
}

/// A run of turns, with cheap checks that reject patterns early.
pub(super) struct Run {
    pub(super) turns: Turns,
    sums: SideSums,
    fresh: bool,
    smallest: f64,
    longest: f64,
    squares: f64,
}

impl Run {
    pub(super) fn new(first: Pivot, fresh: bool) -> Self {
        Self {
            turns: Turns::of(&[first]),
            sums: SideSums::of(&[first]),
            fresh,
            smallest: f64::MAX,
            longest: 0.0,
            squares: 0.0,
        }
    }

    pub(super) fn push(&mut self, pivot: Pivot, fresh: bool) {
        let last = self.turns.last();
        let bars = pivot.x(last.slot);
        self.smallest = self.smallest.min((pivot.price - last.price).abs());
        self.longest = self.longest.max(bars);
        self.squares += bars * bars;
        self.fresh |= fresh;
        self.turns.push(pivot);
        self.sums.push(pivot);
    }

    fn is_hopeful(&self, range: f64) -> bool {
        let turns = self.turns.as_slice();
        let legs = (turns.len() - 1) as f64;
        let mean = self.turns.last().x(turns[0].slot) / legs;
        let even = 1.0 - (self.squares / legs / (mean * mean) - 1.0).max(0.0).sqrt();
        self.longest <= LEG_MOST * mean
            && confidence::PAIR.may_find(turns.len(), even, self.smallest / range)
    }
}

/// Whether the leg from pivot `k` is smaller than both of its neighbors.
fn is_notch(pivots: &[Pivot], k: usize) -> bool {
    let leg = |k: usize| (pivots[k + 1].price - pivots[k].price).abs();
    k + 2 < pivots.len() && leg(k) < leg(k - 1) && leg(k) < leg(k + 1)
}

/// Price change of the leg into the first turn.
fn before(pivots: &[Pivot], start: usize) -> f64 {
    if start == 0 {
        0.0
    } else {
        pivots[start].price - pivots[start - 1].price
    }
}

fn shape(
    view: View<'_>,
    run: &Run,
    next: Option<&Pivot>,
    live: bool,
    prior: f64,
) -> Option<PatternShape> {
    let turns = run.turns.as_slice();
    let pair = LinePair::by(&run.sums, turns)?;
    let width = pair.width;
    if width < WIDTH_LEAST * view.range || pair.residual > RESIDUAL_MOST * width {
        return None;
    }
    let (name, worst_use) = classify(&pair, turns)?;
    if has_odd_leg(turns, width) {
        return None;
    }
    let widens = matches!(name, P::BroadeningTop | P::BroadeningBottom);
    if widens && next.is_some_and(|next| pair.is_short_of(turns, *next)) {
        return None;
    }
    if live && is_breaking(view, turns) {
        return None;
    }
    if pair.farthest(turns) > FARTHEST_MOST * width {
        return None;
    }
    let clarity = clarity(view, turns, &pair)?;
    let residual = pair.residual / width;
    if clarity - 0.8 * residual < CLARITY_LEAST {
        return None;
    }
    let usually_up = match name {
        P::AscendingTriangle | P::FallingWedge => true,
        P::DescendingTriangle | P::RisingWedge => false,
        _ => prior > 0.0,
    };
    let height = match name {
        P::BroadeningTop | P::BroadeningBottom => pair.last,
        P::Rectangle | P::AscendingChannel | P::DescendingChannel => width,
        _ => pair.first,
    };
    Some(PatternShape {
        name,
        turns: run.turns,
        start: turns[0].at,
        upper: BoundaryLine::Breaks(pair.upper),
        lower: BoundaryLine::Breaks(pair.lower),
        height,
        patience: pair.length / 2.0 + 5.0,
        slack: SLACK * width,
        live,
        usually_up,
        scores: ShapeScores {
            clarity,
            fit: 1.0 - worst_use.max(residual / RESIDUAL_MOST),
            even: evenness(turns),
            prior: (prior.abs() / width).min(1.0),
        },
    })
}

/// Whether some leg is too small or too long beside the others.
pub(super) fn has_odd_leg(turns: &[Pivot], width: f64) -> bool {
    let mean = turns[turns.len() - 1].x(turns[0].slot) / (turns.len() - 1) as f64;
    let is_odd = |leg: &[Pivot]| {
        (leg[1].price - leg[0].price).abs() < STEP_LEAST * width
            || leg[1].x(leg[0].slot) > LEG_MOST * mean
    };
    turns.windows(2).any(is_odd)
}

/// Whether the latest close is beyond the line of the earlier turns on the live turn's side: then that is a breakout, not a turn.
pub(super) fn is_breaking(view: View<'_>, turns: &[Pivot]) -> bool {
    let last = turns[turns.len() - 1];
    let Some(lines) = SideSums::of(&turns[..turns.len() - 1]).lines() else {
        return false;
    };
    let line = lines[(turns.len() - 1) % 2].0;
    let at = view.len() - 1;
    let over = view.close[at] - line.at(f64::from(view.slot[at] - turns[0].slot));
    if last.high { over > 0.0 } else { over < 0.0 }
}

/// Pattern name by slopes and widths, and the largest fraction used of any tolerance.
fn classify(pair: &LinePair, turns: &[Pivot]) -> Option<(P, f64)> {
    const FLAT: f64 = 0.16;
    let (upper, lower, ratio) = (pair.climb(pair.upper), pair.climb(pair.lower), pair.ratio());
    if ratio <= 0.68 {
        let narrowing = tolerance_used(ratio, 0.68, 0.5);
        let (name, worst_use) = match (upper, lower) {
            _ if upper.abs() <= FLAT && lower >= 0.25 => (P::AscendingTriangle, upper.abs() / FLAT),
            _ if lower.abs() <= FLAT && upper <= -0.25 => {
                (P::DescendingTriangle, lower.abs() / FLAT)
            }
            _ if upper < -FLAT && lower > FLAT => (
                P::SymmetricalTriangle,
                tolerance_used(lower.min(-upper), FLAT, 0.3),
            ),
            _ if upper > FLAT && lower > FLAT => (P::RisingWedge, tolerance_used(upper, FLAT, 0.3)),
            _ if upper < -FLAT && lower < -FLAT => {
                (P::FallingWedge, tolerance_used(-lower, FLAT, 0.3))
            }
            _ => return None,
        };
        return Some((name, narrowing.max(worst_use)));
    }
    if ratio >= 1.5 && upper > 0.08 && lower < -0.08 {
        let name = if turns[0].high {
            P::BroadeningTop
        } else {
            P::BroadeningBottom
        };
        return Some((
            name,
            tolerance_used(ratio, 1.5, 2.0).max(tolerance_used(upper.min(-lower), 0.08, 0.2)),
        ));
    }
    if turns.len() < PARALLEL_LEAST || !(0.78..=1.28).contains(&ratio) {
        return None;
    }
    let climb = f64::midpoint(upper, lower);
    let apart = ratio.ln().abs() / 1.28_f64.ln();
    match climb {
        -0.2..=0.2 => Some((P::Rectangle, apart.max(climb.abs() / 0.2))),
        0.6.. => Some((
            P::AscendingChannel,
            apart.max(tolerance_used(climb, 0.6, 0.8)),
        )),
        ..=-0.6 => Some((
            P::DescendingChannel,
            apart.max(tolerance_used(-climb, 0.6, 0.8)),
        )),
        _ => None,
    }
}

/// Fraction of the closes' variance about the middle line that the legs explain; `None` if a close is too far outside. About the middle
/// line, not the mean: relative to the mean, every range with a trend looks like a wedge.
fn clarity(view: View<'_>, turns: &[Pivot], pair: &LinePair) -> Option<f64> {
    let (a, b) = (turns[0].at as usize, turns[turns.len() - 1].at as usize);
    let middle = pair.middle();
    let mut swings = 0.0;
    let (half, narrows) = (
        pair.first / 2.0 + BEYOND_MOST * pair.width,
        (pair.last - pair.first) / 2.0 / pair.length,
    );
    let wick = (WICK_MOST - BEYOND_MOST) * pair.width;
    for at in a..=b {
        let x = f64::from(view.slot[at] - turns[0].slot);
        let (middle, room) = (middle.at(x), half + narrows * x);
        let off = view.close[at] - middle;
        if off.abs() > room || (view.high[at] - middle).max(middle - view.low[at]) > room + wick {
            return None;
        }
        swings += off * off;
    }
    (swings > 0.0).then(|| (1.0 - off_the_legs(view, turns) / swings).clamp(0.0, 1.0))
}
