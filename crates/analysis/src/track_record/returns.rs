//! Price returns after signals without a target: the trend label at each candle, and a token's rank by holder growth. A signal uses only
//! data up to its candle and is evaluated by the closes after it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    REPLAYED,
    errors::{Entries, Evidence, day_of},
    share,
};
use crate::{
    growth,
    numeric::median,
    trendlines::{Trend, measures, trend::WEIGHTS},
};
use model::{
    candles::Candles,
    day_counts::DayCounts,
    time::{DAY_MS, Day, Time},
};

/// Number of candles from which a trend label is determined (the default of GET /technical/{contractAddress}/trendline), and over which it
/// is evaluated.
pub const TREND_CANDLES: usize = 14;
/// Number of days over which growth is measured, between two rankings, and over which a rank is evaluated.
pub const GROWTH_DAYS: u64 = growth::WINDOW_DAYS_DEFAULT;
/// Thirds of a ranking, fastest first.
const THIRDS: [&str; 3] = ["fastest_third", "middle_third", "slowest_third"];

/// A signal and the return after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalReturn {
    pub word: &'static str,
    /// Start of the candle; the entry is at its close.
    pub timestamp: Time,
    /// Percent change from the entry to the close after the evaluated span.
    pub percent: f64,
    /// Days from the entry to that close.
    pub days: f64,
    /// Baseline of unconditional entries: for trends at every candle of the token apart from those that the label is made of, for ranks in
    /// every token ranked that day.
    pub baseline: ReturnBaseline,
}

/// Baseline of unconditional entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReturnBaseline {
    /// Mean return in percent.
    pub mean: f64,
    /// Fraction with a positive return.
    pub rose: f64,
}

/// Price returns after one kind of signal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReturnRecord {
    /// A trend label, or a third of the ranking.
    pub word: &'static str,
    /// Number of signals. Spans of adjacent candles overlap, so they are not independent; the interval of `difference` allows for it.
    pub count: u64,
    /// Mean return in percent, from close to close over the span. Null without signals, like the fields below.
    pub mean_return: Option<f64>,
    /// Median return in percent.
    pub median_return: Option<f64>,
    /// Fraction after which the price was higher.
    pub rose: Option<f64>,
    /// Baseline for `meanReturn`: unconditional entries; the effect of the market's drift without any signal.
    pub random_mean_return: Option<f64>,
    /// Baseline for `rose`.
    pub random_rose: Option<f64>,
    /// The difference of the hit rate from its base rate. A signal is right if the price rises after `uptrend` or `fastest_third`, or falls
    /// after `downtrend` or `slowest_third`; the other labels have no direction, so no difference.
    #[serde(flatten)]
    pub evidence: Evidence,
}

impl ReturnRecord {
    /// Converts a fraction of rises to the fraction in which the signal was right: rises after a bullish signal, falls after a bearish one;
    /// `None` if the signal is neutral.
    pub fn right(&self, rose: Option<f64>) -> Option<f64> {
        let rises = expects_rise(self.word)?;
        rose.map(|rose| if rises { rose } else { 1.0 - rose })
    }
}

/// Whether a label expects a rise rather than a fall; `None` if it is neutral.
fn expects_rise(word: &str) -> Option<bool> {
    match word {
        "uptrend" | "fastest_third" => Some(true),
        "downtrend" | "slowest_third" => Some(false),
        _ => None,
    }
}

