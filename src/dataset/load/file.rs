//! One file of a table: its batches become canonical frames, and what is wrong becomes findings. Order and repeated keys are settled
//! later, over all files.

use std::collections::HashSet;

use polars::prelude::{BooleanChunked, Column, DataFrame, NewChunkedArray, PlSmallStr, StringChunked};

use super::{
    Context,
    bind::{Bound, bind},
    fill,
};
use crate::dataset::{
    chain::Chain,
    coerce::{
        self, Coerced,
        cell::{Cell, cells},
        list,
    },
    findings::{Finding, Findings, Severity},
    manifest::TableManifest,
    schema::{Kind, Need, TableSchema},
    source::{Batch, guarded},
};

/// What is read of one file so far.
pub(in crate::dataset) struct FileRows<'a> {
    pub context: &'a Context<'a>,
    pub schema: &'static TableSchema,
    pub manifest: &'a TableManifest,
    pub file: &'a str,
    pub findings: &'a mut Findings,
    pub rows_bad: u64,
    /// Rows of the file.
    pub rows: u64,
    /// Rows that `where` does not keep.
    pub left_out: u64,
    /// The number in the file of each row of `frames`.
    pub numbers: Vec<u32>,
    pub frames: Vec<DataFrame>,
}

/// What happens to a cell that cannot be read.
fn consequence(need: Need) -> (Severity, &'static str) {
    match need {
        Need::Cell => (Severity::Error, "the row is set aside"),
        Need::Column | Need::Optional => (Severity::Warning, "the cell is left empty"),
    }
}

