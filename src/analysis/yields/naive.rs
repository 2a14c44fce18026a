//! What people do without a plan, for comparison, held to the same limits: all into the pool that quotes most, or pools filled in the
//! order of what they quote.

use super::case::{Candidate, Case};

/// Totals of a plan in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    pub placed: f64,
    /// A year, after the deposits.
    pub earned: f64,
    pub gas: f64,
    pub pools: usize,
}

impl Totals {
    pub fn net(&self) -> f64 {
        self.earned - self.gas
    }
}

/// All of each token into the one pool that quotes most, as far as the limits let it; and each token into its pools in the order of
/// what they quote, each to its limit.
pub fn plans(case: &Case<'_>) -> [Totals; 2] {
    let mut order: Vec<&Candidate<'_>> = case.candidates.iter().filter(|candidate| candidate.high >= candidate.low).collect();
    // Stable, so that equals stay in the order of their ids.
    order.sort_by(|a, b| b.pool.quoted.total_cmp(&a.pool.quoted));
    [fill(case, &order, true), fill(case, &order, false)]
}

fn fill(case: &Case<'_>, order: &[&Candidate<'_>], one: bool) -> Totals {
    let mut left = case.values.clone();
    let mut done = vec![false; left.len()];
    let mut room: Vec<f64> = case.program.caps.iter().map(|cap| cap * case.unit).collect();
    let mut totals = Totals::default();
    for &candidate in order {
        if done[candidate.holding] {
            continue;
        }
        let rows = candidate.rows.iter().flatten().filter(|(_, weight)| *weight > 0.0);
        let most = rows.map(|&(row, weight)| room[row as usize] / weight).fold(candidate.high, f64::min);
        let amount = most.min(left[candidate.holding]);
        if amount < candidate.low || amount <= 0.0 {
            continue;
        }
        done[candidate.holding] = one;
        left[candidate.holding] -= amount;
        for &(row, weight) in candidate.rows.iter().flatten() {
            room[row as usize] -= weight * amount;
        }
        totals.placed += amount;
        totals.earned += candidate.pool.curve.value(amount);
        totals.gas += candidate.pool.fee();
        totals.pools += 1;
    }
    totals
}
