//! The rows of tables, `TableRows`. A small table is in memory (`memory`). A larger one is imported once into the user's cache as a sorted Arrow
//! IPC file, and memory-mapped from then on; its bytes have the same form in memory and in the file. `build` makes both.
//!
//! The file, `rows.arrow`, has one record batch. Token and interval are stored in `index` only, beside the zone map (min/max statistics
//! of each block of rows) and a checksum of each 4 KiB page, which is verified when the page is first read. Both files are written to a
//! temporary folder, which is then renamed.

mod arrow;
mod bounds;
mod columns;
mod decode;
mod entry;
mod error;
mod index;
mod map;
mod memory;
mod merge;
mod report;
mod row_selection;
mod sort;
mod table;
mod texts;
mod written;

use std::path::PathBuf;

pub use self::map::{set_mmap_threshold, trim_heap};
pub use self::{
    bounds::Extent,
    decode::Frames,
    entry::{Entry, list},
    memory::kind_of,
    row_selection::{RowSelection, RowSelectionWriter},
    sort::{SortBy, SortedRows, sort_rows, top_rows},
    table::TableRows,
    texts::{keep_text, kept_text},
};
pub(crate) use self::{
    columns::{Columns, as_bytes, byte_length},
    index::RunStarts,
    table::ROWS,
    written::WrittenRows,
};
pub use self::{
    entry::{CACHE_VERSION, CacheBuildError, EntryLocation, Key},
    error::TableError,
    merge::{Tail, grow},
    report::{FileEnd, LoadReport, StatisticValue, TableFile, TokenStatistic},
};
use model::schema::{Column, Kind, TableSchema};

/// Location and limits of the cache, and the number of rows from which a table counts as large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// Folder of the cache; without one every table stays in memory.
    pub folder: Option<PathBuf>,
    /// Maximum size of all cached tables in bytes; eviction is LRU.
    pub size_max: u64,
    /// Number of rows from which a table is large.
    pub rows_min: u64,
    /// Bytes of rows that are sorted in memory at a time; after as many, an import writes a checkpoint at the end of a file.
    pub group_max: u64,
    /// Rows per block of the zone map.
    pub block_rows: u64,
    pub sorting: SortLimits,
}

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

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            folder: None,
            size_max: 20 << 30,
            rows_min: 200_000,
            group_max: 32 << 20,
            block_rows: 1 << 16,
            sorting: SortLimits::default(),
        }
    }
}

/// A whole number that is null, as it is stored.
const UNKNOWN: i64 = i64::MIN;

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
    fn of(kind: Kind) -> Self {
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
    fn is_whole(self) -> bool {
        matches!(self, Self::Integer | Self::Time | Self::Day | Self::Flag)
    }

    /// Bytes per value; none for variable width.
    pub(crate) fn width(self) -> Option<usize> {
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
