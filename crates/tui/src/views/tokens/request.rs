//! The HTTP request for the token list on screen.

use super::{TokensView, list::TokenFields};
use crate::list::List;
use query::question::{fields::FIELDS, search::SearchQuestion};

impl TokensView {
    /// The API question for the same list, without the watchlist, which the API does not know.
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

    /// The figures that `fields` must name for the visible columns.
    pub(super) fn fields(&self) -> Vec<&'static str> {
        let columns = self.list.columns();
        let shown = |field: &str| columns.iter().any(|(key, ..)| *key == field && self.list.is_drawn(key));
        let own = columns.iter().any(|(key, _, shown)| *shown && List::<TokenFields>::is_own(key));
        FIELDS.iter().copied().filter(|field| shown(field) || (*field == "own" && own)).collect()
    }
}
