//! Repeated keys and the order rows are stored in.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use polars::prelude::{
    AnyValue, BooleanChunked, Column, DataFrame, DataType, IntoColumn, NamedFrom, NewChunkedArray, PlSmallStr, PolarsResult, Series,
    SortMultipleOptions,
};

use crate::dataset::schema::TableSchema;

/// Tables whose rows have no key where this column is empty.
const KEYLESS: &[(&str, &str)] = &[("transfers", "log_index")];

/// Leaves out all but the last row of each key; gives back the positions of those left out.
pub(super) fn without_repeats(schema: &TableSchema, frame: DataFrame) -> PolarsResult<(DataFrame, Vec<usize>)> {
    if schema.key.is_empty() || frame.height() == 0 {
        return Ok((frame, Vec::new()));
    }
    let mut hashes: Vec<[DefaultHasher; 2]> = Vec::new();
    hashes.resize_with(frame.height(), Default::default);
    for pair in &mut hashes {
        // Two hashers that start apart: 128 bits, so that two keys of one hash do not occur.
        1u8.hash(&mut pair[0]);
        2u8.hash(&mut pair[1]);
    }
    let mut keyless = vec![false; frame.height()];
    for name in schema.key {
        let column = frame.column(name)?;
        hash_into(column, &mut hashes)?;
        if KEYLESS.contains(&(schema.name, name)) {
            for (keyless, empty) in keyless.iter_mut().zip(column.is_null().iter()) {
                *keyless |= empty == Some(true);
            }
        }
    }
    let mut last: HashMap<[u64; 2], usize> = HashMap::with_capacity(frame.height());
    let mut dropped = Vec::new();
    for (row, pair) in hashes.iter().enumerate() {
        if !keyless[row]
            && let Some(earlier) = last.insert([pair[0].finish(), pair[1].finish()], row)
        {
            dropped.push(earlier);
        }
    }
    if dropped.is_empty() {
        return Ok((frame, dropped));
    }
    dropped.sort_unstable();
    let mut kept = vec![true; frame.height()];
    for &row in &dropped {
        kept[row] = false;
    }
    let mask = BooleanChunked::from_iter_values(PlSmallStr::EMPTY, kept.into_iter());
    Ok((frame.filter(&mask)?, dropped))
}

fn hash_into(column: &Column, hashes: &mut [[DefaultHasher; 2]]) -> PolarsResult<()> {
    let mut add = |row: usize, value: &dyn Fn(&mut DefaultHasher)| hashes[row].iter_mut().for_each(value);
    match column.dtype() {
        DataType::String => {
            for (row, text) in column.str()?.iter().enumerate() {
                add(row, &|hasher| text.hash(hasher));
            }
        }
        DataType::List(_) => {
            for (row, text) in list_texts(column).into_iter().enumerate() {
                add(row, &|hasher| text.hash(hasher));
            }
        }
        _ => {
            let numbers = column.to_physical_repr().cast(&DataType::Int64)?;
            for (row, number) in numbers.i64()?.iter().enumerate() {
                add(row, &|hasher| number.hash(hasher));
            }
        }
    }
    Ok(())
}

/// Each list as one text, which orders and compares as the list does.
fn list_texts(column: &Column) -> Vec<Option<String>> {
    let text = |value: AnyValue<'_>| match value {
        AnyValue::List(list) => list.str().ok().map(|texts| texts.iter().flatten().collect::<Vec<_>>().join("\u{1f}")),
        _ => None,
    };
    column.as_materialized_series().rechunk().iter().map(text).collect()
}

/// The rows in the schema's order, those without a value last, in one chunk.
pub(super) fn sorted(schema: &TableSchema, mut frame: DataFrame) -> PolarsResult<DataFrame> {
    frame.rechunk_mut();
    if frame.height() < 2 || schema.order.is_empty() {
        return Ok(frame);
    }
    let width = frame.width();
    let mut by = Vec::new();
    for name in schema.order {
        let name = name.trim_start_matches('-');
        let column = frame.column(name)?;
        if matches!(column.dtype(), DataType::List(_)) {
            let helper = format!("{name} as text");
            let texts = Series::new(helper.as_str().into(), list_texts(column)).into_column();
            frame.with_column(texts)?;
            by.push(helper);
        } else {
            by.push(name.to_owned());
        }
    }
    let options = SortMultipleOptions {
        descending: schema.order.iter().map(|name| name.starts_with('-')).collect(),
        nulls_last: vec![true; by.len()],
        maintain_order: true,
        ..SortMultipleOptions::default()
    };
    let sorted = frame.sort(by, options)?;
    let mut columns = sorted.into_columns();
    columns.truncate(width);
    let mut frame = DataFrame::new_infer_height(columns)?;
    frame.rechunk_mut();
    Ok(frame)
}
