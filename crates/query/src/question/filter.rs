//! The filter language: `chain:base cap>1m usd`. Plain words are a fuzzy match on the row's text, `column op value` is exact; terms are
//! joined by AND. It defines no columns: the caller passes their names, aliases, kinds and values. Used by the terminal's filter and by
//! `where=` of the API.

mod columns;
mod complete;
mod left_out;
mod parse;
mod value;
pub mod words;

use std::borrow::Cow;

use model::{
    cell_value::CellValue,
    time::{Day, SECOND_MS, Time},
};

pub use self::{
    columns::{ColumnKind, ColumnValues, FilterColumn, column, names, of_kind, of_table},
    complete::complete,
    left_out::RowsLeftOut,
    parse::{FilterError, TEXT_CHARS_MAX, conditions, parse},
    value::ConditionValue,
};

/// A value of a row, in the kind that its column declares.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    /// Matches if any member does, as for the chains of a token.
    List(Vec<Cow<'a, str>>),
    Flag(bool),
    Time(Time),
    Day(Day),
    /// A duration in milliseconds.
    Duration(i64),
}

impl<'a> FieldValue<'a> {
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// The value of a table cell; `None` for a missing cell.
    pub fn of_cell(cell: &'a CellValue) -> Option<Self> {
        Some(match cell {
            CellValue::Missing => return None,
            CellValue::Text(text) => Self::text(text),
            CellValue::Integer(number) => Self::Number(*number as f64),
            CellValue::Float(number) => Self::Number(*number),
            CellValue::Flag(flag) => Self::Flag(*flag),
            CellValue::Time(time) => Self::Time(*time),
            CellValue::Day(day) => Self::Day(*day),
            CellValue::List(members) => return Self::list(members),
        })
    }

    /// A list; `None` for an empty one.
    pub fn list(members: impl IntoIterator<Item: Into<Cow<'a, str>>>) -> Option<Self> {
        let members: Vec<Cow<'a, str>> = members.into_iter().map(Into::into).collect();
        (!members.is_empty()).then_some(Self::List(members))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `:`: contains, for text; equals, for other kinds.
    Has,
    Equal,
    Differs,
    Greater,
    Less,
    AtLeast,
    AtMost,
}

impl Operator {
    /// The operator that a value must pass to be worth naming: of `!=` that is `=`.
    fn without_not(self) -> Self {
        if self == Self::Differs { Self::Equal } else { self }
    }
}

/// One term of a filter.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A plain word, in lower case: a fuzzy match, or for a quoted (`exact`) one a substring match.
    Word { word: String, exact: bool },
    Compare {
        column: &'static str,
        operator: Operator,
        wanted: ConditionValue,
        /// As it was written, without blanks between its parts.
        text: String,
    },
}

