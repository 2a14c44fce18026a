//! Yield optimization: the best allocation of a wallet to single-asset pools, net of gas, with yields after deposit dilution, coupling
//! constraints, exact integer amounts, and an upper bound that certifies the plan's quality. The bound is the Lagrangian dual (Boyd and
//! Vandenberghe, "Convex Optimization", 5.1.3), which is valid for any multipliers. Pure; the parts of the model are in the submodules.

pub mod amounts;
pub mod case;
pub mod curve;
pub mod exit;
pub mod expected;
pub mod interior;
pub mod joint;
pub mod naive;
mod open_nodes;
pub mod pools;
pub mod problem;
pub mod risk;
pub mod single_token;
pub mod units;
pub mod wallet;

use ruint::aliases::U256;

use self::{
    case::{Case, Exclusion, PlanPreferences},
    naive::Totals,
    pools::{Pools, YieldPool},
    wallet::{UnplacedReason, WalletToken},
};

/// A deposit of part of a holding in a pool.
#[derive(Debug, Clone, Copy)]
pub struct Placement<'p> {
    pub pool: &'p YieldPool,
    /// Index of the holding.
    pub holding: usize,
    pub amount: U256,
    /// Value of the amount in USD.
    pub value: f64,
    /// Yield after the deposit, in percent per year.
    pub apy: f64,
}

/// The unallocated part of a holding.
#[derive(Debug, Clone, Copy)]
pub struct IdleHolding {
    /// Index of the holding.
    pub holding: usize,
    pub amount: U256,
    pub reason: UnplacedReason,
}

/// The plan for a wallet. Values are in USD, earnings in USD per year.
#[derive(Debug, Clone, Default)]
pub struct Plan<'p> {
    /// In descending order of value.
    pub placements: Vec<Placement<'p>>,
    pub idle: Vec<IdleHolding>,
    pub totals: Totals,
    /// Total value in USD of the holdings with a price.
    pub wallet: f64,
    /// Upper bound on the net yield of any plan within the limits.
    pub upper_bound: f64,
    /// Number of eligible pools.
    pub eligible: usize,
    /// Pools that quote a yield and have the size and risk, but are not used.
    pub excluded: Vec<(Exclusion, &'p YieldPool)>,
    /// Whether the dataset knows the way out of any pool.
    pub knows_exits: bool,
    /// Whether the optimization was cut short before reaching the bound.
    pub cut: bool,
    /// Baselines, see `naive`.
    pub highest: Totals,
    pub unlimited: Totals,
    pub quoted: Totals,
}

impl Plan<'_> {
    /// Optimality gap relative to the plan's own net yield; `None` if the plan nets nothing but the bound is positive.
    pub fn gap(&self) -> Option<f64> {
        let open = (self.upper_bound - self.totals.net()).max(0.0);
        if open == 0.0 {
            return Some(0.0);
        }
        (self.totals.net() > 0.0).then(|| open / self.totals.net())
    }

    /// The part of the deposits that can be withdrawn within a number of days, for each such number; the rest is unknown.
    pub fn exits(&self) -> Vec<(f64, f64)> {
        let mut exits: Vec<(f64, f64)> = self
            .placements
            .iter()
            .filter_map(|placement| {
                let days = placement.pool.exit.exit_days?;
                Some((days, placement.value / self.totals.placed))
            })
            .collect();
        exits.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for (_, part) in &mut exits {
            sum += *part;
            *part = sum.min(1.0);
        }
        // Of equal days, the last sum has them all.
        exits.reverse();
        exits.dedup_by_key(|(days, _)| *days);
        exits.reverse();
        exits
    }
}

/// Relative allowance for rounding in the sum of the bound.
const ROUNDING: f64 = 1e-12;

/// Computes the best plan. `keep_on` is called with (done, total) from time to time and cancels by returning false.
pub fn plan<'p>(
    pools: &'p Pools,
    holdings: &[WalletToken],
    wish: PlanPreferences,
    keep_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Plan<'p> {
    let case = Case::new(pools, holdings, wish);
    let mut effort = WorkBudget::new(STEPS_MAX, case.unit.max(f64::MIN_POSITIVE), keep_on);
    let optimum = joint::optimum(&case.problem, &mut effort);
    let positions = units::round_to_units(&case, holdings, &optimum.deposits);
    let [highest, quoted] = naive::plans(&case);
    let mut plan = Plan {
        wallet: case.unit,
        eligible: case.candidates.len(),
        excluded: case.excluded.clone(),
        knows_exits: pools.knows_exits,
        cut: effort.is_over(),
        highest,
        quoted,
        ..Plan::default()
    };
    plan.unlimited = naive::unlimited(&case, pools, holdings, wish);
    for position in positions {
        let origin = case.origins[position.item as usize];
        let candidate = &case.candidates[origin as usize];
        let value = holdings[candidate.holding].value(position.amount);
        let apy = 100.0 * candidate.pool.curve.rate(value);
        plan.placements.push(Placement {
            pool: candidate.pool,
            holding: candidate.holding,
            amount: position.amount,
            value,
            apy,
        });
    }
    plan.placements.sort_by(|a, b| {
        b.value
            .total_cmp(&a.value)
            .then_with(|| a.pool.id.cmp(&b.pool.id))
    });
    for placement in &plan.placements {
        plan.totals.add(
            placement.pool,
            placement.value,
            placement.value * placement.apy / 100.0,
        );
    }
    plan.upper_bound = (optimum.bound * case.unit * (1.0 + ROUNDING)).max(plan.totals.net());
    plan.idle = idle(&case, holdings, &plan.placements);
    plan
}

