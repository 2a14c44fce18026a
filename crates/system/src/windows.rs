//! Windows. The folders of a user are closed to others by what they lie in, so files need no mode.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::windows::{fs::FileExt, process::CommandExt},
    path::Path,
    process::Command,
};

use winapi_util::{AsHandleRef, Handle, file::information};

/// Reads and writes at places. Unlike elsewhere they move the file's position, which nobody may rely on then.
pub trait FileAt {
    /// Reads at the place; fewer bytes where the file ends.
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

/// Bytes that a file takes on disk; its holes count here.
pub fn bytes_on_disk(about: &Metadata) -> u64 {
    about.len()
}

/// No file has a mode.
pub fn mode_for_others(_: &Metadata) -> Option<u32> {
    None
}

/// A file that is created with these options is for the user alone.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Whether a terminal's answers to questions arrive as bytes among the keys.
pub const ANSWERS_AMONG_KEYS: bool = false;

/// The command that opens the link which is its last argument.
pub fn link_opener() -> Command {
    let mut command = Command::new("rundll32");
    command.arg("url.dll,FileProtocolHandler");
    command
}

/// A command line of the user's, as it stands: `cmd` reads quotes in a way of its own.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").raw_arg(line);
    command
}
