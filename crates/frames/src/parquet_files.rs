//! Small tables that tokendeck stores as Parquet files, read and written whole. Their owners define the contents.

use std::{fs, io::Cursor, path::Path};

use polars::prelude::{DataFrame, ParquetReader, ParquetWriter, PolarsResult, SerReader as _};

use crate::{decode::guarded, error::FrameError};
use model::private_files::write_atomic;

/// The rows of a file of at most `bytes_max` bytes. `None` if the file is missing or too large; an error if it cannot be read.
pub fn parquet_rows(path: &Path, bytes_max: u64) -> Option<Result<DataFrame, FrameError>> {
    fs::metadata(path)
        .ok()
        .filter(|meta| meta.is_file() && meta.len() <= bytes_max)?;
    let read = || {
        let bytes = fs::read(path).map_err(FrameError::Unreadable)?;
        let decode = || ParquetReader::new(Cursor::new(bytes)).finish();
        Ok(guarded("Parquet", decode)?)
    };
    Some(read())
}

/// These columns of a file's rows, as far as it has them; see `parquet_rows`.
pub fn parquet_columns(
    path: &Path,
    columns: &[&str],
    bytes_max: u64,
) -> Option<Result<DataFrame, FrameError>> {
    fs::metadata(path)
        .ok()
        .filter(|meta| meta.is_file() && meta.len() <= bytes_max)?;
    let file = fs::File::open(path).map_err(FrameError::Unreadable);
    let read = |file| {
        let mut reader = ParquetReader::new(file);
        let schema = reader.schema()?;
        let there = columns
            .iter()
            .filter(|column| schema.get(column).is_some())
            .map(|&column| column.to_owned())
            .collect();
        reader.with_columns(Some(there)).finish()
    };
    Some(file.and_then(|file| Ok(guarded("Parquet", || read(file))?)))
}

/// Number of rows of a file. `None` if it cannot be read.
pub fn parquet_height(path: &Path) -> Option<usize> {
    let file = fs::File::open(path).ok()?;
    guarded("Parquet", || ParquetReader::new(file).num_rows()).ok()
}

/// Replaces a file atomically by these rows; see `write_atomic`.
pub fn write_rows(
    path: &Path,
    rows: impl FnOnce() -> PolarsResult<DataFrame>,
) -> Result<(), FrameError> {
    Ok(write_atomic(path, &as_parquet(rows)?)?)
}

/// The rows as the bytes of a Parquet file.
pub fn as_parquet(rows: impl FnOnce() -> PolarsResult<DataFrame>) -> Result<Vec<u8>, FrameError> {
    let encode = || {
        let mut bytes = Vec::new();
        ParquetWriter::new(&mut bytes).finish(&mut rows()?)?;
        PolarsResult::Ok(bytes)
    };
    Ok(guarded("Parquet", encode)?)
}
