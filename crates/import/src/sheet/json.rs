//! The table in a JSON text, as named columns and rows of cells: nested objects are flattened, and wrapped rows unwrapped.

mod search;

use std::{borrow::Cow, collections::HashMap};

use serde_json::value::RawValue;

use self::search::{Search, Shape};
use crate::{
    error::FileError,
    evidence::{CellKind, kind_of},
};
use load::provider::JsonAnswer;
use model::json_members::JsonMembers;

/// Maximum depth of nested objects in a row.
const ROW_DEPTH: usize = 4;
/// Maximum number of columns in a table.
const COLUMNS: usize = 600;
/// The column of keys, if the rows are an object's members.
pub(crate) const KEY: &str = "key";
/// The column of list names, if the rows of several lists of one shape are joined.
pub(crate) const LIST: &str = "list";

/// The table in a JSON text.
#[derive(Debug)]
pub(crate) struct Json {
    /// Its path in the text, `a.b`; empty for the root.
    pub place: String,
    pub names: Vec<String>,
    /// Whether its columns have names.
    pub named: bool,
    /// Single values next to it, by path.
    pub beside: Vec<(String, String)>,
    /// The names of the lists that the table joins, if it joins several of the same shape.
    pub lists: Vec<String>,
    /// Notes on what was omitted to read it.
    pub notes: Vec<String>,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    /// The rows' JSON values, each with its key if there is one.
    Elements(Vec<(Option<String>, Box<RawValue>)>),
    Cells(Vec<Vec<Option<String>>>),
}

/// Minimum number of values of a lone object that counts as a row.
const ROW_TELLS: usize = 3;

/// The members of an object: key and value.
pub(crate) type Pairs<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// The members of an object in order; empty for any other value.
pub(crate) fn members(value: &RawValue) -> Pairs<'_> {
    serde_json::from_str::<JsonMembers<'_>>(value.get())
        .map(|members| members.0)
        .unwrap_or_default()
}

/// The elements of a list; empty for any other value.
pub(crate) fn elements(value: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(value.get()).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Object,
    List,
    Null,
    Single,
}

fn kind(value: &RawValue) -> Type {
    match value.get().as_bytes().first() {
        Some(b'{') => Type::Object,
        Some(b'[') => Type::List,
        Some(b'n') => Type::Null,
        _ => Type::Single,
    }
}

/// The value of a cell that a row lacks.
const NOTHING: &RawValue = RawValue::NULL;

/// Whether the cell is the name of a type of ClickHouse.
fn is_type(value: &RawValue) -> bool {
    const TYPES: [&str; 14] = [
        "String",
        "FixedString(",
        "UInt",
        "Int",
        "Float",
        "BFloat",
        "Decimal",
        "Date",
        "Bool",
        "Nullable(",
        "LowCardinality(",
        "Array(",
        "Enum",
        "UUID",
    ];
    text(value).is_some_and(|text| TYPES.iter().any(|start| text.starts_with(start)))
}

/// A single value as text: strings without quotes, numbers digit for digit.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    match kind(value) {
        Type::Null => None,
        Type::Single if value.get().starts_with('"') => serde_json::from_str(value.get()).ok(),
        _ => Some(value.get().to_owned()),
    }
}

/// The row inside one that only wraps it: `{"data": {…}, "__typename": …}` of GraphQL services, `{"node": {…}}`.
fn unwrapped(row: &RawValue) -> Option<&RawValue> {
    let mut inner = members(row)
        .into_iter()
        .filter(|(name, _)| !matches!(name.as_ref(), "__typename" | "cursor"));
    let (name, value) = inner.next()?;
    (matches!(name.as_ref(), "data" | "node")
        && kind(value) == Type::Object
        && inner.next().is_none())
    .then_some(value)
}

/// The members of a row, nested objects flattened: `token.address`.
fn flattened(value: &RawValue, prefix: &str, depth: usize, into: &mut Vec<(String, String)>) {
    for (name, value) in members(value) {
        let name = if prefix.is_empty() {
            name.into_owned()
        } else {
            format!("{prefix}.{name}")
        };
        match kind(value) {
            Type::Object if depth < ROW_DEPTH => flattened(value, &name, depth + 1, into),
            Type::List if let Some(two) = two_tokens(&name, value) => {
                (0..).zip(two).for_each(|(at, token)| {
                    flattened(token, &format!("{name}.{at}"), depth + 1, into);
                });
            }
            _ => into.extend(
                runs_joined(value)
                    .or_else(|| text(value))
                    .map(|text| (name, text)),
            ),
        }
    }
}

/// The text of a list of runs, as chats write formatted text: strings, and objects with a `type` and a `text`.
fn runs_joined(value: &RawValue) -> Option<String> {
    let (mut joined, mut has_objects) = (String::new(), false);
    for run in elements(value) {
        let members = members(run);
        let member = |wanted: &str| {
            members
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| *value)
        };
        let of_object = member("type").and_then(|_| member("text"));
        has_objects |= of_object.is_some();
        let run = of_object.unwrap_or(run);
        joined.push_str(&text(run).filter(|_| run.get().starts_with('"'))?);
    }
    has_objects.then_some(joined)
}

