//! Asks where the table on screen is to be written and as what. Writes nothing itself.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Command, Outcome, floating, line};
use crate::{
    dataset::export::form::Form,
    tui::{
        theme::{Role, Theme},
        views::many,
        words,
    },
};

/// The name of a file with the cursor before its ending, where another name is typed.
fn named(stem: &str, format: Form) -> Input {
    Input::new(format!("{stem}.{}", format.ending())).with_cursor(stem.chars().count())
}

#[derive(Debug)]
pub struct ExportDialog {
    input: Input,
    format: Form,
    /// Unknown while they are still being found.
    rows: Option<usize>,
    /// The name that is taken, as was said: another Enter on it replaces that file.
    taken: Option<String>,
}

impl ExportDialog {
    pub fn new(name: &str, rows: Option<usize>) -> Self {
        let format = Form::Csv;
        Self { input: named(&format!("tokendeck-{name}"), format), format, rows, taken: None }
    }

    /// The dialog once more, as a file of that name is there already.
    pub fn taken(file: &str, format: Form, rows: Option<usize>) -> Self {
        let stem = file.strip_suffix(&format!(".{}", format.ending())).unwrap_or(file);
        let cursor = stem.chars().count();
        Self { input: Input::new(file.to_owned()).with_cursor(cursor), format, rows, taken: Some(file.to_owned()) }
    }

    pub fn key(&mut self, key: &KeyEvent) -> Outcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Outcome::Close,
            KeyCode::Char('c') if control => return Outcome::Close,
            KeyCode::Enter if !self.input.value().trim().is_empty() => {
                let file = self.input.value().trim().to_owned();
                let replace = self.taken.as_ref() == Some(&file);
                return Outcome::Run(Command::Export { file, format: self.format, replace });
            }
            KeyCode::Tab | KeyCode::Down => self.turn(1),
            KeyCode::BackTab | KeyCode::Up => self.turn(Form::FILES.len() - 1),
            _ => {
                self.input.handle_event(&Event::Key(*key));
                self.follow_ending();
            }
        }
        Outcome::Stay
    }

    pub fn paste(&mut self, pasted: &str) {
        let (value, at) = (self.input.value(), self.input.cursor());
        let room = 1_000_usize.saturating_sub(value.chars().count());
        let pasted: Vec<char> = pasted.chars().filter(|c| !c.is_control()).take(room).collect();
        let text: String = value.chars().take(at).chain(pasted.iter().copied()).chain(value.chars().skip(at)).collect();
        self.input = Input::new(text).with_cursor(at + pasted.len());
        self.follow_ending();
    }

    /// The next format, and the file's ending with it.
    fn turn(&mut self, by: usize) {
        let place = Form::FILES.iter().position(|format| *format == self.format).unwrap_or(0);
        self.format = Form::FILES[(place + by) % Form::FILES.len()];
        let value = self.input.value();
        let stem = Form::FILES.iter().find_map(|format| value.strip_suffix(&format!(".{}", format.ending()))).unwrap_or(value);
        self.input = named(stem, self.format);
    }

    /// An ending that is typed chooses the format.
    fn follow_ending(&mut self) {
        let value = self.input.value();
        if let Some(format) = Form::FILES.into_iter().find(|format| value.ends_with(&format!(".{}", format.ending()))) {
            self.format = format;
        }
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let rows = self.rows.map_or_else(|| "the rows".to_owned(), |rows| many(rows as u64, "row", "rows"));
        let inside = floating(buffer, area, (70, 7), &format!("export {rows}"), theme);
        let base = theme.style(Role::Panel);
        let used = line(buffer, inside, 0, 0, "file  ", theme.dim().patch(base));
        let scroll = self.input.visual_scroll(usize::from(inside.width.saturating_sub(used + 1)).max(1));
        let shown = self.input.value().chars().skip(scroll);
        let before: String = shown.clone().take(self.input.cursor().saturating_sub(scroll)).collect();
        let after: String = shown.skip(before.chars().count()).collect();
        let mut end = used + line(buffer, inside, 0, used, &before, theme.text().patch(base));
        end += line(buffer, inside, 0, end, "▏", theme.accent().patch(base));
        line(buffer, inside, 0, end, &after, theme.text().patch(base));
        let mut x = line(buffer, inside, 2, 0, "as    ", theme.dim().patch(base));
        for format in Form::FILES {
            let style = if format == self.format { theme.accent() } else { theme.dim() };
            x += line(buffer, inside, 2, x, format.ending(), style.patch(base)) + 3;
        }
        if self.taken.as_deref() == Some(self.input.value().trim()) {
            let warning = theme.style(Role::Warning).patch(base);
            line(buffer, inside, 4, 0, "this file exists: Enter again replaces it, or type another name · Esc cancel", warning);
        } else {
            line(buffer, inside, 4, 0, &format!("{}   Tab other format", words::SAVE_OR_CANCEL), theme.dim().patch(base));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_or_pasted_stands_before_the_ending() {
        let mut dialog = ExportDialog::new("tokens", Some(1));
        assert_eq!(dialog.input.value(), "tokendeck-tokens.csv");
        dialog.key(&KeyEvent::new(KeyCode::Char('2'), KeyModifiers::NONE));
        dialog.paste("-b");
        dialog.key(&KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
        dialog.key(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE));
        assert_eq!((dialog.input.value(), dialog.format), ("tokendeck-tokens2-bc.json", Form::Json));
    }
}
