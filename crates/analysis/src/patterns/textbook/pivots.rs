//! Turning points at every scale: a zigzag over the candles, then coarser ones over its turns, with reversal thresholds in median true
//! ranges.

use super::{
    View,
    zigzag::{Pivot, ZigzagBuilder},
};

/// Threshold of the finest zigzag, in median true ranges.
pub(super) const FINEST: f64 = 0.55;
/// Ratio of successive thresholds, the fourth root of two: twice as many scales as the ten from 0.55 to 15 true ranges on which the
/// definitions were tried, because a pattern whose smallest swing hardly exceeds its noise appears at few scales.
const STEP: f64 = 1.189_207_115_002_721;
pub(super) const LEVELS: i32 = 21;

/// Reversal threshold of a level, in median true ranges.
pub(super) fn theta(level: i32) -> f64 {
    FINEST * STEP.powi(level)
}

/// The zigzag over the candles.
pub(super) fn finest(view: View<'_>, theta: f64) -> Vec<Pivot> {
    let mut zigzag = ZigzagBuilder::new(view.len() / 4);
    for i in 0..view.len() {
        let (at, slot) = (i as u32, view.slot[i]);
        zigzag.push(
            Pivot {
                at,
                slot,
                price: view.high[i],
                high: true,
                fresh: true,
            },
            Pivot {
                at,
                slot,
                price: view.low[i],
                high: false,
                fresh: true,
            },
            theta,
        );
    }
    zigzag.finish()
}

/// The zigzag with a larger threshold, computed from the turns of the finer one.
pub(super) fn coarser(finer: &[Pivot], theta: f64) -> Vec<Pivot> {
    let mut zigzag = ZigzagBuilder::new(finer.len());
    for pivot in finer {
        zigzag.push(*pivot, *pivot, theta);
    }
    let mut pivots = zigzag.finish();
    // A leg is fresh if turns between its ends were dropped.
    let mut old = finer.iter();
    let mut previous: Option<usize> = None;
    for k in 0..pivots.len() {
        let gone = old
            .by_ref()
            .take_while(|pivot| pivot.at != pivots[k].at || pivot.high != pivots[k].high)
            .count();
        if let Some(previous) = previous {
            pivots[previous].fresh = gone > 0;
        }
        pivots[k].fresh = false;
        previous = Some(k);
    }
    pivots
}

/// Finds the next fresh leg, for non-decreasing queries. Most legs of a scale exist at the finer one, too.
pub(super) struct Fresh<'a> {
    pivots: &'a [Pivot],
    next: usize,
}

impl<'a> Fresh<'a> {
    pub(super) fn new(pivots: &'a [Pivot]) -> Self {
        Self { pivots, next: 0 }
    }

    /// Whether a fresh leg begins at the turns `from..to`.
    pub(super) fn is_any(&mut self, from: usize, to: usize) -> bool {
        self.next = self.next.max(from);
        while self.pivots.get(self.next).is_some_and(|pivot| !pivot.fresh) {
            self.next += 1;
        }
        self.next < to.min(self.pivots.len())
    }
}
