//! Rows of a table in groups: `by` a column, with counts, sums, means, smallest and largest values of others. Over every row that meets the
//! conditions, chunk by chunk; cancellable. The figures are the analysis's.

use std::{borrow::Cow, collections::HashMap, fmt};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, PlHashMap, PolarsResult, Series, TimeUnit, TimeZone};

use super::{chunks::chunks, column::display_text, columns, known_table, order::RowQuery};
use crate::question::{
    Find,
    filter::of_kind,
    list::{SortKey, sort_rows},
    order::Order,
    parameter::{self, clip, parts_of},
    progress::Progress,
    snapshot::Snapshot,
};
use analysis::groups::{Aggregate, AggregateValue, Tally};
use model::{
    error::{Code, Problem, Result},
    format, names,
    schema::{self, Kind},
};
use store::{Table, cache::RowSelection, cell::in_frame, grid::Grid};

/// Maximum number of figures of a group.
const FIGURES_MAX: usize = 8;
/// Maximum number of groups; more would use too much memory.
const GROUPS_MAX: usize = 1_000_000;
/// Maximum number of groups that are shown.
pub const SHOWN_MAX: usize = 10_000;

/// A figure of each group: `count`, `sum:volume`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupFigure {
    aggregate: Aggregate,
    /// None for the number of rows.
    of: Option<schema::Column>,
    /// Its column in the answer: `count`, `sum_volume`.
    name: &'static str,
}

impl fmt::Display for GroupFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.aggregate.word())?;
        self.of.map_or(Ok(()), |column| write!(f, ":{}", column.name))
    }
}

/// Rows in groups. The terminal uses it directly, with the words of its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupQuery {
    /// The rows; its order does not matter.
    pub rows: RowQuery,
    pub by: schema::Column,
    pub figures: Vec<GroupFigure>,
    /// Empty: the largest first figure first.
    pub sort: Vec<Order>,
    /// Maximum number of groups in the frame.
    pub limit: usize,
}

/// The groups in their order: the column, then the figures.
#[derive(Debug, Clone)]
pub struct Groups {
    pub frame: DataFrame,
    /// Number of all groups.
    pub total: usize,
}

impl Groups {
    /// What of the groups is not in the frame.
    pub fn cut(&self) -> Option<String> {
        let shown = self.frame.height();
        (shown < self.total).then(|| {
            let [shown, total] = [shown, self.total].map(|count| format::count(count as u64));
            format!("the first {shown} of {total} groups in this order; `limit` gives up to {}", format::count(SHOWN_MAX as u64))
        })
    }
}

impl GroupQuery {
    /// Reads `by`, `agg` and `sort` for a table, without rows left out.
    pub fn read(table: &Table, by: &str, agg: &str, sort: &str) -> Result<Self> {
        let known = columns::of(table);
        let by = *columns::find("by", by.trim(), &known)?;
        let mut figures: Vec<GroupFigure> = Vec::new();
        let parts: Vec<&str> = parts_of(agg).collect();
        for part in if parts.is_empty() { vec!["count"] } else { parts } {
            let figure = figure(part, &known)?;
            if figure.name == by.name {
                return Err(refused(format!("`by` names `{}`, and a figure of `agg` has that name too: leave one out.", by.name)));
            }
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        if figures.len() > FIGURES_MAX {
            return Err(refused(format!("`agg` has {} figures: expected at most {FIGURES_MAX}.", figures.len())));
        }
        let kind = |figure: &GroupFigure| figure.of.filter(|_| figure.keeps_kind()).map_or(Kind::Float, |column| column.kind);
        let named = figures.iter().map(|figure| of_kind(figure.name, kind(figure), &[]));
        let named: Vec<_> = std::iter::once(of_kind(by.name, by.kind, by.aliases)).chain(named).collect();
        let sort = parameter::orders("sort", sort, &named)?;
        Ok(Self { rows: RowQuery::all(table.schema), by, figures, sort, limit: SHOWN_MAX })
    }

    /// The names of the answer's columns.
    pub fn columns(&self) -> Vec<&'static str> {
        std::iter::once(self.by.name).chain(self.figures.iter().map(|figure| figure.name)).collect()
    }

    /// The kind of a column of the answer.
    pub fn kind(&self, name: &str) -> Kind {
        let figure = self.figures.iter().find(|figure| figure.name == name);
        match figure {
            None => self.by.kind,
            Some(figure) if figure.aggregate == Aggregate::Count => Kind::Integer,
            Some(figure) => {
                figure.of.filter(|column| figure.keeps_kind() || column.kind == Kind::Integer).map_or(Kind::Float, |of| of.kind)
            }
        }
    }

