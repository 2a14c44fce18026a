//! Differences between two scans of a token: code, owner, trades, taxes, findings. Both scans are executions of the same kind; which states
//! or files they ran on is decided elsewhere.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    AnomalyCode, Simulation,
    code::{CodeReport, SaleState},
    simulation::SimulatedTrade,
    transactions::percent,
};
use model::{address::Address, time::Time};

/// Differences between this scan and the previous one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityChanges {
    /// Block of the previous scan; null if both scans are of the dataset's files.
    pub since_block: Option<u64>,
    /// Time of that block.
    pub since: Option<Time>,
    /// The differences; empty if there are none.
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

/// A smaller change of a tax is a rounding error.
const TAX_STEP: f64 = 0.005;

/// The values by which scans are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Block and time of the on-chain state.
    block: Option<(u64, Time)>,
    values: Vec<(&'static str, String)>,
    taxes: [(&'static str, Option<f64>); 3],
}

impl Scan {
    pub fn of(report: &CodeReport) -> Self {
        let simulation = report.simulation.as_ref();
        let sale = simulation.map_or_else(
            || sale(report),
            |one| went(Some(one), |one| one.trades.sell.as_ref()),
        );
        let mut values = vec![
            ("owner", owner(report.owner)),
            ("code", contracts(report)),
            ("buy", bought(simulation)),
            ("sale", sale),
        ];
        let codes = AnomalyCode::ALL
            .iter()
            .filter(|code| **code != AnomalyCode::Unverified);
        values.extend(codes.map(|code| (code.word(), found(report, *code))));
        let taxes = report.taxes.unwrap_or_default();
        Self {
            block: simulation.map(|one| (one.block, one.timestamp)),
            values,
            taxes: [
                ("buy tax", taxes.buy),
                ("sell tax", taxes.sell),
                ("transfer tax", taxes.transfer),
            ],
        }
    }

    /// Changes since that scan.
    pub fn since(&self, before: &Self) -> SecurityChanges {
        let mut changes = Vec::new();
        let mut push = |what: &str, before: &str, after: &str| {
            if before != after {
                changes.push(SecurityChange {
                    what: what.to_owned(),
                    before: before.to_owned(),
                    after: after.to_owned(),
                });
            }
        };
        let (traded, codes) = self.values.split_at(TRADED);
        let was = |what: &str| {
            before
                .values
                .iter()
                .find(|(of, _)| *of == what)
                .map_or("", |(_, value)| value)
        };
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
        SecurityChanges {
            since_block: before.block.map(|(block, _)| block),
            since: before.block.map(|(_, time)| time),
            changes,
        }
    }

    /// Changes since the newest earlier scan of the files that differs; `None` if none does. `earlier` is newest first.
    pub(super) fn since_any(&self, earlier: &[Self]) -> Option<SecurityChanges> {
        earlier
            .iter()
            .map(|before| self.since(before))
            .find(|changed| !changed.changes.is_empty())
    }
}

/// Number of values before the taxes.
const TRADED: usize = 4;

/// Whether a sell succeeds in a simulation without on-chain state.
fn sale(report: &CodeReport) -> String {
    let word = match &report.sale {
        _ if found(report, AnomalyCode::SellBlocked) == FOUND => "fails",
        SaleState::Stands => "succeeds",
        SaleState::Depends(_) => "unknown",
        SaleState::Unknown => "not tested",
    };
    word.to_owned()
}

const FOUND: &str = "found";

fn owner(owner: Option<Address>) -> String {
    owner.map_or_else(|| "none".to_owned(), |owner| owner.to_string())
}

/// The contracts whose code decides what the token does, with the start of each code's hash.
fn contracts(report: &CodeReport) -> String {
    let each = report
        .contracts
        .iter()
        .map(|(address, hash)| format!("{} ({})", address.short(), hash));
    each.collect::<Vec<_>>().join(", ")
}

fn went(
    simulation: Option<&Simulation>,
    trade: impl Fn(&Simulation) -> Option<&SimulatedTrade>,
) -> String {
    match simulation.and_then(trade) {
        Some(trade) if trade.ok => "succeeds".to_owned(),
        Some(_) => "fails".to_owned(),
        None => "not tested".to_owned(),
    }
}

fn bought(simulation: Option<&Simulation>) -> String {
    match simulation {
        Some(one) if one.trades.buy_reason.is_some() => "fails".to_owned(),
        one => went(one, |one| one.trades.buy.as_ref()),
    }
}

fn found(report: &CodeReport, code: AnomalyCode) -> String {
    let found = report
        .anomalies
        .iter()
        .any(|anomaly| anomaly.code == code && anomaly.weighed() > 0.0);
    if found { FOUND } else { "not found" }.to_owned()
}
