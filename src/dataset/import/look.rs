//! What a file looks like: just enough of it to tell its format, whatever it is called and however it is packed. No format is known
//! here.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use super::{archive, outline::Outline};
use crate::dataset::source::{self, Batch, Layout, RowSource, Wanted};

/// How much of a text is looked at.
const LOOKED: usize = 64 << 10;
/// How many of its first rows are.
const ROWS: usize = 2_000;
/// JSON has to be read whole.
const MAX_JSON: u64 = 256 << 20;
/// What a text must not hold: then it is no text.
const BINARY: u8 = 0;

/// Where the bytes are.
#[derive(Debug, Clone)]
pub(super) enum Place {
    File(PathBuf),
    /// A member of a zip archive.
    Member(PathBuf, archive::Member),
}

/// A file, or a member of an archive, and what it looks like.
#[derive(Debug)]
pub(super) struct Looked {
    pub place: Place,
    /// As people are told: the file's name, and the member's behind it.
    pub name: String,
    pub bytes: u64,
    pub shape: Shape,
    head: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// Separated text: the first rows, the header among them if there is one.
    Rows(Vec<Vec<String>>),
    /// A JSON text, whole.
    Json { text: Vec<u8>, outline: Outline },
    /// JSON objects, one a line: the members of the first.
    JsonLines(Vec<String>),
    /// Parquet or Arrow: its columns and a few of their first cells.
    Columns(Vec<String>),
}

impl Place {
    fn open(&self) -> Result<Box<dyn Read + Send>, String> {
        match self {
            Self::File(path) => Ok(Box::new(File::open(path).map_err(|error| format!("cannot be read: {error}"))?)),
            Self::Member(path, member) => member.open(path),
        }
    }
}

/// Looks at a file; a zip archive is looked into. An error says why nothing can be told.
pub(super) fn look(path: &Path) -> Vec<Result<Looked, (String, String)>> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let fail = |reason: String| vec![Err((name.clone(), reason))];
    let meta = match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => meta,
        Ok(meta) if meta.is_dir() => return fail("is a folder: name the files in it, as in DIR/*.csv".to_owned()),
        Ok(_) => return fail("is not a regular file".to_owned()),
        Err(error) => return fail(format!("cannot be read: {error}")),
    };
    let head = match first(&Place::File(path.to_owned())) {
        Ok(head) => head,
        Err(reason) => return fail(reason),
    };
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return match archive::members(path) {
            Ok(members) => members
                .into_iter()
                .map(|member| {
                    let told = format!("{name}/{}", member.name);
                    let place = Place::Member(path.to_owned(), member);
                    let bytes = meta.len();
                    first(&place).and_then(|head| shape(place, told.clone(), bytes, head)).map_err(|reason| (told, reason))
                })
                .collect(),
            Err(reason) => fail(reason),
        };
    }
    vec![shape(Place::File(path.to_owned()), name.clone(), meta.len(), head).map_err(|reason| (name, reason))]
}

fn first(place: &Place) -> Result<Vec<u8>, String> {
    let mut head = Vec::new();
    place.open()?.take(8).read_to_end(&mut head).map_err(|error| format!("is cut off or damaged: {error}"))?;
    Ok(head)
}

fn shape(place: Place, name: String, bytes: u64, head: Vec<u8>) -> Result<Looked, String> {
    if head.is_empty() {
        return Err("is empty: there is nothing to import".to_owned());
    }
    let binary = head.starts_with(b"PAR1") || head.starts_with(b"ARROW1");
    let path = match &place {
        Place::File(path) => Some(path.clone()),
        Place::Member(..) => None,
    };
    let shape = match path {
        Some(path) if binary => Shape::Columns(source::open(&path, none())?.columns().to_vec()),
        _ if binary => return Err("is a binary table in an archive: unpack it first".to_owned()),
        _ if head.starts_with(b"PK\x03\x04") => return Err("is an archive in an archive: unpack it first".to_owned()),
        _ if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) => return Err("is UTF-16: save it as UTF-8".to_owned()),
        _ => text_shape(&place, &head)?,
    };
    Ok(Looked { place, name, bytes, shape, head })
}

fn text_shape(place: &Place, head: &[u8]) -> Result<Shape, String> {
    let first = source::first_text(place.open()?, head, LOOKED)?;
    let start = first.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    match start {
        None => return Err("holds nothing but white space: there is nothing to import".to_owned()),
        _ if first.contains(&BINARY) => return Err("is not text, nor Parquet, Arrow or zip".to_owned()),
        Some(b'{') => {
            if let Some(keys) = object_line(&first) {
                return Ok(Shape::JsonLines(keys));
            }
        }
        _ => {}
    }
    if matches!(start, Some(b'{' | b'[')) {
        let text = source::whole_text(place.open()?, head, MAX_JSON)?;
        let outline = Outline::of(&text)?;
        return Ok(Shape::Json { text, outline });
    }
    let first_lines = first_rows(&first);
    if first_lines.is_empty() {
        return Err("cannot be read as rows of text".to_owned());
    }
    Ok(Shape::Rows(first_lines))
}

