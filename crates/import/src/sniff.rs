//! File type sniffing: reads enough of a file to tell its content (delimited text, JSON, Parquet, a workbook, an archive of these),
//! whatever its extension. The source's format is recognized in `format`.

mod text;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempPath;

use self::text::text_shape;
use super::{
    archive, database,
    error::{ArchiveError, FileError},
    outline::{First, Outline},
    sheet::{self, RawTable},
    workbook,
};
use load::formats::{self, ColumnFilter, Layout, RowSource, SourceError};

/// Bytes of a text that are inspected.
const LOOKED: usize = 512 << 10;
/// JSON Lines up to this size are read whole, so that nested objects are flattened.
const LINES_MAX: u64 = 256 << 20;
/// The path that stands for standard input.
const PIPED: &str = "-";
/// Maximum size of a temporary copy.
const COPIED_MAX: u64 = 64 << 30;
/// Maximum number of columns.
pub(super) const COLUMNS_MAX: usize = 10_000;
/// The first bytes of files that are not text but can be read: zip, Parquet, Arrow, SQLite, old workbooks, gzip, zstd, UTF-16, UTF-8.
const KNOWN_STARTS: [&[u8]; 11] = [
    b"PK",
    b"PAR1",
    b"ARROW1",
    b"\xff\xff\xff\xff",
    b"SQLite f",
    b"\xd0\xcf\x11\xe0",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
];

/// The location of a file's bytes.
#[derive(Debug, Clone)]
pub(super) enum FileLocation {
    File(PathBuf),
    /// A member of a zip archive.
    Member(PathBuf, archive::Member),
}

/// A file, or a member of an archive, with its detected type.
#[derive(Debug)]
pub(super) struct Sniffed {
    pub place: FileLocation,
    /// Display name: the file's, followed by that of the member.
    pub name: String,
    pub bytes: u64,
    pub shape: FileShape,
    /// The file as a table, if it has one.
    pub sheet: Option<RawTable>,
    head: Vec<u8>,
    /// Assumptions and omissions made to read it.
    pub notes: Vec<String>,
    /// The temporary copy that is read instead.
    copied: Option<Arc<TempPath>>,
}

#[derive(Debug)]
pub(super) enum FileShape {
    /// Delimited text: the first rows, including the header if there is one.
    Rows(Vec<Vec<String>>),
    /// A JSON text, whole.
    Json { text: Vec<u8>, outline: Outline },
    /// JSON Lines: the members of the first object; none where each line is a list.
    JsonLines(Vec<String>),
    /// Parquet or Arrow: the column names.
    Columns(Vec<String>),
    /// A worksheet of a workbook.
    Cells,
}

impl FileLocation {
    pub(super) fn open(&self) -> Result<Box<dyn Read + Send>, FileError> {
        match self {
            Self::File(path) => Ok(Box::new(File::open(path).map_err(FileError::Unread)?)),
            Self::Member(path, member) => Ok(member.open(path)?),
        }
    }
}

/// Sniffs a file, or each member of an archive and each sheet of a workbook. Errors: the name, and why it cannot be read.
pub(super) fn sniff(path: &Path) -> Vec<Result<Sniffed, (String, FileError)>> {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    if path == Path::new(PIPED) {
        return piped();
    }
    let fail = |error| vec![Err((name.clone(), error))];
    // A table of a database is named behind the file.
    if let (Some(file), Some(table)) = (
        path.parent().filter(|file| file.is_file()),
        path.file_name(),
    ) && first_bytes(&FileLocation::File(file.to_owned())).is_ok_and(|head| is_database(&head))
    {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        return vec![
            database(file, &name, Some(&table.to_string_lossy()), None)
                .map_err(|error| (name.into_owned(), error)),
        ];
    }
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(meta) if meta.is_dir() => return fail(FileError::Folder),
        Ok(_) => return fail(FileError::NotRegular),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return fail(FileError::Missing),
        Err(error) => return fail(FileError::Unread(error)),
    }
    sniff_as(path, &name, None)
}

/// Sniffs standard input, copied to a file so that it can be read twice.
fn piped() -> Vec<Result<Sniffed, (String, FileError)>> {
    let name = "stdin";
    let mut input = io::stdin().lock();
    let mut first = Vec::new();
    // What is no table is not copied to its end, which it may not have.
    let outcome = match (&mut input).take(LOOKED as u64).read_to_end(&mut first) {
        Err(error) => Err(FileError::CutOff(error)),
        Ok(_) if is_no_table(&first) => Err(FileError::NoText),
        Ok(_) => copied(first.chain(input)),
    };
    match outcome {
        Ok(copied) => {
            let path = copied.to_path_buf();
            sniff_as(&path, name, Some(copied))
        }
        Err(error) => vec![Err((name.to_owned(), error))],
    }
}

