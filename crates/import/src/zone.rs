//! The time zone of a file's times that carry none, as the user states it: an offset, the name of a zone, or a usual abbreviation.

use std::{fmt, str::FromStr};

use chrono::{DateTime, MappedLocalTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

use super::{error::OptionError, refusal::filled};
use model::time::{HOUR_MS, MINUTE_MS};

/// Abbreviations that the database of zones lacks, and what they stand for. `EST`, `MST` and `CET` are in it.
const SHORT: &[(&str, &str)] = &[
    ("ET", "America/New_York"),
    ("CT", "America/Chicago"),
    ("MT", "America/Denver"),
    ("PT", "America/Los_Angeles"),
    ("EDT", "-04:00"),
    ("CDT", "-05:00"),
    ("MDT", "-06:00"),
    ("PDT", "-07:00"),
    ("PST", "-08:00"),
    ("ART", "-03:00"),
    ("BRT", "-03:00"),
    ("CEST", "+02:00"),
    ("EEST", "+03:00"),
    ("MSK", "+03:00"),
    ("ICT", "+07:00"),
    ("WIB", "+07:00"),
    ("HKT", "+08:00"),
    ("SGT", "+08:00"),
    ("JST", "+09:00"),
    ("KST", "+09:00"),
    ("AEST", "+10:00"),
    ("AEDT", "+11:00"),
    ("NZST", "+12:00"),
    ("NZDT", "+13:00"),
];
/// Abbreviations of several zones.
const SEVERAL: &[(&str, &str)] = &[
    ("IST", "Asia/Kolkata or Asia/Jerusalem"),
    ("CST", "America/Chicago or Asia/Shanghai"),
    ("BST", "Europe/London or Asia/Dhaka"),
];
/// The greatest offset of a zone.
const OFFSET_MAX: i64 = 14 * HOUR_MS;

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Milliseconds east of UTC.
    Fixed(i64),
    Named(Tz),
}

impl Zone {
    /// The time in UTC of a local one. Of two, when clocks are set back, the earlier; one that clocks skip is as they were before.
    pub(super) fn universal(self, local: i64) -> Option<i64> {
        let zone = match self {
            Self::Fixed(offset) => return Some(local - offset),
            Self::Named(zone) => zone,
        };
        let offset = |ms: i64| match zone
            .offset_from_local_datetime(&DateTime::from_timestamp_millis(ms)?.naive_utc())
        {
            MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(offset, _) => {
                Some(offset.fix().local_minus_utc())
            }
            MappedLocalTime::None => None,
        };
        Some(local - i64::from(offset(local).or_else(|| offset(local - 3 * HOUR_MS))?) * 1_000)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(zone) => into.write_str(zone.name()),
            Self::Fixed(offset) => {
                let sign = if *offset < 0 { '-' } else { '+' };
                write!(
                    into,
                    "{sign}{:02}:{:02}",
                    offset.abs() / HOUR_MS,
                    offset.abs() % HOUR_MS / MINUTE_MS
                )
            }
        }
    }
}

impl FromStr for Zone {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        filled(text)?;
        let of = |known: &[(&str, &'static str)]| {
            known
                .iter()
                .find(|(short, _)| short.eq_ignore_ascii_case(text))
                .map(|(_, long)| *long)
        };
        if let Some(zones) = of(SEVERAL) {
            return Err(OptionError::SeveralZones {
                text: text.to_owned(),
                zones,
            });
        }
        let name = of(SHORT).unwrap_or(text);
        let named = || {
            TZ_VARIANTS
                .iter()
                .find(|zone| zone.name().eq_ignore_ascii_case(name))
                .copied()
                .map(Self::Named)
        };
        offset(name).map(Self::Fixed).or_else(named).ok_or_else(|| {
            OptionError::expected(text, "a time zone, such as Europe/Berlin, EST or +05:30")
        })
    }
}

/// Milliseconds east of UTC of `+05:30`, `-0500` or `UTC+8`.
fn offset(text: &str) -> Option<i64> {
    let upper = text.to_ascii_uppercase();
    let behind = upper
        .strip_prefix("UTC")
        .or_else(|| upper.strip_prefix("GMT"));
    let signed = behind.unwrap_or(&upper);
    let minus = signed.strip_prefix('-').map(|rest| (-1, rest));
    // `utc8`, as headers name it.
    let (sign, digits) = minus.or_else(|| Some((1, signed.strip_prefix('+').or(behind)?)))?;
    let split = digits
        .split_once(':')
        .or_else(|| digits.split_at_checked(2).filter(|_| digits.len() == 4))
        .unwrap_or((digits, "0"));
    let is_number = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    let (hours, minutes): (i64, i64) = (
        split.0.parse().ok().filter(|_| is_number(split.0))?,
        split.1.parse().ok().filter(|_| is_number(split.1))?,
    );
    Some(sign * (hours * HOUR_MS + minutes * MINUTE_MS))
        .filter(|offset| minutes < 60 && offset.abs() <= OFFSET_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_an_offset_or_a_name() {
        let first_of_july = 1_719_792_000_000;
        for (text, shown, hours) in [
            ("+05:30", "+05:30", 5.5),
            ("-0500", "-05:00", -5.0),
            ("UTC+8", "+08:00", 8.0),
            ("utc8", "+08:00", 8.0),
            ("kst", "+09:00", 9.0),
            ("EST", "EST", -5.0),
            ("europe/berlin", "Europe/Berlin", 2.0),
            ("ET", "America/New_York", -4.0),
            ("UTC", "UTC", 0.0),
        ] {
            let zone: Zone = text.parse().unwrap();
            let ms = zone.universal(first_of_july).unwrap();
            assert_eq!(
                (
                    zone.to_string().as_str(),
                    (first_of_july - ms) as f64 / HOUR_MS as f64
                ),
                (shown, hours),
                "{text}"
            );
            assert_eq!(zone.to_string().parse(), Ok(zone), "{text}");
        }
        for text in [
            "",
            "8",
            "+",
            "+24:00",
            "+05:60",
            "+x",
            "IST",
            "Mars/Base",
            "ZONE",
        ] {
            assert!(text.parse::<Zone>().is_err(), "{text}");
        }
        // Clocks skip 02:30, and show it twice.
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        for (local, hours) in [("2024-03-31T02:30:00Z", 1), ("2024-10-27T02:30:00Z", 2)] {
            let ms = DateTime::parse_from_rfc3339(local)
                .unwrap()
                .timestamp_millis();
            assert_eq!(berlin.universal(ms), Some(ms - hours * HOUR_MS), "{local}");
        }
    }
}
