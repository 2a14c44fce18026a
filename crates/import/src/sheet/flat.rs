//! Flattens columns of binary tables: structs into columns (`price.open`), cells into texts.

use polars::prelude::Column;

use frames::{
    decode::guarded,
    raw_cell::{RawCell, cells},
};
use load::formats::{RowSource, SourceBatch, SourceError};
use model::untrusted::DecodeError;

/// Maximum depth of flattened structs.
const DEPTH: usize = 4;

/// Rows with structs flattened into columns.
pub(crate) struct Flat {
    inner: Box<dyn RowSource>,
    names: Vec<String>,
}

impl Flat {
    pub(crate) fn over(inner: Box<dyn RowSource>) -> Box<dyn RowSource> {
        let names = inner.columns().to_vec();
        Box::new(Self { inner, names })
    }
}

fn flatten(
    column: Column,
    name: &str,
    depth: usize,
    into: &mut Vec<Column>,
) -> Result<(), DecodeError> {
    if depth < DEPTH && column.dtype().is_struct() {
        let fields = guarded("table", || Ok(column.struct_()?.fields_as_series()))?;
        for field in fields {
            let inner = format!("{name}.{}", field.name());
            flatten(Column::from(field), &inner, depth + 1, into)?;
        }
    } else {
        into.push(column.with_name(name.into()));
    }
    Ok(())
}

impl RowSource for Flat {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let Some(mut batch) = self.inner.next_batch()? else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(batch.columns.len());
        for column in std::mem::take(&mut batch.columns) {
            let name = column.name().to_string();
            flatten(column, &name, 0, &mut columns)?;
        }
        self.names = columns
            .iter()
            .map(|column| column.name().to_string())
            .collect();
        batch.columns = columns;
        Ok(Some(batch))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn bytes_read(&self) -> u64 {
        self.inner.bytes_read()
    }
}

/// The cells of a column as texts; null is "".
pub(crate) fn texts(column: &Column) -> Vec<String> {
    optional(column)
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}

/// The cells of a column as texts: bytes as hex, integers with all digits.
pub(crate) fn optional(column: &Column) -> Vec<Option<String>> {
    let column = column.rechunk();
    let read = guarded("column", || {
        Ok(cells(&column).iter().map(text).collect::<Vec<_>>())
    });
    read.unwrap_or_else(|_| vec![None; column.len()])
}

fn text(cell: &RawCell<'_>) -> Option<String> {
    match cell {
        RawCell::Null | RawCell::Other => None,
        RawCell::Bytes(bytes) => Some(bytes.iter().fold(String::from("0x"), |text, byte| {
            text + &format!("{byte:02x}")
        })),
        RawCell::Float(number) if number.is_nan() => None,
        RawCell::List(_) => Some(cell.shown()),
        _ => cell
            .to_text()
            .map(std::borrow::Cow::into_owned)
            .filter(|text| !text.is_empty()),
    }
}
