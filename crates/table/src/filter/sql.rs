//! Conditions as an SQL expression, for rows that are queried in place. It must evaluate a row as `evaluate` does: what it cannot express is
//! rejected. SQL's NULL is the missing value: a condition on it is unknown, by the same logic.

use std::fmt;

use super::{ColumnKind, ConditionValue, Filter, FilterColumn, Operator, Term};
use model::time::Time;

/// The largest amount, 2^256 - 1.
const AMOUNT_MAX: &str =
    "115792089237316195423570985008687907853269984665640564039457584007913129639935";

/// A condition that SQL cannot express; a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotInSql {
    /// A plain word, which is searched by its letters.
    Word(String),
    Condition(String),
}

impl fmt::Display for NotInSql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(
                f,
                "only quoted words can be searched there: write \"{word}\""
            ),
            Self::Condition(text) => write!(f, "`{text}` cannot be evaluated there"),
        }
    }
}

impl Filter {
    /// The SQL expression over these columns; empty if there are no conditions. Text is compared with its column in lower case,
    /// `NAME_small`, and a part of a time with `NAME_text`.
    pub fn sql(&self, columns: &[FilterColumn]) -> Result<String, NotInSql> {
        if self.is_empty() {
            Ok(String::new())
        } else {
            joined(&self.terms, " AND ", &|term| self.term_sql(term, columns))
        }
    }

    fn term_sql(&self, term: &Term, columns: &[FilterColumn]) -> Result<String, NotInSql> {
        match term {
            // Longer words are met by texts that hold their letters alone, too.
            Term::Word {
                word,
                exact,
                tokens,
            } if *exact || word.chars().count() < 4 => {
                let parts = self
                    .searched
                    .iter()
                    .map(|name| has(&format!("{name}_small"), word));
                let named = self.addresses.iter().flat_map(|name| {
                    tokens
                        .iter()
                        .map(move |token| format!("({name}_small = {})", literal(token)))
                });
                let all: Vec<String> = parts.chain(named).collect();
                joined(&all, " OR ", &|said| Ok(format!("ifNull({said}, 0)")))
            }
            Term::Word { word, .. } => Err(NotInSql::Word(word.clone())),
            Term::Compare {
                column,
                operator,
                wanted,
                text,
            } => {
                let kind = columns
                    .iter()
                    .find(|known| known.name == *column)
                    .map(|known| known.kind);
                let plain = operator.without_not();
                let said = kind.and_then(|kind| comparison(column, kind, plain, wanted));
                let said = said.ok_or_else(|| NotInSql::Condition(text.clone()))?;
                Ok(if plain == *operator {
                    said
                } else {
                    format!("(NOT {said})")
                })
            }
            Term::Either(alternatives) => joined(alternatives, " OR ", &|terms| {
                joined(terms, " AND ", &|term| self.term_sql(term, columns))
            }),
        }
    }
}

fn joined<T>(
    parts: &[T],
    word: &str,
    each: &dyn Fn(&T) -> Result<String, NotInSql>,
) -> Result<String, NotInSql> {
    let parts: Vec<String> = parts.iter().map(each).collect::<Result<_, _>>()?;
    Ok(format!("({})", parts.join(word)))
}

fn comparison(
    column: &str,
    kind: ColumnKind,
    operator: Operator,
    wanted: &ConditionValue,
) -> Option<String> {
    let sign = operator.comparison().0;
    match (kind, wanted) {
        // The digits of an amount, of which no float holds all, as it is sorted.
        (ColumnKind::Number, ConditionValue::Number(wanted)) if column == "value" => {
            let (sign, digits) = wanted.within(sign, AMOUNT_MAX);
            Some(format!(
                "(toUInt256OrNull(value) {sign} toUInt256('{digits}'))"
            ))
        }
        (ColumnKind::Number, ConditionValue::Number(wanted)) => {
            Some(format!("({column} {sign} {:?})", wanted.float))
        }
        (ColumnKind::Text, ConditionValue::Text(wanted)) if operator == Operator::Has => {
            Some(has(&format!("{column}_small"), wanted))
        }
        (ColumnKind::Text, ConditionValue::Text(wanted)) => {
            Some(format!("({column}_small = {})", literal(wanted)))
        }
        (ColumnKind::Time, ConditionValue::Text(part)) => {
            Some(format!("(position({column}_text, '{part}') > 0)"))
        }
        (
            ColumnKind::Time,
            ConditionValue::Period {
                start: Time(start),
                end: Time(end),
            },
        ) => Some(match operator {
            Operator::Equal => format!("({column} >= {start} AND {column} < {end})"),
            Operator::Greater => format!("({column} >= {end})"),
            Operator::AtMost => format!("({column} < {end})"),
            _ => format!("({column} {sign} {start})"),
        }),
        _ => None,
    }
}

fn has(text: &str, part: &str) -> String {
    if part.is_empty() {
        format!("(length({text}) >= 0)")
    } else {
        format!("(position({text}, {}) > 0)", literal(part))
    }
}

/// A text in lower case, as a literal.
fn literal(text: &str) -> String {
    format!(
        "'{}'",
        text.to_lowercase()
            .replace('\\', "\\\\")
            .replace('\'', "\\'")
    )
}

#[cfg(test)]
mod tests {
    use super::super::{of_table, parse};

    #[test]
    fn an_engine_judges_as_it_is_judged_here() {
        let columns = of_table(model::schema::table("transfers").unwrap());
        let value = |sign: &str, digits: &str| {
            format!("((toUInt256OrNull(value) {sign} toUInt256('{digits}')))")
        };
        for (condition, expected) in [
            (
                "value=1000000000000000001",
                value("=", "1000000000000000001"),
            ),
            ("value>1.5e18", value(">", "1500000000000000000")),
            ("value>=0.5", value(">", "0")),
            ("value<0.5", value("<=", "0")),
            ("value=0.5", value("<", "0")),
            ("value<=1e78", value(">=", "0")),
            ("value>-1", value(">=", "0")),
            (
                "value!=7",
                "((NOT (toUInt256OrNull(value) = toUInt256('7'))))".to_owned(),
            ),
            ("block_number>7", "((block_number > 7.0))".to_owned()),
            (
                "timestamp=1970-01-02",
                "((timestamp >= 86400000 AND timestamp < 172800000))".to_owned(),
            ),
            (
                "timestamp>1970-01-02",
                "((timestamp >= 172800000))".to_owned(),
            ),
            (
                "timestamp<=1970-01-02",
                "((timestamp < 172800000))".to_owned(),
            ),
            (
                "timestamp>=1970-01-02",
                "((timestamp >= 86400000))".to_owned(),
            ),
            (
                "timestamp<1970-01-02",
                "((timestamp < 86400000))".to_owned(),
            ),
        ] {
            assert_eq!(
                parse(condition, &columns).unwrap().sql(&columns),
                Ok(expected),
                "{condition}"
            );
        }
    }
}
