//! A file as a single table: column names, a sample of its first rows as text, texts beside the table, and a source of all rows. Delimited
//! text, JSON, Parquet and workbooks all become this; cells are not interpreted here.

pub(super) mod flat;
pub(super) mod header;
pub(super) mod json;

use std::{collections::HashMap, sync::Arc};

use self::{
    header::{NumberedRow, TextLayout},
    json::Json,
};
use super::{
    error::FileError,
    evidence::when::{AmbiguousDate, TimeStyle},
    pair,
    rows::GeneratedRows,
    sniff::Sniffed,
    zone::Zone,
};
use load::formats::{self, Layout, RowSource, TextEncoding};

/// Rows in the sample.
pub(super) const ROWS: usize = 2_000;

/// A file as a table.
#[derive(Debug)]
pub(super) struct RawTable {
    pub names: Vec<String>,
    /// Whether the file names its columns; otherwise they are numbered from 1.
    pub named: bool,
    /// The sample: the first rows, a text per column; empty cells are "".
    pub first: Vec<Vec<String>>,
    /// Texts next to the table: fields of the surrounding JSON, lines before the header (the preamble).
    pub beside: Vec<(String, String)>,
    /// Whether the file is semicolon-delimited.
    pub semicolons: bool,
    /// Whether each column holds floats, for typed tables.
    pub floats: Vec<bool>,
    /// The user's date order, for ambiguous dates.
    pub dates: Option<TimeStyle>,
    /// The zone of times without one, if the user stated it.
    pub zone: Option<Zone>,
    /// Whether the user accepts any number of invalid rows.
    pub broken_too: bool,
    /// Notes on omitted rows and columns, for the report.
    pub says: Vec<String>,
    /// Columns whose type or encoding is not read, and why.
    pub unread: Vec<(String, String)>,
    /// The tickers whose columns stand side by side, of which one is to be chosen.
    tickers: Vec<String>,
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

impl RawTable {
    /// The table in delimited text, given its first rows, and the layout as far as it is known.
    pub(super) fn separated(rows: &[NumberedRow], layout: &Layout) -> Option<Self> {
        let laid = header::text_layout(rows)?;
        let delimiter = layout.delimiter;
        let layout = Layout {
            skip: laid.skip,
            names: Some(laid.names.clone()),
            joins_first: laid.joins_first,
            ..*layout
        };
        let first = rows[laid.first.min(rows.len())..]
            .iter()
            .take(ROWS)
            .map(|(_, row)| laid.joined(row.clone()))
            .collect();
        Some(Self::laid(
            laid,
            first,
            delimiter == Some(b';'),
            SheetSource::Separated(layout),
        ))
    }

    pub(super) fn json(json: Json) -> Self {
        let first = (0..json.height().min(ROWS))
            .map(|at| {
                json.row(at)
                    .into_iter()
                    .map(Option::unwrap_or_default)
                    .collect()
            })
            .collect();
        let mut beside = json.beside.clone();
        beside.push(("place".to_owned(), json.place.clone()));
        Self::made(
            numbered_twins(&json.names),
            json.named,
            first,
            beside,
            false,
            SheetSource::Json(Arc::new(json)),
        )
    }

    /// The names of the JSON lists that the table joins, if it joins several of the same shape.
    pub(super) fn lists(&self) -> &[String] {
        if let SheetSource::Json(json) = &self.source {
            &json.lists
        } else {
            &[]
        }
    }

    /// A worksheet of a workbook.
    pub(super) fn cells(rows: Vec<Vec<String>>) -> Option<Self> {
        let lines: Vec<NumberedRow> = rows
            .into_iter()
            .enumerate()
            .filter(|(_, row)| row.iter().any(|cell| !cell.is_empty()))
            .collect();
        let laid = header::text_layout(&lines)?;
        let rows: Vec<Vec<String>> = lines
            .into_iter()
            .skip(laid.first)
            .map(|(_, row)| laid.joined(row))
            .collect();
        let first = rows.iter().take(ROWS).cloned().collect();
        Some(Self::laid(
            laid,
            first,
            false,
            SheetSource::Cells(Arc::new(rows)),
        ))
    }

