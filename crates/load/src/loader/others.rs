//! Columns of `tokens` outside the schema. They are stored with a type inferred from all of their cells, so that they can be shown, sorted
//! and filtered.

use std::collections::HashMap;

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, PolarsResult, Series};

use super::{bind::Bound, column::gather_named, path};
use crate::{
    cells::{self, notation::Notation},
    error::ReadError,
    formats::SourceBatch,
    manifest::ColumnManifest,
};
use frames::{decode::guarded, raw_cell::is_null_word};
use model::schema::{Column as SchemaColumn, Kind, TableSchema};

/// Prefix of their names while they share a frame with schema columns.
const MARK: &str = "\u{1}";
/// Maximum number kept; further ones are listed as ignored.
pub(super) const MAX: usize = 64;

/// Whether columns of the table outside the schema are kept.
pub(super) fn are_kept(schema: &TableSchema) -> bool {
    schema.name == "tokens"
}

/// The file's columns that are bound to no schema column.
pub(super) fn names<'n>(bound: &[Bound<'_>], names: &'n [String]) -> Vec<&'n str> {
    let used: Vec<&str> = bound
        .iter()
        .flat_map(|bound| [&bound.raw, &bound.units])
        .flatten()
        .flat_map(|name| path::heads(name))
        .collect();
    let mut free: Vec<&str> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if !name.is_empty()
            && !free.contains(&name)
            && !used
                .iter()
                .any(|used| used.trim().eq_ignore_ascii_case(name))
        {
            free.push(name);
        }
    }
    free.truncate(MAX);
    free
}

/// The unbound columns as texts, under prefixed names.
pub(super) fn columns(
    batch: &SourceBatch,
    bound: &[Bound<'_>],
    all: &[String],
    rows: &[usize],
) -> Result<Vec<Column>, ReadError> {
    let column = |name: &str| {
        let texts: Vec<Option<String>> = gather_named(batch, name, rows)?
            .iter()
            .map(|cell| {
                cell.to_text()
                    .filter(|text| !is_null_word(text))
                    .map(|text| text.trim().to_owned())
            })
            .collect();
        Ok(Series::new(format!("{MARK}{name}").into(), texts).into_column())
    };
    names(bound, all).into_iter().map(column).collect()
}

/// Gives both frames the union of their columns, null where one lacks them.
pub(crate) fn align(a: &mut DataFrame, b: &mut DataFrame) -> Result<(), ReadError> {
    let named = |frame: &DataFrame| -> Vec<String> {
        frame
            .get_column_names()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    if named(a) == named(b) {
        return Ok(());
    }
    let complete = |frame: &mut DataFrame, names: Vec<String>| {
        for name in names
            .iter()
            .filter(|name| frame.get_column_index(name).is_none())
            .cloned()
            .collect::<Vec<_>>()
        {
            let empty = Column::full_null(name.as_str().into(), frame.height(), &DataType::String);
            guarded("table", || frame.with_column(empty).map(drop))?;
        }
        Ok::<(), ReadError>(())
    };
    complete(a, named(b))?;
    complete(b, named(a))?;
    let order = named(a);
    *b = guarded("table", || b.select(order.iter().map(String::as_str)))?;
    Ok(())
}

/// The frame with its columns outside the schema under their own names and in inferred types; one that is named as a schema column is not
/// reachable by its name and goes.
pub(crate) fn typed_in(frame: DataFrame) -> PolarsResult<DataFrame> {
    let height = frame.height();
    let (others, mut all): (Vec<Column>, Vec<Column>) = frame
        .into_columns()
        .into_iter()
        .partition(|column| column.name().starts_with(MARK));
    for column in others {
        let name = column.name().strip_prefix(MARK).unwrap_or_default();
        if all.iter().all(|known| known.name() != name) {
            let name = name.into();
            all.push(typed(&column).with_name(name));
        }
    }
    DataFrame::new(height, all)
}

/// The column in the narrowest type that fits every cell; text where none does.
fn typed(column: &Column) -> Column {
    let Ok(texts) = column.str() else {
        return column.clone();
    };
    if texts.null_count() == texts.len() {
        return column.clone();
    }
    // Digits with a leading zero are a code, not a number.
    let named = texts.iter().flatten().any(|text| {
        text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
    });
    let numbers: &[Kind] = if named {
        &[]
    } else {
        &[Kind::Integer, Kind::Float]
    };
    // A number is not read as a time here: its unit is unknown.
    let plain = texts
        .iter()
        .flatten()
        .all(|text| text.parse::<f64>().is_ok());
    let times: &[Kind] = if plain {
        &[]
    } else {
        &[Kind::Boolean, Kind::Time]
    };
    for kind in numbers.iter().chain(times) {
        let ours = SchemaColumn::of_kind("", *kind, "");
        let read = cells::coerce_texts(
            &ours,
            texts,
            &ColumnManifest::default(),
            Notation::default(),
        );
        if read.issues.is_empty() && read.column.null_count() == texts.null_count() {
            return read.column;
        }
    }
    column.clone()
}

/// One row per token: the first value among the rows of its address.
pub fn by_token(frame: &DataFrame, others: &DataFrame, tokens: &[String]) -> DataFrame {
    let Some(addresses) = frame
        .column("token_address")
        .ok()
        .and_then(|column| column.str().ok())
    else {
        return DataFrame::default();
    };
    let mut rows: HashMap<&str, Vec<u32>> = HashMap::new();
    for (row, address) in addresses.iter().enumerate() {
        rows.entry(address.unwrap_or_default())
            .or_default()
            .push(row as u32);
    }
    let one = |column: &Column| {
        let given = column.is_not_null();
        let place = |token: &String| {
            rows.get(token.as_str())
                .and_then(|rows| {
                    rows.iter()
                        .find(|row| given.get(**row as usize) == Some(true))
                        .or(rows.first())
                })
                .copied()
        };
        let places: polars::prelude::IdxCa = tokens.iter().map(place).collect();
        column
            .as_materialized_series()
            .take(&places)
            .map(IntoColumn::into_column)
            .ok()
    };
    let columns: Option<Vec<Column>> = others.columns().iter().map(one).collect();
    columns
        .and_then(|columns| DataFrame::new(tokens.len(), columns).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_type_that_all_of_its_cells_have() {
        for (texts, expected) in [
            (&[Some("1"), None, Some("20")][..], DataType::Int64),
            (&[Some("1"), Some("2.5")], DataType::Float64),
            (&[Some("true"), Some("no")], DataType::Boolean),
            (
                &[Some("2024-01-01"), Some("2024-01-02 03:00")],
                frames::canonical::canonical(Kind::Time),
            ),
            (&[Some("007"), Some("008")], DataType::String),
            (&[Some("1"), Some("one")], DataType::String),
            (&[None, None], DataType::String),
        ] {
            let column = Series::new(
                "x".into(),
                texts
                    .iter()
                    .map(|text| text.map(str::to_owned))
                    .collect::<Vec<_>>(),
            )
            .into_column();
            assert_eq!(typed(&column).dtype(), &expected, "{texts:?}");
        }
    }
}
