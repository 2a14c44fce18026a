//! The track record pane: what followed each author's posts, compared with similar candles and with the market. The rows are those of the
//! query; a pane that replaces the view while it is open.

use crate::views::{
    prelude::*,
    record_pane::{RecordPane, RecordTexts, so_far},
};
use analysis::track_record::{
    errors::interval_text,
    posts::{PostsRecord, PostsVerdict},
};
use query::queries::posts_record::{PostsRecordQuery, PostsTrackRecord};
use serde::Serialize;

/// The returns after one author's posts at one horizon.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct AuthorRow {
    author: String,
    platform: Option<String>,
    #[serde(flatten)]
    of: PostsRecord,
}

pub(super) fn rows(record: &PostsTrackRecord) -> Vec<AuthorRow> {
    let of_author = record.authors.iter().flat_map(|author| {
        author.records.iter().map(|of| AuthorRow {
            author: author.author.clone(),
            platform: author.platform.clone(),
            of: of.clone(),
        })
    });
    of_author.filter(|row| row.of.events > 0).collect()
}

pub(super) struct AuthorFields;

type F = Field<AuthorFields>;

fn band(low: Option<f64>, high: Option<f64>) -> Cell {
    interval_text(low, high).map_or_else(Cell::missing, |text| Cell::new(text, Role::Dim))
}

impl Fields for AuthorFields {
    type Row<'a> = &'a AuthorRow;

    const FIELDS: &'static [F] = &[
        F::text("author", "author", [10, 24], 255, |row| {
            row.author.as_str().into()
        })
        .searched()
        .grows(),
        F::text("platform", "platform", [9, 14], 150, |row| {
            row.platform.as_deref().into()
        })
        .searched(),
        F::text("horizon", "after", [5, 5], 250, |row| row.of.horizon.into()),
        F::figure("events", "posts", 6, 230, |row| row.of.events.into()).counted(),
        F::figure("clusters", "days", 5, 235, |row| row.of.clusters.into()).counted(),
        F::figure("median", "median", 7, 210, |row| row.of.median.into()).change(),
        F::figure("mean_excess", "excess", 7, 245, |row| {
            row.of.mean_excess.into()
        })
        .member("meanExcess")
        .change(),
        F::picture("interval", "95% interval", 13, 240, |row, _| {
            band(row.of.low, row.of.high)
        }),
        F::hidden("low", ColumnKind::Number, |row| row.of.low.into()),
        F::hidden("high", ColumnKind::Number, |row| row.of.high.into()),
        F::figure("excess_market", "market", 7, 238, |row| {
            row.of.excess_market.into()
        })
        .member("excessMarket")
        .change(),
        F::picture("placebo", "placebo", 13, 220, |row, _| {
            let [low, high] = row.of.placebo.map_or([None; 2], |band| band.map(Some));
            band(low, high)
        }),
        F::text("verdict", "verdict", [8, 13], 248, |row| {
            row.of.verdict.word().into()
        })
        .cell(|row, _| {
            let role = match row.of.verdict {
                PostsVerdict::Better | PostsVerdict::Worse => Role::Text,
                PostsVerdict::NoDifference | PostsVerdict::TooFew => Role::Dim,
            };
            Cell::new(row.of.verdict.word().replace('_', " "), role)
        })
        .searched(),
    ];

    const STANDARD: Option<Order> = None;

    fn json(row: &AuthorRow) -> Json {
        serde_json::to_value(row).unwrap_or_default()
    }
}

pub(super) type AuthorsPane = RecordPane<AuthorFields, AuthorRow, PostsRecordQuery>;

pub(super) fn draw(pane: &mut AuthorsPane, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let waits = pane.answer().is_none().then(|| pane.progress());
    let says = match waits {
        Some(waits) => format!(
            "computing the returns after each author's posts{}",
            so_far(waits, "")
        ),
        None => LEGEND.to_owned(),
    };
    let missing = pane.answer().and_then(|record| record.missing.clone());
    let texts = RecordTexts {
        title: "track record of the authors · all tokens",
        says: &says,
        empty: missing
            .as_deref()
            .unwrap_or("no post has a candle after it and 90 comparable ones before it"),
        waits,
    };
    pane.draw(buffer, area, &texts, context);
}

const LEGEND: &str = "Excess: mean return after an author's first post about a token on a day, minus that of the token's candles of the year \
    before with a similar 24-hour return. Market: minus the median of the tokens without a post that day. Placebo: excess of the same posts \
    moved by 1 to 30 days. The verdict is corrected for all rows. Deleted posts are missing, so authors may look better than they are.";
