//! Expected APY of a pool: the median of its observed days, or its quote; and reasons to doubt the quote. The thresholds are this program's
//! own choice, without a published source.

use schemars::JsonSchema;
use serde::Serialize;

use crate::numeric::median;
use model::yield_rows::YieldDay;

/// Days that count, back from the newest.
pub const DAYS: usize = 30;
/// Minimum days of a history.
const DAYS_MIN: usize = 7;
/// Multiples of the 30-day mean and of the highest day above which a quote is unusual for the pool.
const ABOVE_MEAN: f64 = 1.5;
const ABOVE_HIGHEST: f64 = 1.1;
/// Percent per year below which a pool pays nothing.
const NOTHING: f64 = 0.005;

/// Source of an expected yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YieldBasis {
    /// The median of this number of observed days.
    History(usize),
    /// The pool's quote.
    Quoted,
}

/// A reason to doubt a pool's quoted APY, with its value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct YieldRemark {
    pub code: YieldDoubt,
    /// The highest earlier day, or the 30-day mean, in percent per year; null for other reasons.
    pub usual_apy: Option<f64>,
}

/// A reason to doubt a quoted APY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum YieldDoubt {
    /// It paid nothing on most of 30 days.
    StuckAtZero,
    /// Above its highest earlier day.
    AboveHistory,
    /// Far above the 30-day mean in the dataset.
    AboveMean,
    /// The withdrawn token may differ from the deposited one.
    TwoSided,
    /// The dataset marks its values as outliers.
    Outlier,
}

impl YieldDoubt {
    /// Whether it is a reason to doubt the quote, and not the pool as a whole.
    pub fn is_about_the_quote(self) -> bool {
        self != Self::TwoSided
    }
}

/// Known yields of a pool, in percent per year.
#[derive(Debug, Clone, Copy, Default)]
pub struct YieldRecord<'a> {
    pub quoted: f64,
    /// Oldest first.
    pub days: &'a [YieldDay],
    /// 30-day mean in the dataset.
    pub mean_30d: Option<f64>,
    pub two_sided: bool,
    pub outlier: bool,
}

