//! Cursor pagination of a table: the rows of a page, and the cursor of the next. Filtering and sorting are in `order`.

use std::{borrow::Cow, ops::Range};

use super::{TableQuestion, columns, loaded_table, order::RowQuery, whose::Whose};
use crate::{
    dataset::{
        Table,
        cache::RowSelection,
        grid::{Grid, Ordered},
        in_place::FetchKey,
    },
    error::{Code, Problem, Result},
    question::{memory::OrderedRows, paging::FIRST_MAX, parameter, progress::Progress, request::Request, snapshot::Snapshot},
};

/// Minimum number of rows of a top-k selection, so that the next pages are covered too.
const FIRST_MIN: usize = 1_000;

/// A request, validated against the data.
pub(super) struct PageRequest<'a> {
    pub(super) table: Cow<'a, Table>,
    snapshot: &'a Snapshot,
    grid: Grid,
    columns: Vec<&'static str>,
    wanted: RowQuery,
    /// The query without page parameters: equal for all of its pages.
    key: String,
    /// For a remote table: the token of the page. `table` then holds the fetched rows: all of the token, or just the page's in table order.
    whose: Option<Whose<'a>>,
    fetch_key: Option<FetchKey>,
    /// Where the page begins: a row index if rows are filtered while scanning, else the number of rows before it.
    start: usize,
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
        let cursor = question.cursor.as_ref().map(|cursor| Cursor::read(cursor, snapshot, &key)).transpose()?;
        let Cursor { place, token } = cursor.unwrap_or_default();
        let whose = table.in_place.as_deref().and_then(|in_place| Whose::of(in_place, table.schema.name, &filter, token));
        let wanted = RowQuery { table: table.schema, filter, sort };
        let fetch_key = whose.as_ref().map(|whose| whose.key(&wanted, place, question.limit, whole));
        let here = whose.as_ref().zip(fetch_key.as_ref()).and_then(|(whose, key)| whose.rows(table, key));
        let table = here.map_or(Cow::Borrowed(table), Cow::Owned);
        Ok(Self {
            grid: Grid::of(&table),
            table,
            key,
            snapshot,
            columns: columns::chosen(question.columns.as_deref(), &columns)?,
            wanted,
            fetch_key,
            whose,
            start: place,
        })
    }

    /// The fetch requests for a page of a remote table.
    pub(super) fn fetch_keys(question: &TableQuestion, snapshot: &Snapshot, whole: bool) -> Vec<FetchKey> {
        // An invalid request is refused when it is answered.
        let asked = PageRequest::read(question, snapshot, whole).ok().filter(|asked| asked.all_at_hand(whole).is_ok());
        asked.and_then(|asked| asked.fetch_key).into_iter().collect()
    }

    /// Errors: rows of several tokens of a remote table are asked for sorted, filtered by another column, or as a `whole`. Its pages come
    /// token by token: one without a match would look like the end.
    fn all_at_hand(&self, whole: bool) -> Result<()> {
        let is_many = self.whose.as_ref().is_some_and(Whose::is_one_of_many);
        let is_plain = || self.wanted.sort.is_empty() && !Whose::reads_rows(&self.wanted.filter);
        let Some(whose) = self.whose.as_ref().filter(|_| is_many && (whole || !is_plain())) else { return Ok(()) };
        Err(Problem::new(Code::SourceUnavailable, whose.refusal()))
    }

    /// Errors: the rows of a remote table are not fetched yet.
    fn require_rows(&self) -> Result<()> {
        match (&self.whose, &self.table) {
            (Some(whose), Cow::Borrowed(_)) => Err(Problem::new(Code::SourceUnavailable, whose.not_here())),
            _ => Ok(()),
        }
    }

    /// A page of up to `limit` rows.
    pub(super) fn page(&self, limit: u64, progress: &Progress) -> Result<Page> {
        self.all_at_hand(false)?;
        self.require_rows()?;
        let page = self.page_of_rows(limit, progress)?;
        let Some(whose) = &self.whose else { return Ok(page) };
        let after = || whose.after().map(|token| Cursor { place: 0, token }.text(self.snapshot, &self.key));
        let total = page.total.filter(|_| !whose.is_one_of_many());
        Ok(Page { next: page.next.or_else(after), total, ..page })
    }

    fn page_of_rows(&self, limit: u64, progress: &Progress) -> Result<Page> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if let (Some(whose), Some(FetchKey::Page { .. })) = (&self.whose, &self.fetch_key) {
            let (end, total) = (self.start.saturating_add(limit), whose.count());
            let next = (end < total).then(|| self.cursor(end));
            return Ok(Page { rows: self.rows(OrderedRows::all(self.grid.height()).places, 0..limit), total: Some(total as u64), next });
        }
        if self.is_filtered_on_the_way() {
            let mut rows = self.wanted.next(&self.table, &self.grid, self.start, limit.saturating_add(1), progress)?;
            let next = rows.get(limit).map(|place| self.cursor(*place as usize));
            rows.truncate(limit);
            // On the first page without a next one, all matches were seen.
            let total = (self.start == 0 && next.is_none()).then_some(rows.len() as u64);
            return Ok(Page { rows: self.rows(RowSelection::from(rows), 0..limit), total, next });
        }
        let end = self.start.saturating_add(limit);
        let shown = self.order(end, progress)?;
        let total = shown.total();
        let next = (end < total).then(|| self.cursor(end));
        Ok(Page { rows: self.rows(shown.places, self.start..end), total: Some(total as u64), next })
    }

    /// All rows from where the page begins.
    pub(super) fn rest(&self, progress: &Progress) -> Result<Page> {
        self.all_at_hand(true)?;
        self.require_rows()?;
        let shown = self.order(usize::MAX, progress)?;
        let (total, mut start) = (shown.total(), self.start);
        if self.is_filtered_on_the_way() {
            // Row indices ascend, so a binary search finds the first one.
            let mut below = 0..total;
            while !below.is_empty() {
                let middle = below.start + below.len() / 2;
                let before = shown.places.get(middle).is_some_and(|place| place < self.start);
                below = if before { middle + 1..below.end } else { below.start..middle };
            }
            start = below.start;
        }
        Ok(Page { rows: self.rows(shown.places, start..total), total: Some(total as u64), next: None })
    }

    /// Whether rows are filtered while scanning: a large table in its own order is read only up to the end of the page.
    fn is_filtered_on_the_way(&self) -> bool {
        matches!(self.grid, Grid::Large(_)) && !self.wanted.filter.is_empty() && self.wanted.sort.is_empty()
    }

    /// The sorted rows, at least the first `end` of them.
    fn order(&self, end: usize, progress: &Progress) -> Result<OrderedRows> {
        if self.wanted.is_all() {
            return Ok(OrderedRows::all(self.grid.height()));
        }
        let memory = &self.snapshot.tables;
        let key = self.whose.as_ref().map_or_else(|| self.key.clone(), |whose| format!("{}\n{}", self.key, whose.token()));
        let kept = match memory.get(&key) {
            Some(OrderedRows { places, of: None }) => return Ok(OrderedRows { places, of: None }),
            Some(shown) if shown.places.len() >= end => return Ok(shown),
            Some(OrderedRows { of: Some(kept), .. }) => kept,
            None => self.wanted.kept(&self.table, &self.grid, progress)?,
        };
        let count = Some(end.max(FIRST_MIN).next_power_of_two()).filter(|_| end <= FIRST_MAX);
        let shown = self.wanted.ordered(&self.grid, kept, count, progress)?;
        memory.keep(key, shown.clone());
        Ok(shown)
    }

    fn rows(&self, places: RowSelection, nth: Range<usize>) -> Ordered {
        Ordered { grid: self.grid.clone(), nth, places, columns: self.columns.clone() }.within()
    }

    /// The cursor of the page that begins at `place`.
    fn cursor(&self, place: usize) -> String {
        let token = self.whose.as_ref().map_or(0, |whose| whose.at);
        Cursor { place, token }.text(self.snapshot, &self.key)
    }
}

