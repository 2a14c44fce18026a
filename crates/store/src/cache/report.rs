//! The result of loading a table, which the cache stores beside its rows.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{TableFile, invariants::in_order::TokenStatistic};
use model::findings::Findings;

/// Result of loading the table, recorded when it was imported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    pub sources: Vec<TableFile>,
    pub findings: Findings,
    /// Values to be cross-checked against other tables at every load.
    #[serde(rename = "observed")]
    pub statistics: Vec<TokenStatistic>,
    /// Columns declared approximate.
    pub approximate: Vec<String>,
    pub rows_bad: u64,
    pub load_ms: u64,
    /// Hash of the inputs except the files: a table with the same stem can grow from this one.
    pub stem: String,
    /// State at the end of each file.
    pub ends: Vec<FileEnd>,
    /// Name of the cache entry that this one grew from.
    pub grown_from: Option<String>,
}

/// State of reading at the end of a file, for incremental imports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileEnd {
    /// Findings that are known only at the end of the file; the report's findings exclude them.
    pub notes: Findings,
    /// Bytes read, all of them whole lines, and the hash of their head and tail. 0 for a file whose reading cannot be resumed.
    pub bytes: u64,
    pub hash: [u8; 32],
    /// Rows of the file, rejected rows, rows excluded by `where`.
    pub rows: u64,
    pub rows_bad: u64,
    pub left_out: u64,
    /// State that the readers of the file learned, as their own JSON.
    pub learnt: serde_json::Value,
}

impl LoadReport {
    /// As the index stores it.
    pub(super) fn stored(&self) -> Result<Box<RawValue>, String> {
        serde_json::value::to_raw_value(self).map_err(|error| error.to_string())
    }

    pub(super) fn read(stored: &RawValue) -> Result<Self, String> {
        serde_json::from_str(stored.get()).map_err(|error| error.to_string())
    }
}
