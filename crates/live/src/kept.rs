//! The fetched rows in the dataset's folder, as Parquet. Rows with a time are stored in parts, which are compacted later. Rows without a
//! time are stored as the newest state, with a history of changes and the times at which they were observed. Every file is written whole
//! and then renamed.

use std::{
    collections::HashSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use polars::prelude::{
    BooleanChunked, DataFrame, DataType, IntoColumn as _, NamedFrom as _, NewChunkedArray as _,
    PlSmallStr, PolarsResult, Series, TimeUnit, TimeZone,
};

use model::{
    address::Address,
    schema::{Grows, TableSchema},
    time::{DAY_MS, Time},
};
use source::decode::guarded;
use source::live_files::{
    HISTORY_BYTES_MAX, file, files, history_files, history_folder, parts_folder,
};
use store::live::{GONE, OBSERVED_AT, newest, with_removed_rows};
use store::{
    order,
    parquet_files::{as_parquet, parquet_height, parquet_rows},
    private_files::write_atomic,
};

/// Parts from which they are brought together.
const PARTS_MAX: usize = 12;
/// Rows that are brought together at once: all of them are in memory then.
const JOINED_ROWS_MAX: usize = 250_000;
/// Snapshots from which the older ones are brought together.
const SNAPSHOTS_MAX: usize = 32;
/// Newest snapshots that stay as they are.
const SNAPSHOTS_KEPT: usize = 4;
/// Age from which of a row's snapshots of one day only the last one stays.
const EVERY_SNAPSHOT_MS: i64 = 14 * DAY_MS;
/// Scope of a fetch: the rows that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplaceScope {
    /// The whole table.
    All,
    /// The rows of these tokens.
    Tokens(HashSet<Address>),
    /// Only rows with the same key.
    Keys,
}

/// The kept rows of a table.
pub(crate) struct Kept<'a> {
    pub(crate) dataset: &'a Path,
    pub(crate) schema: &'static TableSchema,
}

impl Kept<'_> {
    /// Keeps rows of a table with times, in a part of their own.
    pub(crate) fn append(&self, frame: DataFrame, now: Time) -> Result<(), String> {
        let frame = guarded("table", || {
            order::sorted(self.schema.order, newest(self.schema, frame)?)
        })?;
        let folder = parts_folder(self.dataset, self.schema.name);
        // A clock that went back must not make the new part an older one.
        let newest_part = files(self.dataset, self.schema.name)
            .iter()
            .filter_map(|part| part_time(part))
            .max();
        let time = newest_part.map_or(now.0, |newest| newest.max(now.0));
        let free = |number: u32| folder.join(format!("{time:015}-{number:04}.parquet"));
        let path = (0..10_000).map(free).find(|path| !path.exists());
        let path = path.ok_or_else(|| {
            format!(
                "`{}` has too many files with the same time",
                folder.display()
            )
        })?;
        write(&path, frame)?;
        self.compact()
    }

    /// Keeps the state of a table without times: what `scope` says is replaced. What changed is kept with its time.
    pub(crate) fn replace(
        &self,
        frame: &DataFrame,
        scope: &ReplaceScope,
        now: Time,
    ) -> Result<(), String> {
        let path = file(self.dataset, self.schema.name);
        let before = read(&path)?;
        let after = guarded("table", || {
            let kept = before
                .as_ref()
                .map(|before| outside(before, scope))
                .transpose()?;
            let whole = order::whole(kept.into_iter().chain([frame.clone()]))?
                .unwrap_or_else(|| frame.clone());
            order::sorted(self.schema.order, newest(self.schema, whole)?)
        })?;
        let seen_today = history_files(self.dataset, self.schema.name)
            .last()
            .and_then(|file| part_time(file))
            .map(|time| Time(time).day());
        let whole = self.schema.grows == (Grows::BySnapshots { daily: true })
            && seen_today != Some(now.day());
        let observed = guarded("table", || {
            let changed = if whole {
                after.clone()
            } else {
                changed(before.as_ref(), &after)?
            };
            let gone = before
                .as_ref()
                .map(|before| missing(self.schema, before, &after))
                .transpose()?;
            let gone = gone
                .filter(|gone| gone.height() > 0)
                .map(|gone| observed(gone, now, true))
                .transpose()?;
            Ok(
                order::whole(std::iter::once(observed(changed, now, false)?).chain(gone))?
                    .unwrap_or_default(),
            )
        })?;
        if observed.height() > 0 {
            let folder = history_folder(self.dataset, self.schema.name);
            let free = (0..1_000)
                .map(|number| folder.join(format!("{:015}-{number:03}.parquet", now.0)))
                .find(|path| !path.exists());
            write(
                &free.unwrap_or_else(|| folder.join(format!("{:015}.parquet", now.0))),
                observed,
            )?;
            self.join_snapshots(now)?;
        }
        write(&path, after)
    }

    /// Brings the table's file and its parts together once they are many, as far as they are small.
    fn compact(&self) -> Result<(), String> {
        let all = files(self.dataset, self.schema.name);
        if all.len() <= PARTS_MAX {
            return Ok(());
        }
        let Some((last, older)) = small_neighbours(&all).split_last() else {
            return Ok(());
        };
        let Some(whole) = stacked(older.iter().chain([last]))? else {
            return Ok(());
        };
        let whole = guarded("table", || {
            order::sorted(self.schema.order, newest(self.schema, whole)?)
        })?;
        // The newest one takes all of them, and only then the others go: whoever reads in between finds every row.
        write(last, whole)?;
        for file in older {
            fs::remove_file(file).ok();
        }
        Ok(())
    }

    /// Brings older snapshots together once they are many, as far as they are small.
    fn join_snapshots(&self, now: Time) -> Result<(), String> {
        let all = history_files(self.dataset, self.schema.name);
        if all.len() < SNAPSHOTS_MAX {
            return Ok(());
        }
        let Some((last, older)) = small_neighbours(&all[..all.len() - SNAPSHOTS_KEPT]).split_last()
        else {
            return Ok(());
        };
        let Some(whole) = stacked(older.iter().chain([last]))? else {
            return Ok(());
        };
        write(
            last,
            guarded("table", || thinned(self.schema, &whole, now))?,
        )?;
        for file in older {
            fs::remove_file(file).ok();
        }
        Ok(())
    }
}

