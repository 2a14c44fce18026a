//! The bytes of a text file, decompressed and in UTF-8, in a buffer. Knows gzip, zstd and UTF-16, but no rows.

use std::{
    io::{self, BufRead, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use encoding_rs::{Decoder, Encoding, UTF_8};
use flate2::bufread::GzDecoder;
use model::format::plural;

use crate::formats::SourceError;

/// Maximum length of a record: a file without line ends must not fill the memory.
pub(super) const RECORD_MAX: usize = 16 << 20;
pub(super) const LONG_LINE: SourceError = SourceError::LongLine {
    bytes_max: RECORD_MAX,
};

/// Initial size of the buffer: small, as most files are, and as touching new memory costs more than a read.
const CHUNK: usize = 32 << 10;

/// Compressed text that unpacks to more than this many times its size, and to more than the floor, is not read: rows take more memory than
/// their text, and only rows that repeat each other are packed so well.
pub const UNPACKED_RATIO_MAX: u64 = 100;
pub const UNPACKED_FLOOR: u64 = 16 << 20;

/// Largest window of a zstd frame that is used to its end: unpacking takes as much memory. Text that is shorter takes no more than itself.
const WINDOW_MAX: u64 = 128 << 20;
/// Logarithm of the largest window of which the beginning is used.
const WINDOW_LOG_MAX: u32 = 31;

/// Buffered text of a file.
pub(crate) struct Input {
    reader: Box<dyn Read + Send>,
    /// The buffered bytes are in `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    read: Arc<AtomicU64>,
    unpacked: u64,
    /// Why reading failed; it fails so ever after.
    fault: Option<SourceError>,
    /// Bytes behind compressed text that are none.
    behind: Arc<AtomicU64>,
    /// The window of the zstd frame, if it is longer than `WINDOW_MAX`.
    window: Option<u64>,
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

/// Text in gzip: any number of members. What follows them and is none is left out, as gunzip does: tapes and object stores pad with zeros.
struct Gzip<R> {
    member: Option<GzDecoder<R>>,
    behind: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let n = member.read(into)?;
            if n > 0 || into.is_empty() {
                return Ok(n);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else {
                break;
            };
            let next = rest.fill_buf()?;
            // A cut file may end within the first bytes of a member.
            if !next.is_empty() && (next.starts_with(GZIP) || GZIP.starts_with(next)) {
                self.member = Some(GzDecoder::new(rest));
                continue;
            }
            let (mut bytes, mut padding) = (0, true);
            loop {
                let next = rest.fill_buf()?;
                let length = next.len();
                if length == 0 {
                    break;
                }
                (bytes, padding) = (
                    bytes + length as u64,
                    padding && next.iter().all(|byte| *byte == 0),
                );
                rest.consume(length);
            }
            self.behind
                .store(if padding { 0 } else { bytes }, Ordering::Relaxed);
        }
        Ok(0)
    }
}

/// Replaces the line ends of old programs of the Mac.
struct LineFeeds<R>(R);

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(into)?;
        into[..n]
            .iter_mut()
            .filter(|byte| **byte == b'\r')
            .for_each(|byte| *byte = b'\n');
        Ok(n)
    }
}

/// Where a line is, for `Tabs`.
#[derive(Clone, Copy, PartialEq)]
enum LinePart {
    Start,
    Cell,
    /// Blanks after a cell: the next cell turns them into a tab, and the end of the line drops them.
    Blanks,
}

/// Writes one tab for the blanks between two cells, and none for those at the ends of a line.
struct Tabs<R> {
    source: R,
    state: LinePart,
}

impl<R: Read> Read for Tabs<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Each byte may have a tab before it.
        let mut bytes = vec![0; into.len() / 2];
        if bytes.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        loop {
            let n = self.source.read(&mut bytes)?;
            let mut written = 0;
            for &byte in &bytes[..n] {
                let state = match byte {
                    b' ' | b'\t' if self.state == LinePart::Start => LinePart::Start,
                    b' ' | b'\t' => LinePart::Blanks,
                    b'\r' | b'\n' => LinePart::Start,
                    _ => LinePart::Cell,
                };
                let put = [b'\t', byte];
                let put = match (self.state, state) {
                    (LinePart::Blanks, LinePart::Cell) => &put[..],
                    (_, LinePart::Cell) => &put[1..],
                    _ if matches!(byte, b'\r' | b'\n') => &put[1..],
                    _ => &[],
                };
                self.state = state;
                into[written..written + put.len()].copy_from_slice(put);
                written += put.len();
            }
            if written > 0 || n == 0 {
                return Ok(written);
            }
        }
    }
}

