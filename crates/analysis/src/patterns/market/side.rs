//! Line fit along one side of a run of turns. A run grows turn by turn and existing lines do not change, so each turn adds the lines that
//! end in it and its residuals from the existing lines.

use super::zigzag::{Pivot, TURNS_MOST};
use crate::numeric::Line;

/// Maximum number of turns on one side: turns alternate, so half of all.
const MOST: usize = TURNS_MOST / 2;
/// Number of lines through two of them.
const PAIRS: usize = MOST * (MOST - 1) / 2;

/// Index of the line through turns a and b: lines are grouped by the turn they end in, so those through the first turns come first.
const fn place(a: usize, b: usize) -> usize {
    b * (b - 1) / 2 + a
}

/// The turns of one side and all candidate lines. Residuals are positive outward: up for tops, down for bottoms.
pub(super) struct PivotSide {
    /// 1 for tops, −1 for bottoms.
    sign: f64,
    /// Price of the first turn.
    base: f64,
    count: usize,
    /// Candles from the first turn of the run.
    x: [f64; MOST],
    y: [f64; MOST],
    slope: [f64; PAIRS],
    intercept: [f64; PAIRS],
    /// Slope and intercept of the least-squares line.
    squares: (f64, f64),
    /// Residuals of the other turns from each line through two of them, in order; `all_off`: of all turns from the least-squares line.
    off: [[f64; PAIRS]; MOST - 2],
    all_off: [f64; MOST],
    sum_x: f64,
    sum_y: f64,
    sum_xx: f64,
    sum_xy: f64,
}

/// The selected line.
#[derive(Clone, Copy)]
pub(super) struct Fitted {
    pub(super) line: Line,
    pub(super) touches: usize,
    /// Largest outward residual.
    pub(super) over: f64,
    /// Sum of the absolute residuals.
    pub(super) stray: f64,
}

impl PivotSide {
    pub(super) fn new(sign: f64) -> Self {
        Self {
            sign,
            base: 0.0,
            count: 0,
            x: [0.0; MOST],
            y: [0.0; MOST],
            slope: [0.0; PAIRS],
            intercept: [0.0; PAIRS],
            squares: (0.0, 0.0),
            off: [[0.0; PAIRS]; MOST - 2],
            all_off: [0.0; MOST],
            sum_x: 0.0,
            sum_y: 0.0,
            sum_xx: 0.0,
            sum_xy: 0.0,
        }
    }

    /// Starts a new run.
    pub(super) fn clear(&mut self) {
        self.count = 0;
        (self.sum_x, self.sum_y, self.sum_xx, self.sum_xy) = (0.0, 0.0, 0.0, 0.0);
    }

    /// Adds the next turn of a run that begins at index `origin`.
    pub(super) fn push(&mut self, pivot: Pivot, origin: u32) {
        let n = self.count;
        if n == 0 {
            self.base = pivot.price;
        }
        let (x, y) = (pivot.x(origin), self.sign * (pivot.price - self.base));
        (self.x[n], self.y[n], self.count) = (x, y, n + 1);
        self.sum_x += x;
        self.sum_y += y;
        self.sum_xx += x * x;
        self.sum_xy += x * y;
        match n {
            1 => self.add_lines::<1>(x, y),
            2 => self.add_lines::<2>(x, y),
            3 => self.add_lines::<3>(x, y),
            4 => self.add_lines::<4>(x, y),
            _ => {}
        }
    }

    /// Adds the lines that end in the turn after the first N.
    fn add_lines<const N: usize>(&mut self, x: f64, y: f64) {
        // Residuals of the new turn from the existing lines…
        let old = place(0, N);
        for line in 0..old {
            self.off[N - 2][line] = y - self.intercept[line] - self.slope[line] * x;
        }
        // …the lines that end in it…
        for a in 0..N {
            let line = old + a;
            let slope = (y - self.y[a]) / (x - self.x[a]);
            let intercept = self.y[a] - slope * self.x[a];
            (self.slope[line], self.intercept[line]) = (slope, intercept);
            for k in 0..N - 1 {
                let other = k + usize::from(k >= a);
                self.off[k][line] = self.y[other] - intercept - slope * self.x[other];
            }
        }
        // …and the least-squares line, in one pass: there are few points, and they start near 0.
        let count = (N + 1) as f64;
        let slope = (count * self.sum_xy - self.sum_x * self.sum_y)
            / (count * self.sum_xx - self.sum_x * self.sum_x);
        self.squares = (slope, (self.sum_y - slope * self.sum_x) / count);
        for k in 0..=N {
            self.all_off[k] = self.y[k] - self.squares.1 - slope * self.x[k];
        }
    }

    /// The line with the lowest cost.
    pub(super) fn best(&self, tolerance: f64) -> Fitted {
        match self.count {
            3 => self.cheapest::<3, 1, 4>(tolerance),
            4 => self.cheapest::<4, 2, 6>(tolerance),
            5 => self.cheapest::<5, 3, 10>(tolerance),
            _ => self.fitted((self.slope[0], self.intercept[0]), &[], tolerance),
        }
    }

    /// Cost of a line: the sum of the residuals in tolerances, each capped at three, plus twice the excess of outward ones over one
    /// tolerance. N is the number of turns, M = N − 2 the number that a line through two of them misses.
    fn cheapest<const N: usize, const M: usize, const LANES: usize>(
        &self,
        tolerance: f64,
    ) -> Fitted {
        let scale = 1.0 / tolerance;
        let one = |off: f64| {
            let away = off * scale;
            let (near, outside) = (away.abs(), away - 1.0);
            let (near, outside) = (
                if near < 3.0 { near } else { 3.0 },
                if outside > 0.0 { outside } else { 0.0 },
            );
            near + 2.0 * outside
        };
        let mut costs = [0.0; LANES];
        for off in &self.off[..M] {
            for (cost, off) in costs.iter_mut().zip(&off[..LANES]) {
                *cost += one(*off);
            }
        }
        let squares = self.all_off[..N]
            .iter()
            .fold(0.0, |cost, off| cost + one(*off));
        // Lines that miss the same turn by far cost the same: then the first, regardless of rounding.
        let below = |cost: f64| cost - 1e-9;
        let chord = place(0, N - 1);
        let (mut best, mut bar) = (chord, below(costs[chord]));
        if squares < bar {
            (best, bar) = (PAIRS, below(squares));
        }
        for a in 0..N {
            for b in a + 1..N {
                let line = place(a, b);
                if costs[line] < bar {
                    (best, bar) = (line, below(costs[line]));
                }
            }
        }
        if best == PAIRS {
            return self.fitted(self.squares, &self.all_off[..N], tolerance);
        }
        let off: [f64; M] = std::array::from_fn(|k| self.off[k][best]);
        self.fitted((self.slope[best], self.intercept[best]), &off, tolerance)
    }

    /// Fit statistics of a line, given the residuals of the turns that do not define it.
    fn fitted(&self, (slope, intercept): (f64, f64), missed: &[f64], tolerance: f64) -> Fitted {
        let (mut touches, mut over, mut stray) = (self.count - missed.len(), 0.0, 0.0);
        for off in missed {
            touches += usize::from(off.abs() <= tolerance);
            over = if *off > over { *off } else { over };
            stray += off.abs();
        }
        let line = Line {
            slope: self.sign * slope,
            intercept: self.base + self.sign * intercept,
        };
        Fitted {
            line,
            touches,
            over,
            stray,
        }
    }
}
