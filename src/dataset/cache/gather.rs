//! Rows of a large table from all over it, as a frame: what an order or a filter picks.

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PlSmallStr, Series};

use super::{
    Form,
    table::{LargeTable, texts, time_type},
};
use crate::dataset::{address::Address, coerce};

impl LargeTable {
    /// The rows at these places, in this order, with these columns or all. What is damaged is empty.
    pub fn gather(&self, rows: &[u32], columns: Option<&[&str]>) -> DataFrame {
        let wanted = |name: &str| columns.is_none_or(|columns| columns.contains(&name));
        let made = self.schema().columns.iter().filter(|column| wanted(column.name)).map(|column| {
            let made = self.gathered(column.name, rows).filter(|made| made.len() == rows.len());
            made.unwrap_or_else(|| coerce::empty(column, rows.len()))
        });
        DataFrame::new(rows.len(), made.collect()).unwrap_or_default()
    }

    fn gathered(&self, name: &'static str, rows: &[u32]) -> Option<Column> {
        let label = PlSmallStr::from_static(name);
        let places = rows.iter().map(|&row| row as usize);
        if super::in_index(self.schema(), name) {
            let whose = name == super::owner(self.schema());
            let told = |row| {
                if whose {
                    self.token_at(row).map(|token| token.to_string())
                } else {
                    self.interval_at(row).map(|interval| interval.to_string())
                }
            };
            return Some(texts(label, rows.len(), places.map(told)));
        }
        let cells = self.cells(name)?;
        let number = |row| cells.bytes(row).and_then(|bytes| bytes.first_chunk().copied());
        let text = |text: &dyn Fn(&[u8]) -> Option<String>| {
            texts(label.clone(), rows.len(), places.clone().map(|row| cells.bytes(row).and_then(text)))
        };
        Some(match cells.form {
            Form::Float => {
                let numbers = places.map(|row| number(row).map(f64::from_le_bytes));
                Series::new(label, numbers.collect::<Vec<_>>()).into_column()
            }
            Form::Integer | Form::Time => {
                let numbers = places.map(|row| number(row).map(i64::from_le_bytes));
                let column = Series::new(label, numbers.collect::<Vec<_>>()).into_column();
                if cells.form == Form::Time { column.cast(&time_type()).ok()? } else { column }
            }
            Form::Address => text(&|bytes| bytes.first_chunk().map(|bytes| Address(*bytes).to_string())),
            Form::Hex => text(&|bytes| Some(const_hex::encode_prefixed(bytes))),
            Form::Text => text(&|bytes| Some(String::from_utf8_lossy(bytes).into_owned())),
        })
    }
}
