//! Tells what a text holds: delimited rows, JSON or JSON Lines, or why it holds no table.

use super::{
    super::{
        encoding,
        error::FileError,
        evidence::{CellKind, kind},
        outline::Outline,
        script,
        sheet::{self, RawTable, header::NumberedRow, json::Json},
    },
    FileLocation, FileShape, LOOKED,
};
use load::formats::{self, Layout};

/// Cell delimiters, the most common first.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// Maximum size of JSON, which must be read whole.
const JSON_MAX: u64 = 256 << 20;
/// The first line of a pointer of Git LFS.
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Bytes in which drawn lines are looked for.
const DRAWN_LOOKED: usize = 8 << 10;
/// A byte that does not occur in text.
const BINARY: u8 = 0;

/// Compressed forms and archives that are not read.
const PACKED: [(&[u8], &str); 6] = [
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
    (b"\x1f\x9d", "compressed with compress"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
];

/// What the bytes are packed as, where that is not read.
fn packed_as(bytes: &[u8]) -> Option<&'static str> {
    let tar = bytes
        .get(257..)
        .is_some_and(|rest| rest.starts_with(b"ustar"))
        .then_some("a tar archive");
    // Three letters begin words too: bzip2 goes on with the size of its blocks and the mark of the first.
    let is = |sign: &[u8]| {
        bytes.starts_with(sign)
            && (sign != b"BZh"
                || bytes
                    .get(4..)
                    .is_some_and(|rest| rest.starts_with(b"1AY&SY")))
    };
    PACKED
        .iter()
        .find(|(sign, _)| is(sign))
        .map(|(_, name)| *name)
        .or(tar)
}

/// Control bytes that a text may have in damaged cells: the maximum, or one per this number of bytes.
const DAMAGED: (usize, usize) = (8, 100);

/// Bytes at the start of which a text has at most one that is damaged.
const START: usize = 16;

/// Whether bytes that no text has are more than a few damaged cells, or stand at the start or in the first line.
fn is_no_text(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let control = |bytes: &[u8]| {
        bytes
            .iter()
            .filter(|byte| matches!(byte, 0..=8 | 14..=31))
            .count()
    };
    bytes.contains(&BINARY)
        && (control(&bytes[..bytes.len().min(START)]) > 1
            || lines.next().is_some_and(|first| first.contains(&BINARY))
            || control(bytes) > DAMAGED.0.max(bytes.len() / DAMAGED.1))
}

pub(super) fn text_shape(
    place: &FileLocation,
    name: &str,
    head: &[u8],
    notes: &mut Vec<String>,
) -> Result<(FileShape, Option<RawTable>), FileError> {
    let first = formats::first_text(place.open()?, head, LOOKED)?;
    if let Some(packed) = packed_as(&first) {
        return Err(FileError::Packed(packed));
    }
    if is_no_text(&first) {
        return Err(FileError::NoText);
    }
    if first.starts_with(LFS) {
        return Err(FileError::GitLfs);
    }
    if is_drawn(&first) {
        return Err(FileError::Drawn);
    }
    let (encoding, first) = match encoding::of(&first)? {
        Some((encoding, decoded)) => (Some(encoding), decoded.into_bytes()),
        None => (None, first),
    };
    let start = first
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        .copied();
    match start {
        None => return Err(FileError::Blank),
        Some(b'<') if is_page(&first) => return Err(FileError::Page),
        Some(b'{' | b'[') => {
            if let Some(keys) = first_line(&first, name) {
                return Ok((FileShape::JsonLines(keys), None));
            }
        }
        _ => {}
    }
    let called = script::json_in(&first).is_some();
    if matches!(start, Some(b'{' | b'[')) || called {
        let mut text = formats::whole_text(place.open()?, head, JSON_MAX)?;
        if called {
            text = script::json_of(text)?;
            notes.push("the file is JavaScript, and only the JSON in it is read".to_owned());
        }
        let outline = Outline::of(&text).or_else(|error| {
            let (plain, count) = formats::without_nan(&text).ok_or(error)?;
            text = plain;
            notes.extend(formats::note_on_nan(count));
            Outline::of(&text)
        })?;
        let sheet = Json::of(&text)?.map(RawTable::json);
        return Ok((FileShape::Json { text, outline }, sheet));
    }
    let (rows, delimiter, blanks) = first_rows(&first);
    if rows.is_empty() {
        return Err(FileError::NotRows);
    }
    let sheet = RawTable::separated(
        &rows,
        &Layout {
            delimiter: Some(delimiter),
            encoding,
            blanks,
            ..Layout::default()
        },
    );
    Ok((
        FileShape::Rows(rows.into_iter().map(|(_, row)| row).collect()),
        sheet,
    ))
}

