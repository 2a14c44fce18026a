//! Which rows a filter keeps, in three-valued logic and block by block: numbers are compared as they are stored, other values one by one.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    Columns, ConditionValue, ExcludedRows, Filter, Operator, Term, Values, compare, found,
    is_named, rows::of_whole,
};
use crate::{Extent, RowSelection, RowSelectionWriter};
use model::{
    address::Address, error::Result, progress::Progress, scalar::Scalar, schema::Kind,
    token_names::is_part_of_address,
};

/// Rows of a block, between two cancellation checks.
const BLOCK_ROWS: usize = 16_384;
/// Blocks that are judged at once, for each thread.
const BATCH_BLOCKS: usize = 4;

/// The rows of a block that meet conditions, and those of which a missing value decides that.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) yes: Mask,
    pub(super) unknown: Mask,
    /// Of the unknown ones those of which a condition on the column is, and all that it is a part of.
    pub(super) lacks: Vec<(&'static str, Mask)>,
}

impl Evaluated {
    fn new(yes: Mask, unknown: Mask, lacks: Vec<(&'static str, Mask)>) -> Self {
        let lacks = lacks.into_iter();
        Self {
            lacks: lacks
                .map(|(column, rows)| (column, rows.and(&unknown)))
                .collect(),
            yes,
            unknown,
        }
    }
}

impl Filter {
    /// Judges a block of rows; none where no row can match, by the smallest and largest values in it.
    pub(super) fn evaluate(&self, columns: &dyn Columns, rows: Range<usize>) -> Option<Evaluated> {
        let all = Mask::all(rows.len(), true);
        let block = Block {
            filter: self,
            columns,
            rows,
        };
        block
            .may_match(&self.terms)
            .then(|| block.all(&self.terms, &all))
    }

    /// Whether each of the `count` rows of a list matches, and those left out because of missing values.
    pub fn kept(&self, columns: &dyn Columns, count: usize) -> (Vec<bool>, ExcludedRows) {
        let mut left_out = ExcludedRows::of(self);
        let Some(evaluated) = self.evaluate(columns, 0..count) else {
            return (vec![false; count], left_out);
        };
        left_out.count(&evaluated);
        (evaluated.yes.0, left_out)
    }

    /// Those of the rows that match, at most the first `room`; and those left out because of missing values, which are not counted where
    /// rows were not read.
    pub fn select(
        &self,
        columns: &(dyn Columns + Sync),
        rows: Range<usize>,
        mut room: usize,
        progress: &Progress,
    ) -> Result<(RowSelection, ExcludedRows)> {
        let mut left_out = ExcludedRows::of(self);
        if self.is_empty() {
            let end = rows.end.min(rows.start.saturating_add(room));
            return Ok((RowSelection::Run(rows.start..end), left_out));
        }
        let starts = rows.clone().step_by(BLOCK_ROWS);
        let blocks: Vec<Range<usize>> = starts
            .map(|start| start..(start + BLOCK_ROWS).min(rows.end))
            .collect();
        let evaluate = |block: &Range<usize>| {
            progress.step((block.start - rows.start) as u64, rows.len() as u64)?;
            Ok((block.start, self.evaluate(columns, block.clone())))
        };
        let table = columns.table();
        let mut found =
            table.map_or_else(RowSelectionWriter::default, RowSelectionWriter::for_table);
        let has_nulls = |column: &str| table.is_some_and(|table| table.has_nulls(column));
        let (may_lack, mut counted) = (self.columns().any(has_nulls), true);
        for batch in blocks.chunks(BATCH_BLOCKS * rayon::current_num_threads()) {
            let evaluated: Result<Vec<_>> = batch.par_iter().map(evaluate).collect();
            for (start, evaluated) in evaluated? {
                let Some(evaluated) = evaluated else {
                    counted &= !may_lack;
                    continue;
                };
                left_out.count(&evaluated);
                for nth in evaluated.yes.rows().take(room) {
                    room -= 1;
                    found.push((start + nth) as u32)?;
                }
            }
            if room == 0 {
                break;
            }
        }
        if !counted {
            left_out = ExcludedRows::default();
        }
        Ok((found.finish()?, left_out))
    }
}

/// A block of rows that is judged.
struct Block<'b> {
    filter: &'b Filter,
    columns: &'b dyn Columns,
    rows: Range<usize>,
}

