//! Several price series compared: percent change from their first common close, drawdown, volatility, and the correlation of their daily
//! returns. Pure functions over (time, close) pairs.

use super::{growth::percent, numeric::mean_and_deviation};
use model::{candles::Candles, time::DAY_MS};

/// Closes of one token, oldest first: (milliseconds, USD above 0).
pub type Points = Vec<(i64, f64)>;

/// Returns the closes of the valid candles that start within `from..=to`.
pub fn points(candles: &Candles<'_>, from: Option<i64>, to: Option<i64>) -> Points {
    let within = |time: i64| from.is_none_or(|from| time >= from) && to.is_none_or(|to| time <= to);
    let close = |i: usize| (candles.timestamp[i], candles.close[i]);
    (0..candles.len())
        .filter(|&i| candles.valid(i) && candles.close[i] > 0.0 && within(candles.timestamp[i]))
        .map(close)
        .collect()
}

/// The series over their common time span.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSpan {
    /// Every time within the span at which at least one series has a close.
    pub times: Vec<i64>,
    /// For each series and time, percent change from its close at the common start: (close − base) / base · 100.
    pub percent: Vec<Vec<Option<f64>>>,
}

/// Aligns the series on their common span: from the first time at which all have a close to the earliest of their last times; with `days`
/// no more than that many days before its end. Returns `None` if there is no common time.
pub fn side_by_side(series: &[Points], days: Option<i64>) -> Option<SharedSpan> {
    let (first, others) = series.split_first()?;
    let has = |points: &Points, time: i64| {
        points
            .binary_search_by_key(&time, |(time, _)| *time)
            .is_ok()
    };
    let end = series
        .iter()
        .filter_map(|points| points.last())
        .map(|(time, _)| *time)
        .min()?;
    let earliest = days.map_or(i64::MIN, |days| {
        end.saturating_sub(days.saturating_mul(DAY_MS))
    });
    let mut times = first
        .iter()
        .map(|(time, _)| *time)
        .filter(|time| (earliest..=end).contains(time));
    let start = times.find(|&time| others.iter().all(|points| has(points, time)))?;
    let mut times: Vec<i64> = series
        .iter()
        .flatten()
        .map(|(time, _)| *time)
        .filter(|time| (start..=end).contains(time))
        .collect();
    times.sort_unstable();
    times.dedup();
    let close = |points: &Points, time: i64| {
        points
            .binary_search_by_key(&time, |(time, _)| *time)
            .ok()
            .map(|at| points[at].1)
    };
    let changes = |points: &Points| {
        let base = close(points, start)?;
        Some(
            times
                .iter()
                .map(|&time| {
                    close(points, time)
                        .map(|close| percent(base, close))
                        .filter(|change| change.is_finite())
                })
                .collect(),
        )
    };
    let percent: Option<Vec<Vec<Option<f64>>>> = series.iter().map(changes).collect();
    Some(SharedSpan {
        percent: percent?,
        times,
    })
}

/// Correlation of two tokens' daily returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// Number of days on which both have a return.
    pub n: usize,
    /// Pearson's correlation coefficient, −1 to 1; `None` with fewer than three days, or if either series is constant.
    pub correlation: Option<f64>,
    /// The first token's return for each percent of the other's: covariance / variance of the other. `None` as above.
    pub beta: Option<f64>,
}

/// The first and the last day, by their starts, whose closes are those of a span of candles of this length that start from `start` to `end`: the
/// daily returns of the days that end within the span, the first of them against the close of the day before.
pub fn days_of(start: i64, end: i64, length: i64) -> (i64, i64) {
    (
        (start + length - DAY_MS).div_euclid(DAY_MS) * DAY_MS,
        end + length - DAY_MS,
    )
}

/// Maximum drawdown from a close to a later one within the span, in percent: 0 without a fall; `None` with fewer than two closes.
pub fn maximum_drawdown(points: &Points, start: i64, end: i64) -> Option<f64> {
    let closes = points
        .iter()
        .filter(|(time, _)| (start..=end).contains(time))
        .map(|(_, close)| *close);
    let (mut peak, mut deepest, mut count) = (f64::MIN_POSITIVE, 0.0_f64, 0);
    for close in closes {
        peak = peak.max(close);
        deepest = deepest.min(percent(peak, close));
        count += 1;
    }
    (count > 1 && deepest.is_finite()).then_some(deepest)
}

