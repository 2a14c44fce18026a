//! Rows whose key comes again later in the input. Keys are spread as hashes over buckets, so that those of a table of any size are
//! compared without holding them all.

use std::{
    collections::{BTreeMap, BinaryHeap},
    io,
    path::Path,
};

use polars::prelude::{DataFrame, IntoColumn, NamedFrom, PolarsResult, Series};

use super::{
    keys::{hashes, keyless},
    spool::Spool,
};
use crate::dataset::{findings::KEPT_PER_REASON, schema::TableSchema};

const BUCKETS: usize = 64;

/// The rows left out: how many of each file, and the first ones.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    counts: BTreeMap<u32, u64>,
    /// Of each file (place, row), the one that came last on top.
    first: BTreeMap<u32, BinaryHeap<(u32, u32)>>,
}

impl Dropped {
    pub(crate) fn add(&mut self, place: u32, file: u32, row: u32) {
        *self.counts.entry(file).or_default() += 1;
        let first = self.first.entry(file).or_default();
        first.push((place, row));
        if first.len() as u64 > KEPT_PER_REASON {
            first.pop();
        }
    }

    /// (file, row) of those that a finding is kept of, in the order of the input.
    pub(crate) fn first(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, u32, u32)> = Vec::new();
        for (file, first) in &self.first {
            all.extend(first.iter().map(|(place, row)| (*place, *file, *row)));
        }
        all.sort_unstable();
        all.into_iter().map(|(_, file, row)| (file, row)).collect()
    }

    /// How many of each file.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.counts.iter().map(|(file, count)| (*file, *count))
    }
}

/// Whether rows of one key lie side by side once they are ordered: then no keys need to be kept.
pub(crate) fn side_by_side(schema: &TableSchema) -> bool {
    !schema.key.is_empty() && schema.order.len() == schema.key.len() && schema.order.iter().all(|column| schema.key.contains(column))
}

/// The keys of the rows so far.
pub(crate) struct Keys {
    spool: Spool,
    schema: &'static TableSchema,
}

impl Keys {
    /// In a new file, or one of which an earlier run left so many bytes; none for a table whose repeats show otherwise, or that has none.
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

    /// Takes in the keys of some rows of a file, the first of which is at `place` in the input.
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

    /// Writes what is gathered; gives back the length of the file.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        self.spool.flush()
    }

    /// The places of all but the last row of each key, in order.
    pub(crate) fn repeats(&mut self, dropped: &mut Dropped) -> io::Result<Vec<u32>> {
        self.flush()?;
        let mut places = Vec::new();
        for bucket in 0..BUCKETS {
            let Some(frame) = self.spool.whole(bucket)? else { continue };
            let mut rows = rows(&frame).map_err(io::Error::other)?;
            drop(frame);
            rows.sort_unstable();
            for pair in rows.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
                let (_, place, file, row) = pair[0];
                dropped.add(place, file, row);
                places.push(place);
            }
        }
        places.sort_unstable();
        Ok(places)
    }
}

/// Hash, place, file and row of each.
fn rows(frame: &DataFrame) -> PolarsResult<Vec<(u128, u32, u32, u32)>> {
    let long = |name: &str| frame.column(name)?.u64()?.cont_slice();
    let short = |name: &str| frame.column(name)?.u32()?.cont_slice();
    let (low, high, place, file, row) = (long("low")?, long("high")?, short("place")?, short("file")?, short("row")?);
    Ok((0..frame.height()).map(|i| (u128::from(high[i]) << 64 | u128::from(low[i]), place[i], file[i], row[i])).collect())
}
