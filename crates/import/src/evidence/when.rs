//! Infers the time format of a column: epochs of any unit, Excel serial dates, ISO 8601, day and month in either order, month names.
//! Ambiguity is resolved over all cells: by numbers that cannot be a month, and by even steps.

mod order;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};

use self::order::{are_exchanged, day_or_month_first, evenness, exchanged};
use crate::{Dates, script, zone::Zone};
use load::cells::notation::excel_day;
use model::{
    candles::Interval,
    time::{DAY_MS, HOUR_MS, MINUTE_MS},
};

/// Plausible times, 2008 to 2100: no token traded before, and no file comes from after.
const FIRST_MS: i64 = 1_199_145_600_000;
const LAST_MS: i64 = 4_102_444_800_000;
/// Excel serial dates of 2008 and 2100; day 0 is 1899-12-30.
const EXCEL: std::ops::Range<f64> = 39_448.0..73_051.0;
/// Days since 1970 of 2008 and 2050, of which no one is an Excel date of a token's time.
const DAYS: std::ops::Range<i64> = 13_879..29_220;
/// The share of cells that one format must read.
const READABLE: f64 = 0.98;
/// Maximum number of cells that are no times, such as a total or a source below the table; and at most one in `ONE_OF` cells.
const WORDS_MAX: usize = 2;
const ONE_OF: usize = 5;
/// Bytes of the longest time that is read, one with its zone's name behind it.
const WRITTEN_MAX: usize = 80;
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The time format of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeStyle {
    /// Seconds, milliseconds, microseconds or nanoseconds since 1970, by magnitude.
    Epoch,
    /// `20220817`, optionally followed by a time of day, with or without a gap between them.
    Digits,
    Excel,
    /// Whole days since 1970.
    Days,
    /// Year first, as in ISO 8601.
    YearFirst,
    DayFirst,
    MonthFirst,
    /// Day and month of the dates with the year first are exchanged: a spreadsheet set to the other order read as dates what it could, and
    /// left the other dates as texts, with the day or the month first.
    DayFirstExchanged,
    MonthFirstExchanged,
    /// Times written so, in this time zone unless they carry their own.
    Local(&'static Self, Zone),
}

/// Error: day and month are ambiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AmbiguousDate;

impl TimeStyle {
    const ALL: [Self; 7] = [
        Self::Epoch,
        Self::Digits,
        Self::YearFirst,
        Self::MonthFirst,
        Self::DayFirst,
        Self::Excel,
        Self::Days,
    ];
    /// The formats of which a time may lack its zone.
    const LOCAL: &'static [Self] = &[
        Self::Digits,
        Self::YearFirst,
        Self::MonthFirst,
        Self::DayFirst,
        Self::Excel,
        Self::DayFirstExchanged,
        Self::MonthFirstExchanged,
    ];

    /// The format that the user stated.
    pub(crate) fn said(dates: Dates) -> Self {
        match dates {
            Dates::Day => Self::DayFirst,
            Dates::Month => Self::MonthFirst,
        }
    }

    /// Parses a time as milliseconds since 1970 UTC.
    pub(crate) fn ms(self, text: &str) -> Option<i64> {
        let text = text.trim();
        match self {
            Self::Epoch => epoch(text),
            Self::Digits => digits(text),
            Self::Excel => excel(text),
            Self::Days => text
                .parse()
                .ok()
                .filter(|days| DAYS.contains(days))
                .map(|days| days * DAY_MS),
            Self::YearFirst | Self::DayFirst | Self::MonthFirst => calendar(text, self),
            Self::DayFirstExchanged => {
                calendar(exchanged(text).as_deref().unwrap_or(text), Self::DayFirst)
            }
            Self::MonthFirstExchanged => {
                calendar(exchanged(text).as_deref().unwrap_or(text), Self::MonthFirst)
            }
            Self::Local(of, zone) => {
                let ms = of.ms(text)?;
                if is_local(text) {
                    zone.universal(ms)
                } else {
                    Some(ms)
                }
            }
        }
    }

    /// The note for the user; `None` if the format is unambiguous.
    pub(crate) fn says(self) -> Option<String> {
        let says = match self {
            Self::Epoch
            | Self::Digits
            | Self::YearFirst
            | Self::Days
            | Self::DayFirstExchanged
            | Self::MonthFirstExchanged => return None,
            Self::Excel => "its dates are read as Excel day numbers (days since 1899-12-30)",
            Self::DayFirst => "its dates are read as day/month/year",
            Self::MonthFirst => "its dates are read as month/day/year",
            Self::Local(of, zone) => {
                let zone = format!("its times are read in the time zone {zone}, from --timezone");
                return Some(
                    of.says()
                        .map_or_else(|| zone.clone(), |says| format!("{says}; {zone}")),
                );
            }
        };
        Some(says.to_owned())
    }

    /// The note on what the cells show but do not say.
    pub(crate) fn assumed(self, column: &str) -> Option<String> {
        match self {
            Self::Days => Some(format!(
                "assumed: the numbers in `{column}` are days since 1970-01-01"
            )),
            Self::DayFirstExchanged | Self::MonthFirstExchanged => Some(format!(
                "assumed: a spreadsheet swapped day and month in some dates of `{column}`, as all its other dates are text that the \
                    spreadsheet could not read in that order; they are swapped back"
            )),
            Self::Local(of, _) => of.assumed(column),
            _ => None,
        }
    }

    /// Whether its times are numbers, whose meaning as times only it knows.
    pub(crate) fn reads_numbers(self) -> bool {
        matches!(self, Self::Excel | Self::Digits | Self::Days)
            || matches!(self, Self::Local(of, _) if of.reads_numbers())
    }

    /// These times in the zone, if some have a time of day and no zone: a day is a day.
    pub(crate) fn in_zone(self, zone: Zone, cells: &[&str]) -> Self {
        let has_clock = cells
            .iter()
            .any(|cell| is_local(cell) && self.ms(cell).is_some_and(|ms| ms % DAY_MS != 0));
        Self::LOCAL
            .iter()
            .find(|of| has_clock && **of == self)
            .map_or(self, |of| Self::Local(of, zone))
    }

    /// Infers the format of nearly all cells; `None` if they are no times. Errors: day and month are ambiguous.
    pub(crate) fn of(cells: &[&str]) -> Result<Option<Self>, AmbiguousDate> {
        let mut filled: Vec<&str> = cells
            .iter()
            .copied()
            .filter(|cell| !cell.trim().is_empty())
            .collect();
        let is_time = |cell: &&str| Self::ALL.iter().any(|when| when.ms(cell).is_some());
        let words = filled.iter().filter(|cell| !is_time(cell)).count();
        if words <= WORDS_MAX && words * ONE_OF <= filled.len() {
            filled.retain(is_time);
        }
        let reads = |when: &Self| {
            let good = filled.iter().filter(|cell| when.ms(cell).is_some()).count();
            !filled.is_empty() && good as f64 >= READABLE * filled.len() as f64
        };
        let all: Vec<Self> = Self::ALL.into_iter().filter(reads).collect();
        match all[..] {
            [] => Ok(None),
            [Self::MonthFirst, Self::DayFirst, ..] => day_or_month_first(&filled),
            [Self::MonthFirst, ..]
                if are_exchanged(&filled, Self::MonthFirst, Self::MonthFirstExchanged) =>
            {
                Ok(Some(Self::MonthFirstExchanged))
            }
            [Self::DayFirst, ..]
                if are_exchanged(&filled, Self::DayFirst, Self::DayFirstExchanged) =>
            {
                Ok(Some(Self::DayFirstExchanged))
            }
            // Only even steps tell days from other whole numbers.
            [Self::Days, ..] => Ok(Some(Self::Days).filter(|days| {
                evenness(filled.iter().filter_map(|cell| days.ms(cell)).collect()) > 0.5
            })),
            [first, ..] => Ok(Some(first)),
        }
    }
}

