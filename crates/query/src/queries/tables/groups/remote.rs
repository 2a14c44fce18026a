//! Groups of the rows of a remote table: the source counts and adds up exactly as the analysis does, so that the metrics are the same.

use std::{borrow::Cow, collections::HashSet};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, PlHashMap};

use super::{GROUPS_MAX, GroupQuery, is_whole, time_type};
use crate::queries::tables::{chunks::Chunk, remote::RemoteQuery};
use analysis::{exact_sum::ExactSum, groups::Tally};
use model::{
    error::{Code, Problem, Result},
    scalar::Scalar,
    schema::{self, Kind},
    table_ask::{AskKind, Measured},
    time::Time,
};

impl GroupQuery {
    /// The groups, and a frame of the values that made them; their `first` is the row of it.
    pub(super) fn remote_groups(
        &self,
        remote: &RemoteQuery<'_>,
        read: &[schema::Column],
    ) -> Result<(Vec<GroupRows>, DataFrame)> {
        let measured = |column: &schema::Column| match column.kind {
            kind if is_whole(kind) => Measured::Whole(column.name),
            Kind::Float | Kind::Uint256 => Measured::Float(column.name),
            _ => Measured::Counted(column.name),
        };
        let of: Vec<Measured> = read.iter().map(measured).collect();
        let is_text = !is_whole(self.by.kind) && self.by.kind != Kind::Float;
        let ask = remote.ask(AskKind::Groups {
            by: self.by.name,
            is_text,
            of: of.clone(),
        });
        let (answer, _) = remote.answer(ask)?;
        if answer.height() > GROUPS_MAX {
            return Err(self.too_many());
        }
        self.decoded(&answer, &of, is_text).ok_or_else(|| {
            Problem::new(
                Code::Defect,
                "Internal error: the groups from the source cannot \
            be read.",
            )
        })
    }

    fn decoded(
        &self,
        answer: &DataFrame,
        of: &[Measured],
        is_text: bool,
    ) -> Option<(Vec<GroupRows>, DataFrame)> {
        if answer.height() == 0 {
            return Some((Vec::new(), DataFrame::default()));
        }
        let shown = answer
            .column(if is_text { "shown" } else { "item" })
            .ok()?
            .clone()
            .with_name(self.by.name.into());
        let shown = if self.by.kind == Kind::Time {
            shown.cast(&DataType::Int64).ok()?.cast(&time_type()).ok()?
        } else {
            shown
        };
        let keys = keys(answer.column("item").ok()?, self.by.kind, is_text)?;
        let held = whole(answer, "held")?;
        let tallies: Option<Vec<Vec<Tally>>> = of
            .iter()
            .enumerate()
            .map(|(nth, of)| tallies(answer, nth, *of))
            .collect();
        let mut tallies: Vec<_> = tallies?.into_iter().map(Vec::into_iter).collect();
        let groups = keys
            .into_iter()
            .zip(held)
            .enumerate()
            .map(|(first, (key, rows))| {
                let tallies = tallies
                    .iter_mut()
                    .map(|of_column| of_column.next().unwrap_or_default())
                    .collect();
                GroupRows {
                    key,
                    first,
                    rows: rows as u64,
                    tallies,
                }
            });
        Some((groups.collect(), shown.into_column().into_frame()))
    }
}

fn keys(items: &Column, kind: Kind, is_text: bool) -> Option<Vec<Scalar<'static>>> {
    if is_text {
        let texts = items.cast(&DataType::String).ok()?;
        return Some(
            texts
                .str()
                .ok()?
                .iter()
                .map(|text| text.map_or(Scalar::Missing, |text| Scalar::text(text.to_owned())))
                .collect(),
        );
    }
    if kind == Kind::Float {
        return Some(
            items
                .f64()
                .ok()?
                .iter()
                .map(|number| number.map_or(Scalar::Missing, Scalar::Float))
                .collect(),
        );
    }
    let numbers = items.cast(&DataType::Int64).ok()?;
    Some(
        numbers
            .i64()
            .ok()?
            .iter()
            .map(|number| number.map_or(Scalar::Missing, Scalar::Whole))
            .collect(),
    )
}

fn whole(answer: &DataFrame, name: &str) -> Option<Vec<i64>> {
    let numbers = answer.column(name).ok()?.cast(&DataType::Int64).ok()?;
    Some(
        numbers
            .i64()
            .ok()?
            .iter()
            .map(Option::unwrap_or_default)
            .collect(),
    )
}

fn floats(answer: &DataFrame, name: &str) -> Option<Vec<f64>> {
    Some(
        answer
            .column(name)
            .ok()?
            .f64()
            .ok()?
            .iter()
            .map(Option::unwrap_or_default)
            .collect(),
    )
}

/// What is known of each group in the `nth` column.
fn tallies(answer: &DataFrame, nth: usize, of: Measured) -> Option<Vec<Tally>> {
    let named = |name: &str| format!("{name}_{nth}");
    let counts = whole(answer, &named("count"))?;
    Some(match of {
        Measured::Counted(_) => counts
            .into_iter()
            .map(|count| Tally::of_present(count as u64))
            .collect(),
        Measured::Whole(_) => {
            let sums = answer
                .column(&named("sum"))
                .ok()?
                .cast(&DataType::String)
                .ok()?;
            let sums: Option<Vec<i128>> = sums
                .str()
                .ok()?
                .iter()
                .map(|sum| sum?.parse().ok())
                .collect();
            let (least, most) = (whole(answer, &named("min"))?, whole(answer, &named("max"))?);
            let all = counts
                .into_iter()
                .zip(sums?)
                .zip(least.into_iter().zip(most));
            all.map(|((count, sum), (least, most))| {
                if count == 0 {
                    Tally::default()
                } else {
                    Tally::of_whole(count as u64, sum, [least, most])
                }
            })
            .collect()
        }
        Measured::Float(_) => {
            let (least, most) = (
                floats(answer, &named("min"))?,
                floats(answer, &named("max"))?,
            );
            let sums = exact_sums(answer, &named("places"), &named("sums"))?;
            let all = counts
                .into_iter()
                .zip(sums)
                .zip(least.into_iter().zip(most));
            all.map(|((count, sum), (least, most))| {
                if count == 0 {
                    Tally::default()
                } else {
                    Tally::of_floats(count as u64, sum, [least, most])
                }
            })
            .collect()
        }
    })
}

/// Sums by their parts: lists of places, and of digits at them.
fn exact_sums(answer: &DataFrame, places: &str, digits: &str) -> Option<Vec<ExactSum>> {
    let places = answer
        .column(places)
        .ok()?
        .cast(&DataType::List(Box::new(DataType::UInt64)))
        .ok()?;
    let digits = answer
        .column(digits)
        .ok()?
        .cast(&DataType::List(Box::new(DataType::String)))
        .ok()?;
    let (places, digits) = (places.list().ok()?, digits.list().ok()?);
    let one = |row: usize| {
        let mut sum = ExactSum::default();
        let (own, digits) = (places.get_as_series(row)?, digits.get_as_series(row)?);
        for (place, part) in own.u64().ok()?.iter().zip(digits.str().ok()?.iter()) {
            sum.add_part(u8::try_from(place?).ok()?, part?.parse().ok()?);
        }
        Some(sum)
    };
    (0..answer.height()).map(one).collect()
}

// Rows of one chunk split into groups: by the values of a column, of lists by their elements, of texts in any letter case, as conditions
// meet them.

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
