//! Parses times and dates: ISO 8601 with or without a zone, epochs (unit by magnitude), YYYYMMDD, or a format given by the user.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};

use crate::cells::{Bad, Read, notation::excel_day};
use frames::raw_cell::RawCell;
use model::time::{DAY_MS, MINUTE_MS, Time};

/// Near-ISO 8601 variants, in UTC: seconds omitted, slashes for dashes.
const PLAIN: &[&str] = &[
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
];
const DAYS: &[&str] = &["%Y-%m-%d", "%Y/%m/%d"];

/// Milliseconds since 1970 UTC. With `days`, numbers are Excel serial dates.
pub(super) fn time(cell: &RawCell<'_>, format: Option<&str>, days: bool) -> Read<i64> {
    let time = match cell {
        _ if cell.is_null() => return Ok(None),
        RawCell::Int(number) if days => excel_day(*number as f64).ok_or(Bad)?,
        RawCell::Float(number) if days => excel_day(*number).ok_or(Bad)?,
        RawCell::Text(text) if days => text.trim().parse().ok().and_then(excel_day).ok_or(Bad)?,
        RawCell::Time(time) => *time,
        RawCell::Day(day) => i64::from(*day) * DAY_MS,
        RawCell::Int(number) => epoch(*number).ok_or(Bad)?,
        RawCell::Float(number) if !number.is_finite() => return Ok(None),
        RawCell::Float(number) => epoch_float(*number).ok_or(Bad)?,
        RawCell::Text(text) => match format {
            Some(format) => formatted(text.trim(), format).ok_or(Bad)?,
            None => parsed(text.trim()).ok_or(Bad)?,
        },
        _ => return Err(Bad),
    };
    if in_bounds(time) {
        Ok(Some(time))
    } else {
        Err(Bad)
    }
}

/// Whether the time is in the years 1 to 9999.
pub(super) fn in_bounds(time: i64) -> bool {
    // From 0001-01-01 to before 10000-01-01.
    (-62_135_596_800_000..253_402_300_800_000).contains(&time)
}

/// Days since 1970. A time of day other than midnight would be lost, so it is bad.
pub(super) fn date(cell: &RawCell<'_>, format: Option<&str>, days: bool) -> Read<i32> {
    match time(cell, format, days)? {
        None => Ok(None),
        Some(time) if time % DAY_MS == 0 => Ok(Some(Time(time).day().0)),
        Some(_) => Err(Bad),
    }
}

/// An integer time: YYYYMMDD, else an epoch whose unit follows from its magnitude.
fn epoch(number: i128) -> Option<i64> {
    if (19_000_101..=21_001_231).contains(&number) {
        let number = number as i32;
        let date = NaiveDate::from_ymd_opt(
            number / 10_000,
            (number / 100 % 100) as u32,
            (number % 100) as u32,
        )?;
        return Some(date.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    }
    i64::try_from(match number.unsigned_abs() {
        0..100_000_000_000 => number * 1_000,
        100_000_000_000..100_000_000_000_000 => number,
        100_000_000_000_000..100_000_000_000_000_000 => number.div_euclid(1_000),
        _ => number.div_euclid(1_000_000),
    })
    .ok()
}

fn epoch_float(number: f64) -> Option<i64> {
    if number.fract() == 0.0 && number.abs() < 1e20 {
        return epoch(number as i128);
    }
    // Only epoch seconds have a significant fraction.
    (number.abs() < 1e11)
        .then_some((number * 1_000.0).round() as i64)
        .or_else(|| epoch(number as i128))
}

fn parsed(text: &str) -> Option<i64> {
    if let Some(time) = iso(text) {
        return Some(time);
    }
    let number = text.strip_prefix('-').unwrap_or(text);
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().and_then(epoch);
    }
    if number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return text.parse().ok().and_then(epoch_float);
    }
    // Requires a four-digit year; chrono would read `03/01/24` as a day of the year 3.
    if !text
        .get(..4)
        .is_some_and(|year| year.bytes().all(|digit| digit.is_ascii_digit()))
    {
        return None;
    }
    let plain = text
        .strip_suffix(" UTC")
        .or_else(|| text.strip_suffix(['Z', 'z']))
        .unwrap_or(text)
        .trim_end();
    let times = PLAIN
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(plain, format).ok());
    times
        .or_else(|| {
            DAYS.iter()
                .find_map(|format| NaiveDate::parse_from_str(plain, format).ok())
                .map(|day| day.and_time(NaiveTime::MIN))
        })
        .map(|time| time.and_utc().timestamp_millis())
}

