//! The filter language: `chain:base cap>1m usd`, `price>10 or (chain:eth score>=60)`. Plain words are a fuzzy match on the row's text,
//! `column op value` is exact; a blank is AND, which binds more closely than `or`; `not` denies what follows. It defines no columns: the caller passes their names,
//! aliases, kinds and values. Used by the terminal's filter, by `where=` of the API and by alerts.

mod ages;
mod columns;
mod complete;
mod evaluate;
mod left_out;
mod number;
mod parse;
mod rows;
mod sql;
mod value;
pub mod words;

use std::{borrow::Cow, cmp::Ordering};

use complete::OPERATORS;
use model::scalar::Scalar;

pub use self::{
    columns::{
        AddressOf, ColumnKind, ColumnValues, FilterColumn, column, names, of_column, of_kind,
        of_table,
    },
    complete::complete,
    left_out::ExcludedRows,
    number::ConditionNumber,
    parse::{FilterError, TEXT_CHARS_MAX, conditions, conditions_with, parse, parse_with},
    rows::{Columns, ListColumns, Values, one_by_one},
    value::{ConditionValue, duration, number},
};

/// From here on a float does not hold every whole number: 2^53.
const FLOAT_WHOLE: u64 = 1 << 53;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `:`: contains, for text; equals, for other kinds.
    Has,
    /// `!:`: the opposite.
    Lacks,
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
        match self {
            Self::Differs => Self::Equal,
            Self::Lacks => Self::Has,
            other => other,
        }
    }

    /// How it compares what is no text: the sign in SQL, and whether it holds of the order of a value and the wanted one.
    const fn comparison(self) -> (&'static str, fn(Option<Ordering>) -> bool) {
        match self {
            Self::Has | Self::Equal => ("=", |order| order == Some(Ordering::Equal)),
            Self::Differs | Self::Lacks => ("!=", |order| order != Some(Ordering::Equal)),
            Self::Greater => (">", |order| order == Some(Ordering::Greater)),
            Self::Less => ("<", |order| order == Some(Ordering::Less)),
            Self::AtLeast => (">=", |order| {
                matches!(order, Some(Ordering::Greater | Ordering::Equal))
            }),
            Self::AtMost => ("<=", |order| {
                matches!(order, Some(Ordering::Less | Ordering::Equal))
            }),
        }
    }
}

/// One term of a filter.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A plain word, in lower case: a fuzzy match, or for a quoted (`exact`) one a substring match. It also finds the addresses of the tokens that
    /// it names, and those that it is a part of.
    Word {
        word: String,
        exact: bool,
        tokens: Vec<String>,
    },
    Compare {
        column: &'static str,
        operator: Operator,
        wanted: ConditionValue,
        /// As it was written, without blanks between its parts.
        text: String,
    },
    /// At least one of these conjunctions holds, none of which is empty. They hold no plain words, so that words and conditions can be asked
    /// for apart.
    Either(Vec<Vec<Term>>),
}

impl Term {
    /// The conditions in it, in the order they were written.
    fn conditions(&self) -> Vec<(&'static str, Operator, &str)> {
        match self {
            Self::Word { .. } => Vec::new(),
            Self::Compare {
                column,
                operator,
                text,
                ..
            } => vec![(column, *operator, text)],
            Self::Either(alternatives) => alternatives
                .iter()
                .flatten()
                .flat_map(Self::conditions)
                .collect(),
        }
    }

    fn word(&self) -> Option<&str> {
        if let Self::Word { word, .. } = self {
            Some(word)
        } else {
            None
        }
    }
}

