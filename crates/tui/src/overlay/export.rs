//! The export dialog: file name and format of the table on screen, or the name of a page's file. Writes nothing itself.

use super::prelude::*;
use crate::views::words;
use frames::export::writers::ExportFormat;

/// Lines at the bottom of the dialog.
const REASON_LINES: usize = 2;

/// Longest file name in characters.
const NAME_MAX: usize = 1_000;

/// The input with a file name, its cursor before the extension.
fn file_name_line(stem: &str, ending: &str) -> TypedLine {
    TypedLine::new(format!("{stem}{ending}"), NAME_MAX).with_cursor(stem.chars().count())
}

/// The file extension of a format; without one that of a page.
fn extension(format: Option<ExportFormat>) -> String {
    format!(".{}", format.map_or("html", ExportFormat::ending))
}

#[derive(Debug)]
pub struct ExportDialog {
    name: TypedLine,
    /// `None` for a page, which has one form.
    format: Option<ExportFormat>,
    /// `None` while the rows are still being found.
    rows: Option<usize>,
    /// Whether the rows are posts, which belong to their authors.
    has_posts: bool,
    /// The refused file name, and the reason.
    tried: Option<(String, ExportRetry)>,
}

/// The reason for asking again.
#[derive(Debug, PartialEq)]
pub enum ExportRetry {
    /// The file exists: another Enter overwrites it.
    Taken,
    /// The file cannot be written; user-readable.
    Refused(String),
}

impl ExportDialog {
    pub fn new(name: &str, rows: Option<usize>) -> Self {
        Self::of(name, Some(ExportFormat::Csv), rows)
    }

    /// The dialog for a page.
    pub fn page(name: &str) -> Self {
        Self::of(name, None, None)
    }

    fn of(name: &str, format: Option<ExportFormat>, rows: Option<usize>) -> Self {
        Self {
            name: file_name_line(&format!("tokendeck-{name}"), &extension(format)),
            format,
            rows,
            has_posts: name == "posts",
            tried: None,
        }
    }

    /// The dialog again, with the refused name.
    pub fn again(
        file: &str,
        format: Option<ExportFormat>,
        rows: Option<usize>,
        why: ExportRetry,
    ) -> Self {
        let stem = file.strip_suffix(&extension(format)).unwrap_or(file);
        Self {
            name: file_name_line(stem, &file[stem.len()..]),
            format,
            rows,
            has_posts: false,
            tried: Some((file.to_owned(), why)),
        }
    }

    /// The file name; without an export extension, that of the chosen format is added.
    fn file(&self) -> String {
        let name = self.name.text().trim();
        let ends =
            |format: &Option<ExportFormat>| name.to_lowercase().ends_with(&extension(*format));
        if self.formats().iter().any(ends) {
            name.to_owned()
        } else {
            name.trim_end_matches('.').to_owned() + &extension(self.format)
        }
    }

    /// The forms that can be written.
    fn formats(&self) -> Vec<Option<ExportFormat>> {
        if self.format.is_none() {
            vec![None]
        } else {
            ExportFormat::FILES.into_iter().map(Some).collect()
        }
    }

    /// The reason why the current name was refused.
    fn refusal(&self) -> Option<&ExportRetry> {
        self.tried
            .as_ref()
            .filter(|(file, _)| *file == self.file())
            .map(|(_, why)| why)
    }

    /// Selects the next format and changes the file extension.
    fn step_format(&mut self, by: usize) {
        let formats = self.formats();
        let place = formats
            .iter()
            .position(|format| *format == self.format)
            .unwrap_or(0);
        self.format = formats[(place + by) % formats.len()];
        let name = self.name.text();
        let stem = formats
            .into_iter()
            .find_map(|format| name.strip_suffix(&extension(format)))
            .unwrap_or(name);
        let line = file_name_line(stem, &extension(self.format));
        self.name = if self.name.is_selected() {
            line
        } else {
            line.kept()
        };
    }

    /// A typed extension selects the format.
    fn select_format_of_extension(&mut self) {
        let named = self
            .formats()
            .into_iter()
            .find(|format| self.name.text().ends_with(&extension(*format)));
        self.format = named.unwrap_or(self.format);
    }
}

