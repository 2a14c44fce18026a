//! Textbook search: every scale and every family in turn.

use super::{
    View, bowl,
    find::{FoundPattern, Pivot},
    flag, outcome, pair, pivots, reversal,
    series::CandleSeries,
    shape::PatternShape,
    zigzag::Extreme as _,
};

/// First level whose turns exceed the noise of single candles; the finer ones are for flags and pennants only.
const COARSE: i32 = 7;

/// All valid patterns, including overlapping ones.
pub(super) fn all(series: &CandleSeries, explain: bool) -> Vec<FoundPattern> {
    let (upright, mirrored) = (View::of(series, false, explain), View::of(series, true, explain));
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
        finds.extend(shapes.drain(..).filter_map(|shape| outcome::follow(upright, &shape, false)));
        turned.clear();
        turned.extend(level_pivots.iter().map(|pivot| pivot.mirrored()));
        search_oriented(mirrored, &turned, level, &mut shapes);
        finds.extend(shapes.drain(..).filter_map(|shape| outcome::follow(mirrored, &shape, true)));
    }
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
