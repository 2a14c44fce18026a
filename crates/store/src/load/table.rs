//! Loads one table: its files one after the other, then duplicate keys, sort order and the canonical frame; or, for a large one, the table
//! in the cache.

mod grow;
mod notes;
mod read;

use std::{
    fs,
    sync::Arc,
    time::{Instant, UNIX_EPOCH},
};

use polars::prelude::DataFrame;

use super::{
    LoadContext, engine, fill,
    gather::{self, Gathered, OpenedTable, ReadState},
    others,
    remote::{self, Located, Pulse},
};
use crate::decode::guarded;
use crate::{
    RemoteOrigin, SourcePosition, Table,
    cache::{CacheBuildError, EntryLocation, FileEnd, LargeTable, LoadReport, SourceFile},
    manifest::{EngineTable, TableManifest},
    order, repeats,
    source::locate::{self, LocatedFile},
};
use model::{findings::Findings, progress::Cancelled, schema::TableSchema, table_state::TableState, time::Time};

/// Whether loading the table takes a while: it is remote, or has to be imported into the cache first.
pub(super) fn takes_a_while(context: &LoadContext<'_>, schema: &'static TableSchema) -> bool {
    let plain = TableManifest::default();
    let manifest = context.manifest.tables.get(schema.name).unwrap_or(&plain);
    // A start does not wait for the network.
    if remote::is_remote(manifest) {
        return true;
    }
    context.cache.folder.is_some()
        && local_files(context, schema, manifest).is_ok_and(|files| gather::takes_a_while(context, schema, manifest, &files))
}

fn local_files(context: &LoadContext<'_>, schema: &TableSchema, manifest: &TableManifest) -> Result<Vec<LocatedFile>, String> {
    if manifest.path.is_empty() { locate::by_name(context.folder, schema.name) } else { locate::by_path(context.folder, &manifest.path) }
}

/// Lists the files of the table, local or remote.
fn locate(context: &LoadContext<'_>, schema: &'static TableSchema, manifest: &TableManifest) -> Result<Located, TableLoadError> {
    if let Some(asked) = &manifest.engine {
        return engine::locate(context, schema, manifest, asked);
    }
    if remote::is_remote(manifest) {
        return remote::locate(context, schema, manifest);
    }
    Ok(Located { files: local_files(context, schema, manifest)?, ..Located::default() })
}

/// Reason why a table is not read.
pub(super) enum TableLoadError {
    Cancelled,
    Unusable(String),
    /// A file was written to during the read.
    ChangedDuringRead,
    /// The import in the cache cannot be read back.
    Damaged,
    /// Another program has built the table in the cache meanwhile.
    Ready(Box<OpenedTable>),
    /// A remote file cannot be read: its URL, and the fault.
    Remote(String, wire::Fault),
}

impl From<CacheBuildError> for TableLoadError {
    fn from(fault: CacheBuildError) -> Self {
        match fault {
            CacheBuildError::Cancelled => Self::Cancelled,
            CacheBuildError::Damaged => Self::Damaged,
            CacheBuildError::Failed(reason) => {
                let advice = "make room, or name another folder in the configuration: [cache] dir";
                Self::Unusable(format!("cannot be brought into the cache: {reason}; {advice}"))
            }
        }
    }
}

/// The rows of a table, in memory or in the cache.
enum Content {
    Memory(DataFrame),
    Large(Arc<LargeTable>),
}

