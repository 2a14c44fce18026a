//! Builds the rows of a table, `TableRows`, from batches of canonical rows. Few rows stay in memory until all are there; more of them are
//! spilled to the cache (`spilled`), if the table has a place there. Both ways the rows are in one order, the last row of a key is kept, and
//! dropped rows are recorded (`repeats`).

mod codes;
mod duplicates;
mod journal;
mod spilled;

use std::sync::Arc;

use polars::prelude::{DataFrame, PolarsResult};

pub(crate) use self::duplicates::{Dropped, DroppedRows};
use self::spilled::SpilledRows;
use crate::{
    error::ReadError,
    formats::ROWS_MAX,
    loader::{fill, others, task::TableLoadError},
    part_files,
};
use frames::{
    cache::{CacheOptions, EntryLocation},
    decode::guarded,
    frame_rows::column,
    order,
    report::LoadReport,
    rows::Frames as _,
};
use model::{progress::Cancelled, schema::TableSchema, untrusted::DecodeError};
use table::TableRows;

/// Columns with the origin of a row: its file, its number in that file, and its number over all files. No column of the schema begins with a
/// space.
const FILE: &str = " file";
const ROW: &str = " row";
const POSITION: &str = " place";

/// Rows from which those in memory are merged, if they may not be spilled: compressed text may repeat a row any number of times.
const MERGED_FROM: usize = 500_000;

/// Returns an error if the load is canceled.
type CheckCancelled<'a> = &'a mut dyn FnMut() -> Result<(), Cancelled>;

pub(crate) struct Builder {
    schema: &'static TableSchema,
    /// Its place in the cache. A table without one stays in memory.
    location: Option<EntryLocation>,
    options: CacheOptions,
    /// Whether rows are those of a live table: a newer row is no repeat, but replaces or fills the older one.
    live: bool,
    /// Rows in memory, in input order; those of the current file are the frames from `of_file` on.
    frames: Vec<DataFrame>,
    of_file: usize,
    /// Number of rows in memory, and from which number on they are merged.
    held: usize,
    merged_from: usize,
    /// Number of rows that were added.
    rows: u32,
    dropped: DroppedRows,
    spilled: Option<SpilledRows>,
    built: Option<Box<(TableRows, LoadReport)>>,
}

/// A table that was built.
pub(crate) enum Built {
    Here(Arc<TableRows>),
    /// Another program built it in the meantime.
    Elsewhere(Box<(TableRows, LoadReport)>),
}

impl Builder {
    pub(crate) fn new(
        schema: &'static TableSchema,
        location: Option<EntryLocation>,
        options: &CacheOptions,
        live: bool,
    ) -> Self {
        Self {
            schema,
            location,
            options: options.clone(),
            live,
            frames: Vec::new(),
            of_file: 0,
            held: 0,
            merged_from: MERGED_FROM,
            rows: 0,
            dropped: DroppedRows::default(),
            spilled: None,
            built: None,
        }
    }

    /// Whether rows go to the cache.
    pub(crate) fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// Whether another program has built the table in the meantime: no more rows are needed.
    pub(crate) fn is_built(&self) -> bool {
        self.built.is_some()
    }

    /// Resumes an interrupted import, if there is one: returns the number of files that were read, and the load report over them.
    pub(crate) fn resume(
        &mut self,
        check_cancelled: CheckCancelled<'_>,
    ) -> Result<Option<(u32, LoadReport)>, TableLoadError> {
        let begun = self.location.as_ref();
        if begun.is_none_or(|location| !location.is_begun()) {
            return Ok(None);
        }
        self.spill(true, check_cancelled)
    }

    /// Rows go to the cache from here on, unless another program has built the table: it is the one that holds the lock.
    fn spill(
        &mut self,
        resumes: bool,
        check_cancelled: CheckCancelled<'_>,
    ) -> Result<Option<(u32, LoadReport)>, TableLoadError> {
        let (schema, options) = (self.schema, &self.options);
        let Some(location) = &self.location else {
            return Ok(None);
        };
        let lock = location.lock(check_cancelled)?;
        self.built = location.open(schema).map(Box::new);
        if self.is_built() {
            return Ok(None);
        }
        let resumed = if resumes {
            SpilledRows::resume(location, &lock, schema, options)
        } else {
            None
        };
        if let Some((spilled, files, report)) = resumed {
            self.rows = spilled.rows();
            self.spilled = Some(spilled);
            return Ok(Some((files, report)));
        }
        self.spilled = Some(SpilledRows::begin(location, &lock, schema, options)?);
        Ok(None)
    }

