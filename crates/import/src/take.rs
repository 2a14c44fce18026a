//! Reads a file's rows into a table's columns as the loader does: in batches, with a finding for each cell that cannot be read.

use std::collections::{HashMap, HashSet};

use polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

use super::{
    error::{FileError, ImportError},
    refusal::Refusal,
};
use load::{
    ReadError,
    check::in_order::TokenStatistic,
    formats::{RowSource, SourceError},
    loader::{
        LoadContext,
        bind::bind,
        file::{FileRows, Unread},
        fill,
    },
    manifest::TableManifest,
};
use model::{
    address::Address,
    findings::{Finding, Findings, Severity},
    schema::TableSchema,
};

/// Why a file is not imported.
#[derive(Debug)]
pub(super) enum ImportRejection {
    Cancelled,
    Refused(Refusal),
}

impl From<String> for ImportRejection {
    fn from(reason: String) -> Self {
        Self::Refused(reason.into())
    }
}

impl From<SourceError> for ImportRejection {
    fn from(error: SourceError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<ReadError> for ImportRejection {
    fn from(error: ReadError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Refusal> for ImportRejection {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<FileError> for ImportRejection {
    fn from(error: FileError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<ImportError> for ImportRejection {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Cancelled => Self::Cancelled,
            error => error.to_string().into(),
        }
    }
}

/// Maximum number of malformed last rows that are notes below the table.
const LAST_MAX: u64 = 10;

/// Receives rows with their row numbers in the source.
type RowSink<'a> = dyn FnMut(DataFrame, &[u32]) -> Result<(), ImportError> + 'a;

/// Row counts of a source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowCounts {
    pub rows: u64,
    /// Rows that could not be read.
    pub bad: u64,
    /// Those of them that could not be told apart into cells, but for the last rows.
    pub malformed: u64,
    /// Rows dropped by the filter.
    pub left_out: u64,
    /// Rows that break a rule of `load::check`.
    pub broken: u64,
    /// Columns with unreadable cells, which become null.
    pub unread: Vec<Unread>,
    /// Schema columns whose amounts are floating-point numbers in the file and have lost digits.
    pub approximate: Vec<&'static str>,
    /// Statistics to check against other files.
    pub observed: Vec<TokenStatistic>,
}

/// A source to read, and its target table.
pub(super) struct Reading<'a> {
    pub context: &'a LoadContext<'a>,
    pub schema: &'static TableSchema,
    pub manifest: &'a TableManifest,
    pub name: &'a str,
    pub bytes: u64,
}

impl Reading<'_> {
    /// Reads all rows; `sink` receives each canonical frame with its rows' numbers in the source.
    pub(super) fn run(
        &self,
        source: &mut dyn RowSource,
        findings: &mut Findings,
        mut sink: impl FnMut(DataFrame, &[u32]) -> Result<(), ImportError>,
    ) -> Result<RowCounts, ImportError> {
        let mut rows = FileRows::new(self.context, self.schema, self.manifest, self.name);
        std::mem::swap(&mut rows.findings, findings);
        let outcome = self.read(source, &mut rows, &mut sink);
        let names = self.schema.columns.iter().map(|column| column.name);
        let found = rows.approximate();
        let approximate = names.filter(|name| found.contains(*name)).collect();
        let observed = if outcome.is_ok() {
            rows.end()
        } else {
            Vec::new()
        };
        std::mem::swap(&mut rows.findings, findings);
        outcome.map(|()| RowCounts {
            rows: rows.rows,
            bad: rows.rows_bad,
            malformed: rows.malformed - rows.malformed_last.min(LAST_MAX),
            left_out: rows.left_out,
            broken: rows.broken,
            unread: rows.unread(),
            approximate,
            observed,
        })
    }

    fn read(
        &self,
        source: &mut dyn RowSource,
        rows: &mut FileRows<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<(), ImportError> {
        let mut intervals = HashMap::new();
        while let Some(batch) = source.next_batch()? {
            rows.add(batch, source.columns())?;
            let (frames, mut numbers) = (
                std::mem::take(&mut rows.frames),
                std::mem::take(&mut rows.numbers),
            );
            for mut frame in frames {
                if self.schema.name == "candles" {
                    same_intervals(&mut frame, &mut intervals);
                }
                fill::table(self.schema, &mut frame);
                let rest = numbers.split_off(frame.height());
                sink(frame, &numbers)?;
                numbers = rest;
            }
            self.context.progress.step(
                self.name,
                source.bytes_read().min(self.bytes),
                self.bytes,
            )?;
        }
        Ok(())
    }

    /// The columns of the source that were read.
    pub(super) fn used(&self, columns: &[String]) -> Result<Vec<String>, ImportError> {
        let bound = bind(self.schema, self.manifest, columns)?;
        let used: Vec<&str> = bound
            .iter()
            .flat_map(|bound| [&bound.raw, &bound.units])
            .flatten()
            .map(String::as_str)
            .collect();
        let filters = |name: &str| {
            self.manifest
                .filters
                .iter()
                .any(|(kept, _)| kept.eq_ignore_ascii_case(name))
        };
        Ok(columns
            .iter()
            .filter(|name| used.contains(&name.as_str()) || filters(name))
            .cloned()
            .collect())
    }
}

/// Fills missing intervals. The interval inferred from a token's first rows applies to all of its rows.
fn same_intervals(frame: &mut DataFrame, known: &mut HashMap<String, String>) {
    let texts = |frame: &DataFrame, name: &str| -> Vec<Option<String>> {
        let column = frame.column(name).ok().and_then(|column| column.str().ok());
        column.map_or_else(
            || vec![None; frame.height()],
            |texts| texts.iter().map(|text| text.map(str::to_owned)).collect(),
        )
    };
    let given = texts(frame, "interval");
    if given.iter().all(Option::is_some) {
        return;
    }
    fill::intervals(frame);
    let tokens = texts(frame, "token_address");
    let filled: Vec<Option<String>> = texts(frame, "interval")
        .into_iter()
        .zip(given)
        .zip(tokens)
        .map(|((filled, given), token)| match (given, token, filled) {
            (Some(given), ..) => Some(given),
            (None, Some(token), Some(filled)) => Some(known.entry(token).or_insert(filled).clone()),
            (.., filled) => filled,
        })
        .collect();
    // Cannot fail: the column has the same name and length.
    frame
        .with_column(Series::new("interval".into(), filled).into_column())
        .ok();
}

/// Adds a note about the whole file.
pub(super) fn note(findings: &mut Findings, file: &str, reason: String) {
    findings.add(Finding {
        severity: Severity::Note,
        file: file.to_owned(),
        row: None,
        column: None,
        value: None,
        reason,
    });
}

/// Adds the tokens that the rows refer to.
pub(super) fn add_tokens(frame: &DataFrame, needed: &mut HashSet<Address>) {
    let Some(texts) = frame
        .column("token_address")
        .ok()
        .and_then(|column| column.str().ok())
    else {
        return;
    };
    let mut last = "";
    for text in texts.iter().flatten().filter(|text| !text.is_empty()) {
        if text != last {
            needed.extend(Address::parse(text));
            last = text;
        }
    }
}
