//! The parser of the filter language. Its errors carry the byte range at fault.

use std::{fmt, ops::Range};

use super::{
    ColumnKind, Filter, FilterColumn, Operator, Term,
    columns::{self, column},
    complete::{Piece, is_balanced, pieces},
    value::{self, ConditionValue},
};
use model::{error::Code, spelling::meant, token_names::TokenReader};

/// Longest filter text in characters; the API document states the same limit.
pub const TEXT_CHARS_MAX: usize = 500;
const TERMS_MAX: usize = 32;
/// Columns listed in an unknown-column error that must fit one line.
const LISTED: usize = 8;

/// The conjunction, which is implied, the disjunction, the negation of what follows, and the choice from a list. In a filter without
/// conditions they and brackets are plain search words.
pub(super) const AND: &[&str] = &["and", "&&"];
pub(super) const OR: &[&str] = &["or", "||"];
pub(super) const NOT: &[&str] = &["not"];
pub(super) const IN: &[&str] = &["in"];

/// A user-readable message, and the byte range of the text at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    pub message: String,
    pub at: Range<usize>,
    pub code: Code,
}

impl FilterError {
    pub(super) fn new(message: impl Into<String>, at: Range<usize>) -> Self {
        Self {
            message: message.into(),
            at,
            code: Code::InvalidParameter,
        }
    }

    fn of_value(refused: value::Refused, at: &Range<usize>) -> Self {
        Self {
            message: refused.message,
            at: at.clone(),
            code: refused.code,
        }
    }

