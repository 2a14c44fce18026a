//! Files and streams of every format. [`RowSource`] is the interface by which a file, a stored object or a query's result returns batches of raw
//! columns; [`crate::cells`] converts their cells to typed values. Nothing here checks rows, stores them, or interprets values.

mod csv;
pub mod downloads;
mod encodings;
mod error;
pub mod forward;
mod ipc;
mod json;
pub mod locate;
mod ndjson;
pub mod object;
mod parquet;
pub mod partition;
pub mod read_at;
mod size_limits;
mod supported;
pub(crate) mod text;
mod words;

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use polars::prelude::{ArrowField, Column, IdxSize};

pub use encodings::TextEncoding;
pub use error::{PathProblem, ProviderError, SourceError};
pub use json::{note_on_nan, without_nan};
use model::{private_files::open_regular, system::FileAt};
use read_at::{InOrder, ReadAt};
pub use text::{UNPACKED_FLOOR, UNPACKED_RATIO_MAX};

/// Default maximum of rows per batch.
pub const BATCH_ROWS: usize = 8_192;
/// Maximum number of rows of one table: the most that polars can index.
pub const ROWS_MAX: u64 = IdxSize::MAX as u64 - 1;

/// Predicate for the names of columns to read.
pub type ColumnFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Consecutive rows of a source, in source order.
#[derive(Debug, Default)]
pub struct SourceBatch {
    /// The selected columns as read, each of `height` cells; text formats give text. Names may repeat.
    pub columns: Vec<Column>,
    pub height: usize,
    /// 1-based number of its first row in the source.
    pub first_row: u64,
    /// Malformed rows: position in the batch, and reason. Their cells are null.
    pub malformed: Vec<(usize, &'static str)>,
    /// Columns whose type or encoding is not read, and why. Their cells are null.
    pub unread: Vec<(String, String)>,
}

/// Interface of row sources. An error is the reason why reading cannot continue.
pub trait RowSource: Send {
    /// Reads the next batch; `None` at the end. A source with columns and no rows yields one empty batch.
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError>;
    /// All columns seen so far, selected or not.
    fn columns(&self) -> &[String];
    /// 1-based row at which reading failed; none where the error belongs to no single row.
    fn stopped_at(&self) -> Option<u64> {
        None
    }
    /// What there is to say of the source, as far as it was read: what was assumed or left out.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Number of bytes of the source read so far.
    fn bytes_read(&self) -> u64;
}

/// Format of a file, by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    Csv,
    Tsv,
    Ndjson,
    Json,
    Parquet,
    Ipc,
}

impl SourceFormat {
    /// Whether it is line-based text, to which lines may be appended.
    fn is_of_lines(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Ndjson)
    }
}

/// The extensions of each format.
const EXTENSIONS: &[(&str, SourceFormat)] = &[
    ("csv", SourceFormat::Csv),
    ("tsv", SourceFormat::Tsv),
    ("ndjson", SourceFormat::Ndjson),
    ("jsonl", SourceFormat::Ndjson),
    ("json", SourceFormat::Json),
    ("parquet", SourceFormat::Parquet),
    ("arrow", SourceFormat::Ipc),
    ("ipc", SourceFormat::Ipc),
    ("feather", SourceFormat::Ipc),
];

/// Splits `candles.csv.gz` into its stem and its format; `None` for an unsupported format.
pub fn format_of(name: &str) -> Option<(&str, SourceFormat)> {
    let plain = [".gz", ".zst"].iter().find_map(|end| strip_end(name, end));
    let (stem, extension) = plain.unwrap_or(name).rsplit_once('.')?;
    let (_, format) = EXTENSIONS
        .iter()
        .find(|(known, _)| extension.eq_ignore_ascii_case(known))?;
    let packed_binary =
        plain.is_some() && matches!(format, SourceFormat::Parquet | SourceFormat::Ipc);
    (!stem.is_empty() && !packed_binary).then_some((stem, *format))
}

/// Strips the suffix `end`, in any letter case.
fn strip_end<'a>(name: &'a str, end: &str) -> Option<&'a str> {
    let at = name.len().checked_sub(end.len())?;
    name.is_char_boundary(at)
        .then(|| name.split_at(at))
        .filter(|(_, tail)| tail.eq_ignore_ascii_case(end))
        .map(|(head, _)| head)
}

/// Like `open_as`, for a file with a header.
pub fn open(path: &Path, wanted: ColumnFilter) -> Result<Box<dyn RowSource>, SourceError> {
    open_as(path, &Layout::default(), wanted)
}