/// The members of the object on the first line, if it holds one whole object and another line follows or nothing does.
fn object_line(text: &[u8]) -> Option<Vec<String>> {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(lines.next()?).ok()?;
    lines.next()?.trim_ascii().starts_with(b"{").then(|| object.keys().cloned().collect())
}

/// The first rows of separated text. The separator is the one that the first line with any has.
fn first_rows(text: &[u8]) -> Vec<Vec<String>> {
    let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(text.len());
    let whole = if text.len() < LOOKED { text } else { &text[..end] };
    let separator = |line: &[u8]| [b',', b';', b'\t', b'|'].into_iter().find(|byte| line.contains(byte));
    let delimiter = whole.split(|byte| *byte == b'\n').take(3).find_map(separator).unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(whole);
    let mut rows = Vec::new();
    let mut record = csv::ByteRecord::new();
    while rows.len() < ROWS && reader.read_byte_record(&mut record).unwrap_or(false) {
        rows.push(record.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect());
    }
    rows
}

fn none() -> Wanted {
    std::sync::Arc::new(|_: &str| false)
}

fn all() -> Wanted {
    std::sync::Arc::new(|_: &str| true)
}

impl Looked {
    /// Its rows from the start, laid out so where it is text with fields.
    pub(super) fn rows(&self, layout: &Layout) -> Result<Box<dyn RowSource>, String> {
        match (&self.shape, &self.place) {
            (Shape::Rows(_), place) => source::separated(place.open()?, &self.head, layout, all()),
            (Shape::JsonLines(_), place) => source::json_lines(place.open()?, &self.head, all()),
            (Shape::Columns(_), Place::File(path)) => source::open(path, all()),
            (Shape::Columns(_) | Shape::Json { .. }, _) => Err("has no rows to be read in turn".to_owned()),
        }
    }

    /// The first cells of some text columns, which is where a file says what it is of.
    pub(super) fn first_cells(&self, column: &str) -> Vec<String> {
        if let Shape::Rows(rows) = &self.shape {
            let found = rows
                .iter()
                .take(2)
                .enumerate()
                .find_map(|(i, row)| Some((i, row.iter().position(|name| name.eq_ignore_ascii_case(column))?)));
            return found.map_or_else(Vec::new, |(i, at)| rows.iter().skip(i + 1).filter_map(|row| row.get(at).cloned()).collect());
        }
        let wanted: Wanted = {
            let column = column.to_owned();
            std::sync::Arc::new(move |name: &str| name.eq_ignore_ascii_case(&column))
        };
        let Place::File(path) = &self.place else { return Vec::new() };
        let batch: Option<Batch> = source::open(path, wanted).ok().and_then(|mut rows| rows.next_batch().ok().flatten());
        let cells = batch.and_then(|batch| batch.columns.into_iter().next());
        cells
            .and_then(|column| column.str().ok().map(|texts| texts.iter().flatten().take(ROWS).map(str::to_owned).collect()))
            .unwrap_or_default()
    }

    /// The header in lower case; empty for JSON.
    pub(super) fn header(&self) -> Vec<String> {
        let names = match &self.shape {
            Shape::Rows(rows) => rows.first().cloned().unwrap_or_default(),
            Shape::Columns(names) | Shape::JsonLines(names) => names.clone(),
            Shape::Json { .. } => Vec::new(),
        };
        names.iter().map(|name| name.to_lowercase()).collect()
    }

    pub(super) fn outline(&self) -> Option<&Outline> {
        match &self.shape {
            Shape::Json { outline, .. } => Some(outline),
            _ => None,
        }
    }

    /// What was seen, for one who is told that it is of no known format.
    pub(super) fn seen(&self) -> String {
        let listed = |names: &[String]| {
            let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{}`", name.chars().take(40).collect::<String>())).collect();
            format!("{}{}", shown.join(", "), if names.len() > 12 { ", …" } else { "" })
        };
        match &self.shape {
            Shape::Rows(rows) => format!("rows of text that begin with {}", listed(rows.first().map_or(&[], Vec::as_slice))),
            Shape::JsonLines(names) => format!("JSON lines with {}", listed(names)),
            Shape::Columns(names) => format!("a table with the columns {}", listed(names)),
            Shape::Json { outline, .. } => outline.to_string(),
        }
    }
}
