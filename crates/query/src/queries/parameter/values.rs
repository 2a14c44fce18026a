//! The values of a request's query, each read by its kind of parameter.

use super::{
    super::order::Order, AN_ADDRESS, AS_OF, Arguments, GENERATION, ParameterKind, as_of, clip,
    conditions, invalid, orders, parts_of,
};
use analysis::indicators::{INDICATORS_MAX, Indicator};
use model::{
    address::Address,
    chain::Chain,
    error::{Code, Problem, Result},
    spelling::meant,
    time::{SECOND_MS, Time},
};
use table::filter::Filter;

/// Seconds since 1970 of the years 1 to 9999, nearly the range of RFC 3339.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

impl Arguments<'_> {
    pub fn integer(&self, name: &str) -> Result<u64> {
        let ParameterKind::Integer { min, max, default } = self.kind(name) else {
            return Ok(0);
        };
        let Some(text) = self.single_value(name)? else {
            return Ok(default);
        };
        let digits =
            !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
        let number = text
            .parse()
            .ok()
            .filter(|n| digits && (min..=max).contains(n));
        number.ok_or_else(|| {
            invalid(format!(
                "`{name}` is `{}`; expected an integer from {min} to {max}.",
                clip(text)
            ))
        })
    }

    /// `None` when omitted without a default.
    pub fn word(&self, name: &str) -> Result<Option<&'static str>> {
        let ParameterKind::Word { words, default } = self.kind(name) else {
            return Ok(None);
        };
        let Some(text) = self.single_value(name)? else {
            return Ok(default);
        };
        let word = words
            .iter()
            .find(|word| **word == text)
            .map(|word| Some(*word));
        word.ok_or_else(|| {
            invalid(format!(
                "`{name}` is `{}`; expected one of {}.",
                clip(text),
                words.join(", ")
            ))
        })
    }

    /// In table order, without duplicates, so that equal requests are equal queries.
    pub fn words(&self, name: &str) -> Result<Vec<&'static str>> {
        let ParameterKind::Words(words) = self.kind(name) else {
            return Ok(Vec::new());
        };
        let wanted = self.parts(name)?;
        if let Some(word) = wanted.iter().find(|word| !words.contains(word)) {
            let near = meant(word, words.iter().copied()).map_or_else(
                || ".".to_owned(),
                |near| format!("; did you mean `{near}`?"),
            );
            let (word, all) = (clip(word), words.join(", "));
            return Err(invalid(format!(
                "`{name}` names the unknown value `{word}`{near} Expected one or more of {all}, comma-separated."
            )));
        }
        Ok(words
            .iter()
            .copied()
            .filter(|word| wanted.contains(word))
            .collect())
    }

    /// In the order given, duplicates included. Refuses an empty list; a `min` above 1 is for the query to check.
    pub fn addresses(&self, name: &str) -> Result<Vec<Address>> {
        let ParameterKind::Addresses { max, .. } = self.kind(name) else {
            return Ok(Vec::new());
        };
        let parts = self.parts(name)?;
        if parts.is_empty() {
            return Err(invalid(format!(
                "`{name}` is required: up to {max} token addresses, separated by commas."
            )));
        }
        if parts.len() > max {
            return Err(invalid(format!(
                "`{name}` has {} addresses; at most {max} are allowed.",
                parts.len()
            )));
        }
        let read = |(i, part): (usize, &str)| {
            self.tokens.read(part)?.ok_or_else(|| {
                let place = i + 1;
                let detail = format!(
                    "`{name}` has the invalid address `{}` in position {place}: {AN_ADDRESS}.{}",
                    clip(part),
                    self.tokens.proposal(part)
                );
                Problem::new(Code::InvalidAddress, detail)
            })
        };
        parts.into_iter().enumerate().map(read).collect()
    }

    /// Conditions joined by AND and `or`; empty when omitted.
    pub fn conditions(&self, name: &str) -> Result<Filter> {
        let ParameterKind::Where(columns) = self.kind(name) else {
            return Ok(Filter::default());
        };
        conditions(
            name,
            self.single_value(name)?.unwrap_or_default(),
            columns,
            self.tokens,
        )
    }

    /// The sort columns without duplicates, the most significant first.
    pub fn orders(&self, name: &str) -> Result<Vec<Order>> {
        let ParameterKind::Sort { columns, default } = self.kind(name) else {
            return Ok(Vec::new());
        };
        let text = self.single_value(name)?.unwrap_or_default();
        orders(
            name,
            if parts_of(text).next().is_none() {
                default.unwrap_or_default()
            } else {
                text
            },
            columns,
        )
    }

    fn parts(&self, name: &str) -> Result<Vec<&str>> {
        let text = self.single_value(name)?.unwrap_or_default();
        Ok(parts_of(text).collect())
    }

    /// The indicators, without duplicates.
    pub fn indicators(&self, name: &str) -> Result<Vec<Indicator>> {
        let ParameterKind::Indicators { default } = self.kind(name) else {
            return Ok(Vec::new());
        };
        let mut all: Vec<Indicator> = Vec::new();
        let text = self
            .single_value(name)?
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(default);
        for word in parts_of(text) {
            let indicator = Indicator::parse(word).map_err(|expected| {
                invalid(format!("`{name}` has `{}`: {expected}.", clip(word)))
            })?;
            if !all.contains(&indicator) {
                all.push(indicator);
            }
        }
        if all.len() > INDICATORS_MAX {
            return Err(invalid(format!(
                "`{name}` has {} indicators; at most {INDICATORS_MAX} are allowed.",
                all.len()
            )));
        }
        Ok(all)
    }

    pub fn flag(&self, name: &str) -> Result<bool> {
        match self.single_value(name)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => Err(invalid(format!(
                "`{name}` is `{}`; expected true or false.",
                clip(text)
            ))),
        }
    }

    /// Trimmed; an empty text counts as omitted.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let Some(text) = self
            .single_value(name)?
            .map(str::trim)
            .filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let (chars, most) = (text.chars().count(), self.kind(name).chars_max());
        if chars > most {
            return Err(invalid(format!(
                "`{name}` is `{}`, {chars} characters long; at most {most} are allowed.",
                clip(text)
            )));
        }
        Ok(Some(text.to_owned()))
    }

    /// A parameter of at most one address; `None` when omitted.
    pub fn optional_address(&self, name: &str) -> Result<Option<Address>> {
        let omitted = self
            .single_value(name)?
            .is_none_or(|text| text.trim().is_empty());
        if omitted {
            Ok(None)
        } else {
            Ok(self.addresses(name)?.first().copied())
        }
    }

    pub fn chain(&self, name: &str) -> Result<Option<Chain>> {
        Ok(self.text(name)?.and_then(|text| Chain::parse(&text)))
    }

    /// Truncated to seconds, as the canonical request writes it: equal requests must be equal queries.
    pub fn time(&self, name: &str) -> Result<Option<Time>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let parsed = chrono::DateTime::parse_from_rfc3339(&text)
            .map(|time| time.timestamp())
            .ok()
            .or_else(|| {
                text.parse::<chrono::NaiveDate>()
                    .ok()
                    .map(|date| date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp())
            })
            .or_else(|| text.parse::<i64>().ok())
            .filter(|seconds| SECONDS.contains(seconds));
        let expected = "expected a time such as 2026-08-14T00:00:00Z, a date, or epoch seconds";
        parsed
            .map(|seconds| Some(Time(seconds * SECOND_MS)))
            .ok_or_else(|| invalid(format!("`{name}` is `{}`; {expected}.", clip(&text))))
    }

    /// The time that the answer is as of, see `as_of`.
    pub fn as_of(&self) -> Result<Option<Time>> {
        let read = |text| {
            as_of(text)
                .map_err(|expected| invalid(format!("`{AS_OF}` is `{}`; {expected}.", clip(text))))
        };
        self.single_value(AS_OF)?.map(read).transpose()
    }

    /// The generation that the answer is to be of.
    pub fn generation(&self) -> Result<Option<u64>> {
        let Some(text) = self.single_value(GENERATION)? else {
            return Ok(None);
        };
        let number = text
            .parse()
            .ok()
            .filter(|number| *number > 0 && text.bytes().all(|byte| byte.is_ascii_digit()));
        let expected = "expected a snapshot number, as in `x-data-generation` or GET /datasets";
        number
            .map(Some)
            .ok_or_else(|| invalid(format!("`{GENERATION}` is `{}`; {expected}.", clip(text))))
    }
}
