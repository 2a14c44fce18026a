//! Which rows of a block something is true of.

use std::ops::Range;

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
