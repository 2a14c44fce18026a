//! The queries behind GET /tables/{table}/counts and /tables/{table}/describe: value counts and descriptive statistics of a column. Exact
//! over every row that meets the conditions, chunk by chunk; cancellable.

mod remote;

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use polars::prelude::PlHashMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    WHERE,
    chunks::{BATCH_CHUNKS, CHUNK_ROWS, Chunk, chunks},
    columns, loaded_table,
    order::RowQuery,
    remote::RemoteQuery,
};
use crate::queries::{
    Find, Query,
    parameter::{Parameter, ParameterKind, TokenReader, conditions as read_conditions, parameter},
    request::request,
    view::View,
};
use analysis::column::{Number, NumberKind, Sorted, key_of_float, key_of_integer};
use load::Table;
use model::{
    error::{Code, Problem, Result},
    progress::Progress,
    scalar::Scalar,
    schema::{self, Kind},
    time::{Day, Time},
};
use remote::{CountedValues, TextValues, ordered_counts, too_many_texts};
use table::{RowSelection, TableRows};

/// Maximum number of distinct texts; more would use too much memory.
const TEXTS_MAX: usize = 4_000_000;

const TABLE: Parameter = parameter(
    "table",
    ParameterKind::Identifier,
    "Table name, from the list of tables.",
);
const COLUMN: Parameter = parameter(
    "column",
    ParameterKind::Column,
    "Column name, from the list of tables.",
);

request! {
    /// How often each value of a column occurs.
    CountsQuery at "/tables/{table}/counts" {
        table: String = TABLE,
        column: Option<String> = COLUMN,
        conditions: Option<String> = WHERE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 10_000, default: 50 }, "Number of values to return, most \
            frequent first."),
    }
}

request! {
    /// Descriptive statistics of a column.
    DescribeQuery at "/tables/{table}/describe" {
        table: String = TABLE,
        column: Option<String> = COLUMN,
        conditions: Option<String> = WHERE,
    }
}

/// Value counts of a column.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Counts {
    pub table: &'static str,
    pub column: String,
    /// Rows that match the conditions.
    pub rows: u64,
    /// Matching rows without a value.
    pub missing: u64,
    /// Distinct values.
    pub distinct: u64,
    /// Most frequent first.
    pub counts: Vec<ValueCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ValueCount {
    #[schemars(schema_with = "cell")]
    pub value: Value,
    pub count: u64,
    /// Fraction of the rows with a value. A row with a list has each of its elements.
    pub share: f64,
}

/// Descriptive statistics of a column. Times are RFC 3339, days ISO 8601.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Description {
    pub table: &'static str,
    pub column: String,
    /// Type name, as in `tokendeck schema`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Rows that match the conditions.
    pub rows: u64,
    /// Matching rows without a value.
    pub missing: u64,
    /// Distinct values.
    pub distinct: u64,
    /// For text, the first and the last in character order. For integers beyond 64 bits, text with every digit; their other statistics are
    /// rounded to a float.
    #[schemars(schema_with = "cell")]
    pub min: Value,
    /// Quartiles by linear interpolation; null for text.
    #[schemars(schema_with = "cell")]
    pub quartile_1: Value,
    #[schemars(schema_with = "cell")]
    pub median: Value,
    #[schemars(schema_with = "cell")]
    pub quartile_3: Value,
    #[schemars(schema_with = "cell")]
    pub max: Value,
    /// Arithmetic mean; null for text.
    #[schemars(schema_with = "cell")]
    pub mean: Value,
    /// Bins of equal width from minimum to maximum; empty for text. Bins of integers start at integers.
    pub histogram: Vec<Bin>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bin {
    /// Lower edge.
    #[schemars(schema_with = "cell")]
    pub from: Value,
    pub count: u64,
}

/// The schema of a column value.
fn cell(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number", "null"] })
}

/// A query of rows and one of their columns. The terminal uses it directly, with the words of its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnScan {
    pub query: RowQuery,
    pub column: String,
    /// Maximum number of values in the counts.
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

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<ColumnFindings> {
        let table = loaded_table(view, self.query.table.name)?;
        let columns = columns::of(table);
        let column = columns::find("column", &self.column, &columns)?;
        let query = RowQuery {
            sort: Vec::new(),
            ..self.query.clone()
        };
        let values = if let Some(remote) = RemoteQuery::of(view, table, &query, progress)? {
            remote::values(&remote, column, self.limit)?
        } else {
            let grid = Arc::clone(&table.rows);
            let (places, _) = query.matching_rows(&grid, progress)?;
            ColumnReader {
                grid: &grid,
                places: &places,
                column: column.name,
                progress,
            }
            .values(column.kind, self.limit)?
        };
        Ok(column_findings(table, column, &values, self.limit))
    }
}

