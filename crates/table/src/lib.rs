//! The rows of a table, `TableRows`: in memory, or memory-mapped from a sorted Arrow IPC file of the user's cache; the bytes have the same
//! form in both. Building tables, and frames of their rows, belong to `frames`.
//!
//! The file, `rows.arrow`, has one record batch. Token and interval are stored in `index` only, beside the zone map (min/max statistics
//! of each block of rows) and a checksum of each 4 KiB page, which is verified when the page is first read.
//!
//! A filter (`filter`) is evaluated over any columns, these or those of a list; `sort` orders rows without reading more than it needs.

pub mod bounds;
pub mod error;
pub mod filter;
pub mod index;
pub mod keys;
pub mod map;
mod row_selection;
pub mod rows;
mod sort;
mod typed;

pub use self::{
    bounds::Extent,
    error::TableError,
    map::{set_mmap_threshold, trim_heap},
    row_selection::{RowSelection, RowSelectionWriter},
    rows::TableRows,
    sort::{SortBy, SortedRows, sort_rows, top_rows},
};
use model::schema::{Column, Kind, TableSchema};

/// Memory limits of filtering and sorting a large table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortLimits {
    /// Row numbers held in memory; more of them are spilled to a file.
    pub in_memory: usize,
    /// Rows sorted at once; of more than these a top-k search finds the first rows before the full sort is done.
    pub at_once: usize,
}

impl Default for SortLimits {
    fn default() -> Self {
        Self {
            in_memory: 1 << 20,
            at_once: 200_000,
        }
    }
}

/// A whole number that is null, as it is stored.
pub const UNKNOWN: i64 = i64::MIN;

/// Storage type of a column in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageType {
    Float,
    Integer,
    /// Milliseconds.
    Time,
    /// Days since 1970.
    Day,
    /// 20 bytes.
    Address,
    /// Bytes, displayed as hex.
    Hex,
    Text,
    /// 0 or 1.
    Flag,
    /// Texts, each ended by a zero byte.
    List,
}

impl StorageType {
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Float => Self::Float,
            Kind::Integer => Self::Integer,
            Kind::Time => Self::Time,
            Kind::Date => Self::Day,
            Kind::Address => Self::Address,
            Kind::Hex => Self::Hex,
            Kind::Text | Kind::Chain | Kind::Uint256 => Self::Text,
            Kind::Boolean => Self::Flag,
            Kind::Chains | Kind::Addresses => Self::List,
        }
    }

    /// Whether its values are whole numbers of 64 bits, `UNKNOWN` for a null.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Integer | Self::Time | Self::Day | Self::Flag)
    }

    /// Bytes per value; none for variable width.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Float | Self::Integer | Self::Time | Self::Day | Self::Flag => Some(8),
            Self::Address => Some(20),
            Self::Hex | Self::Text | Self::List => None,
        }
    }
}

/// A column of the file with its storage type.
pub type StoredColumn = (&'static Column, StorageType);

/// Columns of a table's rows: all except those in the index.
pub fn stored_columns(schema: &TableSchema) -> Vec<StoredColumn> {
    let columns = schema
        .columns
        .iter()
        .filter(|column| !in_index(schema, column.name));
    columns
        .map(|column| (column, StorageType::of(column.kind)))
        .collect()
}

/// The column that rows are grouped by: the token, or the pool for events. Empty for a table that is not ordered by an address.
pub fn group_column(schema: &TableSchema) -> &'static str {
    let first = schema.order.first().copied().unwrap_or_default();
    let is_address = schema
        .column(first)
        .is_some_and(|column| column.kind == Kind::Address);
    if is_address { first } else { "" }
}

/// Whether the column is stored in the index: the token, and the interval of candles.
pub fn in_index(schema: &TableSchema, column: &str) -> bool {
    column == group_column(schema) || schema.name == "candles" && column == "interval"
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    #[test]
    fn every_table_that_may_be_large_can_be_kept() {
        for schema in schema::TABLES.iter().filter(|schema| schema.mapped) {
            let name = schema.name;
            let columns = stored_columns(schema);
            let is_kept = |(_, storage): &StoredColumn| {
                !matches!(storage, StorageType::Flag | StorageType::List)
            };
            assert!(!columns.is_empty() && columns.iter().all(is_kept), "{name}");
            assert_eq!(
                schema
                    .column(group_column(schema))
                    .map(|column| column.kind),
                Some(Kind::Address),
                "{name}"
            );
        }
    }
}
