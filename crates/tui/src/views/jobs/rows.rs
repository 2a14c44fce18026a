//! The rows of the job list and the task list: words, glyphs, bars. Draws no panel and holds no state.

use crate::views::prelude::*;
use query::jobs::{self, Job, JobStatus, Task, TaskProgress, TaskStatus};

pub(super) struct JobFields;
pub(super) struct TaskFields;

#[derive(Clone, Copy)]
pub(super) struct JobRow<'a> {
    pub job: &'a Job,
    pub context: &'a Context<'a>,
}

#[derive(Clone, Copy)]
pub(super) struct TaskRow<'a> {
    pub task: &'a Task,
    pub progress: Option<&'a TaskProgress>,
    pub context: &'a Context<'a>,
}

type J = Field<JobFields>;
type T = Field<TaskFields>;

impl Fields for JobFields {
    type Row<'a> = JobRow<'a>;

    const FIELDS: &'static [J] = &[
        J::text("job_id", "job", [13, 13], 255, |row| {
            (&row.job.job_id).into()
        })
        .cell(|row, _| Cell::text(format::short_address(&row.job.job_id)))
        .aliases(&["job", "id"])
        .searched(),
        // Negated: younger sorts higher.
        J::figure("age", "age", 5, 60, |row| {
            jobs::created(&row.job.job_id).map(|time| -time.0).into()
        })
        .cell(|row, look| {
            let age = jobs::created(&row.job.job_id).map(|time| format::age(look.now.0 - time.0));
            Cell::new(age.unwrap_or_else(|| format::MISSING.to_owned()), Role::Dim)
        })
        .unfiltered()
        .smallest_first()
        .member(""),
        J::text("status", "status", [12, 12], 250, |row| {
            row.job.status.word().into()
        })
        .rank(|row| Some(f64::from(row.job.status as u8)))
        .cell(|row, _| marked(job_mark(row.job.status), row.job.status.word()))
        .searched(),
        J::text("tokens", "tokens", [8, 12], 80, |row| {
            Scalar::list(
                tokens(row.job)
                    .into_iter()
                    .map(|address| token_name(address, row.context)),
            )
        })
        .cell(|row, _| Cell::text(names(row.job, row.context)))
        .of(ColumnKind::List)
        .aliases(&["token"])
        .searched()
        .grows(),
        J::hidden("tasks_ended", ColumnKind::Number, |row| {
            ended(row.job).into()
        })
        .aliases(&["ended"]),
        // Sorted by the share of ended tasks.
        J::text("tasks", "tasks", [16, 17], 200, |row| {
            row.job.tasks.len().into()
        })
        .rank(|row| Some(done(row.job)))
        .cell(|row, _| {
            let role = match row.job.status {
                JobStatus::Terminated => Role::WarningSoft,
                status if status.ended() => Role::UpSoft,
                _ => Role::Accent,
            };
            let of = format!(" {}/{}", ended(row.job), row.job.tasks.len());
            bar_cell(done(row.job), 10, role).then(of, Role::Text)
        })
        .of(ColumnKind::Number)
        .largest_first(),
        J::figure("tokens_used", "tokens used", 11, 20, |row| {
            row.job.tokens_used.into()
        })
        .counted()
        .aliases(&["used"]),
    ];

    fn json(JobRow { job, .. }: JobRow<'_>) -> Json {
        json!({
            "job_id": job.job_id, "status": job.status, "tokens": tokens(job), "tasks_ended": ended(job), "tasks": job.tasks.len(),
            "tokens_used": job.tokens_used,
        })
    }
}

/// The column that a job of one token does not need.
pub(super) const TOKEN: &str = "token";

impl Fields for TaskFields {
    type Row<'a> = TaskRow<'a>;

