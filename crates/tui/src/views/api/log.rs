//! The request log of the API view: one row of the table for each field of a request.

use crate::views::prelude::*;
use model::logged_request::LoggedRequest;

pub(super) struct RequestFields;

type F = Field<RequestFields>;

impl Fields for RequestFields {
    type Row<'a> = &'a LoggedRequest;

    const FIELDS: &'static [F] = &[
        F::text("time", "time", [8, 8], 200, |line| line.time.into())
            .cell(|line, _| {
                let text = line.time.to_string();
                // `2026-08-14T09:30:12Z`: the day is irrelevant in a log of minutes.
                Cell::new(text.get(11..19).unwrap_or(&text).to_owned(), Role::Dim)
            })
            .of(ColumnKind::Time)
            .largest_first(),
        F::text("method", "method", [6, 6], 90, |line| (&line.method).into())
            .cell(|line, _| {
                Cell::new(
                    line.method.clone(),
                    if line.method == "GET" {
                        Role::Dim
                    } else {
                        Role::Accent
                    },
                )
            })
            .searched(),
        F::text("path", "path", [20, 48], 240, |line| (&line.path).into())
            .cell(|line, _| path(&line.path))
            .searched()
            .grows(),
        F::figure("status", "status", 6, 255, |line| line.status.into())
            .cell(|line, _| Cell::new(line.status.to_string(), status_role(line.status))),
        F::figure("duration", "took", 8, 250, |line| line.micros.into())
            .cell(|line, _| Cell::text(super::duration_text(line.micros)))
            .aliases(&["took", "micros"])
            .member("micros"),
        F::figure("bytes", "size", 8, 80, |line| line.bytes.into())
            .cell(|line, _| Cell::new(format::bytes(line.bytes), Role::Dim))
            .aliases(&["size"]),
    ];

    fn json(line: &LoggedRequest) -> Json {
        serde_json::to_value(line).unwrap_or_default()
    }
}

/// The color by status class: success, not modified, client error, server error.
pub(super) fn status_role(status: u16) -> Role {
    match status {
        ..300 => Role::Up,
        300..400 => Role::Dim,
        400..500 => Role::Warning,
        500.. => Role::Down,
    }
}

/// The path with addresses shortened in the middle, so that differences stay visible; copying gives the full path.
fn path(whole: &str) -> Cell {
    let (path, query) = whole
        .split_once('?')
        .map_or((whole, None), |(path, query)| (path, Some(query)));
    let short = |part: &str| {
        if Address::parse(part).is_some() {
            format::short_address(part)
        } else {
            part.to_owned()
        }
    };
    let cell = Cell::text(path.split('/').map(short).collect::<Vec<_>>().join("/"));
    query.map_or_else(
        || cell.clone(),
        |query| cell.clone().then(format!("?{query}"), Role::Dim),
    )
}