/// Hand-written fast path for common ISO 8601, as it runs millions of times: `2021-01-02`, then `T` or a space and `03:04`, `:05`, `.678`,
/// and `Z`, ` UTC` or an offset.
fn iso(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, digits: usize| -> Option<u32> {
        let field = bytes.get(from..from + digits)?;
        field.iter().try_fold(0, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + u32::from(digit - b'0'))
        })
    };
    let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    if !is(4, b'-') || !is(7, b'-') {
        return None;
    }
    let day = NaiveDate::from_ymd_opt(number(0, 4)? as i32, number(5, 2)?, number(8, 2)?)?;
    if bytes.len() == 10 {
        return Some(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    }
    if !(is(10, b'T') || is(10, b' ')) || !is(13, b':') {
        return None;
    }
    let (hour, minute) = (number(11, 2)?, number(14, 2)?);
    let (mut second, mut milli, mut at) = (0, 0, 16);
    if is(at, b':') {
        (second, at) = (number(at + 1, 2)?, at + 3);
        if is(at, b'.') {
            let digits = bytes[at + 1..]
                .iter()
                .take_while(|digit| digit.is_ascii_digit())
                .count();
            // Truncated to milliseconds.
            let kept = digits.min(3);
            milli = number(at + 1, kept)? * 10u32.pow(3 - kept as u32);
            at += 1 + digits;
        }
    }
    let time = day
        .and_time(NaiveTime::from_hms_milli_opt(hour, minute, second, milli)?)
        .and_utc()
        .timestamp_millis();
    let sign = match bytes.get(at..)? {
        b"" | b"Z" | b"z" | b" UTC" => return Some(time),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let minutes = match bytes.len() - at {
        3 => 0,
        5 => number(at + 3, 2)?,
        6 if is(at + 3, b':') => number(at + 4, 2)?,
        _ => return None,
    };
    let hours = number(at + 1, 2)?;
    (hours < 24 && minutes < 60).then(|| time - sign * i64::from(hours * 60 + minutes) * MINUTE_MS)
}

fn formatted(text: &str, format: &str) -> Option<i64> {
    // `%Y` would take the two digits of `03/01/24` for the year 24.
    let four_digits = |year: i32| year >= 1_000;
    let zoned = || {
        DateTime::parse_from_str(text, format)
            .ok()
            .filter(|time| four_digits(time.year()))
            .map(|time| time.timestamp_millis())
    };
    let plain = || {
        NaiveDateTime::parse_from_str(text, format)
            .ok()
            .filter(|time| four_digits(time.year()))
            .map(|time| time.and_utc().timestamp_millis())
    };
    let day = || {
        let day = NaiveDate::parse_from_str(text, format)
            .ok()
            .filter(|day| four_digits(day.year()))?;
        Some(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
    };
    zoned().or_else(plain).or_else(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_moment_leads_to_it() {
        // 2021-01-02T03:04:05Z.
        let moment = 1_609_556_645_000;
        for text in [
            "2021-01-02T03:04:05Z",
            "2021-01-02 03:04:05",
            "2021-01-02 03:04:05 UTC",
            "2021-01-02T03:04:05.000+00:00",
            "2021-01-02 05:04:05+0200",
            "2021-01-02T05:04:05+02",
            "2021-01-01 22:04:05.000000-05:00",
            "2021-1-2 3:04:05",
            "2021/01/02 03:04:05",
            "1609556645",
            "1609556645.0",
            "1609556645000",
            "1609556645000000",
            "1609556645000000000",
        ] {
            assert_eq!(
                time(&RawCell::Text(text.into()), None, false),
                Ok(Some(moment)),
                "{text}"
            );
        }
        assert_eq!(
            time(
                &RawCell::Text("1/2/2021 3:04".into()),
                Some("%m/%d/%Y %H:%M"),
                false
            ),
            Ok(Some(moment - 5_000))
        );
    }

    #[test]
    fn a_date_is_midnight_utc_and_a_time_is_no_date() {
        let midnight = 1_609_545_600_000;
        for text in [
            "2021-01-02",
            "20210102",
            "2021/01/02",
            "2021-01-02T00:00:00Z",
        ] {
            assert_eq!(
                time(&RawCell::Text(text.into()), None, false),
                Ok(Some(midnight)),
                "{text}"
            );
            assert_eq!(
                date(&RawCell::Text(text.into()), None, false),
                Ok(Some(18_629)),
                "{text}"
            );
        }
        assert_eq!(
            date(&RawCell::Text("01/02/2021".into()), Some("%m/%d/%Y"), false),
            Ok(Some(18_629))
        );
        assert_eq!(
            date(&RawCell::Text("2021-01-02T00:00:01Z".into()), None, false),
            Err(Bad)
        );
        assert_eq!(date(&RawCell::Day(18_629), None, false), Ok(Some(18_629)));
    }

    #[test]
    fn what_is_no_time_is_bad() {
        for text in [
            "yesterday",
            "03/01/24",
            "24-03-01",
            "2021-13-01",
            "20211301",
            "99999999999999999999999999",
            "1.2.3",
            "2021-01-02T03:04:05+99:99",
            "2021-01-02T25:00",
            "2021-01-02é",
            ".",
            "--1",
        ] {
            assert_eq!(
                time(&RawCell::Text(text.into()), None, false),
                Err(Bad),
                "{text}"
            );
        }
        assert_eq!(
            time(&RawCell::Text("x".into()), Some("%Q%%%"), false),
            Err(Bad)
        );
        assert_eq!(
            time(&RawCell::Text("03/01/24".into()), Some("%m/%d/%Y"), false),
            Err(Bad)
        );
        assert_eq!(
            time(&RawCell::Text("03/01/24".into()), Some("%m/%d/%y"), false),
            Ok(Some(1_709_251_200_000))
        );
        assert_eq!(time(&RawCell::Float(f64::INFINITY), None, false), Ok(None));
        assert_eq!(time(&RawCell::Time(i64::MAX), None, false), Err(Bad));
    }
}
