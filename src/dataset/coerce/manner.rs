//! How a column is written, as its cells together show: which sign its decimals have, whether its times are Excel's days. One cell
//! alone does not tell: `1,234` is a thousand or one and a bit.

use std::{borrow::Cow, fmt};

use super::cell::Cell;
use crate::dataset::time::DAY_MS;

/// How the cells of a column are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// None: a number with a comma in it is not read.
    pub decimal: Option<Decimal>,
    /// Times are Excel's days since 1899-12-30.
    pub days: bool,
}

/// The sign before the decimals; the other one may stand between thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    Point,
    Comma,
}

impl Decimal {
    fn signs(self) -> (u8, u8) {
        match self {
            Self::Point => (b'.', b','),
            Self::Comma => (b',', b'.'),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "decimal points",
            Self::Comma => "decimal commas",
        })
    }
}

/// What texts say of their decimal sign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub point: bool,
    pub comma: bool,
}

impl Evidence {
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        texts.fold(Self::default(), |all, text| all.and(cell(text)))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { point: self.point || other.point, comma: self.comma || other.comma }
    }

    /// The sign, where all speak for one.
    pub(crate) fn decimal(self) -> Option<Decimal> {
        match (self.point, self.comma) {
            (true, false) => Some(Decimal::Point),
            (false, true) => Some(Decimal::Comma),
            _ => None,
        }
    }
}

/// What one text says: nothing where it could be either.
fn cell(text: &str) -> Evidence {
    let (body, _) = parts(text);
    let (point, comma) = (Evidence { point: true, comma: false }, Evidence { point: false, comma: true });
    let readable = body.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'\''));
    let (Some(last), true) = (body.rfind(['.', ',']), readable) else { return Evidence::default() };
    let (dots, commas) = (body.matches('.').count(), body.matches(',').count());
    match (dots, commas) {
        // Of two signs the last is the decimal's.
        (1.., 1..) if body[last..].starts_with(',') => comma,
        // Thousands in three digits, or decimals that happen to be three.
        (1, 0) | (0, 1) if grouped(&body.replace(',', "."), b'.') => Evidence::default(),
        (1.., 1..) | (1, 0) => point,
        (0, 1) => comma,
        (2.., 0) if grouped(body, b'.') => comma,
        (0, 2..) if grouped(body, b',') => point,
        _ => Evidence::default(),
    }
}

/// The number without its sign, spaces and suffix; and the exponent that the suffix stands for.
fn parts(text: &str) -> (&str, Option<u32>) {
    let text = text.trim().trim_start_matches(['+', '-']);
    let suffix = |end: char| match end {
        'K' | 'k' => Some(3),
        'M' => Some(6),
        'B' => Some(9),
        'T' => Some(12),
        _ => None,
    };
    match text.chars().next_back().and_then(suffix) {
        Some(exponent) => (text[..text.len() - 1].trim_end(), Some(exponent)),
        None => (text, None),
    }
}

/// Whether `sign` stands between groups of three digits, the first of one to three and not zero.
fn grouped(digits: &str, sign: u8) -> bool {
    let mut groups = digits.split(char::from(sign));
    let first = groups.next().unwrap_or_default();
    let number = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len()) && number(first) && !first.starts_with('0') && groups.all(|group| group.len() == 3 && number(group))
}

/// A number as Rust reads it: decimals after a point, no signs between thousands, K, M, B or T as an exponent. None: it is not one.
pub(super) fn normal(text: &str, decimal: Decimal) -> Option<Cow<'_, str>> {
    let text = text.trim();
    let (sign, between) = decimal.signs();
    let (body, exponent) = parts(text);
    let (whole, fraction) = match body.split_once(char::from(sign)) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (body, None),
    };
    // Spaces of all kinds and apostrophes stand between thousands in many countries.
    let spaced = whole.chars().any(|c| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '’'));
    let separator = if spaced { '\'' } else { char::from(between) };
    let whole: Cow<'_, str> = if spaced { whole.replace([' ', '\u{a0}', '\u{202f}', '’'], "'").into() } else { whole.into() };
    let digits: Cow<'_, str> = if whole.contains(separator) {
        if !grouped(&whole, separator as u8) {
            return None;
        }
        whole.replace(separator, "").into()
    } else {
        whole
    };
    // An exponent may stand behind the fraction, or behind the digits.
    let mantissa = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'e' | b'E' | b'+' | b'-'));
    if digits.is_empty() && fraction.is_none_or(str::is_empty) || !mantissa(&digits) || !fraction.is_none_or(mantissa) {
        return None;
    }
    let minus = if text.starts_with('-') { "-" } else { "" };
    let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
    let exponent = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
    Some(format!("{minus}{digits}{fraction}{exponent}").into())
}

/// In what unit a column's times are written as numbers, by their size. Bits of `Times`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times(u8);

/// Excel's day numbers from 1954 to 2119; as seconds they would all be of the first day of 1970.
const DAYS: std::ops::Range<f64> = 20_000.0..80_000.0;
/// 1970-01-01 as Excel numbers it.
const EPOCH_DAY: f64 = 25_569.0;
const UNITS: [&str; 5] = ["Excel's days", "seconds", "milliseconds", "microseconds", "nanoseconds"];