/// Trend label at each of the last candles that has `TREND_CANDLES` successors. `candles` must be valid, oldest first.
pub fn after_trends(candles: &Candles<'_>) -> Vec<SignalReturn> {
    let first = candles.len().saturating_sub(REPLAYED);
    let percent = |at: usize| change(candles.close[at], candles.close[at + TREND_CANDLES]);
    let end = candles.len().saturating_sub(TREND_CANDLES);
    let entries: Vec<(usize, f64)> = (first..end)
        .filter_map(|at| Some((at, percent(at)?)))
        .collect();
    // Entries whose spans overlap the candles of a label contain the move that it is made of.
    let sums = sums(&entries);
    let baseline = |at: usize| {
        let start = entries.partition_point(|(other, _)| other + 2 * TREND_CANDLES <= at);
        let end = entries.partition_point(|(other, _)| *other <= at);
        let [whole, before, after] = [entries.len(), start, end].map(|place| sums[place]);
        let near = end - start;
        let (count, sum, rose) = if 2 * near > entries.len() {
            (entries.len(), whole.0, whole.1)
        } else {
            (
                entries.len() - near,
                whole.0 - (after.0 - before.0),
                whole.1 - (after.1 - before.1),
            )
        };
        let mean = |sum: f64| share(sum, count).unwrap_or_default();
        ReturnBaseline {
            mean: mean(sum),
            rose: mean(rose as f64),
        }
    };
    let signal = |(at, percent): (usize, f64)| {
        let seen = candles.part((at + 1).saturating_sub(TREND_CANDLES)..at + 1);
        let word = measures(&seen, TREND_CANDLES).map_or(Trend::Sideways, |measures| {
            WEIGHTS.chances(&measures).word().0
        });
        SignalReturn {
            word: word.word(),
            timestamp: Time(candles.timestamp[at]),
            percent,
            days: (candles.timestamp[at + TREND_CANDLES] - candles.timestamp[at]) as f64
                / DAY_MS as f64,
            baseline: baseline(at),
        }
    };
    // With fewer candles there is no trend word to judge.
    entries
        .iter()
        .copied()
        .filter(|(at, _)| *at + 1 >= TREND_CANDLES)
        .map(signal)
        .collect()
}

/// Of the first entries, up to all of them: the sum of their returns, and the number of those that rose.
fn sums(entries: &[(usize, f64)]) -> Vec<(f64, usize)> {
    let add = |sums: &mut (f64, usize), (_, percent): &(usize, f64)| {
        *sums = (sums.0 + percent, sums.1 + usize::from(*percent > 0.0));
        Some(*sums)
    };
    let sums = entries.iter().scan((0.0, 0), add);
    std::iter::once((0.0, 0)).chain(sums).collect()
}

/// A token with holder counts and its valid daily candles, oldest first.
pub struct RankedToken<'a> {
    pub counts: DayCounts<'a>,
    pub days: Candles<'a>,
}

