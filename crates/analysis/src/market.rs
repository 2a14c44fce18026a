//! Key metrics of every token, shared by views and rankings and derived once per data snapshot: price, market cap, price changes, holders,
//! growth, thirty days of closes. Pure; one pass over the dataset.

mod clock;
mod moves;
pub mod past;
mod rows;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::clock::{Clock, Lag};
use self::{
    clock::{Clocks, SeriesEnd},
    rows::{GivenFigures, TokenRows},
};
use super::social;
use model::{
    address::Address,
    candles::{Candles, ChartCandles, HISTORY_DAYS, Interval, RECENT_DAYS},
    chain::Chain,
    data::Data,
    scalar::Scalar,
    time::{DAY_MS, Day, Time},
    token::{Token, are_apart},
};

/// A holder count is old if the token's candles continue for longer than this after it.
const COUNT_FRESH_MS: i64 = 7 * DAY_MS;
/// Daily closes that are read: a change over n days needs n + 1 of them.
const CLOSES: usize = HISTORY_DAYS + 1;
/// Time span that normally holds `CLOSES` closes, with room for missing days.
const RECENT_MS: i64 = RECENT_DAYS * DAY_MS;

/// A token in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenSummary {
    pub token_address: Address,
    pub symbol: Option<String>,
    pub name: Option<String>,
    /// Chains it is deployed on, the one with the largest market cap first.
    pub chains: Vec<Chain>,
    /// USD.
    pub price: Option<f64>,
    /// USD.
    pub market_cap: Option<f64>,
    /// Percent over the last 24 hours; null if its candles are stale.
    pub price_change_24h: Option<f64>,
    /// Number of holders.
    pub holders: Option<i64>,
    /// Percent over the last 7 days.
    pub holders_growth: Option<f64>,
    /// The last 30 daily closes, oldest first.
    pub price_history: Vec<f64>,
    /// The daily close before `price_history`, with which it covers 30 days.
    #[serde(skip)]
    pub price_before_history: Option<f64>,
    /// When price, market cap and number of holders were so: as their row says, or the candle or count that they are from; null if neither
    /// does.
    #[serde(skip)]
    pub price_as_of: Option<Time>,
    /// Its last candle's start and close where the price is given without a date and is another: the changes count from another price.
    #[serde(skip)]
    pub close_apart: Option<(Time, f64)>,
    #[serde(skip)]
    pub market_cap_as_of: Option<Time>,
    #[serde(skip)]
    pub holders_as_of: Option<Time>,
    /// Percent over the last hour, week and month; null as in `price_change_24h`.
    #[serde(skip)]
    pub price_change_1h: Option<f64>,
    #[serde(skip)]
    pub price_change_7d: Option<f64>,
    #[serde(skip)]
    pub price_change_30d: Option<f64>,
    /// USD traded in the last 24 hours.
    #[serde(skip)]
    pub volume_24h: Option<f64>,
    /// Whether this volume is counted from candles, not from the token's pools.
    #[serde(skip)]
    pub volume_of_candles: bool,
    /// USD in its pools.
    #[serde(skip)]
    pub liquidity: Option<f64>,
    /// Posts that count of the 7 days up to the newest post of the dataset, and the reactions to them.
    #[serde(skip)]
    pub mentions: Option<i64>,
    #[serde(skip)]
    pub engagement_7d: Option<i64>,
    /// Decimal places of its smallest unit.
    #[serde(skip)]
    pub decimals: Option<i64>,
    /// The last candle, in any interval.
    #[serde(skip)]
    pub last_candle: Option<LastCandle>,
    /// Last count of its holders.
    #[serde(skip)]
    pub last_count: Option<LastCount>,
    /// Deployment time of its contract.
    #[serde(skip)]
    pub created_at: Option<Time>,
    /// Milliseconds from deployment to the newest time in the data.
    #[serde(skip)]
    pub age: Option<i64>,
    /// Values of the `tokens` file's extra columns.
    #[serde(skip)]
    pub own: Vec<(&'static str, Scalar<'static>)>,
}

impl TokenSummary {
    /// Whether its candles end long before the newest in the data, so that its price is not current.
    pub fn is_stale(&self) -> bool {
        self.last_candle.is_some_and(|last| last.behind.is_some())
    }

    /// The day of a figure that is more than seven days older than the newest of the token's dated figures.
    pub fn outdated(&self, as_of: Option<Time>) -> Option<Day> {
        as_of
            .filter(|_| are_apart(as_of, self.newest()))
            .map(Time::day)
    }

