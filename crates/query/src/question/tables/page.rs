//! Cursor pagination of a table: the rows of a page, and the cursor of the next. Filtering and sorting are in `order`.

use std::{borrow::Cow, ops::Range};

use super::{TableQuestion, columns, loaded_table, order::RowQuery, token_page::TokenPage};
use crate::question::{caches::OrderedRows, paging::TOP_ROWS_MAX, parameter, progress::Progress, request::Request, snapshot::Snapshot};
use model::{
    error::{Code, Problem, Result},
    fetch_key::FetchKey,
};
use store::{
    Table,
    cache::RowSelection,
    grid::{Grid, Ordered},
};

/// Minimum number of rows of a top-k selection, so that the next pages are covered too.
const TOP_ROWS_MIN: usize = 1_000;

/// A request, validated against the data.
pub(super) struct PageRequest<'a> {
    pub(super) table: Cow<'a, Table>,
    snapshot: &'a Snapshot,
    grid: Grid,
    columns: Vec<&'static str>,
    query: RowQuery,
    /// The query without page parameters: equal for all of its pages.
    key: String,
    /// For a remote table: the token of the page. `table` then holds the fetched rows: all of the token, or just the page's in table order.
    token_page: Option<TokenPage<'a>>,
    fetch_key: Option<FetchKey>,
    /// Why its rows are not here.
    missing: Option<Problem>,
    /// Where the page begins: the row index in the table for `RowSource::Scan`, else the number of matching rows before it.
    start: usize,
}

/// Where the rows of a page come from.
enum RowSource {
    /// Only the page's rows were fetched, out of so many rows of a remote token.
    FetchedPage { total: usize },
    /// Rows are filtered while scanning: a large table in its own order is read only up to the end of the page.
    Scan,
    /// The cached order of all matching rows.
    Order,
}

/// The rows of a page, with the cursor of the next one.
pub(super) struct Page {
    pub(super) rows: Ordered,
    pub(super) total: Option<u64>,
    pub(super) next: Option<String>,
}

impl<'a> PageRequest<'a> {
    /// The requested page, or with `whole` all rows from its beginning.
    pub(super) fn read(question: &TableQuestion, snapshot: &'a Snapshot, whole: bool) -> Result<Self> {
        let table = loaded_table(snapshot, &question.table)?;
        let columns = columns::of(table);
        let named = columns::for_filter(table);
        let filter = parameter::conditions("where", question.conditions.as_deref().unwrap_or_default(), &named)?;
        let sort = parameter::orders("sort", question.sort.as_deref().unwrap_or_default(), &named)?;
        let key = TableQuestion { columns: None, cursor: None, limit: 0, ..question.clone() }.target();
        let cursor = question.cursor.as_ref().map(|cursor| Cursor::decode(cursor, snapshot, &key)).transpose()?;
        let Cursor { start, token } = cursor.unwrap_or_default();
        let token_page = table.in_place().and_then(|in_place| TokenPage::first_matching(in_place, table.schema.name, &filter, token));
        let query = RowQuery { table: table.schema, filter, sort };
        let fetch_key = token_page.as_ref().map(|token_page| token_page.fetch_key(&query, start, question.limit, whole));
        let fetched = fetch_key.clone().map_or(Ok(Vec::new()), |key| snapshot.dataset.require([key]));
        let (rows, missing) = fetched.map_or_else(|missing| (Vec::new(), Some(missing)), |rows| (rows, None));
        let fetched = rows.first().and_then(|rows| TokenPage::as_table(table.schema, rows));
        let table = fetched.map_or(Cow::Borrowed(table), Cow::Owned);
        Ok(Self {
            grid: Grid::of(&table),
            table,
            fetch_key,
            missing,
            snapshot,
            columns: columns::chosen(question.columns.as_deref(), &columns)?,
            query,
            key,
            token_page,
            start,
        })
    }

    /// Errors: rows of several tokens of a remote table are asked for sorted, filtered by another column, or as a `whole`. Its pages come
    /// token by token: one without a match would look like the end.
    fn require_single_token(&self, whole: bool) -> Result<()> {
        let in_table_order = || self.query.sort.is_empty() && !TokenPage::has_row_conditions(&self.query.filter);
        match &self.token_page {
            Some(page) if page.is_one_of_many() && (whole || !in_table_order()) => {
                Err(Problem::new(Code::SourceUnavailable, page.several_tokens_refusal()))
            }
            _ => Ok(()),
        }
    }

    /// A page of up to `limit` rows.
    pub(super) fn page(&self, limit: u64, progress: &Progress) -> Result<Page> {
        self.require_single_token(false)?;
        self.missing.clone().map_or(Ok(()), Err)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let page = match self.row_source() {
            RowSource::FetchedPage { total } => self.fetched_page(limit, total),
            RowSource::Scan => self.scanned_page(limit, progress)?,
            RowSource::Order => self.ordered_page(limit, progress)?,
        };
        let Some(token_page) = &self.token_page else { return Ok(page) };
        let next_token = || token_page.next_token.map(|token| Cursor { start: 0, token }.encode(self.snapshot, &self.key));
        let total = page.total.filter(|_| !token_page.is_one_of_many());
        Ok(Page { next: page.next.or_else(next_token), total, ..page })
    }

    fn row_source(&self) -> RowSource {
        let is_large = self.table.large().is_some();
        match (&self.token_page, &self.fetch_key) {
            (Some(token_page), Some(FetchKey::Page { .. })) => RowSource::FetchedPage { total: token_page.count() },
            _ if is_large && !self.query.filter.is_empty() && self.query.sort.is_empty() => RowSource::Scan,
            _ => RowSource::Order,
        }
    }

