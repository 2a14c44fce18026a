//! CryptoDataDownload: its address on the first line, then a header, then rows, newest first, in seconds or milliseconds.

use super::{
    super::look::{Looked, Shape},
    Asked, Plan, Take, has, ohlcv,
};
use crate::dataset::source::Layout;

pub(super) fn is(looked: &Looked) -> bool {
    let Shape::Rows(rows) = &looked.shape else { return false };
    let [first, second, ..] = &rows[..] else { return false };
    let address = first.iter().filter(|cell| !cell.is_empty()).count() == 1 && {
        let cell = first[0].to_lowercase();
        cell.contains("cryptodatadownload") || cell.starts_with("http")
    };
    let header: Vec<String> = second.iter().map(|name| name.to_lowercase()).collect();
    address && has(&header, &["symbol", "open", "high", "low", "close"])
}

pub(super) fn open(asked: &Asked<'_>) -> Result<Plan, String> {
    let Shape::Rows(rows) = &asked.looked.shape else { return Err("is not text".to_owned()) };
    let header = &rows[1];
    let named = |wanted: &dyn Fn(&str) -> bool| header.iter().find(|name| wanted(&name.to_lowercase())).map(String::as_str);
    let time = named(&|name| name.starts_with("unix"))
        .or_else(|| named(&|name| name == "date"))
        .ok_or("has no time: expected a column Unix or Date")?;
    // The volume of the token comes first, then that of what it is traded for.
    let volume =
        named(&|name| name.starts_with("volume") && !["usd", "usdt", "usdc", "busd", "eur"].iter().any(|quote| name.ends_with(quote)));
    let layout = Layout { skip: 1, ..Layout::default() };
    let take = Take::into("candles", asked.looked.rows(&layout)?).columns(&[("timestamp", time)]);
    let take = match volume {
        Some(volume) => take.columns(&[("volume", volume)]),
        None => take,
    };
    ohlcv::by_symbol(asked, take, "symbol", &layout)
}
