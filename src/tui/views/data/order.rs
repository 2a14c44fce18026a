//! Which rows of a table are shown and in what order: filtered in stretches; sorted by polars, those of a large table by an order that
//! stands in a file. Runs off the drawing thread; it can be cancelled between stretches.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use polars::prelude::{Column, DataFrame, IdxCa, NamedFrom, SortOptions};
use rayon::prelude::*;

use super::cells::{self, CellValue};
use crate::{
    dataset::{
        cache::{Extent, LargeTable, Places, PlacesWriter, first, rank},
        grid::Grid,
        schema::TableSchema,
        time::Time,
    },
    error::{Code, Problem, Result},
    question::{
        filter::{self, ColumnKind, FieldValue, Filter, FilterColumn},
        progress::Progress,
    },
};

/// Rows of a large table that are shown in their order while that of the others is made.
const FIRST_ROWS: usize = 1_000;
/// Rows that are sorted at once, without the first of them before the others.
const AT_ONCE: usize = if cfg!(test) { 5_000 } else { 200_000 };
/// Rows looked at between two looks at whether they are still wanted.
const STRETCH: usize = 16_384;
/// Stretches that are filtered before what was found in them is put away.
const STRETCHES: usize = 64;

/// What is to be shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) filter: Filter,
    /// A column and whether it falls.
    pub(super) sort: Option<(&'static str, bool)>,
}

impl Wanted {
    pub(super) fn is_all(&self) -> bool {
        self.filter.is_empty() && self.sort.is_none()
    }
}

/// The rows shown, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    pub(super) places: Places,
    /// The rows that these are the first of, where the order of all is still to be made.
    pub(super) of: Option<Places>,
}

impl Shown {
    pub(super) fn all(height: usize) -> Self {
        Self::whole(Places::Run(0..height))
    }

    fn whole(places: Places) -> Self {
        Self { places, of: None }
    }

    /// How many there are once the order is made.
    pub(super) fn total(&self) -> usize {
        self.of.as_ref().map_or(self.places.len(), Places::len)
    }
}

/// The rows that are wanted, in their order: the first of a large table, where all of them take a while; `whole` makes them all.
pub(super) fn shown(grid: &Grid, wanted: &Wanted, schema: &TableSchema, progress: &Progress) -> Result<Shown> {
    let filter = &wanted.filter;
    let kept = if filter.is_empty() { Ok(Places::Run(0..grid.height())) } else { filtered(grid, filter, schema, progress) };
    kept.and_then(|kept| match (grid, wanted.sort) {
        (_, None) => Ok(Shown::whole(kept)),
        (Grid::Memory(frame), Some((name, falls))) => {
            // Polars cannot be stopped in the middle; the total is unknown.
            progress.step(0, 0)?;
            let kept = (!filter.is_empty()).then_some(kept);
            Ok(Shown::whole(Places::from(sorted(frame, name, falls, kept.as_ref())?)))
        }
        // The token is what the rows are ordered by.
        (Grid::Large(_), Some((name, falls))) if schema.order.first() == Some(&name) => {
            Ok(Shown::whole(if falls { Places::Backwards(Box::new(kept)) } else { kept }))
        }
        (Grid::Large(table), Some(sort)) if kept.len() > AT_ONCE => {
            let rows = first(table, sort, &kept, FIRST_ROWS, |done, total| progress.step(done, total))?;
            Ok(Shown { places: Places::from(rows), of: Some(kept) })
        }
        (Grid::Large(table), Some(sort)) => ranked(table, sort, &kept, progress),
    })
}

/// All of the rows that `shown` gave the first of.
pub(super) fn whole(grid: &Grid, wanted: &Wanted, shown: Shown, progress: &Progress) -> Result<Shown> {
    match (grid, wanted.sort, &shown.of) {
        (Grid::Large(table), Some(sort), Some(of)) => ranked(table, sort, of, progress),
        _ => Ok(shown),
    }
}

