//! The list of all tables and columns: name, type, unit, meaning, whether required. Every user of a column (loader, `check`, `schema`, Data
//! view, demo data, documents) reads it from here. No loading code.

/// A table of a dataset.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own: they hold in any combination"
)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableSchema {
    pub name: &'static str,
    pub meaning: &'static str,
    pub columns: &'static [Column],
    /// Key columns. If two rows share a key, the last one wins (in `yields`, the first usable one). Empty: rows have no key.
    pub key: &'static [&'static str],
    /// Sort order of stored rows: column names, `-` first for descending. Nulls come last.
    pub order: &'static [&'static str],
    /// Rows without a value in this column have no key.
    pub keyless_without: Option<&'static str>,
    /// Of rows with the same key, the first usable one wins instead of the last: lists of pools repeat a pool with worse values.
    pub first_usable: bool,
    pub known: Known,
    pub newer: Newer,
    pub grows: Grows,
    /// Whether a table of many rows is read from a mapped file instead of memory.
    pub mapped: bool,
    /// The schema's name of a column takes precedence over its aliases: a lake's `address` beside `token_address` is another thing. In
    /// other tables the two would be ambiguous.
    pub ours_first: bool,
    /// Whether the rows may remain on a database server and be queried there.
    pub in_place: bool,
    /// Whether the rows of several live providers are put together: each service knows other posts and people.
    pub together: bool,
    pub from_node: Option<FromNode>,
}

/// What of a node gives the rows of a table whose `source` is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromNode {
    State,
    Logs,
}

/// When the rows of a table were true, for a dataset as of an earlier time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Each row has a time.
    Dated(RowTime),
    /// Groups of columns have a time, in the column named first; rows that lack it have current values.
    Figures(&'static [(&'static str, &'static [&'static str])]),
    /// Rows say nothing about the state of a market at some time.
    Always,
    /// Rows are current values without a time.
    Unknown,
}

/// What says when a row was true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowTime {
    /// The time is in this column. Where some rows have a time, a row without one is removed.
    At(&'static str),
    /// The time is in this column. A row without one always counts.
    Since(&'static str),
    /// The day is in this column. The row is known once the day is over.
    Day(&'static str),
    /// The start of a candle; the candle is known once it has ended.
    Candle,
}

impl RowTime {
    /// The column with the time or the day.
    pub fn column(self) -> &'static str {
        match self {
            Self::At(column) | Self::Since(column) | Self::Day(column) => column,
            Self::Candle => "timestamp",
        }
    }
}

/// What a newer fetched row does to an older one with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newer {
    /// It replaces the whole row: rows are measurements.
    Replaces,
    /// It replaces the cells that it has a value for: rows are facts.
    Fills,
}

/// How the stored rows of a live table grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grows {
    /// Rows have a time, and newer ones are added in parts.
    ByParts,
    /// Newer rows replace the state; what changed is kept in a history.
    BySnapshots {
        /// Every row is kept once per day, changed or not: some values are computed from the days on which a row was seen.
        daily: bool,
    },
}

impl TableSchema {
    /// The facts of most tables; the list of tables names what differs.
    pub const PLAIN: Self = Self {
        name: "",
        meaning: "",
        columns: &[],
        key: &[],
        order: &[],
        keyless_without: None,
        first_usable: false,
        known: Known::Unknown,
        newer: Newer::Fills,
        grows: Grows::BySnapshots { daily: false },
        mapped: false,
        ours_first: false,
        in_place: false,
        together: false,
        from_node: None,
    };
}

/// A column of a table. Its name is the Rust field, the JSON key and the table header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
    pub meaning: &'static str,
    /// Column names of common sources, read as this column.
    pub aliases: &'static [&'static str],
    /// Most files lack it. While all its cells are null, nothing of it is written: its region of a mapped file stays a hole.
    pub sparse: bool,
    /// Its numbers are fractions of one.
    pub fraction: bool,
}

impl Column {
    /// An optional column without aliases.
    pub const fn of_kind(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self {
            name,
            kind,
            need: Need::Optional,
            meaning,
            aliases: &[],
            sparse: false,
            fraction: false,
        }
    }
}

