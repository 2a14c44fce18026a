//! Typed rows of tables. A field has the name of its column in the schema; a column that a table may lack is an `Option`. The storage
//! provides the columns; there are no rules about the meaning of values here.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    address::Address,
    chain::Chain,
    time::{Day, Time},
};

macro_rules! rows {
    ($($(#[$meta:meta])* $row:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $row { $($(#[$of])* pub $field: $type),* }

        impl FromColumns for $row {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),*];

            fn from_columns(columns: &dyn TableColumns) -> Vec<Self> {
                $(let mut $field = <$type as CellType>::cells(columns, stringify!($field)).into_iter();)*
                let mut rows = Vec::with_capacity(columns.height());
                while let ($(Some($field),)*) = ($($field.next(),)*) {
                    rows.push(Self { $($field),* });
                }
                rows
            }
        }
    )*};
}

/// A row type that can be read from the columns of a canonical table.
pub trait FromColumns: Sized {
    /// The columns it is read from.
    const COLUMNS: &'static [&'static str];
    fn from_columns(columns: &dyn TableColumns) -> Vec<Self>;
}

/// The columns of a canonical table, as its storage reads them. Every column has `height` cells; one that is missing is all null.
pub trait TableColumns {
    fn height(&self) -> usize;
    /// Calls `each` once per run of equal text cells, with the number of cells.
    fn texts(&self, column: &str, each: &mut dyn FnMut(Option<&str>, usize));
    /// The addresses of a column.
    fn addresses(&self, column: &str) -> Vec<Option<Address>>;
    /// Calls `each` with every list of texts.
    fn lists(&self, column: &str, each: &mut dyn FnMut(&[&str]));
    /// Times and days as their physical number.
    fn integers(&self, column: &str) -> Vec<Option<i64>>;
    fn floats(&self, column: &str) -> Vec<Option<f64>>;
    fn flags(&self, column: &str) -> Vec<Option<bool>>;
}