/// The change, in percent, of a price in that of another: of one that changed by `own` percent in one that changed by `base` percent.
pub fn against(own: f64, base: f64) -> Option<f64> {
    Some(percent(1.0 + base / 100.0, 1.0 + own / 100.0)).filter(|change| change.is_finite())
}

/// Days of a year: tokens trade on each of them.
const YEAR_DAYS: f64 = 365.0;

/// Annualized historical volatility in percent: the sample standard deviation of the daily log returns, times √365 (Hull, "Options, Futures,
/// and Other Derivatives", "Estimating volatility from historical data", with days that all trade). `None` with fewer than three returns.
pub fn volatility(points: &Points, start: i64, end: i64) -> Option<f64> {
    let returns: Vec<f64> = returns(points, start, end)
        .into_iter()
        .map(|(_, change)| change)
        .collect();
    let volatility = mean_and_deviation(&returns).1 * YEAR_DAYS.sqrt() * 100.0;
    (returns.len() >= RETURNS_MIN && volatility.is_finite()).then_some(volatility)
}

/// Annualized volatility below which a price hardly moves, in percent: a stablecoin's is 1 to 3, that of gold about 15.
const STEADY_VOLATILITY: f64 = 5.0;

/// Whether a price of that volatility hardly moves. A beta against it is meaningless: a division by almost zero.
pub fn is_steady(volatility: Option<f64>) -> bool {
    volatility.is_some_and(|percent| percent < STEADY_VOLATILITY)
}

/// Minimum daily returns for a deviation or a correlation.
const RETURNS_MIN: usize = 3;

/// Pearson's correlation of the daily log returns ln(close / close of the day before), over the days from `start` to `end` on which
/// both have a close and had one the day before.
pub fn correlation(a: &Points, b: &Points, start: i64, end: i64) -> Alike {
    let (a, b) = (returns(a, start, end), returns(b, start, end));
    let of = |day: i64| {
        b.binary_search_by_key(&day, |(day, _)| *day)
            .ok()
            .map(|at| b[at].1)
    };
    let pairs: Vec<(f64, f64)> = a
        .iter()
        .filter_map(|(day, a)| Some((*a, of(*day)?)))
        .collect();
    let (correlation, beta) = if pairs.len() < RETURNS_MIN {
        None
    } else {
        pearson(&pairs)
    }
    .unzip();
    Alike {
        n: pairs.len(),
        correlation,
        beta,
    }
}

/// Daily log returns, keyed by the start of the day; only days whose previous day has a close too.
fn returns(points: &Points, start: i64, end: i64) -> Vec<(i64, f64)> {
    let pairs = points
        .windows(2)
        .filter(|pair| pair[1].0 - pair[0].0 == DAY_MS && pair[0].0 >= start && pair[1].0 <= end);
    pairs
        .map(|pair| (pair[1].0, (pair[1].1 / pair[0].1).ln()))
        .filter(|(_, change)| change.is_finite())
        .collect()
}

