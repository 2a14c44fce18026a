//! Tables larger than memory: each is imported once into the user's cache as a sorted Arrow IPC file, and memory-mapped from then on.
//!
//! The import is an external bucket sort. Rows that were read and judged are spilled to disk (`order::Spool`), their tokens and intervals
//! dictionary-encoded, in buckets by the first bits of the token's address, so that buckets in order are tokens in order. Then bucket by
//! bucket, in parts that fit into memory, the rows are sorted as the schema has it, repeated keys left out, and the columns appended.
//!
//! The result, `rows.arrow`, has one record batch. Token and interval stand in `index` alone, beside the min/max statistics of each block
//! of rows and a checksum of each 4 KiB page, which is compared when the page is first read. Both files are made in a folder of their own,
//! which is then renamed.

mod arrow;
mod bounds;
mod codes;
mod columns;
mod entry;
mod gather;
mod grow;
mod import;
mod index;
mod journal;
mod map;
mod places;
mod rank;
mod table;

use std::path::PathBuf;

pub(crate) use self::map::{give_back, keep_large_apart};
pub use self::{
    bounds::Extent,
    entry::{Entry, list},
    places::{Places, PlacesWriter},
    rank::{SortBy, first, rank},
    table::LargeTable,
};
pub(crate) use self::{
    entry::{Key, KeyFile, Place},
    grow::{Tail, grow},
    import::{CacheBuildError, CacheBuilder},
    index::{FileEnd, LoadReport, SourceFile},
};
use super::schema::{Column, Kind, TableSchema};

/// Where large tables are kept, and which are large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// Without a folder every table stays in memory.
    pub folder: Option<PathBuf>,
    /// Bytes that the tables in it may take together; the one used longest ago goes first.
    pub size_max: u64,
    /// Rows from which a table is large.
    pub rows_min: u64,
    /// Bytes of rows that are ordered in memory at a time.
    pub group_max: u64,
    /// Bytes of rows between two checkpoints: what an import that is cut off has to read again.
    pub journal_every: u64,
    /// Rows of a block, of which min/max statistics are kept.
    pub block_rows: u64,
    pub sorting: SortLimits,
}

/// How a large table's rows are filtered and sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortLimits {
    /// Row numbers that are held in memory; more of them are held in a file.
    pub in_memory: usize,
    /// Rows that are sorted at once; of more than these the first rows are found before the order of all is made.
    pub at_once: usize,
}

impl Default for SortLimits {
    fn default() -> Self {
        Self { in_memory: 1 << 20, at_once: 200_000 }
    }
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            folder: None,
            size_max: 20 << 30,
            rows_min: 200_000,
            group_max: 32 << 20,
            journal_every: 64 << 20,
            block_rows: 1 << 16,
            sorting: SortLimits::default(),
        }
    }
}

/// The tables that may be large.
const LARGE: &[&str] = &["candles", "posts", "holders", "transfers", "pool_events"];

/// The type of a column in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Float,
    Integer,
    /// Milliseconds.
    Time,
    /// 20 bytes.
    Address,
    /// Bytes that are shown as hex.
    Hex,
    Text,
}

impl Form {
    fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Float => Some(Self::Float),
            Kind::Integer => Some(Self::Integer),
            Kind::Time => Some(Self::Time),
            Kind::Address => Some(Self::Address),
            Kind::Hex => Some(Self::Hex),
            Kind::Text | Kind::Chain | Kind::Uint256 => Some(Self::Text),
            Kind::Chains | Kind::Addresses | Kind::Date | Kind::Boolean => None,
        }
    }

    /// Bytes of a value; none where they differ.
    fn width(self) -> Option<usize> {
        match self {
            Self::Float | Self::Integer | Self::Time => Some(8),
            Self::Address => Some(20),
            Self::Hex | Self::Text => None,
        }
    }
}

/// A column of the file, and its type there.
pub(crate) type Kept = (&'static Column, Form);

/// The columns of the file of a table that may be large: all but those that stand in the index.
pub(crate) fn kept(schema: &TableSchema) -> Option<Vec<Kept>> {
    if !LARGE.contains(&schema.name) {
        return None;
    }
    let columns = schema.columns.iter().filter(|column| !in_index(schema, column.name));
    columns.map(|column| Some((column, Form::of(column.kind)?))).collect()
}

/// The column by which rows are found: the token, or of events the pool.
pub(crate) fn owner(schema: &TableSchema) -> &'static str {
    schema.order.first().copied().unwrap_or_default()
}

/// Whether the column stands in the index: the token, and of candles the interval.
pub(crate) fn in_index(schema: &TableSchema, column: &str) -> bool {
    column == owner(schema) || schema.name == "candles" && column == "interval"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::schema;

    #[test]
    fn every_table_that_may_be_large_can_be_kept() {
        for name in LARGE {
            let schema = schema::table(name).expect("a table of the schema");
            let columns = kept(schema).unwrap_or_else(|| panic!("{name} has a column of a kind that is not kept"));
            assert!(!columns.is_empty(), "{name}");
            assert_eq!(schema.column(owner(schema)).map(|column| column.kind), Some(Kind::Address), "{name}");
        }
    }
}
