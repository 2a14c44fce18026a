//! How numbers are written: thousands apart, decimal comma or point, a currency before, K or M behind. What comes out is the plain
//! decimal text of the same number, digit for digit; nothing is rounded.

/// What stands before a number.
const BEFORE: &[&str] = &["US$", "USD", "$", "€", "£", "¥", "₿", "Ξ"];
/// What multiplies it, and by which power of ten.
const SUFFIXES: &[(char, i32)] = &[('K', 3), ('M', 6), ('B', 9), ('T', 12)];
/// What may stand between thousands beside the comma or the point.
const GAPS: &[char] = &[' ', '\u{a0}', '\u{202f}', '\'', '_'];

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataset::import) struct Style {
    /// The comma stands before the decimals.
    pub comma: bool,
    /// Some are more than digits and a point, so that they must be rewritten.
    pub dressed: bool,
}

impl Style {
    /// How all these cells are written; `None` where some say comma and others point. `semicolons` part the file's cells, as where the
    /// comma is the decimal sign.
    pub(in crate::dataset::import) fn of<'a>(cells: impl Iterator<Item = &'a str>, semicolons: bool) -> Option<Self> {
        let (mut comma, mut point, mut unsure, mut dressed) = (false, false, false, false);
        for cell in cells {
            let digits = cell.trim();
            dressed |= digits.parse::<f64>().is_err() && digits.bytes().any(|byte| byte.is_ascii_digit());
            match decimals(digits) {
                Some(',') => comma = true,
                Some('.') => point = true,
                Some('?') => unsure = true,
                _ => {}
            }
        }
        match (comma, point) {
            (true, true) => None,
            (true, false) => Some(Self { comma: true, dressed: true }),
            (false, true) => Some(Self { comma: false, dressed }),
            (false, false) => Some(Self { comma: unsure && semicolons, dressed }),
        }
    }

    /// The number as plain text; `None` where it is none.
    pub(in crate::dataset::import) fn plain(self, text: &str) -> Option<String> {
        plain(text, self.comma)
    }
}

/// The sign before the decimals, as far as this one number shows it; `?` where a comma could be either.
fn decimals(text: &str) -> Option<char> {
    let text = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%' || c == ' ');
    let last = text.rfind(['.', ','])?;
    let sign = text[last..].chars().next()?;
    let other = if sign == '.' { ',' } else { '.' };
    let behind = text[last + 1..].bytes().take_while(u8::is_ascii_digit).count();
    let before = &text[..last];
    if before.contains(other) {
        return Some(sign);
    }
    if before.contains(sign) {
        // 1.234.567: it stands between thousands.
        return Some(other);
    }
    if behind != 3 || before.trim_start_matches(['-', '+', '$']).starts_with('0') {
        return Some(sign);
    }
    // 1,234 could be either; 1.234 is a number as programs write it, and speaks for neither.
    (sign == ',').then_some('?')
}

/// The plain decimal text of a number written with thousands apart, a currency, or K, M, B, T; `None` where it is no number.
pub(in crate::dataset::import) fn plain(text: &str, comma: bool) -> Option<String> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let text = BEFORE.iter().find_map(|sign| text.strip_prefix(sign)).unwrap_or(text).trim_start();
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',') {
        return None;
    }
    let end = text.trim_end();
    let (text, power) = match end.chars().next_back().map(|last| last.to_ascii_uppercase()) {
        Some(last) if last.is_ascii_alphabetic() => {
            let (_, power) = SUFFIXES.iter().find(|(suffix, _)| *suffix == last)?;
            (end[..end.len() - 1].trim_end(), *power)
        }
        _ => (end, 0),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let sign = if comma { ',' } else { '.' };
    let (whole, fraction) = mantissa.split_once(sign).unwrap_or((mantissa, ""));
    let whole = without_gaps(whole, if comma { '.' } else { ',' })?;
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let minus = if negative { "-" } else { "" };
    if exponent != 0 {
        return exponent
            .checked_add(power)
            .map(|power| format!("{minus}{whole}{}{fraction}e{power}", if fraction.is_empty() { "" } else { "." }));
    }
    Some(format!("{minus}{}", shifted(&whole, fraction, power)))
}

/// The digits before the decimals, thousands put together: groups of three, or of two as in India, the last of three.
fn without_gaps(whole: &str, separator: char) -> Option<String> {
    if whole.bytes().all(|digit| digit.is_ascii_digit()) {
        return Some(whole.to_owned());
    }
    let gap = whole.chars().find(|c| *c == separator || GAPS.contains(c))?;
    let groups: Vec<&str> = whole.split(gap).collect();
    let digits = |group: &&str| group.bytes().all(|digit| digit.is_ascii_digit());
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let grouped = (1..=3).contains(&first.len()) && last.len() == 3 && middle.iter().all(|group| group.len() == 3 || group.len() == 2);
    (grouped && groups.iter().all(digits)).then(|| groups.concat())
}

/// The number times a power of ten, by moving the point.
fn shifted(whole: &str, fraction: &str, power: i32) -> String {
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i64 + i64::from(power);
    let (whole, fraction) = if point <= 0 {
        (String::from("0"), format!("{}{digits}", "0".repeat(point.unsigned_abs().min(400) as usize)))
    } else if point as usize >= digits.len() {
        (format!("{digits}{}", "0".repeat((point as usize - digits.len()).min(400))), String::new())
    } else {
        (digits[..point as usize].to_owned(), digits[point as usize..].to_owned())
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
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
            let found = Style::of(cells.iter().copied(), semicolons);
            assert_eq!(found.map(|style| (style.comma, style.dressed)), expected, "{cells:?}");
        }
    }
}
