//! THE table of file formats: id, title, recognition, target tables. Detection, help, errors and documents all read it; the reader of each
//! format is in a file of its own.

mod coingecko;
mod coinmetrics;
mod contracts;
mod counts;
mod defillama;
mod etherscan;
mod etherscan_api;
mod geckoterminal;
mod holders;
mod labels;
mod logs;
pub(super) mod mapped;
mod marks;
mod own;
mod pools;
mod posts;
mod supply;
mod tokens;
mod transfers;
mod unknown;
mod yields;

use std::collections::HashMap;

pub(super) use self::unknown::unknown;
use super::{
    ImportOptions, candles,
    names::{DECIMALS, Names, TOKEN},
    refusal::{ADDRESS, Refusal, VALUE},
    report::few,
    sheet::{Sheet, json::LIST},
    sniff::Sniffed,
    tokens::{KnownTokens, TokenHints, TokenMatch},
};
use model::{
    address::Address,
    chain::Chain,
    schema::{self, TableSchema},
};
use store::{
    load::bind::bind,
    manifest::{ColumnManifest, TableManifest},
    source::RowSource,
};

/// A known file format.
#[derive(Debug, Clone, Copy)]
pub struct FormatRow {
    /// Short id.
    pub word: &'static str,
    pub title: &'static str,
    /// How to recognise it, for the user.
    pub looks: &'static str,
    /// The tables it fills.
    pub tables: &'static [&'static str],
    knows: fn(&Sniffed) -> bool,
    open: fn(&FileToImport<'_>) -> Result<ImportPlan, Refusal>,
}

/// A file to import, with its context.
pub(super) struct FileToImport<'a> {
    pub sniffed: &'a Sniffed,
    pub tokens: &'a KnownTokens,
    pub hints: TokenHints<'a>,
    pub options: &'a ImportOptions,
    /// Decimals of the dataset's tokens.
    pub decimals: &'a HashMap<Address, Option<i64>>,
}

/// How to import a file.
#[derive(Default)]
pub(super) struct ImportPlan {
    pub takes: Vec<Take>,
    /// The token it is about, if it is about a single one.
    pub token: Option<TokenMatch>,
    /// That token's chain, if the file names it.
    pub chain: Option<Chain>,
    /// Decimals of tokens stated in the file.
    pub decimals: Vec<(Address, i64)>,
    /// Messages for the user.
    pub says: Vec<String>,
    /// Assumptions where the file is silent: reported now and by every load.
    pub notes: Vec<String>,
}

/// Stands in for a column name where the file has no such column.
pub(super) const NO_COLUMN: &str = " none";

