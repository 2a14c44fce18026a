//! Outcomes of a token after a time, from its candles, its pools' events and its transfers to pools. An outcome is unknown unless the data
//! reaches to the end of the days after it, so that tokens of which less is known favor no side.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::known_at::DatedEvidence;
use crate::{
    pool_story::{LIQUIDITY_PULLED_MIN, ONE_WAY_BUYS_MIN, PoolHistory, ReserveSide, one_way},
    transactions::{FAILING_SELLS, TRIED_SELLS_MIN},
};
use analysis::timeframes::{CandleVec, frame};
use model::{
    address::Address,
    candles::Interval,
    data::Data,
    rows::PoolEventRow,
    time::{DAY_MS, Time},
};

/// Days after which a token without a trade is dead, and up to which a price counts as the current one.
const SILENT_MS: i64 = 14 * DAY_MS;
/// Maximum number of events and transfers read of a token: what follows is unknown.
const ROWS_MAX: usize = 200_000;

model::words! {
    /// A possible outcome of a token.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    pub enum Outcome {
        /// The lowest daily close is at most half of the last price before the verdict, in USD. Without candles: the price in the other token
        /// of the pool with the most events, which counts as fallen if the liquidity was pulled. Unknown if the last price is older than 14
        /// days, or if the liquidity was pulled before the verdict.
        #[serde(rename = "price_down_50")]
        PriceDown50 = "price_down_50",
        /// It is at most a tenth.
        #[serde(rename = "price_down_90")]
        PriceDown90 = "price_down_90",
        /// At least 90% of the liquidity of the pool with the most events was removed within a day, and not added to another pool. Unknown if
        /// that happened before the verdict.
        #[serde(rename = "liquidity_pulled")]
        LiquidityPulled = "liquidity_pulled",
        /// That pool had at least 10 buys and hardly any sells, or at least half of at least 10 attempted sells failed. Unknown with fewer.
        #[serde(rename = "sells_fail")]
        SellsFail = "sells_fail",
        /// There was no trade in the last 14 days. Unknown if that was so at the verdict.
        #[serde(rename = "volume_dead")]
        VolumeDead = "volume_dead",
    }
}

impl Outcome {
    /// Short text after "the token's".
    pub fn title(self) -> &'static str {
        match self {
            Self::PriceDown50 => "price fell by half",
            Self::PriceDown90 => "price fell by 90%",
            Self::LiquidityPulled => "liquidity was pulled",
            Self::SellsFail => "few or failing sells",
            Self::VolumeDead => "trading ended",
        }
    }
}

/// Whether each outcome occurred, in the order of `Outcome::ALL`; `None` if that is unknown.
pub type Outcomes = [Option<bool>; 5];

/// Prices and trades from one source.
#[derive(Debug, Default)]
struct Market {
    /// Time and price, oldest first.
    prices: Vec<(i64, f64)>,
    trades: Vec<i64>,
    /// End of the data.
    end: Option<i64>,
}

/// The events of a pool that are used, oldest first.
#[derive(Debug)]
struct PoolEvents {
    side: ReserveSide,
    events: Vec<PoolEventRow>,
}

/// The dated rows of a token up to the last day that any of its outcomes depends on.
#[derive(Debug)]
pub struct TokenHistory {
    by_candles: Market,
    by_events: Market,
    /// The pool with the most events first.
    pools: Vec<PoolEvents>,
    /// Time of each attempted sell to a pool, and whether it failed.
    sells: Vec<(i64, bool)>,
}

