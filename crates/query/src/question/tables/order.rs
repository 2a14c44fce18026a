//! Filtering and sorting of table rows. Filters scan chunk by chunk, checking for cancellation between chunks; the table sorts.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use polars::prelude::DataFrame;
use rayon::prelude::*;

use super::{columns, remote::RemoteQuery};
use crate::question::{
    Find,
    caches::OrderedRows,
    filter::{self, ColumnKind, ExcludedRows, Filter, FilterColumn},
    order::Order,
    progress::Progress,
    view::View,
};
use model::{error::Result, scalar::Scalar, schema::TableSchema, time::Time};
use store::{
    Table,
    cache::{Extent, RowSelection, RowSelectionWriter, SortBy, SortedRows, TableRows},
    cell::in_frame,
};

/// Rows of a large table that are sorted first, by top-k, while the complete order is computed.
const TOP_ROWS: usize = 1_000;
/// Rows of a chunk, between two cancellation checks.
const CHUNK_ROWS: usize = 16_384;
/// Chunks of one parallel batch, whose matches are stored at its end.
const BATCH_CHUNKS: usize = 64;

/// Chunks scanned in parallel when only some matches are needed.
const SCAN_CHUNKS: usize = 8;

/// Row filter and sort order of a table query.
#[derive(Debug, Clone, PartialEq)]
pub struct RowQuery {
    pub table: &'static TableSchema,
    pub filter: Filter,
    pub sort: Vec<Order>,
}

/// The complete order of a query whose first rows `RowQuery` found.
#[derive(Debug, Clone)]
pub struct CompleteOrder {
    pub query: RowQuery,
    pub first: OrderedRows,
}

impl RowQuery {
    pub fn all(table: &'static TableSchema) -> Self {
        Self {
            table,
            filter: Filter::default(),
            sort: Vec::new(),
        }
    }

    pub fn is_all(&self) -> bool {
        self.filter.is_empty() && self.sort.is_empty()
    }

    /// Rows that match the filter, in table order, and those left out because of missing values.
    pub(in crate::question) fn matching_rows(
        &self,
        table: &Table,
        grid: &TableRows,
        progress: &Progress,
    ) -> Result<(RowSelection, ExcludedRows)> {
        if self.filter.is_empty() {
            return Ok((RowSelection::Run(0..grid.height()), ExcludedRows::default()));
        }
        filtered(grid, &self.filter, &self.columns_read(table), progress)
    }

    /// The columns that the filter reads.
    fn columns_read(&self, table: &Table) -> Vec<FilterColumn> {
        self.filter.columns_read(columns::for_filter(table))
    }

    /// The first `count` matching rows from row `start` on, in table order.
    pub(super) fn next_matching(
        &self,
        table: &Table,
        grid: &TableRows,
        start: usize,
        count: usize,
        progress: &Progress,
    ) -> Result<Vec<u32>> {
        let columns_read = self.columns_read(table);
        let mut found = Vec::new();
        for chunks in (start..grid.height())
            .step_by(CHUNK_ROWS)
            .collect::<Vec<_>>()
            .chunks(SCAN_CHUNKS)
        {
            progress.step(chunks[0] as u64, grid.height() as u64)?;
            let matching = |&start: &usize| {
                matching_in_chunk(
                    grid,
                    start..(start + CHUNK_ROWS).min(grid.height()),
                    &self.filter,
                    &columns_read,
                )
            };
            found.par_extend(chunks.par_iter().flat_map_iter(|start| {
                matching(start).map_or_else(Vec::new, |(matching, _)| matching)
            }));
            if found.len() >= count {
                break;
            }
        }
        found.truncate(count);
        Ok(found)
    }

    /// The rows in sort order: all, or with `count` only the first where a complete sort is slow.
    pub(super) fn sorted(
        &self,
        grid: &TableRows,
        matching: RowSelection,
        count: Option<usize>,
        progress: &Progress,
    ) -> Result<OrderedRows> {
        let keys: Vec<(&str, bool)> = self
            .sort
            .iter()
            .map(|by| (by.column, by.descending))
            .collect();
        let Some((first, ties)) = keys.split_first() else {
            return Ok(OrderedRows::complete(matching));
        };
        let by = SortBy {
            ties,
            ..SortBy::from(*first)
        };
        Ok(
            match grid.sorted(by, &matching, count, |done, total| {
                progress.step(done, total)
            })? {
                SortedRows::All(places) => OrderedRows::complete(places),
                SortedRows::First(places) => OrderedRows {
                    places,
                    unsorted: Some(matching),
                    ..OrderedRows::default()
                },
            },
        )
    }
}

