//! A panel: a dim title rule `─ holders ─────` with a note at the right, and its body below. No boxes.

use ratatui::{buffer::Buffer, layout::Rect};

use super::progress;
use crate::widgets::{
    text,
    theme::{Role, Theme},
};

/// The title rule of a panel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Panel<'a> {
    pub title: &'a str,
    /// At the right of the rule: a count, a time.
    pub note: &'a str,
    /// The note is a warning.
    pub warns: bool,
    /// Whether the panel has the focus: its title is in the accent style.
    pub focused: bool,
    /// Loading: the share done, or `None` while unknown.
    pub progress: Option<Option<f64>>,
}

impl<'a> Panel<'a> {
    pub fn new(title: &'a str) -> Self {
        Self {
            title,
            ..Self::default()
        }
    }

    /// Draws the rule in the first row; returns the body below.
    pub fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Rect {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return area;
        }
        super::put(
            buf,
            area,
            0,
            0,
            &"─".repeat(usize::from(area.width)),
            theme.style(Role::Grid),
        );
        if let Some(done) = self.progress {
            progress::in_rule(Rect { height: 1, ..area }, buf, theme, done);
        }
        let style = if self.focused {
            theme.accent()
        } else {
            theme.dim()
        };
        let mut left = 0;
        if !self.title.is_empty() && area.width > 4 {
            let title = text::truncate(self.title, usize::from(area.width - 4));
            left = 2 + super::put(buf, area, 1, 0, &format!(" {title} "), style);
        }
        let note = text::width(self.note) as u16;
        if note > 0 && left.saturating_add(note).saturating_add(5) <= area.width {
            super::put(
                buf,
                area,
                area.width - note - 3,
                0,
                &format!(" {} ", self.note),
                if self.warns {
                    theme.style(Role::Warning)
                } else {
                    theme.dim()
                },
            );
        }
        Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        }
    }
}

/// The message of a failed panel: the error, and how to proceed.
pub fn failure(area: Rect, buf: &mut Buffer, theme: &Theme, message: &str) {
    let lines = text::wrap(
        message,
        usize::from(area.width.saturating_sub(2)),
        usize::from(area.height.min(4)),
    );
    for (y, line) in lines.iter().enumerate() {
        if y == 0 {
            super::put(buf, area, 0, 0, "!", theme.style(Role::Warning));
        }
        super::put(buf, area, 2, y as u16, line, theme.text());
    }
}
