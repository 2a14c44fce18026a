//! A page cache of the posts around the selection. The previous posts stay on screen until the first page of a new query arrives.

use crate::prelude::*;
use model::rows::Post;
use query::question::{
    filter::Filter,
    posts::{PostsQuestion, TokenPostsQuestion},
};

/// Page sizes: the maximum of each question.
const TOKEN_PAGE: u64 = 100;
const PAGE: u64 = 250;
/// Rows prefetched before and after the selection.
const AHEAD: usize = 100;
/// Maximum number of cached pages.
const PAGES_MAX: usize = 8;

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

    fn limit(&self) -> u64 {
        if self.plain().is_some() {
            TOKEN_PAGE
        } else {
            PAGE
        }
    }

    fn token_question(token: Address, page: u64) -> TokenPostsQuestion {
        TokenPostsQuestion {
            token_address: token,
            page,
            limit: TOKEN_PAGE,
            explain: false,
        }
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
        let page = row as u64 / self.limit() + 1;
        let request = match self.plain() {
            Some(token) => HttpRequest::of(&Self::token_question(token, page)),
            None => HttpRequest::of(&self.question(page)),
        };
        request.of_page(page, self.limit(), total as u64)
    }
}

/// A page, from either question.
enum Page {
    Token(ViewQuestion<TokenPostsQuestion>),
    Any(ViewQuestion<PostsQuestion>),
}

impl Page {
    fn refresh(&mut self, source: &PostsRequest, page: u64, context: &Context<'_>) {
        match (self, source.plain()) {
            (Self::Token(asked), Some(token)) => {
                asked.refresh(PostsRequest::token_question(token, page), context)
            }
            (Self::Any(asked), _) => asked.refresh(source.question(page), context),
            (Self::Token(_), None) => false,
        };
    }

    /// Number of posts on all pages.
    fn total(&self) -> Option<u64> {
        match self {
            Self::Token(asked) => asked.answer().map(|answer| answer.total),
            Self::Any(asked) => asked.answer().map(|answer| answer.total),
        }
    }

    /// The post in a row of the page.
    fn post(&self, row: usize) -> Option<&Post> {
        match self {
            Self::Token(asked) => asked.answer()?.posts.get(row),
            Self::Any(asked) => Some(&asked.answer()?.posts.get(row)?.post),
        }
    }

    fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Token(asked) => asked.problem.as_ref(),
            Self::Any(asked) => asked.problem.as_ref(),
        }
    }
}

/// The cached pages of one query in one generation.
struct Set {
    generation: u64,
    source: PostsRequest,
    /// By page number.
    pages: Vec<(u64, Page)>,
}

impl Set {
    fn ask(&mut self, around: usize, context: &Context<'_>) {
        let page_of = |row: usize| row as u64 / self.source.limit() + 1;
        let last = page_of(self.total().unwrap_or(0).saturating_sub(1));
        let (first, last) = (
            page_of(around.saturating_sub(AHEAD)).min(last),
            page_of(around + AHEAD).min(last),
        );
        for number in first..=last {
            if !self.pages.iter().any(|(known, _)| *known == number) {
                let page = if self.source.plain().is_some() {
                    Page::Token(ViewQuestion::default())
                } else {
                    Page::Any(ViewQuestion::default())
                };
                self.pages.push((number, page));
            }
        }
        let middle = page_of(around);
        while self.pages.len() > PAGES_MAX {
            let far = (0..self.pages.len())
                .max_by_key(|&i| self.pages[i].0.abs_diff(middle))
                .unwrap_or(0);
            self.pages.remove(far);
        }
        self.pages.sort_by_key(|(number, _)| *number);
        for (number, page) in &mut self.pages {
            page.refresh(&self.source, *number, context);
        }
    }

    fn total(&self) -> Option<usize> {
        self.pages
            .iter()
            .find_map(|(_, page)| page.total())
            .map(|total| total as usize)
    }

    fn problem(&self) -> Option<&Problem> {
        self.pages.iter().find_map(|(_, page)| page.problem())
    }

    fn answered(&self) -> bool {
        self.total().is_some() || self.problem().is_some()
    }

    fn belongs_to(&self, generation: u64, source: &PostsRequest) -> bool {
        self.generation == generation && self.source == *source
    }
}

#[derive(Default)]
pub(super) struct Pages {
    shown: Option<Set>,
    coming: Option<Set>,
}

impl Pages {
    pub(super) fn refresh(&mut self, source: &PostsRequest, around: usize, context: &Context<'_>) {
        let Some(generation) = context.snapshot.map(|snapshot| snapshot.generation) else {
            return;
        };
        if self
            .shown
            .as_ref()
            .is_some_and(|set| set.belongs_to(generation, source))
        {
            self.coming = None;
        } else if !self
            .coming
            .as_ref()
            .is_some_and(|set| set.belongs_to(generation, source))
        {
            self.coming = Some(Set {
                generation,
                source: source.clone(),
                pages: Vec::new(),
            });
        }
        if let Some(set) = self.coming.as_mut().or(self.shown.as_mut()) {
            set.ask(around, context);
        }
        if let Some(set) = self.coming.take_if(|set| set.answered()) {
            self.shown = Some(set);
        }
    }

    pub(super) fn answered(&self) -> bool {
        self.shown.is_some()
    }

    pub(super) fn problem(&self) -> Option<&Problem> {
        self.shown.as_ref().and_then(Set::problem)
    }

    pub(super) fn total(&self) -> usize {
        self.shown.as_ref().and_then(Set::total).unwrap_or(0)
    }

    /// Whether the predicate holds for any cached post.
    pub(super) fn any(&self, holds: impl Fn(&Post) -> bool) -> bool {
        let pages = self.shown.iter().flat_map(|set| &set.pages);
        pages
            .flat_map(|(_, page)| (0..).map_while(|row| page.post(row)))
            .any(holds)
    }

    /// The post in the row, if its page has arrived.
    pub(super) fn post(&self, row: usize) -> Option<&Post> {
        let set = self.shown.as_ref()?;
        let limit = set.source.limit();
        let (_, page) = set
            .pages
            .iter()
            .find(|(number, _)| *number == row as u64 / limit + 1)?;
        page.post((row as u64 % limit) as usize)
    }

    /// The query of the displayed posts.
    pub(super) fn source(&self) -> Option<&PostsRequest> {
        self.shown.as_ref().map(|set| &set.source)
    }
}