/// The tokens of a pool, where a row lists two.
fn two_tokens<'a>(name: &str, list: &'a RawValue) -> Option<[&'a RawValue; 2]> {
    const NAMES: [&str; 4] = ["inputTokens", "poolTokens", "tokens", "coins"];
    if !NAMES.contains(&name) {
        return None;
    }
    let is_address = |(name, value): &(Cow<'_, str>, &RawValue)| {
        matches!(name.as_ref(), "id" | "address")
            && text(value).is_some_and(|text| kind_of(&text) == CellKind::Address)
    };
    let two: [&RawValue; 2] = elements(list).try_into().ok()?;
    two.iter()
        .all(|token| members(token).iter().any(is_address))
        .then_some(two)
}

impl Json {
    /// The largest table in the text; `None` if there is none.
    pub(crate) fn of(text: &[u8]) -> Result<Option<Self>, FileError> {
        let whole: &RawValue = serde_json::from_slice(text).map_err(FileError::Json)?;
        let mut search = Search {
            best: None,
            beside: Vec::new(),
        };
        search.walk(whole, &mut Vec::new());
        // A lone object of values is a file of one row.
        let values = members(whole)
            .iter()
            .filter(|(_, value)| kind(value) == Type::Single)
            .count();
        if search.best.is_none() && values >= ROW_TELLS {
            search.offer(values, &[], Shape::Rows(vec![(None, whole)]));
        }
        let Some((_, path, shape)) = search.best else {
            return Ok(None);
        };
        Ok(Some(Self::made(path.join("."), shape, search.beside)))
    }

    /// The rows at a place of the text as a table, where places are those of providers.
    pub(crate) fn at(text: &[u8], place: &str) -> Result<Self, FileError> {
        let rows = JsonAnswer::read(text)?
            .rows(place)?
            .ok_or_else(|| FileError::NoPlace(place.to_owned()))?;
        let rows: Vec<_> = rows.iter().map(|row| (None, row.as_ref())).collect();
        Ok(Self::of_rows(place.to_owned(), KEY, &rows, Vec::new()))
    }

    /// JSON Lines as rows.
    pub(crate) fn lines(text: &[u8]) -> Self {
        let (mut rows, mut nan, mut bad, mut all) = (Vec::new(), 0, Vec::new(), 0);
        for (number, line) in (1..)
            .zip(text.split(|byte| *byte == b'\n'))
            .filter(|(_, line)| !line.trim_ascii().is_empty())
        {
            all += 1;
            let plain = || {
                let (plain, count) = load::formats::without_nan(line)?;
                nan += count;
                serde_json::from_slice::<Box<RawValue>>(&plain)
                    .ok()
                    .map(Cow::Owned)
            };
            match serde_json::from_slice::<&RawValue>(line)
                .ok()
                .map(Cow::Borrowed)
                .or_else(plain)
            {
                Some(row) => rows.push(row),
                None => bad.push(number),
            }
        }
        let mut json = Self::made(String::new(), Self::of_lines(&rows), Vec::new());
        json.notes = load::formats::note_on_nan(nan).into_iter().collect();
        let note = |first: &usize| {
            format!(
                "warning: {} of its {all} lines are not JSON and are omitted; the first is line {first}",
                bad.len()
            )
        };
        json.notes.extend(bad.first().map(note));
        json
    }

