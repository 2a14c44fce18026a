//! Rules across tables: amounts against supply, turnover against market cap. The token figures come from `tokens`.

use super::in_order::{StatisticValue, TokenStatistic};
use crate::dataset::rows::TokenRow;

/// Maximum ratio of the median turnover of a candle to the market cap: rarely does the whole market cap trade in a day.
const TURNOVER_MAX: f64 = 20.0;
/// Maximum ratio of a transfer to the supply: supplies shrink, and tokens are burnt.
const TRANSFER_MAX: f64 = 1_000.0;
/// Transfers required to infer the unit from their size.
const TRANSFERS_MIN: u64 = 20;
/// Maximum ratio between a token's price and its latest close, either way round.
const PRICE_MAX: f64 = 1.5;
/// Tolerance for rounding and for the time between two exports.
const SLACK: f64 = 1e-3;

/// The broken rule, the row number if there is one, and the values to show.
pub(crate) type Contradiction = (&'static str, Option<u64>, String);

fn name(token: &TokenRow) -> String {
    token.symbol.clone().unwrap_or_else(|| token.token_address.to_string())
}

/// Checks a statistic of a token's rows against the token's row in `tokens`.
pub(crate) fn statistic(token: &TokenRow, statistic: &TokenStatistic) -> Option<Contradiction> {
    let name = name(token);
    match &statistic.value {
        StatisticValue::Turnover(median) => {
            let cap = token.market_cap.or_else(|| Some(token.price? * token.total_supply?)).filter(|cap| *cap > 0.0)?;
            let over = *median > TURNOVER_MAX * cap;
            over.then(|| ("turnover", None, format!("{name}: {median:.3e} USD a candle, market cap {cap:.3e}")))
        }
        StatisticValue::Transfer { largest, row, count } => {
            let decimals = token.decimals?;
            let largest: f64 = format!("{largest}e-{decimals}").parse().ok()?;
            if let Some(supply) = token.total_supply.filter(|supply| *supply > 0.0)
                && largest > TRANSFER_MAX * supply
            {
                return Some(("transfer_within_supply", Some(*row), format!("{name}: {largest:.3e} of {supply:.3e}")));
            }
            let tiny = *count >= TRANSFERS_MIN && decimals >= 6 && largest > 0.0 && largest < 1e-6;
            tiny.then(|| ("transfer_in_smallest_units", Some(*row), format!("{name}: at most {largest:.3e} in {count} transfers")))
        }
    }
}

/// Checks the sum of a token's balances against its supply.
pub(crate) fn balances(token: &TokenRow, sum: f64) -> Option<Contradiction> {
    let supply = token.total_supply.filter(|supply| *supply > 0.0)?;
    let name = name(token);
    (sum > supply * (1.0 + SLACK)).then(|| ("balances_within_supply", None, format!("{name}: {} of {}", figure(sum), figure(supply))))
}

/// Formats a number to be read at a glance.
fn figure(number: f64) -> String {
    if number.abs() >= 1e15 { format!("{number:.3e}") } else { number.to_string() }
}

/// Checks a token's price against the close of its latest candle; a day's move is no contradiction.
pub(crate) fn price(token: &TokenRow, close: f64) -> Option<Contradiction> {
    let price = token.price.filter(|price| *price > 0.0)?;
    let name = name(token);
    let far = close > 0.0 && !(1.0 / PRICE_MAX..=PRICE_MAX).contains(&(price / close));
    far.then(|| ("price_beside_close", None, format!("{name}: price {price}, latest close {close}")))
}

/// Checks a token's price, market cap and supply against each other.
pub(crate) fn figures(token: &TokenRow) -> Option<Contradiction> {
    let (price, cap, supply) = (token.price?, token.market_cap?, token.total_supply?);
    let off = price * supply / cap;
    let name = name(token);
    (off.is_finite() && price > 0.0 && supply > 0.0 && !(1e-6..=1e6).contains(&off))
        .then(|| ("cap_of_supply", None, format!("{name}: price {price}, supply {supply}, market cap {cap}")))
}
