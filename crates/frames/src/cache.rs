//! Cache entries: one folder per table, named by the hash of its inputs (the cache key); while it is built, beside it a lock file and a
//! folder of parts. Lookup, LRU eviction, listing.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::report::LoadReport;
use crate::error::FrameError;
use model::{
    disk_lru::{self, remove},
    field_hash::FieldHash,
    private_files::{exclusively, sync_folder, try_exclusive},
    progress::Cancelled,
    schema::TableSchema,
};
use table::{
    SortLimits,
    index::Index,
    rows::{INDEX, TableRows},
};

/// Location and limits of the cache, and the number of rows from which a table counts as large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// Folder of the cache; without one every table stays in memory.
    pub folder: Option<PathBuf>,
    /// Maximum size of all cached tables in bytes; eviction is LRU.
    pub size_max: u64,
    /// Number of rows from which a table is large.
    pub rows_min: u64,
    /// Bytes of rows that are sorted in memory at a time; after as many, an import writes a checkpoint at the end of a file.
    pub group_max: u64,
    /// Rows per block of the zone map.
    pub block_rows: u64,
    pub sorting: SortLimits,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            folder: None,
            size_max: 20 << 30,
            rows_min: 200_000,
            group_max: 32 << 20,
            block_rows: 1 << 16,
            sorting: SortLimits::default(),
        }
    }
}

/// Format version: incremented whenever a table is stored or read differently.
pub const CACHE_VERSION: u32 = 8;
const LOCK: &str = ".lock";
const PART: &str = ".part";
/// Poll interval while waiting for another program's lock; each poll checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Reason why an import did not finish.
#[derive(Debug)]
pub enum CacheBuildError {
    Cancelled,
    /// The spill files do not match the checkpoint: the import has to restart.
    Damaged,
    Failed(FrameError),
}

impl From<Cancelled> for CacheBuildError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<io::Error> for CacheBuildError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData {
            Self::Damaged
        } else {
            Self::Failed(error.into())
        }
    }
}

impl From<polars::prelude::PolarsError> for CacheBuildError {
    fn from(error: polars::prelude::PolarsError) -> Self {
        Self::Failed(error.into())
    }
}

