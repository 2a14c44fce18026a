//! Finds rows whose key repeats later in the input. Hashes of keys are spilled to buckets, so that a table of any size is checked without
//! holding all of them.

use std::{
    collections::{BTreeMap, BinaryHeap, HashMap, HashSet},
    io,
    path::Path,
};

use polars::prelude::{DataFrame, IdxCa, IdxSize, IntoColumn, NamedFrom, PolarsResult, Series};

use super::{
    keys::{hashes, keyless},
    spool::Spool,
};
use crate::dataset::{
    findings::KEPT_PER_REASON,
    repeats::{self, Difference},
    schema::TableSchema,
};

const BUCKETS: usize = 64;

/// Dropped rows: their number per file, and the first ones.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    counts: BTreeMap<u32, u64>,
    /// Per file a max-heap of (position, row): the latest is on top.
    first: BTreeMap<u32, BinaryHeap<(u32, u32)>>,
    /// For the first ones: the position of the row kept instead of each.
    kept: HashMap<u32, u32>,
    /// The dropped rows and those kept instead, by position, until they are compared.
    rows: HashMap<u32, DataFrame>,
    /// By position of the dropped row.
    differences: HashMap<u32, Difference>,
}

impl Dropped {
    /// Records a dropped row; returns whether a finding is kept of it, as far as is known.
    pub(crate) fn add(&mut self, place: u32, file: u32, row: u32) -> bool {
        *self.counts.entry(file).or_default() += 1;
        let first = self.first.entry(file).or_default();
        first.push((place, row));
        let beyond = if first.len() as u64 > KEPT_PER_REASON { first.pop() } else { None };
        if let Some((beyond, _)) = beyond {
            self.differences.remove(&beyond);
            self.kept.remove(&beyond);
        }
        beyond.is_none_or(|(beyond, _)| beyond != place)
    }

    /// Records the difference between the row at a position and the one kept instead.
    pub(crate) fn differs(&mut self, place: u32, difference: Option<Difference>) {
        self.differences.extend(difference.map(|difference| (place, difference)));
    }

    /// Collects the rows of a frame that findings will compare; `places` are their positions in the input.
    pub(crate) fn meet(&mut self, frame: &DataFrame, places: &[u32]) {
        if self.kept.is_empty() {
            return;
        }
        let wanted: HashSet<u32> = self.kept.iter().flat_map(|(row, kept)| [*row, *kept]).collect();
        for (row, place) in places.iter().enumerate().filter(|(_, place)| wanted.contains(place)) {
            // `take`, as a slice would keep the whole frame in memory.
            if let Ok(own) = frame.take(&IdxCa::from_vec("row".into(), vec![row as IdxSize])) {
                self.rows.insert(*place, own);
            }
        }
    }

    /// Compares the collected rows. `owner` gives the token of a row, which is no column of it.
    pub(crate) fn compare(&mut self, schema: &TableSchema, owner: impl Fn(&DataFrame) -> Option<String>) {
        let whose = schema.order.first().copied().filter(|whose| !schema.key.contains(whose));
        for (row, kept) in std::mem::take(&mut self.kept) {
            let (Some(a), Some(b)) = (self.rows.get(&row), self.rows.get(&kept)) else { continue };
            let others = whose.zip(owner(a).zip(owner(b))).filter(|(_, (a, b))| a != b);
            let difference = others.map(|(whose, (a, b))| (whose, format!("{a}, then {b}")));
            let difference = difference.or_else(|| repeats::between(schema, (a, 0), (b, 0)));
            self.differences.extend(difference.map(|difference| (row, difference)));
        }
        self.rows.clear();
    }

    /// File, row and difference of those with a finding, in input order.
    pub(crate) fn first(&self) -> Vec<(u32, u32, Option<Difference>)> {
        let mut all: Vec<(u32, u32, u32)> = Vec::new();
        for (file, first) in &self.first {
            all.extend(first.iter().map(|(place, row)| (*place, *file, *row)));
        }
        all.sort_unstable();
        all.into_iter().map(|(place, file, row)| (file, row, self.differences.get(&place).cloned())).collect()
    }

    /// Number of dropped rows per file.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.counts.iter().map(|(file, count)| (*file, *count))
    }
}

