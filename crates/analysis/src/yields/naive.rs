//! Baselines for a plan: everything into the pool with the highest quoted yield, with the same limits or without; or pools filled in
//! descending order of quoted yield.

use super::{
    case::{Candidate, Case, PlanPreferences, reachable},
    pools::{Pools, YieldPool},
    wallet::WalletToken,
};

/// Totals of a plan in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    pub placed: f64,
    /// Per year, after dilution by the deposits.
    pub earned: f64,
    pub gas: f64,
    pub pools: usize,
    /// Sum of score × USD over the pools.
    pub risk: f64,
}

impl Totals {
    pub fn net(&self) -> f64 {
        self.earned - self.gas
    }

    /// Mean score of the allocated money, weighted by value: 0 is safest, 100 riskiest; `None` if nothing is allocated.
    pub fn risk_score(&self) -> Option<f64> {
        (self.placed > 0.0).then(|| self.risk / self.placed)
    }

    /// Adds a deposit in USD and its earnings in USD per year.
    pub(super) fn add(&mut self, pool: &YieldPool, amount: f64, earned: f64) {
        self.placed += amount;
        self.earned += earned;
        self.gas += pool.fee();
        self.pools += 1;
        self.risk += amount * pool.score;
    }
}

/// All of each token into the pool with the highest quoted yield, whatever its size and risk: only the requested chains and minimum yield
/// count. Dilution by the deposit is included.
pub fn unlimited(
    case: &Case<'_>,
    pools: &Pools,
    holdings: &[WalletToken],
    wish: PlanPreferences,
) -> Totals {
    let mut totals = Totals::default();
    for (at, range) in reachable(pools, holdings) {
        let quoting = pools.pools[range]
            .iter()
            .filter(|pool| pool.quoted >= wish.min_apy);
        // Ties go to the first by id, as pools are sorted.
        let best = quoting.reduce(|best, pool| {
            if pool.quoted > best.quoted {
                pool
            } else {
                best
            }
        });
        if let Some(pool) = best.filter(|_| case.values[at] > 0.0) {
            totals.add(pool, case.values[at], pool.curve.value(case.values[at]));
        }
    }
    totals
}

/// All of each token into the pool with the highest quoted yield, up to the limits; and each token into its pools in descending order of
/// quoted yield, each up to its limit.
pub fn plans(case: &Case<'_>) -> [Totals; 2] {
    let mut order: Vec<&Candidate<'_>> = case
        .candidates
        .iter()
        .filter(|candidate| candidate.high >= candidate.low)
        .collect();
    // The sort is stable, so ties stay in order of id.
    order.sort_by(|a, b| b.pool.quoted.total_cmp(&a.pool.quoted));
    [fill(case, &order, true), fill(case, &order, false)]
}

fn fill(case: &Case<'_>, order: &[&Candidate<'_>], one: bool) -> Totals {
    let mut left = case.values.clone();
    let mut done = vec![false; left.len()];
    let mut room: Vec<f64> = case
        .problem
        .caps
        .iter()
        .map(|cap| cap * case.unit)
        .collect();
    let mut totals = Totals::default();
    for &candidate in order {
        if done[candidate.holding] {
            continue;
        }
        let rows = candidate
            .rows
            .iter()
            .flatten()
            .filter(|(_, weight)| *weight > 0.0);
        let most = rows
            .map(|&(row, weight)| room[row as usize] / weight)
            .fold(candidate.high, f64::min);
        let amount = most.min(left[candidate.holding]);
        if amount < candidate.low || amount <= 0.0 {
            continue;
        }
        done[candidate.holding] = one;
        left[candidate.holding] -= amount;
        for &(row, weight) in candidate.rows.iter().flatten() {
            room[row as usize] -= weight * amount;
        }
        totals.add(candidate.pool, amount, candidate.pool.curve.value(amount));
    }
    totals
}