/// A conjunction of terms; an empty one matches every row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    pub terms: Vec<Term>,
    searched: Vec<&'static str>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The conditions as they were written, without the plain words.
    pub fn conditions(&self) -> String {
        let texts = self.terms.iter().filter_map(|term| match term {
            Term::Word { .. } => None,
            Term::Compare { text, .. } => Some(text.as_str()),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    /// The plain words, for highlighting matches.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| match term {
            Term::Word { word, .. } => Some(word.as_str()),
            Term::Compare { .. } => None,
        })
    }

    /// Splits off the conditions on the columns that `first` accepts; all other terms are second.
    pub fn split(&self, first: impl Fn(&str) -> bool) -> (Self, Self) {
        let is_first = |term: &&Term| matches!(term, Term::Compare { column, .. } if first(column));
        let (chosen, others) = self.terms.iter().partition::<Vec<&Term>, _>(is_first);
        let of = |terms: Vec<&Term>| Self { terms: terms.into_iter().cloned().collect(), searched: self.searched.clone() };
        (of(chosen), of(others))
    }

    /// The filter with each condition on the column `age` as conditions on the column `time`, for rows that have a time only.
    #[must_use]
    pub fn with_times(&self, age: &str, time: &'static str, now: Time) -> Self {
        let term = |operator: Operator, sign: &str, at: i64| Term::Compare {
            column: time,
            operator,
            wanted: ConditionValue::Period { start: Time(at), end: Time(at.saturating_add(SECOND_MS)) },
            text: format!("{time}{sign}{}", Time(at)),
        };
        let (since, before) = (|at| term(Operator::AtLeast, ">=", at), |at| term(Operator::Less, "<", at));
        let in_times = |each: &Term| match each {
            Term::Compare { column, operator, wanted: ConditionValue::Duration { length, unit }, .. } if *column == age => {
                let young = now.0.saturating_sub(*length);
                match operator {
                    Operator::Less | Operator::AtMost => vec![since(young)],
                    Operator::Greater | Operator::AtLeast => vec![before(young)],
                    // An age of `3d` is one from three days up to, not including, four.
                    Operator::Has | Operator::Equal | Operator::Differs => vec![since(young.saturating_sub(*unit)), before(young)],
                }
            }
            other => vec![other.clone()],
        };
        Self { terms: self.terms.iter().flat_map(in_times).collect(), searched: self.searched.clone() }
    }

    /// The columns that the conditions name.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| match term {
            Term::Word { .. } => None,
            Term::Compare { column, .. } => Some(&**column),
        })
    }

    /// Whether a condition names the column.
    pub fn names(&self, name: &str) -> bool {
        self.columns().any(|column| column == name)
    }

    /// The conditions alone, without the plain words.
    #[must_use]
    pub fn without_words(&self) -> Self {
        self.split(|_| true).0
    }

    /// Column pruning: the columns that evaluating the filter reads.
    pub fn columns_read(&self, columns: Vec<FilterColumn>) -> Vec<FilterColumn> {
        let words = self.words().next().is_some();
        columns.into_iter().filter(|column| (words && column.searched) || self.names(column.name)).collect()
    }

    /// Whether the row matches; `field` returns its value in a column, `None` for a missing one. A missing value meets no condition.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<FieldValue<'a>>) -> bool {
        self.terms.iter().all(|term| self.met(term, &field) == Some(true))
    }
}

impl Filter {
    /// As `matches`, in three-valued logic: `None` where the result depends on a missing value.
    pub fn matches_or_unknown<'a>(&self, field: impl Fn(&str) -> Option<FieldValue<'a>>) -> Option<bool> {
        let all: Vec<Option<bool>> = self.terms.iter().map(|term| self.met(term, &field)).collect();
        if all.contains(&Some(false)) { Some(false) } else { all.iter().all(Option::is_some).then_some(true) }
    }

    /// Whether the row meets one condition; `None` where that depends on a missing value.
    fn met<'a>(&self, term: &Term, field: &impl Fn(&str) -> Option<FieldValue<'a>>) -> Option<bool> {
        match term {
            Term::Word { word, exact } => {
                let mut is_known = true;
                for column in &self.searched {
                    match field(column) {
                        Some(value) if found(&value, word, *exact) => return Some(true),
                        value => is_known &= value.is_some(),
                    }
                }
                is_known.then_some(false)
            }
            Term::Compare { column, operator, wanted, .. } => field(column).map(|value| compare(&value, *operator, wanted)),
        }
    }
}

/// The minimum and maximum of a column within a block of rows (its zone map).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// All values are missing.
    Empty,
    Number(f64, f64),
    Time(Time, Time),
}

impl Filter {
    /// Whether a block of rows can contain a match, judged by its zone map; true where the range is unknown.
    pub fn may_match(&self, range: impl Fn(&str) -> Option<Range>) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Word { .. } => true,
            Term::Compare { column, operator, wanted, .. } => range(column).is_none_or(|range| may_hold(range, *operator, wanted)),
        })
    }
}

fn may_hold(range: Range, operator: Operator, wanted: &ConditionValue) -> bool {
    match (range, wanted) {
        (Range::Empty, _) => false,
        (Range::Number(low, high), ConditionValue::Number(wanted)) => between(low, high, operator, *wanted),
        (Range::Time(low, high), ConditionValue::Period { start, end }) => match operator {
            Operator::Equal => low < *end && high >= *start,
            operator => between(low, high, operator, *start),
        },
        _ => true,
    }
}

