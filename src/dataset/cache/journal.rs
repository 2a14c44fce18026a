//! How far an import came, so that one that was cut off goes on from there. Replaced whole, after what it speaks of is written.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::index::Report;
use crate::dataset::load::file::FileState;

/// Numbered by its form and that of what it speaks of: what an older program left half done is begun anew.
const FILE: &str = "journal-3";

/// How far the sources were read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReadState {
    /// The file that is read, by its place among them; past the last once all are.
    pub(crate) file: u32,
    /// Batches taken of it.
    pub(crate) batches: u64,
    /// Of this file: rows, those set aside, those left out by `where`.
    pub(crate) rows: u64,
    pub(crate) file_bad: u64,
    pub(crate) left_out: u64,
    /// What is learnt of this file.
    pub(crate) learnt: FileState,
    /// What was found so far, the sources up to this file among it.
    pub(crate) report: Report,
}

/// The journal of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Lengths of the files that grow.
    pub(super) spill: u64,
    pub(super) keys: u64,
    pub(super) tokens: u64,
    pub(super) intervals: Vec<i64>,
    pub(super) rows: u32,
    /// Bytes of each column without a fixed length.
    pub(super) lengths: Vec<u64>,
    pub(super) state: ReadState,
}

impl Journal {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        fs::read(folder.join(FILE)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let beside = folder.join("journal.new");
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::rename(beside, folder.join(FILE))
    }
}
