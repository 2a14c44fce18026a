//! Which rows a filter keeps, in three-valued logic and block by block: numbers are compared as they are stored, other values one by one.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;

use super::{
    Columns, ConditionValue, ExcludedRows, Filter, Operator, Term, Values, compare, found,
    is_named, mask::Mask, rows::of_whole,
};
use crate::question::{progress::Progress, token_names::is_part_of_address};
use model::{address::Address, error::Result, scalar::Scalar, schema::Kind};
use store::cache::{Extent, RowSelection};

/// Rows of a block, between two cancellation checks.
const BLOCK_ROWS: usize = 16_384;
/// Blocks that are judged at once.
const BATCH_BLOCKS: usize = 16;

/// The rows of a block that meet conditions, and those of which a missing value decides that.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) yes: Mask,
    pub(super) unknown: Mask,
    /// Of each term or alternative, as far as they decide.
    pub(super) parts: Vec<Judged>,
}

impl Filter {
    /// Judges a block of rows; none where no row can match, by the smallest and largest values in it.
    pub(super) fn judge(&self, columns: &dyn Columns, rows: Range<usize>) -> Option<Judged> {
        let all = Mask::all(rows.len());
        let block = Block {
            filter: self,
            columns,
            rows,
        };
        block
            .may_match(&self.terms)
            .then(|| block.all(&self.terms, &all))
    }

    /// The matching rows of a short list, and those left out because of missing values.
    pub fn kept(&self, columns: &dyn Columns) -> (Vec<usize>, ExcludedRows) {
        let (mut kept, mut left_out) = (Vec::new(), ExcludedRows::of(self));
        for rows in blocks(0..columns.height()) {
            if let Some(judged) = self.judge(columns, rows.clone()) {
                left_out.count(&self.terms, &judged);
                kept.extend(judged.yes.rows().map(|nth| rows.start + nth));
            }
        }
        (kept, left_out)
    }

    /// Those of the rows that match, or the `first` of them; and those left out because of missing values, which are not counted where rows
    /// were not read.
    pub fn select(
        &self,
        columns: &(dyn Columns + Sync),
        rows: Range<usize>,
        first: Option<usize>,
        progress: &Progress,
    ) -> Result<(RowSelection, ExcludedRows)> {
        let mut left_out = ExcludedRows::of(self);
        if self.is_empty() {
            return Ok((RowSelection::Run(rows), left_out));
        }
        let (total, done) = (rows.len() as u64, AtomicUsize::new(0));
        let judge = |rows: &Range<usize>| {
            let before = done.fetch_add(rows.len(), Ordering::Relaxed);
            progress.step(before as u64, total)?;
            Ok((rows.start, self.judge(columns, rows.clone())))
        };
        let may_lack = self.columns().any(|column| columns.has_gaps(column));
        let (mut counted, mut room) = (true, first.unwrap_or(usize::MAX));
        let mut found = columns.collector();
        for batch in blocks(rows).collect::<Vec<_>>().chunks(BATCH_BLOCKS) {
            let judged: Result<Vec<_>> = batch.par_iter().map(judge).collect();
            for (start, judged) in judged? {
                let Some(judged) = judged else {
                    counted &= !may_lack;
                    continue;
                };
                left_out.count(&self.terms, &judged);
                for nth in judged.yes.rows().take(room) {
                    room -= 1;
                    found.push((start + nth) as u32)?;
                }
            }
            if room == 0 {
                break;
            }
        }
        let left_out = if counted {
            left_out
        } else {
            ExcludedRows::default()
        };
        Ok((found.finish()?, left_out))
    }
}

fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    rows.clone()
        .step_by(BLOCK_ROWS)
        .map(move |start| start..(start + BLOCK_ROWS).min(rows.end))
}

/// A block of rows that is judged.
struct Block<'b> {
    filter: &'b Filter,
    columns: &'b dyn Columns,
    rows: Range<usize>,
}

