//! The rows of one table as a list with the columns of the data. Filtering and sorting run off the drawing thread; only visible rows are
//! read.

mod column;
mod draw;
mod groups;
mod remote;

use std::sync::Arc;

use self::remote::RemoteRows;
use super::cells;
use crate::{views::prelude::*, widgets::table::TableWidgetState};
use frames::export;
use load::Table as DataTable;
use model::{
    scalar::Scalar,
    schema::{Column, Kind, TableSchema},
};
use query::{
    queries::{
        caches::OrderedRows,
        parameter::encode,
        tables::{
            columns,
            order::{CompleteOrder, RowQuery},
            remote::AllRows,
        },
    },
    service::pending::PendingResult,
};
use table::{
    RowSelection, TableRows,
    filter::{self, ColumnValues},
};

/// The list of a table's rows.
pub(super) struct RowFields;

#[derive(Clone, Copy)]
pub(super) struct TableRow<'a> {
    grid: &'a TableRows,
    columns: &'a [Column],
    /// Index in the grid; `None` while the row is being fetched.
    place: Option<usize>,
}

impl Fields for RowFields {
    type Row<'a> = TableRow<'a>;

    const FIELDS: &'static [Field<Self>] = &[];
    const CELLS: bool = true;
    const SCROLLS: bool = true;

    fn cell(row: ListRow<'_, Self>, key: &str) -> Cell {
        let Some(place) = row.place else {
            return Cell::new("…", Role::Dim);
        };
        let kind = row
            .columns
            .iter()
            .find(|column| column.name == key)
            .map_or(Kind::Text, |column| column.kind);
        cells::cell(&row.grid.cell(key, place), kind)
    }
}

/// The list column of a data column. Filtering and sorting run in the query service.
fn field(column: &Column) -> Field<RowFields> {
    let named = filter::of_kind(column.name, column.kind, column.aliases);
    let field = Field::text(column.name, column.name, [0; 2], 0, |_| Scalar::Missing)
        .of(named.kind)
        .aliases(named.aliases);
    let field = if named.searched {
        field.searched()
    } else {
        field
    };
    let field = if let ColumnValues::Addresses(of) = named.values {
        field.addresses(of)
    } else {
        field
    };
    let falls = matches!(
        column.kind,
        Kind::Integer | Kind::Float | Kind::Uint256 | Kind::Time | Kind::Date
    );
    let mut field = if falls { field.largest_first() } else { field };
    field.column = cells::column(column.name, column.kind);
    field
}

/// The rows of the list, by their index in the order.
fn rows<'a>(
    grid: &'a TableRows,
    remote: Option<&'a RemoteRows>,
    columns: &'a [Column],
    places: &'a RowSelection,
) -> impl Fn(usize) -> Option<TableRow<'a>> {
    move |nth| {
        Some(TableRow {
            grid,
            columns,
            place: RemoteRows::in_grid(remote, grid, places.get(nth)?),
        })
    }
}

pub(super) struct RowsPane {
    pub(super) schema: &'static TableSchema,
    pub(super) generation: u64,
    /// The generation of the rows.
    snapshot: Arc<Snapshot>,
    grid: Arc<TableRows>,
    columns: Vec<Column>,
    /// Has the chosen filter and order; row indices are those of the displayed order.
    pub(super) list: List<RowFields>,
    /// The displayed query, and the text of its filter.
    shown: RowQuery,
    shown_filter: String,
    /// The rows in displayed order.
    pub(super) order: OrderedRows,
    /// The pending order, and its query.
    pending: Option<(PendingResult<OrderedRows>, RowQuery)>,
    problem: Option<String>,
    /// For a remote table.
    remote: Option<RemoteRows>,
    inspector: Option<draw::Inspector>,
    /// The statistics pane of the selected column.
    column_pane: Option<column::ColumnPane>,
    /// The rows in groups, which replace them.
    groups: Option<groups::GroupsPane>,
    /// The groups of which one is shown as rows, and the filter under which they stood.
    opened_from: Option<(groups::GroupsPane, String)>,
}

impl RowsPane {
    pub(super) fn new(table: &DataTable, snapshot: &Arc<Snapshot>) -> Self {
        let grid = Arc::clone(&table.rows);
        let columns = columns::of(table);
        let remote = RemoteRows::of(table);
        let height = remote.as_ref().map_or(grid.height(), RemoteRows::all);
        let mut list = List::default();
        list.set_own(snapshot.generation, TokenReader::default(), || {
            columns.iter().map(field).collect()
        });
        list.set_count(height);
        Self {
            schema: table.schema,
            generation: snapshot.generation,
            snapshot: Arc::clone(snapshot),
            columns,
            list,
            shown: RowQuery::all(table.schema),
            shown_filter: String::new(),
            order: OrderedRows::all(height),
            grid,
            remote,
            pending: None,
            problem: None,
            inspector: None,
            column_pane: None,
            groups: None,
            opened_from: None,
        }
    }

