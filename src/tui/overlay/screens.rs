//! Screens of a view kept under a name: its filter, order and columns as they are now, to be had again with two keys.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Command, OverlayOutcome, Rows, floating, line};
use crate::tui::theme::{Role, Theme};

/// Characters of a name.
const NAME_MAX: usize = 60;

#[derive(Debug)]
pub struct ScreensDialog {
    /// Each with what it holds, in words.
    screens: Vec<(String, String)>,
    input: Input,
    selected: usize,
    rows: Rows,
}

impl ScreensDialog {
    pub fn new(screens: Vec<(String, String)>) -> Self {
        Self { screens, input: Input::default(), selected: 0, rows: Rows::default() }
    }

    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let named = self.screens.get(self.selected).map(|(name, _)| name.clone());
        let typed = self.input.value().trim().to_owned();
        match key.code {
            KeyCode::Esc | KeyCode::F(2) => return OverlayOutcome::Close,
            KeyCode::Char('c') if control => return OverlayOutcome::Close,
            KeyCode::Enter if !typed.is_empty() => return OverlayOutcome::Run(Command::SaveScreen(typed)),
            KeyCode::Enter => return named.map_or(OverlayOutcome::Close, |name| OverlayOutcome::Run(Command::OpenScreen(name))),
            KeyCode::Delete if typed.is_empty() => {
                return named.map_or(OverlayOutcome::Stay, |name| OverlayOutcome::Apply(Command::DropScreen(name)));
            }
            KeyCode::Down | KeyCode::Tab => self.selected = (self.selected + 1).min(self.screens.len().saturating_sub(1)),
            KeyCode::Up | KeyCode::BackTab => self.selected = self.selected.saturating_sub(1),
            _ => {
                if self.input.value().chars().count() < NAME_MAX || key.code == KeyCode::Backspace {
                    self.input.handle_event(&Event::Key(*key));
                }
            }
        }
        OverlayOutcome::Stay
    }

    /// A click opens the screen; none beside the screens.
    pub fn click(&self, x: u16, y: u16) -> Option<OverlayOutcome> {
        let (name, _) = self.screens.get(self.rows.at(x, y)?)?;
        Some(OverlayOutcome::Run(Command::OpenScreen(name.clone())))
    }

    pub fn paste(&mut self, pasted: &str) {
        let text = self.input.value().chars().chain(pasted.chars().filter(|c| !c.is_control())).take(NAME_MAX);
        self.input = Input::new(text.collect());
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(buffer, area, (76, (self.screens.len() as u16 + 7).min(20)), "screens", theme);
        let base = theme.style(Role::Panel);
        let used = line(buffer, inside, 0, 0, "save this one as  ", theme.dim().patch(base));
        let end = used + line(buffer, inside, 0, used, self.input.value(), theme.text().patch(base));
        line(buffer, inside, 0, end, "▏", theme.accent().patch(base));
        let below = Rect { y: inside.y + 2.min(inside.height), height: inside.height.saturating_sub(4), ..inside };
        self.rows = Rows::around(self.selected, below);
        for (row, place, (name, holds)) in self.rows.of(&self.screens) {
            let style = if row == self.selected { theme.style(Role::Selection) } else { base };
            buffer.set_style(place, style);
            let used = line(buffer, place, 0, 0, name, theme.text().patch(style));
            line(buffer, place, 0, used.max(20) + 2, holds, theme.dim().patch(style));
        }
        if self.screens.is_empty() {
            line(buffer, inside, 2, 0, "none yet: a name and Enter keeps filter, order and columns", theme.dim().patch(base));
        }
        let hint =
            if self.input.value().trim().is_empty() { "Enter opens   Delete removes   a name saves   Esc" } else { "Enter saves   Esc" };
        line(buffer, inside, inside.height.saturating_sub(1), 0, hint, theme.dim().patch(base));
    }
}
