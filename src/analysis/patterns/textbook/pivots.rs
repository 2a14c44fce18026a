//! Turning points at every scale: a zigzag over the candles, then coarser ones over the turns that are left. A reversal of theta
//! confirms the extreme before it; highs and lows strictly alternate; the last extreme, not confirmed yet, is a pivot too.

use super::{View, find::Pivot};

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
    let mut walk = Walk::new(theta, view.len() / 4);
    for i in 0..view.len() {
        let (at, slot) = (i as u32, view.slot[i]);
        walk.see(
            Pivot { at, slot, price: view.high[i], high: true, fresh: true },
            Pivot { at, slot, price: view.low[i], high: false, fresh: true },
        );
    }
    walk.end()
}

/// The zigzag of a larger theta, which needs only the turns of the smaller one.
pub(super) fn coarser(finer: &[Pivot], theta: f64) -> Vec<Pivot> {
    let mut walk = Walk::new(theta, finer.len());
    for pivot in finer {
        walk.see(*pivot, *pivot);
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

/// A zigzag being walked.
struct Walk {
    theta: f64,
    pivots: Vec<Pivot>,
    /// The extremes since the last confirmed pivot; both matter until the first is confirmed.
    high: Pivot,
    low: Pivot,
    seeks: Seeks,
}

#[derive(Clone, Copy, PartialEq)]
enum Seeks {
    Start,
    Either,
    High,
    Low,
}

impl Walk {
    fn new(theta: f64, room: usize) -> Self {
        Self { theta, pivots: Vec::with_capacity(room), high: Pivot::NONE, low: Pivot::NONE, seeks: Seeks::Start }
    }

    /// The next candle's high and low, or a turn twice.
    fn see(&mut self, high: Pivot, low: Pivot) {
        match self.seeks {
            Seeks::High if high.price > self.high.price => self.high = high,
            Seeks::High if self.high.price - low.price >= self.theta => {
                self.pivots.push(self.high);
                (self.low, self.seeks) = (low, Seeks::Low);
            }
            Seeks::Low if low.price < self.low.price => self.low = low,
            Seeks::Low if high.price - self.low.price >= self.theta => {
                self.pivots.push(self.low);
                (self.high, self.seeks) = (high, Seeks::High);
            }
            Seeks::High | Seeks::Low => {}
            Seeks::Start => (self.high, self.low, self.seeks) = (high, low, Seeks::Either),
            Seeks::Either => self.start(high, low),
        }
    }

    fn start(&mut self, high: Pivot, low: Pivot) {
        if high.price > self.high.price {
            self.high = high;
        }
        if low.price < self.low.price {
            self.low = low;
        }
        // Within one candle nobody knows which came first.
        if self.high.price - self.low.price < self.theta || self.high.at == self.low.at {
            return;
        }
        if self.low.at < self.high.at {
            self.pivots.push(self.low);
            self.seeks = Seeks::High;
        } else {
            self.pivots.push(self.high);
            self.seeks = Seeks::Low;
        }
    }

    /// All pivots, the live extreme last.
    fn end(mut self) -> Vec<Pivot> {
        match self.seeks {
            Seeks::High => self.pivots.push(self.high),
            Seeks::Low => self.pivots.push(self.low),
            Seeks::Start | Seeks::Either => {}
        }
        self.pivots
    }
}