/// The interval of candles whose times are close times: if all are a second or a millisecond before a full minute, or, with `are_ends`, on
/// one.
pub(crate) fn length_of_ends(times: Vec<i64>, are_ends: bool) -> Option<i64> {
    let last = |ms: &i64| {
        let over = ms.rem_euclid(MINUTE_MS);
        [1, 1_000].contains(&(MINUTE_MS - over)) || are_ends && over == 0
    };
    if times.len() < 2 || !times.iter().all(last) {
        return None;
    }
    Some(Interval::between(times).0).filter(|step| *step >= MINUTE_MS)
}

/// The open time of a candle of length `step` from its last second or its close time.
pub(crate) fn start_of_end(ms: i64, step: i64) -> i64 {
    (ms + MINUTE_MS - 1).div_euclid(MINUTE_MS) * MINUTE_MS - step
}

/// Whether the text is a formatted time, not just a number.
pub(crate) fn is_written_out(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits >= 3
        && text.len() <= WRITTEN_MAX
        && [
            TimeStyle::YearFirst,
            TimeStyle::DayFirst,
            TimeStyle::MonthFirst,
        ]
        .iter()
        .any(|when| calendar(text.trim(), *when).is_some())
        || iso_of_digits(text.trim())
            .is_some_and(|text| calendar(&text, TimeStyle::YearFirst).is_some())
}

