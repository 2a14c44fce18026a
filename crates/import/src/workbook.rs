//! Excel and OpenDocument workbooks: each sheet as rows of texts, dates as ISO 8601, numbers with the currency of their number format.

mod currencies;

use std::path::Path;

use calamine::{Data, ExcelDateTime, Reader, SheetVisible, open_workbook_auto};
use chrono::{NaiveDate, NaiveTime};

use model::{time::Time, untrusted::caught};
use source::coerce::notation::of_excel_day;

/// Maximum number of cells in a workbook, which is read whole.
const CELLS_MAX: usize = 40_000_000;

/// A sheet's name and its rows of cells.
pub(super) type NamedSheet = (String, Vec<Vec<String>>);

/// The non-empty sheets that are shown, and the names of the hidden ones.
pub(super) fn sheets(path: &Path) -> Result<(Vec<NamedSheet>, Vec<String>), String> {
    let read = caught(|| read(path));
    read.unwrap_or_else(|| Err("is a damaged workbook".to_owned()))
}

fn read(path: &Path) -> Result<(Vec<NamedSheet>, Vec<String>), String> {
    let mut book = open_workbook_auto(path).map_err(|error| format!("is a workbook that cannot be read: {error}; save it as CSV"))?;
    let mut sheets = Vec::new();
    let currencies = currencies::of(path);
    let is_hidden = |sheet: &&calamine::Sheet| sheet.visible != SheetVisible::Visible;
    let hidden: Vec<String> = book.sheets_metadata().iter().filter(is_hidden).map(|sheet| sheet.name.clone()).collect();
    for name in book.sheet_names().into_iter().filter(|name| !hidden.contains(name)) {
        let Ok(range) = book.worksheet_range(&name) else { continue };
        if range.height() * range.width() > CELLS_MAX {
            return Err(format!("has a sheet `{name}` of more than {CELLS_MAX} cells: save it as CSV"));
        }
        let mut rows: Vec<Vec<String>> = range.rows().map(|row| row.iter().map(text).collect()).collect();
        let (top, left) = range.start().unwrap_or_default();
        for ((row, column), currency) in currencies.get(&name).into_iter().flatten() {
            let place = row.checked_sub(top).zip(column.checked_sub(left)).map(|(row, column)| (row as usize, column as usize));
            let Some((row, column)) = place.filter(|at| range.get(*at).is_some_and(is_number)) else { continue };
            if let Some(cell) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
                cell.push_str(&format!(" {currency}"));
            }
        }
        if rows.iter().any(|row| row.iter().any(|cell| !cell.is_empty())) {
            sheets.push((name, rows));
        }
    }
    match (sheets.is_empty(), hidden.is_empty()) {
        (false, _) => Ok((sheets, hidden)),
        (true, true) => Err("is a workbook without a filled sheet".to_owned()),
        (true, false) => Err("is a workbook of hidden sheets, which are left out: show the sheet to import, and save it".to_owned()),
    }
}

fn is_number(cell: &Data) -> bool {
    matches!(cell, Data::Int(_) | Data::Float(_))
}

/// Converts a cell's date; workbooks of older Macs count days from 1904, which is known only to the library.
fn time(date: &ExcelDateTime) -> Time {
    let days = date.as_f64();
    let (year, month, day, ..) = date.to_ymd_hms_milli();
    let counted = Time(of_excel_day(days)).day().0;
    let shown = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())
        .map_or(counted, |day| Time(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis()).day().0);
    // A difference of one day is rounding; of years, another day zero.
    let apart = if (shown - counted).abs() > 1 { f64::from(shown - counted) } else { 0.0 };
    Time(of_excel_day(days + apart))
}

fn text(cell: &Data) -> String {
    match cell {
        Data::Empty | Data::Error(_) => String::new(),
        Data::DateTime(date) if date.is_datetime() => time(date).to_string(),
        Data::DateTime(date) => date.as_f64().to_string(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(truth) => truth.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.trim().to_owned(),
        #[allow(unreachable_patterns, reason = "kinds of cells that later versions add")]
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use calamine::ExcelDateTimeType;

    use super::*;

    #[test]
    fn days_are_counted_from_where_the_workbook_does() {
        for (days, from_1904, shown) in [
            (45_352.0, false, "2024-03-01T00:00:00Z"),
            (45_352.5, false, "2024-03-01T12:00:00Z"),
            (43_890.0, true, "2024-03-01T00:00:00Z"),
            (43_890.25, true, "2024-03-01T06:00:00Z"),
        ] {
            let cell = Data::DateTime(ExcelDateTime::new(days, ExcelDateTimeType::DateTime, from_1904));
            assert_eq!(text(&cell), shown, "{days} {from_1904}");
        }
    }
}
