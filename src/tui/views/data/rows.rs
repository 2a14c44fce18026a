//! The rows of one table as a list whose columns are those of the data. Filter and order are made off the drawing thread; only what is
//! on screen is read.

mod column;
mod draw;
mod inspect;
mod remote;

use std::sync::Arc;

use crossterm::event::MouseEvent;
use serde_json::Value as Json;

use self::remote::RemoteRows;
use super::{
    super::{many, parts::with_left_out},
    cells,
};
use crate::{
    dataset::{
        Table as DataTable,
        cache::Places,
        cell::CellValue,
        export,
        grid::{Grid, Ordered},
        schema::{Column, Kind, TableSchema},
    },
    deck::pending::Coming,
    error::{Code, Problem},
    question::{
        filter,
        memory::OrderedRows,
        parameter::encode,
        snapshot::Snapshot,
        tables::{
            columns, in_place,
            order::{RowQuery, Whole},
        },
    },
    tui::{
        format,
        keymap::Action,
        list::{Did, Field, Fields, List, ListRow, Listing, Value},
        theme::Role,
        view::{Context, Effect, Export, Wake},
        widgets::table::{Cell, TableWidgetState},
    },
};

/// The list of a table's rows.
pub(super) struct RowFields;

#[derive(Clone, Copy)]
pub(super) struct TableRow<'a> {
    grid: &'a Grid,
    columns: &'a [Column],
    /// In the grid; none while it is on its way.
    place: Option<usize>,
}

impl Fields for RowFields {
    type Row<'a> = TableRow<'a>;

    const FIELDS: &'static [Field<Self>] = &[];
    const CELLS: bool = true;
    const SCROLLS: bool = true;

    fn cell(row: ListRow<'_, Self>, key: &str) -> Cell {
        let Some(place) = row.place else { return Cell::new("…", Role::Dim) };
        let kind = row.columns.iter().find(|column| column.name == key).map_or(Kind::Text, |column| column.kind);
        cells::cell(&cells::value(row.grid, key, place), kind)
    }
}

/// The column of the list for one of the data. What it holds is filtered and ordered by the deck.
fn field(column: &Column) -> Field<RowFields> {
    let named = filter::of_kind(column.name, column.kind, column.aliases);
    let field = Field::text(column.name, column.name, [0; 2], 0, |_| Value(None)).of(named.kind).aliases(named.aliases);
    let field = if named.searched { field.searched() } else { field };
    let falls = matches!(column.kind, Kind::Integer | Kind::Float | Kind::Uint256 | Kind::Time | Kind::Date);
    let mut field = if falls { field.largest_first() } else { field };
    field.column = cells::column(column.name, column.kind);
    field
}

/// The rows of the list, by their places in the order.
fn rows<'a>(
    grid: &'a Grid,
    remote: Option<&'a RemoteRows>,
    columns: &'a [Column],
    places: &'a Places,
) -> impl Fn(usize) -> Option<TableRow<'a>> {
    move |nth| Some(TableRow { grid, columns, place: RemoteRows::in_grid(remote, grid, places.get(nth)?) })
}

pub(super) struct RowsPane {
    pub(super) schema: &'static TableSchema,
    pub(super) generation: u64,
    /// The generation that the rows are of.
    snapshot: Arc<Snapshot>,
    grid: Grid,
    columns: Vec<Column>,
    /// Its filter and order are those that were chosen; places are those in the order shown.
    pub(super) list: List<RowFields>,
    /// What stands on screen, and the text of its filter.
    shown: RowQuery,
    shown_filter: String,
    /// The rows in the order shown.
    order: OrderedRows,
    /// The next order on its way, and what it will be.
    next: Option<(Coming<OrderedRows>, RowQuery)>,
    problem: Option<String>,
    /// Of a table that stays at its source.
    remote: Option<RemoteRows>,
    inspector: Option<inspect::Inspector>,
    /// What is asked of the selected column.
    column_pane: Option<column::ColumnPane>,
}

impl RowsPane {
    pub(super) fn new(table: &DataTable, snapshot: &Arc<Snapshot>) -> Self {
        let grid = Grid::of(table);
        let columns = columns::of(table);
        let remote = RemoteRows::of(table);
        let height = remote.as_ref().map_or(grid.height(), RemoteRows::total);
        let mut list = List::default();
        list.set_own(snapshot.generation, || columns.iter().map(field).collect());
        list.set_count(height);
        Self {
            schema: table.schema,
            generation: snapshot.generation,
            snapshot: Arc::clone(snapshot),
            columns,
            list,
            shown: RowQuery::all(table.schema),
            shown_filter: String::new(),
            order: OrderedRows::all(height),
            grid,
            remote,
            next: None,
            problem: None,
            inspector: None,
            column_pane: None,
        }
    }

