//! Rows of a table in groups: `by` a column, with counts, sums, means, minimums and maximums of other columns. Covers every row that
//! matches the conditions, chunk by chunk, and can be canceled. The analysis computes the metrics.

mod remote;

use std::{collections::HashMap, fmt, sync::Arc};

use polars::prelude::{
    Column, DataFrame, DataType, IntoColumn, NamedFrom, Series, TimeUnit, TimeZone,
};

use super::{
    chunks::{Chunk, chunks},
    columns, loaded_table,
    order::RowQuery,
    remote::RemoteQuery,
};
use crate::queries::{
    Find,
    list::sort_rows,
    order::Order,
    parameter::{self, clip, parts_of},
    view::View,
};
use analysis::groups::Aggregate;
use frames::rows::Frames as _;
use load::Table;
use model::{
    error::{Code, Problem, Result},
    format, names,
    progress::Progress,
    scalar::Scalar,
    schema::{self, Kind},
};
use remote::{GroupRows, as_written, grouped};
use table::{RowSelection, TableRows, filter::of_kind};

/// Maximum number of figures of a group.
const FIGURES_MAX: usize = 8;
/// Maximum number of groups; more would use too much memory.
const GROUPS_MAX: usize = 1_000_000;
/// Chunks that are grouped at once, divided by the columns that are read: their groups are in memory together.
const BATCH_CHUNKS: usize = 64;
/// Maximum number of groups that are shown.
pub const SHOWN_MAX: usize = 10_000;

/// A metric of each group: `count`, `sum:volume`.
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
        self.of
            .map_or(Ok(()), |column| write!(f, ":{}", column.name))
    }
}

/// Rows in groups. The terminal uses it directly, with the words of its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupQuery {
    /// The rows; its order does not matter.
    pub rows: RowQuery,
    pub by: schema::Column,
    pub figures: Vec<GroupFigure>,
    /// If empty, the group with the largest first metric comes first.
    pub sort: Vec<Order>,
    /// Maximum number of groups in the frame.
    pub limit: usize,
}

