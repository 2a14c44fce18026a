//! What the loader found wrong in a table: every reason with its count, and under it the cells it was met in.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::json;

use super::paths;
use crate::{
    dataset::{
        Table as DataTable,
        findings::{Finding, FindingCount, KEPT_PER_REASON, Severity},
    },
    tui::{
        format,
        keymap::Action,
        text,
        theme::Role,
        view::{Context, Effect, Export},
        views::{inset, many},
        widgets::{
            panel::Panel,
            put,
            table::{Cell, Column, Hit, Table, TableState},
        },
    },
};

const REASONS: &[Column] = &[
    Column::text("severity", "severity", 10, 10, 255),
    Column::figure("count", "count", 9, 250),
    Column::text("column", "column", 10, 16, 200),
    Column::text("file", "file", 12, 24, 100),
    Column::text("reason", "reason", 20, 40, 240).grows(),
];

const CELLS: &[Column] = &[
    Column::figure("row", "row", 11, 255),
    Column::text("column", "column", 10, 16, 200),
    Column::text("value", "value", 16, 40, 250),
    Column::text("file", "file", 12, 24, 100).grows(),
];

#[derive(Debug)]
pub(super) struct FindingsPane {
    pub(super) table: &'static str,
    counts: Vec<FindingCount>,
    kept: Vec<Finding>,
    reasons: TableState,
    cells: TableState,
    /// Keys go to the cells.
    inside: bool,
    reasons_area: Rect,
    cells_area: Rect,
}

impl FindingsPane {
    /// Worst first, then most often.
    pub(super) fn new(table: &DataTable) -> Self {
        let mut counts = table.findings.counts().to_vec();
        counts.sort_by(|a, b| a.severity.cmp(&b.severity).then(b.count.cmp(&a.count)));
        Self {
            table: table.schema.name,
            counts,
            kept: table.findings.kept().to_vec(),
            reasons: TableState::default(),
            cells: TableState::default(),
            inside: false,
            reasons_area: Rect::default(),
            cells_area: Rect::default(),
        }
    }

    /// The cells in which the selected reason was met.
    fn met(&self) -> Vec<&Finding> {
        let Some(reason) = self.counts.get(self.reasons.selected) else { return Vec::new() };
        let same = |finding: &&Finding| (&finding.file, &finding.column, &finding.reason) == (&reason.file, &reason.column, &reason.reason);
        self.kept.iter().filter(same).collect()
    }

    pub(super) fn act(&mut self, action: Action) -> Effect {
        let (count, area) = if self.inside { (self.met().len(), self.cells_area) } else { (self.counts.len(), self.reasons_area) };
        let page = Table::height(area).max(1) as isize;
        let before = self.reasons.selected;
        let state = if self.inside { &mut self.cells } else { &mut self.reasons };
        match action {
            Action::Up => state.step(-1, count),
            Action::Down => state.step(1, count),
            Action::PageUp => state.step(-page, count),
            Action::PageDown => state.step(page, count),
            Action::First => state.select(0, count),
            Action::Last => state.select(usize::MAX, count),
            Action::Open | Action::Right if !self.counts.is_empty() => self.inside = true,
            Action::Back | Action::Left if self.inside => self.inside = false,
            Action::CopyValue => return self.copy(),
            _ => return Effect::Pass,
        }
        if before != self.reasons.selected {
            self.cells = TableState::default();
        }
        Effect::Redraw
    }

