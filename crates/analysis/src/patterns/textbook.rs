//! Chart patterns by their textbook definitions: every rule within its tolerance, on clean turns. Rare on real markets, but reliable when
//! found. Looser shapes that chartists still call by the name are found in `market`.

mod bowl;
mod confidence;
mod flag;
mod outcome;
mod pair;
mod pivots;
mod reversal;
mod shape;

use self::shape::PatternShape;
use super::{
    Reason,
    find::{self, FoundPattern},
    name,
    series::CandleSeries,
    zigzag::{self, Pivot},
};

/// First level whose turns exceed the noise of single candles; the finer ones are for flags and pennants only.
const COARSE: i32 = 7;

/// All shapes that keep the rules, including overlapping ones: every scale and every family in turn.
pub(super) fn all(series: &CandleSeries, explain: bool) -> Vec<FoundPattern> {
    let (upright, mirrored) = (
        View::of(series, false, explain),
        View::of(series, true, explain),
    );
    let mut finds = Vec::new();
    let mut shapes = Vec::new();
    let mut turned = Vec::new();
    let mut level_pivots = pivots::finest(upright, pivots::theta(0) * series.middle);
    for level in 0..pivots::LEVELS {
        if level > 0 {
            level_pivots = pivots::coarser(&level_pivots, pivots::theta(level) * series.middle);
        }
        if level == COARSE {
            for pivot in &mut level_pivots {
                pivot.fresh = true;
            }
        }
        if level >= COARSE {
            pair::search(upright, &level_pivots, &mut shapes);
        }
        search_oriented(upright, &level_pivots, level, &mut shapes);
        finds.extend(
            shapes
                .drain(..)
                .filter_map(|shape| outcome::follow(upright, &shape, false)),
        );
        turned.clear();
        turned.extend(level_pivots.iter().map(|pivot| pivot.mirrored()));
        search_oriented(mirrored, &turned, level, &mut shapes);
        finds.extend(
            shapes
                .drain(..)
                .filter_map(|shape| outcome::follow(mirrored, &shape, true)),
        );
    }
    finds.retain(|find| find.confidence >= confidence::LEAST);
    finds
}

/// Searches the families whose mirrored forms have names of their own.
fn search_oriented(view: View<'_>, pivots: &[Pivot], level: i32, shapes: &mut Vec<PatternShape>) {
    flag::search(view, pivots, shapes);
    if level >= COARSE {
        reversal::search(view, pivots, shapes);
        bowl::search(view, pivots, shapes);
    }
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
        Self {
            slot: &series.slot,
            high: &prices.high,
            low: &prices.low,
            close: &prices.close,
            range: series.middle,
            explain,
        }
    }

    fn len(&self) -> usize {
        self.slot.len()
    }
}
