//! Draws candles and their volume: box-drawing glyphs at half-cell resolution, bodies of several columns at an eighth.

use ratatui::{
    buffer::Buffer,
    style::{Modifier, Style},
};

use super::{ChartData, layout::ChartLayout};
use crate::widgets::{
    sparkline,
    theme::{Depth, Role, Theme},
};

/// Glyphs by the content of the upper and lower half cell: empty, wick, body. A body is half a column, to differ from a wick; where a wick
/// continues from it, it fills the cell.
const BOX: [[char; 3]; 3] = [[' ', '╷', '▖'], ['╵', '│', '▌'], ['▘', '▌', '▌']];
/// A rising body without colors: hollow.
const HOLLOW: [[char; 3]; 3] = [[' ', '╷', '║'], ['╵', '│', '║'], ['║', '║', '║']];
/// A candle of three columns: a body of two, half a column at each side of the wick's, which keeps its place where it goes on from the body.
const SLIM: [[[char; 3]; 3]; 3] = [
    [[' ', ' ', ' '], [' ', '╷', ' '], ['▗', '▄', '▖']],
    [[' ', '╵', ' '], [' ', '│', ' '], ['▗', '█', '▖']],
    [['▝', '▀', '▘'], ['▝', '█', '▘'], ['▐', '█', '▌']],
];
const ASCII_FALLING: [[char; 3]; 3] = [[' ', '|', '#'], ['|', '|', '#'], ['#', '#', '#']];
const ASCII_RISING: [[char; 3]; 3] = [[' ', '|', 'o'], ['|', '|', 'o'], ['o', 'o', 'o']];
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn candles(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    for i in (layout.shown.0..layout.shown.1).filter(|&i| data.candles.valid(i)) {
        let style = style(data, theme, i);
        let has_blocks = layout.body_width() > 1 && !data.ascii && theme.depth() != Depth::None;
        if has_blocks && layout.columns == 3 {
            draw_slim(data, layout, buf, i, style);
        } else if has_blocks {
            draw_wide(data, layout, buf, i, style);
        } else {
            draw_narrow(data, layout, buf, i, style, glyphs(data, theme, i));
        }
    }
}

/// The candle's style; without colors its shape distinguishes falling from rising.
pub(super) fn style(data: &ChartData<'_>, theme: &Theme, i: usize) -> Style {
    drawing(theme.style(role(data, i)))
}

/// A role's style for shapes, without the underline that marks figures on terminals without colors.
pub(super) fn drawing(style: Style) -> Style {
    Style {
        add_modifier: style.add_modifier - Modifier::UNDERLINED,
        ..style
    }
}

/// Down if it closes below its open, else up.
fn role(data: &ChartData<'_>, i: usize) -> Role {
    if data.candles.close[i] < data.candles.open[i] {
        Role::Down
    } else {
        Role::Up
    }
}

