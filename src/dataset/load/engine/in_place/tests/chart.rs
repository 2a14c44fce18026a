//! Charts from aggregated candles equal those from all candles.

use std::collections::BTreeMap;

use crate::{
    analysis::frames::{CandleVec, base, frame, resample},
    dataset::{
        candles::{Candles, Interval},
        time::{DAY_MS, HOUR_MS, MINUTE_MS},
    },
};

use super::Chance;

/// In-memory equivalent of `chart::sql`, for candles without duplicates.
fn local(all: &BTreeMap<Interval, CandleVec>) -> BTreeMap<Interval, CandleVec> {
    let by_the_hour = |(interval, candles): (&Interval, &CandleVec)| {
        let fine = *interval < Interval::HOUR && HOUR_MS % interval.0 == 0;
        (*interval, if fine { hours(&candles.as_candles(), *interval) } else { candles.clone() })
    };
    all.iter().map(by_the_hour).collect()
}

/// Hours without a sound candle are included as candles that are not sound.
fn hours(candles: &Candles<'_>, interval: Interval) -> CandleVec {
    let mut made = resample(candles, interval, Interval::HOUR);
    if made.timestamp.is_empty() && !candles.is_empty() {
        made.timestamp.push(candles.timestamp[0]);
        for values in [&mut made.open, &mut made.high, &mut made.low, &mut made.close] {
            values.push(0.0);
        }
        made.volume.push(f64::NAN);
    }
    made
}

fn series(all: &BTreeMap<Interval, CandleVec>) -> Vec<(Interval, Candles<'_>)> {
    all.iter().map(|(interval, candles)| (*interval, candles.as_candles())).collect()
}

fn same(a: &Candles<'_>, b: &Candles<'_>) {
    assert_eq!((a.timestamp, a.open, a.high, a.low, a.close), (b.timestamp, b.open, b.high, b.low, b.close));
    for (a, b) in a.volume.iter().zip(b.volume) {
        assert!((a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * a.abs(), "{a} {b}");
    }
}

#[test]
fn charts_of_candles_by_the_hour_are_those_of_all_candles() {
    let mut chance = Chance(7);
    let mut fine = 0;
    for nth in 0..600 {
        let mut all: BTreeMap<Interval, CandleVec> = BTreeMap::new();
        for minutes in [1, 5, 7, 15, 30, 40, 60, 90, 240, 1_440, 10_080] {
            if chance.below(3) > 0 {
                continue;
            }
            let interval = Interval(minutes * MINUTE_MS);
            let rows = (chance.below(3_000) + 1).min(400_000 / minutes as u64);
            let (mut time, gaps) = (20_000 * DAY_MS + chance.below(90) as i64 * HOUR_MS, chance.below(4));
            let mut candles = CandleVec::default();
            for _ in 0..rows {
                if chance.below(10) >= gaps {
                    let close = 1.0 + chance.below(1_000) as f64 / 7.0;
                    let high = if chance.below(9) == 0 { close / 2.0 } else { close + 1.0 };
                    candles.timestamp.push(time);
                    candles.open.push(close);
                    candles.high.push(high);
                    candles.low.push(close / 2.0);
                    candles.close.push(close);
                    candles.volume.push(if chance.below(5) == 0 { f64::NAN } else { chance.below(1_000_000) as f64 / 3.0 });
                }
                time += interval.0 * if chance.below(50) == 0 { 40 } else { 1 };
            }
            if !candles.timestamp.is_empty() {
                all.insert(interval, candles);
            }
        }
        let some = local(&all);
        fine += usize::from(some.iter().any(|(interval, candles)| candles.timestamp.len() < all[interval].timestamp.len()));
        let (here, there) = (series(&all), series(&some));
        for to in [Interval::HOUR, Interval::FOUR_HOURS, Interval::DAY, Interval::WEEK] {
            match (frame(&here, to), frame(&there, to)) {
                (Some(a), Some(b)) => same(&a.as_candles(), &b.as_candles()),
                (a, b) => assert_eq!(a.is_some(), b.is_some(), "{nth} {to}"),
            }
        }
        match (base(&here), base(&there)) {
            (Some((to, a)), Some((also, b))) => {
                assert_eq!(to, also);
                same(&a.as_candles(), &b.as_candles());
            }
            (a, b) => assert_eq!(a.is_some(), b.is_some(), "{nth}"),
        }
    }
    assert!(fine > 200, "nothing came by the hour: {fine}");
}