/// The groups in their order: the column, then the metrics.
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
            format!(
                "the first {shown} of {total} groups in this order; `limit` can be up to {}",
                format::count(SHOWN_MAX as u64)
            )
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
        for part in if parts.is_empty() {
            vec!["count"]
        } else {
            parts
        } {
            let figure = figure(part, &known)?;
            if figure.name == by.name {
                return Err(refused(format!(
                    "`by` and a metric of `agg` have the same name, `{}`; remove one of them.",
                    by.name
                )));
            }
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        if figures.len() > FIGURES_MAX {
            return Err(refused(format!(
                "`agg` has {} metrics; at most {FIGURES_MAX} are allowed.",
                figures.len()
            )));
        }
        let kind = |figure: &GroupFigure| {
            figure
                .of
                .filter(|_| figure.keeps_kind())
                .map_or(Kind::Float, |column| column.kind)
        };
        let named = figures
            .iter()
            .map(|figure| of_kind(figure.name, kind(figure), &[]));
        let named: Vec<_> = std::iter::once(of_kind(by.name, by.kind, by.aliases))
            .chain(named)
            .collect();
        let sort = parameter::orders("sort", sort, &named)?;
        Ok(Self {
            rows: RowQuery::all(table.schema),
            by,
            figures,
            sort,
            limit: SHOWN_MAX,
        })
    }

    /// The names of the answer's columns.
    pub fn columns(&self) -> Vec<&'static str> {
        std::iter::once(self.by.name)
            .chain(self.figures.iter().map(|figure| figure.name))
            .collect()
    }

    /// The kind of a column of the answer.
    pub fn kind(&self, name: &str) -> Kind {
        let figure = self.figures.iter().find(|figure| figure.name == name);
        match figure {
            // A list is grouped by its elements.
            None => match self.by.kind {
                Kind::Chains => Kind::Chain,
                Kind::Addresses => Kind::Address,
                kind => kind,
            },
            Some(figure) if figure.aggregate == Aggregate::Count => Kind::Integer,
            Some(figure) => figure
                .of
                .filter(|column| figure.keeps_kind() || column.kind == Kind::Integer)
                .map_or(Kind::Float, |of| of.kind),
        }
    }

    /// Every metric available for a table with these columns.
    pub fn proposals(known: &[schema::Column]) -> Vec<String> {
        let of = |aggregate: Aggregate| {
            known
                .iter()
                .filter(move |column| fits(aggregate, column.kind))
                .map(move |column| format!("{}:{}", aggregate.word(), column.name))
        };
        let made = Aggregate::ALL
            .into_iter()
            .filter(|aggregate| *aggregate != Aggregate::Count)
            .flat_map(of);
        std::iter::once(Aggregate::Count.word().to_owned())
            .chain(made)
            .collect()
    }

    /// The `agg` parameter for these metrics.
    pub fn agg(&self) -> String {
        self.figures
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
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
    let (word, column) = part
        .split_once(':')
        .map_or((part, None), |(word, column)| (word, Some(column.trim())));
    let Some(aggregate) = Aggregate::parse(&word.trim().to_lowercase()) else {
        return Err(refused(format!(
            "`agg` has `{}`; expected one of {}, and a column, as in `count,sum:COLUMN`.",
            clip(part),
            words()
        )));
    };
    let of = match column {
        None if aggregate == Aggregate::Count => None,
        None => {
            return Err(refused(format!(
                "`agg` has `{word}` without a column; {}.",
                columns_that_fit(
                    aggregate,
                    known,
                    &format!("write `{word}:COLUMN` with one of ")
                )
            )));
        }
        Some(column) => Some(*columns::find("agg", column, known)?),
    };
    if let Some(column) =
        of.filter(|column| aggregate != Aggregate::Count && !fits(aggregate, column.kind))
    {
        let wanted = if aggregate.adds() {
            "numbers"
        } else {
            "numbers or times"
        };
        return Err(refused(format!(
            "`agg` has `{}`, but `{}` contains {}, and {} needs {wanted}; {}.",
            clip(part),
            column.name,
            column.kind.word(),
            aggregate.word(),
            columns_that_fit(aggregate, known, "expected one of ")
        )));
    }
    let named = of.map_or_else(
        || aggregate.word().to_owned(),
        |column| format!("{}_{}", aggregate.word(), column.name),
    );
    let name = names::intern(&named).ok_or_else(|| {
        refused(format!(
            "`agg` has `{}`: {}.",
            clip(part),
            names::refusal(&named)
        ))
    })?;
    Ok(GroupFigure {
        aggregate,
        of,
        name,
    })
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

/// The columns that fit, after `before`; or that the table has none.
fn columns_that_fit(aggregate: Aggregate, known: &[schema::Column], before: &str) -> String {
    let names: Vec<&str> = known
        .iter()
        .filter(|column| fits(aggregate, column.kind))
        .map(|column| column.name)
        .collect();
    if names.is_empty() {
        "this table has no such column".to_owned()
    } else {
        format!("{before}{}", names.join(", "))
    }
}

impl Find for GroupQuery {
    type Found = Groups;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Groups> {
        let table = loaded_table(view, self.rows.table.name)?;
        let (read, rows) = (
            self.read_columns(),
            RowQuery {
                sort: Vec::new(),
                ..self.rows.clone()
            },
        );
        let (mut groups, grid, places) =
            if let Some(remote) = RemoteQuery::of(view, table, &rows, progress)? {
                let (groups, shown) = self.remote_groups(&remote, &read)?;
                let places = RowSelection::Run(0..shown.height());
                let shown = TableRows::free(&shown).map_err(|reason| {
                    tracing::warn!("groups cannot be encoded: {reason}");
                    Problem::new(Code::Defect, "Internal error while reading the groups.")
                })?;
                (groups, Arc::new(shown), places)
            } else {
                let grid = Arc::clone(&table.rows);
                let (places, _) = rows.matching_rows(&grid, progress)?;
                (self.groups(&grid, &places, &read, progress)?, grid, places)
            };
        let total = groups.len();
        let first = self
            .figures
            .first()
            .map(|figure| Order::falling(figure.name));
        let orders = if self.sort.is_empty() {
            first.into_iter().collect()
        } else {
            self.sort.clone()
        };
        let by_key = Order::rising(self.by.name);
        let ties = |a: &GroupRows, b: &GroupRows| {
            by_key.compare(self.key_of(a).as_ref(), self.key_of(b).as_ref())
        };
        sort_rows(
            &mut groups,
            &orders,
            |group, column| self.sort_key(group, column, &read),
            ties,
        );
        groups.truncate(self.limit);
        Ok(Groups {
            frame: self.frame(&groups, &grid, &places, &read)?,
            total,
        })
    }
}

impl GroupQuery {
    fn too_many(&self) -> Problem {
        let most = format::count(GROUPS_MAX as u64);
        refused(format!(
            "`by` creates more than {most} groups of `{}`; narrow the rows with `where`.",
            self.by.name
        ))
    }

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

    fn groups(
        &self,
        grid: &TableRows,
        places: &RowSelection,
        read: &[schema::Column],
        progress: &Progress,
    ) -> Result<Vec<GroupRows>> {
        let names: Vec<&'static str> = std::iter::once(self.by.name)
            .chain(read.iter().map(|column| column.name))
            .collect();
        let mut known: HashMap<Scalar<'static>, usize> = HashMap::new();
        let mut groups: Vec<GroupRows> = Vec::new();
        let each = |chunk: &Chunk<'_>| grouped(chunk, read.len());
        let batch = (BATCH_CHUNKS / (1 + read.len())).max(8);
        chunks(grid, places, &names, progress, batch, each, |part| {
            for group in part {
                let Some(&at) = known.get(&group.key) else {
                    if groups.len() == GROUPS_MAX {
                        return Err(self.too_many());
                    }
                    known.insert(group.key.clone(), groups.len());
                    groups.push(group);
                    continue;
                };
                groups[at].rows += group.rows;
                groups[at]
                    .tallies
                    .iter_mut()
                    .zip(&group.tallies)
                    .for_each(|(tally, other)| tally.merge(other));
            }
            Ok(())
        })?;
        Ok(groups)
    }

    /// A group's figure, from the tallies of the columns that were `read`.
    fn figure(
        group: &GroupRows,
        figure: &GroupFigure,
        read: &[schema::Column],
    ) -> Option<Scalar<'static>> {
        let Some(column) = figure.of else {
            return Some(Scalar::Whole(i64::try_from(group.rows).unwrap_or(i64::MAX)));
        };
        let nth = read.iter().position(|read| *read == column)?;
        group
            .tallies
            .get(nth)?
            .figure(figure.aggregate, is_whole(column.kind))
    }

    fn key_of(&self, group: &GroupRows) -> Option<Scalar<'static>> {
        let key = group.key.clone();
        if self.by.kind == Kind::Uint256 {
            key.number()
        } else {
            key
        }
        .given()
    }

    fn sort_key(
        &self,
        group: &GroupRows,
        column: &str,
        read: &[schema::Column],
    ) -> Option<Scalar<'static>> {
        let Some(figure) = self.figures.iter().find(|figure| figure.name == column) else {
            return self.key_of(group);
        };
        Self::figure(group, figure, read)
    }

    fn frame(
        &self,
        groups: &[GroupRows],
        grid: &TableRows,
        places: &RowSelection,
        read: &[schema::Column],
    ) -> Result<DataFrame> {
        let (by, firsts) = (self.by.name, groups.iter());
        let firsts = firsts.filter_map(|group| places.get(group.first));
        // Those of an engine are of texts.
        let kind = grid.column_named(by).map(|column| column.kind);
        let mut columns = if matches!(kind, Some(Kind::Chains | Kind::Addresses)) {
            let written =
                |(row, group): (usize, &GroupRows)| as_written(grid.cell(by, row), &group.key);
            let elements: Vec<Option<String>> = firsts.zip(groups).map(written).collect();
            vec![Series::new(by.into(), elements).into_column()]
        } else {
            let firsts: Vec<u32> = firsts.map(|row| row as u32).collect();
            grid.gather(&firsts, Some(&[by])).into_columns()
        };
        for figure in &self.figures {
            let values: Vec<Option<Scalar<'static>>> = groups
                .iter()
                .map(|group| Self::figure(group, figure, read))
                .collect();
            columns.push(column_of(figure.name, self.kind(figure.name), &values));
        }
        DataFrame::new(groups.len(), columns).map_err(|_| {
            Problem::new(
                Code::Defect,
                "Internal error: the groups cannot be written.",
            )
        })
    }
}

