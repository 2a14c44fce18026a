//! Rows of a Parquet file, a row group at a time. Only the wanted columns are read and decoded, so that a file of any size takes the
//! memory of one row group.

use std::{io::Cursor, ops::Range, sync::Arc};

use polars::prelude::{ArrowField, Column, DataFrame, DataType, IntoColumn, PolarsResult, Series, polars_ensure};
use polars_parquet::read::{
    BasicDecompressor, ColumnChunkMetadata, FileMetadata, PageReader, RowGroupMetadata, column_iter_to_arrays, infer_schema, read_metadata,
};

use super::{
    Batch, MAX_ROWS, RowSource, Wanted, guarded,
    read_at::{InOrder, ReadAt},
    sane,
};

/// How many rows a batch holds at most: as many as most row groups, whose columns then need not be put together again. They are decoded
/// by then, so that a batch takes little more.
const GROUP_ROWS: usize = 1 << 18;

pub(super) struct ParquetRows {
    file: Arc<dyn ReadAt>,
    bytes: u64,
    metadata: FileMetadata,
    names: Vec<String>,
    wanted: Vec<ArrowField>,
    rows: usize,
    /// The row group that is read next.
    group: usize,
    /// What is left of the one before.
    decoded: DataFrame,
    done: usize,
    started: bool,
}

impl ParquetRows {
    pub(super) fn open(file: Arc<dyn ReadAt>, wanted: &Wanted) -> Result<Self, String> {
        let bytes = file.bytes().map_err(|error| format!("cannot be read: {error}"))?;
        let (metadata, schema) = guarded("Parquet", || {
            let metadata = read_metadata(&mut InOrder::at_places(Arc::clone(&file))?)?;
            sane::parquet(bytes, &metadata)?;
            let schema = infer_schema(&metadata)?;
            Ok((metadata, schema))
        })?;
        let groups = metadata.row_groups.iter().map(RowGroupMetadata::num_rows);
        let rows = groups.into_iter().try_fold(0usize, usize::checked_add).filter(|&rows| rows as u64 <= MAX_ROWS);
        let rows = rows.ok_or("is damaged, or has more rows than a table may have")?;
        let names = schema.iter_names().map(ToString::to_string).collect();
        let wanted = schema.iter_values().filter(|field| wanted(&field.name)).cloned().collect();
        Ok(Self { file, bytes, metadata, names, wanted, rows, group: 0, decoded: DataFrame::default(), done: 0, started: false })
    }

    /// Decodes the next row group that has rows.
    fn decode(&mut self) -> Result<(), String> {
        while self.decoded.height() == 0
            && let Some(group) = self.metadata.row_groups.get(self.group)
        {
            let (file, wanted) = (&*self.file, &self.wanted);
            // This group, and the next while this one is decoded.
            let soon = self.metadata.row_groups.iter().skip(self.group).take(2).flat_map(|group| places(group, wanted));
            file.ahead(&soon.collect::<Vec<_>>());
            self.decoded = guarded("Parquet", || {
                let columns: PolarsResult<Vec<Column>> = wanted.iter().map(|field| decode_column(file, group, field)).collect();
                let columns = columns?;
                polars_ensure!(columns.iter().all(|column| column.len() == group.num_rows()), ComputeError: "it has fewer rows than it says");
                DataFrame::new(group.num_rows(), columns)
            })?;
            self.group += 1;
        }
        Ok(())
    }
}

/// Where the wanted columns of a row group lie.
fn places(group: &RowGroupMetadata, wanted: &[ArrowField]) -> Vec<Range<u64>> {
    wanted
        .iter()
        .flat_map(|field| group.columns_under_root_iter(&field.name).into_iter().flatten())
        .map(ColumnChunkMetadata::byte_range)
        .collect()
}

fn decode_column(file: &dyn ReadAt, group: &RowGroupMetadata, field: &ArrowField) -> PolarsResult<Column> {
    let (mut parts, mut types) = (Vec::new(), Vec::new());
    for column in group.columns_under_root_iter(&field.name).into_iter().flatten() {
        let range = column.byte_range();
        let mut chunk = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut chunk, range.start)?;
        let chunk = sane::parquet_column(chunk, column)?;
        parts.push(BasicDecompressor::new(PageReader::new(Cursor::new(chunk), column, Vec::new(), usize::MAX), Vec::new()));
        types.push(&column.descriptor().descriptor.primitive_type);
    }
    polars_ensure!(!parts.is_empty(), ComputeError: "a row group lacks a column");
    let (arrays, _) = column_iter_to_arrays(parts, types, field.clone(), None)?;
    Ok(Series::try_from((field, arrays))?.rechunk().into_column())
}

impl RowSource for ParquetRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, String> {
        let first = !std::mem::replace(&mut self.started, true);
        let left = self.rows - self.done;
        if left == 0 && !first {
            return Ok(None);
        }
        let mut batch = Batch { height: left.min(GROUP_ROWS), first_row: self.done as u64 + 1, ..Batch::default() };
        if self.wanted.is_empty() {
            self.done += batch.height;
            return Ok(Some(batch));
        }
        self.decode()?;
        if self.decoded.width() == 0 {
            // Without a row group: the columns all the same.
            let empty = |field: &ArrowField| Series::new_empty(field.name.clone(), &DataType::from_arrow_field(field)).into_column();
            batch.columns = guarded("Parquet", || Ok(self.wanted.iter().map(empty).collect()))?;
            return Ok(Some(batch));
        }
        batch.height = batch.height.min(self.decoded.height());
        batch.columns = self.decoded.slice(0, batch.height).into_columns();
        self.decoded = self.decoded.slice(batch.height as i64, usize::MAX);
        self.done += batch.height;
        Ok(Some(batch))
    }

    fn skip(&mut self, batches: u64) -> Result<(), String> {
        // Whole row groups are passed over unread; batches do not go over the end of one.
        let mut left = batches;
        while left > 0 {
            self.started = true;
            if self.wanted.is_empty() {
                self.done += (self.rows - self.done).min(GROUP_ROWS);
                left -= 1;
                continue;
            }
            if let (0, Some(group)) = (self.decoded.height(), self.metadata.row_groups.get(self.group)) {
                let whole = group.num_rows().div_ceil(GROUP_ROWS) as u64;
                if whole <= left {
                    (self.done, self.group, left) = (self.done + group.num_rows(), self.group + 1, left - whole);
                    continue;
                }
                self.decode()?;
            }
            let taken = self.decoded.height().min(GROUP_ROWS);
            self.decoded = self.decoded.slice(taken as i64, usize::MAX);
            self.done += taken;
            left -= 1;
        }
        Ok(())
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn bytes_read(&self) -> u64 {
        (u128::from(self.bytes) * self.done as u128 / self.rows.max(1) as u128) as u64
    }
}
