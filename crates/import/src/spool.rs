//! The rows of one table during an import: in memory while they are few, then in a spill file partitioned by key hash, so that merging
//! needs the memory of one bucket.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use polars::prelude::{DataFrame, PolarsResult};

use super::{
    combine::{self, FIRST_NEW},
    error::ImportError,
};
use frames::{decode::guarded, order};
use model::{findings::KEPT_PER_REASON, schema::TableSchema};

/// Bytes of rows held in memory before spilling.
const IN_MEMORY: usize = 32 << 20;
const BUCKETS: usize = 64;

/// Rows of one file that a later row of it repeats in every column: their number, and the first ones.
#[derive(Debug, Default)]
pub(super) struct RepeatedRows {
    pub count: u64,
    pub first: BTreeSet<u32>,
}

impl RepeatedRows {
    pub(super) fn add(&mut self, row: u32) {
        self.count += 1;
        self.first.insert(row);
        if self.first.len() as u64 > KEPT_PER_REASON {
            self.first.pop_last();
        }
    }
}

/// The rows of one table, existing and new.
pub(super) struct TableSpool {
    pub schema: &'static TableSchema,
    path: PathBuf,
    frames: Vec<DataFrame>,
    bytes: usize,
    limit: usize,
    buckets: Option<order::SpillFile>,
    /// By source, the rows that were dropped before they were held.
    pub repeated: BTreeMap<u32, RepeatedRows>,
}

impl TableSpool {
    pub(super) fn new(schema: &'static TableSchema, folder: &Path) -> Self {
        let path = folder.join(format!("{}.rows", schema.name));
        Self {
            schema,
            path,
            frames: Vec::new(),
            bytes: 0,
            limit: IN_MEMORY,
            buckets: None,
            repeated: BTreeMap::new(),
        }
    }

    /// Appends rows of a source, with their row numbers in it.
    pub(super) fn add(
        &mut self,
        frame: DataFrame,
        source: u32,
        rows: &[u32],
    ) -> Result<(), ImportError> {
        let mut frame = guarded("table", || combine::marked(frame, source, rows))?;
        if source >= FIRST_NEW {
            let dropped = guarded("table", || repeated_whole(self.schema, &frame))?;
            if dropped.contains(&true) {
                let repeated = self.repeated.entry(source).or_default();
                rows.iter()
                    .zip(&dropped)
                    .filter(|(_, dropped)| **dropped)
                    .for_each(|(row, _)| repeated.add(*row));
                frame = guarded("table", || order::without(&frame, &dropped))?;
            }
        }
        self.bytes += frame.estimated_size();
        self.frames.push(frame);
        if self.bytes <= self.limit {
            return Ok(());
        }
        let failed = |error| ImportError::not_written(&self.path, error);
        let spool = match &mut self.buckets {
            Some(spool) => spool,
            none => none.insert(order::SpillFile::create(&self.path, BUCKETS).map_err(failed)?),
        };
        for frame in self.frames.drain(..) {
            let buckets = guarded("table", || {
                combine::buckets(self.schema, &frame, BUCKETS as u128)
            })?;
            spool.add(frame, &buckets).map_err(failed)?;
        }
        Ok(())
    }

    /// The number of partitions.
    pub(super) fn parts(&self) -> usize {
        if self.buckets.is_some() {
            BUCKETS
        } else {
            usize::from(!self.frames.is_empty())
        }
    }

    /// Calls `take` on each partition; rows of one key are in the same one.
    pub(super) fn each(
        mut self,
        mut take: impl FnMut(usize, DataFrame) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let Some(spool) = &mut self.buckets else {
            return guarded("table", || order::whole(self.frames))?
                .map_or(Ok(()), |whole| take(0, whole));
        };
        let failed = |error| ImportError::not_written(&self.path, error);
        spool.flush().map_err(failed)?;
        for part in 0..BUCKETS {
            if let Some(frame) = spool.whole(part).map_err(failed)? {
                take(part, frame)?;
            }
        }
        Ok(())
    }
}

