//! The queries behind GET /tokens/{token_address}/posts and GET /posts.

use std::{cmp::Ordering, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Query,
    filter::{AddressOf, Filter, FilterColumn},
    known_token,
    list::{Listed, Rows, SORT, conditions, listed, only, sort, sort_rows},
    order::Order,
    paging::{TOP_ROWS_MAX, page_range, paged},
    parameter::{EXPLAIN, PAGE, ParameterKind, TOKEN, TokenReader, parameter},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular, members},
    view::View,
};
use model::{address::Address, error::Result, rows::Post, scalar::Scalar, time::Time};
use store::{
    RowsOf,
    cache::{self, RowSelection, RowSelectionWriter, SortBy, TableRows, top_rows},
    ordered::Ordered,
};

request! {
    /// A page of one token's posts, newest first.
    TokenPostsQuestion at "/tokens/{token_address}/posts" {
        token_address: Address = TOKEN,
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 100, default: 10 }, "Posts per page."),
        explain: bool = EXPLAIN,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenPosts {
    pub token_address: Address,
    /// The page returned.
    pub page: u64,
    /// Posts per page.
    pub limit: u64,
    /// All posts of the token.
    pub total: u64,
    pub posts: Vec<Post>,
    /// With `explain`: reason for an empty list: the table that is missing or unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Query for TokenPostsQuestion {
    type Answer = TokenPosts;
    const NAME: &'static str = "token_posts";
    const SUMMARY: &'static str = "List a token's posts, newest first.";
    const NEEDS: &'static [&'static str] = &["posts"];

    paged!(TokenPosts);

    fn as_of(&self, _: &Snapshot, answer: &TokenPosts) -> Option<Time> {
        answer.posts.iter().map(|post| post.published_at).max()
    }

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<TokenPosts> {
        known_token(view, &self.token_address)?;
        let posts = view.dataset.posts_of(&self.token_address);
        Ok(TokenPosts {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: posts.len() as u64,
            posts: posts.part(page_range(self.page, self.limit)),
            missing: view
                .dataset
                .absence_reason("posts")
                .filter(|_| self.explain),
        })
    }
}

request! {
    /// A page of the posts of all tokens.
    PostsQuestion at "/posts" {
        query: Option<String> =
            parameter("query", ParameterKind::Text, "Words in the title; a token's address, `$UNI` or `UNI@base` among them limits the \
                result to that token's posts."),
        filter: Filter = conditions::<Post>(),
        sort: Vec<Order> = sort::<Post>(Some("-published_at"), SORT),
        /// Members out of `Post::MEMBERS`; empty: all.
        only: Vec<&'static str> = only::<Post>(),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Posts per page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Posts {
    pub page: u64,
    pub limit: u64,
    /// Number of matching posts.
    pub total: u64,
    pub posts: Rows<PostRow>,
    /// Reason for an empty list: the table that is missing or unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A post in the list of all posts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PostRow {
    #[serde(flatten)]
    pub post: Post,
    /// Name of the publisher.
    pub author: Option<String>,
    /// Platform; a filter falls back to the host of the post's link.
    pub platform: Option<String>,
}

impl Listed for PostRow {
    const COLUMNS: &'static [FilterColumn] = Post::COLUMNS;
    const MEMBERS: &'static [&'static str] = Post::MEMBERS;

    fn field(&self, column: &str) -> Scalar<'_> {
        self.post.field(column)
    }
}

impl From<Post> for PostRow {
    fn from(post: Post) -> Self {
        Self {
            author: post.author.clone(),
            platform: post.platform.clone(),
            post,
        }
    }
}

listed!(Post ["post_id", "token_address", "title", "link", "published_at", "impressions", "engagement", "smart_engagement", "author", "platform"] {
    "title": Text [] = |post| post.title.as_deref().into();
    "post_id": Text ["id"] = |post| Scalar::text(&post.post_id);
    "token_address": Text ["address", "token"].addresses(AddressOf::Tokens) = |post| Scalar::text(post.token_address.to_string());
    "link": Text [] = |post| post.link.as_deref().into();
    "published_at": Time ["published"] = |post| Scalar::Time(post.published_at);
    "impressions": Number [] = |post| post.impressions.into();
    "engagement": Number [] = |post| post.engagement.into();
    "smart_engagement": Number ["smart"] = |post| post.smart_engagement.into();
    "author": Text ["by"] = |post| post.author.as_deref().into();
    "platform": Text ["on"] = |post| post.place().into();
});

