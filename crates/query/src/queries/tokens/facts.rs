//! What all tokens of a snapshot together are like. Counted once, with the snapshot: a million tokens are too many for each frame of a list.

use super::row::TokenRow;
use crate::queries::{
    fields::{TokenEntry, is_computed},
    list::Listed as _,
};
use analysis::market::TokenSummary;
use model::{scalar::Scalar, time::Time};

#[derive(Debug, Default)]
pub struct TokenFacts {
    /// The columns that are not computed and empty for all tokens; none without tokens.
    pub empty_columns: Vec<&'static str>,
    /// The columns in which a figure of a token is older than its others.
    pub outdated_columns: Vec<&'static str>,
    /// Number of tokens with a price.
    pub priced: usize,
    /// The end of the newest candle.
    pub newest_candle: Option<Time>,
}

impl TokenFacts {
    pub fn new(tokens: &[TokenSummary]) -> Self {
        let is_empty = |column: &&'static str| {
            let value = |token| TokenRow::plain(token).field(column);
            !tokens.is_empty() && tokens.iter().all(|token| value(token) == Scalar::Missing)
        };
        let is_outdated = |column: &&'static str| {
            let as_of = |token: &TokenSummary| match *column {
                "holders" => token.holders_as_of,
                _ => token.market_cap_as_of,
            };
            tokens
                .iter()
                .any(|token| token.outdated(as_of(token)).is_some())
        };
        let ends = tokens
            .iter()
            .filter_map(|token| token.last_candle)
            .map(|last| last.start.0.saturating_add(last.interval.0));
        Self {
            empty_columns: TokenEntry::COLUMNS
                .iter()
                .map(|column| column.name)
                .filter(|column| !is_computed(column))
                .filter(is_empty)
                .collect(),
            outdated_columns: ["market_cap", "holders"]
                .into_iter()
                .filter(is_outdated)
                .collect(),
            priced: tokens.iter().filter(|token| token.price.is_some()).count(),
            newest_candle: ends.max().map(Time),
        }
    }
}
