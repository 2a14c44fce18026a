//! Loads one table in stages, each with one job: `task` locates its files; an import that is in the cache is resumed; otherwise, each file
//! is fetched, read, coerced and checked (`read`); and its rows are stored in memory or in the cache.

mod grow;
mod notes;
mod read;

use std::{sync::Arc, time::Instant};

use polars::prelude::DataFrame;

use super::{
    LoadContext, engine, fill,
    gather::{self, CacheLocation, Gathered, OpenedTable, ReadState},
    others,
    remote::{self, Located, Pulse},
    task::{TableLoad, TableLoadError, total_bytes},
};
use crate::cache::Frames as _;
use crate::{
    RemoteOrigin, SourcePosition, Table,
    cache::{FileEnd, LoadReport, TableRows},
    order, parts, repeats,
};
use model::{
    findings::{Finding, Findings, Severity},
    progress::Cancelled,
    schema::TableSchema,
    table_state::TableState,
};
use source::decode::guarded;
use source::{
    locate::{self, LocatedFile},
    manifest::EngineTable,
};

/// Loads a table.
pub(super) fn load(
    context: &LoadContext<'_>,
    schema: &'static TableSchema,
) -> Result<Table, Cancelled> {
    let (load, start, pulse) = (
        TableLoad::new(context, schema),
        Instant::now(),
        Pulse::default(),
    );
    let work = || match load.manifest.engine.as_ref().filter(|asked| asked.in_place) {
        Some(asked) => load_in_place(&load, asked, &pulse),
        None => TableReader::new(load, start, &pulse).load(),
    };
    let mut table = if remote::is_remote(load.manifest) {
        remote::cancellable(&load, &pulse, work)
    } else {
        work()
    }?;
    // The load time of a table in the cache is that of its import.
    if table.large().is_none() {
        table.load_ms = start.elapsed().as_millis() as u64;
    }
    Ok(table)
}

fn load_in_place(
    load: &TableLoad<'_>,
    asked: &EngineTable,
    pulse: &Pulse,
) -> Result<Table, Cancelled> {
    engine::attach(load, asked, pulse).or_else(|error| {
        let mut table = Table::absent(load.schema);
        // An answer without it would look as if the token had no figures. Without consent nothing was queried, as for any source.
        let refused = matches!(error, TableLoadError::Unusable(_)) && remote::is_agreed(load);
        if refused {
            table.remote = Some(RemoteOrigin {
                sources: vec![asked.source.clone()],
                refused,
                ..RemoteOrigin::default()
            });
        }
        unusable(load, table, error)
    })
}

/// Marks the table as unusable, with the reason.
fn unusable(
    load: &TableLoad<'_>,
    mut table: Table,
    error: TableLoadError,
) -> Result<Table, Cancelled> {
    let words = error.words();
    let reason = match error {
        TableLoadError::Cancelled => return Err(Cancelled),
        TableLoadError::ChangedDuringRead => {
            // Before a file is read, it is the listing that changed.
            let listed = || {
                load.manifest
                    .path
                    .first()
                    .cloned()
                    .unwrap_or_else(|| load.schema.name.to_owned())
            };
            let file = table
                .sources
                .last()
                .map_or_else(listed, |source| source.file.clone());
            table.changed_during_read = true;
            format!("`{file}` changed while being read; reload when it is complete")
        }
        TableLoadError::Damaged | TableLoadError::Ready(_) => {
            "the cache is damaged; reload the data".to_owned()
        }
        TableLoadError::Unusable(reason) => reason,
        TableLoadError::Remote(url, _) => {
            table.remote = Some(remote::unreached(load.context, &url));
            words.unwrap_or_default()
        }
    };
    table.state = TableState::Unusable(reason);
    Ok(table)
}

/// State of loading one table.
struct TableReader<'a> {
    load: TableLoad<'a>,
    table: Table,
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

