//! Trades at a pool of a V4 exchange, whose one contract holds all pools. A small router of our own asks it as any router does: it has the pool
//! swap, pays, and takes what is owed (<https://docs.uniswap.org/contracts/v4/concepts/v4-vs-v3>).

use revm::primitives::{Address, B256, U256, b256, keccak256};

use super::{MILLION, Trader};
use crate::code::{
    abi::{self, Selector},
    live::LivePool,
    machine::{EvmOutcome, Machine},
};
use model::chain_state::ChainEvent;

/// `unlock(bytes)`, and the call back to who unlocks: `unlockCallback(bytes)`.
const UNLOCK: Selector = [0x48, 0xC8, 0x94, 0x91];
const UNLOCKED: Selector = [0x91, 0xDD, 0x73, 0x46];
/// `swap((address,address,uint24,int24,address),(bool,int256,uint160),bytes)`.
const SWAP: Selector = [0xF3, 0xCD, 0x91, 0x4C];
/// `sync(address)`, `settle()`, `take(address,address,uint256)`.
const SYNC: Selector = [0xA5, 0x84, 0x11, 0x94];
const SETTLE: Selector = [0x11, 0xDA, 0x60, 0xB4];
const TAKE: Selector = [0x0B, 0x0D, 0x9C, 0x09];
/// `approve(address,address,uint160,uint48)` and `transferFrom(address,address,uint160,address)` of Permit2.
const PERMIT: Selector = [0x87, 0x51, 0x7C, 0x45];
const PERMITTED: Selector = [0x36, 0xC7, 0x85, 0x16];
/// `beforeSwap(address,(address,address,uint24,int24,address),(bool,int256,uint160),bytes)` of hooks.
const BEFORE_SWAP: Selector = [0x57, 0x5E, 0x24, 0xB4];
/// Topic of `Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)`.
const SWAPPED: B256 = b256!("40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f");
/// The prices at which a swap stops: the lowest and the highest there are, less one.
const PRICE_MIN: U256 = U256::from_limbs([4_295_128_740, 0, 0, 0]);
const PRICE_MAX: &str = "1461446703485210103287273052203988822378723970341";

/// What distinguishes the pools of two coins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::code) struct PoolKey {
    /// The coins in the order of their addresses; zero is the chain's own.
    pub(in crate::code) coins: [Address; 2],
    /// In millionths.
    pub(in crate::code) fee: u32,
    pub(in crate::code) tick_spacing: u32,
    /// The contract that is called before and after each trade; zero for none.
    pub(in crate::code) hooks: Address,
}

impl PoolKey {
    fn words(&self) -> [U256; 5] {
        let [first, second] = self.coins.map(abi::word_of);
        [
            first,
            second,
            U256::from(self.fee),
            U256::from(self.tick_spacing),
            abi::word_of(self.hooks),
        ]
    }

    /// The key in the log of a pool's opening; `None` where the logged id is not its hash.
    pub(in crate::code) fn of_event(event: &ChainEvent) -> Option<Self> {
        let [_, id, first, second] = event.topics[..] else {
            return None;
        };
        let word = |at: usize| {
            event
                .data
                .get(32 * at..32 * (at + 1))
                .map(U256::from_be_slice)
        };
        let coins = [first, second].map(|word| abi::address_of(U256::from_be_bytes(word)));
        let (fee, tick_spacing) = (word(0)?.try_into().ok()?, word(1)?.try_into().ok()?);
        let key = Self {
            coins,
            fee,
            tick_spacing,
            hooks: abi::address_of(word(2)?),
        };
        (key.id() == id).then_some(key)
    }

    /// The pool's id: the hash of its key.
    pub(in crate::code) fn id(&self) -> B256 {
        keccak256(self.words().map(|word| word.to_be_bytes::<32>()).concat())
    }
}

/// One call of the router's list: whom, with how many coins, and with what.
struct Step {
    to: Address,
    coins: U256,
    data: Vec<u8>,
}