/// Most files that follow one another and are small enough to be brought together; none if no two are. Others between them would be newer
/// than some of their rows.
fn small_neighbours(files: &[PathBuf]) -> &[PathBuf] {
    let rows: Vec<Option<usize>> = files.iter().map(|file| parquet_height(file)).collect();
    &files[longest_run(&rows)]
}

/// The longest run of at least two that have no more rows together than are brought together at once.
fn longest_run(rows: &[Option<usize>]) -> Range<usize> {
    let (mut from, mut sum, mut best) = (0, 0, 0..0);
    for (to, count) in rows.iter().enumerate() {
        let Some(count) = count else {
            (from, sum) = (to + 1, 0);
            continue;
        };
        sum += count;
        while sum > JOINED_ROWS_MAX {
            sum -= rows[from].unwrap_or_default();
            from += 1;
        }
        if to + 1 - from > best.len() {
            best = from..to + 1;
        }
    }
    if best.len() < 2 { 0..0 } else { best }
}

/// Snapshots without those of old days that a later one of the same day replaced.
fn thinned(schema: &TableSchema, snapshots: &DataFrame, now: Time) -> PolarsResult<DataFrame> {
    let times: Vec<Option<i64>> = snapshots
        .column(OBSERVED_AT)?
        .to_physical_repr()
        .i64()?
        .iter()
        .collect();
    let (keys, keyless) = (
        order::hashes(snapshots, schema.key)?,
        order::keyless(schema, snapshots)?,
    );
    let mut seen = HashSet::new();
    let mut kept = vec![true; keys.len()];
    for (row, time) in times.into_iter().enumerate().rev() {
        let time = Time(time.unwrap_or(now.0));
        kept[row] = keyless[row]
            || time.0 > now.0 - EVERY_SNAPSHOT_MS
            || seen.insert((keys[row], time.day()));
    }
    snapshots.filter(&BooleanChunked::from_iter_values(
        PlSmallStr::EMPTY,
        kept.into_iter(),
    ))
}

/// The rows of all files, one after the other.
fn stacked<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<Option<DataFrame>, String> {
    let frames: Result<Vec<Option<DataFrame>>, String> = files.map(|file| read(file)).collect();
    let frames = frames?;
    guarded("table", || {
        let frames = frames
            .into_iter()
            .flatten()
            .map(with_removed_rows)
            .collect::<PolarsResult<Vec<_>>>()?;
        order::whole(frames)
    })
}

/// The time in the name of a part, in milliseconds.
fn part_time(path: &Path) -> Option<i64> {
    path.file_stem()?.to_str()?.split('-').next()?.parse().ok()
}

