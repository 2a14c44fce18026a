//! Trading while a pattern formed: one with few traded candles or few price steps has a lower fit. Knows nothing of searches and models.

use super::{Reason, find::FoundPattern, series::CandleSeries};
use crate::numeric::quantile;

/// Share of a pattern's candles that may be without trades for nothing: quiet hours are in any market.
const TRADED_ENOUGH: f64 = 0.9;
/// Price steps of a height that is drawn well enough.
const STEPS_ENOUGH: f64 = 10.0;
/// Share of the distances between candles that may be shorter than one: a few rows are off their grid.
const STRAY: f64 = 0.1;
/// Prices whose logarithms are nearer than this are the same, but for rounding.
const SAME: f64 = 1e-9;
/// Between prices further apart than this, no levels stand so close that all steps are at most `SAME`.
const APART: f64 = 1e-4;

/// The market around the patterns of a series.
pub(super) struct Trading<'a> {
    series: &'a CandleSeries,
    /// Start of each slot.
    timestamp: &'a [i64],
    /// Time from one candle to the next where none is missing.
    step: i64,
}

impl<'a> Trading<'a> {
    pub(super) fn of(series: &'a CandleSeries, timestamp: &'a [i64]) -> Self {
        let mut steps: Vec<f64> = timestamp
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        Self {
            series,
            timestamp,
            step: (quantile(&mut steps, STRAY) as i64).max(1),
        }
    }

    /// Lowers the confidence in proportion to what is missing, and adds the reasons if there are any already.
    pub(super) fn weigh(&self, find: &mut FoundPattern) {
        let (start, end) = (find.start as usize, find.end(self.series.len()) as usize);
        let (traded, steps) = (self.traded(start, end), self.steps(start, end, find.height));
        for (measure, value, enough) in [
            ("share of its candles with trades", traded, TRADED_ENOUGH),
            ("its height in price steps", steps, STEPS_ENOUGH),
        ] {
            if value >= enough {
                continue;
            }
            let odds = |confidence: f64| (confidence / (1.0 - confidence)).ln();
            let before = odds(find.confidence);
            find.confidence *= value / enough;
            let contribution = odds(find.confidence) - before;
            if !find.why.is_empty() && contribution.is_finite() {
                let place = find
                    .why
                    .iter()
                    .position(|reason| reason.contribution.abs() < contribution.abs());
                let last = find.why.len() - 1;
                find.why.insert(
                    place.unwrap_or(last).min(last),
                    Reason {
                        measure,
                        value,
                        contribution,
                    },
                );
            }
        }
    }

    /// Share of the candles from one to another that moved, of all that their time has room for.
    fn traded(&self, start: usize, end: usize) -> f64 {
        let prices = &self.series.upright;
        let moved = |at: &usize| {
            prices.high[*at] > prices.low[*at]
                || at
                    .checked_sub(1)
                    .is_some_and(|before| prices.close[before] != prices.close[*at])
        };
        let time = |at: usize| self.timestamp[self.series.slot[at] as usize];
        let room = (time(end) - time(start)) / self.step + 1;
        (start..=end).filter(moved).count() as f64 / room as f64
    }

