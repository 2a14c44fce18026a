//! The rows of a plan: columns and cells of the strategies, and what is exported of them.

use serde_json::Value;

use crate::{
    question::yields::answer::Strategy,
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
    Column::figure("amount", "amount", 14, 120),
    Column::figure("value", "value", 10, 230).unit("USD"),
    Column { matched: false, ..Column::text("share", "share", 10, 10, 130) },
    Column::figure("apy", "apy after", 9, 245).unit("%").decimal(),
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

/// An amount without the places that nobody reads in a table.
fn shortened(tokens: &str) -> String {
    match tokens.split_once('.') {
        Some((whole, part)) if part.len() > 4 => format!("{whole}.{}…", &part[..4]),
        _ => tokens.to_owned(),
    }
}

pub(super) const EXPORTED: &[&str] =
    &["protocol", "chain", "token_address", "symbol", "amount", "apy", "tvl", "poolId", "quotedApy", "valueUsd", "riskScore", "share"];

pub(super) fn exported(strategy: &Strategy) -> Vec<Value> {
    let row = serde_json::to_value(strategy).unwrap_or_default();
    let of = |column: &&str| match *column {
        "token_address" => row["token"]["address"].clone(),
        "symbol" | "amount" => row["token"][*column].clone(),
        column => row[column].clone(),
    };
    EXPORTED.iter().map(of).collect()
}
