//! Linux, macOS and other Unix systems.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    process::Command,
};

pub use std::os::unix::fs::FileExt as FileAt;

/// Device and inode.
pub(super) fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|about| (about.dev(), about.ino()))
}

pub(super) fn id_of_open(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|about| (about.dev(), about.ino()))
}

/// Bytes that a file occupies on disk: fewer than its size if it is sparse.
pub fn bytes_on_disk(about: &Metadata) -> u64 {
    about.blocks() * 512
}

/// The mode of a file, if users other than its owner have any permission.
pub fn mode_for_others(about: &Metadata) -> Option<u32> {
    Some(about.permissions().mode() & 0o777).filter(|mode| mode & 0o077 != 0)
}

/// Makes files that are created with these options accessible only to the user.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Whether a terminal's replies to queries arrive as bytes among the keys.
pub const ANSWERS_AMONG_KEYS: bool = true;

/// The command that opens a link, its last argument.
pub fn link_opener() -> Command {
    Command::new(if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    })
}

/// Runs a user's command line.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}
