//! Order of all posts across tokens, newest first: sorted at the first request, and stored in a file for a large table.

use std::{io, sync::Mutex};

use model::locks::Locked as _;
use table::{RowSelection, SortBy, TableRows, sort_rows};

/// Positions of the posts, newest first, ties by id.
#[derive(Debug, Default)]
pub(super) struct Newest(Mutex<Option<RowSelection>>);

impl Newest {
    /// Returns the order. The first call sorts: `step` receives (done, total), and its error aborts the sort; the next call starts over.
    pub(super) fn places<E: From<io::Error>>(
        &self,
        posts: &TableRows,
        step: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<RowSelection, E> {
        let mut made = self.0.locked();
        if let Some(places) = &*made {
            return Ok(places.clone());
        }
        let by = SortBy {
            ties: &[("post_id", false)],
            ..SortBy::from(("published_at", true))
        };
        let places = sort_rows(posts, by, &RowSelection::Run(0..posts.height()), step)?;
        *made = Some(places.clone());
        Ok(places)
    }
}
