//! Access to single cells of a table, so that a table of any size costs no more than the cells shown. Formatting does not belong here.

use polars::prelude::{AnyValue, DataFrame};

use crate::raw_cell::milliseconds;
use model::{
    scalar::Scalar,
    time::{Day, Time},
};

/// The cell in `row` of the column `name`; `Missing` if there is no such column or row.
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
