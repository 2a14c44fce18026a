//! What each pattern adds to the signal of all, which decide it, and the status of each after its breakout.

use super::{
    Pattern, PatternDetail, Status, TradeAction, find::FoundPattern, series::CandleSeries,
};

/// Number of candles after a breakout within which its target and stop apply, here and in the track record. TradingView searches for patterns
/// over this range, too.
pub const HORIZON: usize = 600;
/// Decay constant of a pattern's weight: number of candles until it falls to 1/e.
const DECAY_CANDLES: f64 = 20.0;
/// Minimum contribution, in absolute terms, of a pattern that decides the action.
const COUNTS_FROM: f64 = 0.02;

/// Logarithm of the stop-loss price: a close beyond it invalidates the pattern.
pub(super) fn stop(series: &CandleSeries, find: &FoundPattern) -> f64 {
    let side = if find.up { 1.0 } else { -1.0 };
    if find.breakout.is_some() {
        return find.level - side * find.height / 2.0;
    }
    let line = if find.up { find.lower } else { find.upper }.line();
    line.at(f64::from(
        series.slot[series.len() - 1] - find.turns.first().slot,
    ))
}

/// Status of the pattern: a high or low reaches the target; a close back across the boundary by half the height is a failure.
pub(super) fn status(series: &CandleSeries, find: &FoundPattern) -> Status {
    let Some(breakout) = find.breakout else {
        return Status::Forming;
    };
    let side = if find.up { 1.0 } else { -1.0 };
    let (target, back) = (find.target(), stop(series, find));
    let reach = if find.up {
        &series.upright.high
    } else {
        &series.upright.low
    };
    let from = breakout as usize;
    for (reached, close) in reach
        .iter()
        .zip(&series.upright.close)
        .skip(from)
        .take(1 + HORIZON)
    {
        if side * (reached - target) >= 0.0 {
            return Status::Reached;
        }
        if side * (close - back) < 0.0 {
            return Status::Failed;
        }
    }
    Status::Confirmed
}

/// Candles after its breakout for which a confirmed pattern is one of now: by then its weight is down to a twentieth.
const ACTIVE_CANDLES: f64 = 3.0 * DECAY_CANDLES;

/// Whether the pattern is one of now.
pub(super) fn is_active(series: &CandleSeries, find: &FoundPattern, status: Status) -> bool {
    status == Status::Forming
        || (status == Status::Confirmed && age(series, find) <= ACTIVE_CANDLES)
}

/// Candle slots since its end.
fn age(series: &CandleSeries, find: &FoundPattern) -> f64 {
    f64::from(series.slot[series.len() - 1] - series.slot[find.end(series.len()) as usize])
}

/// Index of the leading pattern: the highest confidence, decayed by the age of its end.
pub(super) fn leading(patterns: &[Pattern], counts: impl Fn(&Pattern) -> bool) -> Option<usize> {
    let latest = patterns.iter().map(|pattern| pattern.end_index).max()?;
    let weight = |&place: &usize| {
        patterns[place].confidence
            * (-((latest - patterns[place].end_index) as f64) / DECAY_CANDLES).exp()
    };
    (0..patterns.len())
        .filter(|place| counts(&patterns[*place]))
        .max_by(|a, b| weight(a).total_cmp(&weight(b)))
}

/// Indexes of the explained patterns that decide the action, by descending contribution: the fewest that yield it against all opposing
/// ones. For hold, the largest of each side.
pub(super) fn deciding(patterns: &[Pattern], action: TradeAction) -> Vec<usize> {
    let adds = |pattern: &Pattern| {
        pattern.detail.as_ref().map_or(
            0.0,
            |PatternDetail {
                 action_contribution,
                 ..
             }| *action_contribution,
        )
    };
    let mut of: Vec<(usize, f64)> = patterns
        .iter()
        .map(adds)
        .enumerate()
        .filter(|(_, adds)| adds.abs() >= COUNTS_FROM)
        .collect();
    of.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let side = match action {
        TradeAction::StrongBuy | TradeAction::Buy => 1.0,
        TradeAction::Sell | TradeAction::StrongSell => -1.0,
        TradeAction::Hold => {
            let first = |side: f64| of.iter().position(|(_, adds)| adds * side > 0.0);
            let mut both: Vec<usize> = [first(1.0), first(-1.0)].into_iter().flatten().collect();
            both.sort_unstable();
            return both.into_iter().map(|place| of[place].0).collect();
        }
    };
    let mut sum: f64 = patterns
        .iter()
        .map(adds)
        .filter(|adds| adds * side < 0.0)
        .sum();
    let mut places = Vec::new();
    for (place, adds) in of.into_iter().filter(|(_, adds)| adds * side > 0.0) {
        if TradeAction::of_sum(sum) == action {
            break;
        }
        sum += adds;
        places.push(place);
    }
    places
}

