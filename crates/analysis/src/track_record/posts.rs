//! What followed an author's posts: the returns after the first post about a token on each UTC day, compared with similar candles of the same
//! token and with tokens that had no post. Pure; which posts count is decided by the caller. An event uses only posts and candles up to its
//! entry, and the candle at which it ends.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::errors::{holm, mean_of_clusters};
use crate::numeric::{mean_and_deviation, median, quantile};
use model::{
    candles::Candles,
    error::Result,
    progress::Progress,
    time::{DAY_MS, HOUR_MS, Time},
};

/// Fewest clusters for an interval.
pub const CLUSTERS_LEAST: usize = 10;
/// Fewest tokens without a post on the day, for a comparison with the market.
pub const MARKET_LEAST: usize = 20;
/// Fewest candles of a third, for a comparison with them.
const THIRD_LEAST: usize = 30;
/// Most candles of one token that are used, the latest: more than two years of hours.
const SLOTS_MAX: i64 = 20_000;
const YEAR_MS: i64 = 365 * DAY_MS;
const WEEK_MS: i64 = 7 * DAY_MS;
/// Rounds of the placebo, and the most days by which a time is moved.
const ROUNDS: u64 = 200;
const MOVED_MAX: u64 = 30;

/// A time after the entry at which returns are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    pub word: &'static str,
    /// The timeframe of the candles, and their length in milliseconds.
    pub timeframe: &'static str,
    step: i64,
    /// Candles from the entry to the exit.
    ahead: i64,
    /// Events in the same period of this length form one cluster.
    cluster: i64,
}

pub const HORIZONS: &[Horizon] = &[
    horizon("1h", "1h", HOUR_MS, 1, DAY_MS),
    horizon("1d", "1d", DAY_MS, 1, DAY_MS),
    horizon("7d", "1d", DAY_MS, 7, WEEK_MS),
];

const fn horizon(
    word: &'static str,
    timeframe: &'static str,
    step: i64,
    ahead: i64,
    cluster: i64,
) -> Horizon {
    Horizon {
        word,
        timeframe,
        step,
        ahead,
        cluster,
    }
}

model::words! {
    /// Whether the returns after an author's posts differ from those of similar candles.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum PostsVerdict {
        /// `meanExcess` and `excessMarket` are above 0, and `meanExcess` is significant after the correction for all rows (Holm 1979, 5%).
        Better = "better",
        /// Both are below 0, and `meanExcess` is significant after the same correction.
        Worse = "worse",
        /// No difference is shown. A small one may exist: see the width of the interval.
        NoDifference = "no_difference",
        /// Fewer than 10 clusters, or fewer than 10 with a comparison with the market.
        TooFew = "too_few",
    }
}

/// Returns after an author's posts at one horizon, in percent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostsRecord {
    /// Time from the entry to the exit: `1h`, `1d` or `7d`.
    pub horizon: &'static str,
    /// Number of first posts about a token on a UTC day with a return and a comparison. The entry is at the close of the first candle that
    /// begins after the post.
    pub events: u64,
    /// Number of UTC days (for `7d`: weeks) with events. Events on one day are one observation rather than many.
    pub clusters: u64,
    /// Number of events without a return, because the token's candles ended before the exit. A token that died counts here.
    pub ended: u64,
    /// Median return; null without events.
    pub median: Option<f64>,
    /// Mean, over the clusters, of the return minus the mean return of comparable candles of the token: those of the 365 days before the
    /// event's week, in the same third of the 24-hour return. Null without events.
    pub mean_excess: Option<f64>,
    /// Lower end of the 95% interval of `meanExcess`. Null below 10 clusters, like the fields below.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Two-sided p-value of `meanExcess` (Student's t), before the correction for the number of rows.
    pub p_value: Option<f64>,
    /// Mean, over the clusters, of the return minus the median return of the tokens without a post on that UTC day. Null below 10 clusters
    /// on whose days the dataset has at least 20 of these tokens.
    pub excess_market: Option<f64>,
    /// 95% band of `meanExcess` of the same posts moved by 1–30 days, 200 times.
    pub placebo: Option<[f64; 2]>,
    pub verdict: PostsVerdict,
}

/// The closes of one token by slot: the start of a candle, divided by its length.
#[derive(Debug, Clone, Default)]
pub struct Closes {
    first: i64,
    /// NaN without a plausible candle.
    close: Vec<f64>,
}

