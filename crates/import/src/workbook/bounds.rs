//! What a workbook would take is counted before it is read: its reader allocates what the file declares and what it unpacks to, and an
//! allocation that fails ends the program, whoever catches panics.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use super::{
    super::{archive, error::WorkbookError},
    grid::CELLS_MAX,
    unreadable,
};

/// Maximum unpacked size of a workbook: its cells take 40 to 110 bytes each.
const UNPACKED_MAX: u64 = 768 << 20;
/// Maximum size of a cell with its marks, and of a mark; Excel's own limit is 32,767 letters.
const ITEM_MAX: usize = 4 << 20;
/// Maximum number of texts that cells share.
const SHARED_MAX: usize = 5_000_000;
/// Maximum number of fonts, formats, sheets and names; Excel's own limits are lower.
const FORMATS_MAX: usize = 500_000;
/// Maximum number of elements in each other.
pub(super) const DEPTH_MAX: usize = 256;
/// Maximum size of a part that is no well-formed XML: pictures, old drawings.
const ODD_MAX: u64 = 64 << 20;
/// What a stream may hold beside its cells, and for each cell.
const BESIDE_MAX: u64 = 48 << 20;
const PER_CELL_MAX: u64 = 512;

/// Refuses a workbook that would take too much; returns its unpacked size.
pub(super) fn check(path: &Path) -> Result<u64, WorkbookError> {
    let parts = archive::parts(path)?;
    let mut counts = Counts::default();
    // One that lies downwards is found while it is unpacked.
    let declared = parts
        .iter()
        .fold(0_u64, |sum, part| sum.saturating_add(part.declared));
    counts.unpacked(declared)?;
    counts.bytes = 0;
    for part in &parts {
        let mut reader = BufReader::with_capacity(64 << 10, part.open(path)?);
        let is_binary = part.name.to_lowercase().ends_with(".bin");
        if is_binary {
            records(&mut reader, &part.name, &mut counts)?;
        } else {
            tags(&mut reader, &part.name, &mut counts)?;
        }
    }
    Ok(counts.bytes)
}

fn too_long(name: &str) -> WorkbookError {
    WorkbookError::LongText {
        part: name.to_owned(),
        mib: ITEM_MAX >> 20,
    }
}

/// What all parts hold.
#[derive(Default)]
struct Counts {
    bytes: u64,
    cells: usize,
    shared: usize,
    formats: usize,
}

