//! Rows of a table as canonical frames, and small tables of frames.

use std::ops::Range;

use polars::prelude::{
    Column, DataFrame, DataType, IntoColumn, ListBuilderTrait as _, ListStringChunkedBuilder,
    NamedFrom, PlSmallStr, Series, StringChunkedBuilder,
};

use super::memory::{FREE, build};
use crate::{error::FrameError, text_runs::Texts};
use model::{
    address::Address,
    schema::{Kind, TableSchema},
};
use table::{RowSelection, StorageType, TableRows, rows::Values};

/// Reads rows as canonical frames, and makes small tables of them.
pub trait Frames: Sized {
    /// The rows of a frame in canonical columns, sorted and each key once; columns outside the schema are the table's own.
    fn in_memory(schema: &'static TableSchema, frame: &DataFrame) -> Result<Self, FrameError>;

    /// The rows of a frame in which every column is the table's own.
    fn free(frame: &DataFrame) -> Result<Self, FrameError>;

    /// Consecutive rows, with these columns or all. Damaged columns are null.
    fn slice(&self, rows: Range<usize>, columns: Option<&[&str]>) -> DataFrame;

    /// The rows at these positions, in this order, with these columns or all. Damaged cells are null.
    fn gather(&self, rows: &[u32], columns: Option<&[&str]>) -> DataFrame;

    /// The rows of a range of `places`, in that order, with these columns or all.
    fn at(&self, places: &RowSelection, nth: Range<usize>, columns: Option<&[&str]>) -> DataFrame {
        let nth = nth.start.min(places.len())..nth.end.min(places.len());
        if let RowSelection::Run(rows) = places {
            return self.slice(rows.start + nth.start..rows.start + nth.end, columns);
        }
        let rows: Vec<u32> = nth
            .filter_map(|nth| places.get(nth))
            .map(|place| place as u32)
            .collect();
        self.gather(&rows, columns)
    }
}

impl Frames for TableRows {
    fn in_memory(schema: &'static TableSchema, frame: &DataFrame) -> Result<Self, FrameError> {
        Ok(build(schema, frame)?)
    }

    fn free(frame: &DataFrame) -> Result<Self, FrameError> {
        Self::in_memory(&FREE, frame)
    }

    fn slice(&self, rows: Range<usize>, columns: Option<&[&str]>) -> DataFrame {
        let rows = rows.start.min(self.height())..rows.end.min(self.height());
        frame(self, rows.len(), columns, |name| {
            consecutive(self, name, rows.clone())
        })
    }

    fn gather(&self, rows: &[u32], columns: Option<&[&str]>) -> DataFrame {
        frame(self, rows.len(), columns, |name| gathered(self, name, rows))
    }
}

/// A canonical frame with these columns or all; a column for which `read` returns none is null.
fn frame(
    table: &TableRows,
    height: usize,
    wanted: Option<&[&str]>,
    read: impl Fn(&'static str) -> Option<Column>,
) -> DataFrame {
    let columns = table
        .columns()
        .filter(|column| wanted.is_none_or(|wanted| wanted.contains(&column.name)));
    let columns = columns.map(|column| {
        let cells = read(column.name).filter(|cells| cells.len() == height);
        cells.unwrap_or_else(|| crate::canonical::empty(column, height))
    });
    DataFrame::new(height, columns.collect()).unwrap_or_default()
}

fn gathered(table: &TableRows, name: &'static str, rows: &[u32]) -> Option<Column> {
    let places = rows.iter().map(|&row| row as usize);
    let label = PlSmallStr::from_static(name);
    if table::in_index(table.schema(), name) {
        let cells = places.map(|row| table.cell(name, row).to_text());
        return Some(texts(label, rows.len(), cells));
    }
    let cells = table.cells(name)?;
    decoded(
        name,
        cells.storage,
        rows.len(),
        places.map(|row| cells.bytes(row)),
    )
}

fn consecutive(table: &TableRows, name: &'static str, rows: Range<usize>) -> Option<Column> {
    if let Some(runs) = table.runs(name, rows.clone()) {
        let mut column = Texts::with_capacity(rows.len());
        for (text, rows) in &runs {
            column.push(Some(text), rows.len());
        }
        return Some(column.finish(PlSmallStr::from_static(name)));
    }
    let height = rows.len();
    let (storage, raw) = table.stored(name, rows)?;
    let mut empty = raw.empty.into_iter().peekable();
    let valid = (0..height).map(|row| empty.next_if_eq(&row).is_none());
    match raw.values {
        Values::Fixed { width, bytes } => {
            let cells = bytes.chunks_exact(width).zip(valid);
            let cells = cells.map(|(bytes, valid)| valid.then_some(bytes));
            decoded(name, storage, height, cells)
        }
        Values::Texts { ends, data } if ends.is_sorted() => {
            let first = *ends.first()? as usize;
            let cell = |(ends, valid): (&[u64], bool)| {
                valid.then(|| data.get(ends[0] as usize - first..ends[1] as usize - first))?
            };
            decoded(name, storage, height, ends.windows(2).zip(valid).map(cell))
        }
        Values::Texts { .. } => None,
    }
}

/// Decodes stored cells to a canonical column.
fn decoded<'a>(
    name: &'static str,
    storage: StorageType,
    height: usize,
    cells: impl Iterator<Item = Option<&'a [u8]>>,
) -> Option<Column> {
    let label = PlSmallStr::from_static(name);
    let number = |bytes: &[u8]| bytes.first_chunk().copied();
    Some(match storage {
        StorageType::Float => {
            let numbers = cells.map(|cell| cell.and_then(number).map(f64::from_le_bytes));
            Series::new(label, numbers.collect::<Vec<_>>()).into_column()
        }
        StorageType::Flag => {
            let flags = cells.map(|cell| Some(i64::from_le_bytes(number(cell?)?) != 0));
            Series::new(label, flags.collect::<Vec<_>>()).into_column()
        }
        StorageType::List => {
            let mut lists = ListStringChunkedBuilder::new(label, height, height);
            for cell in cells {
                match cell.map(String::from_utf8_lossy) {
                    Some(members) => lists.append_values_iter(members.split_terminator('\0')),
                    None => lists.append_null(),
                }
            }
            lists.finish().into_column()
        }
        StorageType::Integer | StorageType::Time | StorageType::Day => {
            let numbers = cells.map(|cell| cell.and_then(number).map(i64::from_le_bytes));
            let column = Series::new(label, numbers.collect::<Vec<_>>()).into_column();
            match storage {
                StorageType::Time => column.cast(&crate::canonical::canonical(Kind::Time)).ok()?,
                StorageType::Day => column
                    .cast(&DataType::Int32)
                    .ok()?
                    .cast(&crate::canonical::canonical(Kind::Date))
                    .ok()?,
                _ => column,
            }
        }
        StorageType::Address => texts(
            label,
            height,
            cells.map(|cell| cell?.first_chunk().map(|bytes| Address(*bytes).to_string())),
        ),
        StorageType::Hex => texts(
            label,
            height,
            cells.map(|cell| cell.map(const_hex::encode_prefixed)),
        ),
        StorageType::Text => texts(
            label,
            height,
            cells.map(|cell| cell.map(String::from_utf8_lossy)),
        ),
    })
}

fn texts(
    name: PlSmallStr,
    height: usize,
    cells: impl Iterator<Item = Option<impl AsRef<str>>>,
) -> Column {
    let mut builder = StringChunkedBuilder::new(name, height);
    cells.for_each(|cell| builder.append_option(cell));
    builder.finish().into_column()
}