/// Marks the rows that the next row of their key repeats in every column: compressed text may contain any number of them.
fn repeated_whole(schema: &TableSchema, frame: &DataFrame) -> PolarsResult<Vec<bool>> {
    let mut repeated = vec![false; frame.height()];
    if schema.first_usable || order::without_repeats(schema, frame.clone())?.1.is_empty() {
        return Ok(repeated);
    }
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name).collect();
    let (keys, whole) = (
        order::hashes(frame, schema.key)?,
        order::hashes(frame, &names)?,
    );
    let keyless = order::keyless(schema, frame)?;
    let mut next: HashMap<u128, u128> = HashMap::new();
    for row in (0..frame.height()).rev().filter(|row| !keyless[*row]) {
        repeated[row] = next.insert(keys[row], whole[row]) == Some(whole[row]);
    }
    Ok(repeated)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::combine::{EXISTING, FIRST_NEW, IMPORTED, MergeCounts, combine};

    use model::schema;

    /// Labels of addresses `from..to`, each with `name`.
    fn labels(from: u32, to: u32, name: &str) -> DataFrame {
        let table = schema::table("labels").unwrap();
        let rows = (to - from) as usize;
        let column = |column: &'static schema::Column| match column.name {
            "address" => Series::new(
                "address".into(),
                (from..to)
                    .map(|i| format!("0x{i:040x}"))
                    .collect::<Vec<_>>(),
            )
            .into_column(),
            "label" => Series::new("label".into(), vec!["bridge"; rows]).into_column(),
            "name" => Series::new("name".into(), vec![name; rows]).into_column(),
            _ => frames::canonical::empty(column, rows),
        };
        DataFrame::new(rows, table.columns.iter().map(column).collect()).unwrap()
    }

    type Outcome = (Vec<(String, String)>, HashMap<u32, MergeCounts>, usize);

    fn outcome(limit: usize, refused: &[u32]) -> Outcome {
        let place = tempfile::tempdir().unwrap();
        let schema = schema::table("labels").unwrap();
        let mut spool = TableSpool {
            limit,
            ..TableSpool::new(schema, place.path())
        };
        let new = FIRST_NEW;
        for (frame, source) in [
            (labels(0, 10, "mine"), EXISTING),
            (labels(10, 500, "old"), IMPORTED),
            (labels(400, 700, "new"), new),
            (labels(0, 5, "mine"), new),
            (labels(690, 701, "newer"), new + 1),
            (labels(0, 701, "refused"), new + 2),
        ] {
            let rows: Vec<u32> = (1..=frame.height() as u32).collect();
            spool.add(frame, source, &rows).unwrap();
        }
        let refused: HashSet<u32> = refused.iter().copied().collect();
        let (mut rows, mut counts, mut repeats) =
            (Vec::new(), HashMap::<u32, MergeCounts>::new(), 0);
        spool
            .each(|_, frame| {
                let combined = combine(schema, frame, &refused).expect("combined");
                let texts = |name: &str| {
                    combined
                        .frame
                        .column(name)
                        .unwrap()
                        .str()
                        .unwrap()
                        .iter()
                        .flatten()
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                };
                rows.extend(texts("address").into_iter().zip(texts("name")));
                repeats += combined.repeats.len();
                for (source, part) in combined.counts {
                    *counts.entry(source).or_default() += part;
                }
                Ok(())
            })
            .unwrap();
        rows.sort();
        (rows, counts, repeats)
    }

    #[test]
    fn rows_that_repeat_each_other_are_counted_and_not_held() {
        let place = tempfile::tempdir().unwrap();
        let mut spool = TableSpool::new(schema::table("labels").unwrap(), place.path());
        let two = labels(0, 2, "same").vstack(&labels(0, 2, "same")).unwrap();
        // Equal keys with other values are told apart later.
        let all = two.vstack(&labels(1, 2, "other")).unwrap();
        spool.add(all, FIRST_NEW, &[1, 2, 3, 4, 5]).unwrap();
        spool.add(two, EXISTING, &[1, 2, 3, 4]).unwrap();
        let repeated = &spool.repeated[&FIRST_NEW];
        assert_eq!(
            (
                repeated.count,
                repeated.first.iter().copied().collect::<Vec<_>>()
            ),
            (2, vec![1, 2])
        );
        assert_eq!(
            spool
                .frames
                .iter()
                .map(DataFrame::height)
                .collect::<Vec<_>>(),
            [3, 4]
        );
        assert_eq!(spool.repeated.len(), 1);
    }

    #[test]
    fn rows_come_together_the_same_in_memory_and_in_buckets() {
        let refused = [FIRST_NEW + 2];
        let (rows, counts, repeats) = outcome(usize::MAX, &refused);
        assert_eq!(
            outcome(1, &refused),
            (rows.clone(), counts.clone(), repeats)
        );
        // Rows identical to those in the user's own files are not written; 10..701 are.
        assert_eq!((rows.len(), repeats), (691, 0));
        let named = |name: &str| rows.iter().filter(|(_, known)| known == name).count();
        assert_eq!(
            (named("old"), named("new"), named("newer"), named("mine")),
            (390, 290, 11, 0)
        );
        assert_eq!(
            counts[&FIRST_NEW],
            MergeCounts {
                new: 200,
                changed: 100,
                same: 5
            }
        );
        assert_eq!(
            counts[&(FIRST_NEW + 1)],
            MergeCounts {
                new: 1,
                changed: 10,
                same: 0
            }
        );
        assert_eq!(counts.len(), 2);
    }
}
