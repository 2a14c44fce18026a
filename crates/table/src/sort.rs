//! Sorting the rows of a table by any column: the top k by one scan that skips blocks by the zone map (`top_rows`), all of them in passes
//! (`sort_rows`), each of which sorts the (key, row number) pairs of one range of keys. Memory is that of one pass; the rows themselves are
//! never copied.

use std::{cmp::Ordering, io, ops::Range};

use super::{
    StorageType, UNKNOWN,
    bounds::Extent,
    row_selection::{RowSelection, RowSelectionWriter},
    rows::{CellsOf, TableRows},
};
use crate::keys::{order_key_bytes, order_key_f64, order_key_i64};
use model::{interval::Interval, schema::Kind};

/// Rows between two checks for cancellation.
const CHUNK_ROWS: usize = 65_536;

/// Pairs of a pass for each row number that may be in memory.
const PASS: usize = 4;

/// Sort column and direction.
#[derive(Debug, Clone, Copy)]
pub struct SortBy<'a> {
    pub column: &'a str,
    pub descending: bool,
    /// Tie-breakers, each with whether it descends; the sort is stable.
    pub ties: &'a [(&'a str, bool)],
}

impl<'a> From<(&'a str, bool)> for SortBy<'a> {
    fn from((column, descending): (&'a str, bool)) -> Self {
        Self {
            column,
            descending,
            ties: &[],
        }
    }
}

/// The first eight bytes of a sort key, and the row's position among the rows to sort.
type Keyed = (u64, u32);

/// Row comparison: by the first eight bytes of the key, then by the rest of the cell, then by the tie-breakers, then by input order. Nulls
/// sort last in either direction. A row is identified by its position among the rows to sort.
struct Sorter<'a> {
    by: Sorted<'a>,
    ties: Vec<Sorted<'a>>,
    table: &'a TableRows,
    column: &'a str,
    among: &'a RowSelection,
}

/// A sort column or tie-breaker.
struct Sorted<'a> {
    keys: Keys<'a>,
    descending: bool,
}

