//! Pages of a remote table: each page is of one token, whose rows are fetched for it. In table order only the page's rows are fetched; with
//! another order, or with conditions on other columns, all rows of the one named token.

use crate::question::{
    filter::{FieldValue, Filter},
    tables::order::RowQuery,
};
use model::{address::Address, fetch_key::FetchKey, schema::TableSchema};
use store::{
    Storage, Table,
    in_place::{Fetched, InPlaceCache},
};

/// The column of the token.
const TOKEN: &str = "token_address";

/// The token of a page.
pub(super) struct TokenPage<'a> {
    in_place: &'a InPlaceCache,
    table: &'static str,
    /// Its index among the table's tokens.
    pub(super) token_index: usize,
    /// The index of the next token that matches the filter.
    pub(super) next_token: Option<usize>,
    /// Whether a token before it matches too.
    has_previous: bool,
}

impl<'a> TokenPage<'a> {
    /// The first token from index `from` on that matches the filter; `None` without one.
    pub(super) fn first_matching(in_place: &'a InPlaceCache, table: &'static str, filter: &Filter, from: usize) -> Option<Self> {
        let (token_conditions, _) = filter.split(|column| column == TOKEN);
        let matches = |index: &usize| {
            let text = in_place.tokens().get(*index).map(Address::to_string).unwrap_or_default();
            token_conditions.matches(|_| Some(FieldValue::text(text.clone())))
        };
        let mut matching = (from..in_place.tokens().len()).filter(matches);
        let token_index = matching.next()?;
        let has_previous = (0..token_index).any(|index| matches(&index));
        Some(Self { in_place, table, token_index, next_token: matching.next(), has_previous })
    }

    /// Whether the filter has conditions on other columns, for which rows must be read.
    pub(super) fn has_row_conditions(filter: &Filter) -> bool {
        !filter.split(|column| column == TOKEN).1.is_empty()
    }

    pub(super) fn token(&self) -> Address {
        self.in_place.tokens().get(self.token_index).copied().unwrap_or_default()
    }

    /// Number of its rows.
    pub(super) fn count(&self) -> usize {
        usize::try_from(self.in_place.count(&self.token())).unwrap_or(usize::MAX)
    }

    /// The fetch request for a page that begins at row `start` of the token.
    pub(super) fn fetch_key(&self, query: &RowQuery, start: usize, limit: u64, whole: bool) -> FetchKey {
        let (table, token) = (self.table, self.token());
        if query.sort.is_empty() && !Self::has_row_conditions(&query.filter) && !whole {
            return self.in_place.page(table, token, start as u64, limit);
        }
        FetchKey::Rows { table, token }
    }

    /// Fetched rows as a table of their own.
    pub(super) fn as_table(schema: &'static TableSchema, rows: &Fetched) -> Option<Table> {
        match rows {
            Fetched::Rows(table, _) => Some((**table).clone()),
            Fetched::Page(rows) => Some(Table::stored(schema, Storage::Memory(rows.clone()))),
            Fetched::Chart(_) | Fetched::Balances(_) | Fetched::Transfers(_) => None,
        }
    }

    /// Whether the filter matches other tokens too.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.has_previous || self.next_token.is_some()
    }

    /// The error text of a request for rows of several tokens at once.
    pub(super) fn several_tokens_refusal(&self) -> String {
        format!(
            "The rows of `{}` stay at `{}` and come token by token: name one, as in where={TOKEN}={}, or take pages in their own order; \
             read = \"bring\" in dataset.toml brings all.",
            self.table,
            self.in_place.source,
            self.token()
        )
    }
}
