//! The value of a single cell, field, key or aggregate. Formatting for screens does not belong here.

use std::{
    borrow::Cow,
    cmp::Ordering,
    hash::{Hash, Hasher},
    mem::discriminant,
};

use serde_json::{Value, json};

use super::time::{Day, Time};

/// A value in the few types that columns have. Floats are finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Missing,
    Flag(bool),
    Whole(i64),
    Float(f64),
    /// A whole number without a sign that neither an integer nor a float holds.
    Digits(Cow<'a, str>),
    Text(Cow<'a, str>),
    Time(Time),
    Day(Day),
    /// Milliseconds.
    Duration(i64),
    List(Vec<Cow<'a, str>>),
}

impl<'a> Scalar<'a> {
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list; missing without members.
    pub fn list(members: impl IntoIterator<Item: Into<Cow<'a, str>>>) -> Self {
        let members: Vec<Cow<'a, str>> = members.into_iter().map(Into::into).collect();
        if members.is_empty() {
            Self::Missing
        } else {
            Self::List(members)
        }
    }

    /// Whether it is missing or an empty list.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::List(members) => members.is_empty(),
            _ => false,
        }
    }

    /// `None` if it is missing or an empty list.
    pub fn given(self) -> Option<Self> {
        Some(self).filter(|value| !value.is_missing())
    }

    /// The cell of a column of numbers: amounts too large for an integer are stored as text.
    #[must_use]
    pub fn number(self) -> Self {
        match self {
            Self::Text(text) if is_digits(&text) => Self::Digits(text),
            Self::Text(text) => text.parse().map_or(Self::Missing, Self::Float),
            other => other,
        }
    }

    /// The same value, borrowed.
    pub fn borrowed(&self) -> Scalar<'_> {
        match self {
            Self::Digits(digits) => Scalar::Digits(Cow::Borrowed(digits)),
            Self::Text(text) => Scalar::Text(Cow::Borrowed(text)),
            Self::List(members) => Scalar::List(
                members
                    .iter()
                    .map(|member| Cow::Borrowed(&**member))
                    .collect(),
            ),
            Self::Missing => Scalar::Missing,
            Self::Flag(flag) => Scalar::Flag(*flag),
            Self::Whole(number) => Scalar::Whole(*number),
            Self::Float(number) => Scalar::Float(*number),
            Self::Time(time) => Scalar::Time(*time),
            Self::Day(day) => Scalar::Day(*day),
            Self::Duration(length) => Scalar::Duration(*length),
        }
    }

    pub fn owned(self) -> Scalar<'static> {
        match self {
            Self::Digits(digits) => Scalar::Digits(Cow::Owned(digits.into_owned())),
            Self::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
            Self::List(members) => Scalar::List(
                members
                    .into_iter()
                    .map(|member| Cow::Owned(member.into_owned()))
                    .collect(),
            ),
            Self::Missing => Scalar::Missing,
            Self::Flag(flag) => Scalar::Flag(flag),
            Self::Whole(number) => Scalar::Whole(number),
            Self::Float(number) => Scalar::Float(number),
            Self::Time(time) => Scalar::Time(time),
            Self::Day(day) => Scalar::Day(day),
            Self::Duration(length) => Scalar::Duration(length),
        }
    }

    /// What lists sort by: text in lower case, lists by their first element. `None` without a value.
    pub fn sort_key(self) -> Option<Scalar<'static>> {
        match self {
            Self::Text(text) => Some(Scalar::text(text.to_lowercase())),
            Self::List(members) => members
                .first()
                .map(|member| Scalar::text(member.to_lowercase())),
            other => other.given().map(Scalar::owned),
        }
    }

    /// As JSON; null if missing.
    pub fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Flag(flag) => json!(flag),
            Self::Whole(number) | Self::Duration(number) => json!(number),
            Self::Float(number) => json!(number),
            Self::Digits(text) | Self::Text(text) => json!(text),
            Self::Time(time) => json!(time),
            Self::Day(day) => json!(day),
            Self::List(members) => json!(members),
        }
    }

    /// As text, numbers without separators; `None` if missing.
    pub fn to_text(&self) -> Option<String> {
        Some(match self {
            Self::Missing => return None,
            Self::Flag(flag) => flag.to_string(),
            Self::Whole(number) | Self::Duration(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Digits(text) | Self::Text(text) => text.to_string(),
            Self::Time(time) => time.to_string(),
            Self::Day(day) => day.to_string(),
            Self::List(members) => members.join(", "),
        })
    }

    /// As a float, times in milliseconds and days in days; `None` for text and lists.
    pub fn as_float(&self) -> Option<f64> {
        Some(match self {
            Self::Flag(flag) => f64::from(u8::from(*flag)),
            Self::Whole(number) | Self::Duration(number) | Self::Time(Time(number)) => {
                *number as f64
            }
            Self::Float(number) => *number,
            Self::Digits(digits) => digits.parse().ok()?,
            Self::Day(day) => f64::from(day.0),
            Self::Missing | Self::Text(_) | Self::List(_) => return None,
        })
    }
}

