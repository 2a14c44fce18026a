//! Window of candles for trendlines: the valid ones of the last slots, their prices divided by a power of two, and the tolerance of a
//! touch. Lines are unknown here.

use crate::numeric::{median, power_of_two, quantile};
use model::candles::Candles;

/// Valid candles of the window, oldest first. All columns have the same length, at least 2.
pub(super) struct Window {
    /// Index of the window's start in the series.
    pub(super) start: usize,
    /// Number of candle slots in the window, including invalid ones.
    pub(super) slots: usize,
    /// Slot of each valid candle: 0 is the window's oldest.
    pub(super) x: Vec<f64>,
    pub(super) open: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) close: Vec<f64>,
    /// Divisor of the prices: a power of two, so the division is exact.
    scale: f64,
}

/// Distance units of a window.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// Median true range (Wilder 1978) of a candle.
    pub(super) true_range: f64,
    /// Maximum distance from the line at which an extreme touches it, or a close is not beyond it: 0.35 of the median true range, at least
    /// 1% and at most 4% of the range between the 2nd and 98th percentile of prices.
    pub(super) tolerance: f64,
}

impl Window {
    /// The shortest run of last slots with `period` valid candles, or with all of them; `None` with fewer than two.
    pub(super) fn last(candles: &Candles, period: usize) -> Option<Self> {
        let mut slots: Vec<usize> = (0..candles.len())
            .rev()
            .filter(|&i| candles.valid(i))
            .take(period)
            .collect();
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

    /// Log closes. Next to a price 1e300 times larger, a close can round to 0, which has no logarithm.
    pub(super) fn logs(&self) -> Vec<f64> {
        self.close
            .iter()
            .map(|close| close.max(f64::MIN_POSITIVE).ln())
            .collect()
    }

    /// Slot of the latest valid candle.
    pub(super) fn last_slot(&self) -> usize {
        self.x.last().map_or(0, |&slot| slot as usize)
    }

    /// Converts a scaled figure back to the dataset's prices.
    pub(super) fn unscaled(&self, figure: f64) -> f64 {
        figure * self.scale
    }

    /// Uses medians and quantiles, which are robust against a flash-crash wick.
    pub(super) fn measure(&self) -> Measure {
        let mut ranges: Vec<f64> = (0..self.len())
            .map(|i| {
                let before = self.close[i.saturating_sub(1)];
                if i == 0 {
                    self.high[0] - self.low[0]
                } else {
                    self.high[i].max(before) - self.low[i].min(before)
                }
            })
            .collect();
        let range = quantile(&mut self.high.clone(), 0.98) - quantile(&mut self.low.clone(), 0.02);
        let true_range = median(&mut ranges);
        Measure {
            true_range,
            tolerance: (0.35 * true_range).max(0.01 * range).min(0.04 * range),
        }
    }
}
