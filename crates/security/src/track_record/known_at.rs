//! A dataset as it was known at an earlier time, row by row: rows that are later or have no time are hidden. No row is copied except the
//! pools and tokens, whose undated figures are cleared once. No check is here.

use std::{collections::HashMap, fmt, sync::Arc};

use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval, latest_close},
    chain::Chain,
    chain_state::ChainState,
    data::{AddressRows, Data, PostRows},
    day_counts::DayCounts,
    holding::{BalanceRows, Holding},
    rows::{
        AccountRow, ContractRow, DexRow, DisputeRow, FeeTierRow, FollowRow, FundingRow, GasRow,
        KolRow, LabelRow, LockRow, PersonRow, PoolEventRow, PoolRow, Post, PostFigures,
        ReactionRow, ScamRow, SocialPost, TransferRow, YieldRow,
    },
    scalar::Scalar,
    social::SocialSettings,
    time::{DAY_MS, Time},
    token::Token,
    yield_rows::YieldDay,
};

/// Tables with times, which take part.
const DATED: &[&str] = &[
    "tokens",
    "candles",
    "holder_counts",
    "transfers",
    "blocks",
    "contracts",
    "scams",
    "pools",
    "pool_events",
    "funding",
];

/// Text columns of facts that never change; `source` and `storage` of a contract may be of a later time.
const FACTS: &[&str] = &["bytecode", "transaction_hash"];

/// Share of the tokens, and number of tokens, that must have reached a time so that the data reaches it.
const REACHED_SHARE: usize = 10;
const REACHED_MIN: usize = 2;
/// Number of tokens whose rows begin on one day, from which the day is the beginning of the data if they are a tenth of all.
const BEGIN_TOGETHER: usize = 3;

/// The first and last times of a token's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Span {
    first: Option<i64>,
    last: Option<i64>,
}

impl Span {
    fn add(&mut self, first: Option<i64>, last: Option<i64>) {
        self.first = self.first.into_iter().chain(first).min();
        self.last = self.last.max(last);
    }
}

/// What is known of the times of a dataset's rows, and its tokens and pools without undated figures.
#[derive(Debug)]
pub struct DatedEvidence {
    tokens: Vec<Token>,
    /// Each token's pools, with the time of their creation or first event; those without a time are excluded.
    pools: HashMap<Address, Vec<(i64, PoolRow)>>,
    first_rows: Vec<Option<i64>>,
    launches: Vec<Option<Time>>,
    /// Ends of the candles and of the pool events.
    candles_end: Option<i64>,
    events_end: Option<i64>,
    /// Earlier ends of single tokens' rows.
    ends: HashMap<Address, i64>,
    /// Whether a scam report has a time.
    pub has_dated_scams: bool,
}

impl DatedEvidence {
    /// Reads the times of all tokens' first and last rows.
    pub fn new(data: &dyn Data) -> Self {
        let tokens: Vec<Token> = data.tokens().iter().map(undated_cleared).collect();
        let (mut pools, mut candles, mut events) = (HashMap::new(), Vec::new(), Vec::new());
        let mut first_rows = Vec::new();
        for token in &tokens {
            let address = token.row.token_address;
            let of_candles = candle_span(data, &address);
            let mut of_events = Span::default();
            let mut own = Vec::new();
            for pool in data.pools_of(&address) {
                let span = event_span(data, &pool.address);
                of_events.add(span.first, span.last);
                let since = pool.created_at.map(|time| time.0);
                if let Some(since) = since.into_iter().chain(span.first).min() {
                    own.push((since, figures_cleared(pool)));
                }
            }
            let transfers = data.transfers();
            let first = transfers.row(&address, 0).and_then(|row| row.timestamp);
            let first = first.map(|time| time.0).into_iter();
            first_rows.push(first.chain(of_candles.first).chain(of_events.first).min());
            candles.push(of_candles);
            events.push(of_events);
            pools.insert(address, own);
        }
        let launches = launches(data, &tokens, &first_rows);
        let scams = data.scams();
        let is_dated = |address| scams.first(address).and_then(|row| row.reported_at);
        Self {
            launches,
            candles_end: reached(candles.iter().filter_map(|span| span.last).collect()),
            events_end: reached(events.iter().filter_map(|span| span.last).collect()),
            has_dated_scams: scams.addresses().iter().any(|it| is_dated(it).is_some()),
            ends: HashMap::new(),
            tokens,
            pools,
            first_rows,
        }
    }

    /// When the token at index `place` of `tokens()` was launched: deployed or first traded; `None` if that is unknown because its rows
    /// may begin later.
    pub fn launch(&self, place: usize) -> Option<Time> {
        self.launches.get(place).copied().flatten()
    }

    /// Declares that the token's rows end at this time because later ones are missing, not because it was no longer traded.
    pub fn end_at(&mut self, token: Address, end: Time) {
        self.ends.insert(token, end.0);
    }

