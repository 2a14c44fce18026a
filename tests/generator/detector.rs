//! Adapts the program's pattern detector to the scorer: converts `Bars` to its input and its patterns to `Found`. Shared by benches and
//! tests.

use analysis::{patterns::patterns, timeframes::CandleVec};
use model::time::DAY_MS;

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
    let found = patterns(&candles.as_candles(), false)
        .patterns
        .into_iter()
        .map(|pattern| Found {
            name: pattern.name.word(),
            start: pattern.start_index,
            end: pattern.end_index,
            confidence: pattern.confidence,
            completion: pattern.completion_percent,
            movement: pattern.projected_movement,
        });
    found.collect()
}
