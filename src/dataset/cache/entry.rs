//! The folders of the cache: one a table, named by the hash of what it was made from (its key); beside it a lock file and, while it is
//! made, a folder of parts. Looking up, eviction, listing.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};

use super::{
    SortLimits,
    index::{Index, LoadReport, SourceFile},
    table::{INDEX, LargeTable},
};
use crate::dataset::{
    address::Address,
    manifest::{ColumnManifest, TableManifest, Unit},
    progress::Cancelled,
    schema::TableSchema,
};

/// Counts up whenever a table is kept or read otherwise than before.
const VERSION: u32 = 5;
const LOCK: &str = ".lock";
const PART: &str = ".part";
/// How often a program that waits for another looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// A file as the key names it: path, length, time in nanoseconds, hash of head and tail, length of what is read.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) modified: u128,
    pub(crate) ends: [u8; 32],
    /// Bytes that are read: fewer where it is appended to and its last line is not whole.
    pub(crate) lines: u64,
}

/// The cache key of a table: equal keys mean that it was made from the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn of(
        schema: &TableSchema,
        manifest: &TableManifest,
        decimals: &HashMap<Address, Option<i64>>,
        blocks: &[[u8; 32]],
        files: &[KeyFile],
    ) -> Self {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(&VERSION.to_le_bytes());
        // How cells are read may change with the program.
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(schema.text().as_bytes());
        add(manifest_text(schema, manifest).as_bytes());
        let whole = manifest.columns.get("value").is_some_and(|value| value.unit == Some(Unit::Whole));
        let mut decimals: Vec<_> = decimals.iter().filter(|_| schema.name == "holders" || whole).collect();
        decimals.sort_unstable();
        for pair in decimals {
            add(format!("{pair:?}").as_bytes());
        }
        for block in blocks.iter().filter(|_| schema.name == "transfers") {
            add(block);
        }
        for file in files {
            add(file.path.as_os_str().as_encoded_bytes());
            add(&file.bytes.to_le_bytes());
            add(&file.modified.to_le_bytes());
            add(&file.ends);
            add(&file.lines.to_le_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        Self(digest.first_chunk().map_or_else(String::new, |name| format!("{:032x}", u128::from_be_bytes(*name))))
    }
}

/// What `dataset.toml` says of the table, the same text for the same meaning.
fn manifest_text(schema: &TableSchema, manifest: &TableManifest) -> String {
    let mut text = format!("{:?} {:?} {} {}", manifest.path, manifest.keep, manifest.headless, manifest.skip);
    for column in schema.columns {
        if let Some(constant) = manifest.set.get(column.name) {
            text.push_str(&format!(" {}={constant:?}", column.name));
        }
        if let Some(rule) = manifest.columns.get(column.name) {
            let mut values: Vec<_> = rule.values.iter().collect();
            values.sort_unstable();
            let plain = ColumnManifest { values: HashMap::new(), ..rule.clone() };
            text.push_str(&format!(" {}:{plain:?}{values:?}", column.name));
        }
    }
    text
}

/// The place of one table in the cache.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    tables: PathBuf,
    name: String,
    sorting: SortLimits,
}

impl Place {
    /// In the cache folder, which is created where it is missing.
    pub(crate) fn new(cache: &Path, key: &Key, sorting: SortLimits) -> io::Result<Self> {
        let tables = cache.join("tables");
        // For the user alone, as the data may be.
        DirBuilder::new().recursive(true).mode(0o700).create(&tables)?;
        Ok(Self { tables, name: key.0.clone(), sorting })
    }

    /// The table of the cache with most in it of those made with `stem` and whose report `fits`, with its name.
    pub(crate) fn like(
        &self,
        schema: &'static TableSchema,
        stem: &Key,
        fits: impl Fn(&LoadReport) -> bool,
    ) -> Option<(LargeTable, LoadReport, String)> {
        let mut best: Option<(u64, PathBuf, String)> = None;
        let read = |report: &LoadReport| report.sources.iter().map(SourceFile::bytes).sum::<u64>();
        for entry in fs::read_dir(&self.tables).into_iter().flatten().flatten() {
            let (folder, Ok(name)) = (entry.path(), entry.file_name().into_string()) else { continue };
            if name.ends_with(PART) || name.ends_with(LOCK) || name == self.name {
                continue;
            }
            let Ok(index) = Index::open(&folder.join(INDEX)) else { continue };
            let about = &index.about;
            let bytes = read(&about.report);
            let more = best.as_ref().is_none_or(|best| best.0 < bytes);
            if about.table == schema.name && about.report.stem == stem.0 && more && fits(&about.report) {
                best = Some((bytes, folder, name));
            }
        }
        let (_, folder, name) = best?;
        let (table, report) = self.read(&folder, schema).ok()?;
        Some((table, report, name))
    }

    /// Takes a table that no one grows from any more out of the cache. Programs that have it open go on with it.
    pub(super) fn drop_beside(&self, name: &str) {
        remove(&self.tables.join(name));
    }

    fn folder(&self) -> PathBuf {
        self.tables.join(&self.name)
    }

    /// Where the parts lie while the table is made.
    pub(super) fn part(&self) -> PathBuf {
        self.tables.join(format!("{}{PART}", self.name))
    }

