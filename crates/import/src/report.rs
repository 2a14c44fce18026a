//! The import report, by file and by table, for people and for programs.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    fmt::Display,
    path::{Path, PathBuf},
};

use polars::prelude::DataFrame;
use serde::Serialize;

use super::{sheet::flat, take::RowCounts};
use load::{loader::bind::bind, manifest::TableManifest};
use model::{
    findings::{Finding, FindingCount, Findings},
    schema::TableSchema,
};

/// The outcome of an import.
#[derive(Debug, Default, Serialize)]
pub struct ImportReport {
    pub files: Vec<FileReport>,
    pub tables: Vec<TableReport>,
    /// Further advice and remarks for the user.
    pub notes: Vec<String>,
}

impl ImportReport {
    /// Keeps the first of the tables of a file that are refused alike: a workbook may have thousands of sheets.
    pub(super) fn tell_alike_once(&mut self) {
        let mut first: HashMap<(PathBuf, String, Vec<String>), usize> = HashMap::new();
        let mut others: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut kept = Vec::new();
        for file in std::mem::take(&mut self.files) {
            if let Some(reason) = &file.refused {
                match first.entry((file.path.clone(), reason.clone(), file.try_with.clone())) {
                    Entry::Occupied(first) => {
                        others.entry(*first.get()).or_default().push(file.file);
                        continue;
                    }
                    Entry::Vacant(place) => drop(place.insert(kept.len())),
                }
            }
            kept.push(file);
        }
        self.files = kept;
        for (at, names) in others {
            if let Some(reason) = self
                .files
                .get_mut(at)
                .and_then(|file| file.refused.as_mut())
            {
                reason.push_str(&format!(". The same applies to {}", listed(&names)));
            }
        }
    }
}

/// The outcome for one file.
#[derive(Debug, Default, Serialize)]
pub struct FileReport {
    pub file: String,
    /// Source number of its rows; `None` if it was refused before any row was read.
    #[serde(skip)]
    pub(super) source: Option<u32>,
    /// The format's id.
    pub format: Option<String>,
    pub title: Option<String>,
    /// The reason, if the file was refused.
    pub refused: Option<String>,
    /// Options that would import it, or lead to the next question; values that only the user knows are placeholders in capitals.
    pub try_with: Vec<String>,
    /// As given by the user.
    #[serde(skip)]
    pub path: PathBuf,
    /// Columns whose names show that the rows are token movements.
    #[serde(skip)]
    pub movements: Vec<String>,
    pub says: Vec<String>,
    /// The detected column mapping, and the first rows as imported.
    pub previews: Vec<Preview>,
    pub taken: Vec<Taken>,
    #[serde(skip)]
    pub findings: Findings,
    #[serde(rename = "findings")]
    pub kept: Vec<Finding>,
    pub counts: Vec<FindingCount>,
}

/// How a file is read into a table.
#[derive(Debug, Serialize)]
pub struct Preview {
    pub table: &'static str,
    pub columns: Vec<ColumnSource>,
    /// The first rows, one text per column.
    pub rows: Vec<Vec<String>>,
}

/// The source of a schema column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnSource {
    pub column: &'static str,
    /// The file's column, or the constant.
    pub from: String,
    pub why: &'static str,
}