enum Keys<'a> {
    Cells(CellsOf<'a>),
    /// Integers stored as digits.
    Digits(CellsOf<'a>),
    /// Tokens, by their index in address order.
    Owners(&'a TableRows),
    /// Intervals of candles, by length.
    Intervals(&'a TableRows),
}

impl<'a> Sorted<'a> {
    fn of(table: &'a TableRows, column: &str, descending: bool) -> io::Result<Self> {
        let keys = match table.cells(column) {
            Some(cells)
                if table
                    .schema()
                    .column(column)
                    .is_some_and(|column| column.kind == Kind::Uint256) =>
            {
                Keys::Digits(cells)
            }
            Some(cells) => Keys::Cells(cells),
            None if column == super::group_column(table.schema()) => Keys::Owners(table),
            None if column == "interval" => Keys::Intervals(table),
            None => return Err(io::Error::other(format!("cannot sort by `{column}`"))),
        };
        Ok(Self { keys, descending })
    }

    fn cell(&self, row: usize) -> Option<&[u8]> {
        match &self.keys {
            Keys::Cells(cells) | Keys::Digits(cells) => cells.bytes(row),
            Keys::Intervals(_) | Keys::Owners(_) => None,
        }
    }

    /// Whether equal keys mean equal cells.
    fn is_whole(&self) -> bool {
        match &self.keys {
            Keys::Cells(cells) => cells.storage == StorageType::Float || cells.storage.is_whole(),
            Keys::Digits(_) => false,
            Keys::Intervals(_) | Keys::Owners(_) => true,
        }
    }

    fn directed(&self, key: u64) -> u64 {
        if self.descending { !key } else { key }
    }

    fn key(&self, row: usize) -> u64 {
        self.ascending_key(row)
            .map_or(u64::MAX, |key| self.directed(key))
    }

    fn ascending_key(&self, row: usize) -> Option<u64> {
        let storage = match &self.keys {
            Keys::Cells(cells) => cells.storage,
            // The number with more digits is larger.
            Keys::Digits(cells) => {
                let digits = cells.bytes(row)?;
                return Some((digits.len().min(255) as u64) << 56 | order_key_bytes(digits) >> 8);
            }
            Keys::Owners(table) => return table.owner_at(row).map(|owner| owner as u64),
            Keys::Intervals(table) => {
                return table
                    .interval_at(row)
                    .map(|interval| order_key_i64(interval.0));
            }
        };
        let bytes = self.cell(row)?;
        let number = bytes
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Some(match storage {
            StorageType::Float => order_key_f64(f64::from_bits(number)),
            StorageType::Integer | StorageType::Time | StorageType::Day | StorageType::Flag => {
                order_key_i64(number as i64)
            }
            StorageType::Address | StorageType::Hex | StorageType::Text | StorageType::List => {
                order_key_bytes(bytes)
            }
        })
    }

    /// Smallest possible key of a row within these bounds.
    fn first_key(&self, extent: Extent) -> u64 {
        let (low, high) = match extent {
            Extent::Empty => return u64::MAX,
            Extent::Float(low, high) => (order_key_f64(low), order_key_f64(high)),
            Extent::Whole(low, high) => (order_key_i64(low), order_key_i64(high)),
        };
        self.directed(if self.descending { high } else { low })
    }

    /// Compares the cells of equal keys beyond the key.
    fn compare_rest(&self, a: usize, b: usize) -> Ordering {
        if a == b || self.is_whole() {
            return Ordering::Equal;
        }
        let (a, b) = (self.cell(a), self.cell(b));
        // Numbers with equal keys also have equally many digits.
        let order = if self.descending {
            b.cmp(&a)
        } else {
            a.cmp(&b)
        };
        // Nulls sort last in either direction.
        a.is_none().cmp(&b.is_none()).then(order)
    }
}

impl<'a> Sorter<'a> {
    fn new(table: &'a TableRows, by: SortBy<'a>, among: &'a RowSelection) -> io::Result<Self> {
        let ties: io::Result<Vec<_>> = by
            .ties
            .iter()
            .map(|(column, descending)| Sorted::of(table, column, *descending))
            .collect();
        Ok(Self {
            by: Sorted::of(table, by.column, by.descending)?,
            ties: ties?,
            table,
            column: by.column,
            among,
        })
    }

    fn key(&self, nth: usize) -> u64 {
        self.among.get(nth).map_or(u64::MAX, |row| self.by.key(row))
    }

    /// Keys of consecutive rows.
    fn keys(&self, chunk: Range<usize>) -> Vec<u64> {
        let rows = |run: &Range<usize>| run.start + chunk.start..run.start + chunk.end;
        let rows = if let RowSelection::Run(run) = self.among {
            Some(rows(run))
        } else {
            None
        };
        let floats = rows
            .clone()
            .and_then(|rows| self.table.floats(self.column, rows));
        let whole = rows.and_then(|rows| self.table.whole_numbers(self.column, rows));
        // Only cells that may stand for a null are checked for it.
        match (floats, whole) {
            (Some(cells), _) => {
                let key = |(&cell, nth): (&f64, usize)| {
                    if cell.is_nan() {
                        self.key(nth)
                    } else {
                        self.by.directed(order_key_f64(cell))
                    }
                };
                cells.iter().zip(chunk).map(key).collect()
            }
            (None, Some(cells)) => {
                let key = |(&cell, nth): (&i64, usize)| {
                    if cell == UNKNOWN {
                        self.key(nth)
                    } else {
                        self.by.directed(order_key_i64(cell))
                    }
                };
                cells.iter().zip(chunk).map(key).collect()
            }
            (None, None) => chunk.map(|nth| self.key(nth)).collect(),
        }
    }

    fn compare(&self, a: Keyed, b: Keyed) -> Ordering {
        let rest = || {
            let (Some(x), Some(y)) = (self.among.get(a.1 as usize), self.among.get(b.1 as usize))
            else {
                return Ordering::Equal;
            };
            let ties = self.ties.iter().map(|tie| {
                tie.key(x)
                    .cmp(&tie.key(y))
                    .then_with(|| tie.compare_rest(x, y))
            });
            self.by.compare_rest(x, y).then_with(|| {
                ties.into_iter()
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            })
        };
        a.0.cmp(&b.0).then_with(rest).then(a.1.cmp(&b.1))
    }

    /// Whether rows with equal keys are equal in every sort column.
    fn is_decided_by_key(&self) -> bool {
        self.by.is_whole() && self.ties.is_empty()
    }

    /// Row number in the table.
    fn row(&self, (_, nth): Keyed) -> u32 {
        self.among.get(nth as usize).unwrap_or_default() as u32
    }

    /// Row ranges, each with a lower bound of its keys, in ascending order of the bounds.
    fn chunks(&self) -> Vec<(u64, Range<usize>)> {
        let all = self.among.len();
        let apart = || {
            (0..all)
                .step_by(CHUNK_ROWS)
                .map(|start| (0, start..(start + CHUNK_ROWS).min(all)))
                .collect()
        };
        let RowSelection::Run(rows) = self.among else {
            return apart();
        };
        let nth = |here: Range<usize>| here.start - rows.start..here.end - rows.start;
        let mut known: Vec<_> = match (&self.by.keys, self.table.bounds(self.column)) {
            (Keys::Intervals(table), _) => {
                let run = |(interval, here): (Interval, _)| {
                    (self.by.directed(order_key_i64(interval.0)), nth(here))
                };
                table.intervals_in(rows.clone()).map(run).collect()
            }
            (_, Some((storage, bounds))) => bounds
                .blocks(storage, rows.clone())
                .map(|(extent, here)| (self.by.first_key(extent), nth(here)))
                .collect(),
            _ => return apart(),
        };
        known.sort_unstable_by_key(|(key, here)| (*key, here.start));
        known
    }
}

/// Rows in sort order.
#[derive(Debug)]
pub enum SortedRows {
    All(RowSelection),
    /// Only the first rows, because the complete sort is slow.
    First(RowSelection),
}

impl TableRows {
    /// The rows of `among` in sort order: all rows or, with `count`, only the first if a complete sort is slow. Missing values are last in
    /// both directions, and the sort is stable. `step` receives (done, total), and its error aborts the sort.
    pub fn sorted<E: From<io::Error>>(
        &self,
        by: SortBy<'_>,
        among: &RowSelection,
        count: Option<usize>,
        step: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<SortedRows, E> {
        // A large table is stored in this order.
        let is_stored = !self.is_held() && self.schema().order.first() == Some(&by.column);
        if is_stored && by.ties.is_empty() {
            return Ok(SortedRows::All(if by.descending {
                RowSelection::Reversed(Box::new(among.clone()))
            } else {
                among.clone()
            }));
        }
        match count.filter(|_| among.len() > self.sorting().at_once) {
            None => sort_rows(self, by, among, step).map(SortedRows::All),
            Some(count) => Ok(SortedRows::First(RowSelection::from(top_rows(
                self, by, among, count, step,
            )?))),
        }
    }
}

/// Top-k search: the first `count` rows in sort order, ties in input order. `step` receives (done, total) rows, and its error aborts the
/// search. Blocks that cannot contain one of the first rows are not read.
pub fn top_rows<'a, E: From<io::Error>>(
    table: &'a TableRows,
    by: impl Into<SortBy<'a>>,
    among: &'a RowSelection,
    count: usize,
    mut step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let sorter = Sorter::new(table, by.into(), among)?;
    let (rows, mut done) = (among.len(), 0);
    // The best rows so far, and candidates since; a row not before the last of the best is skipped, mostly by its key alone.
    let (mut best, mut last): (Vec<Keyed>, Option<Keyed>) = (Vec::new(), None);
    let keep = |best: &mut Vec<Keyed>| {
        best.sort_unstable_by(|a, b| sorter.compare(*a, *b));
        best.truncate(count);
    };
    for (first, chunk) in sorter.chunks() {
        // Later chunks cannot contain an earlier row either: of equal rows they have the later ones.
        let beyond = |last: Keyed| {
            first > last.0
                || first == last.0 && sorter.is_decided_by_key() && chunk.start > last.1 as usize
        };
        if last.is_some_and(beyond) {
            break;
        }
        step(done as u64, rows as u64)?;
        done += chunk.len();
        for row in sorter
            .keys(chunk.clone())
            .into_iter()
            .zip(chunk.start as u32..)
        {
            if last.is_none_or(|last| {
                row.0 < last.0 || row.0 == last.0 && sorter.compare(row, last).is_lt()
            }) {
                best.push(row);
                if best.len() > 2 * count {
                    keep(&mut best);
                    last = best.last().copied().or(Some((0, 0)));
                }
            }
        }
    }
    keep(&mut best);
    Ok(best.into_iter().map(|row| sorter.row(row)).collect())
}

/// Sorts all of the rows. `step`: see `top_rows`.
pub fn sort_rows<'a, E: From<io::Error>>(
    table: &'a TableRows,
    by: impl Into<SortBy<'a>>,
    among: &'a RowSelection,
    mut step: impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<RowSelection, E> {
    let sorter = Sorter::new(table, by.into(), among)?;
    let (rows, held) = (among.len(), table.sorting().in_memory);
    let passes = if rows <= held {
        1
    } else {
        rows / held.saturating_mul(PASS).max(1) + 1
    };
    // Keys sampled from the whole table give the bounds between the passes.
    let sample = passes * 256;
    let mut keys: Vec<u64> = if passes > 1 {
        (0..sample)
            .map(|nth| sorter.key((rows as u128 * nth as u128 / sample as u128) as usize))
            .collect()
    } else {
        Vec::new()
    };
    keys.sort_unstable();
    let bounds: Vec<u64> = (1..passes).map(|pass| keys[pass * 256]).collect();
    let mut sorted = RowSelectionWriter::for_table(table);
    let mut order: Vec<Keyed> = Vec::with_capacity(rows / passes * 5 / 4);
    for pass in 0..passes {
        let first = pass.checked_sub(1).map_or(0, |before| bounds[before]);
        let end = bounds.get(pass).copied();
        let is_of_pass = |key: u64| key >= first && end.is_none_or(|end| key < end);
        order.clear();
        for start in (0..rows).step_by(CHUNK_ROWS) {
            step((pass * rows + start) as u64, (passes * rows) as u64)?;
            let here = start..(start + CHUNK_ROWS).min(rows);
            let keyed = sorter.keys(here.clone()).into_iter();
            order.extend(
                keyed
                    .zip(here.start as u32..)
                    .filter(|row| is_of_pass(row.0)),
            );
        }
        order.sort_unstable_by(|a, b| sorter.compare(*a, *b));
        for row in &order {
            sorted.push(sorter.row(*row))?;
        }
    }
    Ok(sorted.finish()?)
}
