//! External sort of rows that do not fit into memory: a bucket is partitioned by the first column in which its rows differ, until each part
//! fits. Parts are in sort order, and equal rows are in one part, in input order.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use polars::prelude::{DataFrame, PolarsResult};

use super::{keys::order_keys, sorted, spill::SpillFile};

/// Rows of a frame that are sampled for the bounds of the parts.
const SAMPLE: usize = 1_024;

/// An external sort: its order, its memory limit, and the folder for its files.
pub struct ExternalSort<'a> {
    /// Sort columns, `-` first for descending.
    pub order: &'a [&'a str],
    /// Bytes of rows that are sorted in memory at a time.
    pub bytes_max: u64,
    pub folder: &'a Path,
}

/// A column, and the keys at which another part begins.
type Bounds<'a> = (&'a str, Vec<u64>);

impl ExternalSort<'_> {
    /// Passes the bucket's rows to `put` in sort order, after `prepare` has transformed each frame.
    pub fn each(
        &self,
        spill: &SpillFile,
        bucket: usize,
        prepare: &dyn Fn(DataFrame) -> PolarsResult<DataFrame>,
        put: &mut dyn FnMut(DataFrame) -> io::Result<()>,
    ) -> io::Result<()> {
        let prepared = |frame: DataFrame| prepare(frame).map_err(io::Error::other);
        let bounds = if spill.bytes(bucket) > self.bytes_max {
            self.bounds(spill, bucket, &prepared)?
        } else {
            None
        };
        let Some((column, bounds)) = bounds else {
            // Rows with equal keys cannot be split further.
            let Some(frame) = spill.whole(bucket)? else {
                return Ok(());
            };
            return put(sorted(self.order, prepared(frame)?).map_err(io::Error::other)?);
        };
        let path = self.path();
        let parted = part(spill, bucket, &path, (column, bounds), &prepared);
        // The file is unlinked before it is read, so that nothing is left of it however this ends.
        fs::remove_file(&path).ok();
        let (parted, parts) = parted?;
        (0..parts).try_for_each(|part| self.each(&parted, part, &Ok, put))
    }

    fn path(&self) -> PathBuf {
        static FILES: AtomicU64 = AtomicU64::new(0);
        self.folder
            .join(format!("part-{}", FILES.fetch_add(1, Ordering::Relaxed)))
    }

    /// The first column in which the rows differ, and keys of it as bounds of the parts; none where no column differs.
    fn bounds(
        &self,
        spill: &SpillFile,
        bucket: usize,
        prepared: &dyn Fn(DataFrame) -> io::Result<DataFrame>,
    ) -> io::Result<Option<Bounds<'_>>> {
        // Per column: smallest and largest key, and a sample.
        let mut seen: Vec<(u64, u64, Vec<u64>)> = vec![(u64::MAX, 0, Vec::new()); self.order.len()];
        for frame in spill.frames(bucket) {
            let frame = prepared(frame?)?;
            for (column, (low, high, sample)) in self.order.iter().zip(&mut seen) {
                let keys = order_keys(&frame, column).map_err(io::Error::other)?;
                (*low, *high) = keys.iter().fold((*low, *high), |(low, high), key| {
                    (low.min(*key), high.max(*key))
                });
                sample.extend(keys.iter().step_by(keys.len() / SAMPLE + 1));
                // Where rows differ in one column, the next ones are not needed.
                if low < high {
                    break;
                }
            }
        }
        let Some((column, (low, high, mut sample))) = self
            .order
            .iter()
            .zip(seen)
            .find(|(_, (low, high, _))| low < high)
        else {
            return Ok(None);
        };
        sample.sort_unstable();
        // Parts are planned half full, as a sample gives their sizes roughly.
        let parts = (2 * spill.bytes(bucket) / self.bytes_max.max(1) + 2) as usize;
        let mut bounds: Vec<u64> = (1..parts)
            .filter_map(|part| sample.get(part * sample.len() / parts).copied())
            .filter(|key| *key > low)
            .collect();
        bounds.dedup();
        if bounds.is_empty() {
            bounds.push(high);
        }
        Ok(Some((column, bounds)))
    }
}

