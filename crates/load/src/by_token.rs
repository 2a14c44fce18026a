//! Rows of a table by token: typed in memory, or read on demand.

use std::{marker::PhantomData, ops::Range, sync::Arc};

use crate::Table;
use model::{
    address::Address,
    rows::{FromColumns, HolderRow, PostFigures, SocialPost},
};
use table::TableRows;

/// Rows read at a time.
const CHUNK_ROWS: usize = 4_096;

/// The rows of a small table, each typed once.
#[derive(Debug)]
pub(super) struct Typed<T> {
    rows: Vec<T>,
    table: Option<Arc<TableRows>>,
}

impl<T> Default for Typed<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            table: None,
        }
    }
}

impl<T: FromColumns> Typed<T> {
    pub(super) fn new(table: &Table) -> Self {
        Self {
            rows: T::from_columns(&table.rows.range(0..table.rows.height())),
            table: Some(Arc::clone(&table.rows)),
        }
    }

    /// The rows, each changed by `change`, which keeps its address.
    pub(super) fn map(self, change: impl FnMut(T) -> T) -> Self {
        Self {
            rows: self.rows.into_iter().map(change).collect(),
            ..self
        }
    }

    /// The rows of the address that the table is ordered by.
    pub(super) fn of(&self, address: &Address) -> &[T] {
        let rows = self.table.as_ref().map(|table| table.rows_of(address));
        rows.and_then(|rows| self.rows.get(rows))
            .unwrap_or_default()
    }
}

/// Consecutive rows of a table, those of one token or all, read in chunks.
#[derive(Debug, Clone)]
pub struct RowsOf<'a, T> {
    table: &'a TableRows,
    rows: Range<usize>,
    row: PhantomData<fn() -> T>,
}

impl<'a, T: FromColumns> RowsOf<'a, T> {
    pub(super) fn of(table: &'a TableRows, token: &Address) -> Self {
        Self {
            rows: table.rows_of(token),
            ..Self::all(table)
        }
    }

    pub(super) fn all(table: &'a TableRows) -> Self {
        Self {
            table,
            rows: 0..table.height(),
            row: PhantomData,
        }
    }

    /// The table that they are rows of.
    pub fn table(&self) -> &'a TableRows {
        self.table
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows of the range, clamped to the length.
    pub fn part(&self, places: Range<usize>) -> Vec<T> {
        let places = places.start.min(self.len())..places.end.min(self.len());
        read(
            self.table,
            self.rows.start + places.start..self.rows.start + places.end,
        )
    }

    pub fn get(&self, place: usize) -> Option<T> {
        self.part(place..place.saturating_add(1)).pop()
    }

    /// Iterates over the rows.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        self.each()
    }

    fn each<R: FromColumns>(&self) -> impl Iterator<Item = R> + use<'a, T, R> {
        let (table, end) = (self.table, self.rows.end);
        self.rows
            .clone()
            .step_by(CHUNK_ROWS)
            .flat_map(move |start| read(table, start..(start + CHUNK_ROWS).min(end)))
    }

    /// The metrics of posts only; cheaper than reading whole posts.
    pub fn figures(&self) -> impl Iterator<Item = PostFigures> + use<'a, T> {
        self.each()
    }

    /// What the social metrics read of posts.
    pub fn social(&self) -> impl Iterator<Item = SocialPost> + use<'a, T> {
        self.each()
    }
}

impl<'a> RowsOf<'a, HolderRow> {
    /// Holder and balance of each row; other columns are not read.
    pub fn balances(&self) -> impl Iterator<Item = (Address, Option<f64>)> + use<'a> {
        let addresses = self.table.addresses("holder_address", self.rows.clone());
        let balances = self.table.floats("balance", self.rows.clone());
        let rows = addresses
            .unwrap_or_default()
            .iter()
            .zip(balances.unwrap_or_default());
        rows.map(|(address, balance)| {
            (
                Address(*address),
                Some(*balance).filter(|balance| balance.is_finite()),
            )
        })
    }
}

fn read<T: FromColumns>(table: &TableRows, rows: Range<usize>) -> Vec<T> {
    if rows.is_empty() {
        return Vec::new();
    }
    T::from_columns(&table.range(rows))
}
