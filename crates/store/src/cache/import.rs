//! Import of a table into the cache: spills its canonical rows to disk as they are read, then sorts them into the file. Memory is bounded
//! by one group of rows, whatever the table's size; checkpoints let an interrupted import resume.

use std::{
    cell::{Cell, RefCell},
    fs::{self, File},
    io,
    path::Path,
};

use polars::prelude::{DataFrame, IntoColumn, NamedFrom, PolarsResult, Series, polars_bail};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    CacheOptions, LoadReport, StorageType, StoredColumn, bounds,
    codes::{
        BUCKETS, Codes, FILE, INTERVAL, POSITION, ROW, Ranks, TOKEN, TokenDictionary, inverse,
    },
    columns::{Columns, as_bytes, byte_length},
    entry::{CacheBuildError, EntryLocation},
    index::{self, RunStarts, TableMetadata},
    journal::Journal,
    stored_columns,
    table::{INDEX, ROWS, TableRows},
};
use crate::{
    order::{
        DroppedRows, ExternalSort, KeySpillFile, SpillFile, repeated_next, side_by_side, without,
    },
    repeats,
};
use model::{address::Address, progress::Cancelled, schema::TableSchema};
use system::disk_lru::remove;

pub struct CacheBuilder {
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

impl CacheBuilder {
    /// Starts an import, or resumes one at its last checkpoint; then the state of the sources recorded there is returned too.
    pub fn begin<S: DeserializeOwned>(
        location: &EntryLocation,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
    ) -> Result<(Self, Option<S>), CacheBuildError> {
        let folder = location.part();
        if let Some(journal) = Journal::<S>::read(&folder)
            && let Ok(import) = Self::over(location, lock, schema, options, Some(&journal))
        {
            return Ok((import, Some(journal.state)));
        }
        remove(&folder);
        fs::create_dir_all(&folder)?;
        Ok((
            Self::over::<S>(location, lock, schema, options, None)?,
            None,
        ))
    }

    fn over<S>(
        location: &EntryLocation,
        lock: &File,
        schema: &'static TableSchema,
        options: &CacheOptions,
        journal: Option<&Journal<S>>,
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

    pub fn rows(&self) -> u64 {
        self.rows.into()
    }

    /// Adds rows of a file; `numbers` are their row numbers in it.
    pub fn add(
        &mut self,
        mut frame: DataFrame,
        file: u32,
        numbers: &[u32],
    ) -> Result<(), CacheBuildError> {
        frame.rechunk_mut();
        if let Some(keys) = &mut self.keys {
            keys.add(&frame, self.rows, file, numbers)?;
        }
        let height = frame.height() as u32;
        let codes = Codes::of(self.schema, &frame, &mut self.tokens, &mut self.intervals)?;
        let mut columns = vec![
            Series::new(FILE.into(), vec![file; numbers.len()]).into_column(),
            Series::new(ROW.into(), numbers).into_column(),
            Series::new(
                POSITION.into(),
                (self.rows..self.rows + height).collect::<Vec<_>>(),
            )
            .into_column(),
        ];
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
        self.spill
            .add(DataFrame::new(frame.height(), columns)?, &codes.buckets)?;
        self.rows += height;
        Ok(())
    }

    /// Whether enough rows were added since the last checkpoint for a new one.
    pub fn is_due(&self) -> bool {
        self.spill.taken() >= self.journaled + self.options.journal_every
    }

    /// Flushes the buffers and writes a checkpoint; `state` is the position in the sources.
    pub fn note<S: Serialize>(&mut self, state: S) -> Result<(), CacheBuildError> {
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
            state,
        };
        journal.write(&self.location.part())?;
        self.journaled = spill;
        Ok(())
    }

    /// Aborts the import and removes its files.
    pub fn abandon(self) {
        remove(&self.location.part());
    }

    /// Sorts the spilled rows into the table. `progress` receives (done, total) bytes; `report` builds the load report once the dropped
    /// rows are known.
    pub fn finish(
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
        let order: Vec<&str> = self
            .schema
            .order
            .iter()
            .map(|name| named(self.schema, name))
            .collect();
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

/// A table whose rows are all written, with the contents of its index.
pub(super) struct WrittenRows {
    pub(super) schema: &'static TableSchema,
    pub(super) columns: Columns,
    pub(super) run_starts: RunStarts,
    /// By rank.
    pub(super) tokens: Vec<Address>,
    pub(super) report: LoadReport,
}

impl WrittenRows {
    /// Finishes the file of rows in the folder `made`, writes the index beside it, and moves both to their place in the cache. `durable`:
    /// see `Columns::finish`.
    pub(super) fn publish(
        self,
        location: &EntryLocation,
        made: &Path,
        block_rows: u64,
        durable: bool,
    ) -> Result<TableRows, CacheBuildError> {
        let (rows, stored, block) = (
            self.columns.rows(),
            self.columns.stored.clone(),
            block_rows.max(1),
        );
        let (regions, bytes) = self.columns.finish(durable)?;
        let stats = bounds::checksums_and_bounds(&made.join(ROWS), &stored, &regions, rows, block)?;
        let metadata = TableMetadata {
            table: self.schema.name.to_owned(),
            rows,
            regions,
            block,
            bytes,
            report: self.report.stored().map_err(CacheBuildError::Failed)?,
            grown_from: self.report.grown_from,
        };
        index::encode(&metadata, &self.run_starts, &stats, &self.tokens)
            .and_then(|bytes| index::write(&made.join(INDEX), &bytes))
            .map_err(CacheBuildError::Failed)?;
        let folder = location.keep(made)?;
        remove(&location.part());
        location
            .read(&folder, self.schema)
            .map(|(table, _)| table)
            .map_err(CacheBuildError::Failed)
    }
}

/// Name of a sort column in the spilled frames.
fn named(schema: &TableSchema, column: &'static str) -> &'static str {
    match column {
        _ if column == super::group_column(schema) => TOKEN,
        _ if super::in_index(schema, column) => INTERVAL,
        _ => column,
    }
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
                dropped
                    .borrow_mut()
                    .collect(&frame, frame.column(POSITION)?.u32()?.cont_slice()?);
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
        let number = |name: &str| frame.column(name)?.u32()?.cont_slice();
        let (positions, files, rows) = (number(POSITION)?, number(FILE)?, number(ROW)?);
        let mut dropped = self.dropped.borrow_mut();
        // Backwards, so that the kept row is known when its duplicates are recorded.
        let mut last = repeated.len();
        for row in (0..repeated.len()).rev() {
            if !repeated[row] {
                last = row;
            } else if let Some(first) = dropped.add(positions[row], files[row], rows[row]) {
                first.difference = repeats::difference(self.schema, frame, row, last);
            }
        }
        let mut kept = without(frame, &repeated)?;
        kept.rechunk_mut();
        Ok(Some(kept))
    }
}