/// Cache key of a table: equal keys mean equal inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Of a hash of all inputs but the version of the format.
    pub fn new(mut hash: FieldHash) -> Self {
        hash.add(CACHE_VERSION.to_le_bytes());
        Self(hash.file_name())
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Location of one table in the cache.
#[derive(Debug, Clone)]
pub struct EntryLocation {
    tables: PathBuf,
    name: String,
    sorting: SortLimits,
}

impl EntryLocation {
    /// Location in the cache folder, which is created if missing.
    pub fn new(cache: &Path, key: &Key, sorting: SortLimits) -> io::Result<Self> {
        let tables = cache.join("tables");
        // User-only permissions, as the data may be private.
        model::system::create_private_folder(&tables)?;
        Ok(Self {
            tables,
            name: key.0.clone(),
            sorting,
        })
    }

    /// Finds the entry that covers the most source bytes, among those with `stem` whose report `fits`; returns table, report and name.
    pub fn find_base(
        &self,
        schema: &'static TableSchema,
        stem: &Key,
        fits: impl Fn(&LoadReport) -> bool,
    ) -> Option<(TableRows, LoadReport, String)> {
        let mut best: Option<(u64, PathBuf, String)> = None;
        let read = |report: &LoadReport| {
            report
                .sources
                .iter()
                .map(|source| source.bytes)
                .sum::<u64>()
        };
        for entry in fs::read_dir(&self.tables).into_iter().flatten().flatten() {
            let (folder, Ok(name)) = (entry.path(), entry.file_name().into_string()) else {
                continue;
            };
            if name.ends_with(PART) || name.ends_with(LOCK) || name == self.name {
                continue;
            }
            let Ok(index) = Index::open(&folder.join(INDEX)) else {
                continue;
            };
            let metadata = &index.metadata;
            let Ok(report) = LoadReport::read(&metadata.report) else {
                continue;
            };
            let bytes = read(&report);
            let more = best.as_ref().is_none_or(|best| best.0 < bytes);
            if metadata.table == schema.name && report.stem == stem.0 && more && fits(&report) {
                best = Some((bytes, folder, name));
            }
        }
        let (_, folder, name) = best?;
        let (table, report) = self.read(&folder, schema).ok()?;
        Some((table, report, name))
    }

    /// Removes an entry that no table grows from any more. Programs that have it open keep their mapping.
    pub(super) fn drop_beside(&self, name: &str) {
        remove(&self.tables.join(name));
    }

    fn folder(&self) -> PathBuf {
        self.tables.join(&self.name)
    }

    /// Folder of the parts of an import.
    pub fn part(&self) -> PathBuf {
        self.tables.join(format!("{}{PART}", self.name))
    }

    /// Opens the table if it is present and intact; a damaged one is removed.
    pub fn open(&self, schema: &'static TableSchema) -> Option<(TableRows, LoadReport)> {
        let folder = self.folder();
        if !folder.is_dir() {
            return None;
        }
        match self.read(&folder, schema) {
            Ok(opened) => {
                // The modification time records the last use, for LRU eviction.
                OpenOptions::new()
                    .append(true)
                    .open(folder.join(INDEX))
                    .and_then(|file| file.set_modified(SystemTime::now()))
                    .ok();
                Some(opened)
            }
            Err(reason) => {
                tracing::warn!("rebuilding `{}` in the cache: {reason}", schema.name);
                remove(&folder);
                None
            }
        }
    }

    /// Opens the table in `folder`, one of the cache's.
    pub(super) fn read(
        &self,
        folder: &Path,
        schema: &'static TableSchema,
    ) -> Result<(TableRows, LoadReport), FrameError> {
        let (table, report) = TableRows::open(folder, schema, self.sorting)?;
        Ok((table, LoadReport::read(&report)?))
    }

    /// Whether the table is present, intact or not.
    pub fn exists(&self) -> bool {
        self.folder().is_dir()
    }

    /// Removes the parts of an unfinished import.
    pub fn forget(&self) {
        remove(&self.part());
    }

    /// Whether an unfinished import is present.
    pub fn is_begun(&self) -> bool {
        self.part().is_dir()
    }

    /// Waits for the lock that a program holds while it builds this table.
    pub fn lock(
        &self,
        check_cancelled: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<File, CacheBuildError> {
        loop {
            let tried = try_lock(&self.tables, &self.name);
            if let Some(lock) = tried.map_err(CacheBuildError::Failed)? {
                return Ok(lock);
            }
            check_cancelled()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Renames the finished table in `made` to its final name.
    pub(super) fn keep(&self, made: &Path) -> io::Result<PathBuf> {
        let folder = self.folder();
        if folder.exists() {
            remove(&folder);
        }
        fs::rename(made, &folder)?;
        sync_folder(&self.tables);
        Ok(folder)
    }

    /// Evicts the least recently used entries until all fit into `size_max`; this one stays.
    pub fn evict(&self, size_max: u64) {
        let Some(cache) = self.tables.parent() else {
            return;
        };
        let about = |entry: &Entry| (entry.used, entry.bytes);
        disk_lru::evict(list(cache), size_max, about, |entry| {
            let goes = entry.name != self.name && entry.remove();
            if goes {
                tracing::info!(
                    "removed `{}` from the cache, which exceeded its size limit",
                    entry.table
                );
            }
            goes
        });
        remove_free_locks(&self.tables);
    }
}

/// An entry of the cache, or an unfinished import, for listings.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    /// Name of the schema table; empty while unknown.
    pub table: String,
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    pub used: Option<SystemTime>,
    /// Whether the import is unfinished.
    pub part: bool,
    folder: PathBuf,
}

impl Entry {
    /// Removes the entry, unless a program is building it right now. Programs that have it open keep their mapping.
    pub fn remove(&self) -> bool {
        let Some(tables) = self.folder.parent() else {
            return false;
        };
        let Ok(Some(lock)) = try_lock(tables, &self.name) else {
            return false;
        };
        let is_gone = remove(&self.folder);
        drop(lock);
        remove_free_locks(tables);
        is_gone
    }
}

/// Takes the lock by which only one program at a time builds a table, unless another has it. A waiting program opens the file each time
/// it tries, as it may be another file by then: it is opened and removed only under the lock of the folder.
fn try_lock(tables: &Path, name: &str) -> Result<Option<File>, FrameError> {
    exclusively(tables, || {
        Ok(try_exclusive(&tables.join(format!("{name}{LOCK}")))?)
    })
}

/// Removes the lock files that no program has locked.
fn remove_free_locks(tables: &Path) {
    let sweep = || {
        for file in fs::read_dir(tables).into_iter().flatten().flatten() {
            let path = file.path();
            let is_lock = path
                .as_os_str()
                .as_encoded_bytes()
                .ends_with(LOCK.as_bytes());
            if is_lock && File::open(&path).is_ok_and(|lock| lock.try_lock().is_ok()) {
                fs::remove_file(&path).ok();
            }
        }
        Ok::<_, FrameError>(())
    };
    exclusively(tables, sweep).ok();
}

/// Lists the entries of the cache, including unfinished imports.
pub fn list(cache: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(cache.join("tables"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let (folder, Ok(name)) = (entry.path(), entry.file_name().into_string()) else {
            continue;
        };
        if name.ends_with(LOCK) || !folder.is_dir() {
            continue;
        }
        let part = name.ends_with(PART);
        let index = Index::open(&folder.join(INDEX)).ok();
        let used = fs::metadata(if part {
            folder.clone()
        } else {
            folder.join(INDEX)
        })
        .and_then(|meta| meta.modified())
        .ok();
        let (table, rows) = index.map_or((String::new(), 0), |index| {
            (index.metadata.table, index.metadata.rows)
        });
        entries.push(Entry {
            name: name.trim_end_matches(PART).to_owned(),
            table,
            rows,
            bytes: disk_lru::size(&folder),
            used,
            part,
            folder,
        });
    }
    entries.sort_by(|a, b| (&a.table, &a.name).cmp(&(&b.table, &b.name)));
    entries
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn a_lock_file_goes_once_nobody_has_its_lock_and_a_waiter_gets_the_lock_of_the_next() {
        let cache = tempfile::tempdir().expect("a folder");
        let location = |name: &str| {
            EntryLocation::new(cache.path(), &Key(name.to_owned()), SortLimits::default())
                .expect("a folder")
        };
        let (one, two) = (location("one"), location("two"));
        let lock = |of: &EntryLocation| of.lock(&mut || Err(Cancelled));
        let files = || {
            let there = |of: &EntryLocation| of.folder().with_extension("lock").exists();
            (there(&one), there(&two))
        };
        let held = lock(&one).expect("a lock");
        drop(lock(&two).expect("a lock"));
        assert_eq!(files(), (true, true));
        assert!(list(cache.path()).is_empty(), "locks are no entries");
        remove_free_locks(&one.tables);
        assert_eq!(files(), (true, false));
        assert!(matches!(lock(&one), Err(CacheBuildError::Cancelled)));
        let waits = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut told = || {
                    waits.store(true, Ordering::Release);
                    Ok(())
                };
                one.lock(&mut told).expect("a lock")
            });
            while !waits.load(Ordering::Acquire) {
                thread::yield_now();
            }
            drop(held);
            remove_free_locks(&one.tables);
            let held = waiter.join().expect("no panic");
            assert!(matches!(lock(&one), Err(CacheBuildError::Cancelled)));
            fs::create_dir_all(one.folder()).expect("an entry");
            let entries = list(cache.path());
            assert!(!entries[0].remove(), "it is being built");
            drop(held);
            assert!(entries[0].remove());
            assert_eq!(files(), (false, false));
        });
    }
}
