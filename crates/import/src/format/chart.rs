//! Etherscan's charts of gas and ether prices.

use super::{
    super::{
        evidence::number,
        rows::{GeneratedRows, cells},
        sniff::FileShape,
    },
    FileToImport, ImportPlan, Refusal, Take,
};
use model::time::Time;
use store::source::Layout;

/// Strips an amount as explorers print it: `$1,234.50`, `9,205.97 ETH`. Other text is kept, so that the loader reports it.
fn amount(text: &str) -> String {
    let shown = text.trim();
    let shown =
        shown.split_once(' ').filter(|(_, unit)| unit.bytes().all(|byte| byte.is_ascii_alphabetic())).map_or(shown, |(number, _)| number);
    number::plain(shown, false).unwrap_or_else(|| text.to_owned())
}

/// Gas prices are in wei, so above ten million; ether prices have cents.
const WEI_LEAST: f64 = 1e7;

/// The chart's last value: the gas table holds one figure per chain.
pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let FileShape::Rows(first) = &file.sniffed.shape else { return Err("is not text".into()) };
    let at = file.sniffed.header().iter().position(|name| name == "value").unwrap_or_default();
    let values = || first.iter().skip(1).filter_map(|row| row.get(at));
    let cents = values().any(|value| value.contains('.'));
    let most = values().filter_map(|value| amount(value).parse::<f64>().ok()).fold(0.0, f64::max);
    if !cents && most < WEI_LEAST {
        return Err("is a chart of something else than gas or ether prices, which no table of ours takes".into());
    }
    let mut rows = file.sniffed.rows(&Layout::default())?;
    let (mut last, mut count): (Option<(i64, f64)>, u64) = (None, 0);
    while let Some(batch) = rows.next_batch()? {
        count += batch.height as u64;
        for (time, value) in cells(&batch, "UnixTimeStamp").into_iter().zip(cells(&batch, "Value")) {
            let number = value.and_then(|value| amount(&value).parse::<f64>().ok()).filter(|value| value.is_finite() && *value > 0.0);
            if let (Some(time), Some(value)) = (time.and_then(|time| time.trim().parse::<i64>().ok()), number)
                && last.is_none_or(|(known, _)| time > known)
            {
                last = Some((time, value));
            }
        }
    }
    let (time, value) = last.ok_or("has no value above zero")?;
    let (column, value, what) =
        if cents { ("native_price_usd", value, "ether price") } else { ("gas_price_gwei", value / 1e9, "gas price") };
    let row = vec![Some(file.hints.chain.to_string()), Some(value.to_string())];
    let take = Take::into("gas", GeneratedRows::of(&["chain", column], file.sniffed.bytes, vec![row]));
    let day = Time(time.saturating_mul(1_000)).day();
    let says = format!(
        "the {what} of {day}, {value}, on chain {}; the table holds one figure a chain, so the other {} days are left out",
        file.hints.chain,
        count - 1
    );
    Ok(ImportPlan::of(vec![take]).saying(says))
}
