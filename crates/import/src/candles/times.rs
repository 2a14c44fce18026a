//! Corrections from a time column to candle open times: time zones other than UTC, close times, digits that a spreadsheet rounded away.
//! Nothing is guessed: a name or the cells must show it.

use super::super::{
    evidence::when::{TimeStyle, is_local, parsed},
    names::{Names, is_one_of, plain},
    sheet::RawTable,
};
use model::{
    interval::Interval,
    time::{DAY_MS, HOUR_MS, MINUTE_MS},
};
use std::collections::BTreeSet;

/// Milliseconds in the last digit from which equal times have lost digits: midnights have more digits.
const LOST: i64 = 10_000_000;
/// Columns named as close times.
const ENDS: &str = "\
    closetime timeclose closetimestamp closedat endtime timeend endtimestamp end endat periodend timeperiodend intervalend bucketend windowend";
/// BitMEX's `trade/bucketed`, whose `timestamp` is the close time (according to its API documentation).
const BITMEX: [&str; 3] = ["homenotional", "foreignnotional", "turnover"];
/// Abbreviations of zones in headers, all of them off UTC for at least part of the year.
const ZONES: &str = "\
    cet cest eet eest wet west bst msk est edt et cst cdt ct mst mdt mt pst pdt pt jst kst hkt sgt ist ict wib aest aedt awst acst nzst nzdt brt art";
const ZONE_COLUMNS: &str = "tz timezone zone tzname utcoffset";

/// The zone other than UTC that the time header or a zone column names; `None` if the cells carry their own.
pub(super) fn foreign_zone(
    sheet: &RawTable,
    time: usize,
    when: TimeStyle,
    cells: &[String],
) -> Option<(String, String)> {
    // A footnote among the cells does not tell the zone.
    let filled = || {
        cells
            .iter()
            .map(|cell| cell.trim())
            .filter(|cell| when.ms(cell).is_some())
    };
    let has_clock = |cell: &str| {
        cell.contains(':') || when == TimeStyle::Digits && cell.trim_end_matches(".0").len() > 8
    };
    // A workbook's days have a time of day too.
    let are_days = filled().all(|cell| when.ms(cell).is_some_and(|ms| ms % DAY_MS == 0));
    if matches!(when, TimeStyle::Epoch | TimeStyle::Local(..))
        || are_days
        || !filled().all(|cell| has_clock(cell) && is_local(cell))
    {
        return None;
    }
    let header = &sheet.names[time];
    if let Some(zone) = zone_in(header) {
        return Some((zone, header.clone()));
    }
    let beside =
        (0..sheet.names.len()).find(|&at| is_one_of(&plain(&sheet.names[at]), ZONE_COLUMNS))?;
    let zone = sheet
        .different(beside)
        .into_iter()
        .find(|zone| !is_utc(zone))?;
    Some((zone.to_owned(), sheet.names[beside].clone()))
}

fn is_utc(zone: &str) -> bool {
    let zone = zone.trim().to_ascii_lowercase();
    [
        "",
        "utc",
        "gmt",
        "z",
        "etc/utc",
        "etc/gmt",
        "utc+0",
        "utc+00:00",
        "+00:00",
        "+0000",
        "0",
    ]
    .contains(&zone.as_str())
}

/// The zone in a header: `CET` of `Date (CET)`, `utc8` of `timestamp_utc8`, `UTC+8` of `Time (UTC+8)`.
fn zone_in(header: &str) -> Option<String> {
    let words: Vec<&str> = header
        .split(|c: char| !(c.is_ascii_alphanumeric() || ['+', '-', '/', ':'].contains(&c)))
        .collect();
    // The first word names the column and is no zone.
    let behind = words.iter().skip(1).filter(|word| !word.is_empty());
    let offset = |word: &str| {
        let rest = word
            .strip_prefix("utc")
            .or_else(|| word.strip_prefix("gmt"))
            .unwrap_or(word);
        let digits = rest.trim_start_matches(['+', '-']);
        (rest.len() < word.len() || rest.len() > digits.len())
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.bytes().any(|digit| (b'1'..=b'9').contains(&digit))
    };
    behind
        .filter(|word| {
            let lower = word.to_ascii_lowercase();
            // Two letters are a zone only in capitals.
            let named =
                is_one_of(&lower, ZONES) && (lower.len() > 2 || **word == lower.to_uppercase());
            named
                || offset(&lower)
                || ["America/", "Europe/", "Asia/", "Australia/"]
                    .iter()
                    .any(|area| word.starts_with(area))
        })
        .map(|word| (*word).to_owned())
        .next()
}

