//! Trades with the real pool over the state of the chain, through the exchange's router, all of them in memory: buy, sell half, sell the rest,
//! sell a day later, a transfer between strangers, a sale by one who was sent tokens. What they mean is said in `verdict`.

use revm::primitives::{Address, B256, U256, b256};

use super::{
    super::{
        abi::{self, Selector},
        funding::{balance, write_balance},
        machine::{EvmOutcome, Machine},
        trial::{Scene, ratio},
        world::{HOLDER, OTHER},
    },
    exchanges::PoolKind,
    pools::{LivePool, balance_slot_of, reserves},
};
use crate::simulation::{SimulatedTrade, SimulatedTrades};
use model::untrusted::is_invisible;

/// `swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)` of a V2 router.
const SWAP_V2: Selector = [0x5C, 0x11, 0xD7, 0x95];
/// `exactInputSingle` of a V3 router, with and without a deadline.
const SWAP_V3: [Selector; 2] = [[0x41, 0x4B, 0xF3, 0x89], [0x04, 0xE4, 0x5A, 0xAF]];
/// Topics of a pool's swap: `Swap(address,uint256,uint256,uint256,uint256,address)` and
/// `Swap(address,address,int256,int256,uint160,uint128,int24)`.
const SWAPPED_V2: B256 = b256!("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822");
const SWAPPED_V3: B256 = b256!("c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67");
/// PancakeSwap's V3 pools add two fees at the end.
const SWAPPED_V3_FEES: B256 = b256!("19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83");

/// Purchases tried, in millionths of the pool's coins: the largest that goes through is kept.
const BUYS: [u64; 3] = [5_000, 500, 50];
/// Purchases tried to see how much can be bought and sold at once.
const LARGE: [u64; 4] = [200_000, 100_000, 50_000, 20_000];
const MILLION: u64 = 1_000_000;
/// Blocks between a purchase and the sale.
const BETWEEN: u64 = 3;

/// Runs all trades and takes them back.
pub(super) fn simulate(machine: &mut Machine<'_>, scene: &Scene, pool: &LivePool) -> SimulatedTrades {
    let mut trader = Trader { machine, scene, pool };
    let (mark, cut) = (trader.machine.mark(), trader.machine.cut);
    let trades = trader.trade();
    trader.machine.rollback(mark);
    // A trade that was cut off for its length shows nothing.
    if trader.machine.cut > cut || trader.machine.stopped.is_some() { SimulatedTrades::default() } else { trades }
}

struct Trader<'a, 'm> {
    machine: &'a mut Machine<'m>,
    scene: &'a Scene,
    pool: &'a LivePool,
}

impl Trader<'_, '_> {
    fn trade(&mut self) -> SimulatedTrades {
        let mut trades = SimulatedTrades::default();
        self.machine.next_block();
        match self.buy_some() {
            Ok(buy) => trades.buy = Some(buy),
            Err(refused) if self.pool.traded && self.give_to_holder() => {
                trades.buy_reason = refused.reason;
            }
            Err(refused) => {
                trades.buy = Some(refused);
                return trades;
            }
        }
        self.machine.wait_blocks(BETWEEN);
        let mark = self.machine.mark();
        trades.sell = Some(self.sell(HOLDER, 2));
        self.machine.next_block();
        trades.sell_rest = Some(self.sell(HOLDER, 1));
        self.machine.rollback(mark);
        trades.transfer = Some(self.transfer());
        self.machine.next_block();
        if trades.transfer.as_ref().is_some_and(|transfer| transfer.ok) {
            trades.sell_received = Some(self.sell(OTHER, 1));
        }
        self.machine.rollback(mark);
        self.machine.wait_day();
        trades.sell_after_day = Some(self.sell(HOLDER, 2));
        self.machine.rollback(mark);
        trades.largest_share = trades.sell.as_ref().filter(|sell| sell.ok).and_then(|_| self.largest());
        trades
    }

    /// The largest share of the pool's coins that can be bought for and whose tokens can be sold at once.
    fn largest(&mut self) -> Option<f64> {
        LARGE.into_iter().find_map(|millionths| {
            let mark = self.machine.mark();
            let bought = self.buy(OTHER, millionths).ok;
            self.machine.next_block();
            let sold = bought && self.sell(OTHER, 1).ok;
            self.machine.rollback(mark);
            sold.then_some(millionths as f64 / MILLION as f64)
        })
    }

