//! Fetches rows of remote tables before a question is answered, so that answering never waits for the network.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use crate::{
    dataset::{
        progress::{Cancelled, LoadProgress},
        shelf::{Fetched, Unfetched, Want},
    },
    error::{Code, Problem, Result},
    question::{Find, progress::Progress, snapshot::Snapshot},
};

/// Cancels a fetch once nobody waits for the answer any more.
struct Asker<'a>(&'a Progress);

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if self.0.cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Fetches the requested rows of remote tables that are not cached. The cache keeps them at least while the result lives.
pub fn fetch(snapshot: &Snapshot, wants: &[Want], progress: &Progress) -> Result<Vec<Arc<Fetched>>> {
    let mut rows = Vec::new();
    for want in wants {
        let Some(shelf) = snapshot.dataset.shelf(want.table()) else { continue };
        let fetched = shelf.fetch(want, &Asker(progress)).map_err(|why| match why {
            Unfetched::Cancelled => Problem::new(Code::Cancelled, "The question was cancelled."),
            Unfetched::Unavailable(reason) => {
                let (table, token, source) = (want.table(), want.token(), &shelf.source);
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
        let Some(shelf) = snapshot.dataset.shelf(self.table) else { return Err(failed("they are here".to_owned())) };
        let all = |rows: Range<u64>| shelf.pages(self.table, rows).take(PAGES_MAX + 1).collect::<Vec<Want>>();
        let (mut start, mut wants) = (self.rows.start, all(self.rows.clone()));
        if wants.len() > PAGES_MAX {
            (start, wants) = (self.first, all(self.first..self.rows.end));
            wants.truncate(PAGES_MAX);
        }
        let mut rows: Option<DataFrame> = None;
        for (done, want) in wants.iter().enumerate() {
            progress.step(done as u64, wants.len() as u64)?;
            for fetched in fetch(snapshot, std::slice::from_ref(want), progress)? {
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
