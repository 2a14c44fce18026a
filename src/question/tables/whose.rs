//! Pages of a table whose rows stay where they are: each is of one token, whose rows are fetched for it.

use crate::{
    dataset::{Table, address::Address, candles::Shelf},
    question::filter::{FieldValue, Filter},
};

/// The column that names the token.
const TOKEN: &str = "token_address";

/// The token that a page is of.
pub(super) struct Whose<'a> {
    shelf: &'a Shelf,
    /// Its place among all, in the order of the table.
    pub(super) at: usize,
    /// The next one that the filter keeps, and whether there is one before.
    after: Option<usize>,
    before: bool,
}

impl<'a> Whose<'a> {
    /// The first token from a place on that the filter keeps; none where there is none.
    pub(super) fn of(shelf: &'a Shelf, filter: &Filter, from: usize) -> Option<Self> {
        let (of_tokens, _) = filter.split(|column| column == TOKEN);
        let keeps = |at: &usize| {
            let text = shelf.tokens().get(*at).map(Address::to_string).unwrap_or_default();
            of_tokens.matches(|_| Some(FieldValue::text(text.clone())))
        };
        let mut kept = (from..shelf.tokens().len()).filter(keeps);
        let at = kept.next()?;
        Some(Self { shelf, at, after: kept.next(), before: (0..at).any(|at| keeps(&at)) })
    }

    pub(super) fn token(&self) -> Address {
        self.shelf.tokens().get(self.at).copied().unwrap_or_default()
    }

    /// Its rows; none before they were fetched.
    pub(super) fn rows(&self) -> Option<&'a Table> {
        self.shelf.rows_of(&self.token())
    }

    /// The place of the next token that the filter keeps.
    pub(super) fn after(&self) -> Option<usize> {
        self.after
    }

    /// Whether the filter keeps other tokens too.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.before || self.after.is_some()
    }

    /// What to say to one who asks for rows of several tokens at once.
    pub(super) fn refusal(&self, table: &str) -> String {
        format!(
            "The rows of `{table}` stay at `{}` and come token by token: name one, as in where={TOKEN}={}, or take pages in their own order; \
             read = \"bring\" in dataset.toml brings all.",
            self.shelf.source,
            self.token()
        )
    }
}
