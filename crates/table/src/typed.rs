//! Consecutive rows of a table as the typed rows of `model` read them, without frames between.

use std::{borrow::Cow, ops::Range};

use super::{StorageType, TableRows, group_column, rows::Values};
use model::{address::Address, rows::TableColumns};

/// Consecutive rows of a table. A damaged column is null.
pub struct RowRange<'a> {
    table: &'a TableRows,
    rows: Range<usize>,
}

impl TableRows {
    /// These rows, as far as the table has them.
    pub fn range(&self, rows: Range<usize>) -> RowRange<'_> {
        let rows = rows.start.min(self.height())..rows.end.min(self.height());
        RowRange { table: self, rows }
    }
}

impl<'a> RowRange<'a> {
    /// The bytes of every cell of a column that is not in the index, and how they are stored; without such a column, or where it is
    /// damaged, none.
    fn cells(&self, column: &str) -> Option<(StorageType, Vec<Option<&'a [u8]>>)> {
        let (storage, raw) = self.table.stored(column, self.rows.clone())?;
        let mut cells: Vec<Option<&[u8]>> = match raw.values {
            Values::Fixed { width, bytes } => bytes.chunks_exact(width).map(Some).collect(),
            Values::Texts { ends, data } if ends.is_sorted() => {
                let first = *ends.first()?;
                let cells = ends.windows(2);
                cells
                    .map(|ends| data.get((ends[0] - first) as usize..(ends[1] - first) as usize))
                    .collect()
            }
            Values::Texts { .. } => return None,
        };
        for row in raw.empty {
            *cells.get_mut(row)? = None;
        }
        (cells.len() == self.rows.len()).then_some((storage, cells))
    }

    /// The cells of a column with one of the storage types, read; null where there are none.
    fn read<T>(
        &self,
        column: &str,
        is_readable: impl Fn(StorageType) -> bool,
        read: impl Fn([u8; 8]) -> T,
    ) -> Vec<Option<T>> {
        let cells = self
            .cells(column)
            .filter(|(storage, _)| is_readable(*storage));
        let Some((_, cells)) = cells else {
            return self.rows.clone().map(|_| None).collect();
        };
        let cells = cells.into_iter();
        cells
            .map(|cell| cell?.first_chunk().copied().map(&read))
            .collect()
    }
}

impl TableColumns for RowRange<'_> {
    fn height(&self) -> usize {
        self.rows.len()
    }

    fn texts(&self, column: &str, each: &mut dyn FnMut(Option<&str>, usize)) {
        if let Some(runs) = self.table.runs(column, self.rows.clone()) {
            return runs
                .iter()
                .for_each(|(text, rows)| each(Some(text), rows.len()));
        }
        let Some((storage, cells)) = self.cells(column) else {
            return each(None, self.height());
        };
        for run in cells.chunk_by(PartialEq::eq) {
            let text = run.first().copied().flatten().and_then(|bytes| {
                Some(match storage {
                    StorageType::Text => String::from_utf8_lossy(bytes),
                    StorageType::Address => Cow::Owned(Address(*bytes.first_chunk()?).to_string()),
                    StorageType::Hex => Cow::Owned(const_hex::encode_prefixed(bytes)),
                    _ => return None,
                })
            });
            each(text.as_deref(), run.len());
        }
    }

    fn addresses(&self, column: &str) -> Vec<Option<Address>> {
        if column == group_column(self.table.schema()) {
            let tokens = self.table.tokens_in(self.rows.clone());
            return tokens
                .flat_map(|(token, rows)| rows.map(move |_| Some(token)))
                .collect();
        }
        match self.cells(column) {
            Some((StorageType::Address, cells)) => {
                let cells = cells.into_iter();
                cells
                    .map(|cell| cell?.first_chunk().copied().map(Address))
                    .collect()
            }
            _ => model::rows::texts(self, column, Address::parse),
        }
    }

    fn lists(&self, column: &str, each: &mut dyn FnMut(&[&str])) {
        let cells = self
            .cells(column)
            .filter(|(storage, _)| *storage == StorageType::List);
        let Some((_, cells)) = cells else {
            return self.rows.clone().for_each(|_| each(&[]));
        };
        for cell in cells {
            let members = String::from_utf8_lossy(cell.unwrap_or_default());
            each(&members.split_terminator('\0').collect::<Vec<_>>());
        }
    }

    fn integers(&self, column: &str) -> Vec<Option<i64>> {
        self.read(column, StorageType::is_whole, i64::from_le_bytes)
    }

    fn floats(&self, column: &str) -> Vec<Option<f64>> {
        let is_float = |storage| storage == StorageType::Float;
        self.read(column, is_float, f64::from_le_bytes)
    }

    fn flags(&self, column: &str) -> Vec<Option<bool>> {
        let is_flag = |storage| storage == StorageType::Flag;
        self.read(column, is_flag, |cell| i64::from_le_bytes(cell) != 0)
    }
}
