//! Detects possible changes of a dataset's files with file system notifications, or by polling if there are none. The query service decides
//! whether and when to reload.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf, absolute},
    sync::{Arc, RwLock},
    time::SystemTime,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};

use crate::{
    formats::locate,
    live_files, loader,
    manifest::{FILE, Manifest, TableManifest},
};
use model::{locks::SharedLock as _, schema::TABLES, system::FileId};
use wire::UrlPattern;

/// Maximum number of symlinks followed on the way to the folder.
const LINKS_MAX: usize = 32;
/// Maximum number of watched folders; with more the files are polled.
const FOLDERS_MAX: usize = 4_000;

/// A file's size, time and identity, one of which changes with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: SystemTime,
    file: FileId,
}

/// State of a dataset's files at one moment; equal stamps mean equal files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStamps {
    files: Vec<(PathBuf, Option<Stamp>)>,
}

/// Hashes of the heads and tails of files, which show whether a file that grew was appended to or rewritten.
#[derive(Debug, Clone, Default)]
pub struct Ends(HashMap<PathBuf, [u8; 32]>);

/// Maximum number of files with known ends; with more none counts as appended to.
const ENDS_MAX: usize = 256;

impl FileStamps {
    /// Stamps of the dataset in `folder`: `dataset.toml` and every file that a table is read from.
    pub fn of(folder: &Path) -> Self {
        let stamp = |path: &Path| {
            let meta = fs::metadata(path).ok()?;
            Some(Stamp {
                bytes: meta.len(),
                modified: meta.modified().ok()?,
                file: FileId::of(path).ok()?,
            })
        };
        // The absolute path, however the folder was named: stamps are compared.
        let folder = &absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let mut files = vec![folder.join(FILE)];
        let text = loader::read_manifest(&files[0]).unwrap_or_default();
        let manifest = Manifest::parse(&text).unwrap_or_default();
        for schema in TABLES {
            let paths = manifest
                .tables
                .get(schema.name)
                .map_or(&[][..], |table| &table.path);
            // Remote files cannot be watched.
            let here: Vec<String> = paths
                .iter()
                .filter(|path| !UrlPattern::is_url(path))
                .cloned()
                .collect();
            let asked = manifest
                .tables
                .get(schema.name)
                .is_some_and(|table| table.engine.is_some() || table.logs.is_some());
            if asked || here.len() < paths.len() && here.is_empty() {
                continue;
            }
            let mut local = TableManifest {
                path: here,
                ..TableManifest::default()
            };
            local.live = manifest
                .tables
                .get(schema.name)
                .and_then(|table| table.live.clone());
            match locate::here(folder, schema.name, &local) {
                Ok(found) => files.extend(found.into_iter().map(|found| found.path)),
                // Files that are named but missing count too: they may appear.
                Err(_) => files.extend(local.path.iter().map(|path| folder.join(path))),
            }
        }
        Self {
            files: files
                .into_iter()
                .map(|path| (path.clone(), stamp(&path)))
                .collect(),
        }
    }

    /// Whether a file present in `before` is missing now.
    pub fn lacks_what(&self, before: &Self) -> bool {
        let there: HashSet<&Path> = self
            .files
            .iter()
            .filter(|(_, stamp)| stamp.is_some())
            .map(|(path, _)| &**path)
            .collect();
        before
            .files
            .iter()
            .any(|(path, stamp)| stamp.is_some() && !there.contains(&**path))
    }

    pub fn ends(&self) -> Ends {
        let there: Vec<_> = self
            .files
            .iter()
            .filter_map(|(path, stamp)| Some((path, (*stamp)?)))
            .collect();
        if there.len() > ENDS_MAX {
            return Ends::default();
        }
        Ends(
            there
                .into_iter()
                .filter_map(|(path, stamp)| {
                    Some((
                        path.clone(),
                        loader::identity::tips(path, stamp.bytes).ok()?,
                    ))
                })
                .collect(),
        )
    }

    /// Whether files were only appended to since `before`, whose ends are `ends`.
    pub fn appends_to(&self, before: &Self, ends: &Ends) -> bool {
        let appended = |path: &PathBuf, now: Stamp, then: Stamp| {
            let same = || loader::identity::tips(path, then.bytes).ok();
            now.file == then.file
                && now.bytes > then.bytes
                && ends
                    .0
                    .get(path)
                    .is_some_and(|ends| same().as_ref() == Some(ends))
        };
        self.files.len() == before.files.len()
            && self
                .files
                .iter()
                .zip(&before.files)
                .all(|((path, now), (then_path, then))| {
                    path == then_path
                        && match (now, then) {
                            (Some(now), Some(then)) => now == then || appended(path, *now, *then),
                            (now, then) => now == then,
                        }
                })
    }
}

/// Filter of notifications.
#[derive(Debug, Default)]
struct Interest {
    /// Folders in which every entry counts.
    folders: HashSet<PathBuf>,
    /// Single paths, in folders with other contents.
    names: HashSet<PathBuf>,
}

impl Interest {
    fn counts(&self, event: &Event) -> bool {
        // A read is not a change, and the program itself reads.
        let reads = matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write));
        let hidden = |path: &Path| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        };
        let inside = |path: &PathBuf| {
            path.parent()
                .is_some_and(|parent| self.folders.contains(parent))
                && !hidden(path)
        };
        let named = |path: &PathBuf| self.names.contains(path) || self.folders.contains(path);
        !reads
            && (event.need_rescan() || event.paths.iter().any(|path| inside(path) || named(path)))
    }
}