impl Step {
    fn new(to: Address, data: Vec<u8>) -> Self {
        Self {
            to,
            coins: U256::ZERO,
            data,
        }
    }
}

/// Ends the list: what the call before returned is returned by refusing everything.
const STOP: Step = Step {
    to: Address::ZERO,
    coins: U256::ZERO,
    data: Vec::new(),
};

fn encoded(steps: &[Step]) -> Vec<u8> {
    let mut list = Vec::new();
    for step in steps {
        list.extend(step.to.as_slice());
        list.extend(step.coins.to_be_bytes::<32>());
        list.extend(
            u32::try_from(step.data.len())
                .unwrap_or_default()
                .to_be_bytes(),
        );
        list.extend(&step.data);
    }
    list
}

/// Code of the router: makes the calls of a list, given by who calls it or in the call back of who it unlocked, one after another, and refuses
/// what one of them refuses.
fn router() -> Vec<u8> {
    let mut code = vec![
        // end = CALLDATASIZE, at = 0; in the call back end = 0x44 + its length, at = 0x44.
        0x36, 0x5F, // CALLDATASIZE PUSH0
        0x5F, 0x35, 0x60, 0xE0, 0x1C, 0x63, // PUSH0 CALLDATALOAD 0xE0 SHR PUSH4
    ];
    code.extend(UNLOCKED);
    let jump = |code: &mut Vec<u8>, opcode: u8| {
        code.extend([0x61, 0, 0, opcode]);
        code.len() - 3
    };
    let land = |code: &mut Vec<u8>, from: usize| {
        let here = code.len();
        code[from] = (here >> 8) as u8;
        code[from + 1] = here as u8;
        code.push(0x5B);
        here
    };
    code.extend([0x14, 0x15]); // EQ ISZERO
    let plain = jump(&mut code, 0x57);
    code.extend([0x50, 0x50, 0x60, 0x24, 0x35, 0x60, 0x44, 0x01, 0x60, 0x44]); // POP POP; 0x44 + CALLDATALOAD(0x24), 0x44
    land(&mut code, plain);
    let again = code.len();
    code.push(0x5B);
    // end at: at < end, else done.
    code.extend([0x81, 0x81, 0x10, 0x15]); // DUP2 DUP2 LT ISZERO
    let done = jump(&mut code, 0x57);
    // length = CALLDATALOAD(at + 52) >> 224; CALLDATACOPY(0, at + 56, length)
    code.extend([0x80, 0x60, 52, 0x01, 0x35, 0x60, 0xE0, 0x1C]); // end at length
    code.extend([0x80, 0x82, 0x60, 56, 0x01, 0x5F, 0x37]); // DUP1 DUP3 56 ADD PUSH0 CALLDATACOPY
    // to = CALLDATALOAD(at) >> 96; none ends the list.
    code.extend([0x81, 0x35, 0x60, 0x60, 0x1C]); // end at length to
    code.extend([0x80, 0x15]);
    let stop = jump(&mut code, 0x57);
    // CALL(gas, to, CALLDATALOAD(at + 20), 0, length, 0, 0)
    code.extend([
        0x5F, 0x5F, 0x83, 0x5F, 0x86, 0x60, 20, 0x01, 0x35, 0x85, 0x5A, 0xF1,
    ]);
    code.push(0x15);
    let refused = jump(&mut code, 0x57);
    // at += 56 + length
    code.extend([0x50, 0x01, 0x60, 56, 0x01]); // POP ADD 56 ADD
    code.extend([0x61, (again >> 8) as u8, again as u8, 0x56]);
    land(&mut code, stop);
    land(&mut code, refused);
    code.extend([0x3D, 0x5F, 0x5F, 0x3E, 0x3D, 0x5F, 0xFD]); // RETURNDATACOPY, REVERT
    land(&mut code, done);
    code.extend([
        0x60, 0x20, 0x5F, 0x52, 0x5F, 0x60, 0x20, 0x52, 0x60, 0x40, 0x5F, 0xF3,
    ]); // an empty list of bytes
    code
}

