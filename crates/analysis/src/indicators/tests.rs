//! Tests of the indicators against a second implementation, against values calculated by hand, and where the second one is wrong.

use kand::ohlcv;
use proptest::prelude::*;

use super::*;
use crate::timeframes::CandleVec;

/// A random walk of candles: (relative step, reach of the wicks, volume) each.
fn walk(steps: &[(f64, f64, f64)]) -> CandleVec {
    let mut candles = CandleVec::default();
    let mut close = 100.0;
    for (i, (step, reach, volume)) in steps.iter().enumerate() {
        let open = close;
        close *= 1.0 + step;
        candles.timestamp.push(i as i64 * 86_400_000);
        candles.open.push(open);
        candles.high.push(open.max(close) * (1.0 + reach));
        candles.low.push(open.min(close) * (1.0 - reach));
        candles.close.push(close);
        candles.volume.push(*volume);
    }
    candles
}

fn of(candles: &CandleVec, name: &str) -> Vec<Vec<Option<f64>>> {
    let candles = candles.as_candles();
    Indicator::parse(name)
        .expect(name)
        .values(&candles, 0..candles.len())
}

/// The columns according to the second implementation.
fn others(candles: &CandleVec, name: &str) -> Vec<Vec<f64>> {
    let CandleVec {
        high,
        low,
        close,
        volume,
        ..
    } = candles;
    let mut all = vec![vec![f64::NAN; close.len()]; 9];
    let [a, b, c, d, e, f, g, ..] = &mut all[..] else {
        unreachable!()
    };
    let columns = match name {
        "sma_20" => ohlcv::sma::sma(close, 20, a).map(|()| 1),
        "ema_50" => ohlcv::ema::ema(close, 50, None, a).map(|()| 1),
        "rsi_14" => ohlcv::rsi::rsi(close, 14, a, b, c).map(|()| 1),
        "atr_14" => ohlcv::atr::atr(high, low, close, 14, a).map(|()| 1),
        "obv" => ohlcv::obv::obv(close, volume, a).map(|()| 1),
        "macd_12_26_9" => ohlcv::macd::macd(close, 12, 26, 9, a, b, c, d, e).map(|()| 3),
        "bollinger_20_2" => {
            ohlcv::bbands::bbands(close, 20, 2.0, 2.0, c, b, a, d, e, f, g).map(|()| 3)
        }
        _ => unreachable!("{name}"),
    };
    all.truncate(columns.expect(name));
    all
}

proptest! {
    #[test]
    fn a_second_implementation_says_the_same(
        steps in prop::collection::vec((-0.1..0.1f64, 0.0..0.05f64, 0.0..1e6f64), 60..200),
    ) {
        let candles = walk(&steps);
        for name in ["sma_20", "ema_50", "rsi_14", "atr_14", "obv", "macd_12_26_9", "bollinger_20_2"] {
            let (ours, theirs) = (of(&candles, name), others(&candles, name));
            prop_assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(&theirs) {
                for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    // The second implementation hides the MACD line until it has a signal.
                    if theirs.is_nan() {
                        prop_assert!(ours.is_none() || name.starts_with("macd"), "{} at {}: {:?}", name, i, ours);
                        continue;
                    }
                    let ours = ours.unwrap_or(f64::NAN);
                    let size = if name == "obv" { 1e8 } else { 1e3 };
                    prop_assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(size), "{} at {}: {} is not {}", name, i, ours, theirs);
                }
            }
        }
    }

    #[test]
    fn later_candles_change_nothing(steps in prop::collection::vec((-0.1..0.1f64, 0.0..0.05f64, 0.0..1e6f64), 60..120), cut in 0..60usize) {
        let (whole, part) = (walk(&steps), walk(&steps[..steps.len() - cut]));
        for kind in KINDS {
            for (whole, part) in of(&whole, kind.usual).iter().zip(of(&part, kind.usual)) {
                prop_assert_eq!(&whole[..part.len()], &part[..], "{}", kind.usual);
            }
        }
    }

    #[test]
    fn some_rows_are_those_of_all(steps in prop::collection::vec((-0.1..0.1f64, 0.0..0.05f64, 0.0..1e6f64), 40..80), start in 0..40usize) {
        let candles = walk(&steps);
        for kind in KINDS {
            let some = Indicator::parse(kind.usual).expect(kind.usual).values(&candles.as_candles(), start..steps.len());
            for (all, some) in of(&candles, kind.usual).iter().zip(some) {
                prop_assert_eq!(&all[start..], &some[..], "{}", kind.usual);
            }
        }
    }
}

