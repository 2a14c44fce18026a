//! The staging folder of an import: a hidden subfolder of the dataset's, locked by one import at a time. A crash leaves at most that folder
//! behind, from which no table is read, and the next import clears it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::error::ImportError;
use model::system::FileId;

/// The folder's name.
const FOLDER: &str = ".import";
const LOCK: &str = "lock";

/// The locked staging folder, removed on drop.
#[derive(Debug)]
pub(super) struct StagingFolder {
    pub folder: PathBuf,
    /// The dataset's folder, if this import created it: removed with the staging folder if it is empty.
    made: Option<PathBuf>,
    _lock: File,
}

impl StagingFolder {
    /// Creates it in the dataset's folder, which is created if missing.
    pub(super) fn in_dataset(into: &Path) -> Result<Self, ImportError> {
        let made = !into.exists();
        fs::create_dir_all(into).map_err(|error| ImportError::NotCreated {
            folder: into.to_owned(),
            error,
        })?;
        Self::at(into.join(FOLDER), made.then(|| into.to_owned()))
    }

    /// Creates one of its own outside the dataset, for an import that does not write there: previews do not wait for each other.
    pub(super) fn temporary() -> Result<Self, ImportError> {
        static PREVIEWS: AtomicU64 = AtomicU64::new(0);
        let preview = PREVIEWS.fetch_add(1, Ordering::Relaxed);
        Self::at(
            std::env::temp_dir().join(format!("tokendeck-import-{}-{preview}", std::process::id())),
            None,
        )
    }

    fn at(folder: PathBuf, made: Option<PathBuf>) -> Result<Self, ImportError> {
        let failed = |error: io::Error| ImportError::not_written(&folder, error);
        loop {
            fs::create_dir_all(&folder).map_err(failed)?;
            let path = folder.join(LOCK);
            let lock = match OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
            {
                Ok(lock) => lock,
                // Another import that has just ended removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(ImportError::Busy(
                        folder.parent().unwrap_or(&folder).to_owned(),
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The lock file may have been removed between opening and locking it.
            let held = FileId::of_open(&lock).map_err(failed)?;
            if FileId::of(&path).is_ok_and(|there| there == held) {
                clear(&folder);
                return Ok(Self {
                    folder,
                    made,
                    _lock: lock,
                });
            }
        }
    }
}

/// Removes leftovers of an interrupted import.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name() != LOCK {
            fs::remove_file(entry.path()).ok();
        }
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
        if let Some(made) = &self.made {
            // Removes it only if empty.
            fs::remove_dir(made).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_import_at_a_time_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let into = place.path().join("new");
        let first = StagingFolder::in_dataset(&into).unwrap();
        fs::write(first.folder.join("a.rows"), "half").unwrap();
        assert!(
            StagingFolder::in_dataset(&into)
                .unwrap_err()
                .to_string()
                .starts_with("another import is writing to ")
        );
        drop(first);
        assert!(!into.exists());
        // Leftovers of a killed import are cleared.
        fs::create_dir_all(into.join(FOLDER)).unwrap();
        fs::write(into.join(FOLDER).join("b.rows"), "half").unwrap();
        let next = StagingFolder::in_dataset(&into).unwrap();
        assert!(!next.folder.join("b.rows").exists());
        fs::write(into.join("tokens.csv"), "mine").unwrap();
        drop(next);
        assert_eq!(fs::read_dir(&into).unwrap().count(), 1);
    }

    #[test]
    fn two_previews_at_once_have_a_folder_each() {
        let (first, second) = (
            StagingFolder::temporary().unwrap(),
            StagingFolder::temporary().unwrap(),
        );
        assert_ne!(first.folder, second.folder);
    }
}