impl Block<'_> {
    fn none(&self) -> Mask {
        Mask::none(self.rows.len())
    }

    /// Whether a row can meet the terms, by the zone map.
    fn may_match(&self, terms: &[Term]) -> bool {
        terms.iter().all(|term| match term {
            Term::Word { .. } => true,
            Term::Compare {
                column,
                operator,
                wanted,
                ..
            } => match self.columns.zone(column, self.rows.clone()) {
                None => true,
                Some((Extent::Empty, _)) => false,
                Some((Extent::Float(low, high), _)) => {
                    Span::of_floats(*operator, wanted).is_none_or(|span| span.may_hold(low, high))
                }
                Some((Extent::Whole(low, high), kind)) => Span::of_whole(kind, *operator, wanted)
                    .is_none_or(|span| span.may_hold(low, high)),
            },
            Term::Either(alternatives) => alternatives.iter().any(|terms| self.may_match(terms)),
        })
    }

    /// Of the rows `among`: a row does not match if a term does not hold, else is unknown if one is unknown.
    fn all(&self, terms: &[Term], among: &Mask) -> Judged {
        let (mut open, mut unknown, mut parts) = (among.clone(), self.none(), Vec::new());
        for term in terms {
            if open.is_empty() {
                break;
            }
            let judged = match term {
                Term::Either(alternatives) => self.any(alternatives, &open),
                term => self.term(term, &open),
            };
            let mut possible = judged.yes.clone();
            possible.or(&judged.unknown);
            open.and(&possible);
            unknown.or(&judged.unknown);
            parts.push(judged);
        }
        unknown.and(&open);
        open.without(&unknown);
        Judged {
            yes: open,
            unknown,
            parts,
        }
    }

    /// Of the rows `among`: a row matches if an alternative holds, else is unknown if one is unknown.
    fn any(&self, alternatives: &[Vec<Term>], among: &Mask) -> Judged {
        let (mut open, mut parts) = (among.clone(), Vec::new());
        let (mut yes, mut unknown) = (self.none(), self.none());
        for terms in alternatives {
            if open.is_empty() {
                break;
            }
            let judged = self.all(terms, &open);
            open.without(&judged.yes);
            yes.or(&judged.yes);
            unknown.or(&judged.unknown);
            parts.push(judged);
        }
        unknown.without(&yes);
        Judged {
            yes,
            unknown,
            parts,
        }
    }

    /// Of the rows `open`; whatever is told of others.
    fn term(&self, term: &Term, open: &Mask) -> Judged {
        let (yes, unknown) = match term {
            Term::Word {
                word,
                exact,
                tokens,
            } => (self.having(word, *exact, tokens, open), self.none()),
            Term::Compare {
                column,
                operator,
                wanted,
                ..
            } => {
                let values = self.columns.values(column, self.rows.clone());
                let gaps = self.columns.has_gaps(column);
                let fast = match &values {
                    Values::Floats(floats) => Span::of_floats(*operator, wanted)
                        .map(|span| span.meeting(floats, gaps.then_some(f64::is_nan))),
                    Values::Whole(numbers, kind) => Span::of_whole(*kind, *operator, wanted)
                        .map(|span| span.meeting(numbers, gaps.then_some(|n| n == i64::MIN))),
                    Values::Addresses(addresses) => self.equal_to(addresses, *operator, wanted),
                    _ => None,
                };
                let (yes, mut unknown) = fast.unwrap_or_else(|| {
                    self.each(&values, open, |value| compare(value, *operator, wanted))
                });
                unknown.and(open);
                unknown.retain(|nth| self.columns.lacks(column, self.rows.start + nth));
                (yes, unknown)
            }
            Term::Either(_) => (self.none(), self.none()),
        };
        Judged {
            yes,
            unknown,
            parts: Vec::new(),
        }
    }

    /// The rows with the word.
    fn having(&self, word: &str, exact: bool, tokens: &[String], open: &Mask) -> Mask {
        let (mut yes, mut open) = (self.none(), open.clone());
        let mut search = |columns: &[&'static str], has: &dyn Fn(&Scalar<'_>) -> bool| {
            for column in columns {
                if open.is_empty() {
                    break;
                }
                let values = self.columns.values(column, self.rows.clone());
                let (found, _) = self.each(&values, &open, has);
                open.without(&found);
                yes.or(&found);
            }
        };
        search(&self.filter.searched, &|value| found(value, word, exact));
        let part = is_part_of_address(word).then_some(word);
        if part.is_some() || !tokens.is_empty() {
            search(&self.filter.addresses, &|value| {
                is_named(value, tokens, part)
            });
        }
        yes
    }

    /// The rows whose value meets the test, one after another, and those without a value.
    fn each(
        &self,
        values: &Values<'_>,
        open: &Mask,
        meets: impl Fn(&Scalar<'_>) -> bool,
    ) -> (Mask, Mask) {
        let (mut yes, mut missing) = (self.none(), self.none());
        let mut judge = |value: &Scalar<'_>, rows: Range<usize>| match value {
            Scalar::Missing => missing.fill(rows),
            Scalar::List(members) if members.is_empty() => missing.fill(rows),
            value if meets(value) => yes.fill(rows),
            _ => {}
        };
        match values {
            Values::Missing => return (yes, open.clone()),
            Values::Runs(runs) => {
                for (value, rows) in runs {
                    let start = self.rows.start;
                    judge(value, rows.start - start..rows.end - start);
                }
            }
            values => {
                for nth in open.rows() {
                    judge(&values.get(nth, self.rows.start + nth), nth..nth + 1);
                }
            }
        }
        (yes, missing)
    }

    /// The rows with the address, or without it; none where a part of one is wanted.
    fn equal_to(
        &self,
        addresses: &[[u8; 20]],
        operator: Operator,
        wanted: &ConditionValue,
    ) -> Option<(Mask, Mask)> {
        let ConditionValue::Text(text) = wanted else {
            return None;
        };
        // An address of a column is as long as a whole one: to contain it is to be equal.
        let whole = Address::parse(text).filter(|address| *text == address.to_string())?;
        let (positive, is_denied) = (operator.without_not(), operator != operator.without_not());
        let is_equality = matches!(positive, Operator::Equal | Operator::Has);
        let yes = || Mask::of(addresses, |address| (address == whole.0) != is_denied);
        is_equality.then(|| (yes(), self.none()))
    }
}