/// A page cursor.
#[derive(Default)]
struct Cursor {
    place: usize,
    /// For a remote table: the index of the token.
    token: usize,
}

impl Cursor {
    /// Encodes position, generation and query, so that a stale or foreign cursor is refused.
    fn text(&self, snapshot: &Snapshot, key: &str) -> String {
        let [data, asked] = marks(snapshot, key);
        let token = if self.token > 0 { format!("-{:x}", self.token) } else { String::new() };
        format!("{:x}-{data}-{asked}{token}", self.place)
    }

    fn read(text: &str, snapshot: &Snapshot, key: &str) -> Result<Self> {
        let refused = |why: &str| Problem::new(Code::InvalidParameter, format!("`cursor` {why}: ask for the first page without it."));
        let number = |part: &str| usize::from_str_radix(part, 16).ok();
        let parts: Vec<&str> = text.split('-').collect();
        let (Some((place, token)), [_, data, asked, ..]) = (
            match parts[..] {
                [place, _, _] => number(place).zip(Some(0)),
                [place, _, _, token] => number(place).zip(number(token)),
                _ => None,
            },
            &parts[..],
        ) else {
            return Err(refused("is no `next` of a page"));
        };
        let marks = marks(snapshot, key);
        if **data != marks[0] {
            return Err(refused("is of an older generation of the data"));
        }
        if **asked != marks[1] {
            return Err(refused("belongs to another table, `where` or `sort`"));
        }
        Ok(Self { place, token })
    }
}

fn marks(snapshot: &Snapshot, key: &str) -> [String; 2] {
    ["", key].map(|text| snapshot.etag(text).trim_matches('"').chars().take(12).collect())
}