/// The text with tabs for blanks.
pub(super) fn with_tabs(text: &[u8]) -> Vec<u8> {
    let mut tabs = Vec::with_capacity(text.len());
    // Reading from memory cannot fail.
    io::BufReader::new(Tabs {
        source: text,
        state: LinePart::Start,
    })
    .read_to_end(&mut tabs)
    .ok();
    tabs
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Maximum bytes of a zstd frame's header.
const FRAME_HEADER: u64 = 18;

/// Whether a file with this beginning is compressed or UTF-16: its byte offsets are not those of the text.
pub(crate) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP) || head.starts_with(ZSTD) || utf16(head).is_some()
}

/// The window of the zstd frame that begins so.
fn window(frame: &[u8]) -> Option<u64> {
    let (flags, next) = (frame.get(4)?, u64::from(*frame.get(5)?));
    let is_one_segment = flags & 0x20 != 0;
    if is_one_segment {
        return zstd::zstd_safe::get_frame_content_size(frame)
            .ok()
            .flatten();
    }
    let base = 1u64 << (10 + (next >> 3));
    Some(base + base / 8 * (next & 7))
}

/// Error for text whose window takes too much memory.
fn too_long_window(window: Option<u64>) -> SourceError {
    SourceError::LongWindow {
        window,
        max: WINDOW_MAX,
        log_max: WINDOW_LOG_MAX,
    }
}