impl Counts {
    fn unpacked(&mut self, bytes: u64) -> Result<(), WorkbookError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > UNPACKED_MAX {
            Err(WorkbookError::TooLarge {
                mib: UNPACKED_MAX >> 20,
            })
        } else {
            Ok(())
        }
    }

    fn cell(&mut self) -> Result<(), WorkbookError> {
        self.cells += 1;
        if self.cells > CELLS_MAX {
            Err(WorkbookError::TooManyCells { max: CELLS_MAX })
        } else {
            Ok(())
        }
    }

    fn shared(&mut self) -> Result<(), WorkbookError> {
        self.shared += 1;
        if self.shared > SHARED_MAX {
            Err(too_many_texts(self.shared as u64))
        } else {
            Ok(())
        }
    }

    /// Counts an element; `local` is its name without the prefix.
    fn element(&mut self, local: &[u8], tag: &[u8]) -> Result<(), WorkbookError> {
        match local {
            b"c" => self.cell(),
            b"si" => self.shared(),
            // The reader reserves room for as many as are declared.
            b"sst" => declared_texts(tag)
                .filter(|count| *count > SHARED_MAX as u64)
                .map_or(Ok(()), |count| Err(too_many_texts(count))),
            b"xf" | b"font" | b"fill" | b"border" | b"numFmt" | b"cellStyle" | b"sheet"
            | b"definedName" => {
                self.formats += 1;
                if self.formats > FORMATS_MAX {
                    Err(WorkbookError::TooManyFormats { max: FORMATS_MAX })
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }
}

fn too_many_texts(count: u64) -> WorkbookError {
    WorkbookError::TooManyTexts {
        count,
        max: SHARED_MAX,
    }
}

/// The largest number that `uniqueCount` is said to be.
fn declared_texts(tag: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(tag);
    let number = |rest: &str| {
        let digits: String = rest
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap_or(u64::MAX)
    };
    text.split("uniqueCount").skip(1).map(number).max()
}

/// Counts the records of a binary part: the kind in one or two bytes, the length in one to four, and as many bytes.
fn records(reader: &mut impl Read, name: &str, counts: &mut Counts) -> Result<(), WorkbookError> {
    let number = |reader: &mut dyn Read, bytes: u32| -> io::Result<u64> {
        let (mut sum, mut byte) = (0, [0; 1]);
        for at in 0..bytes {
            reader.read_exact(&mut byte)?;
            sum += u64::from(byte[0] & 0x7f) << (7 * at);
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        Ok(sum)
    };
    loop {
        // It ends in the middle of a record if it is no workbook's: the settings of a printer.
        let (Ok(kind), Ok(length)) = (number(reader, 2), number(reader, 4)) else {
            return Ok(());
        };
        let mut data = reader.by_ref().take(length);
        match kind {
            1..=11 => counts.cell()?,
            0x13 => counts.shared()?,
            // Links to other workbooks, for which the reader reserves room.
            0x16a if name == "workbook.bin" => {
                let mut declared = [0; 4];
                if data.read_exact(&mut declared).is_ok()
                    && u64::from(u32::from_le_bytes(declared)) > length
                {
                    return Err(WorkbookError::Damaged);
                }
            }
            _ => {}
        }
        let read = io::copy(&mut data, &mut io::sink()).map_err(unreadable)?;
        counts.unpacked(read)?;
        if read > ITEM_MAX as u64 {
            return Err(too_long(name));
        }
    }
}

/// Counts the elements of a part of XML. It is split as the reader splits it, so that no text or mark escapes: by `<`, and by the `>` that ends
/// the mark.
fn tags(reader: &mut impl BufRead, name: &str, counts: &mut Counts) -> Result<(), WorkbookError> {
    let mut scan = Scan {
        counts,
        name,
        tag: Vec::new(),
        in_tag: false,
        quote: None,
        text: 0,
        opened: Vec::new(),
        starts: Vec::new(),
        item: None,
        odd: false,
    };
    let (mut bytes, mut first) = (0, true);
    loop {
        let chunk = reader.fill_buf().map_err(unreadable)?;
        if chunk.is_empty() {
            break;
        }
        if std::mem::take(&mut first) {
            let text = chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(chunk);
            scan.odd = !text.trim_ascii_start().starts_with(b"<");
        }
        scan.feed(chunk)?;
        let count = chunk.len();
        reader.consume(count);
        bytes += count as u64;
        scan.counts.unpacked(count as u64)?;
    }
    let odd = scan.odd || scan.in_tag || !scan.starts.is_empty();
    // Shared texts are where a declared number is, and must be read as the reader reads them.
    let strict = name.eq_ignore_ascii_case("sharedStrings.xml");
    if odd && (bytes > ODD_MAX || strict) {
        Err(WorkbookError::DamagedPart(name.to_owned()))
    } else {
        Ok(())
    }
}

struct Scan<'a> {
    counts: &'a mut Counts,
    name: &'a str,
    /// The mark so far, without its `<`.
    tag: Vec<u8>,
    in_tag: bool,
    quote: Option<u8>,
    /// Bytes of the text so far; within a cell or shared text those since its start.
    text: usize,
    /// The names of the open elements, one after the other, and where each starts.
    opened: Vec<u8>,
    starts: Vec<usize>,
    /// Number of elements around the cell or shared text that is open.
    item: Option<usize>,
    odd: bool,
}

impl Scan<'_> {
    fn feed(&mut self, mut rest: &[u8]) -> Result<(), WorkbookError> {
        while !rest.is_empty() {
            let end = if self.in_tag { b'>' } else { b'<' };
            let found = rest.iter().position(|byte| *byte == end);
            let (piece, after) = rest.split_at(found.unwrap_or(rest.len()));
            rest = after.get(1..).unwrap_or_default();
            self.text += piece.len();
            if self.text > ITEM_MAX {
                if !self.odd {
                    return Err(too_long(self.name));
                }
                (self.text, self.in_tag) = (0, false);
                self.tag.clear();
                continue;
            }
            if !self.in_tag {
                self.in_tag = found.is_some();
                if self.item.is_none() {
                    self.text = 0;
                }
                continue;
            }
            for byte in piece {
                match self.quote {
                    Some(quote) if quote == *byte => self.quote = None,
                    None if matches!(byte, b'"' | b'\'') => self.quote = Some(*byte),
                    _ => {}
                }
            }
            self.tag.extend_from_slice(piece);
            if found.is_some() && self.is_whole() {
                let tag = std::mem::take(&mut self.tag);
                self.mark(&tag)?;
                self.tag = tag;
                self.tag.clear();
                (self.in_tag, self.quote) = (false, None);
            } else if found.is_some() {
                self.tag.push(b'>');
            }
        }
        Ok(())
    }

    /// Whether the `>` that was found ends the mark.
    fn is_whole(&self) -> bool {
        match &self.tag[..] {
            [b'!', b'-', b'-', rest @ ..] => rest.ends_with(b"--"),
            [b'!', b'[', ..] => self.tag.ends_with(b"]]"),
            [b'?', rest @ ..] => rest.ends_with(b"?"),
            [b'!' | b'/', ..] => true,
            _ => self.quote.is_none(),
        }
    }

    fn mark(&mut self, tag: &[u8]) -> Result<(), WorkbookError> {
        match tag {
            [b'?', rest @ ..] => {
                self.odd |= rest.starts_with(b"xml ") && is_encoded_otherwise(rest);
            }
            [b'!', b'-' | b'[', ..] => {}
            [b'!', ..] => self.odd = true,
            [b'/', name @ ..] => {
                let start = self.starts.pop();
                self.odd |=
                    start.and_then(|start| self.opened.get(start..)) != Some(name.trim_ascii_end());
                self.opened.truncate(start.unwrap_or_default());
                if self.item == Some(self.starts.len()) {
                    self.item = None;
                }
            }
            _ => {
                let end = tag
                    .iter()
                    .position(|byte| byte.is_ascii_whitespace() || *byte == b'/')
                    .unwrap_or(tag.len());
                let name = tag.get(..end).unwrap_or_default();
                let local = name.rsplit(|byte| *byte == b':').next().unwrap_or_default();
                self.counts.element(local, tag)?;
                if tag.ends_with(b"/") {
                    return Ok(());
                }
                if self.item.is_none() && matches!(local, b"c" | b"si") {
                    (self.item, self.text) = (Some(self.starts.len()), 0);
                }
                if self.starts.len() >= DEPTH_MAX {
                    return Err(WorkbookError::Damaged);
                }
                self.starts.push(self.opened.len());
                self.opened.extend_from_slice(name);
            }
        }
        Ok(())
    }
}

/// Whether the first mark names an encoding in which `<` may be written otherwise.
fn is_encoded_otherwise(declaration: &[u8]) -> bool {
    let text = String::from_utf8_lossy(declaration).to_lowercase();
    text.contains("encoding")
        && !["utf-8", "utf8", "ascii", "iso-8859-1", "windows-1252"]
            .iter()
            .any(|known| text.contains(known))
}

/// A stream with a maximum number of bytes per item, and in total for the cells found in it.
pub(super) struct Limited<R> {
    inner: R,
    item: usize,
    all: u64,
}

impl<R> Limited<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            item: ITEM_MAX,
            all: BESIDE_MAX,
        }
    }

    /// The last item is whole; another begins.
    pub(super) fn next_item(&mut self) {
        self.item = ITEM_MAX;
    }

    /// A cell was found.
    pub(super) fn more(&mut self) {
        self.all = self.all.saturating_add(PER_CELL_MAX);
    }
}

