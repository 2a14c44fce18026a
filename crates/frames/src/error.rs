//! Why rows cannot be read as frames, built into a table of the cache, or exported.

use std::{error::Error, fmt, io, path::PathBuf};

use polars::prelude::PolarsError;

use crate::export::writers::ExportFormat;
use model::{error::Problem, private_files::FileError, untrusted::DecodeError};
pub(crate) use table::error::TableError;

/// Why frames of rows cannot be read or written. Some continue the name of a file.
#[derive(Debug)]
pub enum FrameError {
    Io(io::Error),
    Polars(PolarsError),
    Csv(csv::Error),
    Json(serde_json::Error),
    Decode(DecodeError),
    Table(TableError),
    File(FileError),
    /// A query whose rows were to be written failed.
    Query(Problem),
    /// Rows that are read as they are written did not come.
    Rows(Box<dyn Error + Send + Sync>),
    At {
        path: PathBuf,
        reason: Box<Self>,
    },

    // Files of rows.
    Unreadable(io::Error),
    TooLarge,
    MissingOrTooLarge,
    NoHistoryFile,

    // Exports.
    Taken(PathBuf),
    NoFolder(PathBuf),
    UnknownEnding,
    Untyped,
    NotStarted,

    // The cache.
    TooManyColumns,
    DamagedTable,
    RebuiltTable,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Polars(error) => error.fmt(f),
            Self::Csv(error) => error.fmt(f),
            Self::Json(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Query(problem) => problem.fmt(f),
            Self::Rows(error) => error.fmt(f),
            Self::At { path, reason } => write!(f, "`{}`: {reason}", path.display()),
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::TooLarge => f.write_str("the file is too large"),
            Self::MissingOrTooLarge => f.write_str("it is missing or too large"),
            Self::NoHistoryFile => f.write_str("a file of its history is missing or too large"),
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
            Self::TooManyColumns => {
                f.write_str("the table has more columns than its file's header can describe")
            }
            Self::DamagedTable => {
                f.write_str("the cached table is damaged; press r to reload the data")
            }
            Self::RebuiltTable => f.write_str("the cached table is damaged and is being rebuilt"),
        }
    }
}

impl Error for FrameError {}

/// Makes a reason of each of these errors.
macro_rules! reasons {
    ($($reason:ident($error:ty)),* $(,)?) => {$(
        impl From<$error> for FrameError {
            fn from(error: $error) -> Self {
                Self::$reason(error)
            }
        }
    )*};
}

reasons! {
    Io(io::Error),
    Polars(PolarsError),
    Csv(csv::Error),
    Json(serde_json::Error),
    Decode(DecodeError),
    Table(TableError),
    File(FileError),
    Query(Problem),
}
