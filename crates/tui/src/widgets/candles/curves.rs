//! Indicator curves: over the candles, and in panes of their own under the volume, each with axis and title.

use std::ops::Range;

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{
    ChartData, axes, body, layout::ChartLayout, notation::fit_value, overlay::dot, scale::Scale,
};
use crate::widgets::{
    self,
    theme::{Role, Theme},
};
use model::format;

/// One value for each candle; NaN where missing.
#[derive(Debug, Clone)]
pub struct IndicatorCurve {
    pub values: Vec<f64>,
    pub role: Role,
    pub dashed: bool,
}

/// A pane under the volume.
#[derive(Debug, Clone, Default)]
pub struct IndicatorPane {
    /// The title line in pieces.
    pub title: Vec<(String, Role)>,
    pub curves: Vec<IndicatorCurve>,
    /// A histogram, drawn from zero up or down.
    pub bars: Vec<f64>,
    /// Reference values, drawn as lines.
    pub guides: Vec<f64>,
}

pub(super) fn over(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    for curve in data.curves {
        draw(curve, data, layout, layout.plot, &layout.scale, buf, theme);
    }
}

pub(super) fn panes(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    for (nth, pane) in data.panes.iter().enumerate() {
        let Some(area) = layout.pane(nth) else { return };
        let inside = Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        };
        let Some(scale) = scale(pane, layout) else {
            title(pane, area, buf, theme);
            continue;
        };
        let row = |value: f64| {
            let rise = scale.place(value) * f64::from(inside.height);
            (0.0..=f64::from(inside.height))
                .contains(&rise)
                .then(|| inside.bottom() - 1 - (rise as u16).min(inside.height - 1))
        };
        for curve in &pane.curves {
            draw(curve, data, layout, inside, &scale, buf, theme);
        }
        bars(&pane.bars, layout, &row, buf, theme);
        for y in pane.guides.iter().filter_map(|guide| row(*guide)) {
            (inside.x..inside.right()).for_each(|x| dot(buf, x, y, '┄', theme.style(Role::Grid)));
        }
        crosshair(data, layout, inside, buf, theme);
        title(pane, area, buf, theme);
        axis(pane, &scale, layout, inside, &row, buf, theme);
    }
}

/// The value range on screen; `None` without values.
pub(super) fn scale(pane: &IndicatorPane, layout: &ChartLayout) -> Option<Scale> {
    let (first, last) = layout.shown;
    let on_screen =
        |values: &[f64]| values[first.min(values.len())..last.min(values.len())].to_vec();
    let values: Vec<f64> = pane
        .curves
        .iter()
        .map(|curve| &curve.values)
        .chain([&pane.bars])
        .flat_map(|values| on_screen(values))
        .collect();
    let known = || values.iter().copied().filter(|value| value.is_finite());
    known().next()?;
    // The guides are on screen, and bars include zero.
    let shown = known()
        .chain(pane.guides.iter().copied())
        .chain((!pane.bars.is_empty()).then_some(0.0));
    let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    Some(Scale::new(low, high, false))
}

fn draw(
    curve: &IndicatorCurve,
    data: &ChartData<'_>,
    layout: &ChartLayout,
    area: Rect,
    scale: &Scale,
    buf: &mut Buffer,
    theme: &Theme,
) {
    let (first, last) = layout.shown;
    let Some(end) = last.checked_sub(1).filter(|_| last > first) else {
        return;
    };
    let value = |index: usize| {
        curve
            .values
            .get(index)
            .copied()
            .filter(|value| value.is_finite())
    };
    let height = |x: f64| {
        let index = layout.index_exact(x).clamp(first as f64, end as f64);
        let (before, share) = (index.floor() as usize, index.fract());
        let (here, next) = (
            value(before)?,
            if share > 0.0 {
                value(before + 1)?
            } else {
                value(before)?
            },
        );
        // The maximum of the range is in the top row.
        let rise = scale.place(here + (next - here) * share) * f64::from(area.height);
        Some(if rise == f64::from(area.height) {
            rise - 0.01
        } else {
            rise
        })
    };
    let right = (layout.left_of(end) + layout.columns).min(area.right());
    let path = LinePath {
        area,
        columns: layout.first_x..right,
        dashed: curve.dashed,
        ascii: data.ascii,
    };
    trace(&path, buf, body::drawing(theme.style(curve.role)), height);
}

fn bars(
    values: &[f64],
    layout: &ChartLayout,
    row: &impl Fn(f64) -> Option<u16>,
    buf: &mut Buffer,
    theme: &Theme,
) {
    let Some(zero) = row(0.0) else { return };
    let (first, last) = layout.shown;
    for (index, &value) in values.iter().enumerate().take(last).skip(first) {
        let Some(x) = layout.x_of(index) else {
            continue;
        };
        let Some(end) = Some(value).filter(|value| value.is_finite()).and_then(row) else {
            continue;
        };
        let style = theme.style(if value < 0.0 {
            Role::DownSoft
        } else {
            Role::UpSoft
        });
        (zero.min(end)..=zero.max(end)).for_each(|y| dot(buf, x, y, '│', style));
    }
}

fn crosshair(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    area: Rect,
    buf: &mut Buffer,
    theme: &Theme,
) {
    let Some(x) = data
        .crosshair
        .and_then(|crosshair| layout.x_of(crosshair.candle))
    else {
        return;
    };
    (area.y..area.bottom()).for_each(|y| dot(buf, x, y, '┊', theme.dim()));
}

/// Draws a rule with the pane's name and values.
fn title(pane: &IndicatorPane, area: Rect, buf: &mut Buffer, theme: &Theme) {
    widgets::put(
        buf,
        area,
        0,
        0,
        &"─".repeat(usize::from(area.width)),
        theme.style(Role::Grid),
    );
    let mut x = 1;
    for (piece, role) in &pane.title {
        x += widgets::put(buf, area, x, 0, piece, theme.style(*role));
    }
}

fn axis(
    pane: &IndicatorPane,
    scale: &Scale,
    layout: &ChartLayout,
    inside: Rect,
    row: &impl Fn(f64) -> Option<u16>,
    buf: &mut Buffer,
    theme: &Theme,
) {
    if !layout.has_axis() {
        return;
    }
    for y in inside.y - 1..inside.bottom() {
        buf[(inside.right(), y)]
            .set_symbol("│")
            .set_style(theme.style(Role::Grid));
    }
    let ends = [scale.low(), scale.high()];
    let marked = if pane.guides.len() > 1 {
        &pane.guides[..]
    } else {
        &ends[..]
    };
    for value in marked {
        if let Some(y) = row(*value) {
            axes::label(
                layout,
                buf,
                y,
                &fit_value(*value, format::human(Some(*value)), layout.label_cells()),
                theme.dim(),
            );
        }
    }
}

// Draws a line through cells, in braille dots or ASCII: only through empty cells, or those of other lines.

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