impl Dialog for ExportDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Enter if !self.name.text().trim().is_empty() => {
                let replace = self.refusal() == Some(&ExportRetry::Taken);
                return OverlayOutcome::Run(Command::Export {
                    file: self.file(),
                    format: self.format,
                    replace,
                });
            }
            KeyCode::Tab | KeyCode::Down => self.step_format(1),
            KeyCode::BackTab | KeyCode::Up => self.step_format(ExportFormat::FILES.len() - 1),
            _ => {
                self.name.key(key);
                self.select_format_of_extension();
            }
        }
        OverlayOutcome::Stay
    }

    fn paste(&mut self, pasted: &str) {
        self.name.paste(pasted);
        self.select_format_of_extension();
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let rows = match (self.format, self.rows) {
            (None, _) => "the report".to_owned(),
            (Some(_), rows) => rows.map_or_else(
                || "the rows".to_owned(),
                |rows| plural(rows as u64, "row", "rows"),
            ),
        };
        let inside = floating(buffer, area, (70, 8), &format!("export {rows}"), theme);
        let base = theme.style(Role::Panel);
        let used = put(buffer, inside, 0, 0, "file  ", theme.dim().patch(base));
        self.name.draw(buffer, inside, used, theme);
        let mut x = put(buffer, inside, 0, 2, "as    ", theme.dim().patch(base));
        for format in self.formats() {
            let style = if format == self.format {
                theme.accent()
            } else {
                theme.dim()
            };
            x += put(
                buffer,
                inside,
                x,
                2,
                extension(format).trim_start_matches('.'),
                style.patch(base),
            ) + 3;
        }
        let (says, style) = match self.refusal() {
            Some(ExportRetry::Taken) => {
                ("this file exists; press Enter again to replace it, or type another name · Esc cancel".to_owned(), Role::Warning)
            }
            Some(ExportRetry::Refused(reason)) => (format!("not exported: {reason}"), Role::Warning),
            None if self.format.is_none() => (words::SAVE_OR_CANCEL.to_owned(), Role::Dim),
            None if self.has_posts => {
                let ask = "posts belong to their authors; ask before publishing";
                (format!("{ask} · {}", words::SAVE_OR_CANCEL), Role::Warning)
            }
            None => (format!("{}   Tab next format", words::SAVE_OR_CANCEL), Role::Dim),
        };
        put_wrapped(
            buffer,
            inside,
            0,
            4,
            &says,
            REASON_LINES,
            theme.style(style).patch(base),
        );
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    #[test]
    fn what_is_typed_or_pasted_stands_before_the_ending() {
        let mut dialog = ExportDialog::new("tokens", Some(1));
        assert_eq!(dialog.name.text(), "tokendeck-tokens.csv");
        dialog.key(&KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
        assert_eq!(dialog.name.text(), "tokendeck-tokens.json");
        dialog.key(&KeyEvent::new(KeyCode::BackTab, KeyModifiers::NONE));
        dialog.key(&KeyEvent::new(KeyCode::Char('2'), KeyModifiers::NONE));
        dialog.paste("-b");
        dialog.key(&KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
        dialog.key(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE));
        assert_eq!(
            (dialog.name.text(), dialog.format),
            ("2-bc.json", Some(ExportFormat::Json))
        );
    }

    #[test]
    fn only_the_export_of_posts_names_their_authors() {
        let theme = Theme::default();
        let area = Rect::new(0, 0, 80, 24);
        for (name, names_authors) in [("posts", true), ("tokens", false)] {
            let mut buffer = Buffer::empty(area);
            ExportDialog::new(name, Some(1)).draw(&mut buffer, area, &theme);
            let shown: String = buffer
                .content()
                .iter()
                .map(ratatui::buffer::Cell::symbol)
                .collect();
            assert_eq!(
                shown.contains("belong to their authors"),
                names_authors,
                "{shown}"
            );
            assert!(shown.contains("Enter save"), "{shown}");
        }
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
            let mut dialog = ExportDialog {
                name: file_name_line(typed, ""),
                format: Some(format),
                rows: None,
                has_posts: false,
                tried: None,
            };
            let run = dialog.key(&KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
            assert!(
                matches!(&run, OverlayOutcome::Run(Command::Export { file: named, .. }) if named == file),
                "{typed}: {run:?}"
            );
        }
    }
}