    /// The grouping as it was typed; empty without one.
    pub(super) fn grouping(&self) -> String {
        self.groups
            .as_ref()
            .map_or_else(String::new, |groups| groups.line.clone())
    }

    /// Groups the rows, as in `chain count`; an empty text ends that.
    pub(super) fn set_grouping(
        &mut self,
        text: &str,
        context: &Context<'_>,
    ) -> Result<(), InputError> {
        if text.is_empty() {
            self.groups = None;
            return Ok(());
        }
        let table = self
            .snapshot
            .dataset
            .table(self.schema.name)
            .ok_or(InputError::TableRemoved)?;
        let mut pane = groups::GroupsPane::read(text, table, &self.chosen_query())?;
        pane.ask(&self.snapshot, context);
        self.groups = Some(pane);
        Ok(())
    }

    /// Filters the rows, also those that are shown in groups.
    pub(super) fn set_filter(
        &mut self,
        text: &str,
        context: &Context<'_>,
    ) -> Result<(), InputError> {
        self.list.set_filter(text, context.tokens())?;
        self.opened_from = None;
        self.ask(context);
        Ok(())
    }

    pub(super) fn group_completions(&self, text: &str) -> Vec<(String, String)> {
        self.snapshot
            .dataset
            .table(self.schema.name)
            .map_or_else(Vec::new, |table| groups::completions(text, table))
    }

    /// The list on screen.
    pub(super) fn shown_list(&self) -> &List<RowFields> {
        self.groups
            .as_ref()
            .map_or(&self.list, |groups| &groups.list)
    }

    pub(super) fn shown_list_mut(&mut self) -> &mut List<RowFields> {
        self.groups
            .as_mut()
            .map_or(&mut self.list, |groups| &mut groups.list)
    }

    fn act_in_groups(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let Some(pane) = &mut self.groups else {
            return Effect::Pass;
        };
        match action {
            Action::GroupBy => return Effect::Edit(EditedLine::Own(groups::BY), pane.line.clone()),
            Action::Back => self.groups = None,
            Action::CopyValue => return pane.copy(),
            Action::Open => {
                let Some(condition) = pane.condition() else {
                    return Effect::Say("these rows have no value to filter by".to_owned());
                };
                let before = self.list.filter_text().to_owned();
                let text = self.list.filter().with(&before, &condition);
                let groups = self.groups.take();
                if let Err(reason) = self.set_filter(&text, context) {
                    return Effect::Say(reason.into());
                }
                self.opened_from = groups.map(|groups| (groups, before));
            }
            action => match pane.list.act(action) {
                ListEvent::Nothing => return Effect::Pass,
                event => pane.on_list_event(event, &self.snapshot, context),
            },
        }
        Effect::Redraw
    }

    /// The same table in a new snapshot, with the user's choices.
    pub(super) fn renewed(
        &mut self,
        table: &DataTable,
        snapshot: &Arc<Snapshot>,
        context: &Context<'_>,
    ) -> Self {
        let mut rows = Self::new(table, snapshot);
        rows.list = std::mem::take(&mut self.list);
        rows.list
            .set_own(snapshot.generation, TokenReader::of(&**snapshot), || {
                rows.columns.iter().map(field).collect()
            });
        rows.list.set_count(rows.height());
        rows.ask(context);
        rows
    }

    /// The chosen query.
    fn chosen_query(&self) -> RowQuery {
        RowQuery {
            table: self.schema,
            filter: self.list.filter().clone(),
            sort: self.list.sorting.keys().to_vec(),
        }
    }

    /// Restores the choices of an earlier run.
    pub(super) fn restore(&mut self, kept: &Json, context: &Context<'_>) {
        self.list.restore(kept);
        self.ask(context);
    }

    /// Requests the chosen query, unless it is displayed or pending.
    pub(super) fn ask(&mut self, context: &Context<'_>) {
        let query = self.chosen_query();
        if query
            == *self
                .pending
                .as_ref()
                .map_or(&self.shown, |(_, query)| query)
        {
            return;
        }
        self.problem = None;
        if query.is_all() {
            self.pending = None;
            return self.show(query, OrderedRows::all(self.height()));
        }
        self.pending = Some((context.find(&self.snapshot, query.clone()), query));
    }

