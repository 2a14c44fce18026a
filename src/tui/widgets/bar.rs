//! Horizontal bars to an eighth of a cell, and the list of labelled bars.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::tui::theme::{Role, Theme};

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The filled part of a bar of `cells` for a share of 0…1, without padding.
pub fn bar(share: f64, cells: usize, ascii: bool) -> String {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let eighths = (share * cells as f64 * 8.0).round() as usize;
    // What is there at all is seen.
    let eighths = if share > 0.0 && cells > 0 { eighths.max(1) } else { eighths };
    if ascii {
        return "#".repeat((eighths + 4) / 8);
    }
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8 - 1]);
    }
    text
}

/// A bar in the role's colour at the top left of `area`, over a faint track as long as the area.
pub fn render(area: Rect, buf: &mut Buffer, theme: &Theme, share: f64, role: Role, ascii: bool) {
    let cells = usize::from(area.width);
    let track = if ascii { "." } else { "─" };
    super::put(buf, area, 0, 0, &track.repeat(cells), theme.style(Role::Grid));
    super::put(buf, area, 0, 0, &bar(share, cells, ascii), theme.style(role));
}

/// A bar of parts that together are the whole: (share, role) from left to right; each part that is there has a cell at least.
pub fn stacked(area: Rect, buf: &mut Buffer, theme: &Theme, parts: &[(f64, Role)], ascii: bool) {
    let mut sum = 0.0;
    let mut x = 0_u16;
    for (share, role) in parts.iter().filter(|(share, _)| share.is_finite() && *share > 0.0) {
        sum += share;
        let end = ((sum.min(1.0) * f64::from(area.width)).round() as u16).max(x.saturating_add(1)).min(area.width);
        let glyph = if ascii { "#" } else { "█" };
        x += super::put(buf, area, x, 0, &glyph.repeat(usize::from(end.saturating_sub(x))), theme.style(*role));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_true_to_an_eighth() {
        let cases = [
            (0.0, ""),
            (1.0, "████"),
            (0.5, "██"),
            (0.53, "██▏"),
            (0.96, "███▉"),
            (0.0001, "▏"),
            (7.0, "████"),
            (f64::NAN, ""),
            (-1.0, ""),
        ];
        for (share, expected) in cases {
            assert_eq!(bar(share, 4, false), expected, "{share}");
        }
        assert_eq!((bar(0.5, 4, true), bar(0.5, 0, false)), ("##".to_owned(), String::new()));
    }

    #[test]
    fn parts_of_a_whole_fill_it() {
        let area = Rect::new(0, 0, 10, 1);
        let mut buffer = Buffer::empty(area);
        stacked(area, &mut buffer, &Theme::default(), &[(0.5, Role::Up), (0.01, Role::Warning), (0.49, Role::Down)], false);
        let roles: String = (0..10)
            .map(|x| {
                if buffer[(x, 0)].fg == Theme::default().style(Role::Up).fg.unwrap() {
                    'u'
                } else if buffer[(x, 0)].fg == Theme::default().style(Role::Warning).fg.unwrap() {
                    'w'
                } else {
                    'd'
                }
            })
            .collect();
        assert_eq!(roles, "uuuuuwdddd");
    }
}
