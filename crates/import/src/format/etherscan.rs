//! Exports of Etherscan's pages: holders of a token, labelled tokens and accounts, charts.

use super::{
    super::{
        evidence::number,
        pair,
        rows::{Edited, GeneratedRows, cells, put},
        sniff::{FileShape, Sniffed},
    },
    FileToImport, ImportPlan, Refusal, Take, has,
};
use model::time::Time;
use store::source::Layout;

pub(super) fn is_tokens(sniffed: &Sniffed) -> bool {
    has(&sniffed.header(), &["contract address", "token name"])
}

/// Strips an amount as explorers print it: `$1,234.50`, `9,205.97 ETH`. Other text is kept, so that the loader reports it.
fn amount(text: &str) -> String {
    let shown = text.trim();
    let shown =
        shown.split_once(' ').filter(|(_, unit)| unit.bytes().all(|byte| byte.is_ascii_alphabetic())).map_or(shown, |(number, _)| number);
    number::plain(shown, false).unwrap_or_else(|| text.to_owned())
}

pub(super) fn tokens(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let Some(chain) = &file.options.chain else { return Err(super::tokens::no_chain(file.sheet()?, "Contract Address")) };
    let rows = Edited::over(file.sniffed.rows(&Layout::default())?, &["name", "symbol"], |batch| {
        // `$0.00` means that the page has no figure.
        let caps = cells(batch, "Market Cap").into_iter().map(|cap| Some(amount(&cap?)).filter(|cap| cap != "0.00"));
        let caps: Vec<Option<String>> = caps.collect();
        let holders: Vec<Option<String>> = cells(batch, "Holders").into_iter().map(|holders| Some(amount(&holders?))).collect();
        let named = cells(batch, "Token Name").into_iter().map(|text| text.map_or((None, None), |text| name_and_symbol(&text)));
        let (names, symbols): (Vec<_>, Vec<_>) = named.unzip();
        put(batch, "Market Cap", caps);
        put(batch, "Holders", holders);
        put(batch, "name", names);
        put(batch, "symbol", symbols);
    });
    let take = Take::into("tokens", rows)
        .columns(&[("token_address", "Contract Address"), ("market_cap", "Market Cap"), ("holders", "Holders")])
        .set("chain", chain);
    Ok(ImportPlan::of(vec![take]).saying("a market cap of $0.00 means none").saying(format!("chain {chain}, as said with --chain")))
}

/// Splits `Pepe (PEPE)` into name and symbol; without brackets it is a name.
fn name_and_symbol(text: &str) -> (Option<String>, Option<String>) {
    let text = text.trim();
    let split = text.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')).filter(|(_, symbol)| !symbol.trim().is_empty());
    match split {
        Some((name, symbol)) => (Some(name.trim().to_owned()).filter(|name| !name.is_empty()), Some(symbol.trim().to_owned())),
        None => (Some(text.to_owned()), None),
    }
}

pub(super) fn is_accounts(sniffed: &Sniffed) -> bool {
    has(&sniffed.header(), &["address", "name tag"])
}

pub(super) fn is_chart(sniffed: &Sniffed) -> bool {
    has(&sniffed.header(), &["date(utc)", "unixtimestamp", "value"])
}

/// Gas prices are in wei, so above ten million; ether prices have cents.
const WEI_LEAST: f64 = 1e7;

/// The chart's last value: the gas table holds one figure per chain.
pub(super) fn chart(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
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

/// The chain of an explorer, by its URL.
pub(super) fn chain_of_explorer(text: &str) -> Option<&'static str> {
    const EXPLORERS: &[(&str, &str)] = &[
        ("optimistic.etherscan.io", "oeth"),
        ("etherscan.io", "eth"),
        ("bscscan.com", "bnb"),
        ("polygonscan.com", "pol"),
        ("arbiscan.io", "arb1"),
        ("basescan.org", "base"),
        ("celoscan.io", "celo"),
        ("snowtrace.io", "avax"),
        ("ftmscan.com", "ftm"),
        ("gnosisscan.io", "gno"),
        ("lineascan.build", "linea"),
        ("scrollscan.com", "scr"),
    ];
    EXPLORERS.iter().find(|(host, _)| text.contains(host)).map(|(_, chain)| *chain).filter(|_| pair::address(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_name_is_split_from_its_symbol() {
        for (text, name, symbol) in [
            ("Pepe (PEPE)", Some("Pepe"), Some("PEPE")),
            ("Baby Doge Coin", Some("Baby Doge Coin"), None),
            ("A (B) (C)", Some("A (B)"), Some("C")),
            ("(X)", None, Some("X")),
            ("漢字 🐶 (犬)", Some("漢字 🐶"), Some("犬")),
            ("Empty ()", Some("Empty ()"), None),
        ] {
            assert_eq!(name_and_symbol(text), (name.map(str::to_owned), symbol.map(str::to_owned)), "{text}");
        }
    }
}
