//! Queries of a table that is queried in place at its source, which filters, sorts and counts its rows: the conditions in SQL, the tokens
//! they name, and the position of a page.

use std::{ops::Range, sync::Arc};

use polars::prelude::DataFrame;

use super::{
    columns, loaded_table,
    order::{CompleteOrder, RowQuery},
};
use crate::queries::{Find, caches::OrderedRows, view::View};
use frames::{cell::in_frame, export::RowBatches, ordered::Ordered, rows::Frames as _};
use load::{Table, engine_rows::EngineRows};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    format,
    interval::Interval,
    progress::Progress,
    scalar::Scalar,
    table_ask::{AskKind, RowsPage, SourceQuery},
};

/// The column of the token.
const TOKEN: &str = "token_address";
/// Most tokens that are named to the engine, so that it reads their rows alone.
const NAMED_MAX: usize = 1_000;
/// Most rows between a page and the nearer end of an order, where the row before the page is not known.
const SKIPPED_MAX: u64 = 1_000_000;

/// A query of a remote table.
pub struct RemoteQuery<'a> {
    view: &'a View<'a>,
    progress: &'a Progress,
    engine: &'a EngineRows,
    query: &'a RowQuery,
    /// The tokens that may have such rows, in table order.
    tokens: Vec<Address>,
    /// Whether the engine is told them; not where they are all, or too many.
    names_tokens: bool,
    /// The conditions in SQL; empty where `tokens` say all.
    condition: String,
    /// The table without rows.
    none: DataFrame,
}

impl<'a> RemoteQuery<'a> {
    /// `None` if the table is not queried in place. Errors: the source cannot run this query.
    pub fn of(
        view: &'a View<'_>,
        table: &'a Table,
        query: &'a RowQuery,
        progress: &'a Progress,
    ) -> Result<Option<Self>> {
        let Some(engine) = table.engine_rows() else {
            return Ok(None);
        };
        let (of_tokens, others) = query.filter.split(|column| column == TOKEN);
        let meets = |token: &&Address| {
            let text = token.to_string();
            of_tokens.matches(|_| Scalar::text(text.as_str()))
        };
        let tokens: Vec<Address> = engine.tokens().iter().filter(meets).copied().collect();
        let names_tokens = tokens.len() <= NAMED_MAX && !of_tokens.is_empty();
        let filter = if names_tokens || of_tokens.is_empty() {
            &others
        } else {
            &query.filter
        };
        let condition = filter
            .sql(&columns::for_filter(table))
            .map_err(|what| refusal(table.schema.name, engine, &what.to_string()))?;
        let none = table.rows.slice(0..0, None);
        Ok(Some(Self {
            view,
            progress,
            engine,
            query,
            tokens,
            names_tokens,
            condition,
            none,
        }))
    }

    /// The error for a query that the source cannot run.
    pub fn refusal(&self, what: &str) -> Problem {
        refusal(self.query.table.name, self.engine, what)
    }

    /// The number of rows, where it is known since the load.
    pub fn known_total(&self) -> Option<u64> {
        self.condition.is_empty().then(|| {
            self.tokens
                .iter()
                .map(|token| self.engine.count(token))
                .sum()
        })
    }

    /// The number of rows.
    pub fn total(&self) -> Result<u64> {
        let counted = || Ok(self.answer(self.ask(AskKind::Count))?.1);
        self.known_total().map_or_else(counted, Ok)
    }

    /// A query about all of its rows; `None` without any.
    pub fn ask(&self, wanted: AskKind) -> Option<SourceQuery> {
        let tokens = if self.names_tokens {
            self.tokens.clone()
        } else {
            Vec::new()
        };
        (!self.tokens.is_empty()).then(|| SourceQuery {
            table: self.query.table.name,
            tokens,
            condition: self.condition.clone(),
            wanted,
        })
    }

    /// The source's result, and the number of rows requested.
    pub fn answer(&self, ask: Option<SourceQuery>) -> Result<(DataFrame, u64)> {
        let page = |ask| self.view.page(&Arc::new(ask), self.progress);
        ask.map_or_else(|| Ok((self.none.clone(), 0)), page)
    }