    fn show(&mut self, shown: RowQuery, order: OrderedRows) {
        self.list.set_count(order.places.len());
        self.list.filter_text().clone_into(&mut self.shown_filter);
        if let Some(remote) = &mut self.remote {
            remote.restart(order.total());
            self.grid = Arc::new(TableRows::empty(self.grid.schema()));
        }
        (self.shown, self.order) = (shown, order);
    }

    /// Resets the choices to the displayed query.
    fn revert_choices(&mut self) {
        self.pending = None;
        self.list.sorting.set(self.shown.sort.iter().copied());
        self.list
            .set_filter(&self.shown_filter, TokenReader::of(&*self.snapshot))
            .ok();
    }

    /// Takes an arrived order.
    pub(super) fn refresh(&mut self, context: &Context<'_>) {
        self.follow(context);
        if let Some(mut groups) = self.groups.take() {
            groups.follow(&self.chosen_query(), &self.snapshot, context);
            self.groups = Some(groups);
        }
        self.take_rows();
        let Some((pending_order, query)) = &mut self.pending else {
            return;
        };
        let Some(outcome) = pending_order.poll_now() else {
            return;
        };
        match outcome {
            Ok(order) => {
                let query = query.clone();
                self.pending = None;
                // The selection stays when the complete order follows the first rows.
                if self.order.unsorted.is_none() || query != self.shown {
                    self.list.cursor.state = TableWidgetState::default();
                }
                self.show(query, order);
                if self.order.unsorted.is_some() {
                    let complete = CompleteOrder {
                        query: self.shown.clone(),
                        first: self.order.clone(),
                    };
                    let pending = context.find(&self.snapshot, complete);
                    self.pending = Some((pending, self.shown.clone()));
                }
            }
            Err(problem) => {
                self.problem = Some(problem.detail);
                self.revert_choices();
            }
        }
    }

    /// Updates the column pane: takes arrived results, and follows the selected column and the chosen rows.
    fn follow(&mut self, context: &Context<'_>) {
        if let (Some(mut pane), Some(column)) = (self.column_pane.take(), self.list.column()) {
            pane.follow(&self.chosen_query(), column, &self.snapshot, context);
            self.column_pane = Some(pane);
        }
    }

    fn ask_column(&mut self, kind: column::ColumnQuery, context: &Context<'_>) {
        let Some(column) = self.list.column() else {
            return;
        };
        let again = self
            .column_pane
            .take()
            .is_some_and(|pane| pane.kind == kind);
        self.column_pane = (!again).then(|| {
            column::ColumnPane::new(kind, &self.chosen_query(), column, &self.snapshot, context)
        });
    }

