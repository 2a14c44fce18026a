//! The rows that a filter judges, column by column: of a table as they are stored, of a list value by value.

use std::{marker::PhantomData, ops::Range};

use crate::{Extent, TableRows};
use model::{
    address::Address,
    scalar::Scalar,
    schema::Kind,
    time::{Day, Time},
};

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
    /// What returns the value of a row; none where a row is known to have none, which then is no gap in the data.
    Each(Box<dyn Fn(usize) -> Option<Scalar<'a>> + 'a>),
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
    pub fn get(&self, nth: usize, row: usize) -> Option<Scalar<'_>> {
        match self {
            Self::Missing => Some(Scalar::Missing),
            Self::Floats(floats) => match *floats.get(nth)? {
                float if float.is_nan() => Some(Scalar::Missing),
                float => Some(Scalar::Float(float)),
            },
            Self::Whole(numbers, kind) => Some(of_whole(*kind, *numbers.get(nth)?)),
            Self::Addresses(addresses) => Some(Address(*addresses.get(nth)?).to_string().into()),
            Self::Runs(runs) => {
                let run = runs.partition_point(|(_, rows)| rows.end <= row);
                Some(runs.get(run)?.0.borrowed())
            }
            Self::Each(read) => read(row),
        }
    }
}

/// Rows with columns.
pub trait Columns {
    /// The values of these rows in a column.
    fn values(&self, column: &'static str, rows: Range<usize>) -> Values<'_>;

    /// The table whose rows they are.
    fn table(&self) -> Option<&TableRows> {
        None
    }

    /// Smallest and largest value of a column within the rows, and its kind, where they are known without reading the rows. Rows in memory
    /// are read, so that all that lack a value are counted.
    fn zone(&self, column: &str, rows: Range<usize>) -> Option<(Extent, Kind)> {
        let table = self.table().filter(|table| !table.is_held())?;
        Some((
            table.extent(column, rows)?,
            table.column_named(column)?.kind,
        ))
    }
}

/// The values of single rows of a table.
pub fn one_by_one<'a>(table: &'a TableRows, column: &'static str) -> Values<'a> {
    let of_number = table
        .column_named(column)
        .is_some_and(|column| column.kind == Kind::Uint256);
    match table.reader(column) {
        Some(read) => Values::Each(Box::new(move |row| {
            let value = read(row);
            Some(if of_number { value.number() } else { value })
        })),
        // In the index, if anywhere.
        None => Values::Each(Box::new(move |row| Some(table.cell(column, row)))),
    }
}

impl Columns for TableRows {
    fn values(&self, column: &'static str, rows: Range<usize>) -> Values<'_> {
        if let Some(runs) = self.runs(column, rows.clone()) {
            let runs = runs.into_iter().map(|(text, rows)| (text.into(), rows));
            return Values::Runs(runs.collect());
        }
        let kind = self.column_named(column).map(|column| column.kind);
        match kind.filter(|_| !self.is_hollow(column)) {
            None => Values::Missing,
            Some(kind @ (Kind::Integer | Kind::Time | Kind::Date)) => self
                .whole_numbers(column, rows)
                .map_or(Values::Missing, |numbers| Values::Whole(numbers, kind)),
            Some(Kind::Float) => self
                .floats(column, rows)
                .map_or(Values::Missing, Values::Floats),
            Some(Kind::Address) if !self.has_nulls(column) => self
                .addresses(column, rows)
                .map_or(Values::Missing, Values::Addresses),
            Some(_) => one_by_one(self, column),
        }
    }

    fn table(&self) -> Option<&TableRows> {
        Some(self)
    }
}

/// Rows whose values are read one by one, by what returns the value of a row in a column, as in `Values::Each`.
pub struct ListColumns<'r, F>(F, PhantomData<Scalar<'r>>);

impl<'r, F: Fn(usize, &'static str) -> Option<Scalar<'r>>> ListColumns<'r, F> {
    pub fn new(field: F) -> Self {
        Self(field, PhantomData)
    }
}

impl<'r, F: Fn(usize, &'static str) -> Option<Scalar<'r>>> Columns for ListColumns<'r, F> {
    fn values(&self, column: &'static str, _: Range<usize>) -> Values<'_> {
        Values::Each(Box::new(move |row| (self.0)(row, column)))
    }
}
