//! The tables of the dataset: their list with load states, and the selected one in detail: files, columns, issues.

use super::cells::cut_path;
use crate::views::prelude::*;
use load::{Dataset, Table as DataTable};
use model::{
    candles::Interval,
    findings::Severity,
    schema::{Need, TABLES, TableSchema},
    table_state::TableState as Loaded,
};
use query::service::refresh::FeedTable;

pub(super) struct TableFields;

#[derive(Clone, Copy)]
pub(super) struct ListedTable<'a> {
    schema: &'static TableSchema,
    /// `None` before a dataset is loaded.
    table: Option<&'a DataTable>,
    context: &'a Context<'a>,
    /// Things asked for of all, while its rows are fetched.
    fetching: Option<(usize, usize)>,
}

type F = Field<TableFields>;

impl Fields for TableFields {
    type Row<'a> = ListedTable<'a>;

    const FIELDS: &'static [F] = &[
        F::text("table", "table", [14, 14], 255, |row| {
            row.schema.name.into()
        })
        .cell(|row, _| {
            Cell::new(
                row.schema.name,
                if row.table.is_some_and(DataTable::loaded) {
                    Role::Text
                } else {
                    Role::Dim
                },
            )
        })
        .searched(),
        F::text("state", "state", [14, 14], 250, |row| {
            row.table.map(|table| state_mark(table).1).into()
        })
        .rank(|row| {
            Some(match row.table?.state {
                Loaded::Unusable(_) => 0.0,
                Loaded::Loaded => 1.0,
                Loaded::Absent => 2.0,
            })
        })
        .cell(|row, _| state_cell(*row)),
        F::hidden("reason", ColumnKind::Text, |_| Scalar::Missing),
        F::figure("rows", "rows", 11, 240, |row| {
            row.loaded().map(DataTable::height).into()
        })
        .cell(|row, _| row.figure(|table| Cell::text(format::count(table.height() as u64)))),
        F::figure("rows_bad", "rejected", 8, 200, |row| {
            row.loaded().map(|table| table.rows_bad).into()
        })
        .cell(|row, _| {
            row.figure(|table| match table.rows_bad {
                0 => Cell::missing(),
                bad => Cell::new(format::count(bad), Role::Warning),
            })
        }),
        F::text("findings", "issues", [13, 20], 230, |_| Scalar::Missing)
            .rank(|row| {
                row.loaded()
                    .map(|table| errors(table) as f64 * 1e9 + warnings(table) as f64)
            })
            .cell(|row, look| row.unless_absent(|table| findings_cell(table, look)))
            .largest_first()
            .member("errors"),
        F::hidden("warnings", ColumnKind::Number, |_| Scalar::Missing),
        F::text("source", "source", [14, 26], 120, |row| {
            row.loaded()
                .and_then(|table| Some(&table.sources.first()?.file))
                .into()
        })
        .cell(|row, look| row.unless_absent(|table| source_cell(table, look.cells)))
        .grows()
        .member("sources"),
        F::figure("bytes", "size", 8, 80, |row| row.loaded().map(bytes).into())
            .cell(|row, _| row.figure(|table| Cell::new(format::bytes(bytes(table)), Role::Dim)))
            .member(""),
        // Negated: younger sorts higher.
        F::figure("age", "age", 5, 110, |row| {
            row.loaded().and_then(newest).map(|ms| -ms).into()
        })
        .cell(|row, look| {
            row.figure(|table| match newest(table) {
                Some(ms) => Cell::new(format::age(look.now.0 - ms), Role::Dim),
                None => Cell::missing(),
            })
        })
        .smallest_first()
        .member(""),
        F::figure("load_ms", "load", 8, 60, |row| {
            row.loaded().map(|table| table.load_ms).into()
        })
        .cell(|row, _| row.figure(|table| Cell::new(load_time_text(table.load_ms), Role::Dim))),
    ];

    fn json(row: ListedTable<'_>) -> Json {
        let Some(table) = row.table else {
            return Json::Null;
        };
        let sources: Vec<&str> = table
            .sources
            .iter()
            .map(|source| source.file.as_str())
            .collect();
        json!({
            "table": table.schema.name, "state": table.state.word(), "reason": table.state.reason(), "rows": table.height(), "rows_bad": table.rows_bad,
            "errors": errors(table), "warnings": warnings(table), "sources": sources, "load_ms": table.load_ms,
        })
    }
}