    /// How far the data on the token reaches: its candles, and its pools' events.
    pub(super) fn reach(&self, token: &Address) -> [Option<i64>; 2] {
        let own = self.ends.get(token).copied().unwrap_or(i64::MAX);
        [self.candles_end, self.events_end].map(|end| end.map(|end| end.min(own)))
    }

    /// The newest time that the candles or the pool events reach.
    pub fn end(&self) -> Option<Time> {
        self.candles_end.max(self.events_end).map(Time)
    }

    pub(super) fn address(&self, place: usize) -> Address {
        self.tokens[place].row.token_address
    }

    /// Its pools with the time from which each is known.
    pub(super) fn pools(&self, token: &Address) -> &[(i64, PoolRow)] {
        self.pools.get(token).map_or(&[], Vec::as_slice)
    }
}

fn undated_cleared(token: &Token) -> Token {
    let mut token = token.clone();
    let row = &mut token.row;
    (row.price, row.market_cap, row.total_supply) = (None, None, None);
    (row.holders, row.listed) = (None, None);
    token
}

fn figures_cleared(pool: &PoolRow) -> PoolRow {
    PoolRow {
        liquidity: None,
        volume24h: None,
        fee: None,
        ..pool.clone()
    }
}

fn candle_span(data: &dyn Data, token: &Address) -> Span {
    let mut span = Span::default();
    for (interval, candles) in data.candles_of(token).series() {
        let last = candles.timestamp.last().map(|start| start + interval.0);
        span.add(candles.timestamp.first().copied(), last);
    }
    span
}

fn event_span(data: &dyn Data, pool: &Address) -> Span {
    let (events, mut span) = (data.pool_events(), Span::default());
    let time = |place| events.row(pool, place).map(|event| event.timestamp.0);
    if let Some(last) = events.count(pool).checked_sub(1) {
        span.add(time(0), time(last));
    }
    span
}

/// Latest time that at least 10% of the tokens, and at least two, have reached; a few rows of one token don't move it.
fn reached(mut ends: Vec<i64>) -> Option<i64> {
    ends.sort_unstable_by(|a, b| b.cmp(a));
    let place = (ends.len() / REACHED_SHARE).max(REACHED_MIN) - 1;
    ends.get(place.min(ends.len().checked_sub(1)?)).copied()
}

/// The deployment, if it has a time. Otherwise the first row, unless the data itself begins within a day before it, or many tokens' rows
/// begin on the same day: then earlier rows may be missing.
fn launches(data: &dyn Data, tokens: &[Token], first_rows: &[Option<i64>]) -> Vec<Option<Time>> {
    let begin = first_rows.iter().flatten().min().copied();
    let day = |time: i64| time.div_euclid(DAY_MS);
    let mut on_day: HashMap<i64, usize> = HashMap::new();
    for first in first_rows.iter().flatten() {
        *on_day.entry(day(*first)).or_default() += 1;
    }
    let known = first_rows.iter().flatten().count();
    let together = |first: i64| {
        let count = on_day.get(&day(first)).copied().unwrap_or_default();
        count >= BEGIN_TOGETHER && count * REACHED_SHARE >= known
    };
    let launch = |(token, first): (&Token, &Option<i64>)| {
        let deployed = data.created_at(&token.row.token_address).map(|it| it.0);
        let first = first.filter(|first| {
            deployed.is_some() || (!together(*first) && begin.is_some_and(|it| first - it > DAY_MS))
        });
        deployed.into_iter().chain(first).min().map(Time)
    };
    tokens.iter().zip(first_rows).map(launch).collect()
}

/// A dataset and the first time that is too late.
#[derive(Debug, Clone, Copy)]
struct Moment<'a> {
    data: &'a dyn Data,
    evidence: &'a DatedEvidence,
    end: i64,
}

impl Moment<'_> {
    fn is_over(&self, time: Option<Time>) -> bool {
        time.is_some_and(|time| time.0 < self.end)
    }
}

/// One token's dataset as it was known at a time.
#[derive(Debug)]
pub struct KnownAt<'a> {
    moment: Moment<'a>,
    token: Token,
    creator: Option<Address>,
    deployed: Vec<(Address, Option<Time>)>,
    transfers: Until<'a, TransferRow>,
    pool_events: Until<'a, PoolEventRow>,
    contracts: Until<'a, ContractRow>,
    scams: Until<'a, ScamRow>,
}