impl TokenHistory {
    /// Reads the rows before `until` of the token at index `place` of `tokens()`.
    pub fn read(data: &dyn Data, evidence: &DatedEvidence, place: usize, until: Time) -> Self {
        let token = evidence.address(place);
        let [candles_end, events_end] = evidence.reach(&token);
        let mut by_candles = candle_market(data, &token, until.0);
        by_candles.end = candles_end;
        let (mut pools, mut left) = (Vec::new(), ROWS_MAX);
        let mut end = events_end;
        for (_, pool) in evidence.pools(&token) {
            let rows = data.pool_events().chunks(&pool.address).flatten();
            let events: Vec<PoolEventRow> = rows
                .take_while(|event| event.timestamp < until)
                .take(left)
                .collect();
            left -= events.len();
            if left == 0 {
                end = end.min(events.last().map(|event| event.timestamp.0));
            }
            let side = ReserveSide::of(&token, pool);
            pools.push(PoolEvents { side, events });
        }
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.events.len()));
        let mut by_events = pools.first().map(PoolEvents::market).unwrap_or_default();
        by_events.end = end;
        let addresses: Vec<Address> = evidence
            .pools(&token)
            .iter()
            .map(|(_, pool)| pool.address)
            .collect();
        let mut sells = Vec::new();
        let transfers = data.transfers().chunks(&token).flatten();
        for row in transfers.take(if pools.is_empty() { 0 } else { ROWS_MAX }) {
            let Some(time) = row.timestamp.filter(|time| *time < until) else {
                break;
            };
            if let (Some(to), Some(status)) = (row.to_address, row.status)
                && addresses.contains(&to)
            {
                sells.push((time.0, status == 0));
            }
        }
        Self {
            by_candles,
            by_events,
            pools,
            sells,
        }
    }

    /// The token's outcomes in the `days` after `time`.
    pub fn after(&self, time: Time, days: i64) -> Outcomes {
        let (from, to) = (time.0, time.0 + days * DAY_MS);
        let is_there = |market: &&Market| market.end.is_some_and(|end| end >= to);
        let [candles, events] =
            [&self.by_candles, &self.by_events].map(|it| Some(it).filter(is_there));
        let pulled = events.and_then(|_| self.pulled(from, to));
        let sells_fail = events.and_then(|_| self.sells_fail(from, to));
        let fall = candles.and_then(|candles| candles.lowest(from, to));
        // A pool without liquidity has a price at which nothing can be sold.
        let in_pool = || {
            if pulled? {
                Some(0.0)
            } else {
                events?.lowest(from, to)
            }
        };
        let fall = fall.or_else(in_pool);
        let dead = |market: Option<&Market>| market.and_then(|market| market.is_dead(from, to));
        [
            fall.map(|lowest| lowest <= 0.5),
            fall.map(|lowest| lowest <= 0.1),
            pulled,
            sells_fail,
            dead(candles).or_else(|| dead(events)),
        ]
    }

    fn pulled(&self, from: i64, to: i64) -> Option<bool> {
        let main = self.pools.first()?;
        let (before, after) = main.split(from, to);
        let is_pulled = |story: &PoolHistory| {
            story
                .worst_pull
                .is_some_and(|pull| pull.share >= LIQUIDITY_PULLED_MIN)
        };
        // Liquidity that is gone cannot be pulled again.
        if before.mints == 0 || is_pulled(&before) {
            return None;
        }
        let Some(pull) = after.worst_pull.filter(|_| is_pulled(&after)) else {
            return Some(false);
        };
        let others = self.pools.iter().skip(1);
        let moved: f64 = others
            .map(|pool| {
                pool.split(from, to)
                    .1
                    .added_between(pull.since, pull.at.time)
            })
            .sum();
        let kept = if pull.tokens > 0.0 {
            moved / pull.tokens
        } else {
            0.0
        };
        Some(pull.share * (1.0 - kept.min(1.0)) >= LIQUIDITY_PULLED_MIN)
    }

    fn sells_fail(&self, from: i64, to: i64) -> Option<bool> {
        let trades = self.pools.first().map(|pool| pool.split(from, to).1);
        let flow = trades
            .filter(|trades| trades.buys >= ONE_WAY_BUYS_MIN)
            .and_then(|trades| Some(one_way(trades.buys, trades.two_way()?).is_some()));
        let tried = self.sells.iter().filter(|(at, _)| (from..to).contains(at));
        let (mut count, mut failed) = (0, 0);
        for (_, fails) in tried {
            count += 1;
            failed += u64::from(*fails);
        }
        let failing =
            (count >= TRIED_SELLS_MIN).then_some(failed as f64 >= FAILING_SELLS * count as f64);
        match (flow, failing) {
            (None, None) => None,
            (flow, failing) => Some(flow == Some(true) || failing == Some(true)),
        }
    }
}