    /// The height in the smallest step between its prices, or more than enough; infinite for one price.
    fn steps(&self, start: usize, end: usize, height: f64) -> f64 {
        let prices = &self.series.upright;
        // A short wick holds a step that is short enough: then the levels need no sorting.
        let small = APART..=height / STEPS_ENOUGH;
        if (start..=end).any(|at| small.contains(&(prices.high[at] - prices.close[at]))) {
            return STEPS_ENOUGH;
        }
        let mut levels: Vec<f64> = [&prices.open, &prices.high, &prices.low, &prices.close]
            .map(|column| &column[start..=end])
            .concat();
        levels.sort_unstable_by(f64::total_cmp);
        let steps = levels
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|step| *step > SAME);
        let smallest = steps.fold(f64::INFINITY, f64::min);
        if smallest.is_finite() {
            height / smallest
        } else {
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{patterns::find::sample, timeframes::CandleVec};
    use model::time::DAY_MS;

    /// Closes at these days, each candle as high as its way from the one before.
    fn candles(closes: &[(i64, f64)]) -> CandleVec {
        let mut candles = CandleVec::default();
        let mut before = closes[0].1;
        for (day, close) in closes {
            candles.timestamp.push(day * DAY_MS);
            candles.open.push(before);
            candles.high.push(close.max(before));
            candles.low.push(close.min(before));
            candles.close.push(*close);
            candles.volume.push(1.0);
            before = *close;
        }
        candles
    }

    fn weighed(closes: &[(i64, f64)], height: f64) -> FoundPattern {
        let candles = candles(closes);
        let series = CandleSeries::of(&candles.as_candles(), 1).expect("they move");
        let base = Reason {
            measure: Reason::BASE,
            value: 0.0,
            contribution: 0.4,
        };
        let why = vec![
            Reason {
                measure: "larger",
                value: 0.0,
                contribution: 3.0,
            },
            base,
        ];
        let mut find = FoundPattern {
            start: 1,
            height,
            confidence: 0.6,
            why,
            ..sample(true, None)
        };
        Trading::of(&series, &candles.timestamp).weigh(&mut find);
        find
    }

    /// Prices that never repeat a step, around 1.
    fn price(day: i64) -> f64 {
        1.0 + 0.1 * (day as f64 * 1.7).sin()
    }

    #[test]
    fn candles_without_trades_and_coarse_steps_lower_the_confidence() {
        let fine = |days: i64| (0..=days).map(|day| (day, price(day))).collect::<Vec<_>>();
        // Of 20 days after the first, every so many without a move, or without a candle.
        let still = |every: i64| {
            fine(20)
                .into_iter()
                .map(|(day, _)| (day, price(day - i64::from(day % every == 0))))
                .collect::<Vec<_>>()
        };
        let gaps = |every: i64| {
            fine(20)
                .into_iter()
                .filter(|(day, _)| day % every != 0 || *day == 0)
                .collect::<Vec<_>>()
        };
        let steps = |steps: f64| {
            fine(20)
                .into_iter()
                .map(|(day, close)| (day, (close * steps).round() / steps))
                .collect::<Vec<_>>()
        };
        for (case, closes, height, expected) in [
            ("all traded", fine(20), 0.2, 0.6),
            ("every tenth still", still(10), 0.2, 0.6),
            ("every fifth still", still(5), 0.2, 0.6 * 0.8 / 0.9),
            ("half still", still(2), 0.2, 0.6 * 0.5 / 0.9),
            (
                "a stray row beside the grid",
                [fine(20), vec![(21, price(21))]].concat(),
                0.2,
                0.6,
            ),
            (
                "every fourth missing",
                gaps(4),
                0.2,
                0.6 * (15.0 / 19.0) / 0.9,
            ),
        ] {
            let found = weighed(&closes, height).confidence;
            assert!(
                (found - expected).abs() < 1e-3,
                "{case}: {found} for {expected}"
            );
        }
        let coarse = weighed(&steps(20.0), 0.2).confidence;
        assert!(coarse < 0.6 * 0.5, "four steps of ten: {coarse}");
    }

    #[test]
    fn the_reasons_still_add_up_and_say_which() {
        let closes: Vec<(i64, f64)> = (0..=20).map(|day| (day, price(day - day % 2))).collect();
        let find = weighed(&closes, 0.2);
        let odds = |confidence: f64| (confidence / (1.0 - confidence)).ln();
        let added: f64 = find.why.iter().map(|reason| reason.contribution).sum();
        assert!((added - 3.4 - (odds(find.confidence) - odds(0.6))).abs() < 1e-9);
        let told: Vec<&str> = find.why.iter().map(|reason| reason.measure).collect();
        assert_eq!(
            told,
            ["larger", "share of its candles with trades", Reason::BASE]
        );
    }
}