impl<'a> KnownAt<'a> {
    /// For the token at index `place` of `tokens()`: rows before `time`.
    pub fn new(data: &'a dyn Data, evidence: &'a DatedEvidence, place: usize, time: Time) -> Self {
        let moment = Moment {
            data,
            evidence,
            end: time.0,
        };
        let mut token = evidence.tokens[place].clone();
        let given = &data.tokens()[place];
        if moment.is_over(given.dates.total_supply) {
            token.row.total_supply = given.row.total_supply;
        }
        let mut known = Self {
            moment,
            creator: None,
            deployed: Vec::new(),
            transfers: Until::new(
                moment,
                |data| data.transfers(),
                |moment, _, row| moment.is_over(row.timestamp).then_some(row),
            ),
            pool_events: Until::new(
                moment,
                |data| data.pool_events(),
                |moment, _, row| moment.is_over(Some(row.timestamp)).then_some(row),
            ),
            contracts: Until::new(moment, |data| data.contracts(), contract),
            scams: Until::new(
                moment,
                |data| data.scams(),
                |moment, _, row| moment.is_over(row.reported_at).then_some(row),
            ),
            token,
        };
        known.scams.may_be_known = evidence.has_dated_scams;
        let row = known.contracts.first(&known.token.row.token_address);
        known.creator = row.and_then(|row| row.creator);
        if let Some(creator) = known.creator {
            let all = data.contracts_by(&creator).iter().copied();
            known.deployed = all.filter(|(_, time)| moment.is_over(*time)).collect();
        }
        known
    }

    /// The token, with its total supply if it was known.
    pub fn token(&self) -> &Token {
        &self.token
    }
}

/// The contract if it was deployed by then, or if the token had rows by then. Its code never changes; its owner, its storage and whether its
/// source is published may be of a later time. The source counts as published, so that its absence is no finding.
fn contract(moment: &Moment<'_>, address: &Address, row: ContractRow) -> Option<ContractRow> {
    let data = moment.data;
    let first_row = || moment.evidence.first_rows[data.token_position(address)?].map(Time);
    let is_known = moment.is_over(row.created_at.or_else(first_row));
    is_known.then_some(ContractRow {
        source: None,
        storage: None,
        owner: None,
        is_verified: Some(true),
        ..row
    })
}

type RowsIn<T> = for<'d> fn(&'d dyn Data) -> &'d dyn AddressRows<T>;

/// The rows of a table that were known; they come first.
struct Until<'a, T> {
    moment: Moment<'a>,
    of: RowsIn<T>,
    known: fn(&Moment<'_>, &Address, T) -> Option<T>,
    /// False if no row has a time.
    may_be_known: bool,
}

impl<T> fmt::Debug for Until<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows before {}", self.moment.end)
    }
}

impl<'a, T> Until<'a, T> {
    fn new(
        moment: Moment<'a>,
        of: RowsIn<T>,
        known: fn(&Moment<'_>, &Address, T) -> Option<T>,
    ) -> Self {
        Self {
            moment,
            of,
            known,
            may_be_known: true,
        }
    }

    fn rows(&self) -> &'a dyn AddressRows<T> {
        (self.of)(self.moment.data)
    }
}

impl<T> AddressRows<T> for Until<'_, T> {
    fn is_empty(&self) -> bool {
        let is_known = |address: &Address| self.row(address, 0).is_some();
        !self.may_be_known || !self.rows().addresses().iter().any(is_known)
    }

    fn addresses(&self) -> Vec<Address> {
        let mut all = self.rows().addresses();
        all.retain(|address| self.row(address, 0).is_some());
        all
    }

    fn count(&self, address: &Address) -> usize {
        let (mut known, mut end) = (0, self.rows().count(address));
        while known < end {
            let middle = known.midpoint(end);
            if self.row(address, middle).is_some() {
                known = middle + 1;
            } else {
                end = middle;
            }
        }
        known
    }

    fn chunks(&self, address: &Address) -> Box<dyn Iterator<Item = Vec<T>> + '_> {
        let address = *address;
        let known = move |rows: Vec<T>| -> Vec<T> {
            let known = |row| (self.known)(&self.moment, &address, row);
            rows.into_iter().map_while(known).collect()
        };
        let chunks = self.rows().chunks(&address).map(known);
        Box::new(chunks.take_while(|rows| !rows.is_empty()))
    }

    fn row(&self, address: &Address, i: usize) -> Option<T> {
        (self.known)(&self.moment, address, self.rows().row(address, i)?)
    }

    fn text(&self, address: &Address, i: usize, column: &str) -> Option<String> {
        self.row(address, i)?;
        FACTS
            .contains(&column)
            .then(|| self.rows().text(address, i, column))?
    }
}

#[derive(Debug)]
struct NoRows;

impl BalanceRows for NoRows {
    fn count(&self) -> usize {
        0
    }

    fn balances(&self) -> Box<dyn Iterator<Item = (Address, Option<f64>)> + '_> {
        Box::new(std::iter::empty())
    }
}

impl PostRows for NoRows {
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

/// Tables without times.
macro_rules! undated {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, _: $type)*) -> $answer {
            Default::default()
        })*
    };
}

