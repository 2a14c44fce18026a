//! Overlays (dialogs): at most one at a time, with precedence for keys. Each returns an `OverlayOutcome`.

pub mod alerts;
pub mod columns;
pub mod export;
pub mod found;
pub mod help;
pub mod import;
pub mod indicators;
pub mod levels;
pub mod palette;
mod prelude;
mod rehearsal;
pub mod screens;
pub mod welcome;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    widgets::{Block, Clear, Widget},
};

use self::{
    alerts::AlertsDialog, columns::ColumnsDialog, export::ExportDialog, found::FoundDialog,
    help::Help, import::ImportDialog, indicators::IndicatorsDialog, levels::LevelsDialog,
    palette::CommandPalette, screens::ScreensDialog, welcome::Welcome,
};
use crate::{
    views::{keymap::Action, list::ColumnLayout},
    widgets::theme::{Role, Theme},
};
use alerts::AboutToken;
use analysis::indicators::Indicator;
use frames::export::writers::ExportFormat;
use model::{
    address::Address,
    annotations::{Annotation, NOTE_CHARS_MAX},
};
use prelude::*;
use query::queries::alert_body::AlertBody;

#[derive(Debug)]
pub enum Overlay {
    Palette(CommandPalette),
    Help(Help),
    Export(ExportDialog),
    Import(ImportDialog),
    Confirm(Confirm),
    Found(FoundDialog),
    Columns(ColumnsDialog),
    Screens(ScreensDialog),
    Indicators(IndicatorsDialog),
    Alerts(AlertsDialog),
    Levels(LevelsDialog),
    Note(NoteDialog),
    Welcome(Welcome),
}

/// The outcome of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum OverlayOutcome {
    /// Stays open.
    Stay,
    /// Closes.
    Close,
    /// Closes and runs the command.
    Run(Command),
    /// Stays open and runs the command.
    Apply(Command),
}

/// The commands of overlays.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Act(Action),
    Select(Address),
    Theme(String),
    OpenFolder(String),
    /// Preview the import of a path with options.
    Import(String),
    /// Run the import.
    ImportNow(String),
    /// Open the palette with this text, to be completed by the user.
    Type(String),
    ToggleApi,
    Export {
        file: String,
        format: Option<ExportFormat>,
        /// Overwrite an existing file.
        replace: bool,
    },
    WriteDemo,
    /// Open the dataset of live tables, and prompt for the first token.
    BeginLive,
    /// The columns of the list on screen; `None` for the defaults.
    Columns(Option<Box<ColumnLayout>>),
    /// The indicators of the chart.
    Indicators(Vec<Indicator>),
    AddAlert(AlertBody),
    /// Find when the alert would have fired; `None` stops that.
    RehearseAlert(Option<AlertBody>),
    RemoveAlert(String),
    /// Sets down a level or note.
    Annotation(Address, Annotation),
    /// Opens the alerts with a condition on the token's price.
    AlertAt(f64),
    SaveScreen(String),
    OpenScreen(String),
    DropScreen(String),
    /// Consent to the dataset's remote origins.
    Agree(Vec<String>),
    /// Look for a token: an address, a symbol, a name, `coin:BTC`.
    AddToken(String),
    /// The same, with consent to these origins.
    FindToken {
        words: String,
        agree: Vec<String>,
    },
    /// Compare tokens, perhaps with a benchmark and over a period: `uni,aave vs weth 90d`.
    Compare(String),
    /// Show everything as of a day or time.
    AsOf(String),
    /// Add the token of that row of those found.
    AddFound(usize),
}

impl Overlay {
    fn dialog(&mut self) -> &mut dyn Dialog {
        match self {
            Self::Palette(palette) => palette,
            Self::Help(help) => help,
            Self::Export(dialog) => dialog,
            Self::Import(dialog) => dialog,
            Self::Confirm(confirm) => confirm,
            Self::Found(dialog) => dialog,
            Self::Columns(dialog) => dialog,
            Self::Screens(dialog) => dialog,
            Self::Indicators(dialog) => dialog,
            Self::Alerts(dialog) => dialog,
            Self::Levels(dialog) => dialog,
            Self::Note(dialog) => dialog,
            Self::Welcome(dialog) => dialog,
        }
    }

    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let ctrl_c =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if ctrl_c {
            OverlayOutcome::Close
        } else {
            self.dialog().key(key)
        }
    }

    pub fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.dialog().click(x, y)
    }

    pub fn paste(&mut self, text: &str) {
        self.dialog().paste(text);
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        self.dialog().draw(buffer, area, theme);
    }
}

