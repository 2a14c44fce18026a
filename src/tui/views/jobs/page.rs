//! A job's report as lines of the terminal: the sections of the document, set in so many cells.

use crate::{
    document::{Block, Document, DocumentTable, Level, Piece, Section, Tone},
    tui::{text, theme::Role},
};

/// Of a label, with the gap after it.
const LABEL: usize = 15;
/// Lines that a sentence may take.
const SENTENCE: usize = 6;
/// Between two columns.
const GAP: usize = 2;
/// The widest that a column before the last may be, and the narrowest that the last is wrapped in.
const CELL: usize = 44;
const LAST: usize = 16;

/// A line of the page, in pieces of a role each.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PageLine {
    pub(super) indent: u16,
    pub(super) pieces: Vec<(String, Role)>,
    /// Begins a token or a part of it: one jumps from one to the next.
    pub(super) heading: bool,
}

/// The lines of a report in so many cells.
pub(super) fn lines(document: &Document, cells: u16) -> Vec<PageLine> {
    let mut page = Page { lines: Vec::new(), cells: usize::from(cells.max(40)) };
    for section in &document.sections {
        page.section(section);
    }
    page.lines
}

impl From<Tone> for Role {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Plain => Self::Text,
            Tone::Quiet => Self::Dim,
            Tone::Good => Self::Up,
            Tone::Bad => Self::Down,
            Tone::Warning => Self::Warning,
        }
    }
}

struct Page {
    lines: Vec<PageLine>,
    cells: usize,
}

impl Page {
    fn line(&mut self, indent: u16, pieces: Vec<(String, Role)>) {
        self.lines.push(PageLine { indent, pieces, heading: false });
    }

    fn section(&mut self, section: &Section) {
        if !self.lines.is_empty() {
            self.lines.push(PageLine::default());
        }
        let title = text::truncate(&section.title, if section.level == Level::Token { 24 } else { CELL }).into_owned();
        let pieces = vec![(title, Role::Accent), (format!("  {}", section.note), Role::Dim)];
        self.lines.push(PageLine { indent: 0, pieces, heading: true });
        for block in &section.blocks {
            match block {
                Block::Say(piece) => self.say(piece),
                Block::Labelled(label, piece) => self.labelled(label, piece),
                Block::Table(table) => self.table(table),
                // The chart has a view of its own.
                Block::Chart(_) => {}
            }
        }
    }

    fn say(&mut self, piece: &Piece) {
        for line in text::wrap(&piece.text, self.cells.saturating_sub(4), SENTENCE) {
            self.line(1, vec![(line, piece.tone.into())]);
        }
    }

    /// `label   what is said of it`, wrapped under itself.
    fn labelled(&mut self, label: &str, piece: &Piece) {
        let room = self.cells.saturating_sub(LABEL + 4);
        for (i, line) in text::wrap(&piece.text, room, SENTENCE).into_iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            self.line(1, vec![(text::fit(label, LABEL, text::Align::Left), Role::Dim), (line, piece.tone.into())]);
        }
    }

    /// Columns as wide as what stands in them; the last takes what is left and is wrapped under itself.
    fn table(&mut self, table: &DocumentTable) {
        let indent = if table.caption.is_empty() { 1 } else { 2 };
        if indent == 2 {
            self.line(1, vec![(table.caption.to_owned(), Role::Dim)]);
        }
        let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|piece| text::width(&piece.text));
            cells.chain(table.header.get(column).map(|name| text::width(name))).max().unwrap_or(0).min(CELL)
        };
        let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
        let used = widths.iter().map(|width| width + GAP).sum::<usize>() + usize::from(indent) * 2 + 1;
        let room = self.cells.saturating_sub(used).max(LAST);
        if !table.header.is_empty() {
            let header: Vec<Piece> = table.header.iter().map(|name| Piece::quiet(*name)).collect();
            self.row(indent, &header, &widths, room);
        }
        for row in &table.rows {
            self.row(indent, row, &widths, room);
        }
    }

    fn row(&mut self, indent: u16, row: &[Piece], widths: &[usize], room: usize) {
        let Some((last, before)) = row.split_last() else { return };
        let cell = |(piece, width): (&Piece, &usize)| (text::fit(&piece.text, width + GAP, text::Align::Left), piece.tone.into());
        let mut pieces: Vec<(String, Role)> = before.iter().zip(widths).map(cell).collect();
        let mut rest = text::wrap(&last.text, room, 3).into_iter();
        pieces.push((rest.next().unwrap_or_default(), last.tone.into()));
        self.line(indent, pieces);
        let under = widths.iter().map(|width| width + GAP).sum();
        for line in rest {
            self.line(indent, vec![(" ".repeat(under), Role::Dim), (line, last.tone.into())]);
        }
    }
}