/// Rows for one table.
pub(super) struct Take {
    pub table: &'static str,
    pub manifest: TableManifest,
    pub rows: Box<dyn RowSource>,
    /// Describes the rows that the filter of `manifest` drops.
    pub left_out: &'static str,
    /// Columns of the file from which a schema column is computed.
    pub worked_out: Vec<String>,
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
        holders::is_etherscan, holders::open;
    "etherscan-tokens" "Etherscan label dump of tokens" "CSV: Contract Address, Token Name, Market Cap, Holders" ["tokens"]
        etherscan::is_tokens, etherscan::tokens;
    "etherscan-accounts" "Etherscan label dump of accounts" "CSV: Address, Name Tag" ["labels"]
        etherscan::is_accounts, labels::open;
    "etherscan-chart" "Etherscan chart of gas or ether prices" "CSV: Date(UTC), UnixTimeStamp, Value" ["gas"]
        etherscan::is_chart, etherscan::chart;
    "etherscan-txlist" "Etherscan API account/txlist" "JSON: result of objects with hash, input, isError" ["transfers"]
        etherscan_api::is_txlist, etherscan_api::txlist;
    "etherscan-tokentx" "Etherscan API account/tokentx" "JSON: result of objects with hash, contractAddress, tokenSymbol, tokenDecimal" ["tokens" "transfers"]
        transfers::is_tokentx, transfers::open;
    "etherscan-refusal" "Etherscan API refusal" "JSON: status, message and a text as result" ["transfers"]
        etherscan_api::is_refusal, etherscan_api::refusal;
    "event-logs" "event logs of token transfers" "topics and data of Transfer: eth_getLogs, Etherscan, Dune, cryo, blockchain-etl" ["transfers"]
        logs::is, logs::open;
    "coinmetrics" "CoinMetrics community CSV" "CSV: time and metrics such as AdrBalCnt, PriceUSD" ["holder_counts" "candles"]
        coinmetrics::is, coinmetrics::open;
    "coingecko-market-chart" "CoinGecko market_chart" "JSON: prices, lists of two; CSV: snapped_at, price, market_cap, total_volume" ["candles"]
        coingecko::is_market_chart, coingecko::market_chart;
    "coingecko-ohlc" "CoinGecko ohlc" "JSON: lists of five" ["candles"]
        coingecko::is_ohlc, coingecko::ohlc;
    "geckoterminal" "GeckoTerminal OHLCV" "JSON: data.attributes.ohlcv_list" ["candles"]
        geckoterminal::is, geckoterminal::open;
    "cryptodatadownload" "CryptoDataDownload OHLCV" "CSV: its address on line 1, then unix, date, symbol, open, …" ["candles"]
        marks::is_cryptodatadownload, candles::open;
    "binance-klines" "Binance klines" "CSV without header (or open_time … close_time), 12 columns; JSON lists of 12" ["candles"]
        marks::is_klines, candles::open;
    "python-binance" "python-binance dump" "CSV: date, open, high, low, close, volume, ticker" ["candles"]
        marks::is_dump, candles::open;
    "kraken" "Kraken OHLC and OHLCVT" "JSON: result of a pair's lists of eight; CSV without header, 7 columns" ["candles"]
        marks::is_kraken, candles::open;
    "bybit" "Bybit klines" "CSV: timestamp, open, high, low, close, volume, turnover; JSON: result.list" ["candles"]
        marks::is_bybit, candles::open;
    "okx" "OKX candles" "JSON: data, lists of nine" ["candles"]
        marks::is_okx, candles::open;
    "yahoo" "Yahoo Finance" "CSV: Date, Open, High, Low, Close, Adj Close, Volume (in USD)" ["candles"]
        marks::is_yahoo, candles::open;
    "coinmarketcap" "CoinMarketCap historical prices" "Date, Open, High, Low, Close, Volume, Market Cap (in USD)" ["candles"]
        marks::is_coinmarketcap, candles::open;
    "cryptocompare" "CryptoCompare OHLCV" "Parquet: UNIT, TIMESTAMP, INSTRUMENT, OPEN, HIGH, LOW, CLOSE; JSON: volumefrom, volumeto" ["candles"]
        marks::is_cryptocompare, candles::open;
    "freqtrade-json" "freqtrade or ccxt candles" "JSON: lists of six" ["candles"]
        marks::is_lists, candles::open;
    "freqtrade-feather" "freqtrade candles" "Feather: date, open, high, low, close, volume" ["candles"]
        marks::is_feather, candles::open;
    "defillama-pools" "DefiLlama yield pools" "JSON: data of objects with pool, project, tvlUsd" ["yields"]
        defillama::is, defillama::open;
    "contract-build" "build file of Truffle, Hardhat, Foundry or Brownie" "JSON: abi, bytecode, deployedBytecode" ["contracts"]
        contracts::is_build, contracts::build;
    "ethereum-etl-transfers" "blockchain-etl token_transfers" "CSV: token_address, from_address, to_address, value, transaction_hash, log_index, block_number" ["transfers"]
        transfers::is_etl, transfers::open;
    "ethereum-etl-tokens" "blockchain-etl tokens" "CSV: address, symbol, name, decimals, total_supply" ["tokens"]
        tokens::is_etl, tokens::etl;
    "ethereum-etl-contracts" "blockchain-etl contracts" "CSV: address, bytecode, is_erc20" ["contracts" "tokens"]
        contracts::is_etl, contracts::etl;
    "token-list" "token list (tokenlists.org)" "JSON: tokens of objects with chainId, address, symbol, decimals" ["tokens"]
        tokens::is_list, tokens::list;
    "own" "a table in our own columns" "any format: the columns of one of our tables (`tokendeck schema`)" ["tokens" "kols" "posts" "candles" "holders"
        "holder_counts" "transfers" "contracts" "scams" "labels" "dexes" "fee_tiers" "pools" "pool_events" "locks" "funding" "yields" "gas"]
        own::is, own::open;
    "pools" "liquidity pools of any source" "a pool, its two tokens, its DEX and chain: DexScreener, GeckoTerminal, The Graph" ["pools" "tokens"]
        pools::is, pools::open;
    "transfers" "token transfers of any source" "a transaction's hash, from, to and an amount" ["transfers"]
        transfers::is, transfers::open;
    "ohlcv" "candles of any other source" "a time and four prices, in any order that the rows fit" ["candles"]
        candles::is_named, candles::open;
    "holders" "holders of a token of any source" "an address (a link too) and a balance" ["holders"]
        holders::is, holders::open;
    "holder-counts" "numbers of holders of any source" "a day and a number of holders" ["holder_counts"]
        counts::is, counts::open;
    "tokens" "tokens of any source" "an address, a symbol, a name or decimals, and a chain" ["tokens"]
        tokens::is, tokens::open;
    "contracts" "contract code of any source" "an address and bytecode" ["contracts"]
        contracts::is, contracts::open;
    "labels" "labels of any source" "an address and a label" ["labels"]
        labels::is, labels::open;
    "lists" "candles without names" "a time and four prices that fit one order in every row" ["candles"]
        candles::is, candles::open;
}

