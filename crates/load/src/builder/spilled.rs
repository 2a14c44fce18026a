//! Rows that do not fit into memory. An external bucket sort: validated rows are spilled to disk (`order::SpillFile`), their tokens and
//! intervals dictionary-encoded, in buckets by the leading bits of the token's address, so that bucket order is token order. Then each
//! bucket, in parts that fit into memory, is sorted in schema order, duplicate keys are dropped, and the columns are appended. Memory is
//! bounded by one group of rows, whatever the table's size; checkpoints let an interrupted import resume.

use std::{
    cell::{Cell, RefCell},
    fs::{self, File},
    io,
};

use polars::prelude::{Column, DataFrame, PolarsResult, polars_bail};

use super::{
    FILE, POSITION, ROW,
    codes::{BUCKETS, Codes, INTERVAL, Ranks, TOKEN, TokenDictionary, inverse},
    duplicates::{DroppedRows, KeySpillFile},
    journal::Journal,
};
use frames::{
    cache::{CacheBuildError, CacheOptions, EntryLocation},
    cache_writer::WrittenRows,
    columns::{Columns, as_bytes, byte_length},
    order::{ExternalSort, SpillFile, repeated_next, side_by_side, without},
    report::LoadReport,
};
use model::{disk_lru::remove, progress::Cancelled, schema::TableSchema};
use table::{
    self, StorageType, StoredColumn, TableRows, index::RunStarts, rows::ROWS, stored_columns,
};

pub(super) struct SpilledRows {
    options: CacheOptions,
    location: EntryLocation,
    _lock: File,
    schema: &'static TableSchema,
    columns: Vec<StoredColumn>,
    spill: SpillFile,
    keys: Option<KeySpillFile>,
    tokens: TokenDictionary,
    intervals: Vec<i64>,
    rows: u32,
    lengths: Vec<u64>,
    journaled: u64,
}

impl SpilledRows {
    /// Resumes an interrupted import at its last checkpoint, if there is one: returned with the number of files that were read, and the
    /// load report over them.
    pub(super) fn resume(
        location: &EntryLocation,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
    ) -> Option<(Self, u32, LoadReport)> {
        let journal = Journal::read(&location.part())?;
        let import = Self::over(location, lock, schema, options, Some(&journal)).ok()?;
        Some((import, journal.files, journal.report))
    }

    /// Starts an import.
    pub(super) fn begin(
        location: &EntryLocation,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
    ) -> Result<Self, CacheBuildError> {
        let folder = location.part();
        remove(&folder);
        fs::create_dir_all(&folder)?;
        Self::over(location, lock, schema, options, None)
    }