impl<'a> TableReader<'a> {
    fn new(load: TableLoad<'a>, start: Instant, pulse: &'a Pulse) -> Self {
        Self {
            table: Table::absent(load.schema),
            load,
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
    fn load(mut self) -> Result<Table, Cancelled> {
        let outcome = self.read_whole();
        // The file-level findings come last, once no file is read any more.
        for end in std::mem::take(&mut self.ends) {
            self.table.findings.absorb(&end.notes);
        }
        if let Err(error) = outcome {
            return unusable(&self.load, self.table, error);
        }
        if self.table.loaded() {
            self.note_approximate();
        } else {
            for (file, says) in
                locate::passed_over(self.load.context.entries(), self.table.schema.name)
            {
                self.table
                    .findings
                    .add(Finding::new(Severity::Note, file, says));
            }
        }
        Ok(self.table)
    }

    /// Reads the table from its source; if that fails, the data stored at the last load.
    fn read_whole(&mut self) -> Result<(), TableLoadError> {
        let Err(error) = self
            .load
            .locate(self.pulse)
            .and_then(|located| self.read(&located))
        else {
            return Ok(());
        };
        let Some(why) = remote::source_failure(self.load.manifest, &error) else {
            return Err(error);
        };
        let Some(located) = remote::recall(&self.load, why.clone()) else {
            return Err(error);
        };
        let position = self.table.error_position.clone();
        self.forget();
        match self.read(&located) {
            Ok(()) => tracing::warn!(
                "`{}` has the rows of the last load: {why}",
                self.load.schema.name
            ),
            Err(TableLoadError::Cancelled) => return Err(TableLoadError::Cancelled),
            Err(_) => {
                self.table.error_position = position;
                return Err(error);
            }
        }
        Ok(())
    }

    fn read(&mut self, located: &Located) -> Result<(), TableLoadError> {
        self.offline.clone_from(&located.offline);
        let mut outcome = self.read_files(&located.files);
        if let Err(TableLoadError::Damaged) = outcome {
            // Restarts once: parts written now are read right after.
            self.forget();
            outcome = self.read_files(&located.files);
        }
        outcome?;
        self.note_remote(located);
        Ok(())
    }

    fn read_files(&mut self, files: &[LocatedFile]) -> Result<(), TableLoadError> {
        let Some(first) = files.first() else {
            return Ok(());
        };
        self.total = total_bytes(files);
        let cached = gather::cache_location(&self.load, files);
        self.stem = cached
            .as_ref()
            .map(|cached| cached.stem.text().to_owned())
            .unwrap_or_default();
        let outcome = match self.resume(files, cached.as_ref()) {
            Ok(false) => self.gather(files, cached.as_ref()).inspect_err(|error| {
                // The parts imported from remote files stay for the next try; rows of a query would come in another order then.
                let stay = match error {
                    TableLoadError::Ready(_) => true,
                    TableLoadError::Unusable(_)
                    | TableLoadError::Damaged
                    | TableLoadError::ChangedDuringRead => false,
                    TableLoadError::Cancelled | TableLoadError::Remote(..) => {
                        first.answer().is_none()
                    }
                };
                cached
                    .iter()
                    .filter(|_| !stay)
                    .for_each(|cached| cached.location.forget());
            }),
            resumed => resumed.map(drop),
        };
        match outcome {
            Err(TableLoadError::Ready(opened)) => {
                let (large, report): OpenedTable = *opened;
                self.forget();
                self.go_on(report);
                self.table.load_ms = self.table.load_ms.max(1);
                self.keep(large);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Takes the table from the cache, as it is there or with appended rows; whether it could. `Ready`: it is there.
    fn resume(
        &mut self,
        files: &[LocatedFile],
        cached: Option<&CacheLocation>,
    ) -> Result<bool, TableLoadError> {
        let Some(cached) = cached else {
            return Ok(false);
        };
        if let Some(opened) = cached.location.open(self.load.schema) {
            return Err(TableLoadError::Ready(Box::new(opened)));
        }
        let Some(large) = self.grow(files, cached)? else {
            self.forget();
            return Ok(false);
        };
        self.keep(large);
        Ok(true)
    }

    fn keep(&mut self, large: TableRows) {
        (self.table.rows, self.table.state) = (Arc::new(large), TableState::Loaded);
    }

    fn forget(&mut self) {
        self.table = Table::absent(self.load.schema);
        self.ends.clear();
        (self.grown_from, self.grows, self.done) = (None, false, 0);
    }

    /// Goes on from the report of an earlier run.
    fn go_on(&mut self, report: LoadReport) {
        self.done = report.sources.iter().map(|source| source.bytes).sum();
        (self.table.sources, self.table.findings) = (report.sources, report.findings);
        (self.table.rows_bad, self.table.load_ms) = (report.rows_bad, report.load_ms);
        (self.table.statistics, self.table.approximate) = (report.statistics, report.approximate);
        self.ends = report.ends;
    }

    /// Load report so far, over the first `files` files.
    fn report(&self, files: usize, findings: &Findings) -> LoadReport {
        LoadReport {
            sources: self.table.sources.iter().take(files).cloned().collect(),
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
        cached: Option<&CacheLocation>,
    ) -> Result<(), TableLoadError> {
        let mut gathered = Gathered::new(
            cached.map(|cached| cached.location.clone()),
            self.load.context.cache,
        );
        let mut state = ReadState::default();
        // The rows of a query may come in another order next time.
        let again = files.iter().all(|file| file.answer().is_none());
        if let Some(cached) = cached.filter(|cached| again && cached.location.is_begun()) {
            let (load, total) = (self.load, self.total);
            state = gathered
                .begin(&cached.location, load.schema, &mut || load.step(0, total))?
                .unwrap_or_default();
            self.go_on(std::mem::take(&mut state.report));
        }
        for (at, file) in files.iter().enumerate().skip(state.file as usize) {
            let (from, ends) = (
                std::mem::take(&mut state),
                cached.map(|cached| cached.files[at].ends),
            );
            self.read_file(at, file, ends, &mut gathered, &from)
                .map_err(|error| match error {
                    TableLoadError::Unusable(reason) => {
                        self.table
                            .error_position
                            .get_or_insert_with(|| SourcePosition {
                                file: file.name.clone(),
                                row: None,
                            });
                        TableLoadError::Unusable(format!("`{}` {reason}", file.name))
                    }
                    error => error,
                })?;
            self.settle(at, files, &mut gathered)?;
        }
        self.store(gathered, files)
    }

    /// Stores the rows of all files, in the cache or in memory.
    fn store(&mut self, gathered: Gathered, files: &[LocatedFile]) -> Result<(), TableLoadError> {
        if gathered.import.is_some() {
            let large = self.finish_large(gathered, files)?;
            self.keep(large);
        } else if let Some(frame) = gathered.held {
            let frame = self.finish(frame, &gathered.origins, files)?;
            let frame = guarded("table", || others::typed_in(frame))?;
            let rows = TableRows::in_memory(self.load.schema, &frame);
            (self.table.rows, self.table.state) = (
                Arc::new(rows.map_err(TableLoadError::Unusable)?),
                TableState::Loaded,
            );
        }
        Ok(())
    }

    /// Completes the table in the cache, with its report.
    fn finish_large(
        &mut self,
        gathered: Gathered,
        files: &[LocatedFile],
    ) -> Result<TableRows, TableLoadError> {
        let (Some(mut import), Some(location)) = (gathered.import, gathered.location) else {
            return Err(TableLoadError::Damaged);
        };
        let report = self.report(files.len(), &self.table.findings);
        import.note(ReadState {
            file: files.len() as u32,
            report,
            ..ReadState::default()
        })?;
        let (load, total) = (self.load, self.total);
        let mut progress = |done: u64, of: u64| {
            let share = (u128::from(total / 2) * u128::from(done) / u128::from(of.max(1))) as u64;
            load.step(total + share, total + total / 2)
        };
        let large = import.finish(&mut progress, |dropped| {
            if load.manifest.live.is_none() {
                self.note_repeats(dropped.first().into_iter(), dropped.counts(), files);
            }
            self.report(files.len(), &self.table.findings)
        })?;
        self.table.load_ms = self.start.elapsed().as_millis() as u64;
        location.evict(load.context.cache.size_max);
        Ok(large)
    }

    fn finish(
        &mut self,
        mut frame: DataFrame,
        origins: &[(u32, u32)],
        files: &[LocatedFile],
    ) -> Result<DataFrame, TableLoadError> {
        let schema = self.load.schema;
        fill::table(schema, &mut frame);
        self.note_fractions(&frame);
        if self.load.manifest.live.is_some() {
            // A newer row is no repeat.
            return Ok(guarded("table", || parts::merged(schema, frame))?);
        }
        if let Some(frame) = guarded("table", || order::in_runs(schema, &mut frame))? {
            return Ok(frame);
        }
        let whole = frame.clone();
        let (frame, dropped) = guarded("table", || order::without_repeats(schema, frame))?;
        let kept = guarded("table", || order::kept_of(schema, &whole, &dropped))?;
        let repeats = dropped.into_iter().zip(kept).map(|(row, kept)| {
            let (file, number) = origins.get(row).copied().unwrap_or_default();
            (file, number, repeats::difference(schema, &whole, row, kept))
        });
        self.note_repeats(repeats, std::iter::empty(), files);
        Ok(guarded("table", || order::sorted(schema.order, frame))?)
    }
}
