//! The loader's findings in a table: every reason with its count, and below it the affected cells.

use super::cells::cut_path;
use crate::views::{list::mouse_of_two, prelude::*};
use load::Table as DataTable;
use model::findings::{Finding, FindingCount, KEPT_PER_REASON, Severity};

struct ReasonFields;
struct CellFields;

impl Fields for ReasonFields {
    type Row<'a> = &'a FindingCount;

    const FIELDS: &'static [Field<Self>] = &[
        Field::<Self>::text("severity", "severity", [10, 10], 255, |count| {
            (count.severity as usize).into()
        })
        .cell(|count, _| severity(count.severity)),
        Field::<Self>::figure("count", "count", 9, 250, |count| count.count.into()).counted(),
        Field::<Self>::text("column", "column", [10, 16], 200, |count| {
            (&count.column).into()
        }),
        Field::<Self>::text("file", "file", [12, 24], 100, |count| (&count.file).into())
            .cell(|count, look| Cell::new(cut_path(&count.file, look.cells), Role::Dim)),
        Field::<Self>::text("reason", "reason", [20, 40], 240, |count| {
            (&count.reason).into()
        })
        .grows(),
    ];
}

impl Fields for CellFields {
    type Row<'a> = &'a Finding;

    const FIELDS: &'static [Field<Self>] = &[
        Field::<Self>::hidden("severity", ColumnKind::Text, |finding| {
            (finding.severity as usize).into()
        }),
        Field::<Self>::figure("row", "row", 11, 255, |finding| finding.row.into())
            .counted()
            .smallest_first(),
        Field::<Self>::text("column", "column", [10, 16], 200, |finding| {
            (&finding.column).into()
        }),
        Field::<Self>::text("value", "value", [16, 40], 250, |finding| {
            (&finding.value).into()
        }),
        Field::<Self>::text("file", "file", [12, 24], 100, |finding| {
            (&finding.file).into()
        })
        .cell(|finding, look| Cell::new(cut_path(&finding.file, look.cells), Role::Dim))
        .grows(),
        Field::<Self>::hidden("reason", ColumnKind::Text, |finding| {
            (&finding.reason).into()
        }),
    ];

    fn json(finding: &Finding) -> Json {
        serde_json::to_value(finding).unwrap_or_default()
    }
}

pub(super) struct FindingsPane {
    pub(super) table: &'static str,
    counts: Vec<FindingCount>,
    kept: Vec<Finding>,
    reasons: List<ReasonFields>,
    /// The cells with the selected reason, as indices of the kept findings.
    cells: List<CellFields>,
    /// The cell list has the focus.
    inside: bool,
}

impl FindingsPane {
    /// The most severe first, then the most frequent.
    pub(super) fn new(table: &DataTable) -> Self {
        let mut counts = table.findings.counts().to_vec();
        counts.sort_by(|a, b| a.severity.cmp(&b.severity).then(b.count.cmp(&a.count)));
        let kept = table.findings.kept().to_vec();
        let mut pane = Self {
            table: table.schema.name,
            counts,
            kept,
            reasons: List::default(),
            cells: List::default(),
            inside: false,
        };
        pane.arrange();
        pane
    }

    fn reason(&self) -> Option<&FindingCount> {
        self.counts.get(self.reasons.selected()?)
    }

    fn arrange(&mut self) {
        self.reasons
            .arrange(0..self.counts.len(), |place| self.counts.get(place));
        let (reason, kept) = (self.reason().cloned(), &self.kept);
        let same = |place: &usize| {
            let (finding, Some(reason)) = (&kept[*place], &reason) else {
                return false;
            };
            (&finding.file, &finding.column, &finding.reason)
                == (&reason.file, &reason.column, &reason.reason)
        };
        self.cells
            .arrange((0..kept.len()).filter(same), |place| kept.get(place));
    }

