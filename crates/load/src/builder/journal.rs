//! Checkpoint of an import, from which an interrupted one resumes: after a file, never within one. Replaced atomically, after the data it
//! describes are written.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use frames::report::LoadReport;
use model::private_files::replace;

/// Numbered by the format of the journal and of its data: an import begun by an older program restarts.
const FILE: &str = "journal-6";

/// Checkpoint of an import.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Lengths of the append-only files.
    pub(super) spool: u64,
    pub(super) keys: u64,
    pub(super) tokens: u64,
    pub(super) intervals: Vec<i64>,
    pub(super) rows: u32,
    /// Bytes of each variable-width column.
    pub(super) lengths: Vec<u64>,
    /// Number of files whose rows are all in there, and the load report over them.
    pub(super) files: u32,
    pub(super) report: LoadReport,
}

impl Journal {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        fs::read(folder.join(FILE))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        replace(&folder.join(FILE), serde_json::to_vec(self)?)
    }
}
