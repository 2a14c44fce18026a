//! The widgets: each draws plain data into a rectangle of any size, in the theme's roles, and holds no data of its own.

pub mod ascii;
pub mod candles;
pub mod gauge;
pub mod panel;
pub mod picture;
pub mod pixels;
pub mod progress;
pub mod sparkline;
pub mod table;
pub mod text;
pub mod theme;

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

/// The area without its first rows.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect {
        y: area.y + rows,
        height: area.height - rows,
        ..area
    }
}

/// The area split into its first rows and the rest.
pub fn stacked(area: Rect, rows: u16) -> (Rect, Rect) {
    (
        Rect {
            height: rows.min(area.height),
            ..area
        },
        below(area, rows),
    )
}

/// The area split into a left part and, after a gap of two cells, a right one of that width.
pub fn beside(area: Rect, width: u16) -> (Rect, Rect) {
    (
        Rect {
            width: area.width - width - 2,
            ..area
        },
        Rect {
            x: area.right() - width,
            width,
            ..area
        },
    )
}

/// Writes `text`, made safe for display, at (`x`, `y`) relative to `area`, truncated with `…`; returns the cells used.
pub fn put(buf: &mut Buffer, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
    let area = area.intersection(buf.area);
    if x >= area.width || y >= area.height {
        return 0;
    }
    let shown = text::truncate(text, usize::from(area.width - x));
    let (left, top) = (area.x + x, area.y + y);
    let (end, _) = buf.set_stringn(left, top, &*shown, usize::from(area.width - x), style);
    end - left
}

/// Writes `text` wrapped into at most `lines` lines, with margins of `x` cells at both sides; returns the lines used.
pub fn put_wrapped(
    buf: &mut Buffer,
    area: Rect,
    x: u16,
    y: u16,
    text: &str,
    lines: usize,
    style: Style,
) -> u16 {
    let wrapped = text::wrap(text, usize::from(area.width.saturating_sub(2 * x)), lines);
    for (nth, line) in wrapped.iter().enumerate() {
        put(buf, area, x, y + nth as u16, line, style);
    }
    wrapped.len() as u16
}

/// As `put`, right-aligned.
pub fn put_right(buf: &mut Buffer, area: Rect, y: u16, text: &str, style: Style) -> u16 {
    let shown = text::truncate(text, usize::from(area.width));
    let x = area.width - text::width(&shown) as u16;
    put(buf, area, x, y, &shown, style)
}