impl From<Cancelled> for TableLoadError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<String> for TableLoadError {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

/// A table, with the hash of the head and tail of each of its sources.
type HashedTable = (Table, Vec<[u8; 32]>);

/// Loads a table.
pub(super) fn load(context: &LoadContext<'_>, schema: &'static TableSchema) -> Result<HashedTable, Cancelled> {
    let start = Instant::now();
    let plain = TableManifest::default();
    let manifest = context.manifest.tables.get(schema.name).unwrap_or(&plain);
    if let Some(asked) = manifest.engine.as_ref().filter(|asked| asked.in_place) {
        return load_in_place(context, schema, manifest, asked, start);
    }
    let mut table = Table::absent(schema);
    let pulse = Pulse::default();
    let mut reader = TableReader::new(context, schema, manifest, &mut table, start, &pulse);
    let outcome = if remote::is_remote(manifest) {
        remote::cancellable(context.progress, schema.name, &pulse, || reader.read_whole())
    } else {
        reader.read_whole()
    };
    reader.add_end_findings();
    if matches!(outcome, Ok(Some(_))) {
        reader.note_approximate();
    }
    let hashes = reader.hashes;
    match outcome {
        Ok(Some(Content::Memory(frame))) => {
            (table.frame, table.others) = others::split(frame);
            table.state = TableState::Loaded;
        }
        Ok(Some(Content::Large(large))) => {
            table.large = Some(large);
            table.state = TableState::Loaded;
            // Its load time is that of its import.
            return Ok((table, hashes));
        }
        Ok(None) => {}
        Err(error) => table = unusable(context, table, error)?,
    }
    table.load_ms = start.elapsed().as_millis() as u64;
    Ok((table, hashes))
}

fn load_in_place(
    context: &LoadContext<'_>,
    schema: &'static TableSchema,
    manifest: &TableManifest,
    asked: &EngineTable,
    start: Instant,
) -> Result<HashedTable, Cancelled> {
    let pulse = Pulse::default();
    let query = || engine::in_place(context, schema, manifest, asked, &pulse);
    match remote::cancellable(context.progress, schema.name, &pulse, query) {
        Ok((mut table, hash)) => {
            table.load_ms = start.elapsed().as_millis() as u64;
            Ok((table, vec![hash]))
        }
        Err(error) => {
            let mut table = Table::absent(schema);
            // An answer without it would look as if the token had no figures. Without consent nothing was queried, as for any source.
            let refused = matches!(error, TableLoadError::Unusable(_)) && remote::is_agreed(context, manifest);
            if refused {
                table.remote = Some(RemoteOrigin { sources: vec![asked.source.clone()], refused, ..RemoteOrigin::default() });
            }
            unusable(context, table, error).map(|table| (table, Vec::new()))
        }
    }
}

/// A canonical frame of the table without rows.
pub(super) fn empty(schema: &'static TableSchema) -> Result<DataFrame, String> {
    read::stacked(Vec::new(), schema)
}

/// Marks the table as unusable, with the reason.
fn unusable(context: &LoadContext<'_>, mut table: Table, error: TableLoadError) -> Result<Table, Cancelled> {
    match error {
        TableLoadError::Cancelled => return Err(Cancelled),
        TableLoadError::Unusable(reason) => table.state = TableState::Unusable(reason),
        TableLoadError::Remote(url, fault) => {
            table.state = TableState::Unusable(format!("`{url}` {fault}"));
            table.remote = Some(remote::unreached(context, &url));
        }
        TableLoadError::ChangedDuringRead => {
            // Before a file is read, it is the listing that changed.
            let paths = context.manifest.tables.get(table.schema.name).map_or(&[][..], |manifest| &manifest.path);
            let listed = || paths.first().cloned().unwrap_or_else(|| table.schema.name.to_owned());
            let file = table.sources.last().map_or_else(listed, |source| source.file.clone());
            table.state = TableState::Unusable(format!("`{file}` changed while it was read: load again once it is complete"));
            table.changed_during_read = true;
        }
        TableLoadError::Damaged | TableLoadError::Ready(_) => {
            table.state = TableState::Unusable("the cache is damaged: load again".to_owned());
        }
    }
    Ok(table)
}

/// State of loading one table.
struct TableReader<'a> {
    context: &'a LoadContext<'a>,
    schema: &'static TableSchema,
    manifest: &'a TableManifest,
    table: &'a mut Table,
    hashes: Vec<[u8; 32]>,
    /// End state of each file, with its file-level findings, which are not among the table's yet.
    ends: Vec<FileEnd>,
    /// Cache key of the table without its files, and name of the cache entry it grew from.
    stem: String,
    grown_from: Option<String>,
    /// Whether only appended rows are read.
    grows: bool,
    /// Bytes read and to read, over all files.
    done: u64,
    total: u64,
    start: Instant,
    /// Progress, for the thread that polls for cancellation.
    pulse: &'a Pulse,
    /// Reason why sources are not queried.
    offline: Option<wire::Fault>,
    /// Columns of its files that a list of transfers would have.
    movements: Vec<String>,
}

/// Size and modification time of a file, to detect changes during the read.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct SizeAndTime {
    pub(super) bytes: u64,
    modified: Option<Time>,
}

pub(super) fn size_and_time(file: &LocatedFile) -> Result<SizeAndTime, String> {
    if let Some(object) = &file.object {
        return Ok(SizeAndTime { bytes: object.bytes, modified: object.modified.map(Time) });
    }
    if let Some(answer) = &file.answer {
        return Ok(SizeAndTime { bytes: answer.bytes(), modified: None });
    }
    let meta = fs::metadata(&file.path).map_err(|error| format!("cannot be read: {error}"))?;
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(SizeAndTime { bytes: meta.len(), modified: since.map(|since| Time(since.as_millis() as i64)) })
}

/// Total size of the files, as far as it is known.
pub(super) fn total_bytes(files: &[LocatedFile]) -> u64 {
    files.iter().filter_map(|file| size_and_time(file).ok()).map(|known| known.bytes).sum()
}

