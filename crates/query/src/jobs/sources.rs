//! Provenance of a job's answers: the dataset's files at the job's start, stored with it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::service::QueryService;
use load::{Dataset, live_files::FOLDER};
use model::{table_state::TableState, time::Time};

/// Maximum files listed per table.
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
    /// Attribution of the providers that must be shown with the data.
    #[serde(default)]
    pub credit: Vec<String>,
    /// Whether the data changed while the job ran; the files are those at its start.
    pub changed: bool,
}

/// A table of the dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTable {
    pub name: String,
    pub files: Vec<JobSourceFile>,
    /// Number of files not listed.
    pub more: u64,
    /// Remote sources of its rows.
    pub elsewhere: Vec<String>,
    /// Since when these are unreachable, in Unix milliseconds.
    pub unreached_since: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSourceFile {
    pub name: String,
    pub rows: u64,
    /// Unix milliseconds.
    pub modified: Option<i64>,
}

impl Sources {
    pub fn of(service: &QueryService, dataset: &Dataset) -> Self {
        let loaded = dataset.tables.iter().filter(|table| {
            table.state == TableState::Loaded && !NOT_READ.contains(&table.schema.name)
        });
        let tables = loaded.map(|table| {
            let remote = table.remote.as_ref();
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
                elsewhere: remote.map_or_else(Vec::new, |remote| remote.sources.clone()),
                unreached_since: remote.and_then(|remote| remote.as_of).map(|time| time.0),
            }
        });
        Self {
            title: dataset.title.clone(),
            license: dataset.license.clone(),
            synthetic: dataset.synthetic,
            tables: tables.collect(),
            credit: service.credit(),
            changed: false,
        }
    }

    /// Whether rows of the table were fetched by a refresh.
    pub(crate) fn has_fetched(&self, table: &str) -> bool {
        let files = self.tables.iter().filter(|known| known.name == table);
        files
            .flat_map(|known| &known.files)
            .any(|file| Path::new(&file.name).starts_with(FOLDER))
    }
}

impl JobSourceFile {
    pub fn modified(&self) -> Option<Time> {
        self.modified.map(Time)
    }
}
