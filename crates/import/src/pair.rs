//! Parses file names and tickers: a token address, or a trading pair.

use model::address::Address;

/// Dollar currencies, and other quote currencies; longer ones first.
const DOLLARS: &[&str] = &[
    "FDUSD", "USDT", "USDC", "BUSD", "TUSD", "USDP", "USD", "DAI",
];
const OTHERS: &[&str] = &[
    "WETH", "WBTC", "BTC", "XBT", "ETH", "BNB", "SOL", "EURT", "EURC", "EURI", "EUR", "GBP", "TRY",
    "JPY", "KRW", "BRL", "AUD", "CAD", "CHF", "INR", "RUB", "UAH", "CNY", "SGD", "MXN", "ZAR",
    "PLN", "NGN", "IDR", "THB", "VND", "HKD", "SEK", "NOK", "DKK", "CZK", "HUF", "ARS", "PHP",
    "NZD", "KZT",
];
/// Currencies that column names may carry.
const COLUMN_CURRENCIES: &[&str] = &[
    "usd", "eur", "gbp", "try", "jpy", "krw", "brl", "aud", "cad", "chf", "inr", "rub", "cny",
    "btc", "eth", "bnb", "usdt", "usdc",
];
/// Base tickers that a longer quote would swallow: `XBTUSD` is XBT in USD, not XB in TUSD.
const BASES: &[&str] = &[
    "BTC", "XBT", "ETH", "BNB", "SOL", "XRP", "LTC", "BCH", "ADA", "DOT", "WBT", "BAT", "NFT",
    "MINT", "KNC", "WETH", "WBTC", "STETH",
];
/// Tickers of native coins, which have no contract. A token with such a ticker on another chain is wrapped or bridged.
const NATIVE: &[&str] = &[
    "BTC", "ETH", "BNB", "SOL", "XRP", "LTC", "BCH", "BSV", "ADA", "DOT", "DOGE", "AVAX", "TRX",
    "ATOM", "XLM", "XMR", "ETC", "NEAR", "ALGO", "FIL", "HBAR", "ICP", "TON", "SUI", "APT", "EOS",
    "XTZ", "ZEC", "DASH", "KAS", "VET", "EGLD", "SEI", "TIA", "INJ", "KSM", "STX", "GLMR", "MOVR",
    "CELO", "ROSE", "XDAI", "FLOW", "HYPE", "NEO", "IOTA", "MINA", "XEC", "RVN", "QTUM", "OSMO",
    "KAVA", "BERA", "MON",
];
/// Full names of native coins.
const COIN_NAMES: &[(&str, &str)] = &[
    ("BITCOIN", "BTC"),
    ("ETHEREUM", "ETH"),
    ("ETHER", "ETH"),
    ("BINANCECOIN", "BNB"),
    ("SOLANA", "SOL"),
    ("RIPPLE", "XRP"),
    ("LITECOIN", "LTC"),
    ("BITCOINCASH", "BCH"),
    ("BITCOINSV", "BSV"),
    ("CARDANO", "ADA"),
    ("POLKADOT", "DOT"),
    ("DOGECOIN", "DOGE"),
    ("AVALANCHE", "AVAX"),
    ("TRON", "TRX"),
    ("COSMOS", "ATOM"),
    ("STELLAR", "XLM"),
    ("MONERO", "XMR"),
    ("ETHEREUMCLASSIC", "ETC"),
    ("ALGORAND", "ALGO"),
    ("FILECOIN", "FIL"),
    ("HEDERA", "HBAR"),
    ("APTOS", "APT"),
    ("TEZOS", "XTZ"),
    ("ZCASH", "ZEC"),
    ("KASPA", "KAS"),
    ("VECHAIN", "VET"),
];
/// Words in file names that are exchanges or sources, not tokens.
const EXCHANGES: &str = "\
    POLONIEX BINANCE KRAKEN COINBASE BITSTAMP BITFINEX GEMINI BYBIT OKX OKEX KUCOIN HUOBI HTX GATE GATEIO MEXC BITGET BITTREX UPBIT \
    BITHUMB DERIBIT BITMEX BITMART LBANK YAHOO COINGECKO COINMARKETCAP CRYPTOCOMPARE CCXT FREQTRADE UNISWAP";
