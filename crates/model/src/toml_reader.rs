//! TOML that people write (`config.toml`, `dataset.toml`), read entry by entry. Each entry knows its line, for error messages. Interpreting
//! entries belongs to `config` and `load::manifest`.

use std::{borrow::Cow, fmt, ops::Range};

use serde::de::DeserializeOwned;
use toml::{
    Spanned,
    de::{DeTable, DeValue, ValueDeserializer},
};

use crate::spelling::meant;

/// An error in a document, with its line. Errors are ordered by their offset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TomlError {
    offset: usize,
    pub line: usize,
    pub reason: String,
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl TomlError {
    fn new(text: &str, offset: usize, reason: String) -> Self {
        Self {
            offset,
            line: line_of(text, offset),
            reason,
        }
    }

    /// An error of the parser; at `offset` if it does not say where.
    fn of(error: &toml::de::Error, text: &str, offset: usize) -> Self {
        Self::new(
            text,
            error.span().map_or(offset, |span| span.start),
            error.message().replace('\n', ", "),
        )
    }

    #[must_use]
    pub fn prefixed(self, prefix: &str) -> Self {
        Self {
            reason: format!("{prefix}{}", self.reason),
            ..self
        }
    }
}

/// 1-based line of an offset.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}

#[derive(Debug)]
pub struct TomlDocument<'t> {
    text: &'t str,
    table: DeTable<'t>,
}

impl<'t> TomlDocument<'t> {
    pub fn parse(text: &'t str) -> Result<Self, TomlError> {
        let parsed = DeTable::parse(text).map(|table| Self {
            text,
            table: table.into_inner(),
        });
        parsed.map_err(|error| TomlError::of(&error, text, 0))
    }

    /// Top-level entries, in document order.
    pub fn entries(&self) -> Vec<TomlEntry<'_>> {
        entries(self.text, &self.table)
    }

    /// Error about the document as a whole.
    pub fn error(&self, reason: String) -> TomlError {
        TomlError::new(self.text, 0, reason)
    }
}

fn entries<'a>(text: &'a str, table: &'a DeTable<'a>) -> Vec<TomlEntry<'a>> {
    let entry = |(key, value): (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| TomlEntry {
        key: key.get_ref(),
        value: value.get_ref(),
        offset: key.span().start,
        value_span: value.span(),
        text,
    };
    let mut entries: Vec<TomlEntry<'a>> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.offset);
    entries
}

/// `key = value`, or a section.
#[derive(Debug, Clone)]
pub struct TomlEntry<'a> {
    pub key: &'a str,
    pub value: &'a DeValue<'a>,
    offset: usize,
    value_span: Range<usize>,
    text: &'a str,
}

impl<'a> TomlEntry<'a> {
    pub fn line(&self) -> usize {
        line_of(self.text, self.offset)
    }

