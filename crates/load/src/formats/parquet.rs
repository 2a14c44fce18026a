//! Rows of a Parquet file, a part of a row group at a time. Only the selected columns are read and decoded, so that files and row groups of
//! any size take the memory of one part.

use std::{io::Cursor, ops::Range, sync::Arc};

use polars::prelude::{ArrowField, Column, DataFrame, PolarsResult, polars_ensure};
use polars_arrow::datatypes::ArrowDataType;
use polars_parquet::parquet::schema::types::PhysicalType;
use polars_parquet::read::{
    BasicDecompressor, ColumnChunkMetadata, FileMetadata, Filter, PageReader, RowGroupMetadata,
    column_iter_to_arrays, infer_schema, read_metadata,
};

use super::{
    ColumnFilter, ROWS_MAX, RowSource, SourceBatch, SourceError, empty_columns,
    read_at::{InOrder, ReadAt},
    size_limits,
    supported::{self, UnreadColumns},
};
use frames::decode::guarded;

/// Rows decoded at a time: the size of most row groups. The column chunks of a larger one are read once for each part, and only the part's
/// pages are decompressed.
const PART_ROWS: usize = 1 << 18;
/// Maximum rows of a batch. It is a slice of the decoded part, so it takes little more memory.
const BATCH_ROWS: usize = 1 << 16;

pub(super) struct ParquetRows {
    file: Arc<dyn ReadAt>,
    bytes: u64,
    metadata: FileMetadata,
    names: Vec<String>,
    wanted: Vec<ArrowField>,
    rows: usize,
    /// The current row group, and the number of its rows that were returned.
    group: usize,
    taken: usize,
    /// Decoded rows that were not returned yet.
    decoded: DataFrame,
    done: usize,
    started: bool,
    unread: UnreadColumns,
}

impl ParquetRows {
    pub(super) fn open(file: Arc<dyn ReadAt>, wanted: &ColumnFilter) -> Result<Self, SourceError> {
        let bytes = file.bytes()?;
        let (metadata, schema) = guarded("Parquet", || {
            let metadata = read_metadata(&mut InOrder::at_places(Arc::clone(&file))?)?;
            size_limits::parquet(bytes, &metadata)?;
            let schema = infer_schema(&metadata)?;
            Ok((metadata, schema))
        })?;
        let groups = metadata.row_groups.iter().map(RowGroupMetadata::num_rows);
        let rows = groups
            .into_iter()
            .try_fold(0usize, usize::checked_add)
            .filter(|&rows| rows as u64 <= ROWS_MAX);
        let rows = rows.ok_or(SourceError::TooManyRows)?;
        let names = schema.iter_names().map(ToString::to_string).collect();
        let wanted: Vec<_> = schema
            .iter_values()
            .filter(|field| wanted(&field.name))
            .map(|field| with_wide_decimal(field, &metadata))
            .collect();
        let (decoded, unread) = (DataFrame::default(), UnreadColumns::of(&wanted));
        Ok(Self {
            file,
            bytes,
            metadata,
            names,
            wanted,
            rows,
            group: 0,
            taken: 0,
            decoded,
            done: 0,
            started: false,
            unread,
        })
    }

    /// The selected columns.
    pub(super) fn fields(&self) -> &[ArrowField] {
        &self.wanted
    }

    /// The program that wrote the file, as it says.
    pub(super) fn writer(&self) -> Option<&str> {
        self.metadata.created_by.as_deref()
    }

    /// Skips row groups that have no rows left.
    fn pass(&mut self) {
        while self
            .metadata
            .row_groups
            .get(self.group)
            .is_some_and(|group| self.taken >= group.num_rows())
        {
            (self.group, self.taken) = (self.group + 1, 0);
        }
    }

    /// Counts rows of the row group as returned.
    fn take(&mut self, rows: usize) {
        self.taken += rows;
        self.done += rows;
    }

