//! Reads the rows of one file of a table, batch by batch, and records the state at its end.

use std::sync::{Arc, atomic::Ordering};

use super::TableReader;
use crate::{
    SourcePosition, TableFile,
    builder::Builder,
    engine::{self, RowsOutcome},
    formats::{
        self, Layout, ReadSoFar, RowSource,
        downloads::ObjectParts,
        locate::{FileOrigin, FileStamp, LocatedFile},
        object::RemoteFile,
        partition::{self, Partitioned},
    },
    loader::{
        bind::{bind, missing, wanted},
        file::{FileRows, FileState},
        identity, others, path,
        remote::{self, load_error_of},
        task::{TableLoad, TableLoadError},
    },
    provenance,
};
use frames::{duplicates, report::FileEnd};
use model::{findings::Findings, progress::Cancelled};

/// Whether the file is line-based text, uncompressed.
fn is_text(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["csv", "tsv", "ndjson", "jsonl"]
        .iter()
        .any(|text| ending.eq_ignore_ascii_case(text))
}

/// How the bytes of a file come.
enum Transfer {
    Local,
    Object(Arc<RemoteFile>),
    Answer(Arc<RowsOutcome>),
}

impl Transfer {
    /// The fault by which they did not all come.
    fn fault(&self) -> Option<wire::Fault> {
        match self {
            Self::Local => None,
            Self::Object(file) => file.fault(),
            Self::Answer(rows) => rows.fault(),
        }
    }
}

/// A file that is being read.
struct OpenFile<'a> {
    /// Its index among the files of the table.
    at: usize,
    file: &'a LocatedFile,
    stamp: FileStamp,
    /// Bytes of its complete lines; none unless it is line-based text.
    lines: Option<u64>,
    /// Where reading ends, even if lines are appended meanwhile.
    end: Option<u64>,
}

/// A file that was appended to: what was read of it before.
pub(super) struct Appended {
    pub(super) end: FileEnd,
    pub(super) learnt: FileState,
}