/// The unallocated part of each holding, with the reason.
fn idle(
    case: &Case<'_>,
    holdings: &[WalletToken],
    placements: &[Placement<'_>],
) -> Vec<IdleHolding> {
    let mut idle = Vec::new();
    for (at, holding) in holdings.iter().enumerate() {
        let placed = amounts::sum(
            placements
                .iter()
                .filter(|placement| placement.holding == at)
                .map(|placement| placement.amount),
        );
        let amount = holding.amount.saturating_sub(placed);
        if amount.is_zero() && holding.held.is_none() {
            continue;
        }
        let mut candidates = case
            .candidates
            .iter()
            .filter(|candidate| candidate.holding == at)
            .peekable();
        let reason = if let Some(held) = holding.held {
            held
        } else if candidates.peek().is_none() {
            UnplacedReason::NoEligiblePool
        } else if case.values[at] < TINY_USD {
            UnplacedReason::TinyAmount
        } else if case.values[at] > HUGE_USD {
            UnplacedReason::HugeAmount
        } else if placed.is_zero() && candidates.all(|candidate| costs_more(candidate)) {
            UnplacedReason::GasExceedsYield
        } else {
            UnplacedReason::Limits
        };
        idle.push(IdleHolding {
            holding: at,
            amount,
            reason,
        });
    }
    idle
}

/// USD below which, and above which, an amount is probably not in base units: no wallet has a thousand trillion USD.
pub const TINY_USD: f64 = 1.0;
const HUGE_USD: f64 = 1e15;

/// Whether a pool has capacity, but doesn't earn its gas.
fn costs_more(candidate: &case::Candidate<'_>) -> bool {
    let pool = candidate.pool;
    // Earnings increase with the deposit, so the largest allowed deposit decides.
    candidate.high >= candidate.low && pool.curve.value(candidate.high) <= pool.fee()
}

// Work budget of a plan, counted in steps over pools rather than time, so that the same request gives the same bytes; and the tolerance at
// which a plan is close enough to the bound.

/// Maximum number of steps over a pool (a few tens of nanoseconds each): about a second and a half.
pub const STEPS_MAX: u64 = 40_000_000;

/// Relative optimality gap at which a search stops …
const TIGHT: f64 = 1e-10;
/// … and after `TIGHT_STEPS` steps: this relative gap, or a fifth of a cent.
const LOOSE: f64 = 2e-7;
const LOOSE_USD: f64 = 0.002;
const TIGHT_STEPS: u64 = 500_000;

/// Work done so far, with progress reporting.
pub struct WorkBudget<'a> {
    spent: u64,
    limit: u64,
    /// Called with (done, total); returns false if the request was canceled.
    keep_on: &'a mut dyn FnMut(u64, u64) -> bool,
    told: u64,
    pub cancelled: bool,
    /// USD per unit of money.
    pub unit: f64,
}

impl<'a> WorkBudget<'a> {
    pub fn new(limit: u64, unit: f64, keep_on: &'a mut dyn FnMut(u64, u64) -> bool) -> Self {
        Self {
            spent: 0,
            limit,
            keep_on,
            told: 0,
            cancelled: false,
            unit,
        }
    }

    pub fn spend(&mut self, steps: usize) {
        self.spent += steps as u64 + 1;
        if self.spent > self.told {
            self.told = self.spent + 100_000;
            self.cancelled |= !(self.keep_on)(self.spent.min(self.limit), self.limit);
        }
    }

    pub fn is_over(&self) -> bool {
        self.cancelled || self.spent >= self.limit
    }

    /// Allowed gap below the bound for a plan worth `best`.
    pub fn tolerance(&self, best: f64) -> f64 {
        if self.spent < TIGHT_STEPS {
            TIGHT * best.abs()
        } else {
            (LOOSE * best.abs()).max(LOOSE_USD / self.unit)
        }
    }
}