crate::words! {
    /// Semantic type of a column's cells, which determines what can be read without loss.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Kind {
        /// Any text, trimmed.
        Text = "text",
        /// 20 bytes, as `0x` and 40 hex digits.
        Address = "address",
        /// A chain's short name, alias or number.
        Chain = "chain",
        /// One or several chains.
        Chains = "chains",
        /// Several addresses.
        Addresses = "addresses",
        /// A whole number (fits an i64).
        Integer = "integer",
        /// A finite number.
        Float = "float",
        /// A whole number up to 2^256 − 1, stored as decimal text.
        Uint256 = "uint256",
        /// A UTC time, to the millisecond.
        Time = "time",
        /// A UTC day.
        Date = "date",
        /// Bytes as hex, with or without `0x`.
        Hex = "hex",
        /// true or false.
        Boolean = "boolean",
    }
}

impl Kind {
    /// The expectation that a finding states.
    pub fn expectation(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Address => "an address: 0x and 40 hex digits",
            Self::Chain => "a chain: short name, alias or EIP-155 number",
            Self::Chains => "one or several chains",
            Self::Addresses => "a list of addresses",
            Self::Integer => "a whole number",
            Self::Float => "a number",
            Self::Uint256 => "a whole number from 0 to 2^256-1",
            Self::Time => "a time: ISO 8601 or epoch",
            Self::Date => "a date: ISO 8601, YYYYMMDD or epoch",
            Self::Hex => "bytes in hex",
            Self::Boolean => "true or false",
        }
    }
}

/// Consequence of a missing column or cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The column must exist and every cell must have a value: a null or bad one rejects the row.
    Cell,
    /// The column must exist; a bad cell becomes null.
    Column,
    /// The column may be missing; a bad cell becomes null.
    Optional,
}

impl TableSchema {
    /// Everything that decides how cells are read and rows are sorted, as one text, for comparing schemas. Caches are keyed by it: facts
    /// that change neither cells nor order do not belong here.
    pub fn text(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                format!(
                    "{} {:?} {:?} {:?}",
                    column.name, column.kind, column.need, column.aliases
                )
            })
            .collect();
        format!(
            "{} {:?} {:?} {}",
            self.name,
            self.key,
            self.order,
            columns.join(";")
        )
    }

    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The columns to sort by, each with whether it descends: the given ones, then those of the table's own order, then those of its key.
    pub fn ordered_by(&self, sort: &[(&'static str, bool)]) -> Vec<(&'static str, bool)> {
        let own = self.order.iter().map(|name| {
            name.strip_prefix('-')
                .map_or((*name, false), |name| (name, true))
        });
        let mut all = sort.to_vec();
        for column in own.chain(self.key.iter().map(|name| (*name, false))) {
            if !all.iter().any(|(name, _)| *name == column.0) {
                all.push(column);
            }
        }
        all
    }

    pub fn required(&self) -> impl Iterator<Item = &'static Column> {
        self.columns
            .iter()
            .filter(|column| column.need != Need::Optional)
    }
}

/// Returns the schema of the table `name`.
pub fn table(name: &str) -> Option<&'static TableSchema> {
    TABLES.iter().find(|table| table.name == name)
}

/// Tables with their key, their order and the facts that differ from most tables; below each its columns, marked where they differ.
macro_rules! tables {
    ($($table:literal $about:literal key [$($key:literal),*] order [$($order:literal),*] $(with { $($fact:ident: $value:expr),* })? {
        $($name:literal $kind:ident $need:ident $meaning:literal $([$($alias:literal),*])? $($mark:ident)*;)*
    })*) => {
        &[$(TableSchema {
            name: $table,
            meaning: $about,
            columns: &[$(Column {
                need: Need::$need,
                aliases: &[$($($alias),*)?],
                $($mark: true,)*
                ..Column::of_kind($name, Kind::$kind, $meaning)
            }),*],
            key: &[$($key),*],
            order: &[$($order),*],
            $($($fact: $value,)*)?
            ..TableSchema::PLAIN
        }),*]
    };
}

