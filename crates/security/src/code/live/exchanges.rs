//! The exchanges of each chain, from the table of exchanges, and the addresses of a token's pools. `pools` chooses the pool to trade in.

use revm::primitives::{Address, B256, b256, keccak256};
use serde::Deserialize;

use crate::code::{abi, pool_trades::PoolKey};
use model::chain_state::{ChainState, EventFilter};

/// Topic of `Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)`, which a V4 exchange logs of each pool.
const INITIALIZE: B256 = b256!("dd466e674ea557f56295e2d0218a125ea4b4f0f6f3307b95f85e6110838d6438");
/// Number of first and of newest pools whose depth is compared.
const OPENED_MAX: usize = 12;
/// Instead of a fee: the hooks name it with each trade (<https://docs.uniswap.org/contracts/v4/concepts/dynamic-fees>).
const DYNAMIC_FEE: u32 = 0x80_0000;

/// The table of exchanges: one row per exchange and per coin that tokens trade against.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchanges {
    #[serde(default, rename = "quote")]
    pub quotes: Vec<QuoteCoin>,
    #[serde(default, rename = "exchange")]
    pub exchanges: Vec<Exchange>,
}

/// A coin that tokens trade against.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuoteCoin {
    pub chain: String,
    pub symbol: String,
    pub address: Address,
    pub decimals: u8,
    /// Storage slot of its mapping of balances.
    pub balance_slot: u64,
    /// Whether it is the chain's native coin, wrapped: traders use the native coin, and the router wraps it.
    #[serde(default)]
    pub native: bool,
    /// Approximate price in USD, used only to compare the depth of pools with different coins.
    pub worth: f64,
}

/// Kind of an exchange's pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolKind {
    /// Constant product, one pool per pair of coins.
    V2,
    /// Concentrated liquidity, one pool per pair of coins and fee.
    V3,
    /// Concentrated liquidity, all pools in one contract, which is also the factory.
    V4,
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
    /// Hash of a pool's creation code; none for V4.
    #[serde(default)]
    pub init_code_hash: B256,
    /// Fee in millionths; for V3 and V4 each of its tiers.
    pub fees: Vec<u32>,
    /// V4: the spacing of ticks of each tier.
    #[serde(default)]
    pub tick_spacings: Vec<u32>,
    /// V4: the block that its contract was created in, before which it has no pools.
    #[serde(default)]
    pub since_block: u64,
    /// V4: the contract by which routers take a seller's tokens.
    #[serde(default)]
    pub permit: Option<Address>,
    /// V2: the native coin's name in the router's functions.
    #[serde(default = "coin_word")]
    pub coin_word: String,
    /// V3: whether the router takes a deadline.
    #[serde(default)]
    pub deadline: bool,
    /// V3: the first of the two storage slots in which its pools sum up their fees.
    #[serde(default = "fee_growth_slot")]
    pub fee_growth_slot: u64,
}

fn coin_word() -> String {
    "ETH".to_owned()
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
    pub(super) token: Address,
    /// Which of the pools in one contract.
    pub(super) key: Option<PoolKey>,
}

impl PoolPlace<'_> {
    /// Whether the quote coin is the first of the pool's coins.
    pub(super) fn is_first(&self) -> bool {
        self.coin() < self.token
    }

    /// The coin that is paid: the chain's own, where a pool takes that.
    pub(super) fn coin(&self) -> Address {
        let [first, second] = self
            .key
            .map_or([self.token, self.quote.address], |key| key.coins);
        if first == self.token { second } else { first }
    }

    /// Whether what is paid is the chain's own coin, as it is or wrapped by the router.
    pub(super) fn is_native(&self) -> bool {
        self.quote.native && self.key.is_none_or(|_| self.coin().is_zero())
    }
}

/// An exchange of a chain, and the coin that most tokens trade against there.
#[derive(Debug, Clone, Copy)]
pub struct Venue<'a> {
    pub exchange: &'a Exchange,
    pub quote: &'a QuoteCoin,
}

impl Venue<'_> {
    /// The address that the token's pool would have.
    pub fn pool(&self, token: Address) -> Address {
        self.exchange.pool(
            token,
            self.quote.address,
            self.exchange.fees.first().copied().unwrap_or_default(),
        )
    }
}