/// Code of hooks that change nothing: it answers with the selector, and with zeros behind it.
fn neutral_hooks() -> Vec<u8> {
    let mut code = vec![
        0x5F, 0x35, 0x60, 0xE0, 0x1C, 0x80, 0x60, 0xE0, 0x1B, 0x5F, 0x52, 0x63,
    ]; // MSTORE(0, selector)
    code.extend(BEFORE_SWAP);
    code.extend([0x14, 0x60, 0x05, 0x1B, 0x60, 0x40, 0x01, 0x5F, 0xF3]); // 96 bytes before a swap, else 64
    code
}

/// What a swap would bring at a V4 pool if its hooks changed nothing.
pub(in crate::code) fn quoted_v4(
    machine: &mut Machine<'_>,
    pool: &LivePool,
    from: Address,
    amount: U256,
) -> U256 {
    let Some(key) = pool.key else {
        return U256::ZERO;
    };
    let mark = machine.mark();
    if !key.hooks.is_zero() {
        machine.evm_state().place(key.hooks, &neutral_hooks());
    }
    let swap = Step::new(pool.address, swap(&key, key.coins[0] == from, amount));
    let who = machine.people.newcomer;
    let asked = unlocked(machine, pool, who, U256::ZERO, &[swap, STOP]);
    machine.rollback(mark);
    owed(&asked.output, key.coins[0] == from).unwrap_or_default()
}

/// Has the pools unlocked for these steps.
fn unlocked(
    machine: &mut Machine<'_>,
    pool: &LivePool,
    who: Address,
    coins: U256,
    steps: &[Step],
) -> EvmOutcome {
    if machine.evm_state().code(pool.router) != router() {
        machine.evm_state().place(pool.router, &router());
    }
    let inner = encoded(steps);
    let mut data = abi::call(UNLOCK, &[U256::from(32), U256::from(inner.len())]);
    data.extend(&inner);
    data.resize(data.len().next_multiple_of(32) + 4, 0);
    let list = encoded(&[Step::new(pool.address, data)]);
    machine.pay = coins;
    machine.person_calls(who, pool.router, list)
}

/// What the pool itself, without its hooks, would have given for all of `amount`: by the last swap of the router's that the log shows. What hooks
/// keep of the one coin or the other is missing in it, and so is a fee that they named.
fn by_the_pool(
    pool: &LivePool,
    key: &PoolKey,
    outcome: &EvmOutcome,
    first: bool,
    amount: U256,
) -> Option<U256> {
    let ours = [SWAPPED, key.id(), abi::word_of(pool.router).into()];
    let log = outcome
        .logs
        .iter()
        .rev()
        .find(|log| log.address == pool.address && log.data.topics() == ours)?;
    let word = |at: usize| {
        log.data
            .data
            .get(32 * at..32 * (at + 1))
            .map(U256::from_be_slice)
    };
    let [paid, out] = if first {
        [word(0)?, word(1)?]
    } else {
        [word(1)?, word(0)?]
    };
    // What is paid is negative. The fee is in millionths.
    let paid = U256::ZERO.wrapping_sub(paid);
    let kept = U256::from(MILLION.saturating_sub(if pool.fee == 0 {
        word(5)?.saturating_to()
    } else {
        0
    }));
    let whole = out.checked_mul(amount)?.checked_mul(U256::from(MILLION))?;
    whole.checked_div(paid.checked_mul(kept)?)
}

