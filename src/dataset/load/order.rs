//! Repeated keys and the order rows are stored in.

use std::{collections::HashMap, ops::Range};

use polars::prelude::{BooleanChunked, Column, DataFrame, DataType, IdxCa, IdxSize, NewChunkedArray, PlSmallStr, PolarsResult};
use rayon::slice::ParallelSliceMut;

use super::compare::{Rows, list_texts};
use crate::dataset::{
    alike::stretches,
    rows::{FromFrame, YieldRow},
    schema::TableSchema,
};

/// The table of which the first usable row of a key is kept, and not the last: lists of pools repeat one with worse figures.
pub(super) const FIRST_USABLE: &str = "yields";

/// Tables whose rows have no key where this column is empty.
pub(crate) const KEYLESS: &[(&str, &str)] = &[("transfers", "log_index")];

/// Rows from which sorting is shared out to threads.
const PARALLEL_ROWS: usize = 100_000;

/// The rows in order, where they stand in order within each token already and no token comes twice: then no key is repeated, and whole
/// stretches are put in order. Most sources are so. `None` where that is not known.
pub(super) fn in_runs(schema: &TableSchema, frame: &mut DataFrame) -> PolarsResult<Option<DataFrame>> {
    let same = schema.order.len() == schema.key.len() && schema.order.iter().all(|column| schema.key.contains(column));
    if !same || schema.order.len() < 2 || frame.height() == 0 {
        return Ok(None);
    }
    frame.rechunk_mut();
    let frame = &*frame;
    let columns: PolarsResult<Vec<&Column>> = schema.order.iter().map(|name| frame.column(name)).collect();
    let columns = columns?;
    let (DataType::String, true) = (columns[0].dtype(), columns.iter().all(|column| column.null_count() == 0)) else { return Ok(None) };
    let rest = Rows::new(frame, &schema.order[1..])?;
    let mut runs: Vec<(&str, Range<usize>)> = Vec::new();
    for (rows, token) in stretches(columns[0].str()?) {
        if !rows.clone().skip(1).all(|row| rest.compare(row - 1, row).is_lt()) {
            return Ok(None);
        }
        runs.push((token.unwrap_or_default(), rows));
    }
    if runs.is_sorted_by(|a, b| a.0 < b.0) {
        return Ok(Some(frame.clone()));
    }
    runs.sort_unstable_by(|a, b| a.0.cmp(b.0));
    if !runs.is_sorted_by(|a, b| a.0 < b.0) {
        return Ok(None);
    }
    taken(frame, runs.into_iter().flat_map(|(_, rows)| rows.start as IdxSize..rows.end as IdxSize).collect()).map(Some)
}

/// The rows at these places, in this order.
fn taken(frame: &DataFrame, places: Vec<IdxSize>) -> PolarsResult<DataFrame> {
    let height = places.len();
    let places = IdxCa::from_vec(PlSmallStr::EMPTY, places);
    let columns: PolarsResult<Vec<Column>> = frame.columns().iter().map(|column| column.take(&places)).collect();
    DataFrame::new(height, columns?)
}

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
        if column.null_count() > 0 && KEYLESS.contains(&(schema.name, name)) {
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

/// A 128-bit hash of the cells of these columns in each row; equal rows, equal hashes.
pub(in crate::dataset) fn hashes(frame: &DataFrame, columns: &[&str]) -> PolarsResult<Vec<u128>> {
    let mut hashes = vec![KeyHash::default(); frame.height()];
    for name in columns {
        hash_into(frame.column(name)?, &mut hashes)?;
    }
    Ok(hashes.into_iter().map(|hash| hash.0).collect())
}

/// Which rows have no key.
pub(in crate::dataset) fn keyless(schema: &TableSchema, frame: &DataFrame) -> PolarsResult<Vec<bool>> {
    let mut keyless = vec![schema.key.is_empty(); frame.height()];
    for (_, column) in KEYLESS.iter().filter(|(table, _)| *table == schema.name) {
        for (keyless, empty) in keyless.iter_mut().zip(frame.column(column)?.is_null().iter()) {
            *keyless |= empty == Some(true);
        }
    }
    Ok(keyless)
}

/// A row's key so far, in 128 bits, so that two keys of one hash do not occur by chance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeyHash(pub(crate) u128);

impl KeyHash {
    /// Both steps can be undone, so keys that differ in one word alone never meet.
    pub(crate) fn word(&mut self, word: u64) {
        // The multiplier of a 128-bit linear congruential generator (L'Ecuyer 1999, table 4).
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        let product = (self.0 ^ u128::from(word)).wrapping_mul(MULTIPLIER);
        self.0 = product ^ (product >> 67);
    }

    fn text(&mut self, text: Option<&str>) {
        self.bytes(text.map(str::as_bytes));
    }

    pub(crate) fn bytes(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else { return self.word(u64::MAX) };
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
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
        DataType::Float64 => {
            for (hash, number) in hashes.iter_mut().zip(column.f64()?.iter()) {
                hash.number(number.map(|number| number.to_bits() as i64));
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

/// The rows in the schema's order, those without a value last, in one chunk.
pub(in crate::dataset) fn sorted(schema: &TableSchema, mut frame: DataFrame) -> PolarsResult<DataFrame> {
    frame.rechunk_mut();
    if frame.height() < 2 || schema.order.is_empty() {
        return Ok(frame);
    }
    let rows = Rows::new(&frame, schema.order)?;
    let compare = |a: &IdxSize, b: &IdxSize| rows.compare(*a as usize, *b as usize);
    let mut places: Vec<IdxSize> = (0..frame.height() as IdxSize).collect();
    if places.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return Ok(frame);
    }
    // Rows that compare as equal keep the order of the input.
    if places.len() < PARALLEL_ROWS {
        places.sort_by(compare);
    } else {
        places.par_sort_by(compare);
    }
    taken(&frame, places)
}
