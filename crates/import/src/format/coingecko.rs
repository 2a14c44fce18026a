//! CoinGecko's `market_chart` (price points) and `ohlc` (candles stamped with their close time).

use serde_json::value::RawValue;

use super::{
    super::{
        candles,
        outline::elements,
        rows::GeneratedRows,
        sheet::json::text,
        sniff::{FileShape, Sniffed},
    },
    FileToImport, ImportPlan, Refusal, Take, has,
};
use model::candles::Interval;

pub(super) fn is_market_chart(sniffed: &Sniffed) -> bool {
    sniffed.outline().is_some_and(|outline| outline.lists_of("prices", 2))
        || has(&sniffed.header(), &["snapped_at", "price", "market_cap", "total_volume"])
}

/// The elements of a JSON list as texts.
fn cells(list: &RawValue) -> Result<Vec<Option<String>>, &'static str> {
    let elements: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| "expected a list of numbers; the row is rejected")?;
    Ok(elements.iter().map(|value| text(value)).collect())
}

pub(super) fn market_chart(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    const COLUMNS: [(&str, &str); 4] = [("open", "price"), ("high", "price"), ("low", "price"), ("close", "price")];
    const SAYS: &str = "it has one price a time, so open, high, low and close are the same";
    let named: Vec<_> = file.sniffed.sheet.as_ref().and_then(candles::currency::beside).into_iter().collect();
    candles::currency::in_dollars(file, &named)?;
    let token = file.traded(None)?;
    let assumed = Some(candles::IN_DOLLARS.to_owned()).filter(|_| named.is_empty() && !token.quoted && !file.options.as_usd);
    let FileShape::Json { text, .. } = &file.sniffed.shape else {
        let sheet = file.sheet()?;
        let take = Take::into("candles", sheet.rows(file.sniffed)?).columns(&[("timestamp", "snapped_at")]).columns(&COLUMNS).of(&token);
        return Ok(ImportPlan::of(vec![take]).about(token).saying(SAYS).noting(assumed));
    };
    let points: Vec<Box<RawValue>> = elements(text, "prices")?.into_iter().map(ToOwned::to_owned).collect();
    let rows = GeneratedRows::over(&["time", "price"], file.sniffed.bytes, points.into_iter().map(|point| cells(&point)));
    let take = Take::into("candles", rows).columns(&[("timestamp", "time")]).columns(&COLUMNS).of(&token);
    Ok(ImportPlan::of(vec![take])
        .about(token)
        .saying(SAYS)
        .noting(assumed)
        .saying("total_volumes are of the 24 hours before and in USD, and market_caps of each time: no column of ours takes them"))
}

pub(super) fn is_ohlc(sniffed: &Sniffed) -> bool {
    sniffed.outline().is_some_and(|outline| outline.lists_of("", 5)) && candles::is(sniffed)
}

/// CoinGecko's times are close times (API reference, coins/{id}/ohlc), ours are open times.
pub(super) fn ohlc(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let token = file.traded(None)?;
    let assumed = Some(candles::IN_DOLLARS.to_owned()).filter(|_| !token.quoted && !file.options.as_usd);
    let FileShape::Json { text, .. } = &file.sniffed.shape else { return Err("is not JSON".into()) };
    let candles: Vec<Box<RawValue>> = elements(text, "")?.into_iter().map(ToOwned::to_owned).collect();
    let time = |candle: &RawValue| cells(candle).ok().and_then(|cells| cells.first()?.as_ref()?.parse::<i64>().ok());
    if candles.len() < 2 {
        return Err("has too few candles to tell how long each is: fetch more days".into());
    }
    let step = Interval::between(candles.iter().filter_map(|candle| time(candle)).collect()).0;
    let begun = move |candle: Box<RawValue>| {
        let mut cells = cells(&candle)?;
        let end = cells.first().and_then(|cell| cell.as_ref()?.parse::<i64>().ok());
        if let (Some(end), Some(first)) = (end, cells.first_mut()) {
            *first = Some((end - step).to_string());
        }
        Ok(cells)
    };
    let columns = ["timestamp", "open", "high", "low", "close"];
    let rows = GeneratedRows::over(&columns, file.sniffed.bytes, candles.into_iter().map(begun));
    Ok(ImportPlan::of(vec![Take::into("candles", rows).of(&token)])
        .about(token)
        .saying("its times are the ends of the candles; the starts are stored. It has no volume")
        .noting(assumed))
}