    /// The table of another generation, with what was chosen in this one.
    pub(super) fn renewed(&mut self, table: &DataTable, snapshot: &Arc<Snapshot>, context: &Context<'_>) -> Self {
        let mut rows = Self::new(table, snapshot);
        rows.list = std::mem::take(&mut self.list);
        rows.list.set_own(snapshot.generation, || rows.columns.iter().map(field).collect());
        rows.list.set_count(rows.height());
        rows.ask(context);
        rows
    }

    /// What was chosen.
    fn wanted(&self) -> RowQuery {
        RowQuery { table: self.schema, filter: self.list.filter().clone(), sort: self.list.sorting.keys().to_vec() }
    }

    /// Restores what was chosen in an earlier run.
    pub(super) fn restore(&mut self, kept: &Json, context: &Context<'_>) {
        self.list.restore(kept);
        self.ask(context);
    }

    /// Asks for what was chosen, unless it stands or is on its way.
    pub(super) fn ask(&mut self, context: &Context<'_>) {
        let wanted = self.wanted();
        if wanted == *self.next.as_ref().map_or(&self.shown, |(_, wanted)| wanted) {
            return;
        }
        self.problem = None;
        if wanted.is_all() {
            self.next = None;
            return self.show(wanted, OrderedRows::all(self.height()));
        }
        let wake = Wake::clone(context.wake);
        self.next = Some((context.deck.find(&self.snapshot, wanted.clone(), move || wake()), wanted));
    }

    fn show(&mut self, shown: RowQuery, order: OrderedRows) {
        self.list.set_count(order.places.len());
        self.list.filter_text().clone_into(&mut self.shown_filter);
        (self.shown, self.order) = (shown, order);
    }

    /// What was chosen is again what stands on screen.
    fn give_up(&mut self) {
        self.next = None;
        self.list.sorting.set(self.shown.sort.iter().copied());
        self.list.set_filter(&self.shown_filter).ok();
    }

    /// Takes the order that has come.
    pub(super) fn refresh(&mut self, context: &Context<'_>) {
        self.follow(context);
        self.take_rows();
        let Some((coming, wanted)) = &mut self.next else { return };
        let Some(outcome) = coming.poll_now() else { return };
        match outcome {
            Ok(order) => {
                let wanted = wanted.clone();
                self.next = None;
                // The place stays when the others follow the first rows.
                if self.order.of.is_none() || wanted != self.shown {
                    self.list.cursor.state = TableWidgetState::default();
                }
                self.show(wanted, order);
                if self.order.of.is_some() {
                    let whole = Whole { wanted: self.shown.clone(), found: self.order.clone() };
                    let wake = Wake::clone(context.wake);
                    self.next = Some((context.deck.find(&self.snapshot, whole, move || wake()), self.shown.clone()));
                }
            }
            Err(problem) => {
                self.problem = Some(problem.detail);
                self.give_up();
            }
        }
    }

    /// The pane of the column takes what has come, and goes with the selected column and the rows that are wanted.
    fn follow(&mut self, context: &Context<'_>) {
        if let (Some(mut pane), Some(column)) = (self.column_pane.take(), self.list.column()) {
            pane.follow(&self.wanted(), column, &self.snapshot, context);
            self.column_pane = Some(pane);
        }
    }

    fn ask_column(&mut self, kind: column::ColumnQuestion, context: &Context<'_>) {
        let Some(column) = self.list.column() else { return };
        let again = self.column_pane.take().is_some_and(|pane| pane.kind == kind);
        self.column_pane = (!again).then(|| column::ColumnPane::new(kind, &self.wanted(), column, &self.snapshot, context));
    }

    #[cfg(test)]
    pub(super) fn is_under_way(&self) -> bool {
        self.next.is_some() || self.remote.as_ref().is_some_and(RemoteRows::is_under_way)
    }

    #[cfg(test)]
    pub(super) fn left_out(&self) -> u64 {
        self.order.left_out.rows()
    }

