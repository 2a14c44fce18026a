//! The tokens of a demo market, and data shared by the tables: last prices, supplies, addresses, chains, pools.

use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};

use super::{
    DemoOptions,
    facts::{DOLLAR, FACTS, RealToken},
    invented::invention,
    pools::{self, DemoPool},
    random::{Random, round},
};
use model::{
    address::Address,
    time::{DAY_MS, Day},
};

/// End of the demo's time, independent of the current date: 2026-11-15T00:00Z.
pub(super) const END_DAY: Day = Day(20_772);
/// Number of leading tokens, which have hourly candles.
pub(super) const LEADERS: usize = 10;
pub(super) const END_MS: i64 = END_DAY.0 as i64 * DAY_MS;

#[derive(Debug, Clone)]
pub(super) struct DemoToken {
    pub(super) index: usize,
    /// Index of its asset.
    pub(super) asset_index: usize,
    pub(super) address: Address,
    pub(super) symbol: String,
    pub(super) name: String,
    pub(super) chains: Vec<&'static str>,
    pub(super) decimals: i64,
    /// The last close.
    pub(super) price: f64,
    pub(super) supply: f64,
    /// Tokens of one asset share a price path.
    pub(super) asset: String,
    pub(super) real: bool,
    pub(super) stable: bool,
}

impl DemoToken {
    pub(super) fn cap(&self) -> f64 {
        self.price * self.supply
    }

    /// The token's first chain.
    pub(super) fn chain(&self) -> &'static str {
        self.chains.first().copied().unwrap_or("eth")
    }
}

#[derive(Debug)]
pub(super) struct DemoMarket {
    pub(super) options: DemoOptions,
    pub(super) tokens: Vec<DemoToken>,
    /// Indices of the tokens with the largest market capitalisation.
    largest: HashSet<usize>,
    pools: OnceLock<Vec<DemoPool>>,
}

/// Number of tokens, by market capitalisation, that have rows in every table.
pub(super) const LARGEST: usize = 40;

impl DemoMarket {
    pub(super) fn new(options: &DemoOptions) -> Self {
        let mut random = Random::new(options.seed, "tokens");
        let mut facts = FACTS.tokens.iter();
        let mut inventions = 0;
        let mut asset_indices: HashMap<String, usize> = HashMap::new();
        let mut tokens = Vec::with_capacity(options.tokens as usize);
        for index in 0..options.tokens as usize {
            // After the leaders every third token is invented, so that a small market has both kinds too.
            let fact = if index >= LEADERS && index % 3 == 1 {
                None
            } else {
                facts.next()
            };
            let mut token = if let Some(fact) = fact {
                real_token(index, fact)
            } else {
                inventions += 1;
                invented_token(index, inventions - 1, &mut random)
            };
            let count = asset_indices.len();
            token.asset_index = *asset_indices.entry(token.asset.clone()).or_insert(count);
            tokens.push(token);
        }
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by(|a, b| tokens[*b].cap().total_cmp(&tokens[*a].cap()).then(a.cmp(b)));
        let largest = order.into_iter().take(LARGEST).collect();
        Self {
            options: options.clone(),
            tokens,
            largest,
            pools: OnceLock::new(),
        }
    }

    /// Number of rows of a table with `rows` rows per token.
    pub(super) fn each(&self, rows: u32) -> u64 {
        u64::from(self.options.tokens) * u64::from(rows)
    }

    /// Whether the token is among the largest.
    pub(super) fn is_large(&self, token: &DemoToken) -> bool {
        self.largest.contains(&token.index)
    }

    /// All pools, by token.
    pub(super) fn pools(&self) -> &[DemoPool] {
        self.pools.get_or_init(|| pools::all(self))
    }

    /// Pools that hold the token.
    pub(super) fn pools_of<'a>(
        &'a self,
        token: &'a DemoToken,
    ) -> impl Iterator<Item = &'a DemoPool> {
        self.pools()
            .iter()
            .filter(|pool| pool.token0 == token.address || pool.token1 == token.address)
    }

    /// The other token of a pool of this one.
    pub(super) fn other_of(&self, pool: &DemoPool, token: &DemoToken) -> Option<&DemoToken> {
        let other = if pool.token0 == token.address {
            pool.token1
        } else {
            pool.token0
        };
        self.tokens.iter().find(|token| token.address == other)
    }

    /// Random number generator of one token in one table.
    pub(super) fn random(&self, table: &str, token: &DemoToken) -> Random {
        Random::new(self.options.seed, &format!("{table}:{}", token.index))
    }

    /// Last price of an asset; 1 USD if no token has it.
    pub(super) fn asset_price(asset: &str) -> f64 {
        FACTS
            .tokens
            .iter()
            .find(|token| token.asset == asset)
            .map_or(1.0, |token| token.price)
    }

    /// The day `ago` days before the last.
    pub(super) fn day(ago: usize) -> Day {
        Day(END_DAY.0 - ago as i32)
    }

    /// Returns the real token `symbol` on `chain`, if the market has it.
    pub(super) fn find(&self, symbol: &str, chain: &str) -> Option<&DemoToken> {
        // The real tokens come first, with at most one invented between any two.
        self.tokens
            .iter()
            .take(2 * FACTS.tokens.len())
            .find(|token| token.real && token.symbol == symbol && token.chains.contains(&chain))
    }
}

fn real_token(index: usize, fact: &RealToken) -> DemoToken {
    DemoToken {
        index,
        asset_index: 0,
        address: Address::parse(fact.address).unwrap_or_default(),
        symbol: fact.symbol.to_owned(),
        name: fact.name.to_owned(),
        chains: fact.chains.clone(),
        decimals: fact.decimals,
        price: fact.price,
        supply: fact.supply,
        asset: fact.asset.to_owned(),
        real: true,
        stable: fact.asset == DOLLAR,
    }
}

fn invented_token(index: usize, i: usize, random: &mut Random) -> DemoToken {
    let (symbol, name, chain, decimals, price, cap) = invention(i, random);
    DemoToken {
        index,
        asset_index: 0,
        address: random.address(),
        asset: format!("invented:{symbol}"),
        stable: symbol == "NOVAUSD",
        symbol,
        name,
        chains: vec![chain],
        decimals,
        price,
        supply: round(cap / price, 2),
        real: false,
    }
}

/// Chains of the demo, by short name.
pub(super) fn chains() -> impl Iterator<Item = &'static str> {
    FACTS.gas.iter().map(|gas| gas.chain)
}
