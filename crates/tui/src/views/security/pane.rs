//! A scrollable pane of selectable entries: an entry has one line or several; lines in between belong to none. The lines are built
//! elsewhere.

use crate::views::prelude::*;
use security::AnomalyCode;

/// A selectable entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PaneEntry {
    Check(AnomalyCode),
    /// Evidence of a check.
    Proof(AnomalyCode, usize),
    /// A dataset row of that evidence.
    Row(AnomalyCode, usize, usize),
    Scam(usize),
    Holder(usize),
    Missing(usize),
    Cluster(usize),
}

/// A line of a pane.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PaneLine {
    entry: Option<PaneEntry>,
    /// A section title, with a note at the right.
    rule: Option<(String, String)>,
    /// Text with its column and role.
    pieces: Vec<(u16, String, Role)>,
    right: Option<(String, Role)>,
}

impl PaneLine {
    pub(super) fn rule(title: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            rule: Some((title.into(), note.into())),
            ..Self::default()
        }
    }

    pub(super) fn of(entry: PaneEntry) -> Self {
        Self {
            entry: Some(entry),
            ..Self::default()
        }
    }

    /// Text wrapped in one column of a pane of that width: lines of the entry, or of none.
    pub(super) fn wrapped(
        entry: Option<PaneEntry>,
        x: u16,
        says: &str,
        width: u16,
        most: usize,
        role: Role,
    ) -> impl Iterator<Item = Self> {
        let lines = text::wrap(says, usize::from(width.saturating_sub(x + 1)), most).into_iter();
        lines.map(move |line| {
            Self {
                entry,
                ..Self::default()
            }
            .at(x, line, role)
        })
    }

    #[must_use]
    pub(super) fn at(mut self, x: u16, text: impl Into<String>, role: Role) -> Self {
        self.pieces.push((x, text.into(), role));
        self
    }

    /// Appends text `gap` cells after the last, or at `x` on an empty line.
    #[must_use]
    pub(super) fn then(self, x: u16, gap: u16, text: impl Into<String>, role: Role) -> Self {
        let end = self.end();
        self.at(if end == 0 { x } else { end + gap }, text, role)
    }

    #[must_use]
    pub(super) fn right(mut self, text: impl Into<String>, role: Role) -> Self {
        self.right = Some((text.into(), role));
        self
    }

    /// The cells used from the left.
    pub(super) fn end(&self) -> u16 {
        self.pieces
            .last()
            .map_or(0, |(x, text, _)| x.saturating_add(text::width(text) as u16))
    }
}

/// The lines, the selection, the scroll offset and the drawn area.
#[derive(Debug, Default)]
pub(super) struct Pane {
    pub(super) lines: Vec<PaneLine>,
    at: Option<PaneEntry>,
    offset: usize,
    area: Rect,
}

/// Entries of one wheel step.
const WHEEL: isize = 3;

impl Pane {
    /// Replaces the lines; the selection stays on its entry if it still exists.
    pub(super) fn set(&mut self, lines: Vec<PaneLine>) {
        self.lines = lines;
        let entries = self.entries();
        if !self.at.is_some_and(|at| entries.contains(&at)) {
            self.at = entries.first().copied();
        }
    }

    pub(super) fn selected(&self) -> Option<PaneEntry> {
        self.at
    }

    pub(super) fn select(&mut self, entry: PaneEntry) {
        self.at = Some(entry);
    }

    fn entries(&self) -> Vec<PaneEntry> {
        let mut entries: Vec<PaneEntry> = self.lines.iter().filter_map(|line| line.entry).collect();
        entries.dedup();
        entries
    }

    fn step(&mut self, by: isize) {
        let entries = self.entries();
        let at = self
            .at
            .and_then(|at| entries.iter().position(|entry| *entry == at))
            .unwrap_or(0);
        let next = at
            .saturating_add_signed(by)
            .min(entries.len().saturating_sub(1));
        self.at = entries.get(next).copied();
    }

