//! The tokens of a comparison: one row of a table for each figure over the period.

use super::draw::{letter, role};
use crate::views::prelude::*;
use analysis::{compare::against, market::TokenSummary};
use query::queries::{
    caches::SecuritySummary,
    compare::{Compared, ComparedRow, Comparison},
};

pub(super) struct LegendFields;

/// A token of the comparison, as it is drawn.
pub(super) struct LegendRow<'a> {
    nth: usize,
    token: &'a Compared,
    is_base: bool,
    /// Percent at the crosshair, and against the base there.
    percent: Option<f64>,
    percent_against_base: Option<f64>,
    summary: Option<&'a TokenSummary>,
    /// Only if it was already computed.
    pub(super) score: Option<SecuritySummary>,
}

/// The rows of the answer, with the returns at the crosshair's `row`.
pub(super) fn rows<'a>(
    answer: &'a Comparison,
    row: &ComparedRow,
    context: &'a Context<'_>,
) -> Vec<LegendRow<'a>> {
    let percent = |nth: usize| row.percent.get(nth).copied().flatten();
    let base = answer
        .tokens
        .iter()
        .position(|token| token.token_address == answer.base_address)
        .and_then(percent);
    let of = |(nth, token): (usize, &'a Compared)| LegendRow {
        nth,
        token,
        is_base: token.token_address == answer.base_address,
        percent: percent(nth),
        percent_against_base: percent(nth)
            .zip(base)
            .and_then(|(own, base)| against(own, base)),
        summary: summary(context, &token.token_address),
        score: context
            .snapshot
            .and_then(|snapshot| snapshot.security.summary(&token.token_address)),
    };
    answer.tokens.iter().enumerate().map(of).collect()
}

type L = Field<LegendFields>;

impl Fields for LegendFields {
    type Row<'a> = &'a LegendRow<'a>;

    const FIELDS: &'static [L] = &[
        L::picture("letter", "", 1, 255, |row, _| {
            Cell::new(letter(row.nth).to_string(), role(row.nth))
        }),
        L::text("symbol", "token", [8, 14], 255, |row| {
            (&row.token.symbol).into()
        })
        .cell(|row, _| {
            let name = row
                .token
                .symbol
                .clone()
                .unwrap_or_else(|| row.token.token_address.short());
            Cell::new(name, role(row.nth))
        })
        .plain(),
        L::text("chain", "chain", [5, 5], 40, |row| {
            row.summary
                .and_then(|token| token.chains.first())
                .map(ToString::to_string)
                .into()
        })
        .dim()
        .plain(),
        L::text("token_address", "address", [11, 11], 30, |row| {
            row.token.token_address.to_string().into()
        })
        .addresses(AddressOf::Tokens)
        .cell(|row, _| Cell::new(row.token.token_address.short(), Role::Dim))
        .unsorted()
        .plain(),
        L::figure("percent", "percent", 9, 250, |row| row.percent.into()).change(),
        L::figure("percent_against_base", "against base", 12, 60, |row| {
            row.percent_against_base.into()
        })
        .change()
        .cell(|row, _| {
            if row.is_base {
                base()
            } else {
                Cell::change(row.percent_against_base)
            }
        }),
        L::figure("maximum_drawdown", "drawdown", 8, 240, |row| {
            row.token.maximum_drawdown.into()
        })
        .fixed(1, Role::Text)
        .unit("%")
        .smallest_first(),
        L::figure("volatility", "volatility", 8, 230, |row| {
            row.token.volatility.into()
        })
        .fixed(1, Role::Text)
        .unit("%"),
        L::figure("correlation", "corr", 5, 220, |row| {
            row.token.correlation.into()
        })
        .cell(|row, _| {
            if row.is_base {
                base()
            } else {
                two_decimals(row.token.correlation)
            }
        }),
        L::figure("beta", "beta", 7, 110, |row| row.token.beta.into()).cell(|row, _| {
            if row.is_base {
                base()
            } else {
                two_decimals(row.token.beta)
            }
        }),
        L::figure("market_cap", "cap", 7, 100, |row| {
            row.summary.and_then(|token| token.market_cap).into()
        })
        .cell(|row, _| {
            let outdated = |token: &TokenSummary| token.outdated(token.market_cap_as_of).is_some();
            money(
                row.summary.and_then(|token| token.market_cap),
                &row,
                row.summary.is_some_and(outdated),
            )
        }),
        L::figure("volume_24h", "vol", 7, 90, |row| {
            row.summary.and_then(|token| token.volume_24h).into()
        })
        .cell(|row, _| money(row.summary.and_then(|token| token.volume_24h), &row, false)),
        L::figure("score", "score", 5, 80, |row| {
            row.score.and_then(|score| score.known_score()).into()
        })
        .cell(|row, _| {
            row.score.map_or_else(Cell::missing, |of| {
                Cell::new(
                    score_text(of.score, of.recommendation),
                    role_of_score(of.score, of.recommendation),
                )
            })
        }),
    ];
}

/// In place of a figure that holds a token against the base: it is the base.
fn base() -> Cell {
    Cell::new("base", Role::Dim)
}

fn two_decimals(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::missing, |value| Cell::text(format::fixed(value, 2)))
}

/// Dim where it is old.
fn money(value: Option<f64>, row: &LegendRow<'_>, outdated: bool) -> Cell {
    let text = format::human(value);
    let old = outdated || row.summary.is_some_and(TokenSummary::is_stale);
    let role = if old { Role::Dim } else { role_of(&text) };
    Cell {
        short: value,
        ..Cell::new(text, role)
    }
}
