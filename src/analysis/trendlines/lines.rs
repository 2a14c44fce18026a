//! The search for the line under the lows, and, on negated highs, the one over the highs. Wicks may cross it, closes may not.

use std::cmp::Ordering;

use super::{
    hull::Hull,
    pivots,
    window::{Measure, Window},
};
use crate::analysis::numeric::Line;

/// Three touches make a line: two only draw one.
pub(super) const TOUCHES_MODERATE: usize = 3;
pub(super) const TOUCHES_STRONG: usize = 4;

/// The window as seen from below: what a line must stay under.
pub(super) struct Side<'a> {
    x: &'a [f64],
    tip: Vec<f64>,
    /// Where the wick begins: the nearer of open and close.
    body: Vec<f64>,
    close: Vec<f64>,
    /// 1 for support; −1 for resistance, whose prices are negated.
    pub(super) sign: f64,
}

impl<'a> Side<'a> {
    pub(super) fn support(window: &'a Window) -> Self {
        let body = window.open.iter().zip(&window.close).map(|(open, close)| open.min(*close)).collect();
        Self { x: &window.x, tip: window.low.clone(), body, close: window.close.clone(), sign: 1.0 }
    }

    pub(super) fn resistance(window: &'a Window) -> Self {
        let negated = |prices: &[f64]| prices.iter().map(|price| -price).collect();
        let body = window.open.iter().zip(&window.close).map(|(open, close)| -open.max(*close)).collect();
        Self { x: &window.x, tip: negated(&window.high), body, close: negated(&window.close), sign: -1.0 }
    }

    fn points<'b>(&'b self, values: &'b [f64]) -> impl Iterator<Item = (f64, f64)> + Clone + 'b {
        self.x.iter().copied().zip(values.iter().copied())
    }
}

/// A line and the tips it rests on: (place among the valid candles, tip), in order of time.
pub(super) struct Found {
    pub(super) line: Line,
    pub(super) touches: Vec<(usize, f64)>,
}

/// What makes one line better than another: most touches, sure ones first, then the widest span of them, then the closest fit.
#[derive(Clone, Copy)]
struct Merit {
    sure: u32,
    touches: u32,
    span: f64,
    error: f64,
}

impl Merit {
    const NONE: Self = Self { sure: 0, touches: 0, span: 0.0, error: f64::INFINITY };

    fn beats(self, other: Self) -> bool {
        let order = self
            .sure
            .cmp(&other.sure)
            .then(self.touches.cmp(&other.touches))
            .then(self.span.total_cmp(&other.span))
            .then(other.error.total_cmp(&self.error));
        order == Ordering::Greater
    }
}

/// The best line through two pivots that no close is beyond; where there is none, the hull's edge over the middle.
pub(super) fn find(side: &Side, measure: Measure) -> Found {
    let mut search = Search::new(side, measure);
    if let Some(line) = search.best_pair() {
        return search.refined(line);
    }
    search.most_wicks = (side.x.len() * envn("MW2", 6) / 100).max(envn("MW3", 3));
    match search.best_pair() {
        Some(line) => search.refined(line),
        None => search.edge(),
    }
}

fn envn(k: &str, d: usize) -> usize {
    std::env::var(k).map_or(d, |v| v.parse().unwrap())
}

/// A turning point of the tips.
struct Pivot {
    x: f64,
    tip: f64,
    at: usize,
    /// Neither at the window's edge, where what lies beyond is unknown, nor a stab.
    sure: bool,
}

struct Search<'a> {
    side: &'a Side<'a>,
    tolerance: f64,
    most_wicks: usize,
    bars: Vec<usize>,
    pivots: Vec<Pivot>,
    closes: Hull,
}

