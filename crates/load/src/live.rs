//! Live tables: requests to providers, as `provider` describes them, at the pace they allow, for the rows that a dataset lacks. The
//! responses are stored in its folder. This module computes no metrics, and sends no request without the consent that `wire` records.

mod ask;
pub mod create;
mod dropped;
pub mod find;
pub mod forget;
pub(crate) mod matching;
mod pages;
mod plan;
mod refresh;
mod rows;
pub mod saved;
mod screen;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    error::Error,
    fmt,
    path::PathBuf,
    time::Duration,
};

use polars::prelude::{DataFrame, PolarsError};

use super::{
    ReadError,
    formats::{ProviderError, SourceError},
};
use ask::Ask;
use model::{
    address::Address, findings::Finding, format::plural, private_files::FileError, time::Time,
    untrusted::DecodeError,
};
use pages::FetchedRows;
use state::RequestHistory;

pub use self::{
    ask::LiveToken,
    refresh::{
        LiveMarket, RefreshContext, hosts, hosts_without_consent, live_tables, provider_errors,
        refresh, social_hosts, tables_read,
    },
    state::{RefreshState, TableRefreshed},
};

// The observer of a refresh or search: receives its progress and its waits, and may stop it.

/// Observer of a refresh. Called from several threads.
pub trait RefreshWatch: Send + Sync {
    /// `done` of `total` things of the table were asked for.
    fn step(&self, _table: &str, _provider: &str, _done: usize, _total: usize) {}
    /// The next request waits: for the provider's limit, or because it says so.
    fn waits(&self, _provider: &str, _wait: Duration, _asked: bool) {}
    /// Whether it shall end.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// An observer that never stops the refresh.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl RefreshWatch for Unwatched {}

// The result of a refresh, or the reason why there was none, with the messages that the program prints.

/// Why nothing was refreshed.
#[derive(Debug)]
pub enum RefreshError {
    /// Another program is refreshing this dataset; its rows will be available.
    Busy,
    Stopped,
    Failed(LiveError),
}

impl<E: Into<LiveError>> From<E> for RefreshError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("another process is already fetching for this dataset; its rows appear when it finishes"),
            Self::Stopped => f.write_str("the fetch was stopped; the rows received so far are stored"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// Results of a refresh, by table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefreshReport {
    pub tables: Vec<TableRefreshReport>,
}

impl RefreshReport {
    /// The failures, for the user.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.tables
            .iter()
            .filter_map(|table| Some(format!("`{}`: {}", table.table, table.failure.as_ref()?)))
    }
}

/// Posts that were left out because they are not about a token, or may not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExcludedPosts {
    /// Posts that services returned.
    pub given: u64,
    pub without_sign: u64,
    pub ambiguous: u64,
}

impl ExcludedPosts {
    pub(crate) fn add(&mut self, more: Self) {
        self.given += more.given;
        self.without_sign += more.without_sign;
        self.ambiguous += more.ambiguous;
    }

    /// A sentence for each reason.
    fn notes(self) -> impl Iterator<Item = String> {
        let note = move |(count, reason)| {
            (count > 0).then(|| {
                let posts = plural(count, "post", "posts");
                format!("excluded {posts} of {} because {reason}", self.given)
            })
        };
        [
            (self.without_sign, "nothing in them refers to the token"),
            (self.ambiguous, "the cashtag may mean something else"),
        ]
        .into_iter()
        .filter_map(note)
    }
}

/// Result of refreshing one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRefreshReport {
    pub table: String,
    /// Rows received, new or not.
    pub rows: u64,
    pub requests: u64,
    /// Ids of the providers that returned rows.
    pub providers: BTreeSet<String>,
    /// Tokens that no provider of the table knows.
    pub unknown: Vec<Address>,
    /// Notes about odd rows.
    pub notes: Vec<String>,
    /// Posts that were left out.
    pub excluded: ExcludedPosts,
    /// Why some rows are missing, for the user; rows fetched before the failure are stored.
    pub failure: Option<String>,
}

// Fetched rows that are waiting to be written, and the records to write after them.

/// Rows that wait to be written, and what is known once they are.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) frames: BTreeMap<&'static str, Vec<DataFrame>>,
    pub(crate) tokens: HashSet<Address>,
    pub(crate) whole: bool,
    pub(crate) asked: Vec<(String, RequestHistory)>,
    pub(crate) rows: usize,
}

/// Joins two adjacent spans. If there is a gap between them, the earlier one is returned, so that the gap is requested again.
fn joined(earlier: Option<(i64, i64)>, new: Option<(i64, i64)>, step: i64) -> Option<(i64, i64)> {
    match (earlier, new) {
        (Some((a, b)), Some((c, d))) if c <= b + step && a <= d + step => {
            Some((a.min(c), b.max(d)))
        }
        (earlier, new) => earlier.or(new),
    }
}

impl Held {
    /// Adds what was fetched.
    pub(crate) fn take(
        &mut self,
        ask: &Ask<'_>,
        before: &RequestHistory,
        fetched: FetchedRows,
        report: &mut TableRefreshReport,
        now: Time,
    ) {
        let (key, token) = (ask.key(), ask.about.token);
        let mut gave = before.gave;
        for (table, frame) in fetched.frames {
            self.rows += frame.height();
            if table == report.table {
                report.rows += frame.height() as u64;
                gave |= frame.height() > 0;
            }
            self.frames.entry(table).or_default().push(frame);
        }
        report.excluded.add(fetched.excluded);
        report.notes.extend(
            fetched
                .notes
                .into_iter()
                .filter(|note| !report.notes.contains(note))
                .collect::<Vec<_>>(),
        );
        self.whole |= token.is_none();
        self.tokens.extend(token);
        let last = self
            .asked
            .iter()
            .rev()
            .find(|(other, _)| *other == key)
            .map(|(_, asked)| asked);
        gave |= last.is_some_and(|asked| asked.gave);
        let earlier = last.and_then(|asked| asked.covered).or(before.covered);
        let covered = joined(earlier, fetched.covered, ask.step());
        self.asked.push((
            key,
            RequestHistory {
                at: now.0,
                covered,
                unknown: false,
                gave,
                version: fetched.version,
            },
        ));
    }
}

// Reasons why live tables cannot be fetched or kept, with the messages for the user.

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
    /// The list of forgotten people is damaged.
    UnreadableForgotten {
        path: PathBuf,
        reason: String,
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
            Self::UnreadableForgotten { path, reason } => write!(
                f,
                "cannot read `{}`: {reason}; restore it, or delete it and run `tokendeck forget` again for each handle",
                path.display()
            ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_joined_where_they_touch_and_a_gap_is_asked_for_again() {
        for (earlier, new, expected) in [
            (None, Some((5, 9)), Some((5, 9))),
            (Some((5, 9)), None, Some((5, 9))),
            (Some((5, 9)), Some((10, 12)), Some((5, 12))),
            (Some((5, 9)), Some((11, 12)), Some((5, 9))),
            (Some((5, 9)), Some((1, 4)), Some((1, 9))),
            (Some((5, 9)), Some((1, 3)), Some((5, 9))),
        ] {
            assert_eq!(joined(earlier, new, 1), expected, "{earlier:?} {new:?}");
        }
    }
}
