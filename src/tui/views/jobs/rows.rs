//! What stands in a row of the jobs and of the tasks: words, glyphs, bars. Draws no panel and keeps nothing.

use std::collections::HashMap;

use crate::{
    dataset::address::Address,
    jobs::{self, Job, JobStatus, Task, TaskProgress, TaskStatus},
    question::{
        filter::{FieldValue, FilterColumn},
        list::Listed,
    },
    tui::{
        format, text,
        theme::Role,
        view::Context,
        views::{sorting::SortKey, thin_bar},
        widgets::table::{Cell, Column},
    },
};

pub(super) const COLUMNS: &[Column] = &[
    Column::text("job_id", "job", 13, 13, 255),
    Column::figure("age", "age", 5, 60),
    Column::text("status", "status", 12, 12, 250),
    Column::text("tokens", "tokens", 8, 12, 80).grows(),
    Column::text("tasks", "tasks", 16, 17, 200),
    Column::figure("tokens_used", "tokens used", 11, 20),
];

/// Those of the API's `where`.
pub(super) const FILTER: &[FilterColumn] = Job::COLUMNS;

/// As `TASK_COLUMNS`, without the token.
const ONE_TOKEN_COLUMNS: &[Column] = &[TASK_COLUMNS[0], TASK_COLUMNS[1], TASK_COLUMNS[3], TASK_COLUMNS[4]];

const TASK_COLUMNS: &[Column] = &[
    Column::text("status", "status", 12, 12, 250),
    Column::text("task", "task", 9, 10, 255),
    Column::text("token", "token", 6, 9, 100),
    Column::text("progress", "progress", 16, 16, 90),
    Column::text("description", "description", 16, 32, 110).grows(),
];

/// A job of one token does not say its name in every row.
pub(super) fn task_columns(job: &Job) -> &'static [Column] {
    if tokens(job).len() > 1 { TASK_COLUMNS } else { ONE_TOKEN_COLUMNS }
}

/// (analysis, address) of `market-0x…`.
pub(super) fn parts(task: &Task) -> (&str, &str) {
    task.task_id.split_once('-').unwrap_or((&task.task_id, ""))
}

/// What people call a token: its symbol, else its address shortened.
pub(super) fn token_name(address: &str, context: &Context<'_>) -> String {
    let symbol = context.snapshot.and_then(|snapshot| {
        let address = Address::parse(address)?;
        snapshot.market.of(&snapshot.dataset, &address)?.symbol.clone()
    });
    symbol.map_or_else(|| format::short_address(address), |symbol| text::truncate(&symbol, 16).into_owned())
}

/// The addresses a job is about, each once, in the job's order.
pub(super) fn tokens(job: &Job) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    job.tasks.iter().map(|task| parts(task).1).filter(|address| !address.is_empty() && seen.insert(*address)).collect()
}

/// `UNI, LINK +3`.
pub(super) fn names(job: &Job, context: &Context<'_>) -> String {
    let tokens = tokens(job);
    let mut named: Vec<String> = tokens.iter().take(2).map(|address| token_name(address, context)).collect();
    if let (Some(last), true) = (named.last_mut(), tokens.len() > 2) {
        *last = format!("{last} +{}", tokens.len() - 2);
    }
    named.join(", ")
}

/// Tasks that have ended, with or without a result.
pub(super) fn ended(job: &Job) -> usize {
    job.tasks.iter().filter(|task| !matches!(task.status, TaskStatus::Queued | TaskStatus::Running)).count()
}

fn job_mark(status: JobStatus, ascii: bool) -> (&'static str, Role) {
    match (status, ascii) {
        (JobStatus::Queued, false) => ("○", Role::Dim),
        (JobStatus::Running, false) => ("▶", Role::Accent),
        (JobStatus::Completed, false) => ("✓", Role::Up),
        (JobStatus::Terminated, false) => ("■", Role::Warning),
        (JobStatus::Queued, true) => (".", Role::Dim),
        (JobStatus::Running, true) => (">", Role::Accent),
        (JobStatus::Completed, true) => ("+", Role::Up),
        (JobStatus::Terminated, true) => ("x", Role::Warning),
    }
}

fn task_mark(status: TaskStatus, ascii: bool) -> (&'static str, Role) {
    match (status, ascii) {
        (TaskStatus::Queued, false) => ("○", Role::Dim),
        (TaskStatus::Running, false) => ("▶", Role::Accent),
        (TaskStatus::Completed, false) => ("✓", Role::Up),
        (TaskStatus::Failed, false) => ("✗", Role::Down),
        (TaskStatus::Skipped, false) => ("–", Role::Dim),
        (TaskStatus::Queued, true) => (".", Role::Dim),
        (TaskStatus::Running, true) => (">", Role::Accent),
        (TaskStatus::Completed, true) => ("+", Role::Up),
        (TaskStatus::Failed, true) => ("x", Role::Down),
        (TaskStatus::Skipped, true) => ("-", Role::Dim),
    }
}

