//! The Data view: every table of the dataset with its state, files and findings; one level deeper, a table's rows or its findings. Esc goes
//! back a level.

mod cells;
mod findings;
mod rows;
mod tables;

use crate::zone::DisplayZone;
use std::{collections::BTreeMap, sync::Arc};

use self::{
    findings::FindingsPane,
    rows::{RowFields, RowsPane},
    tables::TableFields,
};
use crate::views::prelude::*;
use load::Table as DataTable;
use model::{schema, table_state::TableState as Loaded};
use query::service::load::{LoadState, Watching};

/// From this width the selected table is drawn beside the list.
const WIDE: u16 = 150;
/// Minimum number of lines of the detail below the list.
const DETAIL_MIN: u16 = 7;
/// Minimum number of lines of the rows below both.
const PREVIEW_MIN: u16 = 8;
/// From this width the columns of the selected table get more room for their meaning.
const VERY_WIDE: u16 = 200;

fn detail_width(whole: u16) -> u16 {
    if whole >= VERY_WIDE {
        whole * 45 / 100
    } else {
        (whole * 36 / 100).min(84)
    }
}

/// The pane opened over the list of tables.
#[derive(Default)]
enum Open {
    #[default]
    Nothing,
    Findings(Box<FindingsPane>),
    Rows(Box<RowsPane>),
}

#[derive(Default)]
pub struct DataView {
    /// Row indices are those of the dataset's tables, or of the schema's before a dataset is loaded.
    list: List<TableFields>,
    open: Open,
    /// Saved settings of row lists by table, kept when they are closed.
    kept: BTreeMap<&'static str, Json>,
    /// The table that was open at the end of the last run.
    reopen: Option<String>,
    detail: Detail,
    /// The first rows of the selected table, where there is room under the tables.
    preview: Option<Box<RowsPane>>,
}

/// Scroll state of the selected table's columns.
#[derive(Default)]
struct Detail {
    /// The index of the table.
    of: usize,
    /// Columns before the first on screen, and after the last.
    before: usize,
    after: usize,
}

/// Columns of one scroll step.
const COLUMNS_STEP: usize = 6;

impl View for DataView {
    fn refresh(&mut self, context: &Context<'_>) {
        self.arrange(context);
        let Some(snapshot) = context.snapshot else {
            return;
        };
        if let Some(table) = self
            .reopen
            .take()
            .and_then(|name| snapshot.dataset.table(&name))
        {
            self.open_rows(table, snapshot, context);
        }
        match &mut self.open {
            Open::Nothing | Open::Findings(_) => {}
            Open::Rows(rows) if rows.generation == snapshot.generation => rows.refresh(context),
            Open::Rows(rows) => match snapshot
                .dataset
                .table(rows.schema.name)
                .filter(|table| table.loaded())
            {
                Some(table) => **rows = rows.renewed(table, snapshot, context),
                None => self.open = Open::Nothing,
            },
        }
    }

