//! Loads one table in stages, each with one job: `task` locates its files; an import that is in the cache is resumed; otherwise, each file
//! is fetched, read, coerced and checked (`read`); and its rows become the table (`build`), in memory or in the cache.

mod findings;
mod grow;
mod read_file;

use std::{sync::Arc, time::Instant};

use super::{
    LoadContext,
    cached::{self, CacheLocation},
    remote::{self, Located, Pulse},
    task::{TableLoad, TableLoadError, total_bytes},
};
use crate::{
    RemoteOrigin, SourcePosition, Table,
    builder::{Builder, Built},
    engine,
    formats::locate::{self, LocatedFile},
    manifest::EngineTable,
};
use frames::report::{FileEnd, LoadReport};
use model::{
    findings::{Finding, Findings, Severity},
    progress::Cancelled,
    schema::TableSchema,
    table_state::TableState,
};

/// Loads a table.
pub(crate) fn load(
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
        TableLoadError::Damaged => "the cache is damaged; reload the data".to_owned(),
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
        let cached = cached::cache_location(&self.load, files);
        self.stem = cached
            .as_ref()
            .map(|cached| cached.stem.text().to_owned())
            .unwrap_or_default();
        let built = match self.find(files, cached.as_ref())? {
            Some(built) => built,
            None => self.build(files, cached.as_ref()).inspect_err(|error| {
                // The parts imported from remote files stay for the next try; rows of a query would come in another order then.
                let stay = match error {
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
            })?,
        };
        let rows = match built {
            Built::Here(rows) => rows,
            Built::Elsewhere(built) => {
                let (rows, report) = *built;
                self.forget();
                self.go_on(report);
                self.table.load_ms = self.table.load_ms.max(1);
                Arc::new(rows)
            }
        };
        (self.table.rows, self.table.state) = (rows, TableState::Loaded);
        Ok(())
    }

    /// Takes the table from the cache, as it is there or with appended rows.
    fn find(
        &mut self,
        files: &[LocatedFile],
        cached: Option<&CacheLocation>,
    ) -> Result<Option<Built>, TableLoadError> {
        let Some(cached) = cached else {
            return Ok(None);
        };
        if let Some(opened) = cached.location.open(self.load.schema) {
            return Ok(Some(Built::Elsewhere(Box::new(opened))));
        }
        let grown = self.grow(files, cached)?;
        if grown.is_none() {
            self.forget();
        }
        Ok(grown)
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

    /// Whether it is a live table: a newer row of a key is no repeat.
    fn is_live(&self) -> bool {
        self.load.manifest.live.is_some()
    }

    /// Reads the files and builds the table from their rows; an interrupted import resumes with the file that was being read.
    fn build(
        &mut self,
        files: &[LocatedFile],
        cached: Option<&CacheLocation>,
    ) -> Result<Built, TableLoadError> {
        let (load, total) = (self.load, self.total);
        let location = cached.map(|cached| cached.location.clone());
        let mut builder = Builder::new(load.schema, location, load.context.cache, self.is_live());
        let mut read = 0;
        // The rows of a query may come in another order next time.
        if files.iter().all(|file| file.answer().is_none())
            && let Some((files, report)) = builder.resume(&mut || load.step(0, total))?
        {
            read = files as usize;
            self.go_on(report);
        }
        for (at, file) in files.iter().enumerate().skip(read) {
            if builder.is_built() {
                break;
            }
            let ends = cached.map(|cached| cached.files[at].ends);
            self.read_file(at, file, ends, &mut builder, None)
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
            self.end_file(at, files, &mut builder)?;
        }
        let mut progress = |done: u64, of: u64| {
            let share = (u128::from(total / 2) * u128::from(done) / u128::from(of.max(1))) as u64;
            load.step(total + share, total + total / 2)
        };
        let built = builder.finish(&mut progress, |dropped, rows| {
            self.note_fractions(rows);
            if !self.is_live() {
                self.note_repeats(dropped.first(), files);
            }
            self.report(files.len(), &self.table.findings)
        })?;
        self.table.load_ms = self.start.elapsed().as_millis() as u64;
        Ok(built)
    }
}