impl Find for RowQuery {
    type Found = OrderedRows;

    /// The first rows of a large table where a complete sort is slow; `CompleteOrder` completes them.
    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<OrderedRows> {
        let table = super::loaded_table(view, self.table.name)?;
        if let Some(remote) = RemoteQuery::of(view, table, self, progress)? {
            // The engine sorts them, page by page.
            return Ok(OrderedRows::all(
                usize::try_from(remote.total()?).unwrap_or(usize::MAX),
            ));
        }
        let grid = Arc::clone(&table.rows);
        let (matching, left_out) = self.matching_rows(table, &grid, progress)?;
        Ok(OrderedRows {
            left_out,
            ..self.sorted(&grid, matching, Some(TOP_ROWS), progress)?
        })
    }
}

impl Find for CompleteOrder {
    type Found = OrderedRows;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<OrderedRows> {
        match &self.first.unsorted {
            Some(unsorted) => {
                let table = super::loaded_table(view, self.query.table.name)?;
                let complete = self
                    .query
                    .sorted(&table.rows, unsorted.clone(), None, progress)?;
                Ok(OrderedRows {
                    left_out: self.first.left_out.clone(),
                    ..complete
                })
            }
            None => Ok(self.first.clone()),
        }
    }
}

fn filtered(
    grid: &TableRows,
    filter: &Filter,
    columns_read: &[FilterColumn],
    progress: &Progress,
) -> Result<(RowSelection, ExcludedRows)> {
    let count = grid.height();
    let done = AtomicUsize::new(0);
    let (mut left_out, mut counted) = (ExcludedRows::of(filter), true);
    // Rows of skipped chunks cannot be counted.
    let may_lack = filter.columns().any(|column| grid.has_nulls(column));
    let mut places = RowSelectionWriter::for_table(Some(grid));
    for chunks in (0..count)
        .step_by(CHUNK_ROWS)
        .collect::<Vec<_>>()
        .chunks(BATCH_CHUNKS)
    {
        let matching: Result<Vec<Option<ChunkMatches>>> = chunks
            .par_iter()
            .map(|&start| {
                progress.step(done.load(Ordering::Relaxed) as u64, count as u64)?;
                let chunk = start..(start + CHUNK_ROWS).min(count);
                let matching = matching_in_chunk(grid, chunk.clone(), filter, columns_read);
                done.fetch_add(chunk.len(), Ordering::Relaxed);
                Ok(matching)
            })
            .collect();
        for chunk in matching? {
            let Some((rows, lacking)) = chunk else {
                counted &= !may_lack;
                continue;
            };
            left_out.add(&lacking);
            for place in rows {
                places.push(place)?;
            }
        }
    }
    Ok((
        places.finish()?,
        if counted {
            left_out
        } else {
            ExcludedRows::default()
        },
    ))
}

/// Matching rows of a chunk, and those left out because of missing values.
type ChunkMatches = (Vec<u32>, ExcludedRows);

/// The matching rows of a chunk; `None` if its zone map rules out a match.
fn matching_in_chunk(
    grid: &TableRows,
    rows: Range<usize>,
    filter: &Filter,
    columns_read: &[FilterColumn],
) -> Option<ChunkMatches> {
    let skips = grid.skips_rows();
    if skips && !filter.may_match(|column| range(grid, column, rows.clone(), columns_read)) {
        return None;
    }
    let names: Vec<&str> = columns_read.iter().map(|column| column.name).collect();
    Some(matching_in_frame(
        &grid.slice(rows.clone(), Some(&names)),
        &rows,
        filter,
        columns_read,
    ))
}

