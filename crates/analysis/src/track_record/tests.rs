//! Tests: outcomes on candles with a known result, and the absence of look-ahead.

use proptest::prelude::*;

use super::{errors::Evidence, *};
use crate::{patterns::patterns, timeframes::CandleVec};

const HOUR: i64 = DAY_MS / 24;

/// Candles without wicks, each opening at the previous close.
fn closes(closes: &[f64]) -> CandleVec {
    let mut made = CandleVec::default();
    for (i, &close) in closes.iter().enumerate() {
        let open = if i == 0 { close } else { closes[i - 1] };
        made.timestamp.push(i as i64 * HOUR);
        made.open.push(open);
        made.high.push(open.max(close));
        made.low.push(open.min(close));
        made.close.push(close);
        made.volume.push(1.0);
    }
    made
}

#[test]
fn target_or_stop_is_what_is_met_first_after_the_entry() {
    let up = TradeSetup {
        up: true,
        target: 1.1,
        stop: 0.9,
    };
    let down = TradeSetup {
        up: false,
        target: 0.9,
        stop: 1.1,
    };
    let day = 1.0 / 24.0;
    let cases: [(&[f64], Option<TradeOutcome>, Option<TradeOutcome>); 6] = [
        (
            &[100.0, 105.0, 111.0, 80.0],
            Some(TradeOutcome::Target(2.0 * day)),
            Some(TradeOutcome::Stop(2.0 * day)),
        ),
        (
            &[100.0, 89.9, 120.0],
            Some(TradeOutcome::Stop(day)),
            Some(TradeOutcome::Target(day)),
        ),
        (
            &[100.0, 90.0, 111.0],
            Some(TradeOutcome::Target(2.0 * day)),
            Some(TradeOutcome::Target(day)),
        ),
        (
            &[100.0, 110.1, 90.0],
            Some(TradeOutcome::Target(day)),
            Some(TradeOutcome::Stop(day)),
        ),
        (&[100.0, 101.0, 99.0], None, None),
        (&[100.0], None, None),
    ];
    for (prices, rising, falling) in cases {
        let candles = closes(prices);
        assert_eq!(
            (
                up.outcome(&candles.as_candles(), 0),
                down.outcome(&candles.as_candles(), 0)
            ),
            (rising, falling),
            "{prices:?}"
        );
    }
    let still = |count: usize| up.outcome(&closes(&vec![100.0; count]).as_candles(), 0);
    assert_eq!(
        (still(HORIZON), still(HORIZON + 1)),
        (None, Some(TradeOutcome::Neither(HORIZON as f64 * day)))
    );
    // Touching the target within the candle counts; the stop needs a close.
    let mut both = closes(&[100.0, 89.0]);
    both.high[1] = 111.0;
    assert_eq!(
        up.outcome(&both.as_candles(), 0),
        Some(TradeOutcome::Target(day))
    );
    let mut wick = closes(&[100.0, 100.0, 111.0]);
    wick.low[1] = 50.0;
    assert_eq!(
        up.outcome(&wick.as_candles(), 0),
        Some(TradeOutcome::Target(2.0 * day))
    );
}

#[test]
fn a_market_that_only_rises_makes_any_entry_as_good_as_a_pattern() {
    let prices: Vec<f64> = (0..50).map(|i| 100.0 * 1.01_f64.powi(i)).collect();
    let candles = closes(&prices);
    let setup = TradeSetup {
        up: true,
        target: 1.05,
        stop: 0.95,
    };
    let anywhere = |setup: TradeSetup, candles: &CandleVec| {
        fractions(&setup.anywhere(&candles.as_candles(), 0))
    };
    assert_eq!(anywhere(setup, &candles), (1.0, 0.0));
    let falling = TradeSetup {
        up: false,
        target: 0.95,
        stop: 1.05,
    };
    assert_eq!(anywhere(falling, &candles), (0.0, 1.0));
    assert_eq!(
        anywhere(setup, &closes(&[100.0; 10])),
        (0.0, 0.0),
        "none is decided"
    );
}

