//! Files that only the user may read: atomic writes, so that a crash leaves the old or the new content and never half of it; locks across
//! programs; and the handling of damaged files. Their owners define the contents.

use std::{
    error::Error,
    fmt,
    fmt::Display,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write},
    path::{Path, PathBuf},
    sync::{Mutex, Once},
};

use crate::locks::Locked as _;

use crate::wall_clock::now;

/// Name of a file that is being written, before it takes its place.
const UNFINISHED: (&str, &str) = (".tokendeck-", ".tmp");

/// Notices about the user's files that were not logged.
static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The notices since the last call, for the user.
pub fn take_notices() -> Vec<String> {
    std::mem::take(&mut *NOTICES.locked())
}

/// Adds a notice for the user.
pub fn notify(notice: String) {
    if tracing::dispatcher::has_been_set() {
        tracing::warn!("{notice}");
    } else {
        NOTICES.locked().push(notice);
    }
}

/// Why a file of the program's own cannot be written or renamed.
#[derive(Debug)]
pub enum FileError {
    CreateFolder {
        path: PathBuf,
        error: io::Error,
    },
    Write {
        path: PathBuf,
        error: io::Error,
    },
    OpenLock {
        path: PathBuf,
        error: io::Error,
    },
    /// A file that was not understood, for this reason, cannot be renamed.
    SetAside {
        path: PathBuf,
        reason: String,
        error: io::Error,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateFolder { path, error } => write!(
                f,
                "cannot create the folder `{}`: {error}; make its parent writable, or choose another folder",
                path.display()
            ),
            Self::Write { path, error } => write!(
                f,
                "cannot write `{}`: {error}; check that its folder is writable and the disk is not full",
                path.display()
            ),
            Self::OpenLock { path, error } => write!(
                f,
                "cannot write `{}`: {error}; make its folder writable",
                path.display()
            ),
            Self::SetAside {
                path,
                reason,
                error,
            } => write!(
                f,
                "cannot read `{}` ({reason}) or rename it ({error}); move it away",
                path.display()
            ),
        }
    }
}

impl Error for FileError {}

/// Result of reading a state file.
#[derive(Debug, PartialEq)]
pub enum KeptState<T> {
    Missing,
    Read(T),
    /// The file could not be read, and was renamed to this path so that nothing overwrites it.
    SetAside(PathBuf),
}

/// Reads a state file. A file that `parse` rejects is renamed; the error explains why that failed.
pub fn read_state<T, E: Display>(
    path: &Path,
    limit: u64,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<KeptState<T>, FileError> {
    let reason = match read_whole_text(path, limit) {
        // Of an empty file, nothing can be lost.
        Ok(text) if text.trim().is_empty() => return Ok(KeptState::Missing),
        Ok(text) => match parse(&text) {
            Ok(read) => return Ok(KeptState::Read(read)),
            Err(error) => error.to_string(),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(KeptState::Missing),
        Err(error) => error.to_string(),
    };
    let aside = free_name(path);
    if let Err(error) = fs::rename(path, &aside) {
        return Err(FileError::SetAside {
            path: path.to_owned(),
            reason,
            error,
        });
    }
    notify(format!(
        "cannot read `{}` ({reason}); renamed it to `{}` and started a new one",
        path.display(),
        aside.display()
    ));
    Ok(KeptState::SetAside(aside))
}

/// Copies a file before part of its content is replaced.
pub fn copy_aside(path: &Path) -> io::Result<()> {
    let aside = free_name(path);
    let mut options = OpenOptions::new();
    let mut copy = crate::system::private(options.write(true).create_new(true)).open(&aside)?;
    io::copy(&mut crate::private_files::open_regular(path)?, &mut copy)?;
    notify(format!(
        "`{}` is partly damaged; saved a copy as `{}`",
        path.display(),
        aside.display()
    ));
    Ok(())
}

/// A name beside the file that no file has.
fn free_name(path: &Path) -> PathBuf {
    let stamp = now().0;
    let named = |number: i64| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{}", stamp.saturating_add(number)));
        PathBuf::from(name)
    };
    (0..1_000)
        .map(named)
        .find(|name| fs::symlink_metadata(name).is_err())
        .unwrap_or_else(|| named(1_000))
}

/// Removes what writes that were killed left in the folder. Nothing is being written there, as its lock is held.
pub fn remove_unfinished(folder: &Path) {
    let is_unfinished = |name: &str| name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_unfinished) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Removes leftovers of killed programs, which may contain keys, from the folder of the user's state. Called at the start.
pub fn clean(folder: &Path) {
    if folder.is_dir() {
        exclusively(folder, || Ok::<_, FileError>(())).ok();
    }
}

/// Creates the directory and its parents, with user-only permissions.
pub fn create_dir(path: &Path) -> Result<(), FileError> {
    crate::system::create_private_folder(path).map_err(|error| FileError::CreateFolder {
        path: path.to_owned(),
        error,
    })
}

/// Replaces a file atomically, with user-only permissions (mode 0600): written beside it, synced, renamed. Its folder is created if
/// missing.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    // A symlink stays a symlink: its target is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    create_dir(folder)?;
    let write = || {
        let mut beside = tempfile::Builder::new()
            .prefix(UNFINISHED.0)
            .suffix(UNFINISHED.1)
            .tempfile_in(folder)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(&target)?;
        sync_folder(folder);
        Ok(())
    };
    write().map_err(|error| FileError::Write {
        path: path.to_owned(),
        error,
    })
}

