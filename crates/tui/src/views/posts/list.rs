//! The list of the Posts view: one row of the table for each field of a post. Sorting and searching run in the query.

use crate::views::prelude::*;
use model::rows::Post;
use query::queries::list::Listed;
use table::filter::{self, Filter, FilterColumn, Operator};

/// Longest filter in characters.
const WORDS_MAX: usize = 200;

pub(super) struct PostFields;

#[derive(Clone, Copy)]
pub(super) struct ListedPost<'a> {
    pub post: &'a Post,
    pub context: &'a Context<'a>,
}

type F = Field<PostFields>;

impl Fields for PostFields {
    type Row<'a> = ListedPost<'a>;

    const FIELDS: &'static [F] = &[
        F::hidden("post_id", ColumnKind::Text, |row| {
            (&row.post.post_id).into()
        }),
        F::figure("published_at", "age", 5, 240, |row| {
            row.post.published_at.into()
        })
        .cell(|row, _| {
            Cell::new(
                format::age(
                    row.context
                        .newest_post()
                        .0
                        .saturating_sub(row.post.published_at.0),
                ),
                Role::Dim,
            )
        }),
        F::picture("date", "published", 16, 90, |row, look| {
            let time = look.zone.minute(row.post.published_at);
            let shown = if look.cells >= 16 {
                time.as_str()
            } else {
                time.split(' ').next().unwrap_or_default()
            };
            Cell::new(shown.to_owned(), Role::Dim)
        }),
        F::text(TOKEN, "token", [6, 9], 150, |row| {
            symbol_of(row.context, &row.post.token_address).into()
        })
        .unsorted()
        .plain(),
        F::text("title", "title", [34, 60], 255, |row| {
            (&row.post.title).into()
        })
        .grows(),
        F::hidden("link", ColumnKind::Text, |row| (&row.post.link).into()),
        F::figure("impressions", "impressions", 11, 100, |row| {
            float(row.post.impressions).into()
        }),
        F::figure("engagement", "engagement", 10, 120, |row| {
            float(row.post.engagement).into()
        }),
        F::figure("smart_engagement", "smart", 7, 140, |row| {
            float(row.post.smart_engagement).into()
        }),
        F::text(AUTHOR, "author", [11, 18], 110, |row| {
            (&row.post.author).into()
        })
        .widths(&[(130, [16, 18])])
        .plain(),
        F::text("platform", "platform", [9, 16], 105, |row| {
            row.post.place().into()
        })
        .widths(&[(130, [14, 16])])
        .plain(),
        F::text(MATCHED, "matched", [7, 8], 95, |row| {
            (&row.post.matched_by).into()
        })
        .plain(),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("published_at"));

    /// Plain words search the title, conditions are those of GET /posts; the query evaluates both.
    fn filter_columns() -> Vec<FilterColumn> {
        [
            Post::COLUMNS,
            &[FilterColumn::new(AGE, ColumnKind::Duration, &[])],
        ]
        .concat()
    }

    fn read(
        text: &str,
        columns: &[FilterColumn],
        tokens: TokenReader<'_>,
    ) -> Result<Filter, InputError> {
        if text.chars().count() > WORDS_MAX {
            return Err(InputError::FilterTooLong { max: WORDS_MAX });
        }
        let filter = filter::parse_with(text, columns, tokens)
            .map_err(|error| InputError::Filter(error, text.to_owned()))?;
        if filter.compares(|column, operator| column == AGE && operator == Operator::Differs) {
            return Err(InputError::AgeOperator);
        }
        Ok(filter)
    }

    fn json(row: ListedPost<'_>) -> Json {
        let mut post = serde_json::to_value(row.post).unwrap_or_default();
        (post["author"], post["platform"]) = (json!(row.post.author), json!(row.post.platform));
        post[MATCHED] = json!(row.post.matched_by);
        post
    }
}

/// The time since a post was published, as its column is titled; the query has only the time.
pub(super) const AGE: &str = "age";

/// The column shown only where an author is known.
pub(super) const AUTHOR: &str = "author";

/// The column shown only where it is known why posts are about their token.
pub(super) const MATCHED: &str = "matched_by";

/// The column shown only among several tokens' posts.
pub(super) const TOKEN: &str = "token_address";
