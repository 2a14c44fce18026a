//! What differs between two scans of a token over the state of its chain: code, owner, trades, taxes, powers. Both scans are executions of the
//! same kind; which states they ran over is decided elsewhere.

use schemars::JsonSchema;
use serde::Serialize;

use super::{AnomalyCode, Simulation, code::CodeReport, simulation::SimulatedTrade, transactions::percent};
use model::{address::Address, time::Time};

/// Differences between this scan and the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityChanges {
    /// Block of the scan before.
    pub since_block: u64,
    /// Time of that block.
    pub since: Time,
    /// Each difference; empty if there is none.
    pub changes: Vec<SecurityChange>,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecurityChange {
    /// `owner`, `code`, `buy`, `sale`, `buy tax`, `sell tax`, `transfer tax`, or the code of a finding.
    pub what: String,
    pub before: String,
    pub after: String,
}

/// A tax that moves less is a rounding error.
const TAX_STEP: f64 = 0.005;

/// Compares the reports of two scans; `None` if the one before has no block.
pub(super) fn between(before: &CodeReport, after: &CodeReport) -> Option<SecurityChanges> {
    let since = before.simulation.as_ref()?;
    let now = after.simulation.as_ref();
    let mut changes = Vec::new();
    let mut push = |what: &str, before: String, after: String| {
        if before != after {
            changes.push(SecurityChange { what: what.to_owned(), before, after });
        }
    };
    push("owner", owner(before.owner), owner(after.owner));
    push("code", contracts(before), contracts(after));
    push("buy", bought(Some(since)), bought(now));
    push("sale", went(Some(since), |one| one.trades.sell.as_ref()), went(now, |one| one.trades.sell.as_ref()));
    let taxes = [before, after].map(|report| report.taxes.unwrap_or_default());
    for (what, was, is) in [
        ("buy tax", taxes[0].buy, taxes[1].buy),
        ("sell tax", taxes[0].sell, taxes[1].sell),
        ("transfer tax", taxes[0].transfer, taxes[1].transfer),
    ] {
        if let (Some(was), Some(is)) = (was, is)
            && (was - is).abs() >= TAX_STEP
        {
            push(what, percent(was), percent(is));
        }
    }
    for code in AnomalyCode::ALL.iter().filter(|code| **code != AnomalyCode::Unverified) {
        push(code.word(), found(before, *code), found(after, *code));
    }
    Some(SecurityChanges { since_block: since.block, since: since.timestamp, changes })
}

fn owner(owner: Option<Address>) -> String {
    owner.map_or_else(|| "nobody".to_owned(), |owner| owner.to_string())
}

/// The contracts whose code decides what the token does, with the start of each code's hash.
fn contracts(report: &CodeReport) -> String {
    let each = report.contracts.iter().map(|(address, hash)| format!("{} ({})", address.short(), hash));
    each.collect::<Vec<_>>().join(", ")
}

fn went(simulation: Option<&Simulation>, trade: impl Fn(&Simulation) -> Option<&SimulatedTrade>) -> String {
    match simulation.and_then(trade) {
        Some(trade) if trade.ok => "goes through".to_owned(),
        Some(_) => "fails".to_owned(),
        None => "not tried".to_owned(),
    }
}

fn bought(simulation: Option<&Simulation>) -> String {
    match simulation {
        Some(one) if one.trades.buy_reason.is_some() => "fails".to_owned(),
        one => went(one, |one| one.trades.buy.as_ref()),
    }
}

fn found(report: &CodeReport, code: AnomalyCode) -> String {
    let found = report.anomalies.iter().any(|anomaly| anomaly.code == code && anomaly.weighed() > 0.0);
    if found { "found" } else { "not found" }.to_owned()
}