    /// Adds rows of a file; `numbers` are their row numbers in it.
    pub(crate) fn add(
        &mut self,
        frame: DataFrame,
        file: u32,
        numbers: Vec<u32>,
        check_cancelled: CheckCancelled<'_>,
    ) -> Result<(), TableLoadError> {
        let rows = u64::from(self.rows) + frame.height() as u64;
        if rows > ROWS_MAX {
            return Err(TableLoadError::Unusable(format!(
                "exceeds the limit of {ROWS_MAX} rows per table"
            )));
        }
        self.held += frame.height();
        let positions = self.rows..rows as u32;
        self.rows = positions.end;
        let origin = |mut frame: DataFrame| -> PolarsResult<DataFrame> {
            frame.with_column(column(FILE, vec![file; frame.height()]))?;
            frame.with_column(column(ROW, numbers))?;
            frame.with_column(column(POSITION, positions))?;
            Ok(frame)
        };
        self.frames.push(guarded("table", || origin(frame))?);
        if self.location.is_none() && self.held > self.merged_from {
            return self.merge(file);
        }
        let is_large = self.location.is_some() && rows >= self.options.rows_min.max(1);
        if is_large && self.spilled.is_none() {
            self.spill(false, check_cancelled)?;
        }
        if let Some(spilled) = &mut self.spilled {
            for frame in self.frames.drain(..) {
                spilled.add(frame)?;
            }
        }
        Ok(())
    }

    /// The file's last row was added. Rows in the cache are there for good if a checkpoint was written, which is returned: at `last`, and
    /// where enough were added since the one before.
    pub(crate) fn file_ended(
        &mut self,
        file: u32,
        last: bool,
        report: impl FnOnce() -> LoadReport,
    ) -> Result<bool, TableLoadError> {
        if let Some(spilled) = &mut self.spilled {
            return Ok(spilled.checkpoint(file + 1, last, report)?);
        }
        let lacks = |frame: &DataFrame| {
            let intervals = frame.column("interval");
            intervals.is_ok_and(|intervals| intervals.null_count() > 0)
        };
        if self.schema.name == "candles" && self.frames[self.of_file..].iter().any(lacks) {
            let mut frame = self.whole(self.of_file)?;
            fill::intervals(&mut frame);
            self.frames.push(frame);
        }
        self.of_file = self.frames.len();
        Ok(false)
    }

    /// Takes the rows in memory from this frame on, as one.
    fn whole(&mut self, from: usize) -> Result<DataFrame, ReadError> {
        let mut frames = self.frames.drain(from..);
        let Some(mut whole) = frames.next() else {
            return Ok(empty(self.schema)?);
        };
        for mut frame in frames {
            others::align(&mut whole, &mut frame)?;
            guarded("table", || whole.vstack_mut(&frame).map(drop))?;
        }
        whole.rechunk_mut();
        Ok(whole)
    }

    /// Drops the repeats among the rows in memory, and records them.
    fn without_repeats(&mut self, whole: DataFrame) -> PolarsResult<DataFrame> {
        if self.live {
            return part_files::newest(self.schema, whole);
        }
        let (kept, repeats) = order::without_repeats(self.schema, whole.clone())?;
        self.dropped.record(self.schema, &whole, &repeats)?;
        Ok(kept)
    }

    /// Drops the repeats so far, within the current `file` as well.
    fn merge(&mut self, file: u32) -> Result<(), TableLoadError> {
        let mut whole = self.whole(0)?;
        fill::table(self.schema, &mut whole);
        let (before, rest) = guarded("table", || {
            let whole = self.without_repeats(whole)?;
            let files = whole.column(FILE)?.u32()?.iter();
            let before = files.take_while(|of| *of != Some(file)).count();
            let rest = whole.slice(before as i64, usize::MAX);
            Ok((whole.head(Some(before)), rest))
        })?;
        self.held = before.height() + rest.height();
        self.merged_from = self.merged_from.max(2 * self.held);
        (self.frames, self.of_file) = (vec![before, rest], 1);
        Ok(())
    }

    /// The rows in memory in input order, and the number of repeats that were dropped.
    pub(crate) fn into_rows(mut self) -> Result<(DataFrame, u64), ReadError> {
        let frame = self.whole(0)?;
        Ok((frame.drop_many([FILE, ROW, POSITION]), self.dropped.count()))
    }

