//! A file as one table of cells: the names of its columns, a sample of its first rows as text, texts beside the table, and a source of all
//! rows. Text, JSON, Parquet and workbooks all come to this; what the cells mean is not known here.

pub(super) mod flat;
pub(super) mod header;
pub(super) mod json;

use std::{collections::HashMap, sync::Arc};

use self::{header::NumberedRow, json::Json};
use super::{
    evidence::when::{TimeStyle, Unsure},
    rows::GeneratedRows,
    sniff::Sniffed,
};
use crate::dataset::source::{self, Layout, RowSource};

/// How many of the first rows are kept.
pub(super) const ROWS: usize = 2_000;

/// A file as a table.
#[derive(Debug)]
pub(super) struct Sheet {
    pub names: Vec<String>,
    /// The names are the file's; else its columns are numbered from 1.
    pub named: bool,
    /// The first rows, a text for every column; empty cells are "".
    pub first: Vec<Vec<String>>,
    /// Texts that stand beside the table: members of the JSON around it, lines before the header.
    pub beside: Vec<(String, String)>,
    /// Semicolons part its cells.
    pub semicolons: bool,
    /// Columns that hold floating-point numbers, in tables that have types.
    pub floats: Vec<bool>,
    /// How the person says that its days are written, where they can be read with the month or the day first.
    pub dates: Option<TimeStyle>,
    /// The person takes it however many of its rows are broken.
    pub broken_too: bool,
    source: SheetSource,
}

#[derive(Debug)]
enum SheetSource {
    Separated(Layout),
    Json(Arc<Json>),
    Lines,
    Columns,
    Cells(Arc<Vec<Vec<String>>>),
}

impl Sheet {
    /// The table in separated text, whose first rows are these; the text may be in Windows-1252.
    pub(super) fn separated(rows: &[NumberedRow], delimiter: u8, windows_1252: bool) -> Option<Self> {
        let laid = header::text_layout(rows)?;
        let layout =
            Layout { skip: laid.skip, names: Some(laid.names.clone()), delimiter: Some(delimiter), windows_1252, ..Layout::default() };
        let first = rows[laid.first.min(rows.len())..].iter().take(ROWS).map(|(_, row)| row.clone()).collect();
        let beside = laid.preamble.into_iter().map(|text| ("preamble".to_owned(), text)).collect();
        Some(Self::made(laid.names, laid.named, first, beside, delimiter == b';', SheetSource::Separated(layout)))
    }

    pub(super) fn json(json: Json) -> Self {
        let first = (0..json.height().min(ROWS)).map(|at| json.row(at).into_iter().map(Option::unwrap_or_default).collect()).collect();
        let mut beside = json.beside.clone();
        beside.push(("place".to_owned(), json.place.clone()));
        Self::made(numbered_twins(&json.names), json.named, first, beside, false, SheetSource::Json(Arc::new(json)))
    }

    /// The lists of one shape that its rows are of, where it is made of several.
    pub(super) fn lists(&self) -> &[String] {
        if let SheetSource::Json(json) = &self.source { &json.lists } else { &[] }
    }

    /// A sheet of a workbook.
    pub(super) fn cells(rows: Vec<Vec<String>>) -> Option<Self> {
        let lines: Vec<NumberedRow> = rows.into_iter().enumerate().filter(|(_, row)| row.iter().any(|cell| !cell.is_empty())).collect();
        let laid = header::text_layout(&lines)?;
        let rows: Vec<Vec<String>> = lines.into_iter().skip(laid.first).map(|(_, row)| row).collect();
        let first = rows.iter().take(ROWS).cloned().collect();
        let beside = laid.preamble.into_iter().map(|text| ("preamble".to_owned(), text)).collect();
        Some(Self::made(laid.names, laid.named, first, beside, false, SheetSource::Cells(Arc::new(rows))))
    }

    /// JSON objects one a line, too large to be read whole; or columns of a binary table.
    pub(super) fn streamed(sniffed: &Sniffed, lines: bool) -> Result<Self, String> {
        let mut sheet =
            Self::made(Vec::new(), true, Vec::new(), Vec::new(), false, if lines { SheetSource::Lines } else { SheetSource::Columns });
        let mut rows = sheet.rows(sniffed)?;
        let batch = rows.next_batch()?.unwrap_or_default();
        sheet.names = rows.columns().to_vec();
        let float = |name: &String| batch.columns.iter().any(|column| column.name() == name && column.dtype().is_float());
        sheet.floats = sheet.names.iter().map(float).collect();
        let texts: Vec<Vec<String>> = sheet
            .names
            .iter()
            .map(|name| {
                batch
                    .columns
                    .iter()
                    .find(|column| column.name() == name)
                    .map_or_else(Vec::new, |column| flat::texts(&column.slice(0, ROWS)))
            })
            .collect();
        sheet.first = (0..batch.height.min(ROWS))
            .map(|row| texts.iter().map(|column| column.get(row).cloned().unwrap_or_default()).collect())
            .collect();
        Ok(sheet)
    }

