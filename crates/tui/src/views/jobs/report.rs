//! The report pane of a job: a scrollable page or JSON, with jumps between sections. Holds the scroll offset, not the job.

use super::{
    page::{self, PageLine},
    store::ReportText,
};
use crate::views::{prelude::*, view::WritePage};
use query::document::DocumentForm;

/// Cells of an indent level.
const INDENT: u16 = 2;
/// Maximum number of lines of JSON shown; longer reports belong in another viewer.
const JSON_LINES: usize = 100_000;

#[derive(Debug)]
enum State {
    Waiting(String),
    Read(Box<ReportText>),
    Failed(Problem),
}

#[derive(Debug)]
pub(super) struct ReportPane {
    state: State,
    /// Shows JSON instead of the page.
    raw: bool,
    lines: Vec<PageLine>,
    /// The width of the laid out lines, and whether they are JSON.
    made: Option<(u16, bool)>,
    top: usize,
    height: usize,
}

impl ReportPane {
    fn of(state: State) -> Self {
        Self {
            state,
            raw: false,
            lines: Vec::new(),
            made: None,
            top: 0,
            height: 0,
        }
    }

    pub(super) fn waiting(job_id: String) -> Self {
        Self::of(State::Waiting(job_id))
    }

    pub(super) fn new(report: Result<ReportText, Problem>) -> Self {
        Self::of(match report {
            Ok(report) => State::Read(Box::new(report)),
            Err(problem) => State::Failed(problem),
        })
    }

    pub(super) fn json(&self) -> Option<&str> {
        match &self.state {
            State::Read(report) => Some(&report.json),
            State::Waiting(_) | State::Failed(_) => None,
        }
    }

    /// The report as HTML, under its tokens and the job's id; created on request.
    pub(super) fn page(&self) -> Option<(String, WritePage)> {
        let State::Read(report) = &self.state else {
            return None;
        };
        let document = report.document.clone();
        // `uni-report` of one token.
        let of = report
            .document
            .title
            .strip_prefix("Report on ")
            .filter(|name| name.chars().all(char::is_alphanumeric));
        let name = of.map_or_else(|| report.job_id.clone(), str::to_lowercase);
        Some((
            format!("{name}-report"),
            Box::new(move || document.write(DocumentForm::Html)),
        ))
    }

    /// Lays out the lines for a width, once.
    fn make(&mut self, cells: u16) {
        let State::Read(report) = &self.state else {
            return;
        };
        if self.made == Some((cells, self.raw)) {
            return;
        }
        self.made = Some((cells, self.raw));
        self.lines = if self.raw {
            let line = |line: &str| PageLine {
                spans: vec![(line.to_owned(), Role::Text)],
                ..PageLine::default()
            };
            report.json.lines().take(JSON_LINES).map(line).collect()
        } else {
            page::lines(&report.document, cells)
        };
    }

    pub(super) fn act(&mut self, action: Action) -> Effect {
        let page = self.height.saturating_sub(1).max(1);
        let heading = |&i: &usize| self.lines[i].heading;
        let (top, count) = (self.top, self.lines.len());
        self.top = match action {
            Action::Up => top.saturating_sub(1),
            Action::Down => top + 1,
            Action::PageUp => top.saturating_sub(page),
            Action::PageDown => top + page,
            Action::First => 0,
            Action::Last => count,
            Action::Right => (top + 1..count).find(heading).unwrap_or(top),
            Action::Left => (0..top.min(count)).rev().find(heading).unwrap_or(0),
            Action::ReportJson => {
                self.raw = !self.raw;
                0
            }
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
        self.top = self.top.min(self.lines.len().saturating_sub(self.height));
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        self.lay_out(area);
        let title = match &self.state {
            State::Waiting(id) => format!("report · {id}"),
            State::Read(report) if self.raw => format!("report · {} · JSON", report.job_id),
            State::Read(report) => format!("report · {} · {}", report.job_id, report.status),
            State::Failed(_) => "report".to_owned(),
        };
        let count = self.lines.len();
        let last = (self.top + self.height).min(count);
        let place = format!(
            "{}–{} of {}",
            format::count(self.top as u64 + 1),
            format::count(last as u64),
            plural(count as u64, "line", "lines")
        );
        let room = usize::from(area.width).saturating_sub(text::width(&title) + 8);
        let place =
            text::longest_that_fits([format!("e exports it as HTML · {place}"), place], room);
        let panel = Panel {
            note: if count > 0 { &place } else { "" },
            focused: true,
            ..Panel::new(&title)
        };
        self.draw_panel(panel, buffer, area, context);
    }

    /// Draws a preview: the beginning of the report.
    pub(super) fn draw_preview(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        self.lay_out(area);
        self.draw_panel(
            Panel {
                note: "Enter opens it",
                ..Panel::new("report")
            },
            buffer,
            area,
            context,
        );
    }

    fn lay_out(&mut self, area: Rect) {
        self.height = usize::from(area.height.saturating_sub(1));
        self.make(area.width);
        self.settle();
    }

    fn draw_panel(&self, panel: Panel<'_>, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let waiting = matches!(self.state, State::Waiting(_));
        let body = Panel {
            progress: waiting.then_some(None),
            ..panel
        }
        .render(area, buffer, context.theme);
        match &self.state {
            State::Waiting(_) => progress::skeleton(body, buffer, context.theme),
            State::Failed(problem) => panel::failure(body, buffer, context.theme, &problem.detail),
            State::Read(_) => {
                for (y, line) in self
                    .lines
                    .iter()
                    .skip(self.top)
                    .take(self.height)
                    .enumerate()
                {
                    draw_line(buffer, body, y as u16, line, context);
                }
            }
        }
    }
}

fn draw_line(buffer: &mut Buffer, body: Rect, y: u16, line: &PageLine, context: &Context<'_>) {
    let mut x = 1 + line.indent * INDENT;
    for (piece, role) in &line.spans {
        x += put(buffer, body, x, y, piece, context.theme.style(*role));
    }
}
