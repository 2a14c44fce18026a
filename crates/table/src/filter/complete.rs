//! Completion of a filter's last word: to a column with an operator, or to a value of the column before the operator.

use std::ops::Range;

use super::{
    FilterColumn, Operator,
    columns::{ColumnKind, column},
    parse::{AND, FilterError, IN, NOT, OR},
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

// The pieces that a filter's text is made of.

/// Operators, a longer one before its prefix.
pub(super) const OPERATORS: &[(&str, Operator)] = &[
    ("!=", Operator::Differs),
    ("!:", Operator::Lacks),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (":", Operator::Has),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Piece<'a> {
    Word(&'a str),
    Quoted(&'a str),
    Sign(Operator),
    Open,
    Close,
}

/// Splits a text. With the columns given, brackets group: but for those within a word, as in `name:Ether(PoS)`, and in a column's name.
pub(super) fn pieces<'a>(
    text: &'a str,
    groups: Option<&[FilterColumn]>,
) -> Result<Vec<(Piece<'a>, Range<usize>)>, FilterError> {
    let mut pieces: Vec<(Piece<'a>, Range<usize>)> = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (piece, length) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c == '"' {
            let Some(length) = rest[1..].find('"') else {
                let message = format!("unclosed quote in `{rest}`; add `\"` at the end");
                return Err(FilterError::new(message, at..text.len()));
            };
            (Piece::Quoted(&rest[1..=length]), length + 2)
        } else if let Some((sign, operator)) =
            OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign))
        {
            (Piece::Sign(*operator), sign.len())
        } else {
            // A value keeps its colons: `time:10:30`, `scam:eip155:1`.
            let after_sign = matches!(pieces.last(), Some((Piece::Sign(_), _)));
            let ends = |c: char| {
                c.is_whitespace()
                    || c == '"'
                    || (!after_sign && matches!(c, ':' | '=' | '>' | '<' | '!'))
            };
            let word = &rest[..rest
                .find(ends)
                .map_or(rest.len(), |end| end.max(c.len_utf8()))];
            match groups {
                None => (Piece::Word(word), word.len()),
                // A sign needs a value, and where no bracket is open, one in a value belongs to it.
                Some(_) if after_sign && depth == 0 => (Piece::Word(word), word.len()),
                Some(columns) if !after_sign && column(word, columns).is_some() => {
                    (Piece::Word(word), word.len())
                }
                Some(_) if c == '(' && !after_sign => (Piece::Open, 1),
                Some(_) => match own_brackets(word) {
                    0 => (Piece::Close, 1),
                    length => (Piece::Word(&word[..length]), length),
                },
            }
        };
        match piece {
            Piece::Open => depth += 1,
            Piece::Close => depth = depth.saturating_sub(1),
            Piece::Word(_) | Piece::Quoted(_) | Piece::Sign(_) => {}
        }
        pieces.push((piece, at..at + length));
        at += length;
    }
    Ok(pieces)
}

/// The length of a word up to a bracket that closes a group, or that opens one right after a word such as `or`.
fn own_brackets(word: &str) -> usize {
    let mut open = 0_usize;
    for (at, c) in word.char_indices() {
        match c {
            '(' if [AND, OR, NOT, IN]
                .concat()
                .iter()
                .any(|joins| joins.eq_ignore_ascii_case(&word[..at])) =>
            {
                return at;
            }
            '(' => open += 1,
            ')' if open == 0 => return at,
            ')' => open -= 1,
            _ => {}
        }
    }
    word.len()
}

/// Whether each bracket in a word has its other half there.
pub(super) fn is_balanced(word: &str) -> bool {
    let open = word.chars().try_fold(0_usize, |open, c| match c {
        '(' => Some(open + 1),
        ')' => open.checked_sub(1),
        _ => Some(open),
    });
    open == Some(0)
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