/// Whether the bytes are of no kind that is known, and one of a hundred is of no text.
fn is_no_table(first: &[u8]) -> bool {
    let of_no_text = first
        .iter()
        .filter(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
        .count();
    of_no_text * 100 > first.len() && !KNOWN_STARTS.iter().any(|start| first.starts_with(start))
}

fn is_database(head: &[u8]) -> bool {
    head.starts_with(b"SQLite f")
}

/// A table of an SQLite database.
fn database(
    path: &Path,
    name: &str,
    table: Option<&str>,
    copied: Option<Arc<TempPath>>,
) -> Result<Sniffed, FileError> {
    let place = FileLocation::File(path.to_owned());
    let (table, rows) = database::table(path, name, table)?;
    let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
    let (name, head) = (format!("{name}/{table}"), first_bytes(&place)?);
    Ok(Sniffed {
        place,
        name,
        bytes,
        shape: FileShape::Cells,
        sheet: RawTable::cells(rows),
        head,
        notes: Vec::new(),
        copied,
    })
}

/// Sniffs the file at `path`, displayed as `name`.
fn sniff_as(
    path: &Path,
    name: &str,
    copied: Option<TempPath>,
) -> Vec<Result<Sniffed, (String, FileError)>> {
    let copied = copied.map(Arc::new);
    let fail = |error| vec![Err((name.to_owned(), error))];
    let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
    let head = match first_bytes(&FileLocation::File(path.to_owned())) {
        Ok(head) => head,
        Err(error) => return fail(error),
    };
    if is_database(&head) {
        return vec![database(path, name, None, copied).map_err(|error| (name.to_owned(), error))];
    }
    let zipped = head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06");
    if zipped && archive::workbook(path).is_some() || head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        return match workbook::sheets(path) {
            Ok((sheets, hidden)) => {
                let several = sheets.len() > 1;
                let of = |(sheet, rows): (String, Vec<Vec<String>>)| Sniffed {
                    place: FileLocation::File(path.to_owned()),
                    name: if several {
                        format!("{name}/{sheet}")
                    } else {
                        name.to_owned()
                    },
                    bytes,
                    shape: FileShape::Cells,
                    sheet: RawTable::cells(rows),
                    head: head.clone(),
                    notes: Vec::new(),
                    copied: copied.clone(),
                };
                let mut all: Vec<Sniffed> = sheets.into_iter().map(of).collect();
                if let Some(sheet) = all.first_mut().and_then(|first| first.sheet.as_mut())
                    && !hidden.is_empty()
                {
                    sheet.says.push(format!(
                        "hidden sheets are omitted: {}",
                        super::report::listed(&hidden)
                    ));
                }
                all.into_iter().map(Ok).collect()
            }
            Err(error) => fail(error.into()),
        };
    }
    if zipped {
        return match archive::members(path) {
            Ok(members) => members
                .into_iter()
                .map(|member| {
                    let told = format!("{name}/{}", member.name);
                    let sniffed = sniff_member(path, member, &told, bytes, copied.clone());
                    sniffed.map_err(|error| (told, error))
                })
                .collect(),
            Err(error) => fail(error.into()),
        };
    }
    vec![
        shape(
            FileLocation::File(path.to_owned()),
            name.to_owned(),
            bytes,
            head,
            copied,
        )
        .map_err(|error| (name.to_owned(), error)),
    ]
}

/// Sniffs a member of an archive; a binary table is unpacked to a file, as it needs random access.
fn sniff_member(
    path: &Path,
    member: archive::Member,
    told: &str,
    bytes: u64,
    copied: Option<Arc<TempPath>>,
) -> Result<Sniffed, FileError> {
    let place = FileLocation::Member(path.to_owned(), member);
    let head = first_bytes(&place)?;
    if is_binary(&head, u64::MAX) {
        let out = self::copied(place.open()?)?;
        let bytes = std::fs::metadata(&out).map_or(bytes, |meta| meta.len());
        return shape(
            FileLocation::File(out.to_path_buf()),
            told.to_owned(),
            bytes,
            head,
            Some(Arc::new(out)),
        );
    }
    shape(place, told.to_owned(), bytes, head, copied)
}

