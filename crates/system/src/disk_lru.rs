//! Caches on disk, of which what was used longest ago goes first. The modification time of a file records its last use.

use std::{
    fs::{self, File},
    path::Path,
    time::SystemTime,
};

use crate::bytes_on_disk;

/// What is in a cache.
#[derive(Debug)]
pub struct Kept<T> {
    pub used: Option<SystemTime>,
    pub bytes: u64,
    pub item: T,
}

/// Records that the file is used now.
pub fn mark_used(file: &File) {
    file.set_modified(SystemTime::now()).ok();
}

/// Removes what was used longest ago until the rest has at most `bytes_max`. What cannot be removed now, such as a file that is mapped on
/// Windows, is tried again the next time.
pub fn evict<T>(mut kept: Vec<Kept<T>>, bytes_max: u64, remove: impl Fn(&Kept<T>) -> bool) {
    kept.sort_by_key(|kept| kept.used);
    let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
    for kept in &kept {
        if bytes <= bytes_max {
            break;
        }
        if remove(kept) {
            bytes = bytes.saturating_sub(kept.bytes);
        }
    }
}

/// Removes a folder atomically: it is renamed before its files are deleted. Returns whether it is gone.
pub fn remove(folder: &Path) -> bool {
    let away = folder.with_extension(format!("gone-{}.part", std::process::id()));
    let gone = if fs::rename(folder, &away).is_ok() {
        &away
    } else {
        folder
    };
    fs::remove_dir_all(gone).ok();
    !folder.exists()
}

/// Disk usage of the folder in bytes, recursively.
pub fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|file| {
            file.metadata().map_or(0, |meta| {
                if meta.is_dir() {
                    size(&file.path())
                } else {
                    bytes_on_disk(&meta)
                }
            })
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, time::Duration};

    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_until_the_rest_fits() {
        let kept = || {
            [("b", 2, 30), ("none", 0, 10), ("c", 3, 20), ("a", 1, 5)].map(|(item, used, bytes)| {
                Kept {
                    used: (used > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(used)),
                    bytes,
                    item,
                }
            })
        };
        for (bytes_max, stays, removed) in [
            (65, "", &[][..]),
            (64, "", &["none"]),
            (54, "", &["none", "a"]),
            (54, "a", &["none", "b"]),
            (0, "", &["none", "a", "b", "c"]),
        ] {
            let gone = RefCell::new(Vec::new());
            evict(kept().into(), bytes_max, |kept| {
                let goes = kept.item != stays;
                gone.borrow_mut().extend(goes.then_some(kept.item));
                goes
            });
            assert_eq!(gone.into_inner(), removed, "{bytes_max} {stays}");
        }
    }

    #[test]
    fn a_folder_has_the_size_of_its_files_and_is_removed_with_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let entry = folder.path().join("entry");
        fs::create_dir_all(entry.join("deep")).expect("folders");
        fs::write(entry.join("deep").join("file"), [1; 9_000]).expect("written");
        assert!(size(&entry) >= 9_000);
        assert!(remove(&entry) && remove(&entry), "gone, and still gone");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
