//! A dataset: one immutable snapshot of its tables, with typed access by token. A reload builds a new `Dataset`; a finished one never
//! changes. Reading files belongs to `loader`, interpreting values to the analyses.

mod as_data;
mod as_of;
mod balances;
mod builder;
mod by_token;
pub mod candle_table;
pub mod cells;
pub mod chain;
pub mod check;
mod count_table;
pub mod engine;
pub mod engine_rows;
mod error;
pub mod file_names;
pub mod formats;
pub mod live;
pub mod live_files;
mod loaded;
pub mod loader;
pub mod manifest;
mod newest;
pub mod part_files;
pub mod provenance;
pub mod provider;
pub mod rows_by_address;
pub mod sample;
pub mod watch;
pub mod yields;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use polars::prelude::{Column, DataFrame};

pub use self::{
    as_of::AsOf,
    by_token::RowsOf,
    error::ReadError,
    loaded::{RemoteOrigin, SourcePosition, Table},
};
use crate::{
    by_token::Typed, candle_table::CandleTable, chain::ChainStates, count_table::CountTable,
    rows_by_address::RowsByAddress,
};
use frames::rows::Frames as _;
pub use frames::{error::FrameError, report::TableFile};
use model::{
    address::Address,
    day_counts::DayCounts,
    field_hash::FieldHash,
    names,
    rows::{
        AccountRow, ContractRow, CreationRow, DexRow, DisputeRow, FeeTierRow, FollowRow,
        FromColumns, FundingRow, GasRow, HolderRow, KolRow, LabelRow, LockRow, PersonRow,
        PoolEventRow, PoolRow, Post, ReactionRow, ScamRow, TransferRow, YieldRow,
    },
    scalar::Scalar,
    schema::{TABLES, TableSchema},
    social::{self, SocialSettings},
    table_state::TableState,
    time::Time,
    token::{ExtraColumn, Token, merge_tokens},
    yield_rows::YieldDay,
};
use table::TableRows;
pub use table::error::TableError;

/// Short hash of all tables and columns that a dataset may have: programs with the same hash read a dataset in the same way.
pub fn schema_hash() -> String {
    FieldHash::of(TABLES.iter().map(TableSchema::text)).file_name()[..8].to_owned()
}

/// One snapshot of the loaded data.
#[derive(Debug, Default)]
pub struct Dataset {
    pub title: Option<String>,
    pub license: Option<String>,
    /// Whether the dataset is synthetic, which the terminal's header shows.
    pub synthetic: bool,
    /// The folder it was loaded from.
    pub folder: PathBuf,
    /// Hash of every source file's path, size, modification time, head and tail; equal for equal data.
    pub identity: [u8; 32],
    /// Large tables that are still being imported into the cache: absent from this snapshot, present in the next.
    pub importing: Vec<&'static str>,
    /// One entry per table of the schema, in schema order.
    pub tables: Vec<Table>,
    tokens: Vec<Token>,
    token_index: HashMap<Address, usize>,
    token_others: DataFrame,
    own_columns: Vec<ExtraColumn>,
    /// The `[social]` section of `dataset.toml`.
    pub social: SocialSettings,
    kols: Typed<KolRow>,
    accounts: Typed<AccountRow>,
    people: Vec<PersonRow>,
    follows: Vec<FollowRow>,
    reactions: Vec<ReactionRow>,
    posts: Arc<TableRows>,
    posts_newest: newest::Newest,
    holders: Arc<TableRows>,
    holder_counts: CountTable,
    candles: CandleTable,
    labels: Typed<LabelRow>,
    dexes: Vec<DexRow>,
    fee_tiers: Vec<FeeTierRow>,
    pools: Vec<PoolRow>,
    pool_index: HashMap<Address, Vec<u32>>,
    transfers: RowsByAddress<TransferRow>,
    pool_events: RowsByAddress<PoolEventRow>,
    contracts: RowsByAddress<ContractRow>,
    /// Contracts by deployer.
    creations: Creations,
    created: HashMap<Address, Time>,
    scams: RowsByAddress<ScamRow>,
    locks: Typed<LockRow>,
    disputes: Typed<DisputeRow>,
    /// Funding transfers by recipient.
    funding: Typed<FundingRow>,
    yields: Vec<YieldRow>,
    yield_days: HashMap<String, Vec<YieldDay>>,
    /// The time that the dataset is as of; `None` for the present.
    pub as_of: Option<AsOf>,
    gas: Vec<GasRow>,
    /// State of the chain's tokens as a node returns it.
    chain_states: Option<Arc<ChainStates>>,
}

