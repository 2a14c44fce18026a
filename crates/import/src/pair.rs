//! Parses file names and tickers: a token address, or a trading pair.

use model::address::Address;

/// Dollar currencies, and other quote currencies; longer ones first.
const DOLLARS: &[&str] = &["FDUSD", "USDT", "USDC", "BUSD", "TUSD", "USDP", "USD", "DAI"];
const OTHERS: &[&str] = &[
    "WETH", "WBTC", "BTC", "XBT", "ETH", "BNB", "SOL", "EURT", "EURC", "EURI", "EUR", "GBP", "TRY", "JPY", "KRW", "BRL", "AUD", "CAD",
    "CHF", "INR", "RUB", "UAH", "CNY", "SGD", "MXN", "ZAR", "PLN", "NGN", "IDR", "THB", "VND", "HKD", "SEK", "NOK", "DKK", "CZK", "HUF",
    "ARS", "PHP", "NZD", "KZT",
];
/// Currencies that column names may carry.
const COLUMN_CURRENCIES: &[&str] =
    &["usd", "eur", "gbp", "try", "jpy", "krw", "brl", "aud", "cad", "chf", "inr", "rub", "cny", "btc", "eth", "bnb", "usdt", "usdc"];
/// Base tickers that a longer quote would swallow: `XBTUSD` is XBT in USD, not XB in TUSD.
const BASES: &[&str] =
    &["BTC", "XBT", "ETH", "BNB", "SOL", "XRP", "LTC", "BCH", "ADA", "DOT", "WBT", "BAT", "NFT", "MINT", "KNC", "WETH", "WBTC", "STETH"];
/// Tickers of native coins, which have no contract. A token with such a ticker on another chain is wrapped or bridged.
const NATIVE: &[&str] = &[
    "BTC", "ETH", "BNB", "SOL", "XRP", "LTC", "BCH", "BSV", "ADA", "DOT", "DOGE", "AVAX", "TRX", "ATOM", "XLM", "XMR", "ETC", "NEAR",
    "ALGO", "FIL", "HBAR", "ICP", "TON", "SUI", "APT", "EOS", "XTZ", "ZEC", "DASH", "KAS", "VET", "EGLD", "SEI", "TIA", "INJ", "KSM",
    "STX", "GLMR", "MOVR", "CELO", "ROSE", "XDAI", "FLOW", "HYPE", "NEO", "IOTA", "MINA", "XEC", "RVN", "QTUM", "OSMO", "KAVA", "BERA",
    "MON",
];
/// Words in file names that are exchanges or sources, not tokens.
const EXCHANGES: &str = "\
    POLONIEX BINANCE KRAKEN COINBASE BITSTAMP BITFINEX GEMINI BYBIT OKX OKEX KUCOIN HUOBI HTX GATE GATEIO MEXC BITGET BITTREX UPBIT \
    BITHUMB DERIBIT BITMEX BITMART LBANK YAHOO COINGECKO COINMARKETCAP CRYPTOCOMPARE CCXT FREQTRADE UNISWAP";
/// Multiplier prefixes: exchanges trade some tokens by the thousand or more.
const MULTIPLIERS: &[(&str, f64)] = &[("1000000", 1e6), ("10000", 1e4), ("1000", 1e3), ("1M", 1e6)];

/// A trading pair: the base asset and its quote currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TradingPair {
    pub base: String,
    pub quote: String,
}

impl TradingPair {
    pub(super) fn in_dollars(&self) -> bool {
        DOLLARS.contains(&self.quote.as_str())
    }

    /// A pair with the base's common ticker: XBT is BTC.
    fn of(base: &str, quote: &str) -> Self {
        Self { base: common_ticker(base), quote: quote.to_owned() }
    }
}

/// Maps Kraken's and BitMEX's spellings to common tickers.
fn common_ticker(base: &str) -> String {
    match base {
        "XBT" | "XXBT" => "BTC",
        "XETH" => "ETH",
        "XXRP" => "XRP",
        "XLTC" => "LTC",
        "XXMR" => "XMR",
        "XETC" => "ETC",
        "XXLM" => "XLM",
        "XZEC" => "ZEC",
        "XREP" => "REP",
        "XMLN" => "MLN",
        "XDG" | "XXDG" => "DOGE",
        other => other,
    }
    .to_owned()
}

/// Whether a word in lower case is a currency in which column names state prices.
pub(super) fn is_currency(word: &str) -> bool {
    COLUMN_CURRENCIES.contains(&word)
}

/// Whether a word in upper case is a quote currency.
pub(super) fn is_quote(word: &str) -> bool {
    DOLLARS.contains(&word) || OTHERS.contains(&word)
}

/// Whether a word in upper case is a fiat currency or a dollar stablecoin: by itself not the name of the token.
pub(super) fn is_money(word: &str) -> bool {
    is_quote(word) && !is_native(word) && !["WETH", "WBTC", "XBT", "EURT", "EURC", "EURI"].contains(&word)
}

/// Whether it is the ticker of a coin without a contract.
pub(super) fn is_native(symbol: &str) -> bool {
    NATIVE.contains(&symbol.to_uppercase().as_str())
}

/// Whether the currency is a dollar.
pub(super) fn is_dollar(word: &str) -> bool {
    DOLLARS.contains(&word.to_uppercase().as_str())
}

