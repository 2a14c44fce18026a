//! Finds rows whose key repeats later in the input. Hashes of keys are spilled to buckets, so that a table of any size is checked without
//! holding all of them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io,
    path::Path,
};

use polars::prelude::{DataFrame, IdxCa, IdxSize, IntoColumn, NamedFrom, PolarsResult, Series};

use super::{
    keys::{hashes, keyless},
    spill::SpillFile,
};
use crate::repeats::{self, Difference};
use model::{findings::KEPT_PER_REASON, schema::TableSchema};

const BUCKETS: usize = 64;

/// Dropped rows: their number per file, and the first ones.
#[derive(Debug, Default)]
pub struct DroppedRows {
    files: BTreeMap<u32, DroppedOfFile>,
    /// The dropped rows and those kept instead, by position, until they are compared.
    rows: HashMap<u32, DataFrame>,
}

/// Dropped rows of one file.
#[derive(Debug, Default)]
struct DroppedOfFile {
    count: u64,
    /// The first ones, by position in the input.
    first: BTreeMap<u32, DroppedRow>,
}

/// A dropped row of which a finding is kept.
#[derive(Debug)]
pub struct DroppedRow {
    /// Number in its file.
    row: u32,
    /// Position of the row kept instead, until the two are compared.
    kept: Option<u32>,
    pub difference: Option<Difference>,
}

impl DroppedRows {
    /// Records a dropped row; returns it if a finding is kept of it, as far as is known.
    pub fn add(&mut self, position: u32, file: u32, row: u32) -> Option<&mut DroppedRow> {
        let of_file = self.files.entry(file).or_default();
        of_file.count += 1;
        of_file.first.insert(
            position,
            DroppedRow {
                row,
                kept: None,
                difference: None,
            },
        );
        if of_file.first.len() as u64 > KEPT_PER_REASON {
            of_file.first.pop_last();
        }
        of_file.first.get_mut(&position)
    }

    /// Collects the rows of a frame that findings will compare; `positions` are theirs in the input.
    pub fn collect(&mut self, frame: &DataFrame, positions: &[u32]) {
        let first = self.files.values().flat_map(|of_file| &of_file.first);
        let wanted: HashSet<u32> = first
            .filter_map(|(position, dropped)| Some([*position, dropped.kept?]))
            .flatten()
            .collect();
        if wanted.is_empty() {
            return;
        }
        for (row, position) in positions
            .iter()
            .enumerate()
            .filter(|(_, position)| wanted.contains(position))
        {
            // `take`, as a slice would keep the whole frame in memory.
            if let Ok(own) = frame.take(&IdxCa::from_vec("row".into(), vec![row as IdxSize])) {
                self.rows.insert(*position, own);
            }
        }
    }

    /// Compares the collected rows. `owner` returns the token of a row, which is not one of its columns.
    pub fn compare(&mut self, schema: &TableSchema, owner: impl Fn(&DataFrame) -> Option<String>) {
        let whose = schema
            .order
            .first()
            .copied()
            .filter(|whose| !schema.key.contains(whose));
        for (position, dropped) in self
            .files
            .values_mut()
            .flat_map(|of_file| &mut of_file.first)
        {
            let Some(kept) = dropped.kept.take() else {
                continue;
            };
            let (Some(a), Some(b)) = (self.rows.get(position), self.rows.get(&kept)) else {
                continue;
            };
            let others = whose
                .zip(owner(a).zip(owner(b)))
                .filter(|(_, (a, b))| a != b);
            let difference = others.map(|(whose, (a, b))| (whose, format!("{a}, then {b}")));
            dropped.difference = difference.or_else(|| repeats::between(schema, (a, 0), (b, 0)));
        }
        self.rows.clear();
    }

    /// File, row and difference of each dropped row with a finding, in input order.
    pub fn first(&self) -> Vec<(u32, u32, Option<Difference>)> {
        let mut all: Vec<(u32, u32, &DroppedRow)> = Vec::new();
        for (file, of_file) in &self.files {
            all.extend(
                of_file
                    .first
                    .iter()
                    .map(|(position, dropped)| (*position, *file, dropped)),
            );
        }
        all.sort_unstable_by_key(|(position, ..)| *position);
        all.into_iter()
            .map(|(_, file, dropped)| (file, dropped.row, dropped.difference.clone()))
            .collect()
    }

    /// Number of dropped rows per file.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.files
            .iter()
            .map(|(file, of_file)| (*file, of_file.count))
    }
}