    fn answers(&self, action: Action) -> bool {
        match action {
            Action::Star | Action::Screens => false,
            Action::Columns | Action::CountValues | Action::Describe | Action::GroupBy => {
                matches!(self.open, Open::Rows(_))
            }
            _ => true,
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let inner = match &mut self.open {
            Open::Nothing => Effect::Pass,
            Open::Findings(pane) => pane.act(action),
            Open::Rows(rows) => rows.act(action, context),
        };
        if inner != Effect::Pass {
            return inner;
        }
        match (action, &self.open) {
            (Action::Back, Open::Findings(_) | Open::Rows(_)) => self.close(),
            (Action::Findings, _) => return self.show_findings(context),
            (Action::CountValues | Action::Describe | Action::GroupBy, Open::Nothing) => {
                let what = match action {
                    Action::Describe => "describe a column",
                    Action::GroupBy => "group rows",
                    _ => "count values",
                };
                return Effect::Say(format!(
                    "to {what}, first open the rows of this table with Enter"
                ));
            }
            (_, Open::Findings(_) | Open::Rows(_)) => return Effect::Pass,
            (Action::Open, _) => return self.show_rows(context),
            (Action::CopyValue, _) => {
                return self.table(context).map_or(Effect::Nothing, |table| {
                    Effect::Copy(table.schema.name.to_owned(), "table")
                });
            }
            (Action::Right, _) if self.detail.after > 0 => {
                self.detail.before += COLUMNS_STEP.min(self.detail.after);
            }
            (Action::Left, _) if self.detail.before > 0 => {
                self.detail.before = self.detail.before.saturating_sub(COLUMNS_STEP);
            }
            (action, _) if self.list.act(action) == ListEvent::Nothing => return Effect::Pass,
            _ => {}
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        match &mut self.open {
            Open::Findings(pane) => return pane.mouse(mouse),
            Open::Rows(rows) => return rows.mouse(mouse, context),
            Open::Nothing => {}
        }
        match self.list.mouse(mouse) {
            ListEvent::Nothing => return Effect::Nothing,
            // A second click opens, as Enter does.
            ListEvent::ClickedAgain => return self.show_rows(context),
            _ => self.refresh(context),
        }
        Effect::Redraw
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        draw_title(buffer, area, context);
        let body = below(area, 1);
        match &mut self.open {
            Open::Findings(pane) => pane.draw(buffer, body, context),
            Open::Rows(rows) => rows.draw(buffer, body, context),
            Open::Nothing => self.draw_tables(buffer, body, context),
        }
    }

    fn listing(&self) -> Option<&dyn Listing> {
        match &self.open {
            Open::Rows(rows) => Some(rows.shown_list()),
            Open::Nothing => Some(&self.list),
            Open::Findings(_) => None,
        }
    }

    fn listing_mut(&mut self) -> Option<&mut dyn Listing> {
        match &mut self.open {
            Open::Rows(rows) => Some(rows.shown_list_mut()),
            Open::Nothing => Some(&mut self.list),
            Open::Findings(_) => None,
        }
    }

    fn filter(&self) -> Option<&str> {
        match &self.open {
            Open::Rows(rows) => Some(rows.list.filter_text()),
            Open::Nothing => Some(self.list.filter_text()),
            Open::Findings(_) => None,
        }
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), InputError> {
        match &mut self.open {
            Open::Rows(rows) => rows.set_filter(text, context),
            Open::Findings(_) => Ok(()),
            Open::Nothing => {
                self.list.set_filter(text, context.tokens())?;
                self.arrange(context);
                Ok(())
            }
        }
    }

    fn completions(&self, text: &str, context: &Context<'_>) -> Vec<(String, String)> {
        match &self.open {
            Open::Rows(rows) => rows.list.completions(text, context),
            Open::Nothing => self.list.completions(text, context),
            Open::Findings(_) => Vec::new(),
        }
    }

    fn own_line(&self, _: &'static str) -> String {
        if let Open::Rows(rows) = &self.open {
            rows.grouping()
        } else {
            String::new()
        }
    }

    fn set_own_line(
        &mut self,
        _: &'static str,
        text: &str,
        context: &Context<'_>,
    ) -> Result<(), InputError> {
        if let Open::Rows(rows) = &mut self.open {
            rows.set_grouping(text, context)
        } else {
            Ok(())
        }
    }

    fn own_completions(&self, _: &'static str, text: &str) -> Vec<(String, String)> {
        if let Open::Rows(rows) = &self.open {
            rows.group_completions(text)
        } else {
            Vec::new()
        }
    }

    fn relist(&mut self, context: &Context<'_>) {
        match &mut self.open {
            Open::Rows(rows) => rows.ask(context),
            Open::Nothing => self.arrange(context),
            Open::Findings(_) => {}
        }
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        match &self.open {
            Open::Rows(rows) => Some(HttpRequest::get(rows.request())),
            Open::Nothing | Open::Findings(_) => Some(HttpRequest::get("/datasets")),
        }
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        match &self.open {
            Open::Findings(pane) => Some(pane.export()),
            Open::Rows(rows) => Some(rows.export(context)),
            Open::Nothing => context
                .snapshot
                .map(|_| self.list.export("tables", tables::rows(context))),
        }
    }

    fn save(&self) -> Json {
        let mut kept = self.kept.clone();
        let mut open = Json::Null;
        if let Open::Rows(rows) = &self.open {
            kept.insert(rows.schema.name, rows.list.save(json!({})));
            open = json!(rows.schema.name);
        }
        let nothing = List::<RowFields>::default().save(json!({}));
        let rows: serde_json::Map<String, Json> = kept
            .into_iter()
            .filter(|(_, kept)| *kept != nothing)
            .map(|(name, kept)| (name.to_owned(), kept))
            .collect();
        self.list.save(json!({"rows": rows, "open": open}))
    }

    fn restore(&mut self, kept: &Json) {
        self.list.restore(kept);
        for (name, kept) in kept["rows"].as_object().into_iter().flatten() {
            let Some(schema) = schema::table(name) else {
                continue;
            };
            self.kept.insert(schema.name, kept.clone());
        }
        self.reopen = kept["open"].as_str().map(str::to_owned);
    }
}

impl DataView {
    fn table<'a>(&self, context: &Context<'a>) -> Option<&'a DataTable> {
        context.snapshot?.dataset.tables.get(self.list.selected()?)
    }

