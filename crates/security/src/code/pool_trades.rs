//! Trades as people make them: at a real pool through its exchange's router, or, without a chain, at a mock pool that hands out and takes
//! tokens. Which trades are tried is decided in `trials`.

mod v4;

use revm::primitives::{Address, B256, U256, b256, keccak256};

pub(super) use self::v4::{PoolKey, quoted_v4};

use super::{
    abi::{self, Selector},
    funding::{balance, write_balance},
    live::{LivePool, PoolKind, balance_slot_of, reserves},
    machine::{EvmOutcome, Machine},
    trade_simulation::{Scene, ratio},
};
use crate::simulation::SimulatedTrade;
use model::untrusted::is_invisible;

/// `swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)` of a V2 router.
const SWAP_V2: Selector = [0x5C, 0x11, 0xD7, 0x95];
/// `exactInputSingle` of a V3 router, with and without a deadline.
const SWAP_V3: [Selector; 2] = [[0x41, 0x4B, 0xF3, 0x89], [0x04, 0xE4, 0x5A, 0xAF]];
/// `swap(uint256,uint256,address,bytes)` of a V2 pool.
const SWAP_POOL: Selector = [0x02, 0x2C, 0x0D, 0x9F];
/// Topics of a pool's swap: `Swap(address,uint256,uint256,uint256,uint256,address)` and
/// `Swap(address,address,int256,int256,uint160,uint128,int24)`.
const SWAPPED_V2: B256 = b256!("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822");
const SWAPPED_V3: B256 = b256!("c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67");
/// PancakeSwap's V3 pools add two fees at the end.
const SWAPPED_V3_FEES: B256 =
    b256!("19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83");

pub(super) const MILLION: u64 = 1_000_000;
/// A sale that brings less than this share of what the pool quotes is none.
const SALE_MIN: f64 = 0.02;

/// A trade as it went.
#[derive(Debug, Clone, Default)]
pub(super) struct Deal {
    pub(super) ok: bool,
    /// Fraction of the tokens that did not arrive.
    pub(super) tax: Option<f64>,
    /// The amount received, as a fraction of the pool's quote before the trade.
    pub(super) of_quote: Option<f64>,
    /// Why it failed.
    pub(super) reason: Option<String>,
    /// Whether it hit the step limit, so that it shows nothing.
    pub(super) cut: bool,
}

impl Deal {
    fn refused(reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::default()
        }
    }

    /// The received fraction of the expected amount; 0 if it failed.
    pub(super) fn worth(&self) -> f64 {
        if self.ok {
            self.of_quote
                .or(self.tax.map(|tax| 1.0 - tax))
                .unwrap_or(1.0)
        } else {
            0.0
        }
    }

    pub(super) fn shown(&self) -> SimulatedTrade {
        match &self.reason {
            Some(reason) if self.tax.is_none() => SimulatedTrade::refused(reason.clone()),
            reason => SimulatedTrade {
                ok: self.ok,
                reason: reason.clone(),
                ..SimulatedTrade::through(self.tax, self.of_quote)
            },
        }
    }
}

/// How the tokens of a sale get to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaleRoute {
    /// Through the exchange's router.
    Router,
    /// Through a router that is not the exchange's.
    OtherRouter,
    /// The seller sends them, and has the pool swap.
    Straight,
}

/// The simulated traders of a token.
pub(super) struct Trader<'a, 'm> {
    pub(super) machine: &'a mut Machine<'m>,
    pub(super) scene: &'a Scene,
    /// `None` for the mock pool of a fresh world.
    pub(super) pool: Option<&'a LivePool>,
}

impl<'a, 'm> Trader<'a, 'm> {
    pub(super) fn new(machine: &'a mut Machine<'m>, scene: &'a Scene) -> Self {
        Self {
            machine,
            scene,
            pool: scene.pool.as_deref(),
        }
    }

    pub(super) fn balance(&mut self, who: Address) -> U256 {
        balance(self.machine, self.scene.token, who).unwrap_or_default()
    }

