//! The usual trade again, with one thing changed at a time. A contract that checks whether it is simulated reveals itself by the difference:
//! these conditions decide nothing in an honest sell. A condition that the contract does not read cannot make a difference and is skipped.

use revm::primitives::{Address, B256, U256};

use super::{HELD, HOUR, Run, TradeDifference};
use crate::code::{
    machine::Checkpoint,
    pool_trades::{Deal, SaleRoute},
    transaction_context::{BlockFacts, TransactionContext},
};

/// A smaller difference in what arrives is none.
const DIFFERENCE_MIN: f64 = 0.05;

/// How a trade is made.
struct Conditions {
    circumstances: TransactionContext,
    who: Address,
    /// Who sends the transactions, if not the trader.
    sent_by: Option<Address>,
    blocks: u64,
    seconds: u64,
    /// The amount sold is a multiple of the first, and the second.
    amount: (u64, u64),
}

/// One change, and what a contract has to ask for to notice it.
struct Variant {
    changed: &'static str,
    asks: BlockFacts,
    apply: fn(&mut Conditions),
}

const VARIANTS: &[Variant] = &[
    Variant {
        changed: "a gas price of 0",
        asks: BlockFacts::GAS_PRICE,
        apply: |c| (c.circumstances.base_fee, c.circumstances.tip) = (0, 0),
    },
    Variant {
        changed: "half the gas price",
        asks: BlockFacts::GAS_PRICE,
        apply: |c| halve(&mut c.circumstances),
    },
    Variant {
        changed: "a gas price a third higher",
        asks: BlockFacts::GAS_PRICE,
        apply: |c| c.circumstances.tip += c.circumstances.gas_price() / 3,
    },
    Variant {
        changed: "a base fee of 0",
        asks: BlockFacts::BASE_FEE,
        apply: |c| c.circumstances.base_fee = 0,
    },
    Variant {
        changed: "twice the base fee",
        asks: BlockFacts::BASE_FEE,
        apply: |c| c.circumstances.base_fee *= 2,
    },
    Variant {
        changed: "a block without a gas limit",
        asks: BlockFacts::BLOCK_GAS_LIMIT,
        apply: |c| c.circumstances.block_gas_limit = u64::MAX,
    },
    Variant {
        changed: "a block of 30 million gas",
        asks: BlockFacts::BLOCK_GAS_LIMIT,
        apply: |c| c.circumstances.block_gas_limit = 30_000_000,
    },
    Variant {
        changed: "10 million gas",
        asks: BlockFacts::GAS,
        apply: |c| c.circumstances.gas = 10_000_000,
    },
    Variant {
        changed: "no coinbase",
        asks: BlockFacts::COINBASE,
        apply: |c| c.circumstances.coinbase = Address::ZERO,
    },
    Variant {
        changed: "another coinbase",
        asks: BlockFacts::COINBASE,
        apply: |c| c.circumstances.coinbase = c.circumstances.hashes.address("another coinbase"),
    },
    Variant {
        changed: "a random number of 0",
        asks: BlockFacts::RANDOMNESS,
        apply: |c| c.circumstances.randomness = B256::ZERO,
    },
    Variant {
        changed: "another random number",
        asks: BlockFacts::RANDOMNESS,
        apply: |c| c.circumstances.randomness = c.circumstances.hashes.word("other randomness"),
    },
    Variant {
        changed: "an empty wallet",
        asks: BlockFacts::COINS,
        apply: |c| c.circumstances.purse = U256::ZERO,
    },
    Variant {
        changed: "1 million coins in the wallet",
        asks: BlockFacts::COINS,
        apply: |c| c.circumstances.purse = U256::from(10).pow(U256::from(24)),
    },
    Variant {
        changed: "a different transaction sender",
        asks: BlockFacts::ORIGIN,
        apply: |c| c.sent_by = Some(c.circumstances.hashes.address("sender")),
    },
    Variant {
        changed: "other block hashes",
        asks: BlockFacts::HASHES,
        apply: |c| c.circumstances.hashes = c.circumstances.hashes.apart("other block hashes"),
    },
    Variant {
        changed: "another trader",
        asks: BlockFacts::ANYTHING,
        apply: |c| c.who = c.circumstances.hashes.address("second person"),
    },
    Variant {
        changed: "a third trader",
        asks: BlockFacts::ANYTHING,
        apply: |c| c.who = c.circumstances.hashes.address("third person"),
    },
    Variant {
        changed: "a fourth trader",
        asks: BlockFacts::ANYTHING,
        apply: |c| c.who = c.circumstances.hashes.address("fourth person"),
    },
    Variant {
        changed: "a round amount",
        asks: BlockFacts::ANYTHING,
        apply: |c| c.amount = (1_000_000_000, 0),
    },
    Variant {
        changed: "an odd amount",
        asks: BlockFacts::ANYTHING,
        apply: |c| c.amount = (2, 1),
    },
    Variant {
        changed: "a block number one higher",
        asks: BlockFacts::NUMBER,
        apply: |c| c.blocks = 1,
    },
];

