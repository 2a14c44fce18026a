//! Dropped rows, and the keys of a table that does not fit into memory. Keys are spilled to buckets by their hashes, so that a table of any
//! size is checked without holding all of them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io,
    path::Path,
};

use polars::prelude::{DataFrame, IdxCa, IdxSize, PolarsResult};

use super::{FILE, POSITION, ROW};
use frames::{
    duplicates::{self, Difference},
    frame_rows::filtered,
    order::{self, SpillFile, hashes, keyless, side_by_side},
};
use model::{findings::KEPT_PER_REASON, schema::TableSchema};

const BUCKETS: usize = 64;

/// Dropped rows: their number, and the first ones.
#[derive(Debug, Default)]
pub(crate) struct DroppedRows {
    /// By file and, where every row was compared, the column in which it differs: findings are kept of the first rows of each.
    sets: BTreeMap<(u32, Option<&'static str>), DroppedSet>,
    /// The dropped rows and those kept instead, by position, until they are compared.
    rows: HashMap<u32, DataFrame>,
}

#[derive(Debug, Default)]
struct DroppedSet {
    count: u64,
    /// The first ones, by position in the input.
    first: BTreeMap<u32, DroppedRow>,
}

/// A dropped row of which a finding is kept.
#[derive(Debug, Default)]
struct DroppedRow {
    /// Number in its file.
    row: u32,
    /// Position of the row kept instead, until the two are compared.
    kept: Option<u32>,
    difference: Option<Difference>,
}

/// Findings about dropped rows: one about the row of a file, and further ones that are only counted.
pub(crate) struct Dropped {
    pub(crate) file: u32,
    pub(crate) row: u32,
    pub(crate) difference: Option<Difference>,
    pub(crate) further: u64,
}

/// Position, file and row number of each row.
struct Origins<'a>([&'a [u32]; 3]);

impl<'a> Origins<'a> {
    fn of(frame: &'a DataFrame) -> PolarsResult<Self> {
        let number = |name: &str| frame.column(name)?.u32()?.cont_slice();
        Ok(Self([number(POSITION)?, number(FILE)?, number(ROW)?]))
    }

    fn at(&self, row: usize) -> [u32; 3] {
        self.0.map(|numbers| numbers[row])
    }
}

impl DroppedRows {
    /// Records a dropped row; returns it if a finding is kept of it, as far as is known.
    fn add(
        &mut self,
        [position, file, row]: [u32; 3],
        column: Option<&'static str>,
    ) -> Option<&mut DroppedRow> {
        let set = self.sets.entry((file, column)).or_default();
        set.count += 1;
        let dropped = DroppedRow {
            row,
            ..DroppedRow::default()
        };
        set.first.insert(position, dropped);
        if set.first.len() as u64 > KEPT_PER_REASON {
            set.first.pop_last();
        }
        set.first.get_mut(&position)
    }

    /// Records rows of a frame, each with the row kept instead; all of them are compared with it.
    pub(super) fn record(
        &mut self,
        schema: &TableSchema,
        frame: &DataFrame,
        repeats: &[(usize, usize)],
    ) -> PolarsResult<()> {
        if repeats.is_empty() {
            return Ok(());
        }
        let (origins, names): (_, Vec<&str>) = (
            Origins::of(frame)?,
            schema.columns.iter().map(|column| column.name).collect(),
        );
        let whole = hashes(frame, &names)?;
        for &(row, kept) in repeats {
            let difference = if whole[row] == whole[kept] {
                None
            } else {
                duplicates::difference(schema, frame, row, kept)
            };
            let column = difference.as_ref().map(|(column, _)| *column);
            if let Some(dropped) = self.add(origins.at(row), column) {
                dropped.difference = difference;
            }
        }
        Ok(())
    }

    /// As `record`, for any number of rows: only the first ones of a file are compared.
    pub(super) fn record_many(
        &mut self,
        schema: &TableSchema,
        frame: &DataFrame,
        repeats: impl IntoIterator<Item = (usize, usize)>,
    ) -> PolarsResult<()> {
        let origins = Origins::of(frame)?;
        for (row, kept) in repeats {
            if let Some(dropped) = self.add(origins.at(row), None) {
                dropped.difference = duplicates::difference(schema, frame, row, kept);
            }
        }
        Ok(())
    }

    /// Collects the rows of a frame that findings will compare.
    pub(super) fn collect(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        let first = self.sets.values().flat_map(|set| &set.first);
        let wanted: HashSet<u32> = first
            .filter_map(|(position, dropped)| Some([*position, dropped.kept?]))
            .flatten()
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let positions = frame.column(POSITION)?.u32()?.cont_slice()?;
        let rows = positions.iter().enumerate();
        for (row, position) in rows.filter(|(_, position)| wanted.contains(position)) {
            // `take`, as a slice would keep the whole frame in memory.
            let own = frame.take(&IdxCa::from_vec("row".into(), vec![row as IdxSize]))?;
            self.rows.insert(*position, own);
        }
        Ok(())
    }

