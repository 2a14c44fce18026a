//! The deepest pool of a token on its chain, and the state that is certainly needed, which is requested in one batch. Trading is in `trades`.

use revm::primitives::{Address, U256};

use super::{
    super::{
        abi::{self, Selector},
        machine::Machine,
        pool_trades::{PoolKey, quoted_v4},
    },
    exchanges::{PoolKind, PoolPlace},
};
use model::{
    address::Address as ModelAddress,
    chain_state::{EventFilter, MissingState, Word},
};

/// `getReserves()`.
const GET_RESERVES: Selector = [0x09, 0x02, 0xF1, 0xAC];
/// Slots of a V2 pool: supply, the two tokens, reserves, cumulative prices, the last product, the lock.
const POOL_SLOTS_V2: &[u64] = &[0, 6, 7, 8, 9, 10, 11, 12];
/// Slots of a V3 pool: price, growth of fees, protocol fees, liquidity.
const POOL_SLOTS_V3: &[u64] = &[0, 1, 2, 3, 4, 5];
/// Number of a contract's first slots in the first request: they have variables, and one more slot costs little.
const FIRST_SLOTS: u64 = 40;
/// EIP-1967: who can exchange the contract behind a proxy.
pub(super) const ADMIN_SLOT: &str =
    "b53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103";
/// EIP-1967: where the contract behind a proxy is named.
pub(super) const IMPLEMENTATION_SLOT: &str =
    "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
/// Slots that name the code behind a proxy (EIP-1967 implementation, beacon and admin; EIP-1822; the older `org.zeppelinos.proxy`).
const PROXY_SLOTS: [&str; 5] = [
    IMPLEMENTATION_SLOT,
    "a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50",
    ADMIN_SLOT,
    "c5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7",
    "7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3",
];

/// A pool that stands.
#[derive(Debug, Clone)]
pub(in crate::code) struct LivePool {
    pub(in crate::code) address: Address,
    /// Name of its exchange.
    pub(in crate::code) dex: String,
    pub(in crate::code) kind: PoolKind,
    pub(in crate::code) router: Address,
    pub(in crate::code) factory: Address,
    pub(in crate::code) deadline: bool,
    pub(in crate::code) quote: Address,
    /// Whether the quote coin is the chain's own, wrapped, and how the router's functions call it.
    pub(in crate::code) native: bool,
    pub(in crate::code) coin_word: String,
    /// Slot of the quote coin's mapping of balances.
    pub(in crate::code) balance_slot: U256,
    /// In millionths.
    pub(in crate::code) fee: u32,
    /// Quote coins in it.
    pub(in crate::code) depth: U256,
    /// V4: which of the contract's pools, and the contract that takes a seller's tokens.
    pub(in crate::code) key: Option<PoolKey>,
    pub(in crate::code) permit: Option<Address>,
    /// Whether it has trades, so that an earlier buyer may hold tokens.
    pub(in crate::code) traded: bool,
}

impl LivePool {
    pub(in crate::code) fn is_v2(&self) -> bool {
        self.kind == PoolKind::V2
    }
}

fn word(value: U256) -> Word {
    value.to_be_bytes()
}

fn of_model(address: Address) -> ModelAddress {
    ModelAddress(address.into_array())
}

/// What every run needs, so that the first round trip brings it.
pub(super) fn first_need(
    token: Address,
    places: &[PoolPlace<'_>],
    events: Vec<EventFilter>,
) -> MissingState {
    let mut need = MissingState {
        events: events.into_iter().collect(),
        ..MissingState::default()
    };
    need.accounts.insert(of_model(token));
    let mut slot =
        |address: Address, slot: U256| _ = need.slots.insert((of_model(address), word(slot)));
    for number in 0..FIRST_SLOTS {
        slot(token, U256::from(number));
    }
    for text in PROXY_SLOTS {
        if let Ok(number) = U256::from_str_radix(text, 16) {
            slot(token, number);
        }
    }
    for place in places {
        if let Some(key) = &place.key {
            for number in 0..4 {
                slot(place.address, state_slot(key) + U256::from(number));
            }
            continue;
        }
        let slots = if place.exchange.kind == PoolKind::V2 {
            POOL_SLOTS_V2
        } else {
            POOL_SLOTS_V3
        };
        for number in slots {
            slot(place.address, U256::from(*number));
        }
        slot(
            place.quote.address,
            balance_slot_of(place.address, U256::from(place.quote.balance_slot)),
        );
    }
    for place in places {
        need.accounts.extend(
            [
                place.address,
                place.exchange.factory,
                place.exchange.router,
                place.quote.address,
            ]
            .map(of_model),
        );
        need.accounts.extend(place.exchange.permit.map(of_model));
    }
    need
}

pub(in crate::code) fn balance_slot_of(holder: Address, base: U256) -> U256 {
    abi::mapped(abi::word_of(holder), base)
}

/// Size in USD of the sell that decides which pool is the deepest.
const SALE_USD: f64 = 1_000.0;
/// Slot of the mapping of pools in the contract of a V4 exchange.
const POOLS_V4: u64 = 6;

/// The first slot of a pool's state in the contract of a V4 exchange: price, then growth of fees (two), then liquidity.
fn state_slot(key: &PoolKey) -> U256 {
    abi::mapped(U256::from_be_bytes(key.id().0), U256::from(POOLS_V4))
}

/// The pool at which a sale of 1,000 USD loses least, by fee and by its effect on the price; `None` if the token has none.
pub(super) fn deepest(machine: &mut Machine<'_>, places: &[PoolPlace<'_>]) -> Option<LivePool> {
    let mut found = Vec::new();
    for place in places {
        if machine.evm_state().code(place.address).is_empty() {
            continue;
        }
        let base = U256::from(place.quote.balance_slot);
        let near = near(machine, place);
        let held = place.key.is_none().then(|| {
            machine
                .evm_state()
                .slot(place.quote.address, balance_slot_of(place.address, base))
        });
        let depth = held.unwrap_or(near[0]);
        if depth.is_zero() || near.contains(&U256::ZERO) {
            continue;
        }
        let traded = has_traded(machine, place);
        let pool = LivePool {
            address: place.address,
            dex: place.exchange.name.clone(),
            kind: place.exchange.kind,
            router: place.exchange.router,
            factory: place.exchange.factory,
            deadline: place.exchange.deadline,
            quote: place.coin(),
            native: place.is_native(),
            coin_word: place.exchange.coin_word.clone(),
            balance_slot: base,
            fee: place.fee,
            depth,
            key: place.key,
            permit: place.exchange.permit,
            traded,
        };
        found.push((place, near, pool));
    }
    // What is the only one need not be compared.
    let is_only = found.len() == 1;
    let mut best: Option<(f64, LivePool)> = None;
    for (place, near, pool) in found {
        let loss = if is_only {
            0.0
        } else {
            loss(machine, place, near, &pool)
        };
        if best.as_ref().is_none_or(|(known, _)| loss < *known) {
            best = Some((loss, pool));
        }
    }
    best.map(|(_, pool)| pool)
}

