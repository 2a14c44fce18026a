//! The bytes of a text file, decompressed and in UTF-8, in a buffer. Knows gzip, zstd and UTF-16, but no rows.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use encoding_rs::{Decoder, Encoding, UTF_8, WINDOWS_1252};
use flate2::read::MultiGzDecoder;

/// Maximum length of a record: a file without line ends must not fill the memory.
pub(super) const RECORD_MAX: usize = 16 << 20;

/// Initial size of the buffer: small, as most files are, and as touching new memory costs more than a read.
const CHUNK: usize = 32 << 10;

/// A file that decompresses to more than this many times its size, and to more than the floor, is a decompression bomb.
const BOMB_RATIO: u64 = 500;
const BOMB_FLOOR: u64 = 256 << 20;

/// Buffered text of a file.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    /// The buffered bytes are in `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    read: Arc<AtomicU64>,
    unpacked: u64,
}

/// Counts the bytes of the source, before decompression.
struct Counted<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(into)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Whether a file with this beginning is compressed or UTF-16: its byte offsets are not those of the text.
pub(super) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP) || head.starts_with(ZSTD) || utf16(head).is_some()
}

/// UTF-16 in either byte order, by the byte order mark that Excel's "Unicode text" has.
fn utf16(head: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_bom(head).map(|(encoding, _)| encoding).filter(|encoding| *encoding != UTF_8)
}

/// Decodes a reader's bytes to UTF-8; invalid ones become U+FFFD.
struct Decoded<R> {
    source: R,
    decoder: Decoder,
    ready: String,
    at: usize,
}

impl<R> Decoded<R> {
    fn new(source: R, encoding: &'static Encoding) -> Self {
        Self { source, decoder: encoding.new_decoder_without_bom_handling(), ready: String::new(), at: 0 }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() {
            let mut bytes = [0; 8 << 10];
            let n = self.source.read(&mut bytes)?;
            if n == 0 {
                // Half a character at the end of a truncated file is dropped.
                return Ok(0);
            }
            (self.ready, self.at) = (String::with_capacity(self.decoder.max_utf8_buffer_length(n).unwrap_or_default()), 0);
            let _ = self.decoder.decode_to_string(&bytes[..n], &mut self.ready, false);
        }
        let n = into.len().min(self.ready.len() - self.at);
        into[..n].copy_from_slice(&self.ready.as_bytes()[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Input {
    /// `head` is the beginning of the source, by which compression is detected. A leading byte order mark is skipped.
    pub(super) fn new(source: impl Read + Send + 'static, head: &[u8]) -> Result<Self, String> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { source, read: Arc::clone(&read) };
        let reader: Box<dyn Read + Send> = if head.starts_with(GZIP) {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(CHUNK, counted)))
        } else if head.starts_with(ZSTD) {
            Box::new(zstd::Decoder::new(counted).map_err(|error| format!("cannot be unpacked: {error}"))?)
        } else if let Some(encoding) = utf16(head) {
            Box::new(Decoded::new(counted, encoding))
        } else {
            Box::new(counted)
        };
        let mut input = Self { reader, buffer: Vec::new(), start: 0, end: 0, ended: false, read, unpacked: 0 };
        while input.data().len() < 3 && input.fill()? {}
        if input.data().starts_with(&[0xef, 0xbb, 0xbf]) {
            input.consume(3);
        }
        Ok(input)
    }

    /// Decodes the input from Windows-1252, including what is buffered.
    pub(super) fn in_windows_1252(self) -> Self {
        let begun = io::Cursor::new(self.data().to_vec());
        let reader = Box::new(Decoded::new(begun.chain(self.reader), WINDOWS_1252));
        Self { reader, buffer: Vec::new(), start: 0, end: 0, ended: false, read: self.read, unpacked: 0 }
    }

    /// Buffered bytes that were not consumed yet.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Reads more into the buffer; false at the end of the file.
    pub(super) fn fill(&mut self) -> Result<bool, String> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() - self.end < CHUNK / 2 {
            let longer = (self.buffer.len() * 2).max(CHUNK);
            self.buffer.resize(longer, 0);
        }
        let n = loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let n = n.map_err(|error| format!("is cut off or damaged: {error}"))?;
        self.end += n;
        self.ended = n == 0;
        self.unpacked += n as u64;
        if self.unpacked > BOMB_FLOOR && self.unpacked > BOMB_RATIO.saturating_mul(self.bytes_read()) {
            return Err(format!("unpacks to more than {BOMB_RATIO} times its size: that is no table"));
        }
        Ok(n > 0)
    }

    /// Length of the next line including its line end; 0 at the end of the file.
    pub(super) fn line(&mut self) -> Result<usize, String> {
        let mut seen = 0;
        loop {
            if let Some(at) = self.data()[seen..].iter().position(|&byte| byte == b'\n') {
                return Ok(seen + at + 1);
            }
            seen = self.data().len();
            if seen > RECORD_MAX {
                return Err("has a line longer than 16 MiB".to_owned());
            }
            if !self.fill()? {
                return Ok(seen);
            }
        }
    }

    /// Reads everything, up to `limit` bytes.
    pub(super) fn whole(mut self, limit: u64) -> Result<Vec<u8>, String> {
        while self.fill()? {
            if self.data().len() as u64 > limit {
                return Err("is too large to be read whole: use .ndjson, .csv or .parquet".to_owned());
            }
        }
        self.buffer.truncate(self.end);
        self.buffer.drain(..self.start);
        Ok(self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_read_as_utf_8_wherever_its_parts_are_cut() {
        /// Returns a few bytes per read.
        struct Drop(Vec<u8>, usize);
        impl Read for Drop {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(self.0.len()).min(into.len());
                into[..n].copy_from_slice(&self.0[..n]);
                self.0.drain(..n);
                Ok(n)
            }
        }
        let text = "Zeit\tPreis €\r\n🚀\t1,5\r\n";
        for big in [false, true] {
            let bytes: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect();
            for step in [1, 2, 3, 7, 100] {
                let input = Input::new(Drop(bytes.clone(), step), &bytes[..8]).unwrap();
                assert_eq!(String::from_utf8(input.whole(1_000).unwrap()).unwrap(), text, "{big} {step}");
            }
        }
    }
}
