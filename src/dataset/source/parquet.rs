//! Rows of a Parquet file, a row group at a time. Only the wanted columns are decoded.

use std::io::Cursor;

use bytes::Bytes;
use polars::prelude::{ParquetReader, SerReader};
use polars_parquet::read::RowGroupMetadata;

use super::{BATCH_ROWS, Batch, MAX_ROWS, RowSource, Wanted, guarded, sane};

pub(super) struct ParquetRows {
    bytes: Bytes,
    names: Vec<String>,
    wanted: Vec<String>,
    rows: usize,
    /// Rows of each group that is left, the next one last.
    groups: Vec<usize>,
    done: usize,
    started: bool,
}

impl ParquetRows {
    pub(super) fn open(bytes: Vec<u8>, wanted: &Wanted) -> Result<Self, String> {
        let bytes = Bytes::from(bytes);
        let (names, groups) = guarded("Parquet", || {
            let mut reader = ParquetReader::new(Cursor::new(bytes.clone()));
            let names: Vec<String> = reader.schema()?.iter_names().map(ToString::to_string).collect();
            sane::parquet(&bytes, reader.get_metadata()?)?;
            let groups: Vec<usize> = reader.get_metadata()?.row_groups.iter().rev().map(RowGroupMetadata::num_rows).collect();
            Ok((names, groups))
        })?;
        let rows = groups.iter().try_fold(0usize, |sum, &rows| sum.checked_add(rows)).filter(|&rows| rows as u64 <= MAX_ROWS);
        let rows = rows.ok_or("is damaged, or has more rows than a table may have")?;
        let wanted = names.iter().filter(|name| wanted(name)).cloned().collect();
        Ok(Self { bytes, names, wanted, rows, groups, done: 0, started: false })
    }

    /// How many rows the next batch takes: whole groups, so that none is decoded twice.
    fn next_rows(&mut self) -> usize {
        let mut rows = 0;
        while let Some(group) = self.groups.pop() {
            rows += group;
            if rows >= BATCH_ROWS {
                break;
            }
        }
        rows
    }
}

impl RowSource for ParquetRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, String> {
        let first = !std::mem::replace(&mut self.started, true);
        let rows = self.next_rows();
        if rows == 0 && !first {
            return Ok(None);
        }
        let (bytes, wanted, offset) = (self.bytes.clone(), self.wanted.clone(), self.done);
        let mut batch = Batch { height: rows, first_row: offset as u64 + 1, ..Batch::default() };
        if !wanted.is_empty() {
            let frame = guarded("Parquet", || {
                let reader = ParquetReader::new(Cursor::new(bytes)).with_columns(Some(wanted)).with_slice(Some((offset, rows)));
                reader.set_rechunk(true).finish()
            })?;
            if frame.height() != rows {
                return Err("is damaged: it has fewer rows than it says".to_owned());
            }
            batch.columns = frame.into_columns();
        }
        self.done += rows;
        Ok(Some(batch))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn bytes_read(&self) -> u64 {
        (self.bytes.len() as u128 * self.done as u128 / self.rows.max(1) as u128) as u64
    }
}
