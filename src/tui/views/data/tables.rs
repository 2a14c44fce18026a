//! The tables of the dataset: which there are, how they loaded, and the selected one in full: its files, its columns, what it lacks.

use ratatui::{buffer::Buffer, layout::Rect};

use super::paths;
use crate::{
    dataset::{
        Dataset, Table as DataTable, TableState as Loaded,
        findings::Severity,
        schema::{Need, TABLES, TableSchema},
    },
    tui::{
        format, text,
        theme::Role,
        view::Context,
        views::{
            many,
            sorting::{SortKey, Sorting},
            thin_bar,
        },
        widgets::{
            panel::Panel,
            put,
            table::{Cell, Column, Table, TableState},
        },
    },
};

pub(super) const COLUMNS: &[Column] = &[
    Column::text("table", "table", 14, 14, 255),
    Column::text("state", "state", 14, 14, 250),
    Column::figure("rows", "rows", 11, 240),
    Column::figure("rows_bad", "set aside", 9, 200),
    Column::text("findings", "findings", 13, 20, 230),
    Column::text("source", "source", 14, 26, 120).grows(),
    Column::figure("bytes", "size", 8, 80),
    Column::figure("age", "age", 5, 110),
    Column::figure("load_ms", "load", 8, 60),
];

/// Cells of a path in the detail beside which the rest of its line may stand.
const FILE_MIN: usize = 24;

/// The tables as they stand, or the schema's while nothing is loaded.
pub(super) fn count(dataset: Option<&Dataset>) -> usize {
    dataset.map_or(TABLES.len(), |dataset| dataset.tables.len())
}

fn schema(dataset: Option<&Dataset>, place: usize) -> Option<&'static TableSchema> {
    match dataset {
        Some(dataset) => dataset.tables.get(place).map(|table| table.schema),
        None => TABLES.get(place),
    }
}

pub(super) fn in_order(dataset: Option<&Dataset>, sorting: Sorting) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count(dataset)).collect();
    // What is there comes first.
    let absent = |place: usize| dataset.and_then(|dataset| dataset.tables.get(place)).is_some_and(|table| table.state == Loaded::Absent);
    places.sort_by_key(|&place| absent(place));
    sorting.sort(&mut places, |&place, column| {
        let Some(table) = dataset.and_then(|dataset| dataset.tables.get(place)) else { return SortKey::Missing };
        match COLUMNS[column].key {
            "table" => SortKey::from(table.schema.name),
            "state" => SortKey::Number(match table.state {
                Loaded::Unusable(_) => 0.0,
                Loaded::Loaded => 1.0,
                Loaded::Absent => 2.0,
            }),
            _ if !table.loaded() => SortKey::Missing,
            "rows" => SortKey::from(table.height() as u64),
            "rows_bad" => SortKey::from(table.rows_bad),
            "findings" => SortKey::Number(errors(table) as f64 * 1e9 + warnings(table) as f64),
            "source" => table.sources.first().map_or(SortKey::Missing, |source| SortKey::from(source.file.as_str())),
            "bytes" => SortKey::from(table.sources.iter().map(|source| source.bytes).sum::<u64>()),
            "age" => newest(table).map_or(SortKey::Missing, |ms| SortKey::Number(-(ms as f64))),
            _ => SortKey::from(table.load_ms),
        }
    });
    places
}

fn errors(table: &DataTable) -> u64 {
    table.findings.count(Severity::Error)
}

fn warnings(table: &DataTable) -> u64 {
    table.findings.count(Severity::Warning)
}

/// When the youngest of its files was written, milliseconds.
fn newest(table: &DataTable) -> Option<i64> {
    table.sources.iter().filter_map(|source| source.modified).map(|time| time.0).max()
}

pub(super) fn draw_list(buffer: &mut Buffer, area: Rect, order: &[usize], sorting: Sorting, state: &mut TableState, context: &Context<'_>) {
    let dataset = context.snapshot.map(|snapshot| &snapshot.dataset);
    let room = paths::room(COLUMNS, "source", order.len(), area);
    let row = |i: usize| order.get(i).map_or_else(Vec::new, |&place| cells(dataset, place, room, context));
    let table = Table { sort: sorting.0.into_iter().collect(), ascii: context.ascii, ..Table::new(COLUMNS, order.len(), &row) };
    table.render(area, buffer, context.theme, state);
}

