//! The queries behind GET /tables and /tables/{table}: filtered and sorted rows of any table of the dataset, by page or all.

mod chunks;
pub mod column;
pub mod columns;
pub mod groups;
pub mod order;
mod page;
pub mod remote;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::SerializeSeq};
use serde_json::value::RawValue;

use polars::prelude::DataFrame;

pub use self::page::generation_of;
use self::{groups::GroupQuery, order::RowQuery, page::PageRequest};
use super::{
    Dated, Find as _, Query,
    paging::Paging,
    parameter::{self, Parameter, ParameterKind, TokenReader, clip, parameter},
    request::{Request as _, request},
    snapshot::Snapshot,
    tabular::{Tabled, Tabular},
    view::View,
};
use frames::{cell::in_frame, export};
use load::Table;
use model::{
    error::{Code, Problem, Result},
    progress::Progress,
    scalar::Scalar,
    schema::{self, Known, TABLES},
    spelling::nearest,
    time::Time,
};
use table::filter;

request! {
    /// The tables that are loaded.
    TablesQuery at "/tables" {}
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tables {
    /// Number of the data snapshot.
    pub generation: u64,
    /// The loaded tables; GET /datasets has the reasons for missing ones.
    pub tables: Vec<TableEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TableEntry {
    pub name: &'static str,
    pub meaning: &'static str,
    pub rows: u64,
    /// Whether its rows are read from the disk cache.
    pub large: bool,
    pub columns: Vec<ColumnEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ColumnEntry {
    pub name: &'static str,
    /// Type name, as in `tokendeck schema`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub meaning: &'static str,
}

impl Query for TablesQuery {
    type Answer = Tables;
    const NAME: &'static str = "tables";
    const SUMMARY: &'static str = "List tables and columns.";
    const NEEDS: &'static [&'static str] = &[];

    fn etag(&self, snapshot: &Snapshot) -> String {
        snapshot.etag(&snapshot.named_in(&self.target()))
    }

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<Tables> {
        let entry = |table: &Table| TableEntry {
            name: table.schema.name,
            meaning: table.schema.meaning,
            rows: table.height() as u64,
            large: table.large().is_some(),
            columns: columns::of(table)
                .into_iter()
                .map(|column| ColumnEntry {
                    name: column.name,
                    kind: column.kind.word(),
                    meaning: column.meaning,
                })
                .collect(),
        };
        Ok(Tables {
            generation: view.number,
            tables: view
                .dataset
                .tables
                .iter()
                .filter(|table| table.loaded())
                .map(entry)
                .collect(),
        })
    }
}

pub const CURSOR: Parameter = parameter(
    "cursor",
    ParameterKind::Line(1_000),
    "`next` of the previous page, on the same data snapshot.",
);

const WHERE: Parameter = parameter(
    "where",
    ParameterKind::Line(filter::TEXT_CHARS_MAX),
    "Conditions such as `close>100 timestamp>=2026-01`: column, operator, value; combined with and, `or` and brackets. A token's symbol \
    can stand for its address, as in `token_address:UNI`.",
);

request! {
    /// Rows of a table.
    TableQuery at "/tables/{table}" {
        table: String = parameter("table", ParameterKind::Identifier, "Table name, from the list of tables."),
        by: Option<String> =
            parameter("by", ParameterKind::Line(200), "Group by this column: returns one row per value, with the metrics of `agg`."),
        agg: Option<String> = parameter(
            "agg",
            ParameterKind::Line(500),
            "Metrics per group, comma-separated: count, sum:COLUMN, mean:COLUMN, min:COLUMN, max:COLUMN. Default: count. Their columns \
            are count, sum_COLUMN, …",
        ),
        columns: Option<String> =
            parameter("columns", ParameterKind::Line(2_000), "Columns to return, comma-separated, in this order. Default: all."),
        conditions: Option<String> = WHERE,
        sort: Option<String> =
            parameter("sort", ParameterKind::Line(500), "Up to 4 columns, comma-separated; `-` for descending. Default: table order."),
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 10_000, default: 100 }, "Number of rows to return; if \
            omitted, formats other than json return all rows."),
        cursor: Option<String> = CURSOR,
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TableRows {
    pub table: &'static str,
    pub limit: u64,
    /// Number of matching rows; null if that would require a full scan.
    pub total: Option<u64>,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
    /// One object per row, with one field per column.
    pub rows: RowFrame,
    /// With `by`: how many groups are omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// Rows in the table's columns; in JSON one object each.
#[derive(Debug, Clone)]
pub struct RowFrame(pub DataFrame);

impl Serialize for RowFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.height()))?;
        for row in export::objects(&self.0) {
            rows.serialize_element(
                &RawValue::from_string(row).map_err(serde::ser::Error::custom)?,
            )?;
        }
        rows.end()
    }
}

impl JsonSchema for RowFrame {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rows".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "object" } })
    }
}