fn answer_both(
    view: &View<'_>,
    table: &str,
    column: Option<&str>,
    conditions: Option<&str>,
    limit: u64,
    progress: &Progress,
) -> Result<ColumnFindings> {
    let table = loaded_table(view, table)?;
    let Some(column) = column else {
        let names: Vec<&str> = columns::of(table)
            .into_iter()
            .map(|column| column.name)
            .collect();
        let detail = format!("`column` is required; choose one of {}.", names.join(", "));
        return Err(Problem::new(Code::InvalidParameter, detail));
    };
    let filter = read_conditions(
        "where",
        conditions.unwrap_or_default(),
        &columns::for_filter(table),
        TokenReader::of(&**view),
    )?;
    let query = RowQuery {
        filter,
        ..RowQuery::all(table.schema)
    };
    ColumnScan {
        query,
        column: column.to_owned(),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    }
    .find(view, progress)
}

impl Query for CountsQuery {
    type Answer = Counts;
    const NAME: &'static str = "table_counts";
    const SUMMARY: &'static str = "Count the values of a column.";
    const NEEDS: &'static [&'static str] = &[];
    const HEAVY: bool = true;

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Counts> {
        Ok(answer_both(
            view,
            &self.table,
            self.column.as_deref(),
            self.conditions.as_deref(),
            self.limit,
            progress,
        )?
        .counts)
    }
}

impl Query for DescribeQuery {
    type Answer = Description;
    const NAME: &'static str = "table_describe";
    const SUMMARY: &'static str =
        "Describe a column: count, missing, distinct, quartiles, mean, histogram.";
    const NEEDS: &'static [&'static str] = &[];
    const HEAVY: bool = true;

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Description> {
        Ok(answer_both(
            view,
            &self.table,
            self.column.as_deref(),
            self.conditions.as_deref(),
            1,
            progress,
        )?
        .description)
    }
}

/// Reads one column of the selected rows.
struct ColumnReader<'a> {
    grid: &'a TableRows,
    places: &'a RowSelection,
    column: &'static str,
    progress: &'a Progress,
}

impl ColumnReader<'_> {
    /// The numbers, sorted.
    fn numbers(&self, kind: NumberKind) -> Result<Sorted> {
        let key = |value: Scalar<'_>| match (kind, &value) {
            (NumberKind::Floats, value) => {
                let number = value.as_float().filter(|number| number.is_finite());
                number.map(key_of_float)
            }
            (_, Scalar::Whole(number) | Scalar::Time(Time(number))) => {
                Some(key_of_integer(*number))
            }
            (_, Scalar::Day(day)) => Some(key_of_integer(i64::from(day.0))),
            _ => None,
        };
        let keys = |chunk: &Chunk<'_>| chunk.values(0).filter_map(key).collect::<Vec<u64>>();
        let mut all: Vec<u64> = Vec::with_capacity(self.places.len());
        chunks(
            self.grid,
            self.places,
            &[self.column],
            self.progress,
            BATCH_CHUNKS,
            keys,
            |part| {
                all.extend_from_slice(&part);
                Ok(())
            },
        )?;
        parallel_sort(&mut all, rayon::current_num_threads());
        self.progress
            .step(all.len() as u64, self.places.len() as u64)?;
        Ok(Sorted::new(kind, all))
    }

    /// Counts every text; also the minimum and the maximum in this order.
    fn texts(&self, order: fn(&str, &str) -> Ordering) -> Result<Texts> {
        // Two independently keyed hashes: a collision in both is practically impossible.
        let hashers = (RandomState::new(), RandomState::new());
        let hash = |text: &str| (hashers.0.hash_one(text), hashers.1.hash_one(text));
        let compare = |a: &str, b: &str| order(a, b).then_with(|| a.cmp(b));
        let count = |chunk: &Chunk<'_>| {
            let ChunkTexts { counts, present } = count_texts(chunk);
            let min = counts
                .keys()
                .min_by(|a, b| compare(a, b))
                .map(ToString::to_string);
            let max = counts
                .keys()
                .max_by(|a, b| compare(a, b))
                .map(ToString::to_string);
            (
                counts
                    .into_iter()
                    .map(|(text, count)| (hash(&text), count))
                    .collect::<Vec<_>>(),
                present,
                min,
                max,
            )
        };
        let mut texts = Texts::default();
        chunks(
            self.grid,
            self.places,
            &[self.column],
            self.progress,
            BATCH_CHUNKS,
            count,
            |(counts, present, min, max)| {
                for (hash, TextCount { count, at }) in counts {
                    texts
                        .counts
                        .entry(hash)
                        .or_insert(TextCount { count: 0, at })
                        .count += count;
                }
                texts.present += present;
                if texts.counts.len() > TEXTS_MAX {
                    return Err(too_many_texts());
                }
                texts.min = texts
                    .min
                    .take()
                    .into_iter()
                    .chain(min)
                    .min_by(|a, b| compare(a, b));
                texts.max = texts
                    .max
                    .take()
                    .into_iter()
                    .chain(max)
                    .max_by(|a, b| compare(a, b));
                Ok(())
            },
        )?;
        Ok(texts)
    }

    fn values(&self, kind: Kind, limit: usize) -> Result<CountedValues> {
        let numbers = match kind {
            Kind::Integer | Kind::Time | Kind::Date => Some(self.numbers(NumberKind::Integers)?),
            Kind::Float | Kind::Uint256 => Some(self.numbers(NumberKind::Floats)?),
            _ => None,
        };
        // Digits beyond a float's precision are distinguished as texts.
        let texts = match (kind, &numbers) {
            (Kind::Uint256, _) => Some(self.texts(compare_digits)?),
            (_, None) => Some(self.texts(str::cmp)?),
            (_, Some(_)) => None,
        };
        let texts = texts.map(|texts| TextValues {
            present: texts.present,
            distinct: texts.counts.len() as u64,
            counts: self.most_frequent(&texts, limit),
            min: texts.min,
            max: texts.max,
        });
        Ok(CountedValues {
            rows: self.places.len() as u64,
            numbers,
            texts,
        })
    }

    /// The most frequent texts and their counts.
    fn most_frequent(&self, texts: &Texts, limit: usize) -> Vec<(String, u64)> {
        let mut counts: Vec<TextCount> = texts.counts.values().copied().collect();
        // Ties: the earliest row first.
        counts.sort_unstable_by(|a, b| b.count.cmp(&a.count).then(a.at.cmp(&b.at)));
        counts.truncate(limit);
        let text = |at: TextPlace| {
            let row = self.places.get(at.row as usize)?;
            match self.grid.cell(self.column, row) {
                Scalar::List(elements) => {
                    Some(elements.into_iter().nth(at.nth as usize)?.into_owned())
                }
                cell => cell.to_text(),
            }
        };
        ordered_counts(
            counts
                .into_iter()
                .map(|counted| (text(counted.at).unwrap_or_default(), counted.count))
                .collect(),
        )
    }
}