/// Whether half of the lines have two vertical lines that separate cells, as terminals draw tables.
fn is_drawn(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&text[..text.len().min(DRAWN_LOOKED)]);
    let (mut all, mut drawn) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let bars = line
            .chars()
            .filter(|c| ('\u{2500}'..='\u{257f}').contains(c))
            .count();
        (all, drawn) = (all + 1, drawn + usize::from(bars > 1));
    }
    drawn > 2 && drawn * 2 > all
}

/// Whether the text is HTML or XML. MetaTrader's `<DATE>` headers are neither.
fn is_page(text: &[u8]) -> bool {
    let start: String =
        String::from_utf8_lossy(&text.trim_ascii_start()[..text.trim_ascii_start().len().min(64)])
            .to_lowercase();
    [
        "<!doctype",
        "<html",
        "<?xml",
        "<svg",
        "<head",
        "<table",
        "<rss",
    ]
    .iter()
    .any(|tag| start.starts_with(tag))
}

/// If the text is JSON Lines: the members of the first line's object, none where it is a list. The line must be complete and the next one
/// start another of its kind; an object on a line of its own is enough in a file named as JSON Lines.
fn first_line(text: &[u8], name: &str) -> Option<Vec<String>> {
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty());
    let first = lines.next()?;
    let plain = formats::without_nan(first).map_or_else(|| first.to_vec(), |(plain, _)| plain);
    let keys = match serde_json::from_slice(&plain).ok()? {
        serde_json::Value::Object(object) => object.keys().cloned().collect(),
        serde_json::Value::Array(_) => Vec::new(),
        _ => return None,
    };
    let is_named = || {
        matches!(
            formats::format_of(name),
            Some((_, formats::SourceFormat::Ndjson))
        ) && first.starts_with(b"{")
    };
    lines
        .next()
        .map_or_else(is_named, |next| next.first() == first.first())
        .then_some(keys)
}

/// The first rows of delimited text, and its delimiter: the one that gives most rows the same number of cells. Runs of blanks separate cells
/// where they alone make columns of numbers and times, and the delimiter is then a tab.
fn first_rows(text: &[u8]) -> (Vec<NumberedRow>, u8, bool) {
    let end = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap_or(text.len());
    let whole = if text.len() < LOOKED {
        text
    } else {
        &text[..end]
    };
    let unspaced = without_blanks_at_quotes(whole);
    let whole = unspaced.as_slice();
    let even = |delimiter: u8| {
        let rows = rows_by(whole, delimiter, 200);
        let mut widths: Vec<usize> = rows.iter().map(|(_, row)| row.len()).collect();
        widths.sort_unstable();
        let most = widths
            .chunk_by(|a, b| a == b)
            .max_by_key(|same| same.len())
            .map_or((0, 0), |same| (same[0], same.len()));
        if most.0 < 2 {
            0
        } else {
            most.1 * 1_000 / rows.len().max(1) * 100 + most.0.min(50)
        }
    };
    // Ties go to the most common delimiter.
    let delimiter = DELIMITERS
        .into_iter()
        .rev()
        .max_by_key(|delimiter| even(*delimiter))
        .filter(|delimiter| even(*delimiter) > 0)
        .unwrap_or(b',');
    if !are_figures(&rows_by(whole, delimiter, 200)) {
        let tabs = formats::tabs_for_blanks(whole);
        if are_figures(&rows_by(&tabs, b'\t', 200)) {
            return (rows_by(&tabs, b'\t', sheet::ROWS), b'\t', true);
        }
    }
    (rows_by(whole, delimiter, sheet::ROWS), delimiter, false)
}

