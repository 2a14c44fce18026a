//! Whether a signal beats its base rate: the error of the difference, where the entries of one UTC day, of one token, and of overlapping
//! trades are not independent, and the correction for the number of names tried.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use model::time::{DAY_MS, Time};

/// Fewest entries, and UTC days with entries, for an interval.
pub const ENTRIES_LEAST: usize = 20;
pub const DAYS_LEAST: usize = 10;
/// Fewest tokens with entries for an interval, in a table of as many tokens or more.
pub const TOKENS_LEAST: usize = 3;
/// A difference that matters, in percentage points. No edge is claimed only if the interval excludes it on both sides.
pub const POINTS: f64 = 10.0;
/// Fewest days on which the rarer outcome is expected, for a variance that the entries show: the rule of thumb for a normal approximation.
const RARER_LEAST: f64 = 5.0;
/// False discovery rate, and 1 minus the level of the interval.
const ALPHA: f64 = 0.05;
/// Length of a block of days, in mean durations of the trades. Trades that are entered within one duration share days. Longer blocks
/// leave fewer of them.
const BLOCK_DURATIONS: f64 = 1.5;

model::words! {
    /// What a track record shows about a signal.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(rename = "TrackRecordVerdict")]
    pub enum Verdict {
        /// The signal was right significantly more often than its base rate, after the correction for all names in the table
        /// (Benjamini and Hochberg 1995, false discovery rate 5%).
        BeatsBaseRate = "beats_base_rate",
        /// The signal was right significantly less often than its base rate, after the same correction.
        BelowBaseRate = "below_base_rate",
        /// The difference is not significant, and its interval excludes differences of 10 percentage points.
        NoEdge = "no_edge",
        /// Fewer than 20 entries, 10 days or 3 tokens (in a table of 3 or more); or the difference is not significant and its interval
        /// does not exclude a difference of 10 percentage points.
        TooFew = "too_few",
    }
}

impl Verdict {
    /// `beats the base rate`
    pub fn text(self) -> &'static str {
        match self {
            Self::BeatsBaseRate => "beats the base rate",
            Self::BelowBaseRate => "below the base rate",
            Self::NoEdge => "no edge",
            Self::TooFew => "too few",
        }
    }
}

/// The difference of a hit rate from its base rate, with its error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TrackRecordEvidence")]
pub struct Evidence {
    /// Number of UTC days with entries. Entries on one day are one event rather than many.
    pub days: u64,
    /// Number of tokens with entries.
    pub tokens: u64,
    /// Hit rate minus base rate, in percentage points. Null without entries, for a label without a direction, and for a security verdict
    /// that more than 90% of the tokens have.
    pub difference: Option<f64>,
    /// Lower end of the 95% interval of `difference`, clustered by day and by token. Null if there are too few entries, days or tokens.
    pub difference_low: Option<f64>,
    /// Upper end of the interval.
    pub difference_high: Option<f64>,
    /// Two-sided p-value of `difference`, before the correction for the number of names. Null if there is no interval.
    pub p_value: Option<f64>,
    /// Result of the comparison with the base rate. Null if `difference` is null.
    pub verdict: Option<Verdict>,
}

impl Evidence {
    /// Standard errors of the difference from zero, by the width of the interval; `None` without one.
    pub fn errors(&self) -> Option<f64> {
        let half = (self.difference_high? - self.difference_low?) / 2.0;
        (half > 0.0).then_some(self.difference? * NORMAL_975 / half)
    }
}

/// `-3.1…+8.4`, in percentage points.
pub fn interval_text(low: Option<f64>, high: Option<f64>) -> Option<String> {
    let (low, high) = low.zip(high)?;
    Some(format!("{low:+.1}…{high:+.1}"))
}

/// Standard errors on each side of a 95% interval of the normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// Sets the verdicts of all names in one table: the largest k for which k p-values are at most 5% × k / (number of names tried) are
/// significant (Benjamini and Hochberg 1995). Names with too few entries have no p-value and are not tried.
pub fn set_verdicts<'a>(table: impl IntoIterator<Item = &'a mut Evidence>) {
    let mut table: Vec<&mut Evidence> = table.into_iter().collect();
    let mut tried: Vec<f64> = table.iter().filter_map(|name| name.p_value).collect();
    tried.sort_by(f64::total_cmp);
    let count = tried.len() as f64;
    let passes = |(nth, p): (usize, &f64)| (*p <= ALPHA * (nth + 1) as f64 / count).then_some(*p);
    let largest = tried.iter().enumerate().filter_map(passes).next_back();
    for name in &mut table {
        let is_significant = name.p_value.zip(largest).is_some_and(|(p, most)| p <= most);
        let excludes_edges = name
            .difference_low
            .zip(name.difference_high)
            .is_some_and(|(low, high)| -POINTS < low && high < POINTS);
        name.verdict = name.difference.map(|difference| match is_significant {
            true if difference > 0.0 => Verdict::BeatsBaseRate,
            true => Verdict::BelowBaseRate,
            false if excludes_edges => Verdict::NoEdge,
            false => Verdict::TooFew,
        });
    }
}