impl Closes {
    /// Of the candles of this horizon, oldest first.
    pub fn new(candles: &Candles<'_>, horizon: &Horizon) -> Self {
        let slot = |time: &i64| time.div_euclid(horizon.step);
        let last = candles.timestamp.last().map_or(-1, slot);
        let first = candles.timestamp.first().map_or(0, slot);
        let first = first.max(last - SLOTS_MAX + 1);
        let mut closes = Self {
            first,
            close: (first..=last).map(|_| f64::NAN).collect(),
        };
        for (nth, time) in candles.timestamp.iter().enumerate() {
            let place = closes.place(slot(time));
            if let Some(cell) = place.and_then(|place| closes.close.get_mut(place))
                && candles.valid(nth)
                && time % horizon.step == 0
            {
                *cell = candles.close[nth];
            }
        }
        closes
    }

    pub fn is_empty(&self) -> bool {
        self.close.is_empty()
    }

    /// The slot after the last.
    fn end(&self) -> i64 {
        self.first + self.close.len() as i64
    }

    fn place(&self, slot: i64) -> Option<usize> {
        usize::try_from(slot - self.first).ok()
    }

    /// The value at the slot, of as many as there are closes.
    fn at<T: Copy>(&self, values: &[T], slot: i64) -> Option<T> {
        values.get(self.place(slot)?).copied()
    }

    /// Percent change between two slots; `None` if one is unknown.
    fn change(&self, from: i64, to: i64) -> Option<f64> {
        let (from, to) = (self.at(&self.close, from)?, self.at(&self.close, to)?);
        Some(100.0 * (to / from - 1.0)).filter(|percent| percent.is_finite())
    }

    /// For each slot as an entry: the return minus the mean of comparable candles, and the standard error of this mean.
    fn excesses(&self, horizon: &Horizon) -> Vec<Option<[f32; 2]>> {
        let [day, week, year] = [DAY_MS, WEEK_MS, YEAR_MS].map(|span| span / horizon.step);
        let moves: Vec<Option<[f64; 2]>> = (self.first..self.end())
            .map(|slot| {
                let past = self.change(slot - day, slot)?;
                Some([past, self.change(slot, slot + horizon.ahead)?])
            })
            .collect();
        let place = |slot: i64| self.place(slot).unwrap_or_default().min(moves.len());
        let mut excesses = vec![None; moves.len()];
        for nth in self.first.div_euclid(week)..=self.end().div_euclid(week) {
            let start = nth * week;
            // Returns that were known before the week, so that no later candle changes a comparison.
            let known = start - horizon.ahead;
            let known = moves[place(known - year)..place(known)].iter().flatten();
            let thirds = thirds(known.copied().collect(), horizon.ahead);
            let places = place(start)..place(start + week);
            for (excess, pair) in excesses[places.clone()].iter_mut().zip(&moves[places]) {
                *excess = pair.and_then(|[past, percent]| {
                    let [mean, error] = thirds.as_ref()?(past)?;
                    Some([(percent - mean) as f32, error as f32])
                });
            }
        }
        excesses
    }
}

/// From the 24-hour returns of candles and the returns after them: of the third in which a 24-hour return is, the mean return and its standard
/// error. A return over `ahead` candles overlaps that of the k-th next candle by 1 − k / `ahead`, and one of three of these candles is in
/// the same third: the variance of the mean grows by 1 + 2·Σ(1 − k / `ahead`) / 3.
fn thirds(mut pairs: Vec<[f64; 2]>, ahead: i64) -> Option<impl Fn(f64) -> Option<[f64; 2]>> {
    let third = pairs.len() / 3;
    if third < THIRD_LEAST {
        return None;
    }
    let by_past = |a: &[f64; 2], b: &[f64; 2]| a[0].total_cmp(&b[0]);
    let (_, &mut [low, _], rest) = pairs.select_nth_unstable_by(third, by_past);
    let (_, &mut [high, _], _) = rest.select_nth_unstable_by(third - 1, by_past);
    let place = move |past: f64| usize::from(past >= low) + usize::from(past >= high);
    let mut thirds = [const { Vec::new() }; 3];
    for [past, percent] in pairs {
        thirds[place(past)].push(percent);
    }
    let overlap = 1.0 + (ahead - 1) as f64 / 3.0;
    let means = thirds.map(|percents| {
        let (mean, deviation) = mean_and_deviation(&percents);
        let error = deviation * (overlap / percents.len() as f64).sqrt();
        (percents.len() >= THIRD_LEAST).then_some([mean, error])
    });
    Some(move |past| means[place(past)])
}

