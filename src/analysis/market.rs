//! The figures of every token that views and rankings share, derived once a generation: price, capitalisation, day's change,
//! holders, growth, thirty days of closes. Pure; one pass over the dataset.

use schemars::JsonSchema;
use serde::Serialize;

use super::growth::{self, WINDOW_DAYS_DEFAULT};
use crate::dataset::{
    Dataset, Token,
    address::Address,
    candles::{Candles, Interval},
    chain::Chain,
    time::{DAY_MS, HOUR_MS},
};

/// Closes shown beside each token.
const HISTORY_DAYS: usize = 30;

/// A token in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenSummary {
    pub token_address: Address,
    pub symbol: Option<String>,
    pub name: Option<String>,
    /// The chains it lives on, the one with the largest market cap first.
    pub chains: Vec<Chain>,
    /// USD.
    pub price: Option<f64>,
    /// USD.
    pub market_cap: Option<f64>,
    /// Percent over the last 24 hours.
    pub price_change_24h: Option<f64>,
    /// Number of holders.
    pub holders: Option<i64>,
    /// Percent over the last 7 days.
    pub holders_growth: Option<f64>,
    /// The last 30 daily closes, oldest first.
    pub price_history: Vec<f64>,
}

/// The shared figures of every token, in the order of `Dataset::tokens`.
#[derive(Debug, Default)]
pub struct Market {
    pub tokens: Vec<TokenSummary>,
}

impl Market {
    pub fn new(dataset: &Dataset) -> Self {
        Self { tokens: dataset.tokens().iter().map(|token| summary(dataset, token)).collect() }
    }

    pub fn of<'a>(&'a self, dataset: &Dataset, token: &Address) -> Option<&'a TokenSummary> {
        dataset.token_position(token).and_then(|i| self.tokens.get(i))
    }
}

fn summary(dataset: &Dataset, token: &Token) -> TokenSummary {
    let address = token.row.token_address;
    let price = price(dataset, token);
    let series = dataset.candles().of(&address);
    TokenSummary {
        token_address: address,
        symbol: token.row.symbol.clone(),
        name: token.row.name.clone(),
        chains: token.chains.clone(),
        price,
        market_cap: token.row.market_cap.or_else(|| finite(price? * token.row.total_supply?)),
        price_change_24h: change_24h(&series),
        holders: holders(dataset, token),
        holders_growth: growth::growth(dataset.holder_counts_of(&address), WINDOW_DAYS_DEFAULT).map(|growth| growth.percent),
        price_history: daily_closes(&series, HISTORY_DAYS),
    }
}

/// The given price, else the close of the token's latest candle in any interval.
pub fn price(dataset: &Dataset, token: &Token) -> Option<f64> {
    token.row.price.or_else(|| dataset.candles().latest_close(&token.row.token_address).map(|(_, close)| close))
}

/// The given number of holders, else the latest count, else the rows of `holders` with a balance.
fn holders(dataset: &Dataset, token: &Token) -> Option<i64> {
    let address = &token.row.token_address;
    token
        .row
        .holders
        .or_else(|| dataset.holder_counts_of(address).iter().rev().find_map(|count| count.holders))
        .or_else(|| Some(dataset.holders_of(address).iter().filter(|holder| holder.balance.is_some_and(|b| b > 0.0)).count() as i64))
        .filter(|&count| count > 0)
}

/// Percent from the close nearest to 24 hours before the last close. Nothing when the nearest is a day or more off that mark.
fn change_24h(series: &[(Interval, Candles<'_>)]) -> Option<f64> {
    let (_, candles) = latest_series(series)?;
    let last = candles.len().checked_sub(1)?;
    let mark = candles.timestamp[last] - DAY_MS;
    let after = candles.timestamp.partition_point(|&time| time < mark);
    let nearest = [after.checked_sub(1), Some(after)]
        .into_iter()
        .flatten()
        .filter(|&i| i < last)
        .min_by_key(|&i| (candles.timestamp[i] - mark).abs())?;
    if (candles.timestamp[nearest] - mark).abs() >= DAY_MS || candles.close[nearest] <= 0.0 {
        return None;
    }
    finite((candles.close[last] / candles.close[nearest] - 1.0) * 100.0)
}

/// The last close of each of the last `days` days that have one, oldest first.
fn daily_closes(series: &[(Interval, Candles<'_>)], days: usize) -> Vec<f64> {
    let Some((_, candles)) = latest_series(series) else { return Vec::new() };
    let mut closes: Vec<f64> = Vec::with_capacity(days);
    let mut end = candles.len();
    while end > 0 && closes.len() < days {
        let close = candles.close[end - 1];
        if close.is_finite() {
            closes.push(close);
            // On to the day before, without a look at each minute of this one.
            let midnight = candles.timestamp[end - 1].div_euclid(DAY_MS).saturating_mul(DAY_MS);
            end = candles.timestamp[..end].partition_point(|&time| time < midnight);
        } else {
            end -= 1;
        }
    }
    closes.reverse();
    closes
}

/// The series that ends last; of two, the finer.
fn latest_series<'a>(series: &'a [(Interval, Candles<'a>)]) -> Option<&'a (Interval, Candles<'a>)> {
    let end = |(interval, candles): &(Interval, Candles<'_>)| {
        candles.timestamp.last().map_or(i64::MIN, |start| start.saturating_add(interval.0.min(24 * HOUR_MS)))
    };
    series.iter().rev().max_by_key(|series| end(series))
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
