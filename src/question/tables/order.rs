//! Which rows of a table are wanted and in what order: filtered in stretches; sorted by polars, those of a large table by an order that
//! is kept in a file. It can be cancelled between stretches.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use polars::prelude::{Column, DataFrame, IdxCa, NamedFrom, SortMultipleOptions};
use rayon::prelude::*;

use super::columns;
use crate::{
    dataset::{
        Table,
        cache::{Extent, Places, PlacesWriter, SortBy, first, rank},
        candles::Interval,
        cell::{CellValue, in_frame},
        grid::Grid,
        schema::{Kind, TableSchema},
        time::Time,
    },
    error::{Code, Problem, Result},
    question::{
        Find,
        filter::{self, ColumnKind, FieldValue, Filter, FilterColumn, RowsLeftOut},
        memory::OrderedRows,
        order::Order,
        progress::Progress,
        snapshot::Snapshot,
    },
};

/// Rows of a large table that are known in their order while that of the others is made.
const FIRST_ROWS: usize = 1_000;
/// Rows looked at between two looks at whether they are still wanted.
const STRETCH: usize = 16_384;
/// Stretches that are filtered before what was found in them is put away.
const STRETCHES: usize = 64;

/// Stretches that are looked through at once where only some rows are wanted.
const STRETCHES_AHEAD: usize = 8;

/// The rows of a table that are wanted, in their order: filtered, then sorted by the columns one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct RowQuery {
    pub table: &'static TableSchema,
    pub filter: Filter,
    pub sort: Vec<Order>,
}

/// All of the rows that `RowQuery` found the first of.
#[derive(Debug, Clone)]
pub struct Whole {
    pub wanted: RowQuery,
    pub found: OrderedRows,
}

impl RowQuery {
    pub fn all(table: &'static TableSchema) -> Self {
        Self { table, filter: Filter::default(), sort: Vec::new() }
    }

    pub fn is_all(&self) -> bool {
        self.filter.is_empty() && self.sort.is_empty()
    }

    /// The rows as they stand, filtered, and those left out for want of a value.
    pub(super) fn kept(&self, table: &Table, grid: &Grid, progress: &Progress) -> Result<(Places, RowsLeftOut)> {
        if self.filter.is_empty() {
            return Ok((Places::Run(0..grid.height()), RowsLeftOut::default()));
        }
        filtered(grid, &self.filter, &self.looked_at(table), progress)
    }

    /// The columns that the filter can need.
    fn looked_at(&self, table: &Table) -> Vec<FilterColumn> {
        self.filter.looked_at(columns::for_filter(table))
    }

    /// The first `count` rows that the filter keeps, from row `start` on as they stand.
    pub(super) fn next(&self, table: &Table, grid: &Grid, start: usize, count: usize, progress: &Progress) -> Result<Vec<u32>> {
        let looked_at = self.looked_at(table);
        let mut found = Vec::new();
        for stretches in (start..grid.height()).step_by(STRETCH).collect::<Vec<_>>().chunks(STRETCHES_AHEAD) {
            progress.step(stretches[0] as u64, grid.height() as u64)?;
            let kept = |&start: &usize| kept_of(grid, start..(start + STRETCH).min(grid.height()), &self.filter, &looked_at);
            found.par_extend(stretches.par_iter().flat_map_iter(|start| kept(start).map_or_else(Vec::new, |(kept, _)| kept)));
            if found.len() >= count {
                break;
            }
        }
        found.truncate(count);
        Ok(found)
    }

