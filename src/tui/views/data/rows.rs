//! The rows of one table: a cell is selected, the first column stays, the others scroll. Filter and order are made off the drawing
//! thread; only what is on screen is read.

mod draw;
mod inspect;

use std::sync::Arc;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::{super::many, cells};
use crate::{
    dataset::{
        Table as DataTable, export,
        grid::{Grid, Ordered},
        schema::{Column, TableSchema},
    },
    deck::pending::Coming,
    question::{
        filter,
        parameter::encode,
        snapshot::Snapshot,
        tables::order::{Shown, SortBy, Wanted, Whole},
    },
    tui::{
        format,
        keymap::Action,
        view::{Context, Effect, Export, Wake},
        widgets::table::{Hit, Table, TableState},
    },
};

#[derive(Debug)]
pub(super) struct Rows {
    pub(super) schema: &'static TableSchema,
    pub(super) generation: u64,
    /// The generation that the rows are of.
    snapshot: Arc<Snapshot>,
    grid: Grid,
    /// The columns that the table has, in the schema's order.
    columns: Vec<&'static Column>,
    /// What stands on screen, and the text of its filter.
    shown: Wanted,
    pub(super) filter_text: String,
    /// The rows in the order shown.
    order: Shown,
    /// The next order on its way, and what it will be.
    next: Option<(Coming<Shown>, Wanted)>,
    problem: Option<String>,
    state: TableState,
    /// The selected column, and the first of those that scroll.
    column: usize,
    first: usize,
    inspector: Option<inspect::Inspector>,
    /// Where the table was drawn last and which columns it had.
    area: Rect,
    drawn: Vec<usize>,
}

impl Rows {
    pub(super) fn new(table: &DataTable, snapshot: &Arc<Snapshot>) -> Self {
        let grid = Grid::of(table);
        let columns = table.schema.columns.iter().filter(|column| grid.has(column.name)).collect();
        Self {
            schema: table.schema,
            generation: snapshot.generation,
            snapshot: Arc::clone(snapshot),
            columns,
            shown: Wanted::all(table.schema),
            filter_text: String::new(),
            order: Shown::all(grid.height()),
            grid,
            next: None,
            problem: None,
            state: TableState::default(),
            column: 0,
            first: 1,
            inspector: None,
            area: Rect::default(),
            drawn: Vec::new(),
        }
    }

    /// The table of another generation, with what was chosen in this one.
    pub(super) fn renewed(&self, table: &DataTable, snapshot: &Arc<Snapshot>, context: &Context<'_>) -> Self {
        let mut rows = Self::new(table, snapshot);
        (rows.state, rows.column, rows.first) = (self.state, self.column.min(rows.columns.len().saturating_sub(1)), self.first);
        rows.filter_text.clone_from(&self.filter_text);
        rows.ask(self.wanted().clone(), context);
        rows
    }

    /// What will stand on screen once it is there.
    fn wanted(&self) -> &Wanted {
        self.next.as_ref().map_or(&self.shown, |(_, wanted)| wanted)
    }

    pub(super) fn sort(&self) -> Option<(&'static str, bool)> {
        sorted_by(self.wanted())
    }

