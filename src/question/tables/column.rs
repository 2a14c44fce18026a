//! The questions behind GET /tables/{table}/counts and /tables/{table}/describe: how often each value of a column occurs, and what its
//! values are like. Exact over every row that meets the conditions, chunk by chunk; they can be cancelled.

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use polars::prelude::{Column, DataType, PlHashMap};
use rayon::prelude::*;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::{WHERE, columns, known_table, order::RowQuery};
use crate::{
    analysis::column::{Number, NumberKind, Sorted, key_of_float, key_of_integer},
    dataset::{
        Table,
        cache::Places,
        cell::{CellValue, in_frame},
        grid::Grid,
        schema::Kind,
        time::{Day, Time},
    },
    error::{Code, Problem, Result},
    question::{
        Find, Question,
        parameter::{Parameter, ParameterKind, conditions as read_conditions, parameter},
        progress::Progress,
        request::request,
        snapshot::Snapshot,
    },
};

/// Rows read between two looks at whether they are still wanted.
const CHUNK_ROWS: usize = 8_192;
/// Chunks read before what they gave is put together.
const CHUNKS_AT_ONCE: usize = 256;
/// Different texts that are told apart: more would take more memory than a look at a column is worth.
const TEXTS_MAX: usize = 4_000_000;

const TABLE: Parameter = parameter("table", ParameterKind::Identifier, "The table, as GET /tables names it.");
const COLUMN: Parameter = parameter("column", ParameterKind::Column, "The column, as GET /tables names it.");

request! {
    /// How often each value of a column occurs.
    CountsQuestion at "/tables/{table}/counts" {
        table: String = TABLE,
        column: Option<String> = COLUMN,
        conditions: Option<String> = WHERE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 10_000, default: 50 }, "Values to return, the most frequent first."),
    }
}

request! {
    /// What the values of a column are like.
    DescribeQuestion at "/tables/{table}/describe" {
        table: String = TABLE,
        column: Option<String> = COLUMN,
        conditions: Option<String> = WHERE,
    }
}

/// How often the values of a column occur.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Counts {
    pub table: &'static str,
    pub column: String,
    /// Rows that meet the conditions.
    pub rows: u64,
    /// Of them without a value.
    pub missing: u64,
    /// Different values.
    pub distinct: u64,
    /// The most frequent first.
    pub counts: Vec<ValueCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ValueCount {
    #[schemars(schema_with = "cell")]
    pub value: Value,
    pub count: u64,
    /// Fraction of the rows that have a value.
    pub share: f64,
}

/// What the values of a column are like. Times are RFC 3339, days ISO 8601.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Description {
    pub table: &'static str,
    pub column: String,
    /// As `tokendeck schema` tells it.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Rows that meet the conditions.
    pub rows: u64,
    /// Of them without a value.
    pub missing: u64,
    /// Different values.
    pub distinct: u64,
    /// Of texts the first and the last in the order of their characters. Of whole numbers beyond 64 bits a text with every digit; what
    /// else is said of those is rounded to a float.
    #[schemars(schema_with = "cell")]
    pub min: Value,
    /// A quarter, a half and three quarters of the way through the values in order, by linear interpolation; null of texts.
    #[schemars(schema_with = "cell")]
    pub quartile_1: Value,
    #[schemars(schema_with = "cell")]
    pub median: Value,
    #[schemars(schema_with = "cell")]
    pub quartile_3: Value,
    #[schemars(schema_with = "cell")]
    pub max: Value,
    /// The sum over the count; null of texts.
    #[schemars(schema_with = "cell")]
    pub mean: Value,
    /// Bins of equal width from the smallest to the largest; none of texts. Of whole numbers each begins at one.
    pub histogram: Vec<Bin>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bin {
    /// Where it begins.
    #[schemars(schema_with = "cell")]
    pub from: Value,
    pub count: u64,
}

/// A value of a column.
fn cell(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "null"] })
}

/// What is looked for: the rows of a table and one of its columns. The terminal asks it as it is, with the words of its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnScan {
    pub wanted: RowQuery,
    pub column: String,
    /// Values to count.
    pub limit: usize,
}

/// Both answers, from one pass over the column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnFindings {
    pub counts: Counts,
    pub description: Description,
}

impl Find for ColumnScan {
    type Found = ColumnFindings;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<ColumnFindings> {
        let table = known_table(snapshot, self.wanted.table.name)?;
        let columns = columns::of(table);
        let named = columns::known("column", &self.column, &columns)?;
        let grid = Grid::of(table);
        let (places, _) = RowQuery { sort: Vec::new(), ..self.wanted.clone() }.kept(table, &grid, progress)?;
        let read = Read { grid: &grid, places: &places, column: named.name, progress };
        looked(table, named.kind, &read, self.limit)
    }
}