    fn close(&mut self) {
        if let Open::Rows(rows) = &self.open {
            self.kept
                .insert(rows.schema.name, rows.list.save(json!({})));
        }
        self.open = Open::Nothing;
    }

    fn arrange(&mut self, context: &Context<'_>) {
        let places = tables::places(context.snapshot.map(|snapshot| &snapshot.dataset));
        self.list.arrange(places, tables::rows(context));
    }

    fn show_rows(&mut self, context: &Context<'_>) -> Effect {
        let (Some(snapshot), Some(table)) = (context.snapshot, self.table(context)) else {
            return Effect::Say("nothing is loaded yet".to_owned());
        };
        match &table.state {
            Loaded::Loaded => {
                self.open_rows(table, snapshot, context);
                Effect::Redraw
            }
            Loaded::Absent => {
                Effect::Say(format!("`{}` is not in this dataset", table.schema.name))
            }
            Loaded::Unusable(reason) => {
                Effect::Warn(format!("`{}` has no rows: {reason}", table.schema.name))
            }
        }
    }

    fn open_rows(&mut self, table: &DataTable, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        if !table.loaded() {
            return;
        }
        let mut rows = RowsPane::new(table, snapshot);
        if let Some(kept) = self.kept.get(table.schema.name) {
            rows.restore(kept, context);
        }
        self.open = Open::Rows(Box::new(rows));
    }

    /// Shows the findings of the open or selected table; if open, closes them.
    fn show_findings(&mut self, context: &Context<'_>) -> Effect {
        let table = match &self.open {
            Open::Findings(_) => {
                self.close();
                return Effect::Redraw;
            }
            Open::Rows(rows) => context
                .snapshot
                .and_then(|snapshot| snapshot.dataset.table(rows.schema.name)),
            Open::Nothing => self.table(context),
        };
        match table {
            None => Effect::Say("nothing is loaded yet".to_owned()),
            Some(table) if table.findings.counts().is_empty() => {
                Effect::Say(format!("no issues in `{}`", table.schema.name))
            }
            Some(table) => {
                self.close();
                self.open = Open::Findings(Box::new(FindingsPane::new(table)));
                Effect::Redraw
            }
        }
    }

    /// The first rows of the selected table; none of a table on a server, which would cost a query for each.
    fn draw_preview(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let known = context.snapshot.zip(self.table(context));
        let local = |table: &DataTable| table.loaded() && table.engine_rows().is_none();
        let Some((snapshot, table)) = known.filter(|(_, table)| !area.is_empty() && local(table))
        else {
            self.preview = None;
            return;
        };
        let is_current = |rows: &RowsPane| {
            rows.schema.name == table.schema.name && rows.generation == snapshot.generation
        };
        let rows = self
            .preview
            .take()
            .filter(|rows| is_current(rows))
            .unwrap_or_else(|| Box::new(RowsPane::new(table, snapshot)));
        self.preview
            .insert(rows)
            .draw_first_rows(buffer, area, context);
    }

