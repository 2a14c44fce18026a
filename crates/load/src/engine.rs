//! Tables on a ClickHouse server ("engine"): columns are described and rows counted first; then the rows are read like those of a file. If
//! another number of rows arrives than was counted, none is used.

mod columns;
mod count;
mod fetched;
mod initial_rows;
mod pages;
mod rows;
mod spelling;
mod sql;
mod streamed;
mod templates;

pub use self::initial_rows::EngineSnapshot;
use self::sql::{ColumnType, EngineColumn};
pub(super) use self::{
    initial_rows::attach,
    rows::{QueryRows, RowsOutcome, open},
};
use super::loader::{
    LoadContext,
    bind::{Bound, bind, missing, wanted},
    remote::{Located, load_error_of, not_agreed},
    task::{TableLoad, TableLoadError},
};
use crate::{
    formats::locate::{Answer, LocatedFile},
    manifest::{EngineTable, Relation},
};
use model::{field_hash::FieldHash, schema::Kind};
use wire::{Fault, amount, clickhouse::Engine};

/// Identity of the server, part of the names of stored answers: a source that is moved to another server does not get the answers of the
/// one before. None if the source is unknown.
pub(super) fn server_of(context: &LoadContext<'_>, asked: &EngineTable) -> Option<String> {
    let source = context.wire?.engine_source(&asked.source)?;
    Some(format!(
        "{:?}",
        [&source.url, &source.database, &source.user]
    ))
}

/// Origin for consent: the user agrees that the dataset queries the source of that name.
pub(super) fn origin(asked: &EngineTable) -> String {
    format!("{SCHEME}{}", asked.source)
}

const SCHEME: &str = "clickhouse://";

/// Whether a file name is the name of an engine's table.
pub fn is_answer(file: &str) -> bool {
    file.starts_with(SCHEME)
}

/// Source in the file name of an engine's table.
pub(super) fn source_of(file: &str) -> Option<&str> {
    file.strip_prefix(SCHEME)?.split('/').next()
}

/// Name of the table in findings: `clickhouse://SOURCE/TABLE`.
fn name_of(asked: &EngineTable) -> String {
    let what = match &asked.from {
        Relation::Table(table) => table,
        Relation::Query(_) => "query",
    };
    format!("{}/{what}", origin(asked))
}

/// Queries to an engine about one table.
struct EngineQuery<'a> {
    load: TableLoad<'a>,
    asked: &'a EngineTable,
    engine: Engine,
    name: String,
    /// Whether the server is an old one, which sends rows as CSV.
    old: bool,
}

/// Counts the current rows of the table; none is fetched yet.
pub(super) fn locate(load: &TableLoad<'_>, asked: &EngineTable) -> Result<Located, TableLoadError> {
    let TableLoad {
        context, schema, ..
    } = *load;
    let asking = EngineQuery::new(load, asked)?;
    let answer = asking.prepare_answer()?;
    let found = LocatedFile::answered(answer.clone());
    let there = crate::loader::cached::cache_location(load, std::slice::from_ref(&found))
        .is_some_and(|cached| cached.location.exists());
    if !there && !rows::is_kept(context, &answer) {
        asking
            .engine
            .afford(answer.bytes())
            .map_err(|fault| load_error_of(&asking.name, fault))?;
        let rows = grouped(answer.rows);
        context.progress.fetching(&format!(
            "`{}`: {rows} rows from `{}`, about {}",
            schema.name,
            asked.source,
            amount(answer.bytes())
        ));
    }
    Ok(Located {
        files: vec![found],
        ..Located::default()
    })
}

impl<'a> EngineQuery<'a> {
    /// Fails without the user's consent.
    fn new(load: &TableLoad<'a>, asked: &'a EngineTable) -> Result<Self, TableLoadError> {
        let (load, context) = (*load, load.context);
        let name = name_of(asked);
        let refused = |fault: Fault| load_error_of(&name, fault);
        let Some(wire) = context.wire else {
            return Err(TableLoadError::Unusable(format!(
                "`{name}` is remote, but only local files are read"
            )));
        };
        let engine = wire.engine(&asked.source).map_err(refused)?;
        wire.may_ask(context.folder, &origin(asked))
            .map_err(|fault| not_agreed(&name, &fault))?;
        // The server of a table in place was found new enough when the generation was loaded.
        let old = context.snapshot.is_none()
            && !engine
                .known(&|| load.is_stopped())
                .map_err(refused)?
                .has_arrow();
        Ok(Self {
            load,
            asked,
            engine,
            name,
            old,
        })
    }
}

