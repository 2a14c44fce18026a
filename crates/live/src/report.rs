//! What came of a refresh, or why there was none. Words for each are made here, as the program prints them.

use std::{collections::BTreeSet, fmt};

use model::address::Address;

/// Why nothing was refreshed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefreshError {
    /// Another program refreshes this dataset: its rows will be there.
    Busy,
    Stopped,
    /// One line for the user.
    Failed(String),
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("another process is already fetching for this dataset; its rows appear when it finishes"),
            Self::Stopped => f.write_str("the fetch was stopped; the rows received so far are stored"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// What came of a refresh, by table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefreshReport {
    pub tables: Vec<TableRefreshReport>,
}

impl RefreshReport {
    /// What failed, for the user.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        self.tables.iter().filter_map(|table| Some(format!("`{}`: {}", table.table, table.failure.as_ref()?)))
    }
}

/// What came of a table's refresh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRefreshReport {
    pub table: String,
    /// Rows that were given, new or not.
    pub rows: u64,
    pub requests: u64,
    /// Ids of those who gave rows.
    pub providers: BTreeSet<String>,
    /// Tokens that no provider of the table knows.
    pub unknown: Vec<Address>,
    /// What is odd about the rows.
    pub notes: Vec<String>,
    /// Why some are missing, for the user; what came is kept.
    pub failure: Option<String>,
}
