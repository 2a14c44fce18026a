//! Which rows of a table are shown and in what order: filtered in stretches; sorted by polars, those of a large table by an order that
//! stands in a file. Runs off the drawing thread; it can be cancelled between stretches.

use std::{
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use polars::prelude::{Column, DataFrame, IdxCa, NamedFrom, SortOptions};
use rayon::prelude::*;

use super::cells::{self, CellValue};
use crate::{
    dataset::{
        cache::{Rank, first, rank},
        grid::Grid,
        schema::{Kind, TableSchema},
    },
    error::{Code, Problem, Result},
    question::progress::Progress,
    tui::filter::{FieldValue, Filter, FilterColumn, Term},
};

/// More rows are not sorted: the order of each takes four bytes and its values some more.
pub(super) const SORT_ROWS_MAX: usize = 5_000_000;
/// Rows of a large table that are shown in their order while that of the others is made.
const FIRST_ROWS: usize = 1_000;
/// Rows looked at between two looks at whether they are still wanted.
const STRETCH: usize = 16_384;

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
#[derive(Debug, Clone)]
pub(super) enum Shown {
    All,
    Rows(Arc<Vec<u32>>),
    /// The first rows of an order that is being made.
    First(Arc<Vec<u32>>),
    Ranked(Arc<Rank>),
}

impl Shown {
    pub(super) fn len(&self, all: usize) -> usize {
        match self {
            Self::All => all,
            Self::Rows(rows) | Self::First(rows) => rows.len(),
            Self::Ranked(rank) => rank.len(),
        }
    }

    /// The place in the table of a row on screen.
    pub(super) fn row(&self, shown: usize, all: usize) -> Option<usize> {
        match self {
            Self::All => (shown < all).then_some(shown),
            Self::Rows(rows) | Self::First(rows) => rows.get(shown).map(|&row| row as usize),
            Self::Ranked(rank) => rank.get(shown).map(|row| row as usize),
        }
    }
}

/// Why an order was not made.
struct Stopped(Problem);

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        tracing::warn!("sorting: {error}");
        Self(Problem::new(Code::Defect, format!("the rows cannot be sorted: {error}")))
    }
}

/// The rows that are wanted, in their order: the first of a large table, where all of them take a while, unless `all` are asked for.
pub(super) fn shown(grid: &Grid, wanted: &Wanted, schema: &TableSchema, all: bool, progress: &Progress) -> Result<Shown> {
    let (Grid::Large(table), Some((name, falls)), true) = (grid, wanted.sort, wanted.filter.is_empty()) else {
        return rows(grid, wanted, schema, progress).map(|rows| rows.map_or(Shown::All, |rows| Shown::Rows(Arc::new(rows))));
    };
    let step = |done: u64, total: u64| progress.step(done, total).map_err(Stopped);
    if in_order(schema, name) {
        // The token is what the rows are ordered by.
        let reversed = || (0..grid.height() as u32).rev().collect();
        return Ok(if falls { Shown::Rows(Arc::new(reversed())) } else { Shown::All });
    }
    let made = if all {
        rank(table, name, falls, step).map(|rank| Shown::Ranked(Arc::new(rank)))
    } else {
        first(table, name, falls, FIRST_ROWS, step).map(|rows| Shown::First(Arc::new(rows)))
    };
    made.map_err(|Stopped(problem)| problem)
}

fn in_order(schema: &TableSchema, column: &str) -> bool {
    schema.order.first() == Some(&column)
}

/// The columns of a table as a filter names them; plain words look into what is text.
pub(super) fn filter_columns(schema: &TableSchema) -> Vec<FilterColumn> {
    let searched = |kind| matches!(kind, Kind::Text | Kind::Address | Kind::Chain | Kind::Chains);
    schema
        .columns
        .iter()
        .map(|column| FilterColumn { name: column.name, aliases: column.aliases, searched: searched(column.kind) })
        .collect()
}

/// The rows that are wanted, in their order; `None` is all of them as they are.
fn rows(grid: &Grid, wanted: &Wanted, schema: &TableSchema, progress: &Progress) -> Result<Option<Vec<u32>>> {
    if wanted.is_all() {
        return Ok(None);
    }
    let kept = if wanted.filter.is_empty() { None } else { Some(filtered(grid, &wanted.filter, schema, progress)?) };
    let Some((name, falls)) = wanted.sort else { return Ok(kept) };
    let count = kept.as_ref().map_or(grid.height(), Vec::len);
    if count > SORT_ROWS_MAX {
        let detail = format!(
            "{} rows of `{}` are too many to sort: up to {} are; filter them first",
            crate::tui::format::count(count as u64),
            schema.name,
            crate::tui::format::count(SORT_ROWS_MAX as u64)
        );
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    // Polars cannot be stopped in the middle; the total is unknown.
    progress.step(0, 0)?;
    match grid {
        Grid::Memory(frame) => sorted(frame, name, falls, kept).map(Some),
        // Of a large table the rows that were kept, in a frame of their own.
        Grid::Large(table) => {
            let kept = kept.unwrap_or_default();
            let mut values = table.stretch(0..0, Some(&[name]));
            for run in kept.chunk_by(|a, b| a + 1 == *b) {
                progress.step(0, 0)?;
                let part = table.stretch(run[0] as usize..run[0] as usize + run.len(), Some(&[name]));
                values.vstack_mut(&part).map_err(|_| Problem::new(Code::Defect, format!("`{name}` cannot be sorted by")))?;
            }
            values.rechunk_mut();
            let order = sorted(&values, name, falls, None)?;
            Ok(Some(order.into_iter().filter_map(|place| kept.get(place as usize).copied()).collect()))
        }
    }
}

fn sorted(frame: &DataFrame, name: &str, falls: bool, kept: Option<Vec<u32>>) -> Result<Vec<u32>> {
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
        None => Ok(indices(&order(column)?)),
        Some(kept) => {
            let chosen = column.take(&IdxCa::new("rows".into(), &kept)).map_err(failed)?;
            Ok(order(&chosen)?.iter().flatten().filter_map(|place| kept.get(place as usize).copied()).collect())
        }
    }
}

