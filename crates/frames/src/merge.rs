//! Incremental import: builds a new table from a cached one and the rows appended to its files. Unchanged rows are copied without decoding;
//! only rows around the times of the new ones are read and sorted. The result equals that of a full import; where this cannot be
//! guaranteed, nothing is built.

use std::{collections::HashSet, fs, ops::Range, path::Path};

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PolarsResult, Series};

use super::{
    cache::{CacheBuildError, CacheOptions, EntryLocation},
    cache_writer::WrittenRows,
    columns::{Columns, as_bytes, byte_length},
    report::LoadReport,
    rows::Frames as _,
};
use crate::{
    order::{keyless, side_by_side, sorted, without, without_repeats},
    text_runs::pairs,
};
use model::{
    address::Address,
    disk_lru::remove,
    interval::Interval,
    progress::Cancelled,
    schema::{Kind, TableSchema},
};
use table::{
    StorageType, StoredColumn,
    index::RunStarts,
    rows::{ROWS, TableRows},
    stored_columns,
};

/// Maximum rows of a token that are read and sorted again, around the times of its new ones.
const WINDOW_MAX: usize = 200_000;
/// Rows copied at a time.
const COPIED: usize = 1 << 20;

/// Rows appended to the files of a table, in canonical columns and source order.
pub struct Tail {
    pub frame: DataFrame,
    /// Number of rows that were dropped before, as duplicate keys.
    pub dropped: u64,
    /// Whether they come after all other rows of the table, and so replace rows with the same key.
    pub is_last: bool,
}

/// Replacement of a range of the table's rows by those of `frame`.
struct Edit {
    rows: Range<usize>,
    token: Address,
    interval: i64,
    frame: DataFrame,
}

/// Builds the table at `location` from `base` and its tail; `report` receives the number of rows dropped as duplicate keys. None where a
/// full import is needed.
pub fn grow(
    base: &TableRows,
    tail: Tail,
    location: &EntryLocation,
    options: &CacheOptions,
    check_cancelled: &mut dyn FnMut() -> Result<(), Cancelled>,
    report: impl FnOnce(u64) -> LoadReport,
) -> Result<Option<TableRows>, CacheBuildError> {
    let schema = base.schema();
    let columns = stored_columns(schema);
    let Some((edits, repeated)) = edits(base, tail, schema, &columns)? else {
        return Ok(None);
    };
    let part = location.part();
    let made = part.join("made");
    remove(&part);
    fs::create_dir_all(&made)?;
    let report = report(repeated);
    let grown_from = report.grown_from.clone();
    let Some(written) = write(base, edits, &columns, &made, check_cancelled, report)? else {
        remove(&part);
        return Ok(None);
    };
    // Not durable: a growing table is replaced soon, and data lost in a crash is detected by the checksums.
    let table = written.publish(location, &made, options.block_rows, false)?;
    // The base may still be open in a program; the table that the base grew from is no longer needed.
    if let Some(before) = base
        .grown_from()
        .filter(|before| Some(*before) != grown_from.as_deref())
    {
        location.drop_beside(before);
    }
    Ok(Some(table))
}

