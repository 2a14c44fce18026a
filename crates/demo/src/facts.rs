//! Real facts of the demo market: tokens, exchanges, gas. They are data, in `facts.json`. Addresses, symbols, decimals, routers, factories and
//! fee tiers are public (see its `sources`); prices and supplies are right in order of magnitude only, and everything else is invented in
//! other modules.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct MarketFacts {
    /// Facts and their sources, for the dataset's README.
    #[serde(borrow)]
    pub(super) sources: Vec<(&'static str, &'static str)>,
    /// Ordered by market rank: the first ten have hourly candles.
    pub(super) tokens: Vec<RealToken>,
    pub(super) dexes: Vec<Dex>,
    pub(super) gas: Vec<Gas>,
}

/// An existing token.
#[derive(Deserialize)]
pub(super) struct RealToken {
    pub(super) symbol: &'static str,
    pub(super) name: &'static str,
    /// One row of `tokens` per chain.
    pub(super) chains: Vec<&'static str>,
    pub(super) address: &'static str,
    pub(super) decimals: i64,
    /// USD at the end of the demo's time; order of magnitude, not a quotation.
    pub(super) price: f64,
    /// Whole tokens; order of magnitude.
    pub(super) supply: f64,
    /// Tokens of one asset share a price path.
    pub(super) asset: &'static str,
}

/// The asset of tokens pegged to the dollar.
pub(super) const DOLLAR: &str = "usd";

/// An exchange deployment with its fees in parts per million.
#[derive(Deserialize)]
pub(super) struct Dex {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) chain: &'static str,
    /// Empty if it has none.
    pub(super) router: &'static str,
    pub(super) factory: &'static str,
    pub(super) fees_ppm: Vec<u32>,
}

/// A chain of the demo with its gas price in gwei (invented) and the asset of its native coin.
#[derive(Deserialize)]
pub(super) struct Gas {
    pub(super) chain: &'static str,
    pub(super) gwei: f64,
    pub(super) asset: &'static str,
}

pub(super) static FACTS: LazyLock<MarketFacts> = LazyLock::new(|| {
    serde_json::from_str(include_str!("facts.json")).expect("the tests read the facts")
});

#[cfg(test)]
mod tests {
    use super::*;
    use model::{address::Address, chain::Chain};

    #[test]
    fn every_address_and_chain_is_readable_and_no_token_occurs_twice() {
        let mut seen = std::collections::HashSet::new();
        for token in &FACTS.tokens {
            assert!(
                Address::parse(token.address).is_some() && seen.insert(token.address),
                "{}",
                token.symbol
            );
            assert!(
                token
                    .chains
                    .iter()
                    .all(|chain| FACTS.gas.iter().any(|gas| gas.chain == *chain)),
                "{}",
                token.symbol
            );
        }
        for dex in &FACTS.dexes {
            assert!(
                Address::parse(dex.factory).is_some()
                    && (dex.router.is_empty() || Address::parse(dex.router).is_some()),
                "{}",
                dex.id
            );
            assert!(Chain::known(dex.chain).is_some(), "{}", dex.chain);
        }
    }
}
