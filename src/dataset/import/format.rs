//! THE table of formats: word, what it is, how it is known, which tables it goes to. Recognition, help, errors and documents take
//! them from here; one file for each source reads them.

mod balances;
mod binance;
mod coingecko;
mod coinmetrics;
mod cryptodatadownload;
mod defillama;
mod ethereum_etl;
mod etherscan;
mod etherscan_api;
mod geckoterminal;
mod ohlcv;
mod own;
mod token_list;

use super::{
    look::Looked,
    tokens::{Found, Said, Tokens},
};
use crate::dataset::{
    address::Address,
    chain::Chain,
    manifest::{ColumnManifest, TableManifest},
    source::RowSource,
};

/// A format that is known.
#[derive(Debug, Clone, Copy)]
pub struct FormatRow {
    /// What it is called in a few letters.
    pub word: &'static str,
    pub title: &'static str,
    /// By what it is known.
    pub looks: &'static str,
    /// The tables it goes to.
    pub tables: &'static [&'static str],
    knows: fn(&Looked) -> bool,
    open: fn(&Asked<'_>) -> Result<Plan, String>,
}

/// A file that is to be taken, and what there is to know about it.
pub(super) struct Asked<'a> {
    pub looked: &'a Looked,
    pub tokens: &'a Tokens,
    pub said: Said<'a>,
    /// The label of labelled addresses, where the person says it.
    pub label: Option<&'a str>,
}

/// How a file is taken.
pub(super) struct Plan {
    pub takes: Vec<Take>,
    /// The token it is about, if it is about one.
    pub token: Option<Found>,
    /// The chain of that token, where the file says it.
    pub chain: Option<Chain>,
    /// What the person should know.
    pub says: Vec<String>,
}

/// Rows for one table.
pub(super) struct Take {
    pub table: &'static str,
    pub manifest: TableManifest,
    pub rows: Box<dyn RowSource>,
    /// What rows that `manifest` keeps out are.
    pub left_out: &'static str,
}

macro_rules! formats {
    ($($word:literal $title:literal $looks:literal [$($table:literal)+] $knows:path, $open:path;)*) => {
        /// The formats, in the order they are tried.
        pub const FORMATS: &[FormatRow] = &[$(FormatRow {
            word: $word, title: $title, looks: $looks, tables: &[$($table),+], knows: $knows, open: $open,
        }),*];
    };
}