impl Trader<'_, '_> {
    /// Swaps this amount of one coin in a V4 pool, and pays and takes as a router does. Returns the result, and the amount that the pool would
    /// have paid without its hooks.
    pub(super) fn swap_v4(
        &mut self,
        pool: &LivePool,
        who: Address,
        from: Address,
        amount: U256,
    ) -> (EvmOutcome, U256) {
        let Some(key) = pool.key else {
            return (EvmOutcome::default(), U256::ZERO);
        };
        let first = key.coins[0] == from;
        let asked = unlocked(
            self.machine,
            pool,
            who,
            U256::ZERO,
            &[Step::new(pool.address, swap(&key, first, amount)), STOP],
        );
        let Some(owed) = owed(&asked.output, first) else {
            return (asked, U256::ZERO);
        };
        let to = if first { key.coins[1] } else { key.coins[0] };
        let take = abi::call(TAKE, &[abi::word_of(to), abi::word_of(who), owed]);
        let swap = Step::new(pool.address, swap(&key, first, amount));
        let mut steps = vec![
            swap,
            Step::new(pool.address, abi::call(SYNC, &[abi::word_of(from)])),
        ];
        let mut coins = U256::ZERO;
        if from.is_zero() {
            coins = amount;
            steps.push(Step {
                to: pool.address,
                coins: amount,
                data: SETTLE.to_vec(),
            });
        } else {
            steps.push(self.payment(pool, who, from, amount));
            steps.push(Step::new(pool.address, SETTLE.to_vec()));
        }
        steps.push(Step::new(pool.address, take));
        let outcome = unlocked(self.machine, pool, who, coins, &steps);
        let quoted = by_the_pool(pool, &key, &outcome, first, amount)
            .unwrap_or(owed)
            .max(owed);
        (outcome, quoted)
    }

    /// The step that sends the seller's tokens to the pools: by Permit2 if the chain has it, otherwise by the router.
    fn payment(&mut self, pool: &LivePool, who: Address, coin: Address, amount: U256) -> Step {
        let [from, to] = [who, pool.address].map(abi::word_of);
        let permit = pool
            .permit
            .filter(|permit| !self.machine.evm_state().code(*permit).is_empty());
        let spender = permit.unwrap_or(pool.router);
        let allowed = allowance(self, coin, who, spender);
        if allowed < amount {
            let approved = self.machine.person_calls(
                who,
                coin,
                abi::call(abi::APPROVE, &[abi::word_of(spender), U256::MAX]),
            );
            if !approved.ok {
                self.machine.person_calls(
                    who,
                    coin,
                    abi::call(abi::APPROVE, &[abi::word_of(spender), amount]),
                );
            }
        }
        let Some(permit) = permit else {
            return Step::new(coin, abi::call(abi::TRANSFER_FROM, &[from, to, amount]));
        };
        let (most, forever) = (U256::MAX >> 96, U256::MAX >> 208);
        let words = [abi::word_of(coin), abi::word_of(pool.router), most, forever];
        self.machine
            .person_calls(who, permit, abi::call(PERMIT, &words));
        Step::new(
            permit,
            abi::call(PERMITTED, &[from, to, amount, abi::word_of(coin)]),
        )
    }
}

fn allowance(trader: &mut Trader<'_, '_>, coin: Address, who: Address, spender: Address) -> U256 {
    trader
        .machine
        .ask(coin, abi::ALLOWANCE, &[who, spender].map(abi::word_of))
        .unwrap_or_default()
}

fn swap(key: &PoolKey, first: bool, amount: U256) -> Vec<u8> {
    let limit = if first {
        PRICE_MIN
    } else {
        U256::from_str_radix(PRICE_MAX, 10).unwrap_or_default()
    };
    // A negative amount is what is paid; no data for the hooks.
    let order = [U256::from(first), U256::ZERO.wrapping_sub(amount), limit];
    abi::call(
        SWAP,
        &[&key.words()[..], &order, &[U256::from(288), U256::ZERO]].concat(),
    )
}

/// What the pool owes after a swap: the first coin's amount in the upper half of the word, the second's in the lower.
fn owed(output: &[u8], first: bool) -> Option<U256> {
    let word = (output.len() == 32).then(|| U256::from_be_slice(output))?;
    let half: U256 = if first {
        word & (U256::MAX >> 128)
    } else {
        word >> 128
    };
    (!half.is_zero() && !half.bit(127)).then_some(half)
}