    /// The time of the newest of the token's dated figures.
    pub fn newest(&self) -> Option<Time> {
        let dates = [
            self.price_as_of,
            self.market_cap_as_of,
            self.holders_as_of,
            self.last_candle.map(|last| last.start),
        ];
        dates.into_iter().flatten().max()
    }
}

/// Last candle of a token, and its staleness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastCandle {
    pub start: Time,
    pub interval: Interval,
    /// Its lag, if the token is stale.
    pub behind: Option<Lag>,
}

/// Last count of a token's holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastCount {
    pub day: Day,
    /// Whether another token was counted on a later day, or its own candles continue for more than a week after the count.
    pub old: bool,
}

/// Key figures of every token, in the order of `Dataset::tokens`.
#[derive(Debug, Default)]
pub struct Market {
    pub tokens: Vec<TokenSummary>,
    /// What the age of a token or a pool counts from, as there is no clock here: the time that the candles of
    /// several tokens have reached, by which they are judged to be stale too, or a later contract.
    pub newest: Option<Time>,
    /// What the age of a post counts from: the newest one.
    pub newest_post: Option<Time>,
    clocks: Clocks,
}

impl Market {
    pub fn new(dataset: &dyn Data) -> Self {
        let mut tokens: Vec<TokenSummary> = dataset
            .tokens()
            .iter()
            .enumerate()
            .map(|(place, token)| summary(dataset, place, token))
            .collect();
        let newest_post = dataset.newest_post();
        // Of a million tokens without posts none is looked up.
        if newest_post.is_some() {
            for token in &mut tokens {
                let posts = dataset.posts_of(&token.token_address);
                (token.mentions, token.engagement_7d) =
                    social::recent(posts.figures(), newest_post);
            }
        }
        let source = |token: &TokenSummary| {
            dataset.candle_source(&token.token_address, token.last_candle?.interval)
        };
        let sources: Vec<Option<String>> = tokens.iter().map(source).collect();
        let end = |(token, source)| series_end(token, source);
        let ends: Vec<Option<SeriesEnd<'_>>> = tokens
            .iter()
            .zip(sources.iter().map(Option::as_deref))
            .map(end)
            .collect();
        let clocks = Clocks::new(ends.iter().flatten().copied());
        for (token, end) in tokens.iter_mut().zip(ends) {
            mark_stale(token, end.and_then(|end| clocks.lag(end)));
        }
        mark_old_counts(&mut tokens);
        let newest = tokens
            .iter()
            .filter_map(|token| token.created_at)
            .max()
            .max(clocks.all());
        for token in &mut tokens {
            mark_age(token, newest);
        }
        Self {
            tokens,
            newest,
            newest_post,
            clocks,
        }
    }

    /// Lag of a series, from its last candle; `None` unless it is stale: more than three of its candles behind those of its source, or more
    /// than three days behind the others.
    pub fn behind(&self, last: Time, interval: Interval, source: Option<&str>) -> Option<Lag> {
        self.clocks.lag((last, interval, source))
    }

    pub fn of<'a>(&'a self, dataset: &dyn Data, token: &Address) -> Option<&'a TokenSummary> {
        dataset
            .token_position(token)
            .and_then(|i| self.tokens.get(i))
    }
}

fn mark_stale(token: &mut TokenSummary, lag: Option<Lag>) {
    let Some(last) = &mut token.last_candle else {
        return;
    };
    last.behind = lag;
    // Changes of a long-past day are not current.
    if lag.is_some() {
        (
            token.price_change_1h,
            token.price_change_24h,
            token.price_change_7d,
            token.price_change_30d,
        ) = (None, None, None, None);
        (token.volume_24h, token.close_apart) = (None, None);
    }
}

fn mark_old_counts(tokens: &mut [TokenSummary]) {
    let newest = tokens
        .iter()
        .filter_map(|token| token.last_count)
        .map(|count| count.day)
        .max();
    for token in tokens {
        let candles_end = token.last_candle.map(|last| last.start.0);
        let Some(count) = &mut token.last_count else {
            continue;
        };
        let lag = candles_end.map_or(0, |end| end.saturating_sub(count.day.start().0));
        count.old = Some(count.day) < newest || lag > COUNT_FRESH_MS;
    }
}

