//! Horizontal bars with a resolution of an eighth of a cell.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::theme::{Role, Theme};

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The filled part of a bar of `cells` for a share of 0…1, without padding.
pub fn bar(share: f64, cells: usize) -> String {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let eighths = (share * cells as f64 * 8.0).round() as usize;
    // A non-zero share is always visible.
    let eighths = if share > 0.0 && cells > 0 { eighths.max(1) } else { eighths };
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8 - 1]);
    }
    text
}

/// Draws a bar in the role's colour at the top left of `area`, over a faint track of the full width.
pub fn render(area: Rect, buf: &mut Buffer, theme: &Theme, share: f64, role: Role) {
    let cells = usize::from(area.width);
    super::put(buf, area, 0, 0, &"─".repeat(cells), theme.style(Role::Grid));
    super::put(buf, area, 0, 0, &bar(share, cells), theme.style(role));
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
            assert_eq!(bar(share, 4), expected, "{share}");
        }
        assert_eq!(bar(0.5, 0), "");
    }
}