impl Dataset {
    /// Builds the typed access over the loaded `tables`; schema tables missing from the list are absent.
    pub fn new(tables: Vec<Table>) -> Self {
        let mut given: HashMap<&str, Table> = tables
            .into_iter()
            .map(|table| (table.schema.name, table))
            .collect();
        let tables: Vec<Table> = TABLES
            .iter()
            .map(|schema| {
                given
                    .remove(schema.name)
                    .unwrap_or_else(|| Table::absent(schema))
            })
            .collect();
        let mut dataset = Self {
            tables,
            ..Self::default()
        };
        let tokens = merge_tokens(dataset.rows("tokens"));
        dataset.token_index = tokens
            .iter()
            .enumerate()
            .map(|(i, token)| (token.row.token_address, i))
            .collect();
        let own: Vec<&str> = dataset
            .table("tokens")
            .into_iter()
            .flat_map(Table::own_columns)
            .map(|column| column.name)
            .collect();
        if let Some(table) = dataset.table("tokens").filter(|_| !own.is_empty()) {
            let addresses: Vec<String> = tokens
                .iter()
                .map(|token| token.row.token_address.to_string())
                .collect();
            let others = table.rows.slice(0..table.height(), Some(&own));
            let others = crate::loader::others::by_token(&table.frame(), &others, &addresses);
            let own = |column: &Column| {
                Some(ExtraColumn {
                    name: names::intern(column.name())?,
                    kind: frames::memory::kind_of(column),
                })
            };
            dataset.own_columns = others.columns().iter().filter_map(own).collect();
            dataset.token_others = others;
        }
        dataset.tokens = tokens;
        let mut pools: Vec<PoolRow> = dataset.rows("pools");
        for (i, pool) in pools.iter_mut().enumerate() {
            pool.tokens = pool.every_token();
            for token in &pool.tokens {
                dataset.pool_index.entry(*token).or_default().push(i as u32);
            }
        }
        dataset.pools = pools;
        dataset.candles = dataset
            .table("candles")
            .map(CandleTable::new)
            .unwrap_or_default();
        dataset.kols = dataset.typed("kols");
        dataset.posts = dataset.rows_of_table("posts");
        dataset.holders = dataset.rows_of_table("holders");
        dataset.holder_counts = dataset
            .table("holder_counts")
            .map(CountTable::new)
            .unwrap_or_default();
        dataset.accounts = dataset.typed("accounts").map(social::own_account);
        dataset.people = dataset.rows("people");
        dataset.follows = dataset.rows("follows");
        dataset.reactions = dataset.rows("reactions");
        dataset.labels = dataset.typed("labels");
        dataset.locks = dataset.typed("locks");
        dataset.disputes = dataset.typed("disputes");
        dataset.funding = dataset.typed("funding");
        dataset.dexes = dataset.rows("dexes");
        dataset.fee_tiers = dataset.rows("fee_tiers");
        dataset.yields = dataset.rows("yields");
        dataset.gas = dataset.rows("gas");
        dataset.transfers = dataset.runs("transfers");
        dataset.pool_events = dataset.runs("pool_events");
        dataset.contracts = dataset.runs("contracts");
        dataset.scams = dataset.runs("scams");
        (dataset.creations, dataset.created) = creations(dataset.rows("contracts"));
        dataset
    }

    /// Typed rows of the table `name`; empty where it is not loaded.
    fn rows<T: FromColumns>(&self, name: &str) -> Vec<T> {
        self.table(name).map_or_else(Vec::new, Table::typed)
    }

    /// Typed rows of the table `name`, read on demand; empty where it is not loaded.
    fn runs<T: FromColumns>(&self, name: &str) -> RowsByAddress<T> {
        self.table(name)
            .map_or_else(RowsByAddress::default, RowsByAddress::new)
    }

    /// Typed rows of the small table `name` by the address that it is ordered by.
    fn typed<T: FromColumns>(&self, name: &str) -> Typed<T> {
        self.table(name).map_or_else(Typed::default, Typed::new)
    }