fn ranked(table: &LargeTable, sort: (&str, bool), among: &Places, progress: &Progress) -> Result<Shown> {
    rank(table, sort, among, |done, total| progress.step(done, total)).map(Shown::whole)
}

fn sorted(frame: &DataFrame, name: &str, falls: bool, kept: Option<&Places>) -> Result<Vec<u32>> {
    let failed = |error: polars::prelude::PolarsError| {
        tracing::warn!("sorting by {name}: {error}");
        Problem::new(Code::Defect, format!("`{name}` cannot be sorted by: choose another column"))
    };
    let column = frame.column(name).map_err(failed)?;
    let options = SortOptions { descending: falls, nulls_last: true, maintain_order: true, ..SortOptions::default() };
    let order = |column: &Column| -> Result<IdxCa> {
        if column.dtype().is_list() {
            // Lists are ordered by what is shown of them.
            let texts: Vec<Option<String>> = (0..column.len()).map(|row| list_text(column, row)).collect();
            return Ok(Column::new(name.into(), texts).arg_sort(options));
        }
        Ok(column.arg_sort(options))
    };
    match kept {
        None => Ok(order(column)?.iter().flatten().collect()),
        Some(kept) => {
            let rows: Vec<u32> = kept.iter().map(|place| place as u32).collect();
            let chosen = column.take(&IdxCa::new("rows".into(), &rows)).map_err(failed)?;
            Ok(order(&chosen)?.iter().flatten().filter_map(|place| rows.get(place as usize).copied()).collect())
        }
    }
}

fn list_text(column: &Column, row: usize) -> Option<String> {
    let frame = column.clone().slice(row as i64, 1).into_frame();
    match cells::in_frame(&frame, column.name(), 0) {
        CellValue::Missing => None,
        value => Some(cells::exact(&value)),
    }
}

fn filtered(grid: &Grid, filter: &Filter, schema: &TableSchema, progress: &Progress) -> Result<Places> {
    let looked_at = filter.looked_at(filter::of_table(schema));
    let names: Vec<&str> = looked_at.iter().map(|column| &*column.name).collect();
    let count = grid.height();
    let done = AtomicUsize::new(0);
    let folder = if let Grid::Large(table) = grid { Some(table.folder()) } else { None };
    let mut places = PlacesWriter::new(folder);
    for stretches in (0..count).step_by(STRETCH).collect::<Vec<_>>().chunks(STRETCHES) {
        let kept: Result<Vec<Vec<u32>>> = stretches
            .par_iter()
            .map(|&start| {
                progress.step(done.load(Ordering::Relaxed) as u64, count as u64)?;
                let stretch = start..(start + STRETCH).min(count);
                let may = filter.may_match(|column| range(grid, column, stretch.clone(), &looked_at));
                let kept = if may { keep(&grid.stretch(stretch.clone(), Some(&names)), &stretch, filter, &looked_at) } else { Vec::new() };
                done.fetch_add(stretch.len(), Ordering::Relaxed);
                Ok(kept)
            })
            .collect();
        for place in kept?.into_iter().flatten() {
            places.push(place)?;
        }
    }
    Ok(places.finish()?)
}

/// What the rows of a large table's column lie between, as far as that is known without reading them.
fn range(grid: &Grid, column: &str, rows: Range<usize>, looked_at: &[FilterColumn]) -> Option<filter::Range> {
    let Grid::Large(table) = grid else { return None };
    let kind = looked_at.iter().find(|known| known.name == column)?.kind;
    Some(match (table.extent(column, rows)?, kind) {
        (Extent::Empty, _) => filter::Range::Empty,
        (Extent::Float(low, high), ColumnKind::Number) => filter::Range::Number(low, high),
        (Extent::Whole(low, high), ColumnKind::Number) => filter::Range::Number(low as f64, high as f64),
        (Extent::Whole(low, high), ColumnKind::Time) => filter::Range::Time(Time(low), Time(high)),
        _ => return None,
    })
}

