//! The JSON shape of a yield plan, and its conversion from the analysis's plan. The `explain` members are left out without it.

use schemars::JsonSchema;
use serde::Serialize;

use analysis::yields::{
    IdleHolding, Placement, Plan, TINY_USD,
    case::Exclusion,
    curve::Dilution,
    exit::PoolExit,
    expected::{YieldBasis, YieldRemark},
    naive::Totals,
    pools::YieldPool,
    risk::{RiskLevel, RiskPart},
    wallet::{UnplacedReason, WalletToken},
};
use model::{address::Address, chain::Chain};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct YieldPlan {
    /// One entry per pool used, largest value first.
    pub strategies: Vec<Strategy>,
    pub summary: YieldSummary,
    /// Ordered actions; the last ones name the idle holdings and the reason.
    pub steps: Vec<Step>,
    /// With `explain`: holdings that stay idle, and the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unplaced: Option<Vec<Unallocated>>,
    /// With `explain`: baseline allocations to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternatives: Option<Vec<Alternative>>,
    /// With `explain`: the allocation, largest share first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Allocations>,
    /// With `explain`: caveats of the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
}

/// A deposit of a token amount into a pool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    pub protocol: Option<String>,
    pub chain: Chain,
    pub token: TokenAmount,
    /// Net APY in percent over the next 365 days: after the deposit (diluted), for as long as the pool pays, less its fees.
    pub apy: f64,
    /// USD.
    pub tvl: f64,
    /// With `explain`: the pool's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<String>,
    /// With `explain`: APY in percent before the deposit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted_apy: Option<f64>,
    /// With `explain`: expected APY in percent before the deposit: the median of up to 30 days if the pool's yield was seen on at least
    /// seven of them, otherwise the quoted APY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_apy: Option<f64>,
    /// With `explain`: number of days of which `expectedApy` is the median; 0 if it is the quoted APY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_days: Option<u64>,
    /// With `explain`: how deposits dilute the base APY. `none`: not at all; `shared`: a fixed flow is shared pro rata; `squared`: a fixed
    /// debt with a rate linear in utilization. Rewards are always shared pro rata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dilution: Option<Dilution>,
    /// With `explain`, if the dataset knows the way out of any pool: what it knows of this one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<PoolExit>,
    /// Reasons to doubt the quoted APY; with `explain` also those to doubt the pool, and an empty list if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remarks: Option<Vec<YieldRemark>>,
    /// With `explain`: USD deposited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_usd: Option<f64>,
    /// With `explain`: 0 for the safest, 100 for the riskiest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_score: Option<f64>,
    /// With `explain`: components of the risk score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_parts: Option<Vec<RiskPart>>,
    /// With `explain`: the amount in whole tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// With `explain`: fraction of the total deposit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// With `explain`: fraction of the whole wallet, to which the limits apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wallet_share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenAmount {
    pub address: Address,
    pub symbol: Option<String>,
    /// In base units, as decimal digits.
    pub amount: String,
}

/// Totals in USD.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct YieldSummary {
    /// Value allocated.
    pub total_value_usd: f64,
    /// After the deposits, before gas.
    pub estimated_annual_yield_usd: f64,
    /// Mean APY in percent, weighted by value deposited.
    pub weighted_apy: f64,
    /// Gas of all steps, as far as it is known.
    pub gas_estimate_usd: f64,
    #[serde(flatten)]
    pub explained: Option<ExplainedSummary>,
}

/// With `explain`: quality of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedSummary {
    /// USD value of the whole wallet, as far as it has prices: `totalValueUsd` + `idleValueUsd`.
    pub wallet_value_usd: f64,
    /// USD value of the idle holdings that have a price.
    pub idle_value_usd: f64,
    /// APY in percent of the whole wallet that has a price, including idle holdings; `weightedApy` covers only the deposits.
    pub wallet_apy: f64,
    /// Yield over the horizon, net of gas.
    pub net_yield_usd: f64,
    /// Upper bound of the net yield of any plan within the limits.
    pub upper_bound_usd: f64,
    /// Optimality gap: the largest possible shortfall from the best plan, as a fraction of the plan's net yield; null if the net yield is
    /// not positive and a better plan may exist.
    pub gap: Option<f64>,
    /// The optimality gap in percent.
    pub gap_percent: Option<f64>,
    /// Days over which gas is amortized.
    pub horizon_days: u32,
    /// Pools that pass the filters.
    pub eligible_pools: u64,
    /// Mean risk score weighted by deposit, 0 for the safest, 100 for the riskiest; null without deposits.
    pub risk_score: Option<f64>,
    /// If the dataset knows the way out of any pool: the part of the deposits that can be withdrawn, by number of days. Where the last is
    /// less than 1, the way out of the rest is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exits: Option<Vec<ExitShare>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ExitShare {
    /// Days from the request; 0: at once.
    pub days: f64,
    /// Fraction of the total deposit that can be withdrawn by then.
    pub share: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub action: String,
    /// Null if the chain's gas cost is unknown.
    pub gas_estimate_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unallocated {
    pub address: Address,
    pub symbol: Option<String>,
    /// In base units, as decimal digits.
    pub amount: String,
    pub reason: UnplacedReason,
}

