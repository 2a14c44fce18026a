//! Fetches rows of remote tables before a question is answered, so that answering never waits for the network.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use crate::question::{Find, progress::Progress, snapshot::Snapshot};
use model::{
    error::{Code, Problem, Result},
    progress::{Cancelled, LoadProgress},
};
use store::in_place::{FetchError, FetchKey, Fetched};

/// Cancels a fetch once nobody waits for the answer any more.
struct Asker<'a>(&'a Progress);

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if self.0.cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Fetches the requested rows of remote tables that are not cached. The cache keeps them at least while the result lives.
pub fn fetch(snapshot: &Snapshot, keys: &[FetchKey], progress: &Progress) -> Result<Vec<Arc<Fetched>>> {
    let mut rows = Vec::new();
    for key in keys {
        let Some(in_place) = snapshot.dataset.in_place(key.table()) else { continue };
        let fetched = in_place.fetch(key, &Asker(progress)).map_err(|why| match why {
            FetchError::Cancelled => Problem::new(Code::Cancelled, "The question was cancelled."),
            FetchError::Unavailable(reason) => {
                let (table, token, source) = (key.table(), key.token(), &in_place.source);
                Problem::new(Code::SourceUnavailable, format!("The {table} of `{token}` cannot be had from `{source}`: {reason}."))
            }
        })?;
        rows.extend(fetched);
    }
    Ok(rows)
}

/// A range of rows of a remote table. If it takes too many queries, it is cut short, starting at `first`. Found: the index of the first
/// returned row, and the rows.
#[derive(Debug, Clone)]
pub struct TableSlice {
    pub table: &'static str,
    pub rows: Range<u64>,
    /// Row to start at if the result may be cut short.
    pub first: u64,
}

/// Maximum number of queries per slice; each token with rows in it takes one.
const PAGES_MAX: usize = 60;

impl Find for TableSlice {
    type Found = (u64, DataFrame);

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Self::Found> {
        let failed = |reason: String| Problem::new(Code::Defect, format!("The rows cannot be had: {reason}."));
        let Some(in_place) = snapshot.dataset.in_place(self.table) else { return Err(failed("they are here".to_owned())) };
        let all = |rows: Range<u64>| in_place.pages(self.table, rows).take(PAGES_MAX + 1).collect::<Vec<FetchKey>>();
        let (mut start, mut keys) = (self.rows.start, all(self.rows.clone()));
        if keys.len() > PAGES_MAX {
            (start, keys) = (self.first, all(self.first..self.rows.end));
            keys.truncate(PAGES_MAX);
        }
        let mut rows: Option<DataFrame> = None;
        for (done, key) in keys.iter().enumerate() {
            progress.step(done as u64, keys.len() as u64)?;
            for fetched in fetch(snapshot, std::slice::from_ref(key), progress)? {
                let Fetched::Page(page) = &*fetched else { continue };
                match &mut rows {
                    Some(rows) => _ = rows.vstack_mut(page).map_err(|error| failed(error.to_string()))?,
                    None => rows = Some(page.clone()),
                }
            }
        }
        Ok((start, rows.unwrap_or_default()))
    }
}
