//! Incremental load of a large table whose files were appended to, or joined by new ones: the cache has the earlier rows, and only the new
//! ones are read.

use std::{path::Path, sync::Arc};

use super::{TableReader, read_file::Appended};
use crate::{
    TableFile,
    builder::{Builder, Built},
    formats::{ROWS_MAX, locate::LocatedFile},
    loader::{
        cached::{CacheLocation, KeyFile},
        identity,
        task::TableLoadError,
    },
};
use frames::{
    cache::{CacheBuildError, CacheOptions},
    merge::Tail,
    report::{FileEnd, LoadReport},
};
use model::findings::{Finding, Severity};

/// Maximum new bytes for adding them to the cached table; with more it is imported from scratch.
const NEW_MAX: u64 = 64 << 20;

/// Change of a file since the table was built.
enum Change {
    None,
    /// Bytes were appended to it.
    Grown,
    /// The file is new.
    New,
}

impl TableReader<'_> {
    /// Builds the table from the cached one and the new rows; none where a full import is needed.
    pub(super) fn grow(
        &mut self,
        files: &[LocatedFile],
        cached: &CacheLocation,
    ) -> Result<Option<Built>, TableLoadError> {
        let location = &cached.location;
        // An interrupted import is resumed instead.
        if location.is_begun() || files.iter().any(|file| !file.is_local()) {
            return Ok(None);
        }
        let fits = |report: &LoadReport| changes(report, files, &cached.files).is_some();
        let Some((base, report, name)) = location.find_base(self.load.schema, &cached.stem, fits)
        else {
            return Ok(None);
        };
        let Some(changes) = changes(&report, files, &cached.files) else {
            return Ok(None);
        };
        let (load, schema) = (self.load, self.load.schema);
        let mut check_cancelled = || load.step(0, 0);
        let _lock = match location.lock(&mut check_cancelled) {
            Ok(lock) => lock,
            Err(CacheBuildError::Cancelled) => return Err(TableLoadError::Cancelled),
            Err(CacheBuildError::Damaged | CacheBuildError::Failed(_)) => return Ok(None),
        };
        if let Some(opened) = location.open(schema) {
            return Ok(Some(Built::Elsewhere(Box::new(opened))));
        }
        let known = report.sources.len();
        self.go_on(report);
        (self.grows, self.grown_from) = (true, Some(name));
        let mut rows = Builder::new(schema, None, &CacheOptions::default(), self.is_live());
        let mut first = files.len();
        for (at, change) in changes.iter().enumerate() {
            let before = match change {
                Change::None => continue,
                Change::New => None,
                Change::Grown => match self.continue_file(at, &files[at]) {
                    None => return Ok(None),
                    before => before,
                },
            };
            first = first.min(at);
            match self.read_file(
                at,
                &files[at],
                Some(cached.files[at].ends),
                &mut rows,
                before,
            ) {
                // The error is reported when the file is read in full.
                Err(TableLoadError::Unusable(_)) => return Ok(None),
                outcome => outcome?,
            }
        }
        let (frame, dropped) = rows.into_rows()?;
        if (base.height() + frame.height()) as u64 > ROWS_MAX {
            return Ok(None);
        }
        let tail = Tail {
            frame,
            dropped,
            is_last: first + 1 >= known,
        };
        let options = load.context.cache;
        let last = files
            .get(first)
            .map(|file| file.name.clone())
            .unwrap_or_default();
        let large = frames::merge::grow(
            &base,
            tail,
            location,
            options,
            &mut check_cancelled,
            |repeated| {
                self.note_repeated(&last, repeated);
                self.report(files.len(), &self.table.findings)
            },
        )?;
        if large.is_some() {
            self.table.load_ms = self.start.elapsed().as_millis() as u64;
            location.evict(options.size_max);
        }
        Ok(large.map(|rows| Built::Here(Arc::new(rows))))
    }

    /// What was read of the file before. Its file-level findings are removed, as they are computed again.
    fn continue_file(&mut self, at: usize, file: &LocatedFile) -> Option<Appended> {
        let mut end = std::mem::take(self.ends.get_mut(at)?);
        let learnt = serde_json::from_value(std::mem::take(&mut end.learnt)).ok()?;
        self.table.rows_bad = self.table.rows_bad.saturating_sub(end.rows_bad);
        self.table
            .statistics
            .retain(|statistic| statistic.file != file.name);
        Some(Appended { end, learnt })
    }

    /// Adds a finding about rows whose key is repeated by new rows; their positions are no longer known.
    fn note_repeated(&mut self, file: &str, repeated: u64) {
        if repeated == 0 {
            return;
        }
        let reason = format!(
            "a later row has the same {}; the later row is kept, this one is excluded",
            self.load.schema.key.join(", ")
        );
        self.table
            .findings
            .add(Finding::new(Severity::Warning, file, &reason));
        self.table
            .findings
            .count_more(file, None, &reason, repeated - 1);
    }
}

/// Change of each file since the table was built; none where one was changed otherwise, or too much is new.
fn changes(report: &LoadReport, files: &[LocatedFile], keys: &[KeyFile]) -> Option<Vec<Change>> {
    let same = |(source, file): (&TableFile, &LocatedFile)| source.file == file.name;
    if report.sources.len() > files.len() || !report.sources.iter().zip(files).all(same) {
        return None;
    }
    let mut new = 0;
    let mut changes = Vec::with_capacity(files.len());
    for (at, (file, key)) in files.iter().zip(keys).enumerate() {
        let change = match report.sources.get(at) {
            Some(source)
                if key.is(source)
                    && report
                        .ends
                        .get(at)
                        .is_none_or(|end| end.bytes == 0 || end.bytes == key.lines) =>
            {
                Change::None
            }
            Some(_) => {
                let end = report.ends.get(at).filter(|end| end.bytes > 0)?;
                new += key.bytes.checked_sub(end.bytes)?;
                if !begins_so(&file.path, end) {
                    return None;
                }
                // An incomplete last line does not count.
                if key.lines == end.bytes {
                    Change::None
                } else {
                    Change::Grown
                }
            }
            None => {
                new += key.bytes;
                Change::New
            }
        };
        changes.push(change);
    }
    (new <= NEW_MAX).then_some(changes)
}

fn begins_so(path: &Path, end: &FileEnd) -> bool {
    identity::beginning(path, end.bytes).is_ok_and(|hash| hash == end.hash)
}