/// The deposits by protocol and by chain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Allocations {
    pub protocols: Vec<Allocation>,
    pub chains: Vec<Allocation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    pub name: String,
    pub value_usd: f64,
    /// Fraction of the total deposit.
    pub share: f64,
    /// Fraction of the whole wallet, to which the limits apply.
    pub wallet_share: f64,
    /// Number of pools used.
    pub pools: u64,
}

/// A baseline allocation, to compare the plan with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alternative {
    /// `highest_apy`: each token into the pool with the highest quoted APY, within the limits, the rest idle; `highest_apy_unlimited`:
    /// everything there, regardless of risk; `by_quoted_apy`: pools filled in the order of their quoted APY.
    pub name: &'static str,
    pub pools: u64,
    /// Value allocated.
    pub total_value_usd: f64,
    pub estimated_annual_yield_usd: f64,
    pub gas_estimate_usd: f64,
    pub net_yield_usd: f64,
    /// Value left idle.
    pub idle_value_usd: f64,
    /// Mean risk score weighted by deposit, 0 for the safest, 100 for the riskiest; null without deposits.
    pub risk_score: Option<f64>,
    /// Additional net yield of the plan per year.
    pub plan_advantage_usd: f64,
}

const HORIZON_DAYS: u32 = 365;

impl YieldPlan {
    pub(super) fn new(
        plan: &Plan<'_>,
        holdings: &[WalletToken],
        level: RiskLevel,
        explain: bool,
    ) -> Self {
        let mut steps = steps(plan, holdings);
        steps.extend(
            plan.idle
                .iter()
                .map(|idle| hold(idle, &holdings[idle.holding])),
        );
        // Of nothing the sum is minus zero.
        let gas_estimate_usd = 0.0
            + steps
                .iter()
                .filter_map(|step| step.gas_estimate_usd)
                .sum::<f64>();
        let totals = &plan.totals;
        // The sum of nothing is -0.0.
        let idle = 0.0
            + plan
                .idle
                .iter()
                .map(|idle| holdings[idle.holding].value(idle.amount))
                .sum::<f64>();
        let explained = explain.then(|| ExplainedSummary {
            wallet_value_usd: totals.placed + idle,
            idle_value_usd: idle,
            wallet_apy: if totals.placed > 0.0 {
                100.0 * totals.earned / (totals.placed + idle)
            } else {
                0.0
            },
            net_yield_usd: totals.earned - gas_estimate_usd,
            upper_bound_usd: plan.upper_bound,
            gap: plan.gap(),
            gap_percent: plan.gap().map(|gap| 100.0 * gap),
            horizon_days: HORIZON_DAYS,
            eligible_pools: plan.eligible as u64,
            risk_score: totals.risk_score(),
            exits: plan.knows_exits.then(|| {
                let exits = plan.exits().into_iter();
                exits
                    .map(|(days, share)| ExitShare { days, share })
                    .collect()
            }),
        });
        Self {
            strategies: plan
                .placements
                .iter()
                .map(|placement| strategy(placement, &holdings[placement.holding], plan, explain))
                .collect(),
            summary: YieldSummary {
                total_value_usd: totals.placed,
                estimated_annual_yield_usd: totals.earned,
                weighted_apy: if totals.placed > 0.0 {
                    100.0 * totals.earned / totals.placed
                } else {
                    0.0
                },
                gas_estimate_usd,
                explained,
            },
            steps,
            unplaced: explain.then(|| {
                plan.idle
                    .iter()
                    .map(|idle| unplaced(idle, &holdings[idle.holding]))
                    .collect()
            }),
            alternatives: explain.then(|| {
                let named = [
                    ("highest_apy", &plan.highest),
                    ("highest_apy_unlimited", &plan.unlimited),
                    ("by_quoted_apy", &plan.quoted),
                ];
                named
                    .map(|(name, totals)| alternative(name, totals, plan))
                    .to_vec()
            }),
            allocation: explain.then(|| Allocations {
                protocols: shares(plan, |placement| &placement.pool.protocol),
                chains: shares(plan, |placement| placement.pool.chain.as_str()),
            }),
            notes: explain.then(|| notes(plan, holdings, level)),
        }
    }
}

