//! Parses numbers: integers, floats, 256-bit integers, and amounts in base units. A cell that would lose digits is bad.

use std::borrow::Cow;

use ruint::aliases::U256;

use super::{Bad, Read, notation::plain};
use crate::manifest::Decimal;
use frames::raw_cell::RawCell;

/// 2^53, up to which an f64 holds every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Upper limit of a token's decimals; any more would make an amount all zeros.
const DECIMALS_MAX: i64 = 255;

/// The smallest integer of 64 bits is none: it marks a missing value in the columns of tables.
pub(super) fn integer(
    cell: &RawCell<'_>,
    scale: Option<f64>,
    decimal: Option<Decimal>,
) -> Read<i64> {
    match any_integer(cell, scale, decimal) {
        Ok(Some(i64::MIN)) => Err(Bad),
        read => read,
    }
}

fn any_integer(cell: &RawCell<'_>, scale: Option<f64>, decimal: Option<Decimal>) -> Read<i64> {
    if let Some(scale) = scale {
        let Some(number) = float(cell, Some(scale), decimal)? else {
            return Ok(None);
        };
        // 0.3 × 10 is not exactly 3: a number that is off by rounding alone counts as whole.
        let whole = number.round();
        let near = (number - whole).abs() <= 1e-9 * whole.abs().max(1.0) && whole.abs() <= EXACT;
        return if near {
            Ok(Some(whole as i64))
        } else {
            Err(Bad)
        };
    }
    match cell {
        _ if cell.is_null() => Ok(None),
        RawCell::Int(n) => i64::try_from(*n).map(Some).map_err(|_| Bad),
        RawCell::Float(n) if !n.is_finite() => Ok(None),
        RawCell::Float(n) => whole(*n),
        RawCell::Bool(truth) => Ok(Some(i64::from(*truth))),
        RawCell::Text(text) => {
            let text = text.trim();
            if let Ok(number) = text.parse::<i64>() {
                return Ok(Some(number));
            }
            let text = &*as_rust_writes(text, decimal);
            if let Ok(number) = text.parse::<i64>() {
                return Ok(Some(number));
            }
            // `12.0`: a zero fraction is dropped.
            if let Some((digits, zeros)) = text.split_once('.')
                && zeros.bytes().all(|digit| digit == b'0')
                && !digits.is_empty()
            {
                return digits.parse().map(Some).map_err(|_| Bad);
            }
            if is_infinite_word(text) {
                return Ok(None);
            }
            // `1e3`.
            if text.contains(['e', 'E']) {
                text.parse::<f64>().map_err(|_| Bad).and_then(whole)
            } else {
                Err(Bad)
            }
        }
        _ => Err(Bad),
    }
}

/// The number in Rust's float syntax. A comma stays unreadable if the column's decimal separator is unknown.
fn as_rust_writes(text: &str, decimal: Option<Decimal>) -> Cow<'_, str> {
    if decimal.is_none() && text.contains(',') {
        return text.into();
    }
    plain(text, decimal.unwrap_or(Decimal::Point)).map_or(text.into(), Cow::Owned)
}

fn whole(number: f64) -> Read<i64> {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        Ok(Some(number as i64))
    } else {
        Err(Bad)
    }
}

fn is_infinite_word(text: &str) -> bool {
    let word = text.trim_start_matches(['+', '-']);
    word.eq_ignore_ascii_case("inf")
        || word.eq_ignore_ascii_case("infinity")
        || word.eq_ignore_ascii_case("nan")
}

