//! Roles of addresses: who trades, and who only keeps or moves the tokens of others. Pure.

use std::collections::HashMap;

use model::{address::Address, data::Data, rows::LabelRow};

model::words! {
    /// Role of an address among holders and traders.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AddressRole {
        Trader = "holder",
        Burned = "burned",
        Pool = "pool",
        Router = "router",
        Exchange = "exchange",
        Bridge = "bridge",
        Locker = "locker",
        /// The token contract itself.
        Token = "token",
    }
}

/// Labels of each role, as used by people and public label lists.
pub const ROLE_LABELS: &[(AddressRole, &[&str])] = &[
    (
        AddressRole::Burned,
        &["burn", "burned", "burner", "dead", "null"],
    ),
    (
        AddressRole::Pool,
        &[
            "liquidity_pool",
            "liquidity-pool",
            "liquidity pool",
            "pool",
            "pair",
            "dex",
            "amm",
            "uniswap",
            "sushiswap",
            "pancakeswap",
            "balancer",
            "bancor",
            "curve-fi",
            "kyberswap",
        ],
    ),
    (
        AddressRole::Router,
        &["router", "aggregator", "0x-protocol", "1inch", "paraswap"],
    ),
    (
        AddressRole::Exchange,
        &[
            "exchange",
            "cex",
            "ascendex",
            "binance",
            "bitfinex",
            "bithumb",
            "bitstamp",
            "bittrex",
            "bybit",
            "coinbase",
            "crypto-com",
            "deribit",
            "ftx",
            "gate-io",
            "gemini",
            "huobi",
            "kraken",
            "kucoin",
            "okex",
            "okx",
            "poloniex",
            "upbit",
        ],
    ),
    (
        AddressRole::Bridge,
        &[
            "bridge",
            "celer-network",
            "hop-protocol",
            "multichain",
            "synapse",
            "wormhole",
        ],
    ),
    (
        AddressRole::Locker,
        &[
            "locker",
            "lock",
            "team-finance",
            "unicrypt",
            "pinklock",
            "vesting",
        ],
    ),
];

/// Whether the label of the row is one of the words, in any letter case.
pub fn named(row: &LabelRow, words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| row.label.eq_ignore_ascii_case(word))
}

/// The roles of the addresses around one token.
#[derive(Debug)]
pub struct Roles<'a> {
    dataset: &'a dyn Data,
    known: HashMap<Address, AddressRole>,
}

impl<'a> Roles<'a> {
    pub fn new(dataset: &'a dyn Data, token: &Address) -> Self {
        let mut known: HashMap<Address, AddressRole> = dataset
            .pools_of(token)
            .map(|pool| (pool.address, AddressRole::Pool))
            .collect();
        known.insert(*token, AddressRole::Token);
        known.extend(
            dataset
                .dexes()
                .iter()
                .filter_map(|dex| Some((dex.router?, AddressRole::Router))),
        );
        Self { dataset, known }
    }

    pub fn role(&self, address: &Address) -> AddressRole {
        if let Some(role) = self.known.get(address) {
            return *role;
        }
        if address.is_burn_address() {
            return AddressRole::Burned;
        }
        let labels = self.dataset.labels_of(address);
        ROLE_LABELS
            .iter()
            .find(|(_, words)| labels.iter().any(|row| named(row, words)))
            .map_or(AddressRole::Trader, |(role, _)| *role)
    }
}