    /// Buys for a part of the pool's coins, in millionths; of a mock pool for a part of its tokens.
    pub(super) fn buy(&mut self, who: Address, millionths: u64) -> Deal {
        let cut = self.machine.cut;
        let mut deal = match self.pool {
            Some(pool) => self.buy_at(pool, who, millionths),
            None => self.take(who, millionths),
        };
        deal.cut = self.machine.cut > cut || self.machine.stopped.is_some();
        deal
    }

    fn buy_at(&mut self, pool: &LivePool, who: Address, millionths: u64) -> Deal {
        let spend = (pool.depth / U256::from(MILLION))
            .saturating_mul(U256::from(millionths))
            .max(U256::ONE);
        let had = self.balance(who);
        let mut quoted = self.quoted(pool, pool.quote, spend);
        if pool.native {
            let purse = self.machine.evm_state().coins(who);
            self.machine
                .evm_state()
                .set_coins(who, purse.saturating_add(spend));
        } else {
            self.machine.evm_state().set_slot(
                pool.quote,
                balance_slot_of(who, pool.balance_slot),
                spend,
            );
            self.machine.person_calls(
                who,
                pool.quote,
                abi::call(abi::APPROVE, &[abi::word_of(pool.router), U256::MAX]),
            );
        }
        let outcome = if pool.kind == PoolKind::V4 {
            let (outcome, owed) = self.swap_v4(pool, who, pool.quote, spend);
            quoted = Some(owed);
            outcome
        } else {
            self.swap(pool, who, pool.quote, self.scene.token, spend)
        };
        if !outcome.ok {
            return Deal::refused(reason(&outcome.output));
        }
        let got = self.balance(who).saturating_sub(had);
        if got.is_zero() {
            return Deal::refused("nothing arrived");
        }
        let sent = if pool.kind == PoolKind::V4 {
            quoted
        } else {
            self.swapped(pool, &outcome).map(|(_, sent)| sent)
        };
        Deal {
            ok: true,
            tax: sent.map(|sent| 1.0 - ratio(got, sent)),
            of_quote: quoted.map(|quoted| ratio(got, quoted)),
            ..Deal::default()
        }
    }

    /// The mock pool hands out tokens.
    fn take(&mut self, who: Address, millionths: u64) -> Deal {
        let pair = self.scene.pair;
        let amount = (self.balance(pair) / U256::from(MILLION))
            .saturating_mul(U256::from(millionths))
            .max(U256::ONE);
        let data = abi::call(abi::TRANSFER, &[abi::word_of(who), amount]);
        let had = [pair, who].map(|of| self.balance(of));
        let outcome = self.machine.pass(who, pair, self.scene.token, data);
        self.moved(&outcome, [pair, who], had)
    }

    /// Sells this amount of tokens.
    pub(super) fn sell(&mut self, who: Address, amount: U256, route: SaleRoute) -> Deal {
        let cut = self.machine.cut;
        let mut deal = match self.pool {
            _ if amount.is_zero() => Deal::refused("nothing is left to sell"),
            Some(pool) => self.sell_at(pool, who, amount, route),
            None => self.give(who, amount, route),
        };
        deal.cut = self.machine.cut > cut || self.machine.stopped.is_some();
        deal
    }