    fn over(
        location: &EntryLocation,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
        journal: Option<&Journal>,
    ) -> Result<Self, CacheBuildError> {
        let folder = location.part();
        let columns = stored_columns(schema);
        let spill = SpillFile::open(
            &folder.join("spool"),
            BUCKETS,
            journal.map(|journal| journal.spool),
        )?;
        let others = columns
            .iter()
            .filter(|(_, storage)| storage.width().is_none())
            .count();
        let lengths = journal.map_or_else(|| vec![0; others], |journal| journal.lengths.clone());
        if lengths.len() != others {
            return Err(CacheBuildError::Damaged);
        }
        Ok(Self {
            tokens: TokenDictionary::open(
                &folder.join("tokens"),
                journal.map_or(0, |journal| journal.tokens),
            )?,
            options: options.clone(),
            location: location.clone(),
            _lock: lock.try_clone()?,
            schema,
            columns,
            keys: KeySpillFile::open(
                &folder.join("keys"),
                schema,
                named(schema, schema.key),
                journal.map(|journal| journal.keys),
            )?,
            intervals: journal
                .map(|journal| journal.intervals.clone())
                .unwrap_or_default(),
            rows: journal.map_or(0, |journal| journal.rows),
            lengths,
            journaled: spill.taken(),
            spill,
        })
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Adds rows with their origins.
    pub(super) fn add(&mut self, mut frame: DataFrame) -> Result<(), CacheBuildError> {
        frame.rechunk_mut();
        let codes = Codes::of(self.schema, &frame, &mut self.tokens, &mut self.intervals)?;
        let origins: PolarsResult<Vec<Column>> = [FILE, ROW, POSITION]
            .iter()
            .map(|name| frame.column(name).cloned())
            .collect();
        let mut columns = origins?;
        let mut lengths = self.lengths.iter_mut();
        for (column, storage) in &self.columns {
            let cells = frame.column(column.name)?;
            if storage.width().is_none()
                && let Some(length) = lengths.next()
            {
                *length += byte_length(*storage, cells.str()?);
            }
            // Sort columns are compared as text.
            let ordered = self
                .schema
                .order
                .iter()
                .any(|name| name.trim_start_matches('-') == column.name);
            let packs = !ordered && matches!(storage, StorageType::Address | StorageType::Hex);
            columns.push(if packs {
                as_bytes(*storage, cells)?
            } else {
                cells.clone()
            });
        }
        columns.extend(codes.columns);
        let spilled = DataFrame::new(frame.height(), columns)?;
        if let Some(keys) = &mut self.keys {
            keys.add(&spilled)?;
        }
        self.rows += frame.height() as u32;
        Ok(self.spill.add(spilled, &codes.buckets)?)
    }

    /// Flushes the buffers and writes a checkpoint after the first `files` files, if enough was added since the last one, or it is
    /// `needed`; whether it did.
    pub(super) fn checkpoint(
        &mut self,
        files: u32,
        needed: bool,
        report: impl FnOnce() -> LoadReport,
    ) -> Result<bool, CacheBuildError> {
        if !needed && self.spill.taken() < self.journaled + self.options.group_max {
            return Ok(false);
        }
        let spill = self.spill.flush()?;
        let keys = self
            .keys
            .as_mut()
            .map(KeySpillFile::flush)
            .transpose()?
            .unwrap_or_default();
        let tokens = self.tokens.write()?;
        let journal = Journal {
            spool: spill,
            keys,
            tokens,
            intervals: self.intervals.clone(),
            rows: self.rows,
            lengths: self.lengths.clone(),
            files,
            report: report(),
        };
        journal.write(&self.location.part())?;
        self.journaled = spill;
        Ok(true)
    }

    /// Sorts the spilled rows into the table. `progress` receives (done, total) bytes; `report` builds the load report once the dropped
    /// rows are known.
    pub(super) fn finish(
        mut self,
        progress: &mut dyn FnMut(u64, u64) -> Result<(), Cancelled>,
        report: impl FnOnce(&DroppedRows) -> LoadReport,
    ) -> Result<TableRows, CacheBuildError> {
        self.spill.flush()?;
        let mut dropped = DroppedRows::default();
        let repeats = self
            .keys
            .as_mut()
            .map(|keys| keys.repeats(&mut dropped))
            .transpose()?
            .unwrap_or_default();
        let dropped = RefCell::new(dropped);
        let part = self.location.part();
        let made = part.join("made");
        fs::create_dir_all(&made)?;
        let mut columns = Columns::create(
            &made.join(ROWS),
            &self.columns,
            self.rows.into(),
            &self.lengths,
        )?;
        let mut run_starts = RunStarts::default();
        let tokens = self.tokens.in_order();
        let ranks = inverse(&tokens);
        let order = named(self.schema, self.schema.order);
        let sort = ExternalSort {
            order: &order,
            bytes_max: self.options.group_max,
            folder: &part,
        };
        let mut out = Output {
            order: &order,
            side_by_side: side_by_side(self.schema),
            columns: &mut columns,
            run_starts: &mut run_starts,
            dropped: &dropped,
            repeats: &repeats,
            schema: self.schema,
        };
        let total = self.spill.taken().max(1);
        let progress = RefCell::new(progress);
        let mut done = 0;
        for bucket in 0..BUCKETS {
            let cancelled = Cell::new(false);
            let check_cancelled = || {
                let step = (progress.borrow_mut())(done, total);
                step.map_err(|Cancelled| {
                    cancelled.set(true);
                    io::Error::other("canceled")
                })
            };
            let bucket_ranks =
                Ranks::of(&self.spill, bucket, &ranks, &mut self.intervals, &repeats)?;
            let outcome =
                out.add_bucket(&sort, &self.spill, bucket, &bucket_ranks, &check_cancelled);
            if cancelled.get() {
                return Err(CacheBuildError::Cancelled);
            }
            outcome?;
            done += self.spill.bytes(bucket);
        }
        (progress.borrow_mut())(total, total)?;
        let mut dropped = dropped.into_inner();
        dropped.compare(self.schema, |row| {
            let number = row.column(TOKEN).ok()?.u32().ok()?.get(0)?;
            Some(self.tokens.address(number).to_string())
        });
        let tokens = tokens
            .iter()
            .map(|number| self.tokens.address(*number))
            .collect();
        let written = WrittenRows {
            schema: self.schema,
            columns,
            run_starts,
            tokens,
            report: report(&dropped),
        };
        written.publish(&self.location, &made, self.options.block_rows, true)
    }
}

/// Names of columns in the spilled frames.
fn named(schema: &TableSchema, columns: &[&'static str]) -> Vec<&'static str> {
    let named = |column: &&'static str| match *column {
        column if column == table::group_column(schema) => TOKEN,
        column if table::in_index(schema, column) => INTERVAL,
        column => column,
    };
    columns.iter().map(named).collect()
}

/// Writer of sorted rows.
struct Output<'a> {
    order: &'a [&'a str],
    /// Whether rows with equal keys are adjacent once sorted: then only the last is kept.
    side_by_side: bool,
    columns: &'a mut Columns,
    run_starts: &'a mut RunStarts,
    dropped: &'a RefCell<DroppedRows>,
    /// Positions of the rows whose key repeats later in the input.
    repeats: &'a [u32],
    schema: &'static TableSchema,
}

