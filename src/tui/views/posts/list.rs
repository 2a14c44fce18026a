//! The rows of the Posts table: columns, sorting, cells.

use serde_json::Value;

use crate::{
    dataset::{address::Address, rows::Post, time::Time},
    tui::{
        format,
        theme::Role,
        views::{parts::float, rows::SortColumn},
        widgets::table::{Cell, Column},
    },
};

/// What the query may be long.
const WORDS_MAX: usize = 200;

const COLUMNS: &[Column] = &[
    Column::figure("published_at", "age", 5, 240),
    Column { matched: false, ..Column::text("token_address", "token", 6, 9, 150) },
    Column::text("title", "title", 16, 60, 255).grows(),
    Column::figure("impressions", "impressions", 11, 100),
    Column::figure("engagement", "engagement", 10, 120),
    Column::figure("smart_engagement", "smart", 7, 140),
];

pub(super) const SORTS: &[SortColumn] =
    &[("published_at", true), ("title", false), ("impressions", true), ("engagement", true), ("smart_engagement", true)];

pub(super) fn columns(all: bool) -> Vec<Column> {
    COLUMNS.iter().copied().filter(|column| all || column.key != "token_address").collect()
}

/// The filter of posts is words of the title.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.chars().count() > WORDS_MAX { Err(format!("the words are longer than {WORDS_MAX} characters")) } else { Ok(()) }
}

/// The post's cells; with the token's where `symbol` tells it.
pub(super) fn cells(post: &Post, symbol: Option<&dyn Fn(&Address) -> String>, now: Time) -> Vec<Cell> {
    let figure = |value: Option<i64>| Cell::figure(format::human(float(value)));
    let mut cells = vec![Cell::new(format::age(now.0.saturating_sub(post.published_at.0)), Role::Dim)];
    cells.extend(symbol.map(|symbol| Cell::text(symbol(&post.token_address))));
    cells.push(post.title.as_ref().map_or_else(Cell::missing, |title| Cell::text(title.clone())));
    cells.extend([figure(post.impressions), figure(post.engagement), figure(post.smart_engagement)]);
    cells
}

pub(super) const EXPORTED: &[&str] =
    &["post_id", "token_address", "title", "link", "published_at", "impressions", "engagement", "smart_engagement"];

pub(super) fn exported(post: &Post, columns: &[&str]) -> Vec<Value> {
    let row = serde_json::to_value(post).unwrap_or_default();
    columns.iter().map(|column| row[*column].clone()).collect()
}
