//! The columns of a table: built-in ones, and custom ones of the file, with the names and types of `tokendeck schema`; and the parsing of a
//! request's column lists.

use crate::queries::parameter::{clip, parts_of};
use load::Table;
use model::{
    error::{Code, Problem, Result},
    schema::Column,
    spelling::meant,
};
use table::filter::{FilterColumn, of_column, of_kind};

/// Built-in columns in schema order, then custom ones.
pub fn of(table: &Table) -> Vec<Column> {
    let theirs = table.own_columns().map(|column| Column {
        meaning: "an extra column of the file",
        ..*column
    });
    let ours = table.rows.columns().copied();
    let ours = ours.filter(|column| table.schema.column(column.name).is_some());
    ours.chain(theirs).collect()
}

/// As filter columns.
pub fn for_filter(table: &Table) -> Vec<FilterColumn> {
    // What a column of the file itself is made of is not known.
    let each = |column: &Column| match table.schema.column(column.name) {
        Some(_) => of_column(column),
        None => of_kind(column.name, column.kind, column.aliases),
    };
    of(table).iter().map(each).collect()
}

/// `close,volume`: the named columns in this order, without duplicates; all where none is named.
pub(super) fn chosen(text: Option<&str>, columns: &[Column]) -> Result<Vec<&'static str>> {
    let mut chosen: Vec<&'static str> = Vec::new();
    for name in parts_of(text.unwrap_or_default()) {
        let column = find("columns", name, columns)?;
        if !chosen.contains(&column.name) {
            chosen.push(column.name);
        }
    }
    Ok(if chosen.is_empty() {
        columns.iter().map(|column| column.name).collect()
    } else {
        chosen
    })
}

/// The column that the parameter names, in any letter case.
pub(super) fn find<'a>(parameter: &str, name: &str, columns: &'a [Column]) -> Result<&'a Column> {
    columns
        .iter()
        .find(|column| column.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| {
            let all = || columns.iter().map(|column| column.name);
            let nearest = meant(name, all()).map_or_else(
                || ".".to_owned(),
                |nearest| format!("; did you mean `{nearest}`?"),
            );
            let detail = format!(
                "`{parameter}` names the unknown column `{}`{nearest} Columns: {}.",
                clip(name),
                all().collect::<Vec<_>>().join(", ")
            );
            Problem::new(Code::InvalidParameter, detail)
        })
}
