//! The rows of one table: a cell is selected, the first column stays, the others scroll. Filter and order are made off the drawing
//! thread; only what is on screen is read.

mod away;
mod draw;
mod inspect;
mod verb;

use crossterm::event::{MouseEvent, MouseEventKind};

use std::sync::Arc;

use super::{super::many, Kept, cells};
use crate::{
    dataset::{
        Table as DataTable,
        cell::CellValue,
        export,
        grid::{Grid, Ordered},
        schema::{Column, Kind, TableSchema},
    },
    deck::pending::Coming,
    error::{Code, Problem},
    question::{
        filter::{self, Filter, FilterColumn},
        parameter::encode,
        snapshot::Snapshot,
        tables::{
            columns, in_place,
            order::{Shown, Wanted, Whole},
        },
    },
    tui::{
        format,
        keymap::Action,
        list::{Cursor, Did, Layout, SortColumn, Sorting},
        view::{Context, Effect, Export, Wake},
        widgets::table::{Hit, TableState},
    },
};

/// What rows can be sorted by: figures and times begin with the largest.
pub(super) fn sort_columns(columns: &[Column]) -> Vec<SortColumn> {
    let falls = |kind| matches!(kind, Kind::Integer | Kind::Float | Kind::Uint256 | Kind::Time | Kind::Date);
    columns.iter().map(|column| (column.name, falls(column.kind))).collect()
}

/// The order that these rows stand in.
fn sorting_of(wanted: &Wanted) -> Sorting {
    let mut sorting = Sorting::default();
    sorting.set(wanted.sort.iter().copied());
    sorting
}

#[derive(Debug)]
pub(super) struct Rows {
    pub(super) schema: &'static TableSchema,
    pub(super) generation: u64,
    /// The generation that the rows are of.
    snapshot: Arc<Snapshot>,
    grid: Grid,
    columns: Vec<Column>,
    /// What stands on screen, and the text of its filter.
    shown: Wanted,
    pub(super) filter_text: String,
    /// The rows in the order shown.
    order: Shown,
    /// The next order on its way, and what it will be.
    next: Option<(Coming<Shown>, Wanted)>,
    problem: Option<String>,
    /// Of a table that stays at its source.
    away: Option<away::Away>,
    cursor: Cursor,
    /// How much wider columns were made.
    layout: Layout,
    /// The selected column, and the first of those that scroll.
    column: usize,
    first: usize,
    inspector: Option<inspect::Inspector>,
    /// What is asked of the selected column.
    verb: Option<verb::Verb>,
    /// The columns that were on screen last.
    drawn: Vec<usize>,
}

impl Rows {
    pub(super) fn new(table: &DataTable, snapshot: &Arc<Snapshot>) -> Self {
        let grid = Grid::of(table);
        let columns = columns::of(table);
        let away = away::Away::of(table);
        let height = table.shelf.as_ref().map_or_else(|| grid.height(), |shelf| usize::try_from(shelf.total()).unwrap_or(usize::MAX));
        Self {
            schema: table.schema,
            generation: snapshot.generation,
            snapshot: Arc::clone(snapshot),
            columns,
            shown: Wanted::all(table.schema),
            filter_text: String::new(),
            order: Shown::all(height),
            grid,
            away,
            next: None,
            problem: None,
            cursor: Cursor::default(),
            layout: Layout::default(),
            column: 0,
            first: 1,
            inspector: None,
            verb: None,
            drawn: Vec::new(),
        }
    }

    /// The table of another generation, with what was chosen in this one.
    pub(super) fn renewed(&self, table: &DataTable, snapshot: &Arc<Snapshot>, context: &Context<'_>) -> Self {
        let mut rows = Self::new(table, snapshot);
        (rows.cursor.state, rows.column, rows.first) =
            (self.cursor.state, self.column.min(rows.columns.len().saturating_sub(1)), self.first);
        rows.filter_text.clone_from(&self.filter_text);
        rows.layout.clone_from(&self.layout);
        rows.ask(self.wanted().clone(), context);
        rows
    }

    /// What will stand on screen once it is there.
    fn wanted(&self) -> &Wanted {
        self.next.as_ref().map_or(&self.shown, |(_, wanted)| wanted)
    }

    pub(super) fn sorting(&self) -> Sorting {
        sorting_of(self.wanted())
    }

    /// These rows in this order.
    fn sorted(&self, filter: Filter, sorting: &Sorting) -> Wanted {
        Wanted { table: self.schema, filter, sort: sorting.keys().to_vec() }
    }

    pub(super) fn kept(&self) -> Kept {
        Kept { filter: self.filter_text.clone(), sorting: self.sorting(), layout: self.layout.clone() }
    }

