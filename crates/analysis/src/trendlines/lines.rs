//! Search for the support line under the lows and, on negated highs, the resistance line. Wicks may cross it, closes may not.

use super::{
    pivots::{self, Turn},
    window::{Measure, Window},
};
use crate::numeric::Line;

/// Three touches confirm a line: two always define one.
pub(super) const TOUCHES_MODERATE: usize = 3;
pub(super) const TOUCHES_STRONG: usize = 4;

/// Maximum number of wicks beyond a line: a percentage of the candles, with a minimum.
const WICKS_FIRST: WickAllowance = WickAllowance {
    percent: 3,
    least: 1,
};
/// Second attempt, if the first finds no line with three full touches. On synthetic channels of 60 to 250 candles with three false wicks on
/// each side, it raises the fraction of lines found from 0.80 to 0.97.
const WICKS_SECOND: WickAllowance = WickAllowance {
    percent: 6,
    least: 3,
};
/// A wick longer than this fraction of the median true range is an outlier: its low is not the market's.
const OUTLIER_WICK: f64 = 0.8;
/// Weight of a touch at the window's edge, beyond which the extremes may continue; `OUTLIER_WEIGHT`: of an outlier.
const CLIPPED_WEIGHT: f64 = 0.3;
const OUTLIER_WEIGHT: f64 = 0.1;

#[derive(Clone, Copy)]
struct WickAllowance {
    percent: usize,
    least: usize,
}

impl WickAllowance {
    fn of(self, candles: usize) -> usize {
        (candles * self.percent / 100).max(self.least)
    }
}

/// The window seen from below: the points that a line must stay under.
pub(super) struct PriceSide<'a> {
    x: &'a [f64],
    tip: Vec<f64>,
    /// Start of the lower wick: the nearer of open and close.
    body: Vec<f64>,
    close: Vec<f64>,
    /// 1 for support; −1 for resistance, whose prices are negated.
    pub(super) sign: f64,
}

impl<'a> PriceSide<'a> {
    pub(super) fn support(window: &'a Window) -> Self {
        let body = window
            .open
            .iter()
            .zip(&window.close)
            .map(|(open, close)| open.min(*close))
            .collect();
        Self {
            x: &window.x,
            tip: window.low.clone(),
            body,
            close: window.close.clone(),
            sign: 1.0,
        }
    }

    pub(super) fn resistance(window: &'a Window) -> Self {
        let negated = |prices: &[f64]| prices.iter().map(|price| -price).collect();
        let body = window
            .open
            .iter()
            .zip(&window.close)
            .map(|(open, close)| -open.max(*close))
            .collect();
        Self {
            x: &window.x,
            tip: negated(&window.high),
            body,
            close: negated(&window.close),
            sign: -1.0,
        }
    }

    fn points<'b>(&'b self, values: &'b [f64]) -> impl Iterator<Item = (f64, f64)> + Clone + 'b {
        self.x.iter().copied().zip(values.iter().copied())
    }
}

/// A line and its touches (index among the valid candles, price), in time order.
pub(super) struct TouchedLine {
    pub(super) line: Line,
    pub(super) touches: Vec<(usize, f64)>,
}

/// Finds the best line through two pivots with no close and few wicks beyond it: preferably with three full touches, else one that may
/// rest on outliers. If there is none, returns the hull edge at the middle, which has nothing beyond it.
pub(super) fn find(side: &PriceSide, measure: Measure) -> TouchedLine {
    let mut search = Search::new(side, measure);
    for allowance in [WICKS_FIRST, WICKS_SECOND] {
        if let Some(best) = search
            .best_pair(allowance)
            .filter(|best| best.full_touches >= TOUCHES_MODERATE)
        {
            return search.refined(best.line, allowance);
        }
    }
    search.add_outlier_pivots();
    search.best_pair(WICKS_FIRST).map_or_else(
        || search.hull_edge(),
        |best| search.refined(best.line, WICKS_FIRST),
    )
}

/// A local extreme of the lows (or negated highs).
struct Pivot {
    /// Index among the valid candles.
    at: usize,
    x: f64,
    tip: f64,
    /// Weight of a touch: 1, or less if it may not be a real turn.
    weight: f64,
}

/// A line through two pivots and its score. Closer touches count more: with plain counts, three exact touches would lose to a tilted line
/// that barely reaches a fourth pivot.
#[derive(Clone, Copy)]
struct Candidate {
    line: Line,
    /// Σ weight·(1 − (error/tolerance)²) over the touches.
    score: f64,
    /// Distance between first and last touch in candles; the larger wins if scores are equal.
    span: f64,
    /// Number of touches with full weight.
    full_touches: usize,
}