/// A figure's column: integers unless one of them is a float.
fn column_of(name: &str, kind: Kind, values: &[Option<Scalar<'static>>]) -> Column {
    let whole = |value: &Option<Scalar<'static>>| match value {
        Some(Scalar::Whole(value)) => Some(*value),
        _ => None,
    };
    if values
        .iter()
        .any(|value| matches!(value, Some(Scalar::Float(_))))
        || kind == Kind::Float
    {
        let floats = values.iter().map(|value| value.as_ref()?.as_float());
        return Series::new(name.into(), floats.collect::<Vec<Option<f64>>>()).into_column();
    }
    let column = Series::new(
        name.into(),
        values.iter().map(whole).collect::<Vec<Option<i64>>>(),
    )
    .into_column();
    let cast = match kind {
        Kind::Time => column.cast(&time_type()),
        Kind::Date => column
            .cast(&DataType::Int32)
            .and_then(|days| days.cast(&DataType::Date)),
        _ => return column,
    };
    cast.unwrap_or(column)
}

fn is_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Integer | Kind::Time | Kind::Date)
}

fn time_type() -> DataType {
    DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::{
        snapshot::Snapshot,
        tables::TableQuery,
        tests::{answered, snapshot},
    };

    /// Rows of the answer as JSON, and its total.
    fn rows(snapshot: &Snapshot, query: &str) -> (Vec<serde_json::Value>, u64) {
        let answer =
            answered::<TableQuery>(snapshot, &[("table", "tokens")], query).expect("an answer");
        let rows = serde_json::to_value(&answer.rows).expect("JSON");
        (
            rows.as_array().expect("rows").clone(),
            answer.total.expect("a total"),
        )
    }

    #[test]
    fn a_group_holds_the_rows_that_its_value_meets_as_a_condition() {
        let snapshot = snapshot(&[(
            "tokens",
            "token_address,symbol,name,chain\n0x1,USD,INF,eth;base\n0x2,usd,Infinity,base\n0x3,Gem,1e999,base;arb1\n0x4,uSd,,eth",
        )]);
        for (by, expected) in [
            ("chain", &[("base", 3), ("eth", 2), ("arb1", 1)][..]),
            ("symbol", &[("USD", 3), ("Gem", 1)]),
        ] {
            let (groups, total) = rows(&snapshot, &format!("by={by}&agg=count"));
            let found: Vec<_> = groups
                .iter()
                .filter_map(|group| Some((group[by].as_str()?, group["count"].as_u64()?)))
                .collect();
            assert_eq!(
                (found.as_slice(), total),
                (expected, expected.len() as u64),
                "{by}"
            );
            for (value, count) in expected {
                assert_eq!(
                    rows(&snapshot, &format!("where={by}={value}")).1,
                    *count,
                    "{by} {value}"
                );
            }
        }
        // Texts are counted, whatever they read as.
        let named: Vec<_> = rows(&snapshot, "by=chain&agg=count,count:name")
            .0
            .iter()
            .map(|group| group["count_name"].as_u64())
            .collect();
        assert_eq!(named, [Some(3), Some(1), Some(1)]);
    }

    #[test]
    fn too_many_groups_are_refused_before_all_rows_are_read() {
        let rows = GROUPS_MAX as i64 * 5 / 2;
        let frame = DataFrame::new(
            rows as usize,
            vec![Series::new("n".into(), (0..rows).collect::<Vec<i64>>()).into_column()],
        );
        let grid = TableRows::free(&frame.expect("a frame")).expect("rows");
        let by = schema::Column::of_kind("n", Kind::Integer, "");
        let table = schema::TABLES.first().expect("a table");
        let figure = |aggregate: Aggregate| GroupFigure {
            aggregate,
            of: None,
            name: aggregate.word(),
        };
        let query = GroupQuery {
            rows: RowQuery::all(table),
            by,
            figures: vec![figure(Aggregate::Count)],
            sort: Vec::new(),
            limit: SHOWN_MAX,
        };
        let progress = Progress::default();
        let refused = query
            .groups(&grid, &RowSelection::Run(0..rows as usize), &[], &progress)
            .err()
            .expect("a refusal");
        assert!(
            refused.detail.contains("more than 1,000,000 groups of `n`"),
            "{refused}"
        );
        let (read, _) = progress.state();
        assert!(read < GROUPS_MAX as u64 * 7 / 4, "{read} of {rows}");
    }
}