impl Query for TableQuery {
    type Answer = TableRows;
    const NAME: &'static str = "table";
    const SUMMARY: &'static str = "Query or aggregate a table, by page or as a stream.";
    /// The required tables depend on the table asked for.
    const NEEDS: &'static [&'static str] = &[];
    const DATED: Dated = Dated::Always;

    fn paging(&self, answer: &TableRows) -> Option<Paging> {
        answer.next.clone().map(Paging::From)
    }

    fn heavy(&self, _: &Snapshot) -> bool {
        self.conditions.is_some() || self.sort.is_some() || self.by.is_some()
    }

    fn waits(&self, snapshot: &Snapshot) -> bool {
        self.heavy(snapshot) || snapshot.dataset.engine_rows(&self.table).is_some()
    }

    fn as_of(&self, _: &Snapshot, answer: &TableRows) -> Option<Time> {
        let known = schema::table(answer.table)?.known;
        let Known::Dated(rule) = known else {
            return None;
        };
        let column = self.by.is_none().then(|| rule.column())?;
        let time = |row| match in_frame(&answer.rows.0, column, row) {
            Scalar::Time(time) => Some(time),
            Scalar::Day(day) => Some(day.start()),
            _ => None,
        };
        (0..answer.rows.0.height()).filter_map(time).max()
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TableRows> {
        if let Some(groups) = self.groups(view)? {
            let table = groups.rows.table.name;
            let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
            let found = GroupQuery { limit, ..groups }.find(view, progress)?;
            let (total, cut) = (Some(found.total as u64), found.cut());
            return Ok(TableRows {
                table,
                limit: self.limit,
                total,
                next: None,
                rows: RowFrame(found.frame),
                cut,
            });
        }
        let request = PageRequest::read(self, view)?;
        let page = request.page(self.limit, progress)?;
        Ok(TableRows {
            table: request.table.schema.name,
            limit: self.limit,
            total: page.total,
            next: page.next,
            rows: RowFrame(page.rows.all().map_err(|reason| {
                Problem::new(Code::Defect, format!("The rows cannot be read: {reason}."))
            })?),
            cut: None,
        })
    }
}

impl TableQuery {
    /// The groups asked for; `None` where rows are.
    fn groups(&self, snapshot: &Snapshot) -> Result<Option<GroupQuery>> {
        let refused = |detail: &str| Err(Problem::new(Code::InvalidParameter, detail));
        let Some(by) = &self.by else {
            return if self.agg.is_some() {
                refused("`agg` needs `by`, the column to group by.")
            } else {
                Ok(None)
            };
        };
        if self.columns.is_some() {
            return refused(
                "`columns` does not apply to groups; their columns are `by` and `agg`.",
            );
        }
        if self.cursor.is_some() {
            return refused(
                "`cursor` does not apply to groups; up to `limit` of them are returned in one response.",
            );
        }
        let table = loaded_table(snapshot, &self.table)?;
        let filter = parameter::conditions(
            "where",
            self.conditions.as_deref().unwrap_or_default(),
            &columns::for_filter(table),
            TokenReader::of(snapshot),
        )?;
        let groups = GroupQuery::read(
            table,
            by,
            self.agg.as_deref().unwrap_or_default(),
            self.sort.as_deref().unwrap_or_default(),
        )?;
        Ok(Some(GroupQuery {
            rows: RowQuery {
                filter,
                ..groups.rows
            },
            ..groups
        }))
    }
}

impl Tabular for TableQuery {
    fn tabled(
        &self,
        view: &View<'_>,
        _: &std::sync::Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled> {
        if let Some(groups) = self.groups(view)? {
            let limit = if whole {
                usize::MAX
            } else {
                usize::try_from(self.limit).unwrap_or(usize::MAX)
            };
            let names = groups.columns();
            return Ok(Tabled::frames(
                Box::new(GroupQuery { limit, ..groups }.find(view, progress)?.frame),
                &names,
            ));
        }
        let request = PageRequest::read(self, view)?;
        let columns = request.columns.iter().map(ToString::to_string).collect();
        if whole {
            return Ok(Tabled {
                columns,
                rows: request.rest(progress)?,
                next: None,
            });
        }
        let page = request.page(self.limit, progress)?;
        Ok(Tabled {
            columns,
            rows: Box::new(page.rows),
            next: page.next,
        })
    }
}

/// A loaded table. Errors: not in the data.
pub fn loaded_table<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a Table> {
    let dataset = &snapshot.dataset;
    let Some(table) = dataset.table(name) else {
        let nearest = nearest(name, TABLES.iter().map(|table| table.name)).unwrap_or_default();
        let detail = format!(
            "No table `{}`; did you mean `{nearest}`? GET /tables lists all tables.",
            clip(name)
        );
        return Err(Problem::new(Code::TableNotFound, detail));
    };
    snapshot.require(&[table.schema.name])?;
    match dataset.absence_reason(table.schema.name) {
        None => Ok(table),
        Some(lack) => Err(Problem::new(Code::TableNotFound, lack)),
    }
}