    fn sell_at(&mut self, pool: &LivePool, who: Address, amount: U256, route: SaleRoute) -> Deal {
        let token = self.scene.token;
        let mut quoted = self.quoted(pool, token, amount);
        let in_coins = pool.native && pool.kind != PoolKind::V3 && route == SaleRoute::Router;
        let had = self.coins_of(pool, who, in_coins);
        let outcome = match route {
            SaleRoute::Router if pool.kind == PoolKind::V4 => {
                let (outcome, owed) = self.swap_v4(pool, who, token, amount);
                quoted = Some(owed);
                outcome
            }
            SaleRoute::Router => {
                self.approve(who, pool.router, amount);
                self.swap(pool, who, token, pool.quote, amount)
            }
            _ => match self.without_router(pool, who, amount, route) {
                Ok(outcome) => outcome,
                Err(deal) => return deal,
            },
        };
        if !outcome.ok {
            return Deal::refused(reason(&outcome.output));
        }
        let got = self.coins_of(pool, who, in_coins).saturating_sub(had);
        let of_quote = quoted.map(|quoted| ratio(got, quoted));
        // A V4 pool refuses a sale of which not all arrives, and its hooks may keep of what it gives.
        let tax = match pool.kind {
            PoolKind::V4 => of_quote.map(|share| 1.0 - share),
            _ => self
                .swapped(pool, &outcome)
                .map(|(arrived, _)| 1.0 - ratio(arrived, amount)),
        };
        let deal = Deal {
            ok: true,
            tax,
            of_quote,
            ..Deal::default()
        };
        if got.is_zero() || of_quote.is_some_and(|share| share < SALE_MIN) {
            return Deal {
                ok: false,
                reason: Some("the sell returns almost nothing".to_owned()),
                ..deal
            };
        }
        deal
    }

    fn coins_of(&mut self, pool: &LivePool, who: Address, in_coins: bool) -> U256 {
        if in_coins {
            self.machine.evm_state().coins(who)
        } else {
            balance(self.machine, pool.quote, who).unwrap_or_default()
        }
    }

    fn approve(&mut self, who: Address, spender: Address, amount: U256) {
        let token = self.scene.token;
        let approved = self.machine.person_calls(
            who,
            token,
            abi::call(abi::APPROVE, &[abi::word_of(spender), U256::MAX]),
        );
        // Some tokens refuse an allowance without a limit.
        if !approved.ok {
            self.machine.person_calls(
                who,
                token,
                abi::call(abi::APPROVE, &[abi::word_of(spender), amount]),
            );
        }
    }

    /// Brings the tokens to a V2 pool and has it pay for what arrived. Errors: the refusal.
    fn without_router(
        &mut self,
        pool: &LivePool,
        who: Address,
        amount: U256,
        route: SaleRoute,
    ) -> Result<EvmOutcome, Deal> {
        let token = self.scene.token;
        let outcome = self.bring(who, pool.address, amount, route);
        if !outcome.yes() {
            return Err(Deal::refused(reason(&outcome.output)));
        }
        let first = pool.quote < token;
        let counted =
            reserves(self.machine, pool.address).map(|reserves| reserves[usize::from(first)]);
        let arrived = self
            .balance(pool.address)
            .saturating_sub(counted.unwrap_or_default());
        let out = self.quoted(pool, token, arrived).unwrap_or_default();
        let amounts = if first {
            [out, U256::ZERO]
        } else {
            [U256::ZERO, out]
        };
        let words = [
            amounts[0],
            amounts[1],
            abi::word_of(who),
            U256::from(128),
            U256::ZERO,
        ];
        Ok(self
            .machine
            .person_calls(who, pool.address, abi::call(SWAP_POOL, &words)))
    }

    /// Moves the seller's tokens to the pool, by the seller's own hand or through another router.
    fn bring(&mut self, who: Address, pool: Address, amount: U256, route: SaleRoute) -> EvmOutcome {
        let (token, router) = (self.scene.token, self.scene.people.other_router);
        match route {
            SaleRoute::Straight => self.machine.person_calls(
                who,
                token,
                abi::call(abi::TRANSFER, &[abi::word_of(pool), amount]),
            ),
            SaleRoute::Router | SaleRoute::OtherRouter => {
                let router = if route == SaleRoute::Router {
                    self.scene.router
                } else {
                    router
                };
                self.approve(who, router, amount);
                let words = [abi::word_of(who), abi::word_of(pool), amount];
                self.machine
                    .pass(who, router, token, abi::call(abi::TRANSFER_FROM, &words))
            }
        }
    }

    /// The mock pool takes tokens.
    fn give(&mut self, who: Address, amount: U256, route: SaleRoute) -> Deal {
        let pair = self.scene.pair;
        let had = [who, pair].map(|of| self.balance(of));
        let outcome = self.bring(who, pair, amount, route);
        self.moved(&outcome, [who, pair], had)
    }