/// UTF-16 in either byte order, by the byte order mark that Excel's "Unicode text" has.
fn utf16(head: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_bom(head)
        .map(|(encoding, _)| encoding)
        .filter(|encoding| *encoding != UTF_8)
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
        Self {
            source,
            decoder: encoding.new_decoder_without_bom_handling(),
            ready: String::new(),
            at: 0,
        }
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
            (self.ready, self.at) = (
                String::with_capacity(self.decoder.max_utf8_buffer_length(n).unwrap_or_default()),
                0,
            );
            let _ = self
                .decoder
                .decode_to_string(&bytes[..n], &mut self.ready, false);
        }
        let n = into.len().min(self.ready.len() - self.at);
        into[..n].copy_from_slice(&self.ready.as_bytes()[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Input {
    /// `head` is the beginning of the source, by which compression is detected. A leading byte order mark is skipped.
    pub(crate) fn new(
        source: impl Read + Send + 'static,
        head: &[u8],
    ) -> Result<Self, SourceError> {
        let (read, behind) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut counted = Counted {
            source,
            read: Arc::clone(&read),
        };
        let mut long = None;
        let reader: Box<dyn Read + Send> = if head.starts_with(GZIP) {
            Box::new(Gzip {
                member: Some(GzDecoder::new(io::BufReader::with_capacity(CHUNK, counted))),
                behind: Arc::clone(&behind),
            })
        } else if head.starts_with(ZSTD) {
            let failed = |error: io::Error| SourceError::Compression(error.into());
            let mut frame = Vec::new();
            counted
                .by_ref()
                .take(FRAME_HEADER)
                .read_to_end(&mut frame)
                .map_err(failed)?;
            long = window(&frame).filter(|window| *window > WINDOW_MAX);
            let mut decoder =
                zstd::Decoder::new(io::Cursor::new(frame).chain(counted)).map_err(failed)?;
            if long.is_some() {
                decoder.window_log_max(WINDOW_LOG_MAX).map_err(failed)?;
            }
            Box::new(decoder)
        } else if let Some(encoding) = utf16(head) {
            Box::new(Decoded::new(counted, encoding))
        } else {
            Box::new(counted)
        };
        let mut input = Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            read,
            unpacked: 0,
            fault: None,
            behind,
            window: long,
        };
        while input.data().len() < 3 && input.fill()? {}
        if input.data().starts_with(&[0xef, 0xbb, 0xbf]) {
            input.consume(3);
        }
        // The first lines tell how lines end.
        let has = |input: &Self, byte| input.data().contains(&byte);
        while has(&input, b'\r')
            && !has(&input, b'\n')
            && input.data().len() < CHUNK
            && input.fill()?
        {}
        Ok(if has(&input, b'\r') && !has(&input, b'\n') {
            input.again(LineFeeds)
        } else {
            input
        })
    }

    /// The input from the beginning of what is buffered, through another reader.
    fn again<R: Read + Send + 'static>(
        self,
        through: impl FnOnce(io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read + Send>>) -> R,
    ) -> Self {
        let begun = io::Cursor::new(self.data().to_vec());
        let reader = Box::new(through(begun.chain(self.reader)));
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            unpacked: 0,
            fault: None,
            ..self
        }
    }

    /// Notes about parts of the source that were skipped, as far as it was read.
    pub(super) fn notes(&self) -> Vec<String> {
        let bytes = self.behind.load(Ordering::Relaxed);
        let one = "byte after the compressed text is not gzip and is ignored";
        let note = || {
            format!(
                "warning: {}",
                plural(
                    bytes,
                    one,
                    "bytes after the compressed text are not gzip and are ignored"
                )
            )
        };
        (bytes > 0).then(note).into_iter().collect()
    }

    /// Decodes the input, including what is buffered.
    pub(super) fn in_encoding(self, encoding: &'static Encoding) -> Self {
        self.again(|begun| Decoded::new(begun, encoding))
    }

    /// Separates cells by tabs instead of runs of blanks.
    pub(super) fn in_tabs(self) -> Self {
        self.again(|begun| Tabs {
            source: begun,
            state: LinePart::Start,
        })
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
    pub(super) fn fill(&mut self) -> Result<bool, SourceError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let more = self.fill_once();
        self.fault = more.as_ref().err().cloned();
        more
    }

    fn fill_once(&mut self) -> Result<bool, SourceError> {
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
        let n = n.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => SourceError::Limit(error.into()),
            _ if ["too much memory", "not enough memory"]
                .iter()
                .any(|sign| error.to_string().contains(sign)) =>
            {
                too_long_window(self.window)
            }
            _ => SourceError::Truncated(error.into()),
        })?;
        self.end += n;
        self.ended = n == 0;
        self.unpacked += n as u64;
        if self.window.is_some() && self.unpacked > WINDOW_MAX {
            return Err(too_long_window(self.window));
        }
        if self.unpacked > UNPACKED_FLOOR
            && self.unpacked > UNPACKED_RATIO_MAX.saturating_mul(self.bytes_read())
        {
            return Err(SourceError::UnpacksTooFar {
                ratio_max: UNPACKED_RATIO_MAX,
            });
        }
        Ok(n > 0)
    }

    /// Length of the next line including its line end; 0 at the end of the file.
    pub(super) fn line(&mut self) -> Result<usize, SourceError> {
        let mut seen = 0;
        loop {
            if let Some(at) = self.data()[seen..].iter().position(|&byte| byte == b'\n') {
                return Ok(seen + at + 1);
            }
            seen = self.data().len();
            if seen > RECORD_MAX {
                return Err(LONG_LINE);
            }
            if !self.fill()? {
                return Ok(seen);
            }
        }
    }

    /// Reads everything, up to `limit` bytes.
    pub(crate) fn whole(mut self, limit: u64) -> Result<Vec<u8>, SourceError> {
        while self.fill()? {
            if self.data().len() as u64 > limit {
                return Err(SourceError::TooLarge);
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
                .flat_map(|unit| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                })
                .collect();
            for step in [1, 2, 3, 7, 100] {
                let input = Input::new(Drop(bytes.clone(), step), &bytes[..8]).unwrap();
                assert_eq!(
                    String::from_utf8(input.whole(1_000).unwrap()).unwrap(),
                    text,
                    "{big} {step}"
                );
            }
        }
    }

    #[test]
    fn what_follows_gzip_is_left_out_and_a_cut_member_is_an_error() {
        let member = |text: &str| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
            packed.finish().unwrap()
        };
        let (one, two) = (member("a,b\n"), member("1,2\n"));
        let read = |bytes: Vec<u8>| {
            let mut input = Input::new(io::Cursor::new(bytes), GZIP)?;
            while input.fill()? {}
            let noted = input.notes().len();
            input
                .whole(100)
                .map(|text| (String::from_utf8(text).unwrap(), noted))
        };
        for (bytes, expected) in [
            ([&one[..], &two].concat(), Some(("a,b\n1,2\n", 0))),
            (
                [&one[..], &two, &[0; 512]].concat(),
                Some(("a,b\n1,2\n", 0)),
            ),
            ([&one[..], b"tail"].concat(), Some(("a,b\n", 1))),
            ([&one[..], &two[..two.len() - 9]].concat(), None),
            ([&one[..], &two[..1]].concat(), None),
            (one[..one.len() - 3].to_vec(), None),
        ] {
            let read = read(bytes);
            assert_eq!(
                read.as_ref()
                    .ok()
                    .map(|(text, noted)| (text.as_str(), *noted)),
                expected,
                "{read:?}"
            );
        }
    }

    #[test]
    fn text_that_is_packed_too_well_is_not_read() {
        let line = |i: u32, differs: bool| {
            let number = if differs {
                i.wrapping_mul(2_654_435_761)
            } else {
                1
            };
            format!("{number:010},{}\n", "x".repeat(53))
        };
        for (name, bytes, differs, fits) in [
            ("equal rows", 17 << 20, false, false),
            ("a few equal rows", 15 << 20, false, true),
            ("other rows", 17 << 20, true, true),
        ] {
            let text: String = (0..bytes / 64).map(|i| line(i, differs)).collect();
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
            let read = Input::new(io::Cursor::new(packed.finish().unwrap()), GZIP)
                .and_then(|input| input.whole(1 << 30));
            assert!(
                match &read {
                    Ok(_) => fits,
                    Err(error) => !fits && matches!(error, SourceError::UnpacksTooFar { .. }),
                },
                "{name}: {:?}",
                read.err()
            );
        }
    }

    #[test]
    fn a_long_zstd_window_is_used_for_short_texts_and_never_called_damage() {
        // A frame of one block of plain bytes.
        let frame =
            |flags: u8, size: &[u8]| [ZSTD, &[flags], size, &[8 * 4 + 1, 0, 0], b"a,b\n"].concat();
        let read = |bytes: Vec<u8>, before: u64| {
            let mut input = Input::new(io::Cursor::new(bytes), ZSTD)?;
            input.unpacked += before;
            input
                .whole(100)
                .map(|text| String::from_utf8(text).unwrap())
        };
        let (usual, long, longer) = (frame(0, &[0x88]), frame(0, &[0x90]), frame(0, &[0xb0]));
        for (bytes, before, expected) in [
            ([&usual[..], &usual].concat(), 0, Ok("a,b\na,b\n")),
            ([&long[..], &usual].concat(), 0, Ok("a,b\na,b\n")),
            (
                [&long[..], &usual].concat(),
                WINDOW_MAX,
                Err("a zstd window of 256 MiB"),
            ),
            (longer, 0, Err("a zstd window of 4096 MiB")),
            (frame(0x20, &[4]), 0, Ok("a,b\n")),
            (
                [&usual[..], &long].concat(),
                0,
                Err("a zstd window of more than 128 MiB"),
            ),
            (
                long[..long.len() - 2].to_vec(),
                0,
                Err("is truncated or damaged"),
            ),
        ] {
            let read = read(bytes, before);
            let fits = match (&read, expected) {
                (Ok(text), Ok(expected)) => text == expected,
                (Err(error), Err(expected)) => error.to_string().contains(expected),
                _ => false,
            };
            assert!(fits, "{read:?} {expected:?}");
        }
        assert_eq!(
            window(&[ZSTD, &[0xa0, 0, 0, 0x80, 0x0c]].concat()),
            Some(200 << 20)
        );
    }

    #[test]
    fn carriage_returns_alone_end_lines() {
        for (text, expected) in [
            ("a,b\r1,2\r", "a,b\n1,2\n"),
            ("a,b\r\n1,2\r\n", "a,b\r\n1,2\r\n"),
            ("a,\"x\ry\"\n", "a,\"x\ry\"\n"),
        ] {
            let read = Input::new(io::Cursor::new(text), &[])
                .and_then(|input| input.whole(100))
                .unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), expected);
        }
    }
}