/// Partitions the bucket into a new spill file; returns it with the number of parts.
fn part(
    spill: &SpillFile,
    bucket: usize,
    path: &Path,
    (column, bounds): Bounds<'_>,
    prepared: &dyn Fn(DataFrame) -> io::Result<DataFrame>,
) -> io::Result<(SpillFile, usize)> {
    let parts = bounds.len() + 1;
    let mut parted = SpillFile::create(path, parts)?;
    for frame in spill.frames(bucket) {
        let frame = prepared(frame?)?;
        let keys = order_keys(&frame, column).map_err(io::Error::other)?;
        let part = |key: u64| bounds.partition_point(|bound| *bound <= key) as u32;
        parted.add(frame, &keys.into_iter().map(part).collect::<Vec<_>>())?;
    }
    parted.flush()?;
    Ok((parted, parts))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use polars::prelude::{IntoColumn, NamedFrom, Series};
    use proptest::{collection::vec, option, prelude::any, proptest};

    use super::*;

    const ORDER: &[&str] = &["a", "-b", "c"];

    type Row = (u32, Option<i8>, Option<u8>);

    /// The rows with their position in the input.
    fn frame(rows: &[Row]) -> DataFrame {
        let columns = [
            Series::new("a".into(), rows.iter().map(|row| row.0).collect::<Vec<_>>()),
            // Both zeros and a range of values, with many repeats.
            Series::new(
                "b".into(),
                rows.iter()
                    .map(|row| row.1.map(|b| f64::from(b / 32) * -0.5))
                    .collect::<Vec<_>>(),
            ),
            Series::new(
                "c".into(),
                rows.iter()
                    .map(|row| row.2.map(|c| format!("0x{:040x}", c / 9)))
                    .collect::<Vec<_>>(),
            ),
            Series::new("place".into(), (0..rows.len() as u32).collect::<Vec<_>>()),
        ];
        DataFrame::new(
            rows.len(),
            columns.into_iter().map(IntoColumn::into_column).collect(),
        )
        .unwrap()
    }

    proptest! {
        #[test]
        fn rows_that_do_not_fit_come_in_the_order_that_memory_gives_them(
            rows in vec((0u32..4, option::of(any::<i8>()), option::of(any::<u8>())), 0..600), batch in 1usize..200, kilobytes in 2u64..9,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let all = frame(&rows);
            let mut spill = SpillFile::create(&folder.path().join("spool"), 1).unwrap();
            for start in (0..rows.len()).step_by(batch) {
                let part = all.slice(start as i64, batch);
                let height = part.height();
                spill.add(part, &vec![0; height]).unwrap();
                spill.flush().unwrap();
            }
            let (mut found, calls) = (Vec::new(), Cell::new(0));
            let sort = ExternalSort { order: ORDER, bytes_max: kilobytes << 10, folder: folder.path() };
            let prepare = |frame| {
                calls.set(calls.get() + 1);
                Ok(frame)
            };
            let mut puts = 0;
            sort.each(&spill, 0, &prepare, &mut |frame| {
                puts += 1;
                found.extend(frame.column("place").unwrap().u32().unwrap().iter().flatten());
                Ok(())
            }).unwrap();
            let expected: Vec<u32> = sorted(ORDER, all).unwrap().column("place").unwrap().u32().unwrap().iter().flatten().collect();
            assert_eq!(found, expected);
            // Rows that do not fit were partitioned, unless they are all equal.
            assert!(puts > 1 || spill.bytes(0) <= kilobytes << 10 || rows.iter().all(|row| row.0 == rows[0].0));
            assert!(rows.is_empty() || calls.get() > 0);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left but the spool");
        }
    }

    #[test]
    fn keys_of_columns_compare_as_the_rows_do() {
        let rows: Vec<Row> = (0..400u32)
            .map(|i| {
                (
                    i % 3,
                    (i % 7 > 0).then_some((i * 37) as i8),
                    (i % 5 > 0).then_some((i * 11) as u8),
                )
            })
            .collect();
        let frame = frame(&rows);
        for column in ORDER {
            let ordered = sorted(&[*column], frame.clone()).unwrap();
            assert!(
                order_keys(&ordered, column).unwrap().is_sorted(),
                "{column}"
            );
        }
    }
}
