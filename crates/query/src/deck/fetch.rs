//! Fetches the rows that a question misses, and asks it again: answering itself never waits for the network.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use crate::question::{Find, progress::Progress, snapshot::Snapshot};
use model::{
    error::{Code, Problem, Result},
    fetch_key::FetchKey,
    progress::{Cancelled, LoadProgress},
};
use store::in_place::{FetchError, Fetched};

/// Cancels a fetch once nobody waits for the answer any more.
struct Asker<'a>(&'a Progress);

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if self.0.cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Rounds after which an answer that still misses rows is given up: each names more only because of what the one before fetched.
const ROUNDS_MAX: usize = 8;

/// Tries until nothing is missing, fetching between. The rows stay here until the last try has ended.
pub(super) fn complete<T>(snapshot: &Snapshot, progress: &Progress, attempt: impl Fn() -> Result<T>) -> Result<T> {
    let mut held = Vec::new();
    for _ in 1..ROUNDS_MAX {
        match attempt() {
            Err(problem) if problem.is_missing_rows() => {
                for key in &problem.missing {
                    held.extend(fetch(snapshot, key, progress)?);
                }
            }
            outcome => return outcome,
        }
    }
    attempt()
}

/// Fetches rows that stay at their source; `None` where there are none.
fn fetch(snapshot: &Snapshot, key: &FetchKey, progress: &Progress) -> Result<Option<Arc<Fetched>>> {
    let Some(in_place) = snapshot.dataset.in_place(key.table()) else { return Ok(None) };
    in_place.fetch(key, &Asker(progress)).map_err(|why| match why {
        FetchError::Cancelled => Problem::new(Code::Cancelled, "The question was cancelled."),
        FetchError::Unavailable(reason) => {
            let (table, token, source) = (key.table(), key.token(), &in_place.source);
            Problem::new(Code::SourceUnavailable, format!("The {table} of `{token}` cannot be had from `{source}`: {reason}."))
        }
    })
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
            let Some(fetched) = fetch(snapshot, key, progress)? else { continue };
            let Fetched::Page(page) = &*fetched else { continue };
            match &mut rows {
                Some(rows) => _ = rows.vstack_mut(page).map_err(|error| failed(error.to_string()))?,
                None => rows = Some(page.clone()),
            }
        }
        Ok((start, rows.unwrap_or_default()))
    }
}
