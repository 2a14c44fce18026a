//! The report of a job, read line by line; jumps from token to token. Keeps its place, not the job.

use crossterm::event::{MouseEvent, MouseEventKind};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{super::many, desk::ReportText, outline::Line};
use crate::{
    error::Problem,
    tui::{
        format,
        keymap::Action,
        view::{Context, Effect},
        widgets::{
            panel::{self, Panel},
            progress, put,
        },
    },
};

/// Cells that a level of the outline is set in.
const INDENT: u16 = 2;

#[derive(Debug)]
enum State {
    Waiting(String),
    Read(ReportText),
    Failed(Problem),
}

#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    top: usize,
    height: usize,
}

impl Reader {
    pub(super) fn waiting(job_id: String) -> Self {
        Self { state: State::Waiting(job_id), top: 0, height: 0 }
    }

    pub(super) fn new(report: Result<ReportText, Problem>) -> Self {
        let state = match report {
            Ok(report) => State::Read(report),
            Err(problem) => State::Failed(problem),
        };
        Self { state, top: 0, height: 0 }
    }

    pub(super) fn json(&self) -> Option<&str> {
        match &self.state {
            State::Read(report) => Some(&report.json),
            State::Waiting(_) | State::Failed(_) => None,
        }
    }

    fn lines(&self) -> &[Line] {
        match &self.state {
            State::Read(report) => &report.lines,
            State::Waiting(_) | State::Failed(_) => &[],
        }
    }

    pub(super) fn act(&mut self, action: Action) -> Effect {
        let page = self.height.saturating_sub(1).max(1);
        let heading = |lines: &[Line], i: usize| lines.get(i).is_some_and(|line| line.heading);
        let (top, count) = (self.top, self.lines().len());
        self.top = match action {
            Action::Up => top.saturating_sub(1),
            Action::Down => top + 1,
            Action::PageUp => top.saturating_sub(page),
            Action::PageDown => top + page,
            Action::First => 0,
            Action::Last => count,
            Action::Right => (top + 1..count).find(|&i| heading(self.lines(), i)).unwrap_or(top),
            Action::Left => (0..top).rev().find(|&i| heading(self.lines(), i)).unwrap_or(0),
            _ => return Effect::Pass,
        };
        self.settle();
        Effect::Redraw
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Effect {
        self.top = match mouse.kind {
            MouseEventKind::ScrollUp => self.top.saturating_sub(3),
            MouseEventKind::ScrollDown => self.top + 3,
            _ => return Effect::Nothing,
        };
        self.settle();
        Effect::Redraw
    }

    fn settle(&mut self) {
        self.top = self.top.min(self.lines().len().saturating_sub(self.height));
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        self.height = usize::from(area.height.saturating_sub(1));
        self.settle();
        let title = match &self.state {
            State::Waiting(id) => format!("report · {id}"),
            State::Read(report) => format!("report · {} · {}", report.job_id, report.status),
            State::Failed(_) => "report".to_owned(),
        };
        let count = self.lines().len();
        let last = (self.top + self.height).min(count);
        let place =
            format!("{}–{} of {}", format::count(self.top as u64 + 1), format::count(last as u64), many(count as u64, "line", "lines"));
        let waiting = matches!(self.state, State::Waiting(_));
        let panel = Panel {
            note: if count > 0 { &place } else { "" },
            focused: true,
            progress: waiting.then_some(None),
            ascii: context.ascii,
            ..Panel::new(&title)
        };
        let body = panel.render(area, buffer, theme);
        match &self.state {
            State::Waiting(_) => progress::skeleton(body, buffer, theme, context.ascii),
            State::Failed(problem) => panel::failure(body, buffer, theme, &problem.detail),
            State::Read(report) => {
                for (y, line) in report.lines.iter().skip(self.top).take(self.height).enumerate() {
                    draw_line(buffer, body, y as u16, line, context);
                }
            }
        }
    }
}

fn draw_line(buffer: &mut Buffer, body: Rect, y: u16, line: &Line, context: &Context<'_>) {
    let theme = context.theme;
    let x = 1 + line.indent * INDENT;
    // A name with members under it is a small heading of its own.
    let key = match (line.heading, line.value.is_empty()) {
        (true, _) => theme.accent(),
        (false, true) => theme.strong(),
        (false, false) => theme.dim(),
    };
    let used = put(buffer, body, x, y, &line.key, key);
    let mut x = x + used + 2;
    for (piece, role) in &line.value {
        x += put(buffer, body, x, y, piece, theme.style(*role));
    }
}