    /// Takes up what was chosen in an earlier run.
    pub(super) fn take_up(&mut self, kept: &Kept, context: &Context<'_>) {
        self.layout.clone_from(&kept.layout);
        if let Ok(filter) = filter::parse(&kept.filter, &self.filter_columns()) {
            self.filter_text.clone_from(&kept.filter);
            self.ask(self.sorted(filter, &kept.sorting), context);
        }
    }

    /// What a filter can name.
    pub(super) fn filter_columns(&self) -> Vec<FilterColumn> {
        self.columns.iter().map(|column| filter::of_kind(column.name, column.kind, column.aliases)).collect()
    }

    fn ask(&mut self, wanted: Wanted, context: &Context<'_>) {
        self.problem = None;
        if wanted.is_all() {
            (self.shown, self.order, self.next) = (wanted, Shown::all(self.height()), None);
            return;
        }
        let wake = Wake::clone(context.wake);
        self.next = Some((context.deck.find(&self.snapshot, wanted.clone(), move || wake()), wanted));
    }

    /// Takes the order that has come.
    pub(super) fn refresh(&mut self, context: &Context<'_>) {
        self.follow(context);
        self.take_rows();
        let Some((coming, wanted)) = &mut self.next else { return };
        let Some(outcome) = coming.poll_now() else { return };
        match outcome {
            Ok(order) => {
                // The place stays when the others follow the first rows.
                if self.order.of.is_none() || *wanted != self.shown {
                    self.cursor.state = TableState::default();
                }
                self.shown = wanted.clone();
                self.order = order;
                self.next = None;
                if self.order.of.is_some() {
                    let whole = Whole { wanted: self.shown.clone(), found: self.order.clone() };
                    let wake = Wake::clone(context.wake);
                    self.next = Some((context.deck.find(&self.snapshot, whole, move || wake()), self.shown.clone()));
                }
                return;
            }
            Err(problem) => self.problem = Some(problem.detail),
        }
        self.next = None;
    }

    /// The pane of the column takes what has come, and goes with the selected column and the rows that are wanted.
    fn follow(&mut self, context: &Context<'_>) {
        if let (Some(mut verb), Some(column)) = (self.verb.take(), self.columns.get(self.column)) {
            verb.follow(self.wanted(), column.name, &self.snapshot, context);
            self.verb = Some(verb);
        }
    }

    fn ask_column(&mut self, kind: verb::Kind, context: &Context<'_>) {
        let Some(column) = self.columns.get(self.column) else { return };
        let again = self.verb.take().is_some_and(|verb| verb.kind == kind);
        self.verb = (!again).then(|| verb::Verb::new(kind, self.wanted(), column.name, &self.snapshot, context));
    }

