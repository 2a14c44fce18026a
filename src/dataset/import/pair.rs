//! What a file's name or a ticker says: the token's address, or the pair of symbols that was traded.

use crate::dataset::address::Address;

/// Currencies that are a dollar, and others that prices are quoted in; longer ones first.
const DOLLARS: &[&str] = &["FDUSD", "USDT", "USDC", "BUSD", "TUSD", "USDP", "USD", "DAI"];
const OTHERS: &[&str] = &["WETH", "BTC", "ETH", "BNB", "EUR", "GBP", "TRY", "JPY", "KRW", "BRL", "AUD"];
/// Exchanges trade some tokens by the thousand or more.
const PACKS: &[(&str, f64)] = &[("1000000", 1e6), ("10000", 1e4), ("1000", 1e3), ("1M", 1e6)];

/// What was traded, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub base: String,
    pub quote: String,
}

impl Pair {
    pub(super) fn in_dollars(&self) -> bool {
        DOLLARS.contains(&self.quote.as_str())
    }
}

/// The words of a name in upper case.
pub(super) fn words(name: &str) -> Vec<String> {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.split('.').next().unwrap_or(stem);
    stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_uppercase).collect()
}

/// The address in a name: `0x` and 40 hex digits, no more.
pub(super) fn address(name: &str) -> Option<Address> {
    let at = name.match_indices("0x").map(|(at, _)| at);
    at.filter(|at| !name.as_bytes().get(at + 42).is_some_and(u8::is_ascii_hexdigit))
        .find_map(|at| name.get(at..at + 42).and_then(Address::parse))
}

/// The pair in a name or a ticker: `UNIUSDT`, `ETH_BTC`, `BTC-USD`, `BTC/USD`. `known` tells whether a word is a token's symbol as it is.
pub(super) fn pair(text: &str, known: impl Fn(&str) -> bool) -> Option<Pair> {
    // A stroke parts folders in the name of a file, and the two of a pair in a ticker.
    let is_file = text.rsplit('/').next().is_some_and(|last| last.contains('.'));
    let words = if is_file { words(text) } else { words(&text.replace('/', "_")) };
    let quote = |word: &str| DOLLARS.iter().chain(OTHERS).any(|quote| *quote == word);
    // In `exchange_ETH_BTC` the pair is the second two: what a price may be in can itself be priced.
    let behind = |i: usize| {
        let next = words.get(i + 2).is_some_and(|next| quote(next) && *next != words[i + 1]);
        next && OTHERS.contains(&words[i + 1].as_str()) && !known(&words[i])
    };
    let apart = words.windows(2).enumerate().find(|(i, two)| quote(&two[1]) && !behind(*i));
    if let Some((_, two)) = apart {
        return Some(Pair { base: two[0].clone(), quote: two[1].clone() });
    }
    let joined = |word: &String| {
        if known(word) {
            return None;
        }
        let ends = |quotes: &[&str], least: usize| {
            quotes.iter().find(|quote| word.ends_with(**quote) && word.len() >= quote.len() + least).map(|quote| (*quote).to_owned())
        };
        let quote = ends(DOLLARS, 2).or_else(|| ends(OTHERS, 3))?;
        Some(Pair { base: word[..word.len() - quote.len()].to_owned(), quote })
    };
    words.iter().find_map(joined)
}

/// The symbol behind a name for many of the token, and how many: `1000PEPE` and `SHIB1000` are thousands.
pub(super) fn unpacked(base: &str) -> Option<(&str, f64)> {
    PACKS.iter().find_map(|(pack, count)| {
        let rest = base.strip_prefix(pack).or_else(|| base.strip_suffix(pack))?;
        rest.starts_with(|c: char| c.is_ascii_alphabetic()).then_some((rest, *count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_pair() {
        for (name, expected) in [
            ("binance-vision_UNIUSDT-30m-2023-02.csv", Some(("UNI", "USDT"))),
            ("bybit_AAVEUSDT_1d.csv", Some(("AAVE", "USDT"))),
            ("freqtrade_ETH_BTC-5m.feather", Some(("ETH", "BTC"))),
            ("freqtrade_XRP_USDT_USDT-1h-futures.json", Some(("XRP", "USDT"))),
            ("cryptocompare_BTC-USD_days.parquet", Some(("BTC", "USD"))),
            ("binance_BTC_USDT.csv", Some(("BTC", "USDT"))),
            ("BTC/USD", Some(("BTC", "USD"))),
            ("uniusdc.csv", Some(("UNI", "USDC"))),
            ("AAVEETH.csv", Some(("AAVE", "ETH"))),
            ("WBTC.csv", None),
            ("coinmetrics_uni.csv", None),
            ("a.zip/UNIUSDT-1m.csv", Some(("UNI", "USDT"))),
        ] {
            let found = pair(name, |word| word == "WBTC");
            assert_eq!(found.as_ref().map(|pair| (pair.base.as_str(), pair.quote.as_str())), expected, "{name}");
        }
        assert_eq!(unpacked("1000PEPE"), Some(("PEPE", 1e3)));
        assert_eq!(unpacked("SHIB1000"), Some(("SHIB", 1e3)));
        assert_eq!((unpacked("1000"), unpacked("UNI"), unpacked("1INCH")), (None, None, None));
    }

    #[test]
    fn a_name_tells_its_address() {
        let digits = "1bBD79f1Ecb3f2cCC586A5E3A26eE1d1D2E1991f";
        assert!(address(&format!("export-tokenholders-for-contract-0x{digits}.csv")).is_some());
        assert!(address(&format!("0x0x{digits} (1).csv")).is_some());
        assert_eq!(address(&format!("0x{digits}00.csv")), None);
        assert_eq!(address("0x12漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字.csv"), None);
    }
}