    /// The message; if the faulty part occurs in the text more than once, with its character position.
    pub fn in_text(&self, text: &str) -> String {
        let part = text.get(self.at.clone()).unwrap_or_default();
        match text.get(..self.at.start) {
            Some(before) if !part.is_empty() && text.matches(part).count() > 1 => {
                format!(
                    "{} (at character {})",
                    self.message,
                    before.chars().count() + 1
                )
            }
            _ => self.message.clone(),
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Parses a filter. Column names match in any letter case and by their aliases; where an address is compared, a token may be named.
pub fn parse_with(
    text: &str,
    columns: &[FilterColumn],
    tokens: TokenReader<'_>,
) -> Result<Filter, FilterError> {
    read(text, columns, tokens, false)
}

/// As `parse_with`, of a filter that names no tokens.
pub fn parse(text: &str, columns: &[FilterColumn]) -> Result<Filter, FilterError> {
    parse_with(text, columns, TokenReader::default())
}

/// As `parse_with`, but without plain words; an unknown-column error lists all columns.
pub fn conditions_with(
    text: &str,
    columns: &[FilterColumn],
    tokens: TokenReader<'_>,
) -> Result<Filter, FilterError> {
    read(text, columns, tokens, true)
}

pub fn conditions(text: &str, columns: &[FilterColumn]) -> Result<Filter, FilterError> {
    conditions_with(text, columns, TokenReader::default())
}

fn read(
    text: &str,
    columns: &[FilterColumn],
    tokens: TokenReader<'_>,
    only_conditions: bool,
) -> Result<Filter, FilterError> {
    let all = || 0..text.len();
    let refuse_longer = |chars: usize| match chars {
        0..=TEXT_CHARS_MAX => Ok(()),
        _ => Err(FilterError::new(
            format!("the filter has {chars} characters; at most {TEXT_CHARS_MAX} are allowed"),
            all(),
        )),
    };
    refuse_longer(text.chars().count())?;
    let plain = pieces(text, None)?;
    let chooses = plain.windows(2).any(|two| matches!(&two, [(Piece::Word(name), _), (Piece::Word(word), _)] if column(name.trim_start_matches('('), columns).is_some() && begins_choice(word)));
    let joins = only_conditions
        || (chooses && text.contains('('))
        || plain
            .iter()
            .any(|(piece, _)| matches!(piece, Piece::Sign(_)));
    let pieces = if joins {
        pieces(text, Some(columns))?
    } else {
        plain
    };
    let mut reader = Reader {
        text,
        columns,
        tokens,
        only_conditions,
        joins,
        pieces,
        at: 0,
        groups: false,
    };
    let found = reader.alternatives()?;
    if reader.at < reader.pieces.len() {
        return Err(reader.wrong("unmatched `)`; add `(` before it, or quote the text".to_owned()));
    }
    if reader.groups {
        reader.refuse_half_brackets()?;
    }
    let terms: Vec<Term> = found.into_iter().map(|(term, _)| term).collect();
    let count = conditions_in(&terms);
    if count > TERMS_MAX {
        return Err(FilterError::new(
            format!("the filter has {count} conditions; at most {TERMS_MAX} are allowed"),
            all(),
        ));
    }
    let named = |takes: fn(&FilterColumn) -> bool| {
        columns
            .iter()
            .filter(|column| takes(column))
            .map(|column| column.name)
            .collect()
    };
    let filter = Filter {
        terms,
        searched: named(|column| column.searched),
        addresses: named(FilterColumn::has_addresses),
    };
    // What is written may have blanks that the text had not.
    refuse_longer(filter.conditions().chars().count())?;
    Ok(filter)
}

fn conditions_in(terms: &[Term]) -> usize {
    let of = |term: &Term| {
        if let Term::Either(alternatives) = term {
            alternatives.iter().map(|terms| conditions_in(terms)).sum()
        } else {
            1
        }
    };
    terms.iter().map(of).sum()
}

/// A term and where it stands in the text.
type Found = (Term, Range<usize>);

/// Reads the pieces from the left, by recursive descent; the length of the text limits its depth.
struct Reader<'t> {
    text: &'t str,
    columns: &'t [FilterColumn],
    tokens: TokenReader<'t>,
    only_conditions: bool,
    /// Whether connectives and brackets mean themselves.
    joins: bool,
    pieces: Vec<(Piece<'t>, Range<usize>)>,
    at: usize,
    /// Whether an `or` or a bracket was read.
    groups: bool,
}

impl Reader<'_> {
    fn span(&self, at: usize) -> Range<usize> {
        self.pieces
            .get(at)
            .map_or(self.text.len()..self.text.len(), |(_, span)| span.clone())
    }

    /// An error at the current piece.
    fn wrong(&self, message: String) -> FilterError {
        FilterError::new(message, self.span(self.at))
    }

    /// Whether a piece is one of these connectives, and no column of that name.
    fn is_connective(&self, at: usize, words: &[&str]) -> bool {
        let is_column = matches!(self.pieces.get(at + 1), Some((Piece::Sign(_), _)));
        self.joins
            && !is_column
            && matches!(self.pieces.get(at), Some((Piece::Word(word), _)) if is_one_of(word, words))
    }

    /// Whether a list of conditions ends before this piece.
    fn ends(&self, at: usize) -> bool {
        matches!(self.pieces.get(at), None | Some((Piece::Close, _))) || self.is_connective(at, OR)
    }

    /// Lists of conditions with `or` between them, up to the end or a closing bracket.
    fn alternatives(&mut self) -> Result<Vec<Found>, FilterError> {
        let first = self.conjunction()?;
        if !self.is_connective(self.at, OR) {
            return Ok(first);
        }
        let (from, mut before) = (first.first().map_or(self.at, |(_, span)| span.start), first);
        let mut alternatives: Vec<Vec<Term>> = Vec::new();
        self.groups = true;
        loop {
            let or = self.is_connective(self.at, OR).then_some(self.at);
            self.at += usize::from(or.is_some());
            let after = if or.is_some() {
                self.conjunction()?
            } else {
                Vec::new()
            };
            if let Some(or) = or
                && (before.is_empty() || after.is_empty())
            {
                let (at, word) = (self.span(or), &self.text[self.span(or)]);
                let message = format!(
                    "`{word}` needs a condition on both sides{}",
                    quoting(word, self.only_conditions)
                );
                return Err(FilterError::new(message, at));
            }
            self.refuse_words(&before)?;
            match <[Found; 1]>::try_from(before) {
                Ok([(Term::Either(inner), _)]) => alternatives.extend(inner),
                Ok([(term, _)]) => alternatives.push(vec![term]),
                Err(terms) => alternatives.push(terms.into_iter().map(|(term, _)| term).collect()),
            }
            if or.is_none() {
                return Ok(vec![(
                    Term::Either(alternatives),
                    from..self.span(self.at).start,
                )]);
            }
            before = after;
        }
    }

    /// Plain words are asked for apart from conditions, which an alternative cannot be.
    fn refuse_words(&self, terms: &[Found]) -> Result<(), FilterError> {
        let Some((_, at)) = terms.iter().find(|(term, _)| term.word().is_some()) else {
            return Ok(());
        };
        let word = &self.text[at.clone()];
        let example = match column(word, self.columns) {
            Some(flag) if flag.kind == ColumnKind::Flag => format!("{word}:yes"),
            _ => format!(
                "{}:{word}",
                self.columns.first().map_or("column", |column| column.name)
            ),
        };
        Err(FilterError::new(
            format!("`{word}` next to `or` needs a column and an operator, as in `{example}`"),
            at.clone(),
        ))
    }

    /// Conditions that all hold, up to the end, an `or` or a closing bracket.
    fn conjunction(&mut self) -> Result<Vec<Found>, FilterError> {
        let start = self.at;
        let mut terms = Vec::new();
        while !self.ends(self.at) {
            if matches!(self.pieces[self.at].0, Piece::Open) {
                terms.extend(self.group()?);
                continue;
            }
            let found = self.comparison()?;
            if !found.is_empty() {
                terms.extend(found);
                continue;
            }
            let (piece, span) = &self.pieces[self.at];
            match piece {
                Piece::Word(word) if self.is_connective(self.at, AND) => {
                    if self.at == start || self.ends(self.at + 1) {
                        let quoting = quoting(word, self.only_conditions);
                        return Err(self
                            .wrong(format!("`{word}` needs a condition on both sides{quoting}")));
                    }
                }
                Piece::Word(_) if self.is_connective(self.at, NOT) => {
                    terms.extend(self.negation()?);
                    continue;
                }
                // A column that is true or false is a condition by itself.
                Piece::Word(word) if self.only_conditions && self.flag(word).is_some() => {
                    terms.extend(self.flag_alone(word, span.clone()));
                }
                Piece::Word(_) | Piece::Quoted(_) if self.only_conditions => {
                    let (word, example) = (
                        &self.text[span.clone()],
                        self.columns.first().map_or("column", |column| column.name),
                    );
                    return Err(
                        self.wrong(format!("`{word}` is not a condition; write column, operator and value, as in `{example}:{word}`"))
                    );
                }
                Piece::Word(word) => terms.push((self.word(word, false), span.clone())),
                Piece::Quoted("") => {}
                Piece::Quoted(text) => terms.push((self.word(text, true), span.clone())),
                Piece::Sign(_) | Piece::Open | Piece::Close => {
                    let sign = &self.text[span.clone()];
                    return Err(
                        self.wrong(format!("`{sign}` needs a column before it, as in `cap>1m`; quote text that contains operators"))
                    );
                }
            }
            self.at += 1;
        }
        Ok(terms)
    }

    /// A plain word, with the tokens that it names.
    fn word(&self, text: &str, exact: bool) -> Term {
        let has_addresses = self.columns.iter().any(FilterColumn::has_addresses);
        let tokens = if has_addresses {
            self.tokens.all(text)
        } else {
            Vec::new()
        };
        Term::Word {
            word: text.to_lowercase(),
            exact,
            tokens: tokens.iter().map(ToString::to_string).collect(),
        }
    }

    fn flag(&self, word: &str) -> Option<&'static str> {
        column(word, self.columns)
            .filter(|known| known.kind == ColumnKind::Flag)
            .map(|known| known.name)
    }

    fn flag_alone(&self, word: &str, at: Range<usize>) -> Option<Found> {
        let (column, wanted) = (self.flag(word)?, ConditionValue::Flag(true));
        Some((
            Term::Compare {
                column,
                operator: Operator::Has,
                wanted,
                text: word.to_owned(),
            },
            at,
        ))
    }

    /// `not` and what it denies: a condition, or conditions in brackets.
    fn negation(&mut self) -> Result<Vec<Found>, FilterError> {
        let not = self.span(self.at);
        self.at += 1;
        let denied = match self.pieces.get(self.at) {
            Some((Piece::Open, _)) => self.group()?,
            Some((Piece::Word(_), _)) if self.is_connective(self.at, NOT) => self.negation()?,
            Some((Piece::Word(word), span))
                if self.only_conditions && !self.has_sign(self.at) && self.flag(word).is_some() =>
            {
                let flag = self.flag_alone(word, span.clone());
                self.at += 1;
                flag.into_iter().collect()
            }
            _ => self.comparison()?,
        };
        if denied.is_empty() {
            let word = &self.text[not.clone()];
            let message = format!(
                "`{word}` needs a condition after it, as in `not cap>1m`{}",
                quoting(word, self.only_conditions)
            );
            return Err(FilterError::new(message, not));
        }
        self.refuse_words(&denied)?;
        let at = not.start..denied.last().map_or(not.end, |(_, span)| span.end);
        Ok(
            super::negation_of_all(denied.into_iter().map(|(term, _)| term).collect())
                .into_iter()
                .map(|term| (term, at.clone()))
                .collect(),
        )
    }

    fn has_sign(&self, at: usize) -> bool {
        matches!(self.pieces.get(at + 1), Some((Piece::Sign(_), _))) || self.choice(at).is_some()
    }

    /// Where the list begins that a column's value is chosen from, and whether it is to be none of it: `chain in (eth, base)`.
    fn choice(&self, at: usize) -> Option<(usize, bool)> {
        let not = self.is_connective(at + 1, NOT);
        let is_in = self.is_connective(at + 1 + usize::from(not), IN);
        let open = at + 2 + usize::from(not);
        (is_in && matches!(self.pieces.get(open), Some((Piece::Open, _))))
            .then_some((open + 1, not))
    }

    /// A column with a sign and a value, or with values in brackets; nothing if the pieces are something else.
    fn comparison(&mut self) -> Result<Vec<Found>, FilterError> {
        let (Some((Piece::Word(name), span)), Some((first, not))) =
            (self.pieces.get(self.at), self.choice(self.at))
        else {
            return Ok(self.condition()?.into_iter().collect());
        };
        let column = column(name, self.columns)
            .ok_or_else(|| unknown(name, span, self.columns, self.only_conditions))?;
        let mut choices = Vec::new();
        let mut at = first;
        while !matches!(self.pieces.get(at), Some((Piece::Close, _))) || choices.is_empty() {
            let (texts, span) = match self.pieces.get(at) {
                Some((Piece::Word(word), span)) => (
                    word.split(',').filter(|part| !part.is_empty()).collect(),
                    span.clone(),
                ),
                Some((Piece::Quoted(text), span)) => (vec![*text], span.clone()),
                _ => {
                    let message = format!(
                        "`in` needs values in brackets, as in `{name} in ({})`",
                        column.example()
                    );
                    return Err(FilterError::new(message, self.span(first - 1)));
                }
            };
            for text in texts {
                let wanted = value::read(column, name, ("=", Operator::Equal), text, self.tokens);
                let wanted = wanted.map_err(|refused| FilterError::of_value(refused, &span))?;
                let is_plain = !text.is_empty()
                    && text
                        .chars()
                        .all(|c| c.is_alphanumeric() || "._-".contains(c));
                let text = if is_plain {
                    format!("{name}={text}")
                } else {
                    format!("{name}=\"{text}\"")
                };
                choices.push(vec![Term::Compare {
                    column: column.name,
                    operator: Operator::Equal,
                    wanted,
                    text,
                }]);
            }
            at += 1;
        }
        let at_text = span.start..self.span(at).end;
        self.at = at + 1;
        self.groups = true;
        let terms = match choices.as_slice() {
            [one] => one.clone(),
            _ => vec![Term::Either(choices)],
        };
        let terms = if not {
            super::negation_of_all(terms)
        } else {
            terms
        };
        Ok(terms
            .into_iter()
            .map(|term| (term, at_text.clone()))
            .collect())
    }

    /// Conditions in brackets.
    fn group(&mut self) -> Result<Vec<Found>, FilterError> {
        let open = self.at;
        self.groups = true;
        self.at += 1;
        let terms = self.alternatives()?;
        let closed = matches!(self.pieces.get(self.at), Some((Piece::Close, _)));
        if !closed || terms.is_empty() {
            let message = if closed {
                "empty brackets"
            } else {
                "unclosed `(`; add `)`"
            };
            let at = self.span(open).start..if closed {
                self.span(self.at).end
            } else {
                self.span(open).end
            };
            return Err(FilterError::new(message, at));
        }
        self.at += 1;
        Ok(terms)
    }

    /// A column, a sign and a value; `None` if the pieces are something else.
    fn condition(&mut self) -> Result<Option<Found>, FilterError> {
        let (Some((Piece::Word(name), span)), Some((Piece::Sign(operator), sign_span))) =
            (self.pieces.get(self.at), self.pieces.get(self.at + 1))
        else {
            return Ok(None);
        };
        let column = column(name, self.columns)
            .ok_or_else(|| unknown(name, span, self.columns, self.only_conditions))?;
        let sign = &self.text[sign_span.clone()];
        let (value, value_span) = match self.pieces.get(self.at + 2) {
            Some((Piece::Word(word), span)) => (*word, span),
            Some((Piece::Quoted(text), span)) => (*text, span),
            _ => {
                let typed = span.start..sign_span.end;
                let example = column.example();
                let message = format!(
                    "no value after `{}`; write one, as in `{name}{sign}{example}`",
                    &self.text[typed.clone()]
                );
                return Err(FilterError::new(message, typed));
            }
        };
        let wanted = value::read(column, name, (sign, *operator), value, self.tokens)
            .map_err(|refused| FilterError::of_value(refused, value_span))?;
        let text = [*name, sign, &self.text[value_span.clone()]].concat();
        let found = (
            Term::Compare {
                column: column.name,
                operator: *operator,
                wanted,
                text,
            },
            span.start..value_span.end,
        );
        self.at += 3;
        Ok(Some(found))
    }

    /// Errors: a word with a bracket whose other half is not in it, which could be one of a group's.
    fn refuse_half_brackets(&self) -> Result<(), FilterError> {
        let half = self
            .pieces
            .iter()
            .find(|(piece, _)| matches!(piece, Piece::Word(word) if !is_balanced(word)));
        half.map_or(Ok(()), |(_, at)| {
            let message = format!(
                "unmatched bracket in `{}`; quote the text",
                &self.text[at.clone()]
            );
            Err(FilterError::new(message, at.clone()))
        })
    }
}

/// Whether a list of values begins with this word.
fn begins_choice(word: &str) -> bool {
    let begins = |start: &&str| {
        word.get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    is_one_of(word, IN) || is_one_of(word, NOT) || begins(&"in(")
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// How to search for the word itself, where plain words are allowed.
fn quoting(word: &str, only_conditions: bool) -> String {
    if only_conditions {
        String::new()
    } else {
        format!("; to search for the word, write `\"{word}\"`")
    }
}

fn unknown(name: &str, at: &Range<usize>, all: &[FilterColumn], list: bool) -> FilterError {
    let names: Vec<&str> = all
        .iter()
        .map(|column| if list { column.name } else { column.short() })
        .collect();
    let near = meant(name, columns::names(all))
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let stop = if near.is_empty() { "." } else { "" };
    // A terminal line has room for a few.
    let (shown, more) = if list {
        (names.len(), "")
    } else {
        (
            names.len().min(LISTED),
            if names.len() > LISTED { ", …" } else { "" },
        )
    };
    let message = format!(
        "unknown column `{name}`{near}{stop} Columns: {}{more}",
        names[..shown].join(", ")
    );
    FilterError::new(message, at.clone())
}

#[cfg(test)]
mod tests;
