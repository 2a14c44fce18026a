//! From the text of a filter to its conditions, with errors that name the part that is wrong.

use std::fmt;

use super::{Filter, FilterColumn, Operator, Term};

const MAX_LENGTH: usize = 500;
const MAX_TERMS: usize = 32;

/// Longer signs before those they begin with.
const OPERATORS: &[(&str, Operator)] = &[
    ("!=", Operator::Differs),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (":", Operator::Has),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

/// What is wrong, for the person, and the bytes of the text it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    pub message: String,
    pub at: std::ops::Range<usize>,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A piece of the text: a word or quoted text, or an operator.
#[derive(Debug, Clone, PartialEq)]
enum Piece<'a> {
    Word(&'a str),
    Quoted(String),
    Sign(Operator),
}

/// Reads a filter. Column names may be given in any letter case and by their aliases.
pub fn parse(text: &str, columns: &[FilterColumn]) -> Result<Filter, FilterError> {
    if text.len() > MAX_LENGTH {
        return Err(FilterError { message: format!("the filter is longer than {MAX_LENGTH} characters"), at: 0..text.len() });
    }
    let pieces = pieces(text)?;
    let mut terms = Vec::new();
    let mut i = 0;
    while i < pieces.len() {
        let (piece, at) = &pieces[i];
        if let (Piece::Word(name), Some((Piece::Sign(operator), sign))) = (piece, pieces.get(i + 1)) {
            let column = column(name, columns).ok_or_else(|| unknown(name, at, columns))?;
            let value = match pieces.get(i + 2) {
                Some((Piece::Word(word), at)) => ((*word).to_owned(), at),
                Some((Piece::Quoted(text), at)) => (text.clone(), at),
                _ => {
                    let message =
                        format!("`{}` needs a value after it, as in `{name}{}1m`", &text[at.start..sign.end], &text[sign.clone()]);
                    return Err(FilterError { message, at: at.start..sign.end });
                }
            };
            let number = number(&value.0);
            let ordered = matches!(operator, Operator::Greater | Operator::Less | Operator::AtLeast | Operator::AtMost);
            if ordered && number.is_none() && !is_day(&value.0) {
                let asked = &text[at.start..sign.end];
                let message = format!("`{}` is not a number, which `{asked}` needs; write it like 1000, 2.5m, 5% or 2026-01-31", value.0);
                return Err(FilterError { message, at: value.1.clone() });
            }
            terms.push(Term::Compare { column, operator: *operator, text: value.0, number });
            i += 3;
            continue;
        }
        match piece {
            Piece::Word(word) => terms.push(Term::Word { word: word.to_lowercase(), exact: false }),
            Piece::Quoted(text) if text.is_empty() => {}
            Piece::Quoted(text) => terms.push(Term::Word { word: text.to_lowercase(), exact: true }),
            Piece::Sign(_) => {
                let message = format!("`{}` needs a column before it, as in `cap>1m`; put a text with signs in quotes", &text[at.clone()]);
                return Err(FilterError { message, at: at.clone() });
            }
        }
        i += 1;
    }
    if terms.len() > MAX_TERMS {
        return Err(FilterError { message: format!("the filter has more than {MAX_TERMS} conditions"), at: 0..text.len() });
    }
    Ok(Filter { terms, searched: columns.iter().filter(|column| column.searched).map(|column| column.name).collect() })
}

fn pieces(text: &str) -> Result<Vec<(Piece<'_>, std::ops::Range<usize>)>, FilterError> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c == '"' {
            let Some(length) = rest[1..].find('"') else {
                let message = format!("`{rest}` opens a quote that is not closed; end it with \"");
                return Err(FilterError { message, at: at..text.len() });
            };
            pieces.push((Piece::Quoted(rest[1..=length].to_owned()), at..at + length + 2));
            at += length + 2;
        } else if let Some((sign, operator)) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            pieces.push((Piece::Sign(*operator), at..at + sign.len()));
            at += sign.len();
        } else {
            // A value keeps its colons: `time:10:30`, `scam:eip155:1`.
            let after_sign = matches!(pieces.last(), Some((Piece::Sign(_), _)));
            let ends = |c: char| c.is_whitespace() || c == '"' || (!after_sign && matches!(c, ':' | '=' | '>' | '<' | '!'));
            let length =
                rest.find(ends).filter(|length| *length > 0).unwrap_or(if rest.find(ends) == Some(0) { c.len_utf8() } else { rest.len() });
            pieces.push((Piece::Word(&rest[..length]), at..at + length));
            at += length;
        }
    }
    Ok(pieces)
}

