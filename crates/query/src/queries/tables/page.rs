//! Cursor pagination of a table: the rows of a page, and the cursor of the next. Filtering and sorting are in `order`.

use std::{ops::Range, sync::Arc};

use super::{TableQuery, columns, loaded_table, order::RowQuery, remote::RemoteQuery};
use crate::queries::{
    caches::OrderedRows,
    paging::TOP_ROWS_MAX,
    parameter::{self, TokenReader},
    request::Request,
    snapshot::Snapshot,
    view::View,
};
use frames::{export::RowBatches, ordered::Ordered, rows::Frames as _};
use load::Table;
use model::{
    error::{Code, Problem, Result},
    progress::Progress,
    scalar::Scalar,
};
use table::{RowSelection, TableRows};

/// Minimum number of rows of a top-k selection, so that the next pages are covered too.
const TOP_ROWS_MIN: usize = 1_000;

/// A request, validated against the data.
pub(super) struct PageRequest<'a> {
    pub(super) table: &'a Table,
    view: &'a View<'a>,
    grid: Arc<TableRows>,
    pub(super) columns: Vec<&'static str>,
    query: RowQuery,
    /// The query without page parameters: equal for all of its pages.
    key: String,
    /// Where the page begins.
    cursor: Cursor,
}

/// The rows of a page, with the cursor of the next one.
pub(super) struct Page {
    pub(super) rows: Ordered,
    pub(super) total: Option<u64>,
    pub(super) next: Option<String>,
}

impl<'a> PageRequest<'a> {
    pub(super) fn read(question: &TableQuery, view: &'a View<'a>) -> Result<Self> {
        let table = loaded_table(view, &question.table)?;
        let columns = columns::of(table);
        let named = columns::for_filter(table);
        let filter = parameter::conditions(
            "where",
            question.conditions.as_deref().unwrap_or_default(),
            &named,
            TokenReader::of(&**view),
        )?;
        let sort = parameter::orders("sort", question.sort.as_deref().unwrap_or_default(), &named)?;
        let key = TableQuery {
            columns: None,
            cursor: None,
            limit: 0,
            ..question.clone()
        }
        .target();
        let cursor = question
            .cursor
            .as_ref()
            .map(|cursor| Cursor::decode(cursor, view, &key))
            .transpose()?;
        Ok(Self {
            grid: Arc::clone(&table.rows),
            table,
            view,
            columns: columns::chosen(question.columns.as_deref(), &columns)?,
            query: RowQuery {
                table: table.schema,
                filter,
                sort,
            },
            key,
            cursor: cursor.unwrap_or_default(),
        })
    }

    /// A page of up to `limit` rows.
    pub(super) fn page(&self, limit: u64, progress: &Progress) -> Result<Page> {
        if let Some(remote) = RemoteQuery::of(self.view, self.table, &self.query, progress)? {
            return self.remote_page(&remote, limit);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if self.is_scanned() {
            self.scanned_page(limit, progress)
        } else {
            self.ordered_page(limit, progress)
        }
    }

    /// Whether rows are filtered during the scan: a large table in its own order is read only up to the end of the page. Then the page
    /// begins at a row of the table; otherwise it begins after a number of matching rows.
    fn is_scanned(&self) -> bool {
        self.table.large().is_some() && !self.query.filter.is_empty() && self.query.sort.is_empty()
    }

    /// A page of rows that are queried in place.
    fn remote_page(&self, remote: &RemoteQuery<'_>, limit: u64) -> Result<Page> {
        let start = self.cursor.start as u64;
        let rows = start..start.saturating_add(limit);
        let (rows, total) = remote.page(rows, &self.cursor.after)?;
        let end = self.cursor.start + rows.height();
        let next = (end as u64) < total && rows.height() > 0;
        let after = if next {
            self.query.last_key(&rows)
        } else {
            Vec::new()
        };
        let next = next.then(|| Cursor { start: end, after }.encode(self.view, &self.key));
        let count = rows.height();
        let rows = Ordered {
            table: Arc::new(
                TableRows::in_memory(self.table.schema, &rows).map_err(|reason| {
                    tracing::warn!("a page cannot be encoded: {reason}");
                    Problem::new(Code::Defect, "Internal error while reading the page.")
                })?,
            ),
            nth: 0..count,
            places: OrderedRows::all(count).places,
            columns: self.columns.clone(),
        };
        Ok(Page {
            rows,
            total: Some(total),
            next,
        })
    }

    fn scanned_page(&self, limit: usize, progress: &Progress) -> Result<Page> {
        let (from, count) = (self.cursor.start, limit.saturating_add(1));
        let (filter, rest) = (&self.query.filter, from..self.grid.height());
        let (rows, _) = filter.select(&*self.grid, rest, count, progress)?;
        let next = rows.get(limit).map(|row| self.cursor(row));
        // On the first page without a next one, all matches were seen.
        let total = (from == 0 && next.is_none()).then_some(rows.len() as u64);
        Ok(Page {
            rows: self.rows(rows, 0..limit),
            total,
            next,
        })
    }

    fn ordered_page(&self, limit: usize, progress: &Progress) -> Result<Page> {
        let end = self.cursor.start.saturating_add(limit);
        let order = self.order(end, progress)?;
        let total = order.total();
        let next = (end < total).then(|| self.cursor(end));
        Ok(Page {
            rows: self.rows(order.places, self.cursor.start..end),
            total: Some(total as u64),
            next,
        })
    }

    /// All rows from where the page begins, in the chosen columns.
    pub(super) fn rest(&self, progress: &Progress) -> Result<Box<dyn RowBatches>> {
        if let Some(remote) = RemoteQuery::of(self.view, self.table, &self.query, progress)? {
            let start = (self.cursor.start as u64, &*self.cursor.after);
            return remote.rest(start, self.columns.clone());
        }
        let order = self.order(usize::MAX, progress)?;
        let total = order.total();
        let start = self.cursor.start;
        let start = if self.is_scanned() {
            rows_before(&order.places, total, start)
        } else {
            start
        };
        Ok(Box::new(self.rows(order.places, start..total)))
    }

    /// The sorted rows, at least the first `end` of them.
    fn order(&self, end: usize, progress: &Progress) -> Result<OrderedRows> {
        if self.query.is_all() {
            return Ok(OrderedRows::all(self.grid.height()));
        }
        let cache = &self.view.row_orders;
        let matching = match cache.get(&self.key) {
            Some(order @ OrderedRows { unsorted: None, .. }) => return Ok(order),
            Some(order) if order.places.len() >= end => return Ok(order),
            Some(OrderedRows {
                unsorted: Some(matching),
                ..
            }) => matching,
            None => self.query.matching_rows(&self.grid, progress)?.0,
        };
        let count = Some(end.max(TOP_ROWS_MIN).next_power_of_two()).filter(|_| end <= TOP_ROWS_MAX);
        let order = self.query.sorted(&self.grid, matching, count, progress)?;
        cache.insert(self.key.clone(), order.clone());
        Ok(order)
    }

    fn rows(&self, places: RowSelection, nth: Range<usize>) -> Ordered {
        Ordered {
            table: self.grid.clone(),
            nth,
            places,
            columns: self.columns.clone(),
        }
        .within()
    }

    /// The cursor of the page that begins at `start`.
    fn cursor(&self, start: usize) -> String {
        Cursor {
            start,
            after: Vec::new(),
        }
        .encode(self.view, &self.key)
    }
}

/// Number of these ascending row indices below `row`.
fn rows_before(places: &RowSelection, count: usize, row: usize) -> usize {
    let mut range = 0..count;
    while !range.is_empty() {
        let middle = range.start + range.len() / 2;
        let is_before = places.get(middle).is_some_and(|place| place < row);
        range = if is_before {
            middle + 1..range.end
        } else {
            range.start..middle
        };
    }
    range.start
}

/// A page cursor.
#[derive(Default)]
struct Cursor {
    start: usize,
    /// For a remote table: the row before, by its values in the columns of the order.
    after: Vec<Scalar<'static>>,
}

impl Cursor {
    /// Encodes position, generation and query, so that a stale or foreign cursor is refused.
    fn encode(&self, snapshot: &Snapshot, key: &str) -> String {
        let [data_digest, query_digest] = digests(snapshot, key);
        let after = if self.after.is_empty() {
            String::new()
        } else {
            format!("-{}", written(&self.after))
        };
        format!(
            "{:x}.{:x}-{data_digest}-{query_digest}{after}",
            self.start, snapshot.number
        )
    }

