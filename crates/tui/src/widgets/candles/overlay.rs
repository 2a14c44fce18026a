//! Chart overlays: shaded spans, levels, braille lines, the crosshair. A candle is never covered.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{
    ChartData, ChartLine, Glyph, PriceLevel, Span, body,
    curves::{LinePath, trace},
    layout::ChartLayout,
};
use crate::widgets::{
    self, text,
    theme::{Role, Theme},
};
use model::{format, time::Time};

/// Longest label that may be drawn over its line instead of beside it.
const END_LABEL: u16 = 3;

/// Maximum number of rows and columns between a line's end and its label.
const LABEL_OFF: u16 = 4;

/// Columns from a line's end within which its label may be on the line or in the row beside it.
const LABEL_ALONG: u16 = 16;

/// Cells before the axis in which a label would read as the name of a price.
const NEAR_AXIS: u16 = 8;

/// Maximum number of rows between the edge and the label of a level beyond it.
const EDGE_ROWS: u16 = 4;

pub(super) fn spans(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    for span in data.spans {
        if let Some(area) = span_area(span, layout) {
            buf.set_style(area, theme.tint(span.role));
        }
    }
}

/// Draws a frame around each span where the terminal has no faint color to shade it.
pub(super) fn span_frames(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    theme: &Theme,
) {
    for span in data
        .spans
        .iter()
        .filter(|span| theme.tint(span.role).bg.is_none())
    {
        let Some(area) = span_area(span, layout) else {
            continue;
        };
        let style = body::drawing(theme.style(span.role));
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        for (x, y, glyph) in [
            (area.x, area.y, '┌'),
            (right, area.y, '┐'),
            (area.x, bottom, '└'),
            (right, bottom, '┘'),
        ] {
            dot(buf, x, y, glyph, style);
        }
        (area.x..=right).for_each(|x| {
            for y in [area.y, bottom] {
                dot(buf, x, y, '╌', style);
            }
        });
        (area.y..=bottom).for_each(|y| {
            for x in [area.x, right] {
                dot(buf, x, y, '╎', style);
            }
        });
    }
}

/// The cells of the span on screen.
fn span_area(span: &Span<'_>, layout: &ChartLayout) -> Option<Rect> {
    let (from, to) = (
        span.from.max(layout.shown.0),
        span.to.min(layout.shown.1.saturating_sub(1)),
    );
    if from > to {
        return None;
    }
    let left = layout.left_of(from);
    let right = (layout.left_of(to) + layout.columns).min(layout.plot.right());
    let rows = span
        .prices
        .map(|(low, high)| (row(layout, high.max(low)), row(layout, low.min(high))));
    let (top, bottom) = rows.unwrap_or((layout.plot.y, layout.plot.bottom() - 1));
    let area = Rect {
        x: left,
        y: top,
        width: right.checked_sub(left)?,
        height: bottom.saturating_sub(top) + 1,
    };
    (!area.is_empty()).then_some(area)
}

/// The row of a price, clamped to the plot.
fn row(layout: &ChartLayout, price: f64) -> u16 {
    let rise = layout.rise(price);
    let rise = if rise.is_nan() {
        0.0
    } else {
        rise.clamp(0.0, f64::from(layout.plot.height) - 0.01)
    };
    layout.plot.bottom() - 1 - rise as u16
}

/// Draws the spans' labels, in the first row of the plot or of the span where they fit.
pub(super) fn span_labels(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    theme: &Theme,
    words: &mut Vec<Rect>,
) {
    for span in data.spans.iter().filter(|span| !span.label.is_empty()) {
        let (from, to) = (
            span.from.max(layout.shown.0),
            span.to.min(layout.shown.1.saturating_sub(1)),
        );
        if from > to {
            continue;
        }
        let width = text::width(span.label) as u16;
        let middle = (layout.left_of(from) + layout.left_of(to) + layout.columns) / 2;
        let left = middle
            .saturating_sub(width / 2)
            .min(layout.plot.right().saturating_sub(width))
            .max(layout.plot.x);
        let top = span.prices.map_or(layout.plot.y, |(low, high)| {
            row(layout, low.max(high))
                .saturating_sub(1)
                .max(layout.plot.y)
        });
        let rows = (top..layout.plot.bottom())
            .take(4)
            .chain((layout.plot.y..top).rev());
        words.extend(write_where_free(
            layout,
            buf,
            rows,
            left,
            span.label,
            theme.style(span.role),
        ));
    }
}