impl Candidate {
    fn beats(&self, other: &Self) -> bool {
        self.score
            .total_cmp(&other.score)
            .then(self.span.total_cmp(&other.span))
            .is_gt()
    }
}

/// Four pivots side by side (SIMD layout). Unused lanes have weight 0.
#[derive(Clone, Copy, Default)]
struct PivotLanes {
    x: [f64; 4],
    tip: [f64; 4],
    weight: [f64; 4],
}

impl PivotLanes {
    fn of(pivots: &[Pivot]) -> Self {
        let mut lanes = Self::default();
        for (k, pivot) in pivots.iter().enumerate().take(4) {
            (lanes.x[k], lanes.tip[k], lanes.weight[k]) = (pivot.x, pivot.tip, pivot.weight);
        }
        lanes
    }
}

struct Search<'a> {
    side: &'a PriceSide<'a>,
    tolerance: f64,
    longest_wick: f64,
    pivots: Vec<Pivot>,
    lanes: Vec<PivotLanes>,
    /// Extremes used for counting wicks: all, or an even sample of a long window.
    wicks: Vec<(f64, f64)>,
    closes: Hull,
}

impl<'a> Search<'a> {
    /// Pivots are searched for with outliers cut off, which would otherwise hide the turns next to them.
    fn new(side: &'a PriceSide<'a>, measure: Measure) -> Self {
        let longest_wick = OUTLIER_WICK * measure.true_range;
        let trimmed =
            |(&body, &tip): (&f64, &f64)| if body - tip > longest_wick { body } else { tip };
        let trimmed: Vec<f64> = side.body.iter().zip(&side.tip).map(trimmed).collect();
        let wicks = side
            .points(&side.tip)
            .step_by(side.x.len().div_ceil(pivots::LONG))
            .collect();
        let closes = Hull::below(side.points(&side.close));
        let mut search = Self {
            side,
            tolerance: measure.tolerance,
            longest_wick,
            pivots: Vec::new(),
            lanes: Vec::new(),
            wicks,
            closes,
        };
        search.add_pivots(&pivots::pivots(&trimmed));
        search
    }

    fn add_outlier_pivots(&mut self) {
        self.add_pivots(&pivots::pivots(&self.side.tip));
    }

    /// Adds the turns to the pivots, without duplicates.
    fn add_pivots(&mut self, turns: &[Turn]) {
        let pivot = |&Turn { at, clipped }: &Turn| {
            let (x, tip) = (self.side.x[at], self.side.tip[at]);
            let is_outlier = self.side.body[at] - tip > self.longest_wick;
            let weight = if is_outlier {
                OUTLIER_WEIGHT
            } else {
                [1.0, CLIPPED_WEIGHT][usize::from(clipped)]
            };
            Pivot { at, x, tip, weight }
        };
        let mut pivots: Vec<Pivot> = turns.iter().map(pivot).collect();
        pivots.append(&mut self.pivots);
        pivots.sort_by_key(|pivot| pivot.at);
        pivots.dedup_by_key(|pivot| pivot.at);
        self.lanes = pivots.chunks(4).map(PivotLanes::of).collect();
        self.pivots = pivots;
    }

    /// Tries all pairs of pivots at least a fifth of the window apart. Cheap tests come first: closes beyond a line are found by the hull,
    /// and wicks are counted only for a line that would be the best.
    fn best_pair(&self, allowance: WickAllowance) -> Option<Candidate> {
        let apart = (self.side.x.len() as f64 / 5.0).max(3.0);
        let mut best: Option<Candidate> = None;
        for (k, first) in self.pivots.iter().enumerate() {
            for second in self.pivots[k + 1..]
                .iter()
                .filter(|second| second.x - first.x >= apart)
            {
                let line = Line::through((first.x, first.tip), (second.x, second.tip));
                if !self.holds_closes(line) {
                    continue;
                }
                let score = self.score(line);
                if best.is_some_and(|best| score < best.score) {
                    continue;
                }
                let candidate = self.candidate(line, score);
                if best.is_none_or(|best| candidate.beats(&best))
                    && self.few_wicks_beyond(line, allowance)
                {
                    best = Some(candidate);
                }
            }
        }
        best
    }