formats! {
    "etherscan-holders" "Etherscan token-holder export" "CSV: HolderAddress, Balance, PendingBalanceUpdate" ["holders"]
        etherscan::is_holders, etherscan::holders;
    "etherscan-tokens" "Etherscan label dump of tokens" "CSV: Contract Address, Token Name, Market Cap, Holders" ["tokens"]
        etherscan::is_tokens, etherscan::tokens;
    "etherscan-accounts" "Etherscan label dump of accounts" "CSV: Address, Name Tag" ["labels"]
        etherscan::is_accounts, etherscan::accounts;
    "etherscan-chart" "Etherscan chart of gas or ether prices" "CSV: Date(UTC), UnixTimeStamp, Value" ["gas"]
        etherscan::is_chart, etherscan::chart;
    "etherscan-txlist" "Etherscan API account/txlist" "JSON: result of objects with hash, input, isError" ["transfers"]
        etherscan_api::is_txlist, etherscan_api::txlist;
    "etherscan-tokentx" "Etherscan API account/tokentx" "JSON: result of objects with hash, contractAddress, tokenSymbol, tokenDecimal" ["tokens" "transfers"]
        etherscan_api::is_tokentx, etherscan_api::tokentx;
    "etherscan-refusal" "Etherscan API refusal" "JSON: status, message and a text as result" ["transfers"]
        etherscan_api::is_refusal, etherscan_api::refusal;
    "coinmetrics" "CoinMetrics community CSV" "CSV: time and metrics such as AdrBalCnt, PriceUSD" ["holder_counts" "candles"]
        coinmetrics::is, coinmetrics::open;
    "cryptodatadownload" "CryptoDataDownload OHLCV" "CSV: its address on line 1, then unix, date, symbol, open, …" ["candles"]
        cryptodatadownload::is, cryptodatadownload::open;
    "binance-klines" "Binance klines" "CSV without header (or open_time … close_time), 12 columns; JSON lists of 12" ["candles"]
        binance::is_klines, binance::klines;
    "python-binance" "python-binance dump" "CSV: date, open, high, low, close, volume, ticker" ["candles"]
        binance::is_dump, binance::dump;
    "bybit" "Bybit klines" "CSV: timestamp, open, high, low, close, volume, turnover" ["candles"]
        ohlcv::is_bybit, ohlcv::open;
    "coingecko-market-chart" "CoinGecko market_chart" "JSON: prices, lists of two" ["candles"]
        coingecko::is_market_chart, coingecko::market_chart;
    "coingecko-ohlc" "CoinGecko ohlc" "JSON: lists of five" ["candles"]
        coingecko::is_ohlc, coingecko::ohlc;
    "geckoterminal" "GeckoTerminal OHLCV" "JSON: data.attributes.ohlcv_list" ["candles"]
        geckoterminal::is, geckoterminal::open;
    "defillama-pools" "DefiLlama yield pools" "JSON: data of objects with pool, project, tvlUsd" ["yields"]
        defillama::is, defillama::open;
    "ethereum-etl-transfers" "blockchain-etl token_transfers" "CSV: token_address, from_address, to_address, value, transaction_hash, log_index, block_number" ["transfers"]
        ethereum_etl::is_transfers, ethereum_etl::transfers;
    "ethereum-etl-tokens" "blockchain-etl tokens" "CSV: address, symbol, name, decimals, total_supply" ["tokens"]
        ethereum_etl::is_tokens, ethereum_etl::tokens;
    "ethereum-etl-contracts" "blockchain-etl contracts" "CSV: address, bytecode, is_erc20" ["contracts" "tokens"]
        ethereum_etl::is_contracts, ethereum_etl::contracts;
    "cryptocompare" "CryptoCompare OHLCV" "Parquet: UNIT, TIMESTAMP, INSTRUMENT, OPEN, HIGH, LOW, CLOSE" ["candles"]
        ohlcv::is_cryptocompare, ohlcv::cryptocompare;
    "freqtrade-json" "freqtrade or ccxt candles" "JSON: lists of six" ["candles"]
        ohlcv::is_lists, ohlcv::lists;
    "freqtrade-feather" "freqtrade candles" "Feather: date, open, high, low, close, volume" ["candles"]
        ohlcv::is_feather, ohlcv::open;
    "token-list" "Uniswap token list" "JSON: tokens of objects with chainId, address, symbol, decimals" ["tokens"]
        token_list::is, token_list::open;
    "own" "a table in our own columns" "any format: the columns of one of our tables (`tokendeck schema`)" ["tokens" "kols" "posts" "candles" "holders"
        "holder_counts" "transfers" "contracts" "scams" "labels" "dexes" "fee_tiers" "pools" "pool_events" "locks" "funding" "yields" "gas"]
        own::is, own::open;
    "dune-balances" "Dune export of balances" "CSV: an address (a link too) and a balance" ["holders"]
        balances::is, balances::open;
    "ohlcv" "candles of any other source" "a time, open, high, low, close" ["candles"]
        ohlcv::is, ohlcv::open;
}

impl FormatRow {
    /// The format of what was looked at.
    pub(super) fn of(looked: &Looked) -> Option<&'static Self> {
        FORMATS.iter().find(|format| (format.knows)(looked))
    }

    pub(super) fn plan(&self, asked: &Asked<'_>) -> Result<Plan, String> {
        (self.open)(asked)
    }
}

