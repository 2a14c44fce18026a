//! One file of a table: its batches become canonical frames, and faults become findings. Sorting and duplicate keys are handled later, over
//! all files.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use polars::prelude::{Column, DataFrame};

use super::{
    LoadContext,
    bind::{Bound, bind},
    column::{every_row, gather, gather_named},
    column_formats::{ColumnFormats, is_number},
    fill, others, units,
};
use crate::{
    cells::{Coerced, date_format::DateFormatGuess, float_detector::FloatDetector, list},
    check::{
        self,
        in_order::{SeriesChecker, TokenStatistic},
    },
    error::ReadError,
    formats::SourceBatch,
    manifest::{TableManifest, Unit},
};
use frames::{order, raw_cell::RawCell};
use model::{
    findings::{Finding, Findings, Severity},
    schema::{self, Kind, Need, TableSchema},
};

/// Rows and findings of one file so far.
pub struct FileRows<'a> {
    pub context: &'a LoadContext<'a>,
    pub schema: &'static TableSchema,
    pub manifest: &'a TableManifest,
    pub file: &'a str,
    /// Findings of the table so far; the reader of the file returns them.
    pub findings: Findings,
    pub rows_bad: u64,
    /// Rows that the file's reader could not split into cells, and how many of them are among the last rows, where files often have notes.
    pub malformed: u64,
    pub malformed_last: u64,
    /// Rows of the file.
    pub rows: u64,
    /// Rows excluded by `where`.
    pub left_out: u64,
    /// Rows that break a rule of `check`, kept or not.
    pub broken: u64,
    /// Per column whose cells may be empty: unparsable cells, and non-empty cells.
    pub unread: BTreeMap<&'static str, (u64, u64)>,
    /// Columns of the schema whose column in the file is not read, and why.
    pub undecoded: BTreeMap<&'static str, String>,
    /// State learned while the file is read.
    pub state: FileState,
    /// Guessed formats of unparsable times, by column.
    pub date_formats: BTreeMap<&'static str, DateFormatGuess>,
    /// Row number in the file of each row of `frames`.
    pub numbers: Vec<u32>,
    pub frames: Vec<DataFrame>,
}

/// A column with unparsable cells, which are left empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub column: &'static str,
    pub cells: u64,
    /// Non-empty cells, parsed or not.
    pub filled: u64,
}

/// State learned while a file is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileState {
    /// Statistics of the kept rows, in their order.
    pub series: SeriesChecker,
    /// Number and time formats of its columns.
    #[serde(rename = "manners")]
    pub formats: ColumnFormats,
    /// Number of transfers whose time was filled in from `blocks`.
    pub timed: u64,
    /// Whether columns outside the schema are kept.
    pub others: bool,
    /// Columns of amounts that were read as floating-point numbers and lost digits.
    pub approximate: BTreeSet<String>,
    /// Digit statistics of amounts written as text, by column.
    #[serde(default)]
    pub digits: BTreeMap<String, FloatDetector>,
}

/// Maximum number of series in a file whose state is stored with a cached table.
const SERIES_KEPT: usize = 20_000;

impl FileState {
    /// The state as JSON, so that reading can resume once the file was appended to; none where it is too large.
    pub(super) fn kept(&self) -> Option<serde_json::Value> {
        if self.series.count() > SERIES_KEPT {
            None
        } else {
            serde_json::to_value(self).ok()
        }
    }
}

/// Currency signs beside numbers.
const CURRENCIES: [char; 7] = ['$', '€', '£', '¥', '₹', '₩', '₿'];

/// Reason of a finding about an invalid cell.
fn reason_if_bad(column: &schema::Column, expected: &str) -> String {
    format!("expected {expected}; {}", consequence(column.need).1)
}

/// Suffix of a reason for a JSON cell that is an object or, where none is expected, a list.
fn nested(kind: Kind, value: &str) -> &'static str {
    match value.trim_start().as_bytes().first() {
        Some(b'{') => ", but the cell is an object with several fields",
        Some(b'[') if !matches!(kind, Kind::Addresses | Kind::Chains) => ", but the cell is a list",
        _ => "",
    }
}

