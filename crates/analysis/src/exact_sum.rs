//! The exact sum of floats: the same in whatever order they are added, and rounded once. The significands are added as integers, by the size
//! of what they count (Neal, "Fast exact summation using small and large superaccumulators", 2015).

/// Bits between one part and the next.
const STEP: u32 = 32;
/// Bits of a float's significand.
const SIGNIFICAND: u32 = 53;
/// The exponent of the last bit of the smallest float.
const LOWEST: i32 = -1_074;

/// A sum. Part `k` counts units of 2^(32·k − 1074).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExactSum {
    /// In no order; of most data there are one or two.
    parts: Vec<(u8, i128)>,
}

impl ExactSum {
    /// Adds a finite value.
    pub fn add(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as u32;
        let digits = bits & ((1 << 52) - 1) | if exponent > 0 { 1 << 52 } else { 0 };
        let shift = exponent.saturating_sub(1);
        let part = i128::from(digits) << (shift % STEP);
        self.add_part(
            (shift / STEP) as u8,
            if value.is_sign_negative() {
                -part
            } else {
                part
            },
        );
    }

    /// Adds what was added up elsewhere.
    pub fn add_part(&mut self, place: u8, part: i128) {
        match self.parts.iter_mut().find(|(known, _)| *known == place) {
            Some((_, sum)) => *sum += part,
            None => self.parts.push((place, part)),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        other
            .parts
            .iter()
            .for_each(|(place, part)| self.add_part(*place, *part));
    }

    /// The float nearest to the sum, of two the even one; infinite beyond the largest.
    pub fn rounded(&self) -> f64 {
        let places = usize::from(
            self.parts
                .iter()
                .map(|(place, _)| *place)
                .max()
                .unwrap_or_default(),
        ) + 5;
        let (digits, carry) = self.digits(places, false);
        // The sign is that of what is carried out of the highest digit.
        let (digits, is_negative) = if carry < 0 {
            (self.digits(places, true).0, true)
        } else {
            (digits, false)
        };
        let magnitude = magnitude(&digits);
        if is_negative { -magnitude } else { magnitude }
    }

    /// Digits to the base 2^32, the lowest first, of the sum or its opposite.
    fn digits(&self, places: usize, opposite: bool) -> (Vec<u32>, i128) {
        let mut carry = 0;
        let digit = |place: usize| {
            let part = self
                .parts
                .iter()
                .find(|(known, _)| usize::from(*known) == place)
                .map_or(0, |(_, part)| *part);
            carry += if opposite { -part } else { part };
            let digit = (carry & i128::from(u32::MAX)) as u32;
            carry >>= STEP;
            digit
        };
        ((0..places).map(digit).collect(), carry)
    }
}

fn magnitude(digits: &[u32]) -> f64 {
    let Some(top) = digits.iter().rposition(|digit| *digit > 0) else {
        return 0.0;
    };
    let length = top as u32 * STEP + (u32::BITS - digits[top].leading_zeros());
    let bit = |at: u32| digits[(at / STEP) as usize] >> (at % STEP) & 1 == 1;
    let cut = length.saturating_sub(SIGNIFICAND);
    let mut significand = (cut..length)
        .rev()
        .fold(0_u64, |number, at| number << 1 | u64::from(bit(at)));
    let rest = cut
        .checked_sub(1)
        .is_some_and(|half| bit(half) && (significand & 1 == 1 || (0..half).any(bit)));
    significand += u64::from(rest);
    // Each factor, and each product but the last, is a float without rounding.
    let exponent = cut as i32 + LOWEST;
    if exponent < -1_000 {
        significand as f64 * 2_f64.powi(exponent + 500) * 2_f64.powi(-500)
    } else {
        significand as f64 * 2_f64.powi(exponent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        for value in values {
            sum.add(*value);
        }
        sum.rounded()
    }

    #[test]
    fn a_sum_is_rounded_once() {
        let tiny = f64::from_bits(1);
        for (values, expected) in [
            (&[][..], 0.0),
            (&[0.1; 10], 1.0),
            (&[1e16, 1.0, -1e16], 1.0),
            (&[1e300, 1e-300, -1e300], 1e-300),
            (&[f64::MAX, f64::MAX, -f64::MAX], f64::MAX),
            (&[f64::MAX, f64::MAX], f64::INFINITY),
            (&[tiny, tiny, -tiny], tiny),
            (&[f64::MIN_POSITIVE, -tiny], f64::MIN_POSITIVE - tiny),
            // Halfway between two floats: the even one, unless something is left over.
            (&[9_007_199_254_740_992.0, 1.0], 9_007_199_254_740_992.0),
            (
                &[9_007_199_254_740_992.0, 1.0, 1e-300],
                9_007_199_254_740_994.0,
            ),
            (&[9_007_199_254_740_994.0, 1.0], 9_007_199_254_740_996.0),
            (
                &[-9_007_199_254_740_992.0, -1.0, -tiny],
                -9_007_199_254_740_994.0,
            ),
        ] {
            assert_eq!(
                sum(values).to_bits(),
                (expected + 0.0_f64).to_bits(),
                "{values:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn one_value_is_itself(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            prop_assert_eq!(sum(&[value]), value);
            prop_assert_eq!(sum(&[value, 1.5, -value]), 1.5);
        }

        #[test]
        fn two_values_are_added_as_the_processor_does(a in proptest::num::f64::NORMAL, b in proptest::num::f64::NORMAL) {
            prop_assert_eq!(sum(&[a, b]), a + b);
        }

        #[test]
        fn the_order_is_no_matter(values in proptest::collection::vec(proptest::num::f64::NORMAL, 0..40), at in 0_usize..40) {
            let (first, second) = values.split_at(at.min(values.len()));
            let [mut a, mut b] = [ExactSum::default(), ExactSum::default()];
            for value in first {
                a.add(*value);
            }
            for value in second.iter().rev() {
                b.add(*value);
            }
            b.merge(&a);
            prop_assert_eq!(b.rounded(), sum(&values));
        }
    }
}