/// For each of these dropped rows, the row that is kept for its key.
pub fn kept_of(
    schema: &TableSchema,
    frame: &DataFrame,
    dropped: &[usize],
) -> PolarsResult<Vec<usize>> {
    if dropped.is_empty() {
        return Ok(Vec::new());
    }
    let (hashes, keyless) = (hashes(frame, schema.key)?, keyless(schema, frame)?);
    let (left_out, wanted): (HashSet<usize>, HashSet<u128>) = (
        dropped.iter().copied().collect(),
        dropped.iter().map(|row| hashes[*row]).collect(),
    );
    let kept: HashMap<u128, usize> = (0..hashes.len())
        .filter(|row| wanted.contains(&hashes[*row]) && !keyless[*row] && !left_out.contains(row))
        .map(|row| (hashes[row], row))
        .collect();
    Ok(dropped
        .iter()
        .map(|row| kept.get(&hashes[*row]).copied().unwrap_or(*row))
        .collect())
}

/// Whether rows with one key are adjacent once sorted: then no keys need to be kept.
pub fn side_by_side(schema: &TableSchema) -> bool {
    !schema.key.is_empty()
        && schema.order.len() == schema.key.len()
        && schema
            .order
            .iter()
            .all(|column| schema.key.contains(column))
}

/// Spill file of the keys of the rows so far.
pub struct KeySpillFile {
    spill: SpillFile,
    schema: &'static TableSchema,
}

impl KeySpillFile {
    /// Creates the file, or reopens the first `resume` bytes that an earlier run left; none for a table without a key, or whose duplicates
    /// are adjacent once sorted.
    pub fn open(
        path: &Path,
        schema: &'static TableSchema,
        resume: Option<u64>,
    ) -> io::Result<Option<Self>> {
        if schema.key.is_empty() || side_by_side(schema) {
            return Ok(None);
        }
        Ok(Some(Self {
            spill: SpillFile::open(path, BUCKETS, resume)?,
            schema,
        }))
    }

    /// Adds the keys of some rows of a file, the first of which is at `position` in the input.
    pub fn add(
        &mut self,
        frame: &DataFrame,
        position: u32,
        file: u32,
        numbers: &[u32],
    ) -> io::Result<()> {
        let failed = io::Error::other;
        let hashes = hashes(frame, self.schema.key).map_err(failed)?;
        let keyless = keyless(self.schema, frame).map_err(failed)?;
        let keyed: Vec<usize> = (0..hashes.len()).filter(|row| !keyless[*row]).collect();
        let high: Vec<u64> = keyed
            .iter()
            .map(|row| (hashes[*row] >> 64) as u64)
            .collect();
        let buckets: Vec<u32> = high.iter().map(|high| (high >> 58) as u32).collect();
        let columns = [
            Series::new(
                "low".into(),
                keyed
                    .iter()
                    .map(|row| hashes[*row] as u64)
                    .collect::<Vec<_>>(),
            ),
            Series::new("high".into(), high),
            Series::new(
                "place".into(),
                keyed
                    .iter()
                    .map(|row| position + *row as u32)
                    .collect::<Vec<_>>(),
            ),
            Series::new("file".into(), vec![file; keyed.len()]),
            Series::new(
                "row".into(),
                keyed.iter().map(|row| numbers[*row]).collect::<Vec<_>>(),
            ),
        ];
        let frame = DataFrame::new(
            keyed.len(),
            columns.into_iter().map(IntoColumn::into_column).collect(),
        )
        .map_err(failed)?;
        self.spill.add(frame, &buckets)
    }

    /// Flushes the buffer; returns the length of the file.
    pub fn flush(&mut self) -> io::Result<u64> {
        self.spill.flush()
    }

    /// Positions of all but the last row of each key, in order.
    pub fn repeats(&mut self, dropped: &mut DroppedRows) -> io::Result<Vec<u32>> {
        self.flush()?;
        let mut positions = Vec::new();
        for bucket in 0..BUCKETS {
            let Some(frame) = self.spill.whole(bucket)? else {
                continue;
            };
            let mut rows = rows(&frame).map_err(io::Error::other)?;
            drop(frame);
            rows.sort_unstable();
            for same in rows.chunk_by(|a, b| a.0 == b.0) {
                let Some(((_, kept, ..), others)) = same.split_last() else {
                    continue;
                };
                for &(_, position, file, row) in others {
                    if let Some(first) = dropped.add(position, file, row) {
                        first.kept = Some(*kept);
                    }
                    positions.push(position);
                }
            }
        }
        positions.sort_unstable();
        Ok(positions)
    }
}

/// Hash, position, file and row number of each.
fn rows(frame: &DataFrame) -> PolarsResult<Vec<(u128, u32, u32, u32)>> {
    let long = |name: &str| frame.column(name)?.u64()?.cont_slice();
    let short = |name: &str| frame.column(name)?.u32()?.cont_slice();
    let (low, high, position, file, row) = (
        long("low")?,
        long("high")?,
        short("place")?,
        short("file")?,
        short("row")?,
    );
    Ok((0..frame.height())
        .map(|i| {
            (
                u128::from(high[i]) << 64 | u128::from(low[i]),
                position[i],
                file[i],
                row[i],
            )
        })
        .collect())
}
