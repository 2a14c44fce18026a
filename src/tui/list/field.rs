//! A field of a list: everything that is known of one column stands in one row of its list's table.

use std::borrow::Cow;

use super::Fields;
use crate::{
    dataset::time::{Day, Time},
    question::filter::{ColumnKind, FieldValue},
    tui::{
        format,
        theme::Role,
        widgets::table::{Cell, Column},
    },
};

/// What a row has in a field: the filter compares it, the order is made of it, and a cell shows it where the field has none of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Missing,
    Number(f64),
    Text(Cow<'a, str>),
    /// Names, the one that it is sorted by first.
    List(Vec<Cow<'a, str>>),
    Flag(bool),
    Time(Time),
    Day(Day),
}

/// What a cell is drawn with, beside its row.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The width of the column as it is drawn.
    pub cells: usize,
    pub ascii: bool,
    pub now: Time,
}

/// A row of the list `L`, which says what it is.
pub struct Row<'a, L: Fields> {
    pub given: L::Row<'a>,
}

impl<L: Fields> Clone for Row<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Fields> Copy for Row<'_, L> {}

impl<'a, L: Fields> std::ops::Deref for Row<'a, L> {
    type Target = L::Row<'a>;

    fn deref(&self) -> &L::Row<'a> {
        &self.given
    }
}

/// A field of the list `L`. Made by `text`, `figure`, `hidden` or `picture`; what follows changes it.
pub struct Field<L: Fields> {
    pub column: Column,
    pub value: for<'a> fn(Row<'a, L>) -> Value<'a>,
    pub(super) cell: Option<for<'a> fn(Row<'a, L>, &Look) -> Cell>,
    pub(super) rank: Option<for<'a> fn(Row<'a, L>) -> Option<f64>>,
    pub(super) kind: Option<ColumnKind>,
    pub(super) aliases: &'static [&'static str],
    pub(super) searched: bool,
    /// Whether the order by it begins with the largest; none where rows are not ordered by it.
    pub(super) falls: Option<bool>,
    pub(super) shown: bool,
    /// On screen and in files only when it is asked for.
    pub(super) optional: bool,
    /// The member of the row's JSON that is written to files; empty for none.
    pub(super) member: &'static str,
}

impl<L: Fields> Field<L> {
    const fn new(column: Column, kind: Option<ColumnKind>, falls: Option<bool>, value: for<'a> fn(Row<'a, L>) -> Value<'a>) -> Self {
        let member = column.key;
        Self { column, value, cell: None, rank: None, kind, aliases: &[], searched: false, falls, shown: true, optional: false, member }
    }

    /// A column of text of so many cells, at least and ideally.
    pub const fn text(
        key: &'static str,
        title: &'static str,
        [min, ideal]: [u16; 2],
        priority: u8,
        value: for<'a> fn(Row<'a, L>) -> Value<'a>,
    ) -> Self {
        Self::new(Column::text(key, title, min, ideal, priority), Some(ColumnKind::Text), Some(false), value)
    }

    /// A column of figures.
    pub const fn figure(
        key: &'static str,
        title: &'static str,
        width: u16,
        priority: u8,
        value: for<'a> fn(Row<'a, L>) -> Value<'a>,
    ) -> Self {
        Self::new(Column::figure(key, title, width, priority), Some(ColumnKind::Number), Some(true), value)
    }

    /// What is filtered by or written to files and has no column.
    pub const fn hidden(key: &'static str, kind: ColumnKind, value: for<'a> fn(Row<'a, L>) -> Value<'a>) -> Self {
        Self { shown: false, ..Self::new(Column::text(key, "", 0, 0, 0), Some(kind), None, value) }
    }

    /// What is only looked at.
    pub const fn picture(
        key: &'static str,
        title: &'static str,
        width: u16,
        priority: u8,
        cell: for<'a> fn(Row<'a, L>, &Look) -> Cell,
    ) -> Self {
        Self::new(Column::text(key, title, width, width, priority), None, None, |_| Value::Missing).member("").plain().cell(cell)
    }

    #[must_use]
    pub const fn cell(mut self, cell: for<'a> fn(Row<'a, L>, &Look) -> Cell) -> Self {
        self.cell = Some(cell);
        self
    }

    /// What rows are ordered by in place of the value.
    #[must_use]
    pub const fn rank(mut self, rank: for<'a> fn(Row<'a, L>) -> Option<f64>) -> Self {
        self.rank = Some(rank);
        self
    }

    /// What the value is to the filter.
    #[must_use]
    pub const fn of(mut self, kind: ColumnKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// No filter names it.
    #[must_use]
    pub const fn unfiltered(mut self) -> Self {
        self.kind = None;
        self
    }

    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Plain words of the filter look into it.
    #[must_use]
    pub const fn searched(mut self) -> Self {
        self.searched = true;
        self
    }

    /// The order by it begins with the largest.
    #[must_use]
    pub const fn largest_first(mut self) -> Self {
        self.falls = Some(true);
        self
    }

    #[must_use]
    pub const fn smallest_first(mut self) -> Self {
        self.falls = Some(false);
        self
    }

    #[must_use]
    pub const fn unsorted(mut self) -> Self {
        self.falls = None;
        self
    }

    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// The member of the row's JSON, where it is not called as the field; empty for what is not written.
    #[must_use]
    pub const fn member(mut self, member: &'static str) -> Self {
        self.member = member;
        self
    }

    /// Words of the filter are not marked in it.
    #[must_use]
    pub const fn plain(mut self) -> Self {
        self.column.matched = false;
        self
    }

    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.column.unit = unit;
        self
    }

    #[must_use]
    pub const fn grows(mut self) -> Self {
        self.column = self.column.grows();
        self
    }

    #[must_use]
    pub const fn decimal(mut self) -> Self {
        self.column = self.column.decimal();
        self
    }

    pub fn show(&self, row: Row<'_, L>, look: &Look) -> Cell {
        self.cell.map_or_else(|| (self.value)(row).cell(), |cell| cell(row, look))
    }

    pub(super) fn sort_key(&self, row: Row<'_, L>) -> Option<SortKey> {
        self.rank.map_or_else(|| (self.value)(row).sort_key(), |rank| rank(row).map(SortKey::Number))
    }
}