    /// Every figure that a table with these columns has.
    pub fn proposals(known: &[schema::Column]) -> Vec<String> {
        let of = |aggregate: Aggregate| {
            known
                .iter()
                .filter(move |column| fits(aggregate, column.kind))
                .map(move |column| format!("{}:{}", aggregate.word(), column.name))
        };
        let made = Aggregate::ALL.into_iter().filter(|aggregate| *aggregate != Aggregate::Count).flat_map(of);
        std::iter::once(Aggregate::Count.word().to_owned()).chain(made).collect()
    }

    /// The `agg` that reads as these figures.
    pub fn agg(&self) -> String {
        self.figures.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

impl GroupFigure {
    /// Whether it is one of the values, not made of them.
    fn keeps_kind(&self) -> bool {
        matches!(self.aggregate, Aggregate::Min | Aggregate::Max)
    }
}

/// Reads `sum:volume`, or `count`.
fn figure(part: &str, known: &[schema::Column]) -> Result<GroupFigure> {
    let words = || Aggregate::ALL.map(Aggregate::word).join(", ");
    let (word, column) = part.split_once(':').map_or((part, None), |(word, column)| (word, Some(column.trim())));
    let Some(aggregate) = Aggregate::parse(&word.trim().to_lowercase()) else {
        return Err(refused(format!("`agg` has `{}`: expected one of {}, and a column, as in `count,sum:COLUMN`.", clip(part), words())));
    };
    let of = match column {
        None if aggregate == Aggregate::Count => None,
        None => {
            return Err(refused(format!(
                "`agg` has `{word}` without a column: write `{word}:COLUMN`, with one of {}.",
                fitting(aggregate, known)
            )));
        }
        Some(column) => Some(*columns::find("agg", column, known)?),
    };
    if let Some(column) = of.filter(|column| aggregate != Aggregate::Count && !fits(aggregate, column.kind)) {
        let wanted = if aggregate.adds() { "numbers" } else { "numbers or times" };
        return Err(refused(format!(
            "`agg` has `{}`: `{}` holds {}, and {} is of {wanted}. Expected one of {}.",
            clip(part),
            column.name,
            column.kind.word(),
            aggregate.word(),
            fitting(aggregate, known)
        )));
    }
    let name = of.map_or(Some(aggregate.word()), |column| names::intern(&format!("{}_{}", aggregate.word(), column.name)));
    let name = name.ok_or_else(|| refused(format!("`agg` has `{}`: the column's name is too long.", clip(part))))?;
    Ok(GroupFigure { aggregate, of, name })
}

fn refused(detail: String) -> Problem {
    Problem::new(Code::InvalidParameter, detail)
}

fn fits(aggregate: Aggregate, kind: Kind) -> bool {
    match kind {
        Kind::Integer | Kind::Float | Kind::Uint256 => true,
        Kind::Time | Kind::Date => !aggregate.adds(),
        _ => false,
    }
}

fn fitting(aggregate: Aggregate, known: &[schema::Column]) -> String {
    let names: Vec<&str> = known.iter().filter(|column| fits(aggregate, column.kind)).map(|column| column.name).collect();
    if names.is_empty() { "none: this table has no such column".to_owned() } else { names.join(", ") }
}

/// The value that the rows of a group share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum GroupKey<T = Box<str>> {
    Missing,
    Whole(i64),
    /// The bits of a float.
    Float(u64),
    Text(T),
}

/// A key that borrows its text from the column.
type RowKey<'a> = GroupKey<Cow<'a, str>>;

/// The rows of a group as far as they were read.
struct Group {
    key: GroupKey,
    /// The first of the selected rows that belongs to it.
    first: usize,
    rows: u64,
    tallies: Vec<Tally>,
}

impl Find for GroupQuery {
    type Found = Groups;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Groups> {
        let table = known_table(snapshot, self.rows.table.name)?;
        let grid = Grid::of(table);
        let (places, _) = RowQuery { sort: Vec::new(), ..self.rows.clone() }.matching_rows(table, &grid, progress)?;
        let mut groups = self.groups(&grid, &places, progress)?;
        let total = groups.len();
        let first = self.figures.first().map(|figure| Order::falling(figure.name));
        let orders = if self.sort.is_empty() { first.into_iter().collect() } else { self.sort.clone() };
        let by_key = Order::rising(self.by.name);
        let ties = |a: &Group, b: &Group| by_key.compare(self.key_of(a).as_ref(), self.key_of(b).as_ref());
        sort_rows(&mut groups, &orders, |group, column| self.sort_key(group, column), ties);
        groups.truncate(self.limit);
        Ok(Groups { frame: self.frame(&groups, &grid, &places)?, total })
    }
}

impl GroupQuery {
    /// The columns whose values are read, each once.
    fn read_columns(&self) -> Vec<schema::Column> {
        let mut read: Vec<schema::Column> = Vec::new();
        for column in self.figures.iter().filter_map(|figure| figure.of) {
            if !read.contains(&column) {
                read.push(column);
            }
        }
        read
    }

