//! What `dataset.toml` says of columns, for one or for the whole table at once.

use std::collections::HashMap;

use super::{
    super::{
        address::Address,
        coerce::manner::Decimal,
        schema::{Column, Kind, TableSchema},
    },
    ColumnManifest, Member, Value,
    keys::{KeyPlace, names},
    unit::{Unit, units},
    walk::Walk,
};

type Columns = HashMap<&'static str, ColumnManifest>;

const MAX_ITEM: i64 = 10_000;

/// Whether the column holds whole tokens, and so may come in smallest units.
pub(crate) fn is_amount(table: &str, column: &str) -> bool {
    units(table, column).starts_with(&[Unit::Whole])
}

/// The column of ours that the member is named after.
pub(super) fn ours(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>) -> Result<&'static Column, String> {
    named(walk, schema, member, member.key)
}

/// The column of ours of that name; the member is where it is spoken of.
pub(super) fn named(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>, name: &str) -> Result<&'static Column, String> {
    schema.column(name).ok_or_else(|| {
        let names: Vec<_> = schema.columns.iter().map(|column| column.name).collect();
        walk.unknown_name("column", name, member, &names)
    })
}

pub(super) fn read_columns(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>) -> Result<Columns, String> {
    let mut columns = Columns::new();
    for member in walk.table(member)? {
        let column = ours(walk, schema, &member)?;
        let read = match member.value {
            Value::String(from) => ColumnManifest { from: Some(from.to_string()), ..ColumnManifest::default() },
            // A column of a file without a header goes by its number.
            Value::Integer(_) => {
                ColumnManifest { from: Some(walk.integer(&member, 1, MAX_ITEM)?.to_string()), ..ColumnManifest::default() }
            }
            Value::Table(_) => read_column(walk, schema, column, &member)?,
            _ => return Err(walk.error(&member, "must be their column's name, or a table such as { from = \"NAME\", scale = 1e-6 }")),
        };
        columns.insert(column.name, read);
    }
    Ok(columns)
}

fn read_column(walk: &Walk<'_>, schema: &TableSchema, column: &Column, member: &Member<'_>) -> Result<ColumnManifest, String> {
    let mut read = ColumnManifest::default();
    for member in walk.table(member)? {
        let fits = |kinds: &[Kind], what: &str| {
            let message = || format!("fits {what}, and `{}` holds {}", column.name, column.kind.expectation());
            if kinds.contains(&column.kind) { Ok(()) } else { Err(walk.error(&member, &message())) }
        };
        match member.key {
            "from" if matches!(member.value, Value::Integer(_)) => read.from = Some(walk.integer(&member, 1, MAX_ITEM)?.to_string()),
            "from" => read.from = Some(walk.text(&member)?),
            "scale" => {
                fits(&[Kind::Integer, Kind::Float, Kind::Uint256], "a number")?;
                let scale = walk.number(&member)?;
                if column.kind == Kind::Uint256 && power_of_ten(scale).is_none() {
                    return Err(walk.error(&member, "of whole numbers that must stay exact must be a power of ten, such as 1e18"));
                }
                read.scale = Some(scale);
            }
            "decimal" => {
                fits(&[Kind::Integer, Kind::Float, Kind::Uint256], "a number")?;
                read.decimal = Some(decimal(walk, &member)?);
            }
            "null" => {
                for word in walk.texts(&member)? {
                    read.values.insert(word, String::new());
                }
            }
            "approximate" => {
                if !is_amount(schema.name, column.name) {
                    fits(&[Kind::Uint256], "amounts")?;
                }
                read.approximate = walk.boolean(&member)?;
            }
            "format" => {
                fits(&[Kind::Time, Kind::Date], "a time")?;
                read.format = Some(walk.text(&member)?);
            }
            "split" => read.split = Some(separator(walk, &member)?),
            "item" => read.item = Some(walk.integer(&member, 1, MAX_ITEM)? as usize),
            "explode" => read.explode = walk.boolean(&member)?,
            "unit" => {
                let known = units(schema.name, column.name);
                if known.is_empty() {
                    fits(&[], "amounts, volumes and prices")?;
                }
                let unit = unit(walk, &member)?;
                if !known.contains(&unit) {
                    return Err(walk.error(&member, &format!("of `{}` must be {}", column.name, quoted(known))));
                }
                read.unit = Some(unit);
            }
            "values" => {
                for value in walk.table(&member)? {
                    read.values.insert(value.key.to_owned(), walk.scalar(&value)?);
                }
            }
            _ => return Err(walk.unknown("key", &member, &names(KeyPlace::Column))),
        }
    }
    if read.explode && read.item.is_some() {
        return Err(walk.error(member, "has both `explode` and `item`: keep one"));
    }
    if read.unit.is_some_and(|unit| Some(&unit) != units(schema.name, column.name).first()) && read.scale.is_some() {
        return Err(walk.error(member, "has both `unit` and `scale`: keep one"));
    }
    Ok(read)
}

