//! Finds the table in a JSON text at any depth: a list of objects or of lists, parallel lists, objects under keys. Single values beside it
//! (a symbol, a contract) are kept, as they may tell what the table is about.

use std::{borrow::Cow, collections::HashMap};

use serde_json::value::RawValue;

use super::super::evidence::{CellKind, kind_of};
use model::json_members::JsonMembers;
use source::provider::JsonAnswer;

/// Maximum depth of the search for a table, and of nested objects in a row.
const DEPTH: usize = 6;
const ROW_DEPTH: usize = 4;
/// Maximum number of columns in a table, and of values noted beside it.
const COLUMNS: usize = 600;
const BESIDE: usize = 200;
/// The column of keys, if the rows are an object's members.
pub(crate) const KEY: &str = "key";
/// The column of list names, if the rows of several lists of one shape are joined.
pub(crate) const LIST: &str = "list";
/// Minimum number of object members, and of list values, for two lists of such rows to count as one shape.
const OBJECT_TELLS: usize = 3;
const LIST_TELLS: usize = 5;

/// The table in a JSON text.
#[derive(Debug)]
pub(crate) struct Json {
    /// Its path in the text, `a.b`; empty for the root.
    pub place: String,
    pub names: Vec<String>,
    /// Whether its columns have names.
    pub named: bool,
    /// Single values beside it, by path.
    pub beside: Vec<(String, String)>,
    /// The names of the lists that the table joins, if it joins several of the same shape.
    pub lists: Vec<String>,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    /// The rows' JSON values, each with its key if there is one.
    Elements(Vec<(Option<String>, Box<RawValue>)>),
    Cells(Vec<Vec<Option<String>>>),
}

/// The members of an object: key and value.
pub(crate) type Pairs<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// The members of an object in order; empty for any other value.
pub(crate) fn members(value: &RawValue) -> Pairs<'_> {
    serde_json::from_str::<JsonMembers<'_>>(value.get()).map(|members| members.0).unwrap_or_default()
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

/// A single value as text: strings without quotes, numbers digit for digit.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    match kind(value) {
        Type::Null => None,
        Type::Single if value.get().starts_with('"') => serde_json::from_str(value.get()).ok(),
        _ => Some(value.get().to_owned()),
    }
}

/// Whether the keys of an object are data rather than names: addresses, days, numbers.
fn are_data(names: &[&str]) -> bool {
    let data = names.iter().filter(|name| !matches!(kind_of(name), CellKind::Text | CellKind::Empty)).count();
    !names.is_empty() && data * 10 >= names.len() * 9
}