    fn groups(&self, grid: &Grid, places: &RowSelection, progress: &Progress) -> Result<Vec<Group>> {
        let read = self.read_columns();
        let names: Vec<&str> = std::iter::once(self.by.name).chain(read.iter().map(|column| column.name)).collect();
        let mut known: HashMap<GroupKey, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let each = |frame: &DataFrame, start: usize| grouped(frame, start, self.by, &read);
        chunks(grid, places, &names, progress, each, |part| {
            for group in part.map_err(|_| Problem::new(Code::Defect, "The columns cannot be read."))? {
                let Some(&at) = known.get(&group.key) else {
                    known.insert(group.key.clone(), groups.len());
                    groups.push(group);
                    continue;
                };
                groups[at].rows += group.rows;
                groups[at].tallies.iter_mut().zip(&group.tallies).for_each(|(tally, other)| tally.merge(other));
            }
            if groups.len() > GROUPS_MAX {
                let most = format::count(GROUPS_MAX as u64);
                return Err(refused(format!(
                    "`by` makes more than {most} groups of `{}`: fewer rows, by `where`, can be grouped.",
                    self.by.name
                )));
            }
            Ok(())
        })?;
        Ok(groups)
    }

    fn figure(&self, group: &Group, figure: &GroupFigure) -> Option<AggregateValue> {
        let Some(column) = figure.of else { return Some(AggregateValue::Whole(i64::try_from(group.rows).unwrap_or(i64::MAX))) };
        let nth = self.read_columns().iter().position(|read| *read == column)?;
        group.tallies.get(nth)?.figure(figure.aggregate, is_whole(column.kind))
    }

    fn key_of(&self, group: &Group) -> Option<SortKey> {
        match &group.key {
            GroupKey::Missing => None,
            GroupKey::Whole(value) => Some(SortKey::Number(*value as f64)),
            GroupKey::Float(bits) => Some(SortKey::Number(f64::from_bits(*bits))),
            GroupKey::Text(digits) if self.by.kind == Kind::Uint256 => digits.parse().ok().map(SortKey::Number),
            GroupKey::Text(text) => Some(SortKey::Text(text.to_lowercase())),
        }
    }

    fn sort_key(&self, group: &Group, column: &str) -> Option<SortKey> {
        let Some(figure) = self.figures.iter().find(|figure| figure.name == column) else { return self.key_of(group) };
        Some(SortKey::Number(match self.figure(group, figure)? {
            AggregateValue::Whole(value) => value as f64,
            AggregateValue::Float(value) => value,
        }))
    }

    fn frame(&self, groups: &[Group], grid: &Grid, places: &RowSelection) -> Result<DataFrame> {
        let firsts: Vec<u32> = groups.iter().filter_map(|group| places.get(group.first)).map(|row| row as u32).collect();
        let mut columns = grid.at(&RowSelection::from(firsts), 0..groups.len(), Some(&[self.by.name])).into_columns();
        for figure in &self.figures {
            let values: Vec<Option<AggregateValue>> = groups.iter().map(|group| self.figure(group, figure)).collect();
            columns.push(column_of(figure.name, self.kind(figure.name), &values));
        }
        DataFrame::new(groups.len(), columns)
            .map_err(|_| Problem::new(Code::Defect, "The groups cannot be written: a defect of the program."))
    }
}

/// A figure's column: integers unless one of them is a float.
fn column_of(name: &str, kind: Kind, values: &[Option<AggregateValue>]) -> Column {
    let whole = |value: &Option<AggregateValue>| match value {
        Some(AggregateValue::Whole(value)) => Some(*value),
        _ => None,
    };
    if values.iter().any(|value| matches!(value, Some(AggregateValue::Float(_)))) || kind == Kind::Float {
        let floats = values.iter().map(|value| match value.as_ref()? {
            AggregateValue::Whole(value) => Some(*value as f64),
            AggregateValue::Float(value) => Some(*value),
        });
        return Series::new(name.into(), floats.collect::<Vec<Option<f64>>>()).into_column();
    }
    let column = Series::new(name.into(), values.iter().map(whole).collect::<Vec<Option<i64>>>()).into_column();
    let cast = match kind {
        Kind::Time => column.cast(&time_type()),
        Kind::Date => column.cast(&DataType::Int32).and_then(|days| days.cast(&DataType::Date)),
        _ => return column,
    };
    cast.unwrap_or(column)
}

fn is_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Integer | Kind::Time | Kind::Date)
}