impl Block<'_> {
    fn none(&self) -> Mask {
        Mask::all(self.rows.len(), false)
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
    fn all(&self, terms: &[Term], among: &Mask) -> Evaluated {
        let (mut open, mut unknown, mut lacks) = (among.clone(), self.none(), Vec::new());
        for term in terms {
            if !open.any() {
                break;
            }
            let evaluated = self.term(term, &open);
            open = open.and(&evaluated.yes.or(&evaluated.unknown));
            unknown = unknown.or(&evaluated.unknown);
            lacks.extend(evaluated.lacks);
        }
        Evaluated::new(open.clone().without(&unknown), unknown.and(&open), lacks)
    }

    /// Of the rows `among`: a row matches if an alternative holds, else is unknown if one is unknown.
    fn any(&self, alternatives: &[Vec<Term>], among: &Mask) -> Evaluated {
        let (mut open, mut unknown, mut lacks) = (among.clone(), self.none(), Vec::new());
        for terms in alternatives {
            let evaluated = self.all(terms, &open);
            open = open.without(&evaluated.yes);
            unknown = unknown.or(&evaluated.unknown);
            lacks.extend(evaluated.lacks);
        }
        Evaluated::new(among.clone().without(&open), unknown.and(&open), lacks)
    }

    /// Of the rows `open`; whatever is told of others.
    fn term(&self, term: &Term, open: &Mask) -> Evaluated {
        match term {
            Term::Either(alternatives) => self.any(alternatives, open),
            Term::Word {
                word,
                exact,
                tokens,
            } => {
                let yes = self.having(word, *exact, tokens, open);
                Evaluated::new(yes, self.none(), Vec::new())
            }
            Term::Compare {
                column,
                operator,
                wanted,
                ..
            } => {
                let values = self.columns.values(column, self.rows.clone());
                let fast = match &values {
                    Values::Floats(floats) => Span::of_floats(*operator, wanted)
                        .map(|span| span.meeting(floats, f64::is_nan)),
                    Values::Whole(numbers, kind) => Span::of_whole(*kind, *operator, wanted)
                        .map(|span| span.meeting(numbers, |number| number == i64::MIN)),
                    Values::Addresses(addresses) => Span::of_address(*operator, wanted)
                        .map(|span| span.meeting(addresses, |_| false)),
                    _ => None,
                };
                let (yes, missing) = fast.unwrap_or_else(|| {
                    self.each(&values, open, &|value| compare(value, *operator, wanted))
                });
                let unknown = missing.and(open);
                let lacks = unknown.any().then(|| (*column, unknown.clone()));
                Evaluated::new(yes, unknown, lacks.into_iter().collect())
            }
        }
    }

    /// The rows with the word.
    fn having(&self, word: &str, exact: bool, tokens: &[String], open: &Mask) -> Mask {
        let part = is_part_of_address(word).then_some(word);
        let names_address = part.is_some() || !tokens.is_empty();
        let addresses = self.filter.addresses.iter();
        let addresses = addresses.filter(|_| names_address);
        let searched = self.filter.searched.iter().map(|column| (column, true));
        let columns = searched.chain(addresses.map(|column| (column, false)));
        columns.fold(self.none(), |yes, (column, is_text)| {
            let values = self.columns.values(column, self.rows.clone());
            let has = |value: &Scalar<'_>| {
                if is_text {
                    found(value, word, exact)
                } else {
                    is_named(value, tokens, part)
                }
            };
            let (having, _) = self.each(&values, &open.clone().without(&yes), &has);
            yes.or(&having)
        })
    }

    /// The rows whose value meets the test, one after another, and those without a value.
    fn each(
        &self,
        values: &Values<'_>,
        open: &Mask,
        meets: &dyn Fn(&Scalar<'_>) -> bool,
    ) -> (Mask, Mask) {
        let (mut yes, mut missing) = (self.none(), self.none());
        let mut evaluate = |value: Option<&Scalar<'_>>, rows: Range<usize>| match value {
            Some(value) if value.is_missing() => missing.fill(rows),
            Some(value) if meets(value) => yes.fill(rows),
            _ => {}
        };
        if let Values::Runs(runs) = values {
            let start = self.rows.start;
            for (value, rows) in runs {
                evaluate(Some(value), rows.start - start..rows.end - start);
            }
        } else {
            open.rows().for_each(|nth| {
                evaluate(
                    values.get(nth, self.rows.start + nth).as_ref(),
                    nth..nth + 1,
                );
            });
        }
        (yes, missing)
    }
}

