//! Files of rows that grow, in the folder `live` of a dataset. Rows with a time are kept in parts, which are brought together later. Rows
//! without a time are kept as the newest state, with a history of changes and the times at which they were observed. Every file is written
//! whole and then renamed. `live_files` says where they are, and `live` fetches the rows.

use std::{
    collections::{HashMap, HashSet},
    fs,
    iter::{repeat_n, successors},
    ops::Range,
    path::{Path, PathBuf},
};

use polars::prelude::{Column, DataFrame, IdxCa, PlSmallStr, PolarsResult};

use crate::{
    error::ReadError,
    live_files::{HISTORY_BYTES_MAX, file, files, history_files, history_folder, parts_folder},
};
use frames::{
    decode::guarded,
    error::FrameError,
    frame_rows::{column, filtered, integers, parsed, times},
    order,
    parquet_files::{parquet_height, parquet_rows, write_rows},
};
use model::{
    address::Address,
    schema::{Grows, Newer, TableSchema},
    time::{DAY_MS, Time},
};

/// Columns of the history: when a row was seen, and whether it had disappeared by then.
pub const OBSERVED_AT: &str = "observed_at";
pub const GONE: &str = "gone";

/// Parts from which they are brought together.
const PARTS_MAX: usize = 12;
/// Rows that are brought together at once: all of them are in memory then.
pub(crate) const JOINED_ROWS_MAX: usize = 250_000;
/// Snapshots from which the older ones are brought together.
const SNAPSHOTS_MAX: usize = 32;
/// Newest snapshots that stay as they are.
const SNAPSHOTS_KEPT: usize = 4;
/// Age from which of a row's snapshots of one day only the last one stays.
const EVERY_SNAPSHOT_MS: i64 = 14 * DAY_MS;

/// Scope of a fetch: the rows that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceScope {
    /// The whole table.
    All,
    /// The rows of these tokens.
    Tokens(HashSet<Address>),
    /// Only rows with the same key.
    Keys,
}

/// The kept rows of a live table.
pub struct Parts<'a> {
    pub dataset: &'a Path,
    pub schema: &'static TableSchema,
}

impl Parts<'_> {
    /// The table's file and its parts, oldest first.
    pub fn list(&self) -> Vec<PathBuf> {
        files(self.dataset, self.schema.name)
    }

    /// Keeps rows of a table with times, in a part of their own.
    pub fn append(&self, frame: DataFrame, now: Time) -> Result<(), ReadError> {
        let (mut all, folder) = (self.list(), parts_folder(self.dataset, self.schema.name));
        all.push(next_part(&folder, &all, now, "0000"));
        write_rows(&all[all.len() - 1], || merged(self.schema, frame))?;
        if all.len() <= PARTS_MAX {
            return Ok(());
        }
        compact(&all, |whole| merged(self.schema, whole))
    }

    /// Keeps the state of a table without times: what `scope` says is replaced. What changed is kept with its time.
    pub fn replace(
        &self,
        frame: &DataFrame,
        scope: &ReplaceScope,
        now: Time,
    ) -> Result<(), ReadError> {
        let (schema, path) = (self.schema, file(self.dataset, self.schema.name));
        let mut snapshots = history_files(self.dataset, schema.name);
        let last_seen = snapshots.last().and_then(|file| part_time(file));
        let is_seen_today = last_seen.is_some_and(|time| Time(time).day() == now.day());
        let whole = schema.grows == (Grows::BySnapshots { daily: true }) && !is_seen_today;
        let before = read(&path)?.unwrap_or_else(|| frame.clear());
        let (after, seen) = guarded("table", || {
            let all = order::whole([outside(&before, scope)?, frame.clone()])?;
            let after = merged(schema, all.unwrap_or_default())?;
            let names: Vec<&str> = after.columns().iter().map(|c| c.name().as_str()).collect();
            let changed = if whole {
                after.clone()
            } else {
                lacking(&after, &before, &names)?
            };
            let gone = lacking(&before, &after, schema.key)?;
            let seen = [observed(changed, now, false)?, observed(gone, now, true)?];
            let seen = order::whole(seen)?.unwrap_or_default();
            Ok((after, seen))
        })?;
        if seen.height() > 0 {
            let folder = history_folder(self.dataset, schema.name);
            snapshots.push(next_part(&folder, &snapshots, now, "000"));
            write_rows(&snapshots[snapshots.len() - 1], || Ok(seen))?;
            if snapshots.len() >= SNAPSHOTS_MAX {
                let older = &snapshots[..snapshots.len() - SNAPSHOTS_KEPT];
                compact(older, |whole| thinned(schema, &whole, now))?;
            }
        }
        Ok(write_rows(&path, || Ok(after))?)
    }
}

