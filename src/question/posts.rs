//! The questions behind GET /tokens/{token_address}/posts and GET /posts.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, known_token,
    parameter::{Arguments, Parameter, ParameterKind, parameter},
    progress::Progress,
    search::Order,
    snapshot::Snapshot,
    target,
};
use crate::{
    dataset::{
        RowsOf,
        address::Address,
        rows::{Post, PostFigures},
    },
    error::Result,
};

pub(super) const PAGE: Parameter =
    parameter("page", ParameterKind::Integer { min: 1, max: 1_000_000_000, default: 1 }, "Page number; past the end the page is empty.");

/// A page of one token's posts, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenPostsQuestion {
    pub token_address: Address,
    pub page: u64,
    pub limit: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenPosts {
    pub token_address: Address,
    /// The page returned.
    pub page: u64,
    /// Posts a page.
    pub limit: u64,
    /// All posts of the token.
    pub total: u64,
    pub posts: Vec<Post>,
}

impl Question for TokenPostsQuestion {
    type Answer = TokenPosts;
    const NAME: &'static str = "token_posts";
    const SUMMARY: &'static str = "Paged posts for a token, newest first.";
    const PATH: &'static str = "/tokens/{token_address}/posts";
    const NEEDS: &'static [&'static str] = &["posts"];
    const PARAMETERS: &'static [Parameter] = &[
        parameter("token_address", ParameterKind::Address, "The token's contract address."),
        PAGE,
        parameter("limit", ParameterKind::Integer { min: 1, max: 100, default: 10 }, "Posts a page."),
    ];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self {
            token_address: arguments.address("token_address")?,
            page: arguments.integer("page")?,
            limit: arguments.integer("limit")?,
        })
    }

    fn target(&self) -> String {
        format!("/tokens/{}/posts?page={}&limit={}", self.token_address, self.page, self.limit)
    }

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<TokenPosts> {
        known_token(snapshot, &self.token_address)?;
        let posts = snapshot.dataset.posts_of(&self.token_address);
        Ok(TokenPosts {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: posts.len() as u64,
            posts: posts.part(page_range(self.page, self.limit)),
        })
    }
}

/// A page of the posts of all tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct PostsQuestion {
    pub query: Option<String>,
    pub sort: Order,
    pub page: u64,
    pub limit: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Posts {
    pub page: u64,
    pub limit: u64,
    /// All posts that match.
    pub total: u64,
    pub posts: Vec<Post>,
}

/// What posts can be sorted by; `-` first for descending.
pub const POST_SORTS: &[&str] = &[
    "published_at",
    "-published_at",
    "title",
    "-title",
    "impressions",
    "-impressions",
    "engagement",
    "-engagement",
    "smart_engagement",
    "-smart_engagement",
];

impl Question for PostsQuestion {
    type Answer = Posts;
    const NAME: &'static str = "posts";
    const SUMMARY: &'static str = "Posts of all tokens: search and sort.";
    const PATH: &'static str = "/posts";
    const NEEDS: &'static [&'static str] = &["posts"];
    const PARAMETERS: &'static [Parameter] = &[
        parameter("query", ParameterKind::Text, "Words the title must hold; a token's address among them leaves only that token's posts."),
        parameter("sort", ParameterKind::Word { words: POST_SORTS, default: Some("-published_at") }, "Column; `-` first for descending."),
        PAGE,
        parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Posts a page."),
    ];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self {
            query: arguments.text("query")?,
            sort: Order::parse(arguments.word("sort")?.unwrap_or("-published_at")),
            page: arguments.integer("page")?,
            limit: arguments.integer("limit")?,
        })
    }

    fn target(&self) -> String {
        target(
            "/posts",
            &[
                ("query", self.query.clone()),
                ("sort", Some(self.sort.to_string())),
                ("page", Some(self.page.to_string())),
                ("limit", Some(self.limit.to_string())),
            ],
        )
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Posts> {
        let (tokens, words): (Vec<&str>, Vec<&str>) =
            self.query.iter().flat_map(|query| query.split_whitespace()).partition(|word| Address::parse(word).is_some());
        let words: Vec<String> = words.into_iter().map(str::to_lowercase).collect();
        let dataset = &snapshot.dataset;
        let (posts, newest) = match tokens.first().and_then(|word| Address::parse(word)) {
            Some(token) => (dataset.posts_of(&token), None),
            None => (dataset.posts(), Some(dataset.posts_newest())),
        };
        // The places of posts, newest first: a token's stand so.
        let place = |nth: usize| newest.map_or(Some(nth), |newest| newest.get(nth).map(|&place| place as usize));
        let page = page_range(self.page, self.limit);
        let (total, places): (usize, Vec<usize>) = if words.is_empty() && self.sort.column == "published_at" && self.sort.descending {
            (posts.len(), (page.start.min(posts.len())..page.end.min(posts.len())).filter_map(place).collect())
        } else {
            let order = self.order(&posts, &words, (0..posts.len()).filter_map(place), progress)?;
            (order.len(), order.into_iter().skip(page.start).take(page.len()).collect())
        };
        let posts = places.into_iter().filter_map(|place| posts.get(place)).collect();
        Ok(Posts { page: self.page, limit: self.limit, total: total as u64, posts })
    }
}