#[test]
fn records_count_what_is_decided_and_name_what_is_open() {
    let signal = |name, outcome, random_target| Signal {
        name,
        direction: Direction::Up,
        timestamp: Time(0),
        outcome,
        random_target,
        random_stop: 0.25,
    };
    let (flag, cup) = (PatternName::BullFlag, PatternName::CupAndHandle);
    let signals = vec![
        signal(flag, Some(TradeOutcome::Target(3.0)), 0.5),
        signal(flag, Some(TradeOutcome::Stop(9.0)), 0.3),
        signal(flag, Some(TradeOutcome::Target(4.0)), 0.4),
        signal(flag, Some(TradeOutcome::Neither(25.0)), 0.4),
        signal(flag, None, 1.0),
        signal(cup, None, 1.0),
    ];
    let record = PatternRecord {
        name: flag,
        count: 4,
        open: 1,
        target: Some(0.5),
        stop: Some(0.25),
        neither: Some(0.25),
        median_days: Some(4.0),
        random_target: Some(0.4),
        random_stop: Some(0.25),
        evidence: Evidence {
            days: 1,
            tokens: 1,
            difference: Some(10.0),
            ..Evidence::default()
        },
    };
    let nothing = PatternRecord {
        open: 1,
        ..PatternRecord::none(cup)
    };
    let replay = Replay {
        signals,
        baseline: Vec::new(),
    };
    let mut counted = records(&[&replay]);
    let points = &mut counted[0].evidence.difference;
    *points = points.map(|points| (1e6 * points).round() / 1e6);
    assert_eq!(counted, [record, nothing]);
}

fn walk() -> impl Strategy<Value = Vec<f64>> {
    let steps = prop::collection::vec(-0.03..0.03_f64, 60..140);
    // A swing under the noise, so that there are turns to find.
    (steps, 4.0..12.0_f64, 0.02..0.1_f64).prop_map(|(steps, period, height)| {
        let mut level = 0.0;
        let swing = |i: usize| height * (i as f64 / period * std::f64::consts::TAU / 2.0).sin();
        steps
            .iter()
            .enumerate()
            .map(|(i, step)| {
                level += step / 3.0;
                100.0 * (level + swing(i)).exp()
            })
            .collect()
    })
}

/// The parts of a signal that were known on its day.
fn on_the_day(signals: &[Signal]) -> Vec<(PatternName, Direction, Time)> {
    signals
        .iter()
        .map(|signal| (signal.name, signal.direction, signal.timestamp))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_comes_later_changes_nothing_of_what_was_told(prices in walk(), share in 0.3..0.9_f64) {
        let model = Model::built_in();
        let whole = closes(&prices);
        let cut = (prices.len() as f64 * share) as usize;
        let all = replay(&whole.as_candles(), model, &mut |_, _| true).expect("it is not canceled").signals;
        let known = replay(&whole.as_candles().part(0..cut), model, &mut |_, _| true).expect("it is not canceled").signals;
        let last = Time(whole.timestamp[cut - 1]);
        let before: Vec<Signal> = all.iter().copied().filter(|signal| signal.timestamp <= last).collect();
        prop_assert_eq!(on_the_day(&known), on_the_day(&before));
        // Outcomes decided by then do not change.
        for (known, later) in known.iter().zip(&before) {
            prop_assert!(known.outcome.is_none() || known.outcome == later.outcome);
        }
    }

    #[test]
    fn a_signal_is_what_the_program_answered_that_day(prices in walk()) {
        let whole = closes(&prices);
        let all = replay(&whole.as_candles(), Model::built_in(), &mut |_, _| true).expect("it is not canceled").signals;
        for at in 20..prices.len() {
            let answer = patterns(&whole.as_candles().part(0..at + 1), true);
            let fresh = |name| {
                answer.patterns.iter().any(|pattern| pattern.name == name && pattern.detail.as_ref().is_some_and(|detail| detail.breakout_index == Some(at)))
            };
            for signal in all.iter().filter(|signal| signal.timestamp == Time(whole.timestamp[at])) {
                prop_assert!(fresh(signal.name), "{:?} at {at}", signal.name);
            }
        }
    }
}

#[test]
fn a_replay_ends_when_its_asker_says_so() {
    let candles = closes(&[100.0; 200]);
    assert_eq!(
        replay(
            &candles.as_candles(),
            Model::built_in(),
            &mut |done, total| done < 10 && total == 200
        ),
        None
    );
    assert_eq!(
        replay(&closes(&[]).as_candles(), Model::built_in(), &mut |_, _| {
            false
        }),
        Some(Replay::default())
    );
}

#[test]
fn the_baseline_adds_up_to_nothing_over_all_days() {
    let prices: Vec<f64> = (0..400)
        .map(|i| {
            let i = f64::from(i);
            100.0 * (0.1 * (i / 9.0).sin() + 0.05 * (i / 2.3).sin()).exp()
        })
        .collect();
    let replay = replay(
        &closes(&prices).as_candles(),
        Model::built_in(),
        &mut |_, _| true,
    )
    .expect("it is not canceled");
    let completed = |name| {
        replay
            .signals
            .iter()
            .any(|signal| signal.name == name && signal.outcome.is_some())
    };
    assert!(!replay.baseline.is_empty());
    for name in PatternName::ALL {
        let rows = || replay.baseline.iter().filter(|row| row.name == name);
        let sum: f64 = rows().map(|row| f64::from(row.excess)).sum();
        assert!(sum.abs() < 1e-3, "{name:?}: {sum}");
        assert_eq!(rows().count() > 0, completed(name), "{name:?}");
    }
}
