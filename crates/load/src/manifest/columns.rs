//! The column keys of `dataset.toml`, whether set for one column or for a whole table.

use std::collections::HashMap;

use toml::de::DeValue;

use crate::{
    manifest::{
        ColumnManifest, Decimal,
        keys::{KeyPlace, names},
        unit::{Unit, units},
    },
    provider::Computed,
};
use model::{
    address::Address,
    schema::{Column, Kind, TableSchema},
    toml_reader::{TomlEntry, TomlError},
};

type Columns = HashMap<&'static str, ColumnManifest>;

const ITEM_MAX: i64 = 10_000;

/// Whether the column holds whole tokens, so that a file may have base units instead.
pub fn is_amount(table: &str, column: &str) -> bool {
    units(table, column).starts_with(&[Unit::Whole])
}

/// The schema column that the entry's key names.
pub(super) fn ours(
    schema: &TableSchema,
    member: &TomlEntry<'_>,
) -> Result<&'static Column, TomlError> {
    named(schema, member, member.key)
}

/// The schema column `name`; errors point to `member`.
pub(super) fn named(
    schema: &TableSchema,
    member: &TomlEntry<'_>,
    name: &str,
) -> Result<&'static Column, TomlError> {
    schema.column(name).ok_or_else(|| {
        let names: Vec<_> = schema.columns.iter().map(|column| column.name).collect();
        member.unknown_name("column", name, &names)
    })
}

pub(super) fn read_columns(
    schema: &TableSchema,
    member: &TomlEntry<'_>,
) -> Result<Columns, TomlError> {
    let mut columns = Columns::new();
    for member in member.table()? {
        let column = ours(schema, &member)?;
        let read = match member.value {
            DeValue::String(from) => ColumnManifest { from: Some(from.to_string()), ..ColumnManifest::default() },
            // Without a header, a file's columns go by number.
            DeValue::Integer(_) => ColumnManifest { from: Some(member.integer(1, ITEM_MAX)?.to_string()), ..ColumnManifest::default() },
            DeValue::Table(_) => read_column(schema, column, &member)?,
            _ => return Err(member.wrong("must be the name of the source's column, or a table such as { from = \"NAME\", scale = 1e-6 }")),
        };
        columns.insert(column.name, read);
    }
    Ok(columns)
}

fn read_column(
    schema: &TableSchema,
    column: &Column,
    member: &TomlEntry<'_>,
) -> Result<ColumnManifest, TomlError> {
    let mut read = ColumnManifest::default();
    let members = member.table()?;
    if let Some(computed) = Computed::read(&members)? {
        read.computed = Some(computed);
        return Ok(read);
    }
    for member in members {
        let fits = |kinds: &[Kind], what: &str| {
            let message = || {
                format!(
                    "is for {what}, but `{}` is {}",
                    column.name,
                    column.kind.expectation()
                )
            };
            if kinds.contains(&column.kind) {
                Ok(())
            } else {
                Err(member.wrong(&message()))
            }
        };
        match member.key {
            "from" if matches!(member.value, DeValue::Integer(_)) => {
                read.from = Some(member.integer(1, ITEM_MAX)?.to_string());
            }
            "from" => read.from = Some(member.text()?),
            "scale" => {
                fits(&[Kind::Integer, Kind::Float, Kind::Uint256], "numbers")?;
                let scale = member.number()?;
                if column.kind == Kind::Uint256 && power_of_ten(scale).is_none() {
                    return Err(member.wrong("must be a power of ten, such as 1e18, for whole numbers that must stay exact"));
                }
                read.scale = Some(scale);
            }
            "decimal" => {
                fits(&[Kind::Integer, Kind::Float, Kind::Uint256], "numbers")?;
                read.decimal = Some(decimal(&member)?);
            }
            "null" => {
                for word in member.texts()? {
                    read.values.insert(word, String::new());
                }
            }
            "approximate" => {
                if !is_amount(schema.name, column.name) {
                    fits(&[Kind::Uint256], "amounts")?;
                }
                read.approximate = member.boolean()?;
            }
            "format" => {
                fits(&[Kind::Time, Kind::Date], "times")?;
                read.format = Some(member.text()?);
            }
            "split" => read.split = Some(separator(&member)?),
            "item" => {
                let item = member.integer(-ITEM_MAX, ITEM_MAX)?;
                if item == 0 {
                    return Err(member.wrong("must be 1 for the first element, or -1 for the last"));
                }
                read.item = Some(item);
            }
            "explode" => read.explode = member.boolean()?,
            "unit" => {
                let known = units(schema.name, column.name);
                if known.is_empty() {
                    fits(&[], "amounts, volumes and prices")?;
                }
                let unit = unit(&member)?;
                if !known.contains(&unit) {
                    return Err(member.wrong(&format!(
                        "of `{}` must be {}",
                        column.name,
                        quoted(known)
                    )));
                }
                read.unit = Some(unit);
            }
            "values" => {
                for value in member.table()? {
                    read.values.insert(value.key.to_owned(), value.scalar()?);
                }
            }
            _ => return Err(member.unknown("key", &names(KeyPlace::Column))),
        }
    }
    if read.explode && read.item.is_some() {
        return Err(member.wrong("has both `explode` and `item`; keep one"));
    }
    if read
        .unit
        .is_some_and(|unit| Some(&unit) != units(schema.name, column.name).first())
        && read.scale.is_some()
    {
        return Err(member.wrong("has both `unit` and `scale`; keep one"));
    }
    Ok(read)
}