/// Watches the folders of a dataset's files.
pub struct FileWatcher {
    watcher: Option<RecommendedWatcher>,
    /// The watched folders with their identities, as another folder may have replaced one.
    watched: HashMap<PathBuf, FileId>,
    interest: Arc<RwLock<Interest>>,
    polling_because: Option<String>,
}

impl std::fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileWatcher")
            .field("watched", &self.watched.len())
            .field("polling_because", &self.polling_because)
            .finish_non_exhaustive()
    }
}

impl FileWatcher {
    /// Watches files; `changed` is called, on a thread of the system, whenever they may have changed.
    pub fn open(changed: impl Fn() + Send + 'static) -> Self {
        let interest = Arc::new(RwLock::new(Interest::default()));
        let seen = Arc::clone(&interest);
        let hear = move |event: notify::Result<Event>| {
            let counts = event.is_ok_and(|event| seen.reading().counts(&event));
            if counts {
                changed();
            }
        };
        let mut new = Self {
            watcher: None,
            watched: HashMap::new(),
            interest,
            polling_because: None,
        };
        match notify::recommended_watcher(hear) {
            Ok(watcher) => new.watcher = Some(watcher),
            Err(error) => new.close(&error),
        }
        new
    }

    /// A watcher without notifications, used when the system has none.
    pub fn polling(reason: &str) -> Self {
        Self {
            watcher: None,
            watched: HashMap::new(),
            interest: Arc::default(),
            polling_because: Some(reason.to_owned()),
        }
    }

    /// Reason why there are no notifications and the files are polled.
    pub fn polling_because(&self) -> Option<&str> {
        self.polling_because.as_deref()
    }

    fn close(&mut self, error: &notify::Error) {
        self.polling_because = Some(match &error.kind {
            notify::ErrorKind::MaxFilesWatch => {
                "the system's limit on watched folders is reached".to_owned()
            }
            _ => error.to_string(),
        });
        self.watcher = None;
        self.watched.clear();
    }

    /// Returns the stamps of the dataset, and watches the folders of its files from now on.
    pub fn look(&mut self, folder: &Path) -> FileStamps {
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        // Watched first, so that a change while the stamps are taken is notified.
        let before = FileStamps::of(&folder);
        self.watch(&folder, &before);
        FileStamps::of(&folder)
    }

    fn watch(&mut self, folder: &Path, stamps: &FileStamps) {
        if self.watcher.is_none() {
            return;
        }
        let mut interest = Interest::default();
        interest.folders.insert(folder.to_owned());
        // The folder itself may be replaced, and so may any symlink on the way to it.
        interest.names.insert(folder.to_owned());
        interest.names.extend(
            folder
                .ancestors()
                .skip(1)
                .take(LINKS_MAX)
                .filter(|path| path.is_symlink())
                .map(Path::to_owned),
        );
        let by_name = |below: &Path| {
            TABLES
                .iter()
                .map(|schema| below.join(schema.name))
                .collect::<Vec<_>>()
        };
        let live = folder.join(live_files::FOLDER);
        let folders = by_name(folder)
            .into_iter()
            .chain(by_name(&live))
            .chain([live]);
        interest
            .folders
            .extend(folders.filter(|folder| folder.is_dir()));
        for (path, _) in &stamps.files {
            interest.folders.extend(path.parent().map(Path::to_owned));
            if path.is_symlink() {
                interest.folders.extend(
                    path.canonicalize()
                        .ok()
                        .and_then(|real| real.parent().map(Path::to_owned)),
                );
            }
        }
        let beside: Vec<PathBuf> = interest
            .names
            .iter()
            .filter_map(|path| path.parent().map(Path::to_owned))
            .collect();
        let wanted: HashSet<PathBuf> = interest.folders.iter().cloned().chain(beside).collect();
        *self.interest.writing() = interest;
        if wanted.len() > FOLDERS_MAX {
            self.watcher = None;
            self.polling_because =
                Some(format!("the files are in more than {FOLDERS_MAX} folders"));
            return;
        }
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let gone: Vec<PathBuf> = self
            .watched
            .keys()
            .filter(|path| !wanted.contains(*path))
            .cloned()
            .collect();
        for path in gone {
            self.watched.remove(&path);
            watcher.unwatch(&path).ok();
        }
        let mut failed = None;
        for path in wanted {
            let Ok(which) = FileId::of(&path) else {
                continue;
            };
            if self.watched.get(&path) == Some(&which) || !path.is_dir() {
                continue;
            }
            if self.watched.remove(&path).is_some() {
                watcher.unwatch(&path).ok();
            }
            match watcher.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(path, which);
                }
                // It disappeared meanwhile; its parent notifies when it returns.
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            self.close(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_folder_has_the_stamps_of_its_absolute_path() {
        let here = Path::new("../../datasets");
        let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join(here);
        let stamps = FileStamps::of(here);
        assert!(stamps.files.iter().any(|(_, stamp)| stamp.is_some()));
        assert_eq!(stamps, FileStamps::of(&whole));
        assert_eq!(stamps, FileWatcher::polling("a test").look(here));
    }
}
