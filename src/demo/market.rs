//! The tokens of a demo market, with what the tables share: last prices, supplies, addresses, chains, pools.

use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};

use super::{
    DemoOptions,
    facts::{self, DOLLAR, GAS},
    invented::{self, INVENTIONS},
    pools::{self, DemoPool},
    random::{Random, round},
};
use crate::dataset::{
    address::Address,
    time::{DAY_MS, Day},
};

/// The demo's time ends here, whatever day it is written: 2026-11-15T00:00Z.
pub(super) const END_DAY: Day = Day(20_772);
/// The first tokens, which have hourly candles.
pub(super) const LEADERS: usize = 10;
pub(super) const END_MS: i64 = END_DAY.0 as i64 * DAY_MS;

#[derive(Debug, Clone)]
pub(super) struct DemoToken {
    pub(super) index: usize,
    /// Position of its asset among the assets.
    pub(super) ordinal: usize,
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

    /// The first chain it lives on.
    pub(super) fn chain(&self) -> &'static str {
        self.chains.first().copied().unwrap_or("eth")
    }
}

#[derive(Debug)]
pub(super) struct DemoMarket {
    pub(super) options: DemoOptions,
    pub(super) tokens: Vec<DemoToken>,
    /// The indices of the tokens that are worth most.
    largest: HashSet<usize>,
    pools: OnceLock<Vec<DemoPool>>,
}

/// The tokens of the largest market capitalisation, which have rows in every table.
pub(super) const LARGEST: usize = 40;

impl DemoMarket {
    pub(super) fn new(options: &DemoOptions) -> Self {
        let mut random = Random::new(options.seed, "tokens");
        let mut facts = facts::TOKENS.iter();
        let mut inventions = 0;
        let mut ordinals: HashMap<String, usize> = HashMap::new();
        let mut tokens = Vec::with_capacity(options.tokens as usize);
        for index in 0..options.tokens as usize {
            // After the first ones every third is invented, so that a small market has both kinds too.
            let fact = if index >= LEADERS && index % 3 == 1 { None } else { facts.next() };
            let mut token = if let Some(fact) = fact {
                real(index, fact)
            } else {
                inventions += 1;
                made_up(index, inventions - 1, &mut random)
            };
            let count = ordinals.len();
            token.ordinal = *ordinals.entry(token.asset.clone()).or_insert(count);
            tokens.push(token);
        }
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by(|a, b| tokens[*b].cap().total_cmp(&tokens[*a].cap()).then(a.cmp(b)));
        let largest = order.into_iter().take(LARGEST).collect();
        Self { options: options.clone(), tokens, largest, pools: OnceLock::new() }
    }

    /// The number of rows of a table that has so many for each token.
    pub(super) fn each(&self, rows: u32) -> u64 {
        u64::from(self.options.tokens) * u64::from(rows)
    }

    /// Whether the token is among the largest.
    pub(super) fn is_large(&self, token: &DemoToken) -> bool {
        self.largest.contains(&token.index)
    }

    /// Every pool, by token.
    pub(super) fn pools(&self) -> &[DemoPool] {
        self.pools.get_or_init(|| pools::all(self))
    }

    /// The pools that hold the token.
    pub(super) fn pools_of<'a>(&'a self, token: &'a DemoToken) -> impl Iterator<Item = &'a DemoPool> {
        self.pools().iter().filter(|pool| pool.token0 == token.address || pool.token1 == token.address)
    }

    /// The random numbers of one token in one table.
    pub(super) fn random(&self, table: &str, token: &DemoToken) -> Random {
        Random::new(self.options.seed, &format!("{table}:{}", token.index))
    }

    /// The last price of an asset; a dollar where no token has it.
    pub(super) fn asset_price(asset: &str) -> f64 {
        facts::TOKENS.iter().find(|token| token.asset == asset).map_or(1.0, |token| token.price)
    }

    /// The day `ago` days before the last.
    pub(super) fn day(ago: usize) -> Day {
        Day(END_DAY.0 - ago as i32)
    }

    /// The real token called `symbol` on `chain`, if the market holds it.
    pub(super) fn find(&self, symbol: &str, chain: &str) -> Option<&DemoToken> {
        // The real tokens come first, with at most one invented between any two.
        self.tokens.iter().take(2 * facts::TOKENS.len()).find(|token| token.real && token.symbol == symbol && token.chains.contains(&chain))
    }
}

fn real(index: usize, fact: &facts::RealToken) -> DemoToken {
    DemoToken {
        index,
        ordinal: 0,
        address: Address::parse(fact.address).unwrap_or_default(),
        symbol: fact.symbol.to_owned(),
        name: fact.name.to_owned(),
        chains: fact.chains.to_vec(),
        decimals: fact.decimals,
        price: fact.price,
        supply: fact.supply,
        asset: fact.asset.to_owned(),
        real: true,
        stable: fact.asset == DOLLAR,
    }
}

fn made_up(index: usize, invention: usize, random: &mut Random) -> DemoToken {
    let (symbol, name, chain, decimals, price, cap) = match INVENTIONS.get(invention) {
        Some((symbol, name, chain, decimals, price, cap)) => ((*symbol).to_owned(), (*name).to_owned(), *chain, *decimals, *price, *cap),
        None => invented::further(invention - INVENTIONS.len(), random),
    };
    DemoToken {
        index,
        ordinal: 0,
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

/// The chains of the demo, by short name.
pub(super) fn chains() -> impl Iterator<Item = &'static str> {
    GAS.iter().map(|gas| gas.chain)
}