impl<'a> ListedTable<'a> {
    fn loaded(self) -> Option<&'a DataTable> {
        self.table.filter(|table| table.loaded())
    }

    /// The load progress, (done, total).
    fn loading(self) -> Option<(u64, u64)> {
        let load = self.context.load;
        load.tables
            .iter()
            .find(|(table, ..)| load.running && table == self.schema.name)
            .map(|(_, done, total)| (*done, *total))
    }

    /// A cell about the data of a loaded table: the missing sign where it could not be used, blank where it is absent, as nothing is
    /// missing there.
    fn figure(self, cell: impl FnOnce(&DataTable) -> Cell) -> Cell {
        self.unless_absent(|table| {
            if table.loaded() {
                cell(table)
            } else {
                Cell::missing()
            }
        })
    }

    /// A cell about a table that may also be unusable; blank while absent.
    fn unless_absent(self, cell: impl FnOnce(&DataTable) -> Cell) -> Cell {
        let known = self.table.filter(|table| {
            table.loaded() || (table.state != Loaded::Absent && self.loading().is_none())
        });
        known.map_or_else(|| Cell::text(""), cell)
    }
}

/// Minimum number of cells of a path for sharing its line with other text.
const FILE_MIN: usize = 24;

fn schema(dataset: Option<&Dataset>, place: usize) -> Option<&'static TableSchema> {
    match dataset {
        Some(dataset) => dataset.tables.get(place).map(|table| table.schema),
        None => TABLES.get(place),
    }
}

/// The table indices, absent tables last.
pub(super) fn places(dataset: Option<&Dataset>) -> Vec<usize> {
    let absent = |place: usize| {
        dataset
            .and_then(|dataset| dataset.tables.get(place))
            .is_some_and(|table| table.state == Loaded::Absent)
    };
    let mut places: Vec<usize> =
        (0..dataset.map_or(TABLES.len(), |dataset| dataset.tables.len())).collect();
    places.sort_by_key(|&place| absent(place));
    places
}

/// The rows of the list, by index.
pub(super) fn rows<'a>(context: &'a Context<'a>) -> impl Fn(usize) -> Option<ListedTable<'a>> {
    let dataset = context.snapshot.map(|snapshot| &snapshot.dataset);
    let feeds = context.service.feed_tables();
    move |place| {
        let schema = schema(dataset, place)?;
        let fetching = feeds
            .iter()
            .find(|feed| feed.table == schema.name)
            .and_then(|feed| feed.progress);
        Some(ListedTable {
            schema,
            table: dataset.and_then(|dataset| dataset.tables.get(place)),
            context,
            fetching,
        })
    }
}

fn bytes(table: &DataTable) -> u64 {
    table.sources.iter().map(|source| source.bytes).sum()
}

fn errors(table: &DataTable) -> u64 {
    table.findings.count(Severity::Error)
}

fn warnings(table: &DataTable) -> u64 {
    table.findings.count(Severity::Warning)
}

fn load_time_text(milliseconds: u64) -> String {
    if milliseconds == 0 {
        "< 1 ms".to_owned()
    } else {
        format::duration(milliseconds * 1_000)
    }
}

/// Modification time of its newest file, in milliseconds.
fn newest(table: &DataTable) -> Option<i64> {
    table
        .sources
        .iter()
        .filter_map(|source| source.modified)
        .map(|time| time.0)
        .max()
}

/// The state, or the load progress.
fn state_cell(row: ListedTable<'_>) -> Cell {
    if let Some((done, total)) = row.loading() {
        let share = if total == 0 {
            0.0
        } else {
            done as f64 / total as f64
        };
        let [bar, track] = thin_bar(share, 8);
        let figure = if total == 0 {
            " open".to_owned()
        } else {
            format!(" {:3.0}%", (share * 100.0).floor())
        };
        return Cell::new(bar, Role::Accent)
            .then(track, Role::Grid)
            .then(figure, Role::Text);
    }
    if let Some((done, total)) = row.fetching {
        let figure = if total > 1 {
            format!("fetching {done}/{total}")
        } else {
            "fetching".to_owned()
        };
        return Cell::new(figure, Role::Accent);
    }
    let Some(table) = row.table else {
        return Cell::new("not loaded yet", Role::Dim);
    };
    let (mark, word, role) = state_mark(table);
    Cell::new(format!("{mark} "), role).then(word, role)
}

fn state_mark(table: &DataTable) -> (&'static str, &'static str, Role) {
    if table.stale_since().is_some() {
        return ("!", "stale rows", Role::Warning);
    }
    match &table.state {
        Loaded::Loaded => ("●", "loaded", Role::Up),
        Loaded::Absent => ("○", "missing", Role::Dim),
        Loaded::Unusable(_) => ("✗", "unusable", Role::Down),
    }
}