impl<'a> TableReader<'a> {
    fn new(
        context: &'a LoadContext<'a>,
        schema: &'static TableSchema,
        manifest: &'a TableManifest,
        table: &'a mut Table,
        start: Instant,
        pulse: &'a Pulse,
    ) -> Self {
        Self {
            context,
            schema,
            manifest,
            table,
            hashes: Vec::new(),
            ends: Vec::new(),
            stem: String::new(),
            grown_from: None,
            grows: false,
            done: 0,
            total: 0,
            start,
            pulse,
            offline: None,
            movements: Vec::new(),
        }
    }
}

impl TableReader<'_> {
    /// Reads the table from its source; if that fails, the data stored at the last load.
    fn read_whole(&mut self) -> Result<Option<Content>, TableLoadError> {
        let first = locate(self.context, self.schema, self.manifest).and_then(|located| self.read(&located));
        let Err(error) = first else { return first };
        let Some(why) = remote::source_failure(self.manifest, &error) else { return Err(error) };
        let Some(located) = remote::recall(self.context, self.manifest, why.clone()) else { return Err(error) };
        let position = self.table.error_position.clone();
        self.forget();
        match self.read(&located) {
            Err(TableLoadError::Cancelled) => Err(TableLoadError::Cancelled),
            Err(_) => {
                self.table.error_position = position;
                Err(error)
            }
            read => {
                tracing::warn!("`{}` is as of the last load: {why}", self.schema.name);
                read
            }
        }
    }

    fn read(&mut self, located: &Located) -> Result<Option<Content>, TableLoadError> {
        self.offline.clone_from(&located.offline);
        let mut outcome = self.read_files(&located.files);
        if let Err(TableLoadError::Damaged) = outcome {
            // Restarts once: parts written now are read right after.
            self.forget();
            outcome = self.read_files(&located.files);
        }
        if outcome.is_ok() {
            self.note_remote(located);
        }
        outcome
    }

    fn read_files(&mut self, files: &[LocatedFile]) -> Result<Option<Content>, TableLoadError> {
        if files.is_empty() {
            return Ok(None);
        }
        self.total = total_bytes(files);
        let cached = gather::cache_location(self.context, self.schema, self.manifest, files);
        self.stem = cached.as_ref().map(|cached| cached.stem.text().to_owned()).unwrap_or_default();
        if let Some(opened) = cached.as_ref().and_then(|cached| cached.location.open(self.schema)) {
            return Ok(Some(self.adopt(opened)));
        }
        if let Some(cached) = &cached {
            match self.grow(files, cached) {
                Ok(None) => self.forget(),
                Ok(Some(large)) => return Ok(Some(Content::Large(Arc::new(large)))),
                Err(TableLoadError::Ready(opened)) => return Ok(Some(self.adopt(*opened))),
                Err(error) => return Err(error),
            }
        }
        let (location, ends) =
            cached.map(|cached| (cached.location, cached.files.iter().map(|file| file.ends).collect::<Vec<_>>())).unzip();
        let outcome = self.gather(files, location.clone(), &ends.unwrap_or_default());
        match outcome {
            Err(TableLoadError::Ready(opened)) => Ok(Some(self.adopt(*opened))),
            // The parts imported from remote files stay for the next try; rows of a query would come in another order then.
            Err(error)
                if files[0].answer.is_some()
                    || matches!(error, TableLoadError::Unusable(_) | TableLoadError::Damaged | TableLoadError::ChangedDuringRead) =>
            {
                location.iter().for_each(EntryLocation::forget);
                Err(error)
            }
            outcome => outcome,
        }
    }

    /// Uses the table in the cache, with the report of its import.
    fn adopt(&mut self, (large, report): OpenedTable) -> Content {
        self.forget();
        self.resume(report);
        self.table.load_ms = self.table.load_ms.max(1);
        Content::Large(Arc::new(large))
    }

    fn forget(&mut self) {
        *self.table = Table::absent(self.schema);
        self.hashes.clear();
        self.ends.clear();
        (self.grown_from, self.grows, self.done) = (None, false, 0);
    }

    /// Adds the file-level findings, once no file is read any more.
    fn add_end_findings(&mut self) {
        for end in std::mem::take(&mut self.ends) {
            self.table.findings.absorb(&end.notes);
        }
    }

    /// Continues from the report of an earlier run.
    fn resume(&mut self, report: LoadReport) {
        self.table.sources = report.sources.iter().map(SourceFile::source).collect();
        self.hashes = report.sources.iter().map(|source| source.ends).collect();
        self.done = self.table.sources.iter().map(|source| source.bytes).sum();
        (self.table.findings, self.table.rows_bad, self.table.load_ms) = (report.findings, report.rows_bad, report.load_ms);
        (self.table.statistics, self.table.approximate) = (report.statistics, report.approximate);
        self.ends = report.ends;
    }

    /// Load report so far, over the first `files` files.
    fn report(&self, files: usize, findings: &Findings) -> LoadReport {
        let sources = self.table.sources.iter().zip(&self.hashes).take(files);
        LoadReport {
            sources: sources.map(|(source, ends)| SourceFile::new(source, *ends)).collect(),
            findings: findings.clone(),
            statistics: self.table.statistics.clone(),
            approximate: self.table.approximate.clone(),
            rows_bad: self.table.rows_bad,
            load_ms: self.start.elapsed().as_millis() as u64,
            stem: self.stem.clone(),
            ends: self.ends.iter().take(files).cloned().collect(),
            grown_from: self.grown_from.clone(),
        }
    }

    /// Reads the files; an interrupted import resumes where it was.
    fn gather(
        &mut self,
        files: &[LocatedFile],
        location: Option<EntryLocation>,
        ends: &[[u8; 32]],
    ) -> Result<Option<Content>, TableLoadError> {
        let mut gathered = Gathered::new(location, self.context.cache);
        let mut state = ReadState::default();
        // The rows of a query may come in another order next time.
        let again = files.iter().all(|file| file.answer.is_none());
        if let Some(location) = gathered.location.clone().filter(|location| again && location.is_begun()) {
            let (context, name, total) = (self.context, self.schema.name, self.total);
            let begun = gathered.begin(&location, self.schema, &mut || context.progress.step(name, 0, total))?;
            state = begun.unwrap_or_default();
            self.resume(std::mem::take(&mut state.report));
        }
        for (at, file) in files.iter().enumerate().skip(state.file as usize) {
            let from = std::mem::take(&mut state);
            self.read_file(at as u32, file, ends.get(at), &mut gathered, &from).map_err(|error| match error {
                TableLoadError::Unusable(reason) => {
                    self.table.error_position.get_or_insert_with(|| SourcePosition { file: file.name.clone(), row: None });
                    TableLoadError::Unusable(format!("`{}` {reason}", file.name))
                }
                error => error,
            })?;
            self.settle(at, files, &mut gathered)?;
        }
        if gathered.import.is_some() {
            return self.finish_large(gathered, files).map(|large| Some(Content::Large(Arc::new(large))));
        }
        let Some(frame) = gathered.held else { return Ok(None) };
        self.finish(frame, &gathered.origins, files).map(|frame| Some(Content::Memory(frame)))
    }

    /// Completes the table in the cache, with its report.
    fn finish_large(&mut self, gathered: Gathered, files: &[LocatedFile]) -> Result<LargeTable, TableLoadError> {
        let (Some(mut import), Some(location)) = (gathered.import, gathered.location) else { return Err(TableLoadError::Damaged) };
        let report = self.report(files.len(), &self.table.findings);
        import.note(ReadState { file: files.len() as u32, report, ..ReadState::default() })?;
        let (context, name, total) = (self.context, self.schema.name, self.total);
        let mut progress = |done: u64, of: u64| {
            let share = (u128::from(total / 2) * u128::from(done) / u128::from(of.max(1))) as u64;
            context.progress.step(name, total + share, total + total / 2)
        };
        let large = import.finish(&mut progress, |dropped| {
            self.note_repeats(dropped.first().into_iter(), dropped.counts(), files);
            self.report(files.len(), &self.table.findings)
        })?;
        self.table.load_ms = self.start.elapsed().as_millis() as u64;
        location.evict(context.cache.size_max);
        Ok(large)
    }

    fn finish(&mut self, mut frame: DataFrame, origins: &[(u32, u32)], files: &[LocatedFile]) -> Result<DataFrame, TableLoadError> {
        fill::table(self.schema, &mut frame);
        self.note_fractions(&frame);
        if let Some(frame) = guarded("table", || order::in_runs(self.schema, &mut frame))? {
            return Ok(frame);
        }
        let whole = frame.clone();
        let (frame, dropped) = guarded("table", || order::without_repeats(self.schema, frame))?;
        let kept = guarded("table", || order::kept_of(self.schema, &whole, &dropped))?;
        let schema = self.schema;
        let repeats = dropped.into_iter().zip(kept).map(|(row, kept)| {
            let (file, number) = origins.get(row).copied().unwrap_or_default();
            (file, number, repeats::difference(schema, &whole, row, kept))
        });
        self.note_repeats(repeats, std::iter::empty(), files);
        Ok(guarded("table", || order::sorted(self.schema.order, frame))?)
    }
}
