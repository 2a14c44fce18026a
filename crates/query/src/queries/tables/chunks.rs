//! Some columns of the selected rows of a table, chunk by chunk; cancellable.

use rayon::prelude::*;

use model::{error::Result, progress::Progress, scalar::Scalar};
use table::{
    RowSelection, TableRows,
    filter::{Columns as _, Values, one_by_one},
};

/// Rows of a chunk, between two cancellation checks.
pub(super) const CHUNK_ROWS: usize = 8_192;
/// Chunks of one parallel batch where what is made of each is small.
pub(super) const BATCH_CHUNKS: usize = 256;

/// Rows that follow one another among the selected ones.
pub(super) struct Chunk<'a> {
    /// Place of the first of them among the selected ones.
    pub(super) start: usize,
    rows: Vec<usize>,
    columns: Vec<Values<'a>>,
}

impl Chunk<'_> {
    /// The values of the rows in the `nth` of the columns.
    pub(super) fn values(&self, nth: usize) -> impl Iterator<Item = Scalar<'_>> {
        let values = self.columns.get(nth).unwrap_or(&Values::Missing);
        let rows = self.rows.iter().enumerate();
        rows.map(|(place, row)| values.get(place, *row).unwrap_or(Scalar::Missing))
    }
}

/// Maps every chunk of these columns by `each`, several in parallel; passes the results to `take` in order, after each `batch` of chunks.
pub(super) fn chunks<T: Send>(
    grid: &TableRows,
    places: &RowSelection,
    columns: &[&'static str],
    progress: &Progress,
    batch: usize,
    each: impl Fn(&Chunk<'_>) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let total = places.len();
    let starts: Vec<usize> = (0..total).step_by(CHUNK_ROWS).collect();
    let make = |&start: &usize| {
        progress.step(start as u64, total as u64)?;
        let end = (start + CHUNK_ROWS).min(total);
        let values = |column: &&'static str| match places {
            RowSelection::Run(rows) => grid.values(column, rows.start + start..rows.start + end),
            _ => one_by_one(grid, column),
        };
        let chunk = Chunk {
            start,
            rows: (start..end).filter_map(|nth| places.get(nth)).collect(),
            columns: columns.iter().map(values).collect(),
        };
        Ok(each(&chunk))
    };
    for starts in starts.chunks(batch) {
        let made: Result<Vec<T>> = starts.par_iter().map(make).collect();
        made?.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}