/// The rows that the scope leaves as they are.
fn outside(frame: &DataFrame, scope: &ReplaceScope) -> PolarsResult<DataFrame> {
    match scope {
        ReplaceScope::Keys => Ok(frame.clone()),
        ReplaceScope::All => Ok(frame.head(Some(0))),
        ReplaceScope::Tokens(tokens) => {
            let Ok(column) = frame.column("token_address") else {
                return Ok(frame.clone());
            };
            let is_kept = |text: Option<&str>| {
                text.and_then(Address::or_coin)
                    .is_none_or(|token| !tokens.contains(&token))
            };
            frame.filter(&BooleanChunked::from_iter_values(
                PlSmallStr::EMPTY,
                column.str()?.iter().map(is_kept),
            ))
        }
    }
}

/// The rows of `after` that `before` does not have.
fn changed(before: Option<&DataFrame>, after: &DataFrame) -> PolarsResult<DataFrame> {
    let Some(before) = before else {
        return Ok(after.clone());
    };
    let names: Vec<&str> = after
        .columns()
        .iter()
        .map(|column| column.name().as_str())
        .collect();
    let known: HashSet<u128> = order::hashes(before, &names)?.into_iter().collect();
    let new = order::hashes(after, &names)?
        .into_iter()
        .map(|hash| !known.contains(&hash));
    after.filter(&BooleanChunked::from_iter_values(PlSmallStr::EMPTY, new))
}

/// The rows of `before` of whose key `after` has none.
fn missing(schema: &TableSchema, before: &DataFrame, after: &DataFrame) -> PolarsResult<DataFrame> {
    let there: HashSet<u128> = order::hashes(after, schema.key)?.into_iter().collect();
    let gone = order::hashes(before, schema.key)?
        .into_iter()
        .map(|hash| !there.contains(&hash));
    before.filter(&BooleanChunked::from_iter_values(PlSmallStr::EMPTY, gone))
}

/// The rows with the time at which they were seen, or seen to be gone.
fn observed(mut frame: DataFrame, now: Time, gone: bool) -> PolarsResult<DataFrame> {
    let times = Series::new(OBSERVED_AT.into(), vec![now.0; frame.height()]);
    let kind = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
    frame.with_column(times.cast(&kind)?.into_column())?;
    frame.with_column(Series::new(GONE.into(), vec![gone; frame.height()]).into_column())?;
    Ok(frame)
}

/// The rows of a file; none where it is missing. Errors: it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Option<DataFrame>, String> {
    if !path.exists() {
        return Ok(None);
    }
    let rows = parquet_rows(path, HISTORY_BYTES_MAX)
        .unwrap_or_else(|| Err("the file is too large".to_owned()));
    rows.map(Some).map_err(|reason| {
        format!(
            "cannot read `{}`: {reason}; move it away, and tokendeck fetches its rows again",
            path.display()
        )
    })
}