    /// Decodes the next part of the row group, unless rows of the one before are left.
    fn decode(&mut self) -> Result<(), SourceError> {
        self.pass();
        let Some(group) = self
            .metadata
            .row_groups
            .get(self.group)
            .filter(|_| self.decoded.height() == 0)
        else {
            return Ok(());
        };
        let (file, wanted, unread) = (&*self.file, &self.wanted, &mut self.unread);
        if self.taken == 0 {
            // Read-ahead: this row group, and the next while this one is decoded.
            let soon = self
                .metadata
                .row_groups
                .iter()
                .skip(self.group)
                .take(2)
                .flat_map(|group| places(group, wanted));
            file.ahead(&soon.collect::<Vec<_>>());
        }
        let part = self.taken..group.num_rows().min(self.taken + PART_ROWS);
        self.decoded = guarded("Parquet", || {
            let column = |field| {
                unread.or(field, part.len(), || {
                    decode_column(file, group, field, &part)
                })
            };
            let columns: PolarsResult<Vec<Column>> = wanted.iter().map(column).collect();
            let columns = columns?;
            polars_ensure!(columns.iter().all(|column| column.len() == part.len()), ComputeError: "it has fewer rows than it declares");
            DataFrame::new(part.len(), columns)
        })?;
        Ok(())
    }
}

/// The field, where its decimals have more than 128 bits, in the type that has them.
fn with_wide_decimal(field: &ArrowField, metadata: &FileMetadata) -> ArrowField {
    let mut leaves = metadata
        .schema_descr
        .columns()
        .iter()
        .filter(|column| column.path_in_schema.first() == Some(&field.name));
    let physical = leaves
        .next()
        .map(|leaf| leaf.descriptor.primitive_type.physical_type);
    let is_wide = matches!(physical, Some(PhysicalType::FixedLenByteArray(17..=32)));
    let dtype = match field.dtype {
        ArrowDataType::Decimal(precision, scale) | ArrowDataType::Decimal256(precision, scale)
            if is_wide =>
        {
            ArrowDataType::Decimal256(precision, scale)
        }
        ArrowDataType::Decimal256(precision, scale) => {
            ArrowDataType::Decimal(precision.min(38), scale)
        }
        _ => return field.clone(),
    };
    ArrowField::new(field.name.clone(), dtype, field.is_nullable)
}

/// Byte ranges of the selected columns in a row group.
fn places(group: &RowGroupMetadata, wanted: &[ArrowField]) -> Vec<Range<u64>> {
    wanted
        .iter()
        .flat_map(|field| {
            group
                .columns_under_root_iter(&field.name)
                .into_iter()
                .flatten()
        })
        .map(ColumnChunkMetadata::byte_range)
        .collect()
}

/// Decodes a column of a part of the row group.
fn decode_column(
    file: &dyn ReadAt,
    group: &RowGroupMetadata,
    field: &ArrowField,
    part: &Range<usize>,
) -> PolarsResult<Column> {
    let (mut parts, mut types) = (Vec::new(), Vec::new());
    for column in group
        .columns_under_root_iter(&field.name)
        .into_iter()
        .flatten()
    {
        let range = column.byte_range();
        let mut chunk = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut chunk, range.start)?;
        let chunk = size_limits::parquet_column(chunk, column)?;
        parts.push(BasicDecompressor::new(
            PageReader::new(Cursor::new(chunk), column, Vec::new(), usize::MAX),
            Vec::new(),
        ));
        types.push(&column.descriptor().descriptor.primitive_type);
    }
    polars_ensure!(!parts.is_empty(), ComputeError: "a row group lacks a column");
    let read_as = match (&field.dtype, types.first().map(|leaf| leaf.physical_type)) {
        (ArrowDataType::Decimal256(..), Some(PhysicalType::FixedLenByteArray(bytes))) => {
            ArrowField::new(
                field.name.clone(),
                ArrowDataType::FixedSizeBinary(bytes),
                field.is_nullable,
            )
        }
        _ => field.clone(),
    };
    let all = part.len() == group.num_rows();
    let filter = (!all).then(|| Filter::new_ranged(part.start, part.end));
    let (arrays, _) = column_iter_to_arrays(parts, types, read_as, filter)?;
    Ok(supported::column_or_decimals(field, arrays, false)?.rechunk())
}

/// Rows of a file, and bytes of its selected columns, as the footer says.
pub(super) fn footer(
    file: Arc<dyn ReadAt>,
    wanted: &ColumnFilter,
) -> Result<(u64, u64), SourceError> {
    let rows = ParquetRows::open(file, wanted)?;
    let places = rows
        .metadata
        .row_groups
        .iter()
        .flat_map(|group| places(group, &rows.wanted));
    Ok((
        rows.rows as u64,
        places
            .map(|place| place.end.saturating_sub(place.start))
            .fold(0, u64::saturating_add),
    ))
}

