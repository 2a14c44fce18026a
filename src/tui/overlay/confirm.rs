//! Asks for confirmation, yes or no, before something that is not done lightly.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Command, OverlayOutcome, floating, line};
use crate::tui::{
    text,
    theme::{Role, Theme},
};

#[derive(Debug)]
pub struct Confirm {
    title: String,
    says: String,
    /// What Enter does, in a few words.
    yes: String,
    command: Command,
}

impl Confirm {
    pub fn new(title: &str, says: String, yes: &str, command: Command) -> Self {
        Self { title: title.to_owned(), says, yes: yes.to_owned(), command }
    }

    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        match key.code {
            KeyCode::Enter | KeyCode::Char('y') => OverlayOutcome::Run(self.command.clone()),
            KeyCode::Esc | KeyCode::Char('n' | 'q' | 'c') => OverlayOutcome::Close,
            _ => OverlayOutcome::Stay,
        }
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let width = 72_u16.min(area.width.saturating_sub(2));
        let lines = text::wrap(&self.says, usize::from(width.saturating_sub(4)).max(1), 12);
        let inside = floating(buffer, area, (width, lines.len() as u16 + 4), &self.title, theme);
        let base = theme.style(Role::Panel);
        for (row, says) in lines.iter().enumerate() {
            line(buffer, inside, row as u16, 0, says, theme.text().patch(base));
        }
        line(buffer, inside, lines.len() as u16 + 1, 0, &format!("Enter {}   Esc no", self.yes), theme.accent().patch(base));
    }
}