/// An entry, and how its outcome differs from its base rate.
#[derive(Debug, Clone, Copy)]
struct Entry {
    day: i32,
    token: usize,
    /// 1 or 0 for right or wrong, minus the base rate.
    excess: f64,
    /// Of one outcome with the base rate as its probability.
    variance: f64,
    /// Days from the entry to the outcome.
    duration: f64,
}

/// The entries of one name, and the baseline of its base rates by day.
#[derive(Debug, Default)]
pub struct Entries {
    entries: Vec<Entry>,
    baseline: BTreeMap<i32, f64>,
}

/// The UTC day of a time.
pub fn day_of(time: Time) -> i32 {
    i32::try_from(time.0.div_euclid(DAY_MS)).unwrap_or_default()
}

impl Entries {
    /// Adds an entry: its day, the number of its token, whether it was right, and the days to its outcome.
    pub fn add(&mut self, day: i32, token: usize, is_right: bool, base_rate: f64, duration: f64) {
        self.entries.push(Entry {
            day,
            token,
            excess: f64::from(u8::from(is_right)) - base_rate,
            variance: base_rate * (1.0 - base_rate),
            duration,
        });
    }

    /// Adds what a day contributes to the base rates of the entries: of an entry whose base rate is the mean of N outcomes, each of these
    /// outcomes minus the mean, over N. An error without it counts the shocks that an entry and its base rate share, and is too large.
    pub fn add_baseline(&mut self, day: i32, excess: f64) {
        *self.baseline.entry(day).or_default() += excess;
    }

    /// The mean difference and its error, in a table of that many tokens; without a verdict, which depends on the other names.
    ///
    /// The variance of the mean is the largest of four. Two are clustered two-way (Cameron, Gelbach and Miller 2011), by token and by day,
    /// and by token and by block of days: V(day) + V(token) − V(token and day), where the last two count only if their difference is
    /// positive, and never below V(token). A block is longer than a trade; the variance is the mean over all ways to
    /// cut the days into blocks, which is Bartlett's kernel over days (Driscoll and Kraay 1998), and that of a moving-block bootstrap of the
    /// mean (Künsch 1989) without its random numbers. The fourth is that of independent entries. Each has the correction G / (G − 1) and G − 1
    /// degrees of freedom, with the effective number of clusters G = n² / Σ n_g² (after Carter, Schnepel and Steigerwald 2017); a sum of
    /// two has those of Satterthwaite (1946).
    pub fn evidence(mut self, tokens_tried: usize) -> Evidence {
        self.entries.sort_by_key(|entry| (entry.token, entry.day));
        let (count, of_tokens) = (self.entries.len(), || {
            self.entries.chunk_by(|a, b| a.token == b.token)
        });
        let mut days: Vec<i32> = self.entries.iter().map(|entry| entry.day).collect();
        days.sort_unstable();
        let ones: Vec<(i32, f64)> = days.iter().map(|day| (*day, 1.0)).collect();
        days.dedup();
        let tokens = of_tokens().count();
        let mean = |of: fn(&Entry) -> f64| self.entries.iter().map(of).sum::<f64>() / count as f64;
        let difference = mean(|entry| entry.excess);
        let evidence = Evidence {
            days: days.len() as u64,
            tokens: tokens as u64,
            difference: (count > 0).then_some(100.0 * difference),
            ..Evidence::default()
        };
        if count < ENTRIES_LEAST
            || days.len() < DAYS_LEAST
            || tokens < TOKENS_LEAST.min(tokens_tried)
        {
            return evidence;
        }
        let squared = (count as f64).powi(2);
        let residual = |entry: &Entry| (entry.day, entry.excess - difference);
        let mut by_day: Vec<(i32, f64)> = self.entries.iter().map(residual).collect();
        by_day.sort_unstable_by_key(|(day, _)| *day);
        let mut with_baseline = by_day.clone();
        with_baseline.extend(self.baseline.iter().map(|(day, excess)| (*day, -excess)));
        with_baseline.sort_by_key(|(day, _)| *day);
        let token = |of: fn(f64, f64) -> f64| -> f64 {
            let one = |entries: &[Entry]| {
                of(
                    entries.iter().map(|entry| residual(entry).1).sum(),
                    entries.len() as f64,
                )
            };
            of_tokens().map(one).sum()
        };
        let by_token = ClusteredVariance::new(
            token(|sum, _| sum * sum) / squared,
            squared / token(|_, size| size * size),
        );
        let blocks = (BLOCK_DURATIONS * mean(|entry| entry.duration))
            .ceil()
            .max(1.0);
        let clusters = |length: f64| squared / blocked(ones.iter().copied(), length);
        let two_way = |rows: &[(i32, f64)], length: f64| {
            let both = of_tokens().map(|entries| blocked(entries.iter().map(residual), length));
            let by_day = blocked(rows.iter().copied(), length) / squared;
            ClusteredVariance::new(by_day, clusters(length))
                .plus(by_token, both.sum::<f64>() / squared)
        };
        let outcome = mean(|entry| entry.variance);
        // Where all days but a few have the same outcome, clusters show no variance; then each day counts as one entry.
        let rarer = (1.0 - (1.0 - 4.0 * outcome).max(0.0).sqrt()) / 2.0;
        let events = if rarer * (days.len() as f64) < RARER_LEAST {
            days.len()
        } else {
            count
        };
        let independent = ClusteredVariance {
            variance: outcome / events as f64,
            freedom: clusters(blocks) - 1.0,
        };
        let found = [
            two_way(&by_day, 1.0),
            two_way(&with_baseline, blocks),
            by_token,
            independent,
        ];
        let largest = found
            .into_iter()
            .max_by(|a, b| a.variance.total_cmp(&b.variance))
            .filter(|_| independent.freedom >= 1.0);
        match largest.and_then(|found| found.interval(difference)) {
            Some((half, p)) => Evidence {
                difference_low: Some(100.0 * (difference - half)),
                difference_high: Some(100.0 * (difference + half)),
                p_value: Some(p),
                ..evidence
            },
            None => evidence,
        }
    }
}

