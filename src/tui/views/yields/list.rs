//! The list of the Yield view: one row of the table for each field of a strategy.

use serde_json::Value as Json;

use crate::{
    question::{filter::ColumnKind, yields::answer::Strategy},
    tui::{
        format,
        list::{Field, Fields, Row},
        theme::Role,
        views::parts::low_bar,
        widgets::table::{Cell, Column},
    },
};

pub(super) struct Strategies;

type F = Field<Strategies>;

impl Fields for Strategies {
    type Row<'a> = &'a Strategy;

    const FIELDS: &'static [F] = &[
        F::text("protocol", "protocol", [10, 24], 250, |row| (&row.protocol).into()).grows(),
        F::text("chain", "chain", [5, 10], 170, |row| row.chain.to_string().into())
            .cell(|row, _| Cell::new(row.chain.to_string(), Role::Dim)),
        F::hidden("token_address", ColumnKind::Text, |row| row.token.address.to_string().into()),
        F::text("symbol", "token", [5, 8], 240, |row| (&row.token.symbol).into()),
        F::figure("amount", "amount", 14, 120, |row| row.value_usd.into())
            .cell(|row, _| row.tokens.as_ref().map_or_else(Cell::missing, |tokens| Cell::new(shortened(tokens), Role::Dim)))
            .unsorted(),
        F::figure("value", "value", 10, 230, |row| row.value_usd.into())
            .cell(|row, _| Cell::figure(two(row.value_usd)))
            .unit("USD")
            .member("valueUsd"),
        F::picture("share", "share", 10, 130, |row, look| {
            Cell::new(low_bar(row.share.unwrap_or_default(), look.cells, look.ascii), Role::Accent)
        })
        .member("share"),
        F::figure("apy", "apy after", 9, 245, |row| row.apy.into())
            .cell(|row, _| Cell::new(two(Some(row.apy)), Role::Up))
            .unit("%")
            .decimal(),
        F::figure("quoted", "quoted", 8, 140, |row| row.quoted_apy.into())
            .cell(|row, _| Cell::new(two(row.quoted_apy), Role::Dim))
            .unit("%")
            .decimal()
            .member("quotedApy"),
        F::figure("risk", "risk", 5, 110, |row| row.risk_score.into()).cell(risk).member("riskScore"),
        F::figure("tvl", "tvl", 7, 100, |row| row.tvl.into()),
        F::hidden("poolId", ColumnKind::Text, |row| (&row.pool_id).into()),
    ];

    fn fit(column: &mut Column, width: u16) {
        let bar = match width {
            ..100 => 10,
            100..180 => 18,
            _ => 36,
        };
        if column.key == "share" {
            (column.min, column.ideal) = (bar, bar);
        }
    }

    fn json(row: &Strategy) -> Json {
        serde_json::to_value(row).unwrap_or_default()
    }

    fn written(row: &Json, member: &str) -> Json {
        match member {
            "token_address" => row["token"]["address"].clone(),
            "symbol" | "amount" => row["token"][member].clone(),
            member => row[member].clone(),
        }
    }
}

fn two(value: Option<f64>) -> String {
    value.map_or_else(|| format::MISSING.to_owned(), |value| format::fixed(value, 2))
}

fn risk(row: Row<'_, Strategies>, _: &crate::tui::list::Look) -> Cell {
    Cell::new(row.risk_score.map_or_else(|| format::MISSING.to_owned(), |score| format::fixed(score, 0)), Role::Dim)
}

/// An amount without the places that nobody reads in a table.
fn shortened(tokens: &str) -> String {
    match tokens.split_once('.') {
        Some((whole, part)) if part.len() > 4 => format!("{whole}.{}…", &part[..4]),
        _ => tokens.to_owned(),
    }
}
