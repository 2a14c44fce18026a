//! Whether a token holds a peg to the dollar, judged from its candles alone. What follows from that for patterns and trends stands there.

use schemars::JsonSchema;
use serde::Serialize;

use super::numeric::{finite, median, quantile};
use model::{candles::Candles, time::DAY_MS};

/// USD that a pegged token is worth.
const PRICE: f64 = 1.0;
/// Most that the median close may be off the peg, as a fraction of it.
const OFF_MOST: f64 = 0.02;
/// Most that a usual close may be off the median: a token that merely pauses at a dollar moves more.
const MOVES_MOST: f64 = 0.01;
/// Share of the closes that are usual ones; a few days of fear leave a stablecoin one.
const USUAL: f64 = 0.95;
/// Days before the last candle that count.
const DAYS: i64 = 90;
/// Days and candles that must be known of these: 90 days are 13 weeks.
const DAYS_LEAST: i64 = 30;
const CANDLES_LEAST: usize = 12;

/// How a token holds its peg.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Peg {
    /// USD that it is meant to be worth.
    pub price: f64,
    /// Percent of that price within which 95 of 100 closes of the last 90 days lie.
    pub within_percent: f64,
}

/// The token's peg; `None` of one that has none, or of which fewer than 30 days are known.
pub fn peg(candles: &Candles<'_>) -> Option<Peg> {
    let last = *candles.timestamp.last()?;
    let from = candles.timestamp.partition_point(|time| *time <= last - DAYS * DAY_MS);
    let sound = |at: &usize| candles.close[*at].is_finite() && candles.close[*at] > 0.0;
    let first = (from..candles.len()).find(sound)?;
    if last - candles.timestamp[first] < DAYS_LEAST * DAY_MS {
        return None;
    }
    let mut closes: Vec<f64> = (first..candles.len()).filter(sound).map(|at| candles.close[at]).collect();
    if closes.len() < CANDLES_LEAST {
        return None;
    }
    let middle = median(&mut closes);
    let usual = |about: f64| quantile(&mut closes.iter().map(|close| (close / about - 1.0).abs()).collect::<Vec<_>>(), USUAL);
    let holds = (middle / PRICE - 1.0).abs() <= OFF_MOST && usual(middle) <= MOVES_MOST;
    holds.then(|| Peg { price: PRICE, within_percent: finite(100.0 * usual(PRICE)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::CandleVec;

    /// Daily candles with these closes.
    fn candles(closes: impl IntoIterator<Item = f64>) -> CandleVec {
        let mut candles = CandleVec::default();
        for (day, close) in closes.into_iter().enumerate() {
            candles.timestamp.push(day as i64 * DAY_MS);
            candles.open.push(close);
            candles.high.push(close);
            candles.low.push(close);
            candles.close.push(close);
            candles.volume.push(1.0);
        }
        candles
    }

    fn wave(about: f64, height: f64, days: usize) -> Vec<f64> {
        (0..days).map(|day| about * (1.0 + height * (day as f64).sin())).collect()
    }

    #[test]
    fn a_dollar_that_hardly_moves_is_a_peg() {
        let fear =
            |days: usize| wave(1.0, 0.001, 90).into_iter().enumerate().map(|(at, close)| if at < days { 0.88 } else { close }).collect();
        let missing = wave(1.0, 0.001, 60).into_iter().enumerate().map(|(at, close)| if at % 2 == 0 { f64::NAN } else { close }).collect();
        let cases: Vec<(&str, Vec<f64>, Option<f64>)> = vec![
            ("holds", wave(1.0, 0.001, 90), Some(0.1)),
            ("holds a little lower", wave(0.99, 0.001, 90), Some(1.1)),
            ("not at a dollar", wave(0.97, 0.001, 90), None),
            ("moves", wave(1.0, 0.012, 90), None),
            ("four days of fear", fear(4), Some(0.1)),
            ("ten days of fear", fear(10), None),
            ("the fear of last year", [vec![0.5; 200], wave(1.0, 0.001, 91)].concat(), Some(0.1)),
            ("thirty days", wave(1.0, 0.001, 31), Some(0.1)),
            ("too short", wave(1.0, 0.001, 30), None),
            ("every second close", missing, Some(0.1)),
            ("nothing", Vec::new(), None),
        ];
        for (case, closes, within) in cases {
            let found = peg(&candles(closes).as_candles()).map(|peg| peg.within_percent);
            assert_eq!(found.map(|percent| (percent * 10.0).round() / 10.0), within, "{case}: {found:?}");
        }
    }

    #[test]
    fn weeks_tell_it_as_days_do() {
        let mut weeks = candles(wave(1.0, 0.001, 40));
        weeks.timestamp.iter_mut().for_each(|time| *time *= 7);
        assert!(peg(&weeks.as_candles()).is_some());
    }
}
