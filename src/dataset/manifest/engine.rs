//! What `dataset.toml` says of a table whose rows are asked for: `source`, and `table` or `query`.

use super::{
    Asked, From, Member,
    walk::{Members, Walk},
};
use crate::dataset::schema::TableSchema;

/// The tables whose rows may stay where they are.
const IN_PLACE: [&str; 2] = ["candles", "holders"];

/// Members that do not go with `source`.
const OF_FILES: [&str; 3] = ["path", "header", "skip"];

pub(super) fn read(walk: &Walk<'_>, schema: &TableSchema, members: &Members<'_>) -> Result<Option<Asked>, String> {
    let find = |key: &str| members.iter().find(|member| member.key == key);
    let (table, query, last, read) = (find("table"), find("query"), find("final"), find("read"));
    let Some(source) = find("source") else {
        let lone = [table, query, last, read].into_iter().flatten().next();
        let must = "is of a source: say which with `source`, as config.toml has it in [sources.NAME]";
        return lone.map_or(Ok(None), |member| Err(walk.error(member, must)));
    };
    if let Some(member) = members.iter().find(|member| OF_FILES.contains(&member.key)) {
        let must = if member.key == "path" {
            "and `source` both say where the rows are: keep one"
        } else {
            "is of files, and these rows are asked for"
        };
        return Err(walk.error(member, must));
    }
    let text = |member: &Member<'_>| walk.text(member).map(|text| text.trim().trim_end_matches(';').trim_end().to_owned());
    let from = match (table, query) {
        (Some(table), None) => From::Table(text(table)?),
        (None, Some(query)) => From::Query(text(query)?),
        (Some(table), Some(_)) => return Err(walk.error(table, "and `query` both say which rows: keep one")),
        (None, None) => return Err(walk.error(source, "needs a `table` of it, or a `query`")),
    };
    if let (From::Query(_), Some(last)) = (&from, last) {
        return Err(walk.error(last, "is of a table: say FINAL in the query"));
    }
    let name = walk.text(source)?;
    let (From::Table(said) | From::Query(said)) = &from;
    if said.is_empty() || name.is_empty() {
        return Err(walk.error(source, "needs a name, and its `table` or `query` a text"));
    }
    let last = last.map_or(Ok(false), |last| walk.boolean(last))?;
    let in_place = match read.map(|read| walk.text(read)).transpose()?.as_deref() {
        None | Some("bring") => false,
        Some("in place") if IN_PLACE.contains(&schema.name) => true,
        Some(word) => {
            let must = if word == "in place" {
                "must be \"bring\": in place are candles and holders alone"
            } else {
                "must be \"bring\" or \"in place\""
            };
            return Err(read.map_or_else(String::new, |read| walk.error(read, must)));
        }
    };
    Ok(Some(Asked { source: name, from, last, in_place }))
}
