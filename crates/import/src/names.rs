//! Column name aliases, and the normal form in which names are compared: alphanumeric, lower case, without the numbers that some sources
//! prefix (`1. open`). Aliases are written in normal form, so that a list of them is one text of words.

use std::collections::HashSet;

/// The normal form of a name.
pub(super) fn plain(name: &str) -> String {
    let name = name.trim_start_matches('\u{feff}').trim();
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let counted =
        rest.len() < name.len() && (rest.starts_with(". ") || rest.get(1..3) == Some(". "));
    let name = if counted {
        rest.split_once(". ").map_or(rest, |(_, name)| name)
    } else {
        name
    };
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether the normalised name is one of the words.
pub(super) fn is_one_of(name: &str, words: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}

/// The normalised names of a table.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Full names: `tokenaddress` of `token.address`.
    whole: Vec<String>,
    /// Last path segments: `address`.
    last: Vec<String>,
}

impl Names {
    pub(super) fn of(names: &[String]) -> Self {
        // Streams abbreviate names to letters, in both cases: the lower-case one of `k.l` and `k.L` is the price. The second of two such names
        // is numbered.
        let written: HashSet<&str> = names.iter().map(String::as_str).collect();
        let numbered = |name: &str| format!("{name} (2)");
        let is_other = |name: &String| {
            let lower = name.to_lowercase();
            lower != *name && (written.contains(&*lower) || written.contains(&*numbered(&lower)))
        };
        let bare = |name: &String| -> String {
            let second = name.strip_suffix(" (2)");
            let second = second.filter(|base| !written.contains(base));
            second.unwrap_or(name).to_owned()
        };
        let known = |name: &String| {
            if is_other(name) {
                String::new()
            } else {
                bare(name)
            }
        };
        let last = |name: &String| {
            let last = name.rsplit('.').next();
            plain(last.filter(|last| !last.trim().is_empty()).unwrap_or(name))
        };
        let known: Vec<String> = names.iter().map(known).collect();
        Self {
            whole: known.iter().map(|name| plain(name)).collect(),
            last: known.iter().map(last).collect(),
        }
    }

    /// The column that matches the first of these names that any column has; full names before last segments.
    pub(super) fn find(&self, words: &str) -> Option<usize> {
        let among = |names: &[String]| {
            words
                .split_whitespace()
                .find_map(|word| names.iter().position(|name| name == word))
        };
        among(&self.whole).or_else(|| among(&self.last))
    }

    /// The columns that match these names, in the order of the names.
    pub(super) fn in_order(&self, words: &str) -> impl Iterator<Item = usize> {
        words.split_whitespace().filter_map(|word| self.find(word))
    }

    /// All columns with any of these names.
    pub(super) fn all(&self, words: &str) -> Vec<usize> {
        (0..self.whole.len())
            .filter(|&at| is_one_of(&self.whole[at], words) || is_one_of(&self.last[at], words))
            .collect()
    }

    pub(super) fn has(&self, words: &str) -> bool {
        self.find(words).is_some()
    }

    pub(super) fn whole(&self, at: usize) -> &str {
        &self.whole[at]
    }

    pub(super) fn last(&self, at: usize) -> &str {
        &self.last[at]
    }

    pub(super) fn len(&self) -> usize {
        self.whole.len()
    }
}

/// Names of columns that tell a file's series apart; `list` is `sheet::json::LIST`.
pub(super) const SERIES: &str = "\
    symbol symbols pair pairs ticker tickers market instrument instrumentname instid productid symbolid tradingpair coin coinid \
    coinname asset crypto cryptocurrency currency currencypair name slug unit tic s cryptoname base baseasset basecurrency token \
    tokensymbol 代币符号 交易对 币种 list";
/// Names of exchange columns.
pub(super) const PLACES: &str =
    "exchange exchangeid exchangename source venue provider exch 交易所 platform";
/// Names of quote currency columns.
pub(super) const QUOTES: &str =
    "quote quoteasset quotecurrency vscurrency quotesymbol conversionsymbol";
pub(super) const SYMBOL: &str = "symbol tokensymbol ticker 代币符号 sym tickersymbol";
pub(super) const NAME: &str = "name tokenname 代币名称 fullname projectname";
pub(super) const CHAIN: &str = "chain chainid chains chainname network networkid blockchain networkname assetplatformid chainindex";
pub(super) const DECIMALS: &str = "decimals decimal tokendecimal tokendecimals contractdecimals decimalplace rawcontractdecimal divisor";
/// Names of columns that certainly hold token addresses.
pub(super) const TOKEN: &str = "\
    tokenaddress contractaddress tokencontractaddress tokencontract rawcontractaddress erc20 tokenid 代币合约 platformtokenaddress \
    assetaddress tokenhash coinaddress contractid";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_marks_and_counts() {
        for (name, expected) in [
            ("Volume_(BTC)", "volumebtc"),
            ("1. open", "open"),
            ("4a. close (USD)", "closeusd"),
            ("\u{feff}Date", "date"),
            ("openTime", "opentime"),
            ("Eröffn.", "eröffn"),
            ("1inch", "1inch"),
            ("24h volume", "24hvolume"),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
        let stream = ["k.t", "k.T", "k.L", "k.l"].map(str::to_owned);
        assert_eq!(Names::of(&stream).find("low l"), Some(3));
        assert_eq!(Names::of(&stream[..3]).find("low l"), Some(2));
        let numbered = ["k.L", "k.l (2)"].map(str::to_owned);
        assert_eq!(Names::of(&numbered).find("low l"), Some(1));
        let names = Names::of(&[
            "id".to_owned(),
            "token.address".to_owned(),
            "address".to_owned(),
        ]);
        assert_eq!(
            (names.find("tokenaddress"), names.find("address")),
            (Some(1), Some(2))
        );
    }
}