pub(super) fn levels(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    theme: &Theme,
    words: &mut Vec<Rect>,
) {
    let plot = layout.plot;
    for level in data.levels {
        let style = body::drawing(theme.style(level.role));
        let Some(y) = layout.y_of(level.price) else {
            let label = named(level.label, level.price);
            words.extend(beyond(
                &PriceLevel {
                    label: &label,
                    ..*level
                },
                layout,
                buf,
                style,
                data.ascii,
            ));
            continue;
        };
        let from = level.from.map_or(plot.x, |i| {
            layout.left_of(i.clamp(layout.shown.0, layout.shown.1))
        });
        for x in from..plot.right() {
            dot(buf, x, y, '┄', style);
        }
        // At the right edge, beside its price on the axis: on the line, else over or under it.
        let left = plot
            .right()
            .saturating_sub(text::width(level.label) as u16)
            .max(plot.x);
        let rows = [Some(y), y.checked_sub(1), Some(y + 1)]
            .into_iter()
            .flatten()
            .filter(|y| (plot.y..plot.bottom()).contains(y));
        words.extend(write_where_free(
            layout,
            buf,
            rows,
            left,
            level.label,
            style,
        ));
    }
    // A wick that the axis leaves out has its price at the edge.
    for price in layout.cut.into_iter().flatten() {
        let level = PriceLevel {
            price,
            from: None,
            role: Role::Dim,
            label: &named("wick", price),
        };
        words.extend(beyond(
            &level,
            layout,
            buf,
            body::drawing(theme.style(Role::Dim)),
            data.ascii,
        ));
    }
}

/// A label with its price; nothing for a label without words.
fn named(label: &str, price: f64) -> String {
    match label {
        "" => String::new(),
        // A straight line may end below zero.
        label if price <= 0.0 => format!("{label} below zero"),
        label => format!("{label} {}", format::price(Some(price))),
    }
}

/// Labels a level outside the plot at the nearest edge, with an arrow to it.
fn beyond(
    level: &PriceLevel<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    style: Style,
    ascii: bool,
) -> Option<Rect> {
    if level.label.is_empty() || layout.plot.is_empty() {
        return None;
    }
    let over = layout.rise(level.price) > 0.0;
    let label = format!(
        "{} {}",
        if over {
            Glyph::BreakUp
        } else {
            Glyph::BreakDown
        }
        .sign(ascii),
        level.label
    );
    let left = layout
        .plot
        .right()
        .saturating_sub(text::width(&label) as u16)
        .max(layout.plot.x);
    let near = (0..EDGE_ROWS.min(layout.plot.height)).map(|off| {
        if over {
            layout.plot.y + off
        } else {
            layout.plot.bottom() - 1 - off
        }
    });
    write_where_free(layout, buf, near, left, &label, style)
}

/// Draws in an empty cell only.
pub(super) fn dot(buf: &mut Buffer, x: u16, y: u16, glyph: char, style: Style) {
    let cell = &mut buf[(x, y)];
    if cell.symbol() == " " {
        cell.set_char(glyph).set_style(style);
    }
}

/// Writes the label into the first row that is empty from `left` on, also trying positions further left; returns its place.
fn write_where_free(
    layout: &ChartLayout,
    buf: &mut Buffer,
    rows: impl Iterator<Item = u16>,
    left: u16,
    label: &str,
    style: Style,
) -> Option<Rect> {
    let width = text::width(label) as u16;
    if width == 0 || width > layout.plot.width {
        return None;
    }
    for y in rows {
        for shift in (0..24).step_by(2) {
            let x = left.saturating_sub(shift);
            if x < layout.plot.x || x + width > layout.plot.right() {
                continue;
            }
            // An empty cell on both sides keeps it apart from candles; of a level's line it may cover a part.
            let (first, last) = (
                x.saturating_sub(1).max(layout.plot.x),
                (x + width + 1).min(layout.plot.right()),
            );
            if (first..last).all(|x| matches!(buf[(x, y)].symbol(), " " | "┄")) {
                widgets::put(
                    buf,
                    layout.plot,
                    x - layout.plot.x,
                    y - layout.plot.y,
                    label,
                    style,
                );
                return Some(Rect {
                    x,
                    y,
                    width,
                    height: 1,
                });
            }
        }
    }
    None
}

