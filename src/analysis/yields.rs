//! Yield optimisation: the best placement of a wallet in single-asset pools, net of gas, with every pool's yield after the deposit,
//! joint limits, amounts exact to the last unit, and a bound that proves how good the plan is. The bound is the
//! Lagrangian dual (Boyd and Vandenberghe, "Convex Optimization", 5.1.3), which any multipliers make valid. Pure; the model's parts are in
//! the modules below.

pub mod amounts;
pub mod case;
pub mod curve;
pub mod effort;
pub mod interior;
pub mod joint;
pub mod line;
pub mod naive;
mod open;
pub mod pools;
pub mod program;
pub mod risk;
pub mod units;
pub mod wallet;

use ruint::aliases::U256;

use self::{
    case::{Case, Wish},
    effort::{Effort, STEPS_MAX},
    naive::Totals,
    pools::{Pools, YieldPool},
    wallet::{UnplacedReason, WalletToken},
};

/// A placement of part of a holding.
#[derive(Debug, Clone, Copy)]
pub struct Placement<'p> {
    pub pool: &'p YieldPool,
    /// Position among the holdings.
    pub holding: usize,
    pub amount: U256,
    /// USD of the amount.
    pub value: f64,
    /// Percent a year after the deposit.
    pub apy: f64,
}

/// What stays where it is.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    /// Position among the holdings.
    pub holding: usize,
    pub amount: U256,
    pub reason: UnplacedReason,
}

/// The plan for a wallet. Money is USD, a year's where it is earned.
#[derive(Debug, Clone, Default)]
pub struct Plan<'p> {
    /// Largest value first.
    pub placements: Vec<Placement<'p>>,
    pub idle: Vec<Idle>,
    pub totals: Totals,
    /// USD of all holdings that can be valued.
    pub wallet: f64,
    /// No plan within the limits nets more.
    pub upper_bound: f64,
    /// Eligible pools.
    pub eligible: usize,
    /// The work was cut before the bound was met.
    pub cut: bool,
    /// Without a plan, as `naive` has it.
    pub highest: Totals,
    pub unlimited: Totals,
    pub quoted: Totals,
}

impl Plan<'_> {
    /// How far the plan may be from the best one, as part of its own net yield; `None` where it nets nothing and the bound more.
    pub fn gap(&self) -> Option<f64> {
        let open = (self.upper_bound - self.totals.net()).max(0.0);
        if open == 0.0 {
            return Some(0.0);
        }
        (self.totals.net() > 0.0).then(|| open / self.totals.net())
    }
}

/// What rounding in summing a bound could hide, as part of it.
const ROUNDING: f64 = 1e-12;

/// The best plan. `keep_on` is told (done, total) now and then, and ends the work by answering false.
pub fn plan<'p>(pools: &'p Pools, holdings: &[WalletToken], wish: Wish, keep_on: &mut dyn FnMut(u64, u64) -> bool) -> Plan<'p> {
    let case = Case::new(pools, holdings, wish);
    let mut effort = Effort::new(STEPS_MAX, case.unit.max(f64::MIN_POSITIVE), keep_on);
    let optimum = joint::optimum(&case.program, &mut effort);
    let positions = units::settle(&case, holdings, &optimum.deposits);
    let [highest, quoted] = naive::plans(&case);
    let mut plan = Plan { wallet: case.unit, eligible: case.candidates.len(), cut: effort.is_over(), highest, quoted, ..Plan::default() };
    plan.unlimited = naive::unlimited(&case, pools, holdings, wish);
    for position in positions {
        let origin = case.origins[position.item as usize];
        let candidate = &case.candidates[origin as usize];
        let value = holdings[candidate.holding].value(position.amount);
        let apy = 100.0 * candidate.pool.curve.rate(value);
        plan.placements.push(Placement { pool: candidate.pool, holding: candidate.holding, amount: position.amount, value, apy });
    }
    plan.placements.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.pool.id.cmp(&b.pool.id)));
    for placement in &plan.placements {
        plan.totals.add(placement.pool, placement.value, placement.value * placement.apy / 100.0);
    }
    plan.upper_bound = (optimum.bound * case.unit * (1.0 + ROUNDING)).max(plan.totals.net());
    plan.idle = idle(&case, holdings, &plan.placements);
    plan
}

/// What is left of each holding, and why.
fn idle(case: &Case<'_>, holdings: &[WalletToken], placements: &[Placement<'_>]) -> Vec<Idle> {
    let mut idle = Vec::new();
    for (at, holding) in holdings.iter().enumerate() {
        let placed = amounts::sum(placements.iter().filter(|placement| placement.holding == at).map(|placement| placement.amount));
        let amount = holding.amount.saturating_sub(placed);
        if amount.is_zero() && holding.held.is_none() {
            continue;
        }
        let mut candidates = case.candidates.iter().filter(|candidate| candidate.holding == at).peekable();
        let reason = if let Some(held) = holding.held {
            held
        } else if candidates.peek().is_none() {
            UnplacedReason::NoEligiblePool
        } else if placed.is_zero() && candidates.all(|candidate| costs_more(candidate)) {
            UnplacedReason::GasExceedsYield
        } else {
            UnplacedReason::Limits
        };
        idle.push(Idle { holding: at, amount, reason });
    }
    idle
}

/// Whether a pool has room and does not earn its gas even so.
fn costs_more(candidate: &case::Candidate<'_>) -> bool {
    let pool = candidate.pool;
    // Earnings rise with the deposit as far as the limits let it go, so the most is the best.
    candidate.high >= candidate.low && pool.curve.value(candidate.high) <= pool.fee()
}
