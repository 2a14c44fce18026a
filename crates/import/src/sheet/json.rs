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

/// Members with the names or the types of a table's columns, which are no table themselves.
const OF_COLUMNS: [&str; 4] = ["column_names", "column_types", "columns", "meta"];
/// Minimum number of values of a lone object that counts as a row.
const ROW_TELLS: usize = 3;

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
        if let Some(columns) = columns_apart(&all) {
            let height = columns.first().map_or(0, |(_, cells)| cells.len());
            // More than the same rows without their names, and than the list of names.
            self.offer(height * columns.len().clamp(1, 20) + 1, path, Shape::Columns(columns));
            for (name, value) in all.iter().filter(|(_, value)| kind(value) == Type::Single) {
                path.push(name.to_string());
                self.walk(value, path);
                path.pop();
            }
            return;
        }
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
            // A joined list is not the table by itself, nor are the names of columns.
            let of_columns =
                OF_COLUMNS.contains(&name.as_ref()) && elements(value).first().is_some_and(|first| kind(first) == Type::Single);
            if of_columns || together.as_ref().is_some_and(|(_, names)| names.contains(&name)) {
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
    let lists: Vec<(&str, Vec<&RawValue>)> =
        all.iter().filter(|(_, value)| kind(value) == Type::List).map(|(name, value)| (name.as_ref(), elements(value))).collect();
    let (_, rows) = lists.iter().find(|(_, rows)| !rows.is_empty() && rows.iter().all(|row| kind(row) == Type::List))?;
    let width = elements(rows.first()?).len();
    let name = |value: &&RawValue| match kind(value) {
        Type::Object => members(value).into_iter().find(|(name, _)| name == "name").and_then(|(_, name)| text(name)),
        Type::Single if value.get().starts_with('"') => text(value),
        _ => None,
    };
    let mut named = lists.iter().filter(|(_, list)| list.len() == width && width > 1 && width <= COLUMNS).filter_map(|(of, list)| {
        let names = list.iter().map(name).collect::<Option<Vec<_>>>()?;
        let is_usual = OF_COLUMNS.contains(of);
        (is_usual || names.iter().all(|name| kind_of(name) == CellKind::Text)).then_some((is_usual, *of, names))
    });
    let first = named.next()?;
    let (_, of_names, names) = if first.0 { first } else { named.find(|(is_usual, ..)| *is_usual).unwrap_or(first) };
    let rows: Vec<Vec<&RawValue>> = rows.iter().map(|row| elements(row)).collect();
    let mut columns: Vec<(String, Vec<&RawValue>)> = Vec::new();
    for (name, list) in &lists {
        let counts = list.iter().enumerate().all(|(at, value)| value.get() == at.to_string());
        let single = list.iter().all(|value| kind(value) == Type::Single);
        let is_of_names = *name == of_names || OF_COLUMNS.contains(name);
        if list.len() == rows.len() && single && !counts && !is_of_names && !names.iter().any(|known| known == name) {
            columns.push(((*name).to_owned(), list.clone()));
        }
    }
    for (at, name) in names.into_iter().enumerate() {
        columns.push((name, rows.iter().map(|row| row.get(at).copied().unwrap_or(NOTHING)).collect()));
    }
    Some(columns)
}

/// The row inside one that only wraps it: `{"data": {…}, "__typename": …}` of GraphQL services, `{"node": {…}}`.
fn unwrapped(row: &RawValue) -> Option<&RawValue> {
    let mut inner = members(row).into_iter().filter(|(name, _)| !matches!(name.as_ref(), "__typename" | "cursor"));
    let (name, value) = inner.next()?;
    (matches!(name.as_ref(), "data" | "node") && kind(value) == Type::Object && inner.next().is_none()).then_some(value)
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

/// Whether the members of an object are rows with an address each.
fn is_by_address(value: &RawValue) -> bool {
    let all = members(value);
    all.len() > 1 && all.iter().all(|(name, _)| kind_of(name) == CellKind::Address)
}

/// Collects the lists of single values in an object and its nested objects.
fn columns_below<'a>(value: &'a RawValue, depth: usize, into: &mut Vec<(String, Vec<&'a RawValue>)>) {
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
            Type::List if let Some(two) = two_tokens(&name, value) => {
                (0..).zip(two).for_each(|(at, token)| flattened(token, &format!("{name}.{at}"), depth + 1, into));
            }
            _ => into.extend(runs_joined(value).or_else(|| text(value)).map(|text| (name, text))),
        }
    }
}