/// Ordinary words of file and sheet names. Some are tickers as well; in a name they count as such only in capitals and if the dataset has them.
const ORDINARY: &str = "\
    ALL AND ASSET BACKTEST BACKUP BAR BARS CANDLE CANDLES CHART CLEAN CLOSE CLOSED COIN COINS COPY COUNTRY CRYPTO CSV CURRENCY DAILY DATA \
    DATASET DAY DAYS DOLLARS DOWNLOAD EXPORT FEED FILE FINAL FOR FROM FULL FUTURES HIST HISTORICAL HISTORY HOUR HOURLY IN INDEX INDUSTRY \
    INTRADAY KLINE KLINES LAST LATEST LIST LIVE MAIN MARKET MERGED MINUTE MONTH MONTHLY MY NEW OF OHLC OHLCV OLD ONE OPEN OUR OUT OUTPUT \
    PAIR PAIRS PERP POOL PORTFOLIO PRICE PRICES QUOTE QUOTES RATE RATES RAW REGISTRY REPORT RESULT RESULTS RUN SAMPLE SERIES SHEET SPOT \
    SUMMARY SWAP TABLE TELEMETRY TEMP TEST THE TICKER TICKS TO TODAY TOKEN TOKENS TOTAL TRADE TRADES TRY TWO USD UTC VOLUME VS WEEK WEEKLY \
    YEAR YEARLY YTD JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC Q1 Q2 Q3 Q4";
/// Multiplier prefixes: exchanges trade some tokens by the thousand or more.
const MULTIPLIERS: &[(&str, f64)] = &[("1000000", 1e6), ("10000", 1e4), ("1000", 1e3), ("1M", 1e6)];

/// A trading pair: the base asset and its quote currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TradingPair {
    pub base: String,
    pub quote: String,
    /// Two words of a name that is not in capitals: they may be next to each other by chance.
    pub loose: bool,
}

impl TradingPair {
    pub(super) fn in_dollars(&self) -> bool {
        DOLLARS.contains(&self.quote.as_str())
    }

