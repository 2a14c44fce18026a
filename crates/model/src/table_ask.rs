//! Queries of a table in place: rows in an order, the values of a column, or groups of rows.

use super::address::Address;
use crate::scalar::Scalar;

/// A query of rows. How to phrase it for the source is up to the storage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceQuery {
    pub table: &'static str,
    /// Only rows of these tokens; empty means all tokens.
    pub tokens: Vec<Address>,
    /// Condition on the rows, as an expression over the schema's columns; empty means all rows.
    pub condition: String,
    pub wanted: AskKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AskKind {
    Page(RowsPage),
    /// Only their number.
    Count,
    /// The values of a column, each with its count: numbers in ascending order; for texts, only the `first`, the most frequent before
    /// others.
    Values {
        column: &'static str,
        is_text: bool,
        first: u64,
    },
    /// Groups by a column, with metrics of these columns for each group.
    Groups {
        by: &'static str,
        is_text: bool,
        of: Vec<Measured>,
    },
}

/// Rows in an order: after a known row, or `skip` of them from the start or the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowsPage {
    /// Sort columns, each with whether it descends; then follow those of the table's own order.
    pub sort: Vec<(&'static str, bool)>,
    /// The preceding row, by its values in the columns of the order.
    pub after: Vec<Scalar<'static>>,
    pub skip: u64,
    pub count: u64,
    /// Whether `skip` counts from the end.
    pub from_end: bool,
}

/// A column to aggregate in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measured {
    Whole(&'static str),
    Float(&'static str),
    /// Its values are only counted.
    Counted(&'static str),
}
