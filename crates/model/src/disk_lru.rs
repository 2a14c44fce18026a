//! Caches on disk, of which what was used longest ago goes first. The modification time of a file records its last use.

use std::{fs, path::Path};

use crate::system::bytes_on_disk;

/// Removes what was used longest ago until the rest has at most `size_max`; `about` tells the last use and the size. What cannot be removed
/// now, such as a file that is mapped on Windows, is tried again the next time.
pub fn evict<T, U: Ord>(
    mut kept: Vec<T>,
    size_max: u64,
    about: impl Fn(&T) -> (U, u64),
    remove: impl Fn(&T) -> bool,
) {
    kept.sort_by_key(|kept| about(kept).0);
    let mut size: u64 = kept.iter().map(|kept| about(kept).1).sum();
    for kept in &kept {
        if size > size_max && remove(kept) {
            size = size.saturating_sub(about(kept).1);
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
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_until_the_rest_fits() {
        let kept = vec![
            ("b", Some(2), 30),
            ("none", None, 10),
            ("c", Some(3), 20),
            ("a", Some(1), 5),
        ];
        for (size_max, stays, removed) in [
            (65, "", &[][..]),
            (64, "", &["none"]),
            (54, "", &["none", "a"]),
            (54, "a", &["none", "b"]),
            (0, "", &["none", "a", "b", "c"]),
        ] {
            let gone = RefCell::new(Vec::new());
            let remove = |(name, ..): &(&'static str, Option<u8>, u64)| {
                let goes = *name != stays;
                gone.borrow_mut().extend(goes.then_some(*name));
                goes
            };
            evict(kept.clone(), size_max, |kept| (kept.1, kept.2), remove);
            assert_eq!(gone.into_inner(), removed, "{size_max} {stays}");
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