    /// Sorts the rows into the table. `progress` receives (done, total) bytes; `report` builds the load report once the dropped rows are
    /// known; it also receives the rows in memory with their repeats.
    pub(crate) fn finish(
        mut self,
        progress: &mut dyn FnMut(u64, u64) -> Result<(), Cancelled>,
        report: impl FnOnce(&DroppedRows, &DataFrame) -> LoadReport,
    ) -> Result<Built, TableLoadError> {
        if let Some(built) = self.built.take() {
            return Ok(Built::Elsewhere(built));
        }
        if let (Some(spilled), Some(location)) = (self.spilled.take(), &self.location) {
            let none = DataFrame::default();
            let rows = spilled.finish(progress, |dropped| report(dropped, &none))?;
            location.evict(self.options.size_max);
            return Ok(Built::Here(Arc::new(rows)));
        }
        let (schema, mut whole) = (self.schema, self.whole(0)?);
        fill::table(schema, &mut whole);
        let came = whole.clone();
        let frame = guarded("table", || {
            if !self.live
                && let Some(frame) = order::in_runs(schema, &mut whole)?
            {
                return Ok(frame);
            }
            order::sorted(schema.order, self.without_repeats(whole)?)
        })?;
        report(&self.dropped, &came);
        drop(came);
        let frame = frame.drop_many([FILE, ROW, POSITION]);
        let frame = guarded("table", || others::typed_in(frame))?;
        let rows = TableRows::in_memory(schema, &frame)?;
        Ok(Built::Here(Arc::new(rows)))
    }
}

/// No rows, in the schema's columns.
fn empty(schema: &TableSchema) -> Result<DataFrame, DecodeError> {
    let columns = schema.columns.iter();
    let columns = columns
        .map(|column| frames::canonical::empty(column, 0))
        .collect();
    guarded("table", || DataFrame::new(0, columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema;

    /// Labels of these addresses, each with this name.
    fn labels(addresses: &[u8], name: &str) -> DataFrame {
        let schema = schema::table("labels").expect("a table");
        let cells = |column: &schema::Column| match column.name {
            "address" => {
                let addresses = addresses.iter().map(|address| format!("0x{address:040x}"));
                self::column("address", addresses)
            }
            "name" => self::column("name", addresses.iter().map(|_| name)),
            _ => frames::canonical::empty(column, addresses.len()),
        };
        let columns = schema.columns.iter().map(cells).collect();
        DataFrame::new(addresses.len(), columns).expect("a frame")
    }

    /// Names of the rows, file and row of each dropped one, and the most rows that were in memory.
    fn built(merged_from: usize) -> (Vec<String>, Vec<(u32, u32)>, usize) {
        let schema = schema::table("labels").expect("a table");
        let mut builder = Builder::new(schema, None, &CacheOptions::default(), false);
        builder.merged_from = merged_from;
        let (mut held, mut row) = (0, 0);
        for (file, addresses, name) in [
            (0, vec![2, 1, 2, 2, 2, 2, 2], "first"),
            (0, vec![2; 9], "second"),
            (1, vec![2, 3, 3, 3, 3, 3, 3], "third"),
            (1, vec![1, 4], "fourth"),
        ] {
            let numbers: Vec<u32> = (row..row + addresses.len() as u32).collect();
            row += addresses.len() as u32;
            let added = builder.add(labels(&addresses, name), file, numbers, &mut || Ok(()));
            assert!(added.is_ok());
            held = held.max(builder.held);
        }
        let mut dropped = Vec::new();
        let report = |rows: &DroppedRows, _: &DataFrame| {
            dropped = rows.first().iter().map(|row| (row.file, row.row)).collect();
            LoadReport::default()
        };
        let Ok(Built::Here(rows)) = builder.finish(&mut |_, _| Ok(()), report) else {
            panic!("no table");
        };
        let names = rows.slice(0..rows.height(), Some(&["name"]));
        let names = frames::frame_rows::parsed(&names, "name", |text| Some(text.to_owned()));
        (names.into_iter().flatten().collect(), dropped, held)
    }

    #[test]
    fn repeats_are_not_held_and_the_table_is_the_same() {
        let (names, dropped, held) = built(MERGED_FROM);
        assert_eq!(names, ["fourth", "third", "third", "fourth"]);
        assert_eq!((dropped.len(), held), (21, 25));
        assert_eq!(built(5), (names, dropped, 5));
    }
}
