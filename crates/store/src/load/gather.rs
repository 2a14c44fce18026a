//! Collects the rows of a table as they are read: in memory until there are too many, then in the cache, which also takes every later
//! batch.

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use super::{
    file::FileState,
    identity, others,
    task::{TableLoad, TableLoadError, total_bytes},
};
use crate::cache::{
    CacheBuilder, CacheOptions, EntryLocation, Key, KeyFile, LoadReport, TableRows,
};
use model::{progress::Cancelled, schema::TableSchema};
use source::decode::guarded;
use source::{
    ReadSoFar, lines_of,
    locate::{FileStamp, LocatedFile},
};

pub(super) struct Gathered {
    /// The rows of the files before this one.
    pub held: Option<DataFrame>,
    /// File and row number of each row.
    pub origins: Vec<(u32, u32)>,
    pub import: Option<CacheBuilder>,
    pub location: Option<EntryLocation>,
    options: CacheOptions,
}

impl Gathered {
    pub(super) fn new(location: Option<EntryLocation>, options: &CacheOptions) -> Self {
        Self {
            held: None,
            origins: Vec::new(),
            import: None,
            location,
            options: options.clone(),
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.import
            .as_ref()
            .map_or(self.origins.len() as u64, CacheBuilder::rows)
    }

    /// Moves the rows read so far of file `at` to the cache, if they are too many for memory.
    pub(super) fn take(
        &mut self,
        schema: &'static TableSchema,
        at: u32,
        frames: &mut Vec<DataFrame>,
        numbers: &mut Vec<u32>,
        check_cancelled: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<(), TableLoadError> {
        if self.import.is_none() {
            let rows = (self.origins.len() + numbers.len()) as u64;
            let Some(location) = self
                .location
                .clone()
                .filter(|_| rows >= self.options.rows_min.max(1))
            else {
                return Ok(());
            };
            if self.begin(&location, schema, check_cancelled)?.is_some() {
                // Another program began the import meanwhile and was interrupted: it restarts.
                self.import
                    .take()
                    .into_iter()
                    .for_each(CacheBuilder::abandon);
                self.begin(&location, schema, check_cancelled)?;
            }
            if let (Some(import), Some(held)) = (&mut self.import, self.held.take()) {
                let origins = std::mem::take(&mut self.origins);
                let mut start = 0;
                for file in origins.chunk_by(|a, b| a.0 == b.0) {
                    let numbers: Vec<u32> = file.iter().map(|(_, row)| *row).collect();
                    import.add(held.slice(start as i64, numbers.len()), file[0].0, &numbers)?;
                    start += numbers.len();
                }
            }
        }
        let Some(import) = &mut self.import else {
            return Ok(());
        };
        let mut start = 0;
        for frame in frames.drain(..) {
            let end = start + frame.height();
            import.add(frame, at, &numbers[start..end])?;
            start = end;
        }
        numbers.clear();
        Ok(())
    }

    /// Begins the import, or resumes an interrupted one; stops if another program has built the table meanwhile.
    pub(super) fn begin(
        &mut self,
        location: &EntryLocation,
        schema: &'static TableSchema,
        check_cancelled: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<Option<ReadState>, TableLoadError> {
        let lock = location.lock(check_cancelled)?;
        if let Some((table, report)) = location.open(schema) {
            return Err(TableLoadError::Ready(Box::new((table, report))));
        }
        let (import, state) = CacheBuilder::begin(location, &lock, schema, &self.options)?;
        self.import = Some(import);
        Ok(state)
    }

    /// Keeps the rows of a finished file in memory.
    pub(super) fn hold(
        &mut self,
        at: u32,
        mut frame: DataFrame,
        numbers: Vec<u32>,
    ) -> Result<(), TableLoadError> {
        self.origins
            .extend(numbers.into_iter().map(|row| (at, row)));
        match &mut self.held {
            None => self.held = Some(frame),
            Some(held) => {
                others::align(held, &mut frame)?;
                guarded("table", || held.vstack_mut(&frame).map(|_| ()))?;
            }
        }
        Ok(())
    }
}

/// Position in the sources, for checkpoints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadState {
    /// Index of the current file; past the last once all are read.
    pub file: u32,
    /// Batches read of it.
    pub batches: u64,
    /// Rows of this file, rejected rows, rows excluded by `where`.
    pub rows: u64,
    pub file_bad: u64,
    pub left_out: u64,
    /// State learned about this file.
    pub learnt: FileState,
    /// Load report so far, including the sources up to this file.
    pub report: LoadReport,
    /// Position where reading resumes, in a file that was appended to.
    #[serde(skip)]
    pub from: Option<ReadSoFar>,
}

/// A large table with its load report.
pub(super) type OpenedTable = (TableRows, LoadReport);

/// Typical bytes per row in files with more rows than a table in memory may have.
const ROW_BYTES: u64 = 100;

/// Whether the table is large, judging by its files, and not yet in the cache.
pub(super) fn takes_a_while(load: &TableLoad<'_>, files: &[LocatedFile]) -> bool {
    let bytes = total_bytes(files);
    let large = |location: &EntryLocation| {
        location.is_begun() || bytes >= load.context.cache.rows_min.saturating_mul(ROW_BYTES)
    };
    cache_location(load, files)
        .is_some_and(|cached| !cached.location.exists() && large(&cached.location))
}

/// Location of a table in the cache.
pub(super) struct CacheLocation {
    pub(super) location: EntryLocation,
    /// Its cache key without its files.
    pub(super) stem: Key,
    pub(super) files: Vec<KeyFile>,
}

/// Location of the table in the cache, if it may be large and there is a cache.
pub(super) fn cache_location(load: &TableLoad<'_>, files: &[LocatedFile]) -> Option<CacheLocation> {
    let TableLoad {
        context,
        schema,
        manifest,
    } = *load;
    let cache = context.cache.folder.as_deref()?;
    if !schema.mapped {
        return None;
    }
    let keys: Option<Vec<KeyFile>> = files
        .iter()
        .map(|file| key_of(file, context.growing))
        .collect();
    let keys = keys?;
    // A row takes a byte at least, except in repetitive columns, which fit into memory as well.
    if keys.iter().map(|file| file.bytes).sum::<u64>() < context.cache.rows_min {
        return None;
    }
    let key = |files: &[KeyFile]| {
        Key::of(
            schema,
            manifest,
            &context.decimals,
            &context.blocks.files,
            files,
        )
    };
    match EntryLocation::new(cache, &key(&keys), context.cache.sorting) {
        Ok(location) => Some(CacheLocation {
            location,
            stem: key(&[]),
            files: keys,
        }),
        Err(error) => {
            tracing::warn!(
                "cannot use the cache `{}`; `{}` is read into memory: {error}",
                cache.display(),
                schema.name
            );
            None
        }
    }
}

/// The file as part of the cache key; none where it cannot be read, or is no regular file.
fn key_of(file: &LocatedFile, growing: bool) -> Option<KeyFile> {
    let (
        local,
        FileStamp {
            bytes,
            nanoseconds: modified,
            ..
        },
    ) = (file.is_local(), file.stamp().ok()?);
    if local && !file.path.is_file() {
        return None;
    }
    let path = if local {
        file.path.canonicalize().ok()?
    } else {
        file.path.clone()
    };
    let lines = if local && growing {
        lines_of(&file.path, bytes).unwrap_or(bytes)
    } else {
        bytes
    };
    Some(KeyFile {
        path,
        bytes,
        modified,
        ends: identity::ends(file).ok()?,
        lines,
    })
}