fn in_bounds(ms: i64) -> Option<i64> {
    (FIRST_MS..LAST_MS).contains(&ms).then_some(ms)
}

/// The year of a time that is too early for any token, as seconds read as milliseconds are.
pub(crate) fn early_year(text: &str) -> Option<i32> {
    let text = text.trim();
    let time = [
        TimeStyle::YearFirst,
        TimeStyle::DayFirst,
        TimeStyle::MonthFirst,
    ]
    .into_iter()
    .find_map(|order| unbounded(text, order));
    let ms = time.filter(|ms| *ms < FIRST_MS && text.len() <= WRITTEN_MAX)?;
    DateTime::from_timestamp_millis(ms).map(|time| time.year())
}

/// A number; one in E notation may have the decimal comma of a spreadsheet.
pub(crate) fn parsed(text: &str) -> Option<f64> {
    if text.contains(['e', 'E']) {
        text.replacen(',', ".", 1).parse().ok()
    } else {
        text.parse().ok()
    }
}

fn epoch(text: &str) -> Option<i64> {
    let number: f64 =
        if text.bytes().all(|digit| digit.is_ascii_digit()) || text.contains(['.', 'e', 'E']) {
            parsed(text)?
        } else {
            return None;
        };
    // The unit that puts it between 2008 and 2100; no two do.
    let exact = text.parse::<i64>().ok();
    [(1e3, 1), (1.0, 1), (1e-3, 1_000), (1e-6, 1_000_000)]
        .into_iter()
        .find_map(|(scale, divisor)| {
            let ms = match exact {
                Some(exact) if scale > 1.0 => exact.checked_mul(1_000)?,
                Some(exact) => exact.div_euclid(divisor),
                None => (number * scale).round() as i64,
            };
            in_bounds(ms)
        })
}

fn digits(text: &str) -> Option<i64> {
    if let Some(text) = iso_of_digits(text) {
        return calendar(&text, TimeStyle::YearFirst);
    }
    let whole = text.strip_suffix(".0").unwrap_or(text);
    if !matches!(whole.len(), 8 | 10 | 12 | 14)
        || !whole.bytes().all(|digit| digit.is_ascii_digit())
    {
        return None;
    }
    let part = |from: usize, to: usize| {
        whole
            .get(from..to)
            .and_then(|part| part.parse::<u32>().ok())
    };
    let day = NaiveDate::from_ymd_opt(part(0, 4)? as i32, part(4, 6)?, part(6, 8)?)?;
    let time = NaiveTime::from_hms_opt(
        part(8, 10).unwrap_or(0),
        part(10, 12).unwrap_or(0),
        part(12, 14).unwrap_or(0),
    )?;
    in_bounds(NaiveDateTime::new(day, time).and_utc().timestamp_millis())
}

