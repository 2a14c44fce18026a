//! Chooses the columns of the list on screen: which are shown, in which order, how wide, and which stay. What is chosen holds at once.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Command, OverlayOutcome, Rows, floating, line};
use crate::tui::{
    list::ColumnLayout,
    text,
    theme::{Role, Theme},
    view::ColumnChoice,
};

#[derive(Debug)]
pub struct ColumnsDialog {
    choice: ColumnChoice,
    selected: usize,
    rows: Rows,
}

impl ColumnsDialog {
    pub fn new(choice: ColumnChoice, selected: usize) -> Self {
        let selected = selected.min(choice.columns.len().saturating_sub(1));
        Self { choice, selected, rows: Rows::default() }
    }

    pub fn selected(&self) -> usize {
        self.selected
    }

    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let last = self.choice.columns.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'C') => return OverlayOutcome::Close,
            KeyCode::Char('c') if control => return OverlayOutcome::Close,
            KeyCode::Char('J') => return self.carry(1),
            KeyCode::Char('K') => return self.carry(-1),
            KeyCode::Down if shift => return self.carry(1),
            KeyCode::Up if shift => return self.carry(-1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.selected = last,
            KeyCode::PageDown => self.selected = (self.selected + 10).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(10),
            KeyCode::Char(' ' | 'x') => return self.toggle(),
            KeyCode::Char('+' | '>') | KeyCode::Right => return self.widen(1),
            KeyCode::Char('-' | '<') | KeyCode::Left => return self.widen(-1),
            KeyCode::Char('f') => {
                let upto = self.selected + 1;
                self.choice.layout.frozen = if self.choice.layout.frozen == upto { 0 } else { upto };
                return self.apply();
            }
            KeyCode::Char('r') => return OverlayOutcome::Apply(Command::Columns(None)),
            _ => {}
        }
        OverlayOutcome::Stay
    }

    /// A click shows the column or hides it; none beside the columns.
    pub fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.selected = self.rows.at(x, y).filter(|row| *row < self.choice.columns.len())?;
        Some(self.toggle())
    }

    fn apply(&self) -> OverlayOutcome {
        OverlayOutcome::Apply(Command::Columns(Some(Box::new(self.choice.layout.clone()))))
    }

    fn toggle(&mut self) -> OverlayOutcome {
        let shown = self.choice.columns.iter().filter(|(_, _, shown)| *shown).count();
        let Some((key, _, is_shown)) = self.choice.columns.get_mut(self.selected) else { return OverlayOutcome::Stay };
        // A list without columns tells nothing.
        if *is_shown && shown == 1 {
            return OverlayOutcome::Stay;
        }
        *is_shown = !*is_shown;
        self.choice.layout.show(key, *is_shown);
        self.apply()
    }

    fn widen(&mut self, cells: i16) -> OverlayOutcome {
        let Some((key, ..)) = self.choice.columns.get(self.selected) else { return OverlayOutcome::Stay };
        self.choice.layout.widen(key, cells);
        self.apply()
    }

    /// Moves the selected column.
    fn carry(&mut self, rows: isize) -> OverlayOutcome {
        let to = self.selected.saturating_add_signed(rows).min(self.choice.columns.len().saturating_sub(1));
        if to == self.selected {
            return OverlayOutcome::Stay;
        }
        self.choice.columns.swap(self.selected, to);
        self.selected = to;
        self.choice.layout.order = self.choice.columns.iter().map(|(key, ..)| *key).collect();
        self.apply()
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let height = (self.choice.columns.len() as u16 + 5).min(area.height.saturating_sub(4));
        let title = format!("columns · {} of {}", self.selected + 1, self.choice.columns.len());
        let inside = floating(buffer, area, (64, height), &title, theme);
        let base = theme.style(Role::Panel);
        self.rows = Rows::around(self.selected, Rect { height: inside.height.saturating_sub(3), ..inside });
        let ColumnLayout { frozen, .. } = self.choice.layout;
        for (row, place, (key, title, shown)) in self.rows.of(&self.choice.columns) {
            let style = if row == self.selected { theme.style(Role::Selection) } else { base };
            buffer.set_style(place, style);
            line(buffer, place, 0, 0, if *shown { "[x]" } else { "[ ]" }, theme.accent().patch(style));
            let title = text::fit(&title.to_uppercase(), 16, text::Align::Left);
            line(buffer, place, 0, 4, &title, if *shown { theme.text() } else { theme.dim() }.patch(style));
            line(buffer, place, 0, 21, key, theme.dim().patch(style));
            let wider = self.choice.layout.wider_by(key);
            let width = if wider == 0 { String::new() } else { format!("{wider:+}") };
            let absent = self.choice.absent.contains(key);
            let mark = format!(
                "{width:>4} {}",
                if absent {
                    "no data"
                } else if row < frozen {
                    "frozen"
                } else {
                    ""
                }
            );
            line(buffer, place, 0, place.width.saturating_sub(12), &mark, theme.accent().patch(style));
        }
        let hints = ["Space shows or hides   J K move it   + - wider, narrower", "f freezes up to here   r as it was   Esc done"];
        for (nth, hint) in hints.iter().enumerate() {
            line(buffer, inside, inside.height.saturating_sub(2) + nth as u16, 0, hint, theme.dim().patch(base));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog() -> ColumnsDialog {
        let columns = vec![("a", "a", true), ("b", "b", true), ("c", "c", false)];
        let layout = ColumnLayout { hidden: vec!["c"], ..ColumnLayout::default() };
        ColumnsDialog::new(ColumnChoice { columns, absent: Vec::new(), layout }, 0)
    }

    #[test]
    fn keys_hide_move_widen_and_freeze() {
        let mut dialog = dialog();
        let mut press = |code| dialog.key(&KeyEvent::new(code, KeyModifiers::NONE));
        let layout = |outcome| match outcome {
            OverlayOutcome::Apply(Command::Columns(Some(layout))) => *layout,
            other => panic!("{other:?}"),
        };
        assert_eq!(layout(press(KeyCode::Char('J'))).order, ["b", "a", "c"]);
        assert_eq!(layout(press(KeyCode::Char(' '))).hidden, ["c", "a"]);
        assert_eq!(layout(press(KeyCode::Char('+'))).wider, [("a", 1)]);
        assert_eq!(layout(press(KeyCode::Char('f'))).frozen, 2);
        assert_eq!(press(KeyCode::Char('k')), OverlayOutcome::Stay);
        assert_eq!(press(KeyCode::Char(' ')), OverlayOutcome::Stay, "the last one stays");
        assert_eq!(press(KeyCode::Char('r')), OverlayOutcome::Apply(Command::Columns(None)));
        assert_eq!(press(KeyCode::Esc), OverlayOutcome::Close);
    }

    #[test]
    fn a_click_on_a_row_shows_its_column_or_hides_it() {
        let mut dialog = dialog();
        let area = Rect::new(0, 0, 80, 24);
        dialog.draw(&mut Buffer::empty(area), area, &Theme::default());
        let Rows { area, .. } = dialog.rows;
        let hidden = |outcome: Option<OverlayOutcome>| match outcome {
            Some(OverlayOutcome::Apply(Command::Columns(Some(layout)))) => layout.hidden,
            other => panic!("{other:?}"),
        };
        assert_eq!(hidden(dialog.click(area.x + 5, area.y + 1)), ["c", "b"]);
        assert_eq!(hidden(dialog.click(area.x, area.y + 2)), ["b"]);
        assert_eq!((dialog.selected(), dialog.click(area.x, area.y + 3), dialog.click(0, 0)), (2, None, None));
    }
}