/// The values from `low` to `high`, or all but those.
struct Span<T> {
    low: T,
    high: T,
    is_denied: bool,
}

impl<T: PartialOrd + Copy> Span<T> {
    fn may_hold(&self, low: T, high: T) -> bool {
        self.is_denied || (self.low <= self.high && low <= self.high && self.low <= high)
    }

    /// The rows whose value is one of them, and those without a value.
    #[allow(
        clippy::needless_bitwise_bool,
        reason = "without a way out the processor looks at many values at a time"
    )]
    fn meeting(&self, values: &[T], is_missing: impl Fn(T) -> bool) -> (Mask, Mask) {
        let is_met = |value: T| ((self.low <= value) & (value <= self.high)) != self.is_denied;
        let missing = Mask(values.iter().map(|value| is_missing(*value)).collect());
        let yes = Mask(values.iter().map(|value| is_met(*value)).collect());
        (yes.without(&missing), missing)
    }
}

impl Span<f64> {
    /// The floats that meet a condition; none where they have to be compared one by one.
    fn of_floats(operator: Operator, wanted: &ConditionValue) -> Option<Self> {
        let ConditionValue::Number(number) = wanted else {
            return None;
        };
        let at = number.float;
        let (low, high) = match operator {
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

impl Span<[u8; 20]> {
    /// The addresses that meet a condition; none where a part of one is wanted. All have the same length: to contain a whole one is to be it.
    fn of_address(operator: Operator, wanted: &ConditionValue) -> Option<Self> {
        let ConditionValue::Text(text) = wanted else {
            return None;
        };
        let whole = Address::parse(text).filter(|whole| *text == whole.to_string())?;
        Some(Self {
            low: whole.0,
            high: whole.0,
            is_denied: operator != operator.without_not(),
        })
    }
}

impl Span<i64> {
    /// The integers of cells of this kind that meet a condition, by the comparison of single ones; none where they have to be compared one by
    /// one.
    fn of_whole(kind: Kind, operator: Operator, wanted: &ConditionValue) -> Option<Self> {
        let positive = operator.without_not();
        let (least, most) = match (kind, wanted) {
            (Kind::Integer, ConditionValue::Number(_))
            | (Kind::Time, ConditionValue::Period { .. }) => (i64::MIN + 1, i64::MAX),
            (Kind::Date, ConditionValue::Period { .. }) => (i32::MIN.into(), i32::MAX.into()),
            _ => return None,
        };
        let (least, most) = (i128::from(least), i128::from(most));
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
        let (from, to) = match positive {
            Operator::Greater | Operator::AtLeast => (Some(positive), None),
            Operator::Less | Operator::AtMost => (None, Some(positive)),
            _ => (Some(Operator::AtLeast), Some(Operator::AtMost)),
        };
        let from = from.map_or(least, |operator| first(operator, true));
        let to = to.map_or(most, |operator| first(operator, false) - 1);
        let (low, high) = if from > to { (1, 0) } else { (from, to) };
        Some(Self {
            low: low as i64,
            high: high as i64,
            is_denied: operator != positive,
        })
    }
}

// Which rows of a block something is true of.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mask(pub(super) Vec<bool>);

impl Mask {
    pub(super) fn all(rows: usize, is_true: bool) -> Self {
        Self(vec![is_true; rows])
    }

    pub(super) fn fill(&mut self, rows: Range<usize>) {
        if let Some(rows) = self.0.get_mut(rows) {
            rows.fill(true);
        }
    }

    fn with(mut self, other: &Self, by: impl Fn(bool, bool) -> bool) -> Self {
        let both = self.0.iter_mut().zip(&other.0);
        both.for_each(|(row, other)| *row = by(*row, *other));
        self
    }

    pub(super) fn and(self, other: &Self) -> Self {
        self.with(other, |row, other| row & other)
    }

    pub(super) fn or(self, other: &Self) -> Self {
        self.with(other, |row, other| row | other)
    }

    pub(super) fn without(self, other: &Self) -> Self {
        self.with(other, |row, other| row && !other)
    }

    /// Whether it is true of a row; all are looked at, which is faster than to stop at the first.
    pub(super) fn any(&self) -> bool {
        self.0.iter().fold(false, |any, row| any | row)
    }

    /// The rows that it is true of, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        let rows = self.0.iter().enumerate();
        rows.filter(|(_, row)| **row).map(|(nth, _)| nth)
    }
}

#[cfg(test)]
mod tests;
