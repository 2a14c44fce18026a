//! The filter language: `chain:base cap>1m usd`. Plain words are fuzzy over the row's text, `column op value` is exact; all must hold.
//! It knows no columns of its own: the view gives their names, other names and values.

mod parse;

use super::fuzzy;

pub use self::parse::{FilterError, parse};

/// A value of a row, as the view hands it over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'a> {
    Number(f64),
    Text(&'a str),
    /// Holds if any of them does, as the chains of a token.
    List(&'a [&'a str]),
    Flag(bool),
}

/// A column that a filter can name.
#[derive(Debug, Clone, Copy)]
pub struct FilterColumn {
    pub name: &'static str,
    /// Other names, as `cap` for `market_cap`.
    pub aliases: &'static [&'static str],
    /// Plain words look into it.
    pub searched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `:` – text contains, anything else equals.
    Has,
    Equal,
    Differs,
    Greater,
    Less,
    AtLeast,
    AtMost,
}

/// One condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A plain word, in lower case; a quoted one is looked for as it stands.
    Word {
        word: String,
        exact: bool,
    },
    Compare {
        column: &'static str,
        operator: Operator,
        text: String,
        number: Option<f64>,
    },
}

/// Conditions that must all hold; none is every row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    pub terms: Vec<Term>,
    searched: Vec<&'static str>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The plain words, for marking what matched.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| match term {
            Term::Word { word, .. } => Some(word.as_str()),
            Term::Compare { .. } => None,
        })
    }

    /// Whether the row holds; `field` gives its value in a column, none where it has none. A missing value meets no condition but `!=`.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<FieldValue<'a>>) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Word { word, exact } => self.searched.iter().any(|column| field(column).is_some_and(|value| found(value, word, *exact))),
            Term::Compare { column, operator, text, number } => compare(field(column), *operator, text, *number),
        })
    }
}

fn found(value: FieldValue<'_>, word: &str, exact: bool) -> bool {
    let inside = |text: &str| if exact { text.to_lowercase().contains(word) } else { fuzzy::contains(word, text) };
    match value {
        FieldValue::Text(text) => inside(text),
        FieldValue::List(texts) => texts.iter().any(|text| inside(text)),
        FieldValue::Number(_) | FieldValue::Flag(_) => false,
    }
}

fn compare(value: Option<FieldValue<'_>>, operator: Operator, text: &str, number: Option<f64>) -> bool {
    if operator == Operator::Differs {
        return !compare(value, Operator::Equal, text, number);
    }
    match value {
        None => false,
        Some(FieldValue::Number(value)) => number.is_some_and(|wanted| match operator {
            Operator::Has | Operator::Equal | Operator::Differs => value == wanted,
            Operator::Greater => value > wanted,
            Operator::Less => value < wanted,
            Operator::AtLeast => value >= wanted,
            Operator::AtMost => value <= wanted,
        }),
        Some(FieldValue::Text(value)) => compare_text(value, operator, text),
        Some(FieldValue::List(values)) => {
            // Members are names: `chain:base` is not met by `coinbase`.
            let operator = if operator == Operator::Has { Operator::Equal } else { operator };
            values.iter().any(|value| compare_text(value, operator, text))
        }
        Some(FieldValue::Flag(value)) => {
            let wanted = matches!(&*text.to_lowercase(), "true" | "yes" | "1");
            let said = wanted || matches!(&*text.to_lowercase(), "false" | "no" | "0");
            said && matches!(operator, Operator::Has | Operator::Equal) && value == wanted
        }
    }
}

fn compare_text(value: &str, operator: Operator, wanted: &str) -> bool {
    let (value, wanted) = (value.to_lowercase(), wanted.to_lowercase());
    match operator {
        Operator::Has => value.contains(&wanted),
        Operator::Equal => value == wanted,
        Operator::Differs => value != wanted,
        Operator::Greater => value > wanted,
        Operator::Less => value < wanted,
        Operator::AtLeast => value >= wanted,
        Operator::AtMost => value <= wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const COLUMNS: &[FilterColumn] = &[
        FilterColumn { name: "symbol", aliases: &[], searched: true },
        FilterColumn { name: "name", aliases: &[], searched: true },
        FilterColumn { name: "chain", aliases: &["chains"], searched: false },
        FilterColumn { name: "market_cap", aliases: &["cap", "mcap"], searched: false },
        FilterColumn { name: "price_change_24h", aliases: &["24h", "change"], searched: false },
        FilterColumn { name: "starred", aliases: &[], searched: false },
        FilterColumn { name: "recommendedAction", aliases: &["action"], searched: false },
    ];

    fn usd_coin(column: &str) -> Option<FieldValue<'static>> {
        Some(match column {
            "symbol" => FieldValue::Text("USDC"),
            "name" => FieldValue::Text("USD Coin"),
            "chain" => FieldValue::List(&["eth", "base"]),
            "market_cap" => FieldValue::Number(4.1e9),
            "price_change_24h" => FieldValue::Number(-0.5),
            "starred" => FieldValue::Flag(true),
            _ => return None,
        })
    }

    #[test]
    fn conditions_hold_or_not() {
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
            ("action:BUY", false),
            ("action!=BUY", true),
            ("chain:base cap>1m usd", true),
            ("chain:base cap<1m usd", false),
        ];
        for (text, expected) in cases {
            let filter = parse(text, COLUMNS).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(filter.matches(usd_coin), expected, "{text}");
        }
    }
}
