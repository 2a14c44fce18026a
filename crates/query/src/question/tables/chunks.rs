//! Some columns of the selected rows of a table, chunk by chunk; cancellable.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use polars::prelude::DataFrame;
use rayon::prelude::*;

use crate::question::progress::Progress;
use model::error::Result;
use store::cache::{RowSelection, TableRows};

/// Rows of a chunk, between two cancellation checks.
pub(super) const CHUNK_ROWS: usize = 8_192;
/// Chunks of one parallel batch where what is made of each is small.
pub(super) const BATCH_CHUNKS: usize = 256;

/// Maps every chunk of these columns by `each`, which is also told its first row, several in parallel; passes the results to `take` in
/// order, after each `batch` of chunks.
pub(super) fn chunks<T: Send>(
    grid: &TableRows,
    places: &RowSelection,
    columns: &[&str],
    progress: &Progress,
    batch: usize,
    each: impl Fn(&DataFrame, usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let (total, done) = (places.len(), AtomicU64::new(0));
    let starts: Vec<usize> = (0..total).step_by(CHUNK_ROWS).collect();
    let make = |&start: &usize| {
        progress.step(done.load(Relaxed), total as u64)?;
        let end = (start + CHUNK_ROWS).min(total);
        let frame = grid.at(places, start..end, Some(columns));
        done.fetch_add((end - start) as u64, Relaxed);
        Ok(each(&frame, start))
    };
    for starts in starts.chunks(batch) {
        let made: Result<Vec<T>> = starts.par_iter().map(make).collect();
        made?.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}