    fn made(
        names: Vec<String>,
        named: bool,
        mut first: Vec<Vec<String>>,
        beside: Vec<(String, String)>,
        semicolons: bool,
        source: SheetSource,
    ) -> Self {
        // A row cut short has empty cells.
        for row in &mut first {
            row.resize(names.len(), String::new());
        }
        let floats = vec![false; names.len()];
        Self { names, named, first, beside, semicolons, floats, dates: None, broken_too: false, source }
    }

    /// All rows, each column under its name here.
    pub(super) fn rows(&self, sniffed: &Sniffed) -> Result<Box<dyn RowSource>, String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match &self.source {
            SheetSource::Separated(layout) => sniffed.rows(layout),
            SheetSource::Lines => sniffed.rows(&Layout::default()),
            SheetSource::Columns => Ok(flat::Flat::over(sniffed.rows(&Layout::default())?)),
            SheetSource::Json(json) => {
                let json = Arc::clone(json);
                Ok(GeneratedRows::over(&names, sniffed.bytes, (0..json.height()).map(move |at| Ok(json.row(at)))))
            }
            SheetSource::Cells(cells) => {
                let (cells, count) = (Arc::clone(cells), cells.len());
                let filled = |cell: &String| Some(cell.clone()).filter(|cell| !cell.is_empty());
                let row = move |at: usize| Ok(cells[at].iter().map(filled).collect());
                Ok(GeneratedRows::over(&names, sniffed.bytes, (0..count).map(row)))
            }
        }
    }

    /// How these times are written: as they show, else as the person says.
    pub(super) fn when(&self, cells: &[&str]) -> Result<Option<TimeStyle>, Unsure> {
        TimeStyle::of(cells).or_else(|Unsure| self.dates.map(Some).ok_or(Unsure))
    }

    /// Whether its text is in Windows-1252.
    pub(super) fn is_windows_1252(&self) -> bool {
        matches!(&self.source, SheetSource::Separated(layout) if layout.windows_1252)
    }

    /// Whether its cells are text that somebody wrote, and no numbers of a format with types.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.source, SheetSource::Separated(_))
    }

    /// The first cells of a column.
    pub(super) fn column(&self, at: usize) -> impl Iterator<Item = &str> {
        self.first.iter().filter_map(move |row| row.get(at)).map(String::as_str)
    }

    /// The different texts in the first cells of a column, at most a few.
    pub(super) fn different(&self, at: usize) -> Vec<&str> {
        let mut known: Vec<&str> = Vec::new();
        for cell in self.column(at).filter(|cell| !cell.is_empty()) {
            if known.len() < 50 && !known.contains(&cell) {
                known.push(cell);
            }
        }
        known
    }

    /// What stands beside the table under a name that ends so.
    pub(super) fn beside(&self, ends: &str) -> Option<&str> {
        let last = |place: &str| super::names::plain(place.rsplit('.').next().unwrap_or_default());
        ends.split_whitespace().find_map(|end| self.beside.iter().find(|(place, _)| last(place) == end).map(|(_, text)| text.as_str()))
    }

    /// Whether any line before the header or text beside the table speaks of it.
    pub(super) fn mentions(&self, word: &str) -> bool {
        self.beside.iter().any(|(place, text)| (place == "preamble" || place == "place") && text.to_lowercase().contains(word))
    }
}

/// The names, those that are others but for letter case numbered: `t` and `T` are two columns of some sources.
fn numbered_twins(names: &[String]) -> Vec<String> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut one = |name: &String| {
        let count = known.entry(name.to_lowercase()).or_default();
        *count += 1;
        if *count == 1 { name.clone() } else { format!("{name} ({count})") }
    };
    names.iter().map(&mut one).collect()
}

/// Reads the text of JSON lines whole.
pub(super) fn json_lines(sniffed: &Sniffed, limit: u64) -> Result<Json, String> {
    Ok(Json::lines(&source::whole_text(sniffed.place.open()?, sniffed.head(), limit)?))
}