impl Output<'_> {
    /// Appends the rows of a bucket in sort order.
    fn add_bucket(
        &mut self,
        sort: &ExternalSort<'_>,
        spill: &SpillFile,
        bucket: usize,
        ranks: &Ranks<'_>,
        check_cancelled: &dyn Fn() -> io::Result<()>,
    ) -> io::Result<()> {
        let (dropped, repeats) = (self.dropped, self.repeats);
        let prepare = |frame: DataFrame| {
            if check_cancelled().is_err() {
                polars_bail!(ComputeError: "canceled");
            }
            if !repeats.is_empty() {
                dropped.borrow_mut().collect(&frame)?;
            }
            ranks.apply(frame)
        };
        sort.each(spill, bucket, &prepare, &mut |frame| {
            check_cancelled()?;
            self.put(&frame, ranks).map_err(io::Error::other)
        })
    }

    fn put(&mut self, frame: &DataFrame, ranks: &Ranks<'_>) -> PolarsResult<()> {
        let kept = if self.side_by_side {
            self.last_of_each_key(frame)?
        } else {
            None
        };
        let frame = kept.as_ref().unwrap_or(frame);
        for (row, token, interval) in ranks.run_starts(frame)? {
            self.run_starts
                .row(token, interval, self.columns.rows() + row as u64);
        }
        self.columns.push(frame).map_err(Into::into)
    }

    /// Returns the rows without duplicate keys, and records those dropped; none where each key is unique.
    fn last_of_each_key(&self, frame: &DataFrame) -> PolarsResult<Option<DataFrame>> {
        let repeated = repeated_next(self.order, frame)?;
        if !repeated.contains(&true) {
            return Ok(None);
        }
        // Backwards, so that the kept row is known when its duplicates are recorded.
        let mut last = repeated.len();
        let pairs = (0..repeated.len()).rev().filter_map(|row| {
            if repeated[row] {
                return Some((row, last));
            }
            last = row;
            None
        });
        let mut dropped = self.dropped.borrow_mut();
        dropped.record_many(self.schema, frame, pairs)?;
        let mut kept = without(frame, &repeated)?;
        kept.rechunk_mut();
        Ok(Some(kept))
    }
}
