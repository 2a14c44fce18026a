//! What every list of rows on screen does alike: moving the selection by key, wheel and click, and remembering how it is sorted.
//! What the rows hold is the view's.

use std::cmp::Ordering;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use crate::tui::{
    keymap::Action,
    theme::Theme,
    widgets::table::{Cell, Column, Hit, Table, TableState},
};

/// Rows the wheel moves by.
const WHEEL_ROWS: isize = 3;

/// A list as it was drawn last, and where the person is in it.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) state: TableState,
    count: usize,
    area: Rect,
    columns: Vec<Column>,
    starred: bool,
}

/// What a click meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Click {
    /// The row is selected now.
    Row,
    /// The star of the row, which is selected now.
    Star,
    /// The header of the column with this key.
    Header(&'static str),
}

impl Rows {
    pub(super) fn selected(&self) -> Option<usize> {
        (self.state.selected < self.count).then_some(self.state.selected)
    }

    pub(super) fn select(&mut self, row: usize) {
        self.state.select(row, self.count);
    }

    pub(super) fn set_count(&mut self, count: usize) {
        self.count = count;
        self.state.selected = self.state.selected.min(count.saturating_sub(1));
    }

    fn height(&self) -> usize {
        Table::height(self.area).max(1)
    }

    /// Carries out a movement; false when the action is none.
    pub(super) fn act(&mut self, action: Action) -> bool {
        let page = self.height() as isize;
        match action {
            Action::Up => self.state.step(-1, self.count),
            Action::Down => self.state.step(1, self.count),
            Action::PageUp => self.state.step(-page, self.count),
            Action::PageDown => self.state.step(page, self.count),
            Action::First => self.state.select(0, self.count),
            Action::Last => self.state.select(usize::MAX, self.count),
            _ => return false,
        }
        true
    }

    /// What a click in the list meant; the wheel and the scrollbar move it without meaning more than the row under the selection.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Option<Click> {
        if !self.area.contains((mouse.column, mouse.row).into()) {
            return None;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.state.scroll(-WHEEL_ROWS, self.count, self.height()),
            MouseEventKind::ScrollDown => self.state.scroll(WHEEL_ROWS, self.count, self.height()),
            MouseEventKind::Down(MouseButton::Left) | MouseEventKind::Drag(MouseButton::Left) => {
                return self.click(mouse);
            }
            _ => return None,
        }
        Some(Click::Row)
    }

    fn click(&mut self, mouse: MouseEvent) -> Option<Click> {
        let dragged = matches!(mouse.kind, MouseEventKind::Drag(_));
        let hit = self.table(&|_| Vec::new()).hit(self.area, mouse.column, mouse.row, &self.state)?;
        match hit {
            Hit::Scrollbar(row) => self.select(row),
            _ if dragged => return None,
            Hit::Header(column) => return self.columns.get(column).map(|column| Click::Header(column.key)),
            Hit::Row(row) => self.select(row),
            Hit::Star(row) => {
                self.select(row);
                return Some(Click::Star);
            }
        }
        Some(Click::Row)
    }

    fn table<'a>(&'a self, row: &'a dyn Fn(usize) -> Vec<Cell>) -> Table<'a> {
        const NO_STAR: &dyn Fn(usize) -> bool = &|_| false;
        Table { star: self.starred.then_some(NO_STAR), ..Table::new(&self.columns, self.count, row) }
    }

    /// Draws the table and remembers where.
    pub(super) fn draw(&mut self, table: &Table<'_>, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        self.set_count(table.count);
        (self.area, self.starred) = (area.intersection(buffer.area), table.star.is_some());
        self.columns = table.columns.to_vec();
        table.render(area, buffer, theme, &mut self.state);
    }
}

/// The column a list is sorted by, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sorting {
    pub(super) key: &'static str,
    pub(super) descending: bool,
}

/// A column one can sort by, and whether it starts with the largest.
pub(super) type SortColumn = (&'static str, bool);

impl Sorting {
    /// By the column after this one.
    pub(super) fn next(self, columns: &[SortColumn]) -> Self {
        let at = columns.iter().position(|(key, _)| *key == self.key);
        let (key, descending) = columns[at.map_or(0, |at| (at + 1) % columns.len())];
        Self { key, descending }
    }

    pub(super) fn reversed(self) -> Self {
        Self { descending: !self.descending, ..self }
    }

    /// By this column; turned around where it is that already. `None` for one that cannot be sorted by.
    pub(super) fn clicked(self, key: &str, columns: &[SortColumn]) -> Option<Self> {
        let &(key, descending) = columns.iter().find(|(known, _)| *known == key)?;
        Some(if key == self.key { self.reversed() } else { Self { key, descending } })
    }

    /// For `Table::sort`.
    pub(super) fn place(self, columns: &[Column]) -> Option<(usize, bool)> {
        columns.iter().position(|column| column.key == self.key).map(|place| (place, self.descending))
    }

    pub(super) fn save(self) -> Value {
        json!({ "column": self.key, "descending": self.descending })
    }

    pub(super) fn restore(self, kept: &Value, columns: &[SortColumn]) -> Self {
        let key = kept["column"].as_str().and_then(|word| columns.iter().find(|(key, _)| *key == word));
        match (key, kept["descending"].as_bool()) {
            (Some(&(key, _)), Some(descending)) => Self { key, descending },
            _ => self,
        }
    }
}

/// Sorts places by what `key` gives for them; those without a value come last either way, equals stay as they are.
pub(super) fn order_by<K: PartialOrd>(order: &mut Vec<u32>, descending: bool, key: impl Fn(u32) -> Option<K>) {
    let mut keyed: Vec<(Option<K>, u32)> = order.iter().map(|&i| (key(i), i)).collect();
    keyed.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => {
            let ascending = a.partial_cmp(b).unwrap_or(Ordering::Equal);
            if descending { ascending.reverse() } else { ascending }
        }
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    *order = keyed.into_iter().map(|(_, i)| i).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[SortColumn] = &[("name", false), ("cap", true)];

    #[test]
    fn a_click_sorts_by_the_column_and_a_second_one_turns_it_around() {
        let by_name = Sorting { key: "name", descending: false };
        let by_cap = by_name.clicked("cap", COLUMNS).unwrap();
        assert_eq!(by_cap, Sorting { key: "cap", descending: true });
        assert_eq!(by_cap.clicked("cap", COLUMNS), Some(by_cap.reversed()));
        assert_eq!(by_cap.clicked("history", COLUMNS), None);
        assert_eq!(by_cap.next(COLUMNS), by_name);
    }

    #[test]
    fn what_was_kept_comes_back_unless_it_is_no_column() {
        let (standing, kept) = (Sorting { key: "cap", descending: true }, Sorting { key: "name", descending: true });
        assert_eq!(standing.restore(&kept.save(), COLUMNS), kept);
        for strange in [json!(null), json!({"column": "nope", "descending": true}), json!({"column": "name"}), json!([1])] {
            assert_eq!(standing.restore(&strange, COLUMNS), standing);
        }
    }
}