impl FileRows<'_> {
    fn finding(&mut self, severity: Severity, row: u64, column: Option<&str>, value: Option<String>, reason: String) {
        let finding = Finding { severity, file: self.file.to_owned(), row: Some(row), column: column.map(str::to_owned), value, reason };
        self.findings.add(finding);
    }

    /// Takes in a batch; `names` are the columns of the file met so far.
    pub(in crate::dataset) fn add(&mut self, mut batch: Batch, names: &[String]) -> Result<(), String> {
        self.rows += batch.height as u64;
        let bound = bind(self.schema, self.manifest, names)?;
        for column in &mut batch.columns {
            if column.n_chunks() > 1 {
                *column = column.rechunk();
            }
        }
        let first_row = batch.first_row;
        for (row, reason) in std::mem::take(&mut batch.malformed) {
            self.rows_bad += 1;
            self.finding(Severity::Error, first_row + row as u64, None, None, reason.to_owned());
            batch.malformed.push((row, reason));
        }
        let mut rows = self.kept_rows(&batch, &bound)?;
        let exploded = self.explode(&batch, &bound, &mut rows)?;
        let every = every_row(&rows, batch.height);
        let mut bad = vec![false; rows.len()];
        let mut columns: Vec<Column> = Vec::with_capacity(bound.len());
        let mut units: Vec<(usize, Vec<Cell<'_>>)> = Vec::new();
        for (i, bound) in bound.iter().enumerate() {
            let coerced = if let Some(column) = whole(&batch, bound, rows.len(), every) {
                Coerced { column, issues: Vec::new() }
            } else if let Some(texts) = whole_texts(&batch, bound, every) {
                coerce::coerce_texts(bound.column, texts, bound.rule)
            } else {
                let mut cells = match exploded.iter().find(|(column, _)| *column == i) {
                    Some((_, cells)) => cells.clone(),
                    None => gather(&batch, bound, &rows)?,
                };
                coerce::replace(&mut cells, bound.rule);
                take_item(&mut cells, bound);
                coerce::coerce(bound.column, &cells, bound.rule)
            };
            columns.push(self.judge(bound, coerced, &rows, first_row, &mut bad));
            if let Some(name) = &bound.units {
                units.push((i, gather_named(&batch, name, &rows)?));
            }
        }
        for (i, cells) in units {
            let (filled, issues) = fill::amounts(self.context, self.schema, &columns, i, &cells);
            columns[i] = filled;
            for (row, value, reason) in issues {
                self.finding(Severity::Warning, first_row + rows[row] as u64, Some(bound[i].column.name), Some(value), reason.to_owned());
            }
        }
        if self.schema.name == "candles" {
            let (at, issues) = fill::intervals_read(&mut columns);
            for (row, value) in issues {
                let reason = "expected a length such as 15m, 1h or 1d; the cell is left empty";
                self.finding(Severity::Warning, first_row + rows[row] as u64, at, Some(value), reason.to_owned());
            }
        }
        self.rows_bad += bad.iter().filter(|bad| **bad).count() as u64;
        self.keep(columns, &rows, &bad, first_row)
    }

    /// Stores the rows that are not bad.
    fn keep(&mut self, columns: Vec<Column>, rows: &[usize], bad: &[bool], first_row: u64) -> Result<(), String> {
        let mut frame = DataFrame::new(rows.len(), columns).map_err(|error| error.to_string())?;
        if bad.contains(&true) {
            let mask = BooleanChunked::from_iter_values(PlSmallStr::EMPTY, bad.iter().map(|bad| !bad));
            frame = frame.filter(&mask).map_err(|error| error.to_string())?;
        }
        self.numbers.extend(rows.iter().zip(bad).filter(|(_, bad)| !**bad).map(|(row, _)| (first_row + *row as u64) as u32));
        self.frames.push(frame);
        Ok(())
    }

    /// Positions of the rows that can be read and that `where` keeps.
    fn kept_rows(&mut self, batch: &Batch, bound: &[Bound<'_>]) -> Result<Vec<usize>, String> {
        let malformed: HashSet<usize> = batch.malformed.iter().map(|(row, _)| *row).collect();
        let mut rows: Vec<usize> = (0..batch.height).filter(|row| !malformed.contains(row)).collect();
        for (name, values) in &self.manifest.keep {
            let ours = bound.iter().find(|bound| bound.column.name == name && !bound.is_absent());
            let cells = match ours {
                Some(bound) => gather(batch, bound, &rows)?,
                None => gather_named(batch, name, &rows)?,
            };
            let kind = ours.map_or(Kind::Text, |bound| bound.column.kind);
            let values: HashSet<String> = values.iter().flat_map(|value| comparable(&Cell::Text(value.as_str().into()), kind)).collect();
            let kept = cells.iter().map(|cell| comparable(cell, kind).iter().any(|text| values.contains(text)));
            let before = rows.len();
            rows = rows.iter().zip(kept).filter(|(_, kept)| *kept).map(|(row, _)| *row).collect();
            self.left_out += (before - rows.len()) as u64;
        }
        Ok(rows)
    }

    /// Makes a row of every element where `dataset.toml` says so; gives back the cells of those columns.
    fn explode<'b>(&mut self, batch: &'b Batch, bound: &[Bound<'_>], rows: &mut Vec<usize>) -> Result<Vec<(usize, Vec<Cell<'b>>)>, String> {
        let listed: Vec<usize> = (0..bound.len()).filter(|&i| bound[i].rule.explode && bound[i].raw.is_some()).collect();
        if listed.is_empty() {
            return Ok(Vec::new());
        }
        let mut columns = Vec::new();
        for &i in &listed {
            columns.push(gather(batch, &bound[i], rows)?);
        }
        let mut out: Vec<(usize, Vec<Cell<'b>>)> = listed.iter().map(|&i| (i, Vec::new())).collect();
        let mut exploded = Vec::with_capacity(rows.len());
        for (at, &row) in rows.iter().enumerate() {
            let number = batch.first_row + row as u64;
            let lists: Result<Vec<_>, _> = listed
                .iter()
                .zip(&columns)
                .map(|(&i, cells)| list::elements(&cells[at], bound[i].rule.split.as_deref(), true).map_err(|_| i))
                .collect();
            let lists = match lists {
                Ok(lists) => lists,
                Err(i) => {
                    self.rows_bad += 1;
                    let reason = "expected a list; the row is set aside".to_owned();
                    self.finding(Severity::Error, number, Some(bound[i].column.name), None, reason);
                    continue;
                }
            };
            let length = lists[0].len();
            if lists.iter().any(|list| list.len() != length) {
                self.rows_bad += 1;
                let reason = "lists that explode together differ in length; the row is set aside".to_owned();
                self.finding(Severity::Error, number, Some(bound[listed[0]].column.name), None, reason);
                continue;
            }
            if length == 0 {
                let reason = "the list is empty, so it makes no row".to_owned();
                self.finding(Severity::Note, number, Some(bound[listed[0]].column.name), None, reason);
            }
            exploded.extend(std::iter::repeat_n(row, length));
            for ((_, cells), list) in out.iter_mut().zip(lists) {
                cells.extend(list);
            }
        }
        *rows = exploded;
        Ok(out)
    }

    /// Turns what could not be read into findings, and marks the rows that are lost by it.
    fn judge(&mut self, bound: &Bound<'_>, coerced: Coerced, rows: &[usize], first_row: u64, bad: &mut [bool]) -> Column {
        let column = bound.column;
        let (severity, outcome) = consequence(column.need);
        let mut named = HashSet::new();
        for issue in coerced.issues {
            let number = first_row + rows[issue.row] as u64;
            if let Some(odd) = issue.odd {
                self.finding(Severity::Warning, number, Some(column.name), Some(issue.value), odd.to_owned());
                continue;
            }
            if column.need == Need::Cell {
                bad[issue.row] = true;
                named.insert(issue.row);
            }
            let expected = match &bound.rule.format {
                Some(format) => format!("a time written as {format}"),
                None => column.kind.expectation().to_owned(),
            };
            self.finding(severity, number, Some(column.name), Some(issue.value), format!("expected {expected}; {outcome}"));
        }
        if column.need == Need::Cell && coerced.column.null_count() > 0 {
            for (row, empty) in coerced.column.is_null().iter().enumerate() {
                if empty == Some(true) && !named.contains(&row) {
                    bad[row] = true;
                    let reason = format!("empty, and expected {}; {outcome}", column.kind.expectation());
                    self.finding(severity, first_row + rows[row] as u64, Some(column.name), None, reason);
                }
            }
        }
        coerced.column
    }
}

fn find<'b>(batch: &'b Batch, name: &str) -> Option<&'b Column> {
    let named = |column: &&Column| column.name().trim() == name.trim();
    let alike = |column: &&Column| column.name().trim().eq_ignore_ascii_case(name.trim());
    batch.columns.iter().find(named).or_else(|| batch.columns.iter().find(alike))
}

