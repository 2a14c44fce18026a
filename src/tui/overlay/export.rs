//! Asks where the table on screen is to be written and as what. Writes nothing itself.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Command, OverlayOutcome, floating, line};
use crate::{
    dataset::export::form::ExportFormat,
    tui::{
        text,
        theme::{Role, Theme},
        views::many,
        words,
    },
};

/// Lines at the foot of the dialog.
const REASON_LINES: usize = 2;

/// The name of a file with the cursor before its ending, where another name is typed.
fn named(stem: &str, format: ExportFormat) -> Input {
    Input::new(format!("{stem}.{}", format.ending())).with_cursor(stem.chars().count())
}

#[derive(Debug)]
pub struct ExportDialog {
    input: Input,
    format: ExportFormat,
    /// Unknown while they are still being found.
    rows: Option<usize>,
    /// The name that was tried, and what was said of it.
    tried: Option<(String, ExportRetry)>,
}

/// Why the dialog asks once more.
#[derive(Debug, PartialEq)]
pub enum ExportRetry {
    /// A file of that name is there: another Enter on it replaces it.
    Taken,
    /// None can be written, for the person.
    Refused(String),
}

impl ExportDialog {
    pub fn new(name: &str, rows: Option<usize>) -> Self {
        let format = ExportFormat::Csv;
        Self { input: named(&format!("tokendeck-{name}"), format), format, rows, tried: None }
    }

    /// The dialog once more, with the name as it was tried.
    pub fn again(file: &str, format: ExportFormat, rows: Option<usize>, why: ExportRetry) -> Self {
        let stem = file.strip_suffix(&format!(".{}", format.ending())).unwrap_or(file);
        let cursor = stem.chars().count();
        Self { input: Input::new(file.to_owned()).with_cursor(cursor), format, rows, tried: Some((file.to_owned(), why)) }
    }

    /// The file's name; where its ending is none of a table, with that of the chosen format.
    fn file(&self) -> String {
        let name = self.input.value().trim();
        let ends = |format: &ExportFormat| name.to_lowercase().ends_with(&format!(".{}", format.ending()));
        if ExportFormat::FILES.iter().any(ends) {
            name.to_owned()
        } else {
            format!("{}.{}", name.trim_end_matches('.'), self.format.ending())
        }
    }

    /// What was said of the name that stands there.
    fn said(&self) -> Option<&ExportRetry> {
        self.tried.as_ref().filter(|(file, _)| *file == self.file()).map(|(_, why)| why)
    }

    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Char('c') if control => return OverlayOutcome::Close,
            KeyCode::Enter if !self.input.value().trim().is_empty() => {
                let replace = self.said() == Some(&ExportRetry::Taken);
                return OverlayOutcome::Run(Command::Export { file: self.file(), format: self.format, replace });
            }
            KeyCode::Tab | KeyCode::Down => self.turn(1),
            KeyCode::BackTab | KeyCode::Up => self.turn(ExportFormat::FILES.len() - 1),
            _ => {
                self.input.handle_event(&Event::Key(*key));
                self.follow_ending();
            }
        }
        OverlayOutcome::Stay
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
        let place = ExportFormat::FILES.iter().position(|format| *format == self.format).unwrap_or(0);
        self.format = ExportFormat::FILES[(place + by) % ExportFormat::FILES.len()];
        let value = self.input.value();
        let stem = ExportFormat::FILES.iter().find_map(|format| value.strip_suffix(&format!(".{}", format.ending()))).unwrap_or(value);
        self.input = named(stem, self.format);
    }

    /// An ending that is typed chooses the format.
    fn follow_ending(&mut self) {
        let value = self.input.value();
        if let Some(format) = ExportFormat::FILES.into_iter().find(|format| value.ends_with(&format!(".{}", format.ending()))) {
            self.format = format;
        }
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let rows = self.rows.map_or_else(|| "the rows".to_owned(), |rows| many(rows as u64, "row", "rows"));
        let inside = floating(buffer, area, (70, 8), &format!("export {rows}"), theme);
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
        for format in ExportFormat::FILES {
            let style = if format == self.format { theme.accent() } else { theme.dim() };
            x += line(buffer, inside, 2, x, format.ending(), style.patch(base)) + 3;
        }
        let (says, style) = match self.said() {
            Some(ExportRetry::Taken) => {
                ("this file exists: Enter again replaces it, or type another name · Esc cancel".to_owned(), Role::Warning)
            }
            Some(ExportRetry::Refused(reason)) => (format!("not exported: {reason}"), Role::Warning),
            None => (format!("{}   Tab other format", words::SAVE_OR_CANCEL), Role::Dim),
        };
        for (nth, said) in text::wrap(&says, usize::from(inside.width), REASON_LINES).iter().enumerate() {
            line(buffer, inside, 4 + nth as u16, 0, said, theme.style(style).patch(base));
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
        assert_eq!((dialog.input.value(), dialog.format), ("tokendeck-tokens2-bc.json", ExportFormat::Json));
    }

    #[test]
    fn a_plain_name_gets_the_ending_of_the_chosen_format() {
        for (typed, format, file) in [
            ("young", ExportFormat::Csv, "young.csv"),
            ("young", ExportFormat::Parquet, "young.parquet"),
            ("young.", ExportFormat::Csv, "young.csv"),
            ("young.2026", ExportFormat::Json, "young.2026.json"),
            ("young.JSON", ExportFormat::Csv, "young.JSON"),
        ] {
            let mut dialog = ExportDialog { input: Input::new(typed.to_owned()), format, rows: None, tried: None };
            let run = dialog.key(&KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
            assert!(matches!(&run, OverlayOutcome::Run(Command::Export { file: named, .. }) if named == file), "{typed}: {run:?}");
        }
    }
}
