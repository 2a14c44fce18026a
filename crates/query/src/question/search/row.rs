//! A token as a row of the list: the columns for conditions and sorting, and their values. Shared by the API and the terminal, so that
//! equal conditions keep equal tokens.

use std::{borrow::Cow, collections::BTreeSet};

use serde_json::Value;

use crate::question::{
    fields::{COMPUTED, FIELDS},
    filter::{self, ColumnKind, ColumnValues, FieldValue, FilterColumn},
    list::Listed,
};
use analysis::{
    market::{Figures, TokenSummary},
    patterns::{PatternName, TradeAction},
    trendlines::Trend,
};
use model::{chain::Chain, names, token::OwnColumn};
use store::Dataset;

/// A token with its optional figures, as far as they are computed.
#[derive(Debug, Clone)]
pub struct TokenRow<'a> {
    pub token: &'a TokenSummary,
    pub figures: Option<Cow<'a, Figures>>,
}

const OF_EVERY_TOKEN: &[&str] =
    &["token_address", "symbol", "name", "chains", "price", "market_cap", "price_change_24h", "holders", "holders_growth", "price_history"];

impl Listed for TokenSummary {
    const COLUMNS: &'static [FilterColumn] = &[
        FilterColumn::new("symbol", ColumnKind::Text, &[]).searched(),
        FilterColumn::new("name", ColumnKind::Text, &[]).searched(),
        FilterColumn::new("token_address", ColumnKind::Text, &["address"]),
        FilterColumn::new("chain", ColumnKind::Chain, &["chains"]).of_chains(Vec::new()),
        FilterColumn::new("price", ColumnKind::Number, &[]),
        FilterColumn::new("price_change_24h", ColumnKind::Number, &["24h", "change"]),
        FilterColumn::new("market_cap", ColumnKind::Number, &["cap", "mcap"]),
        FilterColumn::new("holders", ColumnKind::Number, &[]),
        FilterColumn::new("volume_24h", ColumnKind::Number, &["vol", "volume"]),
        FilterColumn::new("liquidity", ColumnKind::Number, &["liq"]),
        FilterColumn::new("price_change_1h", ColumnKind::Number, &["1h"]),
        FilterColumn::new("price_change_7d", ColumnKind::Number, &["7d"]),
        FilterColumn::new("price_change_30d", ColumnKind::Number, &["30d"]),
        FilterColumn::new("holders_growth", ColumnKind::Number, &["growth"]),
        FilterColumn::new("age", ColumnKind::Duration, &[]),
        FilterColumn::new("created_at", ColumnKind::Time, &["created"]),
        FilterColumn::new("as_of", ColumnKind::Time, &["asof"]),
        FilterColumn::new("trend", ColumnKind::Text, &[]).of_words(|| words("trend")),
        FilterColumn::new("best_pattern", ColumnKind::Text, &["pattern"]).of_words(|| words("best_pattern")),
        FilterColumn::new("recommendedAction", ColumnKind::Text, &["action"]).of_words(|| words("recommendedAction")),
        FilterColumn::new("securityScore", ColumnKind::Number, &["score"]),
        FilterColumn::new("recommendation", ColumnKind::Text, &[]),
        FilterColumn::new("rsi_14", ColumnKind::Number, &["rsi"]),
        FilterColumn::new("from_52w_high", ColumnKind::Number, &["52w_high", "52w"]),
    ];
    /// The members of every token, then those added by `fields`.
    const MEMBERS: &'static [&'static str] = &{
        let mut all = [""; OF_EVERY_TOKEN.len() + FIELDS.len()];
        let (every, added) = all.split_at_mut(OF_EVERY_TOKEN.len());
        every.copy_from_slice(OF_EVERY_TOKEN);
        added.copy_from_slice(FIELDS);
        all
    };
}

/// Whether the column is a figure that is computed on request.
pub fn is_computed(column: &str) -> bool {
    COMPUTED.contains(&column)
}

/// The prefix of a custom column whose name collides with a built-in name or alias.
pub const OWN: &str = "own_";

/// The custom columns of the `tokens` file, as conditions, sort orders and headers name them: by their own names, with `own_` before a
/// colliding one.
pub fn own_columns(dataset: &Dataset) -> Vec<FilterColumn> {
    let named = |own: &OwnColumn| {
        let taken = filter::column(own.name, TokenSummary::COLUMNS).is_some() || ["starred", "star", "watchlist"].contains(&own.name);
        let name = if taken { names::intern(&format!("{OWN}{}", own.name))? } else { own.name };
        // A name with a blank or an operator in it cannot be used in a filter, but in a header.
        Some(filter::of_kind(name, own.kind, &[]))
    };
    dataset.own_columns().iter().filter_map(named).collect()
}

/// Every column for conditions on tokens and for sorting them.
pub fn columns(dataset: &Dataset) -> Vec<FilterColumn> {
    let listed = TokenSummary::COLUMNS.iter().cloned().map(|column| match column.values {
        ColumnValues::Chains(_) => column.of_chains(own_chains(dataset)),
        _ => column,
    });
    listed.chain(own_columns(dataset)).collect()
}

/// The chains of the data that are not in the list.
fn own_chains(dataset: &Dataset) -> Vec<String> {
    let all = dataset.tokens().iter().flat_map(|token| &token.chains).filter(|chain| chain.id().is_none());
    all.map(Chain::to_string).collect::<BTreeSet<_>>().into_iter().collect()
}

