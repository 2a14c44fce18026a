//! The posts around the selection, read off the drawing thread. The previous posts stay on screen until those of a new query arrive.

use std::{ops::Range, sync::Arc};

use crate::prelude::*;
use model::rows::Post;
use query::{
    deck::pending::PendingResult,
    question::{
        filter::Filter,
        posts::{PostsQuestion, PostsSlice, TokenPostsQuestion},
    },
};

/// Page sizes of requests: the maximum of each question.
const TOKEN_PAGE: u64 = 100;
const PAGE: u64 = 250;
/// Rows read before and after the selection.
const AROUND: usize = 250;
/// Rows before and after the selection that must be there; otherwise others are read.
const AHEAD: usize = 100;

/// A query of posts, with its order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PostsRequest {
    /// Only this token's posts.
    pub token: Option<Address>,
    pub query: Option<String>,
    pub filter: Filter,
    pub sort: Vec<Order>,
}

impl PostsRequest {
    /// The token, for an unfiltered query of one token's newest posts, which has its own question.
    fn plain(&self) -> Option<Address> {
        self.token.filter(|_| {
            self.query.is_none()
                && self.filter.is_empty()
                && self.sort == [Order::falling("published_at")]
        })
    }

    pub(super) fn question(&self, page: u64) -> PostsQuestion {
        let token = self.token.map(|token| token.to_string());
        let words: Vec<&str> = token
            .as_deref()
            .into_iter()
            .chain(self.query.as_deref())
            .collect();
        PostsQuestion {
            query: (!words.is_empty()).then(|| words.join(" ")),
            filter: self.filter.clone(),
            sort: self.sort.clone(),
            only: Vec::new(),
            page,
            limit: PAGE,
        }
    }

    /// The HTTP request for the page of the row.
    pub(super) fn request(&self, row: usize, total: usize) -> HttpRequest {
        let page = |limit: u64| row as u64 / limit + 1;
        let (request, page, limit) = if let Some(token_address) = self.plain() {
            let page = page(TOKEN_PAGE);
            let question = TokenPostsQuestion {
                token_address,
                page,
                limit: TOKEN_PAGE,
                explain: false,
            };
            (HttpRequest::of(&question), page, TOKEN_PAGE)
        } else {
            let page = page(PAGE);
            (HttpRequest::of(&self.question(page)), page, PAGE)
        };
        request.of_page(page, limit, total as u64)
    }
}

/// Rows of a query in one generation.
struct Wanted {
    generation: u64,
    source: PostsRequest,
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
    pub(super) fn refresh(&mut self, source: &PostsRequest, around: usize, context: &Context<'_>) {
        let loaded = |snapshot: &&Arc<Snapshot>| !snapshot.dataset.importing.contains(&"posts");
        let Some(snapshot) = context.snapshot.filter(loaded) else {
            return;
        };
        let generation = snapshot.generation;
        let covers = |wanted: &Wanted| {
            (wanted.generation, &wanted.source) == (generation, source)
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
                question: source.question(1),
                rows: rows.clone(),
            };
            let wanted = Wanted {
                generation,
                source: source.clone(),
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
        self.refresh(source, around, context);
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
    pub(super) fn source(&self) -> Option<&PostsRequest> {
        self.shown.as_ref().map(|(shown, _)| &shown.source)
    }
}
