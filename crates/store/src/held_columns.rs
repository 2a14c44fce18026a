//! Number columns of a table in memory, as slices: one chunk without nulls. A column that is in this form already shares the table's
//! memory.

use std::ops::Range;

use polars::prelude::{
    ChunkFull, ChunkedArray, DataFrame, DataType, Float64Chunked, Int64Chunked, PolarsNumericType,
};

/// A column of floats, NaN for a null or where there is no such column.
pub(super) fn floats(frame: &DataFrame, name: &str) -> Float64Chunked {
    let column = frame.column(name).ok().and_then(|column| column.f64().ok());
    match column.map(|column| column.rechunk().into_owned()) {
        Some(numbers) if numbers.null_count() == 0 => numbers,
        Some(numbers) => Float64Chunked::from_vec(
            name.into(),
            numbers
                .iter()
                .map(|number| number.unwrap_or(f64::NAN))
                .collect(),
        ),
        None => Float64Chunked::full(name.into(), f64::NAN, frame.height()),
    }
}

/// A column of integers, or of times as their number, `null` for a null or where there is no such column.
pub(super) fn integers(frame: &DataFrame, name: &str, null: i64) -> Int64Chunked {
    let column = frame
        .column(name)
        .ok()
        .and_then(|column| column.to_physical_repr().cast(&DataType::Int64).ok());
    match column
        .as_ref()
        .and_then(|column| column.i64().ok())
        .map(|column| column.rechunk().into_owned())
    {
        Some(numbers) if numbers.null_count() == 0 => numbers,
        Some(numbers) => Int64Chunked::from_vec(
            name.into(),
            numbers
                .iter()
                .map(|number| number.unwrap_or(null))
                .collect(),
        ),
        None => Int64Chunked::full(name.into(), null, frame.height()),
    }
}

/// A range of rows of such a column.
pub(super) fn part<'a, T: PolarsNumericType>(
    column: &'a ChunkedArray<T>,
    rows: &Range<usize>,
) -> &'a [T::Native] {
    column
        .cont_slice()
        .ok()
        .and_then(|numbers| numbers.get(rows.clone()))
        .unwrap_or_default()
}