/// Edits in row order, and the number of rows dropped as duplicate keys. None where a full import is needed.
fn edits(
    base: &TableRows,
    tail: Tail,
    schema: &'static TableSchema,
    columns: &[StoredColumn],
) -> PolarsResult<Option<(Vec<Edit>, u64)>> {
    let Tail {
        frame,
        dropped: mut repeated,
        is_last,
    } = tail;
    let (owner, by_interval) = (
        table::group_column(schema),
        table::in_index(schema, "interval"),
    );
    let Some((time, descending)) = time_column(schema) else {
        return Ok(None);
    };
    let frame = if by_interval {
        with_intervals(base, frame, owner)?
    } else {
        Some(frame)
    };
    let Some(frame) = frame.filter(|frame| {
        frame
            .column(time)
            .is_ok_and(|times| times.null_count() == 0)
    }) else {
        return Ok(None);
    };
    let (frame, dropped) = without_repeats(schema, frame)?;
    repeated += dropped.len() as u64;
    let frame = sorted(schema.order, frame)?;
    let mut edits = Vec::new();
    for (rows, token, interval) in groups(&frame, owner, by_interval)? {
        let new = frame.slice(rows.start as i64, rows.len());
        let run = rows_of_run(base, &token, interval, by_interval);
        let Some(window) = window(base, run, &new, time, descending)? else {
            return Ok(None);
        };
        let mut both = base.slice(window.clone(), None);
        both.vstack_mut(&new)?;
        both.rechunk_mut();
        let (both, dropped) = without_repeats(schema, both)?;
        repeated += dropped.len() as u64;
        // It is unknown which of two rows with the same key comes last.
        if !is_last && !dropped.is_empty() {
            return Ok(None);
        }
        edits.push(Edit {
            rows: window,
            token,
            interval,
            frame: sorted(schema.order, both)?,
        });
    }
    if !schema.key.is_empty() && !side_by_side(schema) {
        let again = replaced_rows(base, &frame, schema, columns, &edits)?;
        if !is_last && !again.is_empty() {
            return Ok(None);
        }
        repeated += again.len() as u64;
        let nothing = frame.slice(0, 0);
        let gone = |row: usize| Edit {
            rows: row..row + 1,
            token: Address::default(),
            interval: 0,
            frame: nothing.clone(),
        };
        edits.extend(again.into_iter().map(gone));
    }
    // Edits at the same position insert new tokens, which come in order.
    edits.sort_by_key(|edit| (edit.rows.start, edit.rows.end));
    Ok(Some((edits, repeated)))
}

/// The first sort column after token and interval, if it is a time, and whether it is descending.
fn time_column(schema: &TableSchema) -> Option<(&'static str, bool)> {
    let owned =
        |column: &&&str| **column == table::group_column(schema) || table::in_index(schema, column);
    let first = schema.order.iter().find(|column| !owned(column))?;
    let (name, descending) = first
        .strip_prefix('-')
        .map_or((*first, false), |name| (name, true));
    let column = schema.columns.iter().find(|column| column.name == name)?;
    (column.kind == Kind::Time).then_some((column.name, descending))
}

/// Fills missing intervals with the only interval of the row's token. None where the token has several, or none.
fn with_intervals(
    base: &TableRows,
    mut frame: DataFrame,
    owner: &str,
) -> PolarsResult<Option<DataFrame>> {
    frame.rechunk_mut();
    let given = frame.column("interval")?.str()?;
    if given.null_count() == 0 {
        return Ok(Some(frame));
    }
    let mut filled: Vec<Option<String>> = Vec::with_capacity(frame.height());
    for (rows, token, interval) in pairs(frame.column(owner)?.str()?, given) {
        let text = if let Some(interval) = interval {
            interval.to_owned()
        } else {
            let token = token.and_then(Address::parse).unwrap_or_default();
            let mut runs = base.runs_of(&token);
            let (Some((only, _)), None) = (runs.next(), runs.next()) else {
                return Ok(None);
            };
            only.to_string()
        };
        filled.extend(std::iter::repeat_n(Some(text), rows.len()));
    }
    frame.with_column(Series::new("interval".into(), filled).into_column())?;
    Ok(Some(frame))
}

/// Row range of each token and interval.
fn groups(
    frame: &DataFrame,
    owner: &str,
    by_interval: bool,
) -> PolarsResult<Vec<(Range<usize>, Address, i64)>> {
    let owners = frame.column(owner)?.str()?;
    let intervals = if by_interval {
        frame.column("interval")?.str()?
    } else {
        owners
    };
    let length = |text: Option<&str>| {
        if by_interval {
            text.and_then(Interval::parse)
                .map_or(0, |interval| interval.0)
        } else {
            0
        }
    };
    let address = |text: Option<&str>| text.and_then(Address::parse).unwrap_or_default();
    Ok(pairs(owners, intervals)
        .map(|(rows, token, interval)| (rows, address(token), length(interval)))
        .collect())
}

