//! Typed rows and cells read from polars frames, and columns made of them.

use polars::prelude::{
    BooleanChunked, Column, DataFrame, DataType, NamedFrom, NewChunkedArray, PlSmallStr,
    PolarsResult, Series,
};

use crate::{canonical::canonical, text_runs::runs_of};
use model::{
    address::Address,
    rows::{FromColumns, TableColumns},
    schema::Kind,
};

/// A row type that can be read from a canonical frame (see `load`).
pub trait FromFrame: FromColumns {
    fn rows(frame: &DataFrame) -> Vec<Self>;
}

impl<T: FromColumns> FromFrame for T {
    fn rows(frame: &DataFrame) -> Vec<Self> {
        T::from_columns(&FrameColumns(frame))
    }
}

/// The cells of a text column as `read` reads them; all `None` without the column.
pub fn parsed<T: Clone>(
    frame: &DataFrame,
    column: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Vec<Option<T>> {
    model::rows::texts(&FrameColumns(frame), column, read)
}

/// The cells of a column of integers, times or days; all `None` without the column.
pub fn integers(frame: &DataFrame, column: &str) -> Vec<Option<i64>> {
    FrameColumns(frame).integers(column)
}

/// A column of these values.
pub fn column<T, P: ?Sized>(name: &str, values: impl IntoIterator<Item = T>) -> Column
where
    Series: NamedFrom<Vec<T>, P>,
{
    Column::new(name.into(), values.into_iter().collect::<Vec<T>>())
}

/// A column of these times, in milliseconds since 1970.
pub fn times<T, P: ?Sized>(name: &str, values: impl IntoIterator<Item = T>) -> PolarsResult<Column>
where
    Series: NamedFrom<Vec<T>, P>,
{
    column(name, values).cast(&canonical(Kind::Time))
}

/// The rows that are kept.
pub fn filtered(
    frame: &DataFrame,
    kept: impl IntoIterator<Item = bool>,
) -> PolarsResult<DataFrame> {
    let kept = BooleanChunked::from_iter_values(PlSmallStr::EMPTY, kept.into_iter());
    frame.filter(&kept)
}

pub(crate) struct FrameColumns<'a>(pub(crate) &'a DataFrame);

impl FrameColumns<'_> {
    fn column(&self, name: &str) -> Option<&Column> {
        self.0.column(name).ok()
    }
}

impl TableColumns for FrameColumns<'_> {
    fn height(&self) -> usize {
        self.0.height()
    }

    fn texts(&self, column: &str, each: &mut dyn FnMut(Option<&str>, usize)) {
        match self.column(column).and_then(|column| column.str().ok()) {
            Some(texts) => runs_of(texts).for_each(|(rows, text)| each(text, rows.len())),
            None => each(None, self.height()),
        }
    }

    fn addresses(&self, column: &str) -> Vec<Option<Address>> {
        model::rows::texts(self, column, Address::parse)
    }

    fn lists(&self, column: &str, each: &mut dyn FnMut(&[&str])) {
        let lists = self.column(column).and_then(|column| column.list().ok());
        for i in 0..self.height() {
            let series = lists.and_then(|lists| lists.get_as_series(i));
            let texts = series.as_ref().and_then(|series| series.str().ok());
            each(&texts.map_or_else(Vec::new, |texts| texts.iter().flatten().collect()));
        }
    }

    fn integers(&self, column: &str) -> Vec<Option<i64>> {
        let cast = self
            .column(column)
            .and_then(|column| column.to_physical_repr().cast(&DataType::Int64).ok());
        let numbers = cast.as_ref().and_then(|column| column.i64().ok());
        numbers.map_or_else(
            || vec![None; self.height()],
            |numbers| numbers.iter().collect(),
        )
    }

    fn floats(&self, column: &str) -> Vec<Option<f64>> {
        let numbers = self.column(column).and_then(|column| column.f64().ok());
        numbers.map_or_else(
            || vec![None; self.height()],
            |numbers| numbers.iter().collect(),
        )
    }

    fn flags(&self, column: &str) -> Vec<Option<bool>> {
        let flags = self.column(column).and_then(|column| column.bool().ok());
        flags.map_or_else(|| vec![None; self.height()], |flags| flags.iter().collect())
    }
}