/// What rows are ordered by: numbers before texts, texts without regard to case.
#[derive(Debug, PartialEq, PartialOrd)]
pub(super) enum SortKey {
    Number(f64),
    Text(String),
}

impl Value<'_> {
    fn sort_key(&self) -> Option<SortKey> {
        let number = |number: f64| (!number.is_nan()).then_some(SortKey::Number(number));
        match self {
            Self::Missing => None,
            Self::Number(value) => number(*value),
            Self::Text(text) => Some(SortKey::Text(text.to_lowercase())),
            Self::List(names) => names.first().map(|name| SortKey::Text(name.to_lowercase())),
            Self::Flag(flag) => number(f64::from(u8::from(*flag))),
            Self::Time(time) => number(time.0 as f64),
            Self::Day(day) => number(f64::from(day.0)),
        }
    }

    /// As the filter takes it; `names` are the members of a list.
    pub(super) fn field<'a>(&'a self, names: &'a [&'a str]) -> Option<FieldValue<'a>> {
        Some(match self {
            Self::Missing => return None,
            Self::Number(number) => FieldValue::Number(*number),
            Self::Text(text) => FieldValue::Text(text),
            Self::List(_) => FieldValue::List(names),
            Self::Flag(flag) => FieldValue::Flag(*flag),
            Self::Time(time) => FieldValue::Time(*time),
            Self::Day(day) => FieldValue::Day(*day),
        })
    }

    pub(super) fn names(&self) -> Vec<&str> {
        if let Self::List(names) = self { names.iter().map(AsRef::as_ref).collect() } else { Vec::new() }
    }

    fn cell(self) -> Cell {
        match self {
            Self::Missing => Cell::missing(),
            Self::Number(number) => Cell::figure(format::human(Some(number))),
            Self::Text(text) => Cell::text(text.into_owned()),
            Self::Flag(flag) => Cell::text(if flag { "yes" } else { "no" }),
            Self::Time(time) => Cell::new(time.to_string(), Role::Dim),
            Self::Day(day) => Cell::new(day.to_string(), Role::Dim),
            // `eth +4`
            Self::List(names) => match &*names {
                [] => Cell::missing(),
                [only] => Cell::text(only.to_string()),
                [first, others @ ..] => Cell::text(first.to_string()).then(format!(" +{}", others.len()), Role::Dim),
            },
        }
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Missing, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(text: &'a Option<String>) -> Self {
        text.as_deref().into()
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

macro_rules! values {
    ($($of:ty => |$value:ident| $to:expr;)*) => { $(impl<'a> From<$of> for Value<'a> {
        fn from($value: $of) -> Self {
            $to
        }
    })* };
}

values! {
    &'a str => |text| Self::Text(Cow::Borrowed(text));
    String => |text| Self::Text(Cow::Owned(text));
    f64 => |number| Self::Number(number);
    // Beyond 2^53 rounded, as figures in lists are.
    i64 => |number| Self::Number(number as f64);
    u64 => |number| Self::Number(number as f64);
    usize => |number| Self::Number(number as f64);
    u16 => |number| Self::Number(f64::from(number));
    bool => |flag| Self::Flag(flag);
    Time => |time| Self::Time(time);
    Day => |day| Self::Day(day);
    Vec<Cow<'a, str>> => |names| Self::List(names);
}
