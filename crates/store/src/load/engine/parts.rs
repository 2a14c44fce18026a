//! Tells whether a table of an engine is unchanged, without reading it. A MergeTree table consists of parts that are never rewritten: every
//! change of rows creates other parts, and every change of columns another definition. Merges also create other parts, with the same rows:
//! then only the content decides.

use super::{EngineQuery, sql};
use source::manifest::Relation;

impl EngineQuery<'_> {
    /// What the table consists of now: while that is the same, its rows are. `None` of a view, a query, a table over several servers, or one
    /// with columns that are worked out as it is read, and where the user may not see it.
    pub(super) fn parts(&self) -> Option<String> {
        let Relation::Table(table) = &self.asked.from else {
            return None;
        };
        let found = self.ask(&parts_sql(table)).ok()?;
        found.into_iter().next()?.into_iter().next()?
    }
}

fn parts_sql(table: &str) -> String {
    let (database, name) = match table.split_once('.') {
        Some((database, name)) => (sql::text(database), sql::text(name)),
        None => ("currentDatabase()".to_owned(), sql::text(table)),
    };
    let columns = format!(
        "system.columns WHERE database = {database} AND table = {name} AND default_kind = 'ALIAS'"
    );
    let defined = format!(
        "SELECT any(metadata_modification_time) FROM system.tables WHERE database = {database} AND name = {name}"
    );
    format!(
        "SELECT concat(toString(count()), '-', toString(sum(cityHash64(name, hash_of_all_files))), '-', toString(({defined}))) FROM system.parts \
         WHERE active AND database = {database} AND table = {name} HAVING count() > 0 AND (SELECT count() FROM {columns}) = 0"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_with_its_database_or_in_the_current_one() {
        let said = parts_sql("market.o'hlc");
        assert!(
            said.contains("database = 'market' AND table = 'o\\'hlc'")
                && said.contains("name = 'o\\'hlc'"),
            "{said}"
        );
        assert!(parts_sql("ohlc").contains("database = currentDatabase() AND table = 'ohlc'"));
    }
}
