//! Drawing the rows of a table: which columns fit beside the frozen one, the selected cell, what is on its way.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Rows, away, cells, inspect};
use crate::tui::{
    format, text,
    theme::Role,
    view::Context,
    views::inset,
    widgets::{
        panel::{self, Panel},
        put,
        table::{Cell, Column, Table},
    },
};

/// From this width the inspector stands beside the rows, else over them.
const BESIDE: u16 = 120;
/// Cells between columns and those that the scrollbar takes.
const GAP: u16 = 2;
const BAR: u16 = 2;

impl Rows {
    pub(in crate::tui::views::data) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let beside = self.verb.is_some() || self.inspector.is_some();
        let (left, right) = match beside.then_some(()) {
            Some(()) if area.width >= BESIDE => {
                let width = (area.width * 38 / 100).clamp(64, 90);
                let left = area.width - width - 2;
                (Rect { width: left, ..area }, Rect { x: area.x + left + 2, width, ..area })
            }
            Some(()) => (Rect::default(), area),
            None => (area, Rect::default()),
        };
        if !left.is_empty() {
            self.draw_table(buffer, left, context);
        }
        if let Some(verb) = &self.verb {
            return verb.draw(buffer, right, context);
        }
        let selected = self.order.places.get(self.cursor.state.selected);
        let selected = selected.map(|row| self.in_grid(row).unwrap_or(usize::MAX));
        if let (Some(inspector), Some(row)) = (&mut self.inspector, selected) {
            let place = inspect::Place { grid: &self.grid, columns: &self.columns, row, table: self.schema.name };
            inspector.field = self.column;
            inspector.draw(buffer, right, &place, context);
        }
    }

    fn draw_table(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let mut title = self.schema.name.to_owned();
        if !self.filter_text.is_empty() {
            title = format!("{title} / {}", self.filter_text);
        }
        let progress = self.next.as_ref().map(|(coming, _)| match coming.progress() {
            (_, 0) => None,
            (done, total) => Some(done as f64 / total as f64),
        });
        let note = if progress.is_some() { "Esc cancels".to_owned() } else { self.note() };
        let panel = Panel { note: &note, focused: true, progress, ascii: context.ascii, ..Panel::new(&title) };
        let body = inset(panel.render(area, buffer, theme));
        // The selected cell whole, under the rows.
        let line = u16::from(body.height > 4);
        let mut table_area = Rect { height: body.height - line, ..body };
        if let Some(problem) = &self.problem {
            panel::failure(Rect { height: 1, ..body }, buffer, theme, problem);
            table_area = Rect { y: table_area.y + 1, height: table_area.height.saturating_sub(1), ..table_area };
        }
        self.settle_columns(table_area.width);
        let columns = self.screen_columns();
        let (grid, places, count) = (&self.grid, &self.order.places, self.count());
        let shown: Vec<_> = self.drawn.iter().map(|&place| self.columns[place]).collect();
        let here = away::Away::here(self.away.as_ref(), grid);
        let row = |row: usize| -> Vec<Cell> {
            let Some(row) = places.get(row) else { return Vec::new() };
            let Some(row) = here(row) else { return vec![Cell::new("…", Role::Dim); shown.len()] };
            shown.iter().map(|column| cells::cell(&cells::value(grid, column.name, row), column.kind)).collect()
        };
        let words: Vec<&str> = self.shown.filter.words().collect();
        let empty = if self.filter_text.is_empty() { "the table has no rows" } else { "no row meets the filter; / changes it" };
        let (sort, ascii) = (super::sorting_of(&self.shown).marks(&columns), context.ascii);
        let table = Table { sort, words: &words, empty, ascii, ..Table::new(&columns, count, &row) };
        self.cursor.draw(&table, buffer, table_area, theme);
        self.look_further(context);
        self.mark_cell(buffer, table_area, context);
        if line > 0 {
            self.draw_line(buffer, Rect { y: body.bottom() - 1, height: 1, ..body }, context);
        }
    }

    /// The columns on screen: the first, then as many of the scrolled ones as fit with the selected among them.
    fn settle_columns(&mut self, width: u16) {
        let count = self.columns.len();
        let columns: Vec<Column> = (0..count).map(|place| self.screen_column(place)).collect();
        let least = |place: usize| columns[place].min;
        self.drawn.clear();
        if count == 0 {
            return;
        }
        self.column = self.column.min(count - 1);
        let room = width.saturating_sub(least(0).saturating_add(BAR));
        let fitting = |first: usize| -> usize {
            let mut used = 0_u16;
            (first..count)
                .take_while(|&place| {
                    used = used.saturating_add(least(place) + GAP);
                    used <= room
                })
                .count()
        };
        let mut first = self.first.clamp(1, count.max(2) - 1).min(self.column.max(1));
        while self.column >= first + fitting(first).max(1) {
            first += 1;
        }
        // Nothing is left empty at the right while there is something to the left.
        while first > 1 && first - 1 + fitting(first - 1) >= count {
            first -= 1;
        }
        self.first = first;
        let shown = fitting(first).max(usize::from(self.column >= 1));
        self.drawn = std::iter::once(0).chain(first..(first + shown).min(count)).collect();
    }

    /// The column at the place, as wide as the person made it.
    fn screen_column(&self, place: usize) -> Column {
        let column = self.columns[place];
        cells::column(column.name, column.kind, place == 0).widened(self.layout.wider_by(column.name))
    }

    fn screen_columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = self.drawn.iter().map(|&place| self.screen_column(place)).collect();
        // Where none takes what is left, the figures would stand far from their titles: the last text does.
        if !columns.iter().any(|column| column.grows)
            && let Some(last) = columns.last_mut()
            && last.align == crate::tui::widgets::table::ColumnAlign::Left
        {
            last.grows = true;
        }
        columns
    }

    /// The selected cell and its title in the accent.
    fn mark_cell(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(column) = self.columns.get(self.column) else { return };
        let (area, state) = (area.intersection(buffer.area), self.cursor.state);
        let line = state.selected.saturating_sub(state.offset) as u16 + 1;
        // The scrollbar is no part of the last column.
        let bar = if self.count() > Table::height(area) { BAR } else { 0 };
        for x in (area.left()..area.right().saturating_sub(bar)).filter(|&x| self.cursor.column_at(x) == Some(column.name)) {
            for y in [0, line] {
                if y < area.height && (y == 0 || self.count() > 0) {
                    buffer[(x, area.y + y)].set_style(context.theme.accent());
                }
            }
        }
    }

    /// `close  2,987.4100012  last price, USD`, and where one is among the columns.
    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some((row, column)) = self.selected() else { return };
        let place = format!("column {} of {} · row {}", self.column + 1, self.columns.len(), format::count(row as u64 + 1));
        let value = self.value(column.name, row);
        let room = area.width.saturating_sub(text::width(&place) as u16 + 2);
        let left = Rect { width: room, ..area };
        let mut x = put(buffer, left, 0, 0, column.name, theme.accent());
        let short = || cells::cell(&value, column.kind).short;
        let exact = Some(cells::exact(&value)).filter(|exact| text::width(exact) + usize::from(x) + 2 <= usize::from(room));
        let value = exact.or_else(short).unwrap_or_else(|| cells::exact(&value));
        x += 2 + put(buffer, left, x + 2, 0, &value, theme.text());
        if x + 6 < room {
            put(buffer, left, x + 2, 0, column.meaning, theme.style(Role::Dim));
        }
        put(buffer, area, room + 2, 0, &place, theme.dim());
    }
}
