//! Linux, macOS and their kin.

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

/// Bytes that a file takes on disk: fewer than it has where there are holes.
pub fn bytes_on_disk(about: &Metadata) -> u64 {
    about.blocks() * 512
}

/// The mode of a file, if users other than its owner may do something with it.
pub fn mode_for_others(about: &Metadata) -> Option<u32> {
    Some(about.permissions().mode() & 0o777).filter(|mode| mode & 0o077 != 0)
}

/// A file that is created with these options is for the user alone.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Whether a terminal's answers to questions arrive as bytes among the keys.
pub const ANSWERS_AMONG_KEYS: bool = true;

/// The command that opens the link which is its last argument.
pub fn link_opener() -> Command {
    Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" })
}

/// A command line of the user's.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}