impl<'a> EngineQuery<'a> {
    /// Runs a query with a short result; returns it by row and column.
    fn ask(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, TableLoadError> {
        self.engine
            .ask(sql, &|| self.load.is_stopped())
            .map_err(|fault| self.fault(fault))
    }

    fn fault(&self, fault: Fault) -> TableLoadError {
        load_error_of(&self.name, fault)
    }

    /// Error of a table that was to stay in place.
    fn cannot_stay(&self, why: impl std::fmt::Display) -> TableLoadError {
        TableLoadError::Unusable(format!("`{}` cannot be queried in place: {why}", self.name))
    }

    /// Operand of FROM in the queries.
    fn from(&self) -> String {
        match &self.asked.from {
            Relation::Table(table) => format!(
                "{}{}",
                sql::table(table),
                if self.asked.last { " FINAL" } else { "" }
            ),
            Relation::Query(query) => format!("({query}\n)"),
        }
    }

    /// The rows that `conditions` keep, as they stand.
    fn rows(&self, columns: &Columns<'_>, conditions: &[String]) -> String {
        let names: Vec<String> = columns.picked.iter().map(EngineColumn::sql).collect();
        format!(
            "SELECT {} FROM {}{}",
            names.join(", "),
            self.from(),
            filter(conditions)
        )
    }

    /// Columns of the engine's table, and their binding to the schema.
    fn columns(&self) -> Result<Columns<'a>, TableLoadError> {
        let mut all = match self.load.context.snapshot {
            Some(snapshot) => snapshot.described.clone(),
            None => self.describe()?,
        };
        let names: Vec<String> = all.iter().map(|column| column.name.clone()).collect();
        let bound = bind(self.load.schema, self.load.manifest, &names)?;
        if self.load.context.snapshot.is_none() {
            if let Some(reason) = missing(self.load.schema, self.load.manifest, &bound, &names) {
                return Err(TableLoadError::Unusable(format!(
                    "`{}` {reason}",
                    self.name
                )));
            }
            self.spell(&mut all, &bound)?;
        }
        let wanted = wanted(self.load.schema, self.load.manifest);
        let picked = all
            .iter()
            .filter(|column| column.form != ColumnType::State && wanted(&column.name))
            .cloned()
            .collect();
        Ok(Columns { all, picked, bound })
    }

    fn describe(&self) -> Result<Vec<EngineColumn>, TableLoadError> {
        let what = match &self.asked.from {
            Relation::Table(table) => sql::table(table),
            Relation::Query(_) => self.from(),
        };
        let described = self.ask(&format!("DESCRIBE TABLE {what}"))?;
        Ok(described
            .iter()
            .filter_map(|row| {
                Some(EngineColumn::new(
                    row.first()?.as_ref()?,
                    row.get(1)?.as_ref()?,
                ))
            })
            .collect())
    }

    /// Counts the rows; the answer includes the query that reads them.
    fn prepare_answer(&self) -> Result<Answer, TableLoadError> {
        let columns = self.columns()?;
        let conditions = self.conditions(&columns);
        let counted = self.count(&columns, &conditions)?;
        let casts: Vec<String> = columns
            .picked
            .iter()
            .map(|column| format!("{} AS {}", sql::cast(column, self.old), column.sql()))
            .collect();
        // From a subquery, as an alias would shadow the column in the conditions too.
        let from = format!("({})", self.rows(&columns, &counted.conditions));
        let sql = format!("SELECT {} FROM {from}", casts.join(", "));
        let source = self.engine.source();
        let mark = FieldHash::of([
            &source.url,
            &source.database,
            &source.user,
            &sql,
            &counted.rows.to_string(),
            &counted.checksum,
        ])
        .finish();
        Ok(Answer {
            name: self.name.clone(),
            source: self.asked.source.clone(),
            sql,
            rows: counted.rows,
            width: columns
                .picked
                .iter()
                .map(|column| columns.width(column))
                .sum(),
            columns: columns.all.into_iter().map(|column| column.name).collect(),
            mark: const_hex::encode(mark),
            as_of: counted.as_of,
            notes: counted.notes,
            arrow: !self.old,
        })
    }