/// Replaces a file of the cache, which may be lost in a crash, but is never half written.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, bytes)?;
    std::fs::rename(beside, path)
}

/// Syncs a folder, which makes a rename in it durable. Errors are ignored, because some file systems cannot sync folders.
pub fn sync_folder(folder: &Path) {
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
}

/// Opens a file for writing without truncating it; a new one has user-only permissions.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    crate::system::private(&mut options).open(path)
}

/// Locks a file, which is created if missing; `None` while another program holds the lock. Dropping the file releases it. Where the file
/// system has no locks, every call succeeds.
pub fn try_exclusive(path: &Path) -> Result<Option<File>, FileError> {
    let file = open_lock(path)?;
    Ok(is_ours(file.try_lock(), path).then_some(file))
}

fn open_lock(path: &Path) -> Result<File, FileError> {
    create_dir(path.parent().unwrap_or(Path::new(".")))?;
    open_private(path).map_err(|error| FileError::OpenLock {
        path: path.to_owned(),
        error,
    })
}

/// Whether the lock was acquired. Where the file system has no locks (such as NFS without its lock service), every call succeeds: one
/// program is more likely there than several.
pub fn is_ours(tried: Result<(), TryLockError>, path: &Path) -> bool {
    match tried {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => {
            say_unlocked(path, &error);
            true
        }
    }
}

/// Says once that there are no locks.
fn say_unlocked(path: &Path, error: &io::Error) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let path = path.display();
        notify(format!(
            "cannot lock `{path}` ({error}); continuing without a lock: don't run a second process"
        ));
    });
}

/// Runs `change` under a file lock, so that read, change and write are one step across programs.
pub fn exclusively<T, E: From<FileError>>(
    folder: &Path,
    change: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let path = folder.join("state.lock");
    let file = open_lock(&path)?;
    match file.lock() {
        Ok(()) => remove_unfinished(folder),
        Err(error) => say_unlocked(&path, &error),
    }
    change()
}

/// Opens a file to read it. A pipe or a device, which could keep the program waiting forever, is refused as invalid input.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

/// Reads a text file of up to `limit` bytes in the encoding of its byte order mark, or in UTF-8 without one; invalid bytes are replaced.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    read_decoded(path, limit).map(|(text, _)| text)
}

/// Like `read_text`, for a text that is written back: invalid bytes are an error.
pub fn read_whole_text(path: &Path, limit: u64) -> io::Result<String> {
    match read_decoded(path, limit)? {
        (text, false) => Ok(text),
        (_, true) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not UTF-8 text",
        )),
    }
}

