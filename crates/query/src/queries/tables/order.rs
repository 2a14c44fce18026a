//! Filtering and sorting of table rows: the filter selects them, the table sorts them.

use super::remote::RemoteQuery;
use crate::queries::{Find, caches::OrderedRows, order::Order, view::View};
use model::{error::Result, progress::Progress, schema::TableSchema};
use table::{
    RowSelection, SortBy, SortedRows, TableRows,
    filter::{ExcludedRows, Filter},
};

/// Rows of a large table that are sorted first, by top-k, while the complete order is computed.
const TOP_ROWS: usize = 1_000;

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
    pub(in crate::queries) fn matching_rows(
        &self,
        grid: &TableRows,
        progress: &Progress,
    ) -> Result<(RowSelection, ExcludedRows)> {
        let filter = &self.filter;
        filter.select(grid, 0..grid.height(), usize::MAX, progress)
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
        let (matching, left_out) = self.matching_rows(&table.rows, progress)?;
        Ok(OrderedRows {
            left_out,
            ..self.sorted(&table.rows, matching, Some(TOP_ROWS), progress)?
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

#[cfg(test)]
mod tests {
    use polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::queries::snapshot::{AnswerSettings, Snapshot};
    use frames::rows::Frames as _;
    use load::{Dataset, Table};
    use model::{error::Code, schema};
    use table::filter;

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
            ("", Some(("chain", false)), &[2, 1, 3, 0]),
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
