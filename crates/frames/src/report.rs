//! The result of loading a table, which the cache stores beside its rows.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use model::{findings::Findings, time::Time};

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
    pub(super) fn stored(&self) -> serde_json::Result<Box<RawValue>> {
        serde_json::value::to_raw_value(self)
    }

    pub(super) fn read(stored: &RawValue) -> serde_json::Result<Self> {
        serde_json::from_str(stored.get())
    }
}

/// A source file of a table, as the cache's index also stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFile {
    /// Path, relative to the dataset's folder for files inside it.
    pub file: String,
    pub bytes: u64,
    #[serde(with = "milliseconds")]
    pub modified: Option<Time>,
    /// Rows of the file, including rejected rows and those excluded by `where`.
    pub rows: u64,
    /// Hash of its head and tail; for a remote file, of the values that identify its version.
    pub ends: [u8; 32],
}

/// A time as a number, and not as the text that answers have.
mod milliseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use model::time::Time;

    #[allow(
        clippy::ref_option,
        reason = "serde hands over a reference to the field"
    )]
    pub(super) fn serialize<S: Serializer>(
        time: &Option<Time>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Time>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(Time))
    }
}

/// A statistic of a token's rows, checked once all tables are loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenStatistic {
    pub token: String,
    /// The file of the rows.
    pub file: String,
    #[serde(rename = "what")]
    pub value: StatisticValue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum StatisticValue {
    /// Median of volume times close.
    Turnover(f64),
    /// The largest value in base units, its row, and the number of transfers.
    Transfer {
        largest: String,
        row: u64,
        count: u64,
    },
    /// First and last time of a dense series, whose candles are one interval apart, and its longest step.
    Span {
        interval: i64,
        first: i64,
        last: i64,
        longest: i64,
    },
}
