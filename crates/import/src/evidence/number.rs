//! The number notation of a file's column: that of `load::cells`, and currencies before or after the number. Converts to the plain
//! decimal text of the same number, digit for digit; nothing is rounded.

use super::currency;
use load::{
    cells::notation::{self, DecimalSigns},
    manifest::Decimal,
};

/// Scale words after a number, in addition to K, M, B and T, with their powers of ten. None ends with another.
const SCALES: &[(&str, i32)] = &[
    ("tsd. tsd", 3),
    ("万 萬", 4),
    ("lakh", 5),
    ("millions million mio. mio mln mn", 6),
    ("crore cr", 7),
    ("億 亿", 8),
    ("billions billion mrd. mrd bln bn", 9),
];

/// The number notation of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberStyle {
    /// The decimal separator is a comma.
    pub comma: bool,
    /// Some cells are more than digits and a point, so that they must be rewritten.
    pub needs_rewrite: bool,
}

impl NumberStyle {
    /// Infers the notation of these cells; `None` if they contradict each other. `semicolons`: the file is semicolon-delimited, as is usual
    /// with decimal commas.
    pub(crate) fn of<'a>(cells: impl Iterator<Item = &'a str>, semicolons: bool) -> Option<Self> {
        let (mut shown, mut unsure, mut needs_rewrite) = (DecimalSigns::default(), false, false);
        for cell in cells {
            let digits = cell.trim();
            needs_rewrite |=
                digits.parse::<f64>().is_err() && digits.bytes().any(|byte| byte.is_ascii_digit());
            let number = bare(digits);
            unsure |= number.contains(',');
            shown = shown.and(DecimalSigns::of(std::iter::once(number)));
        }
        match (shown.comma, shown.point) {
            (true, true) => None,
            (true, false) => Some(Self {
                comma: true,
                needs_rewrite: true,
            }),
            (false, true) => Some(Self {
                comma: false,
                needs_rewrite,
            }),
            (false, false) => Some(Self {
                comma: unsure && semicolons,
                needs_rewrite,
            }),
        }
    }

    /// The decimal separators that these cells prove.
    pub(crate) fn signs<'a>(cells: impl Iterator<Item = &'a str>) -> DecimalSigns {
        DecimalSigns::of(cells.map(|cell| bare(cell.trim())))
    }

    /// The number as plain text; `None` if it is none.
    pub(crate) fn plain(self, text: &str) -> Option<String> {
        plain(text, self.comma)
    }
}

/// The plain decimal text of a number, without its currency; `None` if it is no number.
pub(crate) fn plain(text: &str, comma: bool) -> Option<String> {
    let (minus, text) = text
        .trim()
        .strip_prefix(['-', '−'])
        .map_or(("", text.trim()), |rest| ("-", rest.trim_start()));
    let text = currency::apart(text).0;
    if !text.starts_with(|c: char| {
        c.is_ascii_digit() || c == '.' || c == ',' || c == '+' && minus.is_empty()
    }) {
        return None;
    }
    let decimal = if comma {
        Decimal::Comma
    } else {
        Decimal::Point
    };
    let read = match scale(text) {
        Some((number, power)) => notation::plain(&format!("{number}e{power}"), decimal),
        None => notation::plain(text, decimal),
    };
    read.map(|text| format!("{minus}{text}"))
}

/// Splits a scale word off a number and returns its power of ten; `None` if there is none.
pub(crate) fn scale(text: &str) -> Option<(&str, i32)> {
    if text.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let lower = text.to_lowercase();
    let ending = |(words, power): &(&str, i32)| {
        words
            .split(' ')
            .find(|word| lower.ends_with(word))
            .map(|word| (word.len(), *power))
    };
    let (length, power) = SCALES.iter().find_map(ending)?;
    let number = text.get(..text.len().checked_sub(length)?)?.trim_end();
    number
        .ends_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',')
        .then_some((number, power))
}

/// The digits and signs of a number, without currency and scale word.
fn bare(text: &str) -> &str {
    let number = currency::apart(text.trim_start_matches(['-', '−', '+']).trim_start()).0;
    scale(number)
        .map_or(number, |(number, _)| number)
        .trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%' || c == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_numbers_become_plain_and_others_are_none() {
        for (text, comma, expected) in [
            ("$389,110,711.00", false, Some("389110711.00")),
            ("1.44E7", false, Some("1.44e7")),
            ("3E-18", false, Some("3e-18")),
            ("-1,000", false, Some("-1000")),
            ("629.18K", false, Some("629180")),
            ("2.02M", false, Some("2020000")),
            ("0.5b", false, Some("500000000")),
            ("12,34,567.5", false, Some("1234567.5")),
            ("21.401,00", true, Some("21401.00")),
            ("3,56K", true, Some("3560")),
            ("244,32", true, Some("244.32")),
            ("1 234,5", true, Some("1234.5")),
            (".5", false, Some("0.5")),
            ("62,000.00 USD", false, Some("62000.00")),
            ("69.116,92 $", true, Some("69116.92")),
            ("R$ 62.000,00", true, Some("62000.00")),
            ("1899.21 Mio", false, Some("1899.21e6")),
            ("1,8992bn", true, Some("1.8992e9")),
            ("2.98万", false, Some("2.98e4")),
            ("189 Cr", false, Some("189e7")),
            ("1,5", false, None),
            ("1,2345", false, None),
            ("1.11 ETH", false, None),
            ("4%", false, None),
            ("0x12", false, None),
            ("", false, None),
            ("12-05", false, None),
        ] {
            assert_eq!(plain(text, comma).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_decimal_sign_is_told_by_all_cells_together() {
        for (cells, semicolons, expected) in [
            (&["20.957,00", "0,5"][..], false, Some((true, true))),
            (&["1,234", "1,234.5"], false, Some((false, true))),
            (&["1,234", "2,345"], false, Some((false, true))),
            (&["1,234", "2,345"], true, Some((true, true))),
            (&["1.5", "2.25"], true, Some((false, false))),
            (&["1.234.567", "5"], false, Some((true, true))),
            (&["1,5", "1.5"], false, None),
            (&["629.18K"], false, Some((false, true))),
        ] {
            let found = NumberStyle::of(cells.iter().copied(), semicolons);
            assert_eq!(
                found.map(|style| (style.comma, style.needs_rewrite)),
                expected,
                "{cells:?}"
            );
        }
    }
}