impl Query for PostsQuestion {
    type Answer = Posts;
    const NAME: &'static str = "posts";
    const SUMMARY: &'static str = "Search posts of all tokens.";
    const NEEDS: &'static [&'static str] = &["posts"];
    const DATED: Dated = Dated::Always;

    paged!(Posts);

    fn as_of(&self, _: &Snapshot, answer: &Posts) -> Option<Time> {
        answer.posts.iter().map(|row| row.post.published_at).max()
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Posts> {
        let posts = view.dataset.posts();
        let page = page_range(self.page, self.limit);
        let (places, total) = self.places(view, Some(page.end), progress)?;
        let posts = page
            .map_while(|nth| places.get(nth))
            .filter_map(|place| posts.get(place))
            .map(PostRow::from)
            .collect();
        let posts = Rows::new(posts, &self.only);
        Ok(Posts {
            page: self.page,
            limit: self.limit,
            total: total as u64,
            posts,
            missing: view.dataset.absence_reason("posts"),
        })
    }
}

impl Tabular for PostsQuestion {
    fn tabled(
        &self,
        view: &View<'_>,
        _: &Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled> {
        let members = members(Post::MEMBERS, &self.only);
        let page = if whole {
            0..usize::MAX
        } else {
            page_range(self.page, self.limit)
        };
        let (places, _) = self.places(view, if whole { None } else { Some(page.end) }, progress)?;
        let Some(table) = view.dataset.table("posts").filter(|table| table.loaded()) else {
            return Tabled::of::<Post>(&[], &members);
        };
        let rows = Ordered {
            nth: page,
            ..Ordered::new(Arc::clone(&table.rows), places, members.clone())
        };
        Ok(Tabled::frames(Box::new(rows.within()), &members))
    }
}

impl PostsQuestion {
    /// Row indices of the matching posts, in order, and their number. With `count`, only that many of the first are guaranteed.
    pub fn places(
        &self,
        snapshot: &Snapshot,
        count: Option<usize>,
        progress: &Progress,
    ) -> Result<(RowSelection, usize)> {
        let dataset = &snapshot.dataset;
        let step = |done, total| progress.step(done, total);
        let large = dataset
            .table("posts")
            .and_then(|table| table.large().map(Arc::as_ref));
        let ties: Vec<(&str, bool)> = self
            .sort
            .iter()
            .skip(1)
            .map(|order| (order.column, order.descending))
            .collect();
        let by = self
            .sort
            .first()
            .map_or(NEWEST, |order| (order.column, order.descending));
        let is_newest_first = by == NEWEST && ties.is_empty();
        let top_count = count.filter(|count| *count <= TOP_ROWS_MAX);
        // Top-k over all posts: the tie-breakers are explicit, so that the posts need no sorting beforehand.
        if let (Some(table), Some(count)) = (large, top_count)
            && self.query.is_none()
            && self.filter.is_empty()
            && !is_newest_first
        {
            let ties = [&ties[..], &[NEWEST, ("post_id", false)]].concat();
            let by = SortBy {
                ties: &ties,
                ..SortBy::from(by)
            };
            let rows = RowSelection::Run(0..table.height());
            return Ok((
                RowSelection::from(top_rows(table, by, &rows, count, step)?),
                table.height(),
            ));
        }
        let found = self.matches(snapshot, large, progress)?;
        let total = found.places.len();
        let by = SortBy {
            ties: &ties,
            ..SortBy::from(by)
        };
        let places = match (large, top_count) {
            _ if is_newest_first => found.places,
            (Some(table), Some(count)) => {
                RowSelection::from(top_rows(table, by, &found.places, count, step)?)
            }
            (Some(table), None) => cache::sort_rows(table, by, &found.places, step)?,
            (None, _) => self.sorted(&found),
        };
        Ok((places, total))
    }