/// The formats as a Markdown table.
pub fn formats_table() -> String {
    let row = |format: &FormatRow| {
        let tables = if format.tables.len() > 3 { "any".to_owned() } else { format.tables.join(", ") };
        format!("| {} | {} | {tables} |\n", format.title, format.looks)
    };
    format!("| format | known by | goes to |\n|---|---|---|\n{}", FORMATS.iter().map(row).collect::<String>())
}

/// Why a file of no known format is refused.
pub(super) fn unknown(looked: &Looked) -> String {
    let words: Vec<&str> = FORMATS.iter().map(|format| format.word).collect();
    format!(
        "is of no format known: it holds {}. Known are {} (`tokendeck import --formats` says how each looks); or give its columns the names \
         of ours (`tokendeck schema`)",
        looked.seen(),
        words.join(", ")
    )
}

impl Asked<'_> {
    /// The token of a file that is about one.
    fn token(&self, content: Option<&str>) -> Result<Found, String> {
        self.tokens.find(&self.looked.name, content, self.said)
    }

    /// The token of a file of prices.
    fn traded(&self, content: Option<&str>) -> Result<Found, String> {
        self.tokens.find_traded(&self.looked.name, content, self.said)
    }
}

impl Plan {
    fn of(takes: Vec<Take>) -> Self {
        Self { takes, token: None, chain: None, says: Vec::new() }
    }

    fn about(mut self, token: Found) -> Self {
        self.says.insert(
            0,
            format!(
                "token {}{}, {}",
                token.address,
                token.symbol.as_ref().map_or_else(String::new, |symbol| format!(" ({symbol})")),
                token.says
            ),
        );
        if token.pack > 1.0 {
            self.says.push(format!("its prices are for {} of the token: divided by it, and volumes multiplied", token.pack));
        }
        self.token = Some(token);
        self
    }

    fn saying(mut self, says: impl Into<String>) -> Self {
        self.says.push(says.into());
        self
    }
}

impl Take {
    fn into(table: &'static str, rows: Box<dyn RowSource>) -> Self {
        Self { table, manifest: TableManifest::default(), rows, left_out: "" }
    }

    /// Columns of ours and the columns of theirs that serve them.
    fn columns(mut self, columns: &[(&'static str, &str)]) -> Self {
        for (ours, theirs) in columns {
            self.rule(ours).from = Some((*theirs).to_owned());
        }
        self
    }

    fn set(mut self, column: &'static str, value: &(impl ToString + ?Sized)) -> Self {
        self.manifest.set.insert(column, value.to_string());
        self
    }

    fn rule(&mut self, column: &'static str) -> &mut ColumnManifest {
        self.manifest.columns.entry(column).or_default()
    }

    /// Keeps the rows whose column has one of the values; those left out are what `left_out` says.
    fn keep(mut self, column: &str, values: &[&str], left_out: &'static str) -> Self {
        self.manifest.keep.push((column.to_owned(), values.iter().map(|&value| value.to_owned()).collect()));
        self.left_out = left_out;
        self
    }

    /// The token of every row, and its prices of one.
    fn of(mut self, token: &Found) -> Self {
        if token.pack > 1.0 {
            for column in ["open", "high", "low", "close"] {
                self.rule(column).scale = Some(1.0 / token.pack);
            }
            self.rule("volume").scale = Some(token.pack);
        }
        self.of_address(token.address)
    }

    fn of_address(self, token: Address) -> Self {
        self.set("token_address", &token)
    }
}

/// Whether all those names are in the header.
fn has(header: &[String], names: &[&str]) -> bool {
    names.iter().all(|name| header.iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::schema;

    #[test]
    fn every_format_goes_to_tables_there_are_and_has_a_word_of_its_own() {
        for (i, format) in FORMATS.iter().enumerate() {
            assert!(format.tables.iter().all(|table| schema::table(table).is_some()), "{}", format.word);
            assert!(FORMATS[..i].iter().all(|other| other.word != format.word), "{}", format.word);
        }
    }
}
