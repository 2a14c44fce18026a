//! An alert's text: a condition, and options behind it: `price>20 cooldown 6h hysteresis 2% until 2026-12-31`, `price crosses 20`.

use crate::queries::parameter::{as_of, clip};
use model::{
    error::{Code, Problem, Result},
    time::{DAY_MS, Time},
};
use table::filter::duration;

const CROSSES: &str = "crosses";
const COOLDOWN_MAX: i64 = 366 * DAY_MS;

/// When an alert fires.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlertRule {
    /// In the language of `where`.
    pub condition: String,
    /// Whether it also fires when the condition becomes false.
    pub crosses: bool,
    /// After a trigger for a token, the next one for it comes after this many milliseconds at the earliest.
    pub cooldown: Option<i64>,
    /// The condition counts as true until a value is this fraction of the threshold beyond it.
    pub hysteresis: Option<f64>,
    /// The alert is checked until then.
    pub until: Option<Time>,
}

/// The text before the last two words, and these.
fn last_two(text: &str) -> Option<(&str, &str, &str)> {
    let (before, value) = text.rsplit_once(char::is_whitespace)?;
    let before = before.trim_end();
    let (head, option) = before
        .rsplit_once(char::is_whitespace)
        .unwrap_or(("", before));
    Some((head.trim_end(), option, value))
}

impl AlertRule {
    /// Reads an alert's text; the condition is parsed later, with the data. Errors: an option without a valid value.
    pub fn read(text: &str) -> Result<Self> {
        let mut rule = Self::default();
        let mut rest = text.trim();
        while let Some((head, option, value)) = last_two(rest) {
            match option {
                "cooldown" => rule.cooldown = Some(cooldown(value)?),
                "hysteresis" => rule.hysteresis = Some(hysteresis(value)?),
                "until" => {
                    let wrong = |_| invalid(option, value, "a day such as 2026-12-31");
                    rule.until = Some(as_of(value).map_err(wrong)?);
                }
                _ => break,
            }
            rest = head;
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        rule.crosses = words.contains(&CROSSES);
        rule.condition = match words[..] {
            [column, CROSSES, number] => format!("{column}>{number}"),
            _ if rule.crosses => {
                let detail = "`crosses` takes one column and one number, as in `price crosses 20`.";
                return Err(Problem::new(Code::InvalidParameter, detail));
            }
            _ => rest.to_owned(),
        };
        Ok(rule)
    }
}

fn invalid(option: &str, value: &str, expected: &str) -> Problem {
    let detail = format!("`{option}` is `{}`; expected {expected}.", clip(value));
    Problem::new(Code::InvalidParameter, detail)
}

/// `30min`, `6h`, `2d`, `1w`.
fn cooldown(text: &str) -> Result<i64> {
    let expected = "a time such as 30min, 6h or 2d, at most 366d";
    duration(text)
        .filter(|length| (1..=COOLDOWN_MAX).contains(length))
        .ok_or_else(|| invalid("cooldown", text, expected))
}

/// `2%` as a fraction.
fn hysteresis(text: &str) -> Result<f64> {
    let percent = text
        .strip_suffix('%')
        .and_then(|number| number.parse::<f64>().ok());
    percent
        .map(|percent| percent / 100.0)
        .filter(|fraction| (0.0..1.0).contains(fraction))
        .ok_or_else(|| invalid("hysteresis", text, "a percentage below 100, such as 2%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::{HOUR_MS, MINUTE_MS};

    #[test]
    fn options_follow_the_condition() {
        let rule = |condition: &str| AlertRule {
            condition: condition.to_owned(),
            ..AlertRule::default()
        };
        for (text, expected) in [
            ("price>20", rule("price>20")),
            (" cap > 1m  chain:eth ", rule("cap > 1m  chain:eth")),
            (
                "price>20 cooldown 6h",
                AlertRule {
                    cooldown: Some(6 * HOUR_MS),
                    ..rule("price>20")
                },
            ),
            (
                "price>20 or cap>1b hysteresis 2.5% cooldown 30min until 1970-01-01",
                AlertRule {
                    cooldown: Some(30 * MINUTE_MS),
                    hysteresis: Some(0.025),
                    until: Some(Time(DAY_MS - 1_000)),
                    ..rule("price>20 or cap>1b")
                },
            ),
            (
                "price crosses 20 cooldown 1d",
                AlertRule {
                    crosses: true,
                    cooldown: Some(DAY_MS),
                    ..rule("price>20")
                },
            ),
            ("", rule("")),
            ("symbol:\"cooldown 5\"", rule("symbol:\"cooldown 5\"")),
        ] {
            assert_eq!(AlertRule::read(text), Ok(expected), "{text}");
        }
        for (text, says) in [
            ("price>20 cooldown 6", "`cooldown` is `6`; expected a time"),
            ("price>20 cooldown 900d", "at most 366d"),
            ("price>20 hysteresis 2", "expected a percentage below 100"),
            (
                "price>20 hysteresis 100%",
                "expected a percentage below 100",
            ),
            ("price>20 until soon", "expected a day such as 2026-12-31"),
            ("price crosses 20 cap>1m", "`crosses` takes one column"),
        ] {
            let refused = AlertRule::read(text).expect_err(text);
            assert!(refused.detail.contains(says), "{text}: {}", refused.detail);
        }
    }
}
