//! One table: its files one after the other, then repeated keys, order and the canonical frame; or, of one that is large, the cache's
//! table.

mod notes;

use std::{
    fs,
    sync::{Arc, atomic::Ordering},
    time::{Instant, UNIX_EPOCH},
};

use polars::prelude::DataFrame;

use super::{
    Context,
    bind::{bind, missing, wanted},
    elsewhere::{self, Located, Pulse},
    file::{FileRows, FileState},
    fill,
    gather::{self, Gathered, Opened, ReadState},
    identity, others, path,
};
use crate::dataset::{
    Source, Spot, Table, TableState,
    cache::{Fault, LargeTable, Place, Report, SourceFile},
    coerce,
    findings::Findings,
    manifest::TableManifest,
    order,
    progress::Cancelled,
    schema::TableSchema,
    source::{
        self, Layout, MAX_ROWS, RowSource, guarded,
        kept::Kept,
        locate::{self, Found},
        object::RemoteFile,
        partition::{self, Partitioned},
    },
    time::Time,
};

/// Whether the table has to be brought into the cache first, which takes a while.
pub(super) fn takes_a_while(context: &Context<'_>, schema: &'static TableSchema) -> bool {
    let plain = TableManifest::default();
    let manifest = context.manifest.tables.get(schema.name).unwrap_or(&plain);
    // A start does not wait for others.
    if elsewhere::urls(manifest).next().is_some() {
        return true;
    }
    context.cache.folder.is_some()
        && here(context, schema, manifest).is_ok_and(|files| gather::takes_a_while(context, schema, manifest, &files))
}

fn here(context: &Context<'_>, schema: &TableSchema, manifest: &TableManifest) -> Result<Vec<Found>, String> {
    if manifest.path.is_empty() { locate::by_name(context.folder, schema.name) } else { locate::by_path(context.folder, &manifest.path) }
}

/// The files of the table, wherever they lie.
fn locate(context: &Context<'_>, schema: &'static TableSchema, manifest: &TableManifest) -> Result<Located, Stop> {
    if elsewhere::urls(manifest).next().is_some() {
        return elsewhere::locate(context, schema, manifest);
    }
    Ok(Located { files: here(context, schema, manifest)?, left_out: 0, as_of: None, offline: None })
}

/// Why a table is not read.
pub(super) enum Stop {
    Cancelled,
    Unusable(String),
    /// A file was written to while it was read.
    Moved,
    /// What was taken into the cache cannot be read back.
    Damaged,
    /// The cache has the table by now.
    Ready(Box<Opened>),
    /// A file that lies elsewhere cannot be had: its URL, and why.
    Elsewhere(String, crate::wire::Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Cancelled => Self::Cancelled,
            Fault::Damaged => Self::Damaged,
            Fault::Failed(reason) => {
                let advice = "make room, or name another folder in the configuration: [cache] dir";
                Self::Unusable(format!("cannot be brought into the cache: {reason}; {advice}"))
            }
        }
    }
}

/// The rows of a table.
enum Content {
    Memory(DataFrame),
    Large(Arc<LargeTable>),
}

