//! A loaded table: its rows (in memory or in the cache), their origin, and the issues found in them.

use std::sync::Arc;

use polars::prelude::DataFrame;
use sha2::{Digest as _, Sha256};

use crate::{engine_rows::EngineRows, error::ReadError};
use frames::{
    order,
    report::{TableFile, TokenStatistic},
    rows::Frames as _,
};
use model::{
    findings::Findings,
    rows::FromColumns,
    schema::{Column, TableSchema},
    table_state::TableState,
    time::Time,
    token::TokenApart,
};
use table::TableRows;

/// A loaded table, for the generic views (Data view, `/datasets`, exports).
#[derive(Debug, Clone)]
pub struct Table {
    pub schema: &'static TableSchema,
    /// Its rows, sorted, without duplicate keys; empty unless `state` is `Loaded`. Of a table at an engine, those that came with it: the days
    /// of candles.
    pub rows: Arc<TableRows>,
    /// Set for a table that is queried in place at an engine.
    pub engine: Option<Arc<EngineRows>>,
    /// Columns that `dataset.toml` declares approximate.
    pub approximate: Vec<String>,
    pub state: TableState,
    /// Position in the files of the error that made the table unusable.
    pub error_position: Option<SourcePosition>,
    pub sources: Vec<TableFile>,
    pub findings: Findings,
    /// Values to be cross-checked against other tables.
    pub statistics: Vec<TokenStatistic>,
    /// Origin of the rows of a remote table.
    pub remote: Option<RemoteOrigin>,
    /// Whether the table is unusable because one of its files was written to during the read.
    pub changed_during_read: bool,
    /// Rows of `tokens` for tokens other than the one stored at their address.
    pub apart: Vec<TokenApart>,
    /// Number of rejected rows.
    pub rows_bad: u64,
    /// Load time in milliseconds.
    pub load_ms: u64,
}

/// A position in the source files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// Path, relative to the dataset's folder for files inside it.
    pub file: String,
    /// 1-based row, counting data rows only; in `dataset.toml`, the line.
    pub row: Option<u64>,
}

/// Origin of a remote table's rows, for the views and the API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteOrigin {
    /// Names of its sources.
    pub sources: Vec<String>,
    /// Time of the earlier load whose rows are used, because the source could not be reached.
    pub as_of: Option<Time>,
    /// Whether the source could not be reached and no earlier rows were stored.
    pub unreached: bool,
    /// Whether the table cannot be queried in place in its present form.
    pub refused: bool,
}

impl Table {
    pub fn absent(schema: &'static TableSchema) -> Self {
        Self {
            schema,
            rows: Arc::new(TableRows::empty(schema)),
            engine: None,
            approximate: Vec::new(),
            state: TableState::Absent,
            error_position: None,
            sources: Vec::new(),
            findings: Findings::default(),
            statistics: Vec::new(),
            remote: None,
            changed_during_read: false,
            apart: Vec::new(),
            rows_bad: 0,
            load_ms: 0,
        }
    }

    /// A loaded table with these rows.
    pub fn stored(schema: &'static TableSchema, rows: TableRows) -> Self {
        Self {
            rows: Arc::new(rows),
            state: TableState::Loaded,
            ..Self::absent(schema)
        }
    }

    /// The same table with other rows: in canonical columns, each key once.
    pub fn with_rows(self, frame: &DataFrame) -> Result<Self, ReadError> {
        let mut rows = TableRows::in_memory(self.schema, frame)?;
        if !rows.tokens().is_sorted_by(|a, b| a < b) {
            let sorted = order::sorted(self.schema.order, frame.clone())?;
            rows = TableRows::in_memory(self.schema, &sorted)?;
        }
        Ok(Self {
            rows: Arc::new(rows),
            ..self
        })
    }

    /// The rows that are in memory, in the schema's columns; empty if they are in the cache or at an engine.
    pub fn frame(&self) -> DataFrame {
        let names: Vec<&str> = self
            .schema
            .columns
            .iter()
            .map(|column| column.name)
            .collect();
        self.held().map_or_else(DataFrame::default, |rows| {
            rows.slice(0..rows.height(), Some(&names))
        })
    }

    /// The typed rows that are in memory; empty if they are in the cache or at an engine.
    pub fn typed<T: FromColumns>(&self) -> Vec<T> {
        self.held().map_or_else(Vec::new, |rows| {
            T::from_columns(&rows.range(0..rows.height()))
        })
    }

    fn held(&self) -> Option<&TableRows> {
        (self.rows.is_held() && self.engine.is_none()).then_some(&*self.rows)
    }

    /// The rows in the cache, if the table is stored there.
    pub fn large(&self) -> Option<&Arc<TableRows>> {
        Some(&self.rows).filter(|rows| !rows.is_held() && self.engine.is_none())
    }

    /// The rows at an engine, if they stay there.
    pub fn engine_rows(&self) -> Option<&Arc<EngineRows>> {
        self.engine.as_ref()
    }

    /// The columns outside the schema.
    pub fn own_columns(&self) -> impl Iterator<Item = &'static Column> {
        let columns = self.rows.columns();
        columns.filter(|column| self.schema.column(column.name).is_none())
    }

    /// Number of rows, wherever they are.
    pub fn height(&self) -> usize {
        self.engine
            .as_ref()
            .map_or_else(|| self.rows.height(), |at_engine| at_engine.rows as usize)
    }

    /// SHA-256 of all rows in memory; for other rows, of the heads and tails of their files.
    pub fn rows_hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let frame = self.frame();
        let columns = frame.columns().iter();
        let names: Vec<&str> = columns.map(|column| column.name().as_str()).collect();
        for row in order::hashes(&frame, &names).unwrap_or_default() {
            hash.update(row.to_le_bytes());
        }
        for file in self.sources.iter().filter(|_| frame.height() == 0) {
            hash.update(file.ends);
        }
        hash.finalize().into()
    }

    /// Whether its rows were found damaged since it was loaded.
    pub(super) fn is_damaged(&self) -> bool {
        self.rows.is_damaged() || self.engine.as_ref().is_some_and(|rows| rows.is_damaged())
    }

    pub fn loaded(&self) -> bool {
        self.state == TableState::Loaded
    }

    /// The table's first file, for a finding that belongs to no particular file.
    pub(super) fn first_file(&self) -> String {
        self.sources
            .first()
            .map_or_else(|| self.schema.name.to_owned(), |source| source.file.clone())
    }

    /// Time at which its rows were read by an earlier load, if this one could not reach the source.
    pub fn stale_since(&self) -> Option<Time> {
        self.remote.as_ref().filter(|_| self.loaded())?.as_of
    }
}
