//! Differences between operating systems: positioned reads and writes, file identity, disk usage, private files and commands; and caches on
//! disk. The contents of files belong to the crates that own them, and signals to the code that waits for them.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    fs::{self, File},
    io,
    path::Path,
};

#[cfg(unix)]
pub use unix::{
    ANSWERS_AMONG_KEYS, FileAt, bytes_on_disk, link_opener, mode_for_others, private, shell,
};
#[cfg(windows)]
pub use windows::{
    ANSWERS_AMONG_KEYS, FileAt, bytes_on_disk, link_opener, mode_for_others, private, shell,
};

#[cfg(unix)]
use unix::{id_of, id_of_open};
#[cfg(windows)]
use windows::{id_of, id_of_open};

/// Identity of a file or folder, independent of its name: device and number. The numbers of a removed file can be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    pub fn of(path: &Path) -> io::Result<Self> {
        id_of(path).map(|(device, number)| Self { device, number })
    }

    pub fn of_open(file: &File) -> io::Result<Self> {
        id_of_open(file).map(|(device, number)| Self { device, number })
    }
}

/// Creates the folder and its parents, accessible only to the user if the system has file modes.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_written_at_places() {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(b"abcdef", 2).expect("written");
        file.write_all_at(b"xy", 0).expect("written");
        let mut bytes = [0; 3];
        file.read_exact_at(&mut bytes, 1).expect("read");
        assert_eq!(&bytes, b"yab");
        assert_eq!(file.read_at(&mut bytes, 6).expect("read"), 2, "to the end");
        assert_eq!(
            file.read_exact_at(&mut bytes, 6)
                .expect_err("beyond the end")
                .kind(),
            io::ErrorKind::UnexpectedEof
        );
    }

    #[test]
    fn a_file_is_the_same_under_another_name_and_another_under_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&first, "1").expect("written");
        let id = FileId::of(&first).expect("an id");
        fs::rename(&first, &second).expect("renamed");
        fs::write(&first, "1").expect("written");
        assert_eq!(FileId::of(&second).expect("an id"), id);
        assert_eq!(
            FileId::of_open(&File::open(&second).expect("opened")).expect("an id"),
            id
        );
        assert_ne!(FileId::of(&first).expect("an id"), id);
        assert!(FileId::of(&folder.path().join("c")).is_err());
        assert!(FileId::of(folder.path()).is_ok(), "a folder too");
    }
}
