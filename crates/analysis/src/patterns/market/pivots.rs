//! Turning points at every scale: zigzags over the wicks and over the bodies of candles, with reversal thresholds in local mean true
//! ranges.

use super::{
    series::LogPrices,
    zigzag::{Pivot, ZigzagBuilder},
};

/// Reversal thresholds over highs and lows, in local mean true ranges.
const WICKS: [f64; 5] = [0.8, 1.2, 1.8, 2.7, 4.0];
/// Reversal thresholds over candle bodies.
const BODIES: [f64; 3] = [0.8, 1.3, 2.2];

/// Turning points at one scale.
pub(super) struct PivotScale {
    pub(super) pivots: Vec<Pivot>,
    /// For each turn, the minimum number of turns of a run from it that spans a leg absent at the next finer scale; shorter runs have been
    /// examined there.
    fresh: Vec<u32>,
    pub(super) theta: f64,
}

impl PivotScale {
    /// Number of turns of the shortest run from `start` on that was not examined at a finer scale.
    pub(super) fn new_from(&self, start: usize) -> usize {
        self.fresh[start] as usize
    }

    /// Whether the run of `count` turns from `start` on was not examined at a finer scale.
    pub(super) fn is_new(&self, start: usize, count: usize) -> bool {
        self.new_from(start) <= count
    }
}

/// Zigzags at every scale.
pub(super) fn scales(prices: &LogPrices) -> Vec<PivotScale> {
    let wick = |i: usize| (prices.high[i], prices.low[i]);
    let body = |i: usize| {
        (
            prices.open[i].max(prices.close[i]),
            prices.open[i].min(prices.close[i]),
        )
    };
    let mut scales: Vec<PivotScale> = Vec::new();
    for theta in WICKS {
        let pivots = zigzag(prices, theta, wick);
        let fresh = fresh(&pivots, scales.last());
        scales.push(PivotScale {
            pivots,
            fresh,
            theta,
        });
    }
    let wicks = scales.len();
    for theta in BODIES {
        let pivots = zigzag(prices, theta, body);
        let fresh = fresh(&pivots, scales[wicks..].last());
        scales.push(PivotScale {
            pivots,
            fresh,
            theta,
        });
    }
    scales
}

fn fresh(pivots: &[Pivot], finer: Option<&PivotScale>) -> Vec<u32> {
    let Some(finer) = finer else {
        return vec![2; pivots.len()];
    };
    let mut k = 0;
    let mut fresh = Vec::with_capacity(pivots.len());
    for (i, pivot) in pivots.iter().enumerate() {
        while k < finer.pivots.len() && finer.pivots[k].at < pivot.at {
            k += 1;
        }
        let known = finer.pivots[k.min(finer.pivots.len())..]
            .iter()
            .take_while(|old| old.at == pivot.at)
            .position(|old| old == pivot);
        let next = known.and_then(|place| finer.pivots.get(k + place + 1));
        fresh.push(if next.is_none() || next != pivots.get(i + 1) {
            2
        } else {
            u32::MAX
        });
    }
    for i in (1..fresh.len()).rev() {
        fresh[i - 1] = fresh[i - 1].min(fresh[i].saturating_add(1));
    }
    fresh
}

fn zigzag(prices: &LogPrices, theta: f64, ends: impl Fn(usize) -> (f64, f64)) -> Vec<Pivot> {
    let mut zigzag = ZigzagBuilder::new(prices.len() / 8);
    for i in 0..prices.len() {
        let (high, low) = ends(i);
        zigzag.push(
            Pivot::new(i, high, true),
            Pivot::new(i, low, false),
            theta * prices.range[i],
        );
    }
    zigzag.finish()
}
