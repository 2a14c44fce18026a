//! The simulated trades of a token, each on a copy of the world: a buy and a sell of half of it, the same under other conditions (`twice`), and
//! sells later, of other amounts, by other traders. `verdict` interprets them.

mod twice;
pub(super) mod verdict;

use revm::primitives::{Address, U256};

use super::{
    TrialsDone,
    funding::write_balance,
    live::LivePool,
    pool_trades::{Deal, MILLION, SaleRoute, Trader},
    trade_simulation::ratio,
    transaction_context::BlockFacts,
};

/// Purchases tried, in millionths of the pool: the largest that goes through is kept.
const BUYS: [u64; 3] = [5_000, 500, 50];
/// Purchases tried to see how much can be bought and sold at once.
const LARGE: [u64; 4] = [200_000, 100_000, 50_000, 20_000];
/// Blocks and seconds for which a buyer holds before the usual sale.
const HELD: (u64, u64) = (30, 360);
/// What another buyer spends, in millionths of the pool, and how many of them come.
const CROWD: (u64, usize) = (10_000, 25);
/// How many of them sell before.
const CROWD_SELLS: usize = 6;
/// A large holder's part of the supply (one in this number), and the largest buy for it, in millionths of the pool.
const LARGE_HOLDER: (u64, u64) = (100, 100_000);
/// Parts of what a holder has that are tried where all of it cannot be sold.
const PARTS: [f64; 4] = [0.98, 0.9, 0.75, 0.6];
/// Coins sent to the contract.
const COINS_SENT: U256 = U256::from_limbs([7_766_279_631_452_241_920, 5, 0, 0]);
/// Tokens sent to the contract: at most this part of the supply, and of the pool's tokens. An honest contract may sell all that it
/// has at once, and that alone must not move the price so far that the sale after it counts as taxed ([`verdict::LESS`]).
const TOKENS_SENT: (u64, u64) = (30, 12);
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// A sale that is tried besides the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaleTrial {
    Soon,
    Rest,
    Third,
    Next,
    All,
    Tenth,
    Received,
    Straight,
    OtherRouter,
    Again,
    AfterOthers,
    LargeHolder,
    WithCoins,
    WithTokens,
    Hour,
    SixHours,
    TwelveHours,
    EighteenHours,
    Day,
    ThreeDays,
    Week,
    Fortnight,
    Month,
    Year,
}

/// The sales that come later: how much later.
const LATER: [(SaleTrial, u64); 10] = [
    (SaleTrial::Hour, HOUR),
    (SaleTrial::SixHours, 6 * HOUR),
    (SaleTrial::TwelveHours, 12 * HOUR),
    (SaleTrial::EighteenHours, 18 * HOUR),
    (SaleTrial::Day, DAY),
    (SaleTrial::ThreeDays, 3 * DAY),
    (SaleTrial::Week, 7 * DAY),
    (SaleTrial::Fortnight, 14 * DAY),
    (SaleTrial::Month, 30 * DAY),
    (SaleTrial::Year, 400 * DAY),
];

impl SaleTrial {
    /// Its name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Soon => "sell in the next block",
            Self::Rest => "sell the rest",
            Self::Next => "sell twice in two blocks",
            Self::Third => "sell a third time",
            Self::All => "sell all at once",
            Self::Tenth => "sell a tenth",
            Self::Received => "sell received tokens",
            Self::Straight => "sell without a router",
            Self::OtherRouter => "sell through another router",
            Self::Again => "buy again, then sell half",
            Self::AfterOthers => "sell after 25 other buyers",
            Self::LargeHolder => "sell as a holder of 1%",
            Self::WithCoins => "sell after coins are sent",
            Self::WithTokens => "sell after tokens are sent",
            Self::Hour => "sell half after 1 hour",
            Self::SixHours => "sell half after 6 hours",
            Self::TwelveHours => "sell half after 12 hours",
            Self::EighteenHours => "sell half after 18 hours",
            Self::Week => "sell half after 1 week",
            Self::Fortnight => "sell half after 2 weeks",
            Self::Day => "sell half after 1 day",
            Self::ThreeDays => "sell half after 3 days",
            Self::Month => "sell half after 30 days",
            Self::Year => "sell half after 400 days",
        }
    }
}

/// A trade under other circumstances that brought something else than the usual one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TradeDifference {
    /// What was changed.
    pub(super) changed: &'static str,
    /// What the usual sale brought, and this one.
    pub(super) usual: f64,
    pub(super) brought: f64,
}

