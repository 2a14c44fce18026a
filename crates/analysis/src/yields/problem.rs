//! The optimization problem in the solver's form: pools with a curve, a fixed fee and bounds, one budget per token, and coupling rows
//! across tokens. Money is in units of the whole wallet. Datasets are unknown here.

use super::curve::YieldCurve;

/// A pool that may be used.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub curve: YieldCurve,
    /// Fixed cost of using it, in units of the wallet.
    pub fee: f64,
    /// Minimum and maximum deposit if it is used; `low` is above 0.
    pub low: f64,
    pub high: f64,
    pub token: u32,
    /// Coupling rows it is subject to, with its coefficient in each.
    pub rows: [Option<(u32, f64)>; 4],
    /// End of the chord in the concave hull of 0 and f − fee: the chord, then the curve.
    pub chord_end: f64,
    /// Slope of the chord: the highest possible net earnings per unit.
    pub chord: f64,
}

impl Item {
    /// Returns `None` for a pool that never earns its fee, or whose bounds leave no room.
    pub fn new(
        curve: YieldCurve,
        fee: f64,
        low: f64,
        high: f64,
        token: u32,
        rows: [Option<(u32, f64)>; 4],
    ) -> Option<Self> {
        if low.is_nan() || low <= 0.0 || !high.is_finite() || high < low {
            return None;
        }
        let chord_end = curve.chord_end(fee, low, high);
        let chord = (curve.value(chord_end) - fee) / chord_end;
        (chord > 0.0 && chord.is_finite()).then_some(Self {
            curve,
            fee,
            low,
            high,
            token,
            rows,
            chord_end,
            chord,
        })
    }

    /// Net earnings of a deposit of `y`, after the fee.
    pub fn net(&self, y: f64) -> f64 {
        self.curve.value(y) - self.fee
    }

    /// Cost of a unit deposit at these prices of the coupling rows.
    pub fn shadow_cost(&self, prices: &[f64]) -> f64 {
        self.rows
            .iter()
            .flatten()
            .map(|&(row, weight)| weight * prices[row as usize])
            .sum()
    }

    /// Upper bound on max f(y) − fee − price·y within the item's bounds: the value at the computed optimum plus an allowance for its
    /// rounding error, since f lies below its tangent.
    pub fn surplus_bound(&self, price: f64) -> f64 {
        let y = self.curve.best(price, self.low, self.high);
        let tilt = self.curve.slope(y) - price;
        self.net(y) - price * y + (tilt * (self.high - y)).max(tilt * (self.low - y)).max(0.0)
    }
}

/// All pools, the budget of each token and the caps of the coupling rows.
#[derive(Debug, Clone, Default)]
pub struct AllocationProblem {
    pub items: Vec<Item>,
    pub budgets: Vec<f64>,
    pub caps: Vec<f64>,
}

/// Relative tolerance of the coupling rows' caps; integer rounding is far smaller.
pub(super) const CAP_TOLERANCE: f64 = 1e-11;

/// State of a pool in a node of the search tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Free,
    In,
    Out,
}

/// Deposits by item; items not listed have 0.
pub type Deposits = Vec<(u32, f64)>;

impl AllocationProblem {
    /// Load of each coupling row.
    pub fn loads(&self, deposits: &[(u32, f64)]) -> Vec<f64> {
        let mut loads = vec![0.0; self.caps.len()];
        for &(item, y) in deposits {
            for &(row, weight) in self.items[item as usize].rows.iter().flatten() {
                loads[row as usize] += weight * y;
            }
        }
        loads
    }

    /// Net earnings of the deposits, after fees.
    pub fn net(&self, deposits: &[(u32, f64)]) -> f64 {
        deposits
            .iter()
            .map(|&(item, y)| self.items[item as usize].net(y))
            .sum()
    }
}
