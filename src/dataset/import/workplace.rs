//! The staging folder of an import: a hidden one in the dataset's, locked by one import at a time. Whatever ends the program leaves at
//! most that folder behind, which no table is read from, and the next import clears it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The name of the folder.
const FOLDER: &str = ".import";
const LOCK: &str = "lock";

/// The folder, held until it is dropped, which removes it.
#[derive(Debug)]
pub(super) struct Workplace {
    pub folder: PathBuf,
    /// It was made for this import and goes with it; the dataset's folder too if it is empty then.
    made: Option<PathBuf>,
    _lock: File,
}

impl Workplace {
    /// In the dataset's folder, which is made if it is not there.
    pub(super) fn in_dataset(into: &Path) -> Result<Self, String> {
        let made = !into.exists();
        fs::create_dir_all(into).map_err(|error| format!("the folder `{}` cannot be made: {error}", into.display()))?;
        Self::at(into.join(FOLDER), made.then(|| into.to_owned()))
    }

    /// Away from the dataset, for an import that writes nothing there.
    pub(super) fn elsewhere() -> Result<Self, String> {
        Self::at(std::env::temp_dir().join(format!("tokendeck-import-{}", std::process::id())), None)
    }

    fn at(folder: PathBuf, made: Option<PathBuf>) -> Result<Self, String> {
        let failed = |error: io::Error| format!("`{}` cannot be written: {error}", folder.display());
        loop {
            fs::create_dir_all(&folder).map_err(failed)?;
            let path = folder.join(LOCK);
            let lock = match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
                Ok(lock) => lock,
                // Another import, at its end, removed the folder just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(format!(
                        "another import writes to `{}`: wait until it is done",
                        folder.parent().unwrap_or(&folder).display()
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The lock may be on a file that was removed between opening and locking.
            let held = lock.metadata().map_err(failed)?;
            if fs::metadata(&path).is_ok_and(|there| there.ino() == held.ino() && there.dev() == held.dev()) {
                clear(&folder);
                return Ok(Self { folder, made, _lock: lock });
            }
        }
    }
}

/// Removes what an import that was ended left.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name() != LOCK {
            fs::remove_file(entry.path()).ok();
        }
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
        if let Some(made) = &self.made {
            // Only an empty one goes.
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
        let first = Workplace::in_dataset(&into).unwrap();
        fs::write(first.folder.join("a.rows"), "half").unwrap();
        assert!(Workplace::in_dataset(&into).unwrap_err().starts_with("another import writes to "));
        drop(first);
        assert!(!into.exists());
        // What a killed import left is cleared.
        fs::create_dir_all(into.join(FOLDER)).unwrap();
        fs::write(into.join(FOLDER).join("b.rows"), "half").unwrap();
        let next = Workplace::in_dataset(&into).unwrap();
        assert!(!next.folder.join("b.rows").exists());
        fs::write(into.join("tokens.csv"), "mine").unwrap();
        drop(next);
        assert_eq!(fs::read_dir(&into).unwrap().count(), 1);
    }
}
