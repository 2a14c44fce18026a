//! The order of rows, and the rule for duplicate keys, on frames. `external_sort` sorts rows that do not fit into memory, in buckets of a
//! `spill` file.

mod external_sort;
mod spill;

use std::{cell::LazyCell, cmp::Ordering, collections::HashSet, ops::Range};

use polars::prelude::{Column, DataFrame, DataType, IdxSize, PolarsResult, polars_bail};
use polars_arrow::array::{
    Array, BinaryViewArray, Float64Array, Int64Array, StaticArray, Utf8ViewArray,
};
use rayon::slice::ParallelSliceMut;

use crate::{
    frame_rows::{FromFrame, filtered},
    text_runs::runs_of,
};
use external_sort::list_texts;
use model::{rows::YieldRow, schema::TableSchema};

pub use self::{
    external_sort::ExternalSort,
    spill::{SpillFile, rows_at, whole},
};
pub use external_sort::{hashes, keyless};
pub use table::keys::{order_key_bytes, order_key_f64, order_key_i64};

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

/// Whether rows with one key are adjacent once sorted.
pub fn side_by_side(schema: &TableSchema) -> bool {
    !schema.key.is_empty()
        && schema.order.len() == schema.key.len()
        && schema
            .order
            .iter()
            .all(|column| schema.key.contains(column))
}

/// Drops all but the last row for each key (where the schema says so, all but the first usable one); also returns the positions of the
/// dropped rows, each with that of the row kept instead.
pub fn without_repeats(
    schema: &TableSchema,
    frame: DataFrame,
) -> PolarsResult<(DataFrame, Vec<(usize, usize)>)> {
    let repeats = {
        let usable = LazyCell::new(|| YieldRow::rows(&frame));
        let is_usable = |row: &&usize| {
            let row = usable.get(**row);
            row.is_some_and(|row| row.unusable().is_none())
        };
        let kept = |rows: &[usize]| {
            if schema.first_usable {
                rows.iter().find(is_usable).or(rows.first()).copied()
            } else {
                rows.last().copied()
            }
        };
        let (hashes, keyless) = (hashes(&frame, schema.key)?, keyless(schema, &frame)?);
        repeats(&frame, schema.key, &hashes, &keyless, kept)?
    };
    if repeats.is_empty() {
        return Ok((frame, repeats));
    }
    let mut marked = vec![false; frame.height()];
    for (row, _) in &repeats {
        marked[*row] = true;
    }
    Ok((without(&frame, &marked)?, repeats))
}

