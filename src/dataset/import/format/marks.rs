//! What candles of the better known sources look like, so that people are told what their file was taken for. How they are read does not
//! hang on it: the rows tell that.

use super::{
    super::{
        candles,
        evidence::{Seen, kind},
        outline::First,
        sniff::{FileShape, Sniffed},
    },
    has,
};

fn header(looked: &Sniffed, names: &[&str]) -> bool {
    candles::is_named(looked) && has(&looked.header(), names)
}

/// Its address stands before the header.
pub(super) fn is_cryptodatadownload(looked: &Sniffed) -> bool {
    candles::is_named(looked) && looked.sheet.as_ref().is_some_and(|sheet| sheet.speaks_of("cryptodatadownload"))
}

pub(super) fn is_klines(looked: &Sniffed) -> bool {
    let Some(sheet) = &looked.sheet else { return false };
    let closes = has(&looked.header(), &["open_time"]) || has(&looked.header(), &["open time"]) || has(&looked.header(), &["opentime"]);
    if closes {
        return candles::is_named(looked);
    }
    (7..=12).contains(&sheet.names.len()) && candles::spans(sheet) && candles::is(looked)
}

pub(super) fn is_dump(looked: &Sniffed) -> bool {
    header(looked, &["date", "open", "high", "low", "close", "volume", "ticker"])
}

pub(super) fn is_kraken(looked: &Sniffed) -> bool {
    let Some(sheet) = &looked.sheet else { return false };
    let answer = looked.outline().is_some_and(|outline| outline.list("error").is_some()) && sheet.names.len() == 8;
    let seconds = || kind(sheet.column(0).take(50)) == Seen::Number && sheet.column(0).take(50).all(|cell| cell.len() == 10);
    let counts = || sheet.column(6).take(50).all(|cell| cell.parse::<u64>().is_ok());
    let table = matches!(looked.shape, FileShape::Rows(_)) && sheet.names.len() == 7 && seconds() && counts();
    !sheet.named && (answer || table) && candles::is(looked)
}

pub(super) fn is_bybit(looked: &Sniffed) -> bool {
    let answer = looked.outline().is_some_and(|outline| outline.list("result.list").is_some() && outline.node("retCode").is_some());
    answer && candles::is(looked) || header(looked, &["timestamp", "turnover"])
}

pub(super) fn is_okx(looked: &Sniffed) -> bool {
    looked.outline().is_some_and(|outline| outline.lists_of("data", 9) && outline.node("code").is_some()) && candles::is(looked)
}

pub(super) fn is_yahoo(looked: &Sniffed) -> bool {
    header(looked, &["adj close"])
        || header(looked, &["dividends", "stock splits"])
        || looked.sheet.as_ref().is_some_and(|sheet| sheet.speaks_of("yfinance"))
}

pub(super) fn is_coinmarketcap(looked: &Sniffed) -> bool {
    ["market cap", "marketcap", "market_cap"].iter().any(|cap| header(looked, &["volume", cap]))
}

pub(super) fn is_cryptocompare(looked: &Sniffed) -> bool {
    header(looked, &["unit", "instrument", "market"])
        || candles::is_named(looked) && looked.sheet.as_ref().is_some_and(|sheet| has(&sheet.names, &["volumefrom", "volumeto"]))
}

pub(super) fn is_lists(looked: &Sniffed) -> bool {
    looked.outline().is_some_and(|outline| outline.list("") == Some(&First::List(6))) && candles::is(looked)
}

pub(super) fn is_feather(looked: &Sniffed) -> bool {
    matches!(looked.shape, FileShape::Columns(_)) && looked.header() == ["date", "open", "high", "low", "close", "volume"]
}
