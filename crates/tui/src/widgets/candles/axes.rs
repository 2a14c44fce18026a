//! The axes: round prices at the right, times below, both dim; the tags of the last price, the crosshair and the levels stand out.

use chrono::{DateTime, Datelike, Timelike};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};

use super::{ChartData, layout::ChartLayout, notation::PriceNotation};
use crate::widgets::{
    self, text,
    theme::{Role, Theme},
};
use model::{
    format,
    time::{DAY_MS, HOUR_MS, MINUTE_MS},
};

pub(super) fn price(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let plot = layout.plot;
    if !layout.has_axis() {
        return;
    }
    let ticks = ticks(layout);
    let notation = PriceNotation::of(&ticks, layout.label_cells());
    let tags = tags(data, layout, &notation, theme);
    for y in plot.y..plot.bottom() {
        put_axis(layout, buf, y, "│", theme.style(Role::Grid));
    }
    for &price in &ticks {
        if let Some(y) = layout.y_of(price) {
            put_axis(layout, buf, y, "├", theme.style(Role::Grid));
            if tags.iter().all(|tag| tag.y != y) {
                label(layout, buf, y, &notation.tick(price), theme.dim());
            }
        }
    }
    for tag in tags {
        put_axis(layout, buf, tag.y, tag.glyph, tag.line);
        let slot = Rect {
            x: plot.right() + 1,
            y: tag.y,
            width: layout.label_cells() as u16 + 1,
            height: 1,
        };
        widgets::put(
            buf,
            slot,
            0,
            0,
            &text::fit(
                &format!(" {}", tag.says),
                slot.width.into(),
                text::Align::Left,
            ),
            tag.style,
        );
    }
    volume_label(data, layout, buf, theme);
}

/// The labeled prices.
pub(super) fn ticks(layout: &ChartLayout) -> Vec<f64> {
    layout
        .scale
        .ticks(usize::from(layout.plot.height / 3).clamp(2, 10))
}

/// A price on the axis, in a color of its own.
struct Tag {
    y: u16,
    says: String,
    glyph: &'static str,
    /// Of the glyph.
    line: Style,
    style: Style,
}

/// Maximum number of rows between a price and its tag, where another tag has the row.
const TAG_OFF: u16 = 2;

/// The tags: of the crosshair, the last price, the levels; each at its height, or next to one that is already there.
fn tags(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    notation: &PriceNotation,
    theme: &Theme,
) -> Vec<Tag> {
    let plot = layout.plot;
    let mut tags: Vec<Tag> = Vec::new();
    let mut add = |y: u16, price: f64, glyph, line: Style, style: Style| {
        let near = (0..=TAG_OFF)
            .flat_map(|off| [y.checked_add(off), y.checked_sub(off)])
            .flatten();
        let free = near
            .into_iter()
            .find(|y| (plot.y..plot.bottom()).contains(y) && tags.iter().all(|tag| tag.y != *y));
        if let Some(y) = free {
            tags.push(Tag {
                y,
                says: notation.tag(price),
                glyph,
                line,
                style,
            });
        }
    };
    if let Some((price, y)) = super::overlay::crosshair_price(data, layout) {
        add(
            y,
            price,
            "◂",
            theme.dim(),
            theme.text().patch(theme.style(Role::Selection)),
        );
    }
    // The last close always has a tag, in its color; at the edge where it lies beyond.
    if let Some(last) = data.last {
        let (y, glyph) = match layout.y_of(last.close) {
            Some(y) => (y, "◂"),
            None if last.close > layout.scale.high() => (plot.y, "▴"),
            None => (plot.bottom() - 1, "▾"),
        };
        let style =
            super::body::drawing(theme.style(if last.falling { Role::Down } else { Role::Up }));
        add(
            y,
            last.close,
            glyph,
            style,
            style.add_modifier(Modifier::REVERSED),
        );
    }
    for level in data.levels {
        let style = super::body::drawing(theme.style(level.role));
        if let Some(y) = layout.y_of(level.price) {
            add(y, level.price, "◂", style, style);
        }
    }
    tags
}

fn volume_label(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let volumes = &data.candles.volume[layout.shown.0..layout.shown.1];
    let most = volumes
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .fold(0.0_f64, f64::max);
    if layout.volume.height > 0 && most > 0.0 {
        label(
            layout,
            buf,
            layout.volume.y,
            &format::human(Some(most)),
            theme.dim(),
        );
    }
}

fn put_axis(layout: &ChartLayout, buf: &mut Buffer, y: u16, glyph: &str, style: Style) {
    buf[(layout.plot.right(), y)]
        .set_symbol(glyph)
        .set_style(style);
}

/// Writes a label right of the axis.
pub(super) fn label(layout: &ChartLayout, buf: &mut Buffer, y: u16, label: &str, style: Style) {
    let slot = Rect {
        x: layout.plot.right() + 2,
        y,
        width: layout.label_cells() as u16,
        height: 1,
    };
    widgets::put(buf, slot, 0, 0, label, style);
}