    /// Rows of lines; where these are lists, the first may have the names and the second the types (ClickHouse's
    /// JSONCompactEachRowWithNamesAndTypes).
    fn of_lines<'a>(rows: &'a [Cow<'a, RawValue>]) -> Shape<'a> {
        let lists: Vec<Vec<&RawValue>> = if rows.iter().all(|row| kind(row) == Type::List) {
            rows.iter().map(|row| elements(row)).collect()
        } else {
            Vec::new()
        };
        let is_text = |value: &&RawValue| {
            value.get().starts_with('"')
                && text(value).is_some_and(|text| kind_of(&text) == CellKind::Text)
        };
        if let [first, rest @ ..] = &lists[..]
            && first.iter().all(is_text)
            && rest
                .iter()
                .any(|row| row.len() == first.len() && !row.iter().all(is_text))
        {
            let are_types =
                |row: &&Vec<&RawValue>| row.len() == first.len() && row.iter().all(is_text);
            let rest = &rest[usize::from(
                rest.first()
                    .filter(are_types)
                    .is_some_and(|row| row.iter().all(|cell| is_type(cell))),
            )..];
            let cells = |at: usize| {
                rest.iter()
                    .map(|row| row.get(at).copied().unwrap_or(NOTHING))
                    .collect()
            };
            return Shape::Columns(
                first
                    .iter()
                    .enumerate()
                    .map(|(at, name)| (text(name).unwrap_or_default(), cells(at)))
                    .collect(),
            );
        }
        Shape::Rows(rows.iter().map(|row| (None, row.as_ref())).collect())
    }

    fn made(place: String, shape: Shape<'_>, beside: Vec<(String, String)>) -> Self {
        match shape {
            Shape::Rows(rows) => Self::of_rows(place, KEY, &rows, beside),
            Shape::Lists(rows) => Self::of_rows(place, LIST, &rows, beside),
            Shape::Columns(columns) => {
                let height = columns
                    .iter()
                    .map(|(_, cells)| cells.len())
                    .max()
                    .unwrap_or(0);
                let cells = (0..height)
                    .map(|row| {
                        columns
                            .iter()
                            .map(|(_, cells)| cells.get(row).and_then(|cell| text(cell)))
                            .collect()
                    })
                    .collect();
                let names = columns.into_iter().map(|(name, _)| name).collect();
                Self {
                    place,
                    names,
                    named: true,
                    beside,
                    lists: Vec::new(),
                    notes: Vec::new(),
                    rows: Rows::Cells(cells),
                }
            }
            Shape::Maps(columns) => {
                let keys: Vec<String> = columns[0]
                    .1
                    .iter()
                    .map(|(key, _)| key.to_string())
                    .collect();
                let mut cells: Vec<Vec<Option<String>>> =
                    keys.iter().map(|key| vec![Some(key.clone())]).collect();
                for (_, column) in &columns {
                    let known: HashMap<&str, &RawValue> = column
                        .iter()
                        .map(|(key, value)| (key.as_ref(), *value))
                        .collect();
                    for (row, key) in cells.iter_mut().zip(&keys) {
                        row.push(known.get(key.as_str()).and_then(|cell| text(cell)));
                    }
                }
                let names = std::iter::once(KEY.to_owned())
                    .chain(columns.into_iter().map(|(name, _)| name))
                    .collect();
                Self {
                    place,
                    names,
                    named: true,
                    beside,
                    lists: Vec::new(),
                    notes: Vec::new(),
                    rows: Rows::Cells(cells),
                }
            }
        }
    }

    fn of_rows(
        place: String,
        key: &str,
        rows: &[(Option<String>, &RawValue)],
        beside: Vec<(String, String)>,
    ) -> Self {
        let inner: Option<Vec<_>> = rows
            .iter()
            .map(|(key, row)| Some((key.clone(), unwrapped(row)?)))
            .collect();
        let rows = inner.as_deref().unwrap_or(rows);
        let keyed = rows.iter().any(|(key, _)| key.is_some());
        let objects = rows.iter().any(|(_, row)| kind(row) == Type::Object);
        let mut names: Vec<String> = if keyed {
            vec![key.to_owned()]
        } else {
            Vec::new()
        };
        if objects {
            let mut known: std::collections::HashSet<String> = names.iter().cloned().collect();
            for (_, row) in rows {
                let mut cells = Vec::new();
                flattened(row, "", 0, &mut cells);
                for (name, _) in cells {
                    if names.len() < COLUMNS && !known.contains(&name) {
                        known.insert(name.clone());
                        names.push(name);
                    }
                }
            }
        } else {
            let width = rows
                .iter()
                .map(|(_, row)| {
                    if kind(row) == Type::List {
                        elements(row).len()
                    } else {
                        1
                    }
                })
                .max()
                .unwrap_or(0);
            names.extend((1..=width.min(COLUMNS)).map(|i| i.to_string()));
        }
        let mut lists: Vec<String> = if key == LIST {
            rows.iter().filter_map(|(key, _)| key.clone()).collect()
        } else {
            Vec::new()
        };
        lists.dedup();
        let rows = rows
            .iter()
            .map(|(key, row)| (key.clone(), (*row).to_owned()))
            .collect();
        Self {
            place,
            names,
            named: objects,
            beside,
            lists,
            notes: Vec::new(),
            rows: Rows::Elements(rows),
        }
    }

    pub(crate) fn height(&self) -> usize {
        match &self.rows {
            Rows::Elements(rows) => rows.len(),
            Rows::Cells(rows) => rows.len(),
        }
    }

    /// The cells of a row, one per name.
    pub(crate) fn row(&self, at: usize) -> Vec<Option<String>> {
        match &self.rows {
            Rows::Cells(rows) => rows.get(at).cloned().unwrap_or_default(),
            Rows::Elements(rows) => {
                let Some((key, row)) = rows.get(at) else {
                    return Vec::new();
                };
                let name = self
                    .names
                    .first()
                    .filter(|name| *name == KEY || *name == LIST);
                let key = name.map(|_| key.clone());
                match kind(row) {
                    Type::Object => {
                        let mut cells = Vec::new();
                        flattened(row, "", 0, &mut cells);
                        let mut cells: HashMap<String, String> = cells.into_iter().collect();
                        if let (Some(name), Some(Some(key))) = (name, key) {
                            cells.insert(name.clone(), key);
                        }
                        self.names.iter().map(|name| cells.remove(name)).collect()
                    }
                    Type::List => key
                        .into_iter()
                        .chain(elements(row).into_iter().map(text))
                        .collect(),
                    _ => key.into_iter().chain([text(row)]).collect(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
