//! Excel and OpenDocument workbooks: each sheet as rows of texts, dates as ISO 8601, numbers with the currency or percent
//! sign of their number format.

mod bounds;
mod compound;
mod formats;
mod grid;
mod opendocument;

use std::{fmt::Display, path::Path};

use calamine::{
    Data, DataRef, ExcelDateTime, Reader, SheetVisible, Xls, Xlsb, Xlsx, open_workbook,
};
use chrono::{NaiveDate, NaiveTime};

pub(super) use self::grid::CELLS_MAX;
use self::{
    formats::FormatUnit,
    grid::{Room, SheetGrid},
};
use super::{
    archive::{self, ZippedWorkbook},
    error::WorkbookError,
};
use load::cells::notation::of_excel_day;
use model::{time::Time, untrusted::caught};

/// A sheet's name and its rows of cells.
pub(super) type NamedSheet = (String, Vec<Vec<String>>);

/// The non-empty sheets that are shown, and the names of the hidden ones.
pub(super) fn sheets(path: &Path) -> Result<(Vec<NamedSheet>, Vec<String>), WorkbookError> {
    let read = caught(|| {
        let mut found = Found::default();
        read(path, &mut found).map(|()| found)
    });
    let found = read.unwrap_or(Err(WorkbookError::Damaged))?;
    match (found.sheets.is_empty(), found.hidden.is_empty()) {
        (false, _) => Ok((found.sheets, found.hidden)),
        (true, true) => Err(WorkbookError::NoSheet),
        (true, false) => Err(WorkbookError::OnlyHidden),
    }
}

/// The sheets read so far.
#[derive(Default)]
struct Found {
    sheets: Vec<NamedSheet>,
    hidden: Vec<String>,
    room: Room,
}

impl Found {
    fn add(&mut self, name: String, is_hidden: bool, grid: SheetGrid) {
        if is_hidden {
            self.hidden.push(name);
            return;
        }
        let rows = grid.rows(&mut self.room);
        if !rows.is_empty() {
            self.sheets.push((name, rows));
        }
    }

    /// The names of the visible sheets; notes the hidden ones.
    fn shown(&mut self, sheets: &[calamine::Sheet]) -> Vec<String> {
        let (shown, hidden): (Vec<_>, Vec<_>) = sheets
            .iter()
            .partition(|sheet| sheet.visible == SheetVisible::Visible);
        self.hidden
            .extend(hidden.into_iter().map(|sheet| sheet.name.clone()));
        shown.into_iter().map(|sheet| sheet.name.clone()).collect()
    }
}

fn unreadable(error: impl Display) -> WorkbookError {
    WorkbookError::Unreadable(error.to_string())
}

/// Reads the sheets, after it is sure that this takes a limited room.
fn read(path: &Path, found: &mut Found) -> Result<(), WorkbookError> {
    match archive::workbook(path) {
        Some(ZippedWorkbook::OpenDocument) => return opendocument::read(path, found),
        Some(ZippedWorkbook::Excel) => {
            found.room.stores(bounds::check(path)?);
            let mut book: Xlsx<_> = open_workbook(path).map_err(unreadable)?;
            let formats = formats::of(path);
            for name in found.shown(book.sheets_metadata()) {
                // Sheets that are charts have no cells.
                let Ok(mut cells) = book.worksheet_cells_reader(&name) else {
                    continue;
                };
                let mut grid = SheetGrid::default();
                while let Some((cell, style)) = cells
                    .next_cell_with_style_id()
                    .map_err(|error| damaged(&name, error))?
                {
                    let unit = formats.get(style).and_then(Option::as_ref);
                    grid.put(
                        place(cell.get_position()),
                        cell_text(cell.get_value(), unit),
                        &mut found.room,
                    )?;
                }
                found.add(name, false, grid);
            }
        }
        Some(ZippedWorkbook::ExcelBinary) => {
            found.room.stores(bounds::check(path)?);
            let mut book: Xlsb<_> = open_workbook(path).map_err(unreadable)?;
            for name in found.shown(book.sheets_metadata()) {
                let Ok(mut cells) = book.worksheet_cells_reader(&name) else {
                    continue;
                };
                let mut grid = SheetGrid::default();
                while let Some(cell) = cells.next_cell().map_err(|error| damaged(&name, error))? {
                    grid.put(
                        place(cell.get_position()),
                        cell_text(cell.get_value(), None),
                        &mut found.room,
                    )?;
                }
                found.add(name, false, grid);
            }
        }
        None => {
            compound::check(path)?;
            found
                .room
                .stores(std::fs::metadata(path).map_or(0, |meta| meta.len()));
            let mut book: Xls<_> = open_workbook(path).map_err(unreadable)?;
            for name in found.shown(book.sheets_metadata()) {
                let Ok(range) = book.worksheet_range(&name) else {
                    continue;
                };
                let (top, left) = place(range.start().unwrap_or_default());
                let mut grid = SheetGrid::default();
                for (row, column, cell) in range.used_cells() {
                    grid.put((top + row, left + column), text(cell), &mut found.room)?;
                }
                found.add(name, false, grid);
            }
        }
    }
    Ok(())
}

