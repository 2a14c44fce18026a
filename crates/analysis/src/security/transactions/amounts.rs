//! Benford's law of first digits: in organic amounts, the first digit is d with probability log10(1 + 1/d). The mean absolute deviation and
//! its limit are Nigrini's ("Benford's Law", 2012). Only a hint: taxes, faucets and round amounts violate it.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::ledger::{Move, TransferKind};

/// Minimum number of transfers.
pub(super) const COUNT_MIN: u64 = 500;
/// Nigrini's limit of nonconformity for first digits.
pub(super) const DEVIATION_MAX: f64 = 0.015;
pub(super) const CHANCE_MAX: f64 = 0.001;

#[derive(Debug, Default)]
pub(super) struct LeadingDigits {
    counts: [u64; 9],
}

/// Deviation of the first digits from Benford's law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Deviation {
    pub(super) count: u64,
    /// Mean absolute deviation of the nine shares.
    pub(super) mean: f64,
    /// P-value: the probability that organic amounts deviate as much, by Pearson's chi-square test with 8 degrees of freedom.
    pub(super) chance: f64,
}

impl LeadingDigits {
    pub(super) fn add(&mut self, movement: &Move) {
        if !movement.failed
            && matches!(movement.kind, TransferKind::Buy | TransferKind::Sell | TransferKind::Transfer)
            && let Some(digit) = first_digit(movement.value)
        {
            self.counts[digit - 1] += 1;
        }
    }

    pub(super) fn deviation(&self) -> Option<Deviation> {
        let count: u64 = self.counts.iter().sum();
        if count < COUNT_MIN {
            return None;
        }
        let (mut mean, mut square) = (0.0, 0.0);
        for (i, counted) in self.counts.iter().enumerate() {
            let expected = (1.0 + 1.0 / (i + 1) as f64).log10();
            mean += (*counted as f64 / count as f64 - expected).abs() / 9.0;
            let expected = expected * count as f64;
            square += (*counted as f64 - expected).powi(2) / expected;
        }
        let chance = ChiSquared::new(8.0).map_or(1.0, |chi| 1.0 - chi.cdf(square));
        Some(Deviation { count, mean, chance })
    }
}

fn first_digit(value: f64) -> Option<usize> {
    if !(value.is_finite() && value > 0.0) {
        return None;
    }
    let leading = value / 10_f64.powf(value.log10().floor());
    // Rounding may leave the quotient slightly outside 1 to 10.
    Some((leading + 1e-9).floor().clamp(1.0, 9.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_digit_is_that_of_the_decimal_number() {
        for (value, digit) in [(1.0, 1), (9.0, 9), (10.0, 1), (999.0, 9), (1000.0, 1), (3.5e21, 3), (1e23, 1), (8.999_999e18, 8)] {
            assert_eq!(first_digit(value), Some(digit), "{value}");
        }
        assert_eq!((first_digit(0.0), first_digit(f64::INFINITY)), (None, None));
    }
}