/// The shapes of tables.
enum Shape<'a> {
    /// A list of objects or lists, or an object of them, with its keys.
    Rows(Vec<(Option<String>, &'a RawValue)>),
    /// The same from several lists, each row with its list's name.
    Lists(Vec<(Option<String>, &'a RawValue)>),
    /// Parallel lists, each a column.
    Columns(Vec<(String, Vec<&'a RawValue>)>),
    /// Parallel objects, each a column with the same keys.
    Maps(Vec<(String, Pairs<'a>)>),
}

struct Search<'a> {
    best: Option<(usize, Vec<String>, Shape<'a>)>,
    beside: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    fn offer(&mut self, size: usize, path: &[String], shape: Shape<'a>) {
        if size > 0 && self.best.as_ref().is_none_or(|(best, ..)| size > *best) {
            self.best = Some((size, path.to_vec(), shape));
        }
    }

    fn walk(&mut self, value: &'a RawValue, path: &mut Vec<String>) {
        if path.len() > DEPTH {
            return;
        }
        match kind(value) {
            Type::List => self.list(value, path),
            Type::Object => self.object(value, path),
            Type::Single if self.beside.len() < BESIDE => self.beside.extend(text(value).map(|text| (path.join("."), text))),
            _ => {}
        }
    }

    fn list(&mut self, value: &'a RawValue, path: &mut Vec<String>) {
        let rows = elements(value);
        let Some(first) = rows.iter().find(|row| kind(row) != Type::Null) else { return };
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
        self.offer(rows.len() * width.clamp(1, 20), path, Shape::Rows(rows.into_iter().map(|row| (None, row)).collect()));
    }

    fn object(&mut self, value: &'a RawValue, path: &mut Vec<String>) {
        let all = members(value);
        let names: Vec<&str> = all.iter().take(100).map(|(name, _)| name.as_ref()).collect();
        let of = |wanted: Type| all.iter().filter(|(_, value)| kind(value) == wanted).count();
        let keyed = all.len() >= 2 && are_data(&names);
        let alike = all.len() >= 3 && of(Type::Object) == all.len() && {
            let inner = |at: usize| members(all[at].1).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
            let first = inner(0);
            !first.is_empty() && (inner(1) == first || inner(2) == first)
        };
        let inner_data = alike && {
            let first = members(all[0].1);
            are_data(&first.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>())
                && first.iter().all(|(_, value)| kind(value) == Type::Single)
        };
        if keyed || alike && !inner_data {
            let width = all.first().map_or(1, |(_, value)| match kind(value) {
                Type::Object => members(value).len(),
                Type::List => elements(value).len(),
                _ => 1,
            });
            let rows = all.iter().map(|(name, value)| (Some(name.to_string()), *value)).collect();
            self.offer(all.len() * (width + 1).clamp(1, 20), path, Shape::Rows(rows));
            return;
        }
        if inner_data || all.len() == 2 && of(Type::Object) == 2 {
            let columns: Vec<(String, Vec<_>)> = all.iter().map(|(name, value)| (name.to_string(), members(value))).collect();
            let height = columns[0].1.len();
            let data = are_data(&columns[0].1.iter().take(100).map(|(name, _)| name.as_ref()).collect::<Vec<_>>());
            if data && columns.iter().all(|(_, cells)| cells.len() == height) {
                self.offer(height * columns.len(), path, Shape::Maps(columns));
                return;
            }
        }
        let mut columns = Vec::new();
        columns_below(value, 0, &mut columns);
        let mut heights: Vec<usize> = columns.iter().map(|(_, cells)| cells.len()).filter(|height| *height > 1).collect();
        heights.sort_unstable();
        let most = heights.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(0, |same| same[0]);
        columns.retain(|(_, cells)| cells.len() == most);
        if columns.len() >= 2 {
            self.offer(most * columns.len(), path, Shape::Columns(columns));
        }
        let together = lists_of_one_shape(&all);
        if let Some((shape, names)) = &together {
            let rows = |(name, value): &(Cow<'a, str>, &'a RawValue)| {
                let name = Some(name.to_string());
                elements(value).into_iter().map(|row| (name.clone(), row)).collect::<Vec<_>>()
            };
            let rows: Vec<_> = all.iter().filter(|(name, _)| names.contains(name)).flat_map(rows).collect();
            self.offer(rows.len() * (shape.len() + 1).clamp(1, 20), path, Shape::Lists(rows));
        }
        for (name, value) in all {
            // A joined list is not the table by itself.
            if together.as_ref().is_some_and(|(_, names)| names.contains(&name)) {
                continue;
            }
            path.push(name.into_owned());
            self.walk(value, path);
            path.pop();
        }
    }
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
                let mut names: Vec<String> = members(first).into_iter().map(|(name, _)| name.into_owned()).collect();
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
    let shapes: Vec<_> = all.iter().filter_map(|(name, value)| Some((shape(value)?, name.clone()))).collect();
    let (first, _) = shapes.first()?;
    // Rows may lack some members of others.
    let alike = |other: &Vec<String>| {
        let common = other.iter().filter(|name| first.contains(name)).count();
        common * 10 >= first.len().max(other.len()) * 7
    };
    let names: Vec<_> = shapes.iter().filter(|(shape, _)| alike(shape)).map(|(_, name)| name.clone()).collect();
    (names.len() >= 2).then(|| (first.clone(), names))
}

/// Collects the lists of single values in an object and its nested objects.
fn columns_below<'a>(value: &'a RawValue, depth: usize, into: &mut Vec<(String, Vec<&'a RawValue>)>) {
    if depth > 3 || into.len() > COLUMNS {
        return;
    }
    for (name, value) in members(value) {
        match kind(value) {
            Type::Object => columns_below(value, depth + 1, into),
            Type::List => {
                let cells = elements(value);
                match cells.first().map(|first| kind(first)) {
                    Some(Type::Single | Type::Null) => into.push((name.into_owned(), cells)),
                    Some(Type::Object) if cells.len() == 1 => columns_below(cells[0], depth + 1, into),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The members of a row, nested objects flattened: `token.address`.
fn flattened(value: &RawValue, prefix: &str, depth: usize, into: &mut Vec<(String, String)>) {
    for (name, value) in members(value) {
        let name = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}.{name}") };
        match kind(value) {
            Type::Object if depth < ROW_DEPTH => flattened(value, &name, depth + 1, into),
            _ => into.extend(text(value).map(|text| (name, text))),
        }
    }
}

impl Json {
    /// The largest table in the text; `None` if there is none.
    pub(crate) fn of(text: &[u8]) -> Result<Option<Self>, String> {
        let whole: &RawValue = serde_json::from_slice(text).map_err(|error| format!("is not whole JSON: {error}; fetch it again"))?;
        let mut search = Search { best: None, beside: Vec::new() };
        search.walk(whole, &mut Vec::new());
        let Some((_, path, shape)) = search.best else { return Ok(None) };
        Ok(Some(Self::made(path.join("."), shape, search.beside)))
    }

    /// The rows at a place of the text as a table, where places are those of providers.
    pub(crate) fn at(text: &[u8], place: &str) -> Result<Self, String> {
        let rows = JsonAnswer::read(text)?.rows(place)?.ok_or_else(|| format!("has no `{place}`"))?;
        let rows: Vec<_> = rows.iter().map(|row| (None, row.as_ref())).collect();
        Ok(Self::of_rows(place.to_owned(), KEY, &rows, Vec::new()))
    }

    /// JSON Lines as rows.
    pub(crate) fn lines(text: &[u8]) -> Self {
        let rows = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let rows: Vec<(Option<String>, &RawValue)> =
            rows.filter_map(|line| serde_json::from_slice::<&RawValue>(line).ok()).map(|row| (None, row)).collect();
        Self::made(String::new(), Shape::Rows(rows), Vec::new())
    }

    fn made(place: String, shape: Shape<'_>, beside: Vec<(String, String)>) -> Self {
        match shape {
            Shape::Rows(rows) => Self::of_rows(place, KEY, &rows, beside),
            Shape::Lists(rows) => Self::of_rows(place, LIST, &rows, beside),
            Shape::Columns(columns) => {
                let height = columns.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
                let cells =
                    (0..height).map(|row| columns.iter().map(|(_, cells)| cells.get(row).and_then(|cell| text(cell))).collect()).collect();
                let names = columns.into_iter().map(|(name, _)| name).collect();
                Self { place, names, named: true, beside, lists: Vec::new(), rows: Rows::Cells(cells) }
            }
            Shape::Maps(columns) => {
                let keys: Vec<String> = columns[0].1.iter().map(|(key, _)| key.to_string()).collect();
                let mut cells: Vec<Vec<Option<String>>> = keys.iter().map(|key| vec![Some(key.clone())]).collect();
                for (_, column) in &columns {
                    let known: HashMap<&str, &RawValue> = column.iter().map(|(key, value)| (key.as_ref(), *value)).collect();
                    for (row, key) in cells.iter_mut().zip(&keys) {
                        row.push(known.get(key.as_str()).and_then(|cell| text(cell)));
                    }
                }
                let names = std::iter::once(KEY.to_owned()).chain(columns.into_iter().map(|(name, _)| name)).collect();
                Self { place, names, named: true, beside, lists: Vec::new(), rows: Rows::Cells(cells) }
            }
        }
    }

    fn of_rows(place: String, key: &str, rows: &[(Option<String>, &RawValue)], beside: Vec<(String, String)>) -> Self {
        let keyed = rows.iter().any(|(key, _)| key.is_some());
        let objects = rows.iter().any(|(_, row)| kind(row) == Type::Object);
        let mut names: Vec<String> = if keyed { vec![key.to_owned()] } else { Vec::new() };
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
            let width = rows.iter().map(|(_, row)| if kind(row) == Type::List { elements(row).len() } else { 1 }).max().unwrap_or(0);
            names.extend((1..=width.min(COLUMNS)).map(|i| i.to_string()));
        }
        let mut lists: Vec<String> = if key == LIST { rows.iter().filter_map(|(key, _)| key.clone()).collect() } else { Vec::new() };
        lists.dedup();
        let rows = rows.iter().map(|(key, row)| (key.clone(), (*row).to_owned())).collect();
        Self { place, names, named: objects, beside, lists, rows: Rows::Elements(rows) }
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
                let Some((key, row)) = rows.get(at) else { return Vec::new() };
                let name = self.names.first().filter(|name| *name == KEY || *name == LIST);
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
                    Type::List => key.into_iter().chain(elements(row).into_iter().map(text)).collect(),
                    _ => key.into_iter().chain([text(row)]).collect(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, column names and first row.
    fn found(text: &str) -> (String, Vec<String>, Vec<Option<String>>) {
        let json = Json::of(text.as_bytes()).unwrap().unwrap();
        let row = json.row(0);
        (json.place, json.names, row)
    }

    #[test]
    fn the_table_is_found_wherever_it_stands() {
        for (text, place, names, row) in [
            (r#"[[1,"2",3],[4,"5",6]]"#, "", &["1", "2", "3"][..], &["1", "2", "3"][..]),
            (r#"{"error":[],"result":{"XXBTZUSD":[[1,"2"],[3,"4"]],"last":9}}"#, "result.XXBTZUSD", &["1", "2"], &["1", "2"]),
            (r#"{"tokens":[{"a":{"b":1},"c":[1]},{"d":2}],"tags":["x","y"]}"#, "tokens", &["a.b", "c", "d"], &["1", "[1]", ""]),
            (r#"{"s":"ok","t":[1,2,3],"o":[4,5,6],"c":[7,8,9]}"#, "", &["t", "o", "c"], &["1", "4", "7"]),
            (
                r#"{"chart":{"result":[{"meta":{"symbol":"BTC-USD"},"timestamp":[1,2],"indicators":{"quote":[{"open":[3,4],"close":[5,6]}]}}]}}"#,
                "chart",
                &["timestamp", "open", "close"],
                &["1", "3", "5"],
            ),
            (r#"{"2024-01-01":{"1. open":"5"},"2024-01-02":{"1. open":"6"}}"#, "", &["key", "1. open"], &["2024-01-01", "5"]),
            (
                r#"{"open":{"0":1,"1":2},"close":{"0":3,"1":4},"low":{"0":5,"1":6}}"#,
                "",
                &["key", "open", "close", "low"],
                &["0", "1", "3", "5"],
            ),
            (
                r#"{"0x1111111111111111111111111111111111111111":"5","0x2222222222222222222222222222222222222222":"6"}"#,
                "",
                &["key", "1"],
                &["0x1111111111111111111111111111111111111111", "5"],
            ),
        ] {
            let row: Vec<Option<String>> = row.iter().map(|cell| Some((*cell).to_owned()).filter(|cell| !cell.is_empty())).collect();
            assert_eq!(found(text), (place.to_owned(), names.iter().map(|&name| name.to_owned()).collect(), row), "{text}");
        }
        let lists = Json::of(br#"{"a":[{"t":1,"o":2,"c":3}],"note":"x","b":[{"t":1,"o":5,"c":6},{"t":2,"o":7,"c":8}]}"#).unwrap().unwrap();
        assert_eq!((&lists.names[..], lists.height()), (&["list", "t", "o", "c"].map(str::to_owned)[..], 3));
        assert_eq!(lists.row(1), ["b", "1", "5", "6"].map(|cell| Some(cell.to_owned())));
        let lists = Json::of(br#"{"A":[[1,2,3,4,5]],"B":[[6,7,8,9,10]]}"#).unwrap().unwrap();
        assert_eq!((lists.names.len(), lists.row(1)[..2].to_vec()), (6, vec![Some("B".to_owned()), Some("6".to_owned())]));
        assert!(Json::of(b"5").unwrap().is_none() && Json::of(b"{").is_err());
        let beside = Json::of(br#"{"meta":{"base":{"address":"0xab"}},"list":[[1,2],[3,4]]}"#).unwrap().unwrap().beside;
        assert_eq!(beside, [("meta.base.address".to_owned(), "0xab".to_owned())]);
    }
}
