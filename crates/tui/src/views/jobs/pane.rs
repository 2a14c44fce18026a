//! Draws the two tables of the Jobs view, side by side where they fit, else stacked.

use super::{
    JobsView,
    rows::{self, TaskRow},
};
use crate::views::prelude::*;
use query::jobs::{self, Job, JobStatus};

pub(super) const NO_STORE: &str = "jobs are unavailable here: their database is not open; in the dashboard, make the state folder writable and restart";

/// From this width the tables are side by side.
const WIDE: u16 = 130;
/// Minimum number of rows of the tasks when the tables are stacked.
const TASK_ROWS_MIN: u16 = 9;
/// Rows of the detail under the tasks when a report preview follows, and the minimum rows of the preview.
const DETAIL_ROWS: u16 = 4;
const PREVIEW_ROWS_MIN: u16 = 10;

impl JobsView {
    pub(super) fn draw_jobs(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let (left, right) = self.split(area);
        self.draw_list(buffer, left, context);
        self.draw_tasks(buffer, right, context);
    }

    fn split(&self, area: Rect) -> (Rect, Rect) {
        if self.list.is_empty() {
            return (area, Rect::default());
        }
        if area.width >= WIDE {
            return beside(area, area.width - (area.width * 48 / 100).min(90) - 2);
        }
        // The list takes the rows it needs; the tasks never less than a job's six with their rule, header and two lines of detail.
        let wanted = self.list.len().max(2) as u16 + 2;
        stacked(
            area,
            wanted.min(
                area.height
                    .saturating_sub(TASK_ROWS_MIN)
                    .max(area.height / 3),
            ),
        )
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let count = |status: JobStatus| {
            self.stored
                .reading
                .jobs
                .iter()
                .filter(|job| job.status == status)
                .count()
        };
        let (running, queued) = (count(JobStatus::Running), count(JobStatus::Queued));
        let mut note = match (self.list.len() as u64, self.stored.reading.total) {
            (_, 0) => String::new(),
            (shown, total) if shown == total => plural(total, "job", "jobs"),
            (shown, total) => format!(
                "{} of {}",
                format::count(shown),
                plural(total, "job", "jobs")
            ),
        };
        note = with_left_out(note, &self.list.left_out, usize::from(area.width / 2));
        for (n, word) in [(running, "running"), (queued, "queued")] {
            if n > 0 {
                note = format!("{note} · {n} {word}");
            }
        }
        let title = self.list.titled("deep analyses");
        let panel = Panel {
            note: &note,
            focused: !self.in_tasks,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(area, buffer, theme));
        if self.stored.reading.jobs.is_empty() {
            self.draw_empty(buffer, body, context);
            return;
        }
        self.list.focused = !self.in_tasks;
        let frame = ListFrame::new(body, "no job matches the filter; / then Esc clears it");
        self.list.draw(
            buffer,
            frame,
            context,
            rows::rows(&self.stored.reading.jobs, context),
        );
    }

    /// Draws the placeholder of an empty list: the reason, and how to proceed.
    fn draw_empty(&self, buffer: &mut Buffer, body: Rect, context: &Context<'_>) {
        let theme = context.theme;
        if let Some(problem) = &self.stored.problem {
            panel::failure(body, buffer, theme, &problem.detail);
        } else if context.jobs.is_none() {
            panel::failure(body, buffer, theme, NO_STORE);
        } else if !self.stored.read {
            progress::skeleton(
                Rect {
                    height: body.height.min(6),
                    ..body
                },
                buffer,
                theme,
            );
        } else {
            let name = asked_for(context);
            put(buffer, body, 1, 1, "no deep analysis yet", theme.text());
            let says = format!(
                "press a to start one for {name}: market, trendline, patterns, security, DEXes and holders in one report"
            );
            put_wrapped(buffer, body, 1, 2, &says, 4, theme.dim());
        }
    }