/// The interface of every overlay; Ctrl-C closes each of them.
pub(super) trait Dialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome;

    /// A click; `None` where it hits nothing.
    fn click(&mut self, _x: u16, _y: u16) -> Option<OverlayOutcome> {
        None
    }

    fn paste(&mut self, _: &str) {}

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme);
}

/// The row list of an overlay: selection, drawn area and scroll offset.
#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    selected: usize,
    area: Rect,
    first: usize,
}

impl Rows {
    /// Moves the selection by arrow and page keys within `count` rows; false for any other key.
    fn arrow(&mut self, code: KeyCode, count: usize) -> bool {
        let to = match code {
            KeyCode::Down => self.selected + 1,
            KeyCode::Up => self.selected.saturating_sub(1),
            KeyCode::PageDown => self.selected + 10,
            KeyCode::PageUp => self.selected.saturating_sub(10),
            _ => return false,
        };
        self.selected = to.min(count.saturating_sub(1));
        true
    }

    /// As `arrow`, also by j, k, g, G, Home and End, where no text is typed.
    fn letter(&mut self, code: KeyCode, count: usize) -> bool {
        match code {
            KeyCode::Char('j') => self.arrow(KeyCode::Down, count),
            KeyCode::Char('k') => self.arrow(KeyCode::Up, count),
            KeyCode::Home | KeyCode::Char('g') => {
                self.selected = 0;
                true
            }
            KeyCode::End | KeyCode::Char('G') => {
                self.selected = count.saturating_sub(1);
                true
            }
            code => self.arrow(code, count),
        }
    }

    /// The row at a screen position.
    fn at(&self, x: u16, y: u16) -> Option<usize> {
        self.area
            .contains((x, y).into())
            .then(|| self.first + usize::from(y - self.area.y))
    }

    /// The items that fit, including the selected one, each with its line and background style; the background is painted.
    fn draw<'a, T>(
        &mut self,
        items: &'a [T],
        buffer: &mut Buffer,
        area: Rect,
        theme: &Theme,
    ) -> Vec<(usize, Rect, Style, &'a T)> {
        let height = usize::from(area.height);
        (self.area, self.first) = (area, self.selected.saturating_sub(height.saturating_sub(1)));
        let shown = items.iter().enumerate().skip(self.first).take(height);
        let row = |(row, item): (usize, &'a T)| {
            let ground = theme.style(if row == self.selected {
                Role::Selection
            } else {
                Role::Panel
            });
            (
                row,
                Rect {
                    y: area.y + (row - self.first) as u16,
                    height: 1,
                    ..area
                },
                ground,
                item,
            )
        };
        let shown: Vec<_> = shown.map(row).collect();
        for (_, place, ground, _) in &shown {
            buffer.set_style(*place, *ground);
        }
        shown
    }
}

/// Clears a centerd box of at most `width` × `height` with border and title; returns its inner area.
fn floating(
    buffer: &mut Buffer,
    area: Rect,
    (width, height): (u16, u16),
    title: &str,
    theme: &Theme,
) -> Rect {
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height.saturating_sub(2));
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 4,
        width,
        height,
    };
    Clear.render(place, buffer);
    let block = Block::bordered()
        .title(format!(" {title} "))
        .style(theme.text().patch(theme.style(Role::Panel)))
        .border_style(theme.style(Role::Grid).patch(theme.style(Role::Panel)))
        .title_style(theme.style(Role::Accent));
    let inner = block.inner(place);
    block.render(place, buffer);
    Rect {
        x: inner.x + 1.min(inner.width),
        width: inner.width.saturating_sub(2),
        ..inner
    }
}

// A confirmation dialog for actions that are hard to undo.

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

// The dialog to write a note about a token.

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
