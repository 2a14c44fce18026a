//! Lays out a job's report as terminal lines: the sections of the document, wrapped to a width.

use crate::views::prelude::*;
use query::document::{Block, Document, DocumentTable, Level, Section, StyledText};

/// Width of a label with its gap.
const LABEL: usize = 15;
/// Maximum number of lines of a sentence.
const SENTENCE: usize = 6;
/// Gap between two columns.
const GAP: usize = 2;
/// The widest a column before the last may be, and the narrowest the last is wrapped to.
const CELL: usize = 44;
const LAST: usize = 16;

/// A line of the page: its spans with their roles.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PageLine {
    pub(super) indent: u16,
    pub(super) spans: Vec<(String, Role)>,
    /// Starts a token or a part of it: a target of jumps.
    pub(super) heading: bool,
}

/// Lays out a report in `cells` columns.
pub(super) fn lines(document: &Document, cells: u16) -> Vec<PageLine> {
    let mut page = Page {
        lines: Vec::new(),
        cells: usize::from(cells.max(40)),
    };
    for section in &document.sections {
        page.section(section);
    }
    page.lines
}

struct Page {
    lines: Vec<PageLine>,
    cells: usize,
}

impl Page {
    fn line(&mut self, indent: u16, spans: Vec<(String, Role)>) {
        self.lines.push(PageLine {
            indent,
            spans,
            heading: false,
        });
    }

    fn section(&mut self, section: &Section) {
        if !self.lines.is_empty() {
            self.lines.push(PageLine::default());
        }
        let title = text::truncate(
            &section.title,
            if section.level == Level::Token {
                24
            } else {
                CELL
            },
        )
        .into_owned();
        let spans = vec![
            (title, Role::Accent),
            (format!("  {}", section.note), Role::Dim),
        ];
        self.lines.push(PageLine {
            indent: 0,
            spans,
            heading: true,
        });
        for block in &section.blocks {
            match block {
                Block::Sentence(styled) => self.say(styled),
                Block::Labelled(label, styled) => self.labelled(label, styled),
                Block::Table(table) => self.table(table),
                // The Chart view shows charts.
                Block::Chart(_) => {}
            }
        }
    }

    fn say(&mut self, styled: &StyledText) {
        for line in text::wrap(&styled.text, self.cells.saturating_sub(4), SENTENCE) {
            self.line(1, vec![(line, role_of_tone(styled.tone))]);
        }
    }

    /// `label   text`, the text wrapped in its column.
    fn labelled(&mut self, label: &str, styled: &StyledText) {
        let room = self.cells.saturating_sub(LABEL + 4);
        for (i, line) in text::wrap(&styled.text, room, SENTENCE)
            .into_iter()
            .enumerate()
        {
            let label = if i == 0 { label } else { "" };
            self.line(
                1,
                vec![
                    (text::fit(label, LABEL, text::Align::Left), Role::Dim),
                    (line, role_of_tone(styled.tone)),
                ],
            );
        }
    }

    /// Columns fit their content; the last takes the rest and is wrapped in its column.
    fn table(&mut self, table: &DocumentTable) {
        let indent = if table.caption.is_empty() { 1 } else { 2 };
        if indent == 2 {
            self.line(1, vec![(table.caption.to_owned(), Role::Dim)]);
        }
        let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = table
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|styled| text::width(&styled.text));
            cells
                .chain(table.header.get(column).map(|name| text::width(name)))
                .max()
                .unwrap_or(0)
                .min(CELL)
        };
        let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
        let used =
            widths.iter().map(|width| width + GAP).sum::<usize>() + usize::from(indent) * 2 + 1;
        let room = self.cells.saturating_sub(used).max(LAST);
        if !table.header.is_empty() {
            let header: Vec<StyledText> = table
                .header
                .iter()
                .map(|name| StyledText::quiet(*name))
                .collect();
            self.row(indent, &header, &widths, room);
        }
        for row in &table.rows {
            self.row(indent, row, &widths, room);
        }
    }

    fn row(&mut self, indent: u16, row: &[StyledText], widths: &[usize], room: usize) {
        let Some((last, before)) = row.split_last() else {
            return;
        };
        let cell = |(styled, width): (&StyledText, &usize)| {
            (
                text::fit(&styled.text, width + GAP, text::Align::Left),
                role_of_tone(styled.tone),
            )
        };
        let mut spans: Vec<(String, Role)> = before.iter().zip(widths).map(cell).collect();
        let mut rest = text::wrap(&last.text, room, 3).into_iter();
        spans.push((rest.next().unwrap_or_default(), role_of_tone(last.tone)));
        self.line(indent, spans);
        let under = widths.iter().map(|width| width + GAP).sum();
        for line in rest {
            self.line(
                indent,
                vec![
                    (" ".repeat(under), Role::Dim),
                    (line, role_of_tone(last.tone)),
                ],
            );
        }
    }
}