fn separator(walk: &Walk<'_>, member: &Member<'_>) -> Result<String, String> {
    let text = walk.text(member)?;
    if text.is_empty() { Err(walk.error(member, "must not be empty")) } else { Ok(text) }
}

fn unit(walk: &Walk<'_>, member: &Member<'_>) -> Result<Unit, String> {
    let all = [Unit::Raw, Unit::Whole, Unit::Usd, Unit::Token];
    Unit::read(&walk.text(member)?).ok_or_else(|| walk.error(member, &format!("must be {}", quoted(&all))))
}

/// `"raw", "whole" or "token"`.
fn quoted(units: &[Unit]) -> String {
    let words: Vec<String> = units.iter().map(|unit| format!("\"{unit}\"")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn decimal(walk: &Walk<'_>, member: &Member<'_>) -> Result<Decimal, String> {
    match walk.text(member)?.as_str() {
        "." => Ok(Decimal::Point),
        "," => Ok(Decimal::Comma),
        _ => Err(walk.error(member, "must be \",\" or \".\"")),
    }
}

/// The exponent of a power of ten.
pub(crate) fn power_of_ten(scale: f64) -> Option<i64> {
    let exponent = scale.log10().round();
    let exact = exponent.abs() <= 77.0 && format!("1e{exponent}").parse() == Ok(scale);
    exact.then_some(exponent as i64)
}

/// Reads a table's `null`: texts that stand for no value in any column.
pub(super) fn spread_null(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>, columns: &mut Columns) -> Result<(), String> {
    for word in walk.texts(member)? {
        for column in schema.columns {
            columns.entry(column.name).or_default().values.entry(word.clone()).or_default();
        }
    }
    Ok(())
}

/// Spreads a table's `format`, `split`, `unit` or `decimal` over the columns it fits, where the column does not say otherwise.
pub(super) fn spread(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>, columns: &mut Columns) -> Result<(), String> {
    match member.key {
        "format" => {
            let format = walk.text(member)?;
            for column in schema.columns.iter().filter(|column| matches!(column.kind, Kind::Time | Kind::Date)) {
                columns.entry(column.name).or_default().format.get_or_insert_with(|| format.clone());
            }
        }
        "decimal" => {
            let decimal = decimal(walk, member)?;
            let numbers = |column: &&Column| matches!(column.kind, Kind::Integer | Kind::Float | Kind::Uint256);
            for column in schema.columns.iter().filter(numbers) {
                columns.entry(column.name).or_default().decimal.get_or_insert(decimal);
            }
        }
        "split" => {
            let split = separator(walk, member)?;
            for column in schema.columns {
                let listed = columns.get(column.name).is_some_and(|column| column.explode || column.item.is_some());
                if listed || matches!(column.kind, Kind::Chains | Kind::Addresses) {
                    columns.entry(column.name).or_default().split.get_or_insert_with(|| split.clone());
                }
            }
        }
        _ => {
            let unit = unit(walk, member)?;
            let fitting: Vec<&Column> = schema.columns.iter().filter(|column| units(schema.name, column.name).contains(&unit)).collect();
            if fitting.is_empty() {
                return Err(walk.error(member, &format!("fits no column of `{}`", schema.name)));
            }
            for column in fitting {
                columns.entry(column.name).or_default().unit.get_or_insert(unit);
            }
        }
    }
    Ok(())
}

/// Reads a table's `values`: by column, or flat, which is for addresses that are written as symbols.
pub(super) fn spread_values(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>, columns: &mut Columns) -> Result<(), String> {
    for entry in walk.table(member)? {
        if let Value::Table(_) = entry.value {
            let column = ours(walk, schema, &entry)?;
            for value in walk.table(&entry)? {
                columns.entry(column.name).or_default().values.insert(value.key.to_owned(), walk.scalar(&value)?);
            }
            continue;
        }
        let replacement = walk.scalar(&entry)?;
        if Address::parse(&replacement).is_none() {
            let hint = format!("of no column must be addresses; say which column: [tables.{}.values.COLUMN]", schema.name);
            return Err(walk.error(member, &hint));
        }
        for column in schema.columns.iter().filter(|column| matches!(column.kind, Kind::Address | Kind::Addresses)) {
            let values = &mut columns.entry(column.name).or_default().values;
            values.entry(entry.key.to_owned()).or_insert_with(|| replacement.clone());
        }
    }
    Ok(())
}