    /// Some rows in their order: all of them, or the first `count` where all take a while.
    pub(super) fn ordered(&self, grid: &Grid, kept: Places, count: Option<usize>, progress: &Progress) -> Result<OrderedRows> {
        match (grid, self.sort.as_slice()) {
            (_, []) => Ok(OrderedRows::whole(kept)),
            (Grid::Memory(frame), sort) => {
                // Polars cannot be stopped in the middle; the total is unknown.
                progress.step(0, 0)?;
                Ok(OrderedRows::whole(Places::from(sorted(frame, self.table, sort, &kept)?)))
            }
            // The token is what the rows are ordered by.
            (Grid::Large(_), [sort]) if self.table.order.first() == Some(&sort.column) => {
                Ok(OrderedRows::whole(if sort.descending { Places::Backwards(Box::new(kept)) } else { kept }))
            }
            (Grid::Large(table), sort) => {
                let ties: Vec<(&str, bool)> = sort.iter().skip(1).map(|tie| (tie.column, tie.descending)).collect();
                let by = SortBy { ties: &ties, ..SortBy::from((sort[0].column, sort[0].descending)) };
                let step = |done, total| progress.step(done, total);
                match count.filter(|_| kept.len() > table.sorting().at_once) {
                    None => rank(table, by, &kept, step).map(OrderedRows::whole),
                    Some(count) => {
                        let places = Places::from(first(table, by, &kept, count, step)?);
                        Ok(OrderedRows { places, of: Some(kept), ..OrderedRows::default() })
                    }
                }
            }
        }
    }
}

impl Find for RowQuery {
    type Found = OrderedRows;

    /// The first of a large table, where all of them take a while; `Whole` makes them all.
    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<OrderedRows> {
        let table = super::known_table(snapshot, self.table.name)?;
        let grid = Grid::of(table);
        let (kept, left_out) = self.kept(table, &grid, progress)?;
        Ok(OrderedRows { left_out, ..self.ordered(&grid, kept, Some(FIRST_ROWS), progress)? })
    }
}

impl Find for Whole {
    type Found = OrderedRows;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<OrderedRows> {
        let table = super::known_table(snapshot, self.wanted.table.name)?;
        match &self.found.of {
            Some(of) => {
                let whole = self.wanted.ordered(&Grid::of(table), of.clone(), None, progress)?;
                Ok(OrderedRows { left_out: self.found.left_out.clone(), ..whole })
            }
            None => Ok(self.found.clone()),
        }
    }
}

/// Places in the order of the columns; what has no value comes last either way, and equals stay as they stand.
fn sorted(frame: &DataFrame, schema: &TableSchema, sort: &[Order], kept: &Places) -> Result<Vec<u32>> {
    let failed = |error: polars::prelude::PolarsError| {
        tracing::warn!("sorting {}: {error}", schema.name);
        Problem::new(Code::Defect, "The rows cannot be sorted so: choose another column.")
    };
    let rows: Vec<u32> = kept.iter().map(|place| place as u32).collect();
    let places = IdxCa::new("rows".into(), &rows);
    let mut keys = Vec::with_capacity(sort.len());
    for (nth, by) in sort.iter().enumerate() {
        let column = frame.column(by.column).and_then(|column| column.take(&places)).map_err(failed)?;
        let kind = schema.column(by.column).map(|column| column.kind);
        keys.push(comparable(column, kind).with_name(nth.to_string().into()));
    }
    let options = SortMultipleOptions::default()
        .with_order_descending_multi(sort.iter().map(|by| by.descending))
        .with_nulls_last_multi(sort.iter().map(|_| true))
        .with_maintain_order(true);
    let names: Vec<String> = (0..sort.len()).map(|nth| nth.to_string()).collect();
    let mut keyed = DataFrame::new(rows.len(), keys).map_err(failed)?;
    keyed.with_column(Column::from(polars::prelude::IntoSeries::into_series(places))).map_err(failed)?;
    let sorted = keyed.sort(names, options).map_err(failed)?;
    let sorted = sorted.column("rows").and_then(|rows| rows.idx().cloned()).map_err(failed)?;
    Ok(sorted.iter().flatten().collect())
}