    #[cfg(test)]
    pub(super) fn has_first_alone(&self) -> bool {
        self.order.of.is_some()
    }

    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        match action {
            Action::CountValues => self.ask_column(column::ColumnQuestion::Counts, context),
            Action::Describe => self.ask_column(column::ColumnQuestion::Describe, context),
            Action::Back if self.column_pane.is_some() => {
                let cancelled = self.column_pane.take().is_some_and(|pane| pane.is_under_way());
                return if cancelled { Effect::Say("cancelled".to_owned()) } else { Effect::Redraw };
            }
            Action::Open if self.inspector.is_some() => self.inspector = None,
            Action::Open if !self.list.is_empty() => self.inspector = Some(inspect::Inspector::default()),
            Action::Back if self.next.is_some() => {
                self.give_up();
                return Effect::Say("cancelled".to_owned());
            }
            Action::Back if self.inspector.is_some() => self.inspector = None,
            Action::CopyValue => return self.copy(),
            Action::OpenLink => return self.open_link(),
            action => {
                let did = self.list.act(action);
                return if did == Did::Nothing { Effect::Pass } else { self.did(did, context) };
            }
        }
        Effect::Redraw
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let did = self.list.mouse(mouse);
        self.did(did, context)
    }

    fn did(&mut self, did: Did, context: &Context<'_>) -> Effect {
        match did {
            Did::Nothing => return Effect::Nothing,
            Did::Sorted => self.ask(context),
            _ => {}
        }
        self.follow(context);
        Effect::Redraw
    }

    /// A cell of a row of the table; missing while it is on its way.
    fn value(&self, column: &str, row: usize) -> CellValue {
        self.in_grid(row).map_or(CellValue::Missing, |row| cells::value(&self.grid, column, row))
    }

    /// The place in the table of the selected row.
    fn row(&self) -> Option<usize> {
        self.order.places.get(self.list.selected()?)
    }

    fn selected(&self) -> Option<(usize, &Column)> {
        let key = self.list.column()?;
        Some((self.row()?, self.columns.iter().find(|column| column.name == key)?))
    }

    fn copy(&self) -> Effect {
        match self.selected() {
            Some((row, column)) => Effect::Copy(cells::plain(&self.value(column.name, row)), column.name),
            None => Effect::Nothing,
        }
    }

    /// The link of the row, if the table has links.
    fn open_link(&self) -> Effect {
        match self.row().map(|row| cells::plain(&self.value("link", row))) {
            Some(link) if !link.is_empty() => Effect::OpenLink(link),
            _ => Effect::Say("no link in this row".to_owned()),
        }
    }

    /// Every row of the filter and order that are chosen, also of those that are still being made; read stretch by stretch where they
    /// are written.
    pub(super) fn export(&self, context: &Context<'_>) -> Export {
        let (grid, deck, snapshot) = (self.grid.clone(), Arc::clone(context.deck), Arc::clone(&self.snapshot));
        let columns = self.list.members();
        let wanted = self.wanted();
        let order = (wanted == self.shown).then(|| self.order.clone());
        let cells = |row| columns.iter().map(|column| self.value(column, row).json()).collect();
        let stays = self.snapshot.dataset.table(self.schema.name).and_then(in_place);
        Export {
            name: self.schema.name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: (wanted.filter == self.shown.filter).then(|| self.order.total()),
            selected: self.row().map(cells),
            rows: Box::new(move |progress| {
                if let Some(detail) = stays {
                    return Err(Problem::new(Code::SourceUnavailable, detail));
                }
                let found = order.map_or_else(|| deck.find_in(&snapshot, &wanted, progress), Ok)?;
                let places = deck.find_in(&snapshot, &Whole { wanted, found }, progress)?.places;
                Ok(export::ExportRows::Batches(Box::new(Ordered::new(grid, places, columns))))
            }),
        }
    }

    /// The same rows over HTTP; plain words are the terminal's own.
    pub(super) fn request(&self) -> String {
        let mut target = format!("/tables/{}", self.schema.name);
        let mut separator = '?';
        let mut add = |name: &str, value: &str| {
            target.push_str(&format!("{separator}{name}={}", encode(value)));
            separator = '&';
        };
        if !self.list.filter_text().is_empty() && self.list.filter().words().next().is_none() {
            add("where", self.list.filter_text());
        }
        let columns = self.list.members();
        if !columns.iter().eq(self.columns.iter().map(|column| &column.name)) {
            add("columns", &columns.join(","));
        }
        let sort: Vec<String> = self.list.sorting.keys().iter().map(ToString::to_string).collect();
        if !sort.is_empty() {
            add("sort", &sort.join(","));
        }
        target
    }

    /// `1,204 of 64,000 rows · 12 have no volume`.
    fn note(&self, width: u16) -> String {
        let all = many(self.height() as u64, "row", "rows");
        let (shown, total) = (format::count(self.list.len() as u64), format::count(self.order.total() as u64));
        let note = match self.order.total() {
            _ if self.order.of.is_some() => format!("the first {shown} of {total} rows in order"),
            count if count != self.height() => format!("{total} of {all}"),
            _ => all,
        };
        with_left_out(note, &self.order.left_out, usize::from(width / 2))
    }
}