fn damaged(sheet: &str, error: impl Display) -> WorkbookError {
    WorkbookError::DamagedSheet {
        sheet: sheet.to_owned(),
        error: error.to_string(),
    }
}

fn place((row, column): (u32, u32)) -> (usize, usize) {
    (row as usize, column as usize)
}

fn cell_text(cell: &DataRef<'_>, unit: Option<&FormatUnit>) -> String {
    let cell = Data::from(cell.clone());
    let number = match &cell {
        Data::Int(number) => Some(*number as f64),
        Data::Float(number) => Some(*number),
        _ => None,
    };
    match (unit, number) {
        (Some(FormatUnit::Currency(currency)), Some(_)) => format!("{} {currency}", text(&cell)),
        (Some(FormatUnit::Percent), Some(number)) => percent(number),
        (Some(FormatUnit::PercentSign), Some(_)) => format!("{}%", text(&cell)),
        _ => text(&cell),
    }
}

/// The percentage that a cell shows, without the noise of the multiplication.
fn percent(number: f64) -> String {
    let shown: f64 = format!("{:.14e}", number * 100.0)
        .parse()
        .unwrap_or(number * 100.0);
    format!("{shown}%")
}

/// Converts a cell's date; workbooks of older Macs count days from 1904, which is known only to the library.
fn time(date: &ExcelDateTime) -> Time {
    let days = date.as_f64();
    let (year, month, day, ..) = date.to_ymd_hms_milli();
    let counted = Time(of_excel_day(days)).day().0;
    let shown =
        NaiveDate::from_ymd_opt(year.into(), month.into(), day.into()).map_or(counted, |day| {
            Time(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
                .day()
                .0
        });
    // A difference of one day is rounding; of years, another day zero.
    let apart = if (shown - counted).abs() > 1 {
        f64::from(shown - counted)
    } else {
        0.0
    };
    Time(of_excel_day(days + apart))
}

fn text(cell: &Data) -> String {
    match cell {
        Data::Empty | Data::Error(_) => String::new(),
        // A workbook does not know the zone of its times.
        Data::DateTime(date) if date.is_datetime() => {
            time(date).to_string().trim_end_matches('Z').to_owned()
        }
        Data::DateTime(date) => date.as_f64().to_string(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(truth) => truth.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => {
            text.trim().to_owned()
        }
        #[allow(
            unreachable_patterns,
            reason = "kinds of cells that later versions add"
        )]
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use calamine::ExcelDateTimeType;

    use super::*;

    #[test]
    fn a_percentage_is_the_one_that_its_cell_shows() {
        for (number, unit, shown) in [
            (0.0312, Some(FormatUnit::Percent), "3.12%"),
            (0.07, Some(FormatUnit::Percent), "7%"),
            (3.12, Some(FormatUnit::PercentSign), "3.12%"),
            (0.0312, None, "0.0312"),
        ] {
            assert_eq!(cell_text(&DataRef::Float(number), unit.as_ref()), shown);
        }
        assert_eq!(
            cell_text(&DataRef::SharedString("x"), Some(&FormatUnit::Percent)),
            "x"
        );
    }

    #[test]
    fn days_are_counted_from_where_the_workbook_does() {
        for (days, from_1904, shown) in [
            (45_352.0, false, "2024-03-01T00:00:00"),
            (45_352.5, false, "2024-03-01T12:00:00"),
            (43_890.0, true, "2024-03-01T00:00:00"),
            (43_890.25, true, "2024-03-01T06:00:00"),
        ] {
            let cell = Data::DateTime(ExcelDateTime::new(
                days,
                ExcelDateTimeType::DateTime,
                from_1904,
            ));
            assert_eq!(text(&cell), shown, "{days} {from_1904}");
        }
    }
}
