//! A dataset: one immutable generation of tables, with typed access by token. A new generation is a new `Dataset`; nothing here
//! changes after it is built. Reading files is `load`'s; what figures mean is the analyses'.

pub mod address;
pub mod candles;
pub mod chain;
mod coerce;
pub mod demo;
pub mod export;
pub mod findings;
pub mod import;
pub mod load;
pub mod manifest;
pub mod progress;
pub mod rows;
#[cfg(test)]
pub(crate) mod sample;
pub mod schema;
pub mod source;
pub mod time;
pub mod watch;

use std::{collections::HashMap, ops::Range, path::PathBuf};

use polars::prelude::DataFrame;

use self::{
    address::Address,
    candles::CandleTable,
    chain::Chain,
    findings::Findings,
    rows::{DexRow, FeeTierRow, FromFrame, HolderCountRow, HolderRow, KolRow, LabelRow, PoolRow, Post, TokenRow},
    schema::{TABLES, TableSchema},
    time::Time,
};

/// One generation of the analyst's data.
#[derive(Debug, Default)]
pub struct Dataset {
    pub title: Option<String>,
    pub license: Option<String>,
    /// The data are invented: the terminal's header says so.
    pub synthetic: bool,
    /// The folder it was read from.
    pub folder: PathBuf,
    /// Hash of what every source file is (path, size, time, head and tail); equal for equal data.
    pub identity: [u8; 32],
    /// One entry for every table of the schema, in its order.
    pub tables: Vec<Table>,
    tokens: Vec<Token>,
    token_index: HashMap<Address, usize>,
    kols: ByToken<KolRow>,
    posts: ByToken<Post>,
    posts_newest: Vec<u32>,
    holders: ByToken<HolderRow>,
    holder_counts: ByToken<HolderCountRow>,
    candles: CandleTable,
    labels: ByToken<LabelRow>,
    dexes: Vec<DexRow>,
    fee_tiers: Vec<FeeTierRow>,
    pools: Vec<PoolRow>,
    pool_index: HashMap<Address, Vec<u32>>,
}

/// A table of the dataset as it was loaded, for the generic faces (Data view, `/datasets`, exports).
#[derive(Debug, Clone)]
pub struct Table {
    pub schema: &'static TableSchema,
    /// Schema columns only, in canonical types (see `load`), ordered and without repeated keys; empty when `state` is not `Loaded`.
    pub frame: DataFrame,
    pub state: TableState,
    pub sources: Vec<Source>,
    pub findings: Findings,
    /// Rows that were set aside.
    pub rows_bad: u64,
    /// How long it took to load, milliseconds.
    pub load_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableState {
    Loaded,
    /// No file of that name, and `dataset.toml` names none.
    Absent,
    /// It was there and could not be used; the reason, for the person.
    Unusable(String),
}

/// A file that rows came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Relative to the dataset's folder where it lies in it.
    pub file: String,
    pub bytes: u64,
    pub modified: Option<Time>,
    /// Rows in the file, those set aside and left out by `where` included.
    pub rows: u64,
}

/// A token: its rows of every chain as one. The row with the largest market cap gives the figures, the others fill its gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub row: TokenRow,
    /// Every chain it lives on, that of the naming row first.
    pub chains: Vec<Chain>,
}

impl Table {
    pub fn absent(schema: &'static TableSchema) -> Self {
        Self {
            schema,
            frame: DataFrame::default(),
            state: TableState::Absent,
            sources: Vec::new(),
            findings: Findings::default(),
            rows_bad: 0,
            load_ms: 0,
        }
    }

    pub fn loaded(&self) -> bool {
        self.state == TableState::Loaded
    }
}

impl Dataset {
    /// Builds the typed access over the loaded `tables`; those of the schema that are not among them are absent.
    pub fn new(tables: Vec<Table>) -> Self {
        let mut given: HashMap<&str, Table> = tables.into_iter().map(|table| (table.schema.name, table)).collect();
        let tables: Vec<Table> = TABLES.iter().map(|schema| given.remove(schema.name).unwrap_or_else(|| Table::absent(schema))).collect();
        let mut dataset = Self { tables, ..Self::default() };
        let tables = &dataset.tables;
        let tokens = merge_tokens(rows(tables, "tokens"));
        let pools: Vec<PoolRow> = rows(tables, "pools");
        let posts = ByToken::new(rows(tables, "posts"), |post: &Post| post.token_address);
        let candles = tables.iter().find(|table| table.schema.name == "candles").map(|table| CandleTable::new(&table.frame));
        dataset.kols = ByToken::new(rows(tables, "kols"), |row: &KolRow| row.token_address);
        dataset.holders = ByToken::new(rows(tables, "holders"), |row: &HolderRow| row.token_address);
        dataset.holder_counts = ByToken::new(rows(tables, "holder_counts"), |row: &HolderCountRow| row.token_address);
        dataset.labels = ByToken::new(rows(tables, "labels"), |row: &LabelRow| row.address);
        dataset.dexes = rows(tables, "dexes");
        dataset.fee_tiers = rows(tables, "fee_tiers");
        dataset.posts_newest = newest_first(&posts.rows);
        dataset.posts = posts;
        dataset.token_index = tokens.iter().enumerate().map(|(i, token)| (token.row.token_address, i)).collect();
        dataset.tokens = tokens;
        for (i, pool) in pools.iter().enumerate() {
            for token in [pool.token0, pool.token1] {
                let list = dataset.pool_index.entry(token).or_default();
                if list.last() != Some(&(i as u32)) {
                    list.push(i as u32);
                }
            }
        }
        dataset.pools = pools;
        dataset.candles = candles.unwrap_or_default();
        dataset
    }

