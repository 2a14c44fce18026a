//! Row comparison by the sort columns of a table.

use std::cmp::Ordering;

use polars::prelude::{Column, DataFrame, DataType, PolarsResult, polars_bail};
use polars_arrow::array::{
    Array, BinaryViewArray, Float64Array, Int64Array, StaticArray, Utf8ViewArray,
};

use super::keys::list_texts;

/// Sort columns of a single-chunk frame, most significant first.
pub(super) struct SortColumns {
    columns: Vec<(Values, Direction)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Rising,
    Falling,
}

enum Values {
    Text(Utf8ViewArray),
    Bytes(BinaryViewArray),
    Whole(Int64Array),
    Float(Float64Array),
    /// Lists of texts, each joined to one text.
    List(Vec<Option<String>>),
}

impl SortColumns {
    /// By these columns, `-` first for descending.
    pub(super) fn new(frame: &DataFrame, order: &[&str]) -> PolarsResult<Self> {
        let column = |name: &&str| {
            let (name, direction) = name
                .strip_prefix('-')
                .map_or((*name, Direction::Rising), |name| {
                    (name, Direction::Falling)
                });
            Values::of(frame.column(name)?).map(|values| (values, direction))
        };
        order
            .iter()
            .map(column)
            .collect::<PolarsResult<Vec<_>>>()
            .map(|columns| Self { columns })
    }

    /// Compares rows `a` and `b`. Nulls sort last in either direction.
    pub(super) fn compare(&self, a: usize, b: usize) -> Ordering {
        let orders = self
            .columns
            .iter()
            .map(|(values, direction)| values.compare(a, b, *direction));
        orders
            .into_iter()
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl Values {
    fn of(column: &Column) -> PolarsResult<Self> {
        let chunk = match column.dtype() {
            DataType::String => column
                .str()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Text),
            DataType::Binary => column
                .binary()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Bytes),
            DataType::Float64 => column
                .f64()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Float),
            DataType::List(_) => Some(Self::List(list_texts(column))),
            _ => column
                .to_physical_repr()
                .cast(&DataType::Int64)?
                .i64()?
                .downcast_iter()
                .next()
                .cloned()
                .map(Self::Whole),
        };
        let Some(chunk) = chunk else {
            polars_bail!(ComputeError: "a column without a chunk")
        };
        Ok(chunk)
    }

    fn compare(&self, a: usize, b: usize, direction: Direction) -> Ordering {
        match self {
            // Equal views mean equal texts, without comparing bytes.
            Self::Text(texts)
                if texts.null_count() == 0
                    && texts.views()[a].as_u128() == texts.views()[b].as_u128() =>
            {
                Ordering::Equal
            }
            Self::Text(texts) => cells(texts.get(a), texts.get(b), direction, Ord::cmp),
            Self::Bytes(cells) => self::cells(cells.get(a), cells.get(b), direction, Ord::cmp),
            Self::Whole(numbers) => cells(numbers.get(a), numbers.get(b), direction, Ord::cmp),
            Self::Float(numbers) => cells(numbers.get(a), numbers.get(b), direction, |a, b| {
                a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b))
            }),
            Self::List(lists) => cells(
                lists[a].as_deref(),
                lists[b].as_deref(),
                direction,
                Ord::cmp,
            ),
        }
    }
}

fn cells<T>(
    a: Option<T>,
    b: Option<T>,
    direction: Direction,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if direction == Direction::Rising => compare(&a, &b),
        (Some(a), Some(b)) => compare(&b, &a),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}
