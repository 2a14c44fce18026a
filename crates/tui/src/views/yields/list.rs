//! The list of the Yield view: one row of the table for each field of a strategy; and the export of the plan's steps.

use crate::views::prelude::*;
use analysis::yields::exit::PoolExit;
use query::queries::yields::answer::{Step, Strategy, YieldPlan};

pub(super) struct StrategyFields;

type F = Field<StrategyFields>;

/// Width of a share's number before its bar, and minimum width of the bar.
const NUMBER: usize = 8;

impl Fields for StrategyFields {
    type Row<'a> = &'a Strategy;

    const FIELDS: &'static [F] = &[
        F::text("protocol", "protocol", [10, 24], 250, |row| {
            (&row.protocol).into()
        })
        .grows(),
        F::text("chain", "chain", [5, 10], 170, |row| {
            row.chain.to_string().into()
        })
        .dim(),
        F::text("symbol", "token", [5, 8], 240, |row| {
            (&row.token.symbol).into()
        }),
        F::figure("amount", "amount", 18, 120, |row| row.value_usd.into())
            .cell(|row, _| {
                row.tokens.as_ref().map_or_else(Cell::missing, |tokens| {
                    Cell::new(shortened(tokens), Role::Dim)
                })
            })
            .unsorted()
            .decimal(),
        F::figure("value", "value", 10, 230, |row| row.value_usd.into())
            .fixed(2, Role::Text)
            .unit("USD"),
        F::picture("share", "share", 10, 130, |row, look| {
            let share = format::share(row.share);
            let cells = look.cells.saturating_sub(NUMBER);
            let bar = if cells < NUMBER {
                String::new()
            } else {
                low_bar(row.share.unwrap_or_default(), cells)
            };
            Cell::new(format!("{share:>0$} {bar}", NUMBER - 1), Role::Accent)
        })
        .widths(&[(100, [18, 18]), (180, [36, 36])]),
        F::figure("apy", "net apy", 8, 245, |row| row.apy.into())
            .fixed(2, Role::Up)
            .unit("%")
            .decimal(),
        F::figure("exit", "exit", 6, 142, |row| exit_days(row.exit).into()).cell(|row, _| {
            exit_days(row.exit)
                .map_or_else(Cell::missing, |days| Cell::new(within(days), Role::Dim))
        }),
        F::figure("quoted", "quoted", 8, 140, |row| row.quoted_apy.into())
            .cell(|row, _| {
                let doubtful = row
                    .remarks
                    .as_ref()
                    .is_some_and(|remarks| !remarks.is_empty());
                let role = if doubtful { Role::Warning } else { Role::Dim };
                row.quoted_apy
                    .map_or_else(Cell::missing, |apy| Cell::new(format::fixed(apy, 2), role))
            })
            .unit("%")
            .decimal(),
        F::figure("expected", "expected", 8, 125, |row| {
            row.expected_apy.into()
        })
        .fixed(2, Role::Dim)
        .unit("%")
        .decimal(),
        F::figure("risk", "risk", 5, 110, |row| row.risk_score.into()).fixed(0, Role::Dim),
        F::figure("tvl", "tvl", 7, 100, |row| row.tvl.into()),
    ];
}

fn exit_days(exit: Option<PoolExit>) -> Option<f64> {
    exit.and_then(|exit| exit.exit_days)
}

/// `now`, `7 d`: a number of days until all can be withdrawn, rounded up.
pub(super) fn within(days: f64) -> String {
    if days <= 0.0 {
        "now".to_owned()
    } else {
        format!("{} d", format::fixed(days.ceil(), 0))
    }
}

/// An amount in whole tokens: in full, or rounded to six decimals.
fn shortened(tokens: &str) -> String {
    let long = tokens
        .split_once('.')
        .is_some_and(|(_, part)| part.len() > 6);
    let value = tokens.parse().ok();
    match value.filter(|_| long) {
        Some(value) => format::fixed(value, 6)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        None => format::exact(value),
    }
}

/// One row for each step, in order; deposits include their pool. `amount` is in base units, `tokens` in whole tokens.
pub(super) const EXPORTED: &[&str] = &[
    "step",
    "action",
    "gasEstimateUsd",
    "protocol",
    "chain",
    "token_address",
    "symbol",
    "amount",
    "tokens",
    "apy",
    "tvl",
    "poolId",
    "quotedApy",
    "expectedApy",
    "expectedDays",
    "valueUsd",
    "riskScore",
    "share",
];

pub(super) fn exported(plan: &YieldPlan) -> Vec<Vec<Json>> {
    let placed = 2 * plan.strategies.len();
    let row = |(at, step): (usize, &Step)| {
        let step = serde_json::to_value(step).unwrap_or_default();
        // Each deposit has an approval step before it; idle holdings follow.
        let told = match plan.strategies.get(at / 2) {
            Some(strategy) => serde_json::to_value(strategy).unwrap_or_default(),
            None => serde_json::to_value(plan.unplaced.iter().flatten().nth(at - placed))
                .unwrap_or_default(),
        };
        let token = if told["token"].is_object() {
            &told["token"]
        } else {
            &told
        };
        let of = |column: &&str| match *column {
            "step" => Json::from(at + 1),
            "action" | "gasEstimateUsd" => step[*column].clone(),
            "token_address" => token["address"].clone(),
            "symbol" | "amount" => token[*column].clone(),
            "protocol" | "chain" | "tokens" => told[*column].clone(),
            // Only on the deposit's row.
            _ if at % 2 == 0 => Json::Null,
            column => told[column].clone(),
        };
        EXPORTED.iter().map(of).collect()
    };
    plan.steps.iter().enumerate().map(row).collect()
}