fn ask(
    snapshot: &Snapshot,
    table: &str,
    column: Option<&str>,
    conditions: Option<&str>,
    limit: u64,
    progress: &Progress,
) -> Result<ColumnFindings> {
    let table = known_table(snapshot, table)?;
    let Some(column) = column else {
        let names: Vec<&str> = columns::of(table).into_iter().map(|column| column.name).collect();
        let detail = format!("`column` is missing: name one of {}.", names.join(", "));
        return Err(Problem::new(Code::InvalidParameter, detail));
    };
    let filter = read_conditions("where", conditions.unwrap_or_default(), &columns::for_filter(table))?;
    let wanted = RowQuery { filter, ..RowQuery::all(table.schema) };
    ColumnScan { wanted, column: column.to_owned(), limit: usize::try_from(limit).unwrap_or(usize::MAX) }.find(snapshot, progress)
}

impl Question for CountsQuestion {
    type Answer = Counts;
    const NAME: &'static str = "table_counts";
    const SUMMARY: &'static str = "How often each value of a column of a table occurs.";
    const NEEDS: &'static [&'static str] = &[];

    fn heavy(&self) -> bool {
        true
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Counts> {
        Ok(ask(snapshot, &self.table, self.column.as_deref(), self.conditions.as_deref(), self.limit, progress)?.counts)
    }
}

impl Question for DescribeQuestion {
    type Answer = Description;
    const NAME: &'static str = "table_describe";
    const SUMMARY: &'static str = "What the values of a column of a table are like: count, missing, distinct, quartiles, mean, histogram.";
    const NEEDS: &'static [&'static str] = &[];

    fn heavy(&self) -> bool {
        true
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Description> {
        Ok(ask(snapshot, &self.table, self.column.as_deref(), self.conditions.as_deref(), 1, progress)?.description)
    }
}

/// The column of the rows that are looked at.
struct Read<'a> {
    grid: &'a Grid,
    places: &'a Places,
    column: &'a str,
    progress: &'a Progress,
}