impl YieldRecord<'_> {
    /// The days that count; none if they are too few for a history.
    fn recent(&self) -> &[YieldDay] {
        let Some(newest) = self.days.last() else {
            return &[];
        };
        let from = self
            .days
            .partition_point(|day| day.day.0 <= newest.day.0 - DAYS as i32);
        let recent = &self.days[from..];
        if recent.len() < DAYS_MIN { &[] } else { recent }
    }

    /// Expected yield before any deposit, in percent per year, and its source.
    pub fn expected(&self) -> (f64, YieldBasis) {
        let recent = self.recent();
        if recent.is_empty() {
            return (self.quoted, YieldBasis::Quoted);
        }
        let mut paid: Vec<f64> = recent.iter().map(|day| day.apy).collect();
        (median(&mut paid), YieldBasis::History(recent.len()))
    }

    /// Annualized spread of the daily returns in percent, as DefiLlama's `sigma`: the standard deviation of `(1 + apy)^(1/365) - 1`, times
    /// √365. For 41 pools with their history, the median ratio to DefiLlama's values is 1.0002.
    pub fn sigma(&self) -> Option<f64> {
        let recent = self.recent();
        let returns: Vec<f64> = recent
            .iter()
            .map(|day| (1.0 + (day.apy / 100.0).max(0.0)).powf(1.0 / 365.0) - 1.0)
            .collect();
        let count = returns.len() as f64;
        let mean = returns.iter().sum::<f64>() / count;
        let squares: f64 = returns.iter().map(|one| (one - mean) * (one - mean)).sum();
        (!returns.is_empty()).then(|| 100.0 * (squares / (count - 1.0)).sqrt() * 365f64.sqrt())
    }

    /// Reasons to doubt the quote.
    pub fn remarks(&self) -> Vec<YieldRemark> {
        let recent = self.recent();
        let mean = self.mean_30d.filter(|_| recent.is_empty());
        // The newest day is the quote itself.
        let highest = recent
            .split_last()
            .and_then(|(_, before)| before.iter().map(|day| day.apy).reduce(f64::max));
        let usual = mean.unwrap_or_else(|| self.expected().0);
        let of = |code, usual_apy| YieldRemark { code, usual_apy };
        let doubt = if usual < NOTHING {
            Some(of(YieldDoubt::StuckAtZero, None))
        } else if let Some(highest) =
            highest.filter(|highest| self.quoted > highest * ABOVE_HIGHEST)
        {
            Some(of(YieldDoubt::AboveHistory, Some(highest)))
        } else {
            mean.filter(|mean| self.quoted > mean * ABOVE_MEAN)
                .map(|mean| of(YieldDoubt::AboveMean, Some(mean)))
        };
        let flags = [
            (self.two_sided, YieldDoubt::TwoSided),
            (self.outlier, YieldDoubt::Outlier),
        ];
        doubt
            .into_iter()
            .chain(
                flags
                    .into_iter()
                    .filter(|(is_so, _)| *is_so)
                    .map(|(_, code)| of(code, None)),
            )
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::Day;

    fn days(apy: &[f64]) -> Vec<YieldDay> {
        apy.iter()
            .zip(100..)
            .map(|(&apy, day)| YieldDay { day: Day(day), apy })
            .collect()
    }

    #[test]
    fn the_median_of_thirty_days_is_expected_once_a_week_was_seen() {
        let mut long = vec![50.0; 40];
        long[10..].fill(3.0);
        for (apy, expected) in [
            (&[][..], (9.0, YieldBasis::Quoted)),
            (&[1.0; 6], (9.0, YieldBasis::Quoted)),
            (
                &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0],
                (4.0, YieldBasis::History(7)),
            ),
            (
                &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0],
                (4.5, YieldBasis::History(8)),
            ),
            (&long, (3.0, YieldBasis::History(30))),
        ] {
            let days = days(apy);
            assert_eq!(
                YieldRecord {
                    quoted: 9.0,
                    days: &days,
                    ..YieldRecord::default()
                }
                .expected(),
                expected,
                "{apy:?}"
            );
        }
    }

    #[test]
    fn the_spread_is_that_of_daily_returns() {
        let days = days(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]);
        let low = 1.01f64.ln() / 365.0;
        let high = 1.02f64.ln() / 365.0;
        // Four of one and three of the other differ from their mean by 3/7 and 4/7 of the distance.
        let by_hand = 100.0 * (high - low) * (12.0 / 7.0 / 6.0f64).sqrt() * 365f64.sqrt();
        let sigma = YieldRecord {
            quoted: 1.0,
            days: &days,
            ..YieldRecord::default()
        }
        .sigma()
        .expect("a spread");
        assert!((sigma / by_hand - 1.0).abs() < 1e-4, "{sigma} {by_hand}");
        assert_eq!(YieldRecord::default().sigma(), None);
    }

    #[test]
    fn what_speaks_against_a_quote_is_told() {
        use YieldDoubt::{AboveHistory, AboveMean, Outlier, StuckAtZero, TwoSided};
        let of = |quoted, apy: &[f64], mean_30d| {
            YieldRecord {
                quoted,
                days: &days(apy),
                mean_30d,
                ..YieldRecord::default()
            }
            .remarks()
            .first()
            .map(|remark| (remark.code, remark.usual_apy))
        };
        assert_eq!(of(4.0, &[], None), None);
        assert_eq!(of(4.0, &[], Some(2.7)), None);
        assert_eq!(of(4.0, &[], Some(2.6)), Some((AboveMean, Some(2.6))));
        assert_eq!(of(4.0, &[], Some(0.0)), Some((StuckAtZero, None)));
        let seen = [3.0, 3.0, 3.0, 3.0, 3.0, 3.6, 4.0];
        assert_eq!(of(4.0, &seen, Some(0.0)), Some((AboveHistory, Some(3.6))));
        assert_eq!(of(3.9, &seen, None), None);
        assert_eq!(
            of(4.0, &[0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0], None),
            Some((StuckAtZero, None))
        );
        let both = YieldRecord {
            quoted: 4.0,
            two_sided: true,
            outlier: true,
            ..YieldRecord::default()
        };
        assert_eq!(
            both.remarks()
                .iter()
                .map(|remark| remark.code)
                .collect::<Vec<_>>(),
            [TwoSided, Outlier]
        );
    }
}
