//! History of a pool from its events: liquidity added and removed, buys and sells by count and by amount. Derived from the reserves of a
//! constant-product pool; events without reserves count by their liquidity tokens. No check is implemented here.

use std::collections::{BTreeMap, HashSet, VecDeque};

use model::{
    address::Address,
    rows::{PoolEventRow, PoolRow},
    time::{DAY_MS, HOUR_MS, Time},
};

/// Maximum number of liquidity events whose blocks are kept, so that transfers of the same block are not taken for trades.
const BLOCKS_MAX: usize = 100_000;
pub const ONE_WAY_BUYS_MIN: u64 = 10;
/// Minimum fraction of the largest liquidity that counts as pulled if it is removed within a day.
pub const LIQUIDITY_PULLED_MIN: f64 = 0.9;
/// Maximum share of sells at which the flow is one-way, and at which it certainly is.
const ONE_WAY_MAX: f64 = 0.10;
const ONE_WAY_SURE: f64 = 0.05;
const WEEK_MS: f64 = 7.0 * DAY_MS as f64;

/// A time and block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub time: Time,
    pub block: Option<i64>,
}

/// Liquidity removed within a day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiquidityRemoval {
    /// Fraction of the pool's largest liquidity before it.
    pub share: f64,
    pub at: Moment,
    /// Time of the first removal within that day.
    pub since: Time,
    /// Amount of the token in base units; 0 if unknown.
    pub tokens: f64,
}

/// Position of the token among a pool's two reserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveSide {
    First,
    Second,
    /// Events have two reserves only; this token is a further one of the pool.
    Neither,
}

impl ReserveSide {
    pub fn of(token: &Address, pool: &PoolRow) -> Self {
        match *token {
            token if token == pool.token0 => Self::First,
            token if token == pool.token1 => Self::Second,
            _ => Self::Neither,
        }
    }
}

/// Confidence that trades flow one way; `None` if they do not. `two_way` is the share of sells among them, by any measure.
pub fn one_way(buys: u64, two_way: f64) -> Option<f64> {
    let surely = 1.0 - (two_way - ONE_WAY_SURE).max(0.0) / (ONE_WAY_MAX - ONE_WAY_SURE) / 2.0;
    (buys >= ONE_WAY_BUYS_MIN && two_way <= ONE_WAY_MAX).then_some(surely)
}

#[derive(Debug, Clone, Default)]
pub struct PoolHistory {
    pub first_liquidity: Option<Moment>,
    pub last: Option<Time>,
    pub buys: u64,
    pub sells: u64,
    /// In the other token: paid by buyers, and paid out to sellers.
    pub paid_in: f64,
    pub paid_out: f64,
    pub mints: u64,
    pub burns: u64,
    pub worst_pull: Option<LiquidityRemoval>,
    /// Tokens added as liquidity, by hour.
    pub added: BTreeMap<i64, f64>,
    /// Blocks of liquidity events.
    pub liquidity_blocks: HashSet<i64>,
    /// (token, other) reserves after the last event.
    reserves: Option<(f64, f64)>,
    peak: f64,
    /// Liquidity tokens in circulation, for pools whose events have no reserves.
    lp: f64,
    lp_peak: f64,
    /// Removals of liquidity in the last day: (time, liquidity, tokens).
    recent: VecDeque<(i64, f64, f64)>,
}

impl PoolHistory {
    /// Processes the next event.
    pub fn see(&mut self, event: &PoolEventRow, side: ReserveSide) {
        self.last = self.last.max(Some(event.timestamp));
        let at = Moment {
            time: event.timestamp,
            block: event.block_number,
        };
        match (event.reserve0, event.reserve1, side) {
            (Some(own), Some(other), ReserveSide::First)
            | (Some(other), Some(own), ReserveSide::Second) => {
                self.reserves_now((own.0, other.0), at);
            }
            // Once events have reserves, those without add no information.
            _ if self.reserves.is_none() => self.without_reserves(event, at),
            _ => {}
        }
    }

    fn reserves_now(&mut self, now: (f64, f64), at: Moment) {
        let before = self.reserves.replace(now).unwrap_or_default();
        let (tokens, other) = (now.0 - before.0, now.1 - before.1);
        let liquidity = |(a, b): (f64, f64)| a.sqrt() * b.sqrt();
        match (tokens.partial_cmp(&0.0), other.partial_cmp(&0.0)) {
            (Some(std::cmp::Ordering::Less), Some(std::cmp::Ordering::Greater)) => {
                self.buys += 1;
                self.paid_in += other;
            }
            (Some(std::cmp::Ordering::Greater), Some(std::cmp::Ordering::Less)) => {
                self.sells += 1;
                self.paid_out -= other;
            }
            (Some(std::cmp::Ordering::Greater), Some(std::cmp::Ordering::Greater)) => {
                self.add(tokens, at);
            }
            (Some(std::cmp::Ordering::Less), Some(std::cmp::Ordering::Less)) => {
                let peak = self.peak;
                self.pull(liquidity(before) - liquidity(now), -tokens, peak, at);
            }
            _ => {}
        }
        self.peak = self.peak.max(liquidity(now));
    }