    pub(super) fn act(&mut self, action: Action) -> Effect {
        let event = if self.inside {
            self.cells.act(action)
        } else {
            self.reasons.act(action)
        };
        match action {
            _ if event != ListEvent::Nothing => {}
            Action::Open | Action::Right if !self.counts.is_empty() => self.inside = true,
            Action::Back | Action::Left if self.inside => self.inside = false,
            Action::CopyValue => return self.copy(),
            _ => return Effect::Pass,
        }
        self.on_list_event(event)
    }

    fn on_list_event(&mut self, event: ListEvent) -> Effect {
        if event != ListEvent::Nothing && !self.inside {
            self.cells.cursor.select(0);
        }
        self.arrange();
        Effect::Redraw
    }

    fn copy(&self) -> Effect {
        let met = self.cells.selected().and_then(|place| self.kept.get(place));
        match (met.filter(|_| self.inside), self.reason()) {
            (Some(finding), _) => Effect::Copy(finding.value.clone().unwrap_or_default(), "value"),
            (None, Some(reason)) => Effect::Copy(reason.reason.clone(), "reason"),
            (None, None) => Effect::Nothing,
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Effect {
        let event = mouse_of_two(&mut self.reasons, &mut self.cells, &mut self.inside, mouse);
        if event == ListEvent::Nothing {
            return Effect::Nothing;
        }
        self.on_list_event(event)
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let sum = |severity| {
            self.counts
                .iter()
                .filter(|count| count.severity == severity)
                .map(|count| count.count)
                .sum::<u64>()
        };
        let note = format!(
            "{} · {} · {}",
            plural(sum(Severity::Error), "error", "errors"),
            plural(sum(Severity::Warning), "warning", "warnings"),
            plural(sum(Severity::Note), "note", "notes")
        );
        let title = format!("issues · {}", self.table);
        let (upper, lower) = stacked(
            area,
            (self.counts.len() as u16 + 2).clamp(3, (area.height / 2).max(3)),
        );
        let panel = Panel {
            note: &note,
            focused: !self.inside,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(upper, buffer, theme));
        self.reasons.focused = !self.inside;
        let frame = ListFrame::new(body, "no issues in this table");
        self.reasons
            .draw(buffer, frame, context, |place| self.counts.get(place));
        self.draw_cells(buffer, lower, context);
    }

    fn draw_cells(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some(reason) = self.reason().cloned() else {
            return;
        };
        let note = if reason.count > KEPT_PER_REASON {
            format!(
                "first {} of {}",
                self.cells.len(),
                format::count(reason.count)
            )
        } else {
            plural(reason.count, "time", "times")
        };
        let says = text::wrap(&reason.reason, usize::from(area.width.saturating_sub(2)), 3);
        let panel = Panel {
            note: &note,
            focused: self.inside,
            ..Panel::new("where")
        };
        let body = inset(panel.render(area, buffer, theme));
        for (y, line) in says.iter().enumerate() {
            put(buffer, body, 0, y as u16, line, theme.text());
        }
        let used = (says.len() as u16 + 1).min(body.height);
        let body = below(body, used);
        self.cells.focused = self.inside;
        self.cells
            .draw(buffer, ListFrame::new(body, ""), context, |place| {
                self.kept.get(place)
            });
    }

    /// Every kept finding, as in `/datasets`.
    pub(super) fn export(&self) -> Export {
        let members = self.cells.members();
        let rows = self
            .kept
            .iter()
            .map(|finding| List::<CellFields>::written(finding, &members))
            .collect();
        Export::of(
            format!("{}-findings", self.table),
            &members,
            rows,
            self.cells.selected(),
        )
    }
}

fn severity(severity: Severity) -> Cell {
    let (mark, word, role) = match severity {
        Severity::Error => ("✗ ", "error", Role::Down),
        Severity::Warning => ("! ", "warning", Role::Warning),
        Severity::Note => ("· ", "note", Role::Dim),
    };
    Cell::new(mark, role).then(word, role)
}