fn separator(member: &TomlEntry<'_>) -> Result<String, TomlError> {
    let text = member.text()?;
    if text.is_empty() {
        Err(member.wrong("must not be empty"))
    } else {
        Ok(text)
    }
}

fn unit(member: &TomlEntry<'_>) -> Result<Unit, TomlError> {
    let all = [Unit::Raw, Unit::Whole, Unit::Usd, Unit::Token];
    Unit::read(&member.text()?).ok_or_else(|| member.wrong(&format!("must be {}", quoted(&all))))
}

/// Formats `"raw", "whole" or "token"`.
fn quoted(units: &[Unit]) -> String {
    let words: Vec<String> = units.iter().map(|unit| format!("\"{unit}\"")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn decimal(member: &TomlEntry<'_>) -> Result<Decimal, TomlError> {
    match member.text()?.as_str() {
        "." => Ok(Decimal::Point),
        "," => Ok(Decimal::Comma),
        _ => Err(member.wrong("must be \",\" or \".\"")),
    }
}

/// The exponent, if the scale is a power of ten.
pub fn power_of_ten(scale: f64) -> Option<i64> {
    let exponent = scale.log10().round();
    let exact = exponent.abs() <= 77.0 && format!("1e{exponent}").parse() == Ok(scale);
    exact.then_some(exponent as i64)
}

/// Reads a table's `null`: null markers for all columns.
pub(super) fn spread_null(
    schema: &TableSchema,
    member: &TomlEntry<'_>,
    columns: &mut Columns,
) -> Result<(), TomlError> {
    for word in member.texts()? {
        for column in schema.columns {
            columns
                .entry(column.name)
                .or_default()
                .values
                .entry(word.clone())
                .or_default();
        }
    }
    Ok(())
}

/// Applies a table's `format`, `split`, `unit` or `decimal` to the columns it fits; a column's own setting wins.
pub(super) fn spread(
    schema: &TableSchema,
    member: &TomlEntry<'_>,
    columns: &mut Columns,
) -> Result<(), TomlError> {
    match member.key {
        "format" => {
            let format = member.text()?;
            for column in schema
                .columns
                .iter()
                .filter(|column| matches!(column.kind, Kind::Time | Kind::Date))
            {
                columns
                    .entry(column.name)
                    .or_default()
                    .format
                    .get_or_insert_with(|| format.clone());
            }
        }
        "decimal" => {
            let decimal = decimal(member)?;
            let numbers = |column: &&Column| {
                matches!(column.kind, Kind::Integer | Kind::Float | Kind::Uint256)
            };
            for column in schema.columns.iter().filter(numbers) {
                columns
                    .entry(column.name)
                    .or_default()
                    .decimal
                    .get_or_insert(decimal);
            }
        }
        "split" => {
            let split = separator(member)?;
            for column in schema.columns {
                let listed = columns
                    .get(column.name)
                    .is_some_and(|column| column.explode || column.item.is_some());
                if listed || matches!(column.kind, Kind::Chains | Kind::Addresses) {
                    columns
                        .entry(column.name)
                        .or_default()
                        .split
                        .get_or_insert_with(|| split.clone());
                }
            }
        }
        _ => {
            let unit = unit(member)?;
            let fitting: Vec<&Column> = schema
                .columns
                .iter()
                .filter(|column| units(schema.name, column.name).contains(&unit))
                .collect();
            if fitting.is_empty() {
                return Err(member.wrong(&format!("applies to no column of `{}`", schema.name)));
            }
            for column in fitting {
                columns
                    .entry(column.name)
                    .or_default()
                    .unit
                    .get_or_insert(unit);
            }
        }
    }
    Ok(())
}

/// Reads a table's `values`: by column, or flat, which is for addresses written as symbols.
pub(super) fn spread_values(
    schema: &TableSchema,
    member: &TomlEntry<'_>,
    columns: &mut Columns,
) -> Result<(), TomlError> {
    for entry in member.table()? {
        if let DeValue::Table(_) = entry.value {
            let column = ours(schema, &entry)?;
            for value in entry.table()? {
                columns
                    .entry(column.name)
                    .or_default()
                    .values
                    .insert(value.key.to_owned(), value.scalar()?);
            }
            continue;
        }
        let replacement = entry.scalar()?;
        if Address::parse(&replacement).is_none() {
            let hint = format!(
                "must contain addresses, unless it names its column: [tables.{}.values.COLUMN]",
                schema.name
            );
            return Err(member.wrong(&hint));
        }
        for column in schema
            .columns
            .iter()
            .filter(|column| matches!(column.kind, Kind::Address | Kind::Addresses))
        {
            let values = &mut columns.entry(column.name).or_default().values;
            values
                .entry(entry.key.to_owned())
                .or_insert_with(|| replacement.clone());
        }
    }
    Ok(())
}
