//! Completion of a filter's last word: to a column with an operator, or to a value of the column before the operator.

use super::{
    columns::{ColumnKind, FilterColumn, column},
    pieces::OPERATORS,
};

/// Maximum number of proposals.
const MAX: usize = 60;

/// The completed filter texts, each with its new word. `values` lists the values of a column.
pub fn complete(
    text: &str,
    columns: &[FilterColumn],
    values: impl Fn(&FilterColumn) -> Vec<String>,
) -> Vec<(String, String)> {
    // No completion inside quotes.
    if text.matches('"').count() % 2 == 1 {
        return Vec::new();
    }
    let start = text.rfind(char::is_whitespace).map_or(0, |at| {
        at + text[at..].chars().next().map_or(1, char::len_utf8)
    });
    // The word may be the first in a bracket.
    let start = start + text[start..].len() - text[start..].trim_start_matches('(').len();
    let (before, word) = text.split_at(start);
    let sign = OPERATORS
        .iter()
        .filter_map(|(sign, _)| Some((word.find(sign)?, sign.len())))
        .min_by_key(|(at, length)| (*at, usize::MAX - length));
    let begins = |known: &str, typed: &str| known.to_lowercase().starts_with(&typed.to_lowercase());
    let words: Vec<String> = match sign {
        None => columns
            .iter()
            .filter_map(|column| proposal(column, word))
            .collect(),
        Some((at, length)) => {
            let (head, typed) = word.split_at(at + length);
            let known = column(&word[..at], columns).map_or_else(Vec::new, &values);
            let fits = |value: &String| begins(value, typed) && *value != typed;
            known
                .into_iter()
                .filter(fits)
                .map(|value| format!("{head}{}", quoted(&value)))
                .collect()
        }
    };
    words
        .into_iter()
        .take(MAX)
        .map(|word| (format!("{before}{word}"), word))
        .collect()
}

fn quoted(value: &str) -> String {
    let plain = value.chars().all(|c| !c.is_whitespace() && c != '"');
    if plain {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    }
}

/// The column with its most usual operator, under the name or alias that begins with the typed text.
fn proposal(column: &FilterColumn, typed: &str) -> Option<String> {
    let mut names = std::iter::once(column.name).chain(column.aliases.iter().copied());
    let name = names
        .find(|name| name.to_lowercase().starts_with(&typed.to_lowercase()) && writable(name))?;
    let sign = match column.kind {
        ColumnKind::Number => ">",
        ColumnKind::Duration => "<",
        ColumnKind::Time => ">=",
        ColumnKind::Text | ColumnKind::List | ColumnKind::Chain | ColumnKind::Flag => ":",
    };
    Some(format!("{name}{sign}"))
}

/// Whether the grammar can express the name: a custom column may have blanks and operators in its name.
fn writable(name: &str) -> bool {
    !name
        .chars()
        .any(|c| c.is_whitespace() || matches!(c, '"' | ':' | '=' | '>' | '<' | '!'))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::COLUMNS, *};

    #[test]
    fn the_last_word_becomes_a_column_or_a_value() {
        let values = |column: &FilterColumn| match column.name {
            "chain" => vec!["eth".to_owned(), "base".to_owned(), "bnb chain".to_owned()],
            _ => Vec::new(),
        };
        for (text, expected) in [
            ("ca", &["cap>"][..]),
            ("usd ma", &["usd market_cap>"]),
            ("cha", &["chain:", "change>"]),
            ("chain:b", &["chain:base", "chain:\"bnb chain\""]),
            (
                "CHAIN:",
                &["CHAIN:eth", "CHAIN:base", "CHAIN:\"bnb chain\""],
            ),
            ("chain:base a", &["chain:base action:", "chain:base age<"]),
            ("chain:base", &[]),
            ("chain!=e", &["chain!=eth"]),
            ("cap>1", &[]),
            ("zzz", &[]),
            ("usd or ((ca", &["usd or ((cap>"]),
            ("(chain:b", &["(chain:base", "(chain:\"bnb chain\""]),
            ("name:\"u", &[]),
        ] {
            let found: Vec<String> = complete(text, COLUMNS, values)
                .into_iter()
                .map(|(text, _)| text)
                .collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(complete("", COLUMNS, values).len(), COLUMNS.len());
    }
}