/// `room` is the width of the source.
fn cells(dataset: Option<&Dataset>, place: usize, room: usize, context: &Context<'_>) -> Vec<Cell> {
    let Some(schema) = schema(dataset, place) else { return Vec::new() };
    let table = dataset.and_then(|dataset| dataset.tables.get(place));
    let name = Cell::new(schema.name, if table.is_some_and(DataTable::loaded) { Role::Text } else { Role::Dim });
    if let Some((_, done, total)) = context.load.tables.iter().find(|(table, ..)| context.load.running && table == schema.name) {
        let share = if *total == 0 { 0.0 } else { *done as f64 / *total as f64 };
        let [bar, track] = thin_bar(share, 8, context.ascii);
        let figure = if *total == 0 { " open".to_owned() } else { format!(" {:3.0} %", (share * 100.0).floor()) };
        let loading = Cell::new(bar, Role::Accent).then(track, Role::Grid).then(figure, Role::Text);
        let mut row = vec![name, loading];
        row.extend(table.filter(|table| table.loaded()).map_or_else(Vec::new, |table| figures(table, room, context)));
        row.resize(COLUMNS.len(), Cell::text(""));
        return row;
    }
    let Some(table) = table else {
        let mut row = vec![name, Cell::new("not read yet", Role::Dim)];
        row.resize(COLUMNS.len(), Cell::text(""));
        return row;
    };
    let (mark, word, role) = state_mark(&table.state, context.ascii);
    let mut row = vec![name, Cell::new(format!("{mark} "), role).then(word, role)];
    match &table.state {
        Loaded::Loaded => row.extend(figures(table, room, context)),
        Loaded::Unusable(_) => {
            row.extend([Cell::missing(), Cell::missing()]);
            row.push(findings_cell(table, context.ascii));
            row.push(source_cell(table, room));
        }
        // Nothing is missing in these cells: there is nothing they could be about.
        Loaded::Absent => row.resize(COLUMNS.len(), Cell::text("")),
    }
    row
}

fn state_mark(state: &Loaded, ascii: bool) -> (&'static str, &'static str, Role) {
    match (state, ascii) {
        (Loaded::Loaded, false) => ("●", "loaded", Role::Up),
        (Loaded::Absent, false) => ("○", "not there", Role::Dim),
        (Loaded::Unusable(_), false) => ("✗", "unusable", Role::Down),
        (Loaded::Loaded, true) => ("+", "loaded", Role::Up),
        (Loaded::Absent, true) => (".", "not there", Role::Dim),
        (Loaded::Unusable(_), true) => ("x", "unusable", Role::Down),
    }
}

/// Everything after the state.
fn figures(table: &DataTable, room: usize, context: &Context<'_>) -> Vec<Cell> {
    let aside = if table.rows_bad == 0 { Cell::missing() } else { Cell::new(format::count(table.rows_bad), Role::Warning) };
    let bytes: u64 = table.sources.iter().map(|source| source.bytes).sum();
    let age = newest(table).map_or_else(Cell::missing, |ms| Cell::new(format::age(context.now.0 - ms), Role::Dim));
    vec![
        Cell::text(format::count(table.height() as u64)),
        aside,
        findings_cell(table, context.ascii),
        source_cell(table, room),
        Cell::new(format::bytes(bytes), Role::Dim),
        age,
        Cell::new(format::duration(table.load_ms * 1_000), Role::Dim),
    ]
}

/// `✗ 2  ! 14  · 3`: errors, warnings, notes.
fn findings_cell(table: &DataTable, ascii: bool) -> Cell {
    let mut cell = Cell::default();
    let marks = if ascii { ["x", "!", "-"] } else { ["✗", "!", "·"] };
    let kinds = [(Severity::Error, Role::Down), (Severity::Warning, Role::Warning), (Severity::Note, Role::Dim)];
    for ((severity, role), mark) in kinds.into_iter().zip(marks) {
        let count = table.findings.count(severity);
        if count > 0 {
            let gap = if cell.pieces.is_empty() { "" } else { "  " };
            cell = cell.then(format!("{gap}{mark} {}", format::human(Some(count as f64))), role);
        }
    }
    if cell.pieces.is_empty() { Cell::missing() } else { cell }
}

fn source_cell(table: &DataTable, room: usize) -> Cell {
    match &*table.sources {
        [] => Cell::missing(),
        [only] => Cell::new(paths::cut(&only.file, room), Role::Text),
        [first, more @ ..] => {
            let more = format!(" +{}", more.len());
            Cell::text(paths::cut(&first.file, room.saturating_sub(more.len()))).then(more, Role::Dim)
        }
    }
}

