//! What an import would do, before it is done: what each file was taken for, what serves each column and why, the first rows, what would
//! be set aside. Reads and writes no file itself.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Command, Outcome, floating, line};
use crate::{
    dataset::import::{FileReport, Preview as Table, Report, Taken},
    tui::{
        format, text,
        theme::{Role, Theme},
        views::many,
    },
};

/// Lines that one text takes at most.
const LINES_MAX: usize = 60;
/// Findings of one reason that are shown.
const SHOWN_PER_REASON: usize = 3;

#[derive(Debug)]
pub struct ImportDialog {
    /// What was typed behind `import`.
    said: String,
    /// None while the files are still being looked at.
    preview: Option<Preview>,
    /// The first line on screen.
    top: usize,
    /// How many lines fit, and how many there are at this width.
    room: usize,
    height: usize,
}

#[derive(Debug)]
struct Preview {
    lines: Vec<Line>,
    /// Something would be written.
    takes: bool,
}

/// A line, and how it stands out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line(Role, String);

impl ImportDialog {
    pub fn new(said: &str) -> Self {
        Self { said: said.to_owned(), preview: None, top: 0, room: 1, height: 0 }
    }

    /// The files were looked at.
    pub fn show(&mut self, outcome: Result<&Report, &str>) {
        let preview = match outcome {
            Ok(report) => {
                let takes = report.files.iter().any(|file| file.refused.is_none());
                Preview { lines: lines(report), takes }
            }
            Err(reason) => Preview { lines: vec![Line(Role::Warning, reason.to_owned())], takes: false },
        };
        self.preview = Some(preview);
    }

    pub fn key(&mut self, key: &KeyEvent) -> Outcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.height.saturating_sub(self.room);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return Outcome::Close,
            KeyCode::Char('c') if control => return Outcome::Close,
            KeyCode::Enter if self.preview.as_ref().is_some_and(|preview| preview.takes) => {
                return Outcome::Run(Command::ImportNow(self.said.clone()));
            }
            // What is asked for is written behind what was said.
            KeyCode::Enter if self.preview.is_some() => return Outcome::Run(Command::ImportAgain(self.said.clone())),
            KeyCode::Down | KeyCode::Char('j') => self.top += 1,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top += self.room,
            KeyCode::PageUp => self.top = self.top.saturating_sub(self.room),
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = last,
            _ => {}
        }
        self.top = self.top.min(last);
        Outcome::Stay
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let base = theme.style(Role::Panel);
        let width = area.width.saturating_sub(6).min(120);
        let shown = self.preview.as_ref().map(|preview| wrapped(&preview.lines, usize::from(width.saturating_sub(4)).max(1)));
        let height = shown.as_ref().map_or(1, Vec::len).saturating_add(4).min(usize::from(area.height.saturating_sub(2))) as u16;
        let inside = floating(buffer, area, (width, height), &format!("import {}", text::clean(&self.said)), theme);
        let Some(shown) = shown else {
            line(buffer, inside, 0, 0, "looking at what is in it", theme.dim().patch(base));
            line(buffer, inside, inside.height.saturating_sub(1), 0, "Esc leaves it", theme.dim().patch(base));
            return;
        };
        self.room = usize::from(inside.height.saturating_sub(2)).max(1);
        self.height = shown.len();
        self.top = self.top.min(shown.len().saturating_sub(self.room));
        for (row, Line(role, says)) in shown.iter().skip(self.top).take(self.room).enumerate() {
            line(buffer, inside, row as u16, 0, says, theme.style(*role).patch(base));
        }
        let takes = self.preview.as_ref().is_some_and(|preview| preview.takes);
        let more = if shown.len() > self.room { "   ↓↑ more" } else { "" };
        let keys = if takes {
            format!("⏎ takes it in{more}   Esc changes nothing")
        } else {
            format!("nothing would be taken   ⏎ say more of it{more}   Esc leaves it")
        };
        line(buffer, inside, inside.height.saturating_sub(1), 0, &keys, theme.accent().patch(base));
    }
}