/// The text of the file, and whether bytes in it were replaced.
fn read_decoded(path: &Path, limit: u64) -> io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(limit + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it has more than {limit} bytes"),
        ));
    }
    let (text, _, is_damaged) = encoding_rs::UTF_8.decode(&bytes);
    Ok((text.into_owned(), is_damaged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_with_its_mark_and_whole_or_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t");
        for (bytes, text, is_whole) in [
            (&b"\xef\xbb\xbfa\xc3\xa9"[..], "a\u{e9}", true),
            (b"a\xc3\xa9", "a\u{e9}", true),
            (b"\xff\xfea\0b\0", "ab", true),
            (b"a\xe9", "a\u{fffd}", false),
            (b"\xff\xfea", "\u{fffd}", false),
        ] {
            std::fs::write(&path, bytes).expect("written");
            assert_eq!(read_text(&path, 10).expect("a text"), text, "{bytes:?}");
            assert_eq!(read_whole_text(&path, 10).is_ok(), is_whole, "{bytes:?}");
        }
        std::fs::write(&path, "x".repeat(11)).expect("written");
        assert!(read_text(&path, 10).is_err() && read_text(&path, 11).is_ok());
        assert_eq!(
            read_text(folder.path(), 10).map_err(|error| error.kind()),
            Err(io::ErrorKind::InvalidInput)
        );
        assert_eq!(
            open_regular(&folder.path().join("none"))
                .map(drop)
                .map_err(|error| error.kind()),
            Err(io::ErrorKind::NotFound)
        );
    }

    #[test]
    fn a_lock_that_cannot_be_had_is_ours_and_one_that_another_has_is_not() {
        let path = Path::new("/there/lock");
        // ENOLCK, EOPNOTSUPP.
        for number in [37, 95] {
            assert!(is_ours(
                Err(TryLockError::Error(io::Error::from_raw_os_error(number))),
                path
            ));
        }
        assert!(is_ours(Ok(()), path) && !is_ours(Err(TryLockError::WouldBlock), path));
        assert!(take_notices().iter().any(|notice| notice.contains("/there/lock") && notice.contains("a second process")));
    }

    #[test]
    fn a_state_that_is_not_understood_is_set_aside_each_time_and_what_was_killed_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept");
        let number = |text: &str| text.trim().parse::<i32>();
        let read = || read_state(&path, 8, number).expect("read or set aside");
        assert_eq!(read(), KeptState::Missing);
        for (bytes, expected) in [
            (&b"7\n"[..], Some(7)),
            (b"\xef\xbb\xbf8", Some(8)),
            (b" \n", None),
        ] {
            fs::write(&path, bytes).expect("written");
            assert_eq!(
                read(),
                expected.map_or(KeptState::Missing, KeptState::Read),
                "{bytes:?}"
            );
            assert_eq!(fs::read(&path).expect("still there"), bytes);
        }
        for bytes in [&b"seven"[..], b"7\xff", b"123456789"] {
            fs::write(&path, bytes).expect("written");
            let KeptState::SetAside(aside) = read() else {
                panic!("{bytes:?} was read")
            };
            assert_eq!(
                (fs::read(&aside).expect("kept"), path.exists()),
                (bytes.to_vec(), false)
            );
        }
        assert_eq!(
            fs::read_dir(folder.path()).expect("the folder").count(),
            3,
            "none took another's place"
        );
        for name in [
            ".tokendeck-ab12.tmp",
            ".tokendeck-ab12",
            "tokendeck-notes.tmp",
        ] {
            fs::write(folder.path().join(name), "td_key").expect("written");
        }
        clean(folder.path());
        let left = |name: &str| folder.path().join(name).exists();
        assert!(
            !left(".tokendeck-ab12.tmp") && left(".tokendeck-ab12") && left("tokendeck-notes.tmp")
        );
    }
}
