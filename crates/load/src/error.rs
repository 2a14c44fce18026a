//! Reasons why a table cannot be loaded or read, with the messages for the user. Some continue the name of a file or a table.

use std::{error::Error, fmt, io, path::PathBuf};

use polars::prelude::PolarsError;

use crate::{engine_rows::FetchError, formats::SourceError, manifest::Decimal};
use frames::error::FrameError;
use model::{private_files::FileError, time::Day, untrusted::DecodeError};
use table::error::TableError;
use wire::Fault;

/// Why a table or its rows cannot be read.
#[derive(Debug)]
pub enum ReadError {
    Source(SourceError),
    Frame(FrameError),
    /// Rows of a query in place did not come.
    Fetch(FetchError),
    /// An engine failed: the table's name there, and the fault.
    Engine {
        name: String,
        fault: Fault,
    },
    /// A file of live rows, which can be fetched again.
    LiveFile {
        path: PathBuf,
        reason: FrameError,
    },
    TransferFile {
        path: PathBuf,
        reason: FrameError,
    },
    TransfersGone {
        path: PathBuf,
        rows: usize,
    },

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

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Frame(error) => error.fmt(f),
            Self::Fetch(FetchError::Unavailable(reason)) => f.write_str(reason),
            Self::Fetch(FetchError::Cancelled) => f.write_str("the query was canceled"),
            Self::Engine { name, fault } => write!(f, "`{name}` {fault}"),
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

impl Error for ReadError {}

/// A failure on this machine, of something that is read from the network.
impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<SourceError> for ReadError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<FetchError> for ReadError {
    fn from(error: FetchError) -> Self {
        Self::Fetch(error)
    }
}

/// Rows that are read as they are written, and did not come.
impl From<ReadError> for FrameError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Frame(error) => error,
            error => Self::Rows(Box::new(error)),
        }
    }
}

/// All that can go wrong with a frame can go wrong with a table.
macro_rules! of_frames {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for ReadError {
            fn from(error: $error) -> Self {
                Self::Frame(error.into())
            }
        }
    )*};
}

of_frames! {
    FrameError,
    io::Error,
    PolarsError,
    serde_json::Error,
    DecodeError,
    TableError,
    FileError,
}
