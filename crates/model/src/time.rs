//! UTC times and days, with their text forms (RFC 3339, to the second). No clock.

use std::{borrow::Cow, fmt};

use chrono::{DateTime, Datelike, NaiveDate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A UTC time in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

/// A UTC day in days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Day(pub i32);

pub const SECOND_MS: i64 = 1_000;
pub const MINUTE_MS: i64 = 60 * SECOND_MS;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

impl Time {
    pub fn day(self) -> Day {
        Day(self.0.div_euclid(DAY_MS) as i32)
    }

    /// `2026-08-14 09:30`, for display.
    pub fn minute_text(self) -> String {
        DateTime::from_timestamp_millis(self.0).map_or_else(String::new, |time| {
            time.format("%Y-%m-%d %H:%M").to_string()
        })
    }
}

impl Day {
    /// Midnight at the start of the day.
    pub fn start(self) -> Time {
        Time(i64::from(self.0) * DAY_MS)
    }

    /// The day of a date; `None` if there is no such date.
    pub fn of(year: i32, month: u32, day: u32) -> Option<Self> {
        let date = NaiveDate::from_ymd_opt(year, month, day)?.and_time(chrono::NaiveTime::MIN);
        Some(Time(date.and_utc().timestamp_millis()).day())
    }

    fn date(self) -> Option<NaiveDate> {
        DateTime::from_timestamp_millis(self.start().0).map(|time| time.date_naive())
    }

    /// Day of the week, counting from Monday as 0.
    pub fn weekday(self) -> u32 {
        self.date()
            .map_or(0, |date| date.weekday().num_days_from_monday())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::from_timestamp_millis(self.0) {
            Some(time) => write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%SZ")),
            None => write!(f, "{}ms", self.0),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.date() {
            Some(date) => write!(f, "{}", date.format("%Y-%m-%d")),
            None => write!(f, "{}d", self.0),
        }
    }
}

/// Serialises the type as its text form.
macro_rules! as_text {
    ($type:ident $format:literal $description:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $format, "description": $description })
            }
        }
    };
}

as_text!(Time "date-time" "UTC, RFC 3339, to the second.");
as_text!(Day "date" "A UTC day.");