/// The selected table in full.
pub(super) fn draw_detail(buffer: &mut Buffer, area: Rect, place: usize, context: &Context<'_>) {
    let theme = context.theme;
    let dataset = context.snapshot.map(|snapshot| &snapshot.dataset);
    let Some(schema) = schema(dataset, place) else { return };
    let table = dataset.and_then(|dataset| dataset.tables.get(place));
    let columns = format!("{} columns", schema.columns.len());
    let body = Panel { note: &columns, ascii: context.ascii, ..Panel::new(schema.name) }.render(area, buffer, theme);
    let mut y = 0;
    let mut line = |x: u16, says: &str, role: Role| {
        for (nth, part) in text::wrap(says, usize::from(body.width.saturating_sub(x + 1)), 3).iter().enumerate() {
            put(buffer, body, if nth == 0 { x } else { x + 2 }, y, part, theme.style(role));
            y += 1;
        }
    };
    line(1, schema.meaning, Role::Text);
    match table.map(|table| &table.state) {
        Some(Loaded::Unusable(reason)) => line(1, &format!("! {reason}"), Role::Warning),
        Some(Loaded::Absent) => {
            let folder = dataset.map_or_else(String::new, |dataset| dataset.folder.display().to_string());
            let needs: Vec<&str> = schema.required().map(|column| column.name).collect();
            let says =
                format!("not there: put {0}.csv, .ndjson or .parquet into {folder}, or name a file for it in dataset.toml", schema.name);
            line(1, &says, Role::Warning);
            line(1, &format!("it needs {}", needs.join(", ")), Role::Dim);
        }
        _ => {}
    }
    for source in table.iter().flat_map(|table| &table.sources).take(8) {
        let time = source.modified.map_or_else(String::new, |time| format!(" · {time}"));
        let about = format!(" · {} · {}{time}", many(source.rows, "row", "rows"), format::bytes(source.bytes));
        // The path gives way on one line as far as its file can still be told, else it has a line of its own.
        let cells = usize::from(body.width.saturating_sub(2));
        let room = cells.saturating_sub(text::width(&about));
        let file = paths::cut(&source.file, if room >= FILE_MIN { room } else { cells });
        line(1, &format!("{file}{about}"), Role::Dim);
    }
    if let Some(table) = table.filter(|table| errors(table) + warnings(table) > 0) {
        let says = format!("{}, {}: f shows them", many(errors(table), "error", "errors"), many(warnings(table), "warning", "warnings"));
        line(1, &says, if errors(table) > 0 { Role::Down } else { Role::Warning });
    }
    // Of a table that is not there, what it needs stands already.
    let absent = table.is_some_and(|table| table.state == Loaded::Absent);
    if !absent || body.height > y + 4 {
        draw_columns(buffer, body, y + 1, schema, context);
    }
}

/// Every column with its type and meaning; those that must be there are marked.
fn draw_columns(buffer: &mut Buffer, body: Rect, top: u16, schema: &TableSchema, context: &Context<'_>) {
    let theme = context.theme;
    let names = schema.columns.iter().map(|column| column.name.len()).max().unwrap_or(0) as u16;
    let room = usize::from(body.height.saturating_sub(top));
    if room < schema.columns.len().min(4) {
        let all: Vec<&str> = schema.columns.iter().map(|column| column.name).collect();
        // Without a line between where there is none to spare.
        let lines = text::wrap(&all.join(", "), usize::from(body.width.saturating_sub(2)), room + 1);
        for (nth, line) in lines.iter().enumerate() {
            put(buffer, body, 1, (top - 1) + nth as u16, line, theme.dim());
        }
        return;
    }
    for (nth, column) in schema.columns.iter().enumerate() {
        let y = top + nth as u16;
        if y >= body.height {
            return;
        }
        let needed = column.need != Need::Optional;
        if y + 1 == body.height && nth + 1 < schema.columns.len() {
            put(buffer, body, 3, y, &format!("… {} more", schema.columns.len() - nth), theme.dim());
            return;
        }
        put(buffer, body, 1, y, if needed { "*" } else { " " }, theme.accent());
        put(buffer, body, 3, y, column.name, if needed { theme.text() } else { theme.dim() });
        let x = names + 5;
        put(buffer, body, x, y, column.kind.word(), theme.dim());
        if x + 11 < body.width {
            put(buffer, body, x + 11, y, column.meaning, if needed { theme.text() } else { theme.dim() });
        }
    }
}