/// A day in digits and, behind a gap, its time of day, as ISO 8601: `2024-02-01 00:00:00` of `20240201 000000`.
fn iso_of_digits(text: &str) -> Option<String> {
    let (day, clock) = text
        .split_at_checked(8)
        .filter(|_| text.len() <= WRITTEN_MAX)?;
    // TradingView writes days as `20230315T`.
    let clock = if clock == "T" { "T0000" } else { clock }.strip_prefix([' ', 'T', '_', '-'])?;
    if !day.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = clock.bytes().take_while(u8::is_ascii_digit).count();
    let part = |from: usize, to: usize| clock.get(from..to).unwrap_or_default();
    let clock = match digits {
        1 | 2 if part(digits, digits + 1) == ":" => clock.to_owned(),
        4 => format!("{}:{}{}", part(0, 2), part(2, 4), part(4, clock.len())),
        6 => format!(
            "{}:{}:{}{}",
            part(0, 2),
            part(2, 4),
            part(4, 6),
            part(6, clock.len())
        ),
        9 => format!(
            "{}:{}:{}.{}{}",
            part(0, 2),
            part(2, 4),
            part(4, 6),
            part(6, 9),
            part(9, clock.len())
        ),
        _ => return None,
    };
    let part = |from: usize, to: usize| day.get(from..to).unwrap_or_default();
    Some(format!(
        "{}-{}-{} {clock}",
        part(0, 4),
        part(4, 6),
        part(6, 8)
    ))
}

fn excel(text: &str) -> Option<i64> {
    let days: f64 = text.replace(',', ".").parse().ok()?;
    EXCEL.contains(&days).then(|| excel_day(days))?
}

/// A date with an optional time of day: in numbers, or with the month's name.
fn calendar(text: &str, order: TimeStyle) -> Option<i64> {
    // JavaScript's `new Date(2024,0,31)`, and Google's without `new`.
    let of_script = script::time(text.strip_prefix("new ").unwrap_or(text));
    unbounded(of_script.as_deref().unwrap_or(text), order).and_then(in_bounds)
}

/// Splits off the year behind the time of day: `Mon Jan 01 00:00:00 UTC 2024`.
fn year_behind(text: &str) -> (&str, Option<&str>) {
    let last = text.rsplit_once(' ').filter(|(rest, year)| {
        rest.contains(':') && year.len() == 4 && year.bytes().all(|digit| digit.is_ascii_digit())
    });
    last.map_or((text, None), |(rest, year)| (rest, Some(year)))
}

/// Whether a time names no zone.
pub(crate) fn is_local(text: &str) -> bool {
    let iso = iso_of_digits(text.trim());
    let (text, _) = year_behind(iso.as_deref().unwrap_or(text.trim()));
    without_zone(text).is_some_and(|(rest, _)| rest == text)
}

/// As `calendar`, of any year.
fn unbounded(text: &str, order: TimeStyle) -> Option<i64> {
    let (text, year) = year_behind(text);
    let (text, offset) = without_zone(text)?;
    let (day, time) = day_and_clock(text);
    let day = match year {
        Some(year) => date(&format!("{day} {year}"), order)?,
        None => date(day, order)?,
    };
    Some(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis() + time_of_day(time)? - offset)
}

/// Splits off the time zone and returns its offset east of UTC in milliseconds. Other zone names are not supported.
pub(crate) fn without_zone(text: &str) -> Option<(&str, i64)> {
    let text = text.trim();
    // JavaScript puts the zone's name behind its offset: `GMT+0100 (Central European Standard Time)`.
    let offset = text
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('))
        .map_or(text, |(rest, _)| rest.trim_end());
    // +00:00, +0000, -05:30, only after a time; GMT+0000, UTC+8.
    if let Some(at) = offset.rfind(['+', '-'])
        && offset[..at].contains(':')
    {
        let before = offset[..at].trim_end();
        let rest = ["GMT", "UTC"]
            .iter()
            .find_map(|zone| before.strip_suffix(zone));
        let digits: String = offset[at + 1..].chars().filter(|c| *c != ':').collect();
        let digits = if digits.len() == 1 && rest.is_some() {
            format!("0{digits}")
        } else {
            digits
        };
        if matches!(digits.len(), 2 | 4) && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            let hours: i64 = digits[..2].parse().ok()?;
            let minutes: i64 = digits
                .get(2..)
                .filter(|rest| !rest.is_empty())
                .map_or(Some(0), |rest| rest.parse().ok())?;
            let sign = if offset.as_bytes()[at] == b'-' { -1 } else { 1 };
            return Some((
                rest.unwrap_or(before).trim_end(),
                sign * (hours * 60 + minutes) * MINUTE_MS,
            ));
        }
    }
    for end in ["(UTC)", "+UTC", "UTC", "GMT", "Z"] {
        if let Some(rest) = text
            .strip_suffix(end)
            .filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit() || c == ' ' || c == 'M'))
        {
            return Some((rest.trim_end(), 0));
        }
    }
    Some((text, 0))
}

