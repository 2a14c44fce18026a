//! The rows of a table in groups, typed as `by chain count sum:volume24h`; a list that replaces the rows.

use std::sync::Arc;

use super::{RowFields, TableRow, field};
use crate::views::prelude::*;
use frames::rows::Frames as _;
use load::Table as DataTable;
use model::schema::Column;
use query::{
    queries::tables::{
        columns,
        groups::{GroupQuery, Groups, SHOWN_MAX},
        order::RowQuery,
    },
    service::pending::PendingResult,
};
use table::TableRows;

/// The word before the input line of a grouping.
pub(super) const BY: &str = "by";

pub(super) struct GroupsPane {
    query: GroupQuery,
    /// As it was typed.
    pub(super) line: String,
    /// Its columns are those of the groups.
    pub(super) list: List<RowFields>,
    columns: Vec<Column>,
    pending: Option<PendingResult<Groups>>,
    /// What is shown, and the number of all groups.
    grid: Arc<TableRows>,
    found: Option<Groups>,
    problem: Option<String>,
}

/// The line that groups by a column: its beginning.
pub(super) fn line_of(column: &str) -> String {
    format!("{column} count ")
}

/// The texts that complete the last word of the line, each with its new word.
pub(super) fn completions(text: &str, table: &DataTable) -> Vec<(String, String)> {
    let (before, word) = text
        .rsplit_once(' ')
        .map_or(("", text), |(before, word)| (before, word));
    let known = columns::of(table);
    let all: Vec<String> = if before.is_empty() {
        known.iter().map(|column| column.name.to_owned()).collect()
    } else {
        GroupQuery::proposals(&known)
    };
    let fits = |proposed: &String| proposed.starts_with(&word.to_lowercase()) && *proposed != word;
    all.into_iter()
        .filter(fits)
        .map(|word| (format!("{before} {word}").trim_start().to_owned(), word))
        .collect()
}

impl GroupsPane {
    /// Parses the line.
    pub(super) fn read(line: &str, table: &DataTable, rows: &RowQuery) -> Result<Self, InputError> {
        let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
        let by = words.next().ok_or(InputError::NoGroupColumn)?;
        let query = GroupQuery::read(table, by, &words.collect::<Vec<_>>().join(","), "")
            .map_err(InputError::Query)?;
        let query = GroupQuery {
            rows: RowQuery {
                sort: Vec::new(),
                ..rows.clone()
            },
            ..query
        };
        let meaning = |name: &str| {
            if name == query.by.name {
                query.by.meaning
            } else {
                "over the rows in the group"
            }
        };
        let column = |name| Column::of_kind(name, query.kind(name), meaning(name));
        let columns: Vec<Column> = query.columns().into_iter().map(column).collect();
        let mut list = List::<RowFields>::default();
        list.set_own(0, TokenReader::default(), || {
            columns.iter().map(field).collect()
        });
        list.set_count(0);
        // Without a row on screen until the groups are found.
        let grid = Arc::clone(&table.rows);
        Ok(Self {
            query,
            line: line.to_owned(),
            list,
            columns,
            pending: None,
            grid,
            found: None,
            problem: None,
        })
    }

    pub(super) fn ask(&mut self, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        self.query.sort = self.list.sorting.keys().to_vec();
        self.pending = Some(context.find(snapshot, self.query.clone()));
    }

    /// Takes arrived groups; queries again for other rows.
    pub(super) fn follow(
        &mut self,
        rows: &RowQuery,
        snapshot: &Arc<Snapshot>,
        context: &Context<'_>,
    ) {
        if self.query.rows.filter != rows.filter {
            self.query.rows.filter = rows.filter.clone();
            self.ask(snapshot, context);
        }
        match self.pending.as_mut().and_then(PendingResult::poll_now) {
            Some(Ok(found)) => {
                let rows = TableRows::free(&found.frame);
                self.problem = rows.as_ref().err().map(ToString::to_string);
                self.grid = Arc::new(rows.unwrap_or_default());
                self.list.set_count(self.grid.height());
                (self.found, self.pending) = (Some(found), None);
            }
            Some(Err(problem)) => (self.problem, self.pending) = (Some(problem.detail), None),
            None => {}
        }
    }

    /// Handles movement and sorting.
    pub(super) fn on_list_event(
        &mut self,
        event: ListEvent,
        snapshot: &Arc<Snapshot>,
        context: &Context<'_>,
    ) {
        if event == ListEvent::Sorted {
            self.ask(snapshot, context);
        }
    }

    /// The condition that the rows of the selected group meet; `None` for rows without a value, or where the grammar has none.
    pub(super) fn condition(&self) -> Option<String> {
        let by = self.query.by.name;
        let value = self
            .grid
            .cell(by, self.list.selected()?)
            .to_text()
            .unwrap_or_default();
        let is_plain = value
            .chars()
            .all(|c| c.is_alphanumeric() || "+-.:_".contains(c));
        let writable = !value.is_empty() && !value.contains('"');
        writable.then(|| {
            if is_plain {
                format!("{by}={value}")
            } else {
                format!("{by}=\"{value}\"")
            }
        })
    }

    pub(super) fn copy(&self) -> Effect {
        let cell = |column: &'static str| {
            Some((
                self.grid
                    .cell(column, self.list.selected()?)
                    .to_text()
                    .unwrap_or_default(),
                column,
            ))
        };
        self.list
            .column()
            .and_then(cell)
            .map_or(Effect::Nothing, |(text, column)| Effect::Copy(text, column))
    }

    /// The parameters of the request for the same groups.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let sort = self
            .query
            .sort
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",");
        let all = [
            ("by", self.query.by.name.to_owned()),
            ("agg", self.query.agg()),
            ("sort", sort),
            ("limit", SHOWN_MAX.to_string()),
        ];
        all.into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    pub(super) fn export(&self, table: &str) -> Export {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        let row = |row: usize| {
            names
                .iter()
                .map(|name| self.grid.cell(name, row).json())
                .collect()
        };
        Export::of(
            format!("{table}-by-{}", self.query.by.name),
            &names,
            (0..self.grid.height()).map(row).collect(),
            self.list.selected(),
        )
    }

    pub(super) fn draw(
        &mut self,
        table: &str,
        buffer: &mut Buffer,
        area: Rect,
        context: &Context<'_>,
    ) {
        let title = format!("{table} {BY} {}", self.line.trim_end_matches([',', ' ']));
        let progress = self
            .pending
            .as_ref()
            .map(|pending| progress::share(pending.progress()));
        let counted = |found: &Groups| {
            found
                .cut()
                .unwrap_or_else(|| plural(found.total as u64, "group", "groups"))
        };
        let note = match (&self.found, progress) {
            (_, Some(_)) => "Esc cancels".to_owned(),
            (Some(found), None) => format!("{} · Enter rows  Esc back", counted(found)),
            (None, None) => String::new(),
        };
        let panel = Panel {
            note: &note,
            focused: true,
            progress,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(area, buffer, context.theme));
        if let Some(problem) = &self.problem {
            return panel::failure(body, buffer, context.theme, problem);
        }
        let (grid, columns) = (&self.grid, &self.columns);
        let empty = if self.pending.is_some() {
            "grouping…"
        } else {
            "no row matches the filter; press Esc, then / to change it"
        };
        self.list
            .draw(buffer, ListFrame::new(body, empty), context, |place| {
                Some(TableRow {
                    grid,
                    columns,
                    place: Some(place),
                })
            });
    }
}