impl FormatRow {
    /// The first format that recognises the file.
    pub(super) fn of(sniffed: &Sniffed) -> Option<&'static Self> {
        FORMATS.iter().find(|format| (format.knows)(sniffed))
    }

    /// The format of files mapped by the user.
    pub(super) fn own() -> &'static Self {
        FORMATS.iter().find(|format| format.word == "own").unwrap_or(&FORMATS[0])
    }

    pub(super) fn plan(&self, file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
        (self.open)(file)
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

impl<'a> FileToImport<'a> {
    /// The file as a table.
    pub(super) fn sheet(&self) -> Result<&'a Sheet, String> {
        self.sniffed.sheet.as_ref().ok_or_else(|| "holds no table".to_owned())
    }

    /// The chain of rows that name none: the option's, else Ethereum.
    pub(super) fn chain(&self) -> Chain {
        self.hints.chain.clone()
    }

    /// The decimals of a token: the option's, else the dataset's.
    pub(super) fn decimals_of(&self, token: &Address) -> Option<i64> {
        self.options.decimals.map(i64::from).or_else(|| self.decimals.get(token).copied().flatten())
    }

    /// The file's column that `--map` assigns to a schema column.
    pub(super) fn mapped(&self, ours: &str) -> Option<usize> {
        let (_, theirs) = self.options.map.iter().find(|(known, _)| known == ours)?;
        self.sniffed.sheet.as_ref()?.names.iter().position(|name| name.eq_ignore_ascii_case(theirs))
    }

    /// The constant that `--set` assigns to a schema column.
    fn set(&self, ours: &str) -> Option<&'a str> {
        self.options.set.iter().find(|(known, _)| known == ours).map(|(_, value)| value.as_str())
    }

    /// The token of a file about a single token.
    pub(super) fn token(&self, content: Option<&str>) -> Result<TokenMatch, Refusal> {
        self.tokens.find(&self.sniffed.name, content, self.hints)
    }

    /// Assigns a contract's token to holders or transfers: by a column, by an address beside the table, else by the file's name or the
    /// symbol in it. Also returns the token's address, of a column that in its first row.
    fn of_contract(&self, take: Take, column: Option<usize>, symbol: Option<&str>) -> Result<(ImportPlan, Take, Option<Address>), Refusal> {
        let sheet = self.sheet()?;
        if let Some(at) = column {
            let first = sheet.column(at).find_map(|cell| Address::parse(cell.trim()));
            return Ok((ImportPlan::default(), take.columns(&[("token_address", &sheet.names[at])]), first));
        }
        let beside = sheet.beside(TOKEN).and_then(Address::parse);
        if let Some(address) = beside.filter(|address| self.hints.token.is_none_or(|said| said == *address)) {
            let plan = ImportPlan::default().saying(format!("token {address}, from the file"));
            return Ok((plan, take.of_address(address), Some(address)));
        }
        if let Some(coin) = self.hints.coin {
            let reason = format!("cannot be of the coin {coin}: holders and transfers are a contract's, so say which with --token ADDRESS");
            return Err(Refusal::new(reason).say("token", ADDRESS));
        }
        let token = self.tokens.find(&self.sniffed.name, symbol, TokenHints { contract: true, ..self.hints })?;
        let take = take.of_address(token.address);
        let address = Some(token.address);
        Ok((ImportPlan::default().about(token), take, address))
    }

    /// The token of a file of prices.
    pub(super) fn traded(&self, content: Option<&str>) -> Result<TokenMatch, Refusal> {
        self.tokens.find_traded(&self.sniffed.name, content, self.hints)
    }
}

