//! Horizontal bars to an eighth of a cell, and the list of labelled bars.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::tui::{
    text,
    theme::{Role, Theme},
};

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

/// A row of a list of bars, or a bucket of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    pub label: String,
    /// 0…1 of the bar's room.
    pub share: f64,
    /// The figure at the right.
    pub note: String,
    pub role: Role,
}

/// Bars under each other: labels at the left, figures at the right, bars of one scale between them. As many rows as the area has.
pub fn list(area: Rect, buf: &mut Buffer, theme: &Theme, rows: &[Labelled], ascii: bool) {
    let area = area.intersection(buf.area);
    let rows = &rows[..rows.len().min(usize::from(area.height))];
    let widest = |of: fn(&Labelled) -> &str| rows.iter().map(|row| text::width(of(row))).max().unwrap_or(0) as u16;
    let notes = widest(|row| &row.note).min(area.width / 2);
    let labels = widest(|row| &row.label).min((area.width - notes) / 2);
    let left = labels + u16::from(labels > 0) * 2;
    let right = area.width - notes - u16::from(notes > 0) * 2;
    for (y, row) in rows.iter().enumerate() {
        let line = Rect { y: area.y + y as u16, height: 1, ..area };
        super::put(buf, Rect { width: labels, ..line }, 0, 0, &row.label, theme.text());
        super::put_right(buf, line, 0, &text::fit(&row.note, usize::from(notes), text::Align::Right), theme.text());
        if right > left {
            render(Rect { x: line.x + left, width: right - left, ..line }, buf, theme, row.share, row.role, ascii);
        }
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

    #[test]
    fn labelled_bars_share_one_scale_and_their_edges() {
        let row = |label: &str, share, note: &str| Labelled { label: label.to_owned(), share, note: note.to_owned(), role: Role::Accent };
        let area = Rect::new(0, 0, 30, 2);
        let mut buffer = Buffer::empty(area);
        list(
            area,
            &mut buffer,
            &Theme::default(),
            &[row("top 10", 0.5, "42.1 %"), row("all", 1.0, "100 %"), row("cut", 1.0, "1 %")],
            false,
        );
        let line = |y| (0..30).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        assert_eq!([line(0), line(1)], ["top 10  ███████───────  42.1 %", "all     ██████████████   100 %"]);
    }
}
