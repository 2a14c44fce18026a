//! Why the query service, the jobs and the notification of alerts fail, and why a text is not what was expected; all words for it are here.
//! A query that fails has a `Problem` instead.

use std::{fmt, io, path::PathBuf, time::Duration};

use load::{
    formats::ProviderError,
    live::{LiveError, RefreshError},
    loader::LoadError,
};
use model::{error::Problem, private_files::FileError};
use rayon::ThreadPoolBuildError;
use wire::Fault;

use crate::jobs::JOBS_VERSION;

/// Why the query service cannot start, watch its files or add a token.
#[derive(Debug)]
pub enum ServiceError {
    Workers {
        count: usize,
        error: ThreadPoolBuildError,
    },
    Watch(io::Error),
    Manifest(LoadError),
    /// The providers' descriptions cannot be read.
    Providers(ProviderError),
    /// No live dataset can be created.
    Create(LiveError),
    /// The user's consent cannot be stored.
    Consent(Fault),
    NotLive,
    NoNetwork,
    NoMatch {
        words: String,
    },
    /// No token was found; a provider failed for this reason.
    Search(String),
    Live(RefreshError),
}

/// Why the jobs cannot be opened.
#[derive(Debug)]
pub enum JobsError {
    /// The state folder cannot be created.
    Folder(FileError),
    LockFile {
        path: PathBuf,
        error: io::Error,
    },
    NotOpened {
        path: PathBuf,
        fault: StoreFault,
    },
    /// Damaged, and another program uses it.
    InUse {
        path: PathBuf,
        fault: StoreFault,
    },
    /// Damaged, and it cannot be renamed.
    NotRenamed {
        path: PathBuf,
        fault: StoreFault,
        error: io::Error,
    },
    NotCreated {
        path: PathBuf,
        fault: StoreFault,
    },
    Query(Problem),
    Thread(io::Error),
}

/// What is wrong with the file of the job store.
#[derive(Debug)]
pub enum StoreFault {
    Io(io::Error),
    Sqlite(rusqlite::Error),
    /// What SQLite's check found.
    Check(String),
    /// A newer version wrote it.
    Version(i64),
}

/// Why a fired alert was not sent; continues "`PROGRAM` …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotifyError {
    NotJson,
    Start(io::ErrorKind),
    /// The exit code; `None` after a signal.
    Exit(Option<i32>),
    Killed {
        after: Duration,
    },
    Webhook(Fault),
}

/// Why a text of the user is not what it should be.
#[derive(Debug, Clone, PartialEq)]
pub enum TextError {
    NotTime,
    UnknownFinding {
        code: String,
        near: Option<&'static str>,
    },
    Toml {
        line: usize,
        message: String,
    },
    UnknownChain {
        chain: String,
        /// The coin or exchange.
        name: String,
    },
    Worth {
        symbol: String,
        worth: f64,
    },
    Fees {
        name: String,
        fees: Vec<u32>,
    },
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers { count, error } => {
                write!(f, "cannot start {count} worker threads: {error}")
            }
            Self::Watch(error) => write!(f, "cannot watch the dataset for changes: {error}"),
            Self::Manifest(error) => error.fmt(f),
            Self::Providers(error) => error.fmt(f),
            Self::Consent(error) => error.fmt(f),
            Self::Create(error) => error.fmt(f),
            Self::Search(reason) => f.write_str(reason),
            Self::NotLive => f.write_str(
                "this dataset has no live `tokens` table; add provider = \"dexscreener\" under [tables.tokens] in its \
                dataset.toml, or create a live dataset with `tokendeck new`",
            ),
            Self::NoNetwork => {
                f.write_str("network access is off, so no provider can be searched")
            }
            Self::NoMatch { words } => write!(
                f,
                "no provider has a token that matches `{words}`; check the spelling or pass an address"
            ),
            Self::Live(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for JobsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(error) => error.fmt(f),
            Self::LockFile { path, error } => write!(
                f,
                "cannot write `{}`: {error}; make the state folder writable, or set XDG_STATE_HOME to a writable folder",
                path.display()
            ),
            Self::NotOpened { path, fault } => {
                write!(f, "cannot open the job store `{}`: {fault}", path.display())
            }
            Self::InUse { path, fault } => write!(
                f,
                "the job store `{}` is damaged ({fault}) and in use by another program; end that program and restart tokendeck",
                path.display()
            ),
            Self::NotRenamed { path, fault, error } => write!(
                f,
                "the job store `{}` is damaged ({fault}) and cannot be renamed: {error}; move it away",
                path.display()
            ),
            Self::NotCreated { path, fault } => {
                write!(
                    f,
                    "cannot create the job store `{}`: {fault}",
                    path.display()
                )
            }
            Self::Query(problem) => problem.fmt(f),
            Self::Thread(error) => write!(f, "cannot start a thread for jobs: {error}"),
        }
    }
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Sqlite(error) => error.fmt(f),
            Self::Check(finding) => f.write_str(finding),
            Self::Version(version) => write!(
                f,
                "it has version {version}, but this program supports version {JOBS_VERSION}; use the newer program, or move the \
                file away"
            ),
        }
    }
}

impl fmt::Display for NotifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson => f.write_str("cannot receive this alert: it cannot be written as JSON"),
            Self::Start(io::ErrorKind::NotFound) => f.write_str("was not found; set its full path"),
            Self::Start(io::ErrorKind::PermissionDenied) => f.write_str("is not executable"),
            Self::Start(_) => f.write_str("cannot be started"),
            Self::Exit(Some(code)) => write!(f, "exited with code {code}"),
            Self::Exit(None) => f.write_str("was terminated by a signal"),
            Self::Killed { after } => write!(
                f,
                "did not finish within {} s and was killed",
                after.as_secs()
            ),
            Self::Webhook(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTime => f.write_str(
                "expected a day such as 2026-08-14, or a time such as 2026-08-14T09:30:00Z",
            ),
            Self::UnknownFinding {
                code,
                near: Some(near),
            } => {
                write!(f, "unknown finding code `{code}`; did you mean `{near}`?")
            }
            Self::UnknownFinding { code, near: None } => write!(
                f,
                "unknown finding code `{code}`; the Security view lists the codes, such as `SELL_TAX`"
            ),
            Self::Toml { line, message } => write!(f, "line {line}: {message}"),
            Self::UnknownChain { chain, name } => write!(
                f,
                "`{chain}` of `{name}` is not a known chain, such as `eth` or `base`"
            ),
            Self::Worth { symbol, worth } => {
                write!(
                    f,
                    "`worth` of `{symbol}` is {worth}; expected its price in USD"
                )
            }
            Self::Fees { name, fees } => write!(
                f,
                "`fees` of `{name}` are {fees:?}; expected millionths, such as [3000] for 0.3%"
            ),
        }
    }
}

impl std::error::Error for ServiceError {}
impl std::error::Error for JobsError {}
impl std::error::Error for TextError {}

impl From<ServiceError> for String {
    fn from(error: ServiceError) -> Self {
        error.to_string()
    }
}