impl<'a> TokenRow<'a> {
    pub fn plain(token: &'a TokenSummary) -> Self {
        Self { token, figures: None }
    }

    /// The value that a condition on the column compares.
    pub fn field(&self, column: &str) -> Option<FieldValue<'a>> {
        let token = self.token;
        match column {
            "symbol" => token.symbol.as_deref().map(FieldValue::text),
            "name" => token.name.as_deref().map(FieldValue::text),
            "token_address" => Some(FieldValue::text(token.token_address.to_string())),
            "chain" => FieldValue::list(token.chains.iter().map(Chain::as_str)),
            "price" => token.price.map(FieldValue::Number),
            "price_change_24h" => token.price_change_24h.map(FieldValue::Number),
            "market_cap" => token.market_cap.map(FieldValue::Number),
            "holders" => token.holders.map(|count| FieldValue::Number(count as f64)),
            "holders_growth" => token.holders_growth.map(FieldValue::Number),
            "age" => token.age.map(FieldValue::Duration),
            "created_at" => token.created_at.map(FieldValue::Time),
            "as_of" => token.last_candle.map(|last| FieldValue::Time(last.start)),
            "volume_24h" => token.volume_24h.map(FieldValue::Number),
            "liquidity" => token.liquidity.map(FieldValue::Number),
            "price_change_1h" => token.price_change_1h.map(FieldValue::Number),
            "price_change_7d" => token.price_change_7d.map(FieldValue::Number),
            "price_change_30d" => token.price_change_30d.map(FieldValue::Number),
            column if is_computed(column) => {
                let figures = self.figures.as_deref()?;
                word(figures, column).map(FieldValue::text).or_else(|| number(figures, column).map(FieldValue::Number))
            }
            column => own(token, column),
        }
    }

    /// Whether the value is missing from the data, rather than not yet computed or the pattern of candles that have none.
    pub fn lacks(&self, column: &str) -> bool {
        let known = !is_computed(column) || self.figures.as_deref().is_some_and(|figures| figures.has(column));
        let no_pattern = column == "best_pattern" && self.token.last_candle.is_some();
        known && !no_pattern && self.field(column).is_none()
    }

    /// The value that sorting by the column compares.
    pub fn rank(&self, column: &str) -> Option<FieldValue<'a>> {
        match self.figures.as_deref().filter(|_| is_computed(column) && column != "recommendation") {
            Some(figures) => rank(figures, column).map(FieldValue::Number),
            None => self.field(column),
        }
    }
}

/// The token's values in the custom columns, under each name of `own_columns`.
pub fn own_values(token: &TokenSummary) -> impl Iterator<Item = (String, Value)> + '_ {
    token.own.iter().flat_map(|(name, value)| [((*name).to_owned(), value.json()), (format!("{OWN}{name}"), value.json())])
}

/// The possible values of a column of words.
pub fn words(column: &str) -> Vec<&'static str> {
    match column {
        "trend" => [Trend::Uptrend, Trend::Sideways, Trend::Downtrend].map(Trend::word).to_vec(),
        "best_pattern" => PatternName::ALL.iter().map(|name| name.word()).collect(),
        "recommendedAction" => [TradeAction::StrongBuy, TradeAction::Buy, TradeAction::Hold, TradeAction::Sell, TradeAction::StrongSell]
            .map(TradeAction::word)
            .to_vec(),
        _ => Vec::new(),
    }
}

/// The token's value in a custom column.
fn own<'a>(token: &'a TokenSummary, column: &str) -> Option<FieldValue<'a>> {
    let named = |name: &str| token.own.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    FieldValue::of_cell(named(column).or_else(|| named(column.strip_prefix(OWN)?))?)
}

/// The word in a column of words.
pub fn word(figures: &Figures, column: &str) -> Option<&'static str> {
    match column {
        "trend" => figures.trend.as_ref()?.0.map(Trend::word),
        "best_pattern" => figures.best_pattern.as_ref()?.0.as_ref().map(|pattern| pattern.name.word()),
        "recommendedAction" => figures.recommended_action.as_ref()?.0.map(TradeAction::word),
        "recommendation" => figures.recommendation.as_ref()?.0,
        _ => None,
    }
}

fn number(figures: &Figures, column: &str) -> Option<f64> {
    ["securityScore", "rsi_14", "from_52w_high"].contains(&column).then(|| rank(figures, column)).flatten()
}

/// The sort value of a figure: rising trends and buy advice are high, patterns rank by confidence.
pub fn rank(figures: &Figures, column: &str) -> Option<f64> {
    match column {
        "trend" => figures.trend.as_ref()?.0.map(|trend| match trend {
            Trend::Uptrend => 1.0,
            Trend::Sideways => 0.0,
            Trend::Downtrend => -1.0,
        }),
        "best_pattern" => figures.best_pattern.as_ref()?.0.as_ref().map(|pattern| pattern.confidence),
        "recommendedAction" => figures.recommended_action.as_ref()?.0.map(|advice| match advice {
            TradeAction::StrongBuy => 2.0,
            TradeAction::Buy => 1.0,
            TradeAction::Hold => 0.0,
            TradeAction::Sell => -1.0,
            TradeAction::StrongSell => -2.0,
        }),
        "securityScore" => figures.security_score.as_ref()?.0.map(|score| score as f64),
        "rsi_14" => figures.rsi_14?.0,
        "from_52w_high" => figures.from_52w_high?.0,
        _ => None,
    }
}
