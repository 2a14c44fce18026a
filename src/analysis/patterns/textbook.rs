//! Patterns as textbooks define them: every rule with its tolerance kept, on clean turns. Rare on real markets, and certain where they
//! are found. What a chartist would still call by the name is `market`'s.

mod bowl;
mod confidence;
mod flag;
mod outcome;
mod pair;
mod pivots;
mod reversal;
mod search;
mod shape;

use super::{Reason, find, find::FoundPattern, name, series, series::CandleSeries, zigzag};

/// All that keep the rules, overlapping.
pub(super) fn all(series: &CandleSeries, explain: bool) -> Vec<FoundPattern> {
    let mut finds = search::all(series, explain);
    finds.retain(|find| find.confidence >= confidence::LEAST);
    finds
}

/// What the searches look at: the candles as they are, or upside down.
#[derive(Clone, Copy)]
struct View<'a> {
    slot: &'a [u32],
    high: &'a [f64],
    low: &'a [f64],
    close: &'a [f64],
    /// The median true range.
    range: f64,
    /// Whether finds are to say what made them sure.
    explain: bool,
}

impl<'a> View<'a> {
    fn of(series: &'a CandleSeries, flipped: bool, explain: bool) -> Self {
        let tape = series.tape(flipped);
        Self { slot: &series.slot, high: &tape.high, low: &tape.low, close: &tape.close, range: series.middle, explain }
    }

    fn len(&self) -> usize {
        self.slot.len()
    }
}
