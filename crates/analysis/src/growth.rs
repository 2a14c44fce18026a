//! Growth of a token's holder count over a window, and the trend of its whales' balance. Pure functions over daily counts.

use schemars::JsonSchema;
use serde::Serialize;

use model::{
    day_counts::{DayCount, DayCounts},
    time::Day,
};

/// Window of the documented ranking.
pub const WINDOW_DAYS_DEFAULT: u64 = 7;

/// Maximum number of days by which the base count may precede the window's start.
const BASE_SLACK_DAYS: i32 = 7;

/// Growth between two holder counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Percent of the base count.
    pub percent: f64,
    pub base: Day,
    pub last: Day,
}

/// Direction of the whales' balance over the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhaleTrend {
    Accumulating,
    Distributing,
    Stable,
}

/// The whales' flows behind their trend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WhaleMoves {
    /// Net flow as a fraction of the supply that is not burned.
    pub share: Option<f64>,
    pub whales: u64,
    /// Whales that received more than they sent, and whales that sent more.
    pub buyers: u64,
    pub sellers: u64,
    /// Confidence that the whales move one way, 0–1: a sign test of how many of those that moved go with the net flow.
    pub confidence: Option<f64>,
}

/// The trend of the whales' balance, and the two balances behind it: in `transfers` if these give the whales' flows, otherwise in
/// `holder_counts`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WhaleChange {
    #[serde(skip)]
    pub trend: WhaleTrend,
    pub from: Day,
    pub to: Day,
    /// Whole tokens held by whales on the first day, and on the last.
    pub balance_before: f64,
    pub balance: f64,
    /// Percent of the earlier balance; null if that is zero.
    pub percent: Option<f64>,
    /// From `transfers`; omitted if the balances are from `holder_counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<WhaleMoves>,
}

impl WhaleChange {
    /// How many whales moved in the net flow's direction. `None` without flows.
    pub fn movers(&self) -> Option<u64> {
        let moves = self.moves?;
        let falling = self.balance < self.balance_before;
        Some(if falling { moves.sellers } else { moves.buyers })
    }
}

/// Growth over the `window` days up to the token's last count, relative to the nearest earlier count at most seven days before the window's
/// start. Returns `None` without such a count, or if it is 0. `counts` is oldest first.
pub fn growth(counts: DayCounts<'_>, window: u64) -> Option<Growth> {
    let (last, base) = ends(counts, window, |count| {
        count.holders.map(|holders| holders as f64)
    })?;
    (base.1 > 0.0).then(|| Growth {
        percent: percent(base.1, last.1),
        base: base.0,
        last: last.0,
    })
}

/// Trend of the whales' balance from the window's base to the last count: a change beyond ±`threshold_percent` has a direction.
pub fn whale_change(
    counts: DayCounts<'_>,
    window: u64,
    threshold_percent: f64,
) -> Option<WhaleChange> {
    let (last, base) = ends(counts, window, |count| count.whale_balance)?;
    let percent = (base.1 > 0.0).then(|| percent(base.1, last.1));
    Some(WhaleChange {
        trend: trend_of(percent, base.1, last.1, threshold_percent),
        from: base.0,
        to: last.0,
        balance_before: base.1,
        balance: last.1,
        percent,
        moves: None,
    })
}

/// Direction of a change of the whales' balance.
pub(crate) fn trend_of(
    percent: Option<f64>,
    before: f64,
    balance: f64,
    threshold_percent: f64,
) -> WhaleTrend {
    match percent {
        None if balance > before => WhaleTrend::Accumulating,
        Some(percent) if percent > threshold_percent => WhaleTrend::Accumulating,
        Some(percent) if percent < -threshold_percent => WhaleTrend::Distributing,
        _ => WhaleTrend::Stable,
    }
}

/// Percent change from `base`, which must not be 0. Subtracts first, so that 1000 to 1010 gives 1 and not 1.0000000000000009.
pub fn percent(base: f64, last: f64) -> f64 {
    (last - base) / base * 100.0
}

type Point = (Day, f64);

