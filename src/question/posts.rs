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
    dataset::{address::Address, rows::Post},
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
            posts: page_of(posts.iter(), self.page, self.limit).cloned().collect(),
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
        let mut posts: Vec<&Post> = Vec::new();
        if let Some(token) = tokens.first().and_then(|word| Address::parse(word)) {
            posts.extend(snapshot.dataset.posts_of(&token).iter().filter(|post| matches(post, &words)));
        } else {
            let total = snapshot.dataset.posts_newest().len() as u64;
            for (i, post) in snapshot.dataset.posts_newest().enumerate() {
                if i % 65_536 == 0 {
                    progress.step(i as u64, total)?;
                }
                if matches(post, &words) {
                    posts.push(post);
                }
            }
        }
        self.sort_posts(&mut posts);
        let total = posts.len() as u64;
        let posts = page_of(posts.into_iter(), self.page, self.limit).cloned().collect();
        Ok(Posts { page: self.page, limit: self.limit, total, posts })
    }
}

impl PostsQuestion {
    /// Stable, so that equal posts stay newest first; unknown figures come last either way.
    fn sort_posts(&self, posts: &mut [&Post]) {
        let order = &self.sort;
        match order.column {
            "title" => posts.sort_by(|a, b| order.compare(a.title.as_deref(), b.title.as_deref())),
            "impressions" => posts.sort_by(|a, b| order.compare(a.impressions, b.impressions)),
            "engagement" => posts.sort_by(|a, b| order.compare(a.engagement, b.engagement)),
            "smart_engagement" => posts.sort_by(|a, b| order.compare(a.smart_engagement, b.smart_engagement)),
            _ if order.descending => {}
            _ => posts.sort_by_key(|post| post.published_at),
        }
    }
}

fn matches(post: &Post, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let title = post.title.as_deref().unwrap_or_default().to_lowercase();
    words.iter().all(|word| title.contains(word.as_str()))
}

/// The items of page `page` (from 1) of `limit` each; none past the end.
pub(super) fn page_of<T>(items: impl Iterator<Item = T>, page: u64, limit: u64) -> impl Iterator<Item = T> {
    let skipped = usize::try_from(page.saturating_sub(1).saturating_mul(limit)).unwrap_or(usize::MAX);
    items.skip(skipped).take(usize::try_from(limit).unwrap_or(usize::MAX))
}
