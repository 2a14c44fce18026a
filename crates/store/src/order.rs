//! Sorts rows and drops duplicate keys, in memory. `external_sort` does so for rows that do not fit, in buckets of a `spill` file.

mod compare;
mod external_sort;
mod keys;
mod repeats;
mod spill;

use std::{collections::HashMap, ops::Range};

use polars::prelude::{Column, DataFrame, DataType, IdxSize, PolarsResult};
use rayon::slice::ParallelSliceMut;

use self::compare::SortColumns;
pub use self::{
    external_sort::ExternalSort,
    keys::{hashes, keyless, order_key_bytes, order_key_f64, order_key_i64},
    repeats::{DroppedRows, KeySpillFile, kept_of, side_by_side},
    spill::{SpillFile, rows_at, whole},
};
use crate::frame_rows::{FromFrame, filtered};
use model::{rows::YieldRow, schema::TableSchema};
use source::text_runs::runs_of;

/// Rows from which sorting runs on several threads.
const PARALLEL_ROWS: usize = 100_000;

/// Sorts a frame in which each token's rows are already one sorted run, as in most sources: whole runs are then moved, and no key repeats.
/// `None` for any other frame.
pub fn in_runs(schema: &TableSchema, frame: &mut DataFrame) -> PolarsResult<Option<DataFrame>> {
    if !side_by_side(schema) || schema.order.len() < 2 || frame.height() == 0 {
        return Ok(None);
    }
    frame.rechunk_mut();
    let frame = &*frame;
    let columns: PolarsResult<Vec<&Column>> =
        schema.order.iter().map(|name| frame.column(name)).collect();
    let columns = columns?;
    let (DataType::String, true) = (
        columns[0].dtype(),
        columns.iter().all(|column| column.null_count() == 0),
    ) else {
        return Ok(None);
    };
    let rest = SortColumns::new(frame, &schema.order[1..])?;
    let mut runs: Vec<(&str, Range<usize>)> = Vec::new();
    for (rows, token) in runs_of(columns[0].str()?) {
        if !rows
            .clone()
            .skip(1)
            .all(|row| rest.compare(row - 1, row).is_lt())
        {
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
    rows_at(
        frame,
        runs.into_iter()
            .flat_map(|(_, rows)| rows.start as IdxSize..rows.end as IdxSize)
            .collect(),
    )
    .map(Some)
}

/// Drops all but the last row for each key (where the schema says so, all but the first usable one); also returns the positions of the dropped
/// rows.
pub fn without_repeats(
    schema: &TableSchema,
    frame: DataFrame,
) -> PolarsResult<(DataFrame, Vec<usize>)> {
    if schema.key.is_empty() || frame.height() == 0 {
        return Ok((frame, Vec::new()));
    }
    let hashes = hashes(&frame, schema.key)?;
    let keyless = keyless(schema, &frame)?;
    let mut dropped = repeats(&hashes, &keyless);
    if dropped.is_empty() {
        return Ok((frame, dropped));
    }
    if schema.first_usable {
        dropped = all_but_first_usable(&hashes, &YieldRow::rows(&frame));
    }
    dropped.sort_unstable();
    let mut marked = vec![false; frame.height()];
    for &row in &dropped {
        marked[row] = true;
    }
    Ok((without(&frame, &marked)?, dropped))
}

/// Marks the rows that the next row of their key repeats in every column. A table is the same without them, so they need not be held until
/// it is sorted: compressed text may contain any number of them.
pub fn repeated_whole(schema: &TableSchema, frame: &DataFrame) -> PolarsResult<Vec<bool>> {
    let mut repeated = vec![false; frame.height()];
    if schema.key.is_empty() || schema.first_usable {
        return Ok(repeated);
    }
    let (keys, keyless) = (hashes(frame, schema.key)?, keyless(schema, frame)?);
    if repeats(&keys, &keyless).is_empty() {
        return Ok(repeated);
    }
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name).collect();
    let whole = hashes(frame, &names)?;
    let mut next: HashMap<u128, u128> = HashMap::new();
    for row in (0..frame.height()).rev().filter(|row| !keyless[*row]) {
        repeated[row] = next.insert(keys[row], whole[row]) == Some(whole[row]);
    }
    Ok(repeated)
}

/// All but the first row of each hash that a plan can use; all but the first where none can.
fn all_but_first_usable(hashes: &[u128], rows: &[YieldRow]) -> Vec<usize> {
    let usable = |row: usize| rows.get(row).is_some_and(|row| row.unusable().is_none());
    let mut kept: HashMap<u128, usize> = HashMap::with_capacity(hashes.len());
    for (row, hash) in hashes.iter().enumerate() {
        kept.entry(*hash)
            .and_modify(|kept| {
                if !usable(*kept) && usable(row) {
                    *kept = row;
                }
            })
            .or_insert(row);
    }
    (0..hashes.len())
        .filter(|row| kept[&hashes[*row]] != *row)
        .collect()
}

/// All but the last row of each hash. Few tables repeat a key, and sorting shows that cheaper than a map of every row.
fn repeats(hashes: &[u128], keyless: &[bool]) -> Vec<usize> {
    let keyed = || {
        hashes
            .iter()
            .zip(keyless)
            .enumerate()
            .filter(|(_, (_, keyless))| !**keyless)
            .map(|(row, (hash, _))| (row, *hash))
    };
    let mut sorted: Vec<u128> = keyed().map(|(_, hash)| hash).collect();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return Vec::new();
    }
    drop(sorted);
    let mut last: HashMap<u128, usize> = HashMap::with_capacity(hashes.len());
    keyed()
        .filter_map(|(row, hash)| last.insert(hash, row))
        .collect()
}

/// Sorts by these columns, `-` first for descending, nulls last; the result has one chunk.
pub fn sorted(order: &[&str], mut frame: DataFrame) -> PolarsResult<DataFrame> {
    frame.rechunk_mut();
    if frame.height() < 2 || order.is_empty() {
        return Ok(frame);
    }
    let rows = SortColumns::new(&frame, order)?;
    let compare = |a: &IdxSize, b: &IdxSize| rows.compare(*a as usize, *b as usize);
    let mut places: Vec<IdxSize> = (0..frame.height() as IdxSize).collect();
    if places.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return Ok(frame);
    }
    // Both sorts are stable.
    if places.len() < PARALLEL_ROWS {
        places.sort_by(compare);
    } else {
        places.par_sort_by(compare);
    }
    rows_at(&frame, places)
}

/// For each row of a sorted frame, whether the next row is equal in these columns: the last row of a key wins.
pub fn repeated_next(order: &[&str], frame: &DataFrame) -> PolarsResult<Vec<bool>> {
    let (rows, height) = (SortColumns::new(frame, order)?, frame.height());
    Ok((1..=height)
        .map(|next| next < height && rows.compare(next - 1, next).is_eq())
        .collect())
}

/// Drops the marked rows.
pub fn without(frame: &DataFrame, marked: &[bool]) -> PolarsResult<DataFrame> {
    filtered(frame, marked.iter().map(|marked| !marked))
}
