//! What an analysis may read from a dataset. Every result is from one snapshot and never changes; the storage decides where the rows are.

use std::{fmt, sync::Arc};

use super::{
    address::Address,
    candles::{Candles, ChartCandles, Interval},
    chain::Chain,
    chain_state::ChainState,
    day_counts::DayCounts,
    holding::Holding,
    rows::{
        AccountRow, ContractRow, DexRow, DisputeRow, FeeTierRow, FollowRow, FundingRow, GasRow,
        KolRow, LabelRow, LockRow, PersonRow, PoolEventRow, PoolRow, Post, PostFigures,
        ReactionRow, ScamRow, SocialPost, TransferRow, YieldRow,
    },
    scalar::Scalar,
    social::SocialSettings,
    time::Time,
    token::Token,
    yield_rows::YieldDay,
};

/// One snapshot of the loaded data.
pub trait Data: fmt::Debug + Sync {
    /// All tokens, each once, ordered by address.
    fn tokens(&self) -> &[Token];
    /// Index of the token in `tokens`.
    fn token_position(&self, address: &Address) -> Option<usize>;

    fn token(&self, address: &Address) -> Option<&Token> {
        self.tokens().get(self.token_position(address)?)
    }

    /// Non-empty cells outside the schema of the token at index `place` of `tokens()`.
    fn own_cells(&self, place: usize) -> Vec<(&'static str, Scalar<'static>)>;
    /// Whether the table is loaded.
    fn has(&self, table: &str) -> bool;
    /// Whether the dataset is as of an earlier time and the rows of the table have no time, so that they are current instead.
    fn lacks_history(&self, table: &str) -> bool;
    /// Whether the table exists and could not be read: its contents are unknown, which is not the same as missing.
    fn is_unreadable(&self, table: &str) -> bool;
    /// Whether `dataset.toml` declares the column approximate.
    fn is_approximate(&self, table: &str, column: &str) -> bool;
    fn kols_of(&self, token: &Address) -> &[KolRow];
    /// The token's posts, newest first.
    fn posts_of(&self, token: &Address) -> Box<dyn PostRows + '_>;
    /// When the newest post was published.
    fn newest_post(&self) -> Option<Time>;
    /// The token's own social accounts, ordered by platform and account.
    fn accounts_of(&self, token: &Address) -> &[AccountRow];
    /// Authors, followers and reactors, ordered by platform and id.
    fn people(&self) -> &[PersonRow];
    /// Followers of the accounts, ordered by platform, account and follower.
    fn follows(&self) -> &[FollowRow];
    /// Reactions to posts, ordered by platform, post and author.
    fn reactions(&self) -> &[ReactionRow];
    /// How the dataset counts social metrics.
    fn social(&self) -> SocialSettings;
    /// The token's balances.
    fn holding_of(&self, token: &Address) -> Holding<'_>;
    /// Number of holders of the token.
    fn holders_listed(&self, token: &Address) -> u64;
    /// Number of holders of the token with a balance above zero.
    fn holders_held(&self, token: &Address) -> u64;
    /// The token's holder counts, oldest first.
    fn holder_counts_of(&self, token: &Address) -> DayCounts<'_>;
    /// The token's candles; none if it has none.
    fn candles_of(&self, token: &Address) -> ChartCandles<'_>;
    /// The candles of each interval that start less than `span` milliseconds before its last one; the flag is true if candles are omitted.
    fn recent_candles(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool);
    /// The close of the token's latest valid candle in any interval; if two candles start at the same time, that of the finer interval.
    fn latest_close(&self, token: &Address) -> Option<(Time, f64)>;
    /// The provider of the token's last candle in this interval, if its file contains one.
    fn candle_source(&self, token: &Address, interval: Interval) -> Option<String>;
    fn labels_of(&self, address: &Address) -> &[LabelRow];

    /// Whether the address has the label, ignoring ASCII case.
    fn is_labelled(&self, address: &Address, label: &str) -> bool {
        self.labels_of(address)
            .iter()
            .any(|row| row.label.eq_ignore_ascii_case(label))
    }

    fn dexes(&self) -> &[DexRow];
    fn fee_tiers(&self) -> &[FeeTierRow];
    /// The pools that hold the token.
    fn pools_of(&self, token: &Address) -> Box<dyn Iterator<Item = &PoolRow> + '_>;
    /// Transfers by token, oldest first, those without a time last.
    fn transfers(&self) -> &dyn AddressRows<TransferRow>;
    /// Number of transfers of the token.
    fn transfers_listed(&self, token: &Address) -> u64;
    /// Number of the token's transfers that are at an engine and not here: all but the newest.
    fn transfers_left_out(&self, token: &Address) -> u64;
    /// Events by pool, oldest first.
    fn pool_events(&self) -> &dyn AddressRows<PoolEventRow>;
    /// Contract code by token.
    fn contracts(&self) -> &dyn AddressRows<ContractRow>;
    /// Known scams, by address.
    fn scams(&self) -> &dyn AddressRows<ScamRow>;
    /// Contracts deployed by the address, each with its deployment time, ordered by contract address.
    fn contracts_by(&self, creator: &Address) -> &[(Address, Option<Time>)];
    /// Deployment time of the contract.
    fn created_at(&self, contract: &Address) -> Option<Time>;
    /// Locks of the token (or of a pool's liquidity tokens), by locker.
    fn locks_of(&self, token: &Address) -> &[LockRow];
    /// Findings about the token that the user disputes.
    fn disputes_of(&self, token: &Address) -> &[DisputeRow];
    /// Funding transfers to the address, first payment first.
    fn funders_of(&self, address: &Address) -> &[FundingRow];
    /// Every yield pool, by id.
    fn yields(&self) -> &[YieldRow];
    /// What the pool paid on each day on which it was seen, oldest first; empty without a history.
    fn yield_days_of(&self, pool: &str) -> &[YieldDay];
    fn gas_of(&self, chain: &Chain) -> Option<&GasRow>;
    /// The chain, and its state as far as it was fetched for the token; `None` if the dataset has no node of its chain.
    fn chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)>;
    /// The same, before the token was last read again; `None` if it was read only once.
    fn earlier_chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)>;
}

/// The rows of a table, grouped by address.
pub trait AddressRows<T> {
    fn is_empty(&self) -> bool;
    /// Addresses that have rows, in table order.
    fn addresses(&self) -> Vec<Address>;
    /// Number of rows of the address.
    fn count(&self, address: &Address) -> usize;
    /// Rows of the address in table order, in chunks.
    fn chunks(&self, address: &Address) -> Box<dyn Iterator<Item = Vec<T>> + '_>;
    /// The address's row `i`.
    fn row(&self, address: &Address, i: usize) -> Option<T>;
    /// A text cell of the address's row `i`.
    fn text(&self, address: &Address, i: usize, column: &str) -> Option<String>;

    /// The first row of the address.
    fn first(&self, address: &Address) -> Option<T> {
        self.row(address, 0)
    }
}

/// Posts, in the order of their table.
pub trait PostRows {
    fn figures(&self) -> Box<dyn Iterator<Item = PostFigures> + '_>;
    /// What the social metrics read of each post.
    fn social(&self) -> Box<dyn Iterator<Item = SocialPost> + '_>;
    fn get(&self, place: usize) -> Option<Post>;
}