    /// Compares the collected rows. `owner` returns the token of a row, which is not one of its columns.
    pub(super) fn compare(
        &mut self,
        schema: &TableSchema,
        owner: impl Fn(&DataFrame) -> Option<String>,
    ) {
        let whose = schema
            .order
            .first()
            .copied()
            .filter(|whose| !schema.key.contains(whose));
        for (position, dropped) in self.sets.values_mut().flat_map(|set| &mut set.first) {
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
            dropped.difference = difference.or_else(|| duplicates::between(schema, (a, 0), (b, 0)));
        }
        self.rows.clear();
    }

    /// The findings, in input order.
    pub(crate) fn first(&self) -> Vec<Dropped> {
        let mut all = Vec::new();
        for ((file, _), set) in &self.sets {
            let last = set.first.last_key_value().map(|(position, _)| *position);
            for (position, dropped) in &set.first {
                let is_last = Some(*position) == last;
                let finding = Dropped {
                    file: *file,
                    row: dropped.row,
                    difference: dropped.difference.clone(),
                    further: if is_last {
                        set.count - set.first.len() as u64
                    } else {
                        0
                    },
                };
                all.push((*position, finding));
            }
        }
        all.sort_unstable_by_key(|(position, _)| *position);
        all.into_iter().map(|(_, finding)| finding).collect()
    }

    /// Number of dropped rows.
    pub(super) fn count(&self) -> u64 {
        self.sets.values().map(|set| set.count).sum()
    }
}

/// Spill file of the keys of the rows so far.
pub(super) struct KeySpillFile {
    spill: SpillFile,
    schema: &'static TableSchema,
    /// Names of the key's columns in the spilled frames.
    key: Vec<&'static str>,
}

impl KeySpillFile {
    /// Creates the file, or reopens the first `resume` bytes that an earlier run left; none for a table without a key, or whose duplicates
    /// are adjacent once sorted.
    pub(super) fn open(
        path: &Path,
        schema: &'static TableSchema,
        key: Vec<&'static str>,
        resume: Option<u64>,
    ) -> io::Result<Option<Self>> {
        if schema.key.is_empty() || side_by_side(schema) {
            return Ok(None);
        }
        Ok(Some(Self {
            spill: SpillFile::open(path, BUCKETS, resume)?,
            schema,
            key,
        }))
    }

    /// Adds the keys of some rows.
    pub(super) fn add(&mut self, frame: &DataFrame) -> io::Result<()> {
        let (keys, buckets) = self.keys(frame).map_err(io::Error::other)?;
        self.spill.add(keys, &buckets)
    }

    /// Key and origin of each row that has a key, and its bucket.
    fn keys(&self, frame: &DataFrame) -> PolarsResult<(DataFrame, Vec<u32>)> {
        let names = self.key.iter().copied().chain([POSITION, FILE, ROW]);
        let (mut keys, keyless) = (frame.select(names)?, keyless(self.schema, frame)?);
        if keyless.contains(&true) {
            keys = filtered(&keys, keyless.iter().map(|keyless| !keyless))?;
        }
        let buckets = hashes(&keys, &self.key)?
            .into_iter()
            .map(|hash| (hash >> 122) as u32);
        Ok((keys, buckets.collect()))
    }

    /// Flushes the buffer; returns the length of the file.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        self.spill.flush()
    }

    /// Positions of all but the last row of each key, in order.
    pub(super) fn repeats(&mut self, dropped: &mut DroppedRows) -> io::Result<Vec<u32>> {
        self.flush()?;
        let mut positions = Vec::new();
        for bucket in 0..BUCKETS {
            if let Some(frame) = self.spill.whole(bucket)? {
                self.repeats_of(&frame, dropped, &mut positions)
                    .map_err(io::Error::other)?;
            }
        }
        positions.sort_unstable();
        Ok(positions)
    }

    fn repeats_of(
        &self,
        frame: &DataFrame,
        dropped: &mut DroppedRows,
        positions: &mut Vec<u32>,
    ) -> PolarsResult<()> {
        let (hashes, keyless) = (hashes(frame, &self.key)?, vec![false; frame.height()]);
        let last = |rows: &[usize]| rows.last().copied();
        let origins = Origins::of(frame)?;
        for (row, kept) in order::repeats(frame, &self.key, &hashes, &keyless, last)? {
            let (origin, [kept, ..]) = (origins.at(row), origins.at(kept));
            if let Some(first) = dropped.add(origin, None) {
                first.kept = Some(kept);
            }
            positions.push(origin[0]);
        }
        Ok(())
    }
}
