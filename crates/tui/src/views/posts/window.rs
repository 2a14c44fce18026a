//! The posts around the selection, read off the drawing thread. The previous posts stay on screen until those of a new query arrive.

use std::{ops::Range, sync::Arc};

use crate::views::prelude::*;
use model::rows::Post;
use query::{
    queries::posts::{PostsQuery, PostsSlice},
    service::pending::PendingResult,
};

/// Rows read before and after the selection.
const AROUND: usize = 250;
/// Rows before and after the selection that must be there; otherwise others are read.
const AHEAD: usize = 100;

/// Rows of a query in one generation.
struct Wanted {
    generation: u64,
    question: PostsQuery,
    rows: Range<usize>,
}

/// Posts, and the number of all posts of the query.
type Found = (Vec<Post>, usize);

#[derive(Default)]
pub(super) struct Window {
    shown: Option<(Wanted, Found)>,
    pending: Option<(Wanted, PendingResult<Found>)>,
    problem: Option<Problem>,
}

impl Window {
    pub(super) fn refresh(&mut self, question: &PostsQuery, around: usize, context: &Context<'_>) {
        let loaded = |snapshot: &&Arc<Snapshot>| !snapshot.dataset.importing.contains(&"posts");
        let Some(snapshot) = context.snapshot.filter(loaded) else {
            return;
        };
        let generation = snapshot.generation;
        let covers = |wanted: &Wanted| {
            (wanted.generation, &wanted.question) == (generation, question)
                && wanted.rows.start <= around.saturating_sub(AHEAD)
                && wanted.rows.end >= around.saturating_add(AHEAD)
        };
        if self.shown.as_ref().is_some_and(|(shown, _)| covers(shown)) {
            self.pending = None;
            return;
        }
        if !self
            .pending
            .as_ref()
            .is_some_and(|(asked, _)| covers(asked))
        {
            let rows = around.saturating_sub(AROUND)..around.saturating_add(AROUND);
            let slice = PostsSlice {
                question: question.clone(),
                rows: rows.clone(),
            };
            let wanted = Wanted {
                generation,
                question: question.clone(),
                rows,
            };
            self.pending = Some((wanted, context.find(snapshot, slice)));
        }
        let Some((wanted, mut pending)) = self.pending.take() else {
            return;
        };
        let Some(outcome) = pending.poll_now() else {
            self.pending = Some((wanted, pending));
            return;
        };
        self.problem = outcome.as_ref().err().cloned();
        let found = outcome.unwrap_or_default();
        // There may be fewer posts than before.
        let around = around.min(found.1.saturating_sub(1));
        self.shown = Some((wanted, found));
        self.refresh(question, around, context);
    }

    pub(super) fn answered(&self) -> bool {
        self.shown.is_some()
    }

    pub(super) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    pub(super) fn total(&self) -> usize {
        self.shown.as_ref().map_or(0, |(_, (_, total))| *total)
    }

    /// The posts that were read.
    pub(super) fn posts(&self) -> &[Post] {
        self.shown.as_ref().map_or(&[], |(_, (posts, _))| posts)
    }

    /// The post in the row, if it was read.
    pub(super) fn post(&self, row: usize) -> Option<&Post> {
        let (shown, _) = self.shown.as_ref()?;
        self.posts().get(row.checked_sub(shown.rows.start)?)
    }

    /// The query of the displayed posts.
    pub(super) fn question(&self) -> Option<&PostsQuery> {
        self.shown.as_ref().map(|(shown, _)| &shown.question)
    }
}
