//! Detects amounts that passed through floating-point numbers before they were written as text: such amounts end after the 15th to 17th
//! significant digit, whatever their magnitude; exact ones do not.

use serde::{Deserialize, Serialize};

use frames::raw_cell::RawCell;

/// Most significant digits of an f64's shortest text, and the usual number of them.
const FLOAT_DIGITS_MAX: usize = 17;
const FLOAT_DIGITS: usize = 16;
/// Fewest significant digits for which an amount's end is evidence.
const EVIDENCE_DIGITS_MIN: usize = 15;
/// Exact amounts may be rounded to fewer decimals than this.
const EXACT_DECIMALS_MIN: usize = 10;
/// Whole amounts in smallest units of at least this many digits do not fit an f64 exactly.
const INEXACT_DIGITS_MIN: usize = 19;
/// Float-like amounts required to decide for a column; the second applies where other amounts show that its token has the usual 18
/// decimals.
const FLOATS_MIN: u64 = 5;
const FLOATS_MIN_BESIDE_EXACT: u64 = 2;
const DECIMALS: usize = 18;
/// Cells sampled.
const SAMPLED_MAX: u64 = 20_000;

/// Counts of the amounts seen so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FloatDetector {
    cells: u64,
    /// Amounts with more significant digits than an f64 has.
    exact: u64,
    /// Amounts with 16 or 17 significant digits (`ended`), and with 15 (`short`).
    ended: u64,
    short: u64,
    /// Amounts with all 18 decimals: if there are any, a nonzero amount with fewer digits was truncated.
    deep: u64,
}

impl FloatDetector {
    /// Cells still to be sampled.
    pub fn wanted(&self) -> usize {
        SAMPLED_MAX.saturating_sub(self.cells) as usize
    }

    pub fn note(&mut self, cells: &[RawCell<'_>]) {
        for cell in cells {
            if self.cells >= SAMPLED_MAX {
                return;
            }
            self.cells += 1;
            if let RawCell::Text(text) = cell {
                self.note_text(text.trim());
            }
        }
    }

    fn note_text(&mut self, text: &str) {
        let (mantissa, has_exponent) = text
            .split_once(['e', 'E'])
            .map_or((text, false), |(mantissa, _)| (mantissa, true));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|byte| byte.is_ascii_digit())
        {
            return;
        }
        let (whole, fraction) = (
            whole.trim_start_matches('0'),
            fraction.trim_end_matches('0'),
        );
        let written = whole.len() + fraction.len();
        self.deep += u64::from(fraction.len() == DECIMALS);
        let trailing_zeros = if fraction.is_empty() {
            whole.len() - whole.trim_end_matches('0').len()
        } else {
            0
        };
        // An exact amount below one, or rounded to a few decimals, may have as few digits.
        let long_whole = fraction.is_empty()
            && written >= INEXACT_DIGITS_MIN
            && trailing_zeros < EXACT_DECIMALS_MIN;
        if whole.is_empty() || !(has_exponent || fraction.len() >= EXACT_DECIMALS_MIN || long_whole)
        {
            return;
        }
        let significant = written - trailing_zeros;
        if significant > FLOAT_DIGITS_MAX {
            self.exact += 1;
        } else if significant >= FLOAT_DIGITS {
            self.ended += 1;
        } else if significant >= EVIDENCE_DIGITS_MIN {
            self.short += 1;
        }
    }

    /// Whether the amounts are f64 numbers written as text.
    pub fn are_floats(&self) -> bool {
        let enough = self.ended >= FLOATS_MIN
            || self.ended >= FLOATS_MIN_BESIDE_EXACT && self.deep >= FLOATS_MIN;
        enough && self.exact == 0 && self.ended >= self.short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_that_end_after_seventeen_digits_were_floating_point_numbers() {
        let floats = |texts: &[&str]| {
            let mut digits = FloatDetector::default();
            for _ in 0..5 {
                digits.note(
                    &texts
                        .iter()
                        .map(|text| RawCell::Text((*text).into()))
                        .collect::<Vec<_>>(),
                );
            }
            digits.are_floats()
        };
        for (texts, expected) in [
            (&["7.5346634119754725", "123.67739690205942"][..], true),
            (&["1234567890123456800000", "98765432109876540000000"], true),
            (&["1.2345678901234567e+21"], true),
            // With 18 decimals, with 9, rounded to 8, below one, whole tokens, dollars.
            (&["7.534663411975472512", "123.677396902059420001"], false),
            (&["7.5346634119754725", "123.677396902059420001"], false),
            (&["12345678.123456789"], false),
            (&["123456789.12345678"], false),
            (&["0.12345678901234567"], false),
            (&["1000000000000000000000", "250000000000000000000"], false),
            (&["12.5", "-", ""], false),
        ] {
            assert_eq!(floats(texts), expected, "{texts:?}");
        }
        let mut few = FloatDetector::default();
        few.note(&[RawCell::Text("7.5346634119754725".into())]);
        assert!(!few.are_floats(), "one amount tells nothing");
        let mut small = vec![RawCell::Text("0.002495416008154929".into()); 5];
        few.note(&small);
        assert!(!few.are_floats(), "nor do those below one");
        small.push(RawCell::Text("3.6773969020594204".into()));
        few.note(&small);
        assert!(
            few.are_floats(),
            "two that end early, where others have eighteen decimals"
        );
    }
}