/// Draws each mark in the first empty cell beyond its candle, at most two rows away, to be clearly its own.
pub(super) fn marks(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let plot = layout.plot;
    for mark in data.marks {
        let Some(x) = layout.x_of(mark.index) else {
            continue;
        };
        let price = if mark.over {
            data.candles.high[mark.index]
        } else {
            data.candles.low[mark.index]
        };
        let Some(y) = layout.y_of(price) else {
            continue;
        };
        let rows = (1..=2).filter_map(|step| {
            if mark.over {
                y.checked_sub(step)
            } else {
                y.checked_add(step)
            }
        });
        let free = rows
            .into_iter()
            .find(|&y| (plot.y..plot.bottom()).contains(&y) && buf[(x, y)].symbol() == " ");
        if let Some(y) = free {
            let style = body::drawing(theme.style(mark.role));
            // The cell keeps its background shade.
            buf[(x, y)]
                .set_char(mark.glyph.sign(data.ascii))
                .set_style(style);
        }
    }
}

impl Glyph {
    pub fn sign(self, ascii: bool) -> char {
        match (self, ascii) {
            (Self::Touch, false) => '•',
            (Self::Touch, true) => '.',
            (Self::Anchor, false) => '◆',
            (Self::Anchor, true) => '*',
            (Self::BreakUp, false) => '▲',
            (Self::BreakUp, true) => '^',
            (Self::BreakDown, false) => '▼',
            (Self::BreakDown, true) => 'v',
        }
    }
}

pub(super) fn lines(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    theme: &Theme,
    words: &mut Vec<Rect>,
) {
    let (mut ends, mut outside) = (Vec::new(), Vec::new());
    for line in data.lines {
        let style = body::drawing(theme.style(line.role));
        let path = LinePath {
            area: layout.plot,
            columns: columns(line, layout),
            dashed: line.dashed,
            ascii: data.ascii,
        };
        let drawn = trace(&path, buf, style, |x| height_at(line, layout, x));
        let end = (path.columns.end == layout.plot.right())
            .then(|| price_at(line, layout, f64::from(layout.plot.right())));
        match end.filter(|price| layout.y_of(*price).is_none()) {
            Some(price) => outside.push((line, price, style)),
            None => ends.extend(drawn.map(|end| (line, end, style))),
        }
    }
    // Labels are drawn after all lines, so that no line crosses one; the last line is on top, so its label is placed first.
    // A letter before a tag of the axis would read as its name.
    let tagged = data
        .levels
        .iter()
        .map(|level| level.price)
        .chain(data.last.map(|last| last.close));
    let pointed = crosshair_price(data, layout).map(|(_, y)| y);
    let tags: Vec<u16> = tagged
        .filter_map(|price| layout.y_of(price))
        .chain(pointed)
        .collect();
    let mut taken = tags.clone();
    for (line, end, style) in ends.into_iter().rev() {
        let label = line_label(line, layout, buf, (end, style), (&tags, &taken));
        taken.extend(label.map(|label| label.y));
        words.extend(label);
    }
    // The axis is the candles': a line that leaves the plot is named at its edge, with its price.
    for (line, price, style) in outside
        .into_iter()
        .filter(|(line, ..)| !line.label.is_empty())
    {
        let label = named(line.label, price);
        let level = PriceLevel {
            price,
            from: None,
            role: line.role,
            label: &label,
        };
        words.extend(beyond(&level, layout, buf, style, data.ascii));
    }
}

/// The columns of the plot that the line covers.
fn columns(line: &ChartLine<'_>, layout: &ChartLayout) -> std::ops::Range<u16> {
    let (from, to) = (layout.x_exact(line.from), layout.x_exact(line.to));
    if from.is_nan() || to.is_nan() {
        return 0..0;
    }
    // Floats beyond the screen saturate at its edge.
    let (left, right) = (f64::from(layout.plot.x), f64::from(layout.plot.right()));
    let (from, to) = (from.clamp(left, right), to.clamp(left, right));
    from.floor() as u16..to.ceil() as u16
}

/// The line's price at a fractional column.
pub(super) fn price_at(line: &ChartLine<'_>, layout: &ChartLayout, x: f64) -> f64 {
    let along = line.slope * layout.index_exact(x);
    if line.geometric {
        line.intercept * along.exp()
    } else {
        line.intercept + along
    }
}

/// The line's height above the bottom of the plot at a fractional column, in cells; `None` outside the plot.
fn height_at(line: &ChartLine<'_>, layout: &ChartLayout, x: f64) -> Option<f64> {
    let rise = layout.rise(price_at(line, layout, x));
    (0.0..f64::from(layout.plot.height))
        .contains(&rise)
        .then_some(rise)
}

