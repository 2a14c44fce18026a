//! The files that a job's answers were made of, as they were when it started; kept with the job.

use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, TableState, time::Time};

/// Files named of a table.
const FILES_MAX: usize = 5;
/// Tables that no report reads.
const NOT_READ: &[&str] = &["yields", "gas"];

/// The dataset and its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    pub title: Option<String>,
    pub license: Option<String>,
    pub synthetic: bool,
    pub tables: Vec<SourceTable>,
    /// The data changed while the job ran; these are the files it started with.
    pub changed: bool,
}

/// A table of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTable {
    pub name: String,
    pub files: Vec<JobSourceFile>,
    /// Further files that are not named.
    pub more: u64,
    /// The remote sources of its rows.
    pub elsewhere: Vec<String>,
    /// Since when these could not be reached, in milliseconds since 1970.
    pub unreached_since: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSourceFile {
    pub name: String,
    pub rows: u64,
    /// Milliseconds since 1970.
    pub modified: Option<i64>,
}

impl Sources {
    pub fn of(dataset: &Dataset) -> Self {
        let loaded = dataset.tables.iter().filter(|table| table.state == TableState::Loaded && !NOT_READ.contains(&table.schema.name));
        let tables = loaded.map(|table| {
            let elsewhere = table.elsewhere.as_ref();
            SourceTable {
                name: table.schema.name.to_owned(),
                files: table
                    .sources
                    .iter()
                    .take(FILES_MAX)
                    .map(|source| JobSourceFile {
                        name: dataset.name_of(&source.file),
                        rows: source.rows,
                        modified: source.modified.map(|time| time.0),
                    })
                    .collect(),
                more: table.sources.len().saturating_sub(FILES_MAX) as u64,
                elsewhere: elsewhere.map_or_else(Vec::new, |elsewhere| elsewhere.sources.clone()),
                unreached_since: elsewhere.and_then(|elsewhere| elsewhere.as_of).map(|time| time.0),
            }
        });
        Self {
            title: dataset.title.clone(),
            license: dataset.license.clone(),
            synthetic: dataset.synthetic,
            tables: tables.collect(),
            changed: false,
        }
    }
}

impl JobSourceFile {
    pub fn modified(&self) -> Option<Time> {
        self.modified.map(Time)
    }
}
