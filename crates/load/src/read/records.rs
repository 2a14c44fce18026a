//! Builds batches from records of text cells, whatever their order and number of columns.

use std::collections::HashMap;

use polars::prelude::{Column, IntoColumn, PlSmallStr, StringChunkedBuilder};

use super::{BATCH_ROWS, ColumnFilter, SourceBatch, SourceError};

/// Maximum number of columns of a file.
pub(super) const COLUMNS_MAX: usize = 10_000;

/// Builder of batches.
pub(super) struct Records {
    wanted: ColumnFilter,
    /// All columns seen, in order of first appearance.
    names: Vec<String>,
    index: HashMap<String, usize>,
    /// Cells of each selected column; shorter than `rows` where the last records lack it.
    cells: Vec<Option<StringChunkedBuilder>>,
    lengths: Vec<usize>,
    rows: usize,
    first_row: u64,
    malformed: Vec<(usize, &'static str)>,
}

impl Records {
    pub(super) fn new(wanted: ColumnFilter) -> Self {
        Self {
            wanted,
            names: Vec::new(),
            index: HashMap::new(),
            cells: Vec::new(),
            lengths: Vec::new(),
            rows: 0,
            first_row: 1,
            malformed: Vec::new(),
        }
    }

    /// Sets the number of rows before the first one.
    pub(super) fn follow(&mut self, rows: u64) {
        self.first_row = rows + 1;
    }

    /// Number of the next row.
    pub(super) fn next_row(&self) -> u64 {
        self.first_row + self.rows as u64
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn full(&self) -> bool {
        self.rows >= BATCH_ROWS
    }

    /// Adds a column, even if one of that name exists; returns its index.
    pub(super) fn add_column(&mut self, name: &str) -> Result<usize, SourceError> {
        if self.names.len() >= COLUMNS_MAX {
            return Err(SourceError::TooManyColumns { max: COLUMNS_MAX });
        }
        let position = self.names.len();
        self.cells.push((self.wanted)(name).then(|| builder(name)));
        self.names.push(name.to_owned());
        self.lengths.push(0);
        self.index.entry(name.to_owned()).or_insert(position);
        Ok(position)
    }

    /// Index of the column of that name, which is added if it is new.
    pub(super) fn column(&mut self, name: &str) -> Result<usize, SourceError> {
        match self.index.get(name) {
            Some(&position) => Ok(position),
            None => self.add_column(name),
        }
    }

    pub(super) fn is_wanted(&self, column: usize) -> bool {
        self.cells[column].is_some()
    }

    /// Sets a cell of the current record; the first value of a column wins.
    pub(super) fn put(&mut self, column: usize, text: Option<&str>) {
        let (rows, length) = (self.rows, &mut self.lengths[column]);
        if let Some(cells) = &mut self.cells[column]
            && *length <= rows
        {
            while *length < rows {
                cells.append_null();
                *length += 1;
            }
            cells.append_option(text);
            *length += 1;
        }
    }

    /// Completes the record.
    pub(super) fn end_record(&mut self) {
        self.rows += 1;
    }

    /// Completes the record as malformed.
    pub(super) fn malformed(&mut self, reason: &'static str) {
        self.malformed.push((self.rows, reason));
        self.rows += 1;
    }

    /// Returns the batch built so far, and begins the next one.
    pub(super) fn take(&mut self) -> SourceBatch {
        let height = self.rows;
        let mut columns: Vec<Column> = Vec::new();
        for ((cells, length), name) in self
            .cells
            .iter_mut()
            .zip(&mut self.lengths)
            .zip(&self.names)
        {
            if let Some(cells) = cells {
                while *length < height {
                    cells.append_null();
                    *length += 1;
                }
                columns.push(
                    std::mem::replace(cells, builder(name))
                        .finish()
                        .into_column(),
                );
            }
            *length = 0;
        }
        let malformed = std::mem::take(&mut self.malformed);
        let batch = SourceBatch {
            columns,
            height,
            first_row: self.first_row,
            malformed,
            ..SourceBatch::default()
        };
        self.first_row += height as u64;
        self.rows = 0;
        batch
    }
}

fn builder(name: &str) -> StringChunkedBuilder {
    StringChunkedBuilder::new(PlSmallStr::from_str(name), 0)
}