impl From<Cancelled> for Stop {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
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
    let pulse = Pulse::default();
    let mut reading = Reading {
        context,
        schema,
        manifest,
        table: &mut table,
        hashes: Vec::new(),
        done: 0,
        total: 0,
        start,
        pulse: &pulse,
        offline: None,
    };
    let attend = elsewhere::urls(manifest).next().is_some();
    let outcome =
        if attend { elsewhere::attended(context.progress, schema.name, &pulse, || reading.read_whole()) } else { reading.read_whole() };
    if matches!(outcome, Ok(Some(_))) {
        reading.note_approximate();
    }
    let hashes = reading.hashes;
    match outcome {
        Ok(Some(Content::Memory(frame))) => {
            (table.frame, table.others) = others::split(frame);
            table.state = TableState::Loaded;
        }
        Ok(Some(Content::Large(large))) => {
            table.large = Some(large);
            table.state = TableState::Loaded;
            return Ok((table, hashes));
        }
        Ok(None) => {}
        Err(Stop::Cancelled) => return Err(Cancelled),
        Err(Stop::Unusable(reason)) => table.state = TableState::Unusable(reason),
        Err(Stop::Elsewhere(url, fault)) => {
            table.state = TableState::Unusable(format!("`{url}` {fault}"));
            table.elsewhere = Some(elsewhere::unreached(context, &url));
        }
        Err(Stop::Moved) => {
            let file = table.sources.last().map(|source| source.file.clone()).unwrap_or_default();
            table.state = TableState::Unusable(format!("`{file}` changed while it was read: load again once it is complete"));
            table.moved = true;
        }
        Err(Stop::Damaged | Stop::Ready(_)) => table.state = TableState::Unusable("the cache is damaged: load again".to_owned()),
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
    start: Instant,
    /// Where it stands, for the thread that attends to it while bytes are waited for.
    pulse: &'a Pulse,
    /// Why nobody is asked for files elsewhere.
    offline: Option<crate::wire::Fault>,
}

/// Whether the file is of lines, and not packed.
fn is_text(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["csv", "tsv", "ndjson", "jsonl"].iter().any(|text| ending.eq_ignore_ascii_case(text))
}

/// A file's size and time, to see whether it changes while it is read.
pub(super) fn stamp(file: &Found) -> Result<(u64, Option<Time>), String> {
    if let Some(object) = &file.object {
        return Ok((object.bytes, object.modified.map(Time)));
    }
    let meta = fs::metadata(&file.path).map_err(|error| format!("cannot be read: {error}"))?;
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok((meta.len(), since.map(|since| Time(since.as_millis() as i64))))
}

impl Reading<'_> {
    /// The table as it is where it lies; where nobody answers there, as it was last time.
    fn read_whole(&mut self) -> Result<Option<Content>, Stop> {
        let first = locate(self.context, self.schema, self.manifest).and_then(|located| self.read(&located));
        let Err(Stop::Elsewhere(url, why)) = first else { return first };
        let Some(located) = elsewhere::recall(self.context, self.manifest, why.clone()) else { return Err(Stop::Elsewhere(url, why)) };
        tracing::warn!("`{url}` {why}: what was there last time is taken");
        self.forget();
        self.read(&located).map_err(|stop| if let Stop::Elsewhere(..) = stop { Stop::Elsewhere(url, why) } else { stop })
    }

    fn read(&mut self, located: &Located) -> Result<Option<Content>, Stop> {
        self.offline.clone_from(&located.offline);
        let mut outcome = self.read_files(&located.files);
        if let Err(Stop::Damaged) = outcome {
            // Begun anew, once: what is written then is read right after.
            self.forget();
            outcome = self.read_files(&located.files);
        }
        if outcome.is_ok() {
            self.note_elsewhere(located);
        }
        outcome
    }

    fn read_files(&mut self, files: &[Found]) -> Result<Option<Content>, Stop> {
        if files.is_empty() {
            return Ok(None);
        }
        self.total = files.iter().filter_map(|file| stamp(file).ok()).map(|(bytes, _)| bytes).sum();
        let (place, ends) = gather::place(self.context, self.schema, self.manifest, files).unzip();
        if let Some(opened) = place.as_ref().and_then(|place: &Place| place.open(self.schema)) {
            return Ok(Some(self.take_up(opened)));
        }
        let outcome = self.gather(files, place.clone(), &ends.unwrap_or_default());
        match outcome {
            Err(Stop::Ready(opened)) => Ok(Some(self.take_up(*opened))),
            // What has come of files elsewhere stays, for when they can be had again.
            Err(stop @ (Stop::Unusable(_) | Stop::Damaged | Stop::Moved)) => {
                place.iter().for_each(Place::forget);
                Err(stop)
            }
            outcome => outcome,
        }
    }