/// Conditions as they were written, with one blank between them; a list of alternatives beside others is in brackets.
fn written(terms: &[Term]) -> String {
    let either = |alternatives: &[Vec<Term>]| {
        let texts = alternatives.iter().map(|terms| {
            if terms.len() > 1 {
                format!("({})", written(terms))
            } else {
                written(terms)
            }
        });
        texts.collect::<Vec<_>>().join(" or ")
    };
    let is_alone = terms.iter().filter(|term| term.word().is_none()).count() == 1;
    let texts = terms.iter().filter_map(|term| match term {
        Term::Word { .. } => None,
        Term::Compare { text, .. } => Some(text.clone()),
        Term::Either(alternatives) if is_alone => Some(either(alternatives)),
        Term::Either(alternatives) => Some(format!("({})", either(alternatives))),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Moves the thresholds, see `Filter::relaxed`; false if there are none.
fn relax(terms: &mut [Term], fraction: f64) -> bool {
    let mut any = false;
    for term in terms {
        match term {
            Term::Compare {
                operator,
                wanted: ConditionValue::Number(number),
                ..
            } => {
                let sign = match operator {
                    Operator::Greater | Operator::AtLeast => -1.0,
                    Operator::Less | Operator::AtMost => 1.0,
                    _ => continue,
                };
                *number = ConditionNumber::of(number.float + sign * fraction * number.float.abs());
                any = true;
            }
            Term::Either(alternatives) => {
                for terms in alternatives {
                    any |= relax(terms, fraction);
                }
            }
            Term::Compare { .. } | Term::Word { .. } => {}
        }
    }
    any
}

/// A conjunction of terms; an empty one matches every row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    pub terms: Vec<Term>,
    searched: Vec<&'static str>,
    /// The columns of addresses.
    addresses: Vec<&'static str>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The conditions as they were written, without the plain words.
    pub fn conditions(&self) -> String {
        written(&self.terms)
    }

    /// The text of the filter with one more condition; `text` is that of this filter.
    pub fn with(&self, text: &str, condition: &str) -> String {
        let is_known =
            |term: &Term| matches!(term, Term::Compare { text, .. } if text == condition);
        match (text.trim(), self.terms.as_slice()) {
            ("", _) => condition.to_owned(),
            (text, terms) if terms.iter().any(is_known) => text.to_owned(),
            (_, [Term::Either(_)]) => format!("({}) {condition}", self.conditions()),
            (text, _) => format!("{text} {condition}"),
        }
    }

    /// The filter with every numeric threshold moved away by this fraction of itself, so that it matches more; `None` without one.
    pub fn relaxed(&self, fraction: f64) -> Option<Self> {
        let mut relaxed = self.clone();
        relax(&mut relaxed.terms, fraction).then_some(relaxed)
    }

    /// The plain words, for highlighting matches.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(Term::word)
    }

    /// Splits off the conditions that name only columns which `first` accepts; all other terms are second.
    pub fn split(&self, first: impl Fn(&str) -> bool) -> (Self, Self) {
        let is_first = |term: &&Term| {
            term.word().is_none() && term.conditions().iter().all(|(column, ..)| first(column))
        };
        let (chosen, others) = self.terms.iter().partition::<Vec<&Term>, _>(is_first);
        let of = |terms: Vec<&Term>| Self {
            terms: terms.into_iter().cloned().collect(),
            ..self.clone()
        };
        (of(chosen), of(others))
    }

    /// Whether some condition has such a column and operator.
    pub fn compares(&self, evaluate: impl Fn(&str, Operator) -> bool) -> bool {
        self.terms
            .iter()
            .flat_map(Term::conditions)
            .any(|(column, operator, _)| evaluate(column, operator))
    }

    /// The columns that the conditions name.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.terms
            .iter()
            .flat_map(Term::conditions)
            .map(|(column, ..)| column)
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

    /// The filter with words that a text column has to have.
    #[must_use]
    pub fn with_words(&self, words: Vec<String>, column: &'static str) -> Self {
        let words = words.into_iter().map(|word| Term::Word {
            word,
            exact: true,
            tokens: Vec::new(),
        });
        Self {
            terms: words.chain(self.terms.iter().cloned()).collect(),
            searched: vec![column],
            addresses: Vec::new(),
        }
    }

    /// Whether the row matches; `field` returns its value in a column, `None` for a missing one. A missing value meets no condition.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Scalar<'a>) -> bool {
        self.matches_or_unknown(field, |_| false) == Some(true)
    }

    /// As `matches`, in three-valued logic: `None` where the result depends on a missing value. One that `absent` knows to be no gap in the
    /// data, such as the pattern of candles that have none, is a condition that does not hold.
    pub fn matches_or_unknown<'a>(
        &self,
        field: impl Fn(&str) -> Scalar<'a>,
        absent: impl Fn(&str) -> bool,
    ) -> Option<bool> {
        let row = ListColumns::new(|_, column| {
            Some(field(column)).filter(|value| !value.is_missing() || !absent(column))
        });
        let evaluated = self.evaluate(&row, 0..1)?;
        (!evaluated.unknown.any()).then(|| evaluated.yes.any())
    }
}

fn found(value: &Scalar<'_>, word: &str, exact: bool) -> bool {
    let inside = |text: &str| {
        if exact {
            text.to_lowercase().contains(word)
        } else {
            words::contains(word, text)
        }
    };
    match value {
        Scalar::Text(text) => inside(text),
        Scalar::List(texts) => texts.iter().any(|text| inside(text)),
        _ => false,
    }
}

/// Whether an address is one of these tokens', or has the part.
fn is_named(value: &Scalar<'_>, tokens: &[String], part: Option<&str>) -> bool {
    let is = |text: &Cow<'_, str>| {
        tokens.iter().any(|token| *token == *text) || part.is_some_and(|part| text.contains(part))
    };
    match value {
        Scalar::Text(text) => is(text),
        Scalar::List(texts) => texts.iter().any(is),
        _ => false,
    }
}