    /// Rows in their order, in all columns, and their total number. `after`: values of the previous row, if known. Errors: too many rows
    /// precede them.
    pub fn page(&self, rows: Range<u64>, after: &[Scalar<'static>]) -> Result<(DataFrame, u64)> {
        let total = self.known_total();
        let (frame, counted) = self.answer(self.page_ask(rows, after, total)?)?;
        Ok((frame, total.unwrap_or(counted)))
    }

    /// All rows from `start` on, which come while they are written.
    pub fn rest(
        &self,
        (start, after): (u64, &[Scalar<'static>]),
        columns: Vec<&'static str>,
    ) -> Result<Box<dyn RowBatches>> {
        let total = self.total()?;
        Ok(match self.page_ask(start..total, after, Some(total))? {
            Some(ask) => self.engine.rows(ask, columns),
            None => Box::new(self.none.select(columns).unwrap_or_default()),
        })
    }

    /// The source query for those rows, of `total` if it is known.
    pub fn page_ask(
        &self,
        rows: Range<u64>,
        after: &[Scalar<'static>],
        total: Option<u64>,
    ) -> Result<Option<SourceQuery>> {
        let rows = rows.start..total.map_or(rows.end, |total| rows.end.min(total));
        let page = |skip: u64, from_end: bool| RowsPage {
            sort: self
                .query
                .sort
                .iter()
                .map(|order| (order.column, order.descending))
                .collect(),
            after: after.to_vec(),
            skip,
            count: rows.end.saturating_sub(rows.start),
            from_end,
        };
        if rows.is_empty() {
            return Ok(None);
        }
        if self.query.sort.is_empty() && self.condition.is_empty() {
            // Of the tokens that have these rows alone.
            let (mut before, mut skip, mut left, mut tokens) = (0, 0, 0, Vec::new());
            for token in &self.tokens {
                let count = self.engine.count(token);
                let own = before..before + count;
                before = own.end;
                if own.end <= rows.start || own.start >= rows.end || own.is_empty() {
                    continue;
                }
                if tokens.is_empty() {
                    skip = rows.start - own.start;
                }
                left = own.end.saturating_sub(rows.end);
                tokens.push(*token);
            }
            if tokens.len() <= NAMED_MAX {
                let (skip, from_end) = if after.is_empty() {
                    (skip.min(left), left < skip)
                } else {
                    (0, false)
                };
                let (table, wanted) = (self.query.table.name, AskKind::Page(page(skip, from_end)));
                return Ok(Some(SourceQuery {
                    table,
                    tokens,
                    condition: String::new(),
                    wanted,
                }));
            }
        }
        let left = total.map(|total| total - rows.end);
        let (skip, from_end) = match left {
            _ if !after.is_empty() => (0, false),
            Some(left) if left < rows.start => (left, true),
            _ => (rows.start, false),
        };
        if skip > SKIPPED_MAX {
            let most = format::count(SKIPPED_MAX);
            return Err(self.refusal(&format!(
                "more than {most} rows precede this page (narrow them with a condition)"
            )));
        }
        Ok(self.ask(AskKind::Page(page(skip, from_end))))
    }
}

fn refusal(table: &str, engine: &EngineRows, what: &str) -> Problem {
    let detail = format!(
        "`{table}` is queried in place at `{}`, and {what}; set read = \"bring\" in dataset.toml to download it.",
        engine.source
    );
    // Asked again it is refused again, so it is no 503.
    Problem::new(Code::InvalidParameter, detail)
}

impl RowQuery {
    /// The last of these rows, by its values in the columns of the order.
    pub(super) fn last_key(&self, rows: &DataFrame) -> Vec<Scalar<'static>> {
        let Some(last) = rows.height().checked_sub(1) else {
            return Vec::new();
        };
        let sort: Vec<(&'static str, bool)> = self
            .sort
            .iter()
            .map(|order| (order.column, order.descending))
            .collect();
        let value =
            |(nth, (name, _)): (usize, (&'static str, bool))| match in_frame(rows, name, last) {
                Scalar::Text(text) if name == "interval" && nth < sort.len() => {
                    Interval::parse(&text)
                        .map_or(Scalar::Missing, |interval| Scalar::Whole(interval.0))
                }
                Scalar::Time(time) => Scalar::Whole(time.0),
                value @ (Scalar::Text(_) | Scalar::Whole(_) | Scalar::Float(_)) => value,
                _ => Scalar::Missing,
            };
        self.table
            .ordered_by(&sort)
            .into_iter()
            .enumerate()
            .map(value)
            .collect()
    }
}

/// A range of rows for a query of a remote table.
#[derive(Debug, Clone)]
pub struct TableSlice {
    pub query: RowQuery,
    pub rows: Range<u64>,
    /// The number of all its rows.
    pub total: u64,
}

impl Find for TableSlice {
    type Found = DataFrame;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<DataFrame> {
        let table = loaded_table(view, self.query.table.name)?;
        let remote = RemoteQuery::of(view, table, &self.query, progress)?;
        let detail = "Internal error: the rows are not queried in place.";
        let remote = remote.ok_or_else(|| Problem::new(Code::Defect, detail))?;
        let ask = remote.page_ask(self.rows.clone(), &[], Some(self.total))?;
        Ok(remote.answer(ask)?.0)
    }
}

/// All rows for a query, which are read or fetched while they are written.
#[derive(Debug, Clone)]
pub struct AllRows {
    pub query: RowQuery,
    /// The rows that the query has found, if it has.
    pub found: Option<OrderedRows>,
    pub columns: Vec<&'static str>,
}

impl Find for AllRows {
    type Found = Box<dyn RowBatches>;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Box<dyn RowBatches>> {
        let (query, columns) = (&self.query, self.columns.clone());
        let table = loaded_table(view, query.table.name)?;
        if let Some(remote) = RemoteQuery::of(view, table, query, progress)? {
            return remote.rest((0, &[]), columns);
        }
        let found = self.found.clone();
        let first = found.map_or_else(|| query.find(view, progress), Ok)?;
        let query = query.clone();
        let places = CompleteOrder { query, first }.find(view, progress)?.places;
        let rows = Arc::clone(&table.rows);
        Ok(Box::new(Ordered::new(rows, places, columns)))
    }
}