/// Whether all rows below the first have the same two cells or more, and every column holds numbers, times or addresses.
fn are_figures(rows: &[NumberedRow]) -> bool {
    let [_, (_, second), ..] = rows else {
        return false;
    };
    let below = || rows.iter().skip(1).map(|(_, row)| row);
    let cells = |at: usize| {
        below()
            .filter_map(move |row| row.get(at))
            .map(String::as_str)
    };
    second.len() > 1
        && rows.len() > 2
        && below().all(|row| row.len() == second.len())
        && (0..second.len()).all(|at| !matches!(kind(cells(at)), CellKind::Text | CellKind::Empty))
}

/// The text without the blanks around quoted cells, as it is read.
fn without_blanks_at_quotes(text: &[u8]) -> Vec<u8> {
    let is_delimiter = |byte: &u8| DELIMITERS.contains(byte) || matches!(byte, b'\n' | b'\r');
    let mut plain: Vec<u8> = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let blanks = text[at..].iter().take_while(|byte| **byte == b' ').count();
        let next = text.get(at + blanks);
        let opens = next == Some(&b'"') && plain.last().is_none_or(is_delimiter);
        let closes = next.is_none_or(is_delimiter) && plain.last() == Some(&b'"');
        if blanks > 0 && !(opens || closes) {
            plain.extend_from_slice(&text[at..at + blanks]);
        } else if blanks == 0 {
            plain.push(*byte);
        }
        at += blanks.max(1);
    }
    plain
}

fn rows_by(text: &[u8], delimiter: u8, most: usize) -> Vec<NumberedRow> {
    let escape = formats::has_backslashed_quotes(text, delimiter).then_some(b'\\');
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .escape(escape)
        .from_reader(text);
    let mut rows = Vec::new();
    let (mut line, mut counted) = (0, 0);
    let mut record = csv::ByteRecord::new();
    while rows.len() < most && reader.read_byte_record(&mut record).unwrap_or(false) {
        // The CSV reader counts a CR LF only when it reads the next record, so lines are counted here.
        let start = record
            .position()
            .map_or(0, |position| position.byte() as usize)
            .min(text.len());
        let start = start
            + text[start..]
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
        line += text[counted..start].split(|byte| *byte == b'\n').count() - 1;
        counted = start;
        let cell = |field: &[u8]| {
            formats::without_formula(String::from_utf8_lossy(field).trim()).to_owned()
        };
        rows.push((line, record.iter().map(cell).collect()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_told_from_a_damaged_cell() {
        let noise: Vec<u8> = (0..10_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for (bytes, expected) in [
            (&b"a,b\n1,2\0\n"[..], false),
            (b"a,b\n1,2\n", false),
            (b"a\0,\0b\0\n\0", true),
            (&[&b"\x89PNG\r\n\x1a\n\0\0\0"[..], &noise].concat(), true),
        ] {
            assert_eq!(is_no_text(bytes), expected, "{}", bytes.escape_ascii());
        }
        for (bytes, expected) in [
            (&b"BZh91AY&SY\x01"[..], Some("compressed with bzip2")),
            (b"BZh,open\n1,2\n", None),
            (b"\xfd7zXZ\0\0", Some("compressed with xz")),
        ] {
            assert_eq!(packed_as(bytes), expected);
        }
    }

    #[test]
    fn json_lines_are_told_from_json() {
        for (text, name, expected) in [
            ("{\"a\":1}\n{\"a\":2}\n", "x.json", Some(&["a"][..])),
            ("{\"a\":1}", "x.ndjson", Some(&["a"])),
            ("{\"a\":1}\n", "x.jsonl.gz", Some(&["a"])),
            ("{\"a\":1}", "x.json", None),
            ("[1,2]\n[3,4]\n", "x", Some(&[])),
            ("[1,2]\n", "x.ndjson", None),
            ("[\n[1,2],\n[3,4]]", "x", None),
        ] {
            let expected = expected.map(|names| {
                names
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>()
            });
            assert_eq!(first_line(text.as_bytes(), name), expected, "{text}");
        }
        let spaced = without_blanks_at_quotes(b"a, \"b\" ,c\n1,  \"x, y\", z \n");
        assert_eq!(
            spaced.escape_ascii().to_string(),
            "a,\\\"b\\\",c\\n1,\\\"x, y\\\", z \\n"
        );
    }
}