impl Times {
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Of a cell; nothing of one that is no number.
    pub(crate) fn of_cell(cell: &Cell<'_>) -> Self {
        match cell {
            Cell::Int(number) => Self::of_number(*number as f64),
            Cell::Float(number) => Self::of_number(*number),
            Cell::Text(text) => Self::of_text(text),
            _ => Self(0),
        }
    }

    /// By the number of digits: every row is looked at.
    pub(crate) fn of_text(text: &str) -> Self {
        let text = text.trim();
        // Most times are written out, which their fifth sign tells.
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &text.as_bytes()[digits..];
        if !(rest.is_empty() || rest[0] == b'.' && rest[1..].iter().all(u8::is_ascii_digit)) {
            return Self(0);
        }
        match digits {
            5 => text.parse().map_or(Self(0), Self::of_number),
            9..=11 => Self(2),
            12..=14 => Self(4),
            15..=17 => Self(8),
            18..=20 => Self(16),
            _ => Self(0),
        }
    }

    fn of_number(number: f64) -> Self {
        match number {
            number if DAYS.contains(&number) => Self(1),
            1e8..1e11 => Self(2),
            1e11..1e14 => Self(4),
            1e14..1e17 => Self(8),
            1e17..1e20 => Self(16),
            _ => Self(0),
        }
    }

    /// Whether all of them are Excel's days.
    pub(crate) fn are_days(self) -> bool {
        self.0 == 1
    }

    /// The units that are mixed, where several are.
    pub(crate) fn mixed(self) -> Option<String> {
        let units: Vec<&str> = UNITS.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1).map(|(_, unit)| *unit).collect();
        (units.len() > 1).then(|| units.join(" and "))
    }
}

/// One of Excel's days, to the second, in milliseconds since 1970.
pub(super) fn excel_day(number: f64) -> Option<i64> {
    let seconds = ((number - EPOCH_DAY) * (DAY_MS / 1_000) as f64).round();
    DAYS.contains(&number).then_some(seconds as i64 * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_tells_its_decimal_sign_where_one_of_its_cells_does() {
        for (texts, expected) in [
            (&["1,234"][..], None),
            (&["1.234"], None),
            (&["1,234", "12,5"], Some(Decimal::Comma)),
            (&["1.234", "1.234,50"], Some(Decimal::Comma)),
            (&["1.234.567"], Some(Decimal::Comma)),
            (&["0,123"], Some(Decimal::Comma)),
            (&["1,234", "12.5"], Some(Decimal::Point)),
            (&["1,234,567"], Some(Decimal::Point)),
            (&["1,234.5"], Some(Decimal::Point)),
            (&["3,56K"], Some(Decimal::Comma)),
            (&["12.5", "12,5"], None),
            (&["0x1,2", "a.b", ""], None),
        ] {
            assert_eq!(Evidence::of(texts.iter().copied()).decimal(), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_number_is_read_to_its_last_digit_whatever_its_signs() {
        for (text, decimal, expected) in [
            ("20.957,00", Decimal::Comma, Some(20_957.0)),
            ("1,234", Decimal::Comma, Some(1.234)),
            ("1,234", Decimal::Point, Some(1_234.0)),
            ("122211.5587", Decimal::Point, Some(122_211.558_7)),
            ("122211,5587", Decimal::Comma, Some(122_211.558_7)),
            ("2.02M", Decimal::Point, Some(2_020_000.0)),
            ("3,56K", Decimal::Comma, Some(3_560.0)),
            ("-1.5B", Decimal::Point, Some(-1_500_000_000.0)),
            ("1 234 567,5", Decimal::Comma, Some(1_234_567.5)),
            ("1'234.5", Decimal::Point, Some(1_234.5)),
            ("1.5e-7", Decimal::Point, Some(1.5e-7)),
            ("12,34", Decimal::Point, None),
            ("1,2345", Decimal::Point, None),
            ("K", Decimal::Point, None),
            ("", Decimal::Point, None),
            ("$5", Decimal::Point, None),
            ("5 apples", Decimal::Point, None),
        ] {
            assert_eq!(normal(text, decimal).and_then(|text| text.parse::<f64>().ok()), expected, "{text} {decimal}");
        }
    }

    #[test]
    fn times_tell_their_unit_by_their_size() {
        let all = |texts: &[&str]| texts.iter().fold(Times::default(), |all, text| all.and(Times::of_text(text)));
        assert!(all(&["44594", "44595.5"]).are_days());
        assert!(!all(&["44594", "1609556645"]).are_days());
        assert_eq!(all(&["1609556645", "1609556645000"]).mixed().as_deref(), Some("seconds and milliseconds"));
        assert_eq!(all(&["1609556645", "2021-01-02", "20210102"]).mixed(), None);
        assert_eq!(excel_day(44_594.0), Some(1_643_760_000_000));
        assert_eq!(excel_day(44_594.041_666_67), Some(1_643_763_600_000));
        assert_eq!(excel_day(1.0), None);
    }
}