/// Parallel sort: partitions around the median and sorts the halves on their own threads, which with the standard library's sort is faster
/// than rayon's.
fn parallel_sort(keys: &mut [u64], threads: usize) {
    if threads < 2 || keys.len() < CHUNK_ROWS {
        return keys.sort_unstable();
    }
    let (low, _, high) = keys.select_nth_unstable(keys.len() / 2);
    rayon::join(
        || parallel_sort(low, threads / 2),
        || parallel_sort(high, threads - threads / 2),
    );
}

/// The texts of a chunk.
#[derive(Default)]
struct ChunkTexts<'c> {
    counts: PlHashMap<Cow<'c, str>, TextCount>,
    /// Rows with a text.
    present: u64,
}

impl<'c> ChunkTexts<'c> {
    fn add(&mut self, text: Cow<'c, str>, count: u64, at: TextPlace) {
        self.counts
            .entry(text)
            .or_insert(TextCount { count: 0, at })
            .count += count;
    }
}

/// Counts the texts of a chunk, of a list each of its elements once.
fn count_texts<'c>(chunk: &'c Chunk<'_>) -> ChunkTexts<'c> {
    let mut texts = ChunkTexts::default();
    // Equal texts often come in runs: one lookup for each run.
    let mut values = chunk.values(0).enumerate().peekable();
    while let Some((place, value)) = values.next() {
        let mut count = 1;
        while values.next_if(|(_, next)| *next == value).is_some() {
            count += 1;
        }
        let at = |nth: usize| TextPlace {
            row: (chunk.start + place) as u32,
            nth: nth as u32,
        };
        let text = match value {
            Scalar::Text(text) | Scalar::Digits(text) => Some(text),
            Scalar::List(elements) => {
                texts.present += if elements.is_empty() { 0 } else { count };
                for (nth, element) in elements.iter().enumerate() {
                    if !elements[..nth].contains(element) {
                        texts.add(element.clone(), count, at(nth));
                    }
                }
                continue;
            }
            value => value.to_text().map(Cow::Owned),
        };
        if let Some(text) = text {
            texts.present += count;
            texts.add(text, count, at(0));
        }
    }
    texts
}

/// Where a text was first found: the place of the selected row, and of the element if the row has a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TextPlace {
    row: u32,
    nth: u32,
}