/// Changes rows in every file of a live table: its state or parts, and its history. A file for which `change` returns `None` stays as it is.
/// Each file is replaced as a whole, so after a failure the call can be repeated.
pub(crate) fn rewrite(
    dataset: &Path,
    table: &str,
    mut change: impl FnMut(DataFrame) -> PolarsResult<Option<DataFrame>>,
) -> Result<(), ReadError> {
    let current = files(dataset, table).into_iter();
    for path in current.chain(history_files(dataset, table)) {
        let Some(frame) = read(&path)? else { continue };
        if let Some(changed) = guarded("table", || change(frame))? {
            write_rows(&path, || Ok(changed))?;
        }
    }
    Ok(())
}

/// Brings most of the files that follow one another and are small enough together, if there are two such.
fn compact(
    files: &[PathBuf],
    merge: impl FnOnce(DataFrame) -> PolarsResult<DataFrame>,
) -> Result<(), ReadError> {
    let rows: Vec<Option<usize>> = files.iter().map(|file| parquet_height(file)).collect();
    let Some((last, older)) = files[longest_run(&rows)].split_last() else {
        return Ok(());
    };
    let frames = older.iter().chain([last]).map(|file| read(file));
    let frames: Vec<DataFrame> = frames
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    // The newest one takes all of them, and only then the others go: whoever reads in between finds every row.
    write_rows(last, || {
        let frames: PolarsResult<Vec<_>> = frames.into_iter().map(with_removed_rows).collect();
        merge(order::whole(frames?)?.unwrap_or_default())
    })?;
    for file in older {
        fs::remove_file(file).ok();
    }
    Ok(())
}

/// The longest run of at least two that have no more rows together than are brought together at once. Others between them would be newer
/// than some of their rows.
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

/// Where the next part goes: after all others, also if the clock went back or stands still.
fn next_part(folder: &Path, others: &[PathBuf], now: Time, number: &str) -> PathBuf {
    let last = others.iter().filter_map(|part| part_time(part)).max();
    let time = last.map_or(now.0, |last| now.0.max(last.saturating_add(1)));
    folder.join(format!("{time:015}-{number}.parquet"))
}

/// The time in the name of a part, in milliseconds.
fn part_time(path: &Path) -> Option<i64> {
    path.file_stem()?.to_str()?.split('-').next()?.parse().ok()
}

/// Snapshots without those of old days that a later one of the same day replaced.
fn thinned(schema: &TableSchema, snapshots: &DataFrame, now: Time) -> PolarsResult<DataFrame> {
    let times = integers(snapshots, OBSERVED_AT);
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
    filtered(snapshots, kept)
}

/// The rows that the scope leaves as they are.
fn outside(frame: &DataFrame, scope: &ReplaceScope) -> PolarsResult<DataFrame> {
    match scope {
        ReplaceScope::Keys => Ok(frame.clone()),
        ReplaceScope::All => Ok(frame.clear()),
        ReplaceScope::Tokens(tokens) => {
            let owners = parsed(frame, "token_address", Address::or_coin).into_iter();
            let is_kept =
                |token: Option<Address>| token.is_none_or(|token| !tokens.contains(&token));
            filtered(frame, owners.map(is_kept))
        }
    }
}