/// Contribution of a pattern to the weight of the signal: direction × confidence × age decay; half while it forms, none once it is over.
pub(super) fn contribution(series: &CandleSeries, find: &FoundPattern) -> f64 {
    let decay = (-age(series, find) / DECAY_CANDLES).exp();
    // Negligible because of age: skips the status calculation.
    if decay < 1e-6 {
        return 0.0;
    }
    let weight = match status(series, find) {
        Status::Confirmed => 1.0,
        Status::Forming if find.name.points_one_way() => 0.5,
        // The direction of any other that forms is a guess until it breaks out.
        Status::Forming | Status::Reached | Status::Failed => 0.0,
    };
    let direction = if find.up { 1.0 } else { -1.0 };
    direction * find.confidence * weight * decay
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{patterns::find::sample as find, timeframes::CandleVec};

    /// Candles with these closes and wicks of 0.01%.
    fn series(closes: &[f64]) -> CandleSeries {
        CandleSeries::of(&candles(closes).as_candles(), 2).expect("prices that move")
    }

    fn candles(closes: &[f64]) -> CandleVec {
        CandleVec {
            timestamp: (0..closes.len() as i64).collect(),
            open: closes.to_vec(),
            high: closes.iter().map(|close| close * 1.0001).collect(),
            low: closes.iter().map(|close| close * 0.9999).collect(),
            close: closes.to_vec(),
            volume: vec![1.0; closes.len()],
        }
    }

    #[test]
    fn a_breakout_reaches_its_target_or_comes_back_whichever_is_first() {
        for (up, closes, expected) in [
            (true, &[1.0, 1.02, 1.05][..], Status::Confirmed),
            (true, &[1.0, 1.02, 1.18], Status::Confirmed),
            (true, &[1.0, 1.02, 1.19], Status::Reached),
            (true, &[1.0, 1.02, 0.91], Status::Confirmed),
            (true, &[1.0, 1.02, 0.90], Status::Failed),
            (true, &[1.0, 1.02, 0.90, 1.3], Status::Failed),
            (true, &[1.0, 1.02, 1.3, 0.5], Status::Reached),
            (false, &[1.0, 0.98, 0.78], Status::Confirmed),
            (false, &[1.0, 0.98, 0.77], Status::Reached),
            (false, &[1.0, 0.98, 1.10], Status::Confirmed),
            (false, &[1.0, 0.98, 1.11], Status::Failed),
        ] {
            assert_eq!(
                status(&series(closes), &find(up, Some(1))),
                expected,
                "{up} {closes:?}"
            );
            assert_eq!(
                status(&series(closes), &find(up, None)),
                Status::Forming,
                "{up} {closes:?}"
            );
        }
        // Candles after the horizon change nothing.
        let mut late = vec![1.0; HORIZON + 2];
        late[0] = 1.01;
        late.push(1.3);
        assert_eq!(
            status(&series(&late), &find(true, Some(1))),
            Status::Confirmed
        );
        assert_eq!(
            status(&series(&late), &find(true, Some(2))),
            Status::Reached
        );
    }

    #[test]
    fn the_stop_is_half_the_height_back_or_the_line_that_voids() {
        let series = series(&[1.0, 1.02, 1.05]);
        assert_eq!(
            [true, false].map(|up| stop(&series, &find(up, Some(1)))),
            [-0.1, 0.1]
        );
        assert_eq!(
            [true, false].map(|up| stop(&series, &find(up, None))),
            [-0.2, 0.2]
        );
    }

    #[test]
    fn what_forms_is_entered_at_its_boundary() {
        let closes = [1.0, 1.02, 1.05];
        let ratio = |breakout| {
            let (series, candles) = (series(&closes), candles(&closes));
            let answer = super::super::AnswerBuilder {
                series: &series,
                candles: &candles.as_candles(),
            };
            answer
                .pattern(&find(true, breakout))
                .detail
                .and_then(|detail| detail.reward_risk)
                .expect("both are ahead")
        };
        // From 1.05 to 1.181 and 0.905; from the boundary at 1 to 1.181 and 0.819.
        assert!(
            (ratio(Some(1)) - (1.181_27 / 1.05 - 1.0) / (1.0 - 0.904_84 / 1.05)).abs() < 1e-4,
            "{}",
            ratio(Some(1))
        );
        assert!((ratio(None) - 1.0).abs() < 1e-9, "{}", ratio(None));
    }

    #[test]
    fn a_height_that_only_wicks_have_is_none() {
        // Half of the height of 0.2 lies between e^0 and e^0.1 = 1.105.
        for (last, confirmed) in [(1.10, false), (1.11, true)] {
            let series = series(&[1.0, 1.02, last]);
            assert_eq!(
                super::super::is_confirmed_by_closes(&series, &find(true, Some(2))),
                confirmed,
                "{last}"
            );
            assert_eq!(
                super::super::is_confirmed_by_closes(&series, &find(true, None)),
                confirmed,
                "{last}"
            );
            assert!(
                !super::super::is_confirmed_by_closes(&series, &find(true, Some(1))),
                "candles after the breakout confirm nothing"
            );
        }
    }

    #[test]
    fn the_advice_weighs_what_forms_by_half_what_is_old_by_less_and_what_is_over_not_at_all() {
        let (now, failed) = (series(&[1.0, 1.02, 1.05]), series(&[1.0, 1.02, 0.90]));
        let old = series(&[&[1.01, 1.02][..], &[1.03; 60]].concat());
        let (up, down) = (find(true, Some(1)), find(false, None));
        for (series, finds, expected) in [
            (&now, vec![up.clone()], TradeAction::StrongBuy),
            (&now, vec![find(true, None)], TradeAction::Buy),
            (&now, vec![down.clone()], TradeAction::Sell),
            (
                &now,
                vec![down.clone(), down.clone()],
                TradeAction::StrongSell,
            ),
            (&now, vec![up.clone(), down], TradeAction::Buy),
            (
                &now,
                vec![find(true, None), find(false, None)],
                TradeAction::Hold,
            ),
            (&failed, vec![up.clone()], TradeAction::Hold),
            (&old, vec![up], TradeAction::Hold),
            (&now, Vec::new(), TradeAction::Hold),
        ] {
            let sum = finds.iter().map(|find| contribution(series, find)).sum();
            assert_eq!(TradeAction::of_sum(sum), expected, "{finds:?}");
        }
    }

    #[test]
    fn the_patterns_that_decide_are_the_fewest_that_bring_the_advice_about() {
        let cases: [(&[f64], &[usize]); 9] = [
            (&[0.3, 0.25, 0.1], &[0, 1, 2]),
            (&[0.1, 0.4, 0.05], &[1]),
            (&[0.15, 0.3, -0.2], &[1, 0]),
            (&[-0.1, -0.5, 0.01], &[1]),
            (&[-0.4, 0.0, -0.3], &[0, 2]),
            (&[0.15, -0.3, 0.2], &[1, 2]),
            (&[0.15], &[0]),
            (&[0.01, -0.01], &[]),
            (&[], &[]),
        ];
        for (adds, expected) in cases {
            let patterns: Vec<Pattern> = adds.iter().map(|adds| explained(*adds)).collect();
            let action = TradeAction::of_sum(adds.iter().sum());
            assert_eq!(deciding(&patterns, action), expected, "{adds:?} {action:?}");
            if action != TradeAction::Hold {
                let against = adds
                    .iter()
                    .filter(|one| **one * adds[expected[0]] < 0.0)
                    .sum::<f64>();
                assert_eq!(
                    TradeAction::of_sum(
                        against + expected.iter().map(|place| adds[*place]).sum::<f64>()
                    ),
                    action,
                    "{adds:?}"
                );
            }
        }
        let unexplained = Pattern {
            detail: None,
            ..explained(0.9)
        };
        assert_eq!(
            deciding(&[unexplained], TradeAction::StrongBuy),
            Vec::<usize>::new()
        );
    }

    fn explained(action_contribution: f64) -> Pattern {
        let closes: Vec<f64> = (0..40).map(|at| 1.0 + f64::from(at % 7) / 10.0).collect();
        let (series, candles) = (series(&closes), candles(&closes));
        let answer = super::super::AnswerBuilder {
            series: &series,
            candles: &candles.as_candles(),
        };
        let mut pattern = answer.pattern(&find(true, Some(1)));
        pattern
            .detail
            .as_mut()
            .expect("an explained pattern")
            .action_contribution = action_contribution;
        pattern
    }
}