    /// Whether the SQL conditions keep exactly the rows that `where` keeps.
    fn is_exact(&self, columns: &Columns<'_>) -> bool {
        self.load
            .manifest
            .filters
            .iter()
            .all(|(name, filter)| match columns.of_condition(name) {
                (Some(column), ours) => {
                    sql::is_exact(filter, column, ours.map(|bound| bound.column.kind))
                }
                (None, _) => false,
            })
    }

    /// `where` in SQL, as far as it can be expressed without losing a row.
    fn conditions(&self, columns: &Columns<'_>) -> Vec<String> {
        let condition = |(name, filter): &(String, _)| {
            let (column, ours) = columns.of_condition(name);
            // A column that the loader converts is filtered by the loader.
            let column = column.filter(|_| ours.is_none_or(is_plain))?;
            sql::condition(
                filter,
                column,
                ours.map(|bound| bound.column.kind),
                &self.load.context.tokens,
                self.old,
            )
        };
        let said: Vec<String> = self
            .load
            .manifest
            .filters
            .iter()
            .filter_map(condition)
            .collect();
        // Where the server does not accept so long a query, all rows come and the loader filters them.
        let takes = || {
            self.engine
                .known(&|| self.load.is_stopped())
                .is_ok_and(|known| known.takes(&said.join(" AND ")))
        };
        if self.load.context.snapshot.is_some() || takes() {
            said
        } else {
            Vec::new()
        }
    }
}

/// Columns of an engine's table.
struct Columns<'a> {
    all: Vec<EngineColumn>,
    /// The columns that are queried.
    picked: Vec<EngineColumn>,
    bound: Vec<Bound<'a>>,
}

impl<'a> Columns<'a> {
    /// Schema column that is bound to an engine column.
    fn ours(&self, column: &EngineColumn) -> Option<&Bound<'a>> {
        ours(column, &self.bound)
    }

    /// Engine column that provides the schema column of this name.
    fn serving(&self, name: &str) -> Option<&EngineColumn> {
        self.picked.iter().find(|column| {
            self.ours(column)
                .is_some_and(|bound| bound.column.name == name)
        })
    }

    /// Engine column that a member of `where` names, and the schema column bound to it.
    fn of_condition(&self, name: &str) -> (Option<&EngineColumn>, Option<&Bound<'a>>) {
        let ours = self
            .bound
            .iter()
            .find(|bound| bound.column.name == name && !bound.is_absent());
        let theirs = ours.and_then(|bound| bound.raw.as_deref()).unwrap_or(name);
        (
            self.picked
                .iter()
                .find(|column| column.name.eq_ignore_ascii_case(theirs)),
            ours,
        )
    }

    /// Approximate bytes per value in transfer.
    fn width(&self, column: &EngineColumn) -> u64 {
        match (
            column.form,
            self.ours(column).map(|bound| bound.column.kind),
        ) {
            (
                ColumnType::Whole
                | ColumnType::Float
                | ColumnType::Single
                | ColumnType::Time
                | ColumnType::Day,
                _,
            ) => 8,
            (_, Some(Kind::Address)) => 46,
            (_, Some(Kind::Hex)) => 70,
            _ => 24,
        }
    }
}

fn ours<'b, 'm>(column: &EngineColumn, bound: &'b [Bound<'m>]) -> Option<&'b Bound<'m>> {
    bound
        .iter()
        .find(|bound| bound.raw.as_deref() == Some(&column.name))
}

/// Whether the loader reads the column without conversion.
fn is_plain(bound: &Bound<'_>) -> bool {
    let rule = bound.rule;
    let as_written =
        rule.values.is_empty() && rule.format.is_none() && rule.scale.is_none() && !rule.explode;
    as_written && bound.constant.is_none() && bound.item.is_none() && bound.units.is_none()
}

/// Fault for rows that differ in number from those counted.
fn wrong_count(came: u64, counted: u64) -> Fault {
    let [came, counted] = [came, counted].map(grouped);
    Fault::Unavailable(format!(
        "returned {came} rows, but {counted} were counted: the response is incomplete, or the rows changed; reload the data"
    ))
}

/// A number with thousands separators: `2,943,405`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

fn filter(conditions: &[String]) -> String {
    if conditions.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", conditions.join(" AND "))
    }
}