    fn fetched_page(&self, limit: usize, total: usize) -> Page {
        let end = self.start.saturating_add(limit);
        let rows = self.rows(OrderedRows::all(self.grid.height()).places, 0..limit);
        Page { rows, total: Some(total as u64), next: (end < total).then(|| self.cursor(end)) }
    }

    fn scanned_page(&self, limit: usize, progress: &Progress) -> Result<Page> {
        let mut rows = self.query.next_matching(&self.table, &self.grid, self.start, limit.saturating_add(1), progress)?;
        let next = rows.get(limit).map(|row| self.cursor(*row as usize));
        rows.truncate(limit);
        // On the first page without a next one, all matches were seen.
        let total = (self.start == 0 && next.is_none()).then_some(rows.len() as u64);
        Ok(Page { rows: self.rows(RowSelection::from(rows), 0..limit), total, next })
    }

    fn ordered_page(&self, limit: usize, progress: &Progress) -> Result<Page> {
        let end = self.start.saturating_add(limit);
        let order = self.order(end, progress)?;
        let total = order.total();
        let next = (end < total).then(|| self.cursor(end));
        Ok(Page { rows: self.rows(order.places, self.start..end), total: Some(total as u64), next })
    }

    /// All rows from where the page begins.
    pub(super) fn rest(&self, progress: &Progress) -> Result<Page> {
        self.require_single_token(true)?;
        self.missing.clone().map_or(Ok(()), Err)?;
        let order = self.order(usize::MAX, progress)?;
        let total = order.total();
        let start = match self.row_source() {
            RowSource::Scan => rows_before(&order.places, total, self.start),
            _ => self.start,
        };
        Ok(Page { rows: self.rows(order.places, start..total), total: Some(total as u64), next: None })
    }

    /// The sorted rows, at least the first `end` of them.
    fn order(&self, end: usize, progress: &Progress) -> Result<OrderedRows> {
        if self.query.is_all() {
            return Ok(OrderedRows::all(self.grid.height()));
        }
        let cache = &self.snapshot.row_orders;
        let key = self.token_page.as_ref().map_or_else(|| self.key.clone(), |token_page| format!("{}\n{}", self.key, token_page.token()));
        let matching = match cache.get(&key) {
            Some(order @ OrderedRows { unsorted: None, .. }) => return Ok(order),
            Some(order) if order.places.len() >= end => return Ok(order),
            Some(OrderedRows { unsorted: Some(matching), .. }) => matching,
            None => self.query.matching_rows(&self.table, &self.grid, progress)?.0,
        };
        let count = Some(end.max(TOP_ROWS_MIN).next_power_of_two()).filter(|_| end <= TOP_ROWS_MAX);
        let order = self.query.sorted(&self.grid, matching, count, progress)?;
        cache.insert(key, order.clone());
        Ok(order)
    }

    fn rows(&self, places: RowSelection, nth: Range<usize>) -> Ordered {
        Ordered { grid: self.grid.clone(), nth, places, columns: self.columns.clone() }.within()
    }

    /// The cursor of the page that begins at `start`.
    fn cursor(&self, start: usize) -> String {
        let token = self.token_page.as_ref().map_or(0, |token_page| token_page.token_index);
        Cursor { start, token }.encode(self.snapshot, &self.key)
    }
}

/// Number of these ascending row indices below `row`.
fn rows_before(places: &RowSelection, count: usize, row: usize) -> usize {
    let mut range = 0..count;
    while !range.is_empty() {
        let middle = range.start + range.len() / 2;
        let is_before = places.get(middle).is_some_and(|place| place < row);
        range = if is_before { middle + 1..range.end } else { range.start..middle };
    }
    range.start
}

/// A page cursor.
#[derive(Default)]
struct Cursor {
    start: usize,
    /// For a remote table: the index of the token.
    token: usize,
}

impl Cursor {
    /// Encodes position, generation and query, so that a stale or foreign cursor is refused.
    fn encode(&self, snapshot: &Snapshot, key: &str) -> String {
        let [data_digest, query_digest] = digests(snapshot, key);
        let token = if self.token > 0 { format!("-{:x}", self.token) } else { String::new() };
        format!("{:x}.{:x}-{data_digest}-{query_digest}{token}", self.start, snapshot.reading)
    }

    fn decode(text: &str, snapshot: &Snapshot, key: &str) -> Result<Self> {
        let refused = |why: &str| Problem::new(Code::InvalidParameter, format!("`cursor` {why}: ask for the first page without it."));
        let number = |part: &str| usize::from_str_radix(part.split('.').next()?, 16).ok();
        let parts: Vec<&str> = text.split('-').collect();
        let (Some((start, token)), [_, data_digest, query_digest, ..]) = (
            match parts[..] {
                [start, _, _] => number(start).zip(Some(0)),
                [start, _, _, token] => number(start).zip(number(token)),
                _ => None,
            },
            &parts[..],
        ) else {
            return Err(refused("is no `next` of a page"));
        };
        let digests = digests(snapshot, key);
        if **data_digest != digests[0] {
            let detail = "`cursor` is of an older generation of the data, which is not kept any more: ask for the first page without it.";
            return Err(Problem::new(Code::GenerationGone, detail));
        }
        if **query_digest != digests[1] {
            return Err(refused("belongs to another table, `where` or `sort`"));
        }
        Ok(Self { start, token })
    }
}

/// The generation that a cursor is of.
pub fn generation_of(cursor: &str) -> Option<u64> {
    let (_, generation) = cursor.split('-').next()?.split_once('.')?;
    u64::from_str_radix(generation, 16).ok()
}

/// Short digests of the data and of the query.
fn digests(snapshot: &Snapshot, key: &str) -> [String; 2] {
    ["", key].map(|text| snapshot.etag(text).trim_matches('"').chars().take(12).collect())
}