    const FIELDS: &'static [T] = &[
        T::hidden("task_id", ColumnKind::Text, |row| {
            (&row.task.task_id).into()
        }),
        T::text("status", "status", [12, 12], 250, |row| {
            row.task.status.word().into()
        })
        .cell(|row, _| marked(task_mark(row.task.status), row.task.status.word()))
        .unsorted(),
        T::text("task", "task", [9, 10], 255, |row| parts(row.task).0.into())
            .unsorted()
            .member(""),
        T::text(TOKEN, "token", [6, 9], 100, |row| {
            token_name(parts(row.task).1, row.context).into()
        })
        .unsorted()
        .member(""),
        T::picture("progress", "progress", 16, 90, |row, _| {
            let of = row.progress.filter(|progress| progress.total > 0);
            let bar = |share, role| bar_cell(share, 10, role);
            match (
                row.task.status,
                of.map(|progress| progress.done as f64 / progress.total as f64),
            ) {
                (TaskStatus::Completed, _) => bar(1.0, Role::UpSoft),
                (TaskStatus::Running, Some(share)) => bar(share, Role::Accent)
                    .then(format!(" {:3.0}%", (share * 100.0).floor()), Role::Text),
                (TaskStatus::Running, None) => bar(0.0, Role::Accent).then(" running", Role::Dim),
                _ => bar(0.0, Role::Grid),
            }
        }),
        T::text("description", "description", [16, 32], 110, |row| {
            (&row.task.description).into()
        })
        .cell(|row, _| {
            let role = match row.task.status {
                TaskStatus::Failed => Role::Warning,
                TaskStatus::Skipped | TaskStatus::Queued => Role::Dim,
                _ => Role::Text,
            };
            // The other columns name analysis and token, so only the reason is shown here; the full text is below the table.
            let reason = row
                .task
                .description
                .split_once(": ")
                .filter(|_| row.task.status != TaskStatus::Completed);
            Cell::new(
                reason
                    .map_or(&*row.task.description, |(_, reason)| reason)
                    .to_owned(),
                role,
            )
        })
        .unsorted()
        .grows(),
    ];

    fn json(TaskRow { task, .. }: TaskRow<'_>) -> Json {
        json!({"task_id": task.task_id, "status": task.status, "description": task.description})
    }
}

/// Splits `market-0x…` into (analysis, address).
pub(super) fn parts(task: &Task) -> (&str, &str) {
    task.task_id.split_once('-').unwrap_or((&task.task_id, ""))
}

/// The token's symbol, else its shortened address.
pub(super) fn token_name(address: &str, context: &Context<'_>) -> String {
    let symbol = context.snapshot.and_then(|snapshot| {
        let address = Address::parse(address)?;
        snapshot
            .market
            .of(&snapshot.dataset, &address)?
            .symbol
            .clone()
    });
    symbol.map_or_else(
        || format::short_address(address),
        |symbol| text::truncate(&symbol, 16).into_owned(),
    )
}

/// The token addresses of a job, without duplicates, in the job's order.
pub(super) fn tokens(job: &Job) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    job.tasks
        .iter()
        .map(|task| parts(task).1)
        .filter(|address| !address.is_empty() && seen.insert(*address))
        .collect()
}

/// `UNI, LINK +3`.
pub(super) fn names(job: &Job, context: &Context<'_>) -> String {
    let tokens = tokens(job);
    let mut named: Vec<String> = tokens
        .iter()
        .take(2)
        .map(|address| token_name(address, context))
        .collect();
    if let (Some(last), true) = (named.last_mut(), tokens.len() > 2) {
        *last = format!("{last} +{}", tokens.len() - 2);
    }
    named.join(", ")
}

/// Number of ended tasks, with or without a result.
pub(super) fn ended(job: &Job) -> usize {
    job.tasks
        .iter()
        .filter(|task| !matches!(task.status, TaskStatus::Queued | TaskStatus::Running))
        .count()
}

fn job_mark(status: JobStatus) -> (&'static str, Role) {
    match status {
        JobStatus::Queued => ("○", Role::Dim),
        JobStatus::Running => ("▶", Role::Accent),
        JobStatus::Completed => ("✓", Role::Up),
        JobStatus::Terminated => ("■", Role::Warning),
    }
}

fn task_mark(status: TaskStatus) -> (&'static str, Role) {
    match status {
        TaskStatus::Queued => ("○", Role::Dim),
        TaskStatus::Running => ("▶", Role::Accent),
        TaskStatus::Completed => ("✓", Role::Up),
        TaskStatus::Failed => ("✗", Role::Down),
        TaskStatus::Skipped => ("–", Role::Dim),
    }
}

/// A bar over its track, for a table cell.
fn bar_cell(share: f64, cells: usize, role: Role) -> Cell {
    let [filled, rest] = thin_bar(share, cells);
    Cell::new(filled, role).then(rest, Role::Grid)
}

fn marked((mark, role): (&'static str, Role), word: &'static str) -> Cell {
    Cell::new(format!("{mark} "), role).then(word, role)
}

/// The share of a job's tasks that have ended.
fn done(job: &Job) -> f64 {
    ended(job) as f64 / job.tasks.len().max(1) as f64
}

/// The rows of the job list, by index.
pub(super) fn rows<'a>(
    jobs: &'a [Job],
    context: &'a Context<'a>,
) -> impl Fn(usize) -> Option<JobRow<'a>> {
    move |place| {
        Some(JobRow {
            job: jobs.get(place)?,
            context,
        })
    }
}
