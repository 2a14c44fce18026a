//! The Jobs view: deep analyses newest first, the tasks of the selected one, and its report as a page. The store is read in `store`, off
//! the drawing thread.

mod page;
mod pane;
mod report;
mod rows;
mod store;

use self::{
    report::ReportPane,
    rows::{JobFields, TaskFields, TaskRow},
    store::StoredJobs,
};
use crate::views::{list::mouse_of_two, prelude::*, view::WritePage};
use query::jobs::{Job, JobStatus};

/// Longest text that terminals accept for the clipboard.
const CLIPBOARD_MAX: usize = 100_000;

#[derive(Default)]
pub struct JobsView {
    stored: StoredJobs,
    /// Row indices are those of the last read.
    list: List<JobFields>,
    tasks: List<TaskFields>,
    /// The task list has the focus.
    in_tasks: bool,
    /// The selected job, kept when the list changes.
    selected: Option<String>,
    reader: Option<ReportPane>,
    /// The beginning of the selected job's report, under its tasks: the job's id and the pane.
    preview: Option<(String, ReportPane)>,
    /// The last drawing had room for the preview.
    previews: bool,
    /// The tokens whose report opens once it is there, and whether it is being made.
    wanted: Option<(Vec<Address>, bool)>,
    /// A start is pending: the newest job before it (empty for none), so that the new one is selected when it appears.
    newest_before: Option<String>,
    /// The example of the demo was started.
    has_example: bool,
}

impl View for JobsView {
    fn refresh(&mut self, context: &Context<'_>) {
        let watched = self.job().map(|job| job.job_id.clone());
        self.stored.refresh(context, watched.as_deref());
        if let Some(report) = self.stored.report.take() {
            let pane = ReportPane::new(report);
            match (&mut self.reader, &mut self.preview) {
                (Some(reader), _) => *reader = pane,
                (None, Some((_, preview))) => *preview = pane,
                (None, None) => {}
            }
        }
        self.arrange(context);
        self.pursue(context);
        self.start_example(context);
        self.look_ahead(context);
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        self.wanted = None;
        match action {
            Action::StartJob => return self.start(context),
            Action::Report => return self.report(context),
            Action::Terminate => return self.terminate(context),
            Action::Back if self.reader.take().is_some() => self.stored.close_report(),
            Action::Back | Action::Left if self.in_tasks && self.reader.is_none() => {
                self.in_tasks = false;
            }
            _ if self.reader.is_some() => return self.act_on_reader(action),
            Action::Open => return self.open_report(context),
            Action::Right if self.job().is_some() => self.in_tasks = true,
            Action::CopyValue => return self.copy_value(),
            action => {
                let event = if self.in_tasks {
                    self.tasks.act(action)
                } else {
                    self.list.act(action)
                };
                return self.on_list_event(event, context);
            }
        }
        self.arrange(context);
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        match action {
            Action::ReportJson => self.reader.is_some(),
            Action::Open | Action::Sort => self.reader.is_none() && !self.list.is_empty(),
            Action::Terminate => !self.list.is_empty(),
            _ => true,
        }
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if let Some(reader) = &mut self.reader {
            return reader.mouse(mouse);
        }
        let event = mouse_of_two(&mut self.list, &mut self.tasks, &mut self.in_tasks, mouse);
        if event == ListEvent::Nothing {
            return Effect::Nothing;
        }
        self.on_list_event(event, context)
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        match &mut self.reader {
            Some(reader) => reader.draw(buffer, area, context),
            None => self.draw_jobs(buffer, area, context),
        }
    }

    fn filter(&self) -> Option<&str> {
        self.reader.is_none().then(|| self.list.filter_text())
    }

    listing!(list);

    fn relist(&mut self, context: &Context<'_>) {
        self.arrange(context);
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        let target = match (&self.reader, self.job()) {
            (Some(_), Some(job)) => format!("/deep-analysis/jobs/{}/report", job.job_id),
            (None, Some(job)) if self.in_tasks => format!("/deep-analysis/jobs/{}", job.job_id),
            _ => "/deep-analysis/jobs".to_owned(),
        };
        Some(HttpRequest::get(target))
    }

