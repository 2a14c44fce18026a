//! Reasons why files are not found or not read, and why a provider's description or answer is not, in words.

use std::{fmt, io, path::PathBuf, sync::Arc};

use crate::formats::SourceFormat;
use model::{toml_reader::TomlError, untrusted::DecodeError};
use wire::Fault;

/// Reason why the files of a table are not found, or their rows cannot be read on. One of rows continues "`FILE` …".
#[derive(Debug, Clone)]
pub enum SourceError {
    NotRegular,
    Unreadable(Arc<io::Error>),
    /// Nothing is in it; its format, once that is known.
    Empty(Option<SourceFormat>),
    UnknownFormat,
    /// Its extension says this format, but its bytes do not.
    Misnamed(SourceFormat),
    /// Lines before a header, in a format that has none.
    NoHeader,
    NotAppendable,
    BadHeader,
    UnclosedQuotes,
    LongLine {
        bytes_max: usize,
    },
    TooManyColumns {
        max: usize,
    },
    TooManyRows,
    /// Too large for a format that is read whole.
    TooLarge,
    Compression(Arc<io::Error>),
    /// A window of zstd that takes more memory than `max`; its size, if the file says it.
    LongWindow {
        window: Option<u64>,
        max: u64,
        log_max: u32,
    },
    UnpacksTooFar {
        ratio_max: u64,
    },
    /// A limit of the reader, in its words.
    Limit(Arc<io::Error>),
    Truncated(Arc<io::Error>),
    Decode(DecodeError),
    Json(String),
    UnsupportedType {
        column: String,
        arrow: &'static str,
    },
    RepeatedColumn(String),
    /// The engine did not send the rows.
    Engine(Fault),
    Folder(Arc<io::Error>),
    EmptyFolder(String),
    SeveralFiles {
        table: String,
        files: Vec<String>,
    },
    /// A path of `dataset.toml`.
    Path {
        path: String,
        problem: PathProblem,
    },
}

