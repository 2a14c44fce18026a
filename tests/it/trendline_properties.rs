//! Invariants of trendlines for any candles: finite answers, scaling, shifting and mirroring, no close beyond a line.

use analysis::{
    timeframes::CandleVec,
    trendlines::{LineType, Trend, TrendlineAnswer, trendlines},
};
use model::{candles::Candles, time::DAY_MS};
use proptest::prelude::*;

/// Candles of a random walk: steps and wicks in hundredths.
pub(super) fn walk(sizes: std::ops::Range<usize>) -> impl Strategy<Value = CandleVec> {
    let step = (-60..60_i32, 0..40_i32, 0..40_i32, 0..30_i32);
    (-12..12_i32, prop::collection::vec(step, sizes)).prop_map(|(exponent, steps)| {
        let mut made = CandleVec::default();
        let mut close = 10_f64.powi(exponent);
        for (i, (step, up, down, bad)) in steps.into_iter().enumerate() {
            let open = close;
            close *= 1.0 + f64::from(step) / 1_000.0;
            made.timestamp.push(i as i64 * DAY_MS);
            made.open.push(open);
            made.high.push(if bad == 0 {
                f64::NAN
            } else {
                open.max(close) * (1.0 + f64::from(up) / 1_000.0)
            });
            made.low
                .push(open.min(close) * (1.0 - f64::from(down) / 1_000.0));
            made.close.push(close);
            made.volume.push(1.0);
        }
        made
    })
}

/// Arbitrary candles, half of them with validly ordered prices.
pub(super) fn anything() -> impl Strategy<Value = CandleVec> {
    let odd = prop::sample::select(vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        -1.0,
        1e-300,
        1e300,
        5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        1.0,
        1e-12,
        1e12,
    ]);
    let price = prop_oneof![odd, any::<f64>().prop_map(f64::abs)];
    prop::collection::vec(
        (
            [price.clone(), price.clone(), price.clone(), price],
            any::<i64>(),
            any::<bool>(),
        ),
        0..60,
    )
    .prop_map(|rows| {
        let mut made = CandleVec::default();
        for (mut prices, timestamp, ordered) in rows {
            if ordered {
                prices.sort_by(f64::total_cmp);
            }
            made.timestamp.push(timestamp);
            made.low.push(prices[0]);
            made.open.push(prices[1]);
            made.close.push(prices[2]);
            made.high.push(prices[3]);
            made.volume.push(f64::NAN);
        }
        made
    })
}

pub(super) fn mapped(candles: &CandleVec, mut price: impl FnMut(f64) -> f64) -> CandleVec {
    let mut column = |prices: &[f64]| prices.iter().map(|p| price(*p)).collect();
    CandleVec {
        open: column(&candles.open),
        high: column(&candles.high),
        low: column(&candles.low),
        close: column(&candles.close),
        ..candles.clone()
    }
}

fn assert_sound(answer: &TrendlineAnswer) -> Result<(), TestCaseError> {
    let written = |figure: f64| figure.is_finite() && (figure != 0.0 || figure.is_sign_positive());
    for line in &answer.trendlines {
        prop_assert!(
            written(line.slope)
                && written(line.intercept)
                && written(line.r2)
                && (0.0..=1.0).contains(&line.r2),
            "{line:?}"
        );
        for touch in line.touches.iter().flatten() {
            prop_assert!(written(touch.price) && touch.price > 0.0, "{touch:?}");
        }
    }
    prop_assert!(
        written(answer.confidence) && (0.0..=1.0).contains(&answer.confidence),
        "{}",
        answer.confidence
    );
    let kinds: Vec<LineType> = answer.trendlines.iter().map(|line| line.kind).collect();
    let all = [
        LineType::Regression,
        LineType::Support,
        LineType::Resistance,
    ];
    prop_assert!(kinds == all || kinds == all[..1] || kinds.is_empty());
    Ok(())
}