fn write(path: &Path, frame: DataFrame) -> Result<(), String> {
    write_atomic(path, &as_parquet(|| Ok(frame))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;
    use source::coerce;

    fn candles(from: i64, to: i64, close: f64) -> DataFrame {
        let schema = schema::table("candles").expect("a table");
        let rows = (to - from) as usize;
        let column = |column: &'static schema::Column| match column.name {
            "token_address" => {
                Series::new("token_address".into(), vec![format!("0x{:040x}", 1); rows])
                    .into_column()
            }
            "interval" => Series::new("interval".into(), vec!["1d"; rows]).into_column(),
            "timestamp" => {
                let kind = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
                Series::new(
                    "timestamp".into(),
                    (from..to).map(|day| day * 86_400_000).collect::<Vec<_>>(),
                )
                .cast(&kind)
                .expect("times")
                .into_column()
            }
            "volume" => coerce::empty(column, rows),
            name => Series::new(name.into(), vec![close; rows]).into_column(),
        };
        DataFrame::new(rows, schema.columns.iter().map(column).collect()).expect("a frame")
    }

    fn rows(dataset: &Path) -> Vec<f64> {
        let schema = schema::table("candles").expect("a table");
        let frames: Vec<DataFrame> = files(dataset, "candles")
            .iter()
            .map(|path| read(path).expect("read").expect("there"))
            .collect();
        let whole =
            newest(schema, order::whole(frames).expect("joined").expect("some")).expect("merged");
        let whole = order::sorted(schema.order, whole).expect("sorted");
        whole
            .column("close")
            .expect("closes")
            .f64()
            .expect("numbers")
            .iter()
            .flatten()
            .collect()
    }

    #[test]
    fn parts_are_brought_together_and_no_row_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = Kept {
            dataset: folder.path(),
            schema: schema::table("candles").expect("a table"),
        };
        let mut most = 0;
        for part in 0..40 {
            // Each part replaces the last candle of the one before, which was forming.
            kept.append(
                candles(part * 3, part * 3 + 4, part as f64),
                Time(1_000 + part),
            )
            .expect("kept");
            most = most.max(files(folder.path(), "candles").len());
        }
        let closes = rows(folder.path());
        assert_eq!(closes.len(), 121);
        assert!(
            (0..40).all(|part| closes[part * 3] == part as f64),
            "the newer candle holds"
        );
        assert!(most <= PARTS_MAX + 1, "{most} files");
    }

    #[test]
    fn only_neighbours_are_brought_together() {
        let most = JOINED_ROWS_MAX;
        for (rows, expected) in [
            (&[Some(1), Some(1), Some(1)][..], 0..3),
            (
                &[
                    Some(1),
                    Some(most + 1),
                    Some(1),
                    Some(1),
                    Some(1),
                    Some(most),
                    Some(1),
                ],
                2..5,
            ),
            (&[Some(most / 2), Some(most / 2), Some(1)], 0..2),
            (&[Some(most), Some(most), Some(0)], 1..3),
            (&[Some(most), Some(1), Some(most)], 0..0),
            (&[Some(1), None, Some(1), Some(1)], 2..4),
            (&[], 0..0),
        ] {
            assert_eq!(longest_run(rows), expected, "{rows:?}");
        }
    }

    #[test]
    fn a_snapshot_replaces_what_it_speaks_of_and_its_changes_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let schema = schema::table("holders").expect("a table");
        let kept = Kept {
            dataset: folder.path(),
            schema,
        };
        let holders = |token: u32, holders: &[(u32, f64)]| {
            let column = |column: &'static schema::Column| match column.name {
                "token_address" => Series::new(
                    "token_address".into(),
                    vec![format!("0x{token:040x}"); holders.len()],
                )
                .into_column(),
                "holder_address" => Series::new(
                    "holder_address".into(),
                    holders
                        .iter()
                        .map(|(holder, _)| format!("0x{holder:040x}"))
                        .collect::<Vec<_>>(),
                )
                .into_column(),
                _ => Series::new(
                    "balance".into(),
                    holders
                        .iter()
                        .map(|(_, balance)| *balance)
                        .collect::<Vec<_>>(),
                )
                .into_column(),
            };
            DataFrame::new(holders.len(), schema.columns.iter().map(column).collect())
                .expect("a frame")
        };
        let token = |number: u32| Address::parse(&format!("0x{number:040x}")).expect("an address");
        kept.replace(
            &holders(1, &[(5, 10.0), (6, 1.0)]),
            &ReplaceScope::Tokens([token(1)].into()),
            Time(1),
        )
        .expect("kept");
        kept.replace(
            &holders(2, &[(5, 2.0)]),
            &ReplaceScope::Tokens([token(2)].into()),
            Time(2),
        )
        .expect("kept");
        kept.replace(
            &holders(1, &[(5, 10.0)]),
            &ReplaceScope::Tokens([token(1)].into()),
            Time(3),
        )
        .expect("kept");
        let now = read(&file(folder.path(), "holders"))
            .expect("read")
            .expect("there");
        assert_eq!(
            now.height(),
            2,
            "the holder that is gone is gone, and the other token's stays"
        );
        let history = fs::read_dir(history_folder(folder.path(), "holders"))
            .expect("a folder")
            .count();
        assert_eq!(history, 3, "that a holder is gone is seen too");
        for time in 4..80 {
            kept.replace(
                &holders(1, &[(5, f64::from(time))]),
                &ReplaceScope::Tokens([token(1)].into()),
                Time(time.into()),
            )
            .expect("kept");
        }
        let snapshots: Vec<_> = fs::read_dir(history_folder(folder.path(), "holders"))
            .expect("a folder")
            .flatten()
            .collect();
        assert!(snapshots.len() < SNAPSHOTS_MAX + 1);
        let rows: usize = snapshots
            .iter()
            .map(|entry| read(&entry.path()).expect("read").expect("there").height())
            .sum();
        assert_eq!(rows, 4 + 76);
    }
}