    fn rows_of_table(&self, name: &str) -> Arc<TableRows> {
        self.table(name)
            .map(|table| Arc::clone(&table.rows))
            .unwrap_or_default()
    }

    /// All tokens, each once, ordered by address.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub fn token(&self, address: &Address) -> Option<&Token> {
        self.token_index.get(address).map(|&i| &self.tokens[i])
    }

    /// Columns of `tokens` outside the schema, typed: one row per token of `tokens()`.
    pub fn token_others(&self) -> &DataFrame {
        &self.token_others
    }

    /// Names and types of the columns of `token_others`.
    pub fn own_columns(&self) -> &[ExtraColumn] {
        &self.own_columns
    }

    /// Non-empty cells outside the schema of the token at index `place` of `tokens()`.
    pub fn own_cells(&self, place: usize) -> Vec<(&'static str, Scalar<'static>)> {
        let cell = |column: &ExtraColumn| {
            (
                column.name,
                frames::cell::in_frame(&self.token_others, column.name, place),
            )
        };
        self.own_columns
            .iter()
            .map(cell)
            .filter(|(_, value)| *value != Scalar::Missing)
            .collect()
    }

    /// Whether `dataset.toml` declares the column approximate.
    pub fn is_approximate(&self, table: &str, column: &str) -> bool {
        self.table(table)
            .is_some_and(|table| table.approximate.iter().any(|name| name == column))
    }

    /// Index of the token in `tokens`.
    pub fn token_position(&self, address: &Address) -> Option<usize> {
        self.token_index.get(address).copied()
    }

    pub fn kols_of(&self, token: &Address) -> &[KolRow] {
        self.kols.of(token)
    }

    /// The token's posts, newest first.
    pub fn posts_of(&self, token: &Address) -> RowsOf<'_, Post> {
        RowsOf::of(&self.posts, token)
    }

    /// All posts, ordered by token.
    pub fn posts(&self) -> RowsOf<'_, Post> {
        RowsOf::all(&self.posts)
    }

    /// When the newest post was published.
    pub fn newest_post(&self) -> Option<Time> {
        match self.posts.extent("published_at", 0..self.posts.height())? {
            table::Extent::Whole(_, newest) => Some(Time(newest)),
            table::Extent::Empty | table::Extent::Float(..) => None,
        }
    }

    /// Order of all `posts`, newest first. The first call sorts them: `step` receives (done, total), and its error aborts the sort.
    pub fn posts_newest<E: From<std::io::Error>>(
        &self,
        step: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<table::RowSelection, E> {
        self.posts_newest.places(&self.posts, step)
    }

    /// The token's own social accounts, ordered by platform and account.
    pub fn accounts_of(&self, token: &Address) -> &[AccountRow] {
        self.accounts.of(token)
    }

    /// Authors, followers and reactors, ordered by platform and id.
    pub fn people(&self) -> &[PersonRow] {
        &self.people
    }

    /// Followers of the accounts, ordered by platform, account and follower.
    pub fn follows(&self) -> &[FollowRow] {
        &self.follows
    }

    /// Reactions to posts, ordered by platform, post and author.
    pub fn reactions(&self) -> &[ReactionRow] {
        &self.reactions
    }

    /// How the dataset counts social metrics.
    pub fn social(&self) -> SocialSettings {
        self.social
    }

    /// The token's holders, largest balance first.
    pub fn holders_of(&self, token: &Address) -> RowsOf<'_, HolderRow> {
        RowsOf::of(&self.holders, token)
    }

    /// The token's holder counts, oldest first.
    pub fn holder_counts_of(&self, token: &Address) -> DayCounts<'_> {
        self.holder_counts.of(token)
    }

    pub fn candles(&self) -> &CandleTable {
        &self.candles
    }

    pub fn labels_of(&self, address: &Address) -> &[LabelRow] {
        self.labels.of(address)
    }

    /// Whether the address has the label, ignoring ASCII case.
    pub fn is_labelled(&self, address: &Address, label: &str) -> bool {
        self.labels_of(address)
            .iter()
            .any(|row| row.label.eq_ignore_ascii_case(label))
    }

    pub fn dexes(&self) -> &[DexRow] {
        &self.dexes
    }

    pub fn fee_tiers(&self) -> &[FeeTierRow] {
        &self.fee_tiers
    }

    /// The pools that hold the token.
    pub fn pools_of<'a>(&'a self, token: &Address) -> impl Iterator<Item = &'a PoolRow> + use<'a> {
        let list = self.pool_index.get(token).map_or(&[][..], Vec::as_slice);
        list.iter().map(|&i| &self.pools[i as usize])
    }

    pub fn pools(&self) -> &[PoolRow] {
        &self.pools
    }

    /// Transfers by token, oldest first, those without a time last.
    pub fn transfers(&self) -> &RowsByAddress<TransferRow> {
        &self.transfers
    }

    /// Events by pool, oldest first.
    pub fn pool_events(&self) -> &RowsByAddress<PoolEventRow> {
        &self.pool_events
    }

    /// Contract code by token.
    pub fn contracts(&self) -> &RowsByAddress<ContractRow> {
        &self.contracts
    }

    /// Contracts deployed by the address, each with its deployment time, ordered by contract address.
    pub fn contracts_by(&self, creator: &Address) -> &[(Address, Option<Time>)] {
        self.creations.get(creator).map_or(&[], Vec::as_slice)
    }

    /// Deployment time of the contract.
    pub fn created_at(&self, contract: &Address) -> Option<Time> {
        self.created.get(contract).copied()
    }

    /// Known scams, by address.
    pub fn scams(&self) -> &RowsByAddress<ScamRow> {
        &self.scams
    }

    /// Locks of the token (or of a pool's liquidity tokens), by locker.
    pub fn locks_of(&self, token: &Address) -> &[LockRow] {
        self.locks.of(token)
    }

    /// Findings about the token that the user disputes.
    pub fn disputes_of(&self, token: &Address) -> &[DisputeRow] {
        self.disputes.of(token)
    }

    /// Funding transfers to the address, first payment first.
    pub fn funders_of(&self, address: &Address) -> &[FundingRow] {
        self.funding.of(address)
    }

    /// The chain state that a node returns, if it is the token's chain.
    pub fn chain_states_of(&self, token: &Address) -> Option<&Arc<ChainStates>> {
        self.chain_states.as_ref().filter(|states| {
            self.token(token)
                .is_some_and(|token| states.is_of(&token.chains))
        })
    }

    /// The chain state from the node that `dataset.toml` names for contracts.
    pub fn chain_states(&self) -> Option<&Arc<ChainStates>> {
        self.chain_states.as_ref()
    }

    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.schema.name == name)
    }

    fn table_mut(&mut self, name: &str) -> Option<&mut Table> {
        self.tables
            .iter_mut()
            .find(|table| table.schema.name == name)
    }

    /// Whether a table in the cache or at an engine turned out to be damaged after it was loaded: results from it must not be used.
    pub fn is_damaged(&self) -> bool {
        self.tables.iter().any(Table::is_damaged)
    }

    pub fn has(&self, name: &str) -> bool {
        self.table(name).is_some_and(Table::loaded)
    }

    /// Whether the table exists and could not be read.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.table(name)
            .is_some_and(|table| matches!(table.state, TableState::Unusable(_)))
    }

    /// Reason why the dataset has no rows of the table, for the user; `None` if the table is loaded.
    pub fn absence_reason(&self, name: &str) -> Option<String> {
        match self.table(name).map(|table| &table.state) {
            Some(TableState::Loaded) => None,
            Some(TableState::Unusable(reason)) => {
                Some(format!("The `{name}` table is unusable: {reason}."))
            }
            Some(TableState::Absent) | None => Some(format!(
                "The dataset has no `{name}` table; add {name}.csv or {name}.parquet to its folder."
            )),
        }
    }
}

/// Contracts by deployer, each with its deployment time.
type Creations = HashMap<Address, Vec<(Address, Option<Time>)>>;

/// Returns contracts by deployer, and deployment times by contract; the code itself is not read.
fn creations(rows: Vec<CreationRow>) -> (Creations, HashMap<Address, Time>) {
    let (mut all, mut times) = (Creations::new(), HashMap::new());
    for row in rows {
        times.extend(row.created_at.map(|created| (row.token_address, created)));
        if let Some(creator) = row.creator {
            all.entry(creator)
                .or_default()
                .push((row.token_address, row.created_at));
        }
    }
    (all, times)
}
