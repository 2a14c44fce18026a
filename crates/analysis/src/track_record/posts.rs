//! What followed an author's posts: the returns after the first post about a token on each UTC day, compared with similar candles of the same
//! token and with tokens that had no post. Pure; which posts count is decided by the caller. An event uses only posts and candles up to its
//! entry, and the candle at which it ends.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::errors::{holm, mean_of_clusters};
use crate::numeric::{median, quantile};
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
const ROUNDS: usize = 200;
const MOVED_MAX: u64 = 30;

/// A time after the entry at which returns are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    pub word: &'static str,
    /// Length of the candles in milliseconds.
    pub step: i64,
    /// Candles from the entry to the exit.
    candles: i64,
    /// Events in the same period of this length form one cluster.
    cluster: i64,
}

const HORIZON: [Horizon; 3] = [
    Horizon {
        word: "1h",
        step: HOUR_MS,
        candles: 1,
        cluster: DAY_MS,
    },
    Horizon {
        word: "1d",
        step: DAY_MS,
        candles: 1,
        cluster: DAY_MS,
    },
    Horizon {
        word: "7d",
        step: DAY_MS,
        candles: 7,
        cluster: WEEK_MS,
    },
];
pub const HORIZONS: &[Horizon] = &HORIZON;

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
    pub fn new(candles: &Candles<'_>, step: i64) -> Self {
        let slots = candles.timestamp.iter().map(|time| time.div_euclid(step));
        let Some(last) = slots.clone().max() else {
            return Self::default();
        };
        let first = slots.clone().min().unwrap_or(last);
        let first = first.max(last - SLOTS_MAX + 1);
        let mut close = vec![f64::NAN; usize::try_from(last - first + 1).unwrap_or_default()];
        for (nth, slot) in slots.enumerate() {
            let place = usize::try_from(slot - first).ok();
            if let Some(cell) = place.and_then(|place| close.get_mut(place))
                && candles.valid(nth)
                && candles.timestamp[nth] == slot * step
            {
                *cell = candles.close[nth];
            }
        }
        Self { first, close }
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

    fn at(&self, slot: i64) -> f64 {
        let close = self.place(slot).and_then(|place| self.close.get(place));
        close.copied().unwrap_or(f64::NAN)
    }

    /// Percent change between two slots; NaN if one is unknown.
    fn change(&self, from: i64, to: i64) -> f64 {
        100.0 * (self.at(to) / self.at(from) - 1.0)
    }

    /// For each slot as an entry: the return minus the mean of comparable candles, and the variance of this mean; NaN where unknown.
    fn excesses(&self, horizon: &Horizon) -> Vec<[f32; 2]> {
        let (day, ahead) = (DAY_MS / horizon.step, horizon.candles);
        let moves: Vec<[f64; 2]> = (self.first..self.end())
            .map(|slot| {
                [
                    self.change(slot - day, slot),
                    self.change(slot, slot + ahead),
                ]
            })
            .collect();
        let (week, year) = (WEEK_MS / horizon.step, YEAR_MS / horizon.step);
        let mut excesses = vec![[f32::NAN; 2]; moves.len()];
        let is_known = |pair: &&[f64; 2]| pair.iter().all(|percent| percent.is_finite());
        let mut start = self.first.div_euclid(week) * week;
        while start < self.end() {
            let clamped = |slot: i64| {
                let place = self.place(slot).unwrap_or_default();
                place.min(moves.len())
            };
            // Returns that were known before the week, so that no later candle changes a comparison.
            let before = &moves[clamped(start - ahead - year)..clamped(start - ahead)];
            let known: Vec<[f64; 2]> = before.iter().filter(is_known).copied().collect();
            if let Some(thirds) = Thirds::new(known, ahead) {
                for place in clamped(start)..clamped(start + week) {
                    let [past, percent] = moves[place];
                    if let Some([mean, variance]) = thirds.of(past) {
                        excesses[place] = [(percent - mean) as f32, variance as f32];
                    }
                }
            }
            start += week;
        }
        excesses
    }
}

/// Candles by the third of their 24-hour return: the bounds of the middle third, and of each third the mean return and its variance.
struct Thirds {
    bounds: [f64; 2],
    means: [Option<[f64; 2]>; 3],
}

impl Thirds {
    /// `ahead`: the candles that a return spans. It overlaps that of the k-th next candle by 1 − k / `ahead`, and one of three of these
    /// candles is in the same third: the variance of the mean grows by 1 + 2·Σ(1 − k / `ahead`) / 3.
    fn new(mut pairs: Vec<[f64; 2]>, ahead: i64) -> Option<Self> {
        let third = pairs.len() / 3;
        if third < THIRD_LEAST {
            return None;
        }
        let by_past = |a: &[f64; 2], b: &[f64; 2]| a[0].total_cmp(&b[0]);
        let (_, low, rest) = pairs.select_nth_unstable_by(third, by_past);
        let low = low[0];
        let (_, high, _) = rest.select_nth_unstable_by(third - 1, by_past);
        let mut thirds = Self {
            bounds: [low, high[0]],
            means: [None; 3],
        };
        let mut sums = [[0.0; 3]; 3];
        for [past, percent] in pairs {
            let [count, sum, squares] = &mut sums[thirds.place(past)];
            *count += 1.0;
            *sum += percent;
            *squares += percent * percent;
        }
        let overlap = 1.0 + (ahead - 1) as f64 / 3.0;
        thirds.means = sums.map(|[count, sum, squares]| {
            let mean = sum / count;
            let spread = (squares / count - mean * mean).max(0.0);
            (count >= THIRD_LEAST as f64).then_some([mean, spread * overlap / count])
        });
        Some(thirds)
    }