    /// A purchase of ordinary size, smaller if the token limits it. Errors: the first refusal.
    fn buy_some(&mut self) -> Result<SimulatedTrade, SimulatedTrade> {
        let mut first = None;
        for millionths in BUYS {
            let mark = self.machine.mark();
            let buy = self.buy(HOLDER, millionths);
            if buy.ok {
                return Ok(buy);
            }
            self.machine.rollback(mark);
            first.get_or_insert(buy);
        }
        Err(first.unwrap_or_default())
    }

    fn buy(&mut self, who: Address, millionths: u64) -> SimulatedTrade {
        let LivePool { quote, router, balance_slot, .. } = *self.pool;
        let spend = (self.pool.depth / U256::from(MILLION)).saturating_mul(U256::from(millionths)).max(U256::ONE);
        self.machine.world().set_slot(quote, balance_slot_of(who, balance_slot), spend);
        self.machine.call(who, quote, abi::call(abi::APPROVE, &[abi::word_of(router), U256::MAX]));
        let had = balance(self.machine, self.scene.token, who).unwrap_or_default();
        let quoted = self.quoted(quote, spend);
        let outcome = self.swap(who, quote, self.scene.token, spend);
        if !outcome.ok {
            return SimulatedTrade::refused(reason(&outcome.output));
        }
        let got = balance(self.machine, self.scene.token, who).unwrap_or_default().saturating_sub(had);
        if got.is_zero() {
            return SimulatedTrade::refused("nothing arrived".to_owned());
        }
        let sent = self.swapped(&outcome).map(|(_, sent)| sent);
        SimulatedTrade::through(sent.map(|sent| 1.0 - ratio(got, sent)), quoted.map(|quoted| ratio(got, quoted)))
    }

    /// Sells a part of what they have: one `of_parts`.
    fn sell(&mut self, who: Address, of_parts: u64) -> SimulatedTrade {
        let LivePool { quote, router, .. } = *self.pool;
        let token = self.scene.token;
        let amount = balance(self.machine, token, who).unwrap_or_default() / U256::from(of_parts);
        if amount.is_zero() {
            return SimulatedTrade::refused("nothing is left to sell".to_owned());
        }
        let approved = self.machine.call(who, token, abi::call(abi::APPROVE, &[abi::word_of(router), U256::MAX]));
        // Some tokens refuse an allowance without a limit.
        if !approved.ok {
            self.machine.call(who, token, abi::call(abi::APPROVE, &[abi::word_of(router), amount]));
        }
        let quoted = self.quoted(token, amount);
        let had = balance(self.machine, quote, who).unwrap_or_default();
        let outcome = self.swap(who, token, quote, amount);
        if !outcome.ok {
            return SimulatedTrade::refused(reason(&outcome.output));
        }
        let got = balance(self.machine, quote, who).unwrap_or_default().saturating_sub(had);
        let arrived = self.swapped(&outcome).map(|(arrived, _)| arrived);
        let of_quote = quoted.map(|quoted| ratio(got, quoted));
        let trade = SimulatedTrade::through(arrived.map(|arrived| 1.0 - ratio(arrived, amount)), of_quote);
        // A sale that brings next to nothing is none.
        if got.is_zero() || of_quote.is_some_and(|share| share < SALE_MIN) {
            return SimulatedTrade { ok: false, reason: Some("the sale brings next to nothing".to_owned()), ..trade };
        }
        trade
    }

    fn transfer(&mut self) -> SimulatedTrade {
        let token = self.scene.token;
        let amount = balance(self.machine, token, HOLDER).unwrap_or_default() / U256::from(2);
        let had = balance(self.machine, token, OTHER).unwrap_or_default();
        let outcome = self.machine.call(HOLDER, token, abi::call(abi::TRANSFER, &[abi::word_of(OTHER), amount]));
        if !outcome.ok {
            return SimulatedTrade::refused(reason(&outcome.output));
        }
        let came = balance(self.machine, token, OTHER).unwrap_or_default().saturating_sub(had);
        if came.is_zero() {
            return SimulatedTrade::refused("nothing arrived".to_owned());
        }
        SimulatedTrade::through(Some(1.0 - ratio(came, amount)), None)
    }

