//! The type-erased interface of a list, independent of its row type, as `/`, `C` and F2 use it; and the export of a list.

use serde_json::{Value as Json, json};

use super::{ColumnLayout, Field, Fields, List, SCREEN};
use crate::views::{
    error::InputError,
    view::{ColumnChoice, Context, Export},
};
use query::queries::{order::Order, parameter::TokenReader};
use table::filter::{self, ColumnKind, FilterColumn};

pub trait Listing {
    fn filter_text(&self) -> &str;

    /// Whether no row is listed.
    fn is_empty(&self) -> bool;

    /// Parses and sets the filter; the caller refreshes the rows.
    fn set_filter(&mut self, text: &str, tokens: TokenReader<'_>) -> Result<(), InputError>;

    /// Completions of a filter's last word: the whole text, and the new word.
    fn completions(&self, text: &str, context: &Context<'_>) -> Vec<(String, String)>;

    /// The column choice, where the user has one.
    fn choice(&self) -> Option<ColumnChoice>;

    /// Sets the user's layout, `None` for the defaults; hiding a column removes its sort key.
    fn set_layout(&mut self, layout: Option<ColumnLayout>);

    /// The saved session, merged with the view's own entries.
    fn save(&self, own: Json) -> Json;

    /// Restores a saved session; invalid entries are ignored.
    fn restore(&mut self, session: &Json);
}

impl<L: Fields> Listing for List<L> {
    fn filter_text(&self) -> &str {
        &self.filter_text
    }

    fn is_empty(&self) -> bool {
        List::is_empty(self)
    }

    fn set_filter(&mut self, text: &str, tokens: TokenReader<'_>) -> Result<(), InputError> {
        self.filter = L::read(text, &self.filter_columns(), tokens)?;
        text.clone_into(&mut self.filter_text);
        Ok(())
    }

    fn completions(&self, text: &str, context: &Context<'_>) -> Vec<(String, String)> {
        let values = |column: &FilterColumn| match column.kind {
            ColumnKind::Flag => vec!["yes".to_owned(), "no".to_owned()],
            ColumnKind::Text | ColumnKind::List | ColumnKind::Chain => {
                L::words(column.name, context)
            }
            ColumnKind::Number | ColumnKind::Time | ColumnKind::Duration => Vec::new(),
        };
        filter::complete(text, &self.filter_columns(), values)
    }

    fn choice(&self) -> Option<ColumnChoice> {
        let choice = || ColumnChoice {
            columns: self.columns(),
            empty: self.empty_columns.clone(),
            no_room: self.no_room.clone(),
            layout: self.layout.clone(),
        };
        L::CELLS.then(choice)
    }

    fn set_layout(&mut self, layout: Option<ColumnLayout>) {
        self.layout = layout.unwrap_or_else(Self::standard_layout);
        self.drop_hidden_orders();
    }

    fn save(&self, mut own: Json) -> Json {
        (own["sort"], own["filter"]) = (self.sorting.save(), json!(self.filter_text));
        own["columns"] = self.layout.save(&Self::standard_layout());
        if own["columns"].is_object() {
            own["columns"]["known"] = L::FIELDS
                .iter()
                .filter(|field| field.shown)
                .map(|field| field.column.key)
                .collect();
        }
        own
    }

    fn restore(&mut self, session: &Json) {
        self.apply_session(session, TokenReader::default());
        // It may name custom columns of the data, which are not loaded yet.
        self.saved_session = (L::CELLS && self.own_generation.is_none()).then(|| session.clone());
    }
}

impl<L: Fields> List<L> {
    /// The columns of a file.
    pub fn members(&self) -> Vec<&'static str> {
        // Columns hidden by the user are left out, those that a view hides by default are kept; fields without a column are always written.
        let left_out = |field: &Field<L>| {
            (L::CELLS || field.optional) && self.layout.is_hidden(field.column.key)
        };
        let fields = self.fields();
        fields
            .iter()
            .filter(|field| !field.member.is_empty() && !left_out(field))
            .map(|field| field.member)
            .collect()
    }

    /// The row's values in those columns.
    pub fn written(row: L::Row<'_>, members: &[&str]) -> Vec<Json> {
        let row = L::json(row);
        members
            .iter()
            .map(|member| L::written(&row, member))
            .collect()
    }

    /// Every listed row, as a table to export.
    pub fn export<'a>(
        &self,
        name: impl Into<String>,
        row: impl Fn(usize) -> Option<L::Row<'a>>,
    ) -> Export {
        let members = self.members();
        let rows = self
            .places()
            .filter_map(row)
            .map(|row| Self::written(row, &members))
            .collect();
        Export::of(name, &members, rows, self.cursor.selected())
    }

    pub(super) fn apply_session(&mut self, session: &Json, tokens: TokenReader<'_>) {
        if session[SCREEN] == true {
            self.clear_filter();
            self.sorting.set([]);
            self.layout = Self::standard_layout();
        }
        let known: Vec<&'static str> = L::FIELDS
            .iter()
            .chain(&self.own)
            .map(|field| field.column.key)
            .collect();
        self.layout.restore(&session["columns"], &known);
        self.hide_newer_columns(&session["columns"]);
        let columns = self.sort_columns();
        self.sorting.restore(&session["sort"], &columns);
        // A filter that no longer parses is dropped.
        session["filter"]
            .as_str()
            .map(|text| self.set_filter(text, tokens).ok());
    }

    /// Columns that did not exist when the layout was saved stay hidden until they are chosen.
    fn hide_newer_columns(&mut self, layout: &Json) {
        let existed = |field: &Field<L>| match layout["known"].as_array() {
            Some(known) => known.iter().any(|key| key == field.column.key),
            None => !field.recent,
        };
        for field in L::FIELDS
            .iter()
            .filter(|field| layout.is_object() && field.shown && !existed(field))
        {
            self.layout.show(field.column.key, false);
        }
    }

    pub(super) fn drop_hidden_orders(&mut self) {
        let kept: Vec<Order> = self
            .sorting
            .keys()
            .iter()
            .copied()
            .filter(|order| !self.layout.is_hidden(order.column))
            .collect();
        if kept.len() != self.sorting.keys().len() {
            self.sorting.set(kept);
        }
    }
}