/// The tolerance, computed from its definition.
fn tolerance(candles: &Candles) -> f64 {
    let valid: Vec<usize> = (0..candles.len()).filter(|&i| candles.valid(i)).collect();
    let quantile = |mut numbers: Vec<f64>, q: f64| {
        numbers.sort_by(f64::total_cmp);
        let rank = q * (numbers.len() - 1) as f64;
        let (below, above) = (
            numbers[rank.floor() as usize],
            numbers[rank.ceil() as usize],
        );
        below + (above - below) * rank.fract()
    };
    let mut ranges = vec![candles.high[valid[0]] - candles.low[valid[0]]];
    ranges.extend(valid.windows(2).map(|pair| {
        candles.high[pair[1]].max(candles.close[pair[0]])
            - candles.low[pair[1]].min(candles.close[pair[0]])
    }));
    let column = |prices: &[f64]| valid.iter().map(|&i| prices[i]).collect::<Vec<f64>>();
    let range = quantile(column(candles.high), 0.98) - quantile(column(candles.low), 0.02);
    (0.35 * quantile(ranges, 0.5))
        .max(0.01 * range)
        .min(0.04 * range)
}

proptest! {
    #[test]
    fn any_candles_give_a_finite_answer(candles in anything(), period in 0..80_usize) {
        assert_sound(&trendlines(&candles.as_candles(), period, true))?;
    }

    #[test]
    fn a_walk_gives_all_three_lines(candles in walk(40..120), period in 3..130_usize) {
        let answer = trendlines(&candles.as_candles(), period, true);
        assert_sound(&answer)?;
        prop_assert_eq!(answer.trendlines.len(), 3);
    }

    #[test]
    fn prices_times_a_power_of_two_scale_the_lines_and_change_nothing_else(candles in walk(3..120), power in -60..60_i32) {
        let factor = 2_f64.powi(power);
        let plain = trendlines(&candles.as_candles(), 200, true);
        let mut expected = plain;
        for line in &mut expected.trendlines {
            line.slope *= factor;
            line.intercept *= factor;
            line.end_price = line.end_price.map(|price| price * factor);
            line.touches.iter_mut().flatten().for_each(|touch| touch.price *= factor);
        }
        let scaled = mapped(&candles, |price| price * factor);
        prop_assert_eq!(trendlines(&scaled.as_candles(), 200, true), expected);
    }

    #[test]
    fn when_it_was_does_not_matter(candles in walk(0..120), shift in -9_000..9_000_i64) {
        let mut later = candles.clone();
        later.timestamp.iter_mut().for_each(|time| *time += shift * DAY_MS);
        prop_assert_eq!(trendlines(&later.as_candles(), 200, false), trendlines(&candles.as_candles(), 200, false));
    }

    #[test]
    fn candles_before_the_window_do_not_matter(candles in walk(30..60), period in 2..20_usize) {
        let bare = trendlines(&candles.as_candles(), period, false);
        let mut longer = mapped(&candles, |price| price * 3.0);
        let day = longer.timestamp.len() as i64;
        longer.timestamp.extend(candles.timestamp.iter().map(|time| time + day * DAY_MS));
        for (to, from) in [(&mut longer.open, &candles.open), (&mut longer.high, &candles.high), (&mut longer.low, &candles.low), (&mut longer.close, &candles.close)] {
            to.extend(from);
        }
        longer.volume.extend(&candles.volume);
        prop_assume!((0..candles.timestamp.len()).filter(|&i| candles.as_candles().valid(i)).count() >= period);
        prop_assert_eq!(trendlines(&longer.as_candles(), period, false), bare);
    }

    #[test]
    fn mirrored_prices_swap_the_trend_word(candles in walk(3..120)) {
        let mut mirrored = mapped(&candles, |price| 1.0 / price);
        std::mem::swap(&mut mirrored.high, &mut mirrored.low);
        let (here, there) = (trendlines(&candles.as_candles(), 200, false), trendlines(&mirrored.as_candles(), 200, false));
        // A bad high becomes a bad low, so the same candles are valid. Between equally likely words rounding decides.
        prop_assume!((here.confidence - 0.5).abs() > 1e-6);
        let swapped = match here.trend {
            Trend::Uptrend => Trend::Downtrend,
            Trend::Downtrend => Trend::Uptrend,
            Trend::Sideways => Trend::Sideways,
        };
        prop_assert_eq!(there.trend, swapped);
        prop_assert!((here.confidence - there.confidence).abs() < 1e-6);
    }

    #[test]
    fn the_unit_of_the_price_does_not_matter_to_the_trend(candles in walk(3..120), factor in 1e-9..1e9_f64) {
        let chances = |candles: &CandleVec| trendlines(&candles.as_candles(), 200, true).why.map(|why| why.chances);
        let (here, there) = (chances(&candles), chances(&mapped(&candles, |price| price * factor)));
        prop_assert_eq!(here.is_some(), there.is_some());
        if let (Some(here), Some(there)) = (here, there) {
            prop_assert!((here.uptrend - there.uptrend).abs() < 1e-6 && (here.downtrend - there.downtrend).abs() < 1e-6, "{here:?} {there:?}");
        }
    }

    #[test]
    fn what_makes_the_trend_adds_up(candles in walk(3..120)) {
        let answer = trendlines(&candles.as_candles(), 200, true);
        let Some(why) = answer.why else {
            prop_assert_eq!(answer.trend, Trend::Sideways);
            return Ok(());
        };
        let sum: f64 = why.parts.iter().map(|part| part.contribution).sum();
        let chances = [why.chances.uptrend, why.chances.sideways, why.chances.downtrend];
        prop_assert!((sum - why.score).abs() < 1e-9 && (chances.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{why:?}");
        prop_assert_eq!(answer.confidence, chances.into_iter().fold(0.0, f64::max));
    }

    #[test]
    fn no_close_and_few_wicks_are_beyond_a_line(candles in walk(3..150)) {
        let series = candles.as_candles();
        let answer = trendlines(&series, 200, false);
        prop_assume!(answer.trendlines.len() == 3);
        let first = (0..series.len()).find(|&i| series.valid(i)).expect("three are valid");
        let slack = tolerance(&series) * (1.0 + 1e-9) + 1e-12 * series.close[first];
        let valid: Vec<usize> = (first..series.len()).filter(|&i| series.valid(i)).collect();
        for (line, sign, tips) in [(&answer.trendlines[1], 1.0, series.low), (&answer.trendlines[2], -1.0, series.high)] {
            let beyond = |price: f64, i: usize| sign * (line.intercept + line.slope * (i - first) as f64 - price) > slack;
            for &i in &valid {
                prop_assert!(!beyond(series.close[i], i), "{:?} at {i}", line);
            }
            let wicks = valid.iter().filter(|&&i| beyond(tips[i], i)).count();
            prop_assert!(wicks <= (valid.len() * 6 / 100).max(3), "{wicks} wicks beyond {line:?}");
        }
    }
}

#[test]
fn a_million_candles_and_the_bucketing_of_long_windows_keep_the_rules() {
    for (n, floor) in [(5_001_usize, 0.02), (1_000_000, 0.000_1)] {
        let mut made = CandleVec::default();
        for i in 0..n {
            let wave = ((i as f64) * std::f64::consts::TAU / (n as f64 / 40.0)).sin();
            let middle = 100.0 + floor * i as f64 + 10.0 * wave;
            made.timestamp.push(i as i64);
            made.open.push(middle);
            made.close.push(middle);
            made.high.push(middle + 1.0);
            made.low.push(middle - 1.0);
            made.volume.push(0.0);
        }
        let answer = trendlines(&made.as_candles(), n, true);
        let support = &answer.trendlines[1];
        assert!(
            (support.slope / floor - 1.0).abs() < 0.01 && (support.intercept - 89.0).abs() < 0.5,
            "{n}: {} {}",
            support.slope,
            support.intercept
        );
        assert!((4..=400).contains(&support.touches.as_ref().map_or(0, Vec::len)));
        assert_eq!(answer.trend, Trend::Uptrend);
    }
}