/// The groups of a chunk that begins at row `start`.
fn grouped(frame: &DataFrame, start: usize, by: schema::Column, read: &[schema::Column]) -> PolarsResult<Vec<Group>> {
    let (of_rows, keys) = split(frame.column(by.name)?, by.name)?;
    let group = |(key, first)| Group { key, first: start + first, rows: 0, tallies: vec![Tally::default(); read.len()] };
    let mut groups: Vec<Group> = keys.into_iter().map(group).collect();
    for row in &of_rows {
        groups[*row].rows += 1;
    }
    for (nth, column) in read.iter().enumerate() {
        let values = frame.column(column.name)?;
        if is_whole(column.kind) {
            let values = if column.kind == Kind::Time { values.cast(&time_type())? } else { values.clone() };
            let values = values.to_physical_repr().cast(&DataType::Int64)?;
            let present = of_rows.iter().zip(values.i64()?.iter()).filter_map(|(group, value)| Some((*group, value?)));
            present.for_each(|(group, value)| groups[group].tallies[nth].add_whole(value));
        } else if let Ok(texts) = values.str() {
            let present = of_rows.iter().zip(texts.iter()).filter_map(|(group, text)| Some((*group, text?)));
            // Digits beyond a float's precision are rounded; a text is no quantity, and is counted alone.
            present.for_each(|(group, text)| groups[group].tallies[nth].add_float(text.parse().unwrap_or(0.0)));
        } else if column.kind == Kind::Float {
            let values = values.cast(&DataType::Float64)?;
            let present = of_rows.iter().zip(values.f64()?.iter()).filter_map(|(group, value)| Some((*group, value?)));
            present.for_each(|(group, value)| groups[group].tallies[nth].add_float(value));
        } else {
            let there = values.is_not_null();
            let present = of_rows.iter().zip(there.iter()).filter(|(_, there)| *there == Some(true));
            present.for_each(|(group, _)| groups[*group].tallies[nth].add_float(0.0));
        }
    }
    Ok(groups)
}

fn time_type() -> DataType {
    DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC))
}

/// A group's key, and the first row that has it.
type KeyAndRow = (GroupKey, usize);

/// The group of every row of a column; the groups' keys, each with its first row.
fn split(column: &Column, name: &str) -> PolarsResult<(Vec<usize>, Vec<KeyAndRow>)> {
    let mut keys = KeyTable::default();
    if let Ok(texts) = column.str() {
        texts.iter().for_each(|text| keys.add(text.map_or(RowKey::Missing, |text| RowKey::Text(text.into()))));
    } else if column.dtype() == &DataType::Float64 {
        // −0 is 0.
        let key = |number: f64| RowKey::Float((number + 0.0).to_bits());
        column.f64()?.iter().for_each(|number| keys.add(number.map_or(RowKey::Missing, key)));
    } else if column.dtype().is_integer() || column.dtype().is_temporal() {
        let numbers = column.to_physical_repr().cast(&DataType::Int64)?;
        numbers.i64()?.iter().for_each(|number| keys.add(number.map_or(RowKey::Missing, RowKey::Whole)));
    } else {
        let frame = column.clone().into_frame();
        let texts = (0..column.len()).map(|row| display_text(&in_frame(&frame, name, row)));
        texts.for_each(|text| keys.add(text.map_or(RowKey::Missing, |text| RowKey::Text(text.into()))));
    }
    Ok((keys.of_rows, keys.keys.into_iter().map(|(key, first)| (key.owned(), first)).collect()))
}

impl RowKey<'_> {
    fn owned(self) -> GroupKey {
        match self {
            Self::Missing => GroupKey::Missing,
            Self::Whole(number) => GroupKey::Whole(number),
            Self::Float(bits) => GroupKey::Float(bits),
            Self::Text(text) => GroupKey::Text(text.into()),
        }
    }
}

#[derive(Default)]
struct KeyTable<'a> {
    known: PlHashMap<RowKey<'a>, usize>,
    keys: Vec<(RowKey<'a>, usize)>,
    of_rows: Vec<usize>,
}

impl<'a> KeyTable<'a> {
    fn add(&mut self, key: RowKey<'a>) {
        // Equal keys often come in runs: one lookup for each run.
        let again = self.of_rows.last().copied().filter(|last| self.keys[*last].0 == key);
        let at = again.or_else(|| self.known.get(&key).copied()).unwrap_or_else(|| {
            self.known.insert(key.clone(), self.keys.len());
            self.keys.push((key, self.of_rows.len()));
            self.keys.len() - 1
        });
        self.of_rows.push(at);
    }
}
