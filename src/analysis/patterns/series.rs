//! The candles that take part, as logarithms of prices, and the same upside down. No patterns here.

use crate::dataset::candles::Candles;

/// The valid candles, oldest first. All columns have one length.
pub(super) struct Series {
    /// Each candle's place in the frame.
    pub(super) slot: Vec<u32>,
    /// Natural logarithms of prices divided by a power of two, so that prices scaled by one give the same digits.
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) close: Vec<f64>,
    /// The median true range (Wilder 1978) of a candle that moved at all; a median, because one flash wick must not change it.
    pub(super) range: f64,
    /// ln of that power of two.
    shift: f64,
}

impl Series {
    /// None with fewer than `least` valid candles, or where no price ever moves.
    pub(super) fn of(candles: &Candles<'_>, least: usize) -> Option<Self> {
        let slots: Vec<usize> = (0..candles.len()).filter(|&i| candles.valid(i)).collect();
        if slots.len() < least {
            return None;
        }
        let unit = power_of_two(candles.close[slots[0]]);
        let column = |prices: &[f64]| -> Vec<f64> { slots.iter().map(|&i| logarithm(prices[i], unit)).collect() };
        let mut series = Self {
            high: column(candles.high),
            low: column(candles.low),
            close: column(candles.close),
            slot: slots.iter().map(|&i| i as u32).collect(),
            range: 0.0,
            shift: unit.ln(),
        };
        series.range = series.true_range()?;
        Some(series)
    }

    /// A token that hardly trades stands still most hours: those candles say nothing about how far it moves when it does.
    fn true_range(&self) -> Option<f64> {
        let range = |i: usize| self.high[i].max(self.close[i - 1]) - self.low[i].min(self.close[i - 1]);
        let mut ranges: Vec<f64> = (1..self.close.len()).map(range).filter(|range| *range > 0.0).collect();
        let middle = ranges.len() / 2;
        (!ranges.is_empty()).then(|| *ranges.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    pub(super) fn len(&self) -> usize {
        self.slot.len()
    }

    pub(super) fn price(&self, logarithm: f64) -> f64 {
        (logarithm + self.shift).exp()
    }

    pub(super) fn upright(&self) -> View<'_> {
        View { slot: &self.slot, high: &self.high, low: &self.low, close: &self.close, range: self.range }
    }

    /// The negated logarithms, highs and lows exchanged.
    pub(super) fn mirrored(&self) -> Self {
        let negated = |column: &[f64]| column.iter().map(|level| -level).collect();
        Self {
            slot: self.slot.clone(),
            high: negated(&self.low),
            low: negated(&self.high),
            close: negated(&self.close),
            range: self.range,
            shift: self.shift,
        }
    }
}

/// What the searches look at: the series as it is, or upside down.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) slot: &'a [u32],
    pub(super) high: &'a [f64],
    pub(super) low: &'a [f64],
    pub(super) close: &'a [f64],
    pub(super) range: f64,
}

impl View<'_> {
    pub(super) fn len(&self) -> usize {
        self.slot.len()
    }
}

fn logarithm(price: f64, unit: f64) -> f64 {
    // The division is exact unless it leaves the range of a double, and then the two logarithms do as well.
    let ratio = price / unit;
    if ratio.is_normal() { ratio.ln() } else { price.ln() - unit.ln() }
}

/// The largest power of two that is not above the price, kept where its reciprocal is still exact.
fn power_of_two(price: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(price.clamp(1e-300, 1e300).to_bits() & EXPONENT)
}