/// The rows whose cells in these columns no row of the other frame has.
fn lacking(frame: &DataFrame, other: &DataFrame, columns: &[&str]) -> PolarsResult<DataFrame> {
    let there: HashSet<u128> = order::hashes(other, columns)?.into_iter().collect();
    let hashes = order::hashes(frame, columns)?.into_iter();
    filtered(frame, hashes.map(|hash| !there.contains(&hash)))
}

/// The rows with the time at which they were seen, or seen to be gone.
fn observed(mut frame: DataFrame, now: Time, gone: bool) -> PolarsResult<DataFrame> {
    let rows = frame.height();
    frame.with_column(times(OBSERVED_AT, repeat_n(now.0, rows))?)?;
    frame.with_column(column(GONE, repeat_n(gone, rows)))?;
    Ok(frame)
}

/// A history frame with the column `gone`, which files of earlier versions lack; other frames unchanged.
pub(crate) fn with_removed_rows(mut frame: DataFrame) -> PolarsResult<DataFrame> {
    if frame.column(OBSERVED_AT).is_ok() && frame.column(GONE).is_err() {
        frame.with_column(column(GONE, repeat_n(false, frame.height())))?;
    }
    Ok(frame)
}

/// The newest rows, in the order of the table. The input is ordered oldest first.
pub(crate) fn merged(schema: &TableSchema, frame: DataFrame) -> PolarsResult<DataFrame> {
    order::sorted(schema.order, newest(schema, frame)?)
}

/// One row for each key, and one for each set of equal rows without a key. The last row wins; in tables of facts, the last value of each
/// column. The input is ordered oldest first.
pub(crate) fn newest(schema: &TableSchema, frame: DataFrame) -> PolarsResult<DataFrame> {
    if schema.key.is_empty() || frame.height() < 2 {
        return Ok(frame);
    }
    let mut hashes = order::hashes(&frame, schema.key)?;
    let keyless = order::keyless(schema, &frame)?;
    // Pages overlap: of rows without a key, equal ones count once.
    if keyless.contains(&true) {
        let mut names: Vec<&str> = schema.columns.iter().map(|column| column.name).collect();
        names.retain(|name| frame.column(name).is_ok());
        let whole = order::hashes(&frame, &names)?;
        for row in (0..whole.len()).filter(|row| keyless[*row]) {
            hashes[row] = whole[row];
        }
    }
    let mut last: HashMap<u128, u32> = HashMap::with_capacity(hashes.len());
    // By row: the earlier row of its key.
    let rows = (0..).zip(&hashes);
    let before: Vec<Option<u32>> = rows.map(|(row, hash)| last.insert(*hash, row)).collect();
    if last.len() == frame.height() {
        return Ok(frame);
    }
    let mut kept: Vec<u32> = last.into_values().collect();
    kept.sort_unstable();
    let newest = |cells: &Column| {
        let mut places = kept.clone();
        if schema.newer == Newer::Fills && cells.null_count() > 0 {
            let empty: Vec<bool> = cells
                .is_null()
                .iter()
                .map(|empty| empty == Some(true))
                .collect();
            for place in &mut places {
                let filled = successors(Some(*place), |row| before[*row as usize])
                    .find(|row| !empty[*row as usize]);
                *place = filled.unwrap_or(*place);
            }
        }
        cells.take(&IdxCa::from_vec(PlSmallStr::EMPTY, places))
    };
    let columns: PolarsResult<Vec<Column>> = frame.columns().iter().map(newest).collect();
    DataFrame::new(kept.len(), columns?)
}

/// The rows of a file; none where it is missing. Errors: it cannot be read.
fn read(path: &Path) -> Result<Option<DataFrame>, ReadError> {
    if !path.exists() {
        return Ok(None);
    }
    let rows = parquet_rows(path, HISTORY_BYTES_MAX).unwrap_or(Err(FrameError::TooLarge));
    rows.map(Some).map_err(|reason| ReadError::LiveFile {
        path: path.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests;
