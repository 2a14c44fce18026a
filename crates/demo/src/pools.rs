//! The exchanges (real) and their pools (invented).

use super::{
    error::DemoError,
    facts::{Dex, FACTS},
    market::{DemoMarket, DemoToken},
    output::{DemoTable, row},
    random::{Random, round},
};
use model::address::Address;

pub(super) const DEX_COLUMNS: &str = "dex_id name chain version router factory total_value_locked";
pub(super) const FEE_COLUMNS: &str = "dex_id chain tier fee";
pub(super) const POOL_COLUMNS: &str =
    "address dex_id chain token0 token1 pair liquidity volume24h fee";

#[derive(Debug)]
pub(super) struct DemoPool {
    /// Index of the base token it was created for; the other token is a quote.
    pub(super) of: usize,
    pub(super) address: Address,
    pub(super) dex: &'static str,
    pub(super) chain: &'static str,
    pub(super) token0: Address,
    pub(super) token1: Address,
    pub(super) pair: String,
    pub(super) liquidity: f64,
    pub(super) volume24h: f64,
    /// Fraction: one of the exchange's tiers.
    pub(super) fee: Option<f64>,
}

/// Quote tokens.
const QUOTES: &[&str] = &["WETH", "USDC", "WBNB", "WMATIC", "USDT"];

/// Generates the pools of every token, on several exchanges of each of its chains. `DemoMarket::pools` caches them.
pub(super) fn all(market: &DemoMarket) -> Vec<DemoPool> {
    let mut pools = Vec::new();
    for token in &market.tokens {
        let mut random = market.random("pools", token);
        // A pool of two quotes is created for the first of them.
        let quotes = |chain: &'static str| {
            let found = QUOTES
                .iter()
                .filter_map(move |symbol| market.find(symbol, chain));
            found.filter(|quote| {
                quote.address != token.address
                    && !(QUOTES.contains(&token.symbol.as_str()) && quote.index < token.index)
            })
        };
        for chain in &token.chains {
            let quotes: Vec<&DemoToken> = quotes(chain).take(2).collect();
            for dex in FACTS.dexes.iter().filter(|dex| dex.chain == *chain) {
                for (i, quote) in quotes.iter().enumerate() {
                    if random.unit() < if i == 0 { 0.75 } else { 0.4 } {
                        pools.push(pool(dex, chain, token, quote, &mut random));
                    }
                }
            }
        }
    }
    pools
}

fn pool(
    dex: &Dex,
    chain: &'static str,
    token: &DemoToken,
    quote: &DemoToken,
    random: &mut Random,
) -> DemoPool {
    // Pools order their tokens by address.
    let (first, second) = if token.address < quote.address {
        (token, quote)
    } else {
        (quote, token)
    };
    let size = (token.cap().min(quote.cap()) * random.spread(0.0008, 0.03)).min(4e8);
    let share = match dex.version {
        "v3" => 1.0,
        "v4" => 0.6,
        _ => 0.25,
    };
    let liquidity = round(size * share + 900.0, 6);
    let address = random.address();
    // Uniswap v4 has no tiers: each pool's fee is its own, and the facts have none.
    let ppm = dex
        .fees_ppm
        .get(usize::from(address.0[19]) % dex.fees_ppm.len().max(1));
    DemoPool {
        of: token.index,
        address,
        fee: ppm.map(|ppm| f64::from(*ppm) / 1e6),
        dex: dex.id,
        chain,
        token0: first.address,
        token1: second.address,
        pair: format!("{}/{}", first.symbol, second.symbol),
        liquidity,
        volume24h: round(liquidity * random.spread(0.01, 1.6), 6),
    }
}

pub(super) fn write_pools(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for pool in market.pools() {
        row!(
            table,
            pool.address,
            pool.dex,
            pool.chain,
            pool.token0,
            pool.token1,
            &pool.pair,
            pool.liquidity,
            pool.volume24h,
            pool.fee
        )?;
    }
    Ok(())
}

/// An exchange's TVL exceeds that of its listed pools.
pub(super) fn write_dexes(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    let pools = market.pools();
    let mut random = Random::new(market.options.seed, "dexes");
    for dex in &FACTS.dexes {
        let listed: f64 = pools
            .iter()
            .filter(|pool| pool.dex == dex.id && pool.chain == dex.chain)
            .map(|pool| pool.liquidity)
            .sum();
        let value = round(listed * random.between(1.1, 1.9), 6);
        let router = Some(dex.router).filter(|router| !router.is_empty());
        let total_value_locked = Some(value).filter(|value| *value > 0.0);
        row!(
            table,
            dex.id,
            dex.name,
            dex.chain,
            dex.version,
            router,
            dex.factory,
            total_value_locked
        )?;
    }
    Ok(())
}

pub(super) fn write_fee_tiers(_: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for dex in &FACTS.dexes {
        for ppm in &dex.fees_ppm {
            let tier = format!("{}%", f64::from(*ppm) / 1e4);
            row!(table, dex.id, dex.chain, &tier, f64::from(*ppm) / 1e6)?;
        }
    }
    Ok(())
}