    /// Gives the holder tokens as an earlier buyer has them: from the pool, else by writing the balance.
    fn give_to_holder(&mut self) -> bool {
        let token = self.scene.token;
        let amount = (balance(self.machine, token, self.pool.address).unwrap_or_default() / U256::from(1_000)).max(U256::ONE);
        let mark = self.machine.mark();
        self.machine.call(self.pool.address, token, abi::call(abi::TRANSFER, &[abi::word_of(HOLDER), amount]));
        if balance(self.machine, token, HOLDER).is_some_and(|now| !now.is_zero()) {
            self.scene.sync(self.machine);
            return true;
        }
        self.machine.rollback(mark);
        write_balance(self.machine, token, HOLDER, amount)
    }

    fn swap(&mut self, who: Address, from: Address, to: Address, amount: U256) -> EvmOutcome {
        let [from, to, receiver] = [from, to, who].map(abi::word_of);
        let data = match self.pool.kind {
            PoolKind::V2 => {
                let path = [U256::from(2), from, to];
                abi::call(SWAP_V2, &[&[amount, U256::ZERO, U256::from(160), receiver, U256::MAX], &path[..]].concat())
            }
            PoolKind::V3 => {
                let fee = U256::from(self.pool.fee);
                let deadline = if self.pool.deadline { vec![U256::MAX] } else { Vec::new() };
                let head = [from, to, fee, receiver];
                let tail = [amount, U256::ZERO, U256::ZERO];
                abi::call(SWAP_V3[usize::from(!self.pool.deadline)], &[&head[..], &deadline, &tail[..]].concat())
            }
        };
        self.machine.call(who, self.pool.router, data)
    }

    /// Amount of the other coin by the pool's own formula; `None` for pools whose price depends on ranges.
    fn quoted(&mut self, from: Address, amount: U256) -> Option<U256> {
        if self.pool.kind != PoolKind::V2 {
            return None;
        }
        let reserves = reserves(self.machine, self.pool.address)?;
        let other = if from == self.pool.quote { self.scene.token } else { self.pool.quote };
        let [into, out] = if from < other { reserves } else { [reserves[1], reserves[0]] };
        let paid = amount.saturating_mul(U256::from(MILLION - u64::from(self.pool.fee)));
        paid.saturating_mul(out).checked_div(into.saturating_mul(U256::from(MILLION)).saturating_add(paid))
    }

    /// Tokens that went into and out of the pool in the last swap that the log shows.
    fn swapped(&self, outcome: &EvmOutcome) -> Option<(U256, U256)> {
        let log = outcome.logs.iter().rev().find(|log| {
            log.address == self.pool.address
                && log.data.topics().first().is_some_and(|topic| [SWAPPED_V2, SWAPPED_V3, SWAPPED_V3_FEES].contains(topic))
        })?;
        let words: Vec<U256> = log.data.data.chunks_exact(32).map(U256::from_be_slice).collect();
        let second = usize::from(self.scene.token > self.pool.quote);
        match self.pool.kind {
            PoolKind::V2 => Some((*words.get(second)?, *words.get(2 + second)?)),
            PoolKind::V3 => {
                let delta = *words.get(second)?;
                Some(if delta.bit(255) { (U256::ZERO, U256::ZERO.wrapping_sub(delta)) } else { (delta, U256::ZERO) })
            }
        }
    }
}

/// A sale that brings less than this share of what the pool quotes is none.
const SALE_MIN: f64 = 0.02;
/// Selectors of `Error(string)` and `Panic(uint256)`.
const ERROR: Selector = [0x08, 0xC3, 0x79, 0xA0];
const PANIC: Selector = [0x4E, 0x48, 0x7B, 0x71];
const REASON_MAX: usize = 120;

/// Why a call reverted, from what it returned. The text is the contract's: signs that could harm a screen are dropped.
fn reason(output: &[u8]) -> String {
    let text = match output.split_first_chunk::<4>() {
        Some((&ERROR, rest)) if rest.len() >= 64 => {
            let length = usize::try_from(U256::from_be_slice(&rest[32..64])).unwrap_or(usize::MAX).min(rest.len() - 64);
            String::from_utf8_lossy(&rest[64..64 + length]).into_owned()
        }
        Some((&PANIC, rest)) if rest.len() >= 32 => format!("panic {}", U256::from_be_slice(&rest[..32])),
        Some((selector, _)) => format!("error {}", abi::hex(*selector)),
        None => String::new(),
    };
    let text: String = text.chars().filter(|sign| !sign.is_control() && !is_invisible(*sign)).take(REASON_MAX).collect();
    if text.is_empty() { "execution reverted".to_owned() } else { format!("execution reverted: {text}") }
}
