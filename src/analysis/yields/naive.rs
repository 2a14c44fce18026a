//! Baselines that a plan is compared with: all into the pool that quotes most, held to the same limits or to none, or pools filled in the
//! order of what they quote.

use super::{
    case::{Candidate, Case, Wish, reachable},
    pools::{Pools, YieldPool},
    wallet::WalletToken,
};

/// Totals of a plan in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    pub placed: f64,
    /// A year, after the deposits.
    pub earned: f64,
    pub gas: f64,
    pub pools: usize,
    /// The scores of the pools, each times the USD in it.
    pub risk: f64,
}

impl Totals {
    pub fn net(&self) -> f64 {
        self.earned - self.gas
    }

    /// The mean score of what is placed, from 0 for the safest to 100; `None` where nothing is.
    pub fn risk_score(&self) -> Option<f64> {
        (self.placed > 0.0).then(|| self.risk / self.placed)
    }

    /// Adds a deposit of so many USD, which earns so many a year.
    pub(super) fn add(&mut self, pool: &YieldPool, amount: f64, earned: f64) {
        self.placed += amount;
        self.earned += earned;
        self.gas += pool.fee();
        self.pools += 1;
        self.risk += amount * pool.score;
    }
}

/// All of each token into the one pool that quotes most, whatever its size and its risk: only the chains and the least yield that
/// were wished for count. What a deposit does to the pool's own yield is counted.
pub fn unlimited(case: &Case<'_>, pools: &Pools, holdings: &[WalletToken], wish: Wish) -> Totals {
    let mut totals = Totals::default();
    for (at, range) in reachable(pools, holdings) {
        let quoting = pools.pools[range].iter().filter(|pool| pool.quoted >= wish.min_apy);
        // Of equals the first by id, as in the order the pools are in.
        let best = quoting.reduce(|best, pool| if pool.quoted > best.quoted { pool } else { best });
        if let Some(pool) = best.filter(|_| case.values[at] > 0.0) {
            totals.add(pool, case.values[at], pool.curve.value(case.values[at]));
        }
    }
    totals
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
        totals.add(candidate.pool, amount, candidate.pool.curve.value(amount));
    }
    totals
}