/// A post: the places of its author and its token in their lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mention {
    pub author: usize,
    pub token: usize,
    pub time: Time,
}

/// The entry after a post with its return in percent, minus each of the comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Event {
    slot: i64,
    token: usize,
    percent: f64,
    excess: f64,
    /// Of the mean of comparable candles.
    error: f64,
    market: Option<f64>,
}

/// Records of the authors at one horizon, in their order, each with a name that seeds its placebo; without the verdicts, which depend on all
/// rows. `tokens` have candles of the horizon's length; `named`: whether a token had a post on a day since 1970. Errors: canceled.
pub fn records(
    horizon: Horizon,
    (tokens, named): (&[Closes], &dyn Fn(i64, usize) -> bool),
    (authors, posts): (&[String], &[Mention]),
    progress: &Progress,
) -> Result<Vec<PostsRecord>> {
    let mut market = Market::new(horizon, tokens, named);
    let mut posts = posts.to_vec();
    posts.sort_unstable();
    posts.dedup_by_key(|post| (post.author, post.token, post.time.day()));
    let mut records = Vec::new();
    for (place, author) in authors.iter().enumerate() {
        let (mut events, mut ended) = (Vec::new(), 0);
        for post in posts.iter().filter(|post| post.author == place) {
            progress.step(place as u64, authors.len() as u64)?;
            events.extend(market.event(post));
            ended += u64::from(market.has_ended(post));
        }
        events.sort_by_key(|event| event.slot);
        records.push(market.record(author, &events, ended));
    }
    Ok(records)
}

/// The candles of all tokens at one horizon.
struct Market<'a> {
    horizon: Horizon,
    tokens: &'a [Closes],
    named: &'a dyn Fn(i64, usize) -> bool,
    excesses: BTreeMap<usize, Vec<Option<[f32; 2]>>>,
    medians: BTreeMap<i64, Option<f64>>,
}

impl<'a> Market<'a> {
    fn new(horizon: Horizon, tokens: &'a [Closes], named: &'a dyn Fn(i64, usize) -> bool) -> Self {
        Self {
            horizon,
            tokens,
            named,
            excesses: BTreeMap::new(),
            medians: BTreeMap::new(),
        }
    }

    /// The slot of the first candle that begins after the post.
    fn entry(&self, post: &Mention) -> i64 {
        post.time.0.div_euclid(self.horizon.step) + 1
    }

    /// Whether the token's candles ended before the exit, and others' did not.
    fn has_ended(&self, post: &Mention) -> bool {
        let exit = self.entry(post) + self.horizon.ahead;
        let closes = &self.tokens[post.token];
        !closes.is_empty()
            && closes.end() <= exit
            && self.tokens.iter().any(|other| other.end() > exit)
    }

    fn event(&mut self, post: &Mention) -> Option<Event> {
        let (slot, token, horizon) = (self.entry(post), post.token, self.horizon);
        let closes = &self.tokens[token];
        let percent = closes.change(slot, slot + horizon.ahead)?;
        let of_token = self.excesses.entry(token);
        let excesses = of_token.or_insert_with(|| closes.excesses(&horizon));
        let [excess, error] = closes.at(excesses, slot)??.map(f64::from);
        Some(Event {
            slot,
            token,
            percent,
            excess,
            error,
            market: self.median(slot).map(|median| percent - median),
        })
    }

    /// Median return from this entry over the tokens without a post on the UTC day before the candle; `None` if they are too few.
    fn median(&mut self, slot: i64) -> Option<f64> {
        let (tokens, named, horizon) = (self.tokens, self.named, self.horizon);
        *self.medians.entry(slot).or_insert_with(|| {
            let day = ((slot - 1) * horizon.step).div_euclid(DAY_MS);
            let unnamed = tokens.iter().enumerate();
            let unnamed = unnamed.filter(|(token, _)| !named(day, *token));
            let percents = unnamed.map(|(_, closes)| closes.change(slot, slot + horizon.ahead));
            let mut percents: Vec<f64> = percents.flatten().collect();
            (percents.len() >= MARKET_LEAST).then(|| median(&mut percents))
        })
    }

