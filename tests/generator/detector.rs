//! What the program finds in the bars of the labelled chart patterns, as their judge wants it. Stands beside a generator's `Bars` and
//! `Found`, for the figures that are printed and for those that are tested.

use tokendeck::{
    analysis::{frames::CandleVec, patterns::patterns},
    dataset::time::DAY_MS,
};

use super::{Bars, Found};

pub(super) fn detect(bars: &Bars) -> Vec<Found> {
    let candles = CandleVec {
        timestamp: (0..bars.len() as i64).map(|i| i * DAY_MS).collect(),
        open: bars.open.clone(),
        high: bars.high.clone(),
        low: bars.low.clone(),
        close: bars.close.clone(),
        volume: bars.volume.clone(),
    };
    let found = patterns(&candles.as_candles(), false).patterns.into_iter().map(|pattern| Found {
        name: pattern.name.word(),
        start: pattern.start_index,
        end: pattern.end_index,
        confidence: pattern.confidence,
        completion: pattern.completion_percent,
        movement: pattern.projected_movement,
    });
    found.collect()
}
