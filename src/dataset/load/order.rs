//! Repeated keys and the order rows are stored in.

use std::collections::HashMap;

use polars::prelude::{
    AnyValue, BooleanChunked, Column, DataFrame, DataType, IntoColumn, NamedFrom, NewChunkedArray, PlSmallStr, PolarsResult, Series,
    SortMultipleOptions,
};

use crate::dataset::{
    rows::{FromFrame, YieldRow},
    schema::TableSchema,
};

/// The table of which the first usable row of a key is kept, and not the last: lists of pools repeat one with worse figures.
pub(super) const FIRST_USABLE: &str = "yields";

/// Tables whose rows have no key where this column is empty.
const KEYLESS: &[(&str, &str)] = &[("transfers", "log_index")];

/// Leaves out all but the last row of each key (of `FIRST_USABLE`, the first usable one); gives back the positions of those left out.
pub(super) fn without_repeats(schema: &TableSchema, frame: DataFrame) -> PolarsResult<(DataFrame, Vec<usize>)> {
    if schema.key.is_empty() || frame.height() == 0 {
        return Ok((frame, Vec::new()));
    }
    let mut hashes = vec![KeyHash::default(); frame.height()];
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
    let mut dropped = repeats(&hashes, &keyless);
    if dropped.is_empty() {
        return Ok((frame, dropped));
    }
    if schema.name == FIRST_USABLE {
        dropped = all_but_first_usable(&hashes, &YieldRow::rows(&frame));
    }
    dropped.sort_unstable();
    let mut kept = vec![true; frame.height()];
    for &row in &dropped {
        kept[row] = false;
    }
    let mask = BooleanChunked::from_iter_values(PlSmallStr::EMPTY, kept.into_iter());
    Ok((frame.filter(&mask)?, dropped))
}

/// All but the first row of each hash that a plan can use, or the first where none can.
fn all_but_first_usable(hashes: &[KeyHash], rows: &[YieldRow]) -> Vec<usize> {
    let usable = |row: usize| rows.get(row).is_some_and(|row| row.unusable().is_none());
    let mut kept: HashMap<u128, usize> = HashMap::with_capacity(hashes.len());
    for (row, hash) in hashes.iter().enumerate() {
        kept.entry(hash.0)
            .and_modify(|kept| {
                if !usable(*kept) && usable(row) {
                    *kept = row;
                }
            })
            .or_insert(row);
    }
    (0..hashes.len()).filter(|row| kept[&hashes[*row].0] != *row).collect()
}

/// All but the last row of each hash. Few tables repeat a key, and sorting shows that cheaper than a map of every row.
fn repeats(hashes: &[KeyHash], keyless: &[bool]) -> Vec<usize> {
    let keyed = || hashes.iter().zip(keyless).enumerate().filter(|(_, (_, keyless))| !**keyless).map(|(row, (hash, _))| (row, hash.0));
    let mut sorted: Vec<u128> = keyed().map(|(_, hash)| hash).collect();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return Vec::new();
    }
    drop(sorted);
    let mut last: HashMap<u128, usize> = HashMap::with_capacity(hashes.len());
    keyed().filter_map(|(row, hash)| last.insert(hash, row)).collect()
}

/// A row's key so far, in 128 bits, so that two keys of one hash do not occur by chance.
#[derive(Debug, Clone, Copy, Default)]
struct KeyHash(u128);

impl KeyHash {
    /// Both steps can be undone, so keys that differ in one word alone never meet.
    fn word(&mut self, word: u64) {
        // The multiplier of a 128-bit linear congruential generator (L'Ecuyer 1999, table 4).
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        let product = (self.0 ^ u128::from(word)).wrapping_mul(MULTIPLIER);
        self.0 = product ^ (product >> 67);
    }

    fn text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.word(u64::MAX) };
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(text.len() as u64);
    }

    fn number(&mut self, number: Option<i64>) {
        self.word(u64::from(number.is_some()));
        self.word(number.unwrap_or_default() as u64);
    }
}

fn hash_into(column: &Column, hashes: &mut [KeyHash]) -> PolarsResult<()> {
    match column.dtype() {
        DataType::String => {
            for (hash, text) in hashes.iter_mut().zip(column.str()?.iter()) {
                hash.text(text);
            }
        }
        DataType::List(_) => {
            for (hash, text) in hashes.iter_mut().zip(list_texts(column)) {
                hash.text(text.as_deref());
            }
        }
        _ => {
            let numbers = column.to_physical_repr().cast(&DataType::Int64)?;
            for (hash, number) in hashes.iter_mut().zip(numbers.i64()?.iter()) {
                hash.number(number);
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
