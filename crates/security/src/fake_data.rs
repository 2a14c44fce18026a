//! A dataset of a few rows for unit tests, row by row in memory; what no test needs is empty. The tests state which rules apply to it.

use std::sync::Arc;

use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval},
    chain::Chain,
    chain_state::ChainState,
    data::{AddressRows, Data, PostRows},
    day_counts::DayCounts,
    holding::{BalanceRows, Holding, Listed},
    rows::{
        AccountRow, Amount, ContractRow, DexRow, DisputeRow, FeeTierRow, FollowRow, FromColumns,
        FundingRow, GasRow, KolRow, LabelRow, LockRow, PersonRow, PoolEventRow, PoolRow, Post,
        PostFigures, ReactionRow, ScamRow, SocialPost, TableColumns, TokenRow, TransferRow,
        YieldRow,
    },
    scalar::Scalar,
    social::SocialSettings,
    time::{HOUR_MS, Time},
    token::{Token, merge_tokens},
    yield_rows::YieldDay,
};

pub(crate) const TOKEN: Address = Address([0x70; 20]);

/// An address that has no meaning.
pub(crate) fn someone(number: u8) -> Address {
    Address([number; 20])
}

#[derive(Debug)]
pub(crate) struct FakeData {
    pub(crate) tokens: Vec<Token>,
    /// Deployment of the token.
    pub(crate) created: Option<Time>,
    /// Balances of `held`: the token, or one of its pools.
    pub(crate) holders: Vec<(Address, Option<f64>)>,
    pub(crate) held: Address,
    /// What is known of all its holders, if only `holders` are here.
    pub(crate) listed: Option<Listed>,
    pub(crate) kols: Vec<KolRow>,
    pub(crate) pools: Vec<PoolRow>,
    pub(crate) transfers: Rows<TransferRow>,
    /// Number of earlier transfers that are not here.
    pub(crate) left_out: u64,
    pub(crate) pool_events: Rows<PoolEventRow>,
    /// Day and number of the token's holders.
    pub(crate) counts: (Vec<i64>, Vec<i64>, Vec<f64>),
    /// Start, close and volume of the token's daily candles.
    pub(crate) candles: (Vec<i64>, Vec<f64>, Vec<f64>),
    pub(crate) of_today: Vec<&'static str>,
    pub(crate) unreadable: Vec<&'static str>,
    contracts: Rows<ContractRow>,
    pub(crate) scams: Rows<ScamRow>,
}

impl Default for FakeData {
    fn default() -> Self {
        let tokens = merge_tokens(vec![TokenRow {
            token_address: TOKEN,
            decimals: Some(0),
            ..blank()
        }]);
        Self {
            tokens,
            created: None,
            holders: Vec::new(),
            held: TOKEN,
            listed: None,
            kols: Vec::new(),
            pools: Vec::new(),
            transfers: Rows::default(),
            left_out: 0,
            pool_events: Rows::default(),
            counts: Default::default(),
            candles: Default::default(),
            of_today: Vec::new(),
            unreadable: Vec::new(),
            contracts: Rows::default(),
            scams: Rows::default(),
        }
    }
}

impl FakeData {
    pub(crate) fn token(&self) -> &Token {
        &self.tokens[0]
    }

    pub(crate) fn row(&mut self) -> &mut TokenRow {
        &mut self.tokens[0].row
    }

    /// Its creator, by a row of `contracts`.
    pub(crate) fn created_by(&mut self, creator: Address) {
        self.contracts.0.push((
            TOKEN,
            ContractRow {
                creator: Some(creator),
                ..blank()
            },
        ));
    }

    pub(crate) fn pool(&mut self, pool: Address) {
        let row = PoolRow {
            address: pool,
            token0: TOKEN,
            token1: someone(0x71),
            liquidity: Some(1_000.0),
            ..blank()
        };
        self.pools.push(row);
    }