    /// A pair with the base's common ticker: XBT is BTC.
    fn of(base: &str, quote: &str) -> Self {
        Self {
            base: common_ticker(base),
            quote: quote.to_owned(),
            loose: false,
        }
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
    is_quote(word)
        && !is_native(word)
        && !["WETH", "WBTC", "XBT", "EURT", "EURC", "EURI"].contains(&word)
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
    let rest = rest
        .strip_prefix("price")
        .or_else(|| rest.strip_prefix("in"))
        .unwrap_or(rest);
    is_currency(rest).then(|| rest.to_owned())
}

/// A word of a name, in upper case.
struct Word {
    text: String,
    /// Whether it is written in capitals, as tickers are.
    capital: bool,
}

fn split(name: &str) -> Vec<Word> {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.split('.').next().unwrap_or(stem);
    let words = stem
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    // Bitfinex prefixes pairs with a lower-case t: tBTCUSD.
    let plain = |word: &str| {
        let rest = word
            .strip_prefix('t')
            .filter(|rest| rest.len() >= 6 && rest.bytes().all(|byte| byte.is_ascii_uppercase()));
        let word = rest.unwrap_or(word);
        // `1D` is a length, not a ticker.
        let letters = word.bytes().filter(u8::is_ascii_uppercase).count();
        Word {
            text: word.to_uppercase(),
            capital: letters > 1 && !word.contains(char::is_lowercase),
        }
    };
    words.map(plain).collect()
}

/// The words of a name, in upper case; of a sheet or a member, those of its own name.
pub(super) fn words(name: &str) -> Vec<String> {
    split(name).into_iter().map(|word| word.text).collect()
}

/// The words of a name that are symbols of the dataset; an ordinary word is one only in capitals.
pub(super) fn symbols(name: &str, known: impl Fn(&str) -> bool) -> Vec<String> {
    split(name)
        .into_iter()
        .filter(|word| known(&word.text) && (word.capital || !is_ordinary(&word.text)))
        .map(|word| word.text)
        .collect()
}

fn is_ordinary(word: &str) -> bool {
    ORDINARY.split_whitespace().any(|ordinary| ordinary == word)
}

fn is_exchange(word: &str) -> bool {
    EXCHANGES
        .split_whitespace()
        .any(|exchange| exchange == word)
}

/// Whether a word of a name is a ticker: a symbol of the dataset, a coin, or written as tickers are.
fn is_ticker(word: &Word, known: &dyn Fn(&str) -> bool) -> bool {
    let text = common_ticker(&word.text);
    let listed = known(&word.text) && (word.capital || !is_ordinary(&word.text))
        || BASES.contains(&text.as_str())
        || is_native(&text);
    listed || word.capital && text.len() <= 12 && !is_ordinary(&text) && !is_exchange(&text)
}

/// A currency among the words of a file name that is neither a dollar nor a coin.
pub(super) fn foreign_money(name: &str) -> Option<String> {
    split(name)
        .into_iter()
        .map(|word| word.text)
        .rfind(|word| is_money(word) && !is_dollar(word))
}

/// The coin tickers among the words of a file name.
pub(super) fn coins(name: &str) -> Vec<String> {
    split(name)
        .iter()
        .map(|word| common_ticker(&word.text))
        .filter(|word| BASES.contains(&word.as_str()))
        .collect()
}

/// The ticker of the native coin whose full name is in a file name, apart from ordinary words and numbers.
pub(super) fn coin_by_name(name: &str) -> Option<&'static str> {
    let words = split(name).into_iter().map(|word| word.text);
    let rest = words.filter(|word| {
        let is_year_or_length = word.starts_with(|c: char| c.is_ascii_digit());
        !(is_year_or_length
            || is_exchange(word)
            || is_dollar(word)
            || is_ordinary(word) && word != "VS")
    });
    // `COIN` is an ordinary word, though a part of one name.
    let joined = rest.collect::<String>();
    COIN_NAMES
        .iter()
        .find(|(known, _)| *known == joined || joined == "BINANCE" && *known == "BINANCECOIN")
        .map(|(_, ticker)| *ticker)
}

/// The one token that a sheet's or a member's own name tells: by a pair, or by a single ticker beside ordinary words.
pub(super) fn ticker(name: &str, known: impl Fn(&str) -> bool) -> Option<String> {
    let words = split(name);
    if let Some(pair) = of_words(&words, &known, true) {
        return Some(pair.base);
    }
    let mut tickers: Vec<String> = words
        .iter()
        .filter(|word| is_ticker(word, &known) && !is_money(&word.text))
        .map(|word| common_ticker(&word.text))
        .collect();
    tickers.dedup();
    if tickers.len() == 1 {
        tickers.pop()
    } else {
        None
    }
}

/// The address in a name: `0x` and exactly 40 hex digits.
pub(super) fn address(name: &str) -> Option<Address> {
    let at = name.match_indices("0x").map(|(at, _)| at);
    at.filter(|at| {
        !name
            .as_bytes()
            .get(at + 42)
            .is_some_and(u8::is_ascii_hexdigit)
    })
    .find_map(|at| name.get(at..at + 42).and_then(Address::parse))
}

/// The trading pair in a ticker: `UNIUSDT`, `ETH_BTC`, `BTC-USD`, `BTC/USD`. `known` tells whether a word is a token's symbol.
pub(super) fn pair(text: &str, known: impl Fn(&str) -> bool) -> Option<TradingPair> {
    // A slash separates base and quote here; every word may be a ticker, whatever its case.
    let words: Vec<Word> = split(&text.replace('/', "_"))
        .into_iter()
        .map(|word| Word {
            capital: true,
            ..word
        })
        .collect();
    of_words(&words, &known, false)
}

