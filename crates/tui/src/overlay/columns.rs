//! The column dialog of the list on screen: visibility, order, widths and frozen columns. Changes apply at once.

use crossterm::event::KeyModifiers;

use super::prelude::*;
use crate::views::{list::ColumnLayout, view::ColumnChoice};

#[derive(Debug)]
pub struct ColumnsDialog {
    choice: ColumnChoice,
    rows: Rows,
    /// What is typed behind `/` to jump to a column.
    find: Option<String>,
}

impl ColumnsDialog {
    pub fn new(choice: ColumnChoice, selected: usize) -> Self {
        let selected = selected.min(choice.columns.len().saturating_sub(1));
        Self {
            choice,
            rows: Rows {
                selected,
                ..Rows::default()
            },
            find: None,
        }
    }

    /// Takes the columns that have no room in the list as it was drawn last.
    pub fn set_no_room(&mut self, no_room: Vec<&'static str>) {
        self.choice.no_room = no_room;
    }

    pub fn selected(&self) -> usize {
        self.rows.selected
    }

    fn apply(&self) -> OverlayOutcome {
        OverlayOutcome::Apply(Command::Columns(Some(Box::new(self.choice.layout.clone()))))
    }

    fn toggle(&mut self) -> OverlayOutcome {
        let shown = self
            .choice
            .columns
            .iter()
            .filter(|(_, _, shown)| *shown)
            .count();
        let Some((key, _, is_shown)) = self.choice.columns.get_mut(self.rows.selected) else {
            return OverlayOutcome::Stay;
        };
        // At least one column must stay.
        if *is_shown && shown == 1 {
            return OverlayOutcome::Stay;
        }
        *is_shown = !*is_shown;
        self.choice.layout.show(key, *is_shown);
        self.apply()
    }

    /// Types what to jump to; false for a key that ends that.
    fn find_key(&mut self, code: KeyCode) -> bool {
        let Some(typed) = &mut self.find else {
            return false;
        };
        match code {
            KeyCode::Char(c) if c != ' ' => typed.extend(c.to_lowercase()),
            KeyCode::Backspace => _ = typed.pop(),
            _ => return false,
        }
        let names =
            |(key, title, _): &(&str, &str, bool)| [title.to_lowercase(), key.to_lowercase()];
        let found = |fits: fn(&str, &str) -> bool| {
            self.choice
                .columns
                .iter()
                .position(|column| names(column).iter().any(|name| fits(name, typed)))
        };
        let place = found(|name, typed| name.starts_with(typed))
            .or_else(|| found(|name, typed| name.contains(typed)));
        self.rows.selected = place.unwrap_or(self.rows.selected);
        true
    }

    fn widen(&mut self, cells: i16) -> OverlayOutcome {
        let Some((key, ..)) = self.choice.columns.get(self.rows.selected) else {
            return OverlayOutcome::Stay;
        };
        self.choice.layout.widen(key, cells);
        self.apply()
    }

    /// Moves the selected column.
    fn move_column(&mut self, rows: isize) -> OverlayOutcome {
        let from = self.rows.selected;
        let to = from
            .saturating_add_signed(rows)
            .min(self.choice.columns.len().saturating_sub(1));
        if to == from {
            return OverlayOutcome::Stay;
        }
        self.choice.columns.swap(from, to);
        self.rows.selected = to;
        self.choice.layout.order = self.choice.columns.iter().map(|(key, ..)| *key).collect();
        self.apply()
    }
}

