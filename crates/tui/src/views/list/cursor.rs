//! Selection and scrolling of a table by key, wheel and click. Independent of the content of rows.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    views::keymap::Action,
    widgets::{
        table::{Cell, Hit, TableColumn, TableWidget, TableWidgetState},
        theme::Theme,
    },
};

/// Rows of one wheel step.
const WHEEL_ROWS: isize = 3;

/// The table as last drawn, and the selected row.
#[derive(Debug, Default)]
pub struct Cursor {
    pub state: TableWidgetState,
    count: usize,
    area: Rect,
    columns: Vec<TableColumn>,
    starred: bool,
    /// The header under the pressed mouse button.
    pressed: Option<Pressed>,
}

/// A header while the button is held on it.
#[derive(Debug, Clone, Copy)]
struct Pressed {
    column: &'static str,
    /// The mouse's last column.
    x: u16,
    dragged: bool,
}

/// The effect of a key or a mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListEvent {
    Nothing,
    /// The selection may have moved.
    Moved,
    /// The selected row was clicked again.
    ClickedAgain,
    /// The row's star was clicked; the row is now selected.
    Star,
    /// The header of the column with this key was clicked.
    Header(&'static str),
    /// The header of this column was dragged to the right by this number of cells.
    Dragged(&'static str, i16),
    /// The rows must be sorted or filtered again.
    Sorted,
}

impl Cursor {
    /// The selected row; `None` without rows.
    pub fn selected(&self) -> Option<usize> {
        (self.state.selected < self.count).then_some(self.state.selected)
    }

    pub fn select(&mut self, row: usize) {
        self.state.select(row, self.count);
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn set_count(&mut self, count: usize) {
        self.count = count;
        self.state.selected = self.state.selected.min(count.saturating_sub(1));
    }

    /// The rows that were last on screen.
    pub fn on_screen(&self) -> std::ops::Range<usize> {
        self.state.offset.min(self.count)..(self.state.offset + self.height()).min(self.count)
    }

    fn height(&self) -> usize {
        TableWidget::height(self.area).max(1)
    }

    /// Whether the mouse is over the table.
    pub fn is_under(&self, mouse: MouseEvent) -> bool {
        self.area.contains((mouse.column, mouse.row).into())
    }

    /// Moves the selection; false for any other action.
    pub fn act(&mut self, action: Action) -> bool {
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

    pub fn mouse(&mut self, mouse: MouseEvent) -> ListEvent {
        if let Some(event) = self.on_held_header(mouse) {
            return event;
        }
        if !self.is_under(mouse) {
            return ListEvent::Nothing;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.state.scroll(-WHEEL_ROWS, self.count, self.height()),
            MouseEventKind::ScrollDown => self.state.scroll(WHEEL_ROWS, self.count, self.height()),
            // A right click selects the row for its menu, and opens nothing.
            MouseEventKind::Down(MouseButton::Right) => match self.hit(mouse.column, mouse.row) {
                Some(Hit::Row(row) | Hit::Star(row)) => self.select(row),
                _ => return ListEvent::Nothing,
            },
            MouseEventKind::Down(MouseButton::Left) | MouseEventKind::Drag(MouseButton::Left) => {
                return self.click(mouse);
            }
            _ => return ListEvent::Nothing,
        }
        ListEvent::Moved
    }

    /// Handles the mouse while a header is held, wherever the pointer is: a click counts on release, since it may become a drag.
    fn on_held_header(&mut self, mouse: MouseEvent) -> Option<ListEvent> {
        let Pressed { column, x, dragged } = self.pressed.take()?;
        match mouse.kind {
            MouseEventKind::Drag(MouseButton::Left) => {
                let cells = (i32::from(mouse.column) - i32::from(x))
                    .clamp(i16::MIN.into(), i16::MAX.into()) as i16;
                self.pressed = Some(Pressed {
                    column,
                    x: mouse.column,
                    dragged: dragged || cells != 0,
                });
                Some(if cells == 0 {
                    ListEvent::Nothing
                } else {
                    ListEvent::Dragged(column, cells)
                })
            }
            MouseEventKind::Up(MouseButton::Left) => Some(if dragged {
                ListEvent::Nothing
            } else {
                ListEvent::Header(column)
            }),
            _ => None,
        }
    }

    fn click(&mut self, mouse: MouseEvent) -> ListEvent {
        let dragged = matches!(mouse.kind, MouseEventKind::Drag(_));
        match self.hit(mouse.column, mouse.row) {
            Some(Hit::Scrollbar(row)) => self.select(row),
            None => return ListEvent::Nothing,
            Some(_) if dragged => return ListEvent::Nothing,
            Some(Hit::Header(column)) => {
                let held = |column: &TableColumn| Pressed {
                    column: column.key,
                    x: mouse.column,
                    dragged: false,
                };
                self.pressed = self.columns.get(column).map(held);
                return ListEvent::Nothing;
            }
            Some(Hit::Row(row)) if row == self.state.selected => return ListEvent::ClickedAgain,
            Some(Hit::Row(row)) => self.select(row),
            Some(Hit::Star(row)) => {
                self.select(row);
                return ListEvent::Star;
            }
        }
        ListEvent::Moved
    }

    /// The hit target at a screen position.
    pub fn hit(&self, x: u16, y: u16) -> Option<Hit> {
        const NO_STAR: &dyn Fn(usize) -> bool = &|_| false;
        let row: &dyn Fn(usize) -> Vec<Cell> = &|_| Vec::new();
        let table = TableWidget {
            star: self.starred.then_some(NO_STAR),
            ..TableWidget::new(&self.columns, self.count, row)
        };
        table.hit(self.area, x, y, &self.state)
    }

    /// The key of the column at a screen position.
    pub fn column_at(&self, x: u16) -> Option<&'static str> {
        match self.hit(x, self.area.y) {
            Some(Hit::Header(column)) => self.columns.get(column).map(|column| column.key),
            _ => None,
        }
    }

    /// Draws the table and remembers its area.
    pub fn draw(
        &mut self,
        table: &TableWidget<'_>,
        buffer: &mut Buffer,
        area: Rect,
        theme: &Theme,
    ) {
        self.set_count(table.count);
        (self.area, self.starred) = (area.intersection(buffer.area), table.star.is_some());
        self.columns = table.columns.to_vec();
        table.render(area, buffer, theme, &mut self.state);
    }

    /// Clears the drawn area, so that nothing is hit.
    pub fn hide(&mut self) {
        self.area = Rect::default();
    }
}