/// All trades with a token.
#[derive(Debug, Clone, Default)]
pub(super) struct Trials {
    pub(super) buy: Option<Deal>,
    /// Why buying fails, if an earlier buyer's tokens are sold.
    pub(super) buy_reason: Option<String>,
    /// The usual sale: of half, some minutes after the purchase.
    pub(super) sell: Option<Deal>,
    pub(super) transfer: Option<Deal>,
    pub(super) others: Vec<(SaleTrial, Deal)>,
    /// The largest part of what a holder has that can be sold at once, where all of it cannot.
    pub(super) part: Option<f64>,
    /// The share of the pool that could be bought for, and be sold again at once; `None` if none was tried or none went through.
    pub(super) largest: Option<f64>,
    /// Why the next larger share did not go through.
    pub(super) too_large: Option<String>,
    /// What the smallest of the larger sales that went through brought, where that was less than half: a limit that takes, and does not refuse.
    pub(super) large_brings: Option<f64>,
    /// The purchase of the last of many buyers.
    pub(super) late_buy: Option<Deal>,
    pub(super) differences: Vec<TradeDifference>,
    /// Whether some trades were left out, as the budget was used up.
    pub(super) unfinished: bool,
}

impl Trials {
    pub(super) fn of(&self, sale: SaleTrial) -> Option<&Deal> {
        self.others
            .iter()
            .find(|(of, _)| *of == sale)
            .map(|(_, deal)| deal)
    }

    /// How far they got.
    pub(super) fn done(&self) -> TrialsDone {
        let bought = self.buy.as_ref().is_some_and(|buy| buy.ok);
        TrialsDone {
            bought,
            sold: self.sells(),
            finished: !self.unfinished,
        }
    }

    /// Whether the usual sale goes through.
    pub(super) fn sells(&self) -> bool {
        self.sell.as_ref().is_some_and(|sell| sell.ok)
    }
}

/// Runs all trades and takes them back.
pub(super) fn run(trader: &mut Trader<'_, '_>) -> Trials {
    let mark = trader.machine.mark();
    trader.machine.forget_asked();
    let mut run = Run {
        trader,
        trials: Trials::default(),
        size: BUYS[0],
        asked: BlockFacts::default(),
    };
    run.trade();
    let trials = run.trials;
    trader.machine.rollback(mark);
    trials
}

/// A part of an amount, rounded down.
fn part_of(amount: U256, part: f64) -> U256 {
    let millionths = (part * MILLION as f64) as u64;
    if millionths >= MILLION {
        amount
    } else {
        amount / U256::from(MILLION) * U256::from(millionths)
    }
}

struct Run<'a, 'b, 'm> {
    trader: &'a mut Trader<'b, 'm>,
    trials: Trials,
    /// Size of the purchase that went through, in millionths of the pool.
    size: u64,
    /// What the usual trade asked about its circumstances.
    asked: BlockFacts,
}

