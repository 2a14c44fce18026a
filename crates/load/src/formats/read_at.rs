//! Random access to the bytes of a local file or a remote object, for Parquet and Arrow; and sequential reads, for text.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    sync::Arc,
};

use model::system::FileAt;

/// Bytes that can be read at any offset, by several threads.
pub trait ReadAt: Send + Sync {
    fn bytes(&self) -> io::Result<u64>;
    /// Fills `buffer` from offset `at`.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
    /// Like `read_exact_at`, but stops at the end of the file.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.read_exact_at(buffer, at).map(|()| buffer.len())
    }
    /// Announces ranges that will be read soon, in this order, so that a remote object can prefetch them.
    fn ahead(&self, _: &[Range<u64>]) {}
}

impl ReadAt for File {
    fn bytes(&self) -> io::Result<u64> {
        self.metadata().map(|meta| meta.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        FileAt::read_exact_at(self, buffer, at)
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        FileAt::read_at(self, buffer, at)
    }
}

/// Bytes of read-ahead of sequential reads.
const AHEAD: u64 = 24 << 20;
/// Maximum bytes of one read.
const STEP: u64 = 1 << 20;

/// Sequential reader.
pub(super) struct InOrder {
    file: Arc<dyn ReadAt>,
    at: u64,
    end: u64,
    told: u64,
}

impl InOrder {
    pub(super) fn new(file: Arc<dyn ReadAt>) -> io::Result<Self> {
        let end = file.bytes()?;
        Ok(Self {
            file,
            at: 0,
            end,
            told: 0,
        })
    }

    /// For a reader that seeks: without read-ahead.
    pub(super) fn at_places(file: Arc<dyn ReadAt>) -> io::Result<Self> {
        let end = file.bytes()?;
        Ok(Self {
            file,
            at: 0,
            end,
            told: end,
        })
    }
}

impl Read for InOrder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let take = (self.end.saturating_sub(self.at))
            .min(buffer.len() as u64)
            .min(STEP) as usize;
        let buffer = &mut buffer[..take];
        if self.told < self.end && self.at + AHEAD / 2 >= self.told {
            let to = (self.at + AHEAD).min(self.end);
            self.file.ahead(std::slice::from_ref(&(self.told..to)));
            self.told = to;
        }
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for InOrder {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