impl Dialog for ColumnsDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        if self.find_key(key.code) {
            return OverlayOutcome::Stay;
        }
        let was_finding = self.find.take().is_some();
        match key.code {
            KeyCode::Esc | KeyCode::Enter if was_finding => {}
            KeyCode::Char('/') => self.find = Some(String::new()),
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'C') => {
                return OverlayOutcome::Close;
            }
            KeyCode::Char('J') => return self.move_column(1),
            KeyCode::Char('K') => return self.move_column(-1),
            KeyCode::Down if shift => return self.move_column(1),
            KeyCode::Up if shift => return self.move_column(-1),
            KeyCode::Char(' ' | 'x') => return self.toggle(),
            KeyCode::Char('+' | '>') | KeyCode::Right => return self.widen(1),
            KeyCode::Char('-' | '<') | KeyCode::Left => return self.widen(-1),
            KeyCode::Char('f') => {
                let upto = self.rows.selected + 1;
                self.choice.layout.frozen = if self.choice.layout.frozen == upto {
                    0
                } else {
                    upto
                };
                return self.apply();
            }
            KeyCode::Char('r') => return OverlayOutcome::Apply(Command::Columns(None)),
            code => _ = self.rows.letter(code, self.choice.columns.len()),
        }
        OverlayOutcome::Stay
    }

    /// Shows or hides the column.
    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.rows.selected = self
            .rows
            .at(x, y)
            .filter(|row| *row < self.choice.columns.len())?;
        Some(self.toggle())
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let height = (self.choice.columns.len() as u16 + 5).min(area.height.saturating_sub(4));
        let title = format!(
            "columns · {} of {}",
            self.rows.selected + 1,
            self.choice.columns.len()
        );
        let inside = floating(buffer, area, (64, height), &title, theme);
        let base = theme.style(Role::Panel);
        let list = Rect {
            height: inside.height.saturating_sub(3),
            ..inside
        };
        let ColumnLayout { frozen, .. } = self.choice.layout;
        for (row, place, style, (key, title, shown)) in
            self.rows.draw(&self.choice.columns, buffer, list, theme)
        {
            put(
                buffer,
                place,
                0,
                0,
                if *shown { "[x]" } else { "[ ]" },
                theme.accent().patch(style),
            );
            let title = text::fit(&title.to_uppercase(), 16, text::Align::Left);
            put(
                buffer,
                place,
                4,
                0,
                &title,
                if *shown { theme.text() } else { theme.dim() }.patch(style),
            );
            put(buffer, place, 21, 0, key, theme.dim().patch(style));
            let wider = self.choice.layout.wider_by(key);
            let width = if wider == 0 {
                String::new()
            } else {
                format!("{wider:+}")
            };
            let state = if self.choice.empty.contains(key) {
                "no data"
            } else if *shown && self.choice.no_room.contains(key) {
                "no room"
            } else if row < frozen {
                "frozen"
            } else {
                ""
            };
            put(
                buffer,
                place,
                place.width.saturating_sub(12),
                0,
                &format!("{width:>4} {state}"),
                theme.accent().patch(style),
            );
        }
        let hints = [
            "Space show or hide   J K move   + - wider, narrower",
            "/ find   f freeze up to here   r reset   Esc done",
        ];
        let finds = self
            .find
            .as_ref()
            .map(|typed| format!("/ {typed}▏  Space show or hide   Esc done"));
        let hints = finds.as_deref().map_or(hints, |finds| [finds, hints[1]]);
        for (nth, hint) in hints.iter().enumerate() {
            put(
                buffer,
                inside,
                0,
                inside.height.saturating_sub(2) + nth as u16,
                hint,
                theme.dim().patch(base),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog() -> ColumnsDialog {
        let columns = vec![("a", "a", true), ("b", "b", true), ("c", "c", false)];
        let layout = ColumnLayout {
            hidden: vec!["c"],
            ..ColumnLayout::default()
        };
        ColumnsDialog::new(
            ColumnChoice {
                columns,
                empty: Vec::new(),
                no_room: vec!["b"],
                layout,
            },
            0,
        )
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
        assert_eq!(
            press(KeyCode::Char(' ')),
            OverlayOutcome::Stay,
            "the last one stays"
        );
        assert_eq!(
            press(KeyCode::Char('r')),
            OverlayOutcome::Apply(Command::Columns(None))
        );
        assert_eq!(press(KeyCode::Esc), OverlayOutcome::Close);
    }

    #[test]
    fn a_column_is_found_by_its_name() {
        let columns = vec![
            ("market_cap", "cap", true),
            ("rsi", "rsi 14", false),
            ("price", "price", true),
        ];
        let mut dialog = ColumnsDialog {
            choice: ColumnChoice {
                columns,
                ..dialog().choice
            },
            ..dialog()
        };
        let mut typed = |keys: &str| {
            for key in keys.chars() {
                let code = if key == '⎋' {
                    KeyCode::Esc
                } else {
                    KeyCode::Char(key)
                };
                dialog.key(&KeyEvent::new(code, KeyModifiers::NONE));
            }
            (dialog.selected(), dialog.choice.columns[1].2)
        };
        // The whole name begins with it, or a part does; what no column has moves nothing.
        for (keys, expected) in [("/R", 1), ("⎋/p", 2), ("⎋/ket", 0), ("⎋/zz", 0), ("⎋j", 1)]
        {
            assert_eq!(typed(keys), (expected, false), "{keys}");
        }
        assert_eq!(
            typed("/price⎋/rs "),
            (1, true),
            "Space shows it and ends the search"
        );
        assert_eq!(typed("j"), (2, true));
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
        assert_eq!(
            (
                dialog.selected(),
                dialog.click(area.x, area.y + 3),
                dialog.click(0, 0)
            ),
            (2, None, None)
        );
    }
}