fn between<T: PartialOrd + Copy>(low: T, high: T, operator: Operator, wanted: T) -> bool {
    match operator {
        Operator::Has | Operator::Equal => low <= wanted && wanted <= high,
        Operator::Greater | Operator::AtLeast => holds(high, operator, wanted),
        Operator::Less | Operator::AtMost => holds(low, operator, wanted),
        Operator::Differs => true,
    }
}

fn found(value: &FieldValue<'_>, word: &str, exact: bool) -> bool {
    let inside = |text: &str| if exact { text.to_lowercase().contains(word) } else { words::contains(word, text) };
    match value {
        FieldValue::Text(text) => inside(text),
        FieldValue::List(texts) => texts.iter().any(|text| inside(text)),
        FieldValue::Number(_) | FieldValue::Flag(_) | FieldValue::Time(_) | FieldValue::Day(_) | FieldValue::Duration(_) => false,
    }
}

fn compare(value: &FieldValue<'_>, operator: Operator, wanted: &ConditionValue) -> bool {
    if operator == Operator::Differs {
        return !compare(value, Operator::Equal, wanted);
    }
    match (value, wanted) {
        (FieldValue::Number(value), ConditionValue::Number(wanted)) => holds(*value, operator, *wanted),
        (FieldValue::Text(value), ConditionValue::Text(wanted)) => compare_text(value, operator, wanted),
        // Names match whole: `chain:base` is not met by `coinbase`.
        (FieldValue::Text(value), ConditionValue::Name(wanted)) => compare_text(value, Operator::Equal, wanted),
        (FieldValue::List(values), ConditionValue::Text(wanted) | ConditionValue::Name(wanted)) => {
            values.iter().any(|value| compare_text(value, Operator::Equal, wanted))
        }
        (FieldValue::Flag(value), ConditionValue::Flag(wanted)) => value == wanted,
        (FieldValue::Time(value), ConditionValue::Text(part)) => value.to_string().contains(part),
        (FieldValue::Day(value), ConditionValue::Text(part)) => value.to_string().contains(part),
        (FieldValue::Day(value), wanted) => compare(&FieldValue::Time(value.start()), operator, wanted),
        (FieldValue::Time(value), ConditionValue::Period { start, end }) => match operator {
            Operator::Equal => (*start..*end).contains(value),
            operator => holds(*value, operator, *start),
        },
        (FieldValue::Duration(value), ConditionValue::Duration { length, unit }) => match operator {
            Operator::Has | Operator::Equal => (*length..length.saturating_add(*unit)).contains(value),
            operator => holds(*value, operator, *length),
        },
        // Kinds that do not match are refused by the parser.
        _ => false,
    }
}

fn holds<T: PartialOrd + Copy>(value: T, operator: Operator, wanted: T) -> bool {
    match operator {
        Operator::Has | Operator::Equal => value == wanted,
        Operator::Differs => value != wanted,
        Operator::Greater => value > wanted,
        Operator::Less => value < wanted,
        Operator::AtLeast => value >= wanted,
        Operator::AtMost => value <= wanted,
    }
}