    fn place(&self, past: f64) -> usize {
        self.bounds.iter().filter(|bound| past >= **bound).count()
    }

    fn of(&self, past: f64) -> Option<[f64; 2]> {
        (!past.is_nan()).then(|| self.means[self.place(past)])?
    }
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
    percent: f64,
    excess: f64,
    /// Of the mean of comparable candles.
    variance: f64,
    market: Option<f64>,
    token: usize,
}

/// The candles of all tokens at one horizon.
pub struct Market<'a> {
    horizon: Horizon,
    tokens: &'a [Closes],
    /// Days (since 1970) on which a token had a post.
    named: &'a HashSet<(i64, usize)>,
    excesses: BTreeMap<usize, Vec<[f32; 2]>>,
    medians: BTreeMap<i64, Option<f64>>,
}

impl<'a> Market<'a> {
    /// `tokens` have candles of the horizon's length.
    pub fn new(horizon: Horizon, tokens: &'a [Closes], named: &'a HashSet<(i64, usize)>) -> Self {
        Self {
            horizon,
            tokens,
            named,
            excesses: BTreeMap::new(),
            medians: BTreeMap::new(),
        }
    }

    /// Records of the authors, in their order; without the verdicts, which depend on all rows. Errors: canceled.
    pub fn records(
        &mut self,
        authors: &[String],
        posts: &[Mention],
        progress: &Progress,
    ) -> Result<Vec<PostsRecord>> {
        let mut posts = posts.to_vec();
        posts.sort_unstable();
        posts.dedup_by_key(|post| (post.author, post.token, post.time.day()));
        let mut records = Vec::with_capacity(authors.len());
        for (place, author) in authors.iter().enumerate() {
            progress.step(place as u64, authors.len() as u64)?;
            let start = posts.partition_point(|post| post.author < place);
            let end = posts.partition_point(|post| post.author <= place);
            let (events, ended) = self.events(&posts[start..end], progress)?;
            records.push(self.record(author, &events, ended));
        }
        Ok(records)
    }

    /// The events of an author's first posts, ordered by entry, and the number of those whose candles ended.
    fn events(&mut self, posts: &[Mention], progress: &Progress) -> Result<(Vec<Event>, u64)> {
        let Horizon { step, candles, .. } = self.horizon;
        let last = self.tokens.iter().map(Closes::end).max();
        let (mut events, mut ended) = (Vec::new(), 0);
        for post in posts {
            let Some(closes) = self.tokens.get(post.token) else {
                continue;
            };
            let slot = post.time.0.div_euclid(step) + 1;
            let exit = slot + candles;
            let percent = closes.change(slot, exit);
            ended += u64::from(closes.end() <= exit && last > Some(exit) && !closes.is_empty());
            if !percent.is_finite() {
                continue;
            }
            let horizon = self.horizon;
            if !self.excesses.contains_key(&post.token) {
                progress.step(0, 0)?;
            }
            let of_token = self.excesses.entry(post.token);
            let excesses = of_token.or_insert_with(|| closes.excesses(&horizon));
            let [excess, variance] = excess_at(closes, excesses, slot);
            if excess.is_finite() {
                events.push(Event {
                    slot,
                    percent,
                    excess,
                    variance,
                    market: self.median(slot).map(|median| percent - median),
                    token: post.token,
                });
            }
        }
        events.sort_by_key(|event| event.slot);
        Ok((events, ended))
    }

    /// Median return from this entry over the tokens without a post on the UTC day before the candle; `None` if they are too few.
    fn median(&mut self, slot: i64) -> Option<f64> {
        let (tokens, named, horizon) = (self.tokens, self.named, self.horizon);
        *self.medians.entry(slot).or_insert_with(|| {
            let day = ((slot - 1) * horizon.step).div_euclid(DAY_MS);
            let unnamed = tokens.iter().enumerate();
            let unnamed = unnamed.filter(|(token, _)| !named.contains(&(day, *token)));
            let mut percents: Vec<f64> = unnamed
                .map(|(_, closes)| closes.change(slot, slot + horizon.candles))
                .filter(|percent| percent.is_finite())
                .collect();
            (percents.len() >= MARKET_LEAST).then(|| median(&mut percents))
        })
    }