/// The trading pair in a file's name, whose words need not be tickers: `report_try` is none. Of a sheet or a member, its own name goes first,
/// and that of its container counts only where its own names no token.
pub(super) fn pair_in_name(name: &str, known: impl Fn(&str) -> bool) -> Option<TradingPair> {
    let of = |name: &str| of_words(&split(name), &known, true);
    let container = || {
        name.rsplit_once('/')
            .filter(|_| !split(name).iter().any(|word| is_ticker(word, &known)))
    };
    of(name).or_else(|| of(container()?.0))
}

/// The pair among the words of a ticker, or of a name.
fn of_words(words: &[Word], known: &dyn Fn(&str) -> bool, in_name: bool) -> Option<TradingPair> {
    let is_base = |word: &Word| {
        if in_name {
            is_ticker(word, known)
        } else {
            known(&word.text) || !is_exchange(&word.text)
        }
    };
    // In `exchange_ETH_BTC` the pair is the last two words: quote currencies can be priced themselves.
    let behind = |i: usize| {
        let next = words
            .get(i + 2)
            .is_some_and(|next| is_quote(&next.text) && next.text != words[i + 1].text);
        next && OTHERS.contains(&words[i + 1].text.as_str()) && !known(&words[i].text)
    };
    let apart = words
        .windows(2)
        .enumerate()
        .find(|(i, two)| is_quote(&two[1].text) && !behind(*i) && is_base(&two[0]));
    if let Some((_, [base, quote])) = apart {
        return Some(TradingPair {
            loose: !(base.capital && quote.capital),
            ..TradingPair::of(&base.text, &quote.text)
        });
    }
    let joined = |Word {
                      text: word,
                      capital,
                  }: &Word| {
        if known(word) || is_quote(word) || in_name && is_ordinary(word) {
            return None;
        }
        let all = |quotes: &'static [&'static str], least: usize| {
            quotes
                .iter()
                .copied()
                .filter(move |quote| word.ends_with(*quote) && word.len() >= quote.len() + least)
        };
        let base = |quote: &str| &word[..word.len() - quote.len()];
        // Kraken prefixes coins with X and currencies with Z: XXBTZUSD.
        if let Some(quote) = all(DOLLARS, 5)
            .chain(all(OTHERS, 5))
            .find(|quote| base(quote).ends_with('Z') && base(quote).starts_with('X'))
        {
            return Some(TradingPair::of(base(quote).trim_end_matches('Z'), quote));
        }
        let known_base = |quote: &&str| BASES.contains(&base(quote)) || known(base(quote));
        // `telemetry` is no pair in TRY, nor `priceusd` one of PRICE.
        let may_be = |quote: &&str| {
            let base = base(quote);
            let is_word = is_ordinary(base) && (!capital || *quote == "USD");
            !in_name || !is_word && (*capital || DOLLARS.contains(quote) || is_native(base))
        };
        let quote = all(DOLLARS, 2)
            .find(known_base)
            .or_else(|| all(DOLLARS, 2).find(may_be))
            .or_else(|| all(OTHERS, 3).find(known_base))
            .or_else(|| all(OTHERS, 3).find(may_be))?;
        Some(TradingPair::of(base(quote), quote))
    };
    words.iter().find_map(joined)
}

