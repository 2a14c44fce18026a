//! Windows. A user's folders inherit permissions that exclude others, so files need no mode.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::windows::{fs::FileExt, process::CommandExt},
    path::Path,
    process::Command,
};

use winapi_util::{AsHandleRef, Handle, file::information};

/// Positioned reads and writes. Unlike on Unix, they move the file's position, so callers must not rely on it.
pub trait FileAt {
    /// Reads at the position; fewer bytes at the end of the file.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Fills the buffer.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
}

impl FileAt for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.seek_read(buffer, at)
    }

    fn read_exact_at(&self, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.seek_read(buffer, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buffer = &mut buffer[count..];
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.seek_write(bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Volume and index.
pub(super) fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    Handle::from_path_any(path).and_then(id_of_handle)
}

pub(super) fn id_of_open(file: &File) -> io::Result<(u64, u64)> {
    id_of_handle(file)
}

fn id_of_handle(handle: impl AsHandleRef) -> io::Result<(u64, u64)> {
    information(handle).map(|about| (about.volume_serial_number(), about.file_index()))
}

/// Bytes that a file occupies on disk; holes of a sparse file count here.
pub fn bytes_on_disk(about: &Metadata) -> u64 {
    about.len()
}

/// Files have no mode.
pub fn mode_for_others(_: &Metadata) -> Option<u32> {
    None
}

/// Files that are created with these options need no further restriction.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Whether a terminal's replies to queries arrive as bytes among the keys.
pub const ANSWERS_AMONG_KEYS: bool = false;

/// The command that opens a link, its last argument.
pub fn link_opener() -> Command {
    let mut command = Command::new("rundll32");
    command.arg("url.dll,FileProtocolHandler");
    command
}

/// Runs a user's command line unchanged: `cmd` has its own quoting rules.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").raw_arg(line);
    command
}