/// What is wrong with a path of `dataset.toml`.
#[derive(Debug, Clone, Copy)]
pub enum PathProblem {
    Remote,
    Missing,
    NotAGlob(&'static str),
    NoFile,
    NoMatch,
    TooManyFiles { max: usize },
    TooManyEntries { max: usize },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRegular => "is not a regular file",
            Self::Unreadable(error) => return write!(f, "cannot be read: {error}"),
            Self::Empty(format) => {
                let expected = match format {
                    Some(SourceFormat::Csv | SourceFormat::Tsv) => "a header",
                    Some(SourceFormat::Ndjson) => "one JSON object per line",
                    Some(SourceFormat::Json) => "an array of objects",
                    _ => "at least a header or a record",
                };
                return write!(f, "is empty; expected {expected}");
            }
            Self::UnknownFormat => {
                "has an unknown format; expected .csv, .tsv, .ndjson, .jsonl, .json, .parquet, .arrow, .ipc or .feather"
            }
            Self::Misnamed(format) => {
                let (name, magic) = if *format == SourceFormat::Parquet {
                    ("Parquet", "PAR1")
                } else {
                    ("Arrow IPC", "ARROW1")
                };
                return write!(
                    f,
                    "is not {name} (it does not begin with `{magic}`); give it the extension of its format"
                );
            }
            Self::NoHeader => {
                "has no lines and no header; `skip` and `header` in dataset.toml are for CSV and TSV only"
            }
            Self::NotAppendable => "has no lines, so none can be appended",
            Self::BadHeader => {
                "has an unreadable header: a quote is not closed, or it is not UTF-8"
            }
            Self::UnclosedQuotes => "has too many unclosed quotes",
            Self::LongLine { bytes_max } => {
                return write!(f, "has a line longer than {} MiB", bytes_max >> 20);
            }
            Self::TooManyColumns { max } => return write!(f, "has more than {max} columns"),
            Self::TooManyRows => "is damaged, or has more rows than a table can have",
            Self::TooLarge => "is too large to be read whole; use .ndjson, .csv or .parquet",
            Self::Compression(error) => return write!(f, "cannot be decompressed: {error}"),
            Self::LongWindow {
                window,
                max,
                log_max,
            } => {
                let (more, size) = window.map_or(("more than ", *max), |window| ("", window));
                return write!(
                    f,
                    "is compressed with a zstd window of {more}{} MiB, which takes too much memory; unpack it with `zstd -d \
                     --long={log_max}`, and use the plain file",
                    size >> 20
                );
            }
            Self::UnpacksTooFar { ratio_max } => {
                return write!(
                    f,
                    "unpacks to more than {ratio_max} times its size, so it is not read; unpack it, and use the plain file"
                );
            }
            Self::Limit(error) => return error.fmt(f),
            Self::Truncated(error) => return write!(f, "is truncated or damaged: {error}"),
            Self::Decode(error) => return error.fmt(f),
            Self::Json(error) => return write!(f, "is not a JSON array of objects: {error}"),
            Self::UnsupportedType { column, arrow } => {
                return write!(
                    f,
                    "has a column `{column}` of the Arrow type {arrow}, which tokendeck does not read; write it as a plain column or \
                     leave it out"
                );
            }
            Self::RepeatedColumn(name) => {
                return write!(
                    f,
                    "has two columns named `{name}`; rename one of them, or leave it out"
                );
            }
            Self::Engine(fault) => return fault.fmt(f),
            Self::Folder(error) => return write!(f, "cannot read the folder: {error}"),
            Self::EmptyFolder(name) => {
                return write!(f, "the folder `{name}` has no file of a known format");
            }
            Self::SeveralFiles { table, files } => {
                return write!(
                    f,
                    "several files match the table: `{}`; keep one, or list the files to read under [tables.{table}] path in dataset.toml",
                    files.join("`, `")
                );
            }
            Self::Path { path, problem } => return write!(f, "`{path}` {problem}"),
        })
    }
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Remote => "is remote, but only local files can be imported",
            Self::Missing => "does not exist; paths in dataset.toml are relative to that file",
            Self::NotAGlob(error) => return write!(f, "is not a glob: {error}"),
            Self::NoFile => "has no file of a known format",
            Self::NoMatch => "matches no file of a known format",
            Self::TooManyFiles { max } => return write!(f, "matches more than {max} files"),
            Self::TooManyEntries { max } => {
                return write!(f, "has more than {max} entries; choose a smaller folder");
            }
        })
    }
}

impl std::error::Error for SourceError {}

impl From<io::Error> for SourceError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error.into())
    }
}

impl From<DecodeError> for SourceError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<Fault> for SourceError {
    fn from(fault: Fault) -> Self {
        Self::Engine(fault)
    }
}

/// Reason why a provider is not known, its description not read, or its answer of no use. One of an answer continues "`PROVIDER` …".
#[derive(Debug)]
pub enum ProviderError {
    Unreadable {
        file: PathBuf,
        error: io::Error,
    },
    Invalid {
        file: PathBuf,
        error: TomlError,
    },
    /// No provider has this id; the one that was probably meant.
    Unknown {
        id: String,
        meant: Option<String>,
    },
    /// A compressed answer.
    Packed(SourceError),
    NotJson {
        begins: String,
    },
    TooManyRows {
        max: usize,
    },
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, error } => {
                write!(f, "cannot read `{}`: {error}", file.display())
            }
            Self::Invalid { file, error } => {
                write!(f, "{}:{}: {}", file.display(), error.line, error.reason)
            }
            Self::Unknown { id, meant } => {
                write!(f, "`{id}` is not a provider; ")?;
                match meant {
                    Some(meant) => write!(f, "did you mean `{meant}`?"),
                    None => f.write_str("`tokendeck providers` lists them"),
                }
            }
            Self::Packed(error) => write!(f, "sent a response that {error}"),
            Self::NotJson { begins } => {
                write!(
                    f,
                    "sent a response that is not JSON; it begins with `{begins}`"
                )
            }
            Self::TooManyRows { max } => write!(f, "sent more than {max} rows"),
        }
    }
}

impl std::error::Error for ProviderError {}
