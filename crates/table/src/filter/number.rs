//! The number of a condition: the nearest float for columns of floats, and its digits for integers beyond a float's precision. Columns
//! decide how to use it.

use std::cmp::Ordering;

use model::scalar::{by_digits, is_digits};

/// A number as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionNumber {
    /// The float nearest to it.
    pub float: f64,
    is_negative: bool,
    /// The digits before the point, without leading zeros: none for 0.
    whole: String,
    /// Whether more than zeros follow the point, so that it lies between two whole numbers.
    has_fraction: bool,
}

impl ConditionNumber {
    /// `1000`, `1,000`, `1e6`, `1k`, `2.5m`, `4b`, `1t`, `5%`, times a power of ten.
    pub(super) fn times_ten_to(text: &str, scale: i32) -> Option<Self> {
        let text = text
            .strip_prefix('$')
            .unwrap_or(text)
            .replace([',', '_'], "");
        let text = text.strip_suffix('%').unwrap_or(&text);
        let power = match text.chars().last()?.to_ascii_lowercase() {
            'k' => 3,
            'm' => 6,
            'b' => 9,
            't' => 12,
            _ => 0,
        };
        let digits = if power > 0 {
            &text[..text.len() - 1]
        } else {
            text
        };
        let is_of = |text: &str, signs: &[char]| {
            text.chars()
                .all(|c| c.is_ascii_digit() || signs.contains(&c))
        };
        // The suffix becomes the exponent of the text, not a multiplication, so that 4.1b is the float nearest to 4.1e9.
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) if power == 0 && is_of(exponent, &['-', '+']) => {
                (digits, exponent.parse::<i32>().ok()?)
            }
            _ => (digits, power),
        };
        let exponent = exponent.saturating_add(scale);
        // Digits only: Rust would also parse `inf`.
        let float = format!("{digits}e{exponent}")
            .parse::<f64>()
            .ok()
            .filter(|value| is_of(digits, &['.', '-', '+']) && value.is_finite())?;
        Some(Self::of_digits(float, digits, exponent))
    }

    /// The number of a float.
    pub(super) fn of(float: f64) -> Self {
        let digits = format!("{float}");
        Self::of_digits(float, &digits, 0)
    }

    /// `digits` times ten to `exponent`, which `float` is nearest to: its size bounds the digits.
    fn of_digits(float: f64, digits: &str, exponent: i32) -> Self {
        let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
        let before = before.trim_start_matches(['-', '+']);
        let written = [before, after].concat();
        let significant = written.trim_start_matches('0');
        let leading = written.len() - significant.len();
        // How many of the significant digits stand before the point.
        let point = i64::try_from(before.len()).unwrap_or(i64::MAX)
            - i64::try_from(leading).unwrap_or(0)
            + i64::from(exponent);
        let point = if significant.is_empty() {
            0
        } else {
            usize::try_from(point).unwrap_or(0)
        };
        let (whole, rest) = significant.split_at(point.min(significant.len()));
        let whole = format!("{whole}{}", "0".repeat(point - whole.len()));
        let has_fraction = rest.bytes().any(|digit| digit != b'0');
        let is_negative = digits.starts_with('-') && (has_fraction || !whole.is_empty());
        Self {
            float,
            is_negative,
            whole,
            has_fraction,
        }
    }

    /// How a whole number in digits compares with it; `None` for other texts.
    pub(super) fn order_of(&self, digits: &str) -> Option<Ordering> {
        let (is_negative, digits) = digits
            .strip_prefix('-')
            .map_or((false, digits), |digits| (true, digits));
        if !is_digits(digits) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        Some(
            match (is_negative && !digits.is_empty(), self.is_negative) {
                (false, true) => Ordering::Greater,
                (true, false) => Ordering::Less,
                (false, false) => self.size_of(digits),
                (true, true) => self.size_of(digits).reverse(),
            },
        )
    }

    /// The same of the sizes, whatever the signs.
    fn size_of(&self, digits: &str) -> Ordering {
        let beyond = if self.has_fraction {
            Ordering::Less
        } else {
            Ordering::Equal
        };
        by_digits(digits, &self.whole).then(beyond)
    }

    /// For whole numbers from 0 to `max`: the sign and digits of a condition that means the same, where `sign` is that of this one. One that
    /// all or none of them meet is told by a bound that all or none of them meet.
    pub(super) fn within(&self, sign: &'static str, max: &str) -> (&'static str, String) {
        let (none, all) = (("<", "0".to_owned()), (">=", "0".to_owned()));
        let is_above = by_digits(&self.whole, max).is_gt();
        match sign {
            ">" | ">=" if self.is_negative => all,
            "<" | "<=" if self.is_negative => none,
            ">" | ">=" if is_above => none,
            "<" | "<=" if is_above => all,
            "=" if self.is_negative || is_above || self.has_fraction => none,
            ">=" if self.has_fraction => (">", self.digits()),
            "<" if self.has_fraction => ("<=", self.digits()),
            sign => (sign, self.digits()),
        }
    }

    fn digits(&self) -> String {
        if self.whole.is_empty() {
            "0".to_owned()
        } else {
            self.whole.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ConditionNumber {
        ConditionNumber::times_ten_to(text, 0).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn a_number_is_kept_with_all_its_digits() {
        for (text, is_negative, whole, has_fraction) in [
            ("0", false, "", false),
            ("-0.0", false, "", false),
            ("000", false, "", false),
            ("1e-400", false, "", true),
            ("0e300", false, "", false),
            ("0.5", false, "", true),
            ("-.5", true, "", true),
            ("1.5e18", false, "1500000000000000000", false),
            ("10m", false, "10000000", false),
            ("2k", false, "2000", false),
            ("0.0025k", false, "2", true),
            ("0.002k", false, "2", false),
            ("$1,000", false, "1000", false),
            ("1_000.50", false, "1000", true),
            ("12345e-3", false, "12", true),
            ("12000e-3", false, "12", false),
            ("-9007199254740993", true, "9007199254740993", false),
            (
                "340282366920938463463374607431768211455",
                false,
                "340282366920938463463374607431768211455",
                false,
            ),
        ] {
            let number = read(text);
            assert_eq!(
                (number.is_negative, &*number.whole, number.has_fraction),
                (is_negative, whole, has_fraction),
                "{text}"
            );
        }
        assert_eq!(read("1e300").whole.len(), 301);
        assert_eq!(
            ConditionNumber::times_ten_to("250%", -2)
                .map(|number| (number.whole, number.has_fraction)),
            Some(("2".to_owned(), true))
        );
    }

    #[test]
    fn whole_numbers_are_compared_by_all_their_digits() {
        use Ordering::{Equal, Greater, Less};
        for (digits, text, expected) in [
            ("1000000000000000001", "1e18", Some(Greater)),
            ("1000000000000000001", "1000000000000000001", Some(Equal)),
            ("999999999999999999", "1e18", Some(Less)),
            ("0", "0.5", Some(Less)),
            ("1", "0.5", Some(Greater)),
            ("0", "-0.5", Some(Greater)),
            ("0", "-0", Some(Equal)),
            ("-1", "-0.5", Some(Less)),
            ("-9007199254740993", "-9007199254740992", Some(Less)),
            ("007", "7", Some(Equal)),
            ("5", "1e300", Some(Less)),
            ("", "1", None),
            ("-", "1", None),
            ("1.5", "1", None),
        ] {
            assert_eq!(read(text).order_of(digits), expected, "{digits} {text}");
        }
    }

    #[test]
    fn a_condition_on_amounts_means_the_same_in_whole_numbers() {
        const MAX: &str = "255";
        for text in [
            "-1", "-0.5", "0", "0.5", "1", "7.2", "254.9", "255", "255.1", "256", "1e9",
        ] {
            for (sign, holds) in [
                ("=", Ordering::is_eq as fn(Ordering) -> bool),
                (">", Ordering::is_gt),
                ("<", Ordering::is_lt),
                (">=", Ordering::is_ge),
                ("<=", Ordering::is_le),
            ] {
                let (whole_sign, bound) = read(text).within(sign, MAX);
                let bound: u32 = bound.parse().unwrap();
                assert!(bound <= 255, "{sign}{text}");
                for value in 0..=255_u32 {
                    let order = value.cmp(&bound);
                    let said = match whole_sign {
                        "=" => order.is_eq(),
                        ">" => order.is_gt(),
                        "<" => order.is_lt(),
                        ">=" => order.is_ge(),
                        _ => order.is_le(),
                    };
                    let expected = read(text).order_of(&value.to_string()).is_some_and(holds);
                    assert_eq!(said, expected, "{value} {sign}{text}");
                }
            }
        }
    }
}
