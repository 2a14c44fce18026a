//! The data type that the cells of each kind of column have in frames.

use polars::prelude::{
    Column, DataType, IntoColumn, ListBuilderTrait, ListStringChunkedBuilder, NamedFrom,
    PlSmallStr, Series, TimeUnit, TimeZone,
};

use crate::text_runs::Texts;
use model::schema::{Column as SchemaColumn, Kind};

/// The canonical polars type of a kind.
pub fn canonical(kind: Kind) -> DataType {
    match kind {
        Kind::Text | Kind::Address | Kind::Chain | Kind::Uint256 | Kind::Hex => DataType::String,
        Kind::Chains | Kind::Addresses => DataType::List(Box::new(DataType::String)),
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Time => DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC)),
        Kind::Date => DataType::Date,
    }
}

/// A canonical column of nulls. Not built with polars' own constructor, which allocates 8 MiB of zeros for the first one.
pub fn empty(ours: &SchemaColumn, height: usize) -> Column {
    let (name, dtype) = (PlSmallStr::from_static(ours.name), canonical(ours.kind));
    match dtype {
        DataType::String => {
            let mut texts = Texts::with_capacity(height);
            texts.push(None, height);
            texts.finish(name)
        }
        DataType::List(_) => {
            let mut lists = ListStringChunkedBuilder::new(name, height, 0);
            (0..height).for_each(|_| lists.append_null());
            lists.finish().into_column()
        }
        DataType::Boolean => Series::new(name, vec![None::<bool>; height]).into_column(),
        DataType::Float64 => Series::new(name, vec![None::<f64>; height]).into_column(),
        DataType::Date => cast(
            &Series::new(name, vec![None::<i32>; height]).into_column(),
            &dtype,
        ),
        _ => cast(
            &Series::new(name, vec![None::<i64>; height]).into_column(),
            &dtype,
        ),
    }
}

/// Casts physical numbers to times or dates, which always succeeds.
pub fn cast(column: &Column, to: &DataType) -> Column {
    column
        .cast(to)
        .unwrap_or_else(|_| Column::full_null(column.name().clone(), column.len(), to))
}