    fn draw_tables(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if self.list.is_empty() {
            self.arrange(context);
        }
        let wanted = (self.list.len() as u16).max(1) + 2;
        let columns = self
            .table(context)
            .map_or(0, |table| table.schema.columns.len());
        let upper = wanted.max(columns as u16 + DETAIL_MIN);
        let (area, lower) = if area.width >= WIDE && area.height >= upper + PREVIEW_MIN {
            (
                Rect {
                    height: upper,
                    ..area
                },
                below(area, upper),
            )
        } else {
            (area, Rect::default())
        };
        self.draw_preview(buffer, lower, context);
        let (left, right) = if area.width >= WIDE {
            beside(area, detail_width(area.width) - 2)
        } else {
            stacked(
                area,
                wanted.min(area.height.saturating_sub(DETAIL_MIN).max(area.height / 2)),
            )
        };
        let load = context.load;
        let share = load.running.then(|| {
            progress::share(load.tables.iter().fold((0, 0), |(done, total), table| {
                (done + table.1, total + table.2)
            }))
        });
        let loaded = context.snapshot.map_or(0, |snapshot| {
            snapshot
                .dataset
                .tables
                .iter()
                .filter(|table| table.loaded())
                .count()
        });
        // The first load cannot be stopped, only quit, as there is no earlier data to return to.
        let note = if load.running {
            if context.snapshot.is_some() {
                "loading · Esc stops it"
            } else {
                "loading"
            }
            .to_owned()
        } else {
            let all = context
                .snapshot
                .map_or(self.list.len(), |snapshot| snapshot.dataset.tables.len());
            let filter = match self.list.filter_text() {
                "" => String::new(),
                text => format!("/ {text} · "),
            };
            format!(
                "{filter}{loaded} of {all} loaded{}",
                watching(load, context.zone)
            )
        };
        let panel = Panel {
            note: &note,
            focused: true,
            progress: share,
            ..Panel::new("tables")
        };
        let mut body = inset(panel.render(left, buffer, context.theme));
        if let Some(failure) = load.failure.as_ref().filter(|_| !load.running) {
            progress_line(
                buffer,
                &mut body,
                &format!("! the last load failed: {}", failure.reason),
                context,
            );
        }
        self.list.draw(
            buffer,
            ListFrame::new(body, "no table matches the filter; / then Esc clears it"),
            context,
            tables::rows(context),
        );
        if let Some(place) = self.list.selected() {
            if self.detail.of != place {
                self.detail = Detail {
                    of: place,
                    ..Detail::default()
                };
            }
            self.detail.after =
                tables::draw_detail(buffer, right, place, self.detail.before, context);
        }
    }
}

/// The watch state: ` · watching · read 2026-08-14 09:30 UTC`: whether changed files are reloaded, and the last load.
fn watching(load: &LoadState, zone: DisplayZone) -> String {
    let how = match load.watching {
        Watching::Off => return String::new(),
        Watching::Notified => " · watching",
        Watching::Polling => " · watching every 2 s",
    };
    let ended = load
        .ended
        .map(|time| format!(" · loaded {}", zone.moment(time)));
    format!("{how}{}", ended.unwrap_or_default())
}

/// Draws a line and removes it from the top of the body.
fn progress_line(buffer: &mut Buffer, body: &mut Rect, says: &str, context: &Context<'_>) {
    put(
        buffer,
        *body,
        0,
        0,
        says,
        context.theme.style(Role::Warning),
    );
    let used = 1.min(body.height);
    (body.y, body.height) = (body.y + used, body.height - used);
}

/// `Demo market · MIT · synthetic          generation 3 · /data/market`
fn draw_title(buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let row = Rect { height: 1, ..area };
    let Some(snapshot) = context.snapshot else {
        let folder = context.service.folder();
        let says = if context.load.running {
            "loading"
        } else {
            "no dataset in"
        };
        put(
            buffer,
            row,
            1,
            0,
            &format!("{says} {}", folder.display()),
            theme.dim(),
        );
        if !context.load.running {
            let hint = "create demo data with `tokendeck demo DIR`; r reloads";
            let width = text::width(hint) as u16 + 1;
            if row.width > width + 40 {
                put(buffer, row, row.width - width, 0, hint, theme.dim());
            }
        }
        return;
    };
    let dataset = &snapshot.dataset;
    let folder = dataset.folder.file_name().map_or_else(
        || dataset.folder.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let title = dataset.title.clone().unwrap_or_else(|| folder.clone());
    let mut x = 1 + put(
        buffer,
        row,
        1,
        0,
        &text::truncate(&title, 40),
        theme.strong(),
    );
    x += put(
        buffer,
        row,
        x,
        0,
        &format!(
            "  {}",
            dataset.license.as_deref().unwrap_or("no license stated")
        ),
        theme.dim(),
    );
    if dataset.synthetic {
        x += 2 + put(
            buffer,
            row,
            x + 2,
            0,
            "synthetic",
            theme.style(Role::Warning),
        );
    }
    let right = format!("{folder}/ · snapshot {} ", format::count(snapshot.number));
    let width = text::width(&right) as u16;
    if x + width + 2 <= row.width {
        put(buffer, row, row.width - width, 0, &right, theme.dim());
    }
}

#[cfg(test)]
mod large_tests;
#[cfg(test)]
mod remote_tests;
#[cfg(test)]
mod tests;