/// Splits date and time of day.
fn day_and_clock(text: &str) -> (&str, &str) {
    if let Some(at) = text
        .find('T')
        .filter(|&at| at > 7 && text[..at].ends_with(|c: char| c.is_ascii_digit()))
    {
        return (&text[..at], &text[at + 1..]);
    }
    // The time is the word with the first colon, or is written as `12-AM`.
    let colon = text
        .find(':')
        .map(|at| text[..at].rfind([' ', ',']).map_or(0, |space| space + 1));
    let half = || {
        let end = text.rfind(' ')?;
        let last = &text[end + 1..];
        last.ends_with("-AM")
            .then_some(end + 1)
            .or_else(|| last.ends_with("-PM").then_some(end + 1))
    };
    match colon.or_else(half) {
        Some(at) if at > 0 => (text[..at].trim_end_matches([' ', ',']), &text[at..]),
        _ => (text, ""),
    }
}

fn time_of_day(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0);
    }
    let upper = text.to_ascii_uppercase();
    let (clock, half) = match (upper.strip_suffix("AM"), upper.strip_suffix("PM")) {
        (Some(rest), _) => (rest, Some(0)),
        (_, Some(rest)) => (rest, Some(12)),
        _ => (upper.as_str(), None),
    };
    let mut parts = clock.trim_matches([' ', '-']).split(':');
    let mut hour: i64 = parts.next()?.trim().parse().ok()?;
    let minute: i64 = parts.next().map_or(Some(0), |part| part.parse().ok())?;
    let seconds: f64 = parts
        .next()
        .map_or(Some(0.0), |part| part.replace(',', ".").parse().ok())?;
    if parts.next().is_some() || !(0..60).contains(&minute) || !(0.0..60.0).contains(&seconds) {
        return None;
    }
    if let Some(half) = half {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + half;
    }
    (0..24)
        .contains(&hour)
        .then(|| hour * HOUR_MS + minute * MINUTE_MS + (seconds * 1e3).round() as i64)
}

fn date(text: &str, order: TimeStyle) -> Option<NaiveDate> {
    let parts: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .flat_map(chinese)
        .filter(|part| !part.is_empty())
        .collect();
    let named = parts.iter().position(|part| month(part).is_some());
    let number = |part: &str| {
        part.trim_end_matches(|c: char| c.is_ascii_alphabetic())
            .parse::<u32>()
            .ok()
    };
    let (year, month, day) = match (&parts[..], named) {
        (_, Some(at)) => {
            // A weekday may precede it.
            let rest: Vec<&str> = parts
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != at)
                .map(|(_, part)| *part)
                .collect();
            let rest: Vec<&str> = rest
                .into_iter()
                .filter(|part| part.starts_with(|c: char| c.is_ascii_digit()))
                .collect();
            let [a, b] = rest[..] else { return None };
            let (year, day) = if a.len() == 4 { (a, b) } else { (b, a) };
            (year, month(parts[at])?, number(day)?)
        }
        ([year, month, day], None) if year.len() == 4 => (*year, number(month)?, number(day)?),
        ([first, second, year], None) => {
            let (first, second) = (number(first)?, number(second)?);
            match order {
                TimeStyle::DayFirst => (*year, second, first),
                TimeStyle::MonthFirst => (*year, first, second),
                _ => return None,
            }
        }
        _ => return None,
    };
    let full: i32 = match year.len() {
        4 => year.parse().ok()?,
        2 => 2_000 + year.parse::<i32>().ok()?,
        _ => return None,
    };
    // `None` if the month or day is out of range in this order.
    NaiveDate::from_ymd_opt(full, month, day)
}

/// The three numbers of 2020年1月2日.
fn chinese(part: &str) -> impl Iterator<Item = &str> {
    part.split(['年', '月', '日'])
}

fn month(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let is = |month: &&str| {
        *month == lower
            || lower.len() == 3 && month.starts_with(&lower)
            || lower == "sept" && month.starts_with("sept")
    };
    MONTHS.iter().position(is).map(|at| at as u32 + 1)
}

#[cfg(test)]
mod tests;
