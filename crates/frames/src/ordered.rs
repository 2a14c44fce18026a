//! Rows of a table in an order, read in batches for an export.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use crate::{error::FrameError, export::RowBatches, rows::Frames as _};
use table::{RowSelection, TableRows};

/// Rows of a table in a given order, for an export.
#[derive(Debug)]
pub struct Ordered {
    pub table: Arc<TableRows>,
    pub places: RowSelection,
    /// Range within `places`.
    pub nth: Range<usize>,
    pub columns: Vec<&'static str>,
}

impl Ordered {
    /// All of `places`.
    pub fn new(table: Arc<TableRows>, places: RowSelection, columns: Vec<&'static str>) -> Self {
        Self {
            table,
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
    pub fn all(&self) -> Result<DataFrame, FrameError> {
        self.frame(0..self.nth.len())
    }
}

impl RowBatches for Ordered {
    fn count(&self) -> usize {
        self.nth.len()
    }

    fn frame(&self, rows: Range<usize>) -> Result<DataFrame, FrameError> {
        let frame = self.table.at(
            &self.places,
            self.nth.start + rows.start..self.nth.start + rows.end,
            Some(&self.columns),
        );
        // The table returns its columns in its own order.
        let frame = frame.select(self.columns.iter().copied())?;
        if self.table.is_damaged() {
            Err(FrameError::DamagedTable)
        } else {
            Ok(frame)
        }
    }
}