    fn page(&self) -> Option<(String, WritePage)> {
        self.reader.as_ref()?.page()
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if let (true, Some(job)) = (self.in_tasks, self.job()) {
            let row = |place: usize| {
                Some(TaskRow {
                    task: job.tasks.get(place)?,
                    progress: None,
                    context,
                })
            };
            return Some(self.tasks.export(format!("{}-tasks", job.job_id), row));
        }
        Some(
            self.list
                .export("jobs", rows::rows(&self.stored.reading.jobs, context)),
        )
    }
}

/// The tokens of a new job: the marked ones, or the selected one.
fn chosen(context: &Context<'_>) -> Vec<Address> {
    match (context.marks, context.token) {
        ([], token) => token.into_iter().collect(),
        (marks, _) => marks.to_vec(),
    }
}

impl JobsView {
    fn job(&self) -> Option<&Job> {
        self.stored.reading.jobs.get(self.list.selected()?)
    }

    /// Filters and sorts the jobs, keeping the selected one.
    fn arrange(&mut self, context: &Context<'_>) {
        let jobs = &self.stored.reading.jobs;
        self.list.arrange(0..jobs.len(), rows::rows(jobs, context));
        self.list
            .point_to(|place| jobs.get(place).map(|job| &job.job_id) == self.selected.as_ref());
        let newest = jobs.first().map(|job| &job.job_id);
        if newest.is_some_and(|newest| {
            self.newest_before
                .as_ref()
                .is_some_and(|before| before != newest)
        }) {
            self.newest_before = None;
            self.list.point_to(|place| place == 0);
        }
        self.follow();
    }

    /// After a selection change: loads the other job's tasks.
    fn follow(&mut self) {
        let id = self.job().map(|job| job.job_id.clone());
        if id != self.selected {
            self.selected = id;
            self.tasks.cursor.select(0);
            if self.job().is_some_and(|job| !job.status.ended()) {
                self.stored.mark_stale();
            }
        }
        let tasks = self.job().map_or(0, |job| job.tasks.len());
        self.tasks.set_count(tasks);
    }

    fn on_list_event(&mut self, event: ListEvent, context: &Context<'_>) -> Effect {
        match event {
            ListEvent::Nothing => return Effect::Pass,
            ListEvent::Sorted => self.arrange(context),
            _ => self.follow(),
        }
        Effect::Redraw
    }

    /// Opens the newest report of the program's token; where there is none, has it made first.
    fn report(&mut self, context: &Context<'_>) -> Effect {
        (self.reader, self.preview) = (None, None);
        self.stored.close_report();
        let tokens = chosen(context);
        if context.jobs.is_none() || tokens.is_empty() {
            return self.start(context);
        }
        self.wanted = Some((tokens, false));
        self.pursue(context)
    }

    /// Goes on with a report that is wanted, until another key is pressed.
    fn pursue(&mut self, context: &Context<'_>) -> Effect {
        let Some((tokens, is_started)) = self.wanted.clone().filter(|_| self.stored.read) else {
            return Effect::Redraw;
        };
        let addresses: Vec<String> = tokens.iter().map(Address::to_string).collect();
        let of_token = |job: &&Job| rows::tokens(job) == addresses;
        let mut jobs = self.stored.reading.jobs.iter().filter(of_token);
        let made = jobs
            .clone()
            .find(|job| job.status == JobStatus::Completed)
            .map(|job| job.job_id.clone());
        let is_under_way = self.newest_before.is_some() || jobs.any(|job| !job.status.ended());
        match made {
            Some(id) => {
                (self.wanted, self.selected) = (None, Some(id));
                self.list.clear_filter();
                self.arrange(context);
                return self.open_report(context);
            }
            None if is_under_way => {}
            None if is_started => self.wanted = None,
            None => {
                self.wanted = Some((tokens, true));
                return self.start(context);
            }
        }
        Effect::Redraw
    }

