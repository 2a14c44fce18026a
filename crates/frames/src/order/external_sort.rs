//! External sort of rows that do not fit into memory: a bucket is partitioned by the first column in which its rows differ, until each part
//! fits. Parts are in sort order, and equal rows are in one part, in input order.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use polars::prelude::{AnyValue, Column, DataFrame, DataType, PolarsResult};

use super::{sorted, spill::SpillFile};
use model::schema::TableSchema;
use table::keys::{order_key_bytes, order_key_f64, order_key_i64};

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

// Row keys as numbers: 128-bit hashes of cells, which identify rows, and eight-byte sort keys, which compare like a cell.

/// 128-bit hash of these columns' cells in each row; equal rows have equal hashes.
pub fn hashes(frame: &DataFrame, columns: &[&str]) -> PolarsResult<Vec<u128>> {
    let mut hashes = vec![KeyHash::default(); frame.height()];
    for name in columns {
        hash_into(frame.column(name)?, &mut hashes)?;
    }
    Ok(hashes.into_iter().map(|hash| hash.0).collect())
}

/// Marks the rows without a key.
pub fn keyless(schema: &TableSchema, frame: &DataFrame) -> PolarsResult<Vec<bool>> {
    let mut keyless = vec![schema.key.is_empty(); frame.height()];
    if let Some(column) = schema.keyless_without {
        let column = frame.column(column)?;
        if column.null_count() > 0 {
            keyless
                .iter_mut()
                .zip(column.is_null().iter())
                .for_each(|(keyless, empty)| *keyless |= empty == Some(true));
        }
    }
    Ok(keyless)
}

/// Hash of a row's key so far; of 128 bits, so that collisions do not occur by chance.
#[derive(Debug, Clone, Copy, Default)]
struct KeyHash(u128);

impl KeyHash {
    /// Both steps are invertible, so keys that differ in one word alone never collide.
    fn word(&mut self, word: u64) {
        // The multiplier of a 128-bit linear congruential generator (L'Ecuyer 1999, table 4).
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        let product = (self.0 ^ u128::from(word)).wrapping_mul(MULTIPLIER);
        self.0 = product ^ (product >> 67);
    }

    fn bytes(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else {
            return self.word(u64::MAX);
        };
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    fn number(&mut self, number: Option<i64>) {
        self.word(u64::from(number.is_some()));
        self.word(number.unwrap_or_default() as u64);
    }
}

fn hash_into(column: &Column, hashes: &mut [KeyHash]) -> PolarsResult<()> {
    match column.dtype() {
        DataType::String => hashes
            .iter_mut()
            .zip(column.str()?.iter())
            .for_each(|(hash, text)| hash.bytes(text.map(str::as_bytes))),
        DataType::Binary => hashes
            .iter_mut()
            .zip(column.binary()?.iter())
            .for_each(|(hash, bytes)| hash.bytes(bytes)),
        DataType::List(_) => hashes
            .iter_mut()
            .zip(list_texts(column))
            .for_each(|(hash, text)| hash.bytes(text.as_deref().map(str::as_bytes))),
        DataType::Float64 => {
            let bits = column
                .f64()?
                .iter()
                .map(|number| number.map(|number| number.to_bits() as i64));
            hashes
                .iter_mut()
                .zip(bits)
                .for_each(|(hash, number)| hash.number(number));
        }
        _ => {
            let numbers = column.to_physical_repr().cast(&DataType::Int64)?;
            hashes
                .iter_mut()
                .zip(numbers.i64()?.iter())
                .for_each(|(hash, number)| hash.number(number));
        }
    }
    Ok(())
}

/// Each list joined to one text, which compares like the list.
pub(super) fn list_texts(column: &Column) -> Vec<Option<String>> {
    let text = |value: AnyValue<'_>| match value {
        AnyValue::List(list) => list
            .str()
            .ok()
            .map(|texts| texts.iter().flatten().collect::<Vec<_>>().join("\u{1f}")),
        _ => None,
    };
    column
        .as_materialized_series()
        .rechunk()
        .iter()
        .map(text)
        .collect()
}

/// Sort key of each row, which compares like its cell as far as eight bytes go; `-` first for descending. Nulls sort last in either
/// direction.
pub(super) fn order_keys(frame: &DataFrame, column: &str) -> PolarsResult<Vec<u64>> {
    let (name, falls) = column
        .strip_prefix('-')
        .map_or((column, false), |name| (name, true));
    let turned = |key: Option<u64>| key.map_or(u64::MAX, |key| if falls { !key } else { key });
    let column = frame.column(name)?;
    Ok(match column.dtype() {
        DataType::Float64 => column
            .f64()?
            .iter()
            .map(|number| turned(number.map(order_key_f64)))
            .collect(),
        DataType::String => column
            .str()?
            .iter()
            .map(|text| turned(text.map(|text| order_key_bytes(text.as_bytes()))))
            .collect(),
        _ => column
            .to_physical_repr()
            .cast(&DataType::Int64)?
            .i64()?
            .iter()
            .map(|number| turned(number.map(order_key_i64)))
            .collect(),
    })
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
