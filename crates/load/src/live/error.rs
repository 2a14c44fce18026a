//! Reasons why live tables cannot be fetched or kept, with the messages for the user.

use std::{error::Error, fmt, path::PathBuf};

use polars::prelude::PolarsError;

use crate::{
    ReadError,
    read::{ProviderError, SourceError},
};
use model::{findings::Finding, private_files::FileError, untrusted::DecodeError};

/// Why live rows cannot be fetched, read or kept. The reasons about an answer continue the name of its provider.
#[derive(Debug)]
pub enum LiveError {
    Source(SourceError),
    Provider(ProviderError),
    Decode(DecodeError),
    Store(ReadError),
    /// The folder of a new dataset has files.
    FolderTaken(PathBuf),
    NoTable,
    /// The provider does not have the table.
    LacksTable {
        provider: String,
        table: &'static str,
        has: Vec<&'static str>,
    },
    /// A table's provider cannot be used; these can.
    UnusableProvider {
        reason: Box<Self>,
        table: &'static str,
        usable: Vec<String>,
    },
    /// An answer lacks the path of its rows.
    LacksRows(String),
    /// None of the rows can be read: the first reason.
    UnreadableRows(Option<Box<Finding>>),
    LacksField {
        from: String,
        column: &'static str,
    },
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Provider(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::FolderTaken(folder) => write!(
                f,
                "`{}` exists and is not empty; choose another folder, or add [tables.candles] provider = … to its dataset.toml",
                folder.display()
            ),
            Self::NoTable => f.write_str("is not a table"),
            Self::LacksTable {
                provider,
                table,
                has,
            } => write!(
                f,
                "`{provider}` has no `{table}`; it has {}",
                has.join(", ")
            ),
            Self::UnusableProvider {
                reason,
                table,
                usable,
            } => write!(
                f,
                "{reason} (providers with `{table}`: {})",
                usable.join(", ")
            ),
            Self::LacksRows(path) => write!(
                f,
                "sent a response without `{path}`, the path of its rows; the field may have been renamed"
            ),
            Self::UnreadableRows(first) => {
                f.write_str("sent rows that cannot be read")?;
                let Some(first) = first else { return Ok(()) };
                f.write_str(":")?;
                if let Some(column) = &first.column {
                    write!(f, " `{column}`")?;
                }
                write!(f, " {}", first.reason)
            }
            Self::LacksField { from, column } => write!(
                f,
                "sent rows without `{from}`, the field for `{column}`; it may have been renamed"
            ),
        }
    }
}

impl Error for LiveError {}

impl From<SourceError> for LiveError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<ProviderError> for LiveError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl From<DecodeError> for LiveError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<FileError> for LiveError {
    fn from(error: FileError) -> Self {
        Self::Store(error.into())
    }
}

impl From<ReadError> for LiveError {
    fn from(error: ReadError) -> Self {
        Self::Store(error)
    }
}

impl From<PolarsError> for LiveError {
    fn from(error: PolarsError) -> Self {
        Self::Store(error.into())
    }
}

impl From<serde_json::Error> for LiveError {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}
