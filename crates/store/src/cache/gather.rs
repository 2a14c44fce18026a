//! Random access: selected rows of a large table as a frame, for sort orders and filters.

use polars::prelude::{Column, DataFrame, PlSmallStr};

use super::table::{LargeTable, decoded, texts};

impl LargeTable {
    /// Returns the rows at these positions, in this order, with these columns or all. Damaged cells are null.
    pub fn gather(&self, rows: &[u32], columns: Option<&[&str]>) -> DataFrame {
        self.frame(rows.len(), columns, |name| self.gathered(name, rows))
    }

    fn gathered(&self, name: &'static str, rows: &[u32]) -> Option<Column> {
        let places = rows.iter().map(|&row| row as usize);
        let label = PlSmallStr::from_static(name);
        if name == super::group_column(self.schema()) {
            return Some(texts(label, rows.len(), places.map(|row| self.token_at(row).map(|token| token.to_string()))));
        }
        if super::in_index(self.schema(), name) {
            return Some(texts(label, rows.len(), places.map(|row| self.interval_at(row).map(|interval| interval.to_string()))));
        }
        let cells = self.cells(name)?;
        decoded(name, cells.storage, rows.len(), places.map(|row| cells.bytes(row)))
    }
}
