//! The Jobs view: deep analyses newest first, the tasks of the selected one, and its report as an outline. The store is read by
//! `desk`, off the drawing thread.

mod desk;
mod outline;
mod pane;
mod reader;
mod rows;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use self::{desk::Desk, reader::Reader};
use super::sorting::Sorting;
use crate::{
    jobs::Job,
    question::filter::{self, Filter},
    tui::{
        keymap::{Action, ViewId},
        view::{Context, Effect, Export, Request, View},
        widgets::table::{Hit, Table, TableState},
    },
};

/// The longest text that terminals take for their clipboard.
const CLIPBOARD_MAX: usize = 100_000;

/// Where keys go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    Jobs,
    Tasks,
}

#[derive(Debug, Default)]
pub struct JobsView {
    desk: Desk,
    /// Places in the reading, filtered and in order.
    shown: Vec<usize>,
    filter_text: String,
    filter: Filter,
    sorting: Sorting,
    focus: Focus,
    list: TableState,
    tasks: TableState,
    /// The selected job, kept when others come and go.
    selected: Option<String>,
    reader: Option<Reader>,
    /// A start is on its way: the newest job before it, empty for none, so that the new one is selected when it comes.
    newest_before: Option<String>,
    /// Where the two tables were drawn last, for the mouse and for page keys.
    list_area: Rect,
    tasks_area: Rect,
}

impl View for JobsView {
    fn id(&self) -> ViewId {
        ViewId::Jobs
    }

    fn refresh(&mut self, context: &Context<'_>) {
        let watched = self.job().map(|job| job.job_id.clone());
        self.desk.refresh(context, watched.as_deref());
        if self.reader.is_some()
            && let Some(report) = self.desk.report.take()
        {
            self.reader = Some(Reader::new(report));
        }
        self.arrange(context);
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        match action {
            Action::StartJob => return self.start(context),
            Action::Terminate => return self.terminate(context),
            Action::Back if self.reader.take().is_some() => self.desk.close_report(),
            Action::Back if self.focus == Focus::Tasks => self.focus = Focus::Jobs,
            _ if self.reader.is_some() => return self.act_on_reader(action),
            Action::Open => return self.open_report(context),
            Action::Left => self.focus = Focus::Jobs,
            Action::Right if self.job().is_some() => self.focus = Focus::Tasks,
            Action::Sort => self.sorting.next(rows::COLUMNS.len()),
            Action::SortReverse => self.sorting.reverse(),
            Action::CopyValue => return self.copy_value(),
            action => return self.step(action),
        }
        self.arrange(context);
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let at = (mouse.column, mouse.row);
        if let Some(reader) = &mut self.reader {
            return reader.mouse(mouse);
        }
        let focus = match () {
            () if self.list_area.contains(at.into()) => Focus::Jobs,
            () if self.tasks_area.contains(at.into()) => Focus::Tasks,
            () => return Effect::Nothing,
        };
        let (count, area) = self.table(focus);
        let tasks = self.job().map_or(rows::COLUMNS, rows::task_columns);
        let state = if focus == Focus::Jobs { &mut self.list } else { &mut self.tasks };
        match mouse.kind {
            MouseEventKind::ScrollUp => state.scroll(-3, count, Table::height(area)),
            MouseEventKind::ScrollDown => state.scroll(3, count, Table::height(area)),
            MouseEventKind::Down(MouseButton::Left) => {
                let columns = if focus == Focus::Jobs { rows::COLUMNS } else { tasks };
                let hit = Table::new(columns, count, &|_| Vec::new()).hit(area, mouse.column, mouse.row, state);
                match hit {
                    Some(Hit::Row(row) | Hit::Star(row) | Hit::Scrollbar(row)) => state.select(row, count),
                    Some(Hit::Header(column)) if focus == Focus::Jobs => {
                        self.sorting.click(column);
                        self.arrange(context);
                    }
                    _ => {}
                }
                self.focus = focus;
            }
            _ => return Effect::Nothing,
        }
        self.follow();
        Effect::Redraw
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        match &mut self.reader {
            Some(reader) => reader.draw(buffer, area, context),
            None => self.draw_jobs(buffer, area, context),
        }
    }

