//! Files that cannot be read where they are: what comes by a pipe, and tables in archives that must be read from several places. They
//! are copied to a file of their own, which goes with the import.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

/// The most that is copied.
const MAX: u64 = 64 << 30;

/// A file that is removed when it is no longer needed.
#[derive(Debug)]
pub(super) struct Copied(pub PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Copies what the reader gives.
pub(super) fn copied(from: impl Read) -> Result<Copied, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tokendeck-{}-{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(|error| format!("cannot be unpacked to `{}`: {error}", path.display()))?;
    let copied = Copied(path);
    let bytes = io::copy(&mut from.take(MAX + 1), &mut file).map_err(|error| format!("is cut off or damaged: {error}"))?;
    if bytes > MAX { Err(format!("is larger than {} GiB", MAX >> 30)) } else { Ok(copied) }
}
