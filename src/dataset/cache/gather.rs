//! Rows of a large table from all over it, as a frame: what an order or a filter picks.

use polars::prelude::{Column, DataFrame, PlSmallStr};

use super::table::{LargeTable, decoded, texts};

impl LargeTable {
    /// The rows at these places, in this order, with these columns or all. What is damaged is empty.
    pub fn gather(&self, rows: &[u32], columns: Option<&[&str]>) -> DataFrame {
        self.frame(rows.len(), columns, |name| self.gathered(name, rows))
    }

    fn gathered(&self, name: &'static str, rows: &[u32]) -> Option<Column> {
        let places = rows.iter().map(|&row| row as usize);
        let label = PlSmallStr::from_static(name);
        if name == super::owner(self.schema()) {
            return Some(texts(label, rows.len(), places.map(|row| self.token_at(row).map(|token| token.to_string()))));
        }
        if super::in_index(self.schema(), name) {
            return Some(texts(label, rows.len(), places.map(|row| self.interval_at(row).map(|interval| interval.to_string()))));
        }
        let cells = self.cells(name)?;
        decoded(name, cells.form, rows.len(), places.map(|row| cells.bytes(row)))
    }
}