fn compare(value: &Scalar<'_>, operator: Operator, wanted: &ConditionValue) -> bool {
    if operator != operator.without_not() {
        return !compare(value, operator.without_not(), wanted);
    }
    match (value, wanted) {
        (Scalar::Float(value), ConditionValue::Number(wanted)) => {
            holds(*value, operator, wanted.float)
        }
        (Scalar::Whole(value), ConditionValue::Number(wanted))
            if value.unsigned_abs() < FLOAT_WHOLE =>
        {
            holds(*value as f64, operator, wanted.float)
        }
        (Scalar::Whole(value), ConditionValue::Number(wanted)) => {
            (operator.comparison().1)(wanted.order_of(&value.to_string()))
        }
        (Scalar::Digits(digits), ConditionValue::Number(wanted)) => {
            (operator.comparison().1)(wanted.order_of(digits))
        }
        (Scalar::Text(value), ConditionValue::Text(wanted)) => {
            compare_text(value, operator, wanted)
        }
        // Names match whole: `chain:base` is not met by `coinbase`.
        (Scalar::Text(value), ConditionValue::Name(wanted)) => {
            compare_text(value, Operator::Equal, wanted)
        }
        (Scalar::List(values), ConditionValue::Text(wanted) | ConditionValue::Name(wanted)) => {
            values
                .iter()
                .any(|value| compare_text(value, Operator::Equal, wanted))
        }
        (Scalar::Flag(value), ConditionValue::Flag(wanted)) => value == wanted,
        (Scalar::Time(value), ConditionValue::Text(part)) => value.to_string().contains(part),
        (Scalar::Day(value), ConditionValue::Text(part)) => value.to_string().contains(part),
        (Scalar::Day(value), wanted) => compare(&Scalar::Time(value.start()), operator, wanted),
        (Scalar::Time(value), ConditionValue::Period { start, end }) => match operator {
            Operator::Equal => (*start..*end).contains(value),
            // What is later than a day comes after all of it, and up to it is to its end: each time is before, within or after.
            Operator::Greater => value >= end,
            Operator::AtMost => value < end,
            operator => holds(*value, operator, *start),
        },
        // Other than with dates, older than a year is everything from then on.
        (Scalar::Duration(value), ConditionValue::Duration { length, unit }) => match operator {
            Operator::Has | Operator::Equal => {
                (*length..length.saturating_add(*unit)).contains(value)
            }
            operator => holds(*value, operator, *length),
        },
        // Kinds that do not match are refused by the parser.
        _ => false,
    }
}

fn holds<T: PartialOrd + Copy>(value: T, operator: Operator, wanted: T) -> bool {
    (operator.comparison().1)(value.partial_cmp(&wanted))
}

fn compare_text(value: &str, operator: Operator, wanted: &str) -> bool {
    let (value, wanted) = (value.to_lowercase(), wanted.to_lowercase());
    if operator == Operator::Has {
        value.contains(&wanted)
    } else {
        value == wanted
    }
}

// Negation by `not`: the opposite of each condition, so that no other module needs to know about it. A missing value matches neither a
// condition nor its opposite.

/// The conditions that hold where these do not all hold.
fn negation_of_all(mut terms: Vec<Term>) -> Vec<Term> {
    match (terms.pop(), terms.is_empty()) {
        (None, _) => Vec::new(),
        (Some(Term::Either(alternatives)), true) => {
            alternatives.into_iter().flat_map(negation_of_all).collect()
        }
        (Some(term), true) => vec![negation_of(term)],
        (Some(last), false) => {
            terms.push(last);
            let mut alternatives = Vec::new();
            for term in terms {
                match negation_of_all(vec![term]).as_mut_slice() {
                    [Term::Either(inner)] => alternatives.append(inner),
                    opposite => alternatives.push(opposite.to_vec()),
                }
            }
            vec![Term::Either(alternatives)]
        }
    }
}

/// The opposite of a condition.
fn negation_of(term: Term) -> Term {
    let Term::Compare {
        column,
        operator,
        wanted,
        text,
    } = term
    else {
        return term;
    };
    let opposite = match operator {
        // Of texts `:` asks for a part.
        Operator::Has if matches!(wanted, ConditionValue::Text(_)) => Operator::Lacks,
        Operator::Has | Operator::Equal => Operator::Differs,
        Operator::Differs => Operator::Equal,
        Operator::Lacks => Operator::Has,
        Operator::Greater => Operator::AtMost,
        Operator::AtMost => Operator::Greater,
        Operator::Less => Operator::AtLeast,
        Operator::AtLeast => Operator::Less,
    };
    let sign = OPERATORS
        .iter()
        .find(|(_, known)| *known == opposite)
        .map_or("", |(sign, _)| sign);
    // A flag alone has neither sign nor value.
    let (name, value) = text
        .find([':', '=', '!', '<', '>'])
        .map_or((text.as_str(), "yes"), |at| {
            let length = OPERATORS
                .iter()
                .find(|(sign, _)| text[at..].starts_with(sign))
                .map_or(1, |(sign, _)| sign.len());
            (&text[..at], &text[at + length..])
        });
    let text = format!("{name}{sign}{value}");
    Term::Compare {
        column,
        operator: opposite,
        wanted,
        text,
    }
}

#[cfg(test)]
mod tests;