rows! {
    /// A row of `tokens`; `Dataset` merges the rows of one address.
    TokenRow {
        token_address: Address,
        symbol: Option<String>,
        name: Option<String>,
        chain: Vec<Chain>,
        decimals: Option<i64>,
        price: Option<f64>,
        market_cap: Option<f64>,
        total_supply: Option<f64>,
        holders: Option<i64>,
        price_as_of: Option<Time>,
        stats_as_of: Option<Time>,
        followers: Option<i64>,
        smart_followers: Option<i64>,
        impressions: Option<i64>,
        smart_reach: Option<i64>,
        post_engagement: Option<i64>,
        smart_engagement: Option<i64>,
        listed: Option<bool>,
    }
    KolRow {
        token_address: Address,
        kol_address: Address,
        handle: Option<String>,
        followers: Option<i64>,
        engagement_rate: Option<f64>,
    }
    /// A social post about a token.
    #[derive(Serialize, JsonSchema)]
    Post {
        post_id: String,
        token_address: Address,
        title: Option<String>,
        link: Option<String>,
        published_at: Time,
        impressions: Option<i64>,
        engagement: Option<i64>,
        smart_engagement: Option<i64>,
        // The documented fields end here; the list of all posts also has these.
        #[serde(skip)]
        author: Option<String>,
        #[serde(skip)]
        platform: Option<String>,
        #[serde(skip)]
        matched_by: Option<String>,
    }
    /// A post as the social metrics read it.
    SocialPost {
        post_id: String,
        published_at: Time,
        author: Option<String>,
        author_id: Option<String>,
        platform: Option<String>,
        impressions: Option<i64>,
        engagement: Option<i64>,
        smart_engagement: Option<i64>,
        matched_by: Option<String>,
        dropped: Option<String>,
        gone_at: Option<Time>,
    }
    AccountRow {
        token_address: Address,
        platform: String,
        account: String,
        account_id: Option<String>,
        role: Option<String>,
        followers: Option<i64>,
        as_of: Option<Time>,
        source: Option<String>,
    }
    PersonRow {
        platform: String,
        author_id: String,
        handle: Option<String>,
        followers: Option<i64>,
        following: Option<i64>,
        wallets: Vec<Address>,
        score: Option<f64>,
        scored_by: Option<String>,
        bot: Option<bool>,
        since: Option<Time>,
        as_of: Option<Time>,
    }
    FollowRow {
        platform: String,
        account: String,
        follower_id: String,
    }
    ReactionRow {
        platform: String,
        post_id: String,
        author_id: String,
        kind: String,
        at: Option<Time>,
    }
    /// The columns of posts for sums and rankings.
    #[derive(Copy)]
    PostFigures {
        published_at: Time,
        impressions: Option<i64>,
        engagement: Option<i64>,
        smart_engagement: Option<i64>,
        dropped: IsGiven,
        gone_at: Option<Time>,
    }
    HolderRow {
        token_address: Address,
        holder_address: Address,
        balance: Option<f64>,
    }
    LabelRow {
        address: Address,
        label: String,
        name: Option<String>,
        chain: Option<Chain>,
        source: Option<String>,
    }
    DexRow {
        dex_id: String,
        name: Option<String>,
        chain: Chain,
        version: Option<String>,
        router: Option<Address>,
        factory: Option<Address>,
        total_value_locked: Option<f64>,
    }
    FeeTierRow {
        dex_id: String,
        chain: Option<Chain>,
        tier: Option<String>,
        fee: Option<f64>,
    }
    /// A liquidity pool; `Dataset` completes its `tokens`.
    PoolRow {
        address: Address,
        dex_id: String,
        chain: Chain,
        token0: Address,
        token1: Address,
        tokens: Vec<Address>,
        pair: Option<String>,
        liquidity: Option<f64>,
        volume24h: Option<f64>,
        fee: Option<f64>,
        created_at: Option<Time>,
    }
    TransferRow {
        timestamp: Option<Time>,
        block_number: Option<i64>,
        from_address: Option<Address>,
        to_address: Option<Address>,
        value: Option<Amount>,
        status: Option<i64>,
    }
    PoolEventRow {
        timestamp: Time,
        block_number: Option<i64>,
        kind: Option<String>,
        reserve0: Option<Amount>,
        reserve1: Option<Amount>,
        amount: Option<Amount>,
        from_address: Option<Address>,
        to_address: Option<Address>,
    }
    ContractRow {
        token_address: Address,
        bytecode: Option<String>,
        creation_bytecode: Option<String>,
        source: Option<String>,
        creator: Option<Address>,
        created_at: Option<Time>,
        is_proxy: Option<bool>,
        is_verified: Option<bool>,
        storage: Option<String>,
        constructor_types: Option<String>,
        owner: Option<Address>,
    }
    /// Deployer and deployment time of a contract, from the table `contracts`.
    CreationRow {
        token_address: Address,
        creator: Option<Address>,
        created_at: Option<Time>,
    }
    ScamRow {
        address: Address,
        name: Option<String>,
        scam_type: Option<String>,
        bytecode: Option<String>,
        reported_at: Option<Time>,
        source: Option<String>,
    }
    LockRow {
        token_address: Address,
        holder_address: Address,
        amount: Option<f64>,
        unlocks_at: Option<Time>,
    }
    /// A finding that the user disputes.
    DisputeRow {
        token_address: Address,
        code: String,
        why: Option<String>,
        until: Option<Time>,
    }
    FundingRow {
        from_address: Address,
        to_address: Address,
        timestamp: Option<Time>,
        transaction_hash: Option<String>,
    }
    /// A pool that pays a yield; the module `yield_rows` decides whether it is usable.
    YieldRow {
        pool: String,
        protocol: Option<String>,
        chain: Option<Chain>,
        symbol: Option<String>,
        tokens: Vec<Address>,
        tvl: Option<f64>,
        apy_base: Option<f64>,
        apy_reward: Option<f64>,
        apy: Option<f64>,
        category: Option<String>,
        total_supply_usd: Option<f64>,
        sigma: Option<f64>,
        count: Option<i64>,
        outlier: Option<bool>,
        il_risk: Option<String>,
        exposure: Option<String>,
        apy_mean_30d: Option<f64>,
        pool_meta: Option<String>,
        withdrawable_usd: Option<f64>,
        utilization: Option<f64>,
        cap_left_usd: Option<f64>,
        lock_days: Option<f64>,
        cooldown_days: Option<f64>,
        matures_at: Option<Time>,
        exit_fee: Option<f64>,
        deposit_fee: Option<f64>,
    }
    /// A yield pool as it was seen at some time.
    YieldObservation {
        pool: String,
        apy_base: Option<f64>,
        apy_reward: Option<f64>,
        apy: Option<f64>,
        observed_at: Time,
        gone: Option<bool>,
    }
    /// What a contract says of itself at a block.
    TokenFacts {
        token_address: Address,
        block_number: Option<i64>,
        timestamp: Time,
        symbol: Option<String>,
        name: Option<String>,
        decimals: Option<i64>,
        /// Whole tokens.
        total_supply: Option<f64>,
    }
    GasRow {
        chain: Chain,
        usd_per_100k_gas: Option<f64>,
        gas_price_gwei: Option<f64>,
        native_price_usd: Option<f64>,
    }
}

