//! Rows of any table, in memory or in the cache, for views that read them by cell or by range.

mod sort;

use std::{ops::Range, sync::Arc};

use polars::prelude::{DataFrame, IdxCa, NamedFrom};

pub use self::sort::SortedRows;
use super::{
    Storage, Table,
    cache::{Extent, LargeTable, RowSelection, RowSelectionWriter},
    export::RowBatches,
};
use source::coerce;

/// Rows of canonical columns. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Grid {
    Memory(DataFrame),
    Large(Arc<LargeTable>),
}

impl Grid {
    /// Grid of a table, including the columns outside the schema; without rows if the table is queried in place.
    pub fn of(table: &Table) -> Self {
        match &table.storage {
            Storage::Large(large) => Self::Large(Arc::clone(large)),
            Storage::InPlace(_) => {
                let columns = table
                    .schema
                    .columns
                    .iter()
                    .map(|column| coerce::empty(column, 0))
                    .collect();
                Self::Memory(DataFrame::new(0, columns).unwrap_or_default())
            }
            Storage::Memory(frame) => {
                let new: Vec<_> = table
                    .others
                    .columns()
                    .iter()
                    .filter(|column| frame.column(column.name()).is_err())
                    .cloned()
                    .collect();
                Self::Memory(if new.is_empty() {
                    frame.clone()
                } else {
                    frame.hstack(&new).unwrap_or_else(|_| frame.clone())
                })
            }
        }
    }

    /// The same columns, without rows.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        Self::Memory(self.slice(0..0, None))
    }

    pub fn height(&self) -> usize {
        match self {
            Self::Memory(frame) => frame.height(),
            Self::Large(table) => table.height(),
        }
    }

    pub fn has(&self, column: &str) -> bool {
        match self {
            Self::Memory(frame) => frame.column(column).is_ok(),
            Self::Large(table) => table.schema().column(column).is_some(),
        }
    }

    /// A range of rows, with some columns or all.
    pub fn slice(&self, rows: Range<usize>, columns: Option<&[&str]>) -> DataFrame {
        match self {
            Self::Large(table) => table.slice(rows, columns),
            Self::Memory(frame) => {
                let part = frame.slice(rows.start as i64, rows.len());
                match columns {
                    Some(columns) => part.select(columns.iter().copied()).unwrap_or(part),
                    None => part,
                }
            }
        }
    }

    /// The rows of a range of `places`, in that order.
    pub fn at(
        &self,
        places: &RowSelection,
        nth: Range<usize>,
        columns: Option<&[&str]>,
    ) -> DataFrame {
        let nth = nth.start.min(places.len())..nth.end.min(places.len());
        if let RowSelection::Run(rows) = places {
            return self.slice(rows.start + nth.start..rows.start + nth.end, columns);
        }
        let rows: Vec<u32> = nth
            .filter_map(|nth| places.get(nth))
            .map(|place| place as u32)
            .collect();
        match self {
            Self::Large(table) => table.gather(&rows, columns),
            Self::Memory(frame) => {
                let part = columns.and_then(|columns| frame.select(columns.iter().copied()).ok());
                part.as_ref()
                    .unwrap_or(frame)
                    .take(&IdxCa::new("rows".into(), rows))
                    .unwrap_or_default()
            }
        }
    }

    /// The minimum and maximum of a column in these rows (the zone map), where known without reading them.
    pub fn extent(&self, column: &str, rows: Range<usize>) -> Option<Extent> {
        match self {
            Self::Memory(_) => None,
            Self::Large(table) => table.extent(column, rows),
        }
    }

    /// Whether rows without a value in the column are among those that `extent` may rule out.
    pub fn extent_has_nulls(&self, column: &str) -> bool {
        matches!(self, Self::Large(table) if table.has_nulls(column))
    }

    /// A writer for a list of row numbers, in memory or in a file next to the large table.
    pub fn selection(&self) -> RowSelectionWriter {
        RowSelectionWriter::for_table(if let Self::Large(table) = self {
            Some(table)
        } else {
            None
        })
    }

    /// Whether a checksum in the cache did not match; see `LargeTable::is_damaged`.
    pub fn is_damaged(&self) -> bool {
        matches!(self, Self::Large(table) if table.is_damaged())
    }
}

/// Rows of a grid in a given order, for an export.
#[derive(Debug)]
pub struct Ordered {
    pub grid: Grid,
    pub places: RowSelection,
    /// Range within `places`.
    pub nth: Range<usize>,
    pub columns: Vec<&'static str>,
}

impl Ordered {
    /// All of `places`.
    pub fn new(grid: Grid, places: RowSelection, columns: Vec<&'static str>) -> Self {
        Self {
            grid,
            nth: 0..places.len(),
            places,
            columns,
        }
    }

    /// Clamps the range to the rows that exist.
    #[must_use]
    pub fn within(mut self) -> Self {
        let end = self.nth.end.min(self.places.len());
        self.nth = self.nth.start.min(end)..end;
        self
    }

    /// All rows as one frame.
    pub fn all(&self) -> Result<DataFrame, String> {
        self.frame(0..self.nth.len())
    }
}

impl RowBatches for Ordered {
    fn count(&self) -> usize {
        self.nth.len()
    }

    fn frame(&self, rows: Range<usize>) -> Result<DataFrame, String> {
        let frame = self.grid.at(
            &self.places,
            self.nth.start + rows.start..self.nth.start + rows.end,
            Some(&self.columns),
        );
        // A large table returns its columns in schema order.
        let frame = frame
            .select(self.columns.iter().copied())
            .map_err(|error| error.to_string())?;
        if self.grid.is_damaged() {
            Err("the cached table is damaged; press r to reload the data".to_owned())
        } else {
            Ok(frame)
        }
    }
}
