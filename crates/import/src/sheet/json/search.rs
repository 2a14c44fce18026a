//! Finds the table in a JSON text at any depth: a list of objects or of lists, parallel lists, objects under keys. Single values beside it
//! (a symbol, a contract) are kept, as they may tell what the table is about.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{COLUMNS, NOTHING, Pairs, Type, elements, kind, members, text};
use crate::evidence::{CellKind, kind_of};

/// Maximum depth of the search for a table.
const DEPTH: usize = 6;
/// Maximum number of values noted beside a table.
const BESIDE: usize = 200;
/// Minimum number of object members, and of list values, for two lists of such rows to count as one shape.
const OBJECT_TELLS: usize = 3;
const LIST_TELLS: usize = 5;

/// Members with the names or the types of a table's columns, which are no table themselves.
const OF_COLUMNS: [&str; 4] = ["column_names", "column_types", "columns", "meta"];

/// Whether the keys of an object are data rather than names: addresses, days, numbers.
fn are_data(names: &[&str]) -> bool {
    let data = names
        .iter()
        .filter(|name| !matches!(kind_of(name), CellKind::Text | CellKind::Empty))
        .count();
    !names.is_empty() && data * 10 >= names.len() * 9
}

/// The shapes of tables.
pub(super) enum Shape<'a> {
    /// A list of objects or lists, or an object of them, with its keys.
    Rows(Vec<(Option<String>, &'a RawValue)>),
    /// The same from several lists, each row with its list's name.
    Lists(Vec<(Option<String>, &'a RawValue)>),
    /// Parallel lists, each a column.
    Columns(Vec<(String, Vec<&'a RawValue>)>),
    /// Parallel objects, each a column with the same keys.
    Maps(Vec<(String, Pairs<'a>)>),
}

pub(super) struct Search<'a> {
    pub best: Option<(usize, Vec<String>, Shape<'a>)>,
    pub beside: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    pub(super) fn offer(&mut self, size: usize, path: &[String], shape: Shape<'a>) {
        if size > 0 && self.best.as_ref().is_none_or(|(best, ..)| size > *best) {
            self.best = Some((size, path.to_vec(), shape));
        }
    }

    pub(super) fn walk(&mut self, value: &'a RawValue, path: &mut Vec<String>) {
        if path.len() > DEPTH {
            return;
        }
        match kind(value) {
            Type::List => self.list(value, path),
            Type::Object => self.object(value, path),
            Type::Single if self.beside.len() < BESIDE => self
                .beside
                .extend(text(value).map(|text| (path.join("."), text))),
            _ => {}
        }
    }

    fn list(&mut self, value: &'a RawValue, path: &mut Vec<String>) {
        let rows = elements(value);
        let Some(first) = rows.iter().find(|row| kind(row) != Type::Null) else {
            return;
        };
        let width = match kind(first) {
            Type::Object => members(first).len(),
            Type::List => elements(first).len(),
            _ => 1,
        };
        // A single object may be a mere wrapper.
        if kind(first) == Type::Object && rows.len() <= 3 {
            for (i, row) in rows.iter().enumerate() {
                path.push(i.to_string());
                self.walk(row, path);
                path.pop();
            }
        }
        self.offer(
            rows.len() * width.clamp(1, 20),
            path,
            Shape::Rows(rows.into_iter().map(|row| (None, row)).collect()),
        );
    }

    fn object(&mut self, value: &'a RawValue, path: &mut Vec<String>) {
        let all = members(value);
        if let Some(columns) = columns_apart(&all) {
            let height = columns.first().map_or(0, |(_, cells)| cells.len());
            // More than the same rows without their names, and than the list of names.
            self.offer(
                height * columns.len().clamp(1, 20) + 1,
                path,
                Shape::Columns(columns),
            );
            for (name, value) in all.iter().filter(|(_, value)| kind(value) == Type::Single) {
                path.push(name.to_string());
                self.walk(value, path);
                path.pop();
            }
            return;
        }
        let names: Vec<&str> = all
            .iter()
            .take(100)
            .map(|(name, _)| name.as_ref())
            .collect();
        let of = |wanted: Type| {
            all.iter()
                .filter(|(_, value)| kind(value) == wanted)
                .count()
        };
        let keyed = all.len() >= 2 && are_data(&names);
        let alike = all.len() >= 3 && of(Type::Object) == all.len() && {
            let inner = |at: usize| {
                members(all[at].1)
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect::<Vec<_>>()
            };
            let first = inner(0);
            !first.is_empty() && (inner(1) == first || inner(2) == first)
        };
        let inner_data = alike && {
            let first = members(all[0].1);
            are_data(
                &first
                    .iter()
                    .map(|(name, _)| name.as_ref())
                    .collect::<Vec<_>>(),
            ) && first.iter().all(|(_, value)| kind(value) == Type::Single)
        };
        if keyed || alike && !inner_data {
            let width = all.first().map_or(1, |(_, value)| match kind(value) {
                Type::Object => members(value).len(),
                Type::List => elements(value).len(),
                _ => 1,
            });
            let rows = all
                .iter()
                .map(|(name, value)| (Some(name.to_string()), *value))
                .collect();
            self.offer(
                all.len() * (width + 1).clamp(1, 20),
                path,
                Shape::Rows(rows),
            );
            return;
        }
        if inner_data || all.len() == 2 && of(Type::Object) == 2 {
            let columns: Vec<(String, Vec<_>)> = all
                .iter()
                .map(|(name, value)| (name.to_string(), members(value)))
                .collect();
            let height = columns[0].1.len();
            let data = are_data(
                &columns[0]
                    .1
                    .iter()
                    .take(100)
                    .map(|(name, _)| name.as_ref())
                    .collect::<Vec<_>>(),
            );
            if data && columns.iter().all(|(_, cells)| cells.len() == height) {
                self.offer(height * columns.len(), path, Shape::Maps(columns));
                return;
            }
        }
        let mut columns = Vec::new();
        columns_below(value, 0, &mut columns);
        let mut heights: Vec<usize> = columns
            .iter()
            .map(|(_, cells)| cells.len())
            .filter(|height| *height > 1)
            .collect();
        heights.sort_unstable();
        let most = heights
            .chunk_by(|a, b| a == b)
            .max_by_key(|same| same.len())
            .map_or(0, |same| same[0]);
        columns.retain(|(_, cells)| cells.len() == most);
        if columns.len() >= 2 {
            self.offer(most * columns.len(), path, Shape::Columns(columns));
        }
        let together = lists_of_one_shape(&all);
        if let Some((shape, names)) = &together {
            let rows = |(name, value): &(Cow<'a, str>, &'a RawValue)| {
                let name = Some(name.to_string());
                elements(value)
                    .into_iter()
                    .map(|row| (name.clone(), row))
                    .collect::<Vec<_>>()
            };
            let rows: Vec<_> = all
                .iter()
                .filter(|(name, _)| names.contains(name))
                .flat_map(rows)
                .collect();
            self.offer(
                rows.len() * (shape.len() + 1).clamp(1, 20),
                path,
                Shape::Lists(rows),
            );
        }
        for (name, value) in all {
            // A joined list is not the table by itself, nor are the names of columns.
            let of_columns = OF_COLUMNS.contains(&name.as_ref())
                && elements(value)
                    .first()
                    .is_some_and(|first| kind(first) == Type::Single);
            if of_columns
                || together
                    .as_ref()
                    .is_some_and(|(_, names)| names.contains(&name))
            {
                continue;
            }
            path.push(name.into_owned());
            self.walk(value, path);
            path.pop();
        }
    }
}

/// If rows are lists and their names are next to them, as texts or as objects with a `name` (`to_json(orient="split")` of pandas,
/// ClickHouse's JSONCompact): the columns. A further list of as many values, pandas' `index`, is a column too unless it only counts the rows.
fn columns_apart<'a>(all: &Pairs<'a>) -> Option<Vec<(String, Vec<&'a RawValue>)>> {
    let lists: Vec<(&str, Vec<&RawValue>)> = all
        .iter()
        .filter(|(_, value)| kind(value) == Type::List)
        .map(|(name, value)| (name.as_ref(), elements(value)))
        .collect();
    let (_, rows) = lists
        .iter()
        .find(|(_, rows)| !rows.is_empty() && rows.iter().all(|row| kind(row) == Type::List))?;
    let width = elements(rows.first()?).len();
    let name = |value: &&RawValue| match kind(value) {
        Type::Object => members(value)
            .into_iter()
            .find(|(name, _)| name == "name")
            .and_then(|(_, name)| text(name)),
        Type::Single if value.get().starts_with('"') => text(value),
        _ => None,
    };
    let mut named = lists
        .iter()
        .filter(|(_, list)| list.len() == width && width > 1 && width <= COLUMNS)
        .filter_map(|(of, list)| {
            let names = list.iter().map(name).collect::<Option<Vec<_>>>()?;
            let is_usual = OF_COLUMNS.contains(of);
            (is_usual || names.iter().all(|name| kind_of(name) == CellKind::Text))
                .then_some((is_usual, *of, names))
        });
    let first = named.next()?;
    let (_, of_names, names) = if first.0 {
        first
    } else {
        named.find(|(is_usual, ..)| *is_usual).unwrap_or(first)
    };
    let rows: Vec<Vec<&RawValue>> = rows.iter().map(|row| elements(row)).collect();
    let mut columns: Vec<(String, Vec<&RawValue>)> = Vec::new();
    for (name, list) in &lists {
        let counts = list
            .iter()
            .enumerate()
            .all(|(at, value)| value.get() == at.to_string());
        let single = list.iter().all(|value| kind(value) == Type::Single);
        let is_of_names = *name == of_names || OF_COLUMNS.contains(name);
        if list.len() == rows.len()
            && single
            && !counts
            && !is_of_names
            && !names.iter().any(|known| known == name)
        {
            columns.push(((*name).to_owned(), list.clone()));
        }
    }
    for (at, name) in names.into_iter().enumerate() {
        columns.push((
            name,
            rows.iter()
                .map(|row| row.get(at).copied().unwrap_or(NOTHING))
                .collect(),
        ));
    }
    Some(columns)
}

/// If several lists among the members have rows of the same shape: that shape, and the lists' names. Reading only one of them would show
/// less than the file holds, or misleading figures.
fn lists_of_one_shape<'a>(all: &Pairs<'a>) -> Option<(Vec<String>, Vec<Cow<'a, str>>)> {
    let shape = |value: &'a RawValue| -> Option<Vec<String>> {
        if kind(value) != Type::List {
            return None;
        }
        let first = *elements(value).first()?;
        match kind(first) {
            Type::Object => {
                let mut names: Vec<String> = members(first)
                    .into_iter()
                    .map(|(name, _)| name.into_owned())
                    .collect();
                names.sort_unstable();
                (names.len() >= OBJECT_TELLS).then_some(names)
            }
            Type::List => {
                let width = elements(first).len();
                (width >= LIST_TELLS).then(|| (1..=width).map(|at| at.to_string()).collect())
            }
            Type::Null | Type::Single => None,
        }
    };
    let shapes: Vec<_> = all
        .iter()
        .filter_map(|(name, value)| Some((shape(value)?, name.clone())))
        .collect();
    let (first, _) = shapes.first()?;
    // Rows may lack some members of others.
    let alike = |other: &Vec<String>| {
        let common = other.iter().filter(|name| first.contains(name)).count();
        common * 10 >= first.len().max(other.len()) * 7
    };
    let names: Vec<_> = shapes
        .iter()
        .filter(|(shape, _)| alike(shape))
        .map(|(_, name)| name.clone())
        .collect();
    (names.len() >= 2).then(|| (first.clone(), names))
}

/// Whether the members of an object are rows with an address each.
fn is_by_address(value: &RawValue) -> bool {
    let all = members(value);
    all.len() > 1
        && all
            .iter()
            .all(|(name, _)| kind_of(name) == CellKind::Address)
}

/// Collects the lists of single values in an object and its nested objects.
fn columns_below<'a>(
    value: &'a RawValue,
    depth: usize,
    into: &mut Vec<(String, Vec<&'a RawValue>)>,
) {
    if depth > 3 || into.len() > COLUMNS {
        return;
    }
    for (name, value) in members(value) {
        match kind(value) {
            _ if OF_COLUMNS.contains(&name.as_ref()) => {}
            // Rows by address; what each lists is of it alone.
            Type::Object if is_by_address(value) => {}
            Type::Object => columns_below(value, depth + 1, into),
            Type::List => {
                let cells = elements(value);
                match cells.first().map(|first| kind(first)) {
                    Some(Type::Single | Type::Null) => into.push((name.into_owned(), cells)),
                    Some(Type::Object) if cells.len() == 1 => {
                        columns_below(cells[0], depth + 1, into);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