impl Read<'_> {
    /// Takes what `each` makes of every chunk of the column, in their order; several are made at a time.
    fn chunks<T: Send>(&self, each: impl Fn(&Column, usize) -> T + Sync, mut take: impl FnMut(T) -> Result<()>) -> Result<()> {
        let (total, done) = (self.places.len(), AtomicU64::new(0));
        let starts: Vec<usize> = (0..total).step_by(CHUNK_ROWS).collect();
        let make = |&start: &usize| {
            self.progress.step(done.load(Relaxed), total as u64)?;
            let end = (start + CHUNK_ROWS).min(total);
            let frame = self.grid.at(self.places, start..end, Some(&[self.column]));
            done.fetch_add((end - start) as u64, Relaxed);
            let column = frame.column(self.column).map_err(|_| Problem::new(Code::Defect, "The column cannot be read."))?;
            Ok(each(column, start))
        };
        for starts in starts.chunks(CHUNKS_AT_ONCE) {
            let made: Result<Vec<T>> = starts.par_iter().map(make).collect();
            made?.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    }

    /// The numbers in order.
    fn numbers(&self, made: NumberKind) -> Result<Sorted> {
        let keys = |column: &Column, _: usize| -> Vec<u64> {
            let mut keys = Vec::with_capacity(column.len());
            match made {
                NumberKind::Floats if column.dtype() == &DataType::String => {
                    let texts = column.str().ok();
                    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
                    keys.extend(texts.into_iter().flat_map(|texts| texts.iter().flatten()).filter_map(number).map(key_of_float));
                }
                NumberKind::Floats => {
                    let floats = column.cast(&DataType::Float64).ok();
                    let floats = floats.as_ref().and_then(|column| column.f64().ok());
                    let finite = |value: &f64| value.is_finite();
                    keys.extend(floats.into_iter().flat_map(|floats| floats.iter().flatten()).filter(finite).map(key_of_float));
                }
                NumberKind::Integers => {
                    let whole = column.to_physical_repr().cast(&DataType::Int64).ok();
                    let whole = whole.as_ref().and_then(|column| column.i64().ok());
                    keys.extend(whole.into_iter().flat_map(|whole| whole.iter().flatten()).map(key_of_integer));
                }
            }
            keys
        };
        let mut all: Vec<u64> = Vec::with_capacity(self.places.len());
        self.chunks(keys, |part| {
            all.extend_from_slice(&part);
            Ok(())
        })?;
        sort(&mut all, rayon::current_num_threads());
        self.progress.step(all.len() as u64, self.places.len() as u64)?;
        Ok(Sorted::new(made, all))
    }

    /// Every text with how often it occurs; the least and the most of them in this order.
    fn texts(&self, order: fn(&str, &str) -> Ordering) -> Result<Texts> {
        // Two hashes with keys of their own: that two texts share both does not happen.
        let hashes = (RandomState::new(), RandomState::new());
        let hash = |text: &str| (hashes.0.hash_one(text), hashes.1.hash_one(text));
        let count = |column: &Column, start: usize| {
            let mut found: PlHashMap<Cow<'_, str>, (u64, u32)> = PlHashMap::default();
            if let Ok(texts) = column.str() {
                // Equal texts often stand together: they are looked up once.
                let present = texts.iter().enumerate().filter_map(|(at, text)| Some((at, text?)));
                for (at, text, count) in runs(present) {
                    found.entry(text.into()).or_insert((0, (start + at) as u32)).0 += count;
                }
            } else {
                let frame = column.clone().into_frame();
                for (at, text) in (0..column.len()).filter_map(|at| Some((at, plain(&in_frame(&frame, self.column, at))?))) {
                    found.entry(text.into()).or_insert((0, (start + at) as u32)).0 += 1;
                }
            }
            let by_order = |a: &&Cow<'_, str>, b: &&Cow<'_, str>| order(a, b).then_with(|| a.cmp(b));
            let (least, most) = (found.keys().min_by(by_order), found.keys().max_by(by_order));
            let (least, most) = (least.map(ToString::to_string), most.map(ToString::to_string));
            (found.into_iter().map(|(text, met)| (hash(&text), met)).collect::<Vec<_>>(), least, most)
        };
        let mut texts = Texts::default();
        self.chunks(count, |(found, least, most)| {
            for (hash, (count, place)) in found {
                texts.found.entry(hash).or_insert((0, place)).0 += count;
            }
            if texts.found.len() > TEXTS_MAX {
                let detail = format!("The column has more than {TEXTS_MAX} different texts: fewer rows, by conditions, can be looked at.");
                return Err(Problem::new(Code::InvalidParameter, detail));
            }
            texts.least = texts.least.take().into_iter().chain(least).min_by(|a, b| order(a, b).then_with(|| a.cmp(b)));
            texts.most = texts.most.take().into_iter().chain(most).max_by(|a, b| order(a, b).then_with(|| a.cmp(b)));
            Ok(())
        })?;
        Ok(texts)
    }

    /// The texts that occur most often.
    fn most_frequent(&self, texts: &Texts, limit: usize) -> Vec<(String, u64)> {
        let mut all: Vec<(u64, u32)> = texts.found.values().copied().collect();
        // Of equals the one that is met first.
        all.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(limit);
        let text = |place: u32| {
            let frame = self.grid.at(self.places, place as usize..place as usize + 1, Some(&[self.column]));
            plain(&in_frame(&frame, self.column, 0)).unwrap_or_default()
        };
        let mut named: Vec<(String, u64)> = all.into_iter().map(|(count, place)| (text(place), count)).collect();
        named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        named
    }
}

/// Puts numbers in order on so many threads: halved by value first, each half is sorted alone, which the standard library does in less time
/// than rayon's sort.
fn sort(keys: &mut [u64], threads: usize) {
    if threads < 2 || keys.len() < CHUNK_ROWS {
        return keys.sort_unstable();
    }
    let (low, _, high) = keys.select_nth_unstable(keys.len() / 2);
    rayon::join(|| sort(low, threads / 2), || sort(high, threads - threads / 2));
}

/// Each run of equal texts: the place of its first, and how many there are.
fn runs<'a>(texts: impl Iterator<Item = (usize, &'a str)>) -> impl Iterator<Item = (usize, &'a str, u64)> {
    let mut texts = texts.peekable();
    std::iter::from_fn(move || {
        let (at, text) = texts.next()?;
        let mut count = 1;
        while texts.next_if(|(_, next)| *next == text).is_some() {
            count += 1;
        }
        Some((at, text, count))
    })
}

/// Texts by their hashes: how often each occurs, and the first of its rows that was met.
#[derive(Debug, Default)]
struct Texts {
    found: HashMap<(u64, u64), (u64, u32)>,
    least: Option<String>,
    most: Option<String>,
}