    fn score(&self, line: Line) -> f64 {
        let share = self.tolerance.max(f64::MIN_POSITIVE).recip();
        let mut sums = [0.0; 4];
        for lanes in &self.lanes {
            for (k, sum) in sums.iter_mut().enumerate() {
                let error = (lanes.tip[k] - line.at(lanes.x[k])) * share;
                *sum += lanes.weight[k] * (1.0 - error * error).max(0.0);
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    fn candidate(&self, line: Line, score: f64) -> Candidate {
        let mut first = None;
        let mut candidate = Candidate {
            line,
            score,
            span: 0.0,
            full_touches: 0,
        };
        for pivot in self.touched(line) {
            candidate.full_touches += usize::from(pivot.weight == 1.0);
            candidate.span = pivot.x - *first.get_or_insert(pivot.x);
        }
        candidate
    }

    /// The pivots within the tolerance of the line.
    fn touched(&self, line: Line) -> impl Iterator<Item = &Pivot> {
        self.pivots
            .iter()
            .filter(move |pivot| (pivot.tip - line.at(pivot.x)).abs() <= self.tolerance)
    }

    fn touches(&self, line: Line) -> Vec<(usize, f64)> {
        self.touched(line)
            .map(|pivot| (pivot.at, pivot.tip))
            .collect()
    }

    fn holds_closes(&self, line: Line) -> bool {
        self.closes.clearance(line) >= -self.tolerance
    }

    fn few_wicks_beyond(&self, line: Line, allowance: WickAllowance) -> bool {
        let beyond = |&&(x, tip): &&(f64, f64)| tip < line.at(x) - self.tolerance;
        self.wicks
            .iter()
            .filter(beyond)
            .nth(allowance.of(self.wicks.len()))
            .is_none()
    }

    /// Least-squares line through the touches, if it obeys the same rules.
    fn refined(&self, line: Line, allowance: WickAllowance) -> TouchedLine {
        let touches = self.touches(line);
        let fit = Line::least_squares(touches.iter().map(|&(at, tip)| (self.side.x[at], tip)));
        let better = touches.len() >= TOUCHES_MODERATE
            && self.holds_closes(fit)
            && self.few_wicks_beyond(fit, allowance);
        TouchedLine {
            line: if better { fit } else { line },
            touches,
        }
    }

    fn hull_edge(&self) -> TouchedLine {
        let x = self.side.x;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let Some([a, b]) = Hull::below(self.side.points(&self.side.tip)).edge_over(mean) else {
            return TouchedLine {
                line: Line::default(),
                touches: Vec::new(),
            };
        };
        let line = Line::through(a, b);
        let mut touches = self.touches(line);
        touches.extend([a, b].map(|corner| (x.partition_point(|&x| x < corner.0), corner.1)));
        touches.sort_by_key(|&(at, _)| at);
        touches.dedup_by_key(|&mut (at, _)| at);
        TouchedLine { line, touches }
    }
}

// Lower convex hull of points sorted by x: a line is below all points if it is below the hull's few corners.

/// Corners from left to right; the edge slopes increase.
pub(super) struct Hull {
    corners: Vec<(f64, f64)>,
}

impl Hull {
    /// Andrew's monotone chain (1979); x must increase from point to point.
    pub(super) fn below(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = corners[..]
                && (b.1 - a.1) * (point.0 - a.0) >= (point.1 - a.1) * (b.0 - a.0)
            {
                corners.pop();
            }
            corners.push(point);
        }
        Self { corners }
    }

    /// Vertical distance from the line to the lowest point relative to it; negative if that point is below the line.
    pub(super) fn clearance(&self, line: Line) -> f64 {
        // Binary search for the first edge that rises at least as fast as the line; its left corner is the closest.
        let edges = self.corners.windows(2);
        let steeper =
            |edge: &[(f64, f64)]| edge[1].1 - edge[0].1 >= line.slope * (edge[1].0 - edge[0].0);
        let (mut low, mut high) = (0, edges.len());
        while low < high {
            let middle = low.midpoint(high);
            if steeper(&self.corners[middle..middle + 2]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.corners
            .get(low)
            .map_or(f64::INFINITY, |&(x, y)| y - line.at(x))
    }

    /// The hull edge at this x: of all lines below the points, the one highest there. Needs two corners.
    pub(super) fn edge_over(&self, x: f64) -> Option<[(f64, f64); 2]> {
        let right = self
            .corners
            .partition_point(|corner| corner.0 <= x)
            .clamp(1, self.corners.len().saturating_sub(1).max(1));
        Some([*self.corners.get(right - 1)?, *self.corners.get(right)?])
    }
}
