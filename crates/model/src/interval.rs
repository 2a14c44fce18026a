//! Candle intervals: parsing and formatting, and inferring the interval from timestamps.

use std::{collections::HashMap, fmt};

use super::time::{DAY_MS, HOUR_MS, MINUTE_MS};

/// The length of a candle, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval(pub i64);

impl Interval {
    pub const HOUR: Self = Self(HOUR_MS);
    pub const FOUR_HOURS: Self = Self(4 * HOUR_MS);
    pub const DAY: Self = Self(DAY_MS);
    pub const WEEK: Self = Self(7 * DAY_MS);

    /// Parses `1h`, `15m`, `1d`, `1w`, also `60` (minutes) as exchanges write it; lengths up to a year.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let count: i64 = text[..digits].parse().ok()?;
        let unit = match &text[digits..] {
            "s" | "S" => 1_000,
            "" | "m" | "min" => MINUTE_MS,
            "h" | "H" => HOUR_MS,
            "d" | "D" => DAY_MS,
            "w" | "W" => 7 * DAY_MS,
            _ => return None,
        };
        let length = count.checked_mul(unit)?;
        (1..=366 * DAY_MS).contains(&length).then_some(Self(length))
    }

    /// Infers the interval of candles at these times; see `frequent`.
    pub fn between(mut times: Vec<i64>) -> Self {
        times.sort_unstable();
        times.dedup();
        let mut steps: HashMap<i64, usize> = HashMap::new();
        for pair in times.windows(2) {
            *steps.entry(pair[1] - pair[0]).or_default() += 1;
        }
        Self::frequent(steps)
    }

    /// Infers the interval from steps between candles and their counts: the most frequent step, the shortest of ties; one day if there are
    /// no steps or the step is not a valid interval.
    pub fn frequent(steps: impl IntoIterator<Item = (i64, usize)>) -> Self {
        let best = steps.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
        best.map(|(step, _)| Self(step)).filter(|step| Self::parse(&step.to_string()).is_some()).unwrap_or(Self::DAY)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, unit) = [(7 * DAY_MS, "w"), (DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "m"), (1_000, "s")]
            .into_iter()
            .find(|(length, _)| self.0 % length == 0)
            .unwrap_or((1, "ms"));
        write!(f, "{}{unit}", self.0 / length)
    }
}
