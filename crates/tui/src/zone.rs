//! The time zone of times on screen. Data, exports, reports and the API are in UTC, and so are daily candles.

use chrono::{DateTime, Offset as _, TimeZone as _};
use chrono_tz::Tz;

use model::time::{DAY_MS, Time};

/// A time zone of the IANA database; UTC by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisplayZone(Option<Tz>);

impl DisplayZone {
    /// The zone of a name such as `Europe/Berlin`; `None` if there is no such zone.
    pub fn parse(name: &str) -> Option<Self> {
        match name.trim() {
            "" | "UTC" => Some(Self(None)),
            name => name.parse().ok().map(|zone| Self(Some(zone))),
        }
    }

    /// The zone, if it is not UTC.
    pub fn name(self) -> Option<&'static str> {
        self.0.map(Tz::name)
    }

    /// The zone for candles of this length: the days of daily candles are those of UTC.
    #[must_use]
    pub fn of_candles(self, length: i64) -> Self {
        if length < DAY_MS { self } else { Self(None) }
    }

    /// The zone for candles that start at these times.
    #[must_use]
    pub fn of_series(self, times: &[i64]) -> Self {
        let shortest = times
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .min();
        self.of_candles(shortest.unwrap_or(DAY_MS))
    }

    /// The time whose UTC reading is the clock of the zone.
    pub fn local(self, time: Time) -> Time {
        let offset = self.0.zip(DateTime::from_timestamp_millis(time.0));
        let offset = offset.map_or(0, |(zone, time)| {
            let offset = zone.offset_from_utc_datetime(&time.naive_utc());
            i64::from(offset.fix().local_minus_utc()) * 1_000
        });
        Time(time.0.saturating_add(offset))
    }

    /// `2026-08-14 11:30`.
    pub fn minute(self, time: Time) -> String {
        self.local(time).minute_text()
    }

    /// `2026-08-14 11:30 CEST`, or `UTC`.
    pub fn moment(self, time: Time) -> String {
        let zoned = self.0.zip(DateTime::from_timestamp_millis(time.0));
        let word = zoned.map_or_else(
            || "UTC".to_owned(),
            |(zone, time)| time.with_timezone(&zone).format("%Z").to_string(),
        );
        format!("{} {word}", self.minute(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_on_the_clock_of_the_zone() {
        let utc = DateTime::parse_from_rfc3339;
        let time = |text| Time(utc(text).expect("a time").timestamp_millis());
        let berlin = DisplayZone::parse("Europe/Berlin").expect("a zone");
        for (text, zone, shown) in [
            ("2026-08-14T09:30:00Z", berlin, "2026-08-14 11:30 CEST"),
            ("2026-12-31T23:30:00Z", berlin, "2027-01-01 00:30 CET"),
            ("2026-03-29T01:00:00Z", berlin, "2026-03-29 03:00 CEST"),
            (
                "2026-08-14T09:30:00Z",
                DisplayZone::default(),
                "2026-08-14 09:30 UTC",
            ),
        ] {
            assert_eq!(zone.moment(time(text)), shown, "{text}");
        }
        assert_eq!(DisplayZone::parse("UTC"), Some(DisplayZone::default()));
        assert_eq!(DisplayZone::parse("Berlin"), None);
        assert_eq!(berlin.of_candles(DAY_MS), DisplayZone::default());
        assert_eq!(berlin.of_candles(DAY_MS / 24), berlin);
        // No time is out of range.
        for time in [i64::MIN, i64::MAX] {
            berlin.moment(Time(time));
        }
    }
}