/// There is no clock here: ages are relative to the latest candles or contracts in the data.
fn mark_age(token: &mut TokenSummary, newest: Option<Time>) {
    token.age = newest
        .zip(token.created_at)
        .map(|(newest, created)| newest.0.saturating_sub(created.0));
}

/// The end of the series that the price is from, whose candles are from `source`.
fn series_end<'a>(token: &TokenSummary, source: Option<&'a str>) -> Option<SeriesEnd<'a>> {
    token
        .last_candle
        .map(|last| (last.start, last.interval, source))
}

fn summary(dataset: &dyn Data, place: usize, token: &Token) -> TokenSummary {
    let address = token.row.token_address;
    // Usually the last days suffice; of a large table only those are read then.
    let (recent, cut) = dataset.recent_candles(&address, RECENT_MS);
    let closes = daily_closes(&recent, cut);
    let whole = (cut && closes.len() < CLOSES).then(|| dataset.candles_of(&address));
    let series = whole.as_ref().map_or(recent, ChartCandles::series);
    let rows = TokenRows {
        given: GivenFigures::of(token),
        series: &series,
        latest_close: dataset.latest_close(&address),
        ..TokenRows::without_candles(dataset, token)
    };
    TokenSummary {
        own: dataset.own_cells(place),
        ..rows.summary(token)
    }
}

/// Percent change of the last close from the close nearest to this many days earlier; `None` if no close is near.
pub fn price_change(candles: &ChartCandles<'_>, days: i64) -> Option<f64> {
    moves::change(&candles.series(), days * DAY_MS)
}

/// The price given in the data, unless a candle is known to be newer; otherwise the close of the token's latest candle in any interval.
pub fn price(dataset: &dyn Data, token: &Token) -> Option<f64> {
    GivenFigures::of(token)
        .price(dataset.latest_close(&token.row.token_address))
        .map(|(price, _)| price)
}

/// The last daily closes, oldest first: from daily candles, extended before the first and after the last of them from the coarsest finer
/// interval, as in `timeframes`. If the series is `cut` (only its recent part was read), its first daily candle is not the true first, so
/// nothing is filled in before it.
fn daily_closes(series: &[(Interval, Candles<'_>)], cut: bool) -> Vec<f64> {
    let day = |time: i64| time.div_euclid(DAY_MS).saturating_mul(DAY_MS);
    let stored = || {
        series
            .iter()
            .rev()
            .filter(|(_, candles)| !candles.is_empty())
    };
    let own = stored()
        .find(|(interval, _)| *interval == Interval::DAY)
        .map(|(_, candles)| *candles);
    let finer = stored()
        .find(|(interval, _)| (1..DAY_MS).contains(&interval.0) && DAY_MS % interval.0 == 0);
    let (own, finer) = (
        own.unwrap_or_default(),
        finer.map(|(_, candles)| *candles).unwrap_or_default(),
    );
    let (before, after) = match (own.timestamp.first(), own.timestamp.last()) {
        (Some(&first), Some(&last)) => {
            let starts = |from: i64| finer.timestamp.partition_point(|&time| time < from);
            // Stored candles need not start at midnight, so a day that overlaps one of them is left out.
            let end = starts(day(first));
            (
                end,
                starts(day(last.saturating_add(2 * DAY_MS - 1))).max(end),
            )
        }
        _ => (finer.len(), finer.len()),
    };
    let mut closes = Vec::with_capacity(CLOSES);
    let before = if cut && !own.is_empty() { 0 } else { before };
    for (candles, range) in [
        (&finer, after..finer.len()),
        (&own, 0..own.len()),
        (&finer, 0..before),
    ] {
        let mut end = range.end;
        while end > range.start && closes.len() < CLOSES {
            end -= 1;
            if candles.valid(end) {
                closes.push(candles.close[end]);
                // Skips to the previous day without visiting each minute of this one.
                let midnight = day(candles.timestamp[end]);
                end = candles.timestamp[..end]
                    .partition_point(|&time| time < midnight)
                    .max(range.start);
            }
        }
    }
    closes.reverse();
    // A large list has many tokens without thirty closes, or with none.
    closes.shrink_to_fit();
    closes
}

/// The series whose last candle starts last (its close is the price); of two, the finer.
fn latest_series<'a>(series: &[(Interval, Candles<'a>)]) -> Option<(Interval, Candles<'a>)> {
    series
        .iter()
        .rev()
        .max_by_key(|(_, candles)| candles.timestamp.last())
        .copied()
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests;
