//! Benford's law of first digits: in organic amounts, the first digit is d with probability log10(1 + 1/d). The mean absolute deviation and
//! its limit are Nigrini's ("Benford's Law", 2012). Only a hint: taxes, faucets and round amounts violate it.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Minimum number of transfers.
pub(super) const COUNT_MIN: u64 = 500;
/// Nigrini's limit of nonconformity for first digits.
pub(super) const DEVIATION_MAX: f64 = 0.015;
pub(super) const CHANCE_MAX: f64 = 0.001;

/// Deviation of the first digits from Benford's law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Deviation {
    pub(super) count: u64,
    /// Mean absolute deviation of the nine shares.
    pub(super) mean: f64,
    /// P-value: the probability that organic amounts deviate as much, by Pearson's chi-square test with 8 degrees of freedom.
    pub(super) chance: f64,
}

/// `None` for too few amounts.
pub(super) fn deviation(counts: &[u64; 9]) -> Option<Deviation> {
    let count: u64 = counts.iter().sum();
    if count < COUNT_MIN {
        return None;
    }
    let (mut mean, mut square) = (0.0, 0.0);
    for (i, counted) in counts.iter().enumerate() {
        let expected = (1.0 + 1.0 / (i + 1) as f64).log10();
        mean += (*counted as f64 / count as f64 - expected).abs() / 9.0;
        let expected = expected * count as f64;
        square += (*counted as f64 - expected).powi(2) / expected;
    }
    let chance = ChiSquared::new(8.0).map_or(1.0, |chi| 1.0 - chi.cdf(square));
    Some(Deviation {
        count,
        mean,
        chance,
    })
}

/// The first digit of the shortest decimal number, as an engine writes it.
pub(super) fn first_digit(value: f64) -> Option<usize> {
    if !(value.is_finite() && value > 0.0) {
        return None;
    }
    let leading = value / 10_f64.powf(value.log10().floor());
    if (leading - leading.round()).abs() > 1e-6 {
        return Some(leading as usize);
    }
    // So close to a whole number the quotient may be on its other side.
    let first = format!("{value:e}").bytes().next()?;
    Some(usize::from(first - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_digit_is_that_of_the_decimal_number() {
        for (value, digit) in [
            (1.0, 1),
            (9.0, 9),
            (10.0, 1),
            (999.0, 9),
            (1000.0, 1),
            (3.5e21, 3),
            (1e23, 1),
            (8.999_999e18, 8),
            (999_999_999_999_999.9, 9),
            (1e300, 1),
        ] {
            assert_eq!(first_digit(value), Some(digit), "{value}");
        }
        assert_eq!((first_digit(0.0), first_digit(f64::INFINITY)), (None, None));
    }
}
