//! Candle intervals: parsing and formatting, and inferring the interval from timestamps.

use std::{collections::HashMap, fmt};

use super::time::{DAY_MS, HOUR_MS, MINUTE_MS};

/// The usual lengths of candles, from a minute to a week, in milliseconds.
const USUAL: [i64; 14] = [
    60_000,
    180_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    HOUR_MS,
    7_200_000,
    14_400_000,
    21_600_000,
    28_800_000,
    43_200_000,
    DAY_MS,
    604_800_000,
];

/// The length of a candle, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval(pub i64);

impl Interval {
    pub const HOUR: Self = Self(HOUR_MS);
    pub const FOUR_HOURS: Self = Self(4 * HOUR_MS);
    pub const DAY: Self = Self(DAY_MS);
    pub const WEEK: Self = Self(7 * DAY_MS);

    /// Parses `1h`, `15m`, `1d`, `1w`, and also `60` (minutes) as exchanges write it; lengths up to a year.
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

    /// Infers the interval from the steps between candles and their counts: the most frequent step, or the shortest of several equally
    /// frequent ones. If times are a few seconds off, so that steps have many lengths, it is the usual length that most of them are near.
    /// Without steps, it is one day.
    pub fn frequent(steps: impl IntoIterator<Item = (i64, usize)>) -> Self {
        let mut steps: Vec<(i64, usize)> = steps.into_iter().collect();
        steps.sort_unstable();
        let most =
            |steps: &[(i64, usize)]| steps.iter().copied().rev().max_by_key(|(_, count)| *count);
        let Some((step, count)) = most(&steps) else {
            return Self::DAY;
        };
        let all: usize = steps.iter().map(|(_, count)| count).sum();
        if USUAL.contains(&step)
            || step % MINUTE_MS == 0 && count * 2 > all && Self(step).is_valid()
        {
            return Self(step);
        }
        let mut near: Vec<(i64, usize)> = USUAL.map(|length| (length, 0)).to_vec();
        for (step, count) in &steps {
            if let Some(usual) = near
                .iter_mut()
                .find(|(length, _)| (step - length).abs() * 10 <= *length)
            {
                usual.1 += count;
            }
        }
        if let Some((length, _)) = most(&near).filter(|(_, count)| count * 2 >= all) {
            return Self(length);
        }
        if Self(step).is_valid() {
            return Self(step);
        }
        let mut passed = 0;
        let median = steps.iter().find(|(_, count)| {
            passed += count;
            passed * 2 >= all
        });
        let ratio = |length: i64| {
            median.map_or(0.0, |(median, _)| {
                (*median as f64 / length as f64).ln().abs()
            })
        };
        Self(
            USUAL
                .into_iter()
                .min_by(|a, b| ratio(*a).total_cmp(&ratio(*b)))
                .unwrap_or(DAY_MS),
        )
    }

    /// Whether this is a usual candle length of data sources.
    pub fn is_usual(self) -> bool {
        USUAL.contains(&self.0)
    }

    /// Whether its text is that of an interval.
    fn is_valid(self) -> bool {
        Self::parse(&self.to_string()).is_some()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, unit) = [
            (7 * DAY_MS, "w"),
            (DAY_MS, "d"),
            (HOUR_MS, "h"),
            (MINUTE_MS, "m"),
            (1_000, "s"),
        ]
        .into_iter()
        .find(|(length, _)| self.0 % length == 0)
        .unwrap_or((1, "ms"));
        write!(f, "{}{unit}", self.0 / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_most_candles_is_found_though_no_two_are_equal() {
        let of = |steps: &[i64]| {
            Interval::between(
                steps
                    .iter()
                    .scan(0, |ms, step| {
                        *ms += step;
                        Some(*ms)
                    })
                    .chain([0])
                    .collect(),
            )
            .to_string()
        };
        let real = [3_606_716, 3_605_877, 3_610_563, 3_589_506].repeat(5);
        for (what, steps, interval) in [
            ("hours some seconds off", &real[..], "1h"),
            (
                "days some seconds off",
                &[86_399_000, 86_401_500, 86_400_100],
                "1d",
            ),
            ("five minutes", &[290_001, 310_002, 295_003, 305_004], "5m"),
            ("a day and a part", &[86_400_000, 49_980_000], "1d"),
            ("exact hours", &[3_600_000, 3_600_000, 7_200_000], "1h"),
            ("rare trades", &[300_000, 60_000, 420_000, 120_000], "1m"),
            ("stock exchange", &[3_900_000, 3_900_000, 3_900_000], "65m"),
            ("months", &[31, 28, 31, 30].map(|days| days * DAY_MS), "31d"),
            ("seconds", &[5_000, 5_000, 10_000], "5s"),
            ("far from a day", &[1_000_001, 2_000_003, 1_500_007], "30m"),
            ("one candle", &[], "1d"),
        ] {
            assert_eq!(of(steps), interval, "{what}");
        }
    }
}
