//! Files that only the user may read: atomic writes, so that a crash leaves the old or the new content, never half, and locks across
//! programs. What is in them belongs to their owners.

pub use source::read_text;

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write},
    path::Path,
};

/// Creates the directory and its parents, with user-only permissions.
pub fn create_dir(path: &Path) -> Result<(), String> {
    system::create_private_folder(path)
        .map_err(|error| format!("cannot create the folder `{}`: {error}: make it writable, or choose another", path.display()))
}

/// Replaces a file atomically, with user-only permissions (mode 0600): written beside it, synced, renamed. Its folder is created if
/// missing.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), String> {
    // A symlink stays a symlink: its target is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_dir(folder)?;
    let write = || {
        let mut beside = tempfile::Builder::new().prefix(".tokendeck-").suffix(".tmp").tempfile_in(folder)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(&target)?;
        sync_folder(folder);
        Ok(())
    };
    write().map_err(|error: io::Error| {
        format!("cannot write `{}`: {error}: check that its folder is writable and its disk has room", path.display())
    })
}

/// Replaces a file of the cache, which may be lost in a crash, but is never half written.
pub(crate) fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, bytes)?;
    std::fs::rename(beside, path)
}

/// Syncs a folder, which makes a rename in it durable. Some file systems cannot sync folders, and then nothing more can be done.
pub fn sync_folder(folder: &Path) {
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
}

/// Opens a file for writing without truncating it; a new one has user-only permissions.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    system::private(&mut options).open(path)
}

/// Takes the lock of a file, which is made where it is missing; none while another program has it. Dropping the file frees it. Where the
/// file system has no locks, everybody gets it.
pub fn try_exclusive(path: &Path) -> Result<Option<File>, String> {
    create_dir(path.parent().unwrap_or(Path::new(".")))?;
    let file = open_private(path).map_err(|error| format!("`{}` cannot be written: {error}: make its folder writable", path.display()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Runs `change` under a file lock, so that read, change and write are one step across programs.
pub fn exclusively<T>(folder: &Path, change: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    create_dir(folder)?;
    let path = folder.join("state.lock");
    let file = open_private(&path).map_err(|error| format!("cannot write `{}`: {error}: make its folder writable", path.display()))?;
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(format!("cannot lock `{}`: {error}", path.display())),
        _ => change(),
    }
}
