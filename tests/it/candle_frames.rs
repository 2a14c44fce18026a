//! Timeframes aggregated from finer candles: bucket boundaries, contributing candles, and precedence of series.

use analysis::timeframes::{CandleVec, Frame, base, frame, resample};
use model::{
    candles::Interval,
    time::{DAY_MS, HOUR_MS, Time},
};
use proptest::prelude::*;

/// Thursday 2026-01-01.
const NEW_YEAR: i64 = 20_454 * DAY_MS;

/// One candle per step from `start`, opening at `price` and closing one higher.
fn steps(start: i64, step: Interval, prices: &[f64]) -> CandleVec {
    let mut made = CandleVec::default();
    for (i, price) in prices.iter().enumerate() {
        made.timestamp.push(start + i as i64 * step.0);
        made.open.push(*price);
        made.high.push(price + 2.0);
        made.low.push(price - 0.5);
        made.close.push(price + 1.0);
        made.volume.push(10.0);
    }
    made
}

fn count_up(n: usize) -> Vec<f64> {
    (1..=n).map(|i| i as f64).collect()
}

#[test]
fn a_day_is_made_from_its_hours() {
    let hours = steps(NEW_YEAR + 5 * HOUR_MS, Interval::HOUR, &count_up(30));
    let days = resample(&hours.as_candles(), Interval::HOUR, Interval::DAY);
    assert_eq!(days.timestamp, [NEW_YEAR, NEW_YEAR + DAY_MS]);
    assert_eq!(
        (days.open.as_slice(), days.close.as_slice()),
        (&[1.0, 20.0][..], &[20.0, 31.0][..])
    );
    assert_eq!(
        (days.high.as_slice(), days.low.as_slice()),
        (&[21.0, 32.0][..], &[0.5, 19.5][..])
    );
    assert_eq!(days.volume, [190.0, 110.0]);
}

#[test]
fn a_week_starts_on_monday_before_and_after_1970() {
    for start in [NEW_YEAR, -6 * DAY_MS] {
        let days = steps(start, Interval::DAY, &count_up(20));
        let weeks = resample(&days.as_candles(), Interval::DAY, Interval::WEEK);
        assert!(
            weeks
                .timestamp
                .iter()
                .all(|&week| Time(week).day().weekday() == 0),
            "{:?}",
            weeks.timestamp
        );
        assert_eq!(weeks.timestamp.len(), 4);
    }
}

#[test]
fn bad_candles_and_unknown_volumes_count_for_nothing() {
    let mut hours = steps(NEW_YEAR, Interval::HOUR, &count_up(72));
    hours.high[3] = f64::INFINITY;
    hours.close[23] = 0.0;
    hours.volume[5] = f64::NAN;
    hours.volume[48..].fill(f64::NAN);
    hours.open[24..48].fill(f64::NAN);
    let days = resample(&hours.as_candles(), Interval::HOUR, Interval::DAY);
    assert_eq!(
        days.timestamp,
        [NEW_YEAR, NEW_YEAR + 2 * DAY_MS],
        "a day of bad hours is no candle"
    );
    assert_eq!(
        (days.high[0], days.close[0], days.volume[0]),
        (25.0, 24.0, 210.0)
    );
    assert!(days.volume[1].is_nan());
}

#[test]
fn own_candles_win_and_finer_ones_fill_before_and_after() {
    let hours = steps(NEW_YEAR, Interval::HOUR, &count_up(24 * 6));
    let four = steps(NEW_YEAR + DAY_MS, Interval::FOUR_HOURS, &count_up(6 * 4));
    let own = steps(NEW_YEAR + 2 * DAY_MS, Interval::DAY, &[1_000.0, 1_001.0]);
    let series = [
        (Interval::HOUR, hours.as_candles()),
        (Interval::FOUR_HOURS, four.as_candles()),
        (Interval::DAY, own.as_candles()),
    ];
    let days = frame(&series, Interval::DAY).expect("there are daily candles");
    let days = days.as_candles();
    // Days 1 and 4 come from the coarsest finer candles, those of four hours; days 2 and 3 are its own.
    assert_eq!(
        days.timestamp,
        [1, 2, 3, 4].map(|day| NEW_YEAR + day * DAY_MS)
    );
    assert_eq!(days.open, [1.0, 1_000.0, 1_001.0, 19.0]);
    assert!(matches!(
        frame(&series[2..], Interval::DAY),
        Some(Frame::Own(_))
    ));
}