/// The numbers from `low` to `high`, or all but those.
struct Span<T> {
    low: T,
    high: T,
    is_denied: bool,
}

impl<T: PartialOrd + Copy> Span<T> {
    fn may_hold(&self, low: T, high: T) -> bool {
        self.is_denied || (self.low <= self.high && low <= self.high && self.low <= high)
    }

    /// The rows whose number is one of them, and those without a number.
    fn meeting(&self, numbers: &[T], is_missing: Option<impl Fn(T) -> bool>) -> (Mask, Mask) {
        let none = || Mask::none(numbers.len());
        let missing = is_missing.map_or_else(none, |is_missing| Mask::of(numbers, is_missing));
        let mut yes = Mask::of(numbers, |number| {
            ((self.low <= number) & (number <= self.high)) != self.is_denied
        });
        yes.without(&missing);
        (yes, missing)
    }
}

impl Span<f64> {
    /// The floats that meet a condition; none where they have to be compared one by one.
    fn of_floats(operator: Operator, wanted: &ConditionValue) -> Option<Self> {
        let ConditionValue::Number(number) = wanted else {
            return None;
        };
        let at = number.float;
        let (low, high) = match operator.without_not() {
            Operator::Greater => (at.next_up(), f64::INFINITY),
            Operator::AtLeast => (at, f64::INFINITY),
            Operator::Less => (f64::NEG_INFINITY, at.next_down()),
            Operator::AtMost => (f64::NEG_INFINITY, at),
            _ => (at, at),
        };
        Some(Self {
            low,
            high,
            is_denied: operator != operator.without_not(),
        })
    }
}

impl Span<i64> {
    /// The integers of cells of this kind that meet a condition, by the comparison of single ones; none where they have to be compared one by
    /// one.
    fn of_whole(kind: Kind, operator: Operator, wanted: &ConditionValue) -> Option<Self> {
        let positive = operator.without_not();
        let is_ordered = match (kind, wanted) {
            (Kind::Integer, ConditionValue::Number(_)) => true,
            (Kind::Time | Kind::Date, ConditionValue::Period { .. }) => positive != Operator::Has,
            _ => false,
        };
        if !is_ordered {
            return None;
        }
        let (least, most) = if kind == Kind::Date {
            (i128::from(i32::MIN), i128::from(i32::MAX))
        } else {
            (i128::from(i64::MIN) + 1, i128::from(i64::MAX))
        };
        // The first number that meets a condition, or with `is_met` false no longer meets it; one more than the last where there is none.
        let first = |operator: Operator, is_met: bool| {
            let (mut low, mut high) = (least, most + 1);
            while low < high {
                let middle = low + (high - low) / 2;
                if compare(&of_whole(kind, middle as i64), operator, wanted) == is_met {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        };
        let (low, high) = match positive {
            Operator::Greater | Operator::AtLeast => (first(positive, true), most),
            Operator::Less | Operator::AtMost => (least, first(positive, false) - 1),
            _ => (
                first(Operator::AtLeast, true),
                first(Operator::AtMost, false) - 1,
            ),
        };
        let (low, high) = if low > high { (1, 0) } else { (low, high) };
        Some(Self {
            low: low as i64,
            high: high as i64,
            is_denied: operator != positive,
        })
    }
}

#[cfg(test)]
mod tests;
