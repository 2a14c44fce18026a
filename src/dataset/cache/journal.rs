//! The checkpoint of an import, from which one that was cut off goes on. It is replaced whole, after the data it describes are written.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Numbered by the form of the journal and of the data it describes: a table half made by an older program is begun anew.
const FILE: &str = "journal-5";

/// The journal of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal<S> {
    /// Lengths of the files that grow.
    pub(super) spool: u64,
    pub(super) keys: u64,
    pub(super) tokens: u64,
    pub(super) intervals: Vec<i64>,
    pub(super) rows: u32,
    /// Bytes of each column without a fixed length.
    pub(super) lengths: Vec<u64>,
    /// How far the sources were read, as their reader notes it.
    pub(super) state: S,
}

impl<S: DeserializeOwned> Journal<S> {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        fs::read(folder.join(FILE)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }
}

impl<S: Serialize> Journal<S> {
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let beside = folder.join("journal.new");
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::rename(beside, folder.join(FILE))
    }
}
