//! The result of a refresh, or the reason why there was none, with the messages that the program prints.

use std::{collections::BTreeSet, fmt};

use crate::live::error::LiveError;
use model::address::Address;

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
    /// Why some rows are missing, for the user; rows fetched before the failure are stored.
    pub failure: Option<String>,
}