    /// The table as the cache has it, with what was found when it was brought there.
    fn take_up(&mut self, (large, report): Opened) -> Content {
        self.forget();
        self.resume(report);
        self.table.load_ms = self.table.load_ms.max(1);
        Content::Large(Arc::new(large))
    }

    fn forget(&mut self) {
        *self.table = Table::absent(self.schema);
        self.hashes.clear();
        self.done = 0;
    }

    /// Goes on from what an earlier run found.
    fn resume(&mut self, report: Report) {
        self.table.sources = report.sources.iter().map(SourceFile::source).collect();
        self.hashes = report.sources.iter().map(|source| source.ends).collect();
        self.done = self.table.sources.iter().map(|source| source.bytes).sum();
        (self.table.findings, self.table.rows_bad, self.table.load_ms) = (report.findings, report.rows_bad, report.load_ms);
        self.table.observed = report.observed;
    }

    /// What was found so far, in `files` files.
    fn report(&self, files: usize, findings: &Findings) -> Report {
        let sources = self.table.sources.iter().zip(&self.hashes).take(files);
        Report {
            sources: sources.map(|(source, ends)| SourceFile::new(source, *ends)).collect(),
            findings: findings.clone(),
            observed: self.table.observed.clone(),
            rows_bad: self.table.rows_bad,
            load_ms: self.start.elapsed().as_millis() as u64,
        }
    }

    /// Reads the files, those of an import that was cut off from where it was.
    fn gather(&mut self, files: &[Found], place: Option<Place>, ends: &[[u8; 32]]) -> Result<Option<Content>, Stop> {
        let mut gathered = Gathered::new(place, self.context.cache);
        let mut state = ReadState::default();
        if let Some(place) = gathered.place.clone().filter(Place::is_begun) {
            let (context, name, total) = (self.context, self.schema.name, self.total);
            let begun = gathered.begin(&place, self.schema, &mut || context.progress.step(name, 0, total))?;
            state = begun.unwrap_or_default();
            self.resume(std::mem::take(&mut state.report));
        }
        for (at, file) in files.iter().enumerate().skip(state.file as usize) {
            let from = std::mem::take(&mut state);
            self.read_file(at as u32, file, ends.get(at), &mut gathered, &from).map_err(|stop| match stop {
                Stop::Unusable(reason) => {
                    self.table.fault.get_or_insert_with(|| Spot { file: file.name.clone(), row: None });
                    Stop::Unusable(format!("`{}` {reason}", file.name))
                }
                stop => stop,
            })?;
            self.settle(at, files, &mut gathered)?;
        }
        if gathered.import.is_some() {
            return self.finish_large(gathered, files).map(|large| Some(Content::Large(Arc::new(large))));
        }
        let Some(frame) = gathered.held else { return Ok(None) };
        self.finish(frame, &gathered.origins, files).map(|frame| Some(Content::Memory(frame)))
    }

    fn read_file(&mut self, at: u32, file: &Found, ends: Option<&[u8; 32]>, gathered: &mut Gathered, from: &ReadState) -> Result<(), Stop> {
        let Some(object) = &file.object else { return self.read_from(at, file, None, ends, gathered, from) };
        let remote = elsewhere::open(self.context, object, self.pulse, self.offline.as_ref())?;
        let mark = identity::mark(object);
        let outcome = self.read_from(at, file, Some(&remote), Some(&mark), gathered, from);
        outcome.map_err(|stop| elsewhere::blame(&file.name, &remote).filter(|_| matches!(stop, Stop::Unusable(_))).unwrap_or(stop))
    }