    /// Takes up the filter and order of an earlier run.
    pub(super) fn take_up(&mut self, filter_text: &str, sort: Option<(&'static str, bool)>, context: &Context<'_>) {
        if let Ok(filter) = filter::parse(filter_text, &filter::of_table(self.schema)) {
            filter_text.clone_into(&mut self.filter_text);
            self.ask(Wanted { filter, ..self.sorted(sort) }, context);
        }
    }

    /// Every row, in this order.
    fn sorted(&self, sort: Option<(&'static str, bool)>) -> Wanted {
        let sort = sort.into_iter().map(|(column, falls)| SortBy { column: column.into(), falls });
        Wanted { sort: sort.collect(), ..Wanted::all(self.schema) }
    }

    fn ask(&mut self, wanted: Wanted, context: &Context<'_>) {
        self.problem = None;
        if wanted.is_all() {
            (self.shown, self.order, self.next) = (wanted, Shown::all(self.grid.height()), None);
            return;
        }
        let wake = Wake::clone(context.wake);
        self.next = Some((context.deck.find(&self.snapshot, wanted.clone(), move || wake()), wanted));
    }

    /// Takes the order that has come.
    pub(super) fn refresh(&mut self, context: &Context<'_>) {
        let Some((coming, wanted)) = &mut self.next else { return };
        let Some(outcome) = coming.poll_now() else { return };
        match outcome {
            Ok(order) => {
                // The place stays when the others follow the first rows.
                if self.order.of.is_none() || *wanted != self.shown {
                    self.state = TableState::default();
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

    pub(super) fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        let filter = filter::parse(text, &filter::of_table(self.schema)).map_err(|error| error.to_string())?;
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
        self.next.is_some()
    }

    #[cfg(test)]
    pub(super) fn has_first_alone(&self) -> bool {
        self.order.of.is_some()
    }

    /// The place in the frame of a row on screen.
    fn row(&self, shown: usize) -> Option<usize> {
        self.order.places.get(shown)
    }

    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let (count, page) = (self.count(), Table::height(self.area).max(1) as isize);
        if let Some(inspector) = &mut self.inspector
            && matches!(action, Action::Left | Action::Right)
        {
            inspector.step(if action == Action::Left { -1 } else { 1 }, self.columns.len());
            self.column = inspector.field;
            return Effect::Redraw;
        }
        match action {
            Action::Up => self.state.step(-1, count),
            Action::Down => self.state.step(1, count),
            Action::PageUp => self.state.step(-page, count),
            Action::PageDown => self.state.step(page, count),
            Action::First => self.state.select(0, count),
            Action::Last => self.state.select(usize::MAX, count),
            Action::Left => self.column = self.column.saturating_sub(1),
            Action::Right => self.column = (self.column + 1).min(self.columns.len().saturating_sub(1)),
            Action::Open if self.inspector.is_some() => self.inspector = None,
            Action::Open if count > 0 => self.inspector = Some(inspect::Inspector { field: self.column, ..inspect::Inspector::default() }),
            Action::Back if self.next.is_some() => {
                self.next = None;
                return Effect::Say("cancelled".to_owned());
            }
            Action::Back if self.inspector.is_some() => self.inspector = None,
            Action::Sort => self.sort_by(self.column, context),
            Action::SortReverse => self.turn(context),
            Action::CopyValue => return self.copy(),
            Action::OpenLink => return self.open_link(),
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    /// By the column; once more, the other way round; once more, not at all.
    fn sort_by(&mut self, column: usize, context: &Context<'_>) {
        let Some(column) = self.columns.get(column) else { return };
        let sort = match self.sort() {
            Some((sorted, false)) if sorted == column.name => Some((column.name, true)),
            Some((sorted, true)) if sorted == column.name => None,
            _ => Some((column.name, false)),
        };
        self.ask(Wanted { filter: self.wanted().filter.clone(), ..self.sorted(sort) }, context);
    }

    fn turn(&mut self, context: &Context<'_>) {
        let mut wanted = self.wanted().clone();
        if let Some(by) = wanted.sort.first_mut() {
            by.falls = !by.falls;
            self.ask(wanted, context);
        }
    }

    fn selected(&self) -> Option<(usize, &'static Column)> {
        Some((self.row(self.state.selected)?, self.columns.get(self.column)?))
    }

    fn copy(&self) -> Effect {
        match self.selected() {
            Some((row, column)) => Effect::Copy(cells::plain(&cells::value(&self.grid, column.name, row)), column.name),
            None => Effect::Nothing,
        }
    }

    /// The link of the row, if the table has links.
    fn open_link(&self) -> Effect {
        let row = self.row(self.state.selected);
        match row.map(|row| cells::plain(&cells::value(&self.grid, "link", row))) {
            Some(link) if !link.is_empty() => Effect::OpenLink(link),
            _ => Effect::Say("no link in this row".to_owned()),
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let (count, height) = (self.count(), Table::height(self.area));
        if !self.area.contains((mouse.column, mouse.row).into()) {
            return Effect::Nothing;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.state.scroll(-3, count, height),
            MouseEventKind::ScrollDown => self.state.scroll(3, count, height),
            MouseEventKind::ScrollLeft => self.column = self.column.saturating_sub(1),
            MouseEventKind::ScrollRight => self.column = (self.column + 1).min(self.columns.len().saturating_sub(1)),
            MouseEventKind::Down(MouseButton::Left) => {
                let columns = self.screen_columns();
                let table = Table::new(&columns, count, &|_| Vec::new());
                let hit = table.hit(self.area, mouse.column, mouse.row, &self.state);
                // The header above the place says which column it is.
                let above = table.hit(self.area, mouse.column, self.area.y, &self.state);
                let column = match above {
                    Some(Hit::Header(place)) => self.drawn.get(place).copied(),
                    _ => None,
                };
                match hit {
                    Some(Hit::Header(_)) => {
                        self.column = column.unwrap_or(self.column);
                        self.sort_by(self.column, context);
                    }
                    Some(Hit::Row(row) | Hit::Star(row)) => {
                        self.state.select(row, count);
                        self.column = column.unwrap_or(self.column);
                    }
                    Some(Hit::Scrollbar(row)) => self.state.select(row, count),
                    None => {}
                }
            }
            _ => return Effect::Nothing,
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
        let cells = |row| self.columns.iter().map(|column| cells::json(&cells::value(&self.grid, column.name, row))).collect();
        Export {
            name: self.schema.name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: (wanted.filter == self.shown.filter).then(|| self.order.total()),
            selected: self.row(self.state.selected).map(cells),
            rows: Box::new(move |progress| {
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
        if let Some((column, falls)) = self.sort() {
            add("sort", &format!("{}{column}", if falls { "-" } else { "" }));
        }
        target
    }

    /// `1,204 of 64,000 rows`.
    fn note(&self) -> String {
        let all = many(self.grid.height() as u64, "row", "rows");
        let (shown, total) = (format::count(self.count() as u64), format::count(self.order.total() as u64));
        match self.order.total() {
            _ if self.order.of.is_some() => format!("the first {shown} of {total} rows in order"),
            count if count != self.grid.height() => format!("{total} of {all}"),
            _ => all,
        }
    }
}

fn sorted_by(wanted: &Wanted) -> Option<(&'static str, bool)> {
    let by = wanted.sort.first()?;
    wanted.table.column(&by.column).map(|column| (column.name, by.falls))
}
