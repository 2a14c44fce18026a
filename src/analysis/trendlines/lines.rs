//! The search for the line under the lows, and, on negated highs, the one over the highs. Wicks may cross it, closes may not.

use std::cmp::Ordering;

use super::{hull::Hull, pivots, window::Window};
use crate::analysis::numeric::Line;

/// Three touches make a line: two only draw one.
pub(super) const TOUCHES_MODERATE: usize = 3;
pub(super) const TOUCHES_STRONG: usize = 4;

/// The window as seen from below: what a line must stay under.
pub(super) struct Side<'a> {
    x: &'a [f64],
    tip: Vec<f64>,
    close: Vec<f64>,
    /// 1 for support; −1 for resistance, whose prices are negated.
    pub(super) sign: f64,
}

impl<'a> Side<'a> {
    pub(super) fn support(window: &'a Window) -> Self {
        Self { x: &window.x, tip: window.low.clone(), close: window.close.clone(), sign: 1.0 }
    }

    pub(super) fn resistance(window: &'a Window) -> Self {
        let negated = |prices: &[f64]| prices.iter().map(|price| -price).collect();
        Self { x: &window.x, tip: negated(&window.high), close: negated(&window.close), sign: -1.0 }
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

/// What makes one line better than another: most touches, then the widest span of them, then the closest fit.
#[derive(Clone, Copy)]
struct Merit {
    touches: u32,
    span: f64,
    error: f64,
}

impl Merit {
    const NONE: Self = Self { touches: 0, span: 0.0, error: f64::INFINITY };

    fn beats(self, other: Self) -> bool {
        let order = self.touches.cmp(&other.touches).then(self.span.total_cmp(&other.span)).then(other.error.total_cmp(&self.error));
        order == Ordering::Greater
    }
}

/// The best line through two pivots that no close is beyond; where there is none, the hull's edge over the middle.
pub(super) fn find(side: &Side, tolerance: f64) -> Found {
    let search = Search::new(side, tolerance);
    match search.best_pair() {
        Some(line) => search.refined(line),
        None => search.edge(),
    }
}

struct Search<'a> {
    side: &'a Side<'a>,
    tolerance: f64,
    bars: Vec<usize>,
    pivots: Vec<usize>,
    closes: Hull,
}

impl<'a> Search<'a> {
    fn new(side: &'a Side<'a>, tolerance: f64) -> Self {
        let bars = pivots::bars(&side.tip);
        let pivots = pivots::pivots(&side.tip, &bars);
        let closes = Hull::below(side.points(&side.close));
        Self { side, tolerance, bars, pivots, closes }
    }

    fn point(&self, at: usize) -> (f64, f64) {
        (self.side.x[at], self.side.tip[at])
    }

    fn best_pair(&self) -> Option<Line> {
        let apart = (self.side.x.len() as f64 / 5.0).max(3.0);
        let mut best = (Merit::NONE, None);
        for (k, &first) in self.pivots.iter().enumerate() {
            for &second in &self.pivots[k + 1..] {
                let (a, b) = (self.point(first), self.point(second));
                if b.0 - a.0 < apart {
                    continue;
                }
                let line = Line::through(a, b);
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

    fn merit(&self, line: Line) -> Merit {
        let (mut touches, mut first, mut last, mut sum) = (0_u32, 0.0, 0.0, 0.0);
        for &pivot in &self.pivots {
            let (x, tip) = self.point(pivot);
            let error = (tip - line.at(x)).abs();
            if error <= self.tolerance {
                first = if touches == 0 { x } else { first };
                (touches, last, sum) = (touches + 1, x, sum + error);
            }
        }
        Merit { touches, span: last - first, error: sum / f64::from(touches.max(1)) }
    }

    fn touches(&self, line: Line) -> Vec<(usize, f64)> {
        let near = |&(x, tip): &(f64, f64)| (tip - line.at(x)).abs() <= self.tolerance;
        self.pivots.iter().filter(|&&at| near(&self.point(at))).map(|&at| (at, self.side.tip[at])).collect()
    }

    /// At most 3 % of the tips, or one, are beyond the line. Counted on the bars first, which is cheap where they are few.
    fn few_wicks_beyond(&self, line: Line) -> bool {
        let few = |places: &mut dyn Iterator<Item = usize>, of: usize| {
            let most = (of * 3 / 100).max(1);
            places.filter(|&at| self.side.tip[at] < line.at(self.side.x[at]) - self.tolerance).nth(most).is_none()
        };
        let n = self.side.x.len();
        few(&mut self.bars.iter().copied(), self.bars.len()) && (self.bars.len() == n || few(&mut (0..n), n))
    }

    fn permits(&self, line: Line) -> bool {
        self.closes.clearance(line) >= -self.tolerance && self.few_wicks_beyond(line)
    }

    /// Least squares through the touches, where that is a line by the same rules.
    fn refined(&self, line: Line) -> Found {
        let touches = self.touches(line);
        let fit = Line::least_squares(touches.iter().map(|&(at, _)| self.point(at)));
        Found { line: if touches.len() > 2 && self.permits(fit) { fit } else { line }, touches }
    }

    fn edge(&self) -> Found {
        let x = self.side.x;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let Some([a, b]) = Hull::below(self.side.points(&self.side.tip)).edge_over(mean) else {
            return Found { line: Line::default(), touches: Vec::new() };
        };
        let line = Line::through(a, b);
        let mut touches = self.touches(line);
        for end in [a, b] {
            let at = x.partition_point(|&x| x < end.0);
            touches.push((at, end.1));
        }
        touches.sort_by_key(|&(at, _)| at);
        touches.dedup_by_key(|&mut (at, _)| at);
        Found { line, touches }
    }
}