    fn read_from(
        &mut self,
        at: u32,
        file: &Found,
        remote: Option<&Arc<RemoteFile>>,
        ends: Option<&[u8; 32]>,
        gathered: &mut Gathered,
        from: &ReadState,
    ) -> Result<(), Stop> {
        let before = stamp(file)?;
        self.table.sources.push(Source { file: file.name.clone(), bytes: before.0, modified: before.1, rows: 0 });
        self.hashes.push([0; 32]);
        self.step(false, self.done)?;
        let end = self.context.growing.then_some(before.0);
        let layout = Layout { skip: self.manifest.skip, names: self.manifest.headless.then(Vec::new), end, delimiter: None };
        let wanted = wanted(self.schema, self.manifest);
        let source = match remote {
            Some(remote) => source::open_bytes(Arc::clone(remote) as _, &file.name, &layout, wanted)?,
            None => source::open_as(&file.path, &layout, wanted)?,
        };
        let mut source = Partitioned::over(source, partition::parts(&file.name));
        source.skip(from.batches)?;
        let mut rows = FileRows {
            findings: std::mem::take(&mut self.table.findings),
            rows_bad: from.file_bad,
            rows: from.rows,
            left_out: from.left_out,
            state: FileState { others: others::are_kept(self.schema), ..from.learnt.clone() },
            ..FileRows::new(self.context, self.schema, self.manifest, &file.name)
        };
        let outcome = self.read_rows(&mut *source, &mut rows, gathered, (at, from.batches), before.0);
        let observed = if outcome.is_ok() { rows.end() } else { Vec::new() };
        self.table.findings = std::mem::take(&mut rows.findings);
        outcome?;
        self.table.observed.extend(observed);
        let FileRows { rows: count, rows_bad: bad, left_out, frames, numbers, .. } = rows;
        let bound = bind(self.schema, self.manifest, source.columns())?;
        if let Some(reason) = missing(self.schema, &bound, source.columns()) {
            return Err(Stop::Unusable(reason));
        }
        let known = |name: &str| bound.iter().any(|bound| bound.column.name == name && !bound.is_absent());
        let theirs = |name: &str| source.columns().iter().any(|column| path::heads(name).any(|head| column.eq_ignore_ascii_case(head)));
        let lacks = |name: &str| !known(name) && !theirs(name);
        if let Some((name, _)) = self.manifest.keep.iter().find(|(name, _)| lacks(name)) {
            let table = self.schema.name;
            return Err(Stop::Unusable(format!("has no column `{name}`, which dataset.toml names in [tables.{table}.where]")));
        }
        self.note_unknown(&file.name, source.columns(), &bound);
        if left_out > 0 {
            self.note(&file.name, format!("`where` leaves out {left_out} of {count} rows"));
        }
        let hash = ends.map_or_else(|| identity::ends(&file.path), |ends| Ok(*ends)).map_err(|error| format!("cannot be read: {error}"))?;
        // What is appended meanwhile was not read. A large table would be brought into the cache time and again: it waits for rest.
        let after = stamp(file)?;
        let appended = || end.is_some_and(|end| after.0 >= end) && is_text(&file.name) && gathered.import.is_none();
        if after != before && !appended() {
            return Err(Stop::Moved);
        }
        self.table.rows_bad += bad;
        if let (Some(source), Some(slot)) = (self.table.sources.last_mut(), self.hashes.last_mut()) {
            (source.rows, *slot) = (count, hash);
        }
        self.done += before.0;
        if gathered.import.is_none() {
            let mut frame = stacked(frames, self.schema)?;
            if self.schema.name == "candles" {
                fill::intervals(&mut frame);
            }
            gathered.hold(at, frame, numbers)?;
        }
        Ok(())
    }

    /// Of a large table: the files up to this one are taken in for good, and what was kept of those elsewhere is needed no more.
    fn settle(&mut self, at: usize, files: &[Found], gathered: &mut Gathered) -> Result<(), Stop> {
        let Some(import) = gathered.import.as_mut().filter(|_| files[at].object.is_some()) else { return Ok(()) };
        import.note(ReadState { file: at as u32 + 1, report: self.report(at + 1, &self.table.findings), ..ReadState::default() })?;
        let cache = self.context.cache.folder.as_deref();
        elsewhere::objects(&files[..=at]).for_each(|object| cache.iter().for_each(|cache| Kept::forget(cache, object)));
        Ok(())
    }