/// The note on times without a zone, if candles of hours to days begin whole half hours off those of UTC, as those of a time zone do. Where
/// clocks change, they begin at two times an hour apart.
pub(super) fn unzoned(
    sheet: &RawTable,
    time: usize,
    when: TimeStyle,
    cells: &[String],
    times: &[Option<i64>],
) -> Option<String> {
    let filled = || {
        cells
            .iter()
            .map(|cell| cell.trim())
            .filter(|cell| when.ms(cell).is_some())
    };
    let is_stated = ["utc", "gmt"]
        .iter()
        .any(|zone| plain(&sheet.names[time]).contains(zone))
        || (0..sheet.names.len()).any(|at| is_one_of(&plain(&sheet.names[at]), ZONE_COLUMNS));
    let step = Interval::between(times.iter().flatten().copied().collect()).0;
    if matches!(when, TimeStyle::Epoch | TimeStyle::Local(..))
        || is_stated
        || step < HOUR_MS
        || !filled().all(is_local)
    {
        return None;
    }
    let unit = step.min(DAY_MS);
    let off: BTreeSet<i64> = times
        .iter()
        .flatten()
        .map(|ms| ms.rem_euclid(unit))
        .collect();
    let (first, last) = (*off.first()?, *off.last()?);
    let is_zone = match off.len() {
        1 => first != 0,
        2 => [HOUR_MS, unit - HOUR_MS].contains(&(last - first)) && unit > HOUR_MS,
        _ => false,
    };
    let clock = |ms: i64| format!("{:02}:{:02}", ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS);
    (is_zone && off.iter().all(|ms| ms % (HOUR_MS / 2) == 0) && times.iter().flatten().count() > 2).then(|| {
        format!(
            "assumed: its times are in UTC, though its candles begin at {}; if they are in another time zone, pass it, as in --timezone \
             Asia/Kolkata",
            off.iter().map(|ms| clock(*ms)).collect::<Vec<_>>().join(" and ")
        )
    })
}

/// Whether the times are close times, by the column's name or by the source's known convention.
pub(super) fn are_ends(sheet: &RawTable, time: usize) -> bool {
    let names = Names::of(&sheet.names);
    is_one_of(names.last(time), ENDS)
        || BITMEX.iter().all(|name| names.has(name)) && names.last(time) == "timestamp"
}

/// A time in E notation (`1.67262E+12`), if the steps between times, or that there are none, show that its last digits are lost.
pub(super) fn rounded<'a>(cells: &'a [String], times: &[Option<i64>]) -> Option<&'a str> {
    let written: Vec<(&String, i64)> = cells
        .iter()
        .zip(times)
        .filter_map(|(cell, ms)| Some((cell, last_digit(cell, (*ms)?)?)))
        .collect();
    let (first, _) = *written.first()?;
    // What one more in the last digit of the longest would be.
    let unit = written.iter().map(|(_, unit)| *unit).min()?;
    let mut known: Vec<i64> = times.iter().flatten().copied().collect();
    known.sort_unstable();
    known.dedup();
    let steps: Vec<i64> = known.windows(2).map(|two| two[1] - two[0]).collect();
    let Some(&least) = steps.iter().min() else {
        return (unit >= LOST && written.len() > 2).then_some(first);
    };
    let is_lost = steps.iter().any(|step| step % least != 0) || unit > MINUTE_MS && least <= unit;
    is_lost.then_some(first)
}

/// The milliseconds that one more in the last digit of a number in E notation is worth.
fn last_digit(cell: &str, ms: i64) -> Option<i64> {
    let (mantissa, exponent) = cell.trim().split_once(['e', 'E'])?;
    let decimals = mantissa
        .split_once(['.', ','])
        .map_or(0, |(_, decimals)| decimals.len());
    let exponent: i32 = exponent.parse().ok()?;
    let unit = 10_f64.powi(exponent.checked_sub(i32::try_from(decimals).ok()?)?);
    // The unit of the number is found by its size, as when it was read.
    let scale = ms as f64 / parsed(cell.trim())?;
    Some((unit * scale).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_a_zone_behind_its_own_word() {
        for (header, zone) in [
            ("Date (CET)", Some("CET")),
            ("Time (EST)", Some("EST")),
            ("timestamp_utc8", Some("utc8")),
            ("Time (UTC+8)", Some("UTC+8")),
            ("time ET", Some("ET")),
            ("Local time (Europe/Berlin)", Some("Europe/Berlin")),
            ("Date (UTC)", None),
            ("timestamp_utc", None),
            ("Time UTC+00:00", None),
            ("open time", None),
            ("et", None),
            ("block et", None),
            ("Date 1d", None),
        ] {
            assert_eq!(zone_in(header).as_deref(), zone, "{header}");
        }
    }

    #[test]
    fn steps_tell_times_that_lost_their_digits() {
        let cells = |cells: &[&str]| {
            cells
                .iter()
                .map(|&cell| cell.to_owned())
                .collect::<Vec<_>>()
        };
        let times = |cells: &[String]| {
            cells
                .iter()
                .map(|cell| TimeStyle::Epoch.ms(cell))
                .collect::<Vec<_>>()
        };
        for (texts, lost) in [
            (&["1.67262E+12", "1.67322E+12", "1.67383E+12"][..], true),
            (
                &["1.70407E+12", "1.70407E+12", "1.70407E+12", "1.70408E+12"],
                true,
            ),
            (&["1.70407E+12", "1.70408E+12", "1.7041E+12"], true),
            (&["1.70407E+12", "1.70407E+12", "1.70407E+12"], true),
            (&["1.70407E+12"], false),
            (&["1.7040672e+12", "1.7040672e+12", "1.7040672e+12"], false),
            (&["1.7040672e+12", "1.7040675e+12", "1.7040678e+12"], false),
            (&["1.704067201e9", "1.704067202e9", "1.704067203e9"], false),
            (&["1.6726176e+12", "1.672704e+12", "1.6727904e+12"], false),
            (&["1672617600000", "1672704000001", "1672790400000"], false),
        ] {
            let cells = cells(texts);
            assert_eq!(rounded(&cells, &times(&cells)).is_some(), lost, "{texts:?}");
        }
    }
}
