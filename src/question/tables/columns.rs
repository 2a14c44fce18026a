//! The columns that a table has: ours, and of `tokens` theirs, with the names and types that `tokendeck schema` tells; and reading a
//! request's lists of them.

use std::borrow::Cow;

use super::order::SortBy;
use crate::{
    dataset::{
        Table,
        cell::kind_of,
        grid::Grid,
        schema::{self, Kind},
    },
    error::{Code, Problem, Result},
    question::{
        filter::{FilterColumn, nearest, of_kind},
        list::{SORTS_MAX, signed},
        parameter::clip,
    },
};

/// A column of a table as it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    pub name: Cow<'static, str>,
    pub kind: Kind,
    /// User text; of a column that is not ours nothing is known.
    pub meaning: &'static str,
    aliases: &'static [&'static str],
}

/// Ours in the schema's order, then theirs.
pub fn of(table: &Table) -> Vec<TableColumn> {
    let grid = Grid::of(table);
    let ours = table.schema.columns.iter().filter(|column| grid.has(column.name));
    let ours = ours.map(|&schema::Column { name, kind, meaning, aliases, .. }| TableColumn { name: name.into(), kind, meaning, aliases });
    let new = table.others.columns().iter().filter(|column| table.schema.column(column.name()).is_none());
    let theirs = new.map(|column| TableColumn {
        name: Cow::Owned(column.name().to_string()),
        kind: kind_of(column),
        meaning: "a column of the file that is not ours",
        aliases: &[],
    });
    ours.chain(theirs).collect()
}

/// As a filter names them.
pub fn for_filter(table: &Table) -> Vec<FilterColumn> {
    of(table).into_iter().map(|column| of_kind(column.name, column.kind, column.aliases)).collect()
}

/// `close,volume`: the columns named, in this order, each once; all where none is.
pub(super) fn chosen(text: Option<&str>, columns: &[TableColumn]) -> Result<Vec<Cow<'static, str>>> {
    let mut chosen: Vec<Cow<'static, str>> = Vec::new();
    for name in names(text) {
        let column = known("columns", name, columns)?;
        if !chosen.contains(&column.name) {
            chosen.push(column.name.clone());
        }
    }
    Ok(if chosen.is_empty() { columns.iter().map(|column| column.name.clone()).collect() } else { chosen })
}

/// `-volume,close`.
pub(super) fn sort(text: Option<&str>, columns: &[TableColumn]) -> Result<Vec<SortBy>> {
    let mut sort: Vec<SortBy> = Vec::new();
    for word in names(text) {
        let (name, falls) = signed(word);
        let column = known("sort", name, columns)?;
        if sort.iter().any(|by| by.column == column.name) {
            let detail = format!("`sort` names `{}` more than once: name it once.", column.name);
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        sort.push(SortBy { column: column.name.clone(), falls });
    }
    if sort.len() > SORTS_MAX {
        let detail = format!("`sort` names {} columns: expected at most {SORTS_MAX}.", sort.len());
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    Ok(sort)
}

fn names(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn known<'a>(parameter: &str, name: &str, columns: &'a [TableColumn]) -> Result<&'a TableColumn> {
    columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let all = || columns.iter().map(|column| &*column.name);
        let nearest = nearest(name, all()).map_or_else(String::new, |nearest| format!("did you mean `{nearest}`? "));
        let detail = format!(
            "`{parameter}` names `{}`, which is no column of the table: {nearest}There are {}.",
            clip(name),
            all().collect::<Vec<_>>().join(", ")
        );
        Problem::new(Code::InvalidParameter, detail)
    })
}