/// The minimum and maximum of a column in these rows, where known without reading them.
fn range(
    grid: &TableRows,
    column: &str,
    rows: Range<usize>,
    columns_read: &[FilterColumn],
) -> Option<filter::Range> {
    let kind = columns_read.iter().find(|known| known.name == column)?.kind;
    Some(match (grid.extent(column, rows)?, kind) {
        (Extent::Empty, _) => filter::Range::Empty,
        (Extent::Float(low, high), ColumnKind::Number) => filter::Range::Number(low, high),
        (Extent::Whole(low, high), ColumnKind::Number) => filter::Range::Whole(low, high),
        (Extent::Whole(low, high), ColumnKind::Time) => filter::Range::Time(Time(low), Time(high)),
        _ => return None,
    })
}

fn matching_in_frame(
    chunk: &DataFrame,
    rows: &Range<usize>,
    filter: &Filter,
    columns_read: &[FilterColumn],
) -> ChunkMatches {
    let (mut matching, mut left_out) = (Vec::new(), ExcludedRows::of(filter));
    for (place, row) in rows.clone().enumerate() {
        let cell = |column: &FilterColumn| {
            let cell = in_frame(chunk, column.name, place);
            if column.kind == ColumnKind::Number {
                cell.number()
            } else {
                cell
            }
        };
        let values: Vec<(&str, Scalar<'static>)> = columns_read
            .iter()
            .map(|column| (column.name, cell(column)))
            .collect();
        let found = |name: &str| {
            values
                .iter()
                .find(|(column, _)| *column == name)
                .map(|(_, cell)| cell.borrowed())
                .into()
        };
        if filter.keeps(found, |_| true, &mut left_out) {
            matching.push(row as u32);
        }
    }
    (matching, left_out)
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::question::snapshot::AnswerSettings;
    use crate::question::snapshot::Snapshot;
    use model::{error::Code, schema};
    use store::Dataset;

    fn tokens() -> (DataFrame, &'static TableSchema) {
        let chains = Series::new("chain".into(), ["base", "bsc", "base", "eth"]);
        let columns = [
            Series::new("symbol".into(), ["UNI", "PEPX", "LINK", "USDC"]),
            Series::new("price".into(), [Some(7.31), None, Some(14.0), Some(1.0)]),
            Series::new("holders".into(), [Some(381_i64), Some(2), Some(742), None]),
            chains,
        ];
        (
            DataFrame::new(
                4,
                columns.into_iter().map(IntoColumn::into_column).collect(),
            )
            .unwrap(),
            schema::table("tokens").unwrap(),
        )
    }

    #[test]
    fn rows_are_filtered_and_sorted_with_missing_values_last() {
        type Case = (&'static str, Option<(&'static str, bool)>, &'static [usize]);
        let cases: [Case; 11] = [
            ("", None, &[0, 1, 2, 3]),
            ("chain:base", None, &[0, 2]),
            ("price>1", Some(("price", true)), &[2, 0]),
            ("", Some(("price", false)), &[3, 0, 2, 1]),
            ("", Some(("price", true)), &[2, 0, 3, 1]),
            ("", Some(("chain", false)), &[0, 2, 1, 3]),
            ("pep", None, &[1]),
            ("holders<400", Some(("symbol", false)), &[1, 0]),
            ("price>7 or holders<400", None, &[0, 1, 2]),
            ("pep (price>7 or holders<400)", None, &[1]),
            (
                "symbol=pepx or (chain:eth price<2)",
                Some(("symbol", true)),
                &[3, 1],
            ),
        ];
        let (frame, schema) = tokens();
        for (text, sort, expected) in cases {
            let filter = filter::parse(text, &filter::of_table(schema)).unwrap();
            let sort = sort
                .into_iter()
                .map(|(column, descending)| Order { column, descending })
                .collect();
            assert_eq!(
                found(
                    &frame,
                    &RowQuery {
                        table: schema,
                        filter,
                        sort
                    },
                    &Progress::default()
                )
                .unwrap(),
                expected,
                "{text}"
            );
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
            (
                "price>1 or holders>2",
                None,
                &[("price", 1), ("holders", 1)],
            ),
            ("price>1 or holders>1", None, &[("holders", 1)]),
            ("", Some("price"), &[]),
        ] {
            let filter = filter::parse(text, &filter::of_table(schema)).unwrap();
            let query = RowQuery {
                table: schema,
                filter,
                sort: sort.into_iter().map(Order::rising).collect(),
            };
            let rows = asked(&frame, &query, &Progress::default()).unwrap();
            assert_eq!(
                rows.left_out.columns().collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }

    fn found(frame: &DataFrame, query: &RowQuery, progress: &Progress) -> Result<Vec<usize>> {
        asked(frame, query, progress).map(|shown| shown.places.iter().collect())
    }

    fn asked(frame: &DataFrame, query: &RowQuery, progress: &Progress) -> Result<OrderedRows> {
        let rows = TableRows::in_memory(query.table, frame).expect("rows");
        let table = Table::stored(query.table, rows);
        let snapshot = Snapshot::new(1, Dataset::new(vec![table]), AnswerSettings::default());
        query.find(&View::new(&snapshot), progress)
    }

    #[test]
    fn numbers_that_are_kept_as_text_are_sorted_as_numbers_and_lengths_of_time_by_their_length() {
        type Case = (&'static [(&'static str, bool)], &'static [usize]);
        let by = |names: &[(&'static str, bool)]| {
            names
                .iter()
                .map(|&(column, descending)| Order { column, descending })
                .collect()
        };
        let values = Series::new(
            "value".into(),
            [Some("9"), Some("10"), None, Some("0"), Some("10")],
        );
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
            let query = RowQuery {
                sort: by(sort),
                ..RowQuery::all(schema)
            };
            assert_eq!(
                found(&transfers, &query, &Progress::default()).unwrap(),
                expected,
                "{sort:?}"
            );
        }
        let intervals = Series::new("interval".into(), ["1d", "1h", "1w", "15m"]).into_column();
        let tokens = Series::new("token_address".into(), vec![format!("0x{:040}", 1); 4]);
        let candles = DataFrame::new(4, vec![tokens.into_column(), intervals]).unwrap();
        let query = RowQuery {
            sort: by(&[("interval", false)]),
            ..RowQuery::all(schema::table("candles").unwrap())
        };
        assert_eq!(
            found(&candles, &query, &Progress::default()).unwrap(),
            [3, 1, 0, 2]
        );
    }

    /// Of `value` and `block_number`, whose blocks are numbers that a float does not hold.
    #[test]
    fn whole_numbers_are_filtered_by_all_their_digits() {
        let values = [
            "1000000000000000000",
            "1000000000000000001",
            "999999999999999999",
            "340282366920938463463374607431768211456",
            "0",
        ];
        let blocks = [(1_i64 << 53) - 1, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, 0];
        let columns = [
            Series::new("value".into(), values).into_column(),
            Series::new("block_number".into(), blocks).into_column(),
        ];
        let transfers = DataFrame::new(5, columns.to_vec()).unwrap();
        let schema = schema::table("transfers").unwrap();
        for (text, expected) in [
            ("value=1000000000000000001", &[1][..]),
            ("value>1e18", &[1, 3]),
            ("value>=1.5e18", &[3]),
            (
                "value<=340282366920938463463374607431768211455",
                &[0, 1, 2, 4],
            ),
            ("value>0.5", &[0, 1, 2, 3]),
            ("value<0.5", &[4]),
            ("value in (1000000000000000001, 0)", &[1, 4]),
            ("not value<1000000000000000001", &[1, 3]),
            ("block_number>9007199254740992", &[2]),
            ("block_number=9007199254740992", &[1]),
            ("block_number<-9007199254740992", &[3]),
            ("block_number>=9007199254740991", &[0, 1, 2]),
        ] {
            let filter = filter::parse(text, &filter::of_table(schema)).unwrap();
            assert_eq!(
                found(
                    &transfers,
                    &RowQuery {
                        filter,
                        ..RowQuery::all(schema)
                    },
                    &Progress::default()
                )
                .unwrap(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_cancelled_order_stops() {
        let (frame, schema) = tokens();
        let progress = Progress::default();
        progress.cancel();
        let filter = filter::parse("usd", &filter::of_table(schema)).unwrap();
        let stopped = found(
            &frame,
            &RowQuery {
                filter,
                ..RowQuery::all(schema)
            },
            &progress,
        );
        assert_eq!(stopped.unwrap_err().code, Code::Cancelled);
    }
}