/// Rows whose key another row repeats, in order, each with the row of its key that is `kept`. Rows with equal hashes are only candidates:
/// their keys are compared.
pub fn repeats(
    frame: &DataFrame,
    key: &[&str],
    hashes: &[u128],
    keyless: &[bool],
    kept: impl Fn(&[usize]) -> Option<usize>,
) -> PolarsResult<Vec<(usize, usize)>> {
    let keyed = || (0..hashes.len()).filter(|row| !keyless[*row]);
    // Few tables repeat a key, and sorting shows that cheaper than a map of every row.
    let mut sorted: Vec<u128> = keyed().map(|row| hashes[row]).collect();
    sorted.sort_unstable();
    let pairs = sorted.windows(2).filter(|pair| pair[0] == pair[1]);
    let repeated: HashSet<u128> = pairs.map(|pair| pair[0]).collect();
    drop(sorted);
    if repeated.is_empty() {
        return Ok(Vec::new());
    }
    let mut cells = frame.select(key.iter().copied())?;
    cells.rechunk_mut();
    let cells = SortColumns::new(&cells, key)?;
    let compare = |a: &usize, b: &usize| {
        let by_hash = hashes[*a].cmp(&hashes[*b]);
        by_hash.then_with(|| cells.compare(*a, *b))
    };
    let mut rows: Vec<usize> = keyed()
        .filter(|row| repeated.contains(&hashes[*row]))
        .collect();
    // The sort is stable.
    rows.sort_by(compare);
    let mut repeats = Vec::new();
    for same in rows.chunk_by(|a, b| compare(a, b).is_eq()) {
        if let Some(kept) = kept(same) {
            let others = same.iter().filter(|row| **row != kept);
            repeats.extend(others.map(|row| (*row, kept)));
        }
    }
    repeats.sort_unstable();
    Ok(repeats)
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

// Row comparison by the sort columns of a table.

/// Sort columns of a single-chunk frame, most significant first.
struct SortColumns {
    columns: Vec<(Values, Direction)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Rising,
    Falling,
}

enum Values {
    Text(Utf8ViewArray),
    Bytes(BinaryViewArray),
    Whole(Int64Array),
    Float(Float64Array),
    /// Lists of texts, each joined to one text.
    List(Vec<Option<String>>),
}

impl SortColumns {
    /// By these columns, `-` first for descending.
    fn new(frame: &DataFrame, order: &[&str]) -> PolarsResult<Self> {
        let column = |name: &&str| {
            let (name, direction) = name
                .strip_prefix('-')
                .map_or((*name, Direction::Rising), |name| {
                    (name, Direction::Falling)
                });
            Values::of(frame.column(name)?).map(|values| (values, direction))
        };
        order
            .iter()
            .map(column)
            .collect::<PolarsResult<Vec<_>>>()
            .map(|columns| Self { columns })
    }

    /// Compares rows `a` and `b`. Nulls sort last in either direction.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let orders = self
            .columns
            .iter()
            .map(|(values, direction)| values.compare(a, b, *direction));
        orders
            .into_iter()
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl Values {
    fn of(column: &Column) -> PolarsResult<Self> {
        let chunk = match column.dtype() {
            DataType::String => column
                .str()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Text),
            DataType::Binary => column
                .binary()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Bytes),
            DataType::Float64 => column
                .f64()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Float),
            DataType::List(_) => Some(Self::List(list_texts(column))),
            _ => column
                .to_physical_repr()
                .cast(&DataType::Int64)?
                .i64()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Whole),
        };
        let Some(chunk) = chunk else {
            polars_bail!(ComputeError: "a column without a chunk")
        };
        Ok(chunk)
    }

    fn compare(&self, a: usize, b: usize, direction: Direction) -> Ordering {
        match self {
            // Equal views mean equal texts, without comparing bytes.
            Self::Text(texts)
                if texts.null_count() == 0
                    && texts.views()[a].as_u128() == texts.views()[b].as_u128() =>
            {
                Ordering::Equal
            }
            Self::Text(texts) => cells(texts.get(a), texts.get(b), direction, Ord::cmp),
            Self::Bytes(cells) => self::cells(cells.get(a), cells.get(b), direction, Ord::cmp),
            Self::Whole(numbers) => cells(numbers.get(a), numbers.get(b), direction, Ord::cmp),
            Self::Float(numbers) => cells(numbers.get(a), numbers.get(b), direction, |a, b| {
                a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b))
            }),
            Self::List(lists) => cells(
                lists[a].as_deref(),
                lists[b].as_deref(),
                direction,
                Ord::cmp,
            ),
        }
    }
}

fn cells<T>(
    a: Option<T>,
    b: Option<T>,
    direction: Direction,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if direction == Direction::Rising => compare(&a, &b),
        (Some(a), Some(b)) => compare(&b, &a),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_rows::column;

    #[test]
    fn rows_with_one_hash_are_repeats_only_if_their_keys_are_equal() {
        let last = |rows: &[usize]| rows.last().copied();
        for (ids, keyless, expected) in [
            (["a", "b", "c", "b"], [false; 4], vec![(1, 3)]),
            (["a", "b", "c", "d"], [false; 4], Vec::new()),
            (
                ["b", "b", "b", "b"],
                [false; 4],
                vec![(0, 3), (1, 3), (2, 3)],
            ),
            (
                ["b", "b", "c", "d"],
                [true, false, false, false],
                Vec::new(),
            ),
        ] {
            let columns = vec![column("id", ids), column("number", [7i64; 4])];
            let frame = DataFrame::new(4, columns).expect("a frame");
            let key = ["number", "id"];
            // One hash for all of them, and their own.
            for hashes in [vec![5; 4], hashes(&frame, &key).expect("hashes")] {
                let found = repeats(&frame, &key, &hashes, &keyless, last).expect("compared");
                assert_eq!(found, expected, "{ids:?}");
            }
        }
    }
}