/// The correlation, and the slope of the first over the second.
fn pearson(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = pairs.len() as f64;
    let (mean_a, mean_b) = (
        pairs.iter().map(|(a, _)| a).sum::<f64>() / n,
        pairs.iter().map(|(_, b)| b).sum::<f64>() / n,
    );
    let sums = pairs.iter().fold((0.0, 0.0, 0.0), |(ab, aa, bb), (a, b)| {
        let (a, b) = (a - mean_a, b - mean_b);
        (ab + a * b, aa + a * a, bb + b * b)
    });
    // A variance within rounding error counts as zero.
    let size = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| of(pair).abs()).sum::<f64>();
    if sums.1.sqrt() <= 1e-12 * size(|pair| pair.0) || sums.2.sqrt() <= 1e-12 * size(|pair| pair.1)
    {
        return None;
    }
    let coefficient = sums.0 / (sums.1.sqrt() * sums.2.sqrt());
    let slope = sums.0 / sums.2;
    (coefficient.is_finite() && slope.is_finite()).then(|| (coefficient.clamp(-1.0, 1.0), slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(closes: &[(i64, f64)]) -> Points {
        closes
            .iter()
            .map(|(day, close)| (day * DAY_MS, *close))
            .collect()
    }

    #[test]
    fn series_begin_at_the_first_time_that_all_have() {
        let a = days(&[(0, 5.0), (1, 10.0), (2, 11.0), (4, 12.0), (5, 99.0)]);
        let b = days(&[(1, 200.0), (2, 100.0), (3, 300.0), (4, 200.0)]);
        let side = side_by_side(&[a.clone(), b], None).expect("a common time");
        assert_eq!(side.times, [1, 2, 3, 4].map(|day| day * DAY_MS));
        assert_eq!(side.percent[0], [Some(0.0), Some(10.0), None, Some(20.0)]);
        assert_eq!(
            side.percent[1],
            [Some(0.0), Some(-50.0), Some(50.0), Some(0.0)]
        );
        assert_eq!(side_by_side(&[a, days(&[(3, 1.0)])], None), None);
        assert_eq!(side_by_side(&[], None), None);
    }

    #[test]
    fn days_are_alike_as_their_returns_are() {
        let a = days(&[(0, 1.0), (1, 2.0), (2, 1.0), (3, 4.0), (4, 3.0)]);
        let squared: Points = a
            .iter()
            .map(|(time, close)| (*time, close * close))
            .collect();
        let inverse: Points = a.iter().map(|(time, close)| (*time, 1.0 / close)).collect();
        let near = |alike: Alike, wanted: f64| {
            alike.n == 4
                && alike
                    .correlation
                    .is_some_and(|found| (found - wanted).abs() < 1e-12)
        };
        assert!(
            near(correlation(&a, &squared, 0, i64::MAX), 1.0)
                && near(correlation(&a, &inverse, 0, i64::MAX), -1.0)
        );
        // Calculated by hand: the returns of a are ln 2 · (1, −1, 2), those of b ln 2 · (1, 1, 1).
        let level = days(&[(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]);
        assert_eq!(
            correlation(&a, &level, 0, i64::MAX),
            Alike {
                n: 3,
                correlation: None,
                beta: None
            }
        );
        // A missing day removes two returns.
        let gap = days(&[(0, 1.0), (1, 2.0), (3, 4.0), (4, 3.0)]);
        assert_eq!(correlation(&a, &gap, 0, i64::MAX).n, 2);
        assert_eq!(
            correlation(&a, &squared, DAY_MS, 3 * DAY_MS),
            Alike {
                n: 2,
                correlation: None,
                beta: None
            }
        );
        let (b, c) = (
            days(&[(0, 1.0), (1, 2.0), (2, 2.0), (3, 2.0)]),
            days(&[(0, 1.0), (1, 1.0), (2, 2.0), (3, 2.0)]),
        );
        assert!(
            (correlation(&b, &c, 0, i64::MAX)
                .correlation
                .unwrap_or_default()
                + 0.5)
                .abs()
                < 1e-12
        );
    }

    #[test]
    fn a_price_of_little_volatility_hardly_moves() {
        // Daily steps up and down by the same factor: an annualised volatility of about 1910 times its logarithm.
        let zigzag = |by: f64| {
            (0..30)
                .map(|day| (day * DAY_MS, if day % 2 == 0 { 1.0 } else { 1.0 + by }))
                .collect::<Points>()
        };
        for (by, steady) in [
            (0.0005, true),
            (0.0024, true),
            (0.0029, false),
            (0.1, false),
        ] {
            assert_eq!(
                is_steady(volatility(&zigzag(by), 0, i64::MAX)),
                steady,
                "{by}"
            );
        }
        assert!(!is_steady(None));
    }

    #[test]
    fn the_days_of_a_span_end_with_its_candles() {
        let hour = DAY_MS / 24;
        for (start, end, length, days) in [
            (3 * DAY_MS, 5 * DAY_MS, DAY_MS, (3 * DAY_MS, 5 * DAY_MS)),
            // Weeks close on their last day.
            (0, 7 * DAY_MS, 7 * DAY_MS, (6 * DAY_MS, 13 * DAY_MS)),
            // Hours: the last of a day closes with it, one within a day leaves that day out.
            (23 * hour, 2 * DAY_MS - hour, hour, (0, DAY_MS)),
            (
                DAY_MS + 10 * hour,
                3 * DAY_MS + 10 * hour,
                hour,
                (0, 2 * DAY_MS + 11 * hour),
            ),
        ] {
            assert_eq!(days_of(start, end, length), days, "{start} {end} {length}");
        }
    }

    #[test]
    fn a_period_is_the_last_days_of_the_span() {
        let a = days(&[(0, 5.0), (1, 10.0), (2, 11.0), (4, 12.0), (5, 99.0)]);
        let b = days(&[(0, 1.0), (1, 200.0), (2, 100.0), (3, 300.0), (4, 200.0)]);
        // The span ends with b, on day 4; on day 3 there is no close of a.
        for (period, start) in [
            (4, Some(0)),
            (3, Some(1)),
            (2, Some(2)),
            (1, Some(4)),
            (0, Some(4)),
            (i64::MAX, Some(0)),
        ] {
            let side = side_by_side(&[a.clone(), b.clone()], Some(period));
            assert_eq!(
                side.and_then(|side| side.times.first().copied()),
                start.map(|day| day * DAY_MS),
                "{period}"
            );
        }
    }

    #[test]
    fn a_drawdown_is_the_deepest_fall_from_a_close_before() {
        for (closes, expected) in [
            (&[1.0, 2.0, 3.0][..], Some(0.0)),
            (&[4.0, 2.0, 8.0, 6.0, 9.0], Some(-50.0)),
            (&[4.0, 3.0, 8.0, 2.0, 9.0], Some(-75.0)),
            (&[1.0], None),
            (&[], None),
        ] {
            let points: Points = (0..)
                .zip(closes)
                .map(|(day, close)| (day * DAY_MS, *close))
                .collect();
            assert_eq!(
                maximum_drawdown(&points, 0, i64::MAX),
                expected,
                "{closes:?}"
            );
        }
        // Only what is within the span counts: the fall from 8 to 2 begins before it.
        let points = days(&[(0, 8.0), (1, 2.0), (2, 1.0), (3, 4.0)]);
        assert_eq!(maximum_drawdown(&points, DAY_MS, 3 * DAY_MS), Some(-50.0));
    }

    #[test]
    fn a_drawdown_knows_no_scale_and_a_longer_span_has_no_smaller_one() {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for _ in 0..200 {
            let points: Points = (0..40)
                .map(|day| (day * DAY_MS, 0.1 + next() * 10.0))
                .collect();
            let whole = maximum_drawdown(&points, 0, i64::MAX).expect("a drawdown");
            assert!((-100.0..=0.0).contains(&whole));
            // By its definition: the smallest of all later / earlier.
            let by_hand = (0..40)
                .flat_map(|i| (i..40).map(move |j| (i, j)))
                .map(|(i, j)| percent(points[i].1, points[j].1));
            assert!((whole - by_hand.fold(0.0, f64::min)).abs() < 1e-9);
            assert!(maximum_drawdown(&points, 10 * DAY_MS, i64::MAX) >= Some(whole));
            let scaled: Points = points
                .iter()
                .map(|(time, close)| (*time, close * 1e-9))
                .collect();
            assert!((maximum_drawdown(&scaled, 0, i64::MAX).expect("one") - whole).abs() < 1e-9);
            let volatilities =
                [&points, &scaled].map(|points| volatility(points, 0, i64::MAX).expect("one"));
            assert!((volatilities[0] - volatilities[1]).abs() < 1e-6 && volatilities[0] > 0.0);
        }
    }

    #[test]
    fn volatility_is_the_deviation_of_daily_returns_over_a_year() {
        // By hand: the returns are ln 2 · (1, −1, 1, −1), mean 0, sample variance 4/3 · ln² 2.
        let points = days(&[(0, 1.0), (1, 2.0), (2, 1.0), (3, 2.0), (4, 1.0)]);
        let expected = (4.0_f64 / 3.0 * 365.0).sqrt() * 2.0_f64.ln() * 100.0;
        assert!(
            volatility(&points, 0, i64::MAX).is_some_and(|found| (found - expected).abs() < 1e-9)
        );
        assert_eq!(volatility(&points, 0, 2 * DAY_MS), None);
        assert!(volatility(&points, 0, 3 * DAY_MS).is_some());
        // A steady rise does not vary.
        assert!(
            volatility(
                &days(&[(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]),
                0,
                i64::MAX
            )
            .is_some_and(|found| found < 1e-9)
        );
        // A missing day has no return.
        assert_eq!(
            volatility(
                &days(&[(0, 1.0), (1, 2.0), (3, 4.0), (4, 3.0)]),
                0,
                i64::MAX
            ),
            None
        );
    }

    #[test]
    fn beta_is_the_return_for_each_percent_of_the_base() {
        let base = days(&[(0, 1.0), (1, 2.0), (2, 1.0), (3, 4.0), (4, 3.0)]);
        let squared: Points = base
            .iter()
            .map(|(time, close)| (*time, close * close))
            .collect();
        let beta = |a: &Points, b: &Points| correlation(a, b, 0, i64::MAX).beta.expect("a beta");
        assert!(
            (beta(&squared, &base) - 2.0).abs() < 1e-12
                && (beta(&base, &squared) - 0.5).abs() < 1e-12
        );
    }
}
