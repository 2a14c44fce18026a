//! The import preview: each file's detected type, each column's source with the reason, the leading rows, and the rows to be
//! rejected. Reads and writes no file itself.

use super::prelude::*;
use crate::views::words::CANCEL;
use import::{FileReport, ImportReport, Preview as Table, Taken};
use model::{address::Address, command_line::shell_word};

/// Maximum number of lines of one text.
const LINES_MAX: usize = 60;
/// Width of a table cell when narrow, and the columns shown with ever less room.
const CELL_MAX: usize = 30;
const SHOWN_COLUMNS: &[&[usize]] = &[&[0, 1, 2, 3, 4], &[0, 1, 2, 3], &[0, 1, 3]];
/// The columns in the order in which they get spare room: the reason, then the source.
const WHY: usize = 2;
const WIDENED: [usize; 5] = [WHY, 1, 3, 4, 0];
/// Findings shown for one reason.
const SHOWN_PER_REASON: usize = 3;

#[derive(Debug)]
pub struct ImportDialog {
    /// The text typed after `import`.
    said: String,
    /// The selected token: what people call it, and its address.
    selected: Option<(String, Address)>,
    /// `None` while the files are being read.
    preview: Option<Preview>,
    /// Scroll offset.
    top: usize,
    /// Visible lines, and all lines at this width.
    room: usize,
    height: usize,
}

#[derive(Debug)]
struct Preview {
    parts: Vec<Part>,
    /// Whether anything would be written.
    takes: bool,
    /// The options to retry the first refused file with.
    try_with: Vec<String>,
}

/// A part of the layout, independent of the width.
#[derive(Debug, Clone)]
enum Part {
    Text(Line),
    /// The source of each column, the reason, and its first cells; the first row is the header.
    Table(Vec<[String; 5]>),
}

/// A line and its style.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line(Role, String);

impl ImportDialog {
    pub fn new(said: &str, selected: Option<(String, Address)>) -> Self {
        Self {
            said: said.to_owned(),
            selected,
            preview: None,
            top: 0,
            room: 1,
            height: 0,
        }
    }

    /// Sets the preview.
    pub fn show(&mut self, outcome: Result<&ImportReport, &str>) {
        let preview = match outcome {
            Ok(report) => {
                let takes = report.files.iter().any(|file| file.refused.is_none());
                let try_with = report
                    .files
                    .iter()
                    .map(|file| file.try_with.clone())
                    .find(|words| !words.is_empty())
                    .unwrap_or_default();
                Preview {
                    parts: parts(report),
                    takes,
                    try_with,
                }
            }
            Err(reason) => Preview {
                parts: vec![text_part(Role::Warning, reason)],
                takes: false,
                try_with: Vec::new(),
            },
        };
        self.preview = Some(preview);
    }

    /// The command line with the options that the refusal asks for.
    fn retry_command(&self) -> String {
        let path = self
            .said
            .find(" --")
            .map_or(self.said.as_str(), |at| &self.said[..at]);
        match self.preview.as_ref().map(|preview| &preview.try_with[..]) {
            None | Some([]) => format!("import {} --", self.said),
            Some(words) => {
                let word = |(at, word): (usize, &String)| match &self.selected {
                    Some((_, address)) if is_token(words, at) => address.to_string(),
                    _ => shell_word(word),
                };
                format!(
                    "import {path} {}",
                    words
                        .iter()
                        .enumerate()
                        .map(word)
                        .collect::<Vec<_>>()
                        .join(" ")
                )
            }
        }
    }

    /// The selected token, if the refusal asks for one.
    fn offered(&self) -> Option<&str> {
        let words = &self.preview.as_ref()?.try_with;
        let (name, _) = self.selected.as_ref()?;
        (0..words.len())
            .any(|at| is_token(words, at))
            .then_some(name)
    }
}