/// The text of a list of runs, as chats write formatted text: strings, and objects with a `type` and a `text`.
fn runs_joined(value: &RawValue) -> Option<String> {
    let (mut joined, mut has_objects) = (String::new(), false);
    for run in elements(value) {
        let members = members(run);
        let member = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
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
        matches!(name.as_ref(), "id" | "address") && text(value).is_some_and(|text| kind_of(&text) == CellKind::Address)
    };
    let two: [&RawValue; 2] = elements(list).try_into().ok()?;
    two.iter().all(|token| members(token).iter().any(is_address)).then_some(two)
}

impl Json {
    /// The largest table in the text; `None` if there is none.
    pub(crate) fn of(text: &[u8]) -> Result<Option<Self>, String> {
        let whole: &RawValue = serde_json::from_slice(text).map_err(|error| format!("is not complete JSON: {error}; download it again"))?;
        let mut search = Search { best: None, beside: Vec::new() };
        search.walk(whole, &mut Vec::new());
        // A lone object of values is a file of one row.
        let values = members(whole).iter().filter(|(_, value)| kind(value) == Type::Single).count();
        if search.best.is_none() && values >= ROW_TELLS {
            search.offer(values, &[], Shape::Rows(vec![(None, whole)]));
        }
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
        let (mut rows, mut nan, mut bad, mut all) = (Vec::new(), 0, Vec::new(), 0);
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty()) {
            all += 1;
            let plain = || {
                let (plain, count) = source::without_nan(line)?;
                nan += count;
                serde_json::from_slice::<Box<RawValue>>(&plain).ok().map(Cow::Owned)
            };
            match serde_json::from_slice::<&RawValue>(line).ok().map(Cow::Borrowed).or_else(plain) {
                Some(row) => rows.push(row),
                None => bad.push(number),
            }
        }
        let mut json = Self::made(String::new(), Self::of_lines(&rows), Vec::new());
        json.notes = source::note_on_nan(nan).into_iter().collect();
        let note =
            |first: &usize| format!("warning: {} of its {all} lines are not JSON and are omitted; the first is line {first}", bad.len());
        json.notes.extend(bad.first().map(note));
        json
    }

    /// Rows of lines; where these are lists, the first may have the names and the second the types (ClickHouse's
    /// JSONCompactEachRowWithNamesAndTypes).
    fn of_lines<'a>(rows: &'a [Cow<'a, RawValue>]) -> Shape<'a> {
        let lists: Vec<Vec<&RawValue>> =
            if rows.iter().all(|row| kind(row) == Type::List) { rows.iter().map(|row| elements(row)).collect() } else { Vec::new() };
        let is_text = |value: &&RawValue| value.get().starts_with('"') && text(value).is_some_and(|text| kind_of(&text) == CellKind::Text);
        if let [first, rest @ ..] = &lists[..]
            && first.iter().all(is_text)
            && rest.iter().any(|row| row.len() == first.len() && !row.iter().all(is_text))
        {
            let are_types = |row: &&Vec<&RawValue>| row.len() == first.len() && row.iter().all(is_text);
            let rest = &rest[usize::from(rest.first().filter(are_types).is_some_and(|row| row.iter().all(|cell| is_type(cell))))..];
            let cells = |at: usize| rest.iter().map(|row| row.get(at).copied().unwrap_or(NOTHING)).collect();
            return Shape::Columns(first.iter().enumerate().map(|(at, name)| (text(name).unwrap_or_default(), cells(at))).collect());
        }
        Shape::Rows(rows.iter().map(|row| (None, row.as_ref())).collect())
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
                Self { place, names, named: true, beside, lists: Vec::new(), notes: Vec::new(), rows: Rows::Cells(cells) }
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
                Self { place, names, named: true, beside, lists: Vec::new(), notes: Vec::new(), rows: Rows::Cells(cells) }
            }
        }
    }

    fn of_rows(place: String, key: &str, rows: &[(Option<String>, &RawValue)], beside: Vec<(String, String)>) -> Self {
        let inner: Option<Vec<_>> = rows.iter().map(|(key, row)| Some((key.clone(), unwrapped(row)?))).collect();
        let rows = inner.as_deref().unwrap_or(rows);
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
        Self { place, names, named: objects, beside, lists, notes: Vec::new(), rows: Rows::Elements(rows) }
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
            (r#"{"columns":["o","c"],"index":[7,8],"data":[[1,2],[3,4]]}"#, "", &["index", "o", "c"], &["7", "1", "2"]),
            (r#"{"index":["x","y"],"columns":["o","c"],"data":[[1,2],[3,4]]}"#, "", &["index", "o", "c"], &["x", "1", "2"]),
            (r#"{"columns":["t","c"],"index":[0,1],"data":[[1,2],[3,4]]}"#, "", &["t", "c"], &["1", "2"]),
            (r#"{"meta":[{"name":"a","type":"x"},{"name":"b"}],"data":[["1",2]],"rows":1}"#, "", &["a", "b"], &["1", "2"]),
            (r#"{"time":5,"open":1,"close":2}"#, "", &["time", "open", "close"], &["5", "1", "2"]),
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
            (
                r#"{"root":"x","claims":{"0x1111111111111111111111111111111111111111":{"amount":"5","proof":["a","b","c"]},"0x2222222222222222222222222222222222222222":{"amount":"6","proof":["d","e","f"]}}}"#,
                "claims",
                &["key", "amount", "proof"],
                &["0x1111111111111111111111111111111111111111", "5", r#"["a","b","c"]"#],
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
        let graph =
            Json::of(br#"{"data":{"get_result":[{"data":{"a":1,"b":2},"__typename":"x"},{"data":{"a":3},"__typename":"x"}]}}"#).unwrap();
        assert_eq!(graph.map(|json| (json.names.clone(), json.row(1))), Some((vec!["a".into(), "b".into()], vec![Some("3".into()), None])));
        let one = found(r#"{"result":{"rows":[{"a":1,"b":2}],"metadata":{"column_names":["a","b"],"column_types":["x","y"]}}}"#);
        assert_eq!((one.0.as_str(), one.1.len()), ("result.rows", 2));
        assert!(Json::of(br#"{"status":"0","message":"x"}"#).unwrap().is_none());
        assert!(Json::of(b"5").unwrap().is_none() && Json::of(b"{").is_err());
        let beside = Json::of(br#"{"meta":{"base":{"address":"0xab"}},"list":[[1,2],[3,4]]}"#).unwrap().unwrap().beside;
        assert_eq!(beside, [("meta.base.address".to_owned(), "0xab".to_owned())]);
    }

    #[test]
    fn lines_may_be_lists_and_none_is_dropped_in_silence() {
        let first = |text: &str| {
            let json = Json::lines(text.as_bytes());
            (json.names.join(" "), json.height(), json.row(0).into_iter().flatten().collect::<Vec<_>>().join(" "), json.notes.len())
        };
        for (text, names, height, row, notes) in [
            ("{\"a\":1}\n{\"a\":2}", "a", 2, "1", 0),
            ("{\"a\":NaN,\"b\":1}\n{\"a\":2}", "b a", 2, "1", 1),
            ("{\"a\":1}\n{\"a\":\n\n{\"a\":3}", "a", 2, "1", 1),
            ("[\"t\",\"c\"]\n[1,\"5\"]\n[2,\"6\"]", "t c", 2, "1 5", 0),
            ("[\"t\",\"c\"]\n[\"UInt64\",\"Nullable(String)\"]\n[1,\"5\"]", "t c", 1, "1 5", 0),
            ("[1,\"5\"]\n[2,\"6\"]", "1 2", 2, "1 5", 0),
            ("[\"x\",\"y\"]\n[\"z\",\"w\"]", "1 2", 2, "x y", 0),
        ] {
            assert_eq!(first(text), (names.to_owned(), height, row.to_owned(), notes), "{text}");
        }
    }
}