impl Exchanges {
    /// The first exchange and the first coin of a chain.
    pub fn venue(&self, chain: &str) -> Option<Venue<'_>> {
        let exchange = self
            .exchanges
            .iter()
            .find(|exchange| exchange.chain == chain)?;
        let quote = self.quotes.iter().find(|quote| quote.chain == chain)?;
        Some(Venue { exchange, quote })
    }

    /// Every address that a pool of the token may have.
    pub fn pools(
        &self,
        chain: &str,
        token: &model::address::Address,
    ) -> Vec<model::address::Address> {
        let places = self.places(chain, Address::new(token.0));
        places
            .iter()
            .map(|place| model::address::Address(place.address.into_array()))
            .collect()
    }

    /// Where the V4 exchanges of a chain log the pools that are opened with the token as the first, and as the second, of two coins.
    pub(super) fn openings(&self, chain: &str, token: Address) -> Vec<EventFilter> {
        let v4 = self
            .exchanges
            .iter()
            .filter(|exchange| exchange.chain == chain && exchange.kind == PoolKind::V4);
        let token = Some(abi::word_of(token).to_be_bytes());
        let topics = [
            [Some(INITIALIZE.0), None, token, None],
            [Some(INITIALIZE.0), None, None, token],
        ];
        let filter = |exchange: &Exchange, topics| {
            let address = model::address::Address(exchange.factory.into_array());
            EventFilter {
                address,
                since: exchange.since_block,
                topics,
            }
        };
        v4.flat_map(|exchange| topics.map(|topics| filter(exchange, topics)))
            .collect()
    }

    /// The pools that a V4 exchange logged: with hooks, with another spacing of ticks, or against a wrapped coin. Each has the key of which its
    /// id is the hash, so that no node can make one up; and whether the node searched the whole chain for them.
    pub(super) fn opened(
        &self,
        chain: &str,
        token: Address,
        state: &dyn ChainState,
    ) -> (Vec<PoolPlace<'_>>, bool) {
        let (mut found, mut whole) = (Vec::new(), true);
        for filter in self.openings(chain, token) {
            let Some(logged) = state.events(&filter) else {
                continue;
            };
            whole &= logged.whole;
            let exchange = self
                .exchanges
                .iter()
                .find(|exchange| exchange.chain == chain && exchange.factory.0 == filter.address.0);
            let quote_of = |key: &PoolKey| {
                let coin = if key.coins[0] == token {
                    key.coins[1]
                } else {
                    key.coins[0]
                };
                let is_quote =
                    |quote: &&QuoteCoin| quote.address == coin || quote.native && coin.is_zero();
                self.quotes
                    .iter()
                    .filter(|quote| quote.chain == chain && coin != token)
                    .find(is_quote)
            };
            let keys = logged.events.iter().filter_map(PoolKey::of_event);
            let known: Vec<(PoolKey, &QuoteCoin)> = keys
                .filter_map(|key| Some((key, quote_of(&key)?)))
                .collect();
            let Some(exchange) = exchange else { continue };
            // Anybody may open more of them: the first and the newest are looked at.
            let newest = known.len().saturating_sub(OPENED_MAX).max(OPENED_MAX);
            for (key, quote) in known
                .iter()
                .take(OPENED_MAX)
                .chain(known.iter().skip(newest))
            {
                let fee = if key.fee == DYNAMIC_FEE { 0 } else { key.fee };
                found.push(PoolPlace {
                    address: exchange.factory,
                    exchange,
                    quote,
                    fee,
                    token,
                    key: Some(*key),
                });
            }
        }
        (found, whole)
    }

    /// Every place at which a pool of the token may stand, by the table alone.
    pub(super) fn places(&self, chain: &str, token: Address) -> Vec<PoolPlace<'_>> {
        let quotes = || {
            self.quotes
                .iter()
                .filter(|quote| quote.chain == chain && quote.address != token)
        };
        let exchanges = self
            .exchanges
            .iter()
            .filter(|exchange| exchange.chain == chain);
        let pairs = exchanges.flat_map(|exchange| quotes().map(move |quote| (exchange, quote)));
        pairs
            .flat_map(|(exchange, quote)| {
                let fees = match exchange.kind {
                    PoolKind::V2 => &exchange.fees[..exchange.fees.len().min(1)],
                    PoolKind::V3 | PoolKind::V4 => &exchange.fees[..],
                };
                fees.iter().enumerate().map(move |(tier, fee)| {
                    let key = exchange.key(token, quote, tier);
                    let address = if key.is_some() {
                        exchange.factory
                    } else {
                        exchange.pool(token, quote.address, *fee)
                    };
                    PoolPlace {
                        address,
                        exchange,
                        quote,
                        fee: *fee,
                        token,
                        key,
                    }
                })
            })
            .collect()
    }
}

impl Exchange {
    /// Id of the token's pool of this tier in the contract of a V4 exchange; `None` for other exchanges.
    pub fn pool_id(&self, token: Address, quote: &QuoteCoin, tier: usize) -> Option<B256> {
        self.key(token, quote, tier).map(|key| key.id())
    }

    /// Which pool in the contract of a V4 exchange is that of this tier; `None` for other exchanges.
    fn key(&self, token: Address, quote: &QuoteCoin, tier: usize) -> Option<PoolKey> {
        let coin = if quote.native {
            Address::ZERO
        } else {
            quote.address
        };
        let (fee, tick_spacing) = (*self.fees.get(tier)?, *self.tick_spacings.get(tier)?);
        let coins = if coin < token {
            [coin, token]
        } else {
            [token, coin]
        };
        (self.kind == PoolKind::V4).then_some(PoolKey {
            coins,
            fee,
            tick_spacing,
            hooks: Address::ZERO,
        })
    }

    /// Address of the pool of two coins: CREATE2 with the sorted pair as salt
    /// (<https://docs.uniswap.org/contracts/v2/guides/smart-contract-integration/getting-pair-addresses>).
    pub fn pool(&self, one: Address, other: Address, fee: u32) -> Address {
        let (first, second) = if one < other {
            (one, other)
        } else {
            (other, one)
        };
        let salt = match self.kind {
            PoolKind::V2 => keccak256([first.as_slice(), second.as_slice()].concat()),
            PoolKind::V3 | PoolKind::V4 => {
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
