//! Why the rows of a table in the cache cannot be opened.

use std::{error::Error, fmt, io};

/// The files of a table cannot be opened, or its index cannot be written.
#[derive(Debug)]
pub enum TableError {
    DamagedIndex,
    DamagedFile,
    /// The files are of two tables, or of two versions of one.
    Mismatched,
    UnexpectedColumns,
    Io(io::Error),
    Json(serde_json::Error),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DamagedIndex => f.write_str("the index is damaged"),
            Self::DamagedFile => f.write_str("the file is damaged"),
            Self::Mismatched => f.write_str("the files don't belong together"),
            Self::UnexpectedColumns => f.write_str("the file has unexpected columns"),
            Self::Io(error) => error.fmt(f),
            Self::Json(error) => error.fmt(f),
        }
    }
}

impl Error for TableError {}

impl From<io::Error> for TableError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for TableError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}