    /// Processes an event without reserves.
    fn without_reserves(&mut self, event: &PoolEventRow, at: Moment) {
        let amount = event.amount.map_or(0.0, |amount| amount.0);
        match event.kind.as_deref() {
            Some(kind) if kind.eq_ignore_ascii_case("mint") => {
                self.add(0.0, at);
                self.lp += amount;
                self.lp_peak = self.lp_peak.max(self.lp);
            }
            Some(kind) if kind.eq_ignore_ascii_case("burn") => {
                self.lp -= amount;
                let peak = self.lp_peak;
                self.pull(amount, 0.0, peak, at);
            }
            _ => {}
        }
    }

    fn add(&mut self, tokens: f64, at: Moment) {
        self.mints += 1;
        self.first_liquidity.get_or_insert(at);
        *self.added.entry(at.time.0.div_euclid(HOUR_MS)).or_default() += tokens;
        self.note_block(at);
    }

    fn pull(&mut self, liquidity: f64, tokens: f64, peak: f64, at: Moment) {
        self.burns += 1;
        self.note_block(at);
        while self
            .recent
            .front()
            .is_some_and(|(time, ..)| at.time.0 - time > DAY_MS)
        {
            self.recent.pop_front();
        }
        self.recent.push_back((at.time.0, liquidity, tokens));
        let (liquidity, tokens) = self
            .recent
            .iter()
            .fold((0.0, 0.0), |sum, (_, l, t)| (sum.0 + l, sum.1 + t));
        let share = if peak > 0.0 {
            (liquidity / peak).clamp(0.0, 1.0)
        } else {
            0.0
        };
        if self.worst_pull.is_none_or(|worst| share > worst.share) {
            let since = self
                .recent
                .front()
                .map_or(at.time, |(time, ..)| Time(*time));
            self.worst_pull = Some(LiquidityRemoval {
                share,
                at,
                since,
                tokens,
            });
        }
    }

    fn note_block(&mut self, at: Moment) {
        if let Some(block) = at.block
            && self.liquidity_blocks.len() < BLOCKS_MAX
        {
            self.liquidity_blocks.insert(block);
        }
    }

    /// Tokens added from the hour of `first` to a day after `last`.
    pub fn added_between(&self, first: Time, last: Time) -> f64 {
        let hour = |time: Time| time.0.div_euclid(HOUR_MS);
        self.added
            .range(hour(first)..=hour(last) + 24)
            .map(|(_, tokens)| tokens)
            .sum()
    }

    /// Share of the flow that returns to sellers: 0 if nothing is ever sold, 1 if at least as much is paid out as in. The larger of half
    /// the sells' share by count and their share by amount: a few small sells, such as a honeypot's own tests, do not make a market, but
    /// one large sell does.
    pub fn two_way(&self) -> Option<f64> {
        let trades = self.buys + self.sells;
        (trades > 0 && self.paid_in > 0.0).then(|| {
            (self.sells as f64 / trades as f64 / 2.0)
                .max(self.paid_out / self.paid_in)
                .min(1.0)
        })
    }

    /// Weeks from the first liquidity to the last event, at least one.
    pub fn weeks(&self) -> f64 {
        let span = self
            .first_liquidity
            .zip(self.last)
            .map_or(0, |(first, last)| last.0 - first.time.0);
        (span as f64 / WEEK_MS).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rows::Amount;

    #[test]
    fn the_reserves_of_two_tokens_are_not_taken_for_those_of_a_third() {
        let event = |day: i64, kind: &str, reserves: (f64, f64), amount: f64| PoolEventRow {
            timestamp: Time(day * DAY_MS),
            block_number: Some(day),
            kind: Some(kind.to_owned()),
            reserve0: Some(Amount(reserves.0)),
            reserve1: Some(Amount(reserves.1)),
            amount: Some(Amount(amount)),
            from_address: None,
            to_address: None,
        };
        let events = [
            event(0, "mint", (100.0, 100.0), 10.0),
            event(2, "swap", (90.0, 112.0), 0.0),
            event(4, "burn", (45.0, 56.0), 5.0),
        ];
        let told = |side| {
            let mut story = PoolHistory::default();
            for event in &events {
                story.see(event, side);
            }
            (
                story.buys,
                story.sells,
                story.worst_pull.map(|pull| pull.tokens),
            )
        };
        assert_eq!(told(ReserveSide::First), (1, 0, Some(45.0)));
        assert_eq!(told(ReserveSide::Second), (0, 1, Some(56.0)));
        assert_eq!(
            told(ReserveSide::Neither),
            (0, 0, Some(0.0)),
            "its liquidity is told by the pool's own tokens"
        );
    }
}
