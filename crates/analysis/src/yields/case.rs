//! Optimization problem of one request: the eligible pools, the bounds of each deposit, and the coupling constraints.

use std::ops::Range;

use super::{
    pools::{Pools, YieldPool},
    problem::{AllocationProblem, Item},
    risk::{DOUBTFUL_MAX, RiskLevel, UNKNOWN_EXIT_MAX},
    wallet::WalletToken,
};

/// Preferences of the request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanPreferences {
    pub risk: RiskLevel,
    /// Percent.
    pub min_apy: f64,
    /// Maximum days of a lock, and until all of a deposit can be withdrawn; `None`: those of the risk level.
    pub max_lock_days: Option<f64>,
    pub exit_within_days: Option<f64>,
}

/// Reason why a pool that passes the filters is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// It paid nothing on most observed days.
    Stuck,
    /// It has ended, or ends before it earns its fees.
    Ended,
    /// Nothing can be withdrawn, or nothing more is accepted.
    Full,
    /// Its lock, or its way out, takes too long.
    Slow,
    /// The request limits the lock or the way out, and the pool's is unknown.
    Unknown,
}

/// The first reason to exclude a pool.
fn exclusion(pool: &YieldPool, wish: PlanPreferences) -> Option<Exclusion> {
    let (limits, exit) = (wish.risk.limits(), &pool.exit);
    let beyond = |days: Option<f64>, asked: Option<f64>, usual: Option<f64>| {
        if asked.is_some() && days.is_none() {
            return Some(Exclusion::Unknown);
        }
        let most = asked.or(usual).unwrap_or(f64::INFINITY);
        days.filter(|days| *days > most).map(|_| Exclusion::Slow)
    };
    if pool.expected <= 0.0 {
        return Some(Exclusion::Stuck);
    }
    if pool.net_expected() <= 0.0 {
        return Some(Exclusion::Ended);
    }
    if exit.deposit_max(limits.of_withdrawable) <= 0.0 {
        return Some(Exclusion::Full);
    }
    beyond(exit.lock_days, wish.max_lock_days, limits.lock_days_max)
        .or_else(|| beyond(exit.exit_days, wish.exit_within_days, limits.exit_days_max))
}

/// An eligible pool with the bounds of its deposit in USD.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'p> {
    pub pool: &'p YieldPool,
    /// Index of the holding.
    pub holding: usize,
    pub low: f64,
    pub high: f64,
    /// Coupling constraints it is subject to, with its coefficient in each.
    pub rows: [Option<(u32, f64)>; 4],
}

/// The optimization problem of one request.
#[derive(Debug)]
pub struct Case<'p> {
    pub candidates: Vec<Candidate<'p>>,
    /// Pools that pass the filters of size, risk and yield, but cannot be used.
    pub excluded: Vec<(Exclusion, &'p YieldPool)>,
    /// Value of each holding in USD; 0 if it cannot be valued.
    pub values: Vec<f64>,
    /// Value of the wallet in USD: the unit of money in `problem`.
    pub unit: f64,
    pub problem: AllocationProblem,
    /// Index of the candidate of each item of the problem.
    pub origins: Vec<u32>,
}

/// Minimum deposit, in USD and as a fraction of the wallet.
const LEAST_USD: f64 = 1.0;
const LEAST_PART: f64 = 0.002;

/// Ranges of pools that accept each holding, with the holding's index. Pools of a chain's native coin, which has two addresses, are
/// assigned to the first holding of them.
pub(super) fn reachable(pools: &Pools, holdings: &[WalletToken]) -> Vec<(usize, Range<usize>)> {
    let mut reachable: Vec<(usize, Range<usize>)> = Vec::new();
    for (at, holding) in holdings
        .iter()
        .enumerate()
        .filter(|(_, holding)| holding.held.is_none())
    {
        let Some(chain) = &holding.chain else {
            continue;
        };
        let range = pools.on(holding.address, chain);
        if !range.is_empty() && reachable.iter().all(|(_, claimed)| *claimed != range) {
            reachable.push((at, range));
        }
    }
    reachable
}

impl<'p> Case<'p> {
    pub fn new(pools: &'p Pools, holdings: &[WalletToken], wish: PlanPreferences) -> Self {
        let values: Vec<f64> = holdings
            .iter()
            .map(|holding| {
                if holding.held.is_some() {
                    0.0
                } else {
                    holding.value(holding.amount)
                }
            })
            .collect();
        let unit: f64 = values.iter().sum();
        let mut case = Self {
            candidates: Vec::new(),
            excluded: Vec::new(),
            values,
            unit,
            problem: AllocationProblem::default(),
            origins: Vec::new(),
        };
        case.choose(pools, holdings, wish);
        case.bound(pools, wish);
        case.couple(pools, wish);
        case.build();
        case
    }

    /// Selects the pools that pass the filters.
    fn choose(&mut self, pools: &'p Pools, holdings: &[WalletToken], wish: PlanPreferences) {
        let limits = wish.risk.limits();
        for (at, range) in reachable(pools, holdings) {
            let eligible = |pool: &&YieldPool| {
                pool.tvl >= limits.least_tvl
                    && pool.score <= limits.score_max
                    && (limits.outliers || !pool.outlier)
                    && pool.expected >= wish.min_apy
            };
            for pool in pools.pools[range].iter().filter(eligible) {
                if let Some(reason) = exclusion(pool, wish) {
                    self.excluded.push((reason, pool));
                } else if pool.net_expected() >= wish.min_apy {
                    self.candidates.push(Candidate {
                        pool,
                        holding: at,
                        low: 0.0,
                        high: 0.0,
                        rows: [None; 4],
                    });
                }
            }
        }
    }

