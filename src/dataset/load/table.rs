//! One table: its files one after the other, then repeated keys, order and the canonical frame.

use std::{
    fs,
    path::Path,
    time::{Instant, UNIX_EPOCH},
};

use polars::prelude::DataFrame;

use super::{
    Context,
    bind::{bind, missing, wanted},
    file::FileRows,
    fill, identity, order,
};
use crate::dataset::{
    Source, Table, TableState, coerce,
    findings::{Finding, Severity},
    manifest::TableManifest,
    progress::Cancelled,
    schema::TableSchema,
    source::{
        self, MAX_ROWS, guarded,
        locate::{self, Found},
    },
    time::Time,
};

/// Why a table is not read.
enum Stop {
    Cancelled,
    Unusable(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

/// Loads a table, and the hash of the ends of each of its sources.
pub(super) fn load(context: &Context<'_>, schema: &'static TableSchema) -> Result<(Table, Vec<[u8; 32]>), Cancelled> {
    let start = Instant::now();
    let plain = TableManifest::default();
    let manifest = context.manifest.tables.get(schema.name).unwrap_or(&plain);
    let mut table = Table::absent(schema);
    let mut reading = Reading { context, schema, manifest, table: &mut table, hashes: Vec::new(), done: 0, total: 0, rows: Vec::new() };
    let outcome = reading.read();
    let hashes = reading.hashes;
    match outcome {
        Ok(Some(frame)) => {
            table.frame = frame;
            table.state = TableState::Loaded;
        }
        Ok(None) => {}
        Err(Stop::Cancelled) => return Err(Cancelled),
        Err(Stop::Unusable(reason)) => table.state = TableState::Unusable(reason),
    }
    table.load_ms = start.elapsed().as_millis() as u64;
    Ok((table, hashes))
}

struct Reading<'a> {
    context: &'a Context<'a>,
    schema: &'static TableSchema,
    manifest: &'a TableManifest,
    table: &'a mut Table,
    hashes: Vec<[u8; 32]>,
    /// Bytes read and to read, all files together.
    done: u64,
    total: u64,
    /// File and row each row of the frames came from.
    rows: Vec<(u32, u32)>,
}

/// A file's size and time, to see whether it changes while it is read.
fn stamp(path: &Path) -> Result<(u64, Option<Time>), String> {
    let meta = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok((meta.len(), since.map(|since| Time(since.as_millis() as i64))))
}

impl Reading<'_> {
    fn read(&mut self) -> Result<Option<DataFrame>, Stop> {
        let files = if self.manifest.path.is_empty() {
            locate::by_name(self.context.folder, self.schema.name)?
        } else {
            locate::by_path(self.context.folder, &self.manifest.path)?
        };
        if files.is_empty() {
            return Ok(None);
        }
        self.total = files.iter().filter_map(|file| stamp(&file.path).ok()).map(|(bytes, _)| bytes).sum();
        let mut whole: Option<DataFrame> = None;
        for (at, file) in files.iter().enumerate() {
            let frame = self.read_file(at as u32, file).map_err(|stop| match stop {
                Stop::Unusable(reason) => Stop::Unusable(format!("`{}` {reason}", file.name)),
                Stop::Cancelled => Stop::Cancelled,
            })?;
            match &mut whole {
                None => whole = Some(frame),
                Some(whole) => {
                    guarded("table", || whole.vstack_mut(&frame).map(|_| ()))?;
                }
            }
        }
        whole.map(|frame| self.finish(frame, &files)).transpose()
    }