/// Errors, warnings and notes, `✗ 2  ! 14  · 3`; the reason, for a table that could not be used.
fn findings_cell(table: &DataTable, look: &CellContext) -> Cell {
    if let Loaded::Unusable(reason) = &table.state {
        return Cell::new(
            text::truncate(reason, look.cells).into_owned(),
            Role::Warning,
        );
    }
    let mut cell = Cell::default();
    let marks = ["✗", "!", ""];
    let kinds = [
        (Severity::Error, Role::Down),
        (Severity::Warning, Role::Warning),
        (Severity::Note, Role::Dim),
    ];
    for ((severity, role), mark) in kinds.into_iter().zip(marks) {
        let count = table.findings.count(severity);
        if count > 0 {
            let gap = if cell.pieces.is_empty() { "" } else { "  " };
            let says = match severity {
                Severity::Note => plural(count, "note", "notes"),
                _ => format!("{mark} {}", format::human(Some(count as f64))),
            };
            cell = cell.then(format!("{gap}{says}"), role);
        }
    }
    if cell.pieces.is_empty() {
        Cell::missing()
    } else {
        cell
    }
}

fn source_cell(table: &DataTable, room: usize) -> Cell {
    if let Loaded::Unusable(reason) = &table.state {
        return Cell::new(text::truncate(reason, room).into_owned(), Role::Warning);
    }
    match &*table.sources {
        [] => Cell::missing(),
        [only] => Cell::new(cut_path(&only.file, room), Role::Text),
        [first, more @ ..] => {
            let more = format!(" +{}", more.len());
            Cell::text(cut_path(&first.file, room.saturating_sub(more.len()))).then(more, Role::Dim)
        }
    }
}

/// Draws the selected table in detail, without the first `skip` columns; returns how many columns at the end did not fit.
pub(super) fn draw_detail(
    buffer: &mut Buffer,
    area: Rect,
    place: usize,
    skip: usize,
    context: &Context<'_>,
) -> usize {
    let theme = context.theme;
    let dataset = context.snapshot.map(|snapshot| &snapshot.dataset);
    let Some(schema) = schema(dataset, place) else {
        return 0;
    };
    let table = dataset.and_then(|dataset| dataset.tables.get(place));
    let columns = format!("{} columns", schema.columns.len());
    let body = Panel {
        note: &columns,
        ..Panel::new(schema.name)
    }
    .render(area, buffer, theme);
    let mut y = 0;
    let mut line = |x: u16, says: &str, role: Role| {
        for (nth, part) in text::wrap(says, usize::from(body.width.saturating_sub(x + 1)), 3)
            .iter()
            .enumerate()
        {
            put(
                buffer,
                body,
                if nth == 0 { x } else { x + 2 },
                y,
                part,
                theme.style(role),
            );
            y += 1;
        }
    };
    line(1, schema.meaning, Role::Text);
    let feeds = context.service.feed_tables();
    let feed = feeds.iter().find(|feed| feed.table == schema.name);
    for (says, role) in feed
        .map(|feed| feed_lines(feed, context))
        .unwrap_or_default()
    {
        line(1, &says, role);
    }
    if let Some(then) = table.and_then(DataTable::stale_since) {
        line(
            1,
            &format!(
                "! the source is unreachable; these rows are from {}",
                context.zone.moment(then)
            ),
            Role::Warning,
        );
    }
    match table.map(|table| &table.state) {
        Some(Loaded::Unusable(reason)) => line(1, &format!("! {reason}"), Role::Warning),
        Some(Loaded::Absent) if feed.is_some() => {
            line(1, "no rows yet; r fetches them", Role::Warning);
        }
        Some(Loaded::Absent) => {
            let folder =
                dataset.map_or_else(String::new, |dataset| dataset.folder.display().to_string());
            let needs: Vec<&str> = schema.required().map(|column| column.name).collect();
            let says = format!(
                "missing: add {0}.csv, .ndjson or .parquet to {folder}, or map a file in dataset.toml",
                schema.name
            );
            line(1, &says, Role::Warning);
            line(
                1,
                &format!("required columns: {}", needs.join(", ")),
                Role::Dim,
            );
        }
        _ => {}
    }
    for source in table.iter().flat_map(|table| &table.sources).take(8) {
        let time = source.modified.map_or_else(String::new, |time| {
            format!(" · {}", context.zone.moment(time))
        });
        let about = format!(
            " · {} · {}{time}",
            plural(source.rows, "row", "rows"),
            format::bytes(source.bytes)
        );
        // The path is shortened to share the line while its file stays recognizable, else it gets a line of its own.
        let cells = usize::from(body.width.saturating_sub(2));
        let room = cells.saturating_sub(text::width(&about));
        let file = cut_path(&source.file, if room >= FILE_MIN { room } else { cells });
        line(1, &format!("{file}{about}"), Role::Dim);
    }
    if let Some(table) = table.filter(|table| errors(table) + warnings(table) > 0) {
        let says = format!(
            "{}, {}; press f to show them",
            plural(errors(table), "error", "errors"),
            plural(warnings(table), "warning", "warnings")
        );
        line(
            1,
            &says,
            if errors(table) > 0 {
                Role::Down
            } else {
                Role::Warning
            },
        );
    }
    // The required columns of an absent table are listed above.
    let absent = table.is_some_and(|table| table.state == Loaded::Absent);
    if !absent || body.height > y + 4 {
        return draw_columns(buffer, body, y + 1, schema, skip, context);
    }
    0
}

