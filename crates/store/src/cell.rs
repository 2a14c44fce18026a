//! Access to single cells of a table, so that a table of any size costs no more than the cells shown. Formatting does not belong here.

use polars::prelude::{AnyValue, Column, DataFrame, DataType};

use crate::grid::Grid;
use model::{
    cell_value::CellValue,
    schema::Kind,
    time::{Day, Time},
};
use source::coerce::cell::milliseconds;

/// Schema kind of a column outside the schema, by its data type.
pub fn kind_of(column: &Column) -> Kind {
    match column.dtype() {
        DataType::Float64 | DataType::Float32 => Kind::Float,
        DataType::Boolean => Kind::Boolean,
        DataType::Date => Kind::Date,
        DataType::Datetime(..) => Kind::Time,
        dtype if dtype.is_integer() => Kind::Integer,
        _ => Kind::Text,
    }
}

/// The cell in `row` of the column `name`; `Missing` if there is no such column or row.
pub fn value(grid: &Grid, name: &str, row: usize) -> CellValue {
    match grid {
        Grid::Memory(frame) => in_frame(frame, name, row),
        Grid::Large(table) => in_frame(&table.slice(row..row + 1, Some(&[name])), name, 0),
    }
}

/// Like `value`, for a frame.
pub fn in_frame(frame: &DataFrame, name: &str, row: usize) -> CellValue {
    let Ok(column) = frame.column(name) else { return CellValue::Missing };
    column.get(row).map_or(CellValue::Missing, |value| of(&value))
}

fn of(value: &AnyValue<'_>) -> CellValue {
    match value {
        AnyValue::Null => CellValue::Missing,
        AnyValue::Boolean(flag) => CellValue::Flag(*flag),
        AnyValue::String(text) => CellValue::Text((*text).to_owned()),
        AnyValue::StringOwned(text) => CellValue::Text(text.to_string()),
        AnyValue::Float32(number) => CellValue::Float(f64::from(*number)),
        AnyValue::Float64(number) => CellValue::Float(*number),
        AnyValue::Date(day) => CellValue::Day(Day(*day)),
        AnyValue::Datetime(ticks, unit, _) | AnyValue::DatetimeOwned(ticks, unit, _) => CellValue::Time(Time(milliseconds(*ticks, *unit))),
        AnyValue::List(members) => CellValue::List(members.iter().map(|member| member.get_str().unwrap_or_default().to_owned()).collect()),
        other => other.extract::<i64>().map_or_else(|| CellValue::Text(other.to_string()), CellValue::Integer),
    }
}
