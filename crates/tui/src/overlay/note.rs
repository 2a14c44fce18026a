//! The dialog to write a note about a token.

use super::{alerts::AboutToken, prelude::*};
use model::annotations::{Annotation, NOTE_CHARS_MAX};

#[derive(Debug)]
pub struct NoteDialog {
    about: AboutToken,
    note: TypedLine,
}

impl NoteDialog {
    pub fn new(about: AboutToken, note: &str) -> Self {
        Self {
            about,
            note: TypedLine::new(note, NOTE_CHARS_MAX).kept(),
        }
    }
}

impl Dialog for NoteDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Enter => {
                return OverlayOutcome::Run(Command::Annotation(
                    self.about.token,
                    Annotation::Note(self.note.text().to_owned()),
                ));
            }
            _ => _ = self.note.key(key),
        }
        OverlayOutcome::Stay
    }

    fn paste(&mut self, pasted: &str) {
        self.note.paste(pasted);
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(
            buffer,
            area,
            (76, 13),
            &format!("note on {}", self.about.name),
            theme,
        );
        let base = theme.style(Role::Panel);
        let rows = inside.height.saturating_sub(2);
        for (y, line) in self
            .note
            .wrapped(inside.width.into())
            .iter()
            .rev()
            .take(rows.into())
            .rev()
            .enumerate()
        {
            put(buffer, inside, 0, y as u16, line, theme.text().patch(base));
        }
        let count = format!("{} of {NOTE_CHARS_MAX}", self.note.text().chars().count());
        let hint = format!("⏎ save (empty: remove)   Esc   {count} characters");
        put(
            buffer,
            inside,
            0,
            inside.height.saturating_sub(1),
            &hint,
            theme.dim().patch(base),
        );
    }
}