/// The status of a live table: its provider, age, next fetch, and failures.
fn feed_lines(feed: &FeedTable, context: &Context<'_>) -> Vec<(String, Role)> {
    let now = context.now.0;
    let age = feed.last.map_or_else(
        || "never fetched".to_owned(),
        |last| format!("{} old", format::age(now - last.0)),
    );
    let every = feed.every.map_or_else(
        || "on demand (r)".to_owned(),
        |every| format!("every {}", Interval(every)),
    );
    let next = match (&feed.waiting, feed.progress, feed.next) {
        (Some((until, provider)), ..) => format!(
            " · waiting {} for {provider}",
            format::age((until.0 - now).max(0))
        ),
        (None, Some((done, total)), _) if total > 1 => format!(" · fetching {done} of {total}"),
        (None, Some(_), _) => " · fetching".to_owned(),
        (None, None, Some(next)) if next.0 > now => {
            format!(" · next in {}", format::age(next.0 - now))
        }
        (None, None, Some(_)) => " · due".to_owned(),
        (None, None, None) => String::new(),
    };
    let role = if feed.is_stale {
        Role::Warning
    } else {
        Role::Dim
    };
    let mut lines = vec![(
        format!("from {} · {every} · {age}{next}", feed.providers.join(", ")),
        role,
    )];
    lines.extend(
        feed.failure
            .iter()
            .map(|failure| (format!("! {failure}"), Role::Warning)),
    );
    lines.extend(
        feed.notes
            .iter()
            .take(3)
            .map(|note| (format!("! {note}"), Role::Warning)),
    );
    lines.extend((!feed.credit.is_empty()).then(|| (feed.credit.join(" · "), Role::Dim)));
    lines
}

/// Draws every column with its type and meaning; required ones are marked. Returns how many at the end did not fit.
fn draw_columns(
    buffer: &mut Buffer,
    body: Rect,
    top: u16,
    schema: &TableSchema,
    skip: usize,
    context: &Context<'_>,
) -> usize {
    let theme = context.theme;
    let names = schema
        .columns
        .iter()
        .map(|column| column.name.len())
        .max()
        .unwrap_or(0) as u16;
    let room = usize::from(body.height.saturating_sub(top));
    if room < schema.columns.len().min(4) {
        let all: Vec<&str> = schema.columns.iter().map(|column| column.name).collect();
        // Without a separating line where there is no space for one.
        let lines = text::wrap(
            &all.join(", "),
            usize::from(body.width.saturating_sub(2)),
            room + 1,
        );
        for (nth, line) in lines.iter().enumerate() {
            put(buffer, body, 1, (top - 1) + nth as u16, line, theme.dim());
        }
        return 0;
    }
    let skip = skip.min(schema.columns.len().saturating_sub(room.saturating_sub(1)));
    for (line, (nth, column)) in schema.columns.iter().enumerate().skip(skip).enumerate() {
        let y = top + line as u16;
        if y >= body.height {
            return schema.columns.len() - nth;
        }
        let needed = column.need != Need::Optional;
        if y + 1 == body.height && nth + 1 < schema.columns.len() {
            let arrow = if context.ascii { "right" } else { "→" };
            put(
                buffer,
                body,
                3,
                y,
                &format!("… {} more: {arrow}", schema.columns.len() - nth),
                theme.dim(),
            );
            return schema.columns.len() - nth;
        }
        put(
            buffer,
            body,
            1,
            y,
            if needed { "*" } else { " " },
            theme.accent(),
        );
        put(
            buffer,
            body,
            3,
            y,
            column.name,
            if needed { theme.text() } else { theme.dim() },
        );
        let x = names + 5;
        put(buffer, body, x, y, column.kind.word(), theme.dim());
        if x + 11 < body.width {
            put(
                buffer,
                body,
                x + 11,
                y,
                text::clauses(column.meaning, usize::from(body.width - x - 11)),
                if needed { theme.text() } else { theme.dim() },
            );
        }
    }
    0
}
