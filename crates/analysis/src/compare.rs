//! Several price series compared: percent change from their first common close, and the correlation of their daily returns. Pure functions
//! over (time, close) pairs.

use super::growth::percent;
use model::{candles::Candles, time::DAY_MS};

/// Closes of one token, oldest first: (milliseconds, USD above 0).
pub type Points = Vec<(i64, f64)>;

/// Returns the closes of the valid candles that start within `from..=to`.
pub fn points(candles: &Candles<'_>, from: Option<i64>, to: Option<i64>) -> Points {
    let within = |time: i64| from.is_none_or(|from| time >= from) && to.is_none_or(|to| time <= to);
    let close = |i: usize| (candles.timestamp[i], candles.close[i]);
    (0..candles.len()).filter(|&i| candles.valid(i) && candles.close[i] > 0.0 && within(candles.timestamp[i])).map(close).collect()
}

/// The series over their common time span.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSpan {
    /// Every time within the span at which at least one series has a close.
    pub times: Vec<i64>,
    /// For each series and time, percent change from its close at the common start: (close − base) / base · 100.
    pub percent: Vec<Vec<Option<f64>>>,
}

/// Aligns the series on their common span: from the first time at which all have a close to the earliest of their last times. Returns
/// `None` if there is no common time.
pub fn side_by_side(series: &[Points]) -> Option<SharedSpan> {
    let (first, others) = series.split_first()?;
    let has = |points: &Points, time: i64| points.binary_search_by_key(&time, |(time, _)| *time).is_ok();
    let start = first.iter().map(|(time, _)| *time).find(|&time| others.iter().all(|points| has(points, time)))?;
    let end = series.iter().filter_map(|points| points.last()).map(|(time, _)| *time).min()?;
    let mut times: Vec<i64> = series.iter().flatten().map(|(time, _)| *time).filter(|time| (start..=end).contains(time)).collect();
    times.sort_unstable();
    times.dedup();
    let close = |points: &Points, time: i64| points.binary_search_by_key(&time, |(time, _)| *time).ok().map(|at| points[at].1);
    let changes = |points: &Points| {
        let base = close(points, start)?;
        Some(times.iter().map(|&time| close(points, time).map(|close| percent(base, close)).filter(|change| change.is_finite())).collect())
    };
    let percent: Option<Vec<Vec<Option<f64>>>> = series.iter().map(changes).collect();
    Some(SharedSpan { percent: percent?, times })
}

/// Correlation of two tokens' daily returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// Number of days on which both have a return.
    pub n: usize,
    /// Pearson's correlation coefficient, −1 to 1; `None` with fewer than three days, or if either series is constant.
    pub correlation: Option<f64>,
}

/// Pearson's correlation of the daily log returns ln(close / close of the day before), over the days from `start` to `end` on which
/// both have a close and had one the day before.
pub fn correlation(a: &Points, b: &Points, start: i64, end: i64) -> Alike {
    let (a, b) = (returns(a, start, end), returns(b, start, end));
    let of = |day: i64| b.binary_search_by_key(&day, |(day, _)| *day).ok().map(|at| b[at].1);
    let pairs: Vec<(f64, f64)> = a.iter().filter_map(|(day, a)| Some((*a, of(*day)?))).collect();
    Alike { n: pairs.len(), correlation: if pairs.len() < 3 { None } else { pearson(&pairs) } }
}

/// Daily log returns, keyed by the start of the day; only days whose previous day has a close too.
fn returns(points: &Points, start: i64, end: i64) -> Vec<(i64, f64)> {
    let pairs = points.windows(2).filter(|pair| pair[1].0 - pair[0].0 == DAY_MS && pair[0].0 >= start && pair[1].0 <= end);
    pairs.map(|pair| (pair[1].0, (pair[1].1 / pair[0].1).ln())).filter(|(_, change)| change.is_finite()).collect()
}

fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (mean_a, mean_b) = (pairs.iter().map(|(a, _)| a).sum::<f64>() / n, pairs.iter().map(|(_, b)| b).sum::<f64>() / n);
    let sums = pairs.iter().fold((0.0, 0.0, 0.0), |(ab, aa, bb), (a, b)| {
        let (a, b) = (a - mean_a, b - mean_b);
        (ab + a * b, aa + a * a, bb + b * b)
    });
    // A variance within rounding error counts as zero.
    let size = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| of(pair).abs()).sum::<f64>();
    if sums.1.sqrt() <= 1e-12 * size(|pair| pair.0) || sums.2.sqrt() <= 1e-12 * size(|pair| pair.1) {
        return None;
    }
    let coefficient = sums.0 / (sums.1.sqrt() * sums.2.sqrt());
    coefficient.is_finite().then(|| coefficient.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(closes: &[(i64, f64)]) -> Points {
        closes.iter().map(|(day, close)| (day * DAY_MS, *close)).collect()
    }

    #[test]
    fn series_begin_at_the_first_time_that_all_have() {
        let a = days(&[(0, 5.0), (1, 10.0), (2, 11.0), (4, 12.0), (5, 99.0)]);
        let b = days(&[(1, 200.0), (2, 100.0), (3, 300.0), (4, 200.0)]);
        let side = side_by_side(&[a.clone(), b]).expect("a common time");
        assert_eq!(side.times, [1, 2, 3, 4].map(|day| day * DAY_MS));
        assert_eq!(side.percent[0], [Some(0.0), Some(10.0), None, Some(20.0)]);
        assert_eq!(side.percent[1], [Some(0.0), Some(-50.0), Some(50.0), Some(0.0)]);
        assert_eq!(side_by_side(&[a, days(&[(3, 1.0)])]), None);
        assert_eq!(side_by_side(&[]), None);
    }

    #[test]
    fn days_are_alike_as_their_returns_are() {
        let a = days(&[(0, 1.0), (1, 2.0), (2, 1.0), (3, 4.0), (4, 3.0)]);
        let squared: Points = a.iter().map(|(time, close)| (*time, close * close)).collect();
        let inverse: Points = a.iter().map(|(time, close)| (*time, 1.0 / close)).collect();
        let near = |alike: Alike, wanted: f64| alike.n == 4 && alike.correlation.is_some_and(|found| (found - wanted).abs() < 1e-12);
        assert!(near(correlation(&a, &squared, 0, i64::MAX), 1.0) && near(correlation(&a, &inverse, 0, i64::MAX), -1.0));
        // Calculated by hand: the returns of a are ln 2 · (1, −1, 2), those of b ln 2 · (1, 1, 1).
        let level = days(&[(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]);
        assert_eq!(correlation(&a, &level, 0, i64::MAX), Alike { n: 3, correlation: None });
        // A missing day removes two returns.
        let gap = days(&[(0, 1.0), (1, 2.0), (3, 4.0), (4, 3.0)]);
        assert_eq!(correlation(&a, &gap, 0, i64::MAX).n, 2);
        assert_eq!(correlation(&a, &squared, DAY_MS, 3 * DAY_MS), Alike { n: 2, correlation: None });
        let (b, c) = (days(&[(0, 1.0), (1, 2.0), (2, 2.0), (3, 2.0)]), days(&[(0, 1.0), (1, 1.0), (2, 2.0), (3, 2.0)]));
        assert!((correlation(&b, &c, 0, i64::MAX).correlation.unwrap_or_default() + 0.5).abs() < 1e-12);
    }
}