    fn bound(&mut self, pools: &Pools, wish: PlanPreferences) {
        let limits = wish.risk.limits();
        // Missing is never good: where amounts that can be withdrawn are known, a pool without one takes less.
        let of_tvl = |pool: &YieldPool| {
            if pools.knows_withdrawable && pool.exit.withdrawable_usd.is_none() {
                limits.of_tvl.min(UNKNOWN_EXIT_MAX)
            } else {
                limits.of_tvl
            }
        };
        let per_pool = limits.pool.max(1.0 / self.candidates.len().max(1) as f64) * self.unit;
        for candidate in &mut self.candidates {
            let value = self.values[candidate.holding];
            candidate.low = LEAST_USD.max(LEAST_PART * self.unit).min(value);
            let ceiling = candidate.pool.curve.ceiling(wish.min_apy / 100.0);
            candidate.high = (of_tvl(candidate.pool) * candidate.pool.tvl)
                .min(per_pool)
                .min(value)
                .min(ceiling)
                .min(candidate.pool.exit.deposit_max(limits.of_withdrawable));
            if candidate.pool.is_doubtful() {
                candidate.high = candidate.high.min(DOUBTFUL_MAX * self.unit);
            }
            if candidate.pool.curve.cost > 0.0 {
                // With fees, more may earn less; the solver relies on earnings that increase.
                candidate.high = candidate.pool.curve.best(0.0, 0.0, candidate.high);
            }
        }
    }

    /// Adds the constraints on protocols, chains, risk and doubtful quotes that can bind at all.
    fn couple(&mut self, pools: &Pools, wish: PlanPreferences) {
        let limits = wish.risk.limits();
        let mut protocols = vec![0.0; pools.protocols];
        let mut chains = vec![0.0; pools.chain_count];
        let (mut seen_protocols, mut seen_chains) =
            (vec![false; pools.protocols], vec![false; pools.chain_count]);
        let (mut risk, mut doubtful) = (0.0, 0.0);
        for candidate in &self.candidates {
            seen_protocols[candidate.pool.protocol_number as usize] = true;
            seen_chains[candidate.pool.chain_number as usize] = true;
            if candidate.high >= candidate.low {
                protocols[candidate.pool.protocol_number as usize] += candidate.high;
                chains[candidate.pool.chain_number as usize] += candidate.high;
                risk += candidate.high * candidate.pool.score;
                if candidate.pool.is_doubtful() {
                    doubtful += candidate.high;
                }
            }
        }
        let count = |seen: &[bool]| seen.iter().filter(|seen| **seen).count().max(1) as f64;
        let protocol_cap = limits.protocol.max(1.0 / count(&seen_protocols));
        let chain_cap = limits.chain.max(1.0 / count(&seen_chains));
        let mut numbers = |loads: &[f64], cap: f64| -> Vec<Option<u32>> {
            let binds = |load: f64| cap < 1.0 && load > cap * self.unit;
            let mut number = |load: &f64| {
                binds(*load).then(|| {
                    self.problem.caps.push(cap);
                    self.problem.caps.len() as u32 - 1
                })
            };
            loads.iter().map(&mut number).collect()
        };
        let protocol_rows = numbers(&protocols, protocol_cap);
        let chain_rows = numbers(&chains, chain_cap);
        let risk_row = limits
            .score_mean
            .filter(|mean| risk > mean * self.unit)
            .map(|mean| {
                self.problem.caps.push(mean / 100.0);
                self.problem.caps.len() as u32 - 1
            });
        let doubtful_row = (doubtful > DOUBTFUL_MAX * self.unit).then(|| {
            self.problem.caps.push(DOUBTFUL_MAX);
            self.problem.caps.len() as u32 - 1
        });
        for candidate in &mut self.candidates {
            candidate.rows = [
                protocol_rows[candidate.pool.protocol_number as usize].map(|row| (row, 1.0)),
                chain_rows[candidate.pool.chain_number as usize].map(|row| (row, 1.0)),
                risk_row.map(|row| (row, candidate.pool.score / 100.0)),
                doubtful_row
                    .filter(|_| candidate.pool.is_doubtful())
                    .map(|row| (row, 1.0)),
            ];
        }
    }

    fn build(&mut self) {
        let unit = self.unit;
        self.problem.budgets = self
            .values
            .iter()
            .map(|value| if unit > 0.0 { value / unit } else { 0.0 })
            .collect();
        for (at, candidate) in self.candidates.iter().enumerate() {
            let mut curve = candidate.pool.curve;
            curve.size /= unit;
            let fee = candidate.pool.fee() / unit;
            let item = Item::new(
                curve,
                fee,
                candidate.low / unit,
                candidate.high / unit,
                candidate.holding as u32,
                candidate.rows,
            );
            if let Some(item) = item {
                self.problem.items.push(item);
                self.origins.push(at as u32);
            }
        }
    }
}