impl ImportPlan {
    pub(super) fn of(takes: Vec<Take>) -> Self {
        Self { takes, ..Self::default() }
    }

    pub(super) fn about(mut self, token: TokenMatch) -> Self {
        self.says.insert(0, format!("token {}, {}", token.told(), token.says));
        if token.multiplier > 1.0 {
            self.says.push(format!("its prices are for {} of the token: divided by it, and volumes multiplied", token.multiplier));
        }
        self.token = Some(token);
        self
    }

    pub(super) fn saying(mut self, says: impl Into<String>) -> Self {
        self.says.push(says.into());
        self
    }

    pub(super) fn noting(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    pub(super) fn saying_all(mut self, says: impl IntoIterator<Item = String>) -> Self {
        self.says.extend(says);
        self
    }

    /// Applies the user's `--set`, `--map` and `--pick`, which override the detected columns. Candles have applied `--map` and `--pick`
    /// already, as theirs are checked against the rows.
    pub(super) fn with_options(mut self, file: &FileToImport<'_>) -> Result<Self, Refusal> {
        let options = file.options;
        if self.takes.iter().any(|take| take.table != "candles") {
            one_list(file)?;
        }
        for take in &mut self.takes {
            let column = |ours: &str| schema::table(take.table).and_then(|schema| schema.column(ours)).map(|column| column.name);
            let set: Vec<(&'static str, &String)> = options.set.iter().filter_map(|(ours, value)| Some((column(ours)?, value))).collect();
            let map: Vec<(&'static str, &String)> = options.map.iter().filter_map(|(ours, theirs)| Some((column(ours)?, theirs))).collect();
            for (ours, value) in set {
                take.manifest.columns.remove(ours);
                take.manifest.set.insert(ours, value.clone());
            }
            if take.table == "candles" {
                continue;
            }
            for (ours, theirs) in map {
                take.manifest.set.remove(ours);
                take.rule(ours).from = Some(theirs.clone());
            }
            for (name, value) in &options.pick {
                take.manifest.filters.push((name.clone(), std::iter::once(value.clone()).collect()));
                take.left_out = "are not picked";
            }
        }
        Ok(self)
    }
}

/// Refuses several lists of the same shape if none is picked: `removed` beside `tokens` does not belong together. Candles split such lists
/// into series.
fn one_list(file: &FileToImport<'_>) -> Result<(), Refusal> {
    let lists = file.sniffed.sheet.as_ref().map_or(&[][..], Sheet::lists);
    let picked = file.options.pick.iter().any(|(name, _)| name == LIST);
    if picked || lists.len() < 2 {
        return Ok(());
    }
    let shown = few(lists.iter().map(|list| format!("`{list}`")), 6);
    let reason = format!("holds several lists of the same shape: {shown}; say which to take, as in `--pick {LIST}={}`", lists[0]);
    Err(Refusal::new(reason).say("pick", format!("{LIST}={VALUE}")))
}

impl Take {
    pub(super) fn into(table: &'static str, rows: Box<dyn RowSource>) -> Self {
        Self { table, manifest: TableManifest::default(), rows, left_out: "", worked_out: Vec::new() }
    }

    /// Maps columns of the file to schema columns.
    pub(super) fn columns(mut self, columns: &[(&'static str, &str)]) -> Self {
        for (ours, theirs) in columns {
            if *theirs == NO_COLUMN {
                self = self.without(ours);
            } else {
                self.rule(ours).from = Some((*theirs).to_owned());
            }
        }
        self
    }

    /// Leaves a schema column empty, even if the file has a column of its name.
    pub(super) fn without(self, column: &'static str) -> Self {
        self.set(column, "")
    }

    pub(super) fn set(mut self, column: &'static str, value: &(impl ToString + ?Sized)) -> Self {
        self.manifest.set.insert(column, value.to_string());
        self
    }

    pub(super) fn rule(&mut self, column: &'static str) -> &mut ColumnManifest {
        self.manifest.columns.entry(column).or_default()
    }

    /// Keeps the rows whose column has one of the values; `left_out` describes the others.
    pub(super) fn keep(mut self, column: &str, values: &[&str], left_out: &'static str) -> Self {
        self.manifest.filters.push((column.to_owned(), values.iter().map(|&value| value.to_owned()).collect()));
        self.left_out = left_out;
        self
    }

    /// The schema columns that a file column or a constant fills.
    fn served(&self, sheet: &Sheet, schema: &'static TableSchema) -> Result<Vec<&'static str>, String> {
        let bound = bind(schema, &self.manifest, &sheet.names)?;
        Ok(bound.iter().filter(|bound| !bound.is_absent()).map(|bound| bound.column.name).collect())
    }

    /// Assigns the token to all rows; prices per thousand tokens become prices per token.
    pub(super) fn of(mut self, token: &TokenMatch) -> Self {
        if token.multiplier > 1.0 {
            for column in ["open", "high", "low", "close"] {
                self.rule(column).scale = Some(1.0 / token.multiplier);
            }
            let scale = self.manifest.columns.get("volume").and_then(|rule| rule.scale).unwrap_or(1.0);
            self.rule("volume").scale = Some(scale * token.multiplier);
        }
        self.of_address(token.address)
    }

    fn of_address(self, token: Address) -> Self {
        self.set("token_address", &token)
    }
}

/// Token decimals stated in the rows: in a column beside that of tokens, or beside the only token.
fn decimals_in(sheet: &Sheet, token: Option<usize>, one: Option<Address>) -> Vec<(Address, i64)> {
    let Some(at) = Names::of(&sheet.names).find(DECIMALS) else { return Vec::new() };
    let number = |cell: &str| match cell.trim().strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => cell.trim().trim_end_matches(".0").parse().ok(),
    };
    let of = |row: &Vec<String>| {
        let token = token.map_or(one, |token| Address::parse(row[token].trim()))?;
        Some((token, number(&row[at]).filter(|decimals| (0..=77).contains(decimals))?))
    };
    sheet.first.iter().filter_map(of).collect()
}

/// Whether the header has all these names.
fn has(header: &[String], names: &[&str]) -> bool {
    names.iter().all(|name| header.iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_goes_to_tables_there_are_and_has_a_word_of_its_own() {
        for (i, format) in FORMATS.iter().enumerate() {
            assert!(format.tables.iter().all(|table| schema::table(table).is_some()), "{}", format.word);
            assert!(FORMATS[..i].iter().all(|other| other.word != format.word), "{}", format.word);
        }
    }
}
