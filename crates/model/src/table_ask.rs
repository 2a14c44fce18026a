//! What can be asked of a table that stays at its source: rows in an order, the values of a column, or groups of rows.

use super::address::Address;

/// A query of rows. How it is said to the source is the storage's affair.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableAsk {
    pub table: &'static str,
    /// Only rows of these tokens; empty: of all.
    pub tokens: Vec<Address>,
    /// Which of their rows, as an expression over the schema's columns; empty: all.
    pub condition: String,
    pub wanted: AskKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AskKind {
    Page(RowsPage),
    /// Only their number.
    Count,
    /// The values of a column, each with its count: numbers in ascending order; of texts only the `first`, the most frequent before.
    Values {
        column: &'static str,
        is_text: bool,
        first: u64,
    },
    /// Groups by a column, with what is known of each in these columns.
    Groups {
        by: &'static str,
        is_text: bool,
        of: Vec<Measured>,
    },
}

/// Rows in an order: after a known row, or `skip` of them from the start or the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowsPage {
    /// Columns, and whether they fall; then come those of the table's own order.
    pub sort: Vec<(&'static str, bool)>,
    /// The row before, by its values in the columns of the order.
    pub after: Vec<KeyValue>,
    pub skip: u64,
    pub count: u64,
    /// Whether `skip` counts from the end.
    pub from_end: bool,
}

/// A column of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measured {
    Whole(&'static str),
    Float(&'static str),
    /// Its values are only counted.
    Counted(&'static str),
}

/// A value in a column of an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyValue {
    Missing,
    Whole(i64),
    /// The bits of a float.
    Float(u64),
    Text(String),
}
