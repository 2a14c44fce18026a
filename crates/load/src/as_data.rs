//! A dataset as the analyses see it.

use std::sync::Arc;

use crate::{Dataset, RowsOf};
use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval},
    chain::Chain,
    chain_state::ChainState,
    data::{AddressRows, Data, PostRows},
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

/// Hands each method to the dataset's own of the same name.
macro_rules! own {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $argument: $type)*) -> $answer {
            Dataset::$name(self $(, $argument)*)
        })*
    };
}

impl Data for Dataset {
    own! {
        fn tokens(&self) -> &[Token];
        fn token_position(&self, address: &Address) -> Option<usize>;
        fn own_cells(&self, place: usize) -> Vec<(&'static str, Scalar<'static>)>;
        fn has(&self, table: &str) -> bool;
        fn lacks_history(&self, table: &str) -> bool;
        fn is_unreadable(&self, table: &str) -> bool;
        fn is_approximate(&self, table: &str, column: &str) -> bool;
        fn kols_of(&self, token: &Address) -> &[KolRow];
        fn newest_post(&self) -> Option<Time>;
        fn accounts_of(&self, token: &Address) -> &[AccountRow];
        fn people(&self) -> &[PersonRow];
        fn follows(&self) -> &[FollowRow];
        fn reactions(&self) -> &[ReactionRow];
        fn social(&self) -> SocialSettings;
        fn holding_of(&self, token: &Address) -> Holding<'_>;
        fn holders_listed(&self, token: &Address) -> u64;
        fn holders_held(&self, token: &Address) -> u64;
        fn holder_counts_of(&self, token: &Address) -> DayCounts<'_>;
        fn labels_of(&self, address: &Address) -> &[LabelRow];
        fn dexes(&self) -> &[DexRow];
        fn fee_tiers(&self) -> &[FeeTierRow];
        fn transfers(&self) -> &dyn AddressRows<TransferRow>;
        fn transfers_listed(&self, token: &Address) -> u64;
        fn transfers_left_out(&self, token: &Address) -> u64;
        fn pool_events(&self) -> &dyn AddressRows<PoolEventRow>;
        fn contracts(&self) -> &dyn AddressRows<ContractRow>;
        fn scams(&self) -> &dyn AddressRows<ScamRow>;
        fn contracts_by(&self, creator: &Address) -> &[(Address, Option<Time>)];
        fn created_at(&self, contract: &Address) -> Option<Time>;
        fn locks_of(&self, token: &Address) -> &[LockRow];
        fn disputes_of(&self, token: &Address) -> &[DisputeRow];
        fn funders_of(&self, address: &Address) -> &[FundingRow];
        fn yields(&self) -> &[YieldRow];
        fn yield_days_of(&self, pool: &str) -> &[YieldDay];
        fn gas_of(&self, chain: &Chain) -> Option<&GasRow>;
    }

    fn posts_of(&self, token: &Address) -> Box<dyn PostRows + '_> {
        Box::new(Dataset::posts_of(self, token))
    }

    fn candles_of(&self, token: &Address) -> ChartCandles<'_> {
        self.candles().loaded(token)
    }

    fn recent_candles(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        self.candles().recent(token, span)
    }

    fn latest_close(&self, token: &Address) -> Option<(Time, f64)> {
        self.candles().latest_close(token)
    }

    fn candle_source(&self, token: &Address, interval: Interval) -> Option<String> {
        self.candles().source(token, interval)
    }

    fn pools_of(&self, token: &Address) -> Box<dyn Iterator<Item = &PoolRow> + '_> {
        Box::new(Dataset::pools_of(self, token))
    }

    fn chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)> {
        let states = self.chain_states_of(token)?;
        Some((states.chain(), states.of(token)))
    }

    fn earlier_chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)> {
        let states = self.chain_states_of(token)?;
        Some((states.chain(), states.previous_of(token)?))
    }
}

impl PostRows for RowsOf<'_, Post> {
    fn figures(&self) -> Box<dyn Iterator<Item = PostFigures> + '_> {
        Box::new(RowsOf::figures(self))
    }

    fn social(&self) -> Box<dyn Iterator<Item = SocialPost> + '_> {
        Box::new(RowsOf::social(self))
    }

    fn get(&self, place: usize) -> Option<Post> {
        RowsOf::get(self, place)
    }
}
