//! A panel: a dim title rule `─ holders ─────` with what is known about it at the right, and room below. No boxes.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::progress;
use crate::tui::{
    text,
    theme::{Role, Theme},
};

/// The rule over a panel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Panel<'a> {
    pub title: &'a str,
    /// At the right of the rule: a count, a time.
    pub note: &'a str,
    /// Whether keys go here: the title is in the accent.
    pub focused: bool,
    /// Loading: how much of it, or none while that is not known.
    pub progress: Option<Option<f64>>,
    pub ascii: bool,
}

impl<'a> Panel<'a> {
    pub fn new(title: &'a str) -> Self {
        Self { title, ..Self::default() }
    }

    /// Draws the rule in the first row; the area under it.
    pub fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Rect {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return area;
        }
        let line = if self.ascii { "-" } else { "─" };
        super::put(buf, area, 0, 0, &line.repeat(usize::from(area.width)), theme.style(Role::Grid));
        if let Some(done) = self.progress {
            progress::in_rule(Rect { height: 1, ..area }, buf, theme, done, self.ascii);
        }
        let style = if self.focused { theme.accent() } else { theme.dim() };
        let mut left = 0;
        if !self.title.is_empty() && area.width > 4 {
            let title = text::truncate(self.title, usize::from(area.width - 4));
            left = 2 + super::put(buf, area, 1, 0, &format!(" {title} "), style);
        }
        let note = text::width(self.note) as u16;
        if note > 0 && left.saturating_add(note).saturating_add(5) <= area.width {
            super::put(buf, area, area.width - note - 3, 0, &format!(" {} ", self.note), theme.dim());
        }
        Rect { y: area.y + 1, height: area.height - 1, ..area }
    }
}

/// One line in a panel that failed: what failed, what to do.
pub fn failure(area: Rect, buf: &mut Buffer, theme: &Theme, message: &str) {
    let lines = text::wrap(message, usize::from(area.width.saturating_sub(2)), usize::from(area.height.min(4)));
    for (y, line) in lines.iter().enumerate() {
        if y == 0 {
            super::put(buf, area, 0, 0, "!", theme.style(Role::Warning));
        }
        super::put(buf, area, 2, y as u16, line, theme.text());
    }
}

/// What floats (palette, help, dialogs): cleared, on the panel's background, with a border and a title; the area inside.
pub fn float(area: Rect, buf: &mut Buffer, theme: &Theme, title: &str, ascii: bool) -> Rect {
    let area = area.intersection(buf.area);
    for position in area.positions() {
        buf[position].reset();
    }
    buf.set_style(area, theme.text().patch(theme.style(Role::Background)).patch(theme.style(Role::Panel)));
    if area.width < 3 || area.height < 3 {
        return area;
    }
    let [top_left, top_right, bottom_left, bottom_right, flat, upright] =
        if ascii { ["+", "+", "+", "+", "-", "|"] } else { ["╭", "╮", "╰", "╯", "─", "│"] };
    let style: Style = theme.style(Role::Grid);
    let (inside, bottom) = (flat.repeat(usize::from(area.width - 2)), area.height - 1);
    super::put(buf, area, 0, 0, &format!("{top_left}{inside}{top_right}"), style);
    super::put(buf, area, 0, bottom, &format!("{bottom_left}{inside}{bottom_right}"), style);
    for y in 1..bottom {
        super::put(buf, area, 0, y, upright, style);
        super::put(buf, area, area.width - 1, y, upright, style);
    }
    if !title.is_empty() && area.width > 6 {
        let title = text::truncate(title, usize::from(area.width - 6));
        super::put(buf, area, 2, 0, &format!(" {title} "), theme.strong());
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// A rectangle of at most `width` × `height` in the middle of `area`, a third from the top where there is room.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 3, width, height }
}