    fn filter(&self) -> Option<&str> {
        self.reader.is_none().then_some(&*self.filter_text)
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        self.filter = filter::parse(text, rows::FILTER).map_err(|error| error.to_string())?;
        text.clone_into(&mut self.filter_text);
        self.arrange(context);
        Ok(())
    }

    fn request(&self, _: &Context<'_>) -> Option<Request> {
        let target = match (&self.reader, self.job()) {
            (Some(_), Some(job)) => format!("/deep-analysis/jobs/{}/report", job.job_id),
            (None, Some(job)) if self.focus == Focus::Tasks => format!("/deep-analysis/jobs/{}", job.job_id),
            _ => "/deep-analysis/jobs".to_owned(),
        };
        Some(Request::get(target))
    }

    fn export(&self, _: &Context<'_>) -> Option<Export> {
        if let (Focus::Tasks, Some(job)) = (self.focus, self.job()) {
            let rows = job.tasks.iter().map(|task| vec![json!(task.task_id), json!(task.status), json!(task.description)]);
            let name = format!("{}-tasks", job.job_id);
            return Some(Export::of(name, &["task_id", "status", "description"], rows.collect(), Some(self.tasks.selected)));
        }
        let rows = self.shown.iter().filter_map(|&place| self.desk.reading.jobs.get(place)).map(|job| {
            let tokens = json!(rows::tokens(job));
            vec![json!(job.job_id), json!(job.status), tokens, json!(rows::ended(job)), json!(job.tasks.len()), json!(job.tokens_used)]
        });
        let columns = ["job_id", "status", "tokens", "tasks_ended", "tasks", "tokens_used"];
        Some(Export::of("jobs", &columns, rows.collect(), Some(self.list.selected)))
    }

    fn save(&self) -> Value {
        json!({"filter": self.filter_text, "sort": self.sorting.save(|column| rows::COLUMNS.get(column).map(|column| column.key))})
    }

    fn restore(&mut self, kept: &Value) {
        self.sorting = Sorting::restore(&kept["sort"], |name| rows::COLUMNS.iter().position(|column| column.key == name));
        if let Some((text, filter)) = kept["filter"].as_str().and_then(|text| Some((text, filter::parse(text, rows::FILTER).ok()?))) {
            (self.filter_text, self.filter) = (text.to_owned(), filter);
        }
    }
}

impl JobsView {
    fn job(&self) -> Option<&Job> {
        self.shown.get(self.list.selected).and_then(|&place| self.desk.reading.jobs.get(place))
    }

    /// Filters and orders what was read, with the selection on the job it was on.
    fn arrange(&mut self, context: &Context<'_>) {
        let jobs = &self.desk.reading.jobs;
        let mut shown: Vec<usize> = (0..jobs.len())
            .filter(|&place| {
                let job = &jobs[place];
                let names: Vec<String> = if self.filter.is_empty() {
                    Vec::new()
                } else {
                    rows::tokens(job).into_iter().map(|address| rows::token_name(address, context)).collect()
                };
                self.filter.matches(|column| rows::field(job, column, &names))
            })
            .collect();
        self.sorting.sort(&mut shown, |&place, column| rows::sort_key(&jobs[place], column, context));
        let kept = self.selected.as_ref().and_then(|id| shown.iter().position(|&place| jobs[place].job_id == *id));
        self.shown = shown;
        self.list.select(kept.unwrap_or(self.list.selected), self.shown.len());
        let newest = jobs.first().map(|job| &job.job_id);
        if newest.is_some_and(|newest| self.newest_before.as_ref().is_some_and(|before| before != newest)) {
            self.newest_before = None;
            self.list.select(self.shown.iter().position(|&place| place == 0).unwrap_or(self.list.selected), self.shown.len());
        }
        self.follow();
    }