    /// A transfer in each of the hours from the first on that have none yet.
    pub(crate) fn transfer(&mut self, from: Address, to: Address, value: f64) {
        let hour = self.transfers.0.len() as i64 + 1;
        let row = TransferRow {
            timestamp: Some(Time(hour * HOUR_MS)),
            block_number: Some(hour),
            from_address: Some(from),
            to_address: Some(to),
            value: Some(Amount(value)),
            status: Some(1),
        };
        self.transfers.0.push((TOKEN, row));
    }

    /// An event of the pool that leaves these reserves.
    pub(crate) fn reserves(&mut self, pool: Address, token: f64, other: f64) {
        let minute = self.pool_events.0.len() as i64 + 1;
        self.reserves_at(Time(minute * 60_000), pool, token, other);
    }

    /// The same at a time.
    pub(crate) fn reserves_at(&mut self, time: Time, pool: Address, token: f64, other: f64) {
        let row = PoolEventRow {
            timestamp: time,
            block_number: None,
            kind: None,
            reserve0: Some(Amount(token)),
            reserve1: Some(Amount(other)),
            amount: None,
            from_address: None,
            to_address: None,
        };
        self.pool_events.0.push((pool, row));
    }
}

/// A row without a cell.
pub(crate) fn blank<R: FromColumns>() -> R {
    struct Nothing;
    impl TableColumns for Nothing {
        fn height(&self) -> usize {
            1
        }

        fn texts(&self, _: &str, each: &mut dyn FnMut(Option<&str>, usize)) {
            each(None, 1);
        }

        fn addresses(&self, _: &str) -> Vec<Option<Address>> {
            vec![None]
        }

        fn lists(&self, _: &str, each: &mut dyn FnMut(&[&str])) {
            each(&[]);
        }

        fn integers(&self, _: &str) -> Vec<Option<i64>> {
            vec![None]
        }

        fn floats(&self, _: &str) -> Vec<Option<f64>> {
            vec![None]
        }

        fn flags(&self, _: &str) -> Vec<Option<bool>> {
            vec![None]
        }
    }
    R::from_columns(&Nothing).remove(0)
}

/// Rows of a table, each with its address.
#[derive(Debug)]
pub(crate) struct Rows<T>(pub(crate) Vec<(Address, T)>);

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> AddressRows<T> for Rows<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn addresses(&self) -> Vec<Address> {
        self.0.iter().map(|(address, _)| *address).collect()
    }

    fn count(&self, address: &Address) -> usize {
        self.0.iter().filter(|(of, _)| of == address).count()
    }

    fn chunks(&self, address: &Address) -> Box<dyn Iterator<Item = Vec<T>> + '_> {
        let rows = self
            .0
            .iter()
            .filter(|(of, _)| of == address)
            .map(|(_, row)| row.clone())
            .collect();
        Box::new(std::iter::once(rows))
    }

    fn row(&self, address: &Address, i: usize) -> Option<T> {
        self.0
            .iter()
            .filter(|(of, _)| of == address)
            .nth(i)
            .map(|(_, row)| row.clone())
    }

    fn text(&self, _: &Address, _: usize, _: &str) -> Option<String> {
        None
    }
}

#[derive(Debug)]
struct HolderRows<'a>(&'a [(Address, Option<f64>)]);

impl BalanceRows for HolderRows<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        Box::new(self.0.iter().copied())
    }
}

struct NoPosts;

impl PostRows for NoPosts {
    fn figures(&self) -> Box<dyn Iterator<Item = PostFigures> + '_> {
        Box::new(std::iter::empty())
    }

    fn social(&self) -> Box<dyn Iterator<Item = SocialPost> + '_> {
        Box::new(std::iter::empty())
    }

    fn get(&self, _: usize) -> Option<Post> {
        None
    }
}

/// Tables without a row.
macro_rules! empty {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, _: $type)*) -> $answer {
            Default::default()
        })*
    };
}