impl<R: BufRead> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let most = self
            .item
            .min(usize::try_from(self.all).unwrap_or(usize::MAX));
        let bytes = self.inner.fill_buf()?;
        if most == 0 && !bytes.is_empty() {
            return Err(io::Error::other(
                "it contains far more data than its cells would need",
            ));
        }
        Ok(bytes.get(..most).unwrap_or(bytes))
    }

    fn consume(&mut self, count: usize) {
        self.item = self.item.saturating_sub(count);
        self.all = self.all.saturating_sub(count as u64);
        self.inner.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_not_fit_is_refused_before_it_is_read() {
        let shared = |inner: &str| {
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sst uniqueCount=\"3\">{inner}</sst>"
            )
        };
        let long = "a".repeat(ITEM_MAX + 1);
        for (text, reason) in [
            (
                shared("<si><t>a &lt; b</t></si><!-- > --><si><t x='>'/></si><si/>"),
                "",
            ),
            (
                format!("<sst>{}</sst>", "<si><t>a</t></si>".repeat(200_000)),
                "",
            ),
            (
                shared(&format!("<si><t>{long}</t></si>")),
                "a string of more than",
            ),
            (shared(&format!("<!--{long}-->")), "a string of more than"),
            (
                shared(&format!(
                    "<si>{}</si>",
                    format!("<r><t>{}</t></r>", &long[..ITEM_MAX / 3]).repeat(4)
                )),
                "a string of more than",
            ),
            (
                shared(&format!(
                    "<si><c>{}",
                    format!("</c><t>{}</t><c>", &long[..ITEM_MAX / 3]).repeat(4)
                )),
                "a string of more than",
            ),
            (
                "<x:sst x='9' uniqueCount = '4000000000'/>".to_owned(),
                "4000000000 text strings",
            ),
            (shared("<si>"), "not complete XML"),
            ("<sst></si>".to_owned(), "not complete XML"),
            ("\u{feff}x<sst/>".to_owned(), "not complete XML"),
            (
                "<!DOCTYPE x [<!ENTITY y 'z'>]><sst/>".to_owned(),
                "not complete XML",
            ),
            ("<a>".repeat(DEPTH_MAX + 1), "damaged"),
        ] {
            let outcome = tags(
                &mut text.as_bytes(),
                "sharedStrings.xml",
                &mut Counts::default(),
            );
            let said = outcome.map_or_else(|error| error.to_string(), |()| String::new());
            assert!(
                said.contains(reason) && said.is_empty() == reason.is_empty(),
                "{text:.80}: {said}"
            );
        }
        let odd = tags(
            &mut "<br><xml></xml>".as_bytes(),
            "vmlDrawing1.vml",
            &mut Counts::default(),
        );
        assert!(odd.is_ok(), "old drawings are no whole XML");
        let mut counts = Counts {
            cells: CELLS_MAX - 1,
            ..Counts::default()
        };
        assert!(tags(&mut "<x:c/><cols/>".as_bytes(), "sheet1.xml", &mut counts).is_ok());
        assert!(tags(&mut "<c r='A1'/>".as_bytes(), "sheet1.xml", &mut counts).is_err());
    }

    #[test]
    fn records_are_counted() {
        let links = |count: u32| [&[0xea, 0x02, 4][..], &count.to_le_bytes()].concat();
        let mut counts = Counts::default();
        let some = [[2, 1, 0].as_slice(), &[0x13, 2, 0, 0], &[0x9c, 1, 0]].concat();
        assert!(records(&mut &some[..], "sheet1.bin", &mut counts).is_ok());
        assert_eq!((counts.cells, counts.shared), (1, 1));
        assert!(records(&mut &links(2)[..], "workbook.bin", &mut counts).is_ok());
        assert!(records(&mut &links(4_000_000_000)[..], "workbook.bin", &mut counts).is_err());
        let long = [&[0x14, 0xff, 0xff, 0xff, 0x7f][..], &vec![0; ITEM_MAX + 1]].concat();
        assert!(
            records(&mut &long[..], "sheet1.bin", &mut counts)
                .is_err_and(|error| error.to_string().contains("a string of more than"))
        );
    }
}