impl RowSource for ParquetRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let first = !std::mem::replace(&mut self.started, true);
        let left = self.rows - self.done;
        if left == 0 && !first {
            return Ok(None);
        }
        let mut batch = SourceBatch {
            height: left.min(BATCH_ROWS),
            first_row: self.done as u64 + 1,
            ..SourceBatch::default()
        };
        if self.wanted.is_empty() {
            self.done += batch.height;
            return Ok(Some(batch));
        }
        self.decode()?;
        if self.decoded.width() == 0 {
            // A file without a row group still has its columns.
            batch.columns = empty_columns(&self.wanted);
            return Ok(Some(batch));
        }
        batch.height = batch.height.min(self.decoded.height());
        batch.unread = self.unread.list();
        batch.columns = self.decoded.slice(0, batch.height).into_columns();
        self.decoded = self.decoded.slice(batch.height as i64, usize::MAX);
        self.take(batch.height);
        Ok(Some(batch))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn notes(&self) -> Vec<String> {
        self.unread.notes()
    }

    fn bytes_read(&self) -> u64 {
        (u128::from(self.bytes) * self.done as u128 / self.rows.max(1) as u128) as u64
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{AnyValue, IntoColumn, NamedFrom as _, ParquetWriter, Series};

    use super::*;

    /// Rows of numbers, texts, nulls and lists, in row groups of slightly more than two parts.
    fn frame() -> DataFrame {
        let lists: Vec<Option<Series>> = (0..1_000)
            .map(|row: i64| {
                (row % 5 != 0).then(|| Series::new("".into(), vec![row; row as usize % 3]))
            })
            .collect();
        let texts: Vec<Option<String>> = (0..1_000)
            .map(|row| (row % 7 != 0).then(|| format!("a text too long for a view {}", row % 50)))
            .collect();
        let columns = [
            Series::new(
                "float".into(),
                (0..1_000)
                    .map(|row| (row % 3 != 0).then(|| f64::from(row) / 7.0))
                    .collect::<Vec<_>>(),
            ),
            Series::new("text".into(), texts),
            Series::new("list".into(), lists),
        ];
        let part = DataFrame::new(
            1_000,
            columns.into_iter().map(IntoColumn::into_column).collect(),
        )
        .expect("a frame");
        let mut whole = part.clone();
        for _ in 1..(4 * PART_ROWS + 150_000) / 1_000 {
            whole.vstack_mut(&part).expect("rows");
        }
        let numbers: Vec<i64> = (0..whole.height() as i64).collect();
        whole
            .with_column(Series::new("number".into(), numbers).into_column())
            .expect("a column");
        whole.rechunk_mut();
        whole
    }

    #[test]
    fn a_row_group_in_parts_is_the_whole() {
        let mut frame = frame();
        let file = tempfile::NamedTempFile::new().expect("a file");
        ParquetWriter::new(file.as_file())
            .with_row_group_size(Some(2 * PART_ROWS + 70_001))
            .finish(&mut frame)
            .expect("written");
        let open = |all: bool| {
            let file: Arc<dyn ReadAt> =
                Arc::new(std::fs::File::open(file.path()).expect("the file"));
            ParquetRows::open(file, &(Arc::new(move |_: &str| all) as _)).expect("Parquet")
        };
        let mut rows = open(true);
        let mut seen = None::<DataFrame>;
        while let Some(batch) = rows.next_batch().expect("rows") {
            assert!(batch.height <= BATCH_ROWS && rows.decoded.height() <= PART_ROWS);
            let next = seen.as_ref().map_or(0, DataFrame::height) + 1;
            assert_eq!(batch.first_row, next as u64);
            let batch = DataFrame::new(batch.height, batch.columns).expect("a frame");
            match &mut seen {
                Some(seen) => drop(seen.vstack_mut(&batch).expect("the same columns")),
                None => seen = Some(batch),
            }
        }
        assert!(seen.expect("rows").equals_missing(&frame));
        // Without a selected column only the rows are counted.
        let mut none = open(false);
        let mut count = 0;
        while let Some(batch) = none.next_batch().expect("rows") {
            count += batch.height;
        }
        assert_eq!(count, frame.height());
        assert_eq!(
            frame
                .column("number")
                .and_then(|column| column.get(PART_ROWS))
                .expect("a cell"),
            AnyValue::Int64(PART_ROWS as i64)
        );
    }
}
