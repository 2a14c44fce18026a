//! The page of a table that a request asks for, and the cursor that leads to the next one. Which rows in which order is `order`'s.

use std::{borrow::Cow, ops::Range};

use super::{TableQuestion, columns, loaded_table, order::RowQuery, whose::Whose};
use crate::{
    dataset::{
        Table,
        cache::Places,
        grid::{Grid, Ordered},
        shelf::Want,
    },
    error::{Code, Problem, Result},
    question::{memory::OrderedRows, paging::FIRST_MAX, parameter, progress::Progress, request::Request, snapshot::Snapshot},
};

/// The fewest first rows of an order that are found at a time.
const FIRST_MIN: usize = 1_000;

/// A request, read beside the data it asks.
pub(super) struct PageRequest<'a> {
    pub(super) table: Cow<'a, Table>,
    snapshot: &'a Snapshot,
    grid: Grid,
    columns: Vec<&'static str>,
    wanted: RowQuery,
    /// What names the rows and their order: the same for every page.
    key: String,
    /// Of a table whose rows stay where they are: the token that the page is of, and `table` has its rows, those of the page alone where
    /// these come as they stand.
    whose: Option<Whose<'a>>,
    want: Option<Want>,
    /// Where the page begins: of rows that are filtered on the way the place of its first, else how many are before it.
    start: usize,
}

/// Some rows.
pub(super) struct Page {
    pub(super) rows: Ordered,
    pub(super) total: Option<u64>,
    pub(super) next: Option<String>,
}

impl<'a> PageRequest<'a> {
    /// The page that is asked for, or with `whole` all from where it begins.
    pub(super) fn read(question: &TableQuestion, snapshot: &'a Snapshot, whole: bool) -> Result<Self> {
        let table = loaded_table(snapshot, &question.table)?;
        let columns = columns::of(table);
        let named = columns::for_filter(table);
        let filter = parameter::conditions("where", question.conditions.as_deref().unwrap_or_default(), &named)?;
        let sort = parameter::orders("sort", question.sort.as_deref().unwrap_or_default(), &named)?;
        let key = TableQuestion { columns: None, cursor: None, limit: 0, ..question.clone() }.target();
        let cursor = question.cursor.as_ref().map(|cursor| Cursor::read(cursor, snapshot, &key)).transpose()?;
        let Cursor { place, token } = cursor.unwrap_or_default();
        let whose = table.shelf.as_deref().and_then(|shelf| Whose::of(shelf, table.schema.name, &filter, token));
        let wanted = RowQuery { table: table.schema, filter, sort };
        let want = whose.as_ref().map(|whose| whose.want(&wanted, place, question.limit, whole));
        let here = whose.as_ref().zip(want.as_ref()).and_then(|(whose, want)| whose.rows(table, want));
        let table = here.map_or(Cow::Borrowed(table), Cow::Owned);
        Ok(Self {
            grid: Grid::of(&table),
            table,
            want,
            snapshot,
            columns: columns::chosen(question.columns.as_deref(), &columns)?,
            wanted,
            key,
            whose,
            start: place,
        })
    }

    /// What a page needs of rows that stay elsewhere.
    pub(super) fn wants(question: &TableQuestion, snapshot: &Snapshot, whole: bool) -> Vec<Want> {
        // A wrong request is refused when it is answered.
        let asked = PageRequest::read(question, snapshot, whole).ok().filter(|asked| asked.all_at_hand(whole).is_ok());
        asked.and_then(|asked| asked.want).into_iter().collect()
    }

    /// A page of a table that stays where it is comes as the rows stand; in another order, filtered by figures or `whole` come those of one
    /// token alone: a page in which one token has nothing would look as if there were nothing at all.
    fn all_at_hand(&self, whole: bool) -> Result<()> {
        let is_many = self.whose.as_ref().is_some_and(Whose::is_one_of_many);
        let is_plain = || self.wanted.sort.is_empty() && !Whose::reads_rows(&self.wanted.filter);
        let Some(shelf) = self.whose.as_ref().filter(|_| is_many && (whole || !is_plain())) else { return Ok(()) };
        Err(Problem::new(Code::SourceUnavailable, shelf.refusal()))
    }

    /// The problem that what has to be fetched was not.
    fn require_rows(&self) -> Result<()> {
        match (&self.whose, &self.table) {
            (Some(whose), Cow::Borrowed(_)) => Err(Problem::new(Code::SourceUnavailable, whose.not_here())),
            _ => Ok(()),
        }
    }

    /// Up to `limit` rows.
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
        if let (Some(whose), Some(Want::Page { .. })) = (&self.whose, &self.want) {
            let (end, total) = (self.start.saturating_add(limit), whose.count());
            let next = (end < total).then(|| self.cursor(end));
            return Ok(Page { rows: self.rows(OrderedRows::all(self.grid.height()).places, 0..limit), total: Some(total as u64), next });
        }
        if self.is_filtered_on_the_way() {
            let mut rows = self.wanted.next(&self.table, &self.grid, self.start, limit.saturating_add(1), progress)?;
            let next = rows.get(limit).map(|place| self.cursor(*place as usize));
            rows.truncate(limit);
            // All of them were seen where they are few.
            let total = (self.start == 0 && next.is_none()).then_some(rows.len() as u64);
            return Ok(Page { rows: self.rows(Places::from(rows), 0..limit), total, next });
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
            // The places rise, so the first one from there on is found by halves.
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

    /// Of a large table in its own order only the rows up to the end of the page are looked at.
    fn is_filtered_on_the_way(&self) -> bool {
        matches!(self.grid, Grid::Large(_)) && !self.wanted.filter.is_empty() && self.wanted.sort.is_empty()
    }

    /// The rows in their order, at least the first `end` of them.
    fn order(&self, end: usize, progress: &Progress) -> Result<OrderedRows> {
        if self.wanted.is_all() {
            return Ok(OrderedRows::all(self.grid.height()));
        }
        let memory = &self.snapshot.tables;
        let key = self.whose.as_ref().map_or_else(|| self.key.clone(), |whose| format!("{}\n{}", self.key, whose.token()));
        let kept = match memory.get(&key) {
            Some(shown @ OrderedRows { of: None, .. }) => return Ok(shown),
            Some(shown) if shown.places.len() >= end => return Ok(shown),
            Some(OrderedRows { of: Some(kept), .. }) => kept,
            None => self.wanted.kept(&self.table, &self.grid, progress)?.0,
        };
        let count = Some(end.max(FIRST_MIN).next_power_of_two()).filter(|_| end <= FIRST_MAX);
        let shown = self.wanted.ordered(&self.grid, kept, count, progress)?;
        memory.keep(key, shown.clone());
        Ok(shown)
    }

    fn rows(&self, places: Places, nth: Range<usize>) -> Ordered {
        Ordered { grid: self.grid.clone(), nth, places, columns: self.columns.clone() }.within()
    }

    /// Where the rows from this place on begin.
    fn cursor(&self, place: usize) -> String {
        let token = self.whose.as_ref().map_or(0, |whose| whose.at);
        Cursor { place, token }.text(self.snapshot, &self.key)
    }
}

/// Where a page begins.
#[derive(Default)]
struct Cursor {
    place: usize,
    /// Of a table whose rows stay where they are: the token among all, in their order.
    token: usize,
}

impl Cursor {
    /// Names the place, the data and the rows asked for, so that it leads nowhere else.
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