impl Data for KnownAt<'_> {
    undated! {
        fn own_cells(&self, place: usize) -> Vec<(&'static str, Scalar<'static>)>;
        fn lacks_history(&self, table: &str) -> bool;
        fn kols_of(&self, token: &Address) -> &[KolRow];
        fn newest_post(&self) -> Option<Time>;
        fn accounts_of(&self, token: &Address) -> &[AccountRow];
        fn people(&self) -> &[PersonRow];
        fn follows(&self) -> &[FollowRow];
        fn reactions(&self) -> &[ReactionRow];
        fn social(&self) -> SocialSettings;
        fn holders_listed(&self, token: &Address) -> u64;
        fn holders_held(&self, token: &Address) -> u64;
        fn candle_source(&self, token: &Address, interval: Interval) -> Option<String>;
        fn labels_of(&self, address: &Address) -> &[LabelRow];
        fn dexes(&self) -> &[DexRow];
        fn fee_tiers(&self) -> &[FeeTierRow];
        fn transfers_left_out(&self, token: &Address) -> u64;
        fn locks_of(&self, token: &Address) -> &[LockRow];
        fn disputes_of(&self, token: &Address) -> &[DisputeRow];
        fn yields(&self) -> &[YieldRow];
        fn yield_days_of(&self, pool: &str) -> &[YieldDay];
        fn gas_of(&self, chain: &Chain) -> Option<&GasRow>;
        fn chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)>;
        fn earlier_chain_state_of(&self, token: &Address) -> Option<(Chain, Arc<dyn ChainState>)>;
    }

    fn tokens(&self) -> &[Token] {
        &self.moment.evidence.tokens
    }

    fn token_position(&self, address: &Address) -> Option<usize> {
        self.moment.data.token_position(address)
    }

    fn has(&self, table: &str) -> bool {
        DATED.contains(&table) && self.moment.data.has(table)
    }

    fn is_unreadable(&self, table: &str) -> bool {
        DATED.contains(&table) && self.moment.data.is_unreadable(table)
    }

    fn is_approximate(&self, table: &str, column: &str) -> bool {
        self.moment.data.is_approximate(table, column)
    }

    fn posts_of(&self, _: &Address) -> Box<dyn PostRows + '_> {
        Box::new(NoRows)
    }

    fn holding_of(&self, _: &Address) -> Holding<'_> {
        Holding::new(Box::new(NoRows), None)
    }

    fn holder_counts_of(&self, token: &Address) -> DayCounts<'_> {
        // A day is known once it is over.
        let mut last = Time(self.moment.end).day();
        last.0 -= 1;
        self.moment.data.holder_counts_of(token).until(last)
    }

    fn candles_of(&self, token: &Address) -> ChartCandles<'_> {
        let ChartCandles::Here(mut series) = self.moment.data.candles_of(token) else {
            return ChartCandles::default();
        };
        for (interval, candles) in &mut series {
            let is_over = |start: &i64| start + interval.0 <= self.moment.end;
            let count = candles.timestamp.partition_point(is_over);
            *candles = candles.part(0..count);
        }
        ChartCandles::Here(series)
    }

    fn recent_candles(&self, token: &Address, span: i64) -> (Vec<(Interval, Candles<'_>)>, bool) {
        let ChartCandles::Here(mut series) = self.candles_of(token) else {
            return Default::default();
        };
        for (_, candles) in &mut series {
            *candles = candles.last(span);
        }
        (series, false)
    }

    fn latest_close(&self, token: &Address) -> Option<(Time, f64)> {
        latest_close(&self.candles_of(token).series())
    }

    fn pools_of(&self, token: &Address) -> Box<dyn Iterator<Item = &PoolRow> + '_> {
        let pools = self.moment.evidence.pools(token).iter();
        let known = pools.filter(|(since, _)| *since < self.moment.end);
        Box::new(known.map(|(_, pool)| pool))
    }

    fn transfers(&self) -> &dyn AddressRows<TransferRow> {
        &self.transfers
    }

    fn transfers_listed(&self, token: &Address) -> u64 {
        self.transfers.count(token) as u64
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

    fn contracts_by(&self, creator: &Address) -> &[(Address, Option<Time>)] {
        if self.creator == Some(*creator) {
            &self.deployed
        } else {
            &[]
        }
    }

    fn created_at(&self, contract: &Address) -> Option<Time> {
        let created = self.moment.data.created_at(contract);
        created.filter(|time| time.0 < self.moment.end)
    }

    fn funders_of(&self, address: &Address) -> &[FundingRow] {
        let rows = self.moment.data.funders_of(address);
        let known = |row: &&FundingRow| self.moment.is_over(row.timestamp);
        &rows[..rows.iter().take_while(known).count()]
    }
}