/// A variance of the mean, and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct ClusteredVariance {
    variance: f64,
    freedom: f64,
}

impl ClusteredVariance {
    /// One cluster has no variance.
    fn new(variance: f64, clusters: f64) -> Self {
        let freedom = clusters - 1.0;
        let correction = if freedom > 0.0 {
            clusters / freedom
        } else {
            0.0
        };
        Self {
            variance: variance * correction,
            freedom,
        }
    }

    /// Adds what another clustering has beyond the clusters of both.
    fn plus(self, other: Self, both: f64) -> Self {
        let more = (other.variance - both).max(0.0);
        if more <= 0.0 {
            return self;
        }
        let variance = self.variance + more;
        let parts = self.variance.powi(2) / self.freedom + more.powi(2) / other.freedom;
        Self {
            variance,
            freedom: variance.powi(2) / parts,
        }
    }

    /// Half the 95% interval of a mean, and its two-sided p-value. `None` with less than one degree of freedom.
    fn interval(self, mean: f64) -> Option<(f64, f64)> {
        let error = self.variance.sqrt();
        let is_known = error > 0.0 && error.is_finite() && self.freedom >= 1.0;
        let t = is_known.then(|| StudentsT::new(0.0, 1.0, self.freedom).ok())??;
        Some((
            error * t.inverse_cdf(1.0 - ALPHA / 2.0),
            2.0 * t.sf(mean.abs() / error),
        ))
    }
}

/// Half the 95% interval of the mean of clusters, and its two-sided p-value, by Student's t with one degree of freedom less than clusters.
/// `clusters` are numbered in order of time; those less than `lag` apart may share data (Bartlett's kernel). `shared` is the variance of what
/// all of them are compared with. `None` for fewer than two clusters.
pub fn mean_of_clusters(clusters: &[(i32, f64)], lag: f64, shared: f64) -> Option<(f64, f64)> {
    let count = clusters.len() as f64;
    let mean = clusters.iter().map(|(_, value)| value).sum::<f64>() / count;
    let residuals = clusters
        .iter()
        .map(|(number, value)| (*number, value - mean));
    let squares = blocked(residuals.clone(), 1.0).max(blocked(residuals, lag));
    let own = ClusteredVariance::new(squares / count.powi(2), count);
    let variance = own.variance + shared;
    ClusteredVariance { variance, ..own }.interval(mean)
}

/// The largest p-value that is significant among these at a familywise error rate of 5%: the k-th smallest of n is at most 5% / (n − k + 1), and
/// so is each smaller one (Holm 1979).
pub fn holm(mut p_values: Vec<f64>) -> Option<f64> {
    p_values.sort_by(f64::total_cmp);
    let count = p_values.len();
    let passes = |(nth, p): &(usize, &f64)| **p <= ALPHA / (count - nth) as f64;
    let significant = p_values.iter().enumerate().take_while(passes);
    significant.last().map(|(_, p)| *p)
}

/// Sum of the squared sums of all blocks of days, divided by the days of a block: the mean over all ways to cut the days into blocks. `values`
/// are sorted by day.
fn blocked(values: impl Iterator<Item = (i32, f64)>, length: f64) -> f64 {
    let mut window: VecDeque<(f64, f64)> = VecDeque::new();
    // Of the values in the window: their sum, and the sum of each times its day.
    let (mut sum, mut moment, mut squares) = (0.0, 0.0, 0.0);
    for (day, value) in values {
        let day = f64::from(day);
        while let Some(&(first, out)) = window.front()
            && day - first >= length
        {
            sum -= out;
            moment -= out * first;
            window.pop_front();
        }
        // A block of this length contains both of two days with the probability 1 − distance / length.
        squares += value * (value + 2.0 * (sum - (day * sum - moment) / length));
        window.push_back((day, value));
        sum += value;
        moment += value * day;
    }
    squares.max(0.0)
}

#[cfg(test)]
mod tests;
