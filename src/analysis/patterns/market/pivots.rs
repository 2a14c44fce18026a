//! Turning points at every scale: zigzags over the wicks and over the bodies of candles. A reversal by theta true ranges confirms the
//! extreme before it; highs and lows strictly alternate; the first extreme and the last one, not confirmed yet, are pivots too.

use super::series::Tape;

/// Reversals over wicks, in mean true ranges of the place.
const WICKS: [f64; 5] = [0.8, 1.2, 1.8, 2.7, 4.0];
/// Reversals over bodies.
const BODIES: [f64; 3] = [0.8, 1.3, 2.2];

/// A turning point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pivot {
    /// Its place among the valid candles.
    pub(super) at: u32,
    pub(super) price: f64,
    pub(super) high: bool,
}

impl Pivot {
    pub(super) const NONE: Self = Self { at: 0, price: 0.0, high: false };

    pub(super) fn mirrored(self) -> Self {
        Self { price: -self.price, high: !self.high, ..self }
    }

    /// Candles from the place `origin`.
    pub(super) fn x(self, origin: u32) -> f64 {
        f64::from(self.at) - f64::from(origin)
    }
}

/// The turning points of one scale.
pub(super) struct Scale {
    pub(super) pivots: Vec<Pivot>,
    /// For each turn, whether the leg to the next one was not there at the finer scale, so that what spans it has not been looked at.
    pub(super) fresh: Vec<bool>,
    pub(super) theta: f64,
}

impl Scale {
    /// Whether the run of `count` turns from `start` on has not been looked at.
    pub(super) fn is_new(&self, start: usize, count: usize) -> bool {
        self.fresh[start..start + count - 1].iter().any(|fresh| *fresh)
    }
}

/// The zigzag of every scale.
pub(super) fn scales(tape: &Tape) -> Vec<Scale> {
    let wick = |i: usize| (tape.high[i], tape.low[i]);
    let body = |i: usize| (tape.open[i].max(tape.close[i]), tape.open[i].min(tape.close[i]));
    let mut scales: Vec<Scale> = Vec::new();
    for theta in WICKS {
        let pivots = zigzag(tape, theta, wick);
        let fresh = fresh(&pivots, scales.last());
        scales.push(Scale { pivots, fresh, theta });
    }
    let wicks = scales.len();
    for theta in BODIES {
        let pivots = zigzag(tape, theta, body);
        let fresh = fresh(&pivots, scales[wicks..].last());
        scales.push(Scale { pivots, fresh, theta });
    }
    scales
}

fn fresh(pivots: &[Pivot], finer: Option<&Scale>) -> Vec<bool> {
    let Some(finer) = finer else { return vec![true; pivots.len()] };
    let mut k = 0;
    let mut fresh = Vec::with_capacity(pivots.len());
    for (i, pivot) in pivots.iter().enumerate() {
        while k < finer.pivots.len() && finer.pivots[k].at < pivot.at {
            k += 1;
        }
        let known = finer.pivots[k.min(finer.pivots.len())..].iter().take_while(|old| old.at == pivot.at).position(|old| old == pivot);
        let next = known.and_then(|place| finer.pivots.get(k + place + 1));
        fresh.push(next.is_none() || next != pivots.get(i + 1));
    }
    fresh
}

fn zigzag(tape: &Tape, theta: f64, ends: impl Fn(usize) -> (f64, f64)) -> Vec<Pivot> {
    let mut walk = Walk { pivots: Vec::new(), high: Pivot::NONE, low: Pivot::NONE, seeks: Seeks::Start };
    for i in 0..tape.len() {
        let (high, low) = ends(i);
        let at = i as u32;
        walk.see(Pivot { at, price: high, high: true }, Pivot { at, price: low, high: false }, theta * tape.range[i]);
    }
    walk.end()
}

/// A zigzag being walked.
struct Walk {
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
    fn see(&mut self, high: Pivot, low: Pivot, theta: f64) {
        match self.seeks {
            Seeks::High if high.price > self.high.price => self.high = high,
            Seeks::High if self.high.price - low.price >= theta => {
                self.pivots.push(self.high);
                (self.low, self.seeks) = (low, Seeks::Low);
            }
            Seeks::Low if low.price < self.low.price => self.low = low,
            Seeks::Low if high.price - self.low.price >= theta => {
                self.pivots.push(self.low);
                (self.high, self.seeks) = (high, Seeks::High);
            }
            Seeks::High | Seeks::Low => {}
            Seeks::Start => (self.high, self.low, self.seeks) = (high, low, Seeks::Either),
            Seeks::Either => self.start(high, low, theta),
        }
    }

    fn start(&mut self, high: Pivot, low: Pivot, theta: f64) {
        if high.price > self.high.price {
            self.high = high;
        }
        if low.price < self.low.price {
            self.low = low;
        }
        // Within one candle nobody knows which came first.
        if self.high.price - self.low.price < theta || self.high.at == self.low.at {
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