/// Rows of the token and interval, or their empty insertion point.
fn rows_of_run(
    base: &TableRows,
    token: &Address,
    interval: i64,
    by_interval: bool,
) -> Range<usize> {
    let rows = base.rows_of(token);
    if rows.is_empty() {
        let at = base.start_from(token);
        return at..at;
    }
    if !by_interval {
        return rows;
    }
    let text = Interval(interval).to_string();
    let mut at = rows.end;
    for (known, run) in base.runs_of(token) {
        if known.0 == interval {
            return run;
        }
        if known.to_string() > text {
            at = at.min(run.start);
        }
    }
    at..at
}

/// Rows of the run within the time range of the new ones, or their empty insertion point. None where they are too many, or damaged.
fn window(
    base: &TableRows,
    run: Range<usize>,
    new: &DataFrame,
    time: &str,
    descending: bool,
) -> PolarsResult<Option<Range<usize>>> {
    let times = new.column(time)?.to_physical_repr();
    let times = times.i64()?;
    let (Some(first), Some(last)) = (
        polars::prelude::ChunkAgg::min(times),
        polars::prelude::ChunkAgg::max(times),
    ) else {
        return Ok(None);
    };
    let (Some(cells), Some(stamps)) = (base.cells(time), base.whole_numbers(time, run.clone()))
    else {
        return Ok(None);
    };
    // Rows without a time sort last.
    let timed = run.start + partition(run.len(), |at| cells.bytes(run.start + at).is_some());
    let stamps = &stamps[..timed - run.start];
    let (start, end) = if descending {
        (
            stamps.partition_point(|stamp| *stamp > last),
            stamps.partition_point(|stamp| *stamp >= first),
        )
    } else {
        (
            stamps.partition_point(|stamp| *stamp < first),
            stamps.partition_point(|stamp| *stamp <= last),
        )
    };
    let window = run.start + start..run.start + end;
    Ok((window.len() <= WINDOW_MAX && !base.is_damaged()).then_some(window))
}