/// The source of each schema column that has one; of the computed column `made`, the columns it is computed from. `mapped` is what
/// `--map` says.
pub(super) fn column_sources(
    schema: &'static TableSchema,
    manifest: &TableManifest,
    names: &[String],
    (made, worked_out): (&str, &[String]),
    mapped: &[(String, String)],
) -> Vec<ColumnSource> {
    let bound = bind(schema, manifest, names).unwrap_or_default();
    let source = |bound: &load::loader::bind::Bound<'_>| {
        let from = bound.raw.as_ref().or(bound.units.as_ref());
        match (bound.constant, from) {
            (Some(""), _) | (None, None) => None,
            (Some(constant), _) => Some(ColumnSource {
                column: bound.column.name,
                from: constant.to_owned(),
                why: "set for every row",
            }),
            (None, Some(from)) if from == made => {
                let from = worked_out
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ");
                Some(ColumnSource {
                    column: bound.column.name,
                    from,
                    why: "calculated",
                })
            }
            (None, Some(from)) => {
                let ours = from.eq_ignore_ascii_case(bound.column.name)
                    || bound
                        .column
                        .aliases
                        .iter()
                        .any(|alias| alias.eq_ignore_ascii_case(from));
                let is_said = mapped.iter().any(|(ours, theirs)| {
                    ours == bound.column.name && theirs.eq_ignore_ascii_case(from)
                });
                let why = match (is_said, ours) {
                    (true, _) => "from --map",
                    (_, true) => "by name",
                    _ => "by name and cells",
                };
                Some(ColumnSource {
                    column: bound.column.name,
                    from: format!("`{from}`"),
                    why,
                })
            }
        }
    };
    bound.iter().filter_map(source).collect()
}

/// The first rows of a canonical frame, in the mapped columns.
pub(super) fn first_rows(
    frame: &DataFrame,
    columns: &[ColumnSource],
    most: usize,
) -> Vec<Vec<String>> {
    let head = frame.head(Some(most));
    let texts: Vec<Vec<String>> = columns
        .iter()
        .map(|source| {
            head.column(source.column)
                .map_or_else(|_| vec![String::new(); head.height()], flat::texts)
        })
        .collect();
    (0..head.height())
        .map(|row| texts.iter().map(|column| column[row].clone()).collect())
        .collect()
}

/// A table's row counts from one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Taken {
    pub table: &'static str,
    /// Rows in the file.
    pub rows: u64,
    pub new: u64,
    /// Rows that replaced others of the same key.
    pub changed: u64,
    /// Rows that already existed.
    pub same: u64,
    /// Rows repeated by a later one in the file.
    pub repeated: u64,
    /// Rows that could not be read.
    pub set_aside: u64,
    /// Rows that do not belong to the table, and their description.
    pub left_out: u64,
    pub left_out_why: String,
}

impl Taken {
    pub(super) fn of(table: &'static str, amount: &RowCounts, left_out_why: &str) -> Self {
        Self {
            table,
            rows: amount.rows,
            set_aside: amount.bad,
            left_out: amount.left_out,
            left_out_why: left_out_why.to_owned(),
            ..Self::default()
        }
    }
}

/// The nearest table of a file that yielded no rows, and the reason.
pub(super) fn why_nothing(report: &FileReport) -> (&'static str, String) {
    let first = report
        .findings
        .counts()
        .first()
        .map(|count| count.reason.clone());
    let left = report
        .taken
        .iter()
        .find(|taken| taken.left_out > 0)
        .map(|taken| format!("its {} rows {}", taken.left_out, taken.left_out_why));
    let why = first
        .or(left)
        .unwrap_or_else(|| "it has no rows".to_owned());
    (report.taken.first().map_or("", |taken| taken.table), why)
}

/// The outcome for one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableReport {
    pub table: &'static str,
    /// Relative to the dataset's folder.
    pub file: String,
    /// Rows now in that file.
    pub rows: u64,
    /// Whether the file was written: not in a dry run, nor if nothing changed.
    pub written: bool,
}

impl FileReport {
    pub(super) fn new(path: &Path, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            path: path.to_owned(),
            ..Self::default()
        }
    }
}

/// The first `most` items, and `, …` if there are more.
pub(super) fn few(all: impl IntoIterator<Item: Display>, most: usize) -> String {
    let mut all = all.into_iter();
    let shown: Vec<String> = all.by_ref().take(most).map(|one| one.to_string()).collect();
    format!(
        "{}{}",
        shown.join(", "),
        if all.next().is_some() { ", …" } else { "" }
    )
}

/// The first names, and the number of the others.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(12)
        .map(|name| format!("`{name}`"))
        .collect();
    format!(
        "{}{}",
        shown.join(", "),
        if names.len() > 12 {
            format!(" and {} more", names.len() - 12)
        } else {
            String::new()
        }
    )
}
