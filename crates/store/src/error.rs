//! Reasons why rows or files cannot be read, written or exported, with the messages for the user. Some continue the name of a file or a table.

use std::{error::Error, fmt, io, path::PathBuf};

use polars::prelude::PolarsError;

use crate::{cache::TableError, engine_rows::FetchError, export::writers::ExportFormat};
use model::{error::Problem, time::Day, untrusted::DecodeError};
use source::{SourceError, manifest::Decimal};
use wire::Fault;

/// Why rows or a file cannot be read, written or exported.
#[derive(Debug)]
pub enum StoreError {
    Source(SourceError),
    Decode(DecodeError),
    Io(io::Error),
    Polars(PolarsError),
    Csv(csv::Error),
    Json(serde_json::Error),
    /// A query whose rows were to be written failed.
    Query(Problem),
    /// Rows of a query in place did not come.
    Fetch(FetchError),
    /// An engine failed: the table's name there, and the fault.
    Engine {
        name: String,
        fault: Fault,
    },
    At {
        path: PathBuf,
        reason: Box<Self>,
    },

    // Files of the program's own.
    CreateFolder {
        path: PathBuf,
        error: io::Error,
    },
    Write {
        path: PathBuf,
        error: io::Error,
    },
    OpenLock {
        path: PathBuf,
        error: io::Error,
    },
    /// A file that was not understood, for this reason, cannot be renamed.
    SetAside {
        path: PathBuf,
        reason: String,
        error: io::Error,
    },
    Unreadable(io::Error),
    TooLarge,
    MissingOrTooLarge,
    NoHistoryFile,
    /// A file of live rows, which can be fetched again.
    LiveFile {
        path: PathBuf,
        reason: Box<Self>,
    },
    TransferFile {
        path: PathBuf,
        reason: Box<Self>,
    },
    TransfersGone {
        path: PathBuf,
        rows: usize,
    },

    // Exports.
    Taken(PathBuf),
    NoFolder(PathBuf),
    UnknownEnding,
    Untyped,
    NotStarted,

    // The cache.
    Table(TableError),
    TooManyColumns,
    DamagedTable,
    RebuiltTable,

    // Tables in place.
    AnswerColumns,
    ReadTwice,

    // Points in time, in whole sentences.
    StartsLater(Day),
    PastState {
        table: &'static str,
        reason: Box<Self>,
    },
    PastInPlace(&'static str),
    PastTooLarge {
        table: &'static str,
        rows: usize,
        max: usize,
    },

    // Columns of a file.
    SameName(String),
    TwoMatches {
        column: &'static str,
        first: String,
        second: String,
    },
    LateDecimalComma {
        column: &'static str,
        value: String,
    },
    FilterBound(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Fetch(FetchError::Unavailable(reason)) => f.write_str(reason),
            Self::Io(error) => error.fmt(f),
            Self::Polars(error) => error.fmt(f),
            Self::Csv(error) => error.fmt(f),
            Self::Json(error) => error.fmt(f),
            Self::Query(problem) => problem.fmt(f),
            Self::Fetch(FetchError::Cancelled) => f.write_str("the query was canceled"),
            Self::Engine { name, fault } => write!(f, "`{name}` {fault}"),
            Self::At { path, reason } => write!(f, "`{}`: {reason}", path.display()),
            Self::CreateFolder { path, error } => write!(
                f,
                "cannot create the folder `{}`: {error}; make its parent writable, or choose another folder",
                path.display()
            ),
            Self::Write { path, error } => write!(
                f,
                "cannot write `{}`: {error}; check that its folder is writable and the disk is not full",
                path.display()
            ),
            Self::OpenLock { path, error } => write!(
                f,
                "cannot write `{}`: {error}; make its folder writable",
                path.display()
            ),
            Self::SetAside {
                path,
                reason,
                error,
            } => write!(
                f,
                "cannot read `{}` ({reason}) or rename it ({error}); move it away",
                path.display()
            ),
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::TooLarge => f.write_str("the file is too large"),
            Self::MissingOrTooLarge => f.write_str("it is missing or too large"),
            Self::NoHistoryFile => f.write_str("a file of its history is missing or too large"),
            Self::LiveFile { path, reason } => write!(
                f,
                "cannot read `{}`: {reason}; move it away, and tokendeck fetches its rows again",
                path.display()
            ),
            Self::TransferFile { path, reason } => {
                write!(f, "cannot read `{}`: {reason}", path.display())
            }
            Self::TransfersGone { path, rows } => {
                write!(f, "`{}` no longer has its {rows} rows", path.display())
            }
            Self::Taken(path) => write!(
                f,
                "`{}` already exists; choose another name",
                path.display()
            ),
            Self::NoFolder(path) => write!(f, "the folder `{}` does not exist", path.display()),
            Self::UnknownEnding => {
                let endings = ExportFormat::FILES.map(|format| format!(".{}", format.ending()));
                write!(f, "expected a file ending in {}", endings.join(", "))
            }
            Self::Untyped => f.write_str("expected typed rows"),
            Self::NotStarted => f.write_str("cannot start the file"),
            Self::Table(error) => error.fmt(f),
            Self::TooManyColumns => {
                f.write_str("the table has more columns than its file's header can describe")
            }
            Self::DamagedTable => {
                f.write_str("the cached table is damaged; press r to reload the data")
            }
            Self::RebuiltTable => f.write_str("the cached table is damaged and is being rebuilt"),
            Self::AnswerColumns => f.write_str("the response has different columns than requested"),
            Self::ReadTwice => f.write_str("the rows can be read only once, in order"),
            Self::StartsLater(day) => {
                write!(f, "The data starts on {day}. Choose that day or later.")
            }
            Self::PastState { table, reason } => write!(
                f,
                "The past state of the table `{table}` cannot be read: {reason}."
            ),
            Self::PastInPlace(table) => write!(
                f,
                "`{table}` is queried in place and has no point-in-time mode; download it with read = \"bring\" and a `where`."
            ),
            Self::PastTooLarge { table, rows, max } => write!(
                f,
                "`{table}` has {rows} rows, but point-in-time queries read at most {max}; restrict it with `where` in dataset.toml."
            ),
            Self::SameName(name) => write!(f, "has two columns named `{name}`; rename one"),
            Self::TwoMatches {
                column,
                first,
                second,
            } => write!(
                f,
                "has two columns that match `{column}`, `{first}` and `{second}`; choose one in dataset.toml: columns = {{ {column} = \"NAME\" }}"
            ),
            Self::LateDecimalComma { column, value } => write!(
                f,
                "has {} in `{column}` (`{value}`), but its first rows were read with decimal points; set decimal = \",\" for the column in dataset.toml",
                Decimal::Comma
            ),
            Self::FilterBound(text) => write!(
                f,
                "cannot be filtered: `{text}` in `where` of dataset.toml is neither a number nor a time"
            ),
        }
    }
}

impl Error for StoreError {}

/// For callers whose errors are messages.
impl From<StoreError> for String {
    fn from(error: StoreError) -> Self {
        error.to_string()
    }
}

/// A failure on this machine, of something that is read from the network.
impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Makes a reason of each of these errors.
macro_rules! reasons {
    ($($reason:ident($error:ty)),* $(,)?) => {$(
        impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                Self::$reason(error)
            }
        }
    )*};
}

reasons! {
    Source(SourceError),
    Decode(DecodeError),
    Io(io::Error),
    Polars(PolarsError),
    Csv(csv::Error),
    Json(serde_json::Error),
    Table(TableError),
    Query(Problem),
    Fetch(FetchError),
}
