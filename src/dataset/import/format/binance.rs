//! Binance klines as the exchange gives them, and as python-binance users keep them.

use super::{
    super::{
        look::{Looked, Shape},
        outline::First,
    },
    Asked, Plan, Take, has, ohlcv,
};
use crate::dataset::source::Layout;

const NAMES: [&str; 12] = [
    "open_time",
    "open",
    "high",
    "low",
    "close",
    "volume",
    "close_time",
    "quote_volume",
    "count",
    "taker_buy_volume",
    "taker_buy_quote_volume",
    "ignore",
];
/// The names of the first column where there is a header.
const OPEN_TIME: &[&str] = &["open_time", "open time", "opentime"];

pub(super) fn is_klines(looked: &Looked) -> bool {
    if looked.outline().is_some_and(|outline| outline.list("") == Some(&First::List(12))) {
        return true;
    }
    let Shape::Rows(rows) = &looked.shape else { return false };
    let header = looked.header();
    if OPEN_TIME.iter().any(|name| has(&header, &[name])) {
        return has(&header, &["open", "high", "low", "close", "volume"]);
    }
    rows.first().is_some_and(|row| is_kline(row))
}

/// Open time, four prices, volume and a close time that is later; all numbers.
fn is_kline(row: &[String]) -> bool {
    let numbers: Option<Vec<f64>> = row.iter().take(11).map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| numbers.len() >= 7 && (7..=12).contains(&row.len())) else { return false };
    let [open_time, open, high, low, close, _, close_time, ..] = numbers[..] else { return false };
    let around = low <= open.min(close) && open.max(close) <= high && low > 0.0;
    open_time >= 1e11 && close_time > open_time && close_time < open_time * 1.01 && around
}

pub(super) fn klines(asked: &Asked<'_>) -> Result<Plan, String> {
    let token = asked.traded(None)?;
    let header = asked.looked.header();
    let (rows, time) = match &asked.looked.shape {
        Shape::Json { .. } => (ohlcv::json_lists(asked, &NAMES)?, NAMES[0].to_owned()),
        Shape::Rows(rows) if is_kline(&rows[0]) => {
            let names = NAMES.iter().take(rows[0].len()).map(|&name| name.to_owned()).collect();
            (asked.looked.rows(&Layout { names: Some(names), ..Layout::default() })?, NAMES[0].to_owned())
        }
        _ => {
            let time = OPEN_TIME.iter().find(|name| has(&header, &[name])).copied().unwrap_or(NAMES[0]);
            (asked.looked.rows(&Layout::default())?, time.to_owned())
        }
    };
    Ok(Plan::of(vec![Take::into("candles", rows).columns(&[("timestamp", &time)]).of(&token)]).about(token))
}

pub(super) fn is_dump(looked: &Looked) -> bool {
    has(&looked.header(), &["date", "open", "high", "low", "close", "volume", "ticker"])
}

pub(super) fn dump(asked: &Asked<'_>) -> Result<Plan, String> {
    let layout = Layout::default();
    let take = Take::into("candles", asked.looked.rows(&layout)?).columns(&[("timestamp", "date")]);
    ohlcv::by_symbol(asked, take, "ticker", &layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_klines_is_known_by_its_numbers() {
        for (row, expected) in [
            ("1675209600000,6.5,6.6,6.4,6.5,15978.2,1675211399999,104734.8,1979,6344.9,41604.1,0", true),
            ("1735689600000000,6.5,6.6,6.4,6.5,15978.2,1735693199999999,1,2,3,4,0", true),
            ("open_time,open,high,low,close,volume,close_time,a,b,c,d,e", false),
            ("1675209600000,6.5,6.4,6.6,6.5,1,1675211399999,1,2,3,4,0", false),
            ("1,2,3,4,5,6,7,8,9,10,11,12", false),
            ("1675209600000,6.5", false),
        ] {
            let row: Vec<String> = row.split(',').map(str::to_owned).collect();
            assert_eq!(is_kline(&row), expected, "{row:?}");
        }
    }
}