/// Numbers before texts; what has no order is `None`.
impl PartialOrd for Scalar<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(b)),
            (Self::Digits(a), Self::Digits(b)) => Some(by_digits(
                a.trim_start_matches('0'),
                b.trim_start_matches('0'),
            )),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Text(_), b) => b.as_float().map(|_| Ordering::Greater),
            (a, Self::Text(_)) => a.as_float().map(|_| Ordering::Less),
            (a, b) => a.as_float()?.partial_cmp(&b.as_float()?),
        }
    }
}

/// Floats are finite, so that each equals itself.
impl Eq for Scalar<'_> {}

impl Hash for Scalar<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(self).hash(state);
        match self {
            Self::Missing => {}
            Self::Flag(flag) => flag.hash(state),
            Self::Whole(number) | Self::Duration(number) | Self::Time(Time(number)) => {
                number.hash(state);
            }
            // −0 equals 0.
            Self::Float(number) => (number + 0.0).to_bits().hash(state),
            Self::Digits(text) | Self::Text(text) => text.hash(state),
            Self::Day(day) => day.0.hash(state),
            Self::List(members) => members.hash(state),
        }
    }
}

/// Whether a text is a whole number without a sign.
pub fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Compares digits without leading zeros.
pub fn by_digits(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl<T: Into<Self>> From<Option<T>> for Scalar<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Scalar::Missing, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Scalar<'a> {
    fn from(text: &'a Option<String>) -> Self {
        text.as_deref().into()
    }
}

macro_rules! scalars {
    ($($of:ty => |$value:ident| $to:expr;)*) => { $(impl<'a> From<$of> for Scalar<'a> {
        fn from($value: $of) -> Self {
            $to
        }
    })* };
}

scalars! {
    &'a str => |text| Self::text(text);
    &'a String => |text| Self::text(text);
    String => |text| Self::text(text);
    bool => |flag| Self::Flag(flag);
    f64 => |number| Self::Float(number);
    // Rounded beyond 2^53, as figures in lists are.
    i64 => |number| Self::Float(number as f64);
    u64 => |number| Self::Float(number as f64);
    usize => |number| Self::Float(number as f64);
    u16 => |number| Self::Float(f64::from(number));
    Time => |time| Self::Time(time);
    Day => |day| Self::Day(day);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_with_all_their_digits_and_before_texts() {
        let ordered = [
            Scalar::Float(-0.5),
            Scalar::Flag(true),
            Scalar::Whole(i64::MAX - 1),
            Scalar::Whole(i64::MAX),
            Scalar::Digits("00100000000000000000000000000000001".into()),
            Scalar::Digits("100000000000000000000000000000000002".into()),
            Scalar::text("10"),
            Scalar::text("9"),
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate().filter(|(j, _)| *j != i) {
                assert_eq!(a.partial_cmp(b), Some(i.cmp(&j)), "{a:?} {b:?}");
            }
        }
        assert_eq!(Scalar::Missing.partial_cmp(&Scalar::Float(1.0)), None);
        assert_eq!(Scalar::text("B").sort_key(), Some(Scalar::text("b")));
        assert_eq!(Scalar::List(Vec::new()).sort_key(), None);
    }

    #[test]
    fn what_is_equal_has_equal_hashes() {
        let keys: std::collections::HashSet<Scalar<'_>> = [
            Scalar::Float(0.0),
            Scalar::Float(-0.0),
            Scalar::Whole(0),
            Scalar::text("0"),
            Scalar::Missing,
            Scalar::Missing,
        ]
        .into();
        assert_eq!(keys.len(), 4);
    }
}
