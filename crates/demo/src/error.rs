//! Why the demo data could not be written.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{DESCRIPTION, TITLE};
use model::candles::Interval;

/// `Display` is the message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DemoError {
    OutOfRange {
        option: &'static str,
        value: u64,
        least: u64,
        most: u64,
    },
    /// The interval neither divides a day nor is whole days.
    Interval(Interval),
    /// The candles of a token would start before 1970; `most` candles of all tokens would not.
    TooManyCandles {
        count: u64,
        interval: Interval,
        most: u64,
    },
    NotAFolder(PathBuf),
    /// The folder contains files that are not demo data.
    ForeignFiles(PathBuf),
    NoTable(&'static str),
    /// `reason` is the message of the system, or of the writer of the format.
    File {
        action: FileAction,
        path: PathBuf,
        reason: String,
    },
    Canceled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    Read,
    Write,
    Remove,
}

impl FileAction {
    pub(super) fn failed(self, path: &Path, error: &dyn fmt::Display) -> DemoError {
        DemoError::File {
            action: self,
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange {
                option,
                value,
                least,
                most,
            } => write!(f, "{option} `{value}`: expected {least} to {most}"),
            Self::Interval(interval) => write!(
                f,
                "invalid interval `{interval}`: expected at least one minute, and a divisor or multiple of a day, such as 5m, 1h, 4h, 1d or 1w"
            ),
            Self::TooManyCandles {
                count,
                interval,
                most,
            } => write!(
                f,
                "{count} candles of {interval} per token would start before 1970; pass at most --candles {most}, or more tokens"
            ),
            Self::NotAFolder(path) => write!(f, "`{}` is a file; pass a folder", path.display()),
            Self::ForeignFiles(path) => write!(
                f,
                "`{}` contains files that are not demo data, which tokendeck never overwrites; pass an empty folder, or one whose \
                 {DESCRIPTION} has title = \"{TITLE}\" and synthetic = true",
                path.display()
            ),
            Self::NoTable(name) => write!(f, "no table `{name}` in the schema"),
            Self::File {
                action,
                path,
                reason,
            } => {
                let action = match action {
                    FileAction::Read => "read",
                    FileAction::Write => "write",
                    FileAction::Remove => "remove",
                };
                write!(f, "cannot {action} `{}`: {reason}", path.display())
            }
            Self::Canceled => f.write_str("writing the demo data was canceled"),
        }
    }
}

impl std::error::Error for DemoError {}

impl From<DemoError> for String {
    fn from(error: DemoError) -> Self {
        error.to_string()
    }
}