impl Data for FakeData {
    empty! {
        fn own_cells(&self, place: usize) -> Vec<(&'static str, Scalar<'static>)>;
        fn is_approximate(&self, table: &str, column: &str) -> bool;
        fn newest_post(&self) -> Option<Time>;
        fn recent_candles(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool);
        fn latest_close(&self, token: &Address) -> Option<(Time, f64)>;
        fn candle_source(&self, token: &Address, interval: Interval) -> Option<String>;
        fn labels_of(&self, address: &Address) -> &[LabelRow];
        fn dexes(&self) -> &[DexRow];
        fn fee_tiers(&self) -> &[FeeTierRow];
        fn contracts_by(&self, creator: &Address) -> &[(Address, Option<Time>)];
        fn locks_of(&self, token: &Address) -> &[LockRow];
        fn disputes_of(&self, token: &Address) -> &[DisputeRow];
        fn funders_of(&self, address: &Address) -> &[FundingRow];
        fn yields(&self) -> &[YieldRow];
        fn yield_days_of(&self, pool: &str) -> &[YieldDay];
        fn gas_of(&self, chain: &Chain) -> Option<&GasRow>;
        fn chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)>;
        fn earlier_chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)>;
    }

    fn candles_of(&self, token: &Address) -> ChartCandles<'_> {
        let (timestamp, close, volume) = &self.candles;
        if *token != TOKEN || close.is_empty() {
            return ChartCandles::default();
        }
        let candles = Candles {
            timestamp,
            open: close,
            high: close,
            low: close,
            close,
            volume,
            volume_usd: &[],
        };
        ChartCandles::Here(vec![(Interval::DAY, candles)])
    }

    fn created_at(&self, contract: &Address) -> Option<Time> {
        self.created.filter(|_| *contract == TOKEN)
    }

    fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn token_position(&self, address: &Address) -> Option<usize> {
        self.tokens
            .iter()
            .position(|token| token.row.token_address == *address)
    }

    fn has(&self, table: &str) -> bool {
        !self.unreadable.contains(&table)
    }

    fn lacks_history(&self, table: &str) -> bool {
        self.of_today.contains(&table)
    }

    fn is_unreadable(&self, table: &str) -> bool {
        self.unreadable.contains(&table)
    }

    fn kols_of(&self, _: &Address) -> &[KolRow] {
        &self.kols
    }

    fn accounts_of(&self, _: &Address) -> &[AccountRow] {
        &[]
    }

    fn people(&self) -> &[PersonRow] {
        &[]
    }

    fn follows(&self) -> &[FollowRow] {
        &[]
    }

    fn reactions(&self) -> &[ReactionRow] {
        &[]
    }

    fn social(&self) -> SocialSettings {
        SocialSettings::default()
    }

    fn posts_of(&self, _: &Address) -> Box<dyn PostRows + '_> {
        Box::new(NoPosts)
    }

    fn holding_of(&self, token: &Address) -> Holding<'_> {
        let (rows, listed) = if *token == self.held {
            (&*self.holders, self.listed)
        } else {
            (&[][..], None)
        };
        Holding::new(Box::new(HolderRows(rows)), listed)
    }

    fn holders_listed(&self, token: &Address) -> u64 {
        self.holding_of(token).listed()
    }

    fn holders_held(&self, token: &Address) -> u64 {
        self.holders_listed(token)
    }

    fn holder_counts_of(&self, _: &Address) -> DayCounts<'_> {
        let (date, holders, whale_balance) = &self.counts;
        DayCounts {
            date,
            holders,
            whale_balance,
        }
    }

    fn pools_of(&self, token: &Address) -> Box<dyn Iterator<Item = &PoolRow> + '_> {
        let token = *token;
        Box::new(
            self.pools
                .iter()
                .filter(move |pool| pool.token0 == token || pool.token1 == token),
        )
    }

    fn transfers(&self) -> &dyn AddressRows<TransferRow> {
        &self.transfers
    }

    fn transfers_listed(&self, token: &Address) -> u64 {
        self.transfers.count(token) as u64 + self.left_out
    }

    fn transfers_left_out(&self, _: &Address) -> u64 {
        self.left_out
    }

    fn pool_events(&self) -> &dyn AddressRows<PoolEventRow> {
        &self.pool_events
    }

    fn contracts(&self) -> &dyn AddressRows<ContractRow> {
        &self.contracts
    }

    fn scams(&self) -> &dyn AddressRows<ScamRow> {
        &self.scams
    }
}
