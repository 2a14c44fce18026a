//! Price changes over an hour, a day, a week and a month, and the 24-hour trading volume. Pure functions over candles.

use super::{finite, latest_series};
use crate::growth;
use model::{
    candles::{Candles, Interval},
    time::DAY_MS,
};

/// Percent change of the last close from the close nearest to `span` milliseconds earlier: (last − base) / base · 100. Considers the valid
/// candles of every series by their end times; of two equally near, the one from the series that gives the price. Returns `None` if the
/// nearest is a day or more off, or, for spans below a day, more than a quarter of the span.
pub(super) fn change(series: &[(Interval, Candles<'_>)], span: i64) -> Option<f64> {
    let (own, candles) = latest_series(series)?;
    let last = (0..candles.len()).rev().find(|&i| candles.valid(i))?;
    let end = candles.timestamp[last].saturating_add(own.0);
    let mark = end.saturating_sub(span);
    let others = series.iter().filter(|(interval, _)| *interval != own);
    let others =
        others.filter_map(|(interval, candles)| nearest(*interval, candles, mark, candles.len()));
    let found = nearest(own, &candles, mark, last).into_iter().chain(others);
    let near = |off: i64| {
        if span < DAY_MS {
            off <= span / 4
        } else {
            off < DAY_MS
        }
    };
    let (_, base) = found
        .filter(|(off, _)| near(*off))
        .min_by_key(|(off, _)| *off)?;
    if base <= 0.0 {
        return None;
    }
    finite(growth::percent(base, candles.close[last]))
}

/// Among the first `count` candles, the one that ends nearest to `mark`, the earlier of two: its distance in milliseconds and its close.
fn nearest(
    interval: Interval,
    candles: &Candles<'_>,
    mark: i64,
    count: usize,
) -> Option<(i64, f64)> {
    let ends = |i: usize| candles.timestamp[i].saturating_add(interval.0);
    let after = candles
        .timestamp
        .partition_point(|&start| start.saturating_add(interval.0) < mark);
    let off = |i: usize| ends(i).saturating_sub(mark).saturating_abs();
    let sound = |i: &usize| candles.valid(*i);
    let found = [
        (0..after.min(count)).rev().find(sound),
        (after..count).find(sound),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|&i| off(i))?;
    Some((off(found), candles.close[found]))
}

/// USD traded in the 24 hours up to the end of the last candle: the sum over the candles that start within them of `volume_usd`, or of
/// volume · close where that is unknown. Uses the
/// series that gives the price; if that does not reach back a day, the next one that does and that ends at most one of its own candles
/// earlier. Returns `None` if no series qualifies or a volume is unknown; intervals longer than a day do not qualify.
pub(super) fn volume_24h(series: &[(Interval, Candles<'_>)]) -> Option<f64> {
    let (own, candles) = latest_series(series)?;
    let end = |interval: Interval, candles: &Candles<'_>| {
        Some(candles.timestamp.last()?.saturating_add(interval.0))
    };
    let last = end(own, &candles)?;
    let others = series
        .iter()
        .filter(|(interval, _)| *interval != own)
        .copied();
    std::iter::once((own, candles))
        .chain(others)
        .find_map(|(interval, candles)| {
            let end = end(interval, &candles)?;
            let from = end.saturating_sub(DAY_MS);
            let reaches = candles
                .timestamp
                .first()
                .is_some_and(|&first| first <= from);
            if interval.0 > DAY_MS || !reaches || last.saturating_sub(end) > interval.0 {
                return None;
            }
            let start = candles.timestamp.partition_point(|&time| time < from);
            let sound: Vec<usize> = (start..candles.len())
                .filter(|&i| candles.valid(i))
                .collect();
            // What was paid is not the volume at the last price, where the data know it. An unknown volume makes the sum unknown.
            let known =
                |values: &[f64], i: usize| values.get(i).copied().filter(|value| value.is_finite());
            let usd = |i: usize| {
                known(candles.volume_usd, i)
                    .or_else(|| Some(known(candles.volume, i)? * candles.close[i]))
            };
            let sum = sound.iter().map(|&i| usd(i).unwrap_or(f64::NAN)).sum();
            if sound.is_empty() { None } else { finite(sum) }
        })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::timeframes::{CandleVec, tests::level};
    use model::time::HOUR_MS;

    /// Candles at these (hour, close), with a volume of ten each.
    pub(in super::super) fn candles(closes: &[(i64, f64)]) -> CandleVec {
        level(
            closes.iter().map(|(hour, close)| (hour * HOUR_MS, *close)),
            10.0,
        )
    }

    #[test]
    fn a_change_is_taken_against_the_close_nearest_to_so_long_before() {
        let hour = |closes: &[(i64, f64)], span| {
            change(&[(Interval::HOUR, candles(closes).as_candles())], span)
        };
        let day = |closes: &[(i64, f64)], span| {
            change(&[(Interval::DAY, candles(closes).as_candles())], span)
        };
        for (closes, expected) in [
            (&[(0, 100.0), (24, 110.0)][..], Some(10.0)),
            // Of two equally near, the earlier.
            (&[(0, 50.0), (2, 200.0), (25, 100.0)], Some(100.0)),
            (&[(0, 50.0), (22, 80.0), (25, 100.0)], Some(100.0)),
            (&[(0, 50.0), (10, 80.0), (25, 100.0)], Some(100.0)),
            (&[(0, 50.0), (40, 100.0)], Some(100.0)),
            // A day or more off the mark, or no base at all.
            (&[(0, 50.0), (48, 100.0)], None),
            (&[(0, 50.0), (168, 100.0)], None),
            (&[(0, 100.0)], None),
            (&[(0, 0.0), (24, 100.0)], None),
            (&[], None),
        ] {
            assert_eq!(hour(closes, DAY_MS), expected, "{closes:?}");
        }
        assert_eq!(
            hour(&[(0, 50.0), (23, 80.0), (24, 100.0)], HOUR_MS),
            Some(25.0)
        );
        assert_eq!(
            hour(&[(0, 50.0), (22, 80.0), (24, 100.0)], HOUR_MS),
            None,
            "a candle two hours before is not one hour before"
        );
        assert_eq!(
            day(&[(0, 50.0), (24, 100.0)], HOUR_MS),
            None,
            "a daily candle gives no change for its last hour"
        );
        let month: Vec<(i64, f64)> = (0..=30).map(|n| (24 * n, 100.0 + n as f64)).collect();
        assert_eq!(
            (day(&month, 7 * DAY_MS), day(&month, 30 * DAY_MS)),
            (Some(7.0 / 123.0 * 100.0), Some(30.0))
        );
        assert_eq!(
            day(&month[1..], 30 * DAY_MS),
            None,
            "a candle one day off is too far away"
        );
        assert_eq!(change(&[], DAY_MS), None);
    }

    #[test]
    fn a_change_ends_at_the_close_that_is_the_price() {
        let (hourly, daily) = (
            candles(&[(0, 10.0), (24, 20.0), (30, 40.0)]),
            candles(&[(0, 1.0), (24, 2.0)]),
        );
        let both = |hourly: &CandleVec| {
            change(
                &[
                    (Interval::HOUR, hourly.as_candles()),
                    (Interval::DAY, daily.as_candles()),
                ],
                DAY_MS,
            )
        };
        assert_eq!(
            (both(&hourly), both(&candles(&[(0, 10.0), (12, 20.0)]))),
            (Some(300.0), Some(100.0))
        );
    }

    #[test]
    fn coarser_candles_are_used_where_finer_ones_do_not_reach() {
        // One day of hourly candles that ends with the daily ones; its last close is the price.
        let daily = candles(
            &(0..8)
                .map(|n| (24 * n, 100.0 + n as f64))
                .collect::<Vec<_>>(),
        );
        let hourly = candles(&(7 * 24..8 * 24).map(|n| (n, 200.0)).collect::<Vec<_>>());
        let both = [
            (Interval::HOUR, hourly.as_candles()),
            (Interval::DAY, daily.as_candles()),
        ];
        assert_eq!(
            (change(&both, 7 * DAY_MS), change(&both, HOUR_MS)),
            (Some(100.0), Some(0.0))
        );
        // A nearby close is not used if another series has one at the exact time.
        assert_eq!(change(&both, DAY_MS), Some((200.0 - 106.0) / 106.0 * 100.0));
    }

    #[test]
    fn invalid_candles_are_left_out_of_changes_and_volume() {
        let hourly = |broken: &[usize]| {
            let mut candles =
                candles(&[(0, 50.0), (1, 60.0), (23, 80.0), (24, 100.0), (25, 120.0)]);
            for &i in broken {
                candles.low[i] = candles.high[i] * 2.0;
            }
            let series = [(Interval::HOUR, candles.as_candles())];
            (change(&series, DAY_MS), volume_24h(&series))
        };
        assert_eq!(hourly(&[]), (Some(100.0), Some(3_000.0)));
        assert_eq!(
            hourly(&[4]),
            (Some(100.0), Some(1_800.0)),
            "the price is the last close before it"
        );
        assert_eq!(
            hourly(&[1]),
            (Some(140.0), Some(3_000.0)),
            "the nearest other candle is used"
        );
        assert_eq!(hourly(&[0, 1, 2, 3, 4]), (None, None));
    }

    #[test]
    fn volume_is_what_was_traded_in_the_last_day() {
        let hourly = candles(&(0..30).map(|n| (n, 2.0)).collect::<Vec<_>>());
        assert_eq!(
            volume_24h(&[(Interval::HOUR, hourly.as_candles())]),
            Some(24.0 * 20.0)
        );
        let daily = candles(&[(0, 1.0), (24, 3.0)]);
        assert_eq!(
            volume_24h(&[(Interval::DAY, daily.as_candles())]),
            Some(30.0)
        );
        assert_eq!(volume_24h(&[(Interval::WEEK, daily.as_candles())]), None);
        // The minutes cover only a part of the day, the hours all of it.
        let mut minutes = candles(&[(28, 2.0), (29, 2.0)]);
        minutes.timestamp[1] += 50 * 60_000;
        let minute = Interval(60_000);
        assert_eq!(volume_24h(&[(minute, minutes.as_candles())]), None);
        assert_eq!(
            volume_24h(&[
                (minute, minutes.as_candles()),
                (Interval::HOUR, hourly.as_candles())
            ]),
            Some(24.0 * 20.0)
        );
        // Exactly a day is enough, an hour less is not; a series that ended more than one of its candles ago does not count.
        let hours = |from: i64, to: i64| candles(&(from..to).map(|n| (n, 2.0)).collect::<Vec<_>>());
        assert_eq!(
            volume_24h(&[(Interval::HOUR, hours(0, 24).as_candles())]),
            Some(24.0 * 20.0)
        );
        assert_eq!(
            volume_24h(&[(Interval::HOUR, hours(1, 24).as_candles())]),
            None
        );
        let after = |to: i64| {
            volume_24h(&[
                (minute, minutes.as_candles()),
                (Interval::HOUR, hours(0, to).as_candles()),
            ])
        };
        assert_eq!((after(29), after(28)), (Some(24.0 * 20.0), None));
        let mut gap = hourly.clone();
        gap.volume[20] = f64::NAN;
        assert_eq!(volume_24h(&[(Interval::HOUR, gap.as_candles())]), None);
        let unknown = CandleVec {
            volume: vec![f64::NAN; 2],
            ..candles(&[(0, 1.0), (24, 3.0)])
        };
        assert_eq!(volume_24h(&[(Interval::DAY, unknown.as_candles())]), None);
        assert_eq!(volume_24h(&[]), None);
    }

    #[test]
    fn volume_in_usd_is_what_the_data_say_was_paid() {
        let daily = candles(&[(0, 1.0), (24, 3.0)]);
        let paid = |volume_usd: &[f64]| {
            volume_24h(&[(
                Interval::DAY,
                Candles {
                    volume_usd,
                    ..daily.as_candles()
                },
            )])
        };
        assert_eq!(
            (paid(&[]), paid(&[10.0, 27.5]), paid(&[10.0, f64::NAN])),
            (Some(30.0), Some(27.5), Some(30.0))
        );
        let hourly = candles(&(0..24).map(|hour| (hour, 2.0)).collect::<Vec<_>>());
        let volume_usd: Vec<f64> = (0..24)
            .map(|hour| if hour == 5 { f64::NAN } else { 21.0 })
            .collect();
        let candles = Candles {
            volume_usd: &volume_usd,
            ..hourly.as_candles()
        };
        assert_eq!(
            volume_24h(&[(Interval::HOUR, candles)]),
            Some(23.0 * 21.0 + 20.0),
            "each candle uses `volume_usd` if known, \
            otherwise volume × close"
        );
    }
}