fn halve(circumstances: &mut TransactionContext) {
    circumstances.base_fee /= 2;
    circumstances.tip /= 2;
}

/// Hours by which the trade is moved to see whether sales depend on the time of day.
const HOURS: [u64; 6] = [1, 2, 3, 5, 12, 13];

impl Run<'_, '_, '_> {
    /// Notes what makes a difference. `start`: before the purchase.
    pub(super) fn twice(&mut self, start: Checkpoint) {
        self.trader.machine.rollback(start);
        let usual = self.usual();
        let Some(base) = self.round(start, &usual) else {
            return;
        };
        let asked = self.asked;
        for variant in VARIANTS.iter().filter(|variant| asked.any(variant.asks)) {
            let mut conditions = self.usual();
            (variant.apply)(&mut conditions);
            let Some(brought) = self.round(start, &conditions) else {
                continue;
            };
            self.compare(variant.changed, base, brought);
        }
        if self.asked.any(BlockFacts::TIME) {
            self.hours(start, base);
        }
    }

    fn usual(&self) -> Conditions {
        let machine = &self.trader.machine;
        Conditions {
            circumstances: machine.circumstances,
            who: machine.circumstances.hashes.address("first person"),
            sent_by: None,
            blocks: 0,
            seconds: 0,
            amount: (1, 0),
        }
    }

    /// What a sale brings that comes after a purchase under these conditions; `None` if it was cut off.
    fn round(&mut self, start: Checkpoint, conditions: &Conditions) -> Option<f64> {
        let Conditions {
            circumstances,
            who,
            sent_by,
            blocks,
            seconds,
            amount,
        } = *conditions;
        let earlier = self.trials.buy_reason.is_some();
        let trader = &mut *self.trader;
        trader.machine.circumstances = circumstances;
        trader.machine.sent_by = sent_by;
        trader.machine.wait(blocks, 0);
        trader.machine.wait_seconds(seconds);
        trader.machine.evm_state().person(who);
        trader
            .machine
            .evm_state()
            .set_coins(who, circumstances.purse);
        trader.machine.next_block();
        let bought = if earlier {
            Deal {
                ok: trader.give_from_pool(who),
                ..Deal::default()
            }
        } else {
            trader.buy(who, self.size)
        };
        trader.machine.wait(HELD.0, HELD.1);
        trader
            .machine
            .evm_state()
            .set_coins(who, circumstances.purse);
        let half = trader.balance(who) / U256::from(2);
        let (unit, odd) = (U256::from(amount.0), U256::from(amount.1));
        let amount = if half > unit * U256::from(2) {
            half / unit * unit - odd
        } else {
            half
        };
        let sold = if bought.ok {
            trader.sell(who, amount, SaleRoute::Router)
        } else {
            Deal::default()
        };
        trader.machine.sent_by = None;
        trader.machine.rollback(start);
        if bought.cut || sold.cut {
            self.trials.unfinished = true;
            return None;
        }
        Some(bought.worth().min(1.0) * sold.worth().min(1.0))
    }

    fn compare(&mut self, changed: &'static str, usual: f64, brought: f64) {
        if differ(usual, brought) {
            self.trials.differences.push(TradeDifference {
                changed,
                usual,
                brought,
            });
        }
    }

    /// Sales at other hours: what is open and shut in turn depends on the hour, and what opens or shuts once does not.
    fn hours(&mut self, start: Checkpoint, base: f64) {
        let mut seen = vec![base];
        for hours in HOURS {
            let conditions = Conditions {
                seconds: hours * HOUR,
                ..self.usual()
            };
            let Some(brought) = self.round(start, &conditions) else {
                return;
            };
            seen.push(brought);
        }
        if seen
            .windows(2)
            .filter(|pair| differ(pair[0], pair[1]))
            .count()
            > 1
        {
            let other = seen
                .iter()
                .copied()
                .find(|brought| differ(base, *brought))
                .unwrap_or(base);
            self.compare("a later block timestamp", base, other);
        }
    }
}

fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > DIFFERENCE_MIN * one.max(other)
}