#[test]
fn indicators_are_those_worked_out_by_hand() {
    let candles = walk(&[
        (0.0, 0.0, 1.0),
        (0.1, 0.0, 2.0),
        (-0.1, 0.0, 4.0),
        (0.0, 0.0, 8.0),
    ]);
    // Closes 100, 110, 99, 99; opens 100, 100, 110, 99.
    let near = |name: &str, column: usize, expected: &[Option<f64>]| {
        let column = &of(&candles, name)[column];
        assert_eq!(column.len(), expected.len(), "{name}");
        for (value, expected) in column.iter().zip(expected) {
            let same = match (value, expected) {
                (Some(value), Some(expected)) => (value - expected).abs() < 1e-9,
                (value, expected) => value == expected,
            };
            assert!(same, "{name}: {column:?}");
        }
    };
    near("sma_2", 0, &[None, Some(105.0), Some(104.5), Some(99.0)]);
    near("ema_3", 0, &[None, None, Some(103.0), Some(101.0)]);
    near(
        "rsi_2",
        0,
        &[None, None, Some(1_000.0 / 21.0), Some(1_000.0 / 21.0)],
    );
    near("atr_2", 0, &[None, None, Some(10.5), Some(5.25)]);
    near("obv", 0, &[Some(1.0), Some(3.0), Some(-1.0), Some(-1.0)]);
    near(
        "bollinger_2_2",
        2,
        &[None, Some(115.0), Some(115.5), Some(99.0)],
    );
    let (second, third) = ((110.0 + 100.0 + 110.0) / 3.0, (110.0 + 99.0 + 99.0) / 3.0);
    near(
        "vwap_2",
        0,
        &[
            None,
            Some((100.0 + 2.0 * second) / 3.0),
            Some((2.0 * second + 4.0 * third) / 6.0),
            Some((4.0 * third + 8.0 * 99.0) / 12.0),
        ],
    );
}

/// Why windows are recalculated: running sums keep the rounding error of one extreme price forever.
#[test]
fn a_wild_price_is_forgotten_once_it_has_left_the_window() {
    let mut candles = walk(&[(0.0, 0.0, 1.0); 100]);
    for prices in [
        &mut candles.open,
        &mut candles.high,
        &mut candles.low,
        &mut candles.close,
    ] {
        prices.fill(3e-9);
        prices[30] = 5e8;
    }
    for name in ["sma_20", "bollinger_20_2"] {
        let (ours, theirs) = (of(&candles, name), others(&candles, name));
        assert!(
            (ours[0][99].expect(name) / 3e-9 - 1.0).abs() < 1e-12,
            "{name}"
        );
        let right = (theirs[0][99] / 3e-9 - 1.0).abs() < 1e-3;
        assert!(
            !right,
            "{name}: the libraries' sums are right now, {}",
            theirs[0][99]
        );
    }
}

#[test]
fn an_indicator_that_cannot_be_worked_out_has_no_value() {
    let mut candles = walk(&[(0.0, 0.0, 1.0); 40]);
    assert!(
        of(&candles, "rsi_14")[0].iter().all(Option::is_none),
        "nothing moved"
    );
    candles.volume[20] = f64::NAN;
    let (vwap, obv) = (of(&candles, "vwap_5"), of(&candles, "obv"));
    let known =
        |column: &[Option<f64>]| (0..40).filter(|&i| column[i].is_some()).collect::<Vec<_>>();
    assert_eq!(known(&vwap[0]), (4..20).chain(25..40).collect::<Vec<_>>());
    assert_eq!(known(&obv[0]), (0..20).collect::<Vec<_>>());
    candles.volume.fill(0.0);
    assert!(
        of(&candles, "vwap_5")[0].iter().all(Option::is_none),
        "nothing was traded"
    );
    let none = CandleVec::default();
    assert!(
        KINDS
            .iter()
            .all(|kind| of(&none, kind.usual).iter().all(Vec::is_empty))
    );
}

#[test]
fn a_wrong_indicator_name_is_refused_with_the_reason() {
    for kind in KINDS {
        let indicator = Indicator::parse(kind.usual).expect(kind.usual);
        assert_eq!(
            (indicator.to_string().as_str(), indicator.kind().word),
            (kind.usual, kind.word)
        );
        assert!(
            indicator
                .columns()
                .all(|column| column.starts_with(kind.usual))
        );
    }
    assert_eq!(
        Indicator::parse("bollinger_20_2.5").map(|one| one.to_string()),
        Ok("bollinger_20_2.5".to_owned())
    );
    for (name, expected) in [
        ("", "expected an indicator such as sma_20, ema_50"),
        ("sma", "the same number of parameters as in sma_20"),
        ("sma_1", "2 to 500"),
        ("sma_501", "2 to 500"),
        ("sma_-3", "2 to 500"),
        ("sma_20_2", "the same number of parameters as in sma_20"),
        ("macd_26_12_9", "fast period below"),
        ("bollinger_20_0", "0.1 to 10"),
        ("bollinger_20_nan", "0.1 to 10"),
        ("obv_3", "the same number of parameters as in obv"),
    ] {
        let said = Indicator::parse(name).expect_err(name).to_string();
        assert!(said.contains(expected), "{name}: {said}");
    }
}