    fn record(&self, author: &str, events: &[Event], ended: u64) -> PostsRecord {
        let Horizon {
            word,
            step,
            ahead,
            cluster,
            ..
        } = self.horizon;
        let number = |event: &Event| (event.slot * step).div_euclid(cluster) as i32;
        let clusters: Vec<&[Event]> = events.chunk_by(|a, b| number(a) == number(b)).collect();
        let means: Vec<(i32, f64)> = clusters
            .iter()
            .filter_map(|events| {
                Some((
                    number(&events[0]),
                    mean(events, |event| Some(event.excess))?,
                ))
            })
            .collect();
        let market = clusters
            .iter()
            .filter_map(|events| mean(events, |event| event.market));
        let market: Vec<f64> = market.collect();
        // Events of one token in one year have the same comparable candles, so the error of their mean is common to them.
        let mut common: BTreeMap<(usize, i64), f64> = BTreeMap::new();
        for event in events {
            let of_year = (event.token, event.slot.div_euclid(YEAR_MS / step));
            *common.entry(of_year).or_default() += event.error / events.len() as f64;
        }
        let common = common.values().map(|error| error * error).sum();
        // A return of seven days reaches into the following week.
        let lag = if ahead > 1 { 2.0 } else { 1.0 };
        let is_enough = clusters.len() >= CLUSTERS_LEAST;
        let found = mean_of_clusters(&means, lag, common).filter(|_| is_enough);
        let mean_excess = mean(&means, |(_, excess)| Some(*excess));
        let end = |sign: f64| Some(mean_excess? + sign * found?.0);
        let mut percents: Vec<f64> = events.iter().map(|event| event.percent).collect();
        PostsRecord {
            horizon: word,
            events: events.len() as u64,
            clusters: clusters.len() as u64,
            ended,
            median: (!events.is_empty()).then(|| median(&mut percents)),
            mean_excess,
            low: end(-1.0),
            high: end(1.0),
            p_value: found.map(|(_, p)| p),
            excess_market: mean(&market, |excess| Some(*excess))
                .filter(|_| market.len() >= CLUSTERS_LEAST),
            placebo: is_enough.then(|| self.placebo(author, &clusters)),
            verdict: PostsVerdict::TooFew,
        }
    }

    /// The mean over the clusters of events whose times are moved, in 95 of 100 rounds.
    fn placebo(&self, author: &str, clusters: &[&[Event]]) -> [f64; 2] {
        let seed = author
            .bytes()
            .fold(0, |hash, byte| mixed(hash ^ u64::from(byte)));
        let moved = |event: &Event, round: u64| {
            let draw = mixed(seed ^ (event.slot as u64).wrapping_mul(ROUNDS).wrapping_add(round));
            // Of −30 to 30 days, without 0.
            let days = (draw % (2 * MOVED_MAX)) as i64 - MOVED_MAX as i64;
            let days = days + i64::from(days >= 0);
            let slot = event.slot + days * (DAY_MS / self.horizon.step);
            let excesses = self.excesses.get(&event.token)?;
            let [excess, _] = self.tokens[event.token].at(excesses, slot)??;
            Some(f64::from(excess))
        };
        let means = (0..ROUNDS)
            .filter_map(|round| mean(clusters, |events| mean(events, |event| moved(event, round))));
        let mut means: Vec<f64> = means.collect();
        [0.025, 0.975].map(|q| quantile(&mut means, q))
    }
}

/// The mean of the known values; `None` without any.
fn mean<T>(items: &[T], value: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    let known = items.iter().filter_map(value);
    let (sum, count) = known.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// SplitMix64 (Steele, Lea and Flood 2014) of a number: the same author has the same placebo.
fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Sets the verdicts of all rows in one table.
pub fn set_verdicts<'a>(rows: impl IntoIterator<Item = &'a mut PostsRecord>) {
    let mut rows: Vec<&mut PostsRecord> = rows.into_iter().collect();
    let largest = holm(rows.iter().filter_map(|row| row.p_value).collect());
    for row in &mut rows {
        let is_significant = row.p_value.zip(largest).is_some_and(|(p, most)| p <= most);
        let both = row.mean_excess.zip(row.excess_market);
        row.verdict = match both.filter(|_| row.p_value.is_some()) {
            None => PostsVerdict::TooFew,
            Some((own, market)) if is_significant && own.min(market) > 0.0 => PostsVerdict::Better,
            Some((own, market)) if is_significant && own.max(market) < 0.0 => PostsVerdict::Worse,
            Some(_) => PostsVerdict::NoDifference,
        };
    }
}

#[cfg(test)]
mod tests;