impl TableReader<'_> {
    /// Fetches the file and reads its rows, only the new ones of one that was appended to. A fault of the transfer is the reason why rows cannot be read.
    pub(super) fn read_file(
        &mut self,
        at: usize,
        file: &LocatedFile,
        ends: Option<[u8; 32]>,
        builder: &mut Builder,
        before: Option<Appended>,
    ) -> Result<(), TableLoadError> {
        let (transfer, rows) = self.fetch(file)?;
        let stamp = file.stamp()?;
        let source = TableFile {
            file: file.name.clone(),
            bytes: stamp.bytes,
            modified: stamp.modified,
            ..TableFile::default()
        };
        put(&mut self.table.sources, at, source);
        self.step(false, self.done)?;
        // Lines appended during the read belong to the next load; so does an incomplete last line, where the file is growing.
        let lines = if file.is_local() {
            formats::lines_of(&file.path, stamp.bytes)
        } else {
            None
        };
        let end = (self.load.context.growing || lines == Some(stamp.bytes)).then_some(stamp.bytes);
        let open = OpenFile {
            at,
            file,
            stamp,
            lines,
            end,
        };
        let outcome = self
            .open_source(&open, &transfer, rows, before.as_ref())
            .and_then(|rows| self.read_rows_of(&open, rows, ends, builder, before));
        if let (Transfer::Answer(rows), Some(source)) = (&transfer, self.table.sources.get_mut(at))
        {
            source.bytes = rows.bytes();
        }
        outcome.map_err(|error| match error {
            TableLoadError::Unusable(_) => transfer
                .fault()
                .map_or(error, |fault| load_error_of(&file.name, fault)),
            error => error,
        })
    }

    /// Starts to fetch a remote file; for a query, this also returns its rows.
    fn fetch(
        &self,
        file: &LocatedFile,
    ) -> Result<(Transfer, Option<Box<dyn RowSource>>), TableLoadError> {
        match &file.origin {
            FileOrigin::Local => Ok((Transfer::Local, None)),
            FileOrigin::Object(object) => {
                let file =
                    remote::open(self.load.context, object, self.pulse, self.offline.as_ref())?;
                file.prefetch();
                Ok((Transfer::Object(file), None))
            }
            FileOrigin::Answer(answer) => {
                let wanted = wanted(self.load.schema, self.load.manifest);
                let opened = engine::open(
                    self.load.context,
                    answer,
                    self.pulse,
                    self.offline.as_ref(),
                    wanted,
                );
                let engine::QueryRows { rows, outcome } =
                    opened.map_err(|fault| load_error_of(&file.name, fault))?;
                Ok((Transfer::Answer(outcome), Some(rows)))
            }
        }
    }

    /// Reads the rows of an opened file, which are coerced and checked batch by batch, and records the state at its end.
    fn read_rows_of(
        &mut self,
        open: &OpenFile<'_>,
        mut source: Box<dyn RowSource>,
        ends: Option<[u8; 32]>,
        builder: &mut Builder,
        before: Option<Appended>,
    ) -> Result<(), TableLoadError> {
        let (load, file) = (self.load, open.file);
        let (end, learnt) = before
            .map(|before| (before.end, before.learnt))
            .unwrap_or_default();
        let mut rows = FileRows {
            findings: std::mem::take(&mut self.table.findings),
            rows_bad: end.rows_bad,
            rows: end.rows,
            left_out: end.left_out,
            state: FileState {
                others: others::are_kept(load.schema),
                ..learnt
            },
            ..FileRows::new(load.context, load.schema, load.manifest, &file.name)
        };
        let outcome = self.read_rows(&mut *source, &mut rows, builder, open);
        self.table.approximate.extend(rows.approximate());
        if let Err(error) = outcome {
            self.table.findings = rows.findings;
            return Err(error);
        }
        if builder.is_built() {
            return Ok(());
        }
        rows.sum_up();
        let of_rows = std::mem::take(&mut rows.findings);
        let can_grow =
            open.end.is_some() && open.lines.is_some() && (self.grows || builder.is_spilled());
        let learnt = if can_grow { rows.state.kept() } else { None };
        self.table.statistics.extend(rows.conclude());
        // From here on findings are file-level.
        self.table.findings = std::mem::take(&mut rows.findings);
        self.note_columns(file, source.columns())?;
        for told in source.notes() {
            self.note(&file.name, told);
        }
        if rows.left_out > 0 {
            self.note(
                &file.name,
                format!("`where` excludes {} of {} rows", rows.left_out, rows.rows),
            );
        }
        let ends = ends
            .map_or_else(|| identity::ends(file), Ok)
            .map_err(|error| format!("cannot be read: {error}"))?;
        self.require_unchanged(open, builder)?;
        let notes = std::mem::replace(&mut self.table.findings, of_rows);
        self.record_end(open, &rows, learnt, notes);
        if let Some(source) = self.table.sources.get_mut(open.at) {
            (source.rows, source.ends) = (rows.rows, ends);
        }
        self.done += open.stamp.bytes;
        Ok(())
    }

    /// Opens the source of the file's rows, at the first new one.
    fn open_source(
        &self,
        open: &OpenFile<'_>,
        transfer: &Transfer,
        rows: Option<Box<dyn RowSource>>,
        before: Option<&Appended>,
    ) -> Result<Box<dyn RowSource>, TableLoadError> {
        let TableLoad {
            schema, manifest, ..
        } = self.load;
        let names = manifest.headless.then(Vec::new);
        let layout = Layout {
            skip: manifest.skip,
            names,
            end: open.end,
            from: before.map(|before| ReadSoFar {
                bytes: before.end.bytes,
                rows: before.end.rows,
            }),
            ..Layout::default()
        };
        let wanted = wanted(schema, manifest);
        let source = match (rows, transfer) {
            (Some(rows), _) => rows,
            (None, Transfer::Object(remote)) => {
                formats::open_bytes(Arc::clone(remote) as _, &open.file.name, &layout, wanted)?
            }
            (None, _) => formats::open_as(&open.file.path, &layout, wanted)?,
        };
        Ok(Partitioned::over(source, partition::parts(&open.file.name)))
    }

    /// Errors: the file changed while it was read. Appended lines are no change to a large table, which takes long, nor to a growing one:
    /// they were not read.
    fn require_unchanged(
        &self,
        open: &OpenFile<'_>,
        builder: &Builder,
    ) -> Result<(), TableLoadError> {
        let (before, after) = (open.stamp, open.file.stamp()?);
        let may_grow = self.load.context.growing || builder.is_spilled();
        let is_appended = || {
            may_grow && open.end.is_some_and(|end| after.bytes >= end) && is_text(&open.file.name)
        };
        let is_same = (after.bytes, after.modified) == (before.bytes, before.modified);
        if is_same || is_appended() {
            Ok(())
        } else {
            Err(TableLoadError::ChangedDuringRead)
        }
    }

    /// Records the state at the end of the file, from which reading resumes once lines were appended; `notes` are its file-level findings.
    fn record_end(
        &mut self,
        open: &OpenFile<'_>,
        rows: &FileRows<'_>,
        learnt: Option<serde_json::Value>,
        notes: Findings,
    ) {
        let bytes = open.lines.unwrap_or_default();
        let end = match learnt.zip(identity::beginning(&open.file.path, bytes).ok()) {
            Some((learnt, hash)) => FileEnd {
                notes,
                bytes,
                hash,
                rows: rows.rows,
                rows_bad: rows.rows_bad,
                left_out: rows.left_out,
                learnt,
            },
            None => FileEnd {
                notes,
                ..FileEnd::default()
            },
        };
        if end.bytes == 0
            && self.load.context.growing
            && open.lines.is_some_and(|lines| lines < open.stamp.bytes)
        {
            // It lacks an incomplete last line, and the hash of its beginning is unknown: no table can grow from this one.
            self.stem.clear();
        }
        put(&mut self.ends, open.at, end);
        self.table.rows_bad += rows.rows_bad;
    }

    /// Checks that the file has the columns the table needs, and adds notes about the others.
    fn note_columns(
        &mut self,
        file: &LocatedFile,
        columns: &[String],
    ) -> Result<(), TableLoadError> {
        let TableLoad {
            schema, manifest, ..
        } = self.load;
        let bound = bind(schema, manifest, columns)?;
        if let Some(reason) = missing(schema, manifest, &bound, columns) {
            return Err(TableLoadError::Unusable(reason));
        }
        let known = |name: &str| {
            bound
                .iter()
                .any(|bound| bound.column.name == name && !bound.is_absent())
        };
        let theirs = |name: &str| {
            columns
                .iter()
                .any(|column| path::heads(name).any(|head| column.eq_ignore_ascii_case(head)))
        };
        let lacks = |name: &str| !known(name) && !theirs(name);
        if let Some((name, _)) = manifest.filters.iter().find(|(name, _)| lacks(name)) {
            let table = schema.name;
            return Err(TableLoadError::Unusable(format!(
                "has no column `{name}`, which [tables.{table}.where] in dataset.toml uses"
            )));
        }
        self.note_unknown(&file.name, columns, &bound);
        self.note_in_dollars(&file.name, &bound);
        self.note_one_price(&file.name, &bound);
        if file.is_local() {
            for told in provenance::import_notes(&file.path) {
                self.note(&file.name, told);
            }
        }
        self.movements.extend(duplicates::movements(columns));
        Ok(())
    }

    /// Ends a file. Where the files up to this one are in the cache for good, their locally stored parts are removed.
    pub(super) fn end_file(
        &self,
        at: usize,
        files: &[LocatedFile],
        builder: &mut Builder,
    ) -> Result<(), TableLoadError> {
        let report = || self.report(at + 1, &self.table.findings);
        let are_stored = builder.file_ended(at as u32, at + 1 == files.len(), report)?;
        if let Some(cache) = self.load.context.cache.folder.as_deref()
            && are_stored
        {
            remote::objects(&files[..=at]).for_each(|object| ObjectParts::forget(cache, object));
        }
        Ok(())
    }

    /// Reads the file to its end, batch by batch, or until another program has built the table.
    fn read_rows(
        &mut self,
        source: &mut dyn RowSource,
        rows: &mut FileRows<'_>,
        builder: &mut Builder,
        open: &OpenFile<'_>,
    ) -> Result<(), TableLoadError> {
        while !builder.is_built() {
            let batch = match source.next_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(()),
                Err(reason) => {
                    self.table.error_position = Some(SourcePosition {
                        file: rows.file.to_owned(),
                        row: source.stopped_at(),
                    });
                    return Err(reason.into());
                }
            };
            rows.add(batch, source.columns())?;
            let done = self.done + source.bytes_read().min(open.stamp.bytes);
            let numbers = std::mem::take(&mut rows.numbers);
            if let Some(frame) = rows.frames.pop() {
                let mut step = || self.step(false, done);
                builder.add(frame, open.at as u32, numbers, &mut step)?;
            }
            self.step(builder.is_spilled(), done)?;
        }
        Ok(())
    }

    /// Reports progress. The last third of a large table is its sorting.
    pub(super) fn step(&self, large: bool, done: u64) -> Result<(), Cancelled> {
        let of = if large {
            self.total + self.total / 2
        } else {
            self.total
        };
        self.pulse.done.store(done, Ordering::Relaxed);
        self.pulse.total.store(of, Ordering::Relaxed);
        self.load.step(done, of)
    }
}

/// Sets the item at an index, which may be past the end.
fn put<T: Clone + Default>(items: &mut Vec<T>, at: usize, item: T) {
    items.resize(items.len().max(at + 1), T::default());
    items[at] = item;
}
