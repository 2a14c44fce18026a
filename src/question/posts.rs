//! The questions behind GET /tokens/{token_address}/posts and GET /posts.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, known_token,
    parameter::{EXPLAIN, PAGE, ParameterKind, TOKEN, parameter},
    progress::Progress,
    request::request,
    search::Order,
    snapshot::Snapshot,
};
use crate::{
    dataset::{
        RowsOf,
        address::Address,
        cache::{By, LargeTable, Places, PlacesWriter, first, rank},
        rows::{Post, PostFigures},
    },
    error::Result,
};

request! {
    /// A page of one token's posts, newest first.
    TokenPostsQuestion at "/tokens/{token_address}/posts" {
        token_address: Address = TOKEN,
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 100, default: 10 }, "Posts a page."),
        explain: bool = EXPLAIN,
    }
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
    /// With `explain`: why there can be no posts, naming the table that is missing or could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Question for TokenPostsQuestion {
    type Answer = TokenPosts;
    const NAME: &'static str = "token_posts";
    const SUMMARY: &'static str = "Paged posts for a token, newest first.";
    const NEEDS: &'static [&'static str] = &["posts"];

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<TokenPosts> {
        known_token(snapshot, &self.token_address)?;
        let posts = snapshot.dataset.posts_of(&self.token_address);
        Ok(TokenPosts {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: posts.len() as u64,
            posts: posts.part(page_range(self.page, self.limit)),
            missing: snapshot.dataset.lack("posts").filter(|_| self.explain),
        })
    }
}

request! {
    /// A page of the posts of all tokens.
    PostsQuestion at "/posts" {
        query: Option<String> =
            parameter("query", ParameterKind::Text, "Words the title must hold; a token's address among them leaves only that token's posts."),
        sort: Order = parameter("sort", ParameterKind::Word { words: POST_SORTS, default: Some("-published_at") }, "Column; `-` first for descending."),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Posts a page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Posts {
    pub page: u64,
    pub limit: u64,
    /// All posts that match.
    pub total: u64,
    pub posts: Vec<Post>,
    /// Why there can be no posts, naming the table that is missing or could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
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
    const NEEDS: &'static [&'static str] = &["posts"];

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Posts> {
        let posts = snapshot.dataset.posts();
        let page = page_range(self.page, self.limit);
        let (places, total) = self.places(snapshot, Some(page.end), progress)?;
        let posts = page.map_while(|nth| places.get(nth)).filter_map(|place| posts.get(place)).collect();
        Ok(Posts { page: self.page, limit: self.limit, total: total as u64, posts, missing: snapshot.dataset.lack("posts") })
    }
}

impl PostsQuestion {
    /// The places among all posts of those that match, in their order, and how many there are. Where only the first so many are wanted,
    /// the others may be missing.
    pub fn places(&self, snapshot: &Snapshot, wanted: Option<usize>, progress: &Progress) -> Result<(Places, usize)> {
        let (tokens, words): (Vec<&str>, Vec<&str>) =
            self.query.iter().flat_map(|query| query.split_whitespace()).partition(|word| Address::parse(word).is_some());
        let words: Vec<String> = words.into_iter().map(str::to_lowercase).collect();
        let dataset = &snapshot.dataset;
        let step = |done, total| progress.step(done, total);
        let large = dataset.table("posts").and_then(|table| table.large.as_deref());
        let by = (self.sort.column, self.sort.descending);
        // The first of all posts: what decides among equals is named, so that not every post has to be put in order before.
        if let (Some(table), Some(wanted), true, true) = (large, wanted, self.query.is_none(), by != NEWEST)
            && wanted <= FIRST_MAX
        {
            let by = By { ties: &[NEWEST, ("post_id", false)], ..By::from(by) };
            let rows = Places::Run(0..table.height());
            return Ok((Places::from(first(table, by, &rows, wanted, step)?), table.height()));
        }
        // Newest first: a token's stand so.
        let found = match tokens.first().and_then(|word| Address::parse(word)) {
            Some(token) => {
                let rows = dataset.post_rows_of(&token);
                Found { posts: dataset.posts_of(&token), start: rows.start, places: Places::Run(rows) }
            }
            None => Found { posts: dataset.posts(), start: 0, places: dataset.posts_newest(step)? },
        };
        let found = if words.is_empty() { found } else { found.with_words(&words, large.map(LargeTable::folder), progress)? };
        let total = found.places.len();
        let places = match (large, wanted) {
            _ if by == NEWEST => found.places,
            (Some(table), Some(wanted)) if wanted <= FIRST_MAX => Places::from(first(table, by, &found.places, wanted, step)?),
            (Some(table), _) => rank(table, by, &found.places, step)?,
            (None, _) => self.sorted(&found),
        };
        Ok((places, total))
    }

    /// The places of posts in memory, sorted. Stable, so that equal posts stay newest first; unknown figures come last either way.
    fn sorted(&self, found: &Found<'_>) -> Places {
        let start = found.start;
        let mut order: Vec<u32> = found.places.iter().map(|place| place as u32).collect();
        let sort = &self.sort;
        if sort.column == "title" {
            let titles: Vec<Option<String>> = found.posts.titles().collect();
            let title = |place: u32| titles.get(place as usize - start).and_then(Option::as_deref);
            order.sort_by(|a, b| sort.compare(title(*a), title(*b)));
            return Places::from(order);
        }
        let figure = |post: PostFigures| match sort.column {
            "impressions" => post.impressions,
            "engagement" => post.engagement,
            "smart_engagement" => post.smart_engagement,
            _ => Some(post.published_at.0),
        };
        let figures: Vec<Option<i64>> = found.posts.figures().map(figure).collect();
        let figure = |place: u32| figures.get(place as usize - start).copied().flatten();
        order.sort_by(|a, b| sort.compare(figure(*a), figure(*b)));
        Places::from(order)
    }
}

/// The order of posts that all others fall back on.
const NEWEST: (&str, bool) = ("published_at", true);

/// More of the first posts of an order than these come from the order of all.
const FIRST_MAX: usize = 50_000;

/// Posts that are looked among, and the places among all posts of those that match, newest first.
struct Found<'a> {
    posts: RowsOf<'a, Post>,
    /// The place of the first of the posts.
    start: usize,
    places: Places,
}

impl Found<'_> {
    /// Those whose title holds all of the words.
    fn with_words(self, words: &[String], folder: Option<&Path>, progress: &Progress) -> Result<Self> {
        let total = self.posts.len();
        let mut holds = vec![0_u64; total.div_ceil(64)];
        for (i, title) in self.posts.titles().enumerate() {
            if i % 16_384 == 0 {
                progress.step(i as u64, total as u64)?;
            }
            let title = title.unwrap_or_default().to_lowercase();
            holds[i / 64] |= u64::from(words.iter().all(|word| title.contains(word.as_str()))) << (i % 64);
        }
        let start = self.start;
        let mut places = PlacesWriter::new(folder);
        for place in self.places.iter().filter(|place| holds[(place - start) / 64] >> ((place - start) % 64) & 1 == 1) {
            places.push(place as u32)?;
        }
        Ok(Self { places: places.finish()?, ..self })
    }
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
