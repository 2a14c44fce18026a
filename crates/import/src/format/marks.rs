//! Recognises candles of well-known sources, so that the report can name the format. How they are read is inferred from the rows
//! regardless.

use super::{
    super::{
        candles,
        evidence::{CellKind, kind},
        outline::First,
        sniff::{FileShape, Sniffed},
    },
    has,
};

fn header(sniffed: &Sniffed, names: &[&str]) -> bool {
    candles::is_named(sniffed) && has(&sniffed.header(), names)
}

/// CryptoDataDownload puts its URL before the header.
pub(super) fn is_cryptodatadownload(sniffed: &Sniffed) -> bool {
    candles::is_named(sniffed) && sniffed.sheet.as_ref().is_some_and(|sheet| sheet.mentions("cryptodatadownload"))
}

pub(super) fn is_klines(sniffed: &Sniffed) -> bool {
    let Some(sheet) = &sniffed.sheet else { return false };
    let closes = has(&sniffed.header(), &["open_time"]) || has(&sniffed.header(), &["open time"]) || has(&sniffed.header(), &["opentime"]);
    if closes {
        return candles::is_named(sniffed);
    }
    (7..=12).contains(&sheet.names.len()) && candles::has_close_times(sheet) && candles::is(sniffed)
}

pub(super) fn is_dump(sniffed: &Sniffed) -> bool {
    header(sniffed, &["date", "open", "high", "low", "close", "volume", "ticker"])
}

pub(super) fn is_kraken(sniffed: &Sniffed) -> bool {
    let Some(sheet) = &sniffed.sheet else { return false };
    let answer = sniffed.outline().is_some_and(|outline| outline.list("error").is_some()) && sheet.names.len() == 8;
    let seconds = || kind(sheet.column(0).take(50)) == CellKind::Number && sheet.column(0).take(50).all(|cell| cell.len() == 10);
    let counts = || sheet.column(6).take(50).all(|cell| cell.parse::<u64>().is_ok());
    let table = matches!(sniffed.shape, FileShape::Rows(_)) && sheet.names.len() == 7 && seconds() && counts();
    !sheet.named && (answer || table) && candles::is(sniffed)
}

pub(super) fn is_bybit(sniffed: &Sniffed) -> bool {
    let answer = sniffed.outline().is_some_and(|outline| outline.list("result.list").is_some() && outline.node("retCode").is_some());
    answer && candles::is(sniffed) || header(sniffed, &["timestamp", "turnover"])
}

pub(super) fn is_okx(sniffed: &Sniffed) -> bool {
    sniffed.outline().is_some_and(|outline| outline.lists_of("data", 9) && outline.node("code").is_some()) && candles::is(sniffed)
}

pub(super) fn is_yahoo(sniffed: &Sniffed) -> bool {
    header(sniffed, &["adj close"])
        || header(sniffed, &["dividends", "stock splits"])
        || sniffed.sheet.as_ref().is_some_and(|sheet| sheet.mentions("yfinance"))
}

pub(super) fn is_coinmarketcap(sniffed: &Sniffed) -> bool {
    ["market cap", "marketcap", "market_cap"].iter().any(|cap| header(sniffed, &["volume", cap]))
}

pub(super) fn is_cryptocompare(sniffed: &Sniffed) -> bool {
    header(sniffed, &["unit", "instrument", "market"])
        || candles::is_named(sniffed) && sniffed.sheet.as_ref().is_some_and(|sheet| has(&sheet.names, &["volumefrom", "volumeto"]))
}

pub(super) fn is_lists(sniffed: &Sniffed) -> bool {
    sniffed.outline().is_some_and(|outline| outline.list("") == Some(&First::List(6))) && candles::is(sniffed)
}

pub(super) fn is_feather(sniffed: &Sniffed) -> bool {
    matches!(sniffed.shape, FileShape::Columns(_)) && sniffed.header() == ["date", "open", "high", "low", "close", "volume"]
}