pub const TABLES: &[TableSchema] = tables! {
    "tokens" "tokens, one row per token and chain" key ["chain", "token_address"] order ["token_address", "chain"] with {
        known: Known::Figures(&[
            ("price_as_of", &["price"]),
            (
                "stats_as_of",
                &[
                    "market_cap", "total_supply", "holders", "followers", "smart_followers", "impressions", "smart_reach",
                    "post_engagement", "smart_engagement"
                ],
            ),
        ])
    } {
        "token_address" Address Cell "contract address of the token";
        "symbol" Text Column "ticker";
        "name" Text Column "full name";
        "chain" Chains Cell "chain or chains of the token" ["chains"];
        "decimals" Integer Optional "number of decimals of the token's amounts";
        "price" Float Optional "USD per token" ["price_usd"];
        "market_cap" Float Optional "USD" ["market_cap_usd"];
        "total_supply" Float Optional "whole tokens";
        "holders" Integer Optional "number of holders";
        "price_as_of" Time Optional "date of the price";
        "stats_as_of" Time Optional "date of market cap, total supply and number of holders";
        "followers" Integer Optional "followers of the token's own accounts: per platform, those of the largest";
        "smart_followers" Integer Optional "followers of these accounts whom the rule `social.smart` counts";
        "impressions" Integer Optional "views of posts about the token, as far as platforms publish them";
        "smart_reach" Integer Optional "followers of smart authors and reposters, at most: they overlap";
        "post_engagement" Integer Optional "reactions to posts about the token";
        "smart_engagement" Integer Optional "reactions of people whom the rule `social.smart` counts";
        "listed" Boolean Optional "on a curated token list";
    }
    "kols" "key opinion leaders who post about a token" key ["token_address", "kol_address"] order ["token_address", "kol_address"] {
        "token_address" Address Cell "the token they post about";
        "kol_address" Address Cell "a wallet that the leader verified";
        "handle" Text Column "social handle";
        "followers" Integer Optional "followers of the handle";
        "engagement_rate" Float Optional "reactions per post and follower, usually 0–1" fraction;
    }
    "posts" "social posts about a token" key ["token_address", "post_id"] order ["token_address", "-published_at", "post_id"] with {
        known: Known::Dated(RowTime::At("published_at")),
        grows: Grows::ByParts,
        mapped: true,
        together: true
    } {
        "post_id" Text Cell "the post's id at its source";
        "token_address" Address Cell "the token it is about";
        "title" Text Optional "title or first line";
        "link" Text Optional "URL";
        "published_at" Time Cell "publication time";
        "author" Text Optional "author of the post";
        "platform" Text Optional "platform: reddit, x, youtube, …";
        "impressions" Integer Optional "number of views";
        "engagement" Integer Optional "reactions: likes, reposts, quotes and replies";
        "smart_engagement" Integer Optional "reactions of people whom the rule `social.smart` counts";
        "author_id" Text Optional "author's id on the platform" sparse;
        "likes" Integer Optional "number of likes" sparse;
        "reposts" Integer Optional "number of reposts and quotes" sparse;
        "replies" Integer Optional "number of replies" sparse;
        "language" Text Optional "language, as the platform states it" sparse;
        "matched_by" Text Optional "why it is about the token: contract, account, mention, channel or cashtag" sparse;
        "dropped" Text Optional "why it is not counted: bot, low_score, flood, copy or list" sparse;
        "gone_at" Time Optional "when it was found deleted" sparse;
    }
    "accounts" "a token's own social accounts"
    key ["token_address", "platform", "account"] order ["token_address", "platform", "account"] with { together: true } {
        "token_address" Address Cell "the token";
        "platform" Text Cell "platform: x, farcaster, bluesky, github, telegram, …";
        "account" Text Cell "handle, channel or repository on the platform, or its URL";
        "account_id" Text Optional "the account's id on the platform";
        "role" Text Optional "project, channel, space, repo or feed. Default: project";
        "followers" Integer Optional "followers of the account";
        "as_of" Time Optional "date of the followers";
        "source" Text Optional "source of the row";
    }
    "people" "authors, followers and reactors on social platforms"
    key ["platform", "author_id"] order ["platform", "author_id"] with { together: true } {
        "platform" Text Cell "the platform";
        "author_id" Text Cell "id on the platform";
        "handle" Text Column "handle";
        "followers" Integer Optional "number of followers";
        "following" Integer Optional "number of followed accounts";
        "wallets" Addresses Optional "wallets verified on the platform";
        "score" Float Optional "quality score, fraction 0–1" fraction;
        "scored_by" Text Optional "issuer of the score";
        "bot" Boolean Optional "the platform marks the account as a bot";
        "since" Time Optional "when the account was created";
        "as_of" Time Optional "date of the row";
    }
    "follows" "who follows the tokens' accounts"
    key ["platform", "account", "follower_id"] order ["platform", "account", "follower_id"] with { together: true } {
        "platform" Text Cell "the platform";
        "account" Text Cell "the account that is followed, as in `accounts`";
        "follower_id" Text Cell "the follower's id, as `author_id` in `people`";
        "as_of" Time Optional "date of the row";
    }
    "reactions" "reactions to posts"
    key ["platform", "post_id", "author_id", "kind"] order ["platform", "post_id", "author_id", "kind"] with { together: true } {
        "platform" Text Cell "the platform";
        "post_id" Text Cell "the post";
        "author_id" Text Cell "who reacted, as in `people`";
        "kind" Text Cell "like, repost, quote or reply";
        "at" Time Optional "time of the reaction";
    }
    "candles" "prices: open, high, low, close and volume per interval"
    key ["token_address", "interval", "timestamp"] order ["token_address", "interval", "timestamp"] with {
        known: Known::Dated(RowTime::Candle),
        newer: Newer::Replaces,
        grows: Grows::ByParts,
        mapped: true,
        in_place: true
    } {
        "token_address" Address Cell "the token";
        "timestamp" Time Cell "start of the interval";
        "open" Float Cell "first price, USD";
        "high" Float Cell "highest price, USD";
        "low" Float Cell "lowest price, USD";
        "close" Float Cell "last price, USD";
        "volume" Float Optional "whole tokens traded";
        "interval" Text Optional "length: 1m, 5m, 1h, 4h, 1d, 1w. Default: the most frequent step between the token's rows";
        "volume_usd" Float Optional "USD traded" sparse;
        "source" Text Optional "exchange and market: binance-spot:UNIUSDT, bybit-perp:UNIUSDT" sparse;
    }
    "holders" "token balances of holders"
    key ["token_address", "holder_address"] order ["token_address", "-balance", "holder_address"] with {
        newer: Newer::Replaces,
        mapped: true,
        in_place: true
    } {
        "token_address" Address Cell "the token";
        "holder_address" Address Cell "the holder's wallet";
        "balance" Float Column "whole tokens";
    }
    "holder_counts" "number of holders per day" key ["token_address", "date"] order ["token_address", "date"] with {
        known: Known::Dated(RowTime::Day("date")),
        newer: Newer::Replaces,
        grows: Grows::ByParts,
        mapped: true,
        from_node: Some(FromNode::Logs)
    } {
        "token_address" Address Cell "the token";
        "date" Date Cell "the day";
        "holders" Integer Column "number of holders";
        "whale_balance" Float Optional "whole tokens held by whales";
    }
    "transfers" "token transfers"
    key ["transaction_hash", "log_index"] order ["token_address", "timestamp", "block_number", "log_index"] with {
        keyless_without: Some("log_index"),
        known: Known::Dated(RowTime::At("timestamp")),
        newer: Newer::Replaces,
        grows: Grows::ByParts,
        mapped: true,
        ours_first: true,
        in_place: true,
        from_node: Some(FromNode::Logs)
    } {
        "token_address" Address Cell "the token" ["contract_address", "erc20"];
        "timestamp" Time Optional "block time" ["block_timestamp", "block_time", "evt_block_time"];
        "block_number" Integer Optional "the block" ["evt_block_number"];
        "transaction_hash" Hex Cell "the transaction" ["tx_hash", "evt_tx_hash"];
        "from_address" Address Column "sender";
        "to_address" Address Column "recipient";
        "value" Uint256 Column "base units" ["value_string"];
        "log_index" Integer Optional "index in the block's logs" ["evt_index"];
        "status" Integer Optional "1 succeeded, 0 failed";
    }
    "blocks" "block times, used for transfers without a time" key ["block_number"] order ["block_number"] with {
        known: Known::Dated(RowTime::At("timestamp")),
        grows: Grows::ByParts
    } {
        "block_number" Integer Cell "the block" ["number"];
        "timestamp" Time Cell "block time";
    }
    "contracts" "contract code of tokens" key ["token_address"] order ["token_address"] with {
        known: Known::Dated(RowTime::Since("created_at")),
        ours_first: true,
        from_node: Some(FromNode::State)
    } {
        "token_address" Address Cell "the contract" ["address", "contract_address"];
        "bytecode" Hex Column "runtime code";
        "creation_bytecode" Hex Optional "deployment code";
        "source" Text Optional "source code";
        "creator" Address Optional "deployer" ["deployer"];
        "created_at" Time Optional "deployment time" ["block_timestamp"];
        "is_proxy" Boolean Optional "is a proxy: forwards calls";
        "is_verified" Boolean Optional "source code is published";
        "storage" Text Optional "storage slots as a JSON object";
        "constructor_types" Text Optional "constructor argument types";
        "owner" Address Optional "owner with admin rights";
    }
    "scams" "known scam contracts" key ["address"] order ["address"] with {
        known: Known::Dated(RowTime::Since("reported_at"))
    } {
        "address" Address Cell "the contract";
        "name" Text Column "name it used";
        "scam_type" Text Column "rug pull, honeypot, …";
        "bytecode" Hex Optional "runtime code";
        "reported_at" Time Optional "time of the report";
        "source" Text Optional "reporter";
    }
    "labels" "known facts about addresses" key ["chain", "address", "label"] order ["address", "label", "chain"] with {
        known: Known::Always
    } {
        "address" Address Cell "the address";
        "label" Text Cell "burn, exchange, bridge, locker, liquidity_pool, deployer, …";
        "name" Text Optional "its name";
        "chain" Chain Optional "chain where the label applies";
        "source" Text Optional "source of the label";
    }
    "dexes" "decentralized exchanges, one row per chain" key ["chain", "dex_id"] order ["dex_id", "chain"] with {
        known: Known::Always
    } {
        "dex_id" Text Cell "slug, such as uniswap-v3";
        "name" Text Column "name";
        "chain" Chain Cell "chain of the deployment";
        "version" Text Optional "version";
        "router" Address Optional "router contract";
        "factory" Address Optional "factory contract";
        "total_value_locked" Float Optional "USD";
    }
    "fee_tiers" "fee tiers of each DEX" key ["chain", "dex_id", "tier"] order ["dex_id", "chain", "fee", "tier"] with {
        known: Known::Always
    } {
        "dex_id" Text Cell "the DEX";
        "chain" Chain Optional "chain of the tier; empty: all chains";
        "tier" Text Column "name of the tier";
        "fee" Float Column "fraction of the amount traded" fraction;
    }
    "pools" "liquidity pools" key ["chain", "address"] order ["chain", "address"] {
        "address" Address Cell "the pool's contract";
        "dex_id" Text Cell "the pool's DEX";
        "chain" Chain Cell "the pool's chain";
        "token0" Address Cell "first token";
        "token1" Address Cell "second token";
        "tokens" Addresses Optional "all tokens in the pool. Default: token0 and token1";
        "pair" Text Optional "token symbols, as in A/B or A/B/C";
        "liquidity" Float Optional "USD";
        "volume24h" Float Optional "USD traded in 24 hours";
        "fee" Float Optional "trading fee, fraction of the amount" fraction;
        "created_at" Time Optional "creation time" ["pair_created_at"];
    }
    "pool_events" "events in each pool" key [] order ["pool", "timestamp", "block_number"] with {
        known: Known::Dated(RowTime::At("timestamp")),
        mapped: true
    } {
        "pool" Address Cell "the pool";
        "timestamp" Time Cell "time of the event";
        "block_number" Integer Column "the block";
        "kind" Text Column "mint, burn, sync or swap";
        "reserve0" Uint256 Optional "first reserve after the event, base units";
        "reserve1" Uint256 Optional "second reserve after the event, base units";
        "amount" Uint256 Optional "LP tokens, base units";
        "from_address" Address Optional "sender";
        "to_address" Address Optional "recipient";
    }
    "locks" "locked balances" key [] order ["token_address", "holder_address", "unlocks_at"] {
        "token_address" Address Cell "the token";
        "holder_address" Address Cell "the locker";
        "amount" Float Column "whole tokens";
        "unlocks_at" Time Column "unlock time";
    }
    "disputes" "security findings you dispute" key ["token_address", "code"] order ["token_address", "code"] with {
        known: Known::Always
    } {
        "token_address" Address Cell "the token";
        "code" Text Cell "finding code, such as OWNER_MINT";
        "why" Text Column "the reason";
        "until" Time Optional "end of the dispute";
    }
    "funding" "payers of wallets' first transactions" key [] order ["to_address", "timestamp"] with {
        known: Known::Dated(RowTime::At("timestamp"))
    } {
        "from_address" Address Cell "the payer";
        "to_address" Address Cell "the funded wallet";
        "timestamp" Time Column "time of the payment";
        "transaction_hash" Hex Optional "the transaction of the payment" ["tx_hash", "evt_tx_hash"];
    }
    "yields" "yield pools" key ["pool"] order ["pool"] with {
        first_usable: true,
        newer: Newer::Replaces,
        grows: Grows::BySnapshots { daily: true }
    } {
        "pool" Text Optional "pool id. Default: protocol:chain:symbol:pool_meta";
        "protocol" Text Column "protocol that runs the pool" ["project"];
        "chain" Chain Column "the pool's chain";
        "symbol" Text Column "symbol of the deposited tokens";
        "tokens" Addresses Column "underlying tokens" ["underlyingTokens", "underlying_tokens"];
        "tvl" Float Column "total value locked, USD" ["tvlUsd", "tvl_usd"];
        "apy_base" Float Column "percent per year from fees or interest" ["apyBase"];
        "apy_reward" Float Column "percent per year from rewards" ["apyReward"];
        "apy" Float Optional "percent per year, total";
        "category" Text Optional "lending, vault, dex, staking, rwa";
        "total_supply_usd" Float Optional "USD supplied to a lending pool" ["totalSupplyUsd"];
        "total_borrow_usd" Float Optional "USD borrowed from a lending pool" ["totalBorrowUsd"];
        "sigma" Float Optional "standard deviation of the yield, percent per year";
        "mu" Float Optional "mean yield, percent";
        "count" Integer Optional "number of days observed";
        "outlier" Boolean Optional "values look wrong";
        "stablecoin" Boolean Optional "all tokens are stablecoins";
        "il_risk" Text Optional "whether the token ratio can shift (impermanent loss)" ["ilRisk"];
        "exposure" Text Optional "single or multi";
        "apy_mean_30d" Float Optional "percent per year, 30-day mean" ["apyMean30d"];
        "pool_meta" Text Optional "distinguishes pools with the same name" ["poolMeta"];
        "withdrawable_usd" Float Optional "USD that the pool can pay out now" ["withdrawableUsd", "availableLiquidityUsd"];
        "utilization" Float Optional "fraction of the supply that is borrowed, 0 to 1" ["utilisation"];
        "cap_left_usd" Float Optional "USD that the pool still accepts" ["capLeftUsd"];
        "lock_days" Float Optional "days from a deposit until a withdrawal can be requested" ["lockDays"];
        "cooldown_days" Float Optional "days from the request of a withdrawal until it is paid" ["cooldownDays"];
        "matures_at" Time Optional "when the pool ends and pays no more" ["maturesAt", "maturity", "expiry"];
        "exit_fee" Float Optional "percent of a withdrawal" ["exitFee"];
        "deposit_fee" Float Optional "percent of a deposit" ["depositFee"];
    }
    "gas" "transaction costs per chain" key ["chain"] order ["chain"] {
        "chain" Chain Cell "the chain";
        "usd_per_100k_gas" Float Column "USD for 100,000 gas";
        "gas_price_gwei" Float Optional "gas price, gwei";
        "native_price_usd" Float Optional "price of the chain's native coin, USD";
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_orders_name_columns_of_their_table() {
        for table in TABLES {
            for name in table.key.iter().chain(table.order) {
                assert!(
                    table.column(name.trim_start_matches('-')).is_some(),
                    "{}.{name}",
                    table.name
                );
            }
        }
    }

    #[test]
    fn no_two_columns_of_a_table_answer_to_one_name() {
        for table in TABLES {
            let mut names: Vec<_> = table
                .columns
                .iter()
                .flat_map(|c| c.aliases.iter().chain([&c.name]))
                .collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", table.name);
        }
    }
}