/// Copies to a temporary file: piped input, and tables that need random access.
fn copied(from: impl Read) -> Result<TempPath, FileError> {
    let file = tempfile::Builder::new()
        .prefix("tokendeck-")
        .suffix(".part")
        .tempfile();
    let mut file = file.map_err(FileError::NotCopied)?;
    let bytes = io::copy(&mut from.take(COPIED_MAX + 1), &mut file).map_err(FileError::CutOff)?;
    if bytes > COPIED_MAX {
        Err(FileError::TooLarge {
            gib: COPIED_MAX >> 30,
        })
    } else {
        Ok(file.into_temp_path())
    }
}

fn is_binary(head: &[u8], bytes: u64) -> bool {
    head.starts_with(b"PAR1")
        || head.starts_with(b"ARROW1")
        || formats::is_arrow_stream(head, bytes)
}

fn first_bytes(place: &FileLocation) -> Result<Vec<u8>, FileError> {
    let mut head = Vec::new();
    place
        .open()?
        .take(8)
        .read_to_end(&mut head)
        .map_err(FileError::CutOff)?;
    Ok(head)
}

fn shape(
    place: FileLocation,
    name: String,
    bytes: u64,
    head: Vec<u8>,
    copied: Option<Arc<TempPath>>,
) -> Result<Sniffed, FileError> {
    if head.is_empty() {
        return Err(FileError::Empty);
    }
    let path = match &place {
        FileLocation::File(path) => Some(path.clone()),
        FileLocation::Member(..) => None,
    };
    let mut notes = Vec::new();
    let (shape, sheet) = match path {
        Some(path) if is_binary(&head, bytes) => (
            FileShape::Columns(formats::open(&path, no_column())?.columns().to_vec()),
            None,
        ),
        _ if head.starts_with(b"PK\x03\x04") => return Err(ArchiveError::Nested.into()),
        _ => text_shape(&place, &name, &head, &mut notes)?,
    };
    let mut sniffed = Sniffed {
        place,
        name,
        bytes,
        shape,
        sheet,
        head,
        notes,
        copied,
    };
    sniffed.sheet = match (&sniffed.shape, sniffed.sheet.take()) {
        (FileShape::Columns(_), _) => Some(RawTable::streamed(&sniffed, false)?),
        (FileShape::JsonLines(names), _) if sniffed.bytes <= LINES_MAX || names.is_empty() => {
            let json = sheet::json_lines(&sniffed, LINES_MAX)?;
            sniffed.notes.extend(json.notes.iter().cloned());
            Some(RawTable::json(json))
        }
        (FileShape::JsonLines(_), _) => Some(RawTable::streamed(&sniffed, true)?),
        (_, sheet) => sheet,
    };
    match sniffed.sheet.as_ref().map_or(0, |sheet| sheet.names.len()) {
        count if count > COLUMNS_MAX => Err(FileError::TooManyColumns {
            count,
            max: COLUMNS_MAX,
        }),
        _ if is_bare(&sniffed) => Err(sniffed.first_row_flaw().unwrap_or(FileError::NoRows)),
        _ => Ok(sniffed),
    }
}

/// Whether it has a header alone.
fn is_bare(sniffed: &Sniffed) -> bool {
    let typed = matches!(sniffed.shape, FileShape::Rows(_) | FileShape::Columns(_));
    typed
        && sniffed
            .sheet
            .as_ref()
            .is_some_and(|sheet| sheet.named && sheet.names.len() > 1 && sheet.first.is_empty())
}

fn no_column() -> ColumnFilter {
    Arc::new(|_: &str| false)
}

fn every_column() -> ColumnFilter {
    Arc::new(|_: &str| true)
}

impl Sniffed {
    /// All rows from the start; `layout` applies to delimited text.
    pub(super) fn rows(&self, layout: &Layout) -> Result<Box<dyn RowSource>, FileError> {
        match (&self.shape, &self.place) {
            (FileShape::Rows(_), place) => Ok(formats::separated(
                place.open()?,
                &self.head,
                layout,
                every_column(),
            )?),
            (FileShape::JsonLines(_), place) => Ok(formats::json_lines(
                place.open()?,
                &self.head,
                every_column(),
            )?),
            (FileShape::Columns(_), FileLocation::File(path)) => {
                Ok(formats::open(path, every_column())?)
            }
            (FileShape::Columns(_) | FileShape::Json { .. } | FileShape::Cells, _) => {
                Err(FileError::NotStreamed)
            }
        }
    }

