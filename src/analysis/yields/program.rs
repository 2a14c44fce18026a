//! The problem as the solver sees it: pools with a curve, a fee and bounds, one budget a token, and the rows that couple tokens. Money
//! is in units of the whole wallet. Knows no dataset.

use super::curve::YieldCurve;

/// A pool that may be used.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub curve: YieldCurve,
    /// Paid once when it is used, per the wallet's worth.
    pub fee: f64,
    /// Least and most that may go in when it is used; `low` is above 0.
    pub low: f64,
    pub high: f64,
    pub token: u32,
    /// The coupling rows it counts in, and how much of a unit counts.
    pub rows: [Option<(u32, f64)>; 3],
    /// The concave hull of 0 and f − fee: a chord up to the knee, then the curve.
    pub knee: f64,
    /// The chord's slope: the most a unit can earn here, the fee paid.
    pub chord: f64,
}

impl Item {
    /// `None` for a pool that never earns its fee, or whose bounds leave no room.
    pub fn new(curve: YieldCurve, fee: f64, low: f64, high: f64, token: u32, rows: [Option<(u32, f64)>; 3]) -> Option<Self> {
        if low.is_nan() || low <= 0.0 || !high.is_finite() || high < low {
            return None;
        }
        let knee = curve.knee(fee, low, high);
        let chord = (curve.value(knee) - fee) / knee;
        (chord > 0.0 && chord.is_finite()).then_some(Self { curve, fee, low, high, token, rows, knee, chord })
    }

    /// What a deposit of `y` earns, the fee paid.
    pub fn net(&self, y: f64) -> f64 {
        self.curve.value(y) - self.fee
    }

    /// What a unit here takes from the rows of these prices.
    pub fn toll(&self, prices: &[f64]) -> f64 {
        self.rows.iter().flatten().map(|&(row, weight)| weight * prices[row as usize]).sum()
    }

    /// An upper bound of max f(y) − fee − price·y over the item's bounds: the value at the best deposit, and what rounding in that
    /// deposit could hide, as f lies under its tangent.
    pub fn surplus(&self, price: f64) -> f64 {
        let y = self.curve.best(price, self.low, self.high);
        let tilt = self.curve.slope(y) - price;
        self.net(y) - price * y + (tilt * (self.high - y)).max(tilt * (self.low - y)).max(0.0)
    }
}

/// All pools, the budget of each token and the caps of the coupling rows.
#[derive(Debug, Clone, Default)]
pub struct LinearProgram {
    pub items: Vec<Item>,
    pub budgets: Vec<f64>,
    pub caps: Vec<f64>,
}

/// Coupling rows are kept to this part of their cap; what integers round away is far less.
pub(super) const CAP_TOLERANCE: f64 = 1e-11;

/// What a pool is held to while the tree is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Free,
    In,
    Out,
}

/// Deposits by item, those not named being 0.
pub type Deposits = Vec<(u32, f64)>;

impl LinearProgram {
    /// What the coupling rows carry.
    pub fn loads(&self, deposits: &[(u32, f64)]) -> Vec<f64> {
        let mut loads = vec![0.0; self.caps.len()];
        for &(item, y) in deposits {
            for &(row, weight) in self.items[item as usize].rows.iter().flatten() {
                loads[row as usize] += weight * y;
            }
        }
        loads
    }

    /// What the deposits earn, fees paid.
    pub fn net(&self, deposits: &[(u32, f64)]) -> f64 {
        deposits.iter().map(|&(item, y)| self.items[item as usize].net(y)).sum()
    }
}