    /// Every token once, by address.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub fn token(&self, address: &Address) -> Option<&Token> {
        self.token_index.get(address).map(|&i| &self.tokens[i])
    }

    /// Where the token stands in `tokens`.
    pub fn token_position(&self, address: &Address) -> Option<usize> {
        self.token_index.get(address).copied()
    }

    pub fn kols_of(&self, token: &Address) -> &[KolRow] {
        self.kols.of(token)
    }

    /// The token's posts, newest first.
    pub fn posts_of(&self, token: &Address) -> &[Post] {
        self.posts.of(token)
    }

    /// Every post, newest first.
    pub fn posts_newest(&self) -> impl ExactSizeIterator<Item = &Post> {
        self.posts_newest.iter().map(|&i| &self.posts.rows[i as usize])
    }

    /// The token's holders, largest balance first.
    pub fn holders_of(&self, token: &Address) -> &[HolderRow] {
        self.holders.of(token)
    }

    /// The token's holder counts, oldest first.
    pub fn holder_counts_of(&self, token: &Address) -> &[HolderCountRow] {
        self.holder_counts.of(token)
    }

    pub fn candles(&self) -> &CandleTable {
        &self.candles
    }

    pub fn labels_of(&self, address: &Address) -> &[LabelRow] {
        self.labels.of(address)
    }

    /// Whether the address carries the label, in any letter case.
    pub fn is_labelled(&self, address: &Address, label: &str) -> bool {
        self.labels_of(address).iter().any(|row| row.label.eq_ignore_ascii_case(label))
    }

    pub fn dexes(&self) -> &[DexRow] {
        &self.dexes
    }

    pub fn fee_tiers(&self) -> &[FeeTierRow] {
        &self.fee_tiers
    }

    /// The pools that hold the token.
    pub fn pools_of(&self, token: &Address) -> impl Iterator<Item = &PoolRow> {
        let list = self.pool_index.get(token).map_or(&[][..], Vec::as_slice);
        list.iter().map(|&i| &self.pools[i as usize])
    }

    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.schema.name == name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.table(name).is_some_and(Table::loaded)
    }
}

/// The typed rows of the table `name`; none when it is not loaded.
fn rows<T: FromFrame>(tables: &[Table], name: &str) -> Vec<T> {
    tables.iter().find(|table| table.schema.name == name).map_or_else(Vec::new, |table| T::rows(&table.frame))
}

/// Rows ordered by token, and where each token's lie.
#[derive(Debug)]
struct ByToken<T> {
    rows: Vec<T>,
    index: HashMap<Address, Range<usize>>,
}

impl<T> Default for ByToken<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), index: HashMap::new() }
    }
}

impl<T> ByToken<T> {
    fn new(rows: Vec<T>, token: impl Fn(&T) -> Address) -> Self {
        let mut index = HashMap::new();
        let mut start = 0;
        for end in 1..=rows.len() {
            if end == rows.len() || token(&rows[end]) != token(&rows[start]) {
                index.insert(token(&rows[start]), start..end);
                start = end;
            }
        }
        Self { rows, index }
    }

    fn of(&self, token: &Address) -> &[T] {
        self.index.get(token).map_or(&[], |range| &self.rows[range.clone()])
    }
}

/// Positions of the posts, newest first, ties by id.
fn newest_first(posts: &[Post]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..posts.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&posts[a as usize], &posts[b as usize]);
        b.published_at.cmp(&a.published_at).then_with(|| a.post_id.cmp(&b.post_id))
    });
    order
}

/// One token an address. The row with the largest market cap names it; the others fill what it lacks.
fn merge_tokens(mut rows: Vec<TokenRow>) -> Vec<Token> {
    let cap = |row: &TokenRow| row.market_cap.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| a.token_address.cmp(&b.token_address).then(cap(b).total_cmp(&cap(a))));
    let mut tokens: Vec<Token> = Vec::with_capacity(rows.len());
    for row in rows {
        match tokens.last_mut() {
            Some(token) if token.row.token_address == row.token_address => token.absorb(row),
            _ => tokens.push(Token { chains: row.chain.clone(), row }),
        }
    }
    tokens
}

impl Token {
    fn absorb(&mut self, other: TokenRow) {
        for chain in other.chain {
            if !self.chains.contains(&chain) {
                self.chains.push(chain);
            }
        }
        let row = &mut self.row;
        macro_rules! fill {
            ($($field:ident)*) => { $(row.$field = row.$field.take().or(other.$field);)* };
        }
        fill!(symbol name decimals price market_cap total_supply holders followers smart_followers impressions smart_reach
            post_engagement smart_engagement listed);
    }
}