    pub(super) fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        let filter = filter::parse(text, &self.filter_columns()).map_err(|error| error.to_string())?;
        text.clone_into(&mut self.filter_text);
        let wanted = Wanted { filter, ..self.wanted().clone() };
        if *self.wanted() != wanted {
            self.ask(wanted, context);
        }
        Ok(())
    }

    pub(super) fn count(&self) -> usize {
        self.order.places.len()
    }

    #[cfg(test)]
    pub(super) fn is_under_way(&self) -> bool {
        self.next.is_some() || self.away.as_ref().is_some_and(away::Away::is_under_way)
    }

    #[cfg(test)]
    pub(super) fn has_first_alone(&self) -> bool {
        self.order.of.is_some()
    }

    /// A cell of a row of the table; missing while it is on its way.
    fn value(&self, column: &str, row: usize) -> CellValue {
        self.in_grid(row).map_or(CellValue::Missing, |row| cells::value(&self.grid, column, row))
    }

    /// The place in the table of a row on screen.
    fn row(&self, shown: usize) -> Option<usize> {
        self.order.places.get(shown)
    }

    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        self.cursor.set_count(self.count());
        if let Some(inspector) = &mut self.inspector
            && matches!(action, Action::Left | Action::Right)
        {
            inspector.step(if action == Action::Left { -1 } else { 1 }, self.columns.len());
            self.column = inspector.field;
            return Effect::Redraw;
        }
        match action {
            Action::CountValues => self.ask_column(verb::Kind::Counts, context),
            Action::Describe => self.ask_column(verb::Kind::Describe, context),
            Action::Back if self.verb.is_some() => {
                let cancelled = self.verb.take().is_some_and(|verb| verb.is_under_way());
                return if cancelled { Effect::Say("cancelled".to_owned()) } else { Effect::Redraw };
            }
            action if self.cursor.act(action) => {}
            Action::Left => self.column = self.column.saturating_sub(1),
            Action::Right => self.column = (self.column + 1).min(self.columns.len().saturating_sub(1)),
            Action::Open if self.inspector.is_some() => self.inspector = None,
            Action::Open if self.count() > 0 => {
                self.inspector = Some(inspect::Inspector { field: self.column, ..inspect::Inspector::default() });
            }
            Action::Back if self.next.is_some() => {
                self.next = None;
                return Effect::Say("cancelled".to_owned());
            }
            Action::Back if self.inspector.is_some() => self.inspector = None,
            Action::Sort => self.sort_by(self.column, context),
            Action::SortReverse => self.sort(Sorting::reverse, context),
            Action::CopyValue => return self.copy(),
            Action::OpenLink => return self.open_link(),
            _ => return Effect::Pass,
        }
        self.follow(context);
        Effect::Redraw
    }

    /// As a click on the header of the column.
    fn sort_by(&mut self, column: usize, context: &Context<'_>) {
        let Some(name) = self.columns.get(column).map(|column| column.name) else { return };
        let columns = sort_columns(&self.columns);
        self.sort(|sorting| _ = sorting.click(name, false, &columns), context);
    }

    fn sort(&mut self, change: impl FnOnce(&mut Sorting), context: &Context<'_>) {
        let mut sorting = self.sorting();
        change(&mut sorting);
        let wanted = self.sorted(self.wanted().filter.clone(), &sorting);
        if wanted != *self.wanted() {
            self.ask(wanted, context);
        }
    }

    fn selected(&self) -> Option<(usize, &Column)> {
        Some((self.row(self.cursor.state.selected)?, self.columns.get(self.column)?))
    }

    fn copy(&self) -> Effect {
        match self.selected() {
            Some((row, column)) => Effect::Copy(cells::plain(&self.value(column.name, row)), column.name),
            None => Effect::Nothing,
        }
    }

    /// The link of the row, if the table has links.
    fn open_link(&self) -> Effect {
        let row = self.row(self.cursor.state.selected);
        match row.map(|row| cells::plain(&self.value("link", row))) {
            Some(link) if !link.is_empty() => Effect::OpenLink(link),
            _ => Effect::Say("no link in this row".to_owned()),
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let last = self.columns.len().saturating_sub(1);
        let under = self.cursor.is_under(mouse);
        // The header above the place says which column it is.
        let above = self.cursor.column_at(mouse.column).and_then(|key| self.columns.iter().position(|column| column.name == key));
        let scrollbar = matches!(self.cursor.hit(mouse.column, mouse.row), Some(Hit::Scrollbar(_)));
        match (mouse.kind, self.cursor.mouse(mouse)) {
            (MouseEventKind::ScrollLeft, _) if under => self.column = self.column.saturating_sub(1),
            (MouseEventKind::ScrollRight, _) if under => self.column = (self.column + 1).min(last),
            (_, Did::Nothing) => return Effect::Nothing,
            (_, Did::Dragged(key, cells)) => self.layout.widen(key, cells),
            (_, Did::Header(_)) => {
                self.column = above.unwrap_or(self.column);
                self.sort_by(self.column, context);
            }
            (MouseEventKind::Down(_), _) if !scrollbar => self.column = above.unwrap_or(self.column),
            _ => {}
        }
        Effect::Redraw
    }

    /// Every row of the filter and order that are chosen, also of those that are still being made; read stretch by stretch where they
    /// are written.
    pub(super) fn export(&self, context: &Context<'_>) -> Export {
        let (grid, deck, snapshot) = (self.grid.clone(), Arc::clone(context.deck), Arc::clone(&self.snapshot));
        let columns: Vec<&'static str> = self.columns.iter().map(|column| column.name).collect();
        let wanted = self.wanted().clone();
        let order = (wanted == self.shown).then(|| self.order.clone());
        let cells = |row| self.columns.iter().map(|column| cells::json(&self.value(column.name, row))).collect();
        let stays = self.snapshot.dataset.table(self.schema.name).and_then(in_place);
        Export {
            name: self.schema.name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: (wanted.filter == self.shown.filter).then(|| self.order.total()),
            selected: self.row(self.cursor.state.selected).map(cells),
            rows: Box::new(move |progress| {
                if let Some(detail) = stays {
                    return Err(Problem::new(Code::SourceUnavailable, detail));
                }
                let found = order.map_or_else(|| deck.find_in(&snapshot, &wanted, progress), Ok)?;
                let places = deck.find_in(&snapshot, &Whole { wanted, found }, progress)?.places;
                Ok(export::Rows::Frames(Box::new(Ordered::new(grid, places, columns))))
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
        if !self.filter_text.is_empty() && self.shown.filter.words().next().is_none() {
            add("where", &self.filter_text);
        }
        let sort: Vec<String> = self.sorting().keys().iter().map(ToString::to_string).collect();
        if !sort.is_empty() {
            add("sort", &sort.join(","));
        }
        target
    }

    /// `1,204 of 64,000 rows`.
    fn note(&self) -> String {
        let all = many(self.height() as u64, "row", "rows");
        let (shown, total) = (format::count(self.count() as u64), format::count(self.order.total() as u64));
        match self.order.total() {
            _ if self.order.of.is_some() => format!("the first {shown} of {total} rows in order"),
            count if count != self.height() => format!("{total} of {all}"),
            _ => all,
        }
    }
}