/// The last count with a value, and the latest one at or before the window's start that is not too old.
fn ends(
    counts: DayCounts<'_>,
    window: u64,
    value: impl Fn(&DayCount) -> Option<f64>,
) -> Option<(Point, Point)> {
    let mut points = counts
        .iter()
        .rev()
        .filter_map(|count| Some((count.date, value(&count)?)));
    let last = points.next()?;
    let start = last
        .0
        .0
        .saturating_sub(i32::try_from(window).unwrap_or(i32::MAX));
    let base = points.find(|(day, _)| day.0 <= start)?;
    (base.0.0 >= start.saturating_sub(BASE_SLACK_DAYS)).then_some((last, base))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::day_counts::UNCOUNTED;

    /// Counts of days, each with holders and whales' balance.
    #[derive(Default)]
    pub(crate) struct CountVec(Vec<i64>, Vec<i64>, Vec<f64>);

    impl CountVec {
        pub(crate) fn as_counts(&self) -> DayCounts<'_> {
            DayCounts {
                date: &self.0,
                holders: &self.1,
                whale_balance: &self.2,
            }
        }
    }

    pub(crate) fn counts(points: &[(i32, Option<i64>, Option<f64>)]) -> CountVec {
        let mut counts = CountVec::default();
        for (day, holders, whale_balance) in points {
            counts.0.push(i64::from(*day));
            counts.1.push(holders.unwrap_or(UNCOUNTED));
            counts.2.push(whale_balance.unwrap_or(f64::NAN));
        }
        counts
    }

    #[test]
    fn growth_is_taken_against_the_nearest_count_before_the_window() {
        let cases = [
            (vec![(0, 100), (7, 110)], Some(10.0)),
            (vec![(0, 100), (3, 1), (7, 110)], Some(10.0)),
            (vec![(0, 50), (5, 100), (12, 90)], Some(-10.0)),
            (vec![(-7, 100), (7, 150)], Some(50.0)),
            (vec![(-8, 100), (7, 150)], None),
            (vec![(1, 100), (7, 150)], None),
            (vec![(0, 0), (7, 150)], None),
            (vec![(7, 150)], None),
            (vec![], None),
        ];
        for (points, expected) in cases {
            let points: Vec<_> = points
                .iter()
                .map(|&(day, holders)| (day, Some(holders), None))
                .collect();
            let got = growth(counts(&points).as_counts(), 7)
                .map(|growth| (growth.percent * 1e9).round() / 1e9);
            assert_eq!(got, expected, "{points:?}");
        }
    }

    #[test]
    fn a_count_without_value_is_passed_over() {
        let counts = counts(&[(0, Some(100), None), (7, Some(120), None), (8, None, None)]);
        assert_eq!(
            growth(counts.as_counts(), 7).map(|growth| growth.last),
            Some(Day(7))
        );
    }

    #[test]
    fn whales_have_a_direction_only_beyond_the_threshold() {
        for (last, expected) in [
            (1010.0, WhaleTrend::Stable),
            (1010.1, WhaleTrend::Accumulating),
            (990.0, WhaleTrend::Stable),
            (989.9, WhaleTrend::Distributing),
        ] {
            let counts = counts(&[(0, None, Some(1000.0)), (7, None, Some(last))]);
            assert_eq!(
                whale_change(counts.as_counts(), 7, 1.0).map(|change| change.trend),
                Some(expected),
                "{last}"
            );
        }
        assert_eq!(
            whale_change(counts(&[(0, None, Some(1.0))]).as_counts(), 7, 1.0),
            None
        );
        // From 0, any balance is accumulation; 0 to 0 is stable.
        for (last, expected) in [(1.0, WhaleTrend::Accumulating), (0.0, WhaleTrend::Stable)] {
            let change = whale_change(
                counts(&[(0, None, Some(0.0)), (7, None, Some(last))]).as_counts(),
                7,
                1.0,
            )
            .expect("two counts");
            assert_eq!(
                (change.trend, change.percent, change.from, change.to),
                (expected, None, Day(0), Day(7)),
                "{last}"
            );
        }
    }
}
