//! The parser of the filter language. Its errors carry the byte range at fault.

use std::fmt;

use super::{
    ColumnKind, Filter, FilterColumn, Operator, Term,
    columns::{self, column},
    value::{self, ConditionValue},
};
use model::spelling::meant;

/// Longest filter text in characters; the API document states the same limit.
pub const TEXT_CHARS_MAX: usize = 500;
const TERMS_MAX: usize = 32;
/// Columns listed in an unknown-column error that must fit one line.
const LISTED: usize = 8;

/// The conjunction, which is implied, and the unsupported connectives. In a filter without conditions they are plain search words.
const AND: &[&str] = &["and", "&&"];
const NOT_AND: &[&str] = &["or", "not", "||"];

/// Operators, a longer one before its prefix.
pub(super) const OPERATORS: &[(&str, Operator)] = &[
    ("!=", Operator::Differs),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (":", Operator::Has),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

/// A user-readable message, and the byte range of the text at fault.
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

/// A token of the text: a word, quoted text, or an operator.
#[derive(Debug, Clone, PartialEq)]
enum Piece<'a> {
    Word(&'a str),
    Quoted(String),
    Sign(Operator),
}

/// Parses a filter. Column names match in any letter case and by their aliases.
pub fn parse(text: &str, columns: &[FilterColumn]) -> Result<Filter, FilterError> {
    read(text, columns, false)
}

/// As `parse`, but without plain words; an unknown-column error lists all columns.
pub fn conditions(text: &str, columns: &[FilterColumn]) -> Result<Filter, FilterError> {
    read(text, columns, true)
}

fn read(text: &str, columns: &[FilterColumn], only_conditions: bool) -> Result<Filter, FilterError> {
    let chars = text.chars().count();
    if chars > TEXT_CHARS_MAX {
        let message = format!("the filter has {chars} characters: expected at most {TEXT_CHARS_MAX}");
        return Err(FilterError { message, at: 0..text.len() });
    }
    let pieces = pieces(text)?;
    let has_condition = pieces.iter().any(|(piece, _)| matches!(piece, Piece::Sign(_)));
    let mut terms = Vec::new();
    let mut i = 0;
    while i < pieces.len() {
        let (piece, span) = &pieces[i];
        if let (Piece::Word(name), Some((Piece::Sign(operator), sign_span))) = (piece, pieces.get(i + 1)) {
            let column = column(name, columns).ok_or_else(|| unknown(name, span, columns, only_conditions))?;
            let (value, value_span) = match pieces.get(i + 2) {
                Some((Piece::Word(word), span)) => ((*word).to_owned(), span),
                Some((Piece::Quoted(text), span)) => (text.clone(), span),
                _ => {
                    let typed = span.start..sign_span.end;
                    let (sign, example) = (&text[sign_span.clone()], column.example());
                    let message = format!("`{}` needs a value after it, as in `{name}{sign}{example}`", &text[typed.clone()]);
                    return Err(FilterError { message, at: typed });
                }
            };
            let sign = &text[sign_span.clone()];
            let wanted =
                value::read(column, name, (sign, *operator), &value).map_err(|message| FilterError { message, at: value_span.clone() })?;
            let text = [&text[span.clone()], sign, &text[value_span.clone()]].concat();
            terms.push(Term::Compare { column: column.name, operator: *operator, wanted, text });
            i += 3;
            continue;
        }
        match piece {
            Piece::Word(word) if has_condition && is_one_of(word, AND) => {
                if i == 0 || i + 1 == pieces.len() {
                    let message = format!("`{word}` needs a condition before it and one after it{}", quoting(word, only_conditions));
                    return Err(FilterError { message, at: span.clone() });
                }
            }
            Piece::Word(word) if has_condition && is_one_of(word, NOT_AND) => {
                let word = word.to_lowercase();
                let instead = if word == "not" { ": write `!=`, as in `chain!=eth`" } else { "" };
                let message = format!("conditions all hold; there is no `{word}`{instead}{}", quoting(&word, only_conditions));
                return Err(FilterError { message, at: span.clone() });
            }
            // A column that is true or false is a condition by itself.
            Piece::Word(word) if only_conditions && column(word, columns).is_some_and(|known| known.kind == ColumnKind::Flag) => {
                let name = column(word, columns).map_or("", |known| known.name);
                let wanted = ConditionValue::Flag(true);
                terms.push(Term::Compare { column: name, operator: Operator::Has, wanted, text: (*word).to_owned() });
            }
            Piece::Word(_) | Piece::Quoted(_) if only_conditions => {
                let word = &text[span.clone()];
                let example = columns.first().map_or("column", |column| column.name);
                let message = format!("`{word}` is no condition: write a column, a sign and a value, as in `{example}:{word}`");
                return Err(FilterError { message, at: span.clone() });
            }
            Piece::Word(word) => terms.push(Term::Word { word: word.to_lowercase(), exact: false }),
            Piece::Quoted(text) if text.is_empty() => {}
            Piece::Quoted(text) => terms.push(Term::Word { word: text.to_lowercase(), exact: true }),
            Piece::Sign(_) => {
                let message =
                    format!("`{}` needs a column before it, as in `cap>1m`; put a text with signs in quotes", &text[span.clone()]);
                return Err(FilterError { message, at: span.clone() });
            }
        }
        i += 1;
    }
    if terms.len() > TERMS_MAX {
        let message = format!("the filter has {} conditions: expected at most {TERMS_MAX}", terms.len());
        return Err(FilterError { message, at: 0..text.len() });
    }
    Ok(Filter { terms, searched: columns.iter().filter(|column| column.searched).map(|column| column.name).collect() })
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// How to search for the word itself, where plain words are allowed.
fn quoting(word: &str, only_conditions: bool) -> String {
    if only_conditions { String::new() } else { format!("; to look for the word write `\"{word}\"`") }
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

fn unknown(name: &str, at: &std::ops::Range<usize>, all: &[FilterColumn], list: bool) -> FilterError {
    let names: Vec<&str> = all.iter().map(|column| if list { column.name } else { column.short() }).collect();
    let near = meant(name, columns::names(all)).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let stop = if near.is_empty() { "." } else { "" };
    // A terminal line has room for a few.
    let (shown, more) = if list { (names.len(), "") } else { (names.len().min(LISTED), if names.len() > LISTED { ", …" } else { "" }) };
    let message = format!("no column `{name}`{near}{stop} Columns: {}{more}", names[..shown].join(", "));
    FilterError { message, at: at.clone() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::tests::COLUMNS, *};

    #[test]
    fn errors_name_the_part_that_is_wrong() {
        let cases = [
            ("capp>1m", "no column `capp`, did you mean `cap`? Columns: symbol, name, chain, cap, 24h, labels, starred, action, …", 0..4),
            ("cpa>1m", "no column `cpa`, did you mean `cap`? Columns: symbol, name, chain, cap, 24h, labels, starred, action, …", 0..3),
            ("age<<4", "`age<` needs a value after it, as in `age<30d`", 0..4),
            ("usd cap>", "`cap>` needs a value after it, as in `cap>1m`", 4..8),
            (">1m", "`>` needs a column before it, as in `cap>1m`; put a text with signs in quotes", 0..1),
            ("name:\"usd", "`\"usd` opens a quote that is not closed; end it with \"", 5..9),
        ];
        for (text, message, at) in cases {
            assert_eq!(parse(text, COLUMNS), Err(FilterError { message: message.to_owned(), at }));
        }
        for (text, ends) in
            [("a ".repeat(33), "33 conditions: expected at most 32"), ("é".repeat(501), "501 characters: expected at most 500")]
        {
            let error = parse(&text, COLUMNS).unwrap_err();
            assert!(error.message.ends_with(ends), "{error}");
        }
        assert!(parse(&"a ".repeat(32), COLUMNS).is_ok() && parse(&"é".repeat(500), COLUMNS).is_ok());
    }

    #[test]
    fn conditions_have_no_plain_words_and_list_the_columns() {
        let cases = [
            ("usd", "`usd` is no condition: write a column, a sign and a value, as in `symbol:usd`", 0..3),
            ("cap>1m \"us d\"", "`\"us d\"` is no condition: write a column, a sign and a value, as in `symbol:\"us d\"`", 7..13),
            (
                "cap>1m ages<9d",
                "no column `ages`, did you mean `age`? Columns: symbol, name, chain, market_cap, \
                 price_change_24h, labels, starred, recommendedAction, counted_at, date, age",
                7..11,
            ),
        ];
        for (text, message, at) in cases {
            assert_eq!(conditions(text, COLUMNS), Err(FilterError { message: message.to_owned(), at }));
        }
        let starred = conditions("starred", COLUMNS).expect("a flag");
        let same = |term: &Term, other: &Term| {
            let of = |term: &Term| match term {
                Term::Compare { column, operator, wanted, .. } => Some((*column, *operator, wanted.clone())),
                Term::Word { .. } => None,
            };
            of(term) == of(other)
        };
        assert!(same(&starred.terms[0], &conditions("starred:yes", COLUMNS).expect("a flag").terms[0]));
        let text = "chain:base cap>=1m name:\"usd coin\" age<90d";
        assert_eq!(conditions(text, COLUMNS), parse(text, COLUMNS));
        assert_eq!(conditions(text, COLUMNS).map(|filter| filter.terms.len()), Ok(4));
    }

    #[test]
    fn conditions_all_hold_and_words_that_join_them_otherwise_are_refused() {
        for text in ["cap>1m and chain:base", "cap>1m AND chain:base", "cap>1m && chain:base"] {
            assert_eq!(parse(text, COLUMNS), parse("cap>1m chain:base", COLUMNS), "{text}");
            assert_eq!(conditions(text, COLUMNS), parse(text, COLUMNS), "{text}");
        }
        assert_eq!(parse("usd and cap>1m", COLUMNS), parse("usd cap>1m", COLUMNS));
        let cases = [
            ("cap>1m OR chain:base", "conditions all hold; there is no `or`", 7..9),
            ("cap>1m || chain:base", "conditions all hold; there is no `||`", 7..9),
            ("not chain:base", "conditions all hold; there is no `not`: write `!=`, as in `chain!=eth`", 0..3),
            ("cap>1m and", "`and` needs a condition before it and one after it", 7..10),
            ("&& cap>1m", "`&&` needs a condition before it and one after it", 0..2),
        ];
        for (text, message, at) in cases {
            assert_eq!(conditions(text, COLUMNS), Err(FilterError { message: message.to_owned(), at: at.clone() }));
            let error = parse(text, COLUMNS).unwrap_err();
            assert!(error.message.starts_with(message) && error.message.contains("; to look for the word write `\""), "{error}");
            assert_eq!(error.at, at);
        }
        // Tokens may have such names.
        for text in ["and", "NOT", "or", "salt and pepper", "\"or\" cap>1m"] {
            let found = parse(text, COLUMNS).map(|filter| filter.words().map(str::to_owned).collect::<Vec<_>>());
            let expected = text.to_lowercase().replace(['"'], "").replace(" cap>1m", "");
            assert_eq!(found.map(|words| words.join(" ")), Ok(expected), "{text}");
        }
    }

    /// For each kind of column: accepted values, and the error for others.
    #[test]
    fn a_value_must_be_what_the_column_holds() {
        const NUMBER: &str = " is not a number: write `cap~1000`, `cap~2.5m` or `cap~5%`";
        const TIME: &str = " is not a time: write `date~2026-01`, `date~2026-01-31` or `date~2026-01-31T10:30`";
        const TEXT: &str = "`name` is a text, which has no `~`: write `name:abc` where it holds abc or `name=abc` where it is abc";
        const CHAIN: &str = "`chain` is a chain, which has no `~`: write `chain:base` where it is on base";
        const LIST: &str = "`labels` is a list of names, which has no `~`: write `labels:abc` where abc is among them";
        const LENGTH: &str = " is not a length of time: write `age~90d`, `age~12h` or `age~2w`";
        const FLAG: &str = " is not yes or no: write `starred~yes` or `starred~no`";
        const UNORDERED: &str = "`starred` is yes or no, which has no `~`: write `starred:yes` or `starred:no`";
        let refused = [
            ("cap", ">", "2026-01", "`2026-01`", NUMBER),
            ("cap", "<=", "2026-01-31T10:30", "`2026-01-31T10:30`", NUMBER),
            ("cap", ">", "1x", "`1x`", NUMBER),
            ("cap", "<", "\"\"", "``", NUMBER),
            ("cap", "=", "abc", "`abc`", NUMBER),
            ("cap", ":", "usd", "`usd`", NUMBER),
            ("cap", "!=", "2026-01", "`2026-01`", NUMBER),
            ("date", ">", "5", "`5`", TIME),
            ("date", "<", "1m", "`1m`", TIME),
            ("date", "=", "20260131", "`20260131`", TIME),
            ("date", ">", "2026-13", "`2026-13`", TIME),
            ("date", ":", "monday", "`monday`", TIME),
            ("date", "!=", "5%", "`5%`", TIME),
            ("name", ">", "5", "", TEXT),
            ("name", "<=", "2026-01", "", TEXT),
            ("chain", ">", "eth", "", CHAIN),
            ("chain", ">=", "1", "", CHAIN),
            ("labels", ">", "burn", "", LIST),
            ("age", "<", "90", "`90`", LENGTH),
            ("age", ">", "2m", "`2m`", LENGTH),
            ("age", ">", "2026-01", "`2026-01`", LENGTH),
            ("age", "=", "-3d", "`-3d`", LENGTH),
            ("age", ":", "day", "`day`", LENGTH),
            ("starred", ":", "maybe", "`maybe`", FLAG),
            ("starred", "=", "2026-01", "`2026-01`", FLAG),
            ("starred", ">", "0", "", UNORDERED),
        ];
        for (column, sign, value, is, wants) in refused {
            let text = format!("usd {column}{sign}{value}");
            let expected = FilterError { message: format!("{is}{}", wants.replace('~', sign)), at: text.len() - value.len()..text.len() };
            assert_eq!(parse(&text, COLUMNS), Err(expected), "{text}");
        }
        let taken = [
            "cap>-1",
            "cap:1m",
            "cap=2.5k",
            "24h<5%",
            "cap>$1,000",
            "cap>2026",
            "date>2026",
            "date<2026-01",
            "date>=\"2026-01-31 10:30\"",
            "date=2026-01-31T10:30:15Z",
            "date:10:30",
            "name=5",
            "name:2026-01",
            "name!=\"\"",
            "chain:1",
            "chain!=eth",
            "starred:YES",
            "starred=0",
            "labels:burn",
            "age<0.5Y",
        ];
        for text in taken {
            assert!(parse(text, COLUMNS).is_ok(), "{text}: {:?}", parse(text, COLUMNS));
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_or_is_refused_in_words(text in "[ a-z0-9\"':=<>!%é漢.]{0,40}|\\PC{0,40}|.{0,600}|((cap|age|date|chain)[:=<>!]{1,2}[0-9dmky.%-]{0,9} ){0,40}") {
            for read in [parse, conditions] {
                match read(&text, COLUMNS) {
                    Ok(filter) => {
                        filter.matches(|_| None);
                        // The written form parses to the same filter.
                        let written = filter.conditions();
                        prop_assert!(written.len() <= text.len());
                        let again = conditions(&written, COLUMNS);
                        prop_assert_eq!(again.map(|again| again.conditions()), Ok(written));
                    }
                    Err(error) => prop_assert!(text.get(error.at).is_some() && !error.message.is_empty()),
                }
            }
        }
    }
}