fn plain(value: &CellValue) -> Option<String> {
    Some(match value {
        CellValue::Missing => return None,
        CellValue::Text(text) => text.clone(),
        CellValue::Integer(number) => number.to_string(),
        CellValue::Float(number) => number.to_string(),
        CellValue::Flag(flag) => flag.to_string(),
        CellValue::Time(time) => time.to_string(),
        CellValue::Day(day) => day.to_string(),
        CellValue::List(members) => members.join(", "),
    })
}

/// A number of a column of this kind in JSON.
fn written(kind: Kind, number: Number) -> Value {
    match (kind, number) {
        (Kind::Time, number) => json!(Time(whole(number))),
        (Kind::Date, number) => json!(Day(i32::try_from(whole(number)).unwrap_or_default())),
        (_, Number::Integer(number)) => json!(number),
        (_, Number::Float(number)) => json!(number),
    }
}

/// The order of whole numbers without a sign that are written out.
fn by_digits(a: &str, b: &str) -> Ordering {
    let [a, b] = [a, b].map(|digits| digits.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn whole(number: Number) -> i64 {
    match number {
        Number::Integer(number) => number,
        Number::Float(number) => number.round() as i64,
    }
}

fn looked(table: &Table, kind: Kind, read: &Read<'_>, limit: usize) -> Result<ColumnFindings> {
    let rows = read.places.len() as u64;
    let numbers = match kind {
        Kind::Integer | Kind::Time | Kind::Date => Some(read.numbers(NumberKind::Integers)?),
        Kind::Float | Kind::Uint256 => Some(read.numbers(NumberKind::Floats)?),
        _ => None,
    };
    // Digits beyond those of a float are told apart as texts.
    let texts = match (kind, &numbers) {
        (Kind::Uint256, _) => Some(read.texts(by_digits)?),
        (_, None) => Some(read.texts(str::cmp)?),
        (_, Some(_)) => None,
    };
    let count = |value: Value, count: u64, of: u64| ValueCount { value, count, share: count as f64 / of.max(1) as f64 };
    let (present, distinct, counts) = match (&texts, &numbers) {
        (Some(texts), _) => {
            let present: u64 = texts.found.values().map(|(count, _)| count).sum();
            let counts = read.most_frequent(texts, limit).into_iter().map(|(text, n)| count(json!(text), n, present)).collect();
            (present, texts.found.len() as u64, counts)
        }
        (None, Some(numbers)) => {
            let (mut distinct, mut most) = (0, Vec::new());
            for (number, n) in numbers.runs() {
                distinct += 1;
                most.push((n, number));
                // The runs come in order, so that of equals the smaller stands first; what cannot be among the most goes now and then.
                if most.len() >= limit.saturating_mul(2).max(65_536) {
                    most.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
                    most.truncate(limit);
                }
            }
            most.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
            most.truncate(limit);
            let present = numbers.len() as u64;
            (present, distinct, most.into_iter().map(|(n, number)| count(written(kind, number), n, present)).collect())
        }
        (None, None) => (0, 0, Vec::new()),
    };
    let missing = rows - present.min(rows);
    let statistics = numbers.as_ref().and_then(Sorted::statistics);
    let between = |number: f64| written(kind, Number::Float(number));
    let edges = || texts.as_ref().map(|texts| (json!(texts.least), json!(texts.most)));
    let numeric = || statistics.as_ref().map(|statistics| (written(kind, statistics.min), written(kind, statistics.max)));
    let (min, max) = edges().or_else(numeric).unwrap_or_default();
    let quartile = |nth: usize| statistics.as_ref().map_or(Value::Null, |statistics| between(statistics.quartiles[nth]));
    let bins = statistics.iter().flat_map(|statistics| &statistics.histogram);
    let description = Description {
        table: table.schema.name,
        column: read.column.to_owned(),
        kind: kind.word(),
        rows,
        missing,
        distinct,
        min,
        quartile_1: quartile(0),
        median: quartile(1),
        quartile_3: quartile(2),
        max,
        mean: statistics.as_ref().map_or(Value::Null, |statistics| between(statistics.mean)),
        histogram: bins.map(|(from, count)| Bin { from: written(kind, *from), count: *count }).collect(),
    };
    let counts = Counts { table: table.schema.name, column: read.column.to_owned(), rows, missing, distinct, counts };
    Ok(ColumnFindings { counts, description })
}

#[cfg(test)]
mod tests;