/// Severity and consequence of an unparsable cell.
fn consequence(need: Need) -> (Severity, &'static str) {
    match need {
        Need::Cell => (Severity::Error, "the row is rejected"),
        Need::Column | Need::Optional => (Severity::Warning, "the cell is cleared"),
    }
}

impl<'a> FileRows<'a> {
    pub fn new(
        context: &'a LoadContext<'a>,
        schema: &'static TableSchema,
        manifest: &'a TableManifest,
        file: &'a str,
    ) -> Self {
        Self {
            context,
            schema,
            manifest,
            file,
            findings: Findings::default(),
            rows_bad: 0,
            malformed: 0,
            malformed_last: 0,
            rows: 0,
            left_out: 0,
            broken: 0,
            unread: BTreeMap::new(),
            undecoded: BTreeMap::new(),
            state: FileState::default(),
            date_formats: BTreeMap::new(),
            numbers: Vec::new(),
            frames: Vec::new(),
        }
    }
}

impl FileRows<'_> {
    pub(super) fn finding(
        &mut self,
        severity: Severity,
        row: u64,
        column: Option<&str>,
        value: Option<String>,
        reason: String,
    ) {
        let column = column.map(str::to_owned);
        self.findings.add(Finding {
            column,
            value,
            ..Finding::new(severity, self.file, reason).at(row)
        });
    }

    /// Adds a batch; `names` are the columns of the file seen so far.
    pub fn add(&mut self, mut batch: SourceBatch, names: &[String]) -> Result<(), ReadError> {
        self.rows += batch.height as u64;
        let bound = bind(self.schema, self.manifest, names)?;
        for column in &mut batch.columns {
            if column.n_chunks() > 1 {
                *column = column.rechunk();
            }
        }
        for (name, why) in &batch.unread {
            for bound in bound.iter().filter(|bound| {
                bound.raw.as_ref() == Some(name) || bound.units.as_ref() == Some(name)
            }) {
                self.undecoded
                    .insert(bound.column.name, format!("`{name}` cannot be read: {why}"));
            }
        }
        let first_row = batch.first_row;
        self.malformed += batch.malformed.len() as u64;
        let at_end = batch
            .malformed
            .iter()
            .rev()
            .enumerate()
            .take_while(|(back, (row, _))| row + back + 1 == batch.height)
            .count();
        self.malformed_last = at_end as u64
            + if at_end == batch.height {
                self.malformed_last
            } else {
                0
            };
        for (row, reason) in std::mem::take(&mut batch.malformed) {
            self.rows_bad += 1;
            self.finding(
                Severity::Error,
                first_row + row as u64,
                None,
                None,
                reason.to_owned(),
            );
            batch.malformed.push((row, reason));
        }
        if self.rows == batch.height as u64 {
            self.note_units(&bound);
        }
        self.detect_floats(&batch, &bound);
        let mut rows = self.kept_rows(&batch, &bound)?;
        let exploded = self.explode(&batch, &bound, &mut rows)?;
        let every = every_row(&rows, batch.height);
        let mut bad = vec![false; rows.len()];
        let mut columns: Vec<Column> = Vec::with_capacity(bound.len());
        let mut units: Vec<(usize, Vec<RawCell<'_>>)> = Vec::new();
        for (i, one) in bound.iter().enumerate() {
            let given = exploded
                .iter()
                .find(|(column, _)| *column == i)
                .map(|(_, cells)| cells.clone());
            let coerced = self.column(&batch, one, &bound, &rows, every, given)?;
            columns.push(self.checked_column(one, coerced, &rows, first_row, &mut bad));
            if let Some(name) = &one.units {
                units.push((i, gather_named(&batch, name, &rows)?));
            }
        }
        for (i, cells) in units {
            let (filled, issues) =
                units::converted(self.context, self.schema, &columns, i, &bound[i], &cells);
            // Unknown decimals of a token are no fault of the cell.
            let unread = issues
                .iter()
                .filter(|(.., reason)| *reason != units::NO_DECIMALS)
                .count();
            self.count_unread(
                bound[i].column.name,
                unread as u64,
                (filled.len() - filled.null_count()) as u64,
            );
            columns[i] = filled;
            for (row, value, reason) in issues {
                self.finding(
                    Severity::Warning,
                    first_row + rows[row] as u64,
                    Some(bound[i].column.name),
                    Some(value),
                    reason.to_owned(),
                );
            }
        }
        if self.schema.name == "candles" {
            let (at, issues) = fill::intervals_read(&mut columns);
            for (row, value) in issues {
                let reason = "expected an interval such as 15m, 1h or 1d; the cell is cleared";
                self.finding(
                    Severity::Warning,
                    first_row + rows[row] as u64,
                    at,
                    Some(value),
                    reason.to_owned(),
                );
            }
        }
        if self.schema.name == "transfers" {
            self.state.timed += self.context.blocks.fill(&mut columns) as u64;
        }
        self.apply_rules(&mut columns, &rows, first_row, &bad);
        if self.state.others {
            let others = others::columns(&batch, &bound, names, &rows)?;
            columns.extend(others);
        }
        self.rows_bad += bad.iter().filter(|bad| **bad).count() as u64;
        self.keep(columns, &rows, &bad, first_row)
    }

    /// Adds notes about units that follow from column names alone.
    fn note_units(&mut self, bound: &[Bound<'_>]) {
        for bound in bound
            .iter()
            .filter(|bound| bound.unit == Some(Unit::Usd) && bound.rule.unit.is_none())
        {
            let name = bound.units.as_deref().unwrap_or_default();
            let reason = format!(
                "`{name}` is in USD, as its name implies, and is divided by each candle's price"
            );
            self.findings
                .add(Finding::new(Severity::Note, self.file, reason).column(bound.column.name));
        }
    }

    /// Checks the figures against the rules of `check`, and empties impossible cells.
    fn apply_rules(
        &mut self,
        columns: &mut [Column],
        rows: &[usize],
        first_row: u64,
        bad: &[bool],
    ) {
        let mut broken = HashSet::new();
        for breach in check::row_breaches(self.schema.name, columns) {
            let reason = breach.rule.reason();
            let mut add_findings = 0;
            // A rejected row already has a finding.
            for (nth, row) in breach
                .rows
                .iter()
                .enumerate()
                .filter(|(_, row)| !bad[**row])
            {
                broken.insert(*row);
                if let Some(value) = breach.values.get(nth) {
                    self.finding(
                        Severity::Warning,
                        first_row + rows[*row] as u64,
                        Some(breach.column),
                        Some(value.clone()),
                        reason.clone(),
                    );
                } else {
                    add_findings += 1;
                }
            }
            self.findings
                .count_more(self.file, Some(breach.column), &reason, add_findings);
        }
        self.broken += broken.len() as u64;
    }

    /// Ends the file and adds findings about the order of its rows. Returns values to be cross-checked against other tables.
    pub fn end(&mut self) -> Vec<TokenStatistic> {
        self.sum_up();
        self.conclude()
    }

    /// Schema columns whose amounts passed through floating point, as their type or the pattern of their digits shows.
    pub fn approximate(&self) -> BTreeSet<String> {
        let add_findings = self
            .state
            .digits
            .iter()
            .filter(|(_, detector)| detector.are_floats())
            .map(|(name, _)| name.clone());
        self.state
            .approximate
            .iter()
            .cloned()
            .chain(add_findings)
            .collect()
    }

    /// Columns with unparsable cells, which are left empty.
    pub fn unread(&self) -> Vec<Unread> {
        let some = self.unread.iter().filter(|(_, (cells, _))| *cells > 0);
        some.map(|(column, (cells, filled))| Unread {
            column,
            cells: *cells,
            filled: *filled,
        })
        .collect()
    }

    /// Counts unparsable cells, and those that were read.
    fn count_unread(&mut self, column: &'static str, cells: u64, read: u64) {
        let (unread, filled) = self.unread.entry(column).or_default();
        (*unread, *filled) = (*unread + cells, *filled + cells + read);
    }

    /// Reason of a finding about an empty cell that must not be empty.
    fn reason_if_empty(&self, column: &schema::Column) -> String {
        let consequence = consequence(column.need).1;
        self.undecoded.get(column.name).map_or_else(
            || {
                format!(
                    "the cell is empty; expected {}; {consequence}",
                    column.kind.expectation()
                )
            },
            |why| format!("{consequence}, as {why}"),
        )
    }

    /// Merges findings that all rows share into one.
    pub(super) fn sum_up(&mut self) {
        let rows = self.rows - self.left_out;
        for column in self
            .schema
            .columns
            .iter()
            .filter(|column| column.need == Need::Cell)
        {
            let all = self.undecoded.get(column.name).map_or_else(
                || {
                    let expected = column.kind.expectation();
                    format!("the column is empty in all {rows} rows; expected {expected} in every row; the rows are rejected")
                },
                |why| format!("all {rows} rows are rejected, as {why}"),
            );
            let reason = self.reason_if_empty(column);
            self.findings
                .tell_once(self.file, column.name, &reason, rows, all);
        }
        for (name, guess) in &self.date_formats {
            if let (Some(column), Some(advice)) =
                (self.schema.column(name), guess.advice(self.schema.name))
            {
                let outcome = if column.need == Need::Cell {
                    "these rows are rejected"
                } else {
                    "these cells are cleared"
                };
                let all = format!("{advice}; {outcome}");
                self.findings.tell_once(
                    self.file,
                    name,
                    &reason_if_bad(column, column.kind.expectation()),
                    guess.count(),
                    all,
                );
            }
        }
    }

    /// Adds findings about the file as a whole.
    pub(super) fn conclude(&mut self) -> Vec<TokenStatistic> {
        let (broken, statistics) = add_findings(
            std::mem::take(&mut self.state),
            self.file,
            &mut self.findings,
        );
        self.broken += broken;
        statistics
    }

    /// Appends the rows that are not rejected.
    fn keep(
        &mut self,
        columns: Vec<Column>,
        rows: &[usize],
        bad: &[bool],
        first_row: u64,
    ) -> Result<(), ReadError> {
        let mut frame = DataFrame::new(rows.len(), columns)?;
        if bad.contains(&true) {
            frame = order::without(&frame, bad)?;
        }
        let start = self.numbers.len();
        self.numbers.extend(
            rows.iter()
                .zip(bad)
                .filter(|(_, bad)| !**bad)
                .map(|(row, _)| (first_row + *row as u64) as u32),
        );
        self.state
            .series
            .add(self.schema.name, &frame, &self.numbers[start..]);
        self.frames.push(frame);
        Ok(())
    }

    /// Explodes lists into one row per element where `dataset.toml` says so; returns the cells of those columns.
    fn explode<'b>(
        &mut self,
        batch: &'b SourceBatch,
        bound: &[Bound<'_>],
        rows: &mut Vec<usize>,
    ) -> Result<Vec<(usize, Vec<RawCell<'b>>)>, ReadError> {
        let listed: Vec<usize> = (0..bound.len())
            .filter(|&i| bound[i].rule.explode && bound[i].raw.is_some())
            .collect();
        if listed.is_empty() {
            return Ok(Vec::new());
        }
        let mut columns = Vec::new();
        for &i in &listed {
            columns.push(gather(batch, &bound[i], rows)?);
        }
        let mut out: Vec<(usize, Vec<RawCell<'b>>)> =
            listed.iter().map(|&i| (i, Vec::new())).collect();
        let mut exploded = Vec::with_capacity(rows.len());
        for (at, &row) in rows.iter().enumerate() {
            let number = batch.first_row + row as u64;
            let lists: Result<Vec<_>, _> = listed
                .iter()
                .zip(&columns)
                .map(|(&i, cells)| {
                    list::elements(&cells[at], bound[i].rule.split.as_deref(), true).map_err(|_| i)
                })
                .collect();
            let lists = match lists {
                Ok(lists) => lists,
                Err(i) => {
                    self.rows_bad += 1;
                    let reason = "expected a list; the row is rejected".to_owned();
                    self.finding(
                        Severity::Error,
                        number,
                        Some(bound[i].column.name),
                        None,
                        reason,
                    );
                    continue;
                }
            };
            let length = lists[0].len();
            if lists.iter().any(|list| list.len() != length) {
                self.rows_bad += 1;
                let reason =
                    "the lists to explode differ in length; the row is rejected".to_owned();
                self.finding(
                    Severity::Error,
                    number,
                    Some(bound[listed[0]].column.name),
                    None,
                    reason,
                );
                continue;
            }
            if length == 0 {
                let reason = "the list is empty, so it creates no row".to_owned();
                self.finding(
                    Severity::Note,
                    number,
                    Some(bound[listed[0]].column.name),
                    None,
                    reason,
                );
            }
            exploded.extend(std::iter::repeat_n(row, length));
            for ((_, cells), list) in out.iter_mut().zip(lists) {
                cells.extend(list);
            }
        }
        *rows = exploded;
        Ok(out)
    }

    /// Turns unparsable cells into findings, and marks the rows rejected for them.
    fn checked_column(
        &mut self,
        bound: &Bound<'_>,
        coerced: Coerced,
        rows: &[usize],
        first_row: u64,
        bad: &mut [bool],
    ) -> Column {
        let column = bound.column;
        let severity = consequence(column.need).0;
        let mut named = HashSet::new();
        if column.need != Need::Cell {
            let unread = coerced
                .issues
                .iter()
                .filter(|issue| issue.odd.is_none())
                .count();
            self.count_unread(
                column.name,
                unread as u64,
                (coerced.column.len() - coerced.column.null_count()) as u64,
            );
        }
        for issue in coerced.issues {
            let number = first_row + rows[issue.row] as u64;
            if let Some(odd) = issue.odd {
                self.finding(
                    Severity::Warning,
                    number,
                    Some(column.name),
                    Some(issue.value),
                    odd.to_owned(),
                );
                continue;
            }
            if column.need == Need::Cell {
                bad[issue.row] = true;
                named.insert(issue.row);
            }
            let expected = match &bound.rule.format {
                Some(format) => format!("a time written as {format}"),
                None if is_number(column.kind) && issue.value.contains(CURRENCIES) => {
                    format!(
                        "{} without a currency (`tokendeck import` reads such cells)",
                        column.kind.expectation()
                    )
                }
                None if is_number(column.kind)
                    && issue.value.contains(',')
                    && nested(column.kind, &issue.value).is_empty() =>
                {
                    format!(
                        "{}, but a comma can separate decimals or thousands; set decimal = \",\" or \".\" in dataset.toml",
                        column.kind.expectation()
                    )
                }
                None => format!(
                    "{}{}",
                    column.kind.expectation(),
                    nested(column.kind, &issue.value)
                ),
            };
            if matches!(column.kind, Kind::Time | Kind::Date) && bound.rule.format.is_none() {
                self.date_formats
                    .entry(column.name)
                    .or_default()
                    .note(&issue.value);
            }
            self.finding(
                severity,
                number,
                Some(column.name),
                Some(issue.value),
                reason_if_bad(column, &expected),
            );
        }
        if column.need == Need::Cell && coerced.column.null_count() > 0 {
            for (row, empty) in coerced.column.is_null().iter().enumerate() {
                if empty == Some(true) && !named.contains(&row) {
                    bad[row] = true;
                    let reason = self.reason_if_empty(column);
                    self.finding(
                        severity,
                        first_row + rows[row] as u64,
                        Some(column.name),
                        None,
                        reason,
                    );
                }
            }
        }
        coerced.column
    }
}

/// Adds findings about a file's formats and about anomalies in the order of its rows; returns the number of such rows, and figures to be
/// cross-checked against other tables.
fn add_findings(
    state: FileState,
    file: &str,
    findings: &mut Findings,
) -> (u64, Vec<TokenStatistic>) {
    for (column, reason) in state.formats.descriptions() {
        findings.add(Finding::new(Severity::Note, file, reason).column(&column));
    }
    if state.timed > 0 {
        let reason = format!(
            "{} without a time: the block time from `blocks` is used",
            model::format::plural(state.timed, "row", "rows")
        );
        findings.add(Finding::new(Severity::Note, file, reason).column("timestamp"));
    }
    let (odd, statistics) = state.series.end(file);
    let mut broken = 0;
    for odd in odd {
        let (column, reason) = (odd.rule().column(), odd.rule().reason());
        findings.add(
            Finding::new(Severity::Warning, file, &reason)
                .at(odd.row)
                .column(column)
                .value(odd.value),
        );
        findings.count_more(file, Some(column), &reason, odd.count.saturating_sub(1));
        broken += odd.count;
    }
    (broken, statistics)
}