/// For each of these dropped rows the row that is kept of its key.
pub(crate) fn kept_of(schema: &TableSchema, frame: &DataFrame, dropped: &[usize]) -> PolarsResult<Vec<usize>> {
    if dropped.is_empty() {
        return Ok(Vec::new());
    }
    let (hashes, keyless) = (hashes(frame, schema.key)?, keyless(schema, frame)?);
    let (left_out, wanted): (HashSet<usize>, HashSet<u128>) =
        (dropped.iter().copied().collect(), dropped.iter().map(|row| hashes[*row]).collect());
    let kept: HashMap<u128, usize> = (0..hashes.len())
        .filter(|row| wanted.contains(&hashes[*row]) && !keyless[*row] && !left_out.contains(row))
        .map(|row| (hashes[row], row))
        .collect();
    Ok(dropped.iter().map(|row| kept.get(&hashes[*row]).copied().unwrap_or(*row)).collect())
}

/// Whether rows with one key are adjacent once sorted: then no keys need to be kept.
pub(crate) fn side_by_side(schema: &TableSchema) -> bool {
    !schema.key.is_empty() && schema.order.len() == schema.key.len() && schema.order.iter().all(|column| schema.key.contains(column))
}

/// Spill file of the keys of the rows so far.
pub(crate) struct KeySpool {
    spool: Spool,
    schema: &'static TableSchema,
}

impl KeySpool {
    /// Creates the file, or reopens the first `resume` bytes that an earlier run left; none for a table without a key, or whose duplicates
    /// are adjacent once sorted.
    pub(crate) fn open(path: &Path, schema: &'static TableSchema, resume: Option<u64>) -> io::Result<Option<Self>> {
        if schema.key.is_empty() || side_by_side(schema) {
            return Ok(None);
        }
        let spool = match resume {
            Some(length) => Spool::reopen(path, BUCKETS, length)?,
            None => Spool::create(path, BUCKETS)?,
        };
        Ok(Some(Self { spool, schema }))
    }

    /// Adds the keys of some rows of a file, the first of which is at `place` in the input.
    pub(crate) fn add(&mut self, frame: &DataFrame, place: u32, file: u32, numbers: &[u32]) -> io::Result<()> {
        let failed = io::Error::other;
        let hashes = hashes(frame, self.schema.key).map_err(failed)?;
        let keyless = keyless(self.schema, frame).map_err(failed)?;
        let keyed: Vec<usize> = (0..hashes.len()).filter(|row| !keyless[*row]).collect();
        let high: Vec<u64> = keyed.iter().map(|row| (hashes[*row] >> 64) as u64).collect();
        let buckets: Vec<u32> = high.iter().map(|high| (high >> 58) as u32).collect();
        let columns = [
            Series::new("low".into(), keyed.iter().map(|row| hashes[*row] as u64).collect::<Vec<_>>()),
            Series::new("high".into(), high),
            Series::new("place".into(), keyed.iter().map(|row| place + *row as u32).collect::<Vec<_>>()),
            Series::new("file".into(), vec![file; keyed.len()]),
            Series::new("row".into(), keyed.iter().map(|row| numbers[*row]).collect::<Vec<_>>()),
        ];
        let frame = DataFrame::new(keyed.len(), columns.into_iter().map(IntoColumn::into_column).collect()).map_err(failed)?;
        self.spool.add(frame, &buckets)
    }

    /// Flushes the buffer; returns the length of the file.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        self.spool.flush()
    }

    /// Positions of all but the last row of each key, in order.
    pub(crate) fn repeats(&mut self, dropped: &mut Dropped) -> io::Result<Vec<u32>> {
        self.flush()?;
        let mut places = Vec::new();
        for bucket in 0..BUCKETS {
            let Some(frame) = self.spool.whole(bucket)? else { continue };
            let mut rows = rows(&frame).map_err(io::Error::other)?;
            drop(frame);
            rows.sort_unstable();
            for same in rows.chunk_by(|a, b| a.0 == b.0) {
                let Some(((_, kept, ..), others)) = same.split_last() else { continue };
                for &(_, place, file, row) in others {
                    if dropped.add(place, file, row) {
                        dropped.kept.insert(place, *kept);
                    }
                    places.push(place);
                }
            }
        }
        places.sort_unstable();
        Ok(places)
    }
}

/// Hash, position, file and row number of each.
fn rows(frame: &DataFrame) -> PolarsResult<Vec<(u128, u32, u32, u32)>> {
    let long = |name: &str| frame.column(name)?.u64()?.cont_slice();
    let short = |name: &str| frame.column(name)?.u32()?.cont_slice();
    let (low, high, place, file, row) = (long("low")?, long("high")?, short("place")?, short("file")?, short("row")?);
    Ok((0..frame.height()).map(|i| (u128::from(high[i]) << 64 | u128::from(low[i]), place[i], file[i], row[i])).collect())
}