fn compare_text(value: &str, operator: Operator, wanted: &str) -> bool {
    let (value, wanted) = (value.to_lowercase(), wanted.to_lowercase());
    if operator == Operator::Has { value.contains(&wanted) } else { value == wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::{DAY_MS, HOUR_MS};

    pub(super) const COLUMNS: &[FilterColumn] = &[
        FilterColumn::new("symbol", ColumnKind::Text, &[]).searched(),
        FilterColumn::new("name", ColumnKind::Text, &[]).searched(),
        FilterColumn::new("chain", ColumnKind::Chain, &["chains"]),
        FilterColumn::new("market_cap", ColumnKind::Number, &["cap", "mcap"]),
        FilterColumn::new("price_change_24h", ColumnKind::Number, &["24h", "change"]),
        FilterColumn::new("labels", ColumnKind::List, &[]),
        FilterColumn::new("starred", ColumnKind::Flag, &[]),
        FilterColumn::new("recommendedAction", ColumnKind::Text, &["action"]),
        FilterColumn::new("counted_at", ColumnKind::Time, &["counted"]),
        FilterColumn::new("date", ColumnKind::Time, &[]),
        FilterColumn::new("age", ColumnKind::Duration, &[]),
    ];

    fn usd_coin(column: &str) -> Option<FieldValue<'static>> {
        Some(match column {
            "symbol" => FieldValue::text("USDC"),
            "name" => FieldValue::text("USD Coin"),
            "chain" => return FieldValue::list(["eth", "base"]),
            "market_cap" => FieldValue::Number(4.1e9),
            "price_change_24h" => FieldValue::Number(-0.5),
            "starred" => FieldValue::Flag(true),
            // 2026-01-31T10:30:15Z and its day.
            "counted_at" => FieldValue::Time(Time(1_769_855_415_000)),
            "date" => FieldValue::Day(Day(20_484)),
            "age" => FieldValue::Duration(89 * DAY_MS + 3 * HOUR_MS),
            _ => return None,
        })
    }

    #[test]
    fn conditions_keep_the_rows_that_meet_them() {
        let cases = [
            ("", true),
            ("usd", true),
            ("USD coin", true),
            ("usd tether", false),
            ("chain:base", true),
            ("chain:bas", false),
            ("chain!=bsc", true),
            ("chain != eth", false),
            ("cap>1m", true),
            ("cap > 4.1b", false),
            ("cap>=4.1b", true),
            ("MCAP<5,000m", true),
            ("change<-0.4%", true),
            ("24h:-0.5", true),
            ("name:coin", true),
            ("name=coin", false),
            ("name=\"usd coin\"", true),
            ("\"sd co\"", true),
            ("\"sdco\"", false),
            ("starred:yes", true),
            ("starred=no", false),
            ("starred!=yes", false),
            ("counted>2026-01", true),
            ("counted>2026-02", false),
            ("counted<2026-01-31T10:31", true),
            ("counted=2026", true),
            ("counted=2026-01-31", true),
            ("counted!=2026-01-30", true),
            ("counted:10:30", true),
            ("counted:\"31 10\"", true),
            ("counted:11:30", false),
            ("date>=2026-01-31", true),
            ("date>2026-01-31", false),
            ("date<=2026-01-31", true),
            ("date=2026-01", true),
            ("date:01-31", true),
            ("date:00:00", false),
            ("action:BUY", false),
            ("action!=BUY", false),
            ("chain:BASE", true),
            ("chain:ethereum", true),
            ("chain=8453", true),
            ("chain!=polygon", true),
            ("chain!=ethereum", false),
            ("age<90d", true),
            ("age<89d", false),
            ("age>=89d", true),
            ("age:89d", true),
            ("age=12w", true),
            ("age!=13w", true),
            ("age>2min", true),
            ("age<3mo", true),
            ("age>1.5y", false),
            ("age<=1y", true),
            ("chain:base cap>1m usd", true),
            ("chain:base cap<1m usd", false),
        ];
        for (text, expected) in cases {
            let filter = parse(text, COLUMNS).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(filter.matches(usd_coin), expected, "{text}");
        }
    }

    #[test]
    fn a_condition_on_an_age_is_one_on_a_time() {
        let columns = [FilterColumn::new("age", ColumnKind::Duration, &[]), FilterColumn::new("at", ColumnKind::Time, &[])];
        let now = Time(100 * DAY_MS);
        for condition in ["age<3d", "age<=3d", "age>3d", "age>=3d", "age:3d", "age=3d", "age>0d age<2w"] {
            let filter = parse(condition, &columns).expect("a filter");
            let timed = filter.with_times("age", "at", now);
            let read_again = parse(&timed.conditions(), &columns).expect("conditions that can be read");
            assert!(!timed.names("age"), "{condition}");
            // Half hours, as no age is a whole day to the millisecond.
            for hours in (0..20 * 24).step_by(5) {
                let age = hours * HOUR_MS + HOUR_MS / 2;
                let by_age = filter.matches(|_| Some(FieldValue::Duration(age)));
                let by_time = |filter: &Filter| filter.matches(|_| Some(FieldValue::Time(Time(now.0 - age))));
                assert_eq!((by_time(&timed), by_time(&read_again)), (by_age, by_age), "{condition} {hours}");
            }
        }
    }
}
