//! What a transaction shows a contract besides the state: who makes the block, prices, limits, hashes, the sender's wallet. They are those of
//! a plausible block and a person's wallet. Trades with one thing changed are in `trials`.

use revm::primitives::{Address, B256, U256};

use model::chain_state::BlockHead;

use super::accounts::Seed;

/// A unit of gas price: 10⁹ of the coin's smallest unit.
const GWEI: u64 = 1_000_000_000;
/// One coin, in its smallest unit, and a thousandth of it.
const THOUSANDTH_COIN: u64 = 1_000_000_000_000_000;
/// Gas limits that wallets set for a trade.
const PERSONS_GAS: (u64, u64) = (310_000, 590_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TransactionContext {
    /// Of a unit of gas: what the block wants, and what the sender adds.
    pub(super) base_fee: u64,
    pub(super) tip: u64,
    pub(super) block_gas_limit: u64,
    /// Gas limit of a person's transaction.
    pub(super) gas: u64,
    pub(super) coinbase: Address,
    pub(super) randomness: B256,
    /// The block hashes that are not known are derived from it.
    pub(super) hashes: Seed,
    /// What a person has of the chain's coin.
    pub(super) purse: U256,
}

impl TransactionContext {
    /// Those of a world without a chain.
    pub(super) fn made_up(seed: Seed) -> Self {
        Self {
            base_fee: seed.number("base fee", GWEI / 2, 24 * GWEI),
            tip: seed.number("tip", GWEI / 100, 2 * GWEI),
            block_gas_limit: 36_000_000 + seed.number("block gas limit", 0, 9_000_000),
            gas: seed.number("gas", PERSONS_GAS.0, PERSONS_GAS.1),
            coinbase: seed.address("coinbase"),
            randomness: seed.word("randomness"),
            hashes: seed,
            purse: U256::from(seed.number("purse", 500, 5_000)) * U256::from(THOUSANDTH_COIN)
                + U256::from(seed.number("dust", 1, GWEI)),
        }
    }

    /// Those of the block after this one.
    pub(super) fn after(head: &BlockHead, seed: Seed) -> Self {
        let made_up = Self::made_up(seed);
        let known = |word: &[u8]| word.iter().any(|byte| *byte != 0);
        Self {
            base_fee: head.base_fee,
            block_gas_limit: if head.gas_limit == 0 {
                made_up.block_gas_limit
            } else {
                head.gas_limit
            },
            coinbase: if known(&head.coinbase.0) {
                Address::new(head.coinbase.0)
            } else {
                made_up.coinbase
            },
            // The next block has its own; that of this one would be a hash that contracts can have stored.
            ..made_up
        }
    }

    pub(super) fn gas_price(&self) -> u64 {
        self.base_fee.saturating_add(self.tip)
    }
}

/// What a call asked about the transaction and the block, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BlockFacts(u16);

impl BlockFacts {
    /// Nothing in particular: what differs is who trades, and how much.
    pub(super) const ANYTHING: Self = Self(u16::MAX);
    pub(super) const ORIGIN: Self = Self(1);
    pub(super) const GAS_PRICE: Self = Self(1 << 1);
    pub(super) const HASHES: Self = Self(1 << 2);
    pub(super) const COINBASE: Self = Self(1 << 3);
    pub(super) const TIME: Self = Self(1 << 4);
    pub(super) const NUMBER: Self = Self(1 << 5);
    pub(super) const RANDOMNESS: Self = Self(1 << 6);
    pub(super) const BLOCK_GAS_LIMIT: Self = Self(1 << 7);
    pub(super) const BASE_FEE: Self = Self(1 << 8);
    pub(super) const COINS: Self = Self(1 << 9);
    pub(super) const GAS: Self = Self(1 << 10);

    /// What an opcode asks for.
    pub(super) fn of(opcode: u8) -> Option<Self> {
        Some(match opcode {
            0x31 => Self::COINS,
            0x32 => Self::ORIGIN,
            0x3A => Self::GAS_PRICE,
            0x40 => Self::HASHES,
            0x41 => Self::COINBASE,
            0x42 => Self::TIME,
            0x43 => Self::NUMBER,
            0x44 => Self::RANDOMNESS,
            0x45 => Self::BLOCK_GAS_LIMIT,
            0x48 => Self::BASE_FEE,
            0x5A => Self::GAS,
            _ => return None,
        })
    }

    pub(super) fn any(self, of: Self) -> bool {
        of == Self::ANYTHING || self.0 & of.0 != 0
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
