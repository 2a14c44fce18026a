//! CoinMetrics community CSV: one row per day with any of many metrics, and an unnamed index column if pandas wrote it.

use super::{
    super::{
        rows::{Edited, cells, put},
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, Refusal, Take, has,
};
use store::source::{Layout, SourceBatch};

/// Metrics of which one beside `time` identifies the format.
const METRICS: &[&str] = &["adrbalcnt", "priceusd", "adractcnt", "capmrktcurusd", "splycur", "referencerateusd", "referencerate"];
/// Price metrics in dollars, in order of preference.
const PRICES: &[&str] = &["PriceUSD", "ReferenceRateUSD", "ReferenceRate"];
const HOLDERS: &str = "AdrBalCnt";

pub(super) fn is(sniffed: &Sniffed) -> bool {
    let header = sniffed.header();
    has(&header, &["time"]) && METRICS.iter().any(|metric| has(&header, &[metric]))
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let token = file.token(None)?;
    let header = file.sniffed.header();
    let mut takes = Vec::new();
    let mut says = Vec::new();
    if has(&header, &[&HOLDERS.to_lowercase()]) {
        let rows = Edited::over(file.sniffed.rows(&Layout::default())?, &["kept"], |batch| mark(batch, &[HOLDERS]));
        let take = Take::into("holder_counts", rows).columns(&[("date", "time"), ("holders", HOLDERS)]).keep(
            "kept",
            &["yes"],
            "have no AdrBalCnt",
        );
        takes.push(take.of_address(token.address));
    }
    if PRICES.iter().any(|name| has(&header, &[&name.to_lowercase()])) {
        let rows = Edited::over(file.sniffed.rows(&Layout::default())?, &["kept", "price"], |batch| {
            mark(batch, PRICES);
            let mut prices: Vec<Option<String>> = vec![None; batch.height];
            for name in PRICES {
                for (price, cell) in prices.iter_mut().zip(cells(batch, name)) {
                    *price = price.take().or(cell);
                }
            }
            put(batch, "price", prices);
        });
        let take = Take::into("candles", rows)
            .columns(&[("timestamp", "time"), ("open", "price"), ("high", "price"), ("low", "price"), ("close", "price")])
            .set("interval", "1d")
            .keep("kept", &["yes"], "have no price");
        takes.push(take.of_address(token.address));
        says.push("it has one price a day, so open, high, low and close are the same");
    }
    if takes.is_empty() {
        return Err("has neither AdrBalCnt nor a price in USD, which are the metrics our tables take".into());
    }
    let mut plan = ImportPlan::of(takes).about(token);
    plan.says.extend(says.into_iter().map(str::to_owned));
    Ok(plan.saying("community data are licensed CC BY-NC 4.0: say so in dataset.toml (license) if you share them"))
}

/// Marks rows in which any of the columns has a value.
fn mark(batch: &mut SourceBatch, names: &[&str]) {
    let mut kept = vec![None; batch.height];
    for name in names {
        for (kept, cell) in kept.iter_mut().zip(cells(batch, name)) {
            if cell.is_some() {
                *kept = Some("yes".to_owned());
            }
        }
    }
    put(batch, "kept", kept);
}
