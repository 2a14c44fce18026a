//! What an import did, file by file and table by table, for people and for programs.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use polars::prelude::DataFrame;
use serde::Serialize;

use super::{sheet::flat, take::RowCounts};
use crate::dataset::{
    findings::{Finding, FindingCount, Findings},
    load::bind::bind,
    manifest::TableManifest,
    schema::TableSchema,
};

/// What an import did.
#[derive(Debug, Default, Serialize)]
pub struct ImportReport {
    pub files: Vec<FileReport>,
    pub tables: Vec<TableReport>,
    /// What the person should do or know beside that.
    pub notes: Vec<String>,
}

/// What became of one file.
#[derive(Debug, Default, Serialize)]
pub struct FileReport {
    pub file: String,
    /// The number of its rows' source; none where it was refused before a row was read.
    #[serde(skip)]
    pub(super) source: Option<u32>,
    /// The format's word.
    pub format: Option<&'static str>,
    pub title: Option<&'static str>,
    /// Why nothing was taken of it.
    pub refused: Option<String>,
    /// Options with which it would be taken, or the next thing asked for; what only the person knows is a placeholder in capitals.
    pub try_with: Vec<String>,
    /// As it was named.
    #[serde(skip)]
    pub path: PathBuf,
    /// Columns of it by whose names its rows are movements of a token.
    #[serde(skip)]
    pub movements: Vec<String>,
    pub says: Vec<String>,
    /// What is read from where, and the first rows as they come out.
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
    pub columns: Vec<Guess>,
    /// The first rows, a text for each of the columns.
    pub rows: Vec<Vec<String>>,
}

/// What serves a column of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guess {
    pub column: &'static str,
    /// Their column, or the one value of all rows.
    pub from: String,
    pub why: &'static str,
}

/// What serves each column of ours that something serves; of the column `made`, what it is worked out from.
pub(super) fn guesses(
    schema: &'static TableSchema,
    manifest: &TableManifest,
    names: &[String],
    (made, worked_out): (&str, &[String]),
) -> Vec<Guess> {
    let bound = bind(schema, manifest, names).unwrap_or_default();
    let guess = |bound: &crate::dataset::load::bind::Bound<'_>| {
        let from = bound.raw.as_ref().or(bound.units.as_ref());
        match (bound.constant, from) {
            (Some(""), _) | (None, None) => None,
            (Some(constant), _) => Some(Guess { column: bound.column.name, from: constant.to_owned(), why: "said, or beside the table" }),
            (None, Some(from)) if from == made => {
                let from = worked_out.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                Some(Guess { column: bound.column.name, from, why: "worked out" })
            }
            (None, Some(from)) => {
                let ours = from.eq_ignore_ascii_case(bound.column.name)
                    || bound.column.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(from));
                let why = if ours { "by its name" } else { "by its name elsewhere and its cells" };
                Some(Guess { column: bound.column.name, from: format!("`{from}`"), why })
            }
        }
    };
    bound.iter().filter_map(guess).collect()
}

/// The first rows of a frame of ours in the columns that something serves.
pub(super) fn first_rows(frame: &DataFrame, columns: &[Guess], most: usize) -> Vec<Vec<String>> {
    let head = frame.head(Some(most));
    let texts: Vec<Vec<String>> =
        columns.iter().map(|guess| head.column(guess.column).map_or_else(|_| vec![String::new(); head.height()], flat::texts)).collect();
    (0..head.height()).map(|row| texts.iter().map(|column| column[row].clone()).collect()).collect()
}

/// What a table got of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
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

impl Taken {
    pub(super) fn of(table: &'static str, amount: &RowCounts, left_out_why: &'static str) -> Self {
        Self { table, rows: amount.rows, set_aside: amount.bad, left_out: amount.left_out, left_out_why, ..Self::default() }
    }
}

/// The table that a file is nearest to which brought no row, and why it brought none.
pub(super) fn why_nothing(report: &FileReport) -> (&'static str, String) {
    let first = report.findings.counts().first().map(|count| count.reason.clone());
    let left =
        report.taken.iter().find(|taken| taken.left_out > 0).map(|taken| format!("its {} rows {}", taken.left_out, taken.left_out_why));
    let why = first.or(left).unwrap_or_else(|| "it has no rows".to_owned());
    (report.taken.first().map_or("", |taken| taken.table), why)
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
    pub(super) fn new(path: &Path, file: &str) -> Self {
        Self { file: file.to_owned(), path: path.to_owned(), ..Self::default() }
    }
}

/// The first of these, and `, …` where there are more.
pub(super) fn few(all: impl IntoIterator<Item: Display>, most: usize) -> String {
    let mut all = all.into_iter();
    let shown: Vec<String> = all.by_ref().take(most).map(|one| one.to_string()).collect();
    format!("{}{}", shown.join(", "), if all.next().is_some() { ", …" } else { "" })
}

/// The first names, and how many more there are.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() })
}
