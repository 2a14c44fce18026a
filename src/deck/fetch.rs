//! What a question reads and is not here: fetched before it is answered, so that the answer itself asks nobody.

use std::sync::Arc;

use crate::{
    dataset::{
        progress::{Cancelled, LoadProgress},
        shelf::{Fetched, Unfetched, Want},
    },
    error::{Code, Problem, Result},
    question::{progress::Progress, snapshot::Snapshot},
};

/// The asker, as a load is watched.
struct Asker<'a>(&'a Progress);

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if self.0.cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Fetches what is wanted, where it stays elsewhere and is not here yet. It is here for as long as what is given back.
pub fn fetch(snapshot: &Snapshot, wants: &[Want], progress: &Progress) -> Result<Vec<Arc<Fetched>>> {
    let mut here = Vec::new();
    for want in wants {
        let Some(shelf) = snapshot.dataset.shelf(want.table()) else { continue };
        let fetched = shelf.fetch(want, &Asker(progress)).map_err(|why| match why {
            Unfetched::Cancelled => Problem::new(Code::Cancelled, "The question was cancelled."),
            Unfetched::Unavailable(reason) => {
                let (table, token, source) = (want.table(), want.token(), &shelf.source);
                Problem::new(Code::SourceUnavailable, format!("The {table} of `{token}` cannot be had from `{source}`: {reason}."))
            }
        })?;
        here.extend(fetched);
    }
    Ok(here)
}

/// Whether any of it would have to be fetched.
pub(super) fn lacks(snapshot: &Snapshot, wants: &[Want]) -> bool {
    wants.iter().any(|want| snapshot.dataset.shelf(want.table()).is_some_and(|shelf| shelf.lacks(want)))
}
