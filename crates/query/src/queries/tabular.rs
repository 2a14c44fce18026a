//! Lists as data frames, for CSV, Parquet and other row formats: columns typed by the answer's schema, built batch by batch for long lists.
//! The rows themselves are each query's.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate};
use polars::prelude::{
    Column, DataFrame, DataType, IntoColumn, ListBuilderTrait, ListStringChunkedBuilder, NamedFrom,
    Series, TimeUnit, TimeZone,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::{Query, snapshot::Snapshot, view::View};
use frames::export::RowBatches;
use model::{
    error::{Code, Problem, Result},
    progress::Progress,
};

/// A query whose answer is a list that can be exported as a table, by page or whole.
pub trait Tabular: Query {
    /// The rows of the page, or with `whole` all from its beginning; typed by the schema. `snapshot`: that of the view.
    fn tabled(
        &self,
        view: &View<'_>,
        snapshot: &Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled>;
}

/// The rows of a query whose answer is a page of a list.
macro_rules! tabular {
    ($question:ident, $list:ident of $row:ty) => {
        impl $crate::queries::tabular::Tabular for $question {
            fn tabled(
                &self,
                view: &$crate::queries::view::View<'_>,
                _: &std::sync::Arc<$crate::queries::snapshot::Snapshot>,
                whole: bool,
                progress: &Progress,
            ) -> Result<$crate::queries::tabular::Tabled> {
                let (page, limit) = if whole {
                    (1, u64::MAX)
                } else {
                    (self.page, self.limit)
                };
                let answer = Self {
                    page,
                    limit,
                    ..self.clone()
                }
                .answer(view, progress)?;
                let members = $crate::queries::tabular::members(<$row>::MEMBERS, &self.only);
                $crate::queries::tabular::Tabled::of(&answer.$list, &members)
            }
        }
    };
}
pub(super) use tabular;

/// A list as a table. Its rows may be read from the generation batch by batch.
pub struct Tabled {
    pub columns: Vec<String>,
    pub rows: Box<dyn RowBatches>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

impl Tabled {
    /// A table of these rows, with these members of each.
    pub(super) fn of<T: Serialize + JsonSchema>(
        rows: &[T],
        members: &[&'static str],
    ) -> Result<Self> {
        Ok(Self::frames(Box::new(frame(rows, members)?), members))
    }

    /// A table whose rows are built as they are read.
    pub(super) fn frames(rows: Box<dyn RowBatches>, members: &[&'static str]) -> Self {
        Self {
            columns: members.iter().map(ToString::to_string).collect(),
            rows,
            next: None,
        }
    }
}

/// The members selected by `only`; all where it is empty.
pub(super) fn members(all: &'static [&'static str], only: &[&'static str]) -> Vec<&'static str> {
    if only.is_empty() {
        all.to_vec()
    } else {
        only.to_vec()
    }
}

/// The column type of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Text,
    Integer,
    Float,
    Flag,
    Time,
    Day,
    Texts,
    Floats,
    /// Objects, as JSON text.
    Json,
}

/// The rows as typed columns.
pub(super) fn frame<T: Serialize + JsonSchema>(
    rows: &[T],
    members: &[&'static str],
) -> Result<DataFrame> {
    let failed = |_| {
        Problem::new(
            Code::Defect,
            "Internal error: the rows cannot be written as a table.",
        )
    };
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let rows: std::result::Result<Vec<Value>, _> = rows.iter().map(serde_json::to_value).collect();
    let rows = rows
        .map_err(|_| Problem::new(Code::Defect, "Internal error: the rows cannot be written."))?;
    let columns = members.iter().map(|&name| {
        let shape = schema
            .pointer(&format!("/properties/{name}"))
            .map_or(Shape::Json, shape);
        column(name, shape, &rows)
    });
    DataFrame::new(rows.len(), columns.collect()).map_err(failed)
}

fn shape(schema: &Value) -> Shape {
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        // A nullable type is a choice between null and the type.
        return choices
            .iter()
            .find(|choice| choice["type"] != "null")
            .map_or(Shape::Json, shape);
    }
    let word = match &schema["type"] {
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .find(|word| *word != "null"),
        word => word.as_str(),
    };
    match (word, schema["format"].as_str()) {
        (Some("string"), Some("date-time")) => Shape::Time,
        (Some("string"), Some("date")) => Shape::Day,
        (Some("string"), _) => Shape::Text,
        (Some("integer"), _) => Shape::Integer,
        (Some("number"), _) => Shape::Float,
        (Some("boolean"), _) => Shape::Flag,
        (Some("array"), _) => match shape(&schema["items"]) {
            Shape::Text => Shape::Texts,
            Shape::Float => Shape::Floats,
            _ => Shape::Json,
        },
        // Word types are an `enum` or a choice of `const`.
        (None, _) if schema.get("enum").is_some() || schema.get("oneOf").is_some() => Shape::Text,
        _ => Shape::Json,
    }
}

fn column(name: &'static str, shape: Shape, rows: &[Value]) -> Column {
    let label = name.into();
    let cells = || {
        rows.iter()
            .map(|row| row.get(name).filter(|cell| !cell.is_null()))
    };
    match shape {
        Shape::Text => Series::new(
            label,
            cells().map(|cell| cell?.as_str()).collect::<Vec<_>>(),
        )
        .into_column(),
        Shape::Integer => Series::new(
            label,
            cells().map(|cell| cell?.as_i64()).collect::<Vec<_>>(),
        )
        .into_column(),
        Shape::Float => Series::new(
            label,
            cells().map(|cell| cell?.as_f64()).collect::<Vec<_>>(),
        )
        .into_column(),
        Shape::Flag => Series::new(
            label,
            cells().map(|cell| cell?.as_bool()).collect::<Vec<_>>(),
        )
        .into_column(),
        Shape::Time => {
            let time =
                |text: &str| Some(DateTime::parse_from_rfc3339(text).ok()?.timestamp_millis());
            let times = Series::new(
                label,
                cells()
                    .map(|cell| time(cell?.as_str()?))
                    .collect::<Vec<_>>(),
            )
            .into_column();
            let kind = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
            times.cast(&kind).unwrap_or(times)
        }
        Shape::Day => {
            let day = |text: &str| {
                Some(
                    text.parse::<NaiveDate>()
                        .ok()?
                        .signed_duration_since(NaiveDate::default())
                        .num_days() as i32,
                )
            };
            let days = Series::new(
                label,
                cells().map(|cell| day(cell?.as_str()?)).collect::<Vec<_>>(),
            )
            .into_column();
            days.cast(&DataType::Date).unwrap_or(days)
        }
        Shape::Texts => {
            let mut lists = ListStringChunkedBuilder::new(label, rows.len(), rows.len());
            for cell in cells() {
                match cell.and_then(Value::as_array) {
                    Some(texts) => lists.append_values_iter(texts.iter().filter_map(Value::as_str)),
                    None => lists.append_null(),
                }
            }
            lists.finish().into_column()
        }
        Shape::Floats => {
            let list = |cell: &Value| {
                Some(Series::new(
                    "".into(),
                    cell.as_array()?
                        .iter()
                        .map(Value::as_f64)
                        .collect::<Vec<_>>(),
                ))
            };
            let empty = || Series::new("".into(), Vec::<Option<f64>>::new());
            Series::new(
                label,
                cells()
                    .map(|cell| cell.and_then(list).unwrap_or_else(empty))
                    .collect::<Vec<_>>(),
            )
            .into_column()
        }
        Shape::Json => Series::new(
            label,
            cells()
                .map(|cell| Some(cell?.to_string()))
                .collect::<Vec<_>>(),
        )
        .into_column(),
    }
}