/// The lines, each on as many as it needs.
fn wrapped(lines: &[Line], width: usize) -> Vec<Line> {
    let wrap = |Line(role, says): &Line| {
        if text::width(says) <= width {
            return vec![Line(*role, says.clone())];
        }
        let indent = says.len() - says.trim_start().len();
        let parts = text::wrap(says.trim_start(), width.saturating_sub(indent).max(1), LINES_MAX);
        parts.into_iter().map(|part| Line(*role, format!("{}{part}", " ".repeat(indent)))).collect::<Vec<_>>()
    };
    lines.iter().flat_map(wrap).collect()
}

fn lines(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for file in &report.files {
        file_lines(file, &mut lines);
    }
    lines.extend(report.notes.iter().map(|note| Line(Role::Text, text::clean(note).into_owned())));
    for table in &report.tables {
        lines.push(Line(Role::Accent, format!("{} would then have {}", table.file, many(table.rows, "row", "rows"))));
    }
    lines
}

fn file_lines(file: &FileReport, lines: &mut Vec<Line>) {
    let clean = |says: &str| text::clean(says).into_owned();
    if let Some(reason) = &file.refused {
        return lines.push(Line(Role::Warning, format!("{} {}", clean(&file.file), clean(reason))));
    }
    let tables: Vec<&str> = file.taken.iter().map(|taken| taken.table).collect();
    lines.push(Line(Role::Accent, format!("{}: {} → {}", clean(&file.file), file.title.unwrap_or_default(), tables.join(", "))));
    lines.extend(file.says.iter().map(|says| Line(Role::Text, format!("  {}", clean(says)))));
    lines.extend(file.taken.iter().map(|taken| Line(Role::Text, format!("  {}", taken_line(taken)))));
    file.previews.iter().for_each(|table| table_lines(table, lines));
    for count in file.findings.counts() {
        let same = |finding: &&crate::dataset::findings::Finding| (&finding.column, &finding.reason) == (&count.column, &count.reason);
        let places: Vec<String> = file.findings.kept().iter().filter(same).take(SHOWN_PER_REASON).filter_map(place).collect();
        let column = count.column.as_ref().map_or(String::new(), |column| format!("{column}: "));
        let times = if count.count > 1 { format!(" · {} times", format::count(count.count)) } else { String::new() };
        let places = if places.is_empty() { String::new() } else { format!(" · {}", places.join(", ")) };
        lines.push(Line(Role::Dim, format!("  {column}{}{times}{}", clean(&count.reason), clean(&places))));
    }
}

/// What serves each column and why, and what comes out in the first rows.
fn table_lines(table: &Table, lines: &mut Vec<Line>) {
    let cell = |row: usize, column: usize| table.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str);
    let rows: Vec<[String; 5]> = (table.columns.iter().enumerate())
        .map(|(i, guess)| [guess.column, &guess.from, guess.why, cell(0, i), cell(1, i)].map(|text| text::clean(text).into_owned()))
        .collect();
    let head = [table.table, "from", "why", "first row", "second row"].map(str::to_owned);
    let widest = |i: usize| rows.iter().chain([&head]).map(|row| text::width(&row[i])).max().unwrap_or(0).min(30);
    let widths = [widest(0), widest(1), widest(2), widest(3), widest(4)];
    let put = |row: &[String; 5]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| text::fit(cell, width, text::Align::Left)).collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    lines.push(Line(Role::Dim, put(&head)));
    lines.extend(rows.iter().map(|row| Line(Role::Text, put(row))));
}

/// Where a finding is, and what stands there.
fn place(finding: &crate::dataset::findings::Finding) -> Option<String> {
    match (finding.row, &finding.value) {
        (Some(row), Some(value)) => Some(format!("row {row} `{value}`")),
        (Some(row), None) => Some(format!("row {row}")),
        (None, Some(value)) => Some(format!("`{value}`")),
        (None, None) => None,
    }
}

/// `candles: 400 rows, 398 new, 2 set aside`.
fn taken_line(taken: &Taken) -> String {
    let counts = [
        (taken.new, "new"),
        (taken.changed, "in place of others"),
        (taken.same, "there already"),
        (taken.repeated, "repeated"),
        (taken.set_aside, "set aside"),
        (taken.left_out, "left out"),
    ];
    let parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {} {what}", format::count(*count))).collect();
    format!("{}: {}{}", taken.table, many(taken.rows, "row", "rows"), parts.concat())
}
