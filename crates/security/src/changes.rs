//! What differs between two scans of a token: code, owner, trades, taxes, powers. Both scans are executions of the same kind; which states or
//! files they ran over is decided elsewhere.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    AnomalyCode, Simulation,
    code::{CodeReport, SaleState},
    simulation::SimulatedTrade,
    transactions::percent,
};
use model::{address::Address, time::Time};

/// Differences between this scan and the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityChanges {
    /// Block of the scan before; null if both are of the dataset's files.
    pub since_block: Option<u64>,
    /// Time of that block.
    pub since: Option<Time>,
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

/// What scans are compared by.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Over the state of a chain.
    block: Option<(u64, Time)>,
    values: Vec<(&'static str, String)>,
    taxes: [(&'static str, Option<f64>); 3],
}

impl Scan {
    pub fn of(report: &CodeReport) -> Self {
        let simulation = report.simulation.as_ref();
        let sale = simulation.map_or_else(|| sale(report), |one| went(Some(one), |one| one.trades.sell.as_ref()));
        let mut values = vec![("owner", owner(report.owner)), ("code", contracts(report)), ("buy", bought(simulation)), ("sale", sale)];
        let codes = AnomalyCode::ALL.iter().filter(|code| **code != AnomalyCode::Unverified);
        values.extend(codes.map(|code| (code.word(), found(report, *code))));
        let taxes = report.taxes.unwrap_or_default();
        Self {
            block: simulation.map(|one| (one.block, one.timestamp)),
            values,
            taxes: [("buy tax", taxes.buy), ("sell tax", taxes.sell), ("transfer tax", taxes.transfer)],
        }
    }

    /// What changed since that scan.
    pub fn since(&self, before: &Self) -> SecurityChanges {
        let mut changes = Vec::new();
        let mut push = |what: &str, before: &str, after: &str| {
            if before != after {
                changes.push(SecurityChange { what: what.to_owned(), before: before.to_owned(), after: after.to_owned() });
            }
        };
        let (traded, codes) = self.values.split_at(TRADED);
        let was = |what: &str| before.values.iter().find(|(of, _)| *of == what).map_or("", |(_, value)| value);
        for (what, is) in traded {
            push(what, was(what), is);
        }
        for ((what, is), (_, was)) in self.taxes.iter().zip(&before.taxes) {
            if let (Some(was), Some(is)) = (was, is)
                && (was - is).abs() >= TAX_STEP
            {
                push(what, &percent(*was), &percent(*is));
            }
        }
        for (what, is) in codes {
            push(what, was(what), is);
        }
        SecurityChanges { since_block: before.block.map(|(block, _)| block), since: before.block.map(|(_, time)| time), changes }
    }

    /// What changed since the newest of earlier scans of the files, the newest first, that found anything else; `None` if none did.
    pub(super) fn since_any(&self, earlier: &[Self]) -> Option<SecurityChanges> {
        earlier.iter().map(|before| self.since(before)).find(|changed| !changed.changes.is_empty())
    }
}

/// Values that stand before the taxes.
const TRADED: usize = 4;

/// What a trial without a chain shows of a sale.
fn sale(report: &CodeReport) -> String {
    let word = match &report.sale {
        _ if found(report, AnomalyCode::SellBlocked) == FOUND => "fails",
        SaleState::Stands => "goes through",
        SaleState::Depends(_) => "not known",
        SaleState::Unknown => "not tried",
    };
    word.to_owned()
}

const FOUND: &str = "found";

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
    if found { FOUND } else { "not found" }.to_owned()
}