    fn record(&self, author: &str, events: &[Event], ended: u64) -> PostsRecord {
        let cluster =
            |event: &Event| (event.slot * self.horizon.step).div_euclid(self.horizon.cluster);
        let clusters: Vec<&[Event]> = events.chunk_by(|a, b| cluster(a) == cluster(b)).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means: Vec<(i32, f64)> = clusters
            .iter()
            .map(|events| {
                let excesses: Vec<f64> = events.iter().map(|event| event.excess).collect();
                let number = i32::try_from(cluster(&events[0])).unwrap_or_default();
                (number, mean(&excesses))
            })
            .collect();
        let market: Vec<f64> = clusters
            .iter()
            .filter_map(|events| {
                let known: Vec<f64> = events.iter().filter_map(|event| event.market).collect();
                (!known.is_empty()).then(|| mean(&known))
            })
            .collect();
        // Events of one token in one year have the same comparable candles, so the error of their mean is common to them.
        let year = YEAR_MS / self.horizon.step;
        let mut common: BTreeMap<(usize, i64), f64> = BTreeMap::new();
        for event in events {
            let of_year = (event.token, event.slot.div_euclid(year));
            *common.entry(of_year).or_default() += event.variance.sqrt() / events.len() as f64;
        }
        let common = common.values().map(|error| error * error).sum();
        let mut percents: Vec<f64> = events.iter().map(|event| event.percent).collect();
        let is_enough = clusters.len() >= CLUSTERS_LEAST;
        let found = mean_of_clusters(&means, self.lag(), common).filter(|_| is_enough);
        let mean_excess = mean(&means.iter().map(|(_, mean)| *mean).collect::<Vec<_>>());
        PostsRecord {
            horizon: self.horizon.word,
            events: events.len() as u64,
            clusters: clusters.len() as u64,
            ended,
            median: (!events.is_empty()).then(|| median(&mut percents)),
            mean_excess: (!events.is_empty()).then_some(mean_excess),
            low: found.map(|(half, _)| mean_excess - half),
            high: found.map(|(half, _)| mean_excess + half),
            p_value: found.map(|(_, p)| p),
            excess_market: (market.len() >= CLUSTERS_LEAST).then(|| mean(&market)),
            placebo: is_enough.then(|| self.placebo(author, &clusters)).flatten(),
            verdict: PostsVerdict::TooFew,
        }
    }

    /// Clusters, of which the next share candles: a return of seven days reaches into the following week.
    fn lag(&self) -> f64 {
        if self.horizon.candles > 1 { 2.0 } else { 1.0 }
    }

    /// The mean over the clusters of events whose times are moved, in 95 of 100 rounds.
    fn placebo(&self, author: &str, clusters: &[&[Event]]) -> Option<[f64; 2]> {
        let day = DAY_MS / self.horizon.step;
        let mut rounds = vec![(0.0, 0_u32); ROUNDS];
        for events in clusters {
            let mut sums = [(0.0, 0_u32); ROUNDS];
            for event in *events {
                let (closes, excesses) = (&self.tokens[event.token], &self.excesses[&event.token]);
                let mut state = seed(author) ^ event.slot as u64;
                for sum in &mut sums {
                    let draw = draw(&mut state);
                    let moved = (1 + (draw >> 1) % MOVED_MAX) as i64 * day;
                    let moved = if draw & 1 == 0 { moved } else { -moved };
                    let [excess, _] = excess_at(closes, excesses, event.slot + moved);
                    if excess.is_finite() {
                        *sum = (sum.0 + excess, sum.1 + 1);
                    }
                }
            }
            for (round, (sum, count)) in rounds.iter_mut().zip(sums) {
                if count > 0 {
                    *round = (round.0 + sum / f64::from(count), round.1 + 1);
                }
            }
        }
        let known = rounds.into_iter().filter(|(_, count)| *count > 0);
        let mut means: Vec<f64> = known.map(|(sum, count)| sum / f64::from(count)).collect();
        (!means.is_empty()).then(|| [0.025, 0.975].map(|q| quantile(&mut means, q)))
    }
}

fn excess_at(closes: &Closes, excesses: &[[f32; 2]], slot: i64) -> [f64; 2] {
    let cell = closes.place(slot).and_then(|place| excesses.get(place));
    cell.map_or([f64::NAN; 2], |cell| cell.map(f64::from))
}

/// FNV-1a of the author.
fn seed(author: &str) -> u64 {
    author.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same author has the same placebo.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Sets the verdicts of all rows in one table.
pub fn set_verdicts<'a>(rows: impl IntoIterator<Item = &'a mut PostsRecord>) {
    let mut rows: Vec<&mut PostsRecord> = rows.into_iter().collect();
    let largest = holm(rows.iter().filter_map(|row| row.p_value).collect());
    for row in &mut rows {
        let both = row.mean_excess.zip(row.excess_market);
        let is_significant = row.p_value.zip(largest).is_some_and(|(p, most)| p <= most);
        row.verdict = match both.filter(|_| row.low.is_some()) {
            None => PostsVerdict::TooFew,
            Some((own, market)) if is_significant && own > 0.0 && market > 0.0 => {
                PostsVerdict::Better
            }
            Some((own, market)) if is_significant && own < 0.0 && market < 0.0 => {
                PostsVerdict::Worse
            }
            Some(_) => PostsVerdict::NoDifference,
        };
    }
}

#[cfg(test)]
mod tests;