    /// Reads the file to its end, batch by batch; `from` is its place among the files and the batches of it that were taken before.
    fn read_rows(
        &mut self,
        source: &mut dyn RowSource,
        rows: &mut FileRows<'_>,
        gathered: &mut Gathered,
        from: (u32, u64),
        bytes: u64,
    ) -> Result<(), Stop> {
        let (file, mut batches) = from;
        loop {
            let batch = match source.next_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(()),
                Err(reason) => {
                    self.table.fault = Some(Spot { file: rows.file.to_owned(), row: source.stopped_at() });
                    return Err(reason.into());
                }
            };
            rows.add(batch, source.columns())?;
            batches += 1;
            let done = self.done + source.bytes_read().min(bytes);
            if gathered.rows() + rows.numbers.len() as u64 > MAX_ROWS {
                return Err(Stop::Unusable(format!("brings the table over {MAX_ROWS} rows, more than it may have")));
            }
            gathered.take(self.schema, file, &mut rows.frames, &mut rows.numbers, &mut || self.step(false, done))?;
            if let Some(import) = gathered.import.as_mut().filter(|import| import.is_due()) {
                let report = self.report(file as usize, &rows.findings);
                let (learnt, file_bad, left_out) = (rows.state.clone(), rows.rows_bad, rows.left_out);
                import.note(ReadState { file, batches, rows: rows.rows, file_bad, left_out, learnt, report })?;
            }
            self.step(gathered.import.is_some(), done)?;
        }
    }

    /// Tells how far reading is. Of a large table the last third is its ordering.
    fn step(&self, large: bool, done: u64) -> Result<(), Cancelled> {
        let of = if large { self.total + self.total / 2 } else { self.total };
        self.pulse.done.store(done, Ordering::Relaxed);
        self.pulse.total.store(of, Ordering::Relaxed);
        self.context.progress.step(self.schema.name, done, of)
    }

    /// Makes the table in the cache; its figures go there with it.
    fn finish_large(&mut self, gathered: Gathered, files: &[Found]) -> Result<LargeTable, Stop> {
        let (Some(mut import), Some(place)) = (gathered.import, gathered.place) else { return Err(Stop::Damaged) };
        let report = self.report(files.len(), &self.table.findings);
        import.note(ReadState { file: files.len() as u32, report, ..ReadState::default() })?;
        let (context, name, total) = (self.context, self.schema.name, self.total);
        let mut progress = |done: u64, of: u64| {
            let share = (u128::from(total / 2) * u128::from(done) / u128::from(of.max(1))) as u64;
            context.progress.step(name, total + share, total + total / 2)
        };
        let large = import.finish(&mut progress, |dropped| {
            self.note_repeats(dropped, files);
            self.report(files.len(), &self.table.findings)
        })?;
        self.table.load_ms = self.start.elapsed().as_millis() as u64;
        place.evict(context.cache.size_max);
        Ok(large)
    }

    fn finish(&mut self, mut frame: DataFrame, origins: &[(u32, u32)], files: &[Found]) -> Result<DataFrame, Stop> {
        fill::table(self.schema, &mut frame);
        if let Some(frame) = guarded("table", || order::in_runs(self.schema, &mut frame))? {
            return Ok(frame);
        }
        let (frame, dropped) = guarded("table", || order::without_repeats(self.schema, frame))?;
        for row in dropped {
            let (file, number) = origins.get(row).copied().unwrap_or_default();
            let finding = self.repeat(files, file, number);
            self.table.findings.add(finding);
        }
        Ok(guarded("table", || order::sorted(self.schema.order, frame))?)
    }
}

/// The frames of a file as one.
fn stacked(frames: Vec<DataFrame>, schema: &TableSchema) -> Result<DataFrame, String> {
    let mut frames = frames.into_iter();
    let empty = || DataFrame::new(0, schema.columns.iter().map(|column| coerce::empty(column, 0)).collect());
    let Some(mut whole) = frames.next() else { return guarded("table", empty) };
    for mut frame in frames {
        others::align(&mut whole, &mut frame)?;
        guarded("table", || whole.vstack_mut(&frame).map(|_| ()))?;
    }
    Ok(whole)
}
