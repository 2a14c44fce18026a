//! Rows of one chunk split into groups: by the values of a column, of lists by their elements, of texts in any letter case, as conditions
//! meet them.

use std::{borrow::Cow, collections::HashSet};

use polars::prelude::PlHashMap;

use crate::question::tables::chunks::Chunk;
use analysis::groups::Tally;
use model::{scalar::Scalar, time::Time};

/// The rows of a group as far as they were read.
pub(super) struct GroupRows {
    /// The value that its rows share, text in lower case: as conditions compare texts.
    pub(super) key: Scalar<'static>,
    /// The first of the selected rows that belongs to it.
    pub(super) first: usize,
    pub(super) rows: u64,
    pub(super) tallies: Vec<Tally>,
}

/// The groups of a chunk, whose columns are the one to group by and those to read.
pub(super) fn grouped(chunk: &Chunk<'_>, read: usize) -> Vec<GroupRows> {
    let mut keys = KeyTable::default();
    for (row, value) in chunk.values(0).enumerate() {
        match value {
            Scalar::List(members) if !members.is_empty() => elements_of(members)
                .into_iter()
                .for_each(|element| keys.add(Scalar::Text(element), row)),
            Scalar::List(_) => keys.add(Scalar::Missing, row),
            value => keys.add(value, row),
        }
    }
    let group = |(key, first): (Scalar<'_>, usize)| GroupRows {
        key: key.owned(),
        first: chunk.start + first,
        rows: 0,
        tallies: vec![Tally::default(); read],
    };
    let mut groups: Vec<GroupRows> = keys.keys.into_iter().map(group).collect();
    for (_, group) in &keys.of_rows {
        groups[*group].rows += 1;
    }
    for nth in 0..read {
        let mut of_rows = keys.of_rows.iter().peekable();
        for (row, value) in chunk.values(nth + 1).enumerate() {
            while let Some((_, group)) = of_rows.next_if(|(of, _)| *of == row) {
                add(&mut groups[*group].tallies[nth], &value);
            }
        }
    }
    groups
}

fn add(tally: &mut Tally, value: &Scalar<'_>) {
    match value {
        Scalar::Missing => {}
        Scalar::Whole(number) | Scalar::Time(Time(number)) => tally.add_whole(*number),
        Scalar::Day(day) => tally.add_whole(i64::from(day.0)),
        Scalar::Float(number) => tally.add_float(*number),
        // Digits beyond a float's precision are rounded.
        Scalar::Digits(_) => match value.as_float() {
            Some(number) => tally.add_float(number),
            None => tally.add_present(),
        },
        // A text is no quantity, whatever it reads as.
        Scalar::Flag(_) | Scalar::Text(_) | Scalar::Duration(_) | Scalar::List(_) => {
            tally.add_present();
        }
    }
}

/// The value that equal ones share, texts in lower case, as conditions compare them.
fn key_of(value: Scalar<'_>) -> Scalar<'_> {
    let is_lower = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    };
    match value {
        Scalar::Text(text) | Scalar::Digits(text) if is_lower(&text) => Scalar::Text(text),
        Scalar::Text(text) | Scalar::Digits(text) => Scalar::text(text.to_lowercase()),
        // −0 is 0.
        Scalar::Float(number) => Scalar::Float(number + 0.0),
        Scalar::Time(Time(number)) => Scalar::Whole(number),
        Scalar::Day(day) => Scalar::Whole(i64::from(day.0)),
        Scalar::Flag(_) => value.to_text().into(),
        other => other,
    }
}

/// The elements of a list, each once.
fn elements_of(mut members: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    let mut known = HashSet::new();
    members.retain(|element| known.insert(element.to_lowercase()));
    members
}

/// The key as it is written in the list of the first row that has it.
pub(super) fn as_written(cell: Scalar<'static>, key: &Scalar<'static>) -> Option<String> {
    let (Scalar::Text(key), Scalar::List(members)) = (key, cell) else {
        return None;
    };
    members
        .into_iter()
        .find(|element| *element.to_lowercase() == **key)
        .map(Cow::into_owned)
}

#[derive(Default)]
struct KeyTable<'a> {
    known: PlHashMap<Scalar<'a>, usize>,
    /// The groups' keys, each with its first row.
    keys: Vec<(Scalar<'a>, usize)>,
    /// The rows, each with a group that it is in.
    of_rows: Vec<(usize, usize)>,
}

impl<'a> KeyTable<'a> {
    fn add(&mut self, value: Scalar<'a>, row: usize) {
        let key = key_of(value);
        // Equal keys often come in runs: one lookup for each run.
        let again = self.of_rows.last().map(|(_, group)| *group);
        let again = again.filter(|last| self.keys[*last].0 == key);
        let group = again
            .or_else(|| self.known.get(&key).copied())
            .unwrap_or_else(|| {
                self.known.insert(key.clone(), self.keys.len());
                self.keys.push((key, row));
                self.keys.len() - 1
            });
        self.of_rows.push((row, group));
    }
}
