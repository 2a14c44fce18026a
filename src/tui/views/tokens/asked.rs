//! What is asked of the list: the row and the cell under the selection, and the same list over HTTP.

use super::{
    TokensView,
    list::{Shown, Tokens},
    rows,
};
use crate::{
    question::{fields::FIELDS, search::SearchQuestion},
    tui::{
        list::List,
        view::{Context, Effect, View},
    },
};

impl TokensView {
    /// The row under the selection.
    pub(super) fn shown<'a>(&'a self, context: &'a Context<'_>) -> Option<Shown<'a>> {
        rows(&context.snapshot?.market.tokens, &self.figures.known, context)(self.list.selected()?)
    }

    pub(super) fn filter_like(&mut self, like: bool, context: &Context<'_>) -> Effect {
        let text = self.list.filter_like(self.shown(context), like);
        match text.and_then(|text| self.set_filter(&text, context)) {
            Ok(()) => self.selected(context),
            Err(problem) => Effect::Say(problem),
        }
    }

    /// The selected cell; of a whole row the address.
    pub(super) fn copy_value(&self, context: &Context<'_>) -> Effect {
        let Some(row) = self.shown(context) else { return Effect::Pass };
        match self.list.column().and_then(|key| Some((List::<Tokens>::plain(row, key)?, key))) {
            Some((text, key)) => Effect::Copy(text, key),
            None => Effect::Copy(row.token.token_address.to_string(), "address"),
        }
    }

    /// What the API is asked for the same list; it knows no watchlist.
    pub(super) fn question(&self) -> SearchQuestion {
        let words: Vec<&str> = self.list.filter().words().collect();
        SearchQuestion {
            query: (!words.is_empty()).then(|| words.join(" ")),
            chain: None,
            conditions: Some(self.list.filter().split(|column| column != "starred").0.conditions()).filter(|text| !text.is_empty()),
            sort: Some(self.list.sorting.keys().iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
            fields: self.fields(),
            only: Vec::new(),
            page: 1,
            limit: 250,
        }
    }

    /// The figures that `fields` must name for the columns on screen.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        let columns = self.list.columns();
        let shown = |field: &str| columns.iter().any(|(key, ..)| *key == field && self.list.is_wanted(key));
        let own = columns.iter().any(|(key, _, shown)| *shown && List::<Tokens>::is_own(key));
        FIELDS.iter().copied().filter(|field| shown(field) || (*field == "own" && own)).collect()
    }
}