impl Dialog for ImportDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let last = self.height.saturating_sub(self.room);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return OverlayOutcome::Close,
            KeyCode::Enter if self.preview.as_ref().is_some_and(|preview| preview.takes) => {
                return OverlayOutcome::Run(Command::ImportNow(self.said.clone()));
            }
            // Appends the missing options to the typed text.
            KeyCode::Enter if self.preview.is_some() => {
                return OverlayOutcome::Run(Command::Type(self.retry_command()));
            }
            KeyCode::Down | KeyCode::Char('j') => self.top += 1,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top += self.room,
            KeyCode::PageUp => self.top = self.top.saturating_sub(self.room),
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = last,
            _ => {}
        }
        self.top = self.top.min(last);
        OverlayOutcome::Stay
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let base = theme.style(Role::Panel);
        let width = area.width.saturating_sub(6).min(120);
        let shown = self
            .preview
            .as_ref()
            .map(|preview| wrapped(&preview.parts, usize::from(width.saturating_sub(4)).max(1)));
        let height = shown
            .as_ref()
            .map_or(1, Vec::len)
            .saturating_add(4)
            .min(usize::from(area.height.saturating_sub(2))) as u16;
        let inside = floating(
            buffer,
            area,
            (width, height),
            &format!("import {}", text::clean(&self.said)),
            theme,
        );
        let Some(shown) = shown else {
            put(
                buffer,
                inside,
                0,
                0,
                "reading the file",
                theme.dim().patch(base),
            );
            put(
                buffer,
                inside,
                0,
                inside.height.saturating_sub(1),
                CANCEL,
                theme.dim().patch(base),
            );
            return;
        };
        self.room = usize::from(inside.height.saturating_sub(2)).max(1);
        self.height = shown.len();
        self.top = self.top.min(shown.len().saturating_sub(self.room));
        for (row, Line(role, says)) in shown.iter().skip(self.top).take(self.room).enumerate() {
            put(
                buffer,
                inside,
                0,
                row as u16,
                says,
                theme.style(*role).patch(base),
            );
        }
        let takes = self.preview.as_ref().is_some_and(|preview| preview.takes);
        let more = if shown.len() > self.room {
            "   ↓↑ more"
        } else {
            ""
        };
        let keys = if takes {
            format!("Enter import{more}   {CANCEL}")
        } else {
            let say = self.offered().map_or_else(
                || "add options".to_owned(),
                |name| format!("set token {}", text::clean(name)),
            );
            format!("nothing would be imported   Enter {say}{more}   {CANCEL}")
        };
        put(
            buffer,
            inside,
            0,
            inside.height.saturating_sub(1),
            &keys,
            theme.accent().patch(base),
        );
    }
}

/// Whether a word of the options stands for a token's address.
fn is_token(words: &[String], at: usize) -> bool {
    words[at] == "ADDRESS"
        && at
            .checked_sub(1)
            .is_some_and(|before| words[before] == "--token")
}

/// Lays out the parts, wrapped to the width.
fn wrapped(parts: &[Part], width: usize) -> Vec<Line> {
    let wrap = |part: &Part| match part {
        Part::Table(rows) => table_lines(rows, width),
        Part::Text(Line(role, says)) if text::width(says) <= width => {
            vec![Line(*role, says.clone())]
        }
        Part::Text(Line(role, says)) => {
            let indent = says.len() - says.trim_start().len();
            let parts = text::wrap(
                says.trim_start(),
                width.saturating_sub(indent).max(1),
                LINES_MAX,
            );
            parts
                .into_iter()
                .map(|part| Line(*role, format!("{}{part}", " ".repeat(indent))))
                .collect()
        }
    };
    parts.iter().flat_map(wrap).collect()
}

fn text_part(role: Role, says: &str) -> Part {
    let indent = says.len() - says.trim_start().len();
    Part::Text(Line(
        role,
        format!("{}{}", &says[..indent], text::clean(says.trim_start())),
    ))
}

fn parts(report: &ImportReport) -> Vec<Part> {
    let mut parts = Vec::new();
    for file in &report.files {
        file_parts(file, &mut parts);
    }
    parts.extend(report.notes.iter().map(|note| text_part(Role::Text, note)));
    parts.extend(report.tables.iter().map(|table| {
        text_part(
            Role::Accent,
            &format!(
                "{} would contain {}",
                table.file,
                plural(table.rows, "row", "rows")
            ),
        )
    }));
    parts
}

fn file_parts(file: &FileReport, parts: &mut Vec<Part>) {
    if let Some(reason) = &file.refused {
        parts.push(text_part(Role::Warning, &format!("{} {reason}", file.file)));
        if !file.try_with.is_empty() {
            let words: Vec<String> = file.try_with.iter().map(|word| shell_word(word)).collect();
            parts.push(text_part(
                Role::Accent,
                &format!("  try: {}", words.join(" ")),
            ));
        }
        return;
    }
    let tables: Vec<&str> = file.taken.iter().map(|taken| taken.table).collect();
    parts.push(text_part(
        Role::Accent,
        &format!(
            "{}: {} → {}",
            file.file,
            file.title.as_deref().unwrap_or_default(),
            tables.join(", ")
        ),
    ));
    parts.extend(
        file.says
            .iter()
            .map(|says| text_part(Role::Text, &format!("  {says}"))),
    );
    parts.extend(
        file.taken
            .iter()
            .map(|taken| text_part(Role::Text, &format!("  {}", summary_line(taken)))),
    );
    parts.extend(
        file.previews
            .iter()
            .map(|table| Part::Table(table_rows(table))),
    );
    for count in file.findings.counts() {
        let same = |finding: &&model::findings::Finding| {
            (&finding.column, &finding.reason) == (&count.column, &count.reason)
        };
        let places: Vec<String> = file
            .findings
            .kept()
            .iter()
            .filter(same)
            .take(SHOWN_PER_REASON)
            .filter_map(place)
            .collect();
        let column = count
            .column
            .as_ref()
            .map_or(String::new(), |column| format!("{column}: "));
        let times = if count.count > 1 {
            format!(" · {} times", format::count(count.count))
        } else {
            String::new()
        };
        let places = if places.is_empty() {
            String::new()
        } else {
            format!(" · {}", places.join(", "))
        };
        parts.push(text_part(
            Role::Dim,
            &format!("  {column}{}{times}{places}", count.reason),
        ));
    }
}