    /// Moves the selection; false for any other action.
    pub(super) fn act(&mut self, action: Action) -> bool {
        let page = (usize::from(self.area.height) / 2).max(1) as isize;
        match action {
            Action::Up => self.step(-1),
            Action::Down => self.step(1),
            Action::PageUp => self.step(-page),
            Action::PageDown => self.step(page),
            Action::First => self.step(isize::MIN),
            Action::Last => self.step(isize::MAX),
            _ => return false,
        }
        true
    }

    /// Handles the mouse; a click on the selected entry opens it.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Option<Clicked> {
        if !self.area.contains((mouse.column, mouse.row).into()) {
            return None;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.step(-WHEEL),
            MouseEventKind::ScrollDown => self.step(WHEEL),
            MouseEventKind::Down(MouseButton::Left) => {
                let entry = self
                    .lines
                    .get(self.offset + usize::from(mouse.row - self.area.y))?
                    .entry?;
                let again = self.at == Some(entry);
                self.at = Some(entry);
                return Some(if again {
                    Clicked::Again
                } else {
                    Clicked::Selected
                });
            }
            _ => return None,
        }
        Some(Clicked::Selected)
    }

    /// Scrolls the selection into view, with the section title above it if it is the first entry.
    fn follow(&mut self, height: usize) {
        let mine = |line: &PaneLine| line.entry.is_some() && line.entry == self.at;
        let (Some(first), Some(last)) = (
            self.lines.iter().position(mine),
            self.lines.iter().rposition(mine),
        ) else {
            self.offset = 0;
            return;
        };
        let before = self.lines[..first]
            .iter()
            .rposition(|line| line.entry.is_some());
        let top = before.map_or(0, |before| before + 1);
        let after = self.lines[last + 1..]
            .iter()
            .any(|line| line.entry.is_some());
        let bottom = if after { last } else { self.lines.len() - 1 };
        if bottom >= self.offset + height {
            self.offset = bottom + 1 - height;
        }
        // Lines before the entry are shown as long as the entry itself stays on screen.
        let top = top.max((last + 1).saturating_sub(height));
        self.offset = self
            .offset
            .min(if top + height > last { top } else { first });
        self.offset = self.offset.min(self.lines.len().saturating_sub(height));
    }

    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        focused: bool,
        context: &Context<'_>,
    ) {
        let (area, theme) = (area.intersection(buffer.area), context.theme);
        self.area = area;
        if area.is_empty() {
            return;
        }
        let height = usize::from(area.height);
        self.follow(height);
        let scrolls = self.lines.len() > height && area.width > 8;
        let body = Rect {
            width: area.width - u16::from(scrolls),
            ..area
        };
        for (y, line) in self.lines.iter().skip(self.offset).take(height).enumerate() {
            let row = Rect {
                y: body.y + y as u16,
                height: 1,
                ..body
            };
            if let Some((title, note)) = &line.rule {
                Panel {
                    note,
                    focused,
                    ..Panel::new(title)
                }
                .render(row, buffer, theme);
                continue;
            }
            for (x, text, role) in &line.pieces {
                put(buffer, row, *x, 0, text, theme.style(*role));
            }
            if let Some((text, role)) = &line.right {
                put_right(
                    buffer,
                    Rect {
                        width: row.width - 1.min(row.width),
                        ..row
                    },
                    0,
                    text,
                    theme.style(*role),
                );
            }
            if focused && line.entry.is_some() && line.entry == self.at {
                buffer.set_style(row, theme.style(Role::Selection));
            }
        }
        if scrolls {
            let thumb = (height * height / self.lines.len()).max(1);
            let top = self.offset * (height - thumb) / (self.lines.len() - height);
            for y in top..top + thumb {
                put(
                    buffer,
                    area,
                    area.width - 1,
                    y as u16,
                    "▐",
                    theme.style(Role::Grid),
                );
            }
        }
    }
}

/// The effect of a click or the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clicked {
    Selected,
    /// The entry was already selected.
    Again,
}
