//! The rows of a plan: columns and cells of the strategies, and its steps as they are exported.

use serde_json::Value;

use crate::{
    question::yields::answer::{Step, Strategy, YieldPlan},
    tui::{
        format,
        theme::Role,
        views::parts::low_bar,
        widgets::table::{Cell, Column},
    },
};

const COLUMNS: &[Column] = &[
    Column::text("protocol", "protocol", 10, 24, 250).grows(),
    Column::text("chain", "chain", 5, 10, 170),
    Column::text("symbol", "token", 5, 8, 240),
    Column::figure("amount", "amount", 18, 120),
    Column::figure("value", "value", 10, 230).unit("USD"),
    Column { matched: false, ..Column::text("share", "share", 10, 10, 130) },
    Column::figure("apy", "net apy", 8, 245).unit("%").decimal(),
    Column::figure("quoted", "quoted", 8, 140).unit("%").decimal(),
    Column::figure("risk", "risk", 5, 110),
    Column::figure("tvl", "tvl", 7, 100),
];

/// The columns at a width, with the cells that bars have in them.
pub(super) fn columns(width: u16) -> (Vec<Column>, usize) {
    let bar: u16 = match width {
        ..100 => 10,
        100..180 => 18,
        _ => 36,
    };
    let mut columns = COLUMNS.to_vec();
    for column in columns.iter_mut().filter(|column| column.key == "share") {
        (column.min, column.ideal) = (bar, bar);
    }
    (columns, usize::from(bar))
}

pub(super) fn cells(strategy: &Strategy, bar: usize, ascii: bool) -> Vec<Cell> {
    let text = |text: &Option<String>| text.as_ref().map_or_else(Cell::missing, |text| Cell::text(text.clone()));
    let two = |value: Option<f64>| value.map_or_else(|| format::MISSING.to_owned(), |value| format::fixed(value, 2));
    vec![
        text(&strategy.protocol),
        Cell::new(strategy.chain.to_string(), Role::Dim),
        text(&strategy.token.symbol),
        strategy.tokens.as_ref().map_or_else(Cell::missing, |tokens| Cell::new(shortened(tokens), Role::Dim)),
        Cell::figure(two(strategy.value_usd)),
        Cell::new(low_bar(strategy.share.unwrap_or_default(), bar, ascii), Role::Accent),
        Cell::new(two(Some(strategy.apy)), Role::Up),
        Cell::new(two(strategy.quoted_apy), Role::Dim),
        Cell::new(strategy.risk_score.map_or_else(|| format::MISSING.to_owned(), |score| format::fixed(score, 0)), Role::Dim),
        Cell::figure(format::human(Some(strategy.tvl))),
    ]
}

/// An amount in whole tokens: every digit, or six decimals where there are more.
fn shortened(tokens: &str) -> String {
    let long = tokens.split_once('.').is_some_and(|(_, part)| part.len() > 6);
    let value = tokens.parse().ok();
    match value.filter(|_| long) {
        Some(value) => format::fixed(value, 6).trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => format::exact(value),
    }
}

/// A row for each step, in their order; the deposits tell of their pool. `amount` is in smallest units, `tokens` in whole ones.
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
    "valueUsd",
    "riskScore",
    "share",
];

pub(super) fn exported(plan: &YieldPlan) -> Vec<Vec<Value>> {
    let placed = 2 * plan.strategies.len();
    let row = |(at, step): (usize, &Step)| {
        let step = serde_json::to_value(step).unwrap_or_default();
        // An approval and a deposit for each placement, then what is held.
        let told = match plan.strategies.get(at / 2) {
            Some(strategy) => serde_json::to_value(strategy).unwrap_or_default(),
            None => serde_json::to_value(plan.unplaced.iter().flatten().nth(at - placed)).unwrap_or_default(),
        };
        let token = if told["token"].is_object() { &told["token"] } else { &told };
        let of = |column: &&str| match *column {
            "step" => Value::from(at + 1),
            "action" | "gasEstimateUsd" => step[*column].clone(),
            "token_address" => token["address"].clone(),
            "symbol" | "amount" => token[*column].clone(),
            "protocol" | "chain" | "tokens" => told[*column].clone(),
            // Said once, of the deposit.
            _ if at % 2 == 0 => Value::Null,
            column => told[column].clone(),
        };
        EXPORTED.iter().map(of).collect()
    };
    plan.steps.iter().enumerate().map(row).collect()
}