    /// Streams JSON Lines too large to be read whole, or columns of a binary table.
    pub(super) fn streamed(sniffed: &Sniffed, lines: bool) -> Result<Self, FileError> {
        let mut sheet = Self::made(
            Vec::new(),
            true,
            Vec::new(),
            Vec::new(),
            false,
            if lines {
                SheetSource::Lines
            } else {
                SheetSource::Columns
            },
        );
        let mut rows = sheet.rows(sniffed)?;
        let batch = rows.next_batch()?.unwrap_or_default();
        sheet.names = rows.columns().to_vec();
        sheet.unread.clone_from(&batch.unread);
        let float = |name: &String| {
            batch
                .columns
                .iter()
                .any(|column| column.name() == name && column.dtype().is_float())
        };
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
            .map(|row| {
                texts
                    .iter()
                    .map(|column| column.get(row).cloned().unwrap_or_default())
                    .collect()
            })
            .collect();
        Ok(sheet)
    }

    fn laid(
        laid: TextLayout,
        first: Vec<Vec<String>>,
        semicolons: bool,
        source: SheetSource,
    ) -> Self {
        let beside = laid
            .preamble
            .into_iter()
            .map(|text| ("preamble".to_owned(), text))
            .collect();
        let says = laid
            .types
            .then(|| "the row below the header contains types and is omitted".to_owned())
            .into_iter()
            .collect();
        Self {
            says,
            tickers: laid.tickers,
            ..Self::made(laid.names, laid.named, first, beside, semicolons, source)
        }
    }

    /// Takes the columns of this symbol, where those of several tickers stand side by side. Errors: all tickers, if not one of them is of it.
    pub(super) fn choose_ticker(&mut self, symbol: Option<&str>) -> Result<(), &[String]> {
        if self.tickers.is_empty() {
            return Ok(());
        }
        let is_of = |ticker: &&String| {
            let base = pair::pair(ticker, |_| false)
                .map_or_else(|| ticker.to_uppercase(), |pair| pair.base);
            symbol.is_some_and(|symbol| {
                symbol.eq_ignore_ascii_case(&base) || symbol.eq_ignore_ascii_case(ticker)
            })
        };
        let mut fitting = self.tickers.iter().filter(is_of);
        let (Some(ticker), None) = (fitting.next().cloned(), fitting.next()) else {
            return Err(&self.tickers);
        };
        let behind = format!(" {ticker}");
        for name in &mut self.names {
            *name = name.strip_suffix(&behind).unwrap_or(name).to_owned();
        }
        if let SheetSource::Separated(layout) = &mut self.source {
            layout.names = Some(self.names.clone());
        }
        self.says.push(format!(
            "its tickers are side by side, and only `{ticker}` is imported"
        ));
        self.beside.push(("preamble".to_owned(), ticker));
        Ok(())
    }

    fn made(
        names: Vec<String>,
        named: bool,
        mut first: Vec<Vec<String>>,
        beside: Vec<(String, String)>,
        semicolons: bool,
        source: SheetSource,
    ) -> Self {
        // Pads short rows with empty cells.
        for row in &mut first {
            row.resize(names.len(), String::new());
        }
        let floats = vec![false; names.len()];
        Self {
            names,
            named,
            first,
            beside,
            semicolons,
            floats,
            dates: None,
            zone: None,
            broken_too: false,
            says: Vec::new(),
            unread: Vec::new(),
            tickers: Vec::new(),
            source,
        }
    }

