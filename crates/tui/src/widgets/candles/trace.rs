//! Draws a line through cells, in braille dots or ASCII: only through empty cells, or those of other lines.

use std::ops::Range;

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

/// Braille dots by column and row from the top (Unicode, Braille Patterns).
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The extent of a line.
pub(super) struct LinePath {
    pub(super) area: Rect,
    /// Screen columns.
    pub(super) columns: Range<u16>,
    pub(super) dashed: bool,
    pub(super) ascii: bool,
}

/// Draws the line of `height`, which returns the cells above the bottom of the area at a fractional column, or `None`. Returns the last
/// drawn cell.
pub(super) fn trace(
    path: &LinePath,
    buf: &mut Buffer,
    style: Style,
    height: impl Fn(f64) -> Option<f64>,
) -> Option<(u16, u16)> {
    let most = f64::from(path.area.height);
    let height = |x: f64| height(x).filter(|rise| (0.0..most).contains(rise));
    if path.ascii {
        ascii(path, buf, style, height)
    } else {
        braille(path, buf, style, height)
    }
}

/// Two dots across and four down in each cell.
fn braille(
    path: &LinePath,
    buf: &mut Buffer,
    style: Style,
    height: impl Fn(f64) -> Option<f64>,
) -> Option<(u16, u16)> {
    let mut last = None;
    for x in path.columns.clone() {
        // Steep lines cross several cells in one column: gather the dots of each.
        let mut cells: Vec<(u16, u8)> = Vec::new();
        for (column, dots) in DOTS.iter().enumerate() {
            // Dashes of three columns with gaps of one.
            if path.dashed && x % 4 == 3 {
                continue;
            }
            let at = |offset: f64| {
                height(f64::from(x) + 0.5 * column as f64 + offset).map(|rise| (rise * 4.0) as i64)
            };
            let (Some(start), end) = (at(0.0), at(0.5)) else {
                continue;
            };
            let end = end.unwrap_or(start);
            // The column's own dot, and on steep lines those up to the next column's.
            let upper = if end > start {
                start.max(end - 1)
            } else {
                start
            };
            let lower = if end < start {
                start.min(end + 1)
            } else {
                start
            };
            for level in lower..=upper {
                let y = path.area.bottom() - 1 - (level / 4) as u16;
                let bit = dots[3 - (level % 4) as usize];
                match cells.iter_mut().find(|(row, _)| *row == y) {
                    Some((_, bits)) => *bits |= bit,
                    None => cells.push((y, bit)),
                }
            }
        }
        for (y, bits) in cells {
            let cell = &mut buf[(x, y)];
            let there = cell
                .symbol()
                .chars()
                .next()
                .map_or(0, |c| u32::from(c).wrapping_sub(0x2800));
            if cell.symbol() == " " || cell.symbol() == "┄" {
                cell.set_char(dots_of(bits)).set_style(style);
            } else if there <= 0xff {
                // Crossing lines share the cell; it keeps the first one's color.
                cell.set_char(dots_of(bits | there as u8));
            }
            last = Some((x, y));
        }
    }
    last
}

fn dots_of(bits: u8) -> char {
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

fn ascii(
    path: &LinePath,
    buf: &mut Buffer,
    style: Style,
    height: impl Fn(f64) -> Option<f64>,
) -> Option<(u16, u16)> {
    let mut last = None;
    for x in path.columns.clone() {
        let Some(rise) = height(f64::from(x) + 0.5) else {
            continue;
        };
        let next = height(f64::from(x) + 1.5).unwrap_or(rise);
        let glyph = match next.floor() - rise.floor() {
            change if change > 0.0 => '/',
            change if change < 0.0 => '\\',
            _ => '-',
        };
        let y = path.area.bottom() - 1 - rise as u16;
        let cell = &mut buf[(x, y)];
        if !(path.dashed && x % 2 == 1) && cell.symbol() == " " {
            cell.set_char(glyph).set_style(style);
        }
        last = Some((x, y));
    }
    last
}
