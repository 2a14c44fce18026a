//! What an import did, file by file and table by table, for people and for programs.

use serde::Serialize;

use crate::dataset::findings::{Finding, FindingCount, Findings};

/// What an import did.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub files: Vec<FileReport>,
    pub tables: Vec<TableReport>,
    /// What the person should do or know beside that.
    pub notes: Vec<String>,
}

/// What became of one file.
#[derive(Debug, Serialize)]
pub struct FileReport {
    pub file: String,
    /// The format's word.
    pub format: Option<&'static str>,
    pub title: Option<&'static str>,
    /// Why nothing was taken of it.
    pub refused: Option<String>,
    pub says: Vec<String>,
    pub taken: Vec<Taken>,
    #[serde(skip)]
    pub findings: Findings,
    #[serde(rename = "findings")]
    pub kept: Vec<Finding>,
    pub counts: Vec<FindingCount>,
}

/// What a table got of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taken {
    pub table: &'static str,
    /// Rows in the file.
    pub rows: u64,
    pub new: u64,
    /// Rows that replaced others of their key.
    pub changed: u64,
    /// Rows that were there already.
    pub same: u64,
    /// Rows that a later one of the file repeats.
    pub repeated: u64,
    /// Rows that could not be read.
    pub set_aside: u64,
    /// Rows that are none of the table's, and what they are.
    pub left_out: u64,
    pub left_out_why: &'static str,
}

/// What became of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableReport {
    pub table: &'static str,
    /// Relative to the dataset's folder.
    pub file: String,
    /// Rows in that file now.
    pub rows: u64,
    /// It was written; not in a dry run, nor where nothing changed.
    pub written: bool,
}

impl FileReport {
    pub(super) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            format: None,
            title: None,
            refused: None,
            says: Vec::new(),
            taken: Vec::new(),
            findings: Findings::default(),
            kept: Vec::new(),
            counts: Vec::new(),
        }
    }
}
