//! The exchanges of each chain, as the table of exchanges has them, and the addresses at which a token's pools stand. Which of them is traded
//! with is decided in `pools`.

use revm::primitives::{Address, B256, keccak256};
use serde::Deserialize;

/// The table of exchanges: one row per exchange and per coin that tokens are traded against.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchanges {
    #[serde(default, rename = "quote")]
    pub quotes: Vec<QuoteCoin>,
    #[serde(default, rename = "exchange")]
    pub exchanges: Vec<Exchange>,
}

/// A coin that tokens are traded against.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuoteCoin {
    pub chain: String,
    pub symbol: String,
    pub address: Address,
    pub decimals: u8,
    /// Storage slot of its mapping of balances.
    pub balance_slot: u64,
    /// About what one is worth in US dollars: only to compare the depth of pools against different coins.
    pub worth: f64,
}

/// How an exchange keeps its pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolKind {
    /// Constant product, one pool per pair of coins.
    V2,
    /// Concentrated liquidity, one pool per pair of coins and fee.
    V3,
}

/// An exchange on one chain.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    pub chain: String,
    pub name: String,
    pub kind: PoolKind,
    /// The contract that creates its pools.
    pub factory: Address,
    pub router: Address,
    /// Hash of a pool's creation code.
    pub init_code_hash: B256,
    /// Fee in millionths; for V3 each of its tiers.
    pub fees: Vec<u32>,
    /// V3: whether the router takes a deadline.
    #[serde(default)]
    pub deadline: bool,
    /// V3: the first of the two storage slots in which its pools sum up their fees.
    #[serde(default = "fee_growth_slot")]
    pub fee_growth_slot: u64,
}

fn fee_growth_slot() -> u64 {
    1
}

/// Where a pool of the token would stand.
#[derive(Debug, Clone)]
pub(super) struct PoolPlace<'a> {
    pub(super) address: Address,
    pub(super) exchange: &'a Exchange,
    pub(super) quote: &'a QuoteCoin,
    pub(super) fee: u32,
}

impl Exchanges {
    /// Every place at which a pool of the token may stand.
    pub(super) fn places(&self, chain: &str, token: Address) -> Vec<PoolPlace<'_>> {
        let quotes = || self.quotes.iter().filter(|quote| quote.chain == chain && quote.address != token);
        let exchanges = self.exchanges.iter().filter(|exchange| exchange.chain == chain);
        let pairs = exchanges.flat_map(|exchange| quotes().map(move |quote| (exchange, quote)));
        pairs
            .flat_map(|(exchange, quote)| {
                let fees = match exchange.kind {
                    PoolKind::V2 => &exchange.fees[..exchange.fees.len().min(1)],
                    PoolKind::V3 => &exchange.fees[..],
                };
                fees.iter().map(move |fee| PoolPlace { address: exchange.pool(token, quote.address, *fee), exchange, quote, fee: *fee })
            })
            .collect()
    }
}

impl Exchange {
    /// Address of the pool of two coins: CREATE2 with the sorted pair as salt
    /// (<https://docs.uniswap.org/contracts/v2/guides/smart-contract-integration/getting-pair-addresses>).
    pub fn pool(&self, one: Address, other: Address, fee: u32) -> Address {
        let (first, second) = if one < other { (one, other) } else { (other, one) };
        let salt = match self.kind {
            PoolKind::V2 => keccak256([first.as_slice(), second.as_slice()].concat()),
            PoolKind::V3 => {
                let mut words = [0; 96];
                words[12..32].copy_from_slice(first.as_slice());
                words[44..64].copy_from_slice(second.as_slice());
                words[92..].copy_from_slice(&fee.to_be_bytes());
                keccak256(words)
            }
        };
        self.factory.create2(salt, self.init_code_hash)
    }
}