    /// All rows, under the column names of this sheet.
    pub(super) fn rows(&self, sniffed: &Sniffed) -> Result<Box<dyn RowSource>, FileError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match &self.source {
            SheetSource::Separated(layout) => sniffed.rows(layout),
            SheetSource::Lines => sniffed.rows(&Layout::default()),
            SheetSource::Columns => Ok(flat::Flat::over(sniffed.rows(&Layout::default())?)),
            SheetSource::Json(json) => {
                let json = Arc::clone(json);
                Ok(GeneratedRows::over(
                    &names,
                    sniffed.bytes,
                    (0..json.height()).map(move |at| Ok(json.row(at))),
                ))
            }
            SheetSource::Cells(cells) => {
                let (cells, count) = (Arc::clone(cells), cells.len());
                let filled = |cell: &String| Some(cell.clone()).filter(|cell| !cell.is_empty());
                let row = move |at: usize| Ok(cells[at].iter().map(filled).collect());
                Ok(GeneratedRows::over(
                    &names,
                    sniffed.bytes,
                    (0..count).map(row),
                ))
            }
        }
    }

    /// The format of these times: as inferred, or the user's date order, in the user's zone.
    pub(super) fn when(&self, cells: &[&str]) -> Result<Option<TimeStyle>, AmbiguousDate> {
        let when = TimeStyle::of(cells)
            .or_else(|AmbiguousDate| self.dates.map(Some).ok_or(AmbiguousDate))?;
        Ok(when.map(|when| self.zone.map_or(when, |zone| when.in_zone(zone, cells))))
    }

    /// The encoding of a text that is not UTF-8.
    pub(super) fn encoding(&self) -> Option<TextEncoding> {
        if let SheetSource::Separated(layout) = &self.source {
            layout.encoding
        } else {
            None
        }
    }

    /// Whether a dataset, which knows commas and quotes only, would read its text otherwise.
    pub(super) fn is_read_by_import_alone(&self) -> bool {
        matches!(&self.source, SheetSource::Separated(layout) if layout.encoding.is_some() || layout.blanks || layout.joins_first)
    }

    /// Whether its cells are text rather than values of a typed format.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.source, SheetSource::Separated(_))
    }

    /// The sampled cells of a column.
    pub(super) fn column(&self, at: usize) -> impl Iterator<Item = &str> {
        self.first
            .iter()
            .filter_map(move |row| row.get(at))
            .map(String::as_str)
    }

    /// The distinct texts among a column's sampled cells, at most 50.
    pub(super) fn different(&self, at: usize) -> Vec<&str> {
        let mut known: Vec<&str> = Vec::new();
        for cell in self.column(at).filter(|cell| !cell.is_empty()) {
            if known.len() < 50 && !known.contains(&cell) {
                known.push(cell);
            }
        }
        known
    }

    /// The value beside the table whose path ends with one of these names.
    pub(super) fn beside(&self, ends: &str) -> Option<&str> {
        let last = |place: &str| super::names::plain(place.rsplit('.').next().unwrap_or_default());
        ends.split_whitespace().find_map(|end| {
            self.beside
                .iter()
                .find(|(place, _)| last(place) == end)
                .map(|(_, text)| text.as_str())
        })
    }

    /// Whether the preamble or the table's JSON path contains the word.
    pub(super) fn mentions(&self, word: &str) -> bool {
        self.beside.iter().any(|(place, text)| {
            (place == "preamble" || place == "place") && text.to_lowercase().contains(word)
        })
    }
}

/// Numbers names that differ only in letter case: some sources have columns `t` and `T`.
fn numbered_twins(names: &[String]) -> Vec<String> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut one = |name: &String| {
        let count = known.entry(name.to_lowercase()).or_default();
        *count += 1;
        if *count == 1 {
            name.clone()
        } else {
            format!("{name} ({count})")
        }
    };
    names.iter().map(&mut one).collect()
}

/// Reads a JSON Lines text whole.
pub(super) fn json_lines(sniffed: &Sniffed, limit: u64) -> Result<Json, FileError> {
    Ok(Json::lines(&formats::whole_text(
        sniffed.place.open()?,
        sniffed.head(),
        limit,
    )?))
}