fn glyphs(data: &ChartData<'_>, theme: &Theme, i: usize) -> &'static [[char; 3]; 3] {
    match (data.ascii, theme.depth() == Depth::None, role(data, i)) {
        (true, _, Role::Down) => &ASCII_FALLING,
        (true, _, _) => &ASCII_RISING,
        (false, true, Role::Up) => &HOLLOW,
        _ => &BOX,
    }
}

/// The half cells between low and high, and between open and close, counted from the bottom of the plot, at least one each.
fn halves(data: &ChartData<'_>, layout: &ChartLayout, i: usize) -> ((i64, i64), (i64, i64)) {
    let (o, h, l, c) = (
        data.candles.open[i],
        data.candles.high[i],
        data.candles.low[i],
        data.candles.close[i],
    );
    let half = |price: f64| (layout.rise(price) * 2.0).round() as i64;
    let most = i64::from(layout.plot.height) * 2;
    let at_least_one = |low: i64, high: i64| {
        if high > low {
            (low, high)
        } else {
            (low.clamp(0, most - 1), low.clamp(0, most - 1) + 1)
        }
    };
    let body = at_least_one(half(o.min(c)), half(o.max(c)));
    let wick = (half(l).min(body.0), half(h).max(body.1));
    (wick, body)
}

fn draw_narrow(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    i: usize,
    style: Style,
    glyphs: &[[char; 3]; 3],
) {
    let (wick, body) = halves(data, layout, i);
    let kind = |half: i64| {
        if (body.0..body.1).contains(&half) {
            2
        } else {
            usize::from((wick.0..wick.1).contains(&half))
        }
    };
    let left = layout.left_of(i);
    let middle = left + (layout.body_width() - 1) / 2;
    for row in 0..layout.plot.height {
        let below = i64::from(row) * 2;
        let (lower, upper) = (kind(below), kind(below + 1));
        let y = layout.plot.bottom() - 1 - row;
        // Bodies over all of three columns would touch.
        let columns = if (lower == 2 || upper == 2) && layout.columns != 3 {
            left..left + layout.body_width()
        } else {
            middle..middle + 1
        };
        if lower + upper > 0 {
            for x in columns {
                buf[(x, y)].set_char(glyphs[upper][lower]).set_style(style);
            }
        }
    }
}

fn draw_slim(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, i: usize, style: Style) {
    let (wick, body) = halves(data, layout, i);
    let kind = |half: i64| {
        if (body.0..body.1).contains(&half) {
            2
        } else {
            usize::from((wick.0..wick.1).contains(&half))
        }
    };
    for row in 0..layout.plot.height {
        let below = i64::from(row) * 2;
        let y = layout.plot.bottom() - 1 - row;
        for (x, glyph) in (layout.left_of(i)..)
            .zip(SLIM[kind(below + 1)][kind(below)])
            .filter(|(_, glyph)| *glyph != ' ')
        {
            buf[(x, y)].set_char(glyph).set_style(style);
        }
    }
}

/// Draws a body of several columns: its ends in eighths (the lower end as the reversed complement), its wick in the middle.
fn draw_wide(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, i: usize, style: Style) {
    let (o, c) = (data.candles.open[i], data.candles.close[i]);
    let eighth = |price: f64| (layout.rise(price) * 8.0).round() as i64;
    let (bottom, mut top) = (eighth(o.min(c)), eighth(o.max(c)));
    if top <= bottom {
        top = bottom + 1;
    }
    let (wick, _) = halves(data, layout, i);
    let left = layout.left_of(i);
    let middle = left + (layout.body_width() - 1) / 2;
    for row in 0..layout.plot.height {
        let (floor, ceiling) = (i64::from(row) * 8, i64::from(row) * 8 + 8);
        let (mut from, mut to) = (
            bottom.clamp(floor, ceiling) - floor,
            top.clamp(floor, ceiling) - floor,
        );
        let (wick_above, wick_below) = (
            wick.1.saturating_mul(4) > top.saturating_add(4),
            wick.0.saturating_mul(4) < bottom.saturating_sub(4),
        );
        let fills_a_cell = top.saturating_sub(bottom) >= 8;
        let is_stroke = bottom >= floor && top <= ceiling && to - from < 6;
        // Where a wick continues, a body end near the cell's edge snaps to it: no glyph shows both, and a broken wick misleads more.
        if wick_above && from == 0 && fills_a_cell {
            to = snapped(to);
        }
        if wick_below && to == 8 && fills_a_cell {
            from = snapped(from);
        }
        let y = layout.plot.bottom() - 1 - row;
        if to > from {
            for x in left..left + layout.body_width() {
                fill_eighths(&mut buf[(x, y)], from, to, style);
                // A body smaller than its cell is a stroke, so that its wicks stay visible.
                if is_stroke && (wick_above || wick_below) {
                    buf[(x, y)]
                        .set_char('━')
                        .set_style(style.remove_modifier(Modifier::REVERSED));
                }
            }
            let cross = match (is_stroke, wick_above, wick_below) {
                (true, true, true) => '┿',
                (true, true, false) => '┷',
                (true, false, true) => '┯',
                _ => continue,
            };
            buf[(middle, y)].set_char(cross);
            continue;
        }
        let below = i64::from(row) * 2;
        let half = |half: i64| usize::from((wick.0..wick.1).contains(&half));
        let (lower, upper) = (half(below), half(below + 1));
        if lower + upper > 0 {
            buf[(middle, y)]
                .set_char(BOX[upper][lower])
                .set_style(style);
        }
    }
}

fn snapped(eighths: i64) -> i64 {
    match eighths {
        ..=3 => 0,
        4..=5 => eighths,
        _ => 8,
    }
}

/// Fills eighths `from..to` of a cell with the nearest glyph.
fn fill_eighths(cell: &mut ratatui::buffer::Cell, from: i64, to: i64, style: Style) {
    let sliver = if from + to >= 10 {
        '▀'
    } else if from + to <= 6 {
        '▄'
    } else {
        '━'
    };
    match (from, to) {
        (0, to) => cell.set_char(EIGHTHS[to as usize]).set_style(style),
        (from, 8) => cell
            .set_char(EIGHTHS[from as usize])
            .set_style(style.add_modifier(Modifier::REVERSED)),
        // No glyph is open at both ends: use the nearest.
        _ => cell.set_char(sliver).set_style(style),
    };
}

pub(super) fn volume(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let area = layout.volume;
    if area.is_empty() {
        return;
    }
    let (first, last) = layout.shown;
    // A gap keeps the bars of slim candles apart.
    let width = if layout.columns == 3 {
        2
    } else {
        layout.body_width()
    };
    let mut values = Vec::with_capacity(usize::from(area.width));
    let mut owners = Vec::with_capacity(usize::from(area.width));
    for i in first..last {
        let value = Some(data.candles.volume[i]).filter(|value| value.is_finite());
        for column in 0..layout.columns {
            values.push(value.filter(|_| column < width));
            owners.push(i);
        }
    }
    let style = |column: usize| {
        let i = owners[column];
        let soft = if role(data, i) == Role::Down {
            Role::DownSoft
        } else {
            Role::UpSoft
        };
        let on_crosshair = data
            .crosshair
            .is_some_and(|crosshair| crosshair.candle == i);
        theme.style(if on_crosshair { role(data, i) } else { soft })
    };
    let left = layout.first_x;
    let bars = ratatui::layout::Rect {
        x: left,
        width: area.right() - left,
        ..area
    };
    sparkline::columns(&values, bars, buf, style);
}