    fn decode(text: &str, snapshot: &Snapshot, key: &str) -> Result<Self> {
        let refused = |why: &str| {
            Problem::new(
                Code::InvalidParameter,
                format!("`cursor` {why}; request the first page without it."),
            )
        };
        let number = |part: &str| usize::from_str_radix(part.split('.').next()?, 16).ok();
        let parts: Vec<&str> = text.splitn(4, '-').collect();
        let read = match parts[..] {
            [start, data, query] => number(start).map(|start| (start, Vec::new(), data, query)),
            [start, data, query, after] => number(start)
                .zip(read(after))
                .map(|(start, after)| (start, after, data, query)),
            _ => None,
        };
        let Some((start, after, data_digest, query_digest)) = read else {
            return Err(refused("is not the `next` of a page"));
        };
        let digests = digests(snapshot, key);
        if data_digest != digests[0] {
            let detail = "`cursor` belongs to a data snapshot that has expired; request the first page without it.";
            return Err(Problem::new(Code::GenerationGone, detail));
        }
        if query_digest != digests[1] {
            return Err(refused("belongs to a different table, `where` or `sort`"));
        }
        Ok(Self { start, after })
    }
}

/// Values of a row as a part of a cursor; `read` is the inverse.
fn written(values: &[Scalar<'static>]) -> String {
    let value = |value: &Scalar<'static>| match value {
        Scalar::Whole(number) => format!("w{number}"),
        Scalar::Float(number) => format!("f{:x}", number.to_bits()),
        Scalar::Text(text) => format!("t{}", text.replace('!', "!!").replace('~', "!t")),
        // The columns of an order have no other values.
        _ => "n".to_owned(),
    };
    values.iter().map(value).collect::<Vec<_>>().join("~")
}

fn read(text: &str) -> Option<Vec<Scalar<'static>>> {
    let value = |text: &str| {
        let (kind, value) = (text.chars().next()?, text.get(1..)?);
        Some(match kind {
            'n' => Scalar::Missing,
            'w' => Scalar::Whole(value.parse().ok()?),
            'f' => Scalar::Float(f64::from_bits(u64::from_str_radix(value, 16).ok()?)),
            't' => Scalar::text(value.replace("!t", "~").replace("!!", "!")),
            _ => return None,
        })
    };
    text.split('~').map(value).collect()
}

/// The generation that a cursor is of.
pub fn generation_of(cursor: &str) -> Option<u64> {
    let (_, generation) = cursor.split('-').next()?.split_once('.')?;
    u64::from_str_radix(generation, 16).ok()
}

/// Short digests of the data and of the query.
fn digests(snapshot: &Snapshot, key: &str) -> [String; 2] {
    ["", key].map(|text| {
        snapshot
            .etag(text)
            .trim_matches('"')
            .chars()
            .take(12)
            .collect()
    })
}