    /// After the selection moved: another job's tasks are wanted.
    fn follow(&mut self) {
        let id = self.job().map(|job| job.job_id.clone());
        if id != self.selected {
            self.selected = id;
            self.tasks = TableState::default();
            if self.job().is_some_and(|job| !job.status.ended()) {
                self.desk.look();
            }
        }
    }

    fn table(&self, focus: Focus) -> (usize, Rect) {
        match focus {
            Focus::Jobs => (self.shown.len(), self.list_area),
            Focus::Tasks => (self.job().map_or(0, |job| job.tasks.len()), self.tasks_area),
        }
    }

    fn step(&mut self, action: Action) -> Effect {
        let (count, area) = self.table(self.focus);
        let page = Table::height(area).max(1) as isize;
        let state = if self.focus == Focus::Jobs { &mut self.list } else { &mut self.tasks };
        match action {
            Action::Up => state.step(-1, count),
            Action::Down => state.step(1, count),
            Action::PageUp => state.step(-page, count),
            Action::PageDown => state.step(page, count),
            Action::First => state.select(0, count),
            Action::Last => state.select(usize::MAX, count),
            _ => return Effect::Pass,
        }
        self.follow();
        Effect::Redraw
    }

    fn start(&mut self, context: &Context<'_>) -> Effect {
        if context.jobs.is_none() {
            return Effect::Warn(pane::NO_STORE.to_owned());
        }
        let Some(token) = context.token else {
            return Effect::Warn("no token is selected: choose one in 1 Tokens".to_owned());
        };
        let address = token.to_string();
        let name = rows::token_name(&address, context);
        // A second press is impatience; its answer would be the same.
        let open = |job: &Job| !job.status.ended() && rows::tokens(job) == [address.as_str()];
        if let Some(place) = self.desk.reading.jobs.iter().position(open) {
            let id = self.desk.reading.jobs[place].job_id.clone();
            if let Some(row) = self.shown.iter().position(|&shown| shown == place) {
                self.list.select(row, self.shown.len());
                self.follow();
            }
            return Effect::Say(format!("{id} is at work on {name} already"));
        }
        self.desk.start(token, name.clone(), context);
        self.newest_before = Some(self.desk.reading.jobs.first().map_or_else(String::new, |job| job.job_id.clone()));
        self.refresh(context);
        Effect::Say(format!("starting a deep analysis of {name}"))
    }

    fn terminate(&mut self, context: &Context<'_>) -> Effect {
        let Some(job) = self.job() else { return Effect::Warn("no job is selected".to_owned()) };
        if job.status.ended() {
            return Effect::Warn(format!("{} has ended already: it is {}", job.job_id, job.status.word()));
        }
        let id = job.job_id.clone();
        self.desk.terminate(id.clone(), context);
        self.refresh(context);
        Effect::Say(format!("terminating {id}"))
    }

    fn open_report(&mut self, context: &Context<'_>) -> Effect {
        let Some(id) = self.job().map(|job| job.job_id.clone()) else {
            return Effect::Warn("no job is selected: a starts one for the selected token".to_owned());
        };
        self.reader = Some(Reader::waiting(id.clone()));
        self.desk.open_report(id, context);
        Effect::Redraw
    }

    fn act_on_reader(&mut self, action: Action) -> Effect {
        let Some(reader) = &mut self.reader else { return Effect::Pass };
        if action != Action::CopyValue {
            return reader.act(action);
        }
        match reader.json() {
            Some(json) if json.len() <= CLIPBOARD_MAX => Effect::Copy(json.to_owned(), "report"),
            Some(json) => {
                let size = crate::tui::format::bytes(json.len() as u64);
                Effect::Warn(format!("{size} is too long for a terminal's clipboard: c copies the curl that gives it"))
            }
            None => Effect::Nothing,
        }
    }

    fn copy_value(&self) -> Effect {
        let Some(job) = self.job() else { return Effect::Pass };
        match job.tasks.get(self.tasks.selected).filter(|_| self.focus == Focus::Tasks) {
            Some(task) => Effect::Copy(task.description.clone(), "task"),
            None => Effect::Copy(job.job_id.clone(), "job"),
        }
    }
}

#[cfg(test)]
mod tests;