    /// The table, if it is there and whole. One that is not is taken out.
    pub(crate) fn open(&self, schema: &'static TableSchema) -> Option<(LargeTable, LoadReport)> {
        let folder = self.folder();
        if !folder.is_dir() {
            return None;
        }
        match self.read(&folder, schema) {
            Ok(opened) => {
                // When it was used last decides what goes first.
                OpenOptions::new().append(true).open(folder.join(INDEX)).and_then(|file| file.set_modified(SystemTime::now())).ok();
                Some(opened)
            }
            Err(reason) => {
                tracing::warn!("`{}` in the cache is made anew: {reason}", schema.name);
                remove(&folder);
                None
            }
        }
    }

    /// Opens the table in the folder, which is one of the cache's.
    pub(super) fn read(&self, folder: &Path, schema: &'static TableSchema) -> Result<(LargeTable, LoadReport), String> {
        LargeTable::open(folder, schema, self.sorting)
    }

    /// Whether the table is there, whole or not.
    pub(crate) fn is_there(&self) -> bool {
        self.folder().is_dir()
    }

    /// Removes what an import left.
    pub(crate) fn forget(&self) {
        remove(&self.part());
    }

    /// Whether an import was begun and not finished.
    pub(crate) fn is_begun(&self) -> bool {
        self.part().is_dir()
    }

    /// Waits until no other program makes this table; `wanted` ends the wait.
    pub(crate) fn lock(&self, wanted: &mut dyn FnMut() -> Result<(), Cancelled>) -> Result<io::Result<File>, Cancelled> {
        let file = match open_lock(&self.tables, &self.name) {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Ok(file)),
                Err(TryLockError::WouldBlock) => {
                    wanted()?;
                    std::thread::sleep(LOOK);
                }
                Err(TryLockError::Error(error)) => return Ok(Err(error)),
            }
        }
    }

    /// Gives the finished table in `made` its name.
    pub(super) fn keep(&self, made: &Path) -> io::Result<PathBuf> {
        let folder = self.folder();
        if folder.exists() {
            remove(&folder);
        }
        fs::rename(made, &folder)?;
        // The name is durable with its folder; where a file system cannot sync one, nothing more can be done.
        File::open(&self.tables).and_then(|tables| tables.sync_all()).ok();
        Ok(folder)
    }

    /// Takes out those used longest ago until all fit into `size_max`; this one stays.
    pub(crate) fn evict(&self, size_max: u64) {
        let Some(cache) = self.tables.parent() else { return };
        let mut entries = list(cache);
        entries.sort_by_key(|entry| entry.used);
        let mut size: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries.iter().filter(|entry| entry.name != self.name) {
            if size <= size_max {
                break;
            }
            if entry.remove() {
                tracing::info!("took `{}` out of the cache, which is over its size", entry.table);
                size = size.saturating_sub(entry.bytes);
            }
        }
    }
}

/// A table of the cache, or one that is half made, as it is listed.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: String,
    /// The table it is of; empty while that is not known.
    pub table: String,
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    pub used: Option<SystemTime>,
    /// It was begun and not finished.
    pub part: bool,
    folder: PathBuf,
}

impl Entry {
    /// Takes it out, unless a program is making it right now. Programs that have it open go on with it.
    pub fn remove(&self) -> bool {
        let Some(Ok(file)) = self.folder.parent().map(|tables| open_lock(tables, &self.name)) else { return false };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return false;
        }
        // The lock stays: who waits for it must wait for the one that others find.
        remove(&self.folder);
        !self.folder.exists()
    }
}

/// The file by whose lock a table is made by one program at a time.
fn open_lock(tables: &Path, name: &str) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(tables.join(format!("{name}{LOCK}")))
}

/// Every table in the cache, and what is half made.
pub fn list(cache: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(cache.join("tables")).into_iter().flatten().flatten() {
        let (folder, Ok(name)) = (entry.path(), entry.file_name().into_string()) else { continue };
        if !folder.is_dir() {
            continue;
        }
        let part = name.ends_with(PART);
        let index = Index::open(&folder.join(INDEX)).ok();
        let used = fs::metadata(if part { folder.clone() } else { folder.join(INDEX) }).and_then(|meta| meta.modified()).ok();
        let (table, rows) = index.map_or((String::new(), 0), |index| (index.about.table, index.about.rows));
        entries.push(Entry { name: name.trim_end_matches(PART).to_owned(), table, rows, bytes: size(&folder), used, part, folder });
    }
    entries.sort_by(|a, b| (&a.table, &a.name).cmp(&(&b.table, &b.name)));
    entries
}

/// Bytes on disk of what lies in the folder and one below.
fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|file| file.metadata().map_or(0, |meta| if meta.is_dir() { size(&file.path()) } else { meta.blocks() * 512 })).sum()
}

/// Removes a folder so that no one finds half of it: it loses its name first.
pub(super) fn remove(folder: &Path) {
    let away = folder.with_extension(format!("gone-{}{PART}", std::process::id()));
    let gone = if fs::rename(folder, &away).is_ok() { &away } else { folder };
    fs::remove_dir_all(gone).ok();
}
