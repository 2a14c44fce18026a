//! Rows whose key comes again later in the input. Keys are spread as hashes over buckets, so that those of a table of any size are
//! compared without holding them all.

use std::{
    collections::{BTreeMap, BinaryHeap},
    io,
    path::Path,
};

use super::{
    record::{Layout, Record},
    spill::Spill,
};
use crate::dataset::{
    findings::KEPT_PER_REASON,
    load::order::{KEYLESS, KeyHash},
    schema::TableSchema,
};

const BUCKETS: usize = 256;
/// Hash, place, file, row.
const RECORD: usize = 28;

/// The rows left out: how many of each file, and the first ones.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    counts: BTreeMap<u32, u64>,
    /// Of each file (place, row), the one that came last on top.
    first: BTreeMap<u32, BinaryHeap<(u32, u32)>>,
}

impl Dropped {
    pub(super) fn add(&mut self, place: u32, file: u32, row: u32) {
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

/// The keys of the rows so far.
pub(super) struct Keys {
    pub(super) spill: Spill,
    columns: Vec<usize>,
    /// Where this column is empty, a row has no key.
    keyless: Option<usize>,
}

impl Keys {
    /// Whether rows of one key lie side by side once they are ordered: then no keys need to be kept.
    pub(super) fn side_by_side(schema: &TableSchema) -> bool {
        !schema.key.is_empty() && schema.order.len() == schema.key.len() && schema.order.iter().all(|column| schema.key.contains(column))
    }

    pub(super) fn create(path: &Path, schema: &TableSchema, layout: &Layout, resume: Option<u64>) -> io::Result<Self> {
        let spill = match resume {
            Some(length) => Spill::reopen(path, BUCKETS, length)?,
            None => Spill::create(path, BUCKETS)?,
        };
        let keyless = KEYLESS.iter().find(|(table, _)| *table == schema.name).and_then(|(_, column)| layout.position(column));
        Ok(Self { spill, columns: schema.key.iter().filter_map(|column| layout.position(column)).collect(), keyless })
    }

    pub(super) fn add(&mut self, layout: &Layout, record: Record<'_>, with_token: bool) -> io::Result<()> {
        if self.keyless.is_some_and(|column| record.is_null(column)) {
            return Ok(());
        }
        let mut hash = KeyHash::default();
        let head = record.head();
        if with_token {
            hash.word(head.token.into());
        }
        for &column in &self.columns {
            hash.bytes(if record.is_null(column) { None } else { Some(record.bytes(layout, column)) });
        }
        let bucket = (hash.0 >> 120) as usize;
        let out = self.spill.buffer(bucket);
        out.extend_from_slice(&hash.0.to_le_bytes());
        for word in [head.place, head.file, head.row] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        self.spill.settle(bucket)
    }

    /// The places of all but the last row of each key, in order.
    pub(super) fn repeats(&self, dropped: &mut Dropped) -> io::Result<Vec<u32>> {
        let mut places = Vec::new();
        for bucket in 0..BUCKETS {
            let mut bytes = Vec::new();
            let mut nth = 0;
            while self.spill.chunk(bucket, nth, &mut bytes)? {
                nth += 1;
            }
            let word = |record: &[u8], at: usize| record[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let hash = |record: &[u8]| record.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            let mut rows: Vec<(u128, u32, u32, u32)> =
                bytes.chunks_exact(RECORD).map(|record| (hash(record), word(record, 16), word(record, 20), word(record, 24))).collect();
            drop(bytes);
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
