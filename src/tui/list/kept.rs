//! What comes of a list beside the screen: a file, a copied row, and what is kept between runs.

use serde_json::{Value as Json, json};

use super::{Field, Fields, List, SCREEN};
use crate::tui::view::Export;

impl<L: Fields> List<L> {
    /// The columns of a file.
    pub fn members(&self) -> Vec<&'static str> {
        // What the person hid is left out of a file, what a view hides by itself is not; what has no column is in every one.
        let left_out = |field: &Field<L>| (L::CELLS || field.optional) && self.layout.is_hidden(field.column.key);
        let fields = self.fields();
        fields.iter().filter(|field| !field.member.is_empty() && !left_out(field)).map(|field| field.member).collect()
    }

    /// The values of a row in those columns.
    pub fn written(row: L::Row<'_>, members: &[&str]) -> Vec<Json> {
        let row = L::json(row);
        members.iter().map(|member| L::written(&row, member)).collect()
    }

    /// Every row shown, as a table to be written.
    pub fn export<'a>(&self, name: impl Into<String>, row: impl Fn(usize) -> Option<L::Row<'a>>) -> Export {
        let members = self.members();
        let rows = self.places().filter_map(row).map(|row| Self::written(row, &members)).collect();
        Export::of(name, &members, rows, self.cursor.selected())
    }

    /// What is kept between runs, beside what the view keeps of its own.
    pub fn save(&self, mut own: Json) -> Json {
        (own["sort"], own["filter"]) = (self.sorting.save(), json!(self.filter_text));
        own["columns"] = self.layout.save(&Self::standard_layout());
        own
    }

    pub fn restore(&mut self, kept: &Json) {
        self.restore_now(kept);
        // It may name columns of the data, which are not there yet.
        self.kept = (L::CELLS && !self.owned).then(|| kept.clone());
    }

    pub(super) fn restore_now(&mut self, kept: &Json) {
        if kept[SCREEN] == true {
            self.clear_filter();
            self.sorting.set([]);
            self.layout = Self::standard_layout();
        }
        let known: Vec<&'static str> = L::FIELDS.iter().chain(&self.own).map(|field| field.column.key).collect();
        self.layout.restore(&kept["columns"], &known);
        let columns = self.sort_columns();
        self.sorting.restore(&kept["sort"], &columns);
        // One that cannot be read any more is dropped.
        kept["filter"].as_str().map(|text| self.set_filter(text).ok());
    }
}