    fn draw_tasks(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some(job) = self.job().cloned() else {
            self.tasks.cursor.hide();
            return;
        };
        let done = rows::ended(&job);
        let running = job.status == JobStatus::Running && !job.tasks.is_empty();
        let title = format!("tasks · {}", rows::names(&job, context));
        let note = format!("{done} of {} finished", job.tasks.len());
        let panel = Panel {
            title: &title,
            note: &note,
            focused: self.in_tasks,
            progress: running.then(|| Some(done as f64 / job.tasks.len() as f64)),
            warns: false,
        };
        let body = inset(panel.render(area, buffer, theme));
        // Lines under the table show the selected task in full.
        let detail = if body.height >= 7 { 3 } else { 0 };
        let room = Rect {
            height: body.height - detail,
            ..body
        };
        let table_area = Rect {
            height: room.height.min(job.tasks.len() as u16 + 1),
            ..room
        };
        let watched = self
            .stored
            .reading
            .progress
            .as_ref()
            .filter(|(id, _)| *id == job.job_id);
        let progress = watched.map_or(&[][..], |(_, progress)| progress);
        let row = |place: usize| {
            let task = job.tasks.get(place)?;
            Some(TaskRow {
                task,
                progress: progress
                    .iter()
                    .find(|progress| progress.task_id == task.task_id),
                context,
            })
        };
        // A job of one token needs no token column.
        self.tasks.show(rows::TOKEN, rows::tokens(&job).len() > 1);
        self.tasks.set_count(job.tasks.len());
        self.tasks.focused = self.in_tasks;
        self.tasks.draw(
            buffer,
            ListFrame::new(table_area, "the job has no tasks"),
            context,
            row,
        );
        let below = Rect {
            y: table_area.bottom(),
            height: body.bottom() - table_area.bottom(),
            ..body
        };
        self.previews = below.height >= DETAIL_ROWS + PREVIEW_ROWS_MIN;
        if let Some((_, preview)) = self
            .preview
            .as_mut()
            .filter(|(id, _)| self.previews && *id == job.job_id)
        {
            preview.draw_preview(
                buffer,
                Rect {
                    y: below.y + DETAIL_ROWS,
                    height: below.height - DETAIL_ROWS,
                    ..area
                },
                context,
            );
        }
        if detail > 0 {
            self.draw_detail(
                buffer,
                Rect {
                    height: below.height.min(DETAIL_ROWS),
                    ..below
                },
                &job,
                context,
            );
        }
    }

    /// Draws the selected task's full description, or the job's id and time.
    fn draw_detail(&self, buffer: &mut Buffer, area: Rect, job: &Job, context: &Context<'_>) {
        let theme = context.theme;
        let task = self
            .tasks
            .selected()
            .and_then(|task| job.tasks.get(task))
            .filter(|_| self.in_tasks);
        if let Some(task) = task {
            put_wrapped(
                buffer,
                area,
                0,
                1,
                &task.description,
                usize::from(area.height.saturating_sub(1)).min(3),
                theme.text(),
            );
            return;
        }
        let mut x = put(buffer, area, 0, 1, &job.job_id, theme.text());
        if let Some(time) = jobs::created(&job.job_id) {
            x += put(
                buffer,
                area,
                x,
                1,
                &format!("  started {}", context.zone.moment(time)),
                theme.dim(),
            );
        }
        let read = format!(
            "  {} of {} analyzed",
            format::count(job.tokens_used),
            plural(rows::tokens(job).len() as u64, "token", "tokens")
        );
        if usize::from(area.width.saturating_sub(x)) >= text::width(&read) {
            put(buffer, area, x, 1, &read, theme.dim());
        }
        if let Some(problem) = &self.stored.problem {
            put(
                buffer,
                area,
                0,
                2,
                &problem.detail,
                theme.style(Role::Warning),
            );
        } else {
            put(
                buffer,
                area,
                0,
                2,
                "Enter report   → tasks   x stop",
                theme.dim(),
            );
        }
    }
}

/// The tokens that a new job would be for, in words.
pub(super) fn asked_for(context: &Context<'_>) -> String {
    const NAMED: usize = 3;
    let name = |token: &Address| rows::token_name(&token.to_string(), context);
    match (context.marks, context.token) {
        ([], Some(token)) => name(&token),
        ([], None) => "the selected token".to_owned(),
        ([token], _) => name(token),
        (marks, _) => {
            let names: Vec<String> = marks.iter().take(NAMED).map(name).collect();
            let more = if marks.len() > NAMED { ", …" } else { "" };
            format!(
                "the {} marked tokens ({}{more})",
                marks.len(),
                names.join(", ")
            )
        }
    }
}
