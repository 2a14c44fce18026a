//! Formats the cells of an exported table as text or JSON, straight from typed columns and without loss of digits.

use std::io::Write;

use polars::prelude::{
    AnyValue, BooleanChunked, Column, DataFrame, DataType, Float64Chunked, Int64Chunked,
    StringChunked, TimeUnit,
};
use serde::Serialize;
use serde_json::Value;

use crate::raw_cell::milliseconds;
use model::time::{Day, Time};

/// One column of a batch.
pub(super) enum Cells<'a> {
    /// Column at an index of rows held as JSON.
    Values(&'a [Vec<Value>], usize),
    Text(&'a StringChunked),
    Float(&'a Float64Chunked),
    Flag(&'a BooleanChunked),
    Integer(Int64Chunked),
    /// Ticks in the column's time unit.
    Time(Int64Chunked, TimeUnit),
    Day(Int64Chunked),
    /// Lists and any other type.
    Other(&'a Column),
}

/// The columns of a frame.
pub(super) fn of(frame: &DataFrame) -> Vec<Cells<'_>> {
    frame.columns().iter().map(column).collect()
}

fn column(column: &Column) -> Cells<'_> {
    let integers = || {
        column
            .to_physical_repr()
            .cast(&DataType::Int64)
            .ok()
            .and_then(|column| column.i64().ok().cloned())
    };
    let cells = match column.dtype() {
        DataType::String => column.str().ok().map(Cells::Text),
        DataType::Float64 => column.f64().ok().map(Cells::Float),
        DataType::Boolean => column.bool().ok().map(Cells::Flag),
        DataType::Date => integers().map(Cells::Day),
        DataType::Datetime(unit, _) => integers().map(|ticks| Cells::Time(ticks, *unit)),
        dtype if dtype.is_integer() && *dtype != DataType::UInt64 => integers().map(Cells::Integer),
        _ => None,
    };
    cells.unwrap_or(Cells::Other(column))
}

impl Cells<'_> {
    /// Appends the cell as unquoted text: nothing for null, JSON for lists and objects.
    pub(super) fn text(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Text(cells) => {
                out.extend_from_slice(cells.get(row).unwrap_or_default().as_bytes());
            }
            Self::Time(cells, unit) => append(
                out,
                cells.get(row).map(|ticks| Time(milliseconds(ticks, *unit))),
            ),
            Self::Day(cells) => append(out, cells.get(row).map(|day| Day(day as i32))),
            Self::Values(rows, column) => match rows[row].get(*column) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => out.extend_from_slice(text.as_bytes()),
                Some(value) => append(out, Some(value)),
            },
            Self::Other(cells) => match other(cells, row) {
                Value::Null => {}
                Value::String(text) => out.extend_from_slice(text.as_bytes()),
                value => append(out, Some(value)),
            },
            // Spreadsheet style: a whole number has no `.0`.
            Self::Float(cells) => append(out, cells.get(row).filter(|number| number.is_finite())),
            Self::Flag(cells) => append(out, cells.get(row)),
            Self::Integer(cells) => append(out, cells.get(row)),
        }
    }

    /// Appends the cell as JSON.
    pub(super) fn json(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Text(cells) => json(out, &cells.get(row)),
            // JSON has no NaN or infinity: these become null.
            Self::Float(cells) => json(out, &cells.get(row).filter(|number| number.is_finite())),
            Self::Flag(cells) => json(out, &cells.get(row)),
            Self::Integer(cells) => json(out, &cells.get(row)),
            Self::Time(cells, unit) => json(
                out,
                &cells.get(row).map(|ticks| Time(milliseconds(ticks, *unit))),
            ),
            Self::Day(cells) => json(out, &cells.get(row).map(|day| Day(day as i32))),
            Self::Values(rows, column) => json(out, rows[row].get(*column).unwrap_or(&Value::Null)),
            Self::Other(cells) => json(out, &other(cells, row)),
        }
    }
}

/// Cannot fail: writing to memory does not, and no cell is a map with non-string keys.
fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).ok();
}

fn append(out: &mut Vec<u8>, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        write!(out, "{value}").ok();
    }
}

fn other(column: &Column, row: usize) -> Value {
    column
        .get(row)
        .map_or(Value::Null, |value| value_of(&value))
}

fn value_of(value: &AnyValue<'_>) -> Value {
    match value {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(flag) => Value::from(*flag),
        AnyValue::String(text) => Value::from(*text),
        AnyValue::Float32(number) => Value::from(*number),
        AnyValue::Float64(number) => Value::from(*number),
        AnyValue::UInt64(number) => Value::from(*number),
        AnyValue::List(members) => members.iter().map(|member| value_of(&member)).collect(),
        other => other
            .extract::<i64>()
            .map_or_else(|| Value::from(other.to_string()), Value::from),
    }
}