    /// What a call moved from one account to another.
    fn moved(&mut self, outcome: &EvmOutcome, accounts: [Address; 2], had: [U256; 2]) -> Deal {
        if !outcome.yes() {
            return Deal::refused(reason(&outcome.output));
        }
        let [left, came] = accounts.map(|of| self.balance(of));
        let (left, came) = (had[0].saturating_sub(left), came.saturating_sub(had[1]));
        if came.is_zero() {
            return Deal::refused("nothing arrived");
        }
        let tax = if left.is_zero() {
            0.0
        } else {
            (1.0 - ratio(came, left)).max(0.0)
        };
        Deal {
            ok: true,
            tax: Some(tax),
            ..Deal::default()
        }
    }

    /// Sends tokens from one person to another.
    pub(super) fn transfer(&mut self, from: Address, to: Address, amount: U256) -> Deal {
        let had = self.balance(to);
        let outcome = self.machine.person_calls(
            from,
            self.scene.token,
            abi::call(abi::TRANSFER, &[abi::word_of(to), amount]),
        );
        if !outcome.ok {
            return Deal::refused(reason(&outcome.output));
        }
        let came = self.balance(to).saturating_sub(had);
        if came.is_zero() {
            return Deal::refused("nothing arrived");
        }
        Deal {
            ok: true,
            tax: Some(1.0 - ratio(came, amount)),
            ..Deal::default()
        }
    }

    /// Gives an account tokens like an earlier buyer's: from the pool, or by writing the balance.
    pub(super) fn give_from_pool(&mut self, who: Address) -> bool {
        let (token, pool) = (self.scene.token, self.scene.pair);
        let amount = (self.balance(pool) / U256::from(1_000)).max(U256::ONE);
        let mark = self.machine.mark();
        self.machine.pass(
            who,
            pool,
            token,
            abi::call(abi::TRANSFER, &[abi::word_of(who), amount]),
        );
        if !self.balance(who).is_zero() {
            self.scene.sync(self.machine);
            return true;
        }
        self.machine.rollback(mark);
        write_balance(self.machine, token, who, amount)
    }

    fn swap(
        &mut self,
        pool: &LivePool,
        who: Address,
        from: Address,
        to: Address,
        amount: U256,
    ) -> EvmOutcome {
        let buys = to == self.scene.token;
        let [from, to, receiver] = [from, to, who].map(abi::word_of);
        let data = match pool.kind {
            PoolKind::V2 => {
                let path = [U256::from(2), from, to];
                let tail = [receiver, U256::MAX];
                if pool.native && buys {
                    abi::call(
                        coin_swap(&pool.coin_word, true),
                        &[&[U256::ZERO, U256::from(128)], &tail[..], &path].concat(),
                    )
                } else {
                    let selector = if pool.native {
                        coin_swap(&pool.coin_word, false)
                    } else {
                        SWAP_V2
                    };
                    abi::call(
                        selector,
                        &[&[amount, U256::ZERO, U256::from(160)], &tail[..], &path].concat(),
                    )
                }
            }
            PoolKind::V3 | PoolKind::V4 => {
                let fee = U256::from(pool.fee);
                let deadline = if pool.deadline {
                    vec![U256::MAX]
                } else {
                    Vec::new()
                };
                let head = [from, to, fee, receiver];
                let tail = [amount, U256::ZERO, U256::ZERO];
                abi::call(
                    SWAP_V3[usize::from(!pool.deadline)],
                    &[&head[..], &deadline, &tail[..]].concat(),
                )
            }
        };
        if pool.native && buys {
            self.machine.pay = amount;
        }
        self.machine.person_calls(who, pool.router, data)
    }

