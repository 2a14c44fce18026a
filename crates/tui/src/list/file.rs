//! Export of a list: files and copied rows.

use serde_json::Value as Json;

use super::{Field, Fields, List};
use crate::view::Export;

impl<L: Fields> List<L> {
    /// The columns of a file.
    pub fn members(&self) -> Vec<&'static str> {
        // Columns hidden by the user are left out, those that a view hides by default are kept; fields without a column are always written.
        let left_out = |field: &Field<L>| (L::CELLS || field.optional) && self.layout.is_hidden(field.column.key);
        let fields = self.fields();
        fields.iter().filter(|field| !field.member.is_empty() && !left_out(field)).map(|field| field.member).collect()
    }

    /// The row's values in those columns.
    pub fn written(row: L::Row<'_>, members: &[&str]) -> Vec<Json> {
        let row = L::json(row);
        members.iter().map(|member| L::written(&row, member)).collect()
    }

    /// Every listed row, as a table to export.
    pub fn export<'a>(&self, name: impl Into<String>, row: impl Fn(usize) -> Option<L::Row<'a>>) -> Export {
        let members = self.members();
        let rows = self.places().filter_map(row).map(|row| Self::written(row, &members)).collect();
        Export::of(name, &members, rows, self.cursor.selected())
    }
}