/// Partition point: the number of leading positions for which `holds` is true.
fn partition(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Rows of the table outside the edits that have the key of a new row. They are of the same token as the new row, even where the token is
/// not part of the key.
fn replaced_rows(
    base: &TableRows,
    new: &DataFrame,
    schema: &TableSchema,
    columns: &[StoredColumn],
    edits: &[Edit],
) -> PolarsResult<Vec<usize>> {
    // The most selective column of the key: an id, or a hash.
    let id = schema.key.iter().find_map(|name| {
        columns
            .iter()
            .find(|(column, storage)| column.name == *name && storage.width().is_none())
    });
    let Some((column, storage)) = id else {
        return Ok(Vec::new());
    };
    let keyed = {
        let keyless = keyless(schema, new)?;
        without(new, &keyless)?
    };
    let cells = if *storage == StorageType::Hex {
        as_bytes(*storage, keyed.column(column.name)?)?
    } else {
        keyed.column(column.name)?.clone()
    };
    let ids: HashSet<Vec<u8>> = match cells.binary() {
        Ok(cells) => cells.iter().flatten().map(<[u8]>::to_vec).collect(),
        Err(_) => cells
            .str()?
            .iter()
            .flatten()
            .map(|text| text.as_bytes().to_vec())
            .collect(),
    };
    let Some(standing) = base.cells(column.name) else {
        return Ok(Vec::new());
    };
    let mut alike = Vec::new();
    let mut tokens: Vec<Address> = edits.iter().map(|edit| edit.token).collect();
    tokens.dedup();
    for token in tokens {
        let within = |row: &usize| {
            edits
                .iter()
                .any(|edit| edit.token == token && edit.rows.contains(row))
        };
        let same = |row: &usize| {
            standing
                .bytes(*row)
                .is_some_and(|bytes| ids.contains(bytes))
        };
        alike.extend(base.rows_of(&token).filter(|row| same(row) && !within(row)));
    }
    // Rows whose whole key equals that of a new row are replaced by it.
    let mut again = Vec::new();
    for row in alike {
        let mut both = base.slice(row..row + 1, None);
        both.vstack_mut(&keyed)?;
        both.rechunk_mut();
        let (_, dropped) = without_repeats(schema, both)?;
        if dropped.iter().any(|(dropped, _)| *dropped == 0) {
            again.push(row);
        }
    }
    Ok(again)
}

/// Writes the rows of the new table. None where the base is damaged.
fn write(
    base: &TableRows,
    edits: Vec<Edit>,
    columns: &[StoredColumn],
    made: &Path,
    check_cancelled: &mut dyn FnMut() -> Result<(), Cancelled>,
    report: LoadReport,
) -> Result<Option<WrittenRows>, CacheBuildError> {
    let new_rows: usize = edits.iter().map(|edit| edit.frame.height()).sum();
    let rows_max = (base.height() + new_rows) as u64;
    let mut lengths = base.text_bytes();
    for edit in &edits {
        let texts = columns
            .iter()
            .filter(|(_, storage)| storage.width().is_none());
        for (length, (column, storage)) in lengths.iter_mut().zip(texts) {
            *length += byte_length(*storage, edit.frame.column(column.name)?.str()?);
        }
    }
    let columns_of_file = Columns::create(&made.join(ROWS), columns, rows_max, &lengths)?;
    let (schema, run_starts) = (base.schema(), RunStarts::default());
    let mut out = WrittenRows {
        schema,
        columns: columns_of_file,
        run_starts,
        tokens: Vec::new(),
        report,
    };
    let mut at = 0;
    for edit in edits {
        let Some(()) = out.copy(base, at..edit.rows.start, check_cancelled)? else {
            return Ok(None);
        };
        at = edit.rows.end;
        if edit.frame.height() > 0 {
            out.mark(edit.token, edit.interval, 0);
            out.columns.push(&encoded(edit.frame, columns)?)?;
        }
    }
    let Some(()) = out.copy(base, at..base.height(), check_cancelled)? else {
        return Ok(None);
    };
    Ok(Some(out))
}

/// Encodes the cells for writing.
fn encoded(mut frame: DataFrame, columns: &[StoredColumn]) -> PolarsResult<DataFrame> {
    frame.rechunk_mut();
    let hex = columns
        .iter()
        .filter(|(_, storage)| *storage == StorageType::Hex);
    let packed: PolarsResult<Vec<Column>> = hex
        .map(|(column, storage)| as_bytes(*storage, frame.column(column.name)?))
        .collect();
    for column in packed? {
        frame.with_column(column)?;
    }
    Ok(frame)
}

impl WrittenRows {
    /// Appends rows of the base. None where it is damaged.
    fn copy(
        &mut self,
        base: &TableRows,
        rows: Range<usize>,
        check_cancelled: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<Option<()>, CacheBuildError> {
        let mut start = rows.start;
        while start < rows.end {
            check_cancelled()?;
            let some = start..(start + COPIED).min(rows.end);
            for (token, interval, row) in base.run_starts_in(some.clone()) {
                self.mark(token, interval, row - some.start);
            }
            if self.columns.copy(base, some.clone())?.is_none() {
                return Ok(None);
            }
            start = some.end;
        }
        Ok(Some(()))
    }

    /// Records the token and interval of the row `further` rows after the next one to be written.
    fn mark(&mut self, token: Address, interval: i64, further: usize) {
        if self.tokens.last() != Some(&token) {
            self.tokens.push(token);
        }
        self.run_starts.row(
            self.tokens.len() as u32 - 1,
            interval,
            self.columns.rows() + further as u64,
        );
    }
}
