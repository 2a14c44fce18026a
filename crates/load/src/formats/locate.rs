//! Locates the files of a table: those named after it in the dataset's folder, or those that `dataset.toml` lists. Every directory walk is
//! bounded, because folders may contain symlink loops and more files than intended.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use glob::{MatchOptions, Pattern};
use serde::{Deserialize, Serialize};

use super::{PathProblem, SourceError, format_of};
use crate::{live_files, manifest::TableManifest};
use model::{schema::TABLES, spelling::is_slip_of, time::Time};
use wire::{Object, UrlPattern};

const DEPTH_MAX: usize = 32;
pub const ENTRIES_MAX: usize = 200_000;
pub const FILES_MAX: usize = 10_000;

/// Glob options: `*` matches neither a slash nor a hidden file.
pub const GLOB: MatchOptions = MatchOptions {
    require_literal_separator: true,
    require_literal_leading_dot: true,
    case_sensitive: true,
};

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFile {
    pub path: PathBuf,
    /// Displayed name: relative to the dataset's folder for a file inside it, otherwise as `dataset.toml` spells it.
    pub name: String,
    pub origin: FileOrigin,
}

/// Where the rows of a file come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOrigin {
    Local,
    /// A remote file; `path` is its URL.
    Object(Object),
    /// Rows of a query; `path` is their name.
    Answer(Arc<Answer>),
}

/// Size and modification time of a file, by which changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    pub bytes: u64,
    pub modified: Option<Time>,
    /// The modification time of a local file since 1970.
    pub nanoseconds: u128,
}

/// Rows of a query, as an engine counted them: equal answers mean equal rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Displayed name: `clickhouse://SOURCE/TABLE`.
    pub name: String,
    /// Name of the source in config.toml.
    pub source: String,
    /// The query.
    pub sql: String,
    /// Every column of the table, selected or not.
    pub columns: Vec<String>,
    pub rows: u64,
    /// Approximate bytes per row.
    pub width: u64,
    /// Hash of the query, the count and the checksum.
    pub mark: String,
    /// The newest block or time counted.
    pub as_of: Option<String>,
    /// Findings of the count.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether the rows arrive as an Arrow stream; otherwise as CSV.
    pub arrow: bool,
}

impl Answer {
    /// Approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        self.rows.saturating_mul(self.width)
    }
}

impl LocatedFile {
    fn here(path: PathBuf, name: String) -> Self {
        Self {
            path,
            name,
            origin: FileOrigin::Local,
        }
    }

    pub fn answered(answer: Answer) -> Self {
        Self {
            path: PathBuf::from(&answer.name),
            name: answer.name.clone(),
            origin: FileOrigin::Answer(Arc::new(answer)),
        }
    }

    pub fn remote(object: Object) -> Self {
        Self {
            path: PathBuf::from(&object.url),
            name: object.url.clone(),
            origin: FileOrigin::Object(object),
        }
    }

    pub fn is_local(&self) -> bool {
        self.origin == FileOrigin::Local
    }

    pub fn object(&self) -> Option<&Object> {
        if let FileOrigin::Object(object) = &self.origin {
            Some(object)
        } else {
            None
        }
    }

    pub fn answer(&self) -> Option<&Answer> {
        if let FileOrigin::Answer(answer) = &self.origin {
            Some(answer)
        } else {
            None
        }
    }

    /// Its size and modification time.
    pub fn stamp(&self) -> Result<FileStamp, SourceError> {
        match &self.origin {
            FileOrigin::Object(object) => Ok(FileStamp {
                bytes: object.bytes,
                modified: object.modified.map(Time),
                nanoseconds: 0,
            }),
            FileOrigin::Answer(answer) => Ok(FileStamp {
                bytes: answer.bytes(),
                modified: None,
                nanoseconds: 0,
            }),
            FileOrigin::Local => {
                let meta = fs::metadata(&self.path)?;
                let since = meta
                    .modified()
                    .ok()
                    .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let modified = since.map(|since| Time(since.as_millis() as i64));
                Ok(FileStamp {
                    bytes: meta.len(),
                    modified,
                    nanoseconds: since.map_or(0, |since| since.as_nanos()),
                })
            }
        }
    }
}

