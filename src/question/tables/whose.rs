//! Pages of a remote table: each page is of one token, whose rows are fetched for it. In table order only the page's rows are fetched; with
//! another order, or with conditions on other columns, all rows of the one named token.

use crate::{
    dataset::{
        Table, TableState,
        address::Address,
        in_place::{FetchKey, Fetched, InPlaceCache},
    },
    question::{
        filter::{FieldValue, Filter},
        tables::order::RowQuery,
    },
};

/// The column of the token.
const TOKEN: &str = "token_address";

/// The token of a page.
pub(super) struct Whose<'a> {
    in_place: &'a InPlaceCache,
    table: &'static str,
    /// Its index among the table's tokens.
    pub(super) at: usize,
    /// The next token that matches the filter, and whether one matches before.
    after: Option<usize>,
    before: bool,
}

impl<'a> Whose<'a> {
    /// The first matching token from index `from` on; `None` without one.
    pub(super) fn of(in_place: &'a InPlaceCache, table: &'static str, filter: &Filter, from: usize) -> Option<Self> {
        let (of_tokens, _) = filter.split(|column| column == TOKEN);
        let keeps = |at: &usize| {
            let text = in_place.tokens().get(*at).map(Address::to_string).unwrap_or_default();
            of_tokens.matches(|_| Some(FieldValue::text(text.clone())))
        };
        let mut kept = (from..in_place.tokens().len()).filter(keeps);
        let at = kept.next()?;
        Some(Self { in_place, table, at, after: kept.next(), before: (0..at).any(|at| keeps(&at)) })
    }

    /// Whether the filter has conditions on other columns, for which rows must be read.
    pub(super) fn reads_rows(filter: &Filter) -> bool {
        !filter.split(|column| column == TOKEN).1.is_empty()
    }

    pub(super) fn token(&self) -> Address {
        self.in_place.tokens().get(self.at).copied().unwrap_or_default()
    }

    /// Number of its rows.
    pub(super) fn count(&self) -> usize {
        usize::try_from(self.in_place.count(&self.token())).unwrap_or(usize::MAX)
    }

    /// The fetch request for a page that begins at row `place` of the token.
    pub(super) fn key(&self, wanted: &RowQuery, place: usize, limit: u64, whole: bool) -> FetchKey {
        let (table, token) = (self.table, self.token());
        if wanted.sort.is_empty() && !Self::reads_rows(&wanted.filter) && !whole {
            return self.in_place.page(table, token, place as u64, limit);
        }
        FetchKey::Rows { table, token }
    }

    /// The fetched rows, as a table of their own; `None` before they are fetched.
    pub(super) fn rows(&self, whole: &Table, key: &FetchKey) -> Option<Table> {
        match &*self.in_place.get(key)? {
            Fetched::Rows(table, _) => Some((**table).clone()),
            Fetched::Page(rows) => Some(Table { frame: rows.clone(), state: TableState::Loaded, ..Table::absent(whole.schema) }),
            Fetched::Chart(_) | Fetched::Balances(_) => None,
        }
    }

    /// The index of the next matching token.
    pub(super) fn after(&self) -> Option<usize> {
        self.after
    }

    /// Whether the filter matches other tokens too.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.before || self.after.is_some()
    }

    /// The error text of rows not fetched yet.
    pub(super) fn not_here(&self) -> String {
        format!("The rows of `{}` stay at `{}`, and those of `{}` are not here: ask again.", self.table, self.in_place.source, self.token())
    }

    /// The error text of a request for rows of several tokens at once.
    pub(super) fn refusal(&self) -> String {
        format!(
            "The rows of `{}` stay at `{}` and come token by token: name one, as in where={TOKEN}={}, or take pages in their own order; \
             read = \"bring\" in dataset.toml brings all.",
            self.table,
            self.in_place.source,
            self.token()
        )
    }
}
