//! A request of the log as a row: its cells, what it is sorted and filtered by.

use crate::dataset::address::Address;
use crate::question::filter::{ColumnKind, FieldValue, FilterColumn};
use crate::tui::{
    format,
    theme::Role,
    view::RequestLine,
    views::sorting::SortKey,
    widgets::table::{Cell, Column},
};

pub(super) const COLUMNS: &[Column] = &[
    Column::text("time", "time", 8, 8, 200),
    Column::text("method", "method", 6, 6, 90),
    Column::text("path", "path", 20, 48, 240).grows(),
    Column::figure("status", "status", 6, 255),
    Column::figure("duration", "took", 8, 250),
    Column::figure("bytes", "size", 8, 80),
];

pub(super) const FILTER: &[FilterColumn] = &[
    FilterColumn::new("time", ColumnKind::Time, &[]),
    FilterColumn::new("method", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("path", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("status", ColumnKind::Number, &[]),
    FilterColumn::new("duration", ColumnKind::Number, &["took", "micros"]),
    FilterColumn::new("bytes", ColumnKind::Number, &["size"]),
];

/// By the class of the status: answered, unchanged, the asker's mistake, ours.
pub(super) fn status_role(status: u16) -> Role {
    match status {
        ..300 => Role::Up,
        300..400 => Role::Dim,
        400..500 => Role::Warning,
        500.. => Role::Down,
    }
}

pub(super) fn row(line: &RequestLine) -> Vec<Cell> {
    let text = line.time.to_string();
    // `2026-08-14T09:30:12Z`: the day is of no interest in a log of minutes.
    let time = text.get(11..19).unwrap_or(&text).to_owned();
    let (path, query) = line.path.split_once('?').map_or((line.path.as_str(), None), |(path, query)| (path, Some(query)));
    let mut shown = Cell::text(shorten(path));
    if let Some(query) = query {
        shown = shown.then(format!("?{query}"), Role::Dim);
    }
    vec![
        Cell::new(time, Role::Dim),
        Cell::new(line.method.clone(), if line.method == "GET" { Role::Dim } else { Role::Accent }),
        shown,
        Cell::new(line.status.to_string(), status_role(line.status)),
        Cell::text(super::took(line.micros)),
        Cell::new(format::bytes(line.bytes), Role::Dim),
    ]
}

/// The path with its addresses cut in the middle, so that what differs is seen; the whole is copied.
fn shorten(path: &str) -> String {
    let short = |part: &str| if Address::parse(part).is_some() { format::short_address(part) } else { part.to_owned() };
    path.split('/').map(short).collect::<Vec<_>>().join("/")
}

pub(super) fn sort_key(line: &RequestLine, column: usize) -> SortKey {
    match COLUMNS[column].key {
        "time" => SortKey::Number(line.time.0 as f64),
        "method" => SortKey::from(line.method.as_str()),
        "path" => SortKey::from(line.path.as_str()),
        "status" => SortKey::from(u64::from(line.status)),
        "duration" => SortKey::from(line.micros),
        _ => SortKey::from(line.bytes),
    }
}

pub(super) fn field<'a>(line: &'a RequestLine, column: &str) -> Option<FieldValue<'a>> {
    Some(match column {
        "time" => FieldValue::Time(line.time),
        "method" => FieldValue::text(&line.method),
        "path" => FieldValue::text(&line.path),
        "status" => FieldValue::Number(f64::from(line.status)),
        "duration" => FieldValue::Number(line.micros as f64),
        "bytes" => FieldValue::Number(line.bytes as f64),
        _ => return None,
    })
}
