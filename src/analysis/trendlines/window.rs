//! The candles a trendline is drawn on: the valid ones of the last slots, their prices divided by a power of two, and how near the
//! line a touch must be. No lines here.

use crate::{
    analysis::numeric::{median, quantile},
    dataset::candles::Candles,
};

/// The valid candles of the window, oldest first. All columns have one length, at least 2.
pub(super) struct Window {
    /// Where the window starts in the series.
    pub(super) start: usize,
    /// Candle slots in the window, invalid ones among them.
    pub(super) slots: usize,
    /// Slot of each valid candle: 0 at the window's oldest.
    pub(super) x: Vec<f64>,
    pub(super) open: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) close: Vec<f64>,
    /// What the prices were divided by: a power of two, so no digit is lost.
    scale: f64,
}

/// The unit of distance in this window.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// The median true range (Wilder 1978) of a candle.
    pub(super) true_range: f64,
    /// How far from the line a tip still touches it and a close is not yet beyond it: 0.35 of the median true range, at least 1 % and
    /// at most 4 % of the range of prices between their 2nd and 98th hundredth.
    pub(super) tolerance: f64,
}

impl Window {
    /// The shortest run of last slots that holds `period` valid candles, or all that there are; None with fewer than two of them.
    pub(super) fn last(candles: &Candles, period: usize) -> Option<Self> {
        let mut slots: Vec<usize> = (0..candles.len()).rev().filter(|&i| candles.valid(i)).take(period).collect();
        slots.reverse();
        let (&start, _) = slots.split_first().filter(|(_, more)| !more.is_empty())?;
        let scale = power_of_two(slots.iter().map(|&i| candles.high[i]).fold(0.0, f64::max));
        let share = scale.recip();
        let column = |prices: &[f64]| slots.iter().map(|&i| prices[i] * share).collect();
        Some(Self {
            start,
            slots: candles.len() - start,
            x: slots.iter().map(|&i| (i - start) as f64).collect(),
            open: column(candles.open),
            high: column(candles.high),
            low: column(candles.low),
            close: column(candles.close),
            scale,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    pub(super) fn closes(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.x.iter().copied().zip(self.close.iter().copied())
    }

    /// Logarithms of the closes. Next to a price 1e300 times its own a close can round to 0, which has none.
    pub(super) fn logs(&self) -> Vec<f64> {
        self.close.iter().map(|close| close.max(f64::MIN_POSITIVE).ln()).collect()
    }

    /// The slot of the latest valid candle.
    pub(super) fn last_slot(&self) -> usize {
        self.x.last().map_or(0, |&slot| slot as usize)
    }

    /// A figure in prices as the dataset has them.
    pub(super) fn unscaled(&self, figure: f64) -> f64 {
        figure * self.scale
    }

    /// Medians and quantiles, because one wick in a flash crash must not widen them.
    pub(super) fn measure(&self) -> Measure {
        let mut ranges: Vec<f64> = (0..self.len())
            .map(|i| {
                let before = self.close[i.saturating_sub(1)];
                if i == 0 { self.high[0] - self.low[0] } else { self.high[i].max(before) - self.low[i].min(before) }
            })
            .collect();
        let range = quantile(&mut self.high.clone(), 0.98) - quantile(&mut self.low.clone(), 0.02);
        let true_range = median(&mut ranges);
        Measure { true_range, tolerance: (0.35 * true_range).max(0.01 * range).min(0.04 * range) }
    }
}

/// The largest power of two that is not above the price, kept where its reciprocal is still exact.
fn power_of_two(price: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(price.clamp(1e-300, 1e300).to_bits() & EXPONENT)
}