/// Parses a finite number; NaN and infinities are null.
pub(super) fn float(cell: &RawCell<'_>, scale: Option<f64>, decimal: Option<Decimal>) -> Read<f64> {
    let number = match cell {
        _ if cell.is_null() => return Ok(None),
        RawCell::Int(n) => *n as f64,
        RawCell::Float(n) if !n.is_finite() => return Ok(None),
        RawCell::Float(n) => *n,
        RawCell::Text(text) if is_infinite_word(text.trim()) => return Ok(None),
        // Fast path for a decimal point. In decimal-comma columns a point is a thousands separator.
        RawCell::Text(text) if decimal == Some(Decimal::Comma) => {
            as_rust_writes(text.trim(), decimal)
                .parse()
                .map_err(|_| Bad)?
        }
        RawCell::Text(text) => text
            .trim()
            .parse()
            .or_else(|_| as_rust_writes(text.trim(), decimal).parse())
            .map_err(|_| Bad)?,
        _ => return Err(Bad),
    };
    let number = scale.map_or(number, |scale| scaled(number, scale));
    if number.is_finite() {
        Ok(Some(number))
    } else {
        Err(Bad)
    }
}

/// Divides if the scale is the reciprocal of an integer, so that 3000 × 1e-6 is exactly 0.003.
fn scaled(number: f64, scale: f64) -> f64 {
    let inverse = (1.0 / scale).round();
    if scale.abs() < 1.0 && inverse.abs() <= EXACT && (1.0 / inverse).to_bits() == scale.to_bits() {
        number / inverse
    } else {
        number * scale
    }
}

pub(super) fn uint256(cell: &RawCell<'_>, decimal: Option<Decimal>) -> Read<String> {
    let read = whole_256(cell);
    let read = match (&read, cell) {
        (Err(Bad), RawCell::Text(text)) if decimal.is_some() => {
            whole_256(&RawCell::Text(as_rust_writes(text.trim(), decimal)))
        }
        _ => read,
    };
    read.map(|number| number.map(|number| number.to_string()))
}

/// Whether the cell is a float above 2^53, whose last digits may be lost.
pub fn lost_digits(cell: &RawCell<'_>) -> bool {
    matches!(cell, RawCell::Float(number) if number.is_finite() && *number > EXACT)
}

/// As `uint256`; floats are accepted too if the column is `approximate` by `dataset.toml` or by its type.
pub(super) fn uint256_or_approximate(
    cell: &RawCell<'_>,
    decimal: Option<Decimal>,
    approximate: bool,
) -> Read<String> {
    let read = uint256(cell, decimal);
    if read.is_ok() || !approximate && !lost_digits(cell) {
        return read;
    }
    let number = float(cell, None, decimal)?.filter(|number| *number >= 0.0);
    number
        .map(|number| uint256(&RawCell::Text(format!("{number:.0}").into()), None))
        .ok_or(Bad)?
}

/// Converts an amount in whole tokens to base units, digit for digit: a fraction of a base unit is bad unless amounts are `approximate`.
pub fn smallest_units(
    cell: &RawCell<'_>,
    decimals: i64,
    decimal: Option<Decimal>,
    approximate: bool,
) -> Read<String> {
    if !(0..=DECIMALS_MAX).contains(&decimals) {
        return Err(Bad);
    }
    let text = match cell {
        _ if cell.is_null() => return Ok(None),
        RawCell::Text(text) => as_rust_writes(text.trim(), decimal).into_owned(),
        RawCell::Int(number) => number.to_string(),
        RawCell::Float(number) if number.is_finite() => number.to_string(),
        _ => return Err(Bad),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let exponent = decimals + exponent.parse::<i64>().map_err(|_| Bad)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('+'));
    let shift = exponent - fraction.len() as i64;
    if !(-400..=400).contains(&shift)
        || digits.is_empty()
        || !digits.bytes().all(|digit| digit.is_ascii_digit())
    {
        return Err(Bad);
    }
    let digits = if shift >= 0 {
        format!("{digits}{}", "0".repeat(shift as usize))
    } else {
        let kept = digits.len().saturating_sub(shift.unsigned_abs() as usize);
        if !approximate && !digits[kept..].bytes().all(|digit| digit == b'0') {
            return Err(Bad);
        }
        if kept == 0 {
            "0".to_owned()
        } else {
            digits[..kept].to_owned()
        }
    };
    uint256(&RawCell::Text(digits.into()), None)
}

