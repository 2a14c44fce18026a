//! Infers a column's notation from all of its cells: its decimal separator, and whether its times are Excel serial dates. A single cell is
//! ambiguous: `1,234` may be 1234 or 1.234.

use crate::manifest::Decimal;
use frames::raw_cell::RawCell;
use model::time::DAY_MS;

/// The notation of a column's cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notation {
    /// `None`: numbers with a comma are bad.
    pub decimal: Option<Decimal>,
    /// Times are Excel serial dates (days since 1899-12-30).
    pub days: bool,
}

/// Magnitude suffixes and their powers of ten.
const SUFFIXES: &[(char, i32)] = &[('K', 3), ('M', 6), ('B', 9), ('T', 12)];
/// Thousands separators other than the comma and the point.
const GAPS: &[char] = &[' ', '\u{a0}', '\u{202f}', '\'', '’', '_'];

/// Which decimal separators the texts prove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecimalSigns {
    pub point: bool,
    pub comma: bool,
}

impl DecimalSigns {
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        texts.fold(Self::default(), |all, text| all.and(decimal_sign(text)))
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            point: self.point || other.point,
            comma: self.comma || other.comma,
        }
    }

    /// The decimal separator, if all texts agree on one.
    pub fn decimal(self) -> Option<Decimal> {
        match (self.point, self.comma) {
            (true, false) => Some(Decimal::Point),
            (false, true) => Some(Decimal::Comma),
            _ => None,
        }
    }
}

/// The decimal separator that one text proves; neither if it is ambiguous.
fn decimal_sign(text: &str) -> DecimalSigns {
    let (body, _) = without_suffix(text.trim().trim_start_matches(['+', '-']));
    let (point, comma) = (
        DecimalSigns {
            point: true,
            comma: false,
        },
        DecimalSigns {
            point: false,
            comma: true,
        },
    );
    let readable = body
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',') || GAPS.contains(&c));
    let (Some(last), true) = (body.rfind(['.', ',']), readable) else {
        return DecimalSigns::default();
    };
    let (dots, commas) = (body.matches('.').count(), body.matches(',').count());
    match (dots, commas) {
        // If both signs occur, the last one is the decimal separator.
        (1.., 1..) if body[last..].starts_with(',') => comma,
        // Three digits after the sign: thousands, or three decimals.
        (1, 0) | (0, 1) if grouped(&body.replace(',', "."), b'.') => DecimalSigns::default(),
        (1.., 1..) | (1, 0) => point,
        (0, 1) => comma,
        (2.., 0) if grouped(body, b'.') => comma,
        (0, 2..) if grouped(body, b',') => point,
        _ => DecimalSigns::default(),
    }
}

/// The number without spaces and suffix, and the suffix's power of ten.
fn without_suffix(text: &str) -> (&str, i32) {
    let text = text.trim();
    let power = text.chars().next_back().and_then(|last| {
        SUFFIXES
            .iter()
            .find(|(suffix, _)| suffix.eq_ignore_ascii_case(&last))
    });
    power.map_or((text, 0), |(_, power)| {
        (text[..text.len() - 1].trim_end(), *power)
    })
}

/// Whether `sign` separates groups of three digits, the first of one to three and not zero.
fn grouped(digits: &str, sign: u8) -> bool {
    let mut groups = digits.split(char::from(sign));
    let first = groups.next().unwrap_or_default();
    let number = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len())
        && number(first)
        && !first.starts_with('0')
        && groups.all(|group| group.len() == 3 && number(group))
}

/// Plain decimal text of a number, digit for digit: decimals after a point, no thousands separators, and K, M, B or T multiplied out; an
/// exponent is kept. `None` if the text is not a number.
pub fn plain(text: &str, decimal: Decimal) -> Option<String> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',') {
        return None;
    }
    let (text, power) = without_suffix(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, between) = decimal.signs();
    let (whole, fraction) = mantissa
        .split_once(char::from(sign))
        .unwrap_or((mantissa, ""));
    let whole = without_gaps(whole, char::from(between))?;
    if !fraction.bytes().all(|digit| digit.is_ascii_digit())
        || whole.is_empty() && fraction.is_empty()
    {
        return None;
    }
    let minus = if negative { "-" } else { "" };
    if exponent != 0 {
        return exponent.checked_add(power).map(|power| {
            format!(
                "{minus}{whole}{}{fraction}e{power}",
                if fraction.is_empty() { "" } else { "." }
            )
        });
    }
    Some(format!("{minus}{}", shifted(&whole, fraction, power)))
}