/// The whole column, where it is empty, or every row is kept and no cell needs a look.
fn whole(batch: &Batch, bound: &Bound<'_>, height: usize, every: bool) -> Option<Column> {
    match (bound.constant, &bound.raw) {
        (None, None) => Some(coerce::empty(bound.column, height)),
        (None, Some(name)) if every && !bound.rule.explode => {
            find(batch, name).filter(|column| column.len() == batch.height).and_then(|raw| coerce::as_it_is(bound.column, raw, bound.rule))
        }
        _ => None,
    }
}

/// The whole column of texts, where every row is kept and no text is to be replaced or taken apart.
fn whole_texts<'b>(batch: &'b Batch, bound: &Bound<'_>, every: bool) -> Option<&'b StringChunked> {
    let name = bound.raw.as_ref().filter(|_| bound.constant.is_none() && bound.rule.values.is_empty() && bound.item.is_none())?;
    let texts = find(batch, name).filter(|column| column.len() == batch.height).and_then(|column| column.str().ok());
    texts.filter(|_| every && !bound.rule.explode)
}

/// Whether `rows`, positions that rise unless a list was exploded, are all of `height`.
fn every_row(rows: &[usize], height: usize) -> bool {
    rows.len() == height && rows.iter().enumerate().all(|(i, row)| i == *row)
}

/// The cells of the rows that serve a column of ours; all empty where the batch lacks it.
fn gather<'b>(batch: &'b Batch, bound: &Bound<'_>, rows: &[usize]) -> Result<Vec<Cell<'b>>, String> {
    match (bound.constant, &bound.raw) {
        (Some(constant), _) => Ok(vec![Cell::Text(constant.to_owned().into()); rows.len()]),
        (None, Some(name)) => gather_named(batch, name, rows),
        (None, None) => Ok(vec![Cell::Null; rows.len()]),
    }
}

fn gather_named<'b>(batch: &'b Batch, name: &str, rows: &[usize]) -> Result<Vec<Cell<'b>>, String> {
    let Some(column) = find(batch, name) else { return Ok(vec![Cell::Null; rows.len()]) };
    let cells = guarded("column", || Ok(cells(column)))?;
    if rows.len() == cells.len() && rows.last().is_none_or(|last| last + 1 == cells.len()) {
        return Ok(cells);
    }
    Ok(rows.iter().map(|&row| cells.get(row).cloned().unwrap_or(Cell::Null)).collect())
}

/// Takes the element of each list that `dataset.toml` asks for; a list too short, or no list, leaves the cell empty.
fn take_item(cells: &mut [Cell<'_>], bound: &Bound<'_>) {
    let Some(item) = bound.item else { return };
    for cell in cells {
        let elements = list::elements(cell, bound.rule.split.as_deref(), true).unwrap_or_default();
        *cell = elements.into_iter().nth(item.saturating_sub(1)).unwrap_or(Cell::Null);
    }
}

/// The texts by which a cell and a value of `where` are compared.
fn comparable(cell: &Cell<'_>, kind: Kind) -> Vec<String> {
    let chain = |cell: &Cell<'_>| cell.to_text().and_then(|text| Chain::parse(&text)).map(|chain| chain.to_string());
    match kind {
        _ if cell.is_null() => vec![String::new()],
        Kind::Chain => chain(cell).into_iter().collect(),
        Kind::Chains => list::elements(cell, None, false).unwrap_or_default().iter().filter_map(chain).collect(),
        Kind::Address | Kind::Hex => cell.to_text().map(|text| text.to_ascii_lowercase()).into_iter().collect(),
        _ => cell.to_text().map(std::borrow::Cow::into_owned).into_iter().collect(),
    }
}