fn whole_256(cell: &RawCell<'_>) -> Read<U256> {
    match cell {
        _ if cell.is_null() => Ok(None),
        RawCell::Int(n) => u128::try_from(*n)
            .map(|n| Some(U256::from(n)))
            .map_err(|_| Bad),
        RawCell::Float(n) if !n.is_finite() => Ok(None),
        RawCell::Float(n) if *n >= 0.0 => whole(*n).map(|n| n.map(|n| U256::from(n as u64))),
        RawCell::Text(text) => {
            let text = text.trim();
            if let Some(digits) = text.strip_prefix("0x") {
                return if digits.is_empty() {
                    Err(Bad)
                } else {
                    U256::from_str_radix(digits, 16).map(Some).map_err(|_| Bad)
                };
            }
            let digits = match text.split_once('.') {
                Some((digits, zeros)) if zeros.bytes().all(|digit| digit == b'0') => digits,
                Some(_) => return Err(Bad),
                None => text,
            };
            if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return Err(Bad);
            }
            U256::from_str_radix(digits, 10).map(Some).map_err(|_| Bad)
        }
        // A 32-byte big-endian word, as nodes return it.
        RawCell::Bytes(bytes) if bytes.len() == 32 => Ok(U256::try_from_be_slice(bytes)),
        _ => Err(Bad),
    }
}

