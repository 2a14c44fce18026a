//! Chart patterns by their textbook definitions: every rule within its tolerance, on clean turns. Rare on real markets, but reliable when
//! found. Looser shapes that chartists still call by the name are found in `market`.

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

/// All shapes that keep the rules, including overlapping ones.
pub(super) fn all(series: &CandleSeries, explain: bool) -> Vec<FoundPattern> {
    let mut finds = search::all(series, explain);
    finds.retain(|find| find.confidence >= confidence::LEAST);
    finds
}

/// Input of the searches: the candles, upright or upside down.
#[derive(Clone, Copy)]
struct View<'a> {
    slot: &'a [u32],
    high: &'a [f64],
    low: &'a [f64],
    close: &'a [f64],
    /// Median true range.
    range: f64,
    /// Whether to record the contributions to each confidence.
    explain: bool,
}

impl<'a> View<'a> {
    fn of(series: &'a CandleSeries, flipped: bool, explain: bool) -> Self {
        let prices = series.oriented(flipped);
        Self { slot: &series.slot, high: &prices.high, low: &prices.low, close: &prices.close, range: series.middle, explain }
    }

    fn len(&self) -> usize {
        self.slot.len()
    }
}