    /// Amount of the other coin by the pool's own formula; `None` for pools whose price depends on ranges.
    fn quoted(&mut self, pool: &LivePool, from: Address, amount: U256) -> Option<U256> {
        if pool.kind != PoolKind::V2 {
            return None;
        }
        let reserves = reserves(self.machine, pool.address)?;
        let other = if from == pool.quote {
            self.scene.token
        } else {
            pool.quote
        };
        let [into, out] = if from < other {
            reserves
        } else {
            [reserves[1], reserves[0]]
        };
        let paid = amount.saturating_mul(U256::from(MILLION - u64::from(pool.fee)));
        paid.saturating_mul(out).checked_div(
            into.saturating_mul(U256::from(MILLION))
                .saturating_add(paid),
        )
    }

    /// Tokens that went into and out of the pool in the last swap that the log shows.
    fn swapped(&self, pool: &LivePool, outcome: &EvmOutcome) -> Option<(U256, U256)> {
        let log =
            outcome.logs.iter().rev().find(|log| {
                log.address == pool.address
                    && log.data.topics().first().is_some_and(|topic| {
                        [SWAPPED_V2, SWAPPED_V3, SWAPPED_V3_FEES].contains(topic)
                    })
            })?;
        let words: Vec<U256> = log
            .data
            .data
            .chunks_exact(32)
            .map(U256::from_be_slice)
            .collect();
        let second = usize::from(self.scene.token > pool.quote);
        match pool.kind {
            PoolKind::V2 => Some((*words.get(second)?, *words.get(2 + second)?)),
            PoolKind::V3 | PoolKind::V4 => {
                let delta = *words.get(second)?;
                Some(if delta.bit(255) {
                    (U256::ZERO, U256::ZERO.wrapping_sub(delta))
                } else {
                    (delta, U256::ZERO)
                })
            }
        }
    }
}

/// Selector of a V2 router's swap for the chain's own coin, or of one that spends it; `coin`: how the router's functions call the coin.
fn coin_swap(coin: &str, buys: bool) -> Selector {
    let signature = if buys {
        format!(
            "swapExact{coin}ForTokensSupportingFeeOnTransferTokens(uint256,address[],address,uint256)"
        )
    } else {
        format!(
            "swapExactTokensFor{coin}SupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)"
        )
    };
    let hash = keccak256(signature);
    [hash[0], hash[1], hash[2], hash[3]]
}

/// Selectors of `Error(string)` and `Panic(uint256)`.
const ERROR: Selector = [0x08, 0xC3, 0x79, 0xA0];
const PANIC: Selector = [0x4E, 0x48, 0x7B, 0x71];
const WRAPPED: Selector = [0x90, 0xBF, 0xB8, 0x65];
const REASON_MAX: usize = 120;

/// What hooks refused with, in `WrappedError(address,bytes4,bytes,bytes)` of a V4 exchange.
fn wrapped(output: &[u8]) -> Option<&[u8]> {
    let rest = output.strip_prefix(&WRAPPED)?;
    let number =
        |at: usize| usize::try_from(U256::from_be_slice(rest.get(at..at.checked_add(32)?)?)).ok();
    let at = number(64)?;
    rest.get(at.checked_add(32)?..)?.get(..number(at)?)
}

/// Why a call reverted, from what it returned. The text is the contract's: signs that could harm a screen are dropped.
fn reason(output: &[u8]) -> String {
    let output = wrapped(output).unwrap_or(output);
    let text = match output.split_first_chunk::<4>() {
        Some((&ERROR, rest)) if rest.len() >= 64 => {
            let length = usize::try_from(U256::from_be_slice(&rest[32..64]))
                .unwrap_or(usize::MAX)
                .min(rest.len() - 64);
            String::from_utf8_lossy(&rest[64..64 + length]).into_owned()
        }
        Some((&PANIC, rest)) if rest.len() >= 32 => {
            format!("panic {}", U256::from_be_slice(&rest[..32]))
        }
        Some((selector, _)) => format!("error {}", abi::hex(*selector)),
        None => String::new(),
    };
    let text: String = text
        .chars()
        .filter(|sign| !sign.is_control() && !is_invisible(*sign))
        .take(REASON_MAX)
        .collect();
    if text.is_empty() {
        "execution reverted".to_owned()
    } else {
        format!("execution reverted: {text}")
    }
}