/// The column as it is compared.
fn comparable(column: Column, kind: Option<Kind>) -> Column {
    let name = column.name().clone();
    let Ok(texts) = column.str() else {
        if column.dtype().is_list() {
            // Lists are ordered by what is shown of them.
            return Column::new(name, (0..column.len()).map(|row| list_text(&column, row)).collect::<Vec<_>>());
        }
        return column;
    };
    match kind {
        // The longer number is the larger one.
        Some(Kind::Uint256) => Column::new(name, texts.iter().map(|cell| cell.map(|digits| format!("{digits:0>78}"))).collect::<Vec<_>>()),
        Some(Kind::Text) if name == "interval" => {
            Column::new(name, texts.iter().map(|cell| cell.and_then(Interval::parse).map(|interval| interval.0)).collect::<Vec<_>>())
        }
        _ => column,
    }
}

fn list_text(column: &Column, row: usize) -> Option<String> {
    let frame = column.clone().slice(row as i64, 1).into_frame();
    match in_frame(&frame, column.name(), 0) {
        CellValue::List(members) => Some(members.join(", ")),
        _ => None,
    }
}

fn filtered(grid: &Grid, filter: &Filter, looked_at: &[FilterColumn], progress: &Progress) -> Result<(Places, RowsLeftOut)> {
    let count = grid.height();
    let done = AtomicUsize::new(0);
    let (mut left_out, mut counted) = (RowsLeftOut::of(filter), true);
    // Rows that are passed over unread cannot be counted.
    let may_lack = matches!(grid, Grid::Large(table) if filter.columns().any(|column| table.has_empty(column)));
    let mut places = PlacesWriter::beside(if let Grid::Large(table) = grid { Some(table.as_ref()) } else { None });
    for stretches in (0..count).step_by(STRETCH).collect::<Vec<_>>().chunks(STRETCHES) {
        let kept: Result<Vec<Option<Kept>>> = stretches
            .par_iter()
            .map(|&start| {
                progress.step(done.load(Ordering::Relaxed) as u64, count as u64)?;
                let stretch = start..(start + STRETCH).min(count);
                let kept = kept_of(grid, stretch.clone(), filter, looked_at);
                done.fetch_add(stretch.len(), Ordering::Relaxed);
                Ok(kept)
            })
            .collect();
        for kept in kept? {
            let Some((rows, lacking)) = kept else {
                counted &= !may_lack;
                continue;
            };
            left_out.add(&lacking);
            for place in rows {
                places.push(place)?;
            }
        }
    }
    Ok((places.finish()?, if counted { left_out } else { RowsLeftOut::default() }))
}

/// Rows that the filter keeps, and those that it leaves out for want of a value.
type Kept = (Vec<u32>, RowsLeftOut);

