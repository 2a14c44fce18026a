//! The queries behind GET /tokens/{token_address}/posts and GET /posts.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Find, Query, known_token,
    list::{Listed, Rows, SORT, conditions, listed, only, sort, sort_rows},
    order::Order,
    paging::{TOP_ROWS_MAX, page_range, paged},
    parameter::{EXPLAIN, PAGE, ParameterKind, TOKEN, TokenReader, parameter},
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular, members},
    view::View,
};
use frames::ordered::Ordered;
use load::RowsOf;
use model::{
    address::Address,
    error::Result,
    progress::Progress,
    rows::{Post, host},
    scalar::Scalar,
    time::Time,
};
use table::{
    self, RowSelection, SortBy, TableRows,
    filter::{AddressOf, Columns, Filter, FilterColumn, Values},
    top_rows,
};

request! {
    /// A page of one token's posts, newest first.
    TokenPostsQuery at "/tokens/{token_address}/posts" {
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

impl Query for TokenPostsQuery {
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
    PostsQuery at "/posts" {
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
    /// Why the post is about the token: `contract`, `account`, `mention`, `channel` or `cashtag`.
    pub matched_by: Option<String>,
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
            matched_by: post.matched_by.clone(),
            post,
        }
    }
}

listed!(Post ["post_id", "token_address", "title", "link", "published_at", "impressions", "engagement", "smart_engagement", "author", "platform", "matched_by"] {
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
    "matched_by": Text ["why"] = |post| post.matched_by.as_deref().into();
});

impl Query for PostsQuery {
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
        let page = page_range(self.page, self.limit);
        let (posts, total) = self.slice(page, view, progress)?;
        let posts = posts.into_iter().map(PostRow::from).collect();
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

impl Tabular for PostsQuery {
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

/// Some rows of a query of posts, whatever its page.
pub struct PostsSlice {
    pub question: PostsQuery,
    pub rows: Range<usize>,
}

impl Find for PostsSlice {
    type Found = (Vec<Post>, usize);

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Found> {
        self.question.slice(self.rows.clone(), view, progress)
    }
}

impl PostsQuery {
    /// These of the matching posts, in order, and the number of all.
    fn slice(
        &self,
        rows: Range<usize>,
        view: &View<'_>,
        progress: &Progress,
    ) -> Result<(Vec<Post>, usize)> {
        let posts = view.dataset.posts();
        let (places, total) = self.places(view, Some(rows.end), progress)?;
        let places = rows.map_while(|nth| places.get(nth));
        Ok((places.filter_map(|place| posts.get(place)).collect(), total))
    }

    /// Row indices of the matching posts, in order, and their number. With `count`, only that many of the first are guaranteed.
    pub fn places(
        &self,
        snapshot: &Snapshot,
        count: Option<usize>,
        progress: &Progress,
    ) -> Result<(RowSelection, usize)> {
        let posts = snapshot.dataset.posts();
        let table = posts.table();
        let step = |done, total| progress.step(done, total);
        let found = self.matches(snapshot, progress)?;
        let total = found.len();
        if total == 0 {
            return Ok((found, total));
        }
        // A column that is not in the data does not change the order.
        let orders = self.sort.iter();
        let orders = orders.filter(|order| table.column_named(order.column).is_some());
        let mut keys: Vec<(&str, bool)> = orders
            .map(|order| (order.column, order.descending))
            .collect();
        let is_newest_first = keys.is_empty() || keys == NEWEST[..1];
        keys.extend(NEWEST);
        // The table orders by the platforms that it has, a list also by the hosts of links.
        let names_hosts = table.is_held() && self.sort.iter().any(|order| order.column == PLATFORM);
        let places = match count.filter(|count| *count <= TOP_ROWS_MAX) {
            _ if names_hosts => {
                let newest = table::sort_rows(table, by(&NEWEST), &found, step)?;
                self.sorted(&posts, &newest)
            }
            _ if is_newest_first && total == table.height() => {
                snapshot.dataset.posts_newest(step)?
            }
            Some(count) => RowSelection::from(top_rows(table, by(&keys), &found, count, step)?),
            None => table::sort_rows(table, by(&keys), &found, step)?,
        };
        Ok((places, total))
    }

    /// The matching posts, in the order of the table.
    fn matches(&self, snapshot: &Snapshot, progress: &Progress) -> Result<RowSelection> {
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
        let table = dataset.posts().table();
        let candidates = token.map_or(0..table.height(), |token| table.rows_of(&token));
        let filter = self.filter.with_words(words, "title");
        Ok(filter
            .select(&PostColumns(table), candidates, usize::MAX, progress)?
            .0)
    }

    /// Sorts posts in memory. Stable, so that ties stay newest first; missing values come last either way.
    fn sorted(&self, posts: &RowsOf<'_, Post>, newest: &RowSelection) -> RowSelection {
        let posts: Vec<Post> = posts.iter().collect();
        let mut rows: Vec<u32> = newest.iter().map(|row| row as u32).collect();
        // Case-sensitive, as the order of a table.
        let key = |row: &u32, column: &str| match posts.get(*row as usize)?.field(column) {
            text @ Scalar::Text(_) => Some(text.owned()),
            value => value.sort_key(),
        };
        sort_rows(&mut rows, &self.sort, key, |_, _| Ordering::Equal);
        RowSelection::from(rows)
    }
}

/// The default order, and the tie-breakers of all others.
const NEWEST: [(&str, bool); 2] = [("published_at", true), ("post_id", false)];
const PLATFORM: &str = "platform";

fn by<'a>(keys: &'a [(&'a str, bool)]) -> SortBy<'a> {
    SortBy {
        ties: &keys[1..],
        ..SortBy::from(keys[0])
    }
}

/// Posts by column: as in their table, but the platform of a post without one is the host of its link.
struct PostColumns<'a>(&'a TableRows);

impl Columns for PostColumns<'_> {
    fn values(&self, column: &'static str, rows: Range<usize>) -> Values<'_> {
        if column != PLATFORM {
            return self.0.values(column, rows);
        }
        let table = self.0;
        Values::Each(Box::new(move |row| {
            Some(match (table.cell(PLATFORM, row), table.cell("link", row)) {
                (Scalar::Missing, Scalar::Text(link)) => host(&link).map(str::to_owned).into(),
                (platform, _) => platform,
            })
        }))
    }

    fn table(&self) -> Option<&TableRows> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::{answered, snapshot};

    #[test]
    fn posts_are_filtered_and_sorted_with_ties_newest_first() {
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth",
            ),
            (
                "posts",
                "post_id,token_address,title,link,published_at,platform,impressions
                 a,0x1,Alpha uni,https://www.reddit.com/x,2026-01-03T00:00:00Z,,5
                 b,0x1,beta,https://x.com/y,2026-01-02T00:00:00Z,x,
                 c,0x2,Uni gamma,,2026-01-04T00:00:00Z,youtube,5
                 d,0x2,,https://news.example/z,2026-01-04T00:00:00Z,,9",
            ),
        ]);
        for (query, expected) in [
            ("", "cdab"),
            ("sort=published_at", "bacd"),
            ("sort=-impressions", "dcab"),
            ("sort=impressions", "cadb"),
            ("sort=impressions,title", "acdb"),
            ("sort=title", "acbd"),
            // The host of a link is the platform of a post without one.
            ("sort=platform", "dabc"),
            ("where=platform=reddit.com", "a"),
            ("where=platform!=x", "cda"),
            // No post has an author.
            ("sort=-author", "cdab"),
            ("query=uni", "ca"),
            ("query=uni&sort=title", "ac"),
            ("query=uni&where=title:alpha", "a"),
            ("query=0x0000000000000000000000000000000000000001", "ab"),
            ("where=impressions>4&limit=2", "cd"),
        ] {
            let answer = answered::<PostsQuery>(&snapshot, &[], query).expect("an answer");
            let posts = answer.posts.iter().map(|row| row.post.post_id.as_str());
            assert_eq!(posts.collect::<String>(), expected, "{query}");
        }
    }
}
