//! Rules between tables: amounts against the supply, turnover against the market cap. The figures of tokens come from `tokens`.

use super::series::{Noted, Observed};
use crate::dataset::rows::TokenRow;

/// How far over the market cap the median turnover of a candle may be: rarely is as much traded in a day as there is.
const TURNOVER_MAX: f64 = 20.0;
/// How far over the supply a transfer may be: supplies shrink, and tokens are burnt.
const TRANSFER_MAX: f64 = 1_000.0;
/// Transfers from which their size tells the unit.
const TRANSFERS_MIN: u64 = 20;
/// How many times the latest close a price may be, or the other way round.
const PRICE_MAX: f64 = 1.5;
/// What rounding and the time between two exports explain.
const SLACK: f64 = 1e-3;

/// The rule that is broken, the number of the row if one, and what to show.
pub(crate) type Contradiction = (&'static str, Option<u64>, String);

/// How a finding names the token.
pub(crate) fn name(token: &TokenRow) -> String {
    token.symbol.clone().unwrap_or_else(|| token.token_address.to_string())
}

/// Checks a statistic of a token's rows against its row of `tokens`.
pub(crate) fn observed(token: &TokenRow, observed: &Observed) -> Option<Contradiction> {
    let name = name(token);
    match &observed.what {
        Noted::Turnover(median) => {
            let cap = token.market_cap.or_else(|| Some(token.price? * token.total_supply?)).filter(|cap| *cap > 0.0)?;
            let over = *median > TURNOVER_MAX * cap;
            over.then(|| ("turnover", None, format!("{name}: {median:.3e} USD a candle, market cap {cap:.3e}")))
        }
        Noted::Transfer { largest, row, count } => {
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

/// A figure that can be read at a glance.
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

/// Checks a token's figures against each other.
pub(crate) fn figures(token: &TokenRow) -> Option<Contradiction> {
    let (price, cap, supply) = (token.price?, token.market_cap?, token.total_supply?);
    let off = price * supply / cap;
    let name = name(token);
    (off.is_finite() && price > 0.0 && supply > 0.0 && !(1e-6..=1e6).contains(&off))
        .then(|| ("cap_of_supply", None, format!("{name}: price {price}, supply {supply}, market cap {cap}")))
}