    /// The matching posts, newest first.
    fn matches<'a>(
        &self,
        snapshot: &'a Snapshot,
        large: Option<&TableRows>,
        progress: &Progress,
    ) -> Result<Matches<'a>> {
        let dataset = &snapshot.dataset;
        let (mut token, mut words) = (None, Vec::new());
        for word in self.query.iter().flat_map(|query| query.split_whitespace()) {
            // A title may hold a symbol alone.
            let is_marked = Address::asked(word).is_some()
                || ["$", "0x", "0X"]
                    .iter()
                    .any(|start| word.starts_with(start))
                || word.contains('@');
            let named = if is_marked {
                TokenReader::of(snapshot).read(word)?
            } else {
                None
            };
            match named {
                Some(named) => token = token.or(Some(named)),
                None => words.push(word.to_lowercase()),
            }
        }
        let found = match token {
            // A token's posts are stored newest first.
            Some(token) => {
                let rows = dataset.post_rows_of(&token);
                Matches {
                    posts: dataset.posts_of(&token),
                    start: rows.start,
                    places: RowSelection::Run(rows),
                }
            }
            None => Matches {
                posts: dataset.posts(),
                start: 0,
                places: dataset.posts_newest(|done, total| progress.step(done, total))?,
            },
        };
        let found = if words.is_empty() {
            found
        } else {
            found.with_title_words(&words, large, progress)?
        };
        if self.filter.is_empty() {
            Ok(found)
        } else {
            found.that_match(&self.filter, large, progress)
        }
    }

    /// Sorts posts in memory. Stable, so that ties stay newest first; missing values come last either way.
    fn sorted(&self, found: &Matches<'_>) -> RowSelection {
        let posts: Vec<Post> = found.posts.iter().collect();
        let mut rows: Vec<(u32, &Post)> = found
            .places
            .iter()
            .filter_map(|place| Some((place as u32, posts.get(place - found.start)?)))
            .collect();
        // Case-sensitive, as the order of a large table.
        let key = |post: &Post, column: &str| match post.field(column) {
            text @ Scalar::Text(_) => Some(text.owned()),
            value => value.sort_key(),
        };
        sort_rows(
            &mut rows,
            &self.sort,
            |(_, post), column| key(post, column),
            |_, _| Ordering::Equal,
        );
        RowSelection::from(
            rows.into_iter()
                .map(|(place, _)| place)
                .collect::<Vec<u32>>(),
        )
    }
}

/// The default order, and the tie-breaker of all others.
const NEWEST: (&str, bool) = ("published_at", true);

/// The candidate posts, and the row indices of the matching ones among all posts, newest first.
struct Matches<'a> {
    posts: RowsOf<'a, Post>,
    /// Row index of the first candidate.
    start: usize,
    places: RowSelection,
}

impl Matches<'_> {
    /// Keeps the posts whose title contains all words.
    fn with_title_words(
        self,
        words: &[String],
        large: Option<&TableRows>,
        progress: &Progress,
    ) -> Result<Self> {
        let titles = self
            .posts
            .titles()
            .map(|title| title.unwrap_or_default().to_lowercase());
        let holds = matching_bitmap(titles, self.posts.len(), progress, |title| {
            words.iter().all(|word| title.contains(word.as_str()))
        })?;
        self.keep(&holds, large)
    }

    /// Keeps the posts that meet all conditions.
    fn that_match(
        self,
        filter: &Filter,
        large: Option<&TableRows>,
        progress: &Progress,
    ) -> Result<Self> {
        let holds = matching_bitmap(self.posts.iter(), self.posts.len(), progress, |post| {
            filter.matches(|column| post.field(column))
        })?;
        self.keep(&holds, large)
    }

    fn keep(self, holds: &[u64], large: Option<&TableRows>) -> Result<Self> {
        let start = self.start;
        let mut places = RowSelectionWriter::for_table(large);
        for place in self
            .places
            .iter()
            .filter(|place| holds[(place - start) / 64] >> ((place - start) % 64) & 1 == 1)
        {
            places.push(place as u32)?;
        }
        Ok(Self {
            places: places.finish()?,
            ..self
        })
    }
}

/// A bitmap of the matching items.
fn matching_bitmap<T>(
    items: impl Iterator<Item = T>,
    total: usize,
    progress: &Progress,
    holds: impl Fn(&T) -> bool,
) -> Result<Vec<u64>> {
    let mut bits = vec![0_u64; total.div_ceil(64)];
    for (i, item) in items.enumerate() {
        if i % 16_384 == 0 {
            progress.step(i as u64, total as u64)?;
        }
        bits[i / 64] |= u64::from(holds(&item)) << (i % 64);
    }
    Ok(bits)
}