fn column(name: &str, columns: &[FilterColumn]) -> Option<&'static str> {
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    columns.iter().find(|column| same(column.name) || column.aliases.iter().any(|alias| same(alias))).map(|column| column.name)
}

fn unknown(name: &str, at: &std::ops::Range<usize>, columns: &[FilterColumn]) -> FilterError {
    let known = columns.iter().flat_map(|column| std::iter::once(column.name).chain(column.aliases.iter().copied()));
    let nearest = known.max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)));
    let hint = nearest.map_or_else(String::new, |nearest| format!("; the nearest is `{nearest}`"));
    FilterError { message: format!("`{name}` is not a column of this table{hint}"), at: at.clone() }
}

/// Whether it begins as a day does, `2026-01`: days and times are texts that compare as such.
fn is_day(text: &str) -> bool {
    let pattern = b"0000-0";
    text.len() >= pattern.len() && text.bytes().zip(pattern).all(|(c, p)| if *p == b'0' { c.is_ascii_digit() } else { c == *p })
}

/// `1000`, `1,000`, `1k`, `2.5m`, `4b`, `1t`, `5%`: a percentage is the number before the sign, as columns in percent hold it.
fn number(text: &str) -> Option<f64> {
    let text = text.strip_prefix('$').unwrap_or(text).replace([',', '_'], "");
    let text = text.strip_suffix('%').unwrap_or(&text);
    let power = match text.chars().last()?.to_ascii_lowercase() {
        'k' => 3,
        'm' => 6,
        'b' => 9,
        't' => 12,
        _ => 0,
    };
    let digits = if power > 0 { &text[..text.len() - 1] } else { text };
    // Only digits: Rust also reads `inf`, and an exponent of its own would meet the suffix's. That one is read, not multiplied, so
    // that 4.1b is the float nearest to 4.1e9.
    let plain = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    format!("{digits}e{power}").parse::<f64>().ok().filter(|value| plain && value.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::tests::COLUMNS, *};

    #[test]
    fn errors_name_the_part_that_is_wrong() {
        let cases = [
            ("capp>1m", "`capp` is not a column of this table; the nearest is `cap`", 0..4),
            ("usd cap>", "`cap>` needs a value after it, as in `cap>1m`", 4..8),
            (">1m", "`>` needs a column before it, as in `cap>1m`; put a text with signs in quotes", 0..1),
            ("name:\"usd", "`\"usd` opens a quote that is not closed; end it with \"", 5..9),
            ("cap>1x", "`1x` is not a number, which `cap>` needs; write it like 1000, 2.5m, 5% or 2026-01-31", 4..6),
            ("usd cap <= abc", "`abc` is not a number, which `cap <=` needs; write it like 1000, 2.5m, 5% or 2026-01-31", 11..14),
            ("cap<\"\"", "`` is not a number, which `cap<` needs; write it like 1000, 2.5m, 5% or 2026-01-31", 4..6),
        ];
        for (text, message, at) in cases {
            assert_eq!(parse(text, COLUMNS), Err(FilterError { message: message.to_owned(), at }));
        }
        for good in ["cap>-1", "cap<2026-01", "cap>=\"2026-01-31 10:30\"", "cap=abc", "cap:abc", "cap!=abc"] {
            assert!(parse(good, COLUMNS).is_ok(), "{good}");
        }
        assert!(parse(&"a ".repeat(40), COLUMNS).is_err());
        assert!(parse(&"a".repeat(501), COLUMNS).is_err());
    }

    #[test]
    fn numbers_have_suffixes() {
        let cases = [
            ("1m", Some(1e6)),
            ("2.5K", Some(2_500.0)),
            ("4b", Some(4e9)),
            ("1t", Some(1e12)),
            ("5%", Some(5.0)),
            ("1,000", Some(1_000.0)),
            ("-3", Some(-3.0)),
            ("$2", Some(2.0)),
            ("inf", None),
            ("k", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ a-z0-9\"':=<>!%é漢.]{0,40}|\\PC{0,40}") {
            if let Err(error) = parse(&text, COLUMNS) {
                prop_assert!(text.get(error.at).is_some());
            }
        }
    }
}