fn indices(order: &IdxCa) -> Vec<u32> {
    order.iter().flatten().collect()
}

fn list_text(column: &Column, row: usize) -> Option<String> {
    let frame = column.clone().slice(row as i64, 1).into_frame();
    match cells::in_frame(&frame, column.name(), 0) {
        CellValue::Missing => None,
        value => Some(cells::exact(&value)),
    }
}

fn filtered(grid: &Grid, filter: &Filter, schema: &TableSchema, progress: &Progress) -> Result<Vec<u32>> {
    let looked_at = looked_at(filter, schema);
    let count = grid.height();
    let done = AtomicUsize::new(0);
    let starts: Vec<usize> = (0..count).step_by(STRETCH).collect();
    let kept: Result<Vec<Vec<u32>>> = starts
        .into_par_iter()
        .map(|start| {
            progress.step(done.load(Ordering::Relaxed) as u64, count as u64)?;
            let stretch = start..(start + STRETCH).min(count);
            let kept = keep(&grid.stretch(stretch.clone(), Some(&looked_at)), &stretch, filter, &looked_at);
            done.fetch_add(stretch.len(), Ordering::Relaxed);
            Ok(kept)
        })
        .collect();
    Ok(kept?.concat())
}

/// The columns that the filter can need.
fn looked_at(filter: &Filter, schema: &TableSchema) -> Vec<&'static str> {
    let words = filter.words().next().is_some();
    let named = |name: &str| filter.terms.iter().any(|term| matches!(term, Term::Compare { column, .. } if *column == name));
    filter_columns(schema).into_iter().filter(|column| (words && column.searched) || named(column.name)).map(|column| column.name).collect()
}

fn keep(stretch: &DataFrame, rows: &Range<usize>, filter: &Filter, looked_at: &[&'static str]) -> Vec<u32> {
    let mut kept = Vec::new();
    for (place, row) in rows.clone().enumerate() {
        let values: Vec<(&str, Field)> = looked_at.iter().map(|name| (*name, Field::of(cells::in_frame(stretch, name, place)))).collect();
        // Members borrowed from the values, so that a list can be handed over as one.
        let lists: Vec<Vec<&str>> = values.iter().map(|(_, field)| field.members()).collect();
        let found = |name: &str| values.iter().zip(&lists).find(|((known, _), _)| *known == name);
        if filter.matches(|name| found(name).and_then(|((_, field), list)| field.value(list))) {
            kept.push(row as u32);
        }
    }
    kept
}

/// A cell as the filter sees it.
enum Field {
    Missing,
    Text(String),
    Number(f64),
    Flag(bool),
    List(Vec<String>),
}

impl Field {
    fn of(value: CellValue) -> Self {
        match value {
            CellValue::Missing => Self::Missing,
            CellValue::Text(text) => Self::Text(text),
            CellValue::Integer(number) => Self::Number(number as f64),
            CellValue::Float(number) => Self::Number(number),
            CellValue::Flag(flag) => Self::Flag(flag),
            CellValue::List(members) => Self::List(members),
            // RFC 3339 compares as text, and a part of it is a prefix: `timestamp>2026-01`.
            value @ (CellValue::Time(_) | CellValue::Day(_)) => Self::Text(cells::exact(&value)),
        }
    }

    fn members(&self) -> Vec<&str> {
        match self {
            Self::List(members) => members.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    fn value<'a>(&'a self, list: &'a [&'a str]) -> Option<FieldValue<'a>> {
        match self {
            Self::Missing => None,
            Self::Text(text) => Some(FieldValue::Text(text)),
            Self::Number(number) => Some(FieldValue::Number(*number)),
            Self::Flag(flag) => Some(FieldValue::Flag(*flag)),
            Self::List(_) => Some(FieldValue::List(list)),
        }
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, Series};

    use super::*;
    use crate::{dataset::schema, tui::filter};

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
        type Case = (&'static str, Option<(&'static str, bool)>, Option<&'static [u32]>);
        let cases: [Case; 8] = [
            ("", None, None),
            ("chain:base", None, Some(&[0, 2])),
            ("price>1", Some(("price", true)), Some(&[2, 0])),
            ("", Some(("price", false)), Some(&[3, 0, 2, 1])),
            ("", Some(("price", true)), Some(&[2, 0, 3, 1])),
            ("", Some(("chain", false)), Some(&[2, 1, 3, 0])),
            ("pep", None, Some(&[1])),
            ("holders<400", Some(("symbol", false)), Some(&[1, 0])),
        ];
        let (frame, schema) = tokens();
        for (text, sort, expected) in cases {
            let filter = filter::parse(text, &filter_columns(schema)).unwrap();
            let shown = rows(&Grid::Memory(frame.clone()), &Wanted { filter, sort }, schema, &Progress::default()).unwrap();
            assert_eq!(shown.as_deref(), expected, "{text} {sort:?}");
        }
    }

    #[test]
    fn what_is_cancelled_stops() {
        let (frame, schema) = tokens();
        let progress = Progress::default();
        progress.cancel();
        let filter = filter::parse("usd", &filter_columns(schema)).unwrap();
        assert_eq!(rows(&Grid::Memory(frame), &Wanted { filter, sort: None }, schema, &progress).unwrap_err().code, Code::Cancelled);
    }
}