/// The table's rows: the source of each column, the reason, and its first two values.
fn table_rows(table: &Table) -> Vec<[String; 5]> {
    let cell = |row: usize, column: usize| {
        table
            .rows
            .get(row)
            .and_then(|row| row.get(column))
            .map_or("", String::as_str)
    };
    let head = [table.table, "from", "why", "first row", "second row"].map(str::to_owned);
    let rows = (table.columns.iter().enumerate()).map(|(i, guess)| {
        [guess.column, &guess.from, guess.why, cell(0, i), cell(1, i)]
            .map(|text| text::clean(text).into_owned())
    });
    std::iter::once(head).chain(rows).collect()
}

/// Lays out the table: when narrow, the second row is dropped first, then the reason. Spare room goes to the columns that would be cut.
fn table_lines(rows: &[[String; 5]], width: usize) -> Vec<Line> {
    let widest: [usize; 5] = std::array::from_fn(|i| {
        rows.iter()
            .map(|row| text::width(&row[i]))
            .max()
            .unwrap_or(0)
    });
    let least = |i: usize| {
        if i == WHY {
            widest[i]
        } else {
            widest[i].min(CELL_MAX)
        }
    };
    let needs = |shown: &[usize]| shown.iter().map(|i| 2 + least(*i)).sum::<usize>();
    let shown = SHOWN_COLUMNS
        .iter()
        .find(|shown| needs(shown) <= width)
        .unwrap_or(&SHOWN_COLUMNS[SHOWN_COLUMNS.len() - 1]);
    let mut widths: [usize; 5] = std::array::from_fn(least);
    let mut free = width.saturating_sub(needs(shown));
    for i in WIDENED.into_iter().filter(|i| shown.contains(i)) {
        let more = free.min(widest[i] - widths[i]);
        (widths[i], free) = (widths[i] + more, free - more);
    }
    // The last column shrinks when not even those fit.
    if let Some(last) = shown.last() {
        widths[*last] = widths[*last]
            .saturating_sub(needs(shown).saturating_sub(width))
            .max(4);
    }
    let put = |row: &[String; 5]| {
        let cells: Vec<String> = shown
            .iter()
            .map(|i| text::fit(&row[*i], widths[*i], text::Align::Left))
            .collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    let role = |nth: usize| if nth == 0 { Role::Dim } else { Role::Text };
    rows.iter()
        .enumerate()
        .map(|(nth, row)| Line(role(nth), put(row)))
        .collect()
}

/// The row number and value of a finding.
fn place(finding: &model::findings::Finding) -> Option<String> {
    match (finding.row, &finding.value) {
        (Some(row), Some(value)) => Some(format!("row {row} `{value}`")),
        (Some(row), None) => Some(format!("row {row}")),
        (None, Some(value)) => Some(format!("`{value}`")),
        (None, None) => None,
    }
}

/// `candles: 400 rows, 398 new, 2 rejected`.
fn summary_line(taken: &Taken) -> String {
    let counts = [
        (taken.new, "new"),
        (taken.changed, "changed"),
        (taken.same, "unchanged"),
        (taken.repeated, "repeated"),
        (taken.set_aside, "rejected"),
        (taken.left_out, "excluded"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {} {what}", format::count(*count)))
        .collect();
    format!(
        "{}: {}{}",
        taken.table,
        plural(taken.rows, "row", "rows"),
        parts.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_whole_and_what_room_is_left_goes_to_what_would_be_cut() {
        let why = "by its name elsewhere and its cells";
        let hash = format!("0x{}", "7".repeat(64));
        let rows = [
            ["transfers", "from", "why", "first row", "second row"].map(str::to_owned),
            [
                "transaction_hash".to_owned(),
                "`hash`".to_owned(),
                why.to_owned(),
                hash.clone(),
                hash.clone(),
            ],
        ];
        for width in 20..250 {
            let lines: Vec<String> = table_lines(&rows, width)
                .into_iter()
                .map(|Line(_, text)| text)
                .collect();
            let widest = lines
                .iter()
                .map(|line| text::width(line))
                .max()
                .unwrap_or(0);
            assert!(widest <= width.max(36), "{width}: {lines:?}");
            assert_eq!(
                lines[1].contains(why),
                lines[0].contains("why"),
                "{width}: {lines:?}"
            );
            assert_eq!(lines[0].contains("why"), width >= 95, "{width}: {lines:?}");
            assert_eq!(
                lines[0].contains("second row"),
                width >= 127,
                "{width}: {lines:?}"
            );
            assert!(
                width < 199 || lines[1].matches(&hash).count() == 2,
                "{width}: {lines:?}"
            );
        }
    }
}