/// The currency suffix of a price column's name: `closeeur`.
pub(super) fn currency_of(name: &str) -> Option<String> {
    let prices = ["open", "high", "low", "close", "price"];
    let rest = prices.iter().find_map(|price| name.strip_prefix(price))?;
    let rest = rest.strip_prefix("price").or_else(|| rest.strip_prefix("in")).unwrap_or(rest);
    is_currency(rest).then(|| rest.to_owned())
}

/// The words of a name, in upper case.
pub(super) fn words(name: &str) -> Vec<String> {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.split('.').next().unwrap_or(stem);
    let words = stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // Bitfinex prefixes pairs with a lower-case t: tBTCUSD.
    let plain = |word: &str| {
        let rest = word.strip_prefix('t').filter(|rest| rest.len() >= 6 && rest.bytes().all(|byte| byte.is_ascii_uppercase()));
        rest.unwrap_or(word).to_uppercase()
    };
    words.map(plain).collect()
}

/// The coin ticker among the words of a file name.
pub(super) fn coin(name: &str) -> Option<String> {
    words(name).iter().map(|word| common_ticker(word)).find(|word| BASES.contains(&word.as_str()))
}

/// The address in a name: `0x` and exactly 40 hex digits.
pub(super) fn address(name: &str) -> Option<Address> {
    let at = name.match_indices("0x").map(|(at, _)| at);
    at.filter(|at| !name.as_bytes().get(at + 42).is_some_and(u8::is_ascii_hexdigit))
        .find_map(|at| name.get(at..at + 42).and_then(Address::parse))
}

/// The trading pair in a name or a ticker: `UNIUSDT`, `ETH_BTC`, `BTC-USD`, `BTC/USD`. `known` tells whether a word is a token's symbol.
pub(super) fn pair(text: &str, known: impl Fn(&str) -> bool) -> Option<TradingPair> {
    // A slash separates folders in a file name, but base and quote in a ticker.
    let is_file = text.rsplit('/').next().is_some_and(|last| last.contains('.'));
    let words = if is_file { words(text) } else { words(&text.replace('/', "_")) };
    let quote = |word: &str| DOLLARS.iter().chain(OTHERS).any(|quote| *quote == word);
    // In `exchange_ETH_BTC` the pair is the last two words: quote currencies can be priced themselves.
    let behind = |i: usize| {
        let next = words.get(i + 2).is_some_and(|next| quote(next) && *next != words[i + 1]);
        next && OTHERS.contains(&words[i + 1].as_str()) && !known(&words[i])
    };
    let apart = words.windows(2).enumerate().find(|(i, two)| {
        quote(&two[1]) && !behind(*i) && (known(&two[0]) || !EXCHANGES.split_whitespace().any(|exchange| exchange == two[0]))
    });
    if let Some((_, [base, quote])) = apart {
        return Some(TradingPair::of(base, quote));
    }
    let joined = |word: &String| {
        if known(word) {
            return None;
        }
        let all = |quotes: &'static [&'static str], least: usize| {
            quotes.iter().copied().filter(move |quote| word.ends_with(*quote) && word.len() >= quote.len() + least)
        };
        let base = |quote: &str| &word[..word.len() - quote.len()];
        // Kraken prefixes coins with X and currencies with Z: XXBTZUSD.
        if let Some(quote) = all(DOLLARS, 5).chain(all(OTHERS, 5)).find(|quote| base(quote).ends_with('Z') && base(quote).starts_with('X'))
        {
            return Some(TradingPair::of(base(quote).trim_end_matches('Z'), quote));
        }
        let known_base = |quote: &&str| BASES.contains(&base(quote)) || known(base(quote));
        let quote = all(DOLLARS, 2)
            .find(known_base)
            .or_else(|| all(DOLLARS, 2).next())
            .or_else(|| all(OTHERS, 3).find(known_base))
            .or_else(|| all(OTHERS, 3).next())?;
        Some(TradingPair::of(base(quote), quote))
    };
    words.iter().find_map(joined)
}

/// Splits a multiplier off a symbol: `1000PEPE` and `SHIB1000` are thousands.
pub(super) fn without_multiplier(base: &str) -> Option<(&str, f64)> {
    MULTIPLIERS.iter().find_map(|(prefix, multiplier)| {
        let rest = base.strip_prefix(prefix).or_else(|| base.strip_suffix(prefix))?;
        rest.starts_with(|c: char| c.is_ascii_alphabetic()).then_some((rest, *multiplier))
    })
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
    EXPLORERS.iter().find(|(host, _)| text.contains(host)).map(|(_, chain)| *chain).filter(|_| address(text).is_some())
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
            ("XBTUSD_1440.csv", Some(("BTC", "USD"))),
            ("OHLC_XXBTZUSD_1440.json", Some(("BTC", "USD"))),
            ("tBTCUSD.json", Some(("BTC", "USD"))),
            ("BTCEUR.csv", Some(("BTC", "EUR"))),
            ("X:BTCUSD", Some(("BTC", "USD"))),
            ("BTC/USDT:USDT", Some(("BTC", "USDT"))),
            ("BTCTUSD", Some(("BTC", "TUSD"))),
        ] {
            let found = pair(name, |word| word == "WBTC");
            assert_eq!(found.as_ref().map(|pair| (pair.base.as_str(), pair.quote.as_str())), expected, "{name}");
        }
        assert_eq!(without_multiplier("1000PEPE"), Some(("PEPE", 1e3)));
        assert_eq!(without_multiplier("SHIB1000"), Some(("SHIB", 1e3)));
        assert_eq!((without_multiplier("1000"), without_multiplier("UNI"), without_multiplier("1INCH")), (None, None, None));
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