/// A bar over its track in a cell of the table.
fn bar_cell(share: f64, cells: usize, role: Role, ascii: bool) -> Cell {
    let [filled, rest] = thin_bar(share, cells, ascii);
    Cell::new(filled, role).then(rest, Role::Grid)
}

pub(super) fn job_row(job: &Job, context: &Context<'_>) -> Vec<Cell> {
    let (mark, role) = job_mark(job.status, context.ascii);
    let age = jobs::created(&job.job_id).map_or_else(|| format::MISSING.to_owned(), |time| format::age(context.now.0 - time.0));
    let (done, all) = (ended(job), job.tasks.len());
    let bar_role = if job.status == JobStatus::Terminated {
        Role::WarningSoft
    } else if job.status.ended() {
        Role::UpSoft
    } else {
        Role::Accent
    };
    let share = if all == 0 { 0.0 } else { done as f64 / all as f64 };
    vec![
        Cell::new(format::short_address(&job.job_id), Role::Text),
        Cell::new(age, Role::Dim),
        Cell::new(format!("{mark} "), role).then(job.status.word(), role),
        Cell::text(names(job, context)),
        bar_cell(share, 10, bar_role, context.ascii).then(format!(" {done}/{all}"), Role::Text),
        Cell::text(format::count(job.tokens_used)),
    ]
}

pub(super) fn task_row(task: &Task, columns: &[Column], progress: Option<&TaskProgress>, context: &Context<'_>) -> Vec<Cell> {
    let (mark, role) = task_mark(task.status, context.ascii);
    let (analysis, address) = parts(task);
    let share = progress.filter(|progress| progress.total > 0).map(|progress| progress.done as f64 / progress.total as f64);
    let bar = match (task.status, share) {
        (TaskStatus::Completed, _) => bar_cell(1.0, 10, Role::UpSoft, context.ascii),
        (TaskStatus::Running, Some(share)) => {
            bar_cell(share, 10, Role::Accent, context.ascii).then(format!(" {:3.0} %", (share * 100.0).floor()), Role::Text)
        }
        (TaskStatus::Running, None) => bar_cell(0.0, 10, Role::Accent, context.ascii).then(" at it", Role::Dim),
        _ => bar_cell(0.0, 10, Role::Grid, context.ascii),
    };
    let says = match task.status {
        TaskStatus::Failed => Role::Warning,
        TaskStatus::Skipped | TaskStatus::Queued => Role::Dim,
        _ => Role::Text,
    };
    let mut row = vec![Cell::new(format!("{mark} "), role).then(task.status.word(), role), Cell::text(analysis.to_owned())];
    if columns.iter().any(|column| column.key == "token") {
        row.push(Cell::text(token_name(address, context)));
    }
    // The columns before it say what it is about; the reason alone is left. Under the table it stands whole.
    let reason = task.description.split_once(": ").filter(|_| task.status != TaskStatus::Completed);
    row.extend([bar, Cell::new(reason.map_or(&*task.description, |(_, reason)| reason).to_owned(), says)]);
    row
}

pub(super) fn sort_key(job: &Job, column: usize, context: &Context<'_>) -> SortKey {
    match COLUMNS[column].key {
        "job_id" => SortKey::from(job.job_id.as_str()),
        // The younger the smaller.
        "age" => jobs::created(&job.job_id).map_or(SortKey::Missing, |time| SortKey::Number(-(time.0 as f64))),
        "status" => SortKey::Number(f64::from(job.status as u8)),
        "tokens" => SortKey::from(names(job, context).as_str()),
        "tasks" => SortKey::Number(ended(job) as f64 / job.tasks.len().max(1) as f64),
        _ => SortKey::from(job.tokens_used),
    }
}

/// The value of a job in a column, for the filter; `names` are those of its tokens.
pub(super) fn field<'a>(job: &'a Job, column: &str, names: &'a [String]) -> Option<FieldValue<'a>> {
    match column {
        "tokens" => FieldValue::list(names.iter().map(String::as_str)),
        column => job.field(column),
    }
}

pub(super) fn by_task(progress: &[TaskProgress]) -> HashMap<&str, &TaskProgress> {
    progress.iter().map(|progress| (progress.task_id.as_str(), progress)).collect()
}
