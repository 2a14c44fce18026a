//! Checkpoint of an import, from which an interrupted one resumes. Replaced atomically, after the data it describes are written.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::private_files::replace;

/// Numbered by the format of the journal and of its data: an import begun by an older program restarts.
const FILE: &str = "journal-5";

/// Checkpoint of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal<S> {
    /// Lengths of the append-only files.
    pub(super) spool: u64,
    pub(super) keys: u64,
    pub(super) tokens: u64,
    pub(super) intervals: Vec<i64>,
    pub(super) rows: u32,
    /// Bytes of each variable-width column.
    pub(super) lengths: Vec<u64>,
    /// Position in the sources, as recorded by their reader.
    pub(super) state: S,
}

impl<S: DeserializeOwned> Journal<S> {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        fs::read(folder.join(FILE))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }
}

impl<S: Serialize> Journal<S> {
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        replace(&folder.join(FILE), serde_json::to_vec(self)?)
    }
}