/// What a sale of 1,000 USD loses at a pool, as a share. `near`: coins and tokens that the price moves against.
fn loss(
    machine: &mut Machine<'_>,
    place: &PoolPlace<'_>,
    [coins, tokens]: [U256; 2],
    pool: &LivePool,
) -> f64 {
    let usd = |coins: U256| {
        f64::from(coins) / 10_f64.powi(place.quote.decimals.into()) * place.quote.worth
    };
    let worth = usd(coins);
    // Next to the price there may be much more liquidity than a little farther off: at most all that is there can be got, and one contract of
    // many pools is asked.
    let brings = if place.key.is_some() {
        let amount = U256::saturating_from(f64::from(tokens) / worth * SALE_USD);
        usd(quoted_v4(machine, pool, place.token, amount))
    } else {
        (SALE_USD * worth / (worth + SALE_USD)).min(usd(pool.depth))
            * (1.0 - f64::from(place.fee) / 1e6)
    };
    1.0 - brings / SALE_USD
}

/// The quote coins and the tokens that the price moves against: in a pool of concentrated liquidity, those that the same liquidity would be over
/// all prices (<https://uniswap.org/whitepaper-v3.pdf>, 2.2: L·√P of the second coin, L/√P of the first).
fn near(machine: &mut Machine<'_>, place: &PoolPlace<'_>) -> [U256; 2] {
    let first_slot = match (&place.key, place.exchange.kind) {
        (Some(key), _) => state_slot(key),
        (None, PoolKind::V2) => {
            let coins = machine.evm_state().slot(
                place.quote.address,
                balance_slot_of(place.address, U256::from(place.quote.balance_slot)),
            );
            // Its tokens are not needed: the pool's formula is known.
            return [coins, U256::ONE];
        }
        (None, _) => U256::ZERO,
    };
    let liquidity_at = if place.key.is_some() {
        3
    } else {
        place.exchange.fee_growth_slot + 3
    };
    let price = machine.evm_state().slot(place.address, first_slot) & (U256::MAX >> 96);
    let liquidity = machine
        .evm_state()
        .slot(place.address, first_slot + U256::from(liquidity_at))
        & (U256::MAX >> 128);
    let root = f64::from(price) / 2_f64.powi(96);
    let [first, second] = [f64::from(liquidity) / root, f64::from(liquidity) * root].map(|coins| {
        if coins.is_finite() {
            U256::saturating_from(coins)
        } else {
            U256::ZERO
        }
    });
    if place.is_first() {
        [first, second]
    } else {
        [second, first]
    }
}

/// Whether fees have come in. In a V2 pool the product of the reserves then exceeds the square of the supply, which is that product's root
/// when liquidity is added.
fn has_traded(machine: &mut Machine<'_>, place: &PoolPlace<'_>) -> bool {
    let (first, count) = match (&place.key, place.exchange.kind) {
        (Some(key), _) => (state_slot(key) + U256::ONE, 2),
        (None, PoolKind::V2) => {
            let Some([first, second]) = reserves(machine, place.address) else {
                return false;
            };
            let supply = machine
                .ask(place.address, abi::TOTAL_SUPPLY, &[])
                .unwrap_or_default();
            let square = supply.saturating_mul(supply);
            // The root is rounded down.
            return first.saturating_mul(second).saturating_sub(square)
                > square / U256::from(1_000_000_000);
        }
        (None, _) => (U256::from(place.exchange.fee_growth_slot), 2),
    };
    (0..count).any(|slot| {
        !machine
            .evm_state()
            .slot(place.address, first + U256::from(slot))
            .is_zero()
    })
}

/// Reserves of a V2 pool, in the order of its tokens' addresses.
pub(in crate::code) fn reserves(machine: &mut Machine<'_>, pool: Address) -> Option<[U256; 2]> {
    let outcome = machine.simulate(machine.people.newcomer, pool, abi::call(GET_RESERVES, &[]));
    (outcome.ok && outcome.output.len() >= 64).then(|| {
        [
            U256::from_be_slice(&outcome.output[..32]),
            U256::from_be_slice(&outcome.output[32..64]),
        ]
    })
}