    /// Source text of the value.
    pub fn written(&self) -> &'a str {
        self.text.get(self.value_span.clone()).unwrap_or_default()
    }

    pub fn error(&self, reason: String) -> TomlError {
        TomlError::new(self.text, self.offset, reason)
    }

    /// Error about the entry; `how` continues its key, as in "must be text".
    pub fn wrong(&self, how: &str) -> TomlError {
        self.error(format!("`{}` {how}", self.key))
    }

    /// Error for an unknown name of a `kind`, such as a key or a table, with the known name that may have been meant.
    pub fn unknown(&self, kind: &str, known: &[&str]) -> TomlError {
        self.unknown_name(kind, self.key, known)
    }

    /// Like `unknown`, for a name in the entry's value.
    pub fn unknown_name(&self, kind: &str, name: &str, known: &[&str]) -> TomlError {
        self.error(match meant(name, known.iter().copied()) {
            Some(near) => format!("unknown {kind} `{name}`; did you mean `{near}`?"),
            None => format!(
                "unknown {kind} `{name}`; expected one of `{}`",
                known.join("`, `")
            ),
        })
    }

    /// Entries of the section, in document order; `None` if the value is not a table.
    pub fn section(&self) -> Option<Vec<TomlEntry<'a>>> {
        self.value.as_table().map(|table| entries(self.text, table))
    }

    /// The tables of a list, such as `[[request]]`; `None` if the value is not a list. Each has the key of the list.
    pub fn items(&self) -> Option<Vec<TomlEntry<'a>>> {
        let item = |value: &'a Spanned<DeValue<'a>>| TomlEntry {
            key: self.key,
            value: value.get_ref(),
            offset: value.span().start,
            value_span: value.span(),
            text: self.text,
        };
        self.value
            .as_array()
            .map(|items| items.iter().map(item).collect())
    }

    pub fn table(&self) -> Result<Vec<TomlEntry<'a>>, TomlError> {
        self.section().ok_or_else(|| self.wrong("must be a table"))
    }

    /// The value as a type that serde reads.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, TomlError> {
        let value = Spanned::new(self.value_span.clone(), self.value.clone());
        T::deserialize(ValueDeserializer::from(value))
            .map_err(|error| TomlError::of(&error, self.text, self.offset))
    }

    pub fn text(&self) -> Result<String, TomlError> {
        self.value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| self.wrong("must be text"))
    }

    pub fn boolean(&self) -> Result<bool, TomlError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong("must be true or false"))
    }

    pub fn number(&self) -> Result<f64, TomlError> {
        number(self.value).ok_or_else(|| self.wrong("must be a number"))
    }

    pub fn integer(&self, least: i64, most: i64) -> Result<i64, TomlError> {
        let within = integer(self.value).filter(|number| (least..=most).contains(number));
        within.ok_or_else(|| self.wrong(&format!("must be a whole number from {least} to {most}")))
    }

    /// Text, a number, a boolean or a time, as text.
    pub fn scalar(&self) -> Result<String, TomlError> {
        scalar(self.value).ok_or_else(|| self.wrong("must be text or a number"))
    }

    /// One or several scalars, as text.
    pub fn scalars(&self) -> Result<Vec<String>, TomlError> {
        one_or_several(self.value, scalar).ok_or_else(|| {
            self.wrong("must be a string, a number, or a list of strings and numbers")
        })
    }

    /// One or several texts.
    pub fn texts(&self) -> Result<Vec<String>, TomlError> {
        let texts = one_or_several(self.value, |value| value.as_str().map(str::to_owned));
        texts
            .filter(|texts| !texts.is_empty())
            .ok_or_else(|| self.wrong("must be a string or a list of strings"))
    }
}

/// Integer value, also of 0x, 0o and 0b literals.
pub fn integer(value: &DeValue<'_>) -> Option<i64> {
    value
        .as_integer()
        .and_then(|integer| i64::from_str_radix(integer.as_str(), integer.radix()).ok())
}

/// Finite number, integer or float.
pub fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok()?,
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok()?,
        value => integer(value)? as f64,
    };
    number.is_finite().then_some(number)
}

/// The items of a list, or the value as the only item.
pub fn one_or_several<T>(
    value: &DeValue<'_>,
    item: impl Fn(&DeValue<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    match value {
        DeValue::Array(items) => items.iter().map(|value| item(value.get_ref())).collect(),
        value => item(value).map(|one| vec![one]),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(integer) => Some(integer.to_string()),
        DeValue::Float(float) => Some(float.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Datetime(time) => Some(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_its_line_and_reads_numbers_lists_and_texts() {
        let text = "a = 0x10\n\n[b]\nc = 100_000_000_000_000_000_000.0\nd = [1, 'x',\n 2024-01-01]\ne = inf";
        let document = TomlDocument::parse(text).expect("TOML");
        let [a, b] = &document.entries()[..] else {
            panic!("two entries")
        };
        assert_eq!(
            (a.line(), a.written(), a.number(), a.integer(1, 16)),
            (1, "0x10", Ok(16.0), Ok(16))
        );
        assert_eq!(
            a.integer(1, 15).expect_err("too large").to_string(),
            "line 1: `a` must be a whole number from 1 to 15"
        );
        let [c, d, e] = &b.table().expect("a section")[..] else {
            panic!("three entries")
        };
        assert_eq!((b.line(), c.line(), c.number()), (3, 4, Ok(1e20)));
        assert_eq!(d.scalars().expect("scalars"), ["1", "x", "2024-01-01"]);
        assert!(d.texts().is_err() && c.text().is_err() && e.number().is_err());
        assert!(
            c.error(String::new()) < d.error(String::new()),
            "errors are in the order of the text"
        );
    }
}