/// How often a text occurs, and where first.
#[derive(Debug, Clone, Copy)]
struct TextCount {
    count: u64,
    at: TextPlace,
}

/// Texts by their two hashes.
#[derive(Debug, Default)]
struct Texts {
    counts: HashMap<(u64, u64), TextCount>,
    /// Rows with a text.
    present: u64,
    min: Option<String>,
    max: Option<String>,
}

/// A number of a column of this kind as JSON.
fn json_number(kind: Kind, number: Number) -> Value {
    match (kind, number) {
        (Kind::Time, number) => json!(Time(rounded(number))),
        (Kind::Date, number) => json!(Day(i32::try_from(rounded(number)).unwrap_or_default())),
        (_, Number::Integer(number)) => json!(number),
        (_, Number::Float(number)) => json!(number),
    }
}

/// Compares unsigned decimal integers of any length.
fn compare_digits(a: &str, b: &str) -> Ordering {
    let [a, b] = [a, b].map(|digits| digits.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn rounded(number: Number) -> i64 {
    match number {
        Number::Integer(number) => number,
        Number::Float(number) => number.round() as i64,
    }
}

/// The most frequent of the numbers, smaller ones first among equally frequent ones; and the number of distinct ones.
fn most_frequent_numbers(numbers: &Sorted, limit: usize) -> (Vec<(Number, u64)>, u64) {
    // Runs come in ascending order, so a stable sort keeps the smaller value first.
    let keep_most_frequent = |counts: &mut Vec<(Number, u64)>| {
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(limit);
    };
    let (mut counts, mut distinct) = (Vec::new(), 0);
    for (number, count) in numbers.runs() {
        distinct += 1;
        counts.push((number, count));
        // The least frequent are dropped from time to time.
        if counts.len() >= limit.saturating_mul(2).max(65_536) {
            keep_most_frequent(&mut counts);
        }
    }
    keep_most_frequent(&mut counts);
    (counts, distinct)
}

fn column_findings(
    table: &Table,
    column: &schema::Column,
    values: &CountedValues,
    limit: usize,
) -> ColumnFindings {
    let CountedValues {
        rows,
        numbers,
        texts,
    } = values;
    let (kind, rows) = (column.kind, *rows);
    let (present, distinct, counts): (u64, u64, Vec<(Value, u64)>) = match (texts, numbers) {
        (Some(texts), _) => (
            texts.present,
            texts.distinct,
            texts
                .counts
                .iter()
                .map(|(text, count)| (json!(text), *count))
                .collect(),
        ),
        (None, Some(numbers)) => {
            let (counts, distinct) = most_frequent_numbers(numbers, limit);
            let counts = counts
                .into_iter()
                .map(|(number, count)| (json_number(kind, number), count));
            (numbers.len() as u64, distinct, counts.collect())
        }
        (None, None) => (0, 0, Vec::new()),
    };
    let share = |count: u64| count as f64 / present.max(1) as f64;
    let counts = counts
        .into_iter()
        .map(|(value, count)| ValueCount {
            value,
            count,
            share: share(count),
        })
        .collect();
    let missing = rows - present.min(rows);
    let statistics = numbers.as_ref().and_then(Sorted::statistics);
    let (min, max) = match (texts, &statistics) {
        (Some(texts), _) => (json!(texts.min), json!(texts.max)),
        (None, Some(statistics)) => (
            json_number(kind, statistics.min),
            json_number(kind, statistics.max),
        ),
        (None, None) => (Value::Null, Value::Null),
    };
    let float = |number: Option<f64>| {
        number.map_or(Value::Null, |number| {
            json_number(kind, Number::Float(number))
        })
    };
    let quartile = |nth: usize| {
        float(
            statistics
                .as_ref()
                .map(|statistics| statistics.quartiles[nth]),
        )
    };
    let bins = statistics
        .iter()
        .flat_map(|statistics| &statistics.histogram);
    let description = Description {
        table: table.schema.name,
        column: column.name.to_owned(),
        kind: kind.word(),
        rows,
        missing,
        distinct,
        min,
        quartile_1: quartile(0),
        median: quartile(1),
        quartile_3: quartile(2),
        max,
        mean: float(statistics.as_ref().map(|statistics| statistics.mean)),
        histogram: bins
            .map(|(from, count)| Bin {
                from: json_number(kind, *from),
                count: *count,
            })
            .collect(),
    };
    let counts = Counts {
        table: table.schema.name,
        column: column.name.to_owned(),
        rows,
        missing,
        distinct,
        counts,
    };
    ColumnFindings {
        counts,
        description,
    }
}

#[cfg(test)]
mod tests;