#[test]
fn own_candles_that_start_at_odd_hours_are_not_overlapped() {
    let hours = steps(NEW_YEAR, Interval::HOUR, &count_up(24 * 6));
    let own = steps(
        NEW_YEAR + 2 * DAY_MS + 8 * HOUR_MS,
        Interval::DAY,
        &[1_000.0],
    );
    let series = [
        (Interval::HOUR, hours.as_candles()),
        (Interval::DAY, own.as_candles()),
    ];
    let days = frame(&series, Interval::DAY).expect("there are daily candles");
    assert_eq!(
        days.as_candles().timestamp,
        [0, 24, 56, 96, 120].map(|hour| NEW_YEAR + hour * HOUR_MS)
    );
}

#[test]
fn a_frame_finer_than_the_data_or_not_divided_is_none() {
    let days = steps(NEW_YEAR, Interval::DAY, &count_up(9));
    let five = steps(NEW_YEAR, Interval(5 * DAY_MS), &count_up(9));
    let nothing = CandleVec::default();
    for (interval, candles, to, expected) in [
        (Interval::DAY, &days, Interval::HOUR, false),
        (Interval::DAY, &days, Interval::WEEK, true),
        (Interval(5 * DAY_MS), &five, Interval::WEEK, false),
        (Interval::DAY, &nothing, Interval::DAY, false),
    ] {
        assert_eq!(
            frame(&[(interval, candles.as_candles())], to).is_some(),
            expected,
            "{interval} to {to}"
        );
    }
    assert!(frame(&[], Interval::DAY).is_none());
}

#[test]
fn the_base_is_daily_else_the_finest_coarser_else_what_there_is() {
    let some = steps(NEW_YEAR, Interval::DAY, &count_up(50));
    for (intervals, expected) in [
        (&[Interval::HOUR, Interval::WEEK][..], Some(Interval::DAY)),
        (&[Interval::DAY], Some(Interval::DAY)),
        (
            &[Interval(3 * DAY_MS), Interval::WEEK],
            Some(Interval(3 * DAY_MS)),
        ),
        (&[Interval(5 * HOUR_MS)], Some(Interval(5 * HOUR_MS))),
        (&[], None),
    ] {
        let series: Vec<_> = intervals
            .iter()
            .map(|interval| (*interval, some.as_candles()))
            .collect();
        assert_eq!(
            base(&series).map(|(interval, _)| interval),
            expected,
            "{intervals:?}"
        );
    }
}

proptest! {
    #[test]
    fn resampling_keeps_volume_extremes_and_order(
        prices in prop::collection::vec(1..1_000_i32, 1..200),
        start in -3_000_000..3_000_000_i64,
        to in prop::sample::select(vec![2_i64, 4, 24, 168]),
    ) {
        let prices: Vec<f64> = prices.into_iter().map(f64::from).collect();
        let hours = steps(start * HOUR_MS, Interval::HOUR, &prices);
        let to = Interval(to * HOUR_MS);
        let made = resample(&hours.as_candles(), Interval::HOUR, to);
        prop_assert_eq!(made.volume.iter().sum::<f64>(), hours.volume.iter().sum::<f64>());
        prop_assert_eq!(made.high.iter().copied().fold(0.0, f64::max), hours.high.iter().copied().fold(0.0, f64::max));
        prop_assert_eq!(made.low.iter().copied().fold(f64::MAX, f64::min), hours.low.iter().copied().fold(f64::MAX, f64::min));
        prop_assert_eq!((made.open[0], made.close.last()), (hours.open[0], hours.close.last()));
        prop_assert!(made.timestamp.windows(2).all(|pair| pair[1] - pair[0] == to.0));
        prop_assert!((0..made.timestamp.len()).all(|i| made.as_candles().valid(i)));
    }

    #[test]
    fn no_order_of_times_panics(times in prop::collection::vec(any::<i64>(), 0..40), own in prop::collection::vec(any::<i64>(), 0..5), from in any::<i64>(), to in any::<i64>()) {
        let mut candles = steps(0, Interval::HOUR, &count_up(times.len()));
        candles.timestamp = times;
        let mut stored = steps(0, Interval::DAY, &count_up(own.len()));
        stored.timestamp = own;
        for (from, to) in [(from, to), (1, to), (HOUR_MS, DAY_MS), (HOUR_MS, 7 * DAY_MS)] {
            let series = [(Interval(from), candles.as_candles()), (Interval(to), stored.as_candles())];
            let made = frame(&series, Interval(to)).map_or(0, |made| made.as_candles().len());
            prop_assert!(made <= candles.timestamp.len() + stored.timestamp.len());
            prop_assert!(base(&series).is_some() || made == 0);
        }
    }
}
