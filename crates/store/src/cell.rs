//! Access to single cells of a table, so that a table of any size costs no more than the cells shown. Formatting does not belong here.

use polars::prelude::{AnyValue, Column, DataFrame, DataType};

use crate::grid::Grid;
use model::{
    scalar::Scalar,
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
pub fn value(grid: &Grid, name: &str, row: usize) -> Scalar<'static> {
    match grid {
        Grid::Memory(frame) => in_frame(frame, name, row),
        Grid::Large(table) => in_frame(&table.slice(row..row + 1, Some(&[name])), name, 0),
    }
}

/// Like `value`, for a frame.
pub fn in_frame(frame: &DataFrame, name: &str, row: usize) -> Scalar<'static> {
    let Ok(column) = frame.column(name) else {
        return Scalar::Missing;
    };
    column.get(row).map_or(Scalar::Missing, |value| of(&value))
}

fn of(value: &AnyValue<'_>) -> Scalar<'static> {
    match value {
        AnyValue::Null => Scalar::Missing,
        AnyValue::Boolean(flag) => Scalar::Flag(*flag),
        AnyValue::String(text) => Scalar::text((*text).to_owned()),
        AnyValue::StringOwned(text) => Scalar::text(text.to_string()),
        AnyValue::Float32(number) => Scalar::Float(f64::from(*number)),
        AnyValue::Float64(number) => Scalar::Float(*number),
        AnyValue::Date(day) => Scalar::Day(Day(*day)),
        AnyValue::Datetime(ticks, unit, _) | AnyValue::DatetimeOwned(ticks, unit, _) => {
            Scalar::Time(Time(milliseconds(*ticks, *unit)))
        }
        AnyValue::List(members) => Scalar::List(
            members
                .iter()
                .map(|member| member.get_str().unwrap_or_default().to_owned().into())
                .collect(),
        ),
        other => other
            .extract::<i64>()
            .map_or_else(|| Scalar::text(other.to_string()), Scalar::Whole),
    }
}
