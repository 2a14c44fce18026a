//! Turning points at every scale: a zigzag over the candles, then coarser ones over the turns that are left, whose reversals are in
//! median true ranges.

use super::{View, find::Pivot, zigzag::Walk};

/// The finest zigzag, in median true ranges.
pub(super) const FINEST: f64 = 0.55;
/// Each next one is coarser by the fourth root of two: twice as many as between the ten scales of 0.55 to 15 true ranges that the
/// definitions were tried with, because a pattern whose smallest swing is hardly larger than its noise shows at few scales.
const STEP: f64 = 1.189_207_115_002_721;
pub(super) const LEVELS: i32 = 21;

/// Theta of a level, in median true ranges.
pub(super) fn theta(level: i32) -> f64 {
    FINEST * STEP.powi(level)
}

/// The zigzag over the candles.
pub(super) fn finest(view: View<'_>, theta: f64) -> Vec<Pivot> {
    let mut walk = Walk::new(view.len() / 4);
    for i in 0..view.len() {
        let (at, slot) = (i as u32, view.slot[i]);
        walk.see(
            Pivot { at, slot, price: view.high[i], high: true, fresh: true },
            Pivot { at, slot, price: view.low[i], high: false, fresh: true },
            theta,
        );
    }
    walk.end()
}

/// The zigzag of a larger theta, which needs only the turns of the smaller one.
pub(super) fn coarser(finer: &[Pivot], theta: f64) -> Vec<Pivot> {
    let mut walk = Walk::new(finer.len());
    for pivot in finer {
        walk.see(*pivot, *pivot, theta);
    }
    let mut pivots = walk.end();
    // A leg is fresh where turns between its ends were left out.
    let mut old = finer.iter();
    let mut previous: Option<usize> = None;
    for k in 0..pivots.len() {
        let gone = old.by_ref().take_while(|pivot| pivot.at != pivots[k].at || pivot.high != pivots[k].high).count();
        if let Some(previous) = previous {
            pivots[previous].fresh = gone > 0;
        }
        pivots[k].fresh = false;
        previous = Some(k);
    }
    pivots
}

/// Where the next fresh leg is, asked for places that never go back. Most turns of a scale were there at the finer one.
pub(super) struct Fresh<'a> {
    pivots: &'a [Pivot],
    next: usize,
}

impl<'a> Fresh<'a> {
    pub(super) fn new(pivots: &'a [Pivot]) -> Self {
        Self { pivots, next: 0 }
    }

    /// Whether one begins at the turns from `from` to before `to`.
    pub(super) fn is_any(&mut self, from: usize, to: usize) -> bool {
        self.next = self.next.max(from);
        while self.pivots.get(self.next).is_some_and(|pivot| !pivot.fresh) {
            self.next += 1;
        }
        self.next < to.min(self.pivots.len())
    }
}