/// Lists the files of a table on this machine: its own, then the files of live rows.
pub fn here(
    folder: &Path,
    table: &str,
    manifest: &TableManifest,
) -> Result<Vec<LocatedFile>, SourceError> {
    let mut files = if manifest.path.is_empty() {
        by_name(folder, table)?
    } else {
        by_path(folder, &manifest.path)?
    };
    if manifest.live.is_some() {
        let shown = |path: &PathBuf| {
            path.strip_prefix(folder)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        files.extend(
            live_files::files(folder, table)
                .into_iter()
                .map(|path| LocatedFile::here(path.clone(), shown(&path))),
        );
    }
    Ok(files)
}

/// Lists the files named after the table; an error where they are ambiguous, empty where the table is absent.
pub fn by_name(folder: &Path, table: &str) -> Result<Vec<LocatedFile>, SourceError> {
    let entries = fs::read_dir(folder).map_err(|error| SourceError::Folder(error.into()))?;
    let mut claims = Vec::new();
    for entry in entries.flatten().take(ENTRIES_MAX) {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // The folder is listed once per table, so files of other tables are not opened.
        let as_file = format_of(&name).is_some_and(|(stem, _)| stem == table);
        if as_file || name == table {
            let is_folder = entry.path().is_dir();
            if is_folder != as_file {
                claims.push((name, is_folder));
            }
        }
    }
    claims.sort();
    match &claims[..] {
        [] => Ok(Vec::new()),
        [(name, false)] => Ok(vec![LocatedFile::here(folder.join(name), name.clone())]),
        [(name, true)] => {
            let files = in_folder(&folder.join(name), name)?;
            if files.is_empty() {
                Err(SourceError::EmptyFolder(name.clone()))
            } else {
                Ok(files)
            }
        }
        _ => Err(SourceError::SeveralFiles {
            table: table.to_owned(),
            files: claims.into_iter().map(|(name, _)| name).collect(),
        }),
    }
}

/// Names of the folder's entries, sorted.
pub fn entries(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(ENTRIES_MAX);
    let mut names: Vec<String> = all
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

/// Files of a folder that seem intended for this table, which has no file of its own: each with the reason why it is not read.
pub fn passed_over<'e>(entries: &'e [String], table: &str) -> Vec<(&'e str, String)> {
    entries
        .iter()
        .filter_map(|name| {
            let stem = name.split_once('.').map_or(&**name, |(stem, _)| stem);
            let says = if stem == table && name != stem {
                "is not read, because no table can have this format; try `tokendeck import`"
                    .to_owned()
            } else if is_slip_of(stem, table) && !TABLES.iter().any(|schema| schema.name == stem) {
                format!("is not read, because no table has this name; did you mean `{table}`?")
            } else {
                return None;
            };
            Some((&**name, says))
        })
        .collect()
}

fn of_path(spelled: &str, problem: PathProblem) -> SourceError {
    SourceError::Path {
        path: spelled.to_owned(),
        problem,
    }
}

/// Lists the files that `dataset.toml` names, in its order; those that match a glob by name.
pub fn by_path(folder: &Path, paths: &[String]) -> Result<Vec<LocatedFile>, SourceError> {
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    for spelled in paths {
        let found = one_path(folder, spelled)?;
        for file in found {
            let name = shown_name(folder, &file);
            if seen.insert(file.path.clone()) {
                files.push(LocatedFile { name, ..file });
            }
            if files.len() > FILES_MAX {
                return Err(of_path(
                    spelled,
                    PathProblem::TooManyFiles { max: FILES_MAX },
                ));
            }
        }
    }
    Ok(files)
}

fn one_path(folder: &Path, spelled: &str) -> Result<Vec<LocatedFile>, SourceError> {
    if UrlPattern::is_url(spelled) {
        return Err(of_path(spelled, PathProblem::Remote));
    }
    let path = folder.join(spelled);
    if path.is_dir() {
        let files = in_folder(&path, spelled.trim_end_matches('/'))?;
        return if files.is_empty() {
            Err(of_path(spelled, PathProblem::NoFile))
        } else {
            Ok(files)
        };
    }
    if path.exists() {
        return Ok(vec![LocatedFile::here(path, spelled.to_owned())]);
    }
    if !spelled.contains(['*', '?', '[']) {
        return Err(of_path(spelled, PathProblem::Missing));
    }
    let pattern = Pattern::new(spelled)
        .map_err(|error| of_path(spelled, PathProblem::NotAGlob(error.msg)))?;
    // The walk starts at the last folder before the first wildcard.
    let fixed = spelled
        .find(['*', '?', '['])
        .and_then(|at| spelled[..at].rfind('/'))
        .map_or("", |at| &spelled[..=at]);
    let mut files = walk(&folder.join(fixed), fixed)?;
    files.retain(|file| pattern.matches_with(&file.name, GLOB) && format_of(&file.name).is_some());
    if files.is_empty() {
        Err(of_path(spelled, PathProblem::NoMatch))
    } else {
        Ok(files)
    }
}

/// Files of known formats below a folder, except hidden ones.
fn in_folder(folder: &Path, spelled: &str) -> Result<Vec<LocatedFile>, SourceError> {
    let mut files = walk(folder, &format!("{spelled}/"))?;
    files.retain(|file| {
        let below = &file.name[spelled.len()..];
        format_of(&file.name).is_some() && !below.contains("/.") && !below.contains("/_")
    });
    Ok(files)
}

/// Every file below `root`, by name. A folder is entered once, however many links lead to it.
fn walk(root: &Path, spelled: &str) -> Result<Vec<LocatedFile>, SourceError> {
    let mut files = Vec::new();
    let mut entered = HashSet::new();
    let mut folders = vec![(root.to_owned(), spelled.to_owned(), 0)];
    let mut entries = 0;
    while let Some((folder, spelled, depth)) = folders.pop() {
        let Ok(real) = folder.canonicalize() else {
            continue;
        };
        if depth > DEPTH_MAX || !entered.insert(real) {
            continue;
        }
        let Ok(listing) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in listing.flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                return Err(of_path(
                    &spelled,
                    PathProblem::TooManyEntries { max: ENTRIES_MAX },
                ));
            }
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let (path, name) = (entry.path(), format!("{spelled}{name}"));
            if path.is_dir() {
                folders.push((path, format!("{name}/"), depth + 1));
            } else {
                files.push(LocatedFile::here(path, name));
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Displayed name of the file.
fn shown_name(folder: &Path, file: &LocatedFile) -> String {
    let name = file.name.trim_start_matches("./");
    Path::new(name)
        .strip_prefix(folder)
        .map_or_else(|_| name.to_owned(), |inside| inside.display().to_string())
}