    fn read_file(&mut self, at: u32, file: &Found) -> Result<DataFrame, Stop> {
        let before = stamp(&file.path)?;
        self.table.sources.push(Source { file: file.name.clone(), bytes: before.0, modified: before.1, rows: 0 });
        self.hashes.push([0; 32]);
        self.context.progress.step(self.schema.name, self.done, self.total).map_err(|Cancelled| Stop::Cancelled)?;
        let mut source = source::open(&file.path, wanted(self.schema, self.manifest))?;
        let mut rows = FileRows {
            context: self.context,
            schema: self.schema,
            manifest: self.manifest,
            file: &file.name,
            findings: &mut self.table.findings,
            rows_bad: 0,
            rows: 0,
            left_out: 0,
            numbers: Vec::new(),
            frames: Vec::new(),
        };
        while let Some(batch) = source.next_batch()? {
            rows.add(batch, source.columns())?;
            if self.rows.len() as u64 + rows.rows > MAX_ROWS {
                return Err(Stop::Unusable(format!("brings the table over {MAX_ROWS} rows, more than it may have")));
            }
            let done = self.done + source.bytes_read().min(before.0);
            self.context.progress.step(self.schema.name, done, self.total).map_err(|Cancelled| Stop::Cancelled)?;
        }
        let (frames, numbers, count, bad, left_out) = (rows.frames, rows.numbers, rows.rows, rows.rows_bad, rows.left_out);
        let bound = bind(self.schema, self.manifest, source.columns())?;
        if let Some(reason) = missing(self.schema, &bound, source.columns()) {
            return Err(Stop::Unusable(reason));
        }
        let known = |name: &str| bound.iter().any(|bound| bound.column.name == name && !bound.is_absent());
        let lacks = |name: &str| !known(name) && !source.columns().iter().any(|column| column.eq_ignore_ascii_case(name));
        if let Some((name, _)) = self.manifest.keep.iter().find(|(name, _)| lacks(name)) {
            let table = self.schema.name;
            return Err(Stop::Unusable(format!("has no column `{name}`, which dataset.toml names in [tables.{table}.where]")));
        }
        self.note_unknown(&file.name, source.columns(), &bound);
        if left_out > 0 {
            self.note(&file.name, format!("`where` leaves out {left_out} of {count} rows"));
        }
        let hash = identity::ends(&file.path).map_err(|error| format!("cannot be read: {error}"))?;
        if stamp(&file.path)? != before {
            return Err(Stop::Unusable("changed while it was read: load again once it is complete".to_owned()));
        }
        self.table.rows_bad += bad;
        if let (Some(source), Some(slot)) = (self.table.sources.last_mut(), self.hashes.last_mut()) {
            (source.rows, *slot) = (count, hash);
        }
        self.done += before.0;
        self.rows.extend(numbers.into_iter().map(|row| (at, row)));
        let mut frame = stacked(frames, self.schema)?;
        if self.schema.name == "candles" {
            fill::intervals(&mut frame);
        }
        Ok(frame)
    }

    /// Lists the columns that serve nothing.
    fn note_unknown(&mut self, file: &str, names: &[String], bound: &[super::bind::Bound<'_>]) {
        let used: Vec<&str> = bound.iter().flat_map(|bound| [&bound.raw, &bound.units]).flatten().map(String::as_str).collect();
        let filters = |name: &str| self.manifest.keep.iter().any(|(kept, _)| kept.eq_ignore_ascii_case(name));
        for name in names {
            if !used.contains(&name.as_str()) && !filters(name) {
                let ours = self.schema.columns.iter().find(|column| super::bind::answers(column, name));
                self.note(
                    file,
                    match ours {
                        Some(ours) => format!("column `{name}` is not read, as dataset.toml fills `{}` otherwise", ours.name),
                        None => format!("column `{name}` is not one of ours, ignored"),
                    },
                );
            }
        }
    }

    fn note(&mut self, file: &str, reason: String) {
        let finding = Finding { severity: Severity::Note, file: file.to_owned(), row: None, column: None, value: None, reason };
        self.table.findings.add(finding);
    }

    fn finish(&mut self, mut frame: DataFrame, files: &[Found]) -> Result<DataFrame, Stop> {
        fill::table(self.schema, &mut frame);
        let (frame, dropped) = guarded("table", || order::without_repeats(self.schema, frame))?;
        let key = self.schema.key.join(", ");
        for row in dropped {
            let (file, number) = self.rows.get(row).copied().unwrap_or_default();
            self.table.findings.add(Finding {
                severity: Severity::Warning,
                file: files.get(file as usize).map(|file| file.name.clone()).unwrap_or_default(),
                row: Some(number.into()),
                column: None,
                value: None,
                reason: if self.schema.name == order::FIRST_USABLE {
                    format!("another row has the same {key}; the first that can be used is kept and this one left out")
                } else {
                    format!("a later row has the same {key}; that one is kept and this one left out")
                },
            });
        }
        Ok(guarded("table", || order::sorted(self.schema, frame))?)
    }
}

/// The frames of a file as one.
fn stacked(frames: Vec<DataFrame>, schema: &TableSchema) -> Result<DataFrame, String> {
    let mut frames = frames.into_iter();
    let empty = || DataFrame::new(0, schema.columns.iter().map(|column| coerce::empty(column, 0)).collect());
    let Some(mut whole) = frames.next() else { return guarded("table", empty) };
    for frame in frames {
        guarded("table", || whole.vstack_mut(&frame).map(|_| ()))?;
    }
    Ok(whole)
}