/// The integer part without thousands separators: groups of three digits; in the Indian style, groups of two before a final group of three.
fn without_gaps(whole: &str, separator: char) -> Option<String> {
    if whole.bytes().all(|digit| digit.is_ascii_digit()) {
        return Some(whole.to_owned());
    }
    let gap = whole
        .chars()
        .find(|c| *c == separator || GAPS.contains(c))?;
    let groups: Vec<&str> = whole.split(gap).collect();
    let digits = |group: &&str| group.bytes().all(|digit| digit.is_ascii_digit());
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let grouped = (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && last.len() == 3
        && middle
            .iter()
            .all(|group| group.len() == 3 || group.len() == 2);
    (grouped && groups.iter().all(digits)).then(|| groups.concat())
}

/// Multiplies by a power of ten by moving the decimal point.
fn shifted(whole: &str, fraction: &str, power: i32) -> String {
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i64 + i64::from(power);
    let (whole, fraction) = if point <= 0 {
        (
            String::from("0"),
            format!(
                "{}{digits}",
                "0".repeat(point.unsigned_abs().min(400) as usize)
            ),
        )
    } else if point as usize >= digits.len() {
        (
            format!(
                "{digits}{}",
                "0".repeat((point as usize - digits.len()).min(400))
            ),
            String::new(),
        )
    } else {
        (
            digits[..point as usize].to_owned(),
            digits[point as usize..].to_owned(),
        )
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    }
}

/// Bit set of the epoch units that fit a column's numeric times by magnitude; see `UNITS`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EpochUnits(u8);

/// Excel serial dates from 1954 to 2119; read as seconds, all of them would be on 1970-01-01.
const DAYS: std::ops::Range<f64> = 20_000.0..80_000.0;
/// 1970-01-01 as an Excel serial date.
const EPOCH_DAY: f64 = 25_569.0;
const UNITS: [&str; 5] = [
    "Excel days",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
];

impl EpochUnits {
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub fn bits(self) -> u8 {
        self.0
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Unit of one cell; empty if it is not a number.
    pub fn of_cell(cell: &RawCell<'_>) -> Self {
        match cell {
            RawCell::Int(number) => Self::of_number(*number as f64),
            RawCell::Float(number) => Self::of_number(*number),
            RawCell::Text(text) => Self::of_text(text),
            _ => Self(0),
        }
    }

    /// Unit of a text, judged by its number of digits. Runs on every row.
    pub fn of_text(text: &str) -> Self {
        let text = text.trim();
        // Most times are formatted dates, which their fifth character shows.
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

    /// Whether all numbers are Excel serial dates.
    pub fn are_days(self) -> bool {
        self.0 == 1
    }

    /// The mixed units, if there is more than one.
    pub fn mixed(self) -> Option<String> {
        let units: Vec<&str> = UNITS
            .iter()
            .enumerate()
            .filter(|(bit, _)| self.0 >> bit & 1 == 1)
            .map(|(_, unit)| *unit)
            .collect();
        (units.len() > 1).then(|| units.join(" and "))
    }
}

/// Milliseconds since 1970 of an Excel serial date; `None` outside the range of `DAYS`.
pub fn excel_day(number: f64) -> Option<i64> {
    DAYS.contains(&number).then(|| of_excel_day(number))
}

/// Milliseconds since 1970 of any Excel serial date, rounded to the second.
pub fn of_excel_day(number: f64) -> i64 {
    ((number - EPOCH_DAY) * (DAY_MS / 1_000) as f64).round() as i64 * 1_000
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
            assert_eq!(
                DecimalSigns::of(texts.iter().copied()).decimal(),
                expected,
                "{texts:?}"
            );
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
            assert_eq!(
                plain(text, decimal).and_then(|text| text.parse::<f64>().ok()),
                expected,
                "{text} {decimal}"
            );
        }
    }

    #[test]
    fn times_tell_their_unit_by_their_size() {
        let all = |texts: &[&str]| {
            texts.iter().fold(EpochUnits::default(), |all, text| {
                all.and(EpochUnits::of_text(text))
            })
        };
        assert!(all(&["44594", "44595.5"]).are_days());
        assert!(!all(&["44594", "1609556645"]).are_days());
        assert_eq!(
            all(&["1609556645", "1609556645000"]).mixed().as_deref(),
            Some("seconds and milliseconds")
        );
        assert_eq!(all(&["1609556645", "2021-01-02", "20210102"]).mixed(), None);
        assert_eq!(excel_day(44_594.0), Some(1_643_760_000_000));
        assert_eq!(excel_day(44_594.041_666_67), Some(1_643_763_600_000));
        assert_eq!(excel_day(1.0), None);
    }
}