/// Opens a file, detecting its format by magic bytes or, without them, by name.
pub fn open_as(
    path: &Path,
    layout: &Layout,
    wanted: ColumnFilter,
) -> Result<Box<dyn RowSource>, SourceError> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let file = open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => SourceError::NotRegular,
        _ => error.into(),
    })?;
    open_bytes(Arc::new(file), &name, layout, wanted)
}

/// Like `open_as`, for bytes from any origin, with the name of their file.
pub fn open_bytes(
    file: Arc<dyn ReadAt>,
    name: &str,
    layout: &Layout,
    wanted: ColumnFilter,
) -> Result<Box<dyn RowSource>, SourceError> {
    let bytes = file.bytes()?;
    if bytes == 0 {
        return Err(SourceError::Empty(None));
    }
    let mut head = [0u8; 8];
    let head = &mut head[..bytes.min(8) as usize];
    file.read_exact_at(head, 0)?;
    let head = &*head;
    let named = format_of(name).map(|(_, format)| format);
    if head.starts_with(b"PAR1") {
        let rows = parquet::ParquetRows::open(file, &wanted)?;
        let (has_words, writer) = (
            rows.fields().iter().any(words::may_have_words),
            rows.writer().map(str::to_owned),
        );
        return Ok(if has_words {
            words::WordRows::over(Box::new(rows), writer.as_deref())
        } else {
            Box::new(rows)
        });
    }
    if head.starts_with(b"ARROW1")
        || is_arrow_stream(head, bytes)
        || head.starts_with(&[0xff; 4]) && named == Some(SourceFormat::Ipc)
    {
        let rows = ipc::IpcRows::open(file, &wanted)?;
        let has_words = rows.fields().iter().any(words::may_have_words);
        return Ok(if has_words {
            words::WordRows::over(Box::new(rows), None)
        } else {
            Box::new(rows)
        });
    }
    if layout.is_said() && !matches!(named, Some(SourceFormat::Csv | SourceFormat::Tsv)) {
        return Err(SourceError::NoHeader);
    }
    let packed = text::is_packed(head);
    let end = layout
        .end
        .filter(|_| !packed && named.is_some_and(SourceFormat::is_of_lines));
    let end = end.map_or(Ok(u64::MAX), |end| whole_lines(&*file, end))?;
    let delimiter = layout
        .delimiter
        .or((named == Some(SourceFormat::Tsv)).then_some(b'\t'));
    if let (Some(from), Some(named), false) = (layout.from, named, packed) {
        let mut rest = InOrder::new(Arc::clone(&file))?;
        rest.seek(SeekFrom::Start(from.bytes))?;
        let rest = text::Input::new(rest.take(end.saturating_sub(from.bytes)), &[])?;
        let header = text::Input::new(InOrder::new(file)?.take(from.bytes), head)?;
        return after(
            header,
            rest,
            named,
            &Layout {
                delimiter,
                ..layout.clone()
            },
            from.rows,
            wanted,
        );
    }
    let file = InOrder::new(file)?.take(end);
    match named {
        Some(SourceFormat::Csv | SourceFormat::Tsv) => separated(
            file,
            head,
            &Layout {
                delimiter,
                ..layout.clone()
            },
            wanted,
        ),
        Some(SourceFormat::Ndjson) => json_lines(file, head, wanted),
        Some(SourceFormat::Json) => Ok(Box::new(json::JsonRows::new(
            text::Input::new(file, head)?,
            wanted,
        ))),
        Some(format @ (SourceFormat::Parquet | SourceFormat::Ipc)) => {
            Err(SourceError::Misnamed(format))
        }
        None => Err(SourceError::UnknownFormat),
    }
}

/// Whether a file of `bytes` bytes with this beginning is an Arrow stream: a marker that no text contains, and the length of its first
/// message.
pub fn is_arrow_stream(head: &[u8], bytes: u64) -> bool {
    let length = head
        .strip_prefix(&[0xff; 4])
        .and_then(|rest| rest.first_chunk())
        .map(|length| u32::from_le_bytes(*length));
    length.is_some_and(|length| length > 0 && u64::from(length) < bytes)
}

