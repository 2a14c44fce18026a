//! Rows of one chunk split into groups: by the values of a column, of lists by their elements, of texts in any letter case, as conditions
//! meet them.

use std::{borrow::Cow, collections::HashSet};

use polars::prelude::{
    Column, DataFrame, DataType, IdxCa, IdxSize, IntoColumn, NamedFrom, PlHashMap, PolarsResult,
    Series,
};

use super::{is_whole, time_type};
use analysis::groups::Tally;
use model::{
    scalar::Scalar,
    schema::{self, Kind},
};
use store::cell::in_frame;

/// The rows of a group as far as they were read.
pub(super) struct GroupRows {
    /// The value that its rows share, text in lower case: as conditions compare texts.
    pub(super) key: Scalar<'static>,
    /// The first of the selected rows that belongs to it.
    pub(super) first: usize,
    pub(super) rows: u64,
    pub(super) tallies: Vec<Tally>,
}

/// The groups of a chunk that begins at row `start`.
pub(super) fn grouped(
    frame: &DataFrame,
    start: usize,
    by: schema::Column,
    read: &[schema::Column],
) -> PolarsResult<Vec<GroupRows>> {
    let of_lists = by_element(frame, by.name)?;
    let frame = of_lists.as_ref().map_or(frame, |(frame, _)| frame);
    let (of_rows, keys) = split(frame.column(by.name)?, by.name)?;
    let row = |row: usize| start + of_lists.as_ref().map_or(row, |(_, rows)| rows[row]);
    let group = |(key, first)| GroupRows {
        key,
        first: row(first),
        rows: 0,
        tallies: vec![Tally::default(); read.len()],
    };
    let mut groups: Vec<GroupRows> = keys.into_iter().map(group).collect();
    for row in &of_rows {
        groups[*row].rows += 1;
    }
    for (nth, column) in read.iter().enumerate() {
        let values = frame.column(column.name)?;
        if is_whole(column.kind) {
            let values = if column.kind == Kind::Time {
                values.cast(&time_type())?
            } else {
                values.clone()
            };
            let values = values.to_physical_repr().cast(&DataType::Int64)?;
            let present = of_rows
                .iter()
                .zip(values.i64()?.iter())
                .filter_map(|(group, value)| Some((*group, value?)));
            present.for_each(|(group, value)| groups[group].tallies[nth].add_whole(value));
        } else if let Ok(texts) = values.str() {
            let present = of_rows
                .iter()
                .zip(texts.iter())
                .filter_map(|(group, text)| Some((*group, text?)));
            present.for_each(|(group, text)| {
                match text.parse().ok().filter(|_| column.kind == Kind::Uint256) {
                    // Digits beyond a float's precision are rounded.
                    Some(number) => groups[group].tallies[nth].add_float(number),
                    // A text is no quantity, whatever it reads as.
                    None => groups[group].tallies[nth].add_present(),
                }
            });
        } else if column.kind == Kind::Float {
            let values = values.cast(&DataType::Float64)?;
            let present = of_rows
                .iter()
                .zip(values.f64()?.iter())
                .filter_map(|(group, value)| Some((*group, value?)));
            present.for_each(|(group, value)| groups[group].tallies[nth].add_float(value));
        } else {
            let there = values.is_not_null();
            let present = of_rows
                .iter()
                .zip(there.iter())
                .filter(|(_, there)| *there == Some(true));
            present.for_each(|(group, _)| groups[*group].tallies[nth].add_present());
        }
    }
    Ok(groups)
}

/// A group's key, and the first row that has it.
type KeyAndRow = (Scalar<'static>, usize);

/// The group of every row of a column; the groups' keys, each with its first row.
fn split(column: &Column, name: &str) -> PolarsResult<(Vec<usize>, Vec<KeyAndRow>)> {
    let mut keys = KeyTable::default();
    if let Ok(texts) = column.str() {
        texts.iter().for_each(|text| {
            keys.add(text.map_or(Scalar::Missing, |text| Scalar::Text(lower(text))));
        });
    } else if column.dtype() == &DataType::Float64 {
        // −0 is 0.
        let key = |number: f64| Scalar::Float(number + 0.0);
        column
            .f64()?
            .iter()
            .for_each(|number| keys.add(number.map_or(Scalar::Missing, key)));
    } else if column.dtype().is_integer() || column.dtype().is_temporal() {
        let numbers = column.to_physical_repr().cast(&DataType::Int64)?;
        numbers
            .i64()?
            .iter()
            .for_each(|number| keys.add(number.map_or(Scalar::Missing, Scalar::Whole)));
    } else {
        let frame = column.clone().into_frame();
        let texts = (0..column.len()).map(|row| in_frame(&frame, name, row).to_text());
        texts.for_each(|text| keys.add(text.into()));
    }
    Ok((
        keys.of_rows,
        keys.keys
            .into_iter()
            .map(|(key, first)| (key.owned(), first))
            .collect(),
    ))
}

/// In lower case, as conditions compare texts.
fn lower(text: &str) -> Cow<'_, str> {
    let is_lower = text
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower {
        text.into()
    } else {
        text.to_lowercase().into()
    }
}

/// A frame whose column is of lists with a row for each of their elements, and the row of the former that each is of; `None` for another column.
/// A row without any is there once.
fn by_element(frame: &DataFrame, name: &str) -> PolarsResult<Option<(DataFrame, Vec<usize>)>> {
    if !matches!(frame.column(name)?.dtype(), DataType::List(_)) {
        return Ok(None);
    }
    let (mut rows, mut elements) = (Vec::new(), Vec::new());
    for row in 0..frame.height() {
        let own = elements_of(in_frame(frame, name, row));
        rows.extend(std::iter::repeat_n(row, own.len().max(1)));
        elements.extend(if own.is_empty() {
            vec![None]
        } else {
            own.into_iter().map(Some).collect()
        });
    }
    let places: Vec<IdxSize> = rows.iter().map(|row| *row as IdxSize).collect();
    let mut frame = frame.take(&IdxCa::from_vec("row".into(), places))?;
    frame.with_column(Series::new(name.into(), elements).into_column())?;
    Ok(Some((frame, rows)))
}

/// The elements of a list, each once.
fn elements_of(cell: Scalar<'static>) -> Vec<Cow<'static, str>> {
    let mut elements = if let Scalar::List(members) = cell {
        members
    } else {
        Vec::new()
    };
    let mut known = HashSet::new();
    elements.retain(|element| known.insert(element.to_lowercase()));
    elements
}

/// The key as it is written in the cell of the first row that has it.
pub(super) fn as_written(cell: Scalar<'static>, key: &Scalar<'static>) -> Option<String> {
    let Scalar::Text(key) = key else { return None };
    elements_of(cell)
        .into_iter()
        .find(|element| *element.to_lowercase() == **key)
        .map(Cow::into_owned)
}

#[derive(Default)]
struct KeyTable<'a> {
    known: PlHashMap<Scalar<'a>, usize>,
    keys: Vec<(Scalar<'a>, usize)>,
    of_rows: Vec<usize>,
}

impl<'a> KeyTable<'a> {
    fn add(&mut self, key: Scalar<'a>) {
        // Equal keys often come in runs: one lookup for each run.
        let again = self
            .of_rows
            .last()
            .copied()
            .filter(|last| self.keys[*last].0 == key);
        let at = again
            .or_else(|| self.known.get(&key).copied())
            .unwrap_or_else(|| {
                self.known.insert(key.clone(), self.keys.len());
                self.keys.push((key, self.of_rows.len()));
                self.keys.len() - 1
            });
        self.of_rows.push(at);
    }
}
