//! Walks a TOML document and keeps hold of where each thing stands, so that an error can name its line.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::FILE;

pub(super) type Toml<'a> = DeValue<'a>;

/// `key = value` of the document.
pub(super) struct Entry<'a> {
    pub key: &'a str,
    pub value: &'a DeValue<'a>,
    span: Range<usize>,
}

pub(super) type Members<'a> = Vec<Entry<'a>>;

pub(super) struct Walk<'t> {
    pub text: &'t str,
}

impl<'t> Walk<'t> {
    pub(super) fn parse(&self) -> Result<DeTable<'t>, String> {
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            format!("{FILE}, line {line}: {}", error.message().replace('\n', ", "))
        })
    }

    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
    }

    pub(super) fn members<'a>(table: &'a DeTable<'a>) -> Members<'a> {
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| Entry {
            key: key.get_ref(),
            value: value.get_ref(),
            span: key.span(),
        };
        let mut members: Members<'a> = table.iter().map(entry).collect();
        members.sort_by_key(|member| member.span.start);
        members
    }

    /// The error that the member `must be` so.
    pub(super) fn error(&self, member: &Entry<'_>, must: &str) -> String {
        format!("{FILE}, line {}: `{}` {must}", self.line(member.span.start), member.key)
    }

    pub(super) fn unknown(&self, what: &str, member: &Entry<'_>, known: &[&str]) -> String {
        self.unknown_name(what, member.key, member, known)
    }

    /// The error that the name is unknown, with the nearest of those known.
    pub(super) fn unknown_name(&self, what: &str, name: &str, member: &Entry<'_>, known: &[&str]) -> String {
        let line = self.line(member.span.start);
        match nearest(name, known.iter().copied()) {
            Some(near) => format!("{FILE}, line {line}: unknown {what} `{name}`, did you mean `{near}`?"),
            None => format!("{FILE}, line {line}: unknown {what} `{name}`, expected one of `{}`", known.join("`, `")),
        }
    }

    pub(super) fn table<'a>(&self, member: &Entry<'a>) -> Result<Members<'a>, String> {
        match member.value {
            DeValue::Table(table) => Ok(Self::members(table)),
            _ => Err(self.error(member, "must be a table")),
        }
    }

    pub(super) fn text(&self, member: &Entry<'_>) -> Result<String, String> {
        member.value.as_str().map(str::to_owned).ok_or_else(|| self.error(member, "must be text"))
    }

    pub(super) fn boolean(&self, member: &Entry<'_>) -> Result<bool, String> {
        member.value.as_bool().ok_or_else(|| self.error(member, "must be true or false"))
    }

    pub(super) fn number(&self, member: &Entry<'_>) -> Result<f64, String> {
        let number = match member.value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => integer.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.error(member, "must be a number"))
    }

    pub(super) fn integer(&self, member: &Entry<'_>, least: i64, most: i64) -> Result<i64, String> {
        let number = match member.value {
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        };
        let expected = || self.error(member, &format!("must be a whole number from {least} to {most}"));
        number.filter(|number| (least..=most).contains(number)).ok_or_else(expected)
    }

    /// Text, a number, a truth value or a time, as text.
    pub(super) fn scalar(&self, member: &Entry<'_>) -> Result<String, String> {
        scalar(member.value).ok_or_else(|| self.error(member, "must be text or a number"))
    }

    /// One or several of those.
    pub(super) fn scalars(&self, member: &Entry<'_>) -> Result<Vec<String>, String> {
        let list = match member.value {
            DeValue::Array(array) => array.iter().map(|value| scalar(value.get_ref())).collect(),
            value => scalar(value).map(|text| vec![text]),
        };
        list.ok_or_else(|| self.error(member, "must be text, a number, or a list of those"))
    }

    /// One or several texts.
    pub(super) fn texts(&self, member: &Entry<'_>) -> Result<Vec<String>, String> {
        let list = match member.value {
            DeValue::Array(array) => array.iter().map(|value| value.get_ref().as_str().map(str::to_owned)).collect(),
            value => value.as_str().map(|text| vec![text.to_owned()]),
        };
        list.filter(|list: &Vec<_>| !list.is_empty()).ok_or_else(|| self.error(member, "must be text or a list of texts"))
    }
}

/// The line that an error of the document names.
pub(crate) fn line_of(error: &str) -> Option<u64> {
    let rest = error.strip_prefix(FILE)?.strip_prefix(", line ")?;
    rest.split(':').next()?.parse().ok()
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

/// The known name nearest to `name`, if any is near at all: a slip of one or two letters first, else a name that begins alike.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .map(|candidate| {
            let other = candidate.to_lowercase();
            let slips = strsim::osa_distance(&lower, &other);
            let near = if slips <= 2 { 3.0 - slips as f64 } else { 0.0 };
            (near + strsim::jaro_winkler(&lower, &other), candidate)
        })
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