/// Converts an amount in base units to whole tokens, with a single rounding. Floats and powers of ten are accepted only if amounts are
/// `approximate`.
pub fn raw_amount(cell: &RawCell<'_>, decimals: i64, approximate: bool) -> Read<f64> {
    if !(0..=DECIMALS_MAX).contains(&decimals) {
        return Err(Bad);
    }
    let amount = if approximate {
        uint256_or_approximate(cell, None, true)
    } else {
        uint256(cell, None)
    };
    let Some(amount) = amount? else {
        return Ok(None);
    };
    format!("{amount}e-{decimals}")
        .parse()
        .map(Some)
        .map_err(|_| Bad)
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::{cells::if_canonical, manifest::ColumnManifest};
    use model::schema::{Column as SchemaColumn, Kind};

    fn text(text: &str) -> RawCell<'_> {
        RawCell::Text(text.into())
    }

    #[test]
    fn whole_numbers_are_read_only_without_loss() {
        for (cell, expected) in [
            (text(" 12 "), Ok(Some(12))),
            (text("12.0"), Ok(Some(12))),
            (text("12."), Ok(Some(12))),
            (text("+7"), Ok(Some(7))),
            (text("1e3"), Ok(Some(1000))),
            (text("12.5"), Err(Bad)),
            (text("1,000"), Err(Bad)),
            (text("0x10"), Err(Bad)),
            (text("9223372036854775807"), Ok(Some(i64::MAX))),
            (text("9223372036854775808"), Err(Bad)),
            (text("-9223372036854775807"), Ok(Some(-i64::MAX))),
            (text("-9223372036854775808"), Err(Bad)),
            (text("-9223372036854775808.0"), Err(Bad)),
            (text("-"), Ok(None)),
            (text("inf"), Ok(None)),
            (RawCell::Float(12.0), Ok(Some(12))),
            (RawCell::Float(12.5), Err(Bad)),
            (RawCell::Float(1e17), Err(Bad)),
            (RawCell::Float(f64::NAN), Ok(None)),
            (RawCell::Int(i128::from(u64::MAX)), Err(Bad)),
            (RawCell::Int(i128::from(i64::MIN) + 1), Ok(Some(-i64::MAX))),
            (RawCell::Int(i128::from(i64::MIN)), Err(Bad)),
        ] {
            assert_eq!(integer(&cell, None, None), expected, "{cell:?}");
        }
        assert_eq!(integer(&text("0.3"), Some(10.0), None), Ok(Some(3)));
        assert_eq!(integer(&text("0.35"), Some(10.0), None), Err(Bad));
    }

    #[test]
    fn a_column_of_integers_is_taken_as_it_is_unless_one_of_them_marks_a_missing_value() {
        let ours = SchemaColumn::of_kind("n", Kind::Integer, "");
        for (number, is_taken) in [(i64::MIN, false), (-i64::MAX, true)] {
            for rest in [Some(1), None] {
                let raw = Series::new("n".into(), [Some(number), rest]).into_column();
                let taken = if_canonical(&ours, &raw, &ColumnManifest::default());
                assert_eq!(taken.is_some(), is_taken, "{number}");
            }
        }
    }

    #[test]
    fn numbers_scale_and_what_is_not_finite_is_no_value() {
        assert_eq!(float(&text("3000"), Some(1e-6), None), Ok(Some(0.003)));
        assert_eq!(float(&text("2.5"), Some(100.0), None), Ok(Some(250.0)));
        assert_eq!(float(&text("Infinity"), None, None), Ok(None));
        assert_eq!(
            float(&RawCell::Float(f64::NEG_INFINITY), None, None),
            Ok(None)
        );
        assert_eq!(float(&text("1e999"), None, None), Err(Bad));
        assert_eq!(float(&text("$5"), None, None), Err(Bad));
        assert_eq!(float(&RawCell::Bool(true), None, None), Err(Bad));
    }

    #[test]
    fn amounts_of_256_bits_keep_every_digit() {
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(uint256(&text(most), None), Ok(Some(most.to_owned())));
        assert_eq!(
            uint256(
                &text(
                    "115792089237316195423570985008687907853269984665640564039457584007913129639936"
                ),
                None
            ),
            Err(Bad)
        );
        assert_eq!(uint256(&text("0007"), None), Ok(Some("7".to_owned())));
        assert_eq!(uint256(&text("0x1f"), None), Ok(Some("31".to_owned())));
        assert_eq!(uint256(&text("0x"), None), Err(Bad));
        assert_eq!(uint256(&text("-1"), None), Err(Bad));
        assert_eq!(uint256(&text("1.5"), None), Err(Bad));
        assert_eq!(uint256(&RawCell::Float(1e20), None), Err(Bad));
        assert_eq!(raw_amount(&text("1500000"), 6, false), Ok(Some(1.5)));
        assert_eq!(
            raw_amount(&text("100000000000000000000"), 18, false),
            Ok(Some(100.0))
        );
        assert_eq!(raw_amount(&text("1"), 300, false), Err(Bad));
        assert_eq!(raw_amount(&text("1.5e20"), 18, true), Ok(Some(150.0)));
        assert_eq!(raw_amount(&text("1.5e20"), 18, false), Err(Bad));
        assert_eq!(
            uint256(&text("1,000"), Some(Decimal::Point)),
            Ok(Some("1000".to_owned()))
        );
        assert_eq!(
            smallest_units(&text("0.00000015"), 6, None, true),
            Ok(Some("0".to_owned()))
        );
        assert_eq!(
            uint256_or_approximate(&RawCell::Float(1e20), None, true),
            Ok(Some("100000000000000000000".to_owned()))
        );
        assert_eq!(
            uint256_or_approximate(&text("2.5e21"), None, true),
            Ok(Some("2500000000000000000000".to_owned()))
        );
        assert_eq!(uint256_or_approximate(&text("-1"), None, true), Err(Bad));
        for (whole, decimals, expected) in [
            ("1.5", 6, Ok(Some("1500000".to_owned()))),
            ("0.0000001", 6, Err(Bad)),
            ("11121.0", 0, Ok(Some("11121".to_owned()))),
            ("2.5e3", 2, Ok(Some("250000".to_owned()))),
            ("0.000", 18, Ok(Some("0".to_owned()))),
            ("-1", 18, Err(Bad)),
            ("-", 18, Ok(None)),
            ("1e999999999", 18, Err(Bad)),
        ] {
            assert_eq!(
                smallest_units(&text(whole), decimals, None, false),
                expected,
                "{whole} {decimals}"
            );
        }
    }
}
