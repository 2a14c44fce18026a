//! Fills the times of transfers from the table `blocks`: many sources give only the block number, and the block times in another file.

use polars::prelude::{Column, DataType};

use crate::Table;
use frames::frame_rows::{integers, times};

/// Name of the table with the block times.
pub(super) const TABLE: &str = "blocks";

/// Block times by block number.
#[derive(Debug, Default)]
pub struct Blocks {
    rows: Vec<(i64, i64)>,
    /// Identities of its files, which are part of the cache key of a table filled from them.
    pub files: Vec<[u8; 32]>,
}

impl Blocks {
    /// Block times of the table, which is ordered by number.
    pub(super) fn of(table: &Table) -> Self {
        let frame = table.frame();
        let rows = integers(&frame, "block_number")
            .into_iter()
            .zip(integers(&frame, "timestamp"))
            .filter_map(|(block, time)| Some((block?, time?)));
        Self {
            rows: rows.collect(),
            files: table.sources.iter().map(|source| source.ends).collect(),
        }
    }

    fn time(&self, block: i64) -> Option<i64> {
        self.rows
            .binary_search_by_key(&block, |row| row.0)
            .ok()
            .map(|at| self.rows[at].1)
    }

    /// Fills the missing times of transfers; returns the number filled.
    pub(super) fn fill(&self, columns: &mut [Column]) -> usize {
        let place = |columns: &[Column], name: &str| {
            columns.iter().position(|column| column.name() == name)
        };
        let (Some(at), Some(blocks)) =
            (place(columns, "timestamp"), place(columns, "block_number"))
        else {
            return 0;
        };
        if self.rows.is_empty() || columns[at].null_count() == 0 {
            return 0;
        }
        let known = columns[at].to_physical_repr().cast(&DataType::Int64);
        let (Ok(known), Ok(numbers)) = (
            known
                .as_ref()
                .map_err(drop)
                .and_then(|known| known.i64().map_err(drop)),
            columns[blocks].i64(),
        ) else {
            return 0;
        };
        let mut filled = 0;
        let all = known.iter().zip(numbers.iter()).map(|(time, block)| {
            time.or_else(|| {
                let found = self.time(block?);
                filled += usize::from(found.is_some());
                found
            })
        });
        if let Ok(column) = times("timestamp", all) {
            columns[at] = column;
        }
        filled
    }
}