/// Those of the rows that the filter keeps; none where it was known without reading them that it keeps none.
fn kept_of(grid: &Grid, rows: Range<usize>, filter: &Filter, looked_at: &[FilterColumn]) -> Option<Kept> {
    if !filter.may_match(|column| range(grid, column, rows.clone(), looked_at)) {
        return None;
    }
    let names: Vec<&str> = looked_at.iter().map(|column| column.name).collect();
    Some(keep(&grid.stretch(rows.clone(), Some(&names)), &rows, filter, looked_at))
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

fn keep(stretch: &DataFrame, rows: &Range<usize>, filter: &Filter, looked_at: &[FilterColumn]) -> Kept {
    let (mut kept, mut left_out) = (Vec::new(), RowsLeftOut::of(filter));
    for (place, row) in rows.clone().enumerate() {
        let values: Vec<(&FilterColumn, CellValue)> =
            looked_at.iter().map(|column| (column, in_frame(stretch, column.name, place))).collect();
        let found = |name: &str| values.iter().find(|(column, _)| column.name == name);
        if filter.keeps(|name| found(name).and_then(|(column, value)| field(value, column.kind)), |_| true, &mut left_out) {
            kept.push(row as u32);
        }
    }
    (kept, left_out)
}

/// A cell as the filter sees it.
fn field(value: &CellValue, kind: ColumnKind) -> Option<FieldValue<'_>> {
    match value {
        // Amounts that no integer holds are kept as their digits.
        CellValue::Text(digits) if kind == ColumnKind::Number => digits.parse().ok().map(FieldValue::Number),
        value => FieldValue::of_cell(value),
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, Series};

    use super::*;
    use crate::{
        dataset::{Dataset, TableState, schema},
        question::snapshot::AnswerSettings,
    };

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
            let sort = sort.into_iter().map(|(column, descending)| Order { column, descending }).collect();
            assert_eq!(found(&frame, &RowQuery { table: schema, filter, sort }, &Progress::default()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn rows_that_a_missing_value_alone_leaves_out_are_counted() {
        let (frame, schema) = tokens();
        for (text, sort, expected) in [
            ("price>1", None, &[("price", 1)][..]),
            ("price>1 holders<400", Some("symbol"), &[("price", 1)]),
            ("holders>2 price>0", None, &[("holders", 1)]),
            ("price>1 symbol:uni", None, &[]),
            ("", Some("price"), &[]),
        ] {
            let filter = filter::parse(text, &filter::of_table(schema)).unwrap();
            let wanted = RowQuery { table: schema, filter, sort: sort.into_iter().map(Order::rising).collect() };
            let rows = asked(&frame, &wanted, &Progress::default()).unwrap();
            assert_eq!(rows.left_out.columns().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    fn found(frame: &DataFrame, wanted: &RowQuery, progress: &Progress) -> Result<Vec<usize>> {
        asked(frame, wanted, progress).map(|shown| shown.places.iter().collect())
    }

    fn asked(frame: &DataFrame, wanted: &RowQuery, progress: &Progress) -> Result<OrderedRows> {
        let table = Table { frame: frame.clone(), state: TableState::Loaded, ..Table::absent(wanted.table) };
        let snapshot = Snapshot::new(1, Dataset::new(vec![table]), AnswerSettings::default());
        wanted.find(&snapshot, progress)
    }

    #[test]
    fn numbers_that_are_kept_as_text_are_sorted_as_numbers_and_lengths_of_time_by_their_length() {
        type Case = (&'static [(&'static str, bool)], &'static [usize]);
        let by = |names: &[(&'static str, bool)]| names.iter().map(|&(column, descending)| Order { column, descending }).collect();
        let values = Series::new("value".into(), [Some("9"), Some("10"), None, Some("0"), Some("10")]);
        let logs = Series::new("log_index".into(), [1_i64, 1, 2, 3, 4]);
        let transfers = DataFrame::new(5, vec![values.into_column(), logs.into_column()]).unwrap();
        let schema = schema::table("transfers").unwrap();
        let cases: [Case; 4] = [
            (&[("value", false)], &[3, 0, 1, 4, 2]),
            (&[("value", true)], &[1, 4, 0, 3, 2]),
            (&[("value", true), ("log_index", true)], &[4, 1, 0, 3, 2]),
            (&[("log_index", false), ("value", true)], &[1, 0, 2, 3, 4]),
        ];
        for (sort, expected) in cases {
            let wanted = RowQuery { sort: by(sort), ..RowQuery::all(schema) };
            assert_eq!(found(&transfers, &wanted, &Progress::default()).unwrap(), expected, "{sort:?}");
        }
        let intervals = Series::new("interval".into(), ["1d", "1h", "1w", "15m"]).into_column();
        let candles = DataFrame::new(4, vec![intervals]).unwrap();
        let wanted = RowQuery { sort: by(&[("interval", false)]), ..RowQuery::all(schema::table("candles").unwrap()) };
        assert_eq!(found(&candles, &wanted, &Progress::default()).unwrap(), [3, 1, 0, 2]);
    }

    #[test]
    fn a_cancelled_order_stops() {
        let (frame, schema) = tokens();
        let progress = Progress::default();
        progress.cancel();
        let filter = filter::parse("usd", &filter::of_table(schema)).unwrap();
        let stopped = found(&frame, &RowQuery { filter, ..RowQuery::all(schema) }, &progress);
        assert_eq!(stopped.unwrap_err().code, Code::Cancelled);
    }
}