    fn copy(&self) -> Effect {
        let met = self.met();
        match (met.get(self.cells.selected).filter(|_| self.inside), self.counts.get(self.reasons.selected)) {
            (Some(finding), _) => Effect::Copy(finding.value.clone().unwrap_or_default(), "value"),
            (None, Some(reason)) => Effect::Copy(reason.reason.clone(), "reason"),
            (None, None) => Effect::Nothing,
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Effect {
        let at = (mouse.column, mouse.row).into();
        let inside = self.cells_area.contains(at);
        if !inside && !self.reasons_area.contains(at) {
            return Effect::Nothing;
        }
        let (count, area, columns) =
            if inside { (self.met().len(), self.cells_area, CELLS) } else { (self.counts.len(), self.reasons_area, REASONS) };
        let state = if inside { &mut self.cells } else { &mut self.reasons };
        match mouse.kind {
            MouseEventKind::ScrollUp => state.scroll(-3, count, Table::height(area)),
            MouseEventKind::ScrollDown => state.scroll(3, count, Table::height(area)),
            MouseEventKind::Down(MouseButton::Left) => {
                let hit = Table::new(columns, count, &|_| Vec::new()).hit(area, mouse.column, mouse.row, state);
                if let Some(Hit::Row(row) | Hit::Scrollbar(row)) = hit {
                    state.select(row, count);
                    if !inside {
                        self.cells = TableState::default();
                    }
                }
                self.inside = inside;
            }
            _ => return Effect::Nothing,
        }
        Effect::Redraw
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let sum = |severity| self.counts.iter().filter(|count| count.severity == severity).map(|count| count.count).sum::<u64>();
        let note = format!(
            "{} · {} · {}",
            many(sum(Severity::Error), "error", "errors"),
            many(sum(Severity::Warning), "warning", "warnings"),
            many(sum(Severity::Note), "note", "notes")
        );
        let title = format!("findings · {}", self.table);
        let height = (self.counts.len() as u16 + 2).clamp(3, (area.height / 2).max(3)).min(area.height);
        let panel = Panel { note: &note, focused: !self.inside, ascii: context.ascii, ..Panel::new(&title) };
        let body = inset(panel.render(Rect { height, ..area }, buffer, theme));
        self.reasons_area = body;
        let room = paths::room(REASONS, "file", self.counts.len(), body);
        let row = |i: usize| self.counts.get(i).map_or_else(Vec::new, |count| reason_row(count, room, context.ascii));
        let table = Table {
            focused: !self.inside,
            empty: "nothing was found wrong in this table",
            ascii: context.ascii,
            ..Table::new(REASONS, self.counts.len(), &row)
        };
        table.render(body, buffer, theme, &mut self.reasons);
        let rest = Rect { y: area.y + height, height: area.height - height, ..area };
        self.draw_cells(buffer, rest, context);
    }

    fn draw_cells(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some(reason) = self.counts.get(self.reasons.selected).cloned() else { return };
        let met: Vec<Finding> = self.met().into_iter().cloned().collect();
        let note = if reason.count > KEPT_PER_REASON {
            format!("the first {} of {}", met.len(), format::count(reason.count))
        } else {
            many(reason.count, "time", "times")
        };
        let says = text::wrap(&reason.reason, usize::from(area.width.saturating_sub(2)), 3);
        let panel = Panel { note: &note, focused: self.inside, ascii: context.ascii, ..Panel::new("where") };
        let body = inset(panel.render(area, buffer, theme));
        for (y, line) in says.iter().enumerate() {
            put(buffer, body, 0, y as u16, line, theme.text());
        }
        let used = (says.len() as u16 + 1).min(body.height);
        let body = Rect { y: body.y + used, height: body.height - used, ..body };
        self.cells_area = body;
        let room = paths::room(CELLS, "file", met.len(), body);
        let row = |i: usize| met.get(i).map_or_else(Vec::new, |finding| cell_row(finding, room));
        let table = Table { focused: self.inside, ascii: context.ascii, ..Table::new(CELLS, met.len(), &row) };
        table.render(body, buffer, theme, &mut self.cells);
    }

    /// Every finding kept, as `/datasets` gives them.
    pub(super) fn export(&self) -> Export {
        let columns = ["severity", "file", "row", "column", "value", "reason"];
        let rows = self.kept.iter().map(|finding| {
            vec![
                json!(finding.severity),
                json!(finding.file),
                json!(finding.row),
                json!(finding.column),
                json!(finding.value),
                json!(finding.reason),
            ]
        });
        let met = self.met();
        let selected = met.get(self.cells.selected).and_then(|chosen| self.kept.iter().position(|finding| std::ptr::eq(finding, *chosen)));
        Export::of(format!("{}-findings", self.table), &columns, rows.collect(), selected)
    }
}

fn severity(severity: Severity, ascii: bool) -> Cell {
    let (mark, word, role) = match (severity, ascii) {
        (Severity::Error, false) => ("✗ ", "error", Role::Down),
        (Severity::Error, true) => ("x ", "error", Role::Down),
        (Severity::Warning, _) => ("! ", "warning", Role::Warning),
        (Severity::Note, false) => ("· ", "note", Role::Dim),
        (Severity::Note, true) => ("- ", "note", Role::Dim),
    };
    Cell::new(mark, role).then(word, role)
}

fn optional(text: Option<&String>) -> Cell {
    text.map_or_else(Cell::missing, |text| Cell::text(text.clone()))
}

fn reason_row(count: &FindingCount, room: usize, ascii: bool) -> Vec<Cell> {
    vec![
        severity(count.severity, ascii),
        Cell::text(format::count(count.count)),
        optional(count.column.as_ref()),
        Cell::new(paths::cut(&count.file, room), Role::Dim),
        Cell::text(count.reason.clone()),
    ]
}

fn cell_row(finding: &Finding, room: usize) -> Vec<Cell> {
    let row = finding.row.map_or_else(Cell::missing, |row| Cell::text(format::count(row)));
    vec![row, optional(finding.column.as_ref()), optional(finding.value.as_ref()), Cell::new(paths::cut(&finding.file, room), Role::Dim)]
}