impl PostFigures {
    /// Whether the social metrics count the post: it was neither dropped nor deleted.
    pub fn is_counted(&self) -> bool {
        !self.dropped.0 && self.gone_at.is_none()
    }
}

impl PoolRow {
    /// All tokens of the pool, each once: first `token0` and `token1` if `tokens` lacks them, then `tokens`.
    pub fn every_token(&self) -> Vec<Address> {
        let both = [self.token0, self.token1];
        let named = |token: &Address| self.tokens.contains(token);
        let lacking = both.iter().filter(|token| !named(token));
        let mut tokens: Vec<Address> = Vec::with_capacity(both.len().max(self.tokens.len()));
        for token in lacking.chain(&self.tokens) {
            if !tokens.contains(token) {
                tokens.push(*token);
            }
        }
        tokens
    }
}

/// An integer of up to 2^256 − 1 as the nearest f64, for shares and sums; the table stores all of its digits.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Amount(pub f64);

/// Whether a text cell has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsGiven(pub bool);

/// A type of cells.
trait CellType: Sized {
    fn cells(columns: &dyn TableColumns, name: &str) -> Vec<Self>;
}

/// Parses a text column with `read`, once per run of equal cells; `None` where the cell is null or invalid.
pub fn texts<T: Clone>(
    columns: &dyn TableColumns,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Vec<Option<T>> {
    let mut cells = Vec::with_capacity(columns.height());
    columns.texts(name, &mut |text, count| {
        cells.extend(std::iter::repeat_n(text.and_then(&read), count));
    });
    cells
}

/// Parses a list-of-text column with `read`.
fn lists<T>(
    columns: &dyn TableColumns,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Vec<Vec<T>> {
    let mut cells = Vec::with_capacity(columns.height());
    columns.lists(name, &mut |texts| {
        let mut list: Vec<T> = texts.iter().copied().filter_map(&read).collect();
        // Most have one entry, and a collected list has room for four.
        list.shrink_to_fit();
        cells.push(list);
    });
    cells
}

macro_rules! cells {
    ($($type:ty: |$columns:ident, $name:ident| $read:expr;)*) => {$(
        impl CellType for $type {
            fn cells($columns: &dyn TableColumns, $name: &str) -> Vec<Self> {
                $read
            }
        }
    )*};
}

// The loader rejects every row with an empty key cell, so the defaults below never occur.
cells! {
    Option<Address>: |columns, name| columns.addresses(name);
    Address: |columns, name| columns.addresses(name).into_iter().map(Option::unwrap_or_default).collect();
    Option<String>: |columns, name| texts(columns, name, |text| Some(text.to_owned()));
    String: |columns, name| texts(columns, name, |text| Some(text.to_owned())).into_iter().map(Option::unwrap_or_default).collect();
    IsGiven: |columns, name| texts(columns, name, |_| Some(())).into_iter().map(|cell| IsGiven(cell.is_some())).collect();
    Option<Chain>: |columns, name| texts(columns, name, Chain::parse);
    Chain: |columns, name| texts(columns, name, Chain::parse).into_iter().map(|c| c.unwrap_or_else(Chain::unknown)).collect();
    Vec<Chain>: |columns, name| lists(columns, name, Chain::parse);
    Vec<Address>: |columns, name| lists(columns, name, Address::parse);
    Option<i64>: |columns, name| columns.integers(name);
    Time: |columns, name| columns.integers(name).into_iter().map(|ms| Time(ms.unwrap_or_default())).collect();
    Option<Time>: |columns, name| columns.integers(name).into_iter().map(|ms| ms.map(Time)).collect();
    Day: |columns, name| columns.integers(name).into_iter().map(|day| Day(day.unwrap_or_default() as i32)).collect();
    Option<Amount>: |columns, name| texts(columns, name, |text| text.parse().ok().map(Amount));
    Option<f64>: |columns, name| columns.floats(name).into_iter().map(|n| n.filter(|n| n.is_finite())).collect();
    Option<bool>: |columns, name| columns.flags(name);
}

impl Post {
    /// Place of publication: the platform given in the dataset, or the host of the link.
    pub fn place(&self) -> Option<&str> {
        let host = || host(self.link.as_deref()?);
        self.platform.as_deref().or_else(host)
    }
}

/// The host of a link.
pub fn host(link: &str) -> Option<&str> {
    let (_, rest) = link.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    Some(host.strip_prefix("www.").unwrap_or(host)).filter(|host| !host.is_empty())
}
