//! A token as a row of the list: the columns for conditions and sorting, and their values. Shared by the API and the terminal, so that
//! equal conditions keep equal tokens.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::queries::{
    fields::{self, Figures, TokenEntry, is_computed},
    figure::FigureValue,
    list::Listed,
};
use analysis::market::TokenSummary;
use load::Dataset;
use model::{chain::Chain, names, scalar::Scalar, token::ExtraColumn};
use table::filter::{self, ColumnValues, FilterColumn};

/// A token with its optional metrics, as far as they are computed.
#[derive(Debug, Clone, Copy)]
pub struct TokenRow<'a> {
    pub token: &'a TokenSummary,
    pub figures: Option<&'a Figures>,
}

/// The prefix of a custom column whose name collides with a built-in name or alias.
pub const OWN: &str = "own_";

/// The custom columns of the `tokens` file, as conditions, sort orders and headers name them: by their own names, with `own_` before a
/// colliding one.
pub fn own_columns(dataset: &Dataset) -> Vec<FilterColumn> {
    let named = |own: &ExtraColumn| {
        let taken = filter::column(own.name, TokenEntry::COLUMNS).is_some()
            || ["starred", "star", "watchlist"].contains(&own.name);
        let name = if taken {
            names::intern(&format!("{OWN}{}", own.name))?
        } else {
            own.name
        };
        // A name with a blank or an operator in it cannot be used in a filter, but in a header.
        Some(filter::of_kind(name, own.kind, &[]))
    };
    dataset.own_columns().iter().filter_map(named).collect()
}

/// Every column for conditions on tokens and for sorting them.
pub fn columns(dataset: &Dataset) -> Vec<FilterColumn> {
    let listed = TokenEntry::COLUMNS
        .iter()
        .cloned()
        .map(|column| match column.values {
            ColumnValues::Chains(_) => column.of_chains(own_chains(dataset)),
            _ => column,
        });
    listed.chain(own_columns(dataset)).collect()
}

/// The chains of the data that are not in the list.
fn own_chains(dataset: &Dataset) -> Vec<String> {
    let all = dataset
        .tokens()
        .iter()
        .flat_map(|token| &token.chains)
        .filter(|chain| chain.id().is_none());
    all.map(Chain::to_string)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

impl<'a> TokenRow<'a> {
    pub fn plain(token: &'a TokenSummary) -> Self {
        Self {
            token,
            figures: None,
        }
    }

    fn figure(&self, column: &str) -> Option<&FigureValue> {
        self.figures?.get(column)
    }

    /// The value that a condition on the column compares.
    pub fn field(&self, column: &str) -> Scalar<'a> {
        if is_computed(column) {
            return self.figure(column).map(FigureValue::field).into();
        }
        fields::value(self.token, column)
            .given()
            .unwrap_or_else(|| own(self.token, column))
    }

    /// Whether the value is missing from the data, rather than not yet computed or the pattern of candles that have none.
    pub fn lacks(&self, column: &str) -> bool {
        let known = !is_computed(column) || self.figures.is_some_and(|figures| figures.has(column));
        let no_pattern = column == "best_pattern" && self.token.last_candle.is_some();
        known && !no_pattern && self.field(column) == Scalar::Missing
    }

    /// The value that sorting by the column compares.
    pub fn rank(&self, column: &str) -> Scalar<'a> {
        if is_computed(column) {
            self.figure(column).map(FigureValue::rank).into()
        } else {
            self.field(column)
        }
    }
}

/// The token's values in the custom columns, under each name of `own_columns`.
pub fn own_values(token: &TokenSummary) -> impl Iterator<Item = (String, Value)> + '_ {
    token.own.iter().flat_map(|(name, value)| {
        [
            ((*name).to_owned(), value.json()),
            (format!("{OWN}{name}"), value.json()),
        ]
    })
}

/// The token's value in a custom column.
fn own<'a>(token: &'a TokenSummary, column: &str) -> Scalar<'a> {
    let named = |name: &str| {
        token
            .own
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    named(column)
        .or_else(|| named(column.strip_prefix(OWN)?))
        .map(Scalar::borrowed)
        .into()
}