/// Rows of the lines appended to a file whose header is in `header`.
fn after(
    header: text::Input,
    rest: text::Input,
    named: SourceFormat,
    layout: &Layout,
    rows: u64,
    wanted: ColumnFilter,
) -> Result<Box<dyn RowSource>, SourceError> {
    Ok(match named {
        SourceFormat::Csv | SourceFormat::Tsv => {
            let before = fields(header, layout, Arc::clone(&wanted))?;
            Box::new(before.going_on(rest, rows, wanted)?)
        }
        SourceFormat::Ndjson => Box::new(ndjson::NdjsonRows::going_on(rest, rows, wanted)),
        SourceFormat::Json | SourceFormat::Parquet | SourceFormat::Ipc => {
            return Err(SourceError::NotAppendable);
        }
    })
}

/// Length of the whole lines among the first `bytes` bytes of a file to which lines may be appended; `None` for a file that is not
/// line-based text, is compressed, or has no whole line.
pub fn lines_of(path: &Path, bytes: u64) -> Option<u64> {
    let named = format_of(path.file_name()?.to_str()?).map(|(_, format)| format);
    let file = open_regular(path)
        .ok()
        .filter(|_| named.is_some_and(SourceFormat::is_of_lines))?;
    let mut head = [0; 4];
    FileAt::read_exact_at(&file, &mut head, 0).ok()?;
    if text::is_packed(&head) {
        None
    } else {
        whole_lines(&file, bytes).ok().filter(|lines| *lines > 0)
    }
}

/// Length of the whole lines among the file's first `end` bytes.
fn whole_lines(file: &dyn ReadAt, end: u64) -> std::io::Result<u64> {
    let end = end.min(file.bytes()?);
    // The last line end is usually near the end. Old programs of the Mac end lines in CR alone.
    for (back, line_end) in [
        (64 << 10, b'\n'),
        (text::RECORD_MAX as u64, b'\n'),
        (text::RECORD_MAX as u64, b'\r'),
    ] {
        let start = end.saturating_sub(back);
        let mut tail = vec![0; (end - start) as usize];
        file.read_exact_at(&mut tail, start)?;
        if let Some(at) = tail.iter().rposition(|byte| *byte == line_end) {
            return Ok(start + at as u64 + 1);
        }
    }
    Ok(0)
}

/// Layout of a delimited text file that cannot be told from its name.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Lines before the header.
    pub skip: usize,
    /// Column names of a file without header; if empty, columns are named 1, 2, 3, ….
    pub names: Option<Vec<String>>,
    /// Length of the part of a text file to read; bytes after it are ignored.
    pub end: Option<u64>,
    /// Field delimiter; by default sniffed from the first line.
    pub delimiter: Option<u8>,
    /// The encoding of a text that is not UTF-8.
    pub encoding: Option<TextEncoding>,
    /// Whether the cells are separated by runs of blanks; `delimiter` is then a tab.
    pub blanks: bool,
    /// Whether the first cell, a date that contains the delimiter, is split in two.
    pub joins_first: bool,
    /// Part of an uncompressed text file that was read before: only the bytes after it are read.
    pub from: Option<ReadSoFar>,
}

/// Position in a text file: bytes of whole lines, and the rows in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadSoFar {
    pub bytes: u64,
    pub rows: u64,
}

impl Layout {
    fn is_said(&self) -> bool {
        self.skip > 0 || self.names.is_some()
    }
}

/// Rows of delimited text from any reader that begins with `head`.
pub fn separated(
    reader: impl Read + Send + 'static,
    head: &[u8],
    layout: &Layout,
    wanted: ColumnFilter,
) -> Result<Box<dyn RowSource>, SourceError> {
    let input = text::Input::new(reader, head)?;
    let input = match layout.encoding {
        Some(encoding) => input.in_encoding(encoding.get()),
        None => input,
    };
    Ok(Box::new(fields(
        if layout.blanks {
            input.in_tabs()
        } else {
            input
        },
        layout,
        wanted,
    )?))
}

fn fields(
    mut input: text::Input,
    layout: &Layout,
    wanted: ColumnFilter,
) -> Result<csv::CsvRows, SourceError> {
    for _ in 0..layout.skip {
        let length = input.line()?;
        input.consume(length);
    }
    let mut rows = csv::CsvRows::open(input, layout.names.as_deref(), layout.delimiter, wanted)?;
    rows.joins_first = layout.joins_first;
    Ok(rows)
}

/// Empty columns, for a file without rows.
fn empty_columns(fields: &[ArrowField]) -> Vec<Column> {
    let mut unread = supported::UnreadColumns::of(fields);
    fields
        .iter()
        .filter_map(|field| unread.or(field, 0, || supported::empty_column(field)).ok())
        .collect()
}

