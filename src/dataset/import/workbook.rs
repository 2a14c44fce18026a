//! Excel and OpenDocument workbooks: each sheet as rows of texts, dates as ISO 8601.

use std::path::Path;

use calamine::{Data, Reader, open_workbook_auto};

use crate::{
    dataset::{coerce::manner::of_excel_day, time::Time},
    untrusted::caught,
};

/// The most cells of a workbook, which is read whole.
const MAX_CELLS: usize = 40_000_000;

/// A sheet's name and its rows of cells.
pub(super) type NamedSheet = (String, Vec<Vec<String>>);

/// The sheets that hold something.
pub(super) fn sheets(path: &Path) -> Result<Vec<NamedSheet>, String> {
    let read = caught(|| read(path));
    read.unwrap_or_else(|| Err("is a damaged workbook".to_owned()))
}

fn read(path: &Path) -> Result<Vec<NamedSheet>, String> {
    let mut book = open_workbook_auto(path).map_err(|error| format!("is a workbook that cannot be read: {error}; save it as CSV"))?;
    let mut sheets = Vec::new();
    for name in book.sheet_names() {
        let Ok(range) = book.worksheet_range(&name) else { continue };
        if range.height() * range.width() > MAX_CELLS {
            return Err(format!("has a sheet `{name}` of more than {MAX_CELLS} cells: save it as CSV"));
        }
        let rows: Vec<Vec<String>> = range.rows().map(|row| row.iter().map(text).collect()).collect();
        if rows.iter().any(|row| row.iter().any(|cell| !cell.is_empty())) {
            sheets.push((name, rows));
        }
    }
    if sheets.is_empty() { Err("is a workbook without a filled sheet".to_owned()) } else { Ok(sheets) }
}

fn text(cell: &Data) -> String {
    match cell {
        Data::Empty | Data::Error(_) => String::new(),
        Data::DateTime(date) if date.is_datetime() => Time(of_excel_day(date.as_f64())).to_string(),
        Data::DateTime(date) => date.as_f64().to_string(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(truth) => truth.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.trim().to_owned(),
        #[allow(unreachable_patterns, reason = "kinds of cells that later versions add")]
        other => other.to_string(),
    }
}