/// Places the label on its line or in the row beside it, as near its end as it is free, otherwise in a row near its end without another
/// label: two in a row would read as one.
fn line_label(
    line: &ChartLine<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    ((x, y), style): ((u16, u16), Style),
    (tags, taken): (&[u16], &[u16]),
) -> Option<Rect> {
    let (plot, width) = (layout.plot, text::width(line.label) as u16);
    if width == 0 || width > plot.width {
        return None;
    }
    // Short labels may cover lines, longer ones may not.
    let short = width <= END_LABEL;
    let free = |symbol: &str| {
        symbol == " "
            || short
                && (matches!(symbol, "-" | "/" | "\\")
                    || symbol.starts_with(|c| ('\u{2800}'..='\u{28ff}').contains(&c)))
    };
    // Not at the axis, where it would read as the name of a price.
    let right = (x + 1).min(plot.right() - 1);
    let first = layout.x_exact(line.from);
    let before = |back: u16| right.saturating_sub(width + back);
    // At the end of the line, right of it, further to the left.
    let lefts = (0..=LABEL_OFF)
        .map(before)
        .chain([x + 2])
        .chain((LABEL_OFF + 1..=LABEL_ALONG).map(before));
    let along = lefts.flat_map(|left| [(0, left), (1, left)]);
    let along = along.flat_map(|(off, left)| {
        let middle = f64::from(left) + f64::from(width) / 2.0;
        let height = height_at(line, layout, middle).filter(|_| middle >= first);
        // `height_at` is within the plot.
        let row = height.and_then(|height| (plot.bottom() - 1).checked_sub(height.floor() as u16));
        let rows = row.map_or([None; 2], |y| [y.checked_sub(off), y.checked_add(off)]);
        rows.into_iter().flatten().map(move |y| (left, y))
    });
    let along = along.filter(|&(left, y)| {
        (plot.y..plot.bottom()).contains(&y)
            && left + width < plot.right()
            && (left + width + NEAR_AXIS <= plot.right() || !tags.contains(&y))
    });
    let near = (0..=LABEL_OFF)
        .flat_map(|off| [y.checked_sub(off), y.checked_add(off)])
        .flatten();
    let places = near.filter(|y| (plot.y..plot.bottom()).contains(y) && !taken.contains(y));
    let places = places
        .flat_map(|y| (0..=LABEL_OFF).map(move |shift| (right.saturating_sub(width + shift), y)));
    let place = along.chain(places).find(|&(left, y)| {
        // An empty cell on both sides keeps it apart from candles.
        let cells = left.saturating_sub(1).max(plot.x)..(left + width + 1).min(plot.right());
        left >= plot.x && cells.into_iter().all(|x| free(buf[(x, y)].symbol()))
    });
    let (left, y) = place?;
    widgets::put(buf, plot, left - plot.x, y - plot.y, line.label, style);
    Some(Rect {
        x: left,
        y,
        width,
        height: 1,
    })
}

/// The price of the crosshair's horizontal line, and its row.
pub(super) fn crosshair_price(data: &ChartData<'_>, layout: &ChartLayout) -> Option<(f64, u16)> {
    let crosshair = data.crosshair?;
    let close = data.candles.close.get(crosshair.candle).copied();
    let price = crosshair
        .price
        .or(close.filter(|_| layout.x_of(crosshair.candle).is_some()))?;
    Some((price, layout.y_of(price)?))
}

pub(super) fn crosshair(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    buf: &mut Buffer,
    theme: &Theme,
) {
    let Some(crosshair) = data.crosshair else {
        return;
    };
    let tag = theme.text().patch(theme.style(Role::Selection));
    let plot = layout.plot;
    if let Some((_, y)) = crosshair_price(data, layout) {
        for x in plot.x..plot.right() {
            dot(buf, x, y, '┈', theme.dim());
        }
    }
    let Some(x) = layout.x_of(crosshair.candle) else {
        return;
    };
    for y in plot.y..plot.bottom() {
        if buf[(x, y)].symbol() == "┈" {
            buf[(x, y)].set_char('┼');
        }
        dot(buf, x, y, '┊', theme.dim());
    }
    if let Some((left, label)) = time_tag(data, layout) {
        widgets::put(buf, layout.labels, left - layout.labels.x, 0, &label, tag);
    }
}

/// The crosshair's time label, and its column.
pub(super) fn time_tag(data: &ChartData<'_>, layout: &ChartLayout) -> Option<(u16, String)> {
    let candle = data.crosshair?.candle;
    let x = layout.x_of(candle)?;
    let label = format!(
        " {} ",
        format::candle_time(data.zone.local(Time(data.candles.timestamp[candle])))
    );
    let width = text::width(&label) as u16;
    let last = layout
        .labels
        .right()
        .checked_sub(width)
        .filter(|last| *last >= layout.labels.x)?;
    (!layout.labels.is_empty()).then(|| {
        (
            x.saturating_sub(width / 2).clamp(layout.labels.x, last),
            label,
        )
    })
}
