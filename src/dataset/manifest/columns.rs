//! What `dataset.toml` says of columns, for one or for the whole table at once.

use std::collections::HashMap;

use super::{
    super::{
        address::Address,
        schema::{Column, Kind, TableSchema},
    },
    ColumnManifest, Member, Value,
    walk::Walk,
};

type Columns = HashMap<&'static str, ColumnManifest>;

const COLUMN_KEYS: &[&str] = &["from", "scale", "format", "split", "item", "explode", "unit", "values"];
const MAX_ITEM: i64 = 10_000;

/// The columns that hold whole tokens, and so may come in smallest units.
pub(crate) const TOKEN_AMOUNTS: &[(&str, &str)] =
    &[("tokens", "total_supply"), ("holders", "balance"), ("holder_counts", "whale_balance"), ("locks", "amount")];

/// Whether the column holds whole tokens.
pub(crate) fn is_amount(table: &str, column: &str) -> bool {
    TOKEN_AMOUNTS.contains(&(table, column))
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
            "from" => read.from = Some(walk.text(&member)?),
            "scale" => {
                fits(&[Kind::Integer, Kind::Float], "a number")?;
                read.scale = Some(walk.number(&member)?);
            }
            "format" => {
                fits(&[Kind::Time, Kind::Date], "a time")?;
                read.format = Some(walk.text(&member)?);
            }
            "split" => read.split = Some(separator(walk, &member)?),
            "item" => read.item = Some(walk.integer(&member, 1, MAX_ITEM)? as usize),
            "explode" => read.explode = walk.boolean(&member)?,
            "unit" => {
                if !is_amount(schema.name, column.name) {
                    return Err(walk.error(&member, &format!("fits an amount of whole tokens, and `{}` is none", column.name)));
                }
                read.raw = is_raw(walk, &member)?;
            }
            "values" => {
                for value in walk.table(&member)? {
                    read.values.insert(value.key.to_owned(), walk.scalar(&value)?);
                }
            }
            _ => return Err(walk.unknown("key", &member, COLUMN_KEYS)),
        }
    }
    if read.explode && read.item.is_some() {
        return Err(walk.error(member, "has both `explode` and `item`: keep one"));
    }
    if read.raw && read.scale.is_some() {
        return Err(walk.error(member, "has both `unit` and `scale`: keep one"));
    }
    Ok(read)
}

fn separator(walk: &Walk<'_>, member: &Member<'_>) -> Result<String, String> {
    let text = walk.text(member)?;
    if text.is_empty() { Err(walk.error(member, "must not be empty")) } else { Ok(text) }
}

fn is_raw(walk: &Walk<'_>, member: &Member<'_>) -> Result<bool, String> {
    match walk.text(member)?.as_str() {
        "raw" => Ok(true),
        "token" => Ok(false),
        _ => Err(walk.error(member, "must be \"raw\" or \"token\"")),
    }
}

/// Spreads a table's `format`, `split` or `unit` over the columns it fits, where the column does not say otherwise.
pub(super) fn spread(walk: &Walk<'_>, schema: &TableSchema, member: &Member<'_>, columns: &mut Columns) -> Result<(), String> {
    match member.key {
        "format" => {
            let format = walk.text(member)?;
            for column in schema.columns.iter().filter(|column| matches!(column.kind, Kind::Time | Kind::Date)) {
                columns.entry(column.name).or_default().format.get_or_insert_with(|| format.clone());
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
            let raw = is_raw(walk, member)?;
            for column in schema.columns.iter().filter(|column| is_amount(schema.name, column.name)) {
                columns.entry(column.name).or_default().raw |= raw;
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