fn strategy(
    placement: &Placement<'_>,
    holding: &WalletToken,
    plan: &Plan<'_>,
    explain: bool,
) -> Strategy {
    let pool = placement.pool;
    Strategy {
        protocol: Some(pool.protocol.clone()).filter(|name| !name.is_empty()),
        chain: pool.chain.clone(),
        token: TokenAmount {
            address: holding.address,
            symbol: holding.symbol.clone(),
            amount: placement.amount.to_string(),
        },
        apy: placement.apy,
        tvl: pool.tvl,
        pool_id: explain.then(|| pool.id.clone()),
        quoted_apy: explain.then_some(pool.quoted),
        expected_apy: explain.then_some(pool.expected),
        expected_days: explain.then_some(match pool.basis {
            YieldBasis::History(days) => days as u64,
            YieldBasis::Quoted => 0,
        }),
        dilution: explain.then_some(pool.curve.dilution),
        exit: (explain && plan.knows_exits).then_some(pool.exit),
        remarks: remarks(pool, explain),
        value_usd: explain.then_some(placement.value),
        risk_score: explain.then_some(pool.score),
        tokens: explain
            .then(|| holding.in_tokens(placement.amount))
            .flatten(),
        risk_parts: explain.then(|| pool.traits.parts().to_vec()),
        share: explain.then(|| placement.value / plan.totals.placed),
        wallet_share: explain.then(|| placement.value / plan.wallet),
    }
}

/// All remarks with `explain`; without, those about the quote, if there are any.
fn remarks(pool: &YieldPool, explain: bool) -> Option<Vec<YieldRemark>> {
    let mut remarks = pool.remarks.clone();
    remarks.retain(|remark| explain || remark.code.is_about_the_quote());
    (explain || !remarks.is_empty()).then_some(remarks)
}

/// An amount of a holding in display form.
fn amount(holding: &WalletToken, amount: ruint::aliases::U256) -> String {
    match (holding.in_tokens(amount), &holding.symbol) {
        (Some(tokens), Some(symbol)) => format!("{tokens} {symbol}"),
        (Some(tokens), None) => format!("{tokens} of {}", holding.address),
        (None, _) => format!("{amount} of {}", holding.address),
    }
}

fn steps(plan: &Plan<'_>, holdings: &[WalletToken]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(plan.placements.len() * 2 + plan.idle.len());
    for placement in &plan.placements {
        let pool = placement.pool;
        let what = amount(&holdings[placement.holding], placement.amount);
        let who = if pool.protocol.is_empty() {
            &pool.id
        } else {
            &pool.protocol
        };
        let which = pool
            .meta
            .as_ref()
            .map_or_else(String::new, |meta| format!(" ({meta})"));
        let gas = |at: usize| pool.gas.map(|gas| gas[at]);
        steps.push(Step {
            action: format!("Approve {what} for {who} on {}", pool.chain),
            gas_estimate_usd: gas(0),
        });
        steps.push(Step {
            action: format!("Deposit {what} into {who}{which} on {}", pool.chain),
            gas_estimate_usd: gas(1),
        });
    }
    steps
}

fn hold(idle: &IdleHolding, holding: &WalletToken) -> Step {
    let action = format!(
        "Hold {}: {}",
        amount(holding, idle.amount),
        idle.reason.phrase()
    );
    Step {
        action,
        gas_estimate_usd: Some(0.0),
    }
}

fn unplaced(idle: &IdleHolding, holding: &WalletToken) -> Unallocated {
    Unallocated {
        address: holding.address,
        symbol: holding.symbol.clone(),
        amount: idle.amount.to_string(),
        reason: idle.reason,
    }
}

fn shares<'a>(plan: &'a Plan<'_>, name: impl Fn(&'a Placement<'_>) -> &'a str) -> Vec<Allocation> {
    let mut shares: Vec<Allocation> = Vec::new();
    for placement in &plan.placements {
        let name = name(placement);
        if let Some(share) = shares.iter_mut().find(|share| share.name == name) {
            (share.value_usd, share.pools) = (share.value_usd + placement.value, share.pools + 1);
        } else {
            shares.push(Allocation {
                name: name.to_owned(),
                value_usd: placement.value,
                share: 0.0,
                wallet_share: 0.0,
                pools: 1,
            });
        }
    }
    for share in &mut shares {
        share.share = share.value_usd / plan.totals.placed;
        share.wallet_share = share.value_usd / plan.wallet;
    }
    shares.sort_by(|a, b| {
        b.value_usd
            .total_cmp(&a.value_usd)
            .then_with(|| a.name.cmp(&b.name))
    });
    shares
}