    fn start(&mut self, context: &Context<'_>) -> Effect {
        if context.jobs.is_none() {
            return Effect::Warn(pane::NO_STORE.to_owned());
        }
        let tokens = chosen(context);
        if tokens.is_empty() {
            let loading = context.snapshot.is_none() && context.load.failure.is_none();
            let why = if loading {
                "the dataset is still loading; press a again when it is loaded"
            } else {
                "no token is selected; choose one in Tokens (1)"
            };
            return Effect::Warn(why.to_owned());
        }
        let addresses: Vec<String> = tokens.iter().map(Address::to_string).collect();
        let name = rows::token_name(&addresses[0], context);
        let name = match tokens.len() - 1 {
            0 => name,
            more => format!(
                "{name} and {}",
                plural(more as u64, "other token", "other tokens")
            ),
        };
        // Ignores a repeated start; its result would be the same.
        let open = |job: &Job| !job.status.ended() && rows::tokens(job) == addresses;
        if let Some(place) = self.stored.reading.jobs.iter().position(open) {
            let id = self.stored.reading.jobs[place].job_id.clone();
            if self.list.point_to(|shown| shown == place) {
                self.follow();
            }
            return Effect::Say(format!("{id} is already analyzing {name}"));
        }
        self.stored.start(tokens, name.clone(), context);
        self.newest_before = Some(
            self.stored
                .reading
                .jobs
                .first()
                .map_or_else(String::new, |job| job.job_id.clone()),
        );
        self.refresh(context);
        Effect::Say(format!("starting a deep analysis of {name}"))
    }

    /// In the demo, an empty list shows nothing of what a report is: the first visit starts the analysis of the selected token.
    fn start_example(&mut self, context: &Context<'_>) {
        let is_demo = context
            .snapshot
            .is_some_and(|snapshot| snapshot.dataset.synthetic);
        let is_empty = self.stored.read && self.stored.reading.total == 0;
        let takes_jobs = context.jobs.is_some_and(|jobs| jobs.takes_jobs());
        let is_idle = self.wanted.is_none() && self.newest_before.is_none();
        if is_demo && is_empty && is_idle && !self.has_example && takes_jobs {
            self.has_example = true;
            self.start(context);
        }
    }

    fn terminate(&mut self, context: &Context<'_>) -> Effect {
        let Some(job) = self.job() else {
            return Effect::Warn("no job is selected".to_owned());
        };
        if job.status.ended() {
            return Effect::Warn(format!(
                "{} has already ended: {}",
                job.job_id,
                job.status.word()
            ));
        }
        let id = job.job_id.clone();
        self.stored.terminate(id.clone(), context);
        self.refresh(context);
        Effect::Say(format!("stopping {id}"))
    }

    fn open_report(&mut self, context: &Context<'_>) -> Effect {
        let Some(id) = self.job().map(|job| job.job_id.clone()) else {
            return Effect::Warn(format!(
                "no job is selected; press a to start one for {}",
                pane::asked_for(context)
            ));
        };
        self.reader = Some(ReportPane::waiting(id.clone()));
        self.preview = None;
        self.stored.open_report(id, context);
        Effect::Redraw
    }

    /// Reads the report of the selected job where its beginning is shown, one at a time however fast the selection moves.
    fn look_ahead(&mut self, context: &Context<'_>) {
        if self.reader.is_some() || !self.previews || self.stored.reads_report() {
            return;
        }
        let selected = self
            .job()
            .filter(|job| job.status.ended())
            .map(|job| job.job_id.clone());
        if self.preview.as_ref().map(|(id, _)| id) == selected.as_ref() {
            return;
        }
        self.preview = selected.map(|id| {
            self.stored.open_report(id.clone(), context);
            (id.clone(), ReportPane::waiting(id))
        });
    }

    fn act_on_reader(&mut self, action: Action) -> Effect {
        let Some(reader) = &mut self.reader else {
            return Effect::Pass;
        };
        if action != Action::CopyValue {
            return reader.act(action);
        }
        match reader.json() {
            Some(json) if json.len() <= CLIPBOARD_MAX => Effect::Copy(json.to_owned(), "report"),
            Some(json) => {
                let size = model::format::bytes(json.len() as u64);
                Effect::Warn(format!(
                    "{size} is too large for the terminal's clipboard; press c to copy the curl command for the report"
                ))
            }
            None => Effect::Nothing,
        }
    }

    fn copy_value(&self) -> Effect {
        let Some(job) = self.job() else {
            return Effect::Pass;
        };
        match self
            .tasks
            .selected()
            .and_then(|task| job.tasks.get(task))
            .filter(|_| self.in_tasks)
        {
            Some(task) => Effect::Copy(task.description.clone(), "task"),
            None => Effect::Copy(job.job_id.clone(), "job"),
        }
    }
}

#[cfg(test)]
mod tests;
