//! What floats over the views: at most one at a time, and it takes the keys first. Each says what it wants done as an `OverlayOutcome`.

pub mod alerts;
pub mod columns;
pub mod confirm;
pub mod export;
pub mod help;
pub mod import;
pub mod indicators;
pub mod palette;
pub mod screens;

use crossterm::event::KeyEvent;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{Block, Clear, Widget},
};

use self::{
    alerts::AlertsDialog, columns::ColumnsDialog, confirm::Confirm, export::ExportDialog, help::Help, import::ImportDialog,
    indicators::IndicatorsDialog, palette::CommandPalette, screens::ScreensDialog,
};
use super::{
    keymap::Action,
    list::ColumnLayout,
    theme::{Role, Theme},
};
use crate::{
    analysis::indicators::Indicator,
    dataset::{address::Address, export::form::ExportFormat},
    jobs::AlertBody,
};

#[derive(Debug)]
pub enum Overlay {
    Palette(CommandPalette),
    Help(Help),
    Export(ExportDialog),
    Import(ImportDialog),
    Confirm(Confirm),
    Columns(ColumnsDialog),
    Screens(ScreensDialog),
    Indicators(IndicatorsDialog),
    Alerts(AlertsDialog),
}

/// What came of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum OverlayOutcome {
    /// It stays open.
    Stay,
    /// It closes, nothing else.
    Close,
    /// Closes, then runs the command.
    Run(Command),
    /// It stays open and this is done.
    Apply(Command),
}

/// What an overlay can ask the program to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Act(Action),
    Select(Address),
    Theme(String),
    OpenFolder(String),
    /// Look at what importing would do: a path, and what is said of it.
    Import(String),
    /// Do it.
    ImportNow(String),
    /// Open the palette with this typed already, for the person to go on.
    Type(String),
    ToggleApi,
    Export {
        file: String,
        format: ExportFormat,
        /// A file of that name may be replaced.
        replace: bool,
    },
    WriteDemo,
    /// The columns of the list on screen; none as they were at first.
    Columns(Option<Box<ColumnLayout>>),
    /// The indicators of the chart.
    Indicators(Vec<Indicator>),
    AddAlert(AlertBody),
    RemoveAlert(String),
    SaveScreen(String),
    OpenScreen(String),
    DropScreen(String),
    /// The person agrees that the dataset asks these places.
    Agree(Vec<String>),
}

impl Overlay {
    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        match self {
            Self::Palette(palette) => palette.key(key),
            Self::Help(help) => help.key(key),
            Self::Export(dialog) => dialog.key(key),
            Self::Import(dialog) => dialog.key(key),
            Self::Confirm(confirm) => confirm.key(key),
            Self::Columns(dialog) => dialog.key(key),
            Self::Screens(dialog) => dialog.key(key),
            Self::Indicators(dialog) => dialog.key(key),
            Self::Alerts(dialog) => dialog.key(key),
        }
    }

    /// A click; none where it lies beside everything that can be clicked.
    pub fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        match self {
            Self::Palette(palette) => palette.click(x, y),
            Self::Help(help) => help.click(x, y),
            Self::Columns(dialog) => dialog.click(x, y),
            Self::Screens(dialog) => dialog.click(x, y),
            Self::Indicators(dialog) => dialog.click(x, y),
            Self::Export(_) | Self::Import(_) | Self::Confirm(_) | Self::Alerts(_) => None,
        }
    }

    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Palette(palette) => palette.paste(text),
            Self::Export(dialog) => dialog.paste(text),
            Self::Screens(dialog) => dialog.paste(text),
            Self::Alerts(dialog) => dialog.paste(text),
            Self::Help(_) | Self::Import(_) | Self::Confirm(_) | Self::Columns(_) | Self::Indicators(_) => {}
        }
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        match self {
            Self::Palette(palette) => palette.draw(buffer, area, theme),
            Self::Help(help) => help.draw(buffer, area, theme),
            Self::Export(dialog) => dialog.draw(buffer, area, theme),
            Self::Import(dialog) => dialog.draw(buffer, area, theme),
            Self::Confirm(confirm) => confirm.draw(buffer, area, theme),
            Self::Columns(dialog) => dialog.draw(buffer, area, theme),
            Self::Screens(dialog) => dialog.draw(buffer, area, theme),
            Self::Indicators(dialog) => dialog.draw(buffer, area, theme),
            Self::Alerts(dialog) => dialog.draw(buffer, area, theme),
        }
    }
}

/// The rows of an overlay's list as they were drawn: where they stand, and the first of them.
#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    area: Rect,
    first: usize,
}

impl Rows {
    /// The rows on screen: as many as fit, the selected one among them.
    fn around(selected: usize, area: Rect) -> Self {
        Self { area, first: selected.saturating_sub(usize::from(area.height).saturating_sub(1)) }
    }

    /// The row at a place of the screen.
    fn at(&self, x: u16, y: u16) -> Option<usize> {
        self.area.contains((x, y).into()).then(|| self.first + usize::from(y - self.area.y))
    }

    /// The items on screen, each with its line.
    fn of<T>(self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = (usize, Rect, T)> {
        let shown = items.into_iter().enumerate().skip(self.first).take(usize::from(self.area.height));
        shown.map(move |(row, item)| (row, Rect { y: self.area.y + (row - self.first) as u16, height: 1, ..self.area }, item))
    }
}

/// Clears a centred box of at most `width` × `height` with a border and a title; what is inside it.
fn floating(buffer: &mut Buffer, area: Rect, (width, height): (u16, u16), title: &str, theme: &Theme) -> Rect {
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height.saturating_sub(2));
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 4, width, height };
    Clear.render(place, buffer);
    let block = Block::bordered()
        .title(format!(" {title} "))
        .style(theme.text().patch(theme.style(Role::Panel)))
        .border_style(theme.style(Role::Grid).patch(theme.style(Role::Panel)))
        .title_style(theme.style(Role::Accent));
    let inner = block.inner(place);
    block.render(place, buffer);
    Rect { x: inner.x + 1.min(inner.width), width: inner.width.saturating_sub(2), ..inner }
}

/// Writes text into one line of a box; returns the cells used.
fn line(buffer: &mut Buffer, area: Rect, row: u16, x: u16, text: &str, style: ratatui::style::Style) -> u16 {
    if row >= area.height || x >= area.width {
        return 0;
    }
    let shown = super::text::truncate(text, usize::from(area.width - x));
    let (end, _) = buffer.set_stringn(area.x + x, area.y + row, &*shown, usize::from(area.width - x), style);
    end - area.x - x
}
