//! The last step of building a table in the cache: its rows are written, its index follows, and both get their place.

use std::path::Path;

use super::{
    cache::{CacheBuildError, EntryLocation},
    columns::Columns,
    report::LoadReport,
};
use crate::error::FrameError;
use model::{address::Address, disk_lru::remove, schema::TableSchema};
use table::{
    bounds,
    index::{self, RunStarts, TableMetadata},
    rows::{INDEX, ROWS, TableRows},
};

/// A table whose rows are all written, with the contents of its index.
pub struct WrittenRows {
    pub schema: &'static TableSchema,
    pub columns: Columns,
    pub run_starts: RunStarts,
    /// By rank.
    pub tokens: Vec<Address>,
    pub report: LoadReport,
}

impl WrittenRows {
    /// Finishes the file of rows in the folder `made`, writes the index beside it, and moves both to their place in the cache. `durable`:
    /// see `Columns::finish`.
    pub fn publish(
        self,
        location: &EntryLocation,
        made: &Path,
        block_rows: u64,
        durable: bool,
    ) -> Result<TableRows, CacheBuildError> {
        let (rows, stored, block) = (
            self.columns.rows(),
            self.columns.stored.clone(),
            block_rows.max(1),
        );
        let (regions, bytes) = self.columns.finish(durable)?;
        let stats = bounds::checksums_and_bounds(&made.join(ROWS), &stored, &regions, rows, block)?;
        let metadata = TableMetadata {
            table: self.schema.name.to_owned(),
            rows,
            regions,
            block,
            bytes,
            report: self.report.stored().map_err(failed)?,
            grown_from: self.report.grown_from,
        };
        index::encode(&metadata, &self.run_starts, &stats, &self.tokens)
            .and_then(|bytes| index::write(&made.join(INDEX), &bytes))
            .map_err(failed)?;
        let folder = location.keep(made)?;
        remove(&location.part());
        location
            .read(&folder, self.schema)
            .map(|(table, _)| table)
            .map_err(CacheBuildError::Failed)
    }
}

fn failed(error: impl Into<FrameError>) -> CacheBuildError {
    CacheBuildError::Failed(error.into())
}
