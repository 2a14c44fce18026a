//! The rows that a filter judges, column by column: of a table as they are stored, of a list value by value.

use std::{marker::PhantomData, ops::Range};

use model::{
    address::Address,
    scalar::Scalar,
    schema::Kind,
    time::{Day, Time},
};
use store::cache::{Extent, RowSelectionWriter, TableRows};

/// The values of consecutive rows in a column.
pub enum Values<'a> {
    /// No row has one.
    Missing,
    /// NaN is missing.
    Floats(&'a [f64]),
    /// Integers, times or days, by the kind of the column; the least integer is missing.
    Whole(&'a [i64], Kind),
    /// None is missing.
    Addresses(&'a [[u8; 20]]),
    /// Values that many rows share, with the rows that each is of.
    Runs(Vec<(Scalar<'a>, Range<usize>)>),
    /// What returns the value of a row.
    Each(Box<dyn Fn(usize) -> Scalar<'a> + 'a>),
}

/// The value of a cell of this kind that is stored as an integer.
pub(super) fn of_whole(kind: Kind, number: i64) -> Scalar<'static> {
    match kind {
        _ if number == i64::MIN => Scalar::Missing,
        Kind::Time => Scalar::Time(Time(number)),
        Kind::Date => i32::try_from(number).map_or(Scalar::Missing, |day| Scalar::Day(Day(day))),
        _ => Scalar::Whole(number),
    }
}

impl Values<'_> {
    /// The value of the `nth` row, whose number is `row`.
    pub(in crate::question) fn get(&self, nth: usize, row: usize) -> Scalar<'_> {
        let found = match self {
            Self::Missing => None,
            Self::Runs(runs) => runs
                .get(runs.partition_point(|(_, rows)| rows.end <= row))
                .map(|(value, _)| value.borrowed()),
            Self::Floats(floats) => floats
                .get(nth)
                .filter(|float| !float.is_nan())
                .map(|float| Scalar::Float(*float)),
            Self::Whole(numbers, kind) => numbers.get(nth).map(|number| of_whole(*kind, *number)),
            Self::Addresses(addresses) => addresses
                .get(nth)
                .map(|address| Scalar::text(Address(*address).to_string())),
            Self::Each(read) => Some(read(row)),
        };
        found.unwrap_or(Scalar::Missing)
    }
}

/// Rows with columns.
pub trait Columns {
    fn height(&self) -> usize;

    /// The values of these rows in a column.
    fn values(&self, column: &'static str, rows: Range<usize>) -> Values<'_>;

    /// Smallest and largest value of a column within the rows, and its kind, where they are known without reading the rows.
    fn zone(&self, _column: &str, _rows: Range<usize>) -> Option<(Extent, Kind)> {
        None
    }

    /// Whether the row, which has no value in the column, lacks it: then it may meet a condition. One that is known to have none does not.
    fn lacks(&self, _column: &str, _row: usize) -> bool {
        true
    }

    /// Whether rows lack values in the column.
    fn has_gaps(&self, _column: &str) -> bool {
        true
    }

    /// Collects rows.
    fn collector(&self) -> RowSelectionWriter {
        RowSelectionWriter::default()
    }
}

/// The values of single rows of a table.
pub(in crate::question) fn one_by_one<'a>(
    table: &'a TableRows,
    column: &'static str,
) -> Values<'a> {
    let kind = table.column_named(column).map(|column| column.kind);
    match (table.reader(column), kind) {
        (Some(read), Some(Kind::Uint256)) => Values::Each(Box::new(move |row| read(row).number())),
        (Some(read), _) => Values::Each(Box::new(read)),
        // In the index, if anywhere.
        (None, _) => Values::Each(Box::new(move |row| table.cell(column, row))),
    }
}

impl Columns for TableRows {
    fn height(&self) -> usize {
        self.height()
    }

    fn values(&self, column: &'static str, rows: Range<usize>) -> Values<'_> {
        if let Some(runs) = self.runs(column, rows.clone()) {
            let runs = runs.into_iter();
            let runs: Vec<_> = runs
                .map(|(text, rows)| (Scalar::text(text), rows))
                .collect();
            // The index has all rows or none.
            return if runs.is_empty() {
                Values::Missing
            } else {
                Values::Runs(runs)
            };
        }
        let Some(known) = self
            .column_named(column)
            .filter(|_| !self.is_hollow(column))
        else {
            return Values::Missing;
        };
        if let Some(floats) = self.floats(column, rows.clone()) {
            return Values::Floats(floats);
        }
        if let Some(numbers) = self.whole_numbers(column, rows.clone()) {
            return Values::Whole(numbers, known.kind);
        }
        if let Some(addresses) = self
            .addresses(column, rows)
            .filter(|_| !self.has_nulls(column))
        {
            return Values::Addresses(addresses);
        }
        one_by_one(self, column)
    }

    fn zone(&self, column: &str, rows: Range<usize>) -> Option<(Extent, Kind)> {
        // Rows in memory are read, so that all that lack a value are counted.
        if self.is_held() {
            return None;
        }
        Some((self.extent(column, rows)?, self.column_named(column)?.kind))
    }

    fn has_gaps(&self, column: &str) -> bool {
        self.has_nulls(column)
    }

    fn collector(&self) -> RowSelectionWriter {
        RowSelectionWriter::for_table(self)
    }
}

/// Rows whose values are read one by one.
pub struct ListColumns<'r, F, L> {
    height: usize,
    field: F,
    lacks: L,
    values: PhantomData<Scalar<'r>>,
}

impl<'r, F, L> ListColumns<'r, F, L>
where
    F: Fn(usize, &'static str) -> Scalar<'r>,
    L: Fn(usize, &str) -> bool,
{
    /// `field` returns the value of a row in a column, `lacks` whether a row lacks the one that it does not have, as in `Columns`.
    pub fn new(height: usize, field: F, lacks: L) -> Self {
        Self {
            height,
            field,
            lacks,
            values: PhantomData,
        }
    }
}

impl<'r, F, L> Columns for ListColumns<'r, F, L>
where
    F: Fn(usize, &'static str) -> Scalar<'r>,
    L: Fn(usize, &str) -> bool,
{
    fn height(&self) -> usize {
        self.height
    }

    fn values(&self, column: &'static str, _: Range<usize>) -> Values<'_> {
        Values::Each(Box::new(move |row| (self.field)(row, column)))
    }

    fn lacks(&self, column: &str, row: usize) -> bool {
        (self.lacks)(row, column)
    }
}