pub(super) fn time(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let axis = layout.axis;
    if axis.is_empty() {
        return;
    }
    widgets::put(
        buf,
        axis,
        0,
        0,
        &"─".repeat(usize::from(axis.width)),
        theme.style(Role::Grid),
    );
    if layout.has_axis() {
        put_axis(layout, buf, axis.y, "┘", theme.style(Role::Grid));
    }
    let mut free = layout.labels.x;
    let tag = super::overlay::time_tag(data, layout).map_or(0..0, |(left, label)| {
        left..left + text::width(&label) as u16
    });
    for (i, label) in time_labels(data, layout) {
        let Some(x) = layout.x_of(i) else { continue };
        let width = text::width(&label) as u16;
        let left = x.saturating_sub(width / 2).max(layout.labels.x);
        // A word beside the tag would read as a part of it.
        let under_tag = left < tag.end + 1 && tag.start < left + width + 1;
        if left < free || under_tag || left + width > layout.labels.right() {
            continue;
        }
        buf[(x, axis.y)]
            .set_symbol("┴")
            .set_style(theme.style(Role::Grid));
        widgets::put(
            buf,
            layout.labels,
            left - layout.labels.x,
            0,
            &label,
            theme.dim(),
        );
        free = left + width + 3;
    }
}

/// Intervals between labels, from minutes to years.
const STEPS: &[Step] = &[
    Step::Time(5 * MINUTE_MS),
    Step::Time(15 * MINUTE_MS),
    Step::Time(HOUR_MS),
    Step::Time(3 * HOUR_MS),
    Step::Time(6 * HOUR_MS),
    Step::Time(12 * HOUR_MS),
    Step::Time(DAY_MS),
    Step::Time(2 * DAY_MS),
    Step::Week,
    Step::Month(1),
    Step::Month(3),
    Step::Month(6),
    Step::Month(12),
    Step::Month(24),
    Step::Month(60),
    Step::Month(120),
];

#[derive(Clone, Copy)]
enum Step {
    Time(i64),
    /// Starting on Mondays.
    Week,
    Month(i64),
}

impl Step {
    fn length(self) -> i64 {
        match self {
            Self::Time(length) => length,
            Self::Week => 7 * DAY_MS,
            Self::Month(count) => count * 30 * DAY_MS,
        }
    }

    /// The number of the interval that contains a time; a label is drawn where it changes.
    fn number(self, ms: i64) -> i64 {
        match self {
            Self::Time(length) => ms.div_euclid(length),
            // The epoch was a Thursday.
            Self::Week => (ms.div_euclid(DAY_MS) + 3).div_euclid(7),
            Self::Month(count) => DateTime::from_timestamp_millis(ms).map_or(0, |time| {
                (i64::from(time.year()) * 12 + i64::from(time.month0())).div_euclid(count)
            }),
        }
    }
}

/// The candles with a time label: the first of each interval. The interval is long enough that labels do not crowd; with fewer than two
/// labels a shorter one is used, whose labels are left out where they do not fit. Gaps in the data get no label.
pub(super) fn time_labels(data: &ChartData<'_>, layout: &ChartLayout) -> Vec<(usize, String)> {
    let (first, last) = layout.shown;
    let local = |time: &i64| data.zone.local(model::time::Time(*time)).0;
    let times: Vec<i64> = data.candles.timestamp[first..last]
        .iter()
        .map(local)
        .collect();
    let times = times.as_slice();
    let (Some(&start), Some(&end)) = (times.first(), times.last()) else {
        return Vec::new();
    };
    let span = end.saturating_sub(start).max(1);
    let cells = (times.len() as i64 * i64::from(layout.columns)).max(1);
    let enough = |step: &&Step| {
        let cells_each = step.length() as f64 / span as f64 * cells as f64;
        cells_each >= 11.0
    };
    let fitting = STEPS
        .iter()
        .position(|step| enough(&step))
        .unwrap_or(STEPS.len() - 1);
    let mut tries = STEPS[..=fitting]
        .iter()
        .rev()
        .map(|step| step_labels(times, first, *step));
    tries
        .find(|labels| labels.len() > 1)
        .unwrap_or_else(|| step_labels(times, first, STEPS[fitting]))
}

/// The first candle of each interval but the initial one.
fn step_labels(times: &[i64], first: usize, step: Step) -> Vec<(usize, String)> {
    let Some(&start) = times.first() else {
        return Vec::new();
    };
    let mut labels = Vec::new();
    let mut before = step.number(start);
    let mut labelled = None;
    for (i, &ms) in times.iter().enumerate().skip(1) {
        let number = step.number(ms);
        if number == before {
            continue;
        }
        before = number;
        labels.push((first + i, time_text(ms, labelled, step)));
        labelled = Some(ms);
    }
    labels
}

/// `2026` where a year begins, `Aug` a month, `Aug 14` a day, else `09:00`.
fn time_text(ms: i64, before: Option<i64>, step: Step) -> String {
    let Some(time) = DateTime::from_timestamp_millis(ms) else {
        return String::new();
    };
    let previous = before.and_then(DateTime::from_timestamp_millis);
    let new_year = previous.is_some_and(|previous| previous.year() != time.year());
    let new_day = previous.is_none_or(|previous| previous.date_naive() != time.date_naive());
    let midnight = time.hour() == 0 && time.minute() == 0;
    match step {
        Step::Month(months) if new_year || months >= 12 => time.format("%Y").to_string(),
        Step::Month(_) if previous.is_none() => time.format("%b %Y").to_string(),
        Step::Month(_) => time.format("%b").to_string(),
        _ if new_year => time.format("%b %-d %Y").to_string(),
        Step::Week => time.format("%b %-d").to_string(),
        Step::Time(length) if length < DAY_MS && previous.is_none() && !midnight => {
            time.format("%b %-d %H:%M").to_string()
        }
        Step::Time(length) if length >= DAY_MS || new_day || midnight => {
            time.format("%b %-d").to_string()
        }
        Step::Time(_) => time.format("%H:%M").to_string(),
    }
}
