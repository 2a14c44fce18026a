//! The rows of any table for those who show them cell by cell or stretch by stretch, wherever they are.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use super::{Table, cache::LargeTable};

/// Rows of canonical columns. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Grid {
    Memory(DataFrame),
    Large(Arc<LargeTable>),
}

impl Grid {
    pub fn of(table: &Table) -> Self {
        table.large.as_ref().map_or_else(|| Self::Memory(table.frame.clone()), |large| Self::Large(Arc::clone(large)))
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

    /// These rows of some columns, or of all.
    pub fn stretch(&self, rows: Range<usize>, columns: Option<&[&str]>) -> DataFrame {
        match self {
            Self::Large(table) => table.stretch(rows, columns),
            Self::Memory(frame) => {
                let part = frame.slice(rows.start as i64, rows.len());
                match columns {
                    Some(columns) => part.select(columns.iter().copied()).unwrap_or(part),
                    None => part,
                }
            }
        }
    }
}