/// Splits a multiplier off a symbol: `1000PEPE` and `SHIB1000` are thousands.
pub(super) fn without_multiplier(base: &str) -> Option<(&str, f64)> {
    MULTIPLIERS.iter().find_map(|(prefix, multiplier)| {
        let rest = base
            .strip_prefix(prefix)
            .or_else(|| base.strip_suffix(prefix))?;
        rest.starts_with(|c: char| c.is_ascii_alphabetic())
            .then_some((rest, *multiplier))
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
    EXPLORERS
        .iter()
        .find(|(host, _)| text.contains(host))
        .map(|(_, chain)| *chain)
        .filter(|_| address(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_pair() {
        for (name, expected) in [
            (
                "binance-vision_UNIUSDT-30m-2023-02.csv",
                Some(("UNI", "USDT")),
            ),
            ("bybit_AAVEUSDT_1d.csv", Some(("AAVE", "USDT"))),
            ("freqtrade_ETH_BTC-5m.feather", Some(("ETH", "BTC"))),
            (
                "freqtrade_XRP_USDT_USDT-1h-futures.json",
                Some(("XRP", "USDT")),
            ),
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
            ("btceur.csv", Some(("BTC", "EUR"))),
            ("X:BTCUSD", Some(("BTC", "USD"))),
            ("BTC/USDT:USDT", Some(("BTC", "USDT"))),
            ("BTCTUSD", Some(("BTC", "TUSD"))),
            ("ONEUSD", Some(("ONE", "USD"))),
            ("ONEUSDT-1d.csv", Some(("ONE", "USDT"))),
            ("PEPE_EUR.csv", Some(("PEPE", "EUR"))),
            ("btc_eth.csv", Some(("BTC", "ETH"))),
            ("wbtc_usd.csv", Some(("WBTC", "USD"))),
            // Ordinary words are no tickers.
            ("prices_usd_eur.csv", None),
            ("PRICES_USD_EUR.csv", None),
            ("backtest_one_usdt.csv", None),
            ("all_btc.csv", None),
            ("data_brl.csv", None),
            ("my_eth_data.csv", None),
            ("report_try.csv", None),
            ("run1_eur.csv", None),
            ("2024_EUR.csv", None),
            ("telemetry.csv", None),
            ("dollars.csv", None),
            ("priceusd.csv", None),
            ("FDUSD.csv", None),
            // A sheet's name goes before that of its workbook, which counts if the sheet's names no token.
            ("btc_eth.xlsx/BTC", None),
            ("btc_eth.xlsx/Sheet1", Some(("BTC", "ETH"))),
            ("UNIUSDT.zip/2024-01.csv", Some(("UNI", "USDT"))),
        ] {
            let known = |word: &str| word == "WBTC";
            let found = if name.contains('.') {
                pair_in_name(name, known)
            } else {
                pair(name, known)
            };
            assert_eq!(
                found
                    .as_ref()
                    .map(|pair| (pair.base.as_str(), pair.quote.as_str())),
                expected,
                "{name}"
            );
        }
        for (name, expected) in [
            ("p.xlsx/BTC", Some("BTC")),
            ("p.xlsx/ETH 2024", Some("ETH")),
            ("p.zip/PEPE-USD.csv", Some("PEPE")),
            ("p.zip/shib.csv", None),
            ("p.xlsx/BTC vs ETH", None),
            ("p.xlsx/Sheet1", None),
            ("p.xlsx/1D", None),
            ("p.xlsx/JAN", None),
        ] {
            assert_eq!(ticker(name, |_| false).as_deref(), expected, "{name}");
        }
        for (name, expected) in [
            ("bitcoin.csv", Some("BTC")),
            ("a/coin_Bitcoin_2013-2021.csv", Some("BTC")),
            ("cryptos.xlsx/Ethereum", Some("ETH")),
            ("bitcoin-cash.csv", Some("BCH")),
            ("ethereum_classic_daily_usd.json", Some("ETC")),
            ("wrapped-bitcoin.csv", None),
            ("bitcoin_vs_gold.csv", None),
            ("bitcoin_ethereum.csv", None),
            ("bitcoin vs.csv", None),
            ("prices.csv", None),
        ] {
            assert_eq!(coin_by_name(name), expected, "{name}");
        }
        assert_eq!(without_multiplier("1000PEPE"), Some(("PEPE", 1e3)));
        assert_eq!(without_multiplier("SHIB1000"), Some(("SHIB", 1e3)));
        assert_eq!(
            (
                without_multiplier("1000"),
                without_multiplier("UNI"),
                without_multiplier("1INCH")
            ),
            (None, None, None)
        );
    }

    #[test]
    fn a_name_tells_its_address() {
        let digits = "1bBD79f1Ecb3f2cCC586A5E3A26eE1d1D2E1991f";
        assert!(address(&format!("export-tokenholders-for-contract-0x{digits}.csv")).is_some());
        assert!(address(&format!("0x0x{digits} (1).csv")).is_some());
        assert_eq!(address(&format!("0x{digits}00.csv")), None);
        assert_eq!(
            address("0x12漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字.csv"),
            None
        );
    }
}