/// Ranks of each token, in the order of `tokens`, in rankings every `GROWTH_DAYS`, up to the latest count and over no more days than candles are replayed. A ranking
/// uses the counts up to its day, of tokens counted within the preceding `GROWTH_DAYS`, and needs at least as many tokens as it has parts.
pub fn after_growth(tokens: &[RankedToken<'_>]) -> Vec<Vec<SignalReturn>> {
    let step = GROWTH_DAYS as i32;
    let Some(last) = tokens
        .iter()
        .filter_map(|token| token.counts.last())
        .map(|count| count.date.0)
        .max()
    else {
        return Vec::new();
    };
    let mut signals = vec![Vec::new(); tokens.len()];
    // Ranking days are aligned to a fixed origin, so that later data do not shift them.
    let last = last - last.rem_euclid(step);
    for day in (0..REPLAYED as i32 / step)
        .rev()
        .map(|nth| last - nth * step)
    {
        let on_day = |(place, token): (usize, &RankedToken<'_>)| {
            let (growth, percent) = token.on(day)?;
            Some((growth, percent, place))
        };
        let mut ranked: Vec<(f64, f64, usize)> =
            tokens.iter().enumerate().filter_map(on_day).collect();
        if ranked.len() < THIRDS.len() {
            continue;
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let baseline = ReturnBaseline::of(ranked.iter().map(|(_, percent, _)| *percent));
        let word = |rank: usize| THIRDS[rank * THIRDS.len() / ranked.len()];
        let timestamp = Time(i64::from(day) * DAY_MS);
        for (rank, &(_, percent, place)) in ranked.iter().enumerate() {
            signals[place].push(SignalReturn {
                word: word(rank),
                timestamp,
                percent,
                days: GROWTH_DAYS as f64,
                baseline,
            });
        }
    }
    signals
}

impl RankedToken<'_> {
    /// Growth up to the day, and the return over the days after it.
    fn on(&self, day: i32) -> Option<(f64, f64)> {
        let growth = growth::growth(self.counts.until(Day(day)), GROWTH_DAYS)?;
        let close = |day: i32| {
            let at = self
                .days
                .timestamp
                .binary_search(&(i64::from(day) * DAY_MS))
                .ok()?;
            self.days.close.get(at).copied()
        };
        let percent = change(close(day)?, close(day + GROWTH_DAYS as i32)?)?;
        (growth.last.0 > day - GROWTH_DAYS as i32).then_some((growth.percent, percent))
    }
}

/// Records of the labels with signals in these tokens, in the order of `words`. The verdicts are not set yet.
fn records(
    words: &[&'static str],
    tokens: &[&[SignalReturn]],
    entries: fn(&str, &[&[SignalReturn]]) -> Entries,
) -> Vec<ReturnRecord> {
    let record = |&word: &&'static str| {
        let of_word: Vec<&SignalReturn> = tokens
            .iter()
            .flat_map(|signals| signals.iter().filter(|signal| signal.word == word))
            .collect();
        let mut percents: Vec<f64> = of_word.iter().map(|signal| signal.percent).collect();
        let mean = |of: fn(&SignalReturn) -> f64| {
            share(of_word.iter().map(|signal| of(signal)).sum(), of_word.len())
        };
        let mut evidence = entries(word, tokens).evidence(tokens.len());
        if expects_rise(word).is_none() {
            evidence = Evidence {
                days: evidence.days,
                tokens: evidence.tokens,
                ..Evidence::default()
            };
        }
        (!of_word.is_empty()).then(|| ReturnRecord {
            word,
            count: of_word.len() as u64,
            mean_return: mean(|signal| signal.percent),
            median_return: Some(median(&mut percents)),
            rose: mean(|signal| f64::from(u8::from(signal.percent > 0.0))),
            random_mean_return: mean(|signal| signal.baseline.mean),
            random_rose: mean(|signal| signal.baseline.rose),
            evidence,
        })
    };
    words.iter().filter_map(record).collect()
}

/// The entries of a label.
fn entries(word: &str, tokens: &[&[SignalReturn]]) -> Entries {
    let rises = expects_rise(word).unwrap_or(true);
    let mut entries = Entries::default();
    for (number, signals) in tokens.iter().enumerate() {
        for signal in signals.iter().filter(|signal| signal.word == word) {
            let rose = signal.baseline.rose;
            entries.add(
                day_of(signal.timestamp),
                number,
                (signal.percent > 0.0) == rises,
                if rises { rose } else { 1.0 - rose },
                signal.days,
            );
        }
    }
    entries
}

/// The entries of a trend label, and the baseline of all candles of each token.
fn trend_entries(word: &str, tokens: &[&[SignalReturn]]) -> Entries {
    let mut entries = entries(word, tokens);
    let sign = if expects_rise(word).unwrap_or(true) {
        1.0
    } else {
        -1.0
    };
    for signals in tokens {
        let count = signals.iter().filter(|signal| signal.word == word).count();
        let weight = sign * count as f64 / signals.len() as f64;
        let rose = |signal: &SignalReturn| f64::from(u8::from(signal.percent > 0.0));
        let mean = signals.iter().map(rose).sum::<f64>() / signals.len() as f64;
        for signal in signals.iter().filter(|_| count > 0) {
            entries.add_baseline(day_of(signal.timestamp), weight * (rose(signal) - mean));
        }
    }
    entries
}

/// From the signals of each token.
pub fn trend_records(tokens: &[&[SignalReturn]]) -> Vec<ReturnRecord> {
    records(
        &[Trend::Uptrend, Trend::Sideways, Trend::Downtrend].map(Trend::word),
        tokens,
        trend_entries,
    )
}

/// From the ranks of each token. The base rate is that of the day's ranking, so that no day has a shock in common with it.
pub fn growth_records(tokens: &[&[SignalReturn]]) -> Vec<ReturnRecord> {
    records(&THIRDS, tokens, entries)
}

impl ReturnBaseline {
    fn of(percents: impl Iterator<Item = f64> + Clone) -> Self {
        let count = percents.clone().count();
        let rose = percents.clone().filter(|percent| *percent > 0.0).count();
        let mean = |sum: f64| share(sum, count).unwrap_or_default();
        Self {
            mean: mean(percents.sum()),
            rose: mean(rose as f64),
        }
    }
}

fn change(from: f64, to: f64) -> Option<f64> {
    Some(growth::percent(from, to)).filter(|percent| percent.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        growth::tests::CountVec,
        timeframes::{CandleVec, tests::level},
    };

    fn daily(closes: &[f64]) -> CandleVec {
        level(
            (0..).map(|day| day * DAY_MS).zip(closes.iter().copied()),
            1.0,
        )
    }

    fn counts(holders: &[i64]) -> CountVec {
        let day = |(day, &holders): (usize, &i64)| (day as i32, Some(holders), None);
        growth::tests::counts(&holders.iter().enumerate().map(day).collect::<Vec<_>>())
    }

    #[test]
    fn a_price_that_only_rises_is_an_uptrend_that_says_no_more_than_any_entry() {
        let rising = daily(
            &(0..60)
                .map(|i| 100.0 * 1.01_f64.powi(i))
                .collect::<Vec<_>>(),
        );
        let records = trend_records(&[&after_trends(&rising.as_candles())]);
        let [record] = &records[..] else {
            panic!("{records:?}")
        };
        let over = (1.01_f64.powi(14) - 1.0) * 100.0;
        // Of 60 candles, the first 13 have no trend and the last 14 no return.
        assert_eq!(
            (record.word, record.count, record.rose, record.random_rose),
            ("uptrend", 33, Some(1.0), Some(1.0))
        );
        for value in [
            record.mean_return,
            record.median_return,
            record.random_mean_return,
        ] {
            assert!(
                value.is_some_and(|value| (value - over).abs() < 1e-9),
                "{record:?}"
            );
        }
        assert_eq!(trend_records(&[]), []);
    }

    #[test]
    fn the_fastest_third_is_judged_beside_all_that_were_ranked_that_day() {
        // The faster the holders grow, the faster the price rises; the fourth token has no counts in the last weeks.
        let (growing, prices): (Vec<_>, Vec<_>) = (1..=4_i32)
            .map(|speed| {
                let length = if speed == 4 { 15 } else { 36 };
                let holders = |day: i32| 1_000 + i64::from(speed) * 10 * i64::from(day);
                let price = |day: i32| (1.0 + f64::from(speed) / 1_000.0).powi(day);
                (
                    counts(&(0..length).map(holders).collect::<Vec<_>>()),
                    daily(&(0..50).map(price).collect::<Vec<_>>()),
                )
            })
            .unzip();
        let tokens: Vec<RankedToken> = growing
            .iter()
            .zip(&prices)
            .map(|(counts, prices)| RankedToken {
                counts: counts.as_counts(),
                days: prices.as_candles(),
            })
            .collect();
        let ranks = after_growth(&tokens);
        let ranks: Vec<&[SignalReturn]> = ranks.iter().map(Vec::as_slice).collect();
        let records = growth_records(&ranks);
        let words: Vec<(&str, u64)> = records
            .iter()
            .map(|record| (record.word, record.count))
            .collect();
        // Days 7 and 14 (four tokens), 21, 28 and 35 (three).
        assert_eq!(
            words,
            [
                ("fastest_third", 7),
                ("middle_third", 5),
                ("slowest_third", 5)
            ]
        );
        let mean = |nth: usize| records[nth].mean_return.expect("a record");
        let baseline = |nth: usize| records[nth].random_mean_return.expect("a record");
        assert!(
            mean(0) > baseline(0) && mean(2) < baseline(2),
            "{records:?}"
        );
        assert!(
            after_growth(&tokens[..2]).iter().all(Vec::is_empty),
            "two tokens have no thirds"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn what_comes_later_changes_no_word_and_no_return(
            steps in proptest::collection::vec(-0.1_f64..0.1, 60..200),
            holders in proptest::collection::vec(1_i64..1_000, 120..121),
            cut in 20_usize..60,
        ) {
            let prices: Vec<f64> = steps.iter().scan(100.0_f64, |price, step| { *price *= 1.0 + step; Some(*price) }).collect();
            let told = |prices: &[f64]| -> Vec<(Time, &str, f64)> {
                after_trends(&daily(prices).as_candles()).iter().map(|signal| (signal.timestamp, signal.word, signal.percent)).collect()
            };
            let (whole, before) = (told(&prices), told(&prices[..cut]));
            prop_assert_eq!(&whole[..before.len()], &before[..]);

            let candles = daily(&prices);
            let ranked = |days: usize| -> Vec<Vec<SignalReturn>> {
                let counted: Vec<_> = holders.chunks(40).map(|holders| counts(&holders[..days.min(40)])).collect();
                let tokens: Vec<RankedToken> = counted.iter().map(|counts| RankedToken { counts: counts.as_counts(), days: candles.as_candles() }).collect();
                after_growth(&tokens)
            };
            for (whole, before) in ranked(40).iter().zip(ranked(cut.min(40))) {
                prop_assert_eq!(&whole[..before.len()], &before[..]);
            }
        }
    }
}