fn keep(stretch: &DataFrame, rows: &Range<usize>, filter: &Filter, looked_at: &[FilterColumn]) -> Vec<u32> {
    let mut kept = Vec::new();
    for (place, row) in rows.clone().enumerate() {
        let values: Vec<(&FilterColumn, CellValue)> =
            looked_at.iter().map(|column| (column, cells::in_frame(stretch, &column.name, place))).collect();
        let found = |name: &str| values.iter().find(|(column, _)| column.name == name);
        if filter.matches(|name| found(name).and_then(|(column, value)| field(value, column.kind))) {
            kept.push(row as u32);
        }
    }
    kept
}

/// A cell as the filter sees it.
fn field(value: &CellValue, kind: ColumnKind) -> Option<FieldValue<'_>> {
    Some(match value {
        CellValue::Missing => return None,
        // Amounts that no integer holds are kept as their digits.
        CellValue::Text(digits) if kind == ColumnKind::Number => FieldValue::Number(digits.parse().ok()?),
        CellValue::Text(text) => FieldValue::text(text),
        CellValue::Integer(number) => FieldValue::Number(*number as f64),
        CellValue::Float(number) => FieldValue::Number(*number),
        CellValue::Flag(flag) => FieldValue::Flag(*flag),
        CellValue::List(members) => return FieldValue::list(members),
        CellValue::Time(time) => FieldValue::Time(*time),
        CellValue::Day(day) => FieldValue::Day(*day),
    })
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, Series};

    use super::*;
    use crate::dataset::schema;

    fn tokens() -> (DataFrame, &'static TableSchema) {
        let chains = Series::new(
            "chain".into(),
            [
                Series::new("".into(), ["eth", "base"]),
                Series::new("".into(), ["bsc"]),
                Series::new("".into(), ["base"]),
                Series::new("".into(), ["eth"]),
            ],
        );
        let columns = [
            Series::new("symbol".into(), ["UNI", "PEPX", "LINK", "USDC"]),
            Series::new("price".into(), [Some(7.31), None, Some(14.0), Some(1.0)]),
            Series::new("holders".into(), [Some(381_i64), Some(2), Some(742), None]),
            chains,
        ];
        (DataFrame::new(4, columns.into_iter().map(IntoColumn::into_column).collect()).unwrap(), schema::table("tokens").unwrap())
    }

    #[test]
    fn rows_are_filtered_and_sorted_with_missing_values_last() {
        type Case = (&'static str, Option<(&'static str, bool)>, &'static [usize]);
        let cases: [Case; 8] = [
            ("", None, &[0, 1, 2, 3]),
            ("chain:base", None, &[0, 2]),
            ("price>1", Some(("price", true)), &[2, 0]),
            ("", Some(("price", false)), &[3, 0, 2, 1]),
            ("", Some(("price", true)), &[2, 0, 3, 1]),
            ("", Some(("chain", false)), &[2, 1, 3, 0]),
            ("pep", None, &[1]),
            ("holders<400", Some(("symbol", false)), &[1, 0]),
        ];
        let (frame, schema) = tokens();
        for (text, sort, expected) in cases {
            let filter = filter::parse(text, &filter::of_table(schema)).unwrap();
            let shown = shown(&Grid::Memory(frame.clone()), &Wanted { filter, sort }, schema, &Progress::default()).unwrap();
            assert_eq!(shown.places.iter().collect::<Vec<_>>(), expected, "{text} {sort:?}");
        }
    }

    #[test]
    fn what_is_cancelled_stops() {
        let (frame, schema) = tokens();
        let progress = Progress::default();
        progress.cancel();
        let filter = filter::parse("usd", &filter::of_table(schema)).unwrap();
        let stopped = shown(&Grid::Memory(frame), &Wanted { filter, sort: None }, schema, &progress);
        assert_eq!(stopped.unwrap_err().code, Code::Cancelled);
    }
}
