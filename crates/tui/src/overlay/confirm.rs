//! A confirmation dialog for actions that are hard to undo.

use super::prelude::*;

#[derive(Debug)]
pub struct Confirm {
    title: String,
    says: String,
    /// The label of Enter.
    yes: String,
    command: Command,
}

impl Confirm {
    pub fn new(title: &str, says: String, yes: &str, command: Command) -> Self {
        Self {
            title: title.to_owned(),
            says,
            yes: yes.to_owned(),
            command,
        }
    }
}

impl Dialog for Confirm {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        match key.code {
            KeyCode::Enter | KeyCode::Char('y') => OverlayOutcome::Run(self.command.clone()),
            KeyCode::Esc | KeyCode::Char('n' | 'q' | 'c') => OverlayOutcome::Close,
            _ => OverlayOutcome::Stay,
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let width = 72_u16.min(area.width.saturating_sub(2));
        let lines = text::wrap(&self.says, usize::from(width.saturating_sub(4)).max(1), 12);
        let inside = floating(
            buffer,
            area,
            (width, lines.len() as u16 + 4),
            &self.title,
            theme,
        );
        let base = theme.style(Role::Panel);
        for (row, says) in lines.iter().enumerate() {
            put(
                buffer,
                inside,
                0,
                row as u16,
                says,
                theme.text().patch(base),
            );
        }
        put(
            buffer,
            inside,
            0,
            lines.len() as u16 + 1,
            &format!("Enter {}   Esc cancel", self.yes),
            theme.accent().patch(base),
        );
    }
}