fn candle_market(data: &dyn Data, token: &Address, until: i64) -> Market {
    let candles = data.candles_of(token);
    let daily = frame(&candles.series(), Interval::DAY)
        .map(|frame| CandleVec::sound(&frame.as_candles()))
        .unwrap_or_default();
    let mut market = Market::default();
    for (i, start) in daily.timestamp.iter().enumerate() {
        // A close is of the moment before the next day.
        let time = start + DAY_MS - 1;
        if time >= until {
            break;
        }
        market.prices.push((time, daily.close[i]));
        // An unknown volume is no sign that nothing was traded.
        if daily.volume[i] != 0.0 {
            market.trades.push(time);
        }
    }
    market
}

impl Market {
    /// The lowest daily close in `from..to` as a multiple of the last price before; 1 without a later price.
    fn lowest(&self, from: i64, to: i64) -> Option<f64> {
        let start = self.prices.partition_point(|(time, _)| *time < from);
        let (time, price) = self.prices.get(start.checked_sub(1)?)?;
        if from - time > SILENT_MS {
            return None;
        }
        let mut closes: BTreeMap<i64, f64> = BTreeMap::new();
        for (time, price) in self.prices[start..]
            .iter()
            .take_while(|(time, _)| *time < to)
        {
            closes.insert(time.div_euclid(DAY_MS), *price);
        }
        Some(closes.into_values().fold(*price, f64::min) / price)
    }

    /// Whether nothing was traded in the last days before `to`; `None` if the same is true of the days before `from`.
    fn is_dead(&self, from: i64, to: i64) -> Option<bool> {
        let is_silent = |end: i64| {
            let before = self.trades.partition_point(|time| *time < end);
            before == 0 || end - self.trades[before - 1] > SILENT_MS
        };
        (!is_silent(from)).then(|| is_silent(to))
    }
}

impl PoolEvents {
    fn market(&self) -> Market {
        let (mut market, mut story) = (Market::default(), PoolHistory::default());
        for event in &self.events {
            let trades = story.buys + story.sells;
            story.see(event, self.side);
            if story.buys + story.sells > trades {
                market.trades.push(event.timestamp.0);
            }
            let (own, other) = match self.side {
                ReserveSide::First => (event.reserve0, event.reserve1),
                ReserveSide::Second => (event.reserve1, event.reserve0),
                ReserveSide::Neither => continue,
            };
            let price = own.zip(other).map(|(own, other)| other.0 / own.0);
            let price = price.filter(|price| price.is_finite() && *price > 0.0);
            market
                .prices
                .extend(price.map(|price| (event.timestamp.0, price)));
        }
        market
    }

    /// The pool's history before `from`, and what happened in `from..to`.
    fn split(&self, from: i64, to: i64) -> (PoolHistory, PoolHistory) {
        let mut story = PoolHistory::default();
        let mut events = self.events.iter().peekable();
        while let Some(event) = events.next_if(|event| event.timestamp.0 < from) {
            story.see(event, self.side);
        }
        let mut after = story.clone();
        (after.buys, after.sells, after.paid_in, after.paid_out) = (0, 0, 0.0, 0.0);
        (after.worst_pull, after.added) = (None, BTreeMap::new());
        while let Some(event) = events.next_if(|event| event.timestamp.0 < to) {
            after.see(event, self.side);
        }
        (story, after)
    }
}