impl PostsQuestion {
    /// The places of the posts that match, sorted. Stable, so that equal posts stay newest first; unknown figures come last either way.
    fn order(
        &self,
        posts: &RowsOf<'_, Post>,
        words: &[String],
        newest: impl Iterator<Item = usize>,
        progress: &Progress,
    ) -> Result<Vec<usize>> {
        let total = posts.len() as u64;
        let by_title = self.sort.column == "title";
        let (mut matching, mut titles) = (Vec::new(), Vec::new());
        if by_title || !words.is_empty() {
            for (i, post) in posts.iter().enumerate() {
                if i % 16_384 == 0 {
                    progress.step(i as u64, total)?;
                }
                let matches = matches(&post, words);
                matching.push(matches);
                if by_title {
                    titles.push(post.into_owned().title.filter(|_| matches));
                }
            }
        }
        let mut order: Vec<usize> = newest.filter(|place| matching.get(*place).copied().unwrap_or(words.is_empty())).collect();
        let sort = &self.sort;
        let by_figure = |order: &mut Vec<usize>, figure: &dyn Fn(PostFigures) -> Option<i64>| {
            let figures: Vec<Option<i64>> = posts.figures().map(figure).collect();
            order.sort_by(|a, b| sort.compare(figures.get(*a).copied().flatten(), figures.get(*b).copied().flatten()));
        };
        match sort.column {
            "title" => order.sort_by(|a, b| sort.compare(titles[*a].as_deref(), titles[*b].as_deref())),
            "impressions" => by_figure(&mut order, &|post| post.impressions),
            "engagement" => by_figure(&mut order, &|post| post.engagement),
            "smart_engagement" => by_figure(&mut order, &|post| post.smart_engagement),
            _ if sort.descending => {}
            _ => by_figure(&mut order, &|post| Some(post.published_at.0)),
        }
        Ok(order)
    }
}

fn matches(post: &Post, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let title = post.title.as_deref().unwrap_or_default().to_lowercase();
    words.iter().all(|word| title.contains(word.as_str()))
}

/// The places of the items of page `page` (from 1) of `limit` each.
pub(super) fn page_range(page: u64, limit: u64) -> std::ops::Range<usize> {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let skipped = page.saturating_sub(1).saturating_mul(limit);
    place(skipped)..place(skipped.saturating_add(limit))
}

/// The items of page `page` (from 1) of `limit` each; none past the end.
pub(super) fn page_of<T>(items: impl Iterator<Item = T>, page: u64, limit: u64) -> impl Iterator<Item = T> {
    let skipped = usize::try_from(page.saturating_sub(1).saturating_mul(limit)).unwrap_or(usize::MAX);
    items.skip(skipped).take(usize::try_from(limit).unwrap_or(usize::MAX))
}
