//! Order of all posts across tokens, newest first: sorted at the first request, and stored in a file for a large table.

use std::{io, sync::Mutex};

use crate::{
    by_token::{ByToken, RowsOf},
    cache::{RowSelection, SortBy, sort_rows},
};
use model::{locks::Locked as _, rows::Post};

/// Positions of the posts, newest first, ties by id.
#[derive(Debug, Default)]
pub(super) struct Newest(Mutex<Option<RowSelection>>);

impl Newest {
    /// Returns the order. The first call sorts: `step` receives (done, total), and its error aborts the sort; the next call starts over.
    pub(super) fn places<E: From<io::Error>>(
        &self,
        posts: &ByToken<Post>,
        step: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<RowSelection, E> {
        let mut made = self.0.locked();
        if let Some(places) = &*made {
            return Ok(places.clone());
        }
        let places = order(posts, step)?;
        *made = Some(places.clone());
        Ok(places)
    }
}

fn order<E: From<io::Error>>(
    posts: &ByToken<Post>,
    step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<RowSelection, E> {
    let rows = match posts.all() {
        RowsOf::Memory(rows) => rows,
        RowsOf::Large(table, rows) => {
            let by = SortBy {
                ties: &[("post_id", false)],
                ..SortBy::from(("published_at", true))
            };
            return sort_rows(table, by, &RowSelection::Run(rows), step);
        }
    };
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&rows[a as usize], &rows[b as usize]);
        b.published_at
            .cmp(&a.published_at)
            .then_with(|| a.post_id.cmp(&b.post_id))
    });
    Ok(RowSelection::from(order))
}