impl<'a> Search<'a> {
    fn new(side: &'a Side<'a>, measure: Measure) -> Self {
        let longest = envn("STAB", 100) as f64 / 100.0 * measure.true_range;
        let stab = |at: usize| side.body[at] - side.tip[at] > longest;
        let n = side.x.len();
        let calm: Vec<f64> = (0..n).map(|at| if stab(at) { side.body[at] } else { side.tip[at] }).collect();
        let bars = pivots::bars(&calm);
        let w = (bars.len() / 20).clamp(2, 6);
        let inner = bars[w.min(bars.len() - 1)]..bars[bars.len().saturating_sub(w + 1)] + 1;
        let pivots = pivots::pivots(&calm, &bars)
            .into_iter()
            .map(|at| Pivot { x: side.x[at], tip: side.tip[at], at, sure: inner.contains(&at) && !stab(at) })
            .collect();
        let closes = Hull::below(side.points(&side.close));
        Self { side, tolerance: measure.tolerance, most_wicks: (n * 3 / 100).max(1), bars, pivots, closes }
    }

    fn best_pair(&self) -> Option<Line> {
        let apart = (self.side.x.len() as f64 / 5.0).max(3.0);
        let mut best = (Merit::NONE, None);
        for (k, first) in self.pivots.iter().enumerate() {
            for second in self.pivots[k + 1..].iter().filter(|second| second.x - first.x >= apart) {
                let line = Line::through((first.x, first.tip), (second.x, second.tip));
                if self.closes.clearance(line) < -self.tolerance {
                    continue;
                }
                let merit = self.merit(line);
                if merit.beats(best.0) && self.few_wicks_beyond(line) {
                    best = (merit, Some(line));
                }
            }
        }
        best.1
    }

    fn touched(&self, line: Line) -> impl Iterator<Item = (&Pivot, f64)> {
        self.pivots.iter().map(move |pivot| (pivot, (pivot.tip - line.at(pivot.x)).abs())).filter(|(_, error)| *error <= self.tolerance)
    }

    fn merit(&self, line: Line) -> Merit {
        let (mut merit, mut first) = (Merit { sure: 0, touches: 0, span: 0.0, error: 0.0 }, None);
        for (pivot, error) in self.touched(line) {
            merit.touches += 1;
            merit.sure += u32::from(pivot.sure);
            merit.span = pivot.x - *first.get_or_insert(pivot.x);
            merit.error += error;
        }
        merit.error /= f64::from(merit.touches.max(1));
        merit
    }

    /// Counted on the bars first, which is cheap where they are few.
    fn few_wicks_beyond(&self, line: Line) -> bool {
        let few = |places: &mut dyn Iterator<Item = usize>| {
            places.filter(|&at| self.side.tip[at] < line.at(self.side.x[at]) - self.tolerance).nth(self.most_wicks).is_none()
        };
        let n = self.side.x.len();
        few(&mut self.bars.iter().copied()) && (self.bars.len() == n || few(&mut (0..n)))
    }

    fn permits(&self, line: Line) -> bool {
        self.closes.clearance(line) >= -self.tolerance && self.few_wicks_beyond(line)
    }

    /// Least squares through the touches, where that is a line by the same rules.
    fn refined(&self, line: Line) -> Found {
        let fit = Line::least_squares(self.touched(line).map(|(pivot, _)| (pivot.x, pivot.tip)).collect::<Vec<_>>().into_iter());
        let touches: Vec<_> = self.touched(line).map(|(pivot, _)| (pivot.at, pivot.tip)).collect();
        Found { line: if touches.len() > 2 && self.permits(fit) { fit } else { line }, touches }
    }

    fn edge(&self) -> Found {
        let x = self.side.x;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let Some([a, b]) = Hull::below(self.side.points(&self.side.tip)).edge_over(mean) else {
            return Found { line: Line::default(), touches: Vec::new() };
        };
        let line = Line::through(a, b);
        let mut touches: Vec<_> = self.touched(line).map(|(pivot, _)| (pivot.at, pivot.tip)).collect();
        for end in [a, b] {
            let at = x.partition_point(|&x| x < end.0);
            touches.push((at, end.1));
        }
        touches.sort_by_key(|&(at, _)| at);
        touches.dedup_by_key(|&mut (at, _)| at);
        Found { line, touches }
    }
}
