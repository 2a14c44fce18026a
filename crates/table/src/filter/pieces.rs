//! The pieces that a filter's text is made of.

use std::ops::Range;

use super::{
    FilterColumn, Operator,
    columns::column,
    parse::{AND, FilterError, IN, NOT, OR},
};

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