    #[cfg(test)]
    pub(super) fn is_under_way(&self) -> bool {
        self.pending.is_some() || self.remote.as_ref().is_some_and(RemoteRows::is_under_way)
    }

    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if self.groups.is_some() {
            return self.act_in_groups(action, context);
        }
        match action {
            Action::GroupBy => {
                let column = self
                    .list
                    .column()
                    .or_else(|| self.columns.first().map(|column| column.name));
                return column.map_or(Effect::Pass, |column| {
                    Effect::Edit(EditedLine::Own(groups::BY), groups::line_of(column))
                });
            }
            Action::CountValues => self.ask_column(column::ColumnQuery::Counts, context),
            Action::Describe => self.ask_column(column::ColumnQuery::Describe, context),
            Action::Back if self.column_pane.is_some() => {
                let cancelled = self
                    .column_pane
                    .take()
                    .is_some_and(|pane| pane.is_under_way());
                return if cancelled {
                    Effect::Say("canceled".to_owned())
                } else {
                    Effect::Redraw
                };
            }
            Action::Open if self.inspector.is_some() => self.inspector = None,
            Action::Open if !self.list.is_empty() => {
                self.inspector = Some(draw::Inspector::default());
            }
            Action::Back if self.pending.is_some() => {
                self.revert_choices();
                return Effect::Say("canceled".to_owned());
            }
            Action::Back if self.inspector.is_some() => self.inspector = None,
            Action::Back if self.opened_from.is_some() => {
                let Some((groups, filter)) = self.opened_from.take() else {
                    return Effect::Pass;
                };
                self.groups = Some(groups);
                return self
                    .set_filter(&filter, context)
                    .map_or_else(|reason| Effect::Say(reason.into()), |()| Effect::Redraw);
            }
            Action::CopyValue => return self.copy(),
            Action::OpenLink => return self.open_link(),
            action => {
                let event = self.list.act(action);
                return if event == ListEvent::Nothing {
                    Effect::Pass
                } else {
                    self.on_list_event(event, context)
                };
            }
        }
        Effect::Redraw
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if let Some(pane) = &mut self.groups {
            return match pane.list.mouse(mouse) {
                ListEvent::Nothing => Effect::Nothing,
                ListEvent::ClickedAgain => self.act_in_groups(Action::Open, context),
                event => {
                    pane.on_list_event(event, &self.snapshot, context);
                    Effect::Redraw
                }
            };
        }
        let event = self.list.mouse(mouse);
        self.on_list_event(event, context)
    }

    fn on_list_event(&mut self, event: ListEvent, context: &Context<'_>) -> Effect {
        match event {
            ListEvent::Nothing => return Effect::Nothing,
            ListEvent::Sorted => self.ask(context),
            _ => {}
        }
        self.follow(context);
        Effect::Redraw
    }

    /// A cell of a table row; missing while it is being fetched.
    fn value(&self, column: &str, row: usize) -> Scalar<'static> {
        self.in_grid(row)
            .map_or(Scalar::Missing, |row| self.grid.cell(column, row))
    }

    /// The table index of the selected row.
    fn row(&self) -> Option<usize> {
        self.order.places.get(self.list.selected()?)
    }

    fn selected(&self) -> Option<(usize, &Column)> {
        let key = self.list.column()?;
        Some((
            self.row()?,
            self.columns.iter().find(|column| column.name == key)?,
        ))
    }

    fn copy(&self) -> Effect {
        match self.selected() {
            Some((row, column)) => Effect::Copy(
                self.value(column.name, row).to_text().unwrap_or_default(),
                column.name,
            ),
            None => Effect::Nothing,
        }
    }

    /// Opens the row's link, if the table has links.
    fn open_link(&self) -> Effect {
        match self
            .row()
            .map(|row| self.value("link", row).to_text().unwrap_or_default())
        {
            Some(link) if !link.is_empty() => Effect::OpenLink(link),
            _ => Effect::Say("this row has no link".to_owned()),
        }
    }

    /// Exports every row of the chosen query, even while it is still pending; rows are read batch by batch while they are written.
    pub(super) fn export(&self, context: &Context<'_>) -> Export {
        if let Some(groups) = &self.groups {
            return groups.export(self.schema.name);
        }
        let (service, snapshot) = (Arc::clone(context.service), Arc::clone(&self.snapshot));
        let columns = self.list.members();
        let query = self.chosen_query();
        let found = (query == self.shown).then(|| self.order.clone());
        let cells = |row| {
            columns
                .iter()
                .map(|column| self.value(column, row).json())
                .collect()
        };
        Export {
            name: self.schema.name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: (query.filter == self.shown.filter).then(|| self.order.total()),
            selected: self.row().map(cells),
            rows: Box::new(move |progress| {
                let wanted = AllRows {
                    query,
                    found,
                    columns,
                };
                let rows = service.find_in(&snapshot, &wanted, progress);
                rows.map(export::ExportRows::Batches)
            }),
        }
    }

    /// The HTTP request for the same rows; plain filter words exist only in the terminal.
    pub(super) fn request(&self) -> String {
        let mut target = format!("/tables/{}", self.schema.name);
        let mut separator = '?';
        let mut add = |name: &str, value: &str| {
            target.push_str(&format!("{separator}{name}={}", encode(value)));
            separator = '&';
        };
        if !self.list.filter_text().is_empty() && self.list.filter().words().next().is_none() {
            add("where", self.list.filter_text());
        }
        if let Some(groups) = &self.groups {
            groups
                .parameters()
                .iter()
                .for_each(|(name, value)| add(name, value));
            return target;
        }
        let columns = self.list.members();
        if !columns
            .iter()
            .eq(self.columns.iter().map(|column| &column.name))
        {
            add("columns", &columns.join(","));
        }
        let sort: Vec<String> = self
            .list
            .sorting
            .keys()
            .iter()
            .map(ToString::to_string)
            .collect();
        if !sort.is_empty() {
            add("sort", &sort.join(","));
        }
        target
    }

    /// `1,204 of 64,000 rows · 12 have no volume`.
    fn note(&self, width: u16) -> String {
        let all = plural(self.height() as u64, "row", "rows");
        let (shown, total) = (
            format::count(self.list.len() as u64),
            format::count(self.order.total() as u64),
        );
        let note = match self.order.total() {
            _ if self.order.unsorted.is_some() => format!("first {shown} of {total} sorted rows"),
            count if count != self.height() => format!("{total} of {all}"),
            _ => all,
        };
        with_left_out(note, &self.order.left_out, usize::from(width / 2))
    }
}
