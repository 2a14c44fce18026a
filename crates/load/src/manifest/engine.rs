//! The keys of `dataset.toml` for a table at an engine: `source`, and `table` or `query`, `final`, `read`; and for a table from a node:
//! `source`, with `from_block` if it is built from logs.

use super::{EngineTable, LogTable, Relation};
use model::{
    schema::{FromNode, TableSchema},
    toml_reader::{TomlEntry, TomlError},
};

/// Keys of file tables, which `source` excludes.
const OF_FILES: [&str; 3] = ["path", "header", "skip"];

/// The largest number of a block: the largest that is exact everywhere.
const BLOCK_MAX: i64 = 1 << 53;

/// Keys of a table on an engine, which a node has not.
fn is_of_engine(member: &TomlEntry<'_>) -> bool {
    ["table", "query", "final", "read"].contains(&member.key)
}

/// The node of a table that a node says: one whose `source` has no table and no query.
pub(super) fn node(
    schema: &TableSchema,
    members: &[TomlEntry<'_>],
) -> Result<Option<String>, TomlError> {
    if schema.from_node != Some(FromNode::State) || members.iter().any(is_of_engine) {
        return Ok(None);
    }
    let Some(source) = members.iter().find(|member| member.key == "source") else {
        return Ok(None);
    };
    name_of(source).map(Some)
}

/// The node of a table that is made of its logs: one whose `source` has no table and no query.
pub(super) fn logs(
    schema: &TableSchema,
    members: &[TomlEntry<'_>],
) -> Result<Option<LogTable>, TomlError> {
    let find = |key: &str| members.iter().find(|member| member.key == key);
    let (source, from) = (find("source"), find("from_block"));
    let (true, false, Some(source)) = (
        schema.from_node == Some(FromNode::Logs),
        members.iter().any(is_of_engine),
        source,
    ) else {
        let must = "is only for transfers and holder_counts whose `source` is a node";
        return from.map_or(Ok(None), |from| Err(from.wrong(must)));
    };
    not_of_files(members)?;
    let from_block = from
        .map(|from| from.integer(0, BLOCK_MAX))
        .transpose()?
        .and_then(|block| u64::try_from(block).ok());
    Ok(Some(LogTable {
        source: name_of(source)?,
        from_block,
    }))
}

fn name_of(source: &TomlEntry<'_>) -> Result<String, TomlError> {
    let name = source.text()?;
    if name.is_empty() {
        Err(source.wrong("must be the name of a source: a [sources.NAME] of config.toml"))
    } else {
        Ok(name)
    }
}

/// Errors: a key of files beside `source`.
fn not_of_files(members: &[TomlEntry<'_>]) -> Result<(), TomlError> {
    let Some(member) = members.iter().find(|member| OF_FILES.contains(&member.key)) else {
        return Ok(());
    };
    let must = if member.key == "path" {
        "and `source` cannot be combined; keep one"
    } else {
        "is only for files, but these rows are queried"
    };
    Err(member.wrong(must))
}

pub(super) fn read(
    schema: &TableSchema,
    members: &[TomlEntry<'_>],
) -> Result<Option<EngineTable>, TomlError> {
    let find = |key: &str| members.iter().find(|member| member.key == key);
    let (table, query, last, read) = (find("table"), find("query"), find("final"), find("read"));
    let Some(source) = find("source") else {
        let lone = [table, query, last, read].into_iter().flatten().next();
        let must = "needs a `source`: a [sources.NAME] of config.toml";
        return lone.map_or(Ok(None), |member| Err(member.wrong(must)));
    };
    not_of_files(members)?;
    let text = |member: &TomlEntry<'_>| {
        member
            .text()
            .map(|text| text.trim().trim_end_matches(';').trim_end().to_owned())
    };
    let from = match (table, query) {
        (Some(table), None) => Relation::Table(text(table)?),
        (None, Some(query)) => Relation::Query(text(query)?),
        (Some(table), Some(_)) => {
            return Err(table.wrong("and `query` cannot be combined; keep one"));
        }
        (None, None) => return Err(source.wrong("needs a `table` or a `query`")),
    };
    if let (Relation::Query(_), Some(last)) = (&from, last) {
        return Err(last.wrong("is only for a `table`; write FINAL in the query"));
    }
    let name = source.text()?;
    let (Relation::Table(said) | Relation::Query(said)) = &from;
    if said.is_empty() || name.is_empty() {
        return Err(source.wrong("must be a name, and its `table` or `query` must not be empty"));
    }
    let last = last.map_or(Ok(false), TomlEntry::boolean)?;
    let in_place = match read.map(|read| Ok((read, read.text()?))).transpose()? {
        None => false,
        Some((read, word)) => match word.as_str() {
            "bring" => false,
            "in place" if schema.in_place => true,
            "in place" => return Err(read.wrong(
                "must be \"bring\": only candles, holders and transfers can be queried in place",
            )),
            _ => return Err(read.wrong("must be \"bring\" or \"in place\"")),
        },
    };
    Ok(Some(EngineTable {
        source: name,
        from,
        last,
        in_place,
    }))
}