/// Rows of an Arrow stream, whose bytes may be readable only once.
pub fn arrow_stream(
    bytes: Arc<dyn ReadAt>,
    wanted: &ColumnFilter,
) -> Result<Box<dyn RowSource>, SourceError> {
    Ok(Box::new(ipc::IpcRows::open(bytes, wanted)?))
}

/// Number of rows of a Parquet file, and of bytes of its selected columns, from its footer.
pub fn parquet_footer(
    bytes: Arc<dyn ReadAt>,
    wanted: &ColumnFilter,
) -> Result<(u64, u64), SourceError> {
    parquet::footer(bytes, wanted)
}

/// Rows of newline-delimited JSON from any reader that begins with `head`.
pub fn json_lines(
    reader: impl Read + Send + 'static,
    head: &[u8],
    wanted: ColumnFilter,
) -> Result<Box<dyn RowSource>, SourceError> {
    Ok(Box::new(ndjson::NdjsonRows::new(
        text::Input::new(reader, head)?,
        wanted,
    )))
}

/// Rows of JSON objects that were extracted from a text of `bytes` bytes.
pub fn json_objects(
    elements: Vec<Box<serde_json::value::RawValue>>,
    bytes: u64,
    wanted: ColumnFilter,
) -> Box<dyn RowSource> {
    Box::new(json::JsonRows::of(elements, bytes, wanted))
}

/// Whether the delimited text writes quotes and separators inside quotes as `\"` and `\,`.
pub fn has_backslashed_quotes(text: &[u8], delimiter: u8) -> bool {
    csv::has_backslashed_quotes(text, delimiter)
}

/// Reads the whole text of a reader that begins with `head`: decompressed, without byte order mark, up to `limit` bytes.
pub fn whole_text(
    reader: impl Read + Send + 'static,
    head: &[u8],
    limit: u64,
) -> Result<Vec<u8>, SourceError> {
    text::Input::new(reader, head)?.whole(limit)
}

/// Reads the beginning of a reader's text, decompressed: at least `least` bytes unless it is shorter.
pub fn first_text(
    reader: impl Read + Send + 'static,
    head: &[u8],
    least: usize,
) -> Result<Vec<u8>, SourceError> {
    let mut input = text::Input::new(reader, head)?;
    while input.data().len() < least && input.fill()? {}
    Ok(input.data().to_vec())
}

/// The encodings that the beginning of a text may have, with the text in each; none for UTF-8.
pub fn possible_encodings(text: &[u8]) -> Vec<(TextEncoding, String)> {
    encodings::possible(text)
}

/// The text with each run of blanks between cells replaced by a tab.
pub fn tabs_for_blanks(text: &[u8]) -> Vec<u8> {
    text::with_tabs(text)
}

/// The value of a cell that is written so that a spreadsheet reads it as text: `1` for `="1"`, and `=A1` for `'=A1`.
pub fn without_formula(cell: &str) -> &str {
    if let Some(text) = cell.strip_prefix('\'') {
        return if frames::export::begins_formula(text) {
            text
        } else {
            cell
        };
    }
    cell.strip_prefix("=\"")
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|text| !text.contains('"'))
        .unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_kept_from_being_a_formula_is_read_as_it_was() {
        for (cell, text) in [
            ("=\"1\"", "1"),
            ("'=A1", "=A1"),
            ("'@uni", "@uni"),
            ("'-", "-"),
            ("'-5", "'-5"),
            ("'tis", "'tis"),
            ("''=A1", "'=A1"),
            ("", ""),
        ] {
            assert_eq!(without_formula(cell), text, "{cell}");
        }
    }

    #[test]
    fn a_file_name_tells_its_format() {
        for (name, expected) in [
            ("tokens.csv", Some(("tokens", SourceFormat::Csv))),
            ("candles.CSV.GZ", Some(("candles", SourceFormat::Csv))),
            ("posts.jsonl.zst", Some(("posts", SourceFormat::Ndjson))),
            ("a.b.parquet", Some(("a.b", SourceFormat::Parquet))),
            ("x.feather", Some(("x", SourceFormat::Ipc))),
            ("x.parquet.gz", None),
            ("tokens.txt", None),
            ("tokens", None),
            (".csv", None),
            ("é.gz", None),
        ] {
            assert_eq!(format_of(name), expected, "{name}");
        }
    }
}