impl Run<'_, '_, '_> {
    fn trade(&mut self) {
        let (holder, other) = (
            self.trader.machine.people.holder,
            self.trader.machine.people.other,
        );
        let start = self.trader.machine.mark();
        self.trader.machine.next_block();
        let had = self.trader.balance(holder);
        if !self.get_tokens(holder) {
            self.twice(start);
            return;
        }
        let bought = self.trader.machine.mark();
        let held = self.trader.balance(holder).saturating_sub(had);
        let [half, quarter] = [held / U256::from(2), held / U256::from(4)];
        self.hold();
        let mark = self.trader.machine.mark();
        let sell = self.trader.sell(holder, half, SaleRoute::Router);
        self.asked = self.trader.machine.asked();
        if sell.cut {
            self.trials = Trials {
                unfinished: true,
                ..Trials::default()
            };
            return;
        }
        let sells = sell.ok;
        self.trials.sell = Some(sell);
        self.trader.machine.next_block();
        let rest = held - half;
        self.tried(SaleTrial::Rest, |trader| {
            trader.sell(holder, rest, SaleRoute::Router)
        });
        self.trader.machine.rollback(mark);
        if sells {
            self.parts(mark, holder, held);
        }
        let had = self.trader.balance(other);
        let sent = self.trader.transfer(holder, other, half);
        self.hold();
        let received = self.trader.balance(other).saturating_sub(had);
        if sent.ok {
            let part = part_of(received, self.trials.part.unwrap_or(1.0));
            self.tried(SaleTrial::Received, |trader| {
                trader.sell(other, part, SaleRoute::Router)
            });
        }
        self.trials.transfer = Some(sent).filter(|sent| !sent.cut);
        self.trader.machine.rollback(mark);
        self.later(mark, holder, (held, had + held));
        if sells {
            self.trader.machine.rollback(bought);
            self.trader.machine.next_block();
            self.tried(SaleTrial::Soon, |trader| {
                trader.sell(holder, half, SaleRoute::Router)
            });
            self.trader.machine.rollback(bought);
            self.hold();
            // Pools of other kinds are paid in a call back of theirs, which only a router answers.
            if self.trader.pool.is_none_or(LivePool::is_v2) {
                for (sale, route) in [
                    (SaleTrial::Straight, SaleRoute::Straight),
                    (SaleTrial::OtherRouter, SaleRoute::OtherRouter),
                ] {
                    self.tried(sale, |trader| trader.sell(holder, quarter, route));
                    self.trader.machine.rollback(mark);
                }
            }
            self.again(holder);
            self.trader.machine.rollback(mark);
            self.after_others(holder, half);
            self.trader.machine.rollback(mark);
            self.with_coins(holder, half);
            self.trader.machine.rollback(mark);
            self.with_tokens(holder, half);
            self.trader.machine.rollback(mark);
            self.large_holder(quarter);
            self.trader.machine.rollback(mark);
            self.largest();
        }
        self.trader.machine.rollback(start);
        self.twice(start);
    }

    /// Buys, or, if buying fails, gives an earlier buyer's tokens. Returns whether there is anything to sell.
    fn get_tokens(&mut self, who: Address) -> bool {
        match self.buy_some(who) {
            Ok(buy) => self.trials.buy = Some(buy),
            Err(refused) => {
                let traded = self.trader.pool.is_none_or(|pool| pool.traded);
                if !traded || !self.trader.give_from_pool(who) {
                    self.trials.buy = Some(refused);
                    return false;
                }
                self.trials.buy_reason = Some(
                    refused
                        .reason
                        .unwrap_or_else(|| "no reason given".to_owned()),
                );
            }
        }
        true
    }

    /// A purchase of ordinary size, smaller if the token limits it. Errors: the first refusal.
    fn buy_some(&mut self, who: Address) -> Result<Deal, Deal> {
        let mut first = None;
        for millionths in BUYS {
            let mark = self.trader.machine.mark();
            let buy = self.trader.buy(who, millionths);
            if buy.ok {
                self.size = millionths;
                return Ok(buy);
            }
            self.trader.machine.rollback(mark);
            first.get_or_insert(buy);
        }
        Err(first.unwrap_or_default())
    }

    fn hold(&mut self) {
        self.trader.machine.wait(HELD.0, HELD.1);
    }

    /// Notes a trade, unless it was cut off.
    fn tried(
        &mut self,
        sale: SaleTrial,
        trade: impl FnOnce(&mut super::pool_trades::Trader<'_, '_>) -> Deal,
    ) {
        let deal = trade(self.trader);
        if deal.cut {
            self.trials.unfinished = true;
        } else {
            self.trials.others.push((sale, deal));
        }
    }

    /// Sales of half of what was bought, later; `before`: all that the holder had. What a balance has lost in between is a loss, too.
    fn later(
        &mut self,
        mark: super::machine::Checkpoint,
        holder: Address,
        (held, before): (U256, U256),
    ) {
        for (sale, seconds) in LATER {
            self.trader.machine.wait_seconds(seconds);
            let now = self.trader.balance(holder);
            let kept = ratio(now, before).min(1.0);
            let half = (held / U256::from(2)).min(now);
            self.tried(sale, |trader| {
                let mut deal = trader.sell(holder, half, SaleRoute::Router);
                if kept < 0.99 {
                    let lost = |share: f64| share * kept;
                    (deal.of_quote, deal.tax) = (
                        deal.of_quote.map(lost),
                        deal.tax.map(|tax| 1.0 - lost(1.0 - tax)),
                    );
                }
                deal
            });
            self.trader.machine.rollback(mark);
        }
    }

    /// Sales of other parts.
    fn parts(&mut self, mark: super::machine::Checkpoint, holder: Address, held: U256) {
        let quarter = held / U256::from(4);
        self.tried(SaleTrial::All, |trader| {
            trader.sell(holder, held, SaleRoute::Router)
        });
        self.trader.machine.rollback(mark);
        if self.trials.of(SaleTrial::All).is_some_and(|all| !all.ok) {
            for part in PARTS {
                let sold = self
                    .trader
                    .sell(holder, part_of(held, part), SaleRoute::Router);
                self.trader.machine.rollback(mark);
                if sold.ok {
                    self.trials.part = Some(part);
                    break;
                }
            }
        }
        self.tried(SaleTrial::Tenth, |trader| {
            trader.sell(holder, held / U256::from(10), SaleRoute::Router)
        });
        self.trader.machine.rollback(mark);
        self.trader.sell(holder, quarter, SaleRoute::Router);
        self.trader.machine.next_block();
        self.tried(SaleTrial::Next, |trader| {
            trader.sell(holder, quarter, SaleRoute::Router)
        });
        self.trader.machine.rollback(mark);
        for _ in 0..2 {
            self.trader.sell(holder, quarter, SaleRoute::Router);
            self.hold();
        }
        self.tried(SaleTrial::Third, |trader| {
            trader.sell(holder, quarter, SaleRoute::Router)
        });
        self.trader.machine.rollback(mark);
    }

    fn again(&mut self, holder: Address) {
        if self.trader.buy(holder, self.size / 5).ok {
            self.hold();
            let half = self.trader.balance(holder) / U256::from(2);
            self.tried(SaleTrial::Again, |trader| {
                trader.sell(holder, half, SaleRoute::Router)
            });
        }
    }

    /// Anybody can send coins to the contract: it must not matter.
    fn with_coins(&mut self, holder: Address, half: U256) {
        let token = self.trader.scene.token;
        self.trader.machine.evm_state().set_coins(token, COINS_SENT);
        self.tried(SaleTrial::WithCoins, |trader| {
            trader.sell(holder, half, SaleRoute::Router)
        });
    }

    /// Anybody who has many can send tokens to the contract, which it may try to sell for itself with the next sale.
    fn with_tokens(&mut self, holder: Address, half: U256) {
        let (token, pool) = (self.trader.scene.token, self.trader.scene.pair);
        let amount = (self.trader.scene.funding.supply / U256::from(TOKENS_SENT.0))
            .min(self.trader.balance(pool) / U256::from(TOKENS_SENT.1));
        if self.trader.balance(token) < amount
            && write_balance(self.trader.machine, token, token, amount)
        {
            self.tried(SaleTrial::WithTokens, |trader| {
                trader.sell(holder, half, SaleRoute::Router)
            });
        }
    }

    fn after_others(&mut self, holder: Address, half: U256) {
        let seed = self.trader.machine.circumstances.hashes;
        for number in 0..CROWD.1 {
            self.trader.machine.next_block();
            let buyer = seed.address(&format!("buyer {number}"));
            self.trader.machine.evm_state().person(buyer);
            let bought = self.trader.buy(buyer, CROWD.0.min(self.size * 2));
            // The last ones sell again: those who come first may be let out.
            if bought.ok && number >= CROWD.1 - CROWD_SELLS {
                self.hold();
                let some = self.trader.balance(buyer) / U256::from(2);
                self.trader.sell(buyer, some, SaleRoute::Router);
            }
            if number + 1 == CROWD.1 {
                self.trials.late_buy = Some(bought);
            }
        }
        self.tried(SaleTrial::AfterOthers, |trader| {
            trader.sell(holder, half, SaleRoute::Router)
        });
    }

    /// A sell of an ordinary amount by a holder who has bought a large amount, in several buys.
    fn large_holder(&mut self, amount: U256) {
        let holder = self
            .trader
            .machine
            .circumstances
            .hashes
            .address("large holder");
        self.trader.machine.evm_state().person(holder);
        let pool = self.trader.balance(self.trader.scene.pair);
        let wanted = self.trader.scene.funding.supply / U256::from(LARGE_HOLDER.0);
        // What is bought for a part of the pool's coins is about that part of its tokens.
        let part = (ratio(wanted, pool) * MILLION as f64 * 1.1)
            .ceil()
            .clamp(1.0, LARGE_HOLDER.1 as f64) as u64;
        for parts in [1, 5, 25] {
            let mark = self.trader.machine.mark();
            let mut bought = true;
            for _ in 0..parts {
                bought = bought && self.trader.buy(holder, part.div_ceil(parts)).ok;
                self.hold();
            }
            if bought && self.trader.balance(holder) >= amount {
                self.tried(SaleTrial::LargeHolder, |trader| {
                    trader.sell(holder, amount, SaleRoute::Router)
                });
                return;
            }
            self.trader.machine.rollback(mark);
        }
    }

    /// The largest share of the pool that can be bought for and whose tokens can be sold at once.
    fn largest(&mut self) {
        let other = self.trader.machine.people.other;
        for millionths in LARGE {
            let mark = self.trader.machine.mark();
            let bought = self.trader.buy(other, millionths);
            self.hold();
            // The last of it is another matter.
            let most = part_of(
                self.trader.balance(other),
                self.trials.part.unwrap_or(PARTS[0]),
            );
            let sold = if bought.ok {
                self.trader.sell(other, most, SaleRoute::Router)
            } else {
                bought
            };
            self.trader.machine.rollback(mark);
            if sold.cut {
                self.trials.unfinished = true;
                return;
            }
            let usual = self.trials.sell.as_ref().map_or(1.0, Deal::worth).min(1.0);
            if sold.ok && sold.worth() >= verdict::LESS * usual {
                self.trials.largest = Some(millionths as f64 / MILLION as f64);
                return;
            }
            self.trials.large_brings =
                Some(sold.worth()).filter(|worth| sold.ok && *worth < verdict::KEPT * usual);
            let brings = format!(
                "the attempted sell returned {:.0}% of the pool's quote",
                sold.worth() * 100.0
            );
            self.trials.too_large = sold.reason.or(Some(brings));
        }
    }
}
