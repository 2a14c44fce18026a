//! Bars with a resolution of an eighth of a cell, and the display of progress: a thin line in a title rule, a bar with its percentage, and
//! a dim skeleton.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::widgets::theme::{Role, Theme};

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The filled part of a bar of `cells` for a share of 0…1, without padding.
pub fn bar(share: f64, cells: usize) -> String {
    let share = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    let eighths = (share * cells as f64 * 8.0).round() as usize;
    // A non-zero share is always visible.
    let eighths = if share > 0.0 && cells > 0 {
        eighths.max(1)
    } else {
        eighths
    };
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8 - 1]);
    }
    text
}

/// Draws a bar in the role's color at the top left of `area`, over a faint track of the full width.
fn bar_over_track(area: Rect, buf: &mut Buffer, theme: &Theme, share: f64, role: Role) {
    let cells = usize::from(area.width);
    super::put(buf, area, 0, 0, &"─".repeat(cells), theme.style(Role::Grid));
    super::put(buf, area, 0, 0, &bar(share, cells), theme.style(role));
}

/// Draws a panel's rule as a thin progress bar in the accent style; with unknown progress, a short stretch in the middle. Not animated, so
/// an idle screen needs no frames.
pub(super) fn in_rule(area: Rect, buf: &mut Buffer, theme: &Theme, done: Option<f64>) {
    let (from, to) = match done {
        Some(share) => (
            0,
            (share.clamp(0.0, 1.0) * f64::from(area.width)).round() as u16,
        ),
        None => (area.width / 3, area.width - area.width / 3),
    };
    super::put(
        buf,
        area,
        from,
        0,
        &"━".repeat(usize::from(to.saturating_sub(from))),
        theme.accent(),
    );
}

/// The share done, from (done, total); `None` while the total is unknown.
pub fn share((done, total): (u64, u64)) -> Option<f64> {
    (total > 0).then(|| done as f64 / total as f64)
}

/// A bar with its percentage: `██████▌──────  52%`.
pub fn render(area: Rect, buf: &mut Buffer, theme: &Theme, done: f64, role: Role) {
    let done = if done.is_nan() {
        0.0
    } else {
        done.clamp(0.0, 1.0)
    };
    // Rounded down, so that 100 means done.
    let figure = format!("{:3.0}%", (done * 100.0).floor());
    if area.width < 12 {
        super::put(buf, area, 0, 0, figure.trim_start(), theme.text());
        return;
    }
    bar_over_track(
        Rect {
            width: area.width - 6,
            ..area
        },
        buf,
        theme,
        done,
        role,
    );
    super::put(buf, area, area.width - 4, 0, &figure, theme.text());
}

/// Draws dim placeholder lines of uneven, fixed lengths.
pub fn skeleton(area: Rect, buf: &mut Buffer, theme: &Theme) {
    const LENGTHS: [u32; 5] = [72, 54, 63, 40, 58];
    let area = area.intersection(buf.area);
    for y in 0..area.height {
        let length = u32::from(area.width) * LENGTHS[usize::from(y) % LENGTHS.len()] / 100;
        super::put(
            buf,
            area,
            0,
            y,
            &"░".repeat(length as usize),
            theme.style(Role::Grid),
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::widgets::{gauge, panel};

    fn line(buffer: &Buffer, y: u16) -> String {
        (0..buffer.area.width)
            .map(|x| buffer[(x, y)].symbol())
            .collect()
    }

    #[test]
    fn a_panel_has_its_title_note_and_progress_in_the_rule() {
        let area = Rect::new(0, 0, 30, 3);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::default();
        let inside = panel::Panel {
            note: "62 of 8,764",
            ..panel::Panel::new("holders")
        }
        .render(area, &mut buffer, &theme);
        assert_eq!(
            (line(&buffer, 0).as_str(), inside),
            ("─ holders ────── 62 of 8,764 ─", Rect::new(0, 1, 30, 2))
        );
        let loading = panel::Panel {
            progress: Some(Some(0.5)),
            ..panel::Panel::new("holders")
        };
        loading.render(area, &mut buffer, &theme);
        assert_eq!(line(&buffer, 0), "━ holders ━━━━━───────────────");
    }

    #[test]
    fn progress_says_its_figure_and_not_done_too_early() {
        let area = Rect::new(0, 0, 20, 1);
        let mut buffer = Buffer::empty(area);
        render(area, &mut buffer, &Theme::default(), 0.999, Role::Accent);
        assert!(line(&buffer, 0).ends_with(" 99%"), "{}", line(&buffer, 0));
    }

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

    proptest! {
        #[test]
        fn any_rectangle_can_be_drawn(x in any::<u16>(), y in any::<u16>(), width in any::<u16>(), height in any::<u16>(), share in any::<f64>(), small in any::<bool>()) {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 60, 20));
            let theme = Theme::default();
            let area = if small { Rect::new(x % 70, y % 25, width % 70, height % 25) } else { Rect::new(x, y, width, height) };
            render(area, &mut buffer, &theme, share, Role::Up);
            skeleton(area, &mut buffer, &theme);
            crate::widgets::ascii::replace_glyphs(&mut buffer);
            panel::Panel { note: "note", progress: Some(Some(share)), ..panel::Panel::new("漢字 title") }.render(area, &mut buffer, &theme);
            panel::failure(area, &mut buffer, &theme, "it failed; do something about it");
            gauge::render(area, &mut buffer, "74", theme.text(), false);
        }
    }
}