    /// Whether a dataset can read the file directly: no workbook, archive, piped input or nested JSON table.
    pub(super) fn is_read_where_it_lies(&self) -> bool {
        let flat = match &self.shape {
            FileShape::JsonLines(names) => !names.is_empty(),
            FileShape::Rows(_) | FileShape::Columns(_) => true,
            // A dataset does not look for JSON in a script.
            FileShape::Json { outline, .. } => {
                let scripted = self
                    .head
                    .first()
                    .is_some_and(|byte| byte.is_ascii_alphabetic() || b"/)_$".contains(byte));
                matches!(outline.list(""), Some(First::Object(_))) && !scripted
            }
            FileShape::Cells => false,
        };
        let read_otherwise = self
            .sheet
            .as_ref()
            .is_some_and(RawTable::is_read_by_import_alone);
        flat && !read_otherwise
            && self.copied.is_none()
            && matches!(self.place, FileLocation::File(_))
            && formats::format_of(&self.name).is_some()
    }

    /// What the loader finds in the first row of a text, where the sample ends within it: it is too long, or a quote in it is never closed.
    pub(super) fn first_row_flaw(&self) -> Option<FileError> {
        let (FileShape::Rows(sample), Some(sheet)) = (&self.shape, &self.sheet) else {
            return None;
        };
        let is_within = sample
            .get(1)
            .is_none_or(|row| row.iter().any(|cell| cell.contains('\n')));
        if sample.len() > 2 || !is_within {
            return None;
        }
        // The layout of the sample is that of a header and one long cell.
        let layout = Layout {
            encoding: sheet.encoding(),
            ..Layout::default()
        };
        let batch = self
            .rows(&layout)
            .and_then(|mut rows| Ok(rows.next_batch()?));
        match batch {
            // One line without a second is no flaw.
            Err(FileError::Source(SourceError::Empty(_))) => None,
            Err(error) => Some(error),
            Ok(batch) => {
                let batch = batch.filter(|batch| batch.height > 0)?;
                let open = batch
                    .malformed
                    .iter()
                    .any(|(row, reason)| *row == 0 && reason.contains("quote is never closed"));
                if open {
                    Some(FileError::OpenQuote)
                } else {
                    sample
                        .get(1)
                        .is_none()
                        .then_some(FileError::LongRow { kib: LOOKED >> 10 })
                }
            }
        }
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The header in lower case; empty for JSON.
    pub(super) fn header(&self) -> Vec<String> {
        let names = match &self.shape {
            FileShape::Rows(rows) => match &self.sheet {
                Some(sheet) if sheet.named => sheet.names.clone(),
                _ => rows.first().cloned().unwrap_or_default(),
            },
            FileShape::JsonLines(names) if names.is_empty() => self
                .sheet
                .as_ref()
                .map(|sheet| sheet.names.clone())
                .unwrap_or_default(),
            FileShape::Columns(names) | FileShape::JsonLines(names) => names.clone(),
            FileShape::Json { .. } => Vec::new(),
            FileShape::Cells => self
                .sheet
                .as_ref()
                .map(|sheet| sheet.names.clone())
                .unwrap_or_default(),
        };
        names.iter().map(|name| name.to_lowercase()).collect()
    }

    pub(super) fn outline(&self) -> Option<&Outline> {
        match &self.shape {
            FileShape::Json { outline, .. } => Some(outline),
            _ => None,
        }
    }

    /// The content, described for the refusal of a file of unknown format.
    pub(super) fn summary(&self) -> String {
        let listed = |names: &[String]| {
            let shown: Vec<String> = names
                .iter()
                .take(12)
                .map(|name| format!("`{}`", name.chars().take(40).collect::<String>()))
                .collect();
            format!(
                "{}{}",
                shown.join(", "),
                if names.len() > 12 { ", …" } else { "" }
            )
        };
        match &self.shape {
            FileShape::Rows(rows) => format!(
                "text whose first row is {}",
                listed(rows.first().map_or(&[], Vec::as_slice))
            ),
            FileShape::JsonLines(_) => format!("JSON lines with {}", listed(&self.header())),
            FileShape::Columns(names) => format!("a table with the columns {}", listed(names)),
            // `--map` and dataset.toml use these names.
            FileShape::Json { outline, .. } => match &self.sheet {
                Some(sheet) => format!(
                    "{outline}, read as a table with the columns {}",
                    listed(&sheet.names)
                ),
                None => outline.to_string(),
            },
            FileShape::Cells => format!("a sheet with the columns {}", listed(&self.header())),
        }
    }
}