fn alternative(name: &'static str, totals: &Totals, plan: &Plan<'_>) -> Alternative {
    Alternative {
        name,
        pools: totals.pools as u64,
        total_value_usd: totals.placed,
        estimated_annual_yield_usd: totals.earned,
        gas_estimate_usd: totals.gas,
        net_yield_usd: totals.net(),
        idle_value_usd: (plan.wallet - totals.placed).max(0.0),
        risk_score: totals.risk_score(),
        plan_advantage_usd: plan.totals.net() - totals.net(),
    }
}

fn notes(plan: &Plan<'_>, holdings: &[WalletToken], level: RiskLevel) -> Vec<String> {
    let limits = level.limits();
    // Several pools of one protocol fail together: more than one pool may have is worth saying.
    let whole = |fraction: f64| format!("{:.0}%", 100.0 * fraction);
    let concentrated = shares(plan, |placement| &placement.pool.protocol).into_iter();
    let concentrated = concentrated.filter(|protocol| {
        protocol.pools > 1 && protocol.wallet_share > limits.pool && !protocol.name.is_empty()
    });
    let mut notes: Vec<String> = concentrated
        .map(|protocol| {
            let (name, pools, share) = (protocol.name, protocol.pools, whole(protocol.wallet_share));
            let (risk, pool, most) = (level.word(), whole(limits.pool), whole(limits.protocol));
            format!("{name} receives {share} of the wallet in {pools} pools: {risk} risk allows {pool} per pool and {most} per protocol.")
        })
        .collect();
    let mut unknown: Vec<&str> = plan
        .placements
        .iter()
        .filter(|placement| placement.pool.gas.is_none())
        .map(|placement| placement.pool.chain.as_str())
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        notes.push(format!(
            "Gas costs on {} are unknown and counted as 0; add a row to the `gas` table.",
            unknown.join(", ")
        ));
    }
    let reasons = [
        (
            Exclusion::Stuck,
            "a yield is quoted, but nothing was paid on most of the last 30 days",
        ),
        (
            Exclusion::Ended,
            "the pool has ended, or ends before it earns its fees",
        ),
        (
            Exclusion::Full,
            "nothing can be withdrawn, or no more deposits are accepted",
        ),
        (
            Exclusion::Slow,
            "the lock or the way out takes longer than the request or its risk level allows",
        ),
        (
            Exclusion::Unknown,
            "the request limits the lock or the way out, and the dataset does not say how long it takes",
        ),
    ];
    notes.extend(reasons.iter().filter_map(|(reason, why)| {
        let mut of_reason = plan.excluded.iter().filter(|(found, _)| found == reason);
        let (_, first) = of_reason.next()?;
        let more = match of_reason.count() {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        // Ids of services say nothing to a reader.
        let mut symbols = holdings
            .iter()
            .filter(|holding| holding.address == first.token)
            .filter_map(|holding| holding.symbol.as_deref());
        let symbol = symbols
            .next()
            .map_or_else(String::new, |symbol| format!(" {symbol}"));
        let (protocol, chain) = (&first.protocol, first.chain.as_str());
        Some(format!(
            "Excluded {protocol}{symbol} on {chain} (`{}`){more}: {why}.",
            first.id
        ))
    }));
    notes.extend(holdings.iter().filter_map(tiny));
    let doubtful: f64 = plan
        .placements
        .iter()
        .filter(|placement| placement.pool.is_doubtful())
        .map(|placement| placement.value * placement.apy / 100.0)
        .sum();
    if doubtful > 0.0 {
        notes.push(format!(
            "{} of the plan's yield comes from pools with a doubtful quote; see their `remarks`.",
            whole(doubtful / plan.totals.earned)
        ));
    }
    if plan.cut {
        notes.push(
            "The search reached its work limit: the plan is valid, and `gap` is its largest possible distance from the best plan."
                .to_owned(),
        );
    }
    notes
}

/// A hint that an amount may not be in base units.
fn tiny(holding: &WalletToken) -> Option<String> {
    let (units, decimals) = (holding.amount, holding.decimals?);
    let value = holding.value(units);
    if holding.held.is_some() || value >= TINY_USD {
        return None;
    }
    let what = amount(holding, units);
    Some(format!(
        "The amount {units} is {what}, worth less than {TINY_USD} USD: amounts are in base units, 10^{decimals} of them per token."
    ))
}
