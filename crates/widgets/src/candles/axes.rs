//! The axes: round prices at the left, times below, both dim; the tags of the last price and the crosshair stand out.

use chrono::{DateTime, Datelike, Timelike};
use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{
    ChartData,
    layout::{AXIS_WIDTH, ChartLayout},
    scale::decimals,
};
use crate as widgets;
use crate::{
    text,
    theme::{Role, Theme},
};
use model::{
    format,
    time::{DAY_MS, HOUR_MS, MINUTE_MS},
};

pub(super) fn price(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let plot = layout.plot;
    if plot.x < layout.area.x + AXIS_WIDTH {
        return;
    }
    for y in plot.y..plot.bottom() {
        put_axis(layout, buf, y, "│", theme.style(Role::Grid));
    }
    let ticks = layout.scale.ticks(usize::from(plot.height / 3).clamp(2, 10));
    for (&price, says) in ticks.iter().zip(tick_texts(&ticks)) {
        if let Some(y) = layout.y_of(price) {
            put_axis(layout, buf, y, "┤", theme.style(Role::Grid));
            label(layout, buf, y, &says, theme.dim());
        }
    }
    // The last close always has a tag on the axis, in its colour; at the edge where it lies beyond.
    if let Some(last) = data.last {
        let (y, glyph) = match layout.y_of(last.close) {
            Some(y) => (y, "◂"),
            None if last.close > layout.scale.high() => (plot.y, "▴"),
            None => (plot.bottom() - 1, "▾"),
        };
        let style = super::body::drawing(theme.style(if last.falling { Role::Down } else { Role::Up }));
        label(layout, buf, y, &close_text(last.close, &ticks), style);
        put_axis(layout, buf, y, glyph, style);
    }
    volume_label(data, layout, buf, theme);
}

fn volume_label(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let volumes = &data.candles.volume[layout.shown.0..layout.shown.1];
    let most = volumes.iter().copied().filter(|value| value.is_finite()).fold(0.0_f64, f64::max);
    if layout.volume.height > 0 && most > 0.0 {
        label(layout, buf, layout.volume.y, &format::human(Some(most)), theme.dim());
    }
}

/// Longest label in characters.
const LABEL: usize = AXIS_WIDTH as usize - 2;

/// Formats the ticks of an axis in one style: enough decimals to distinguish neighbours, and a common unit or power of ten if they are huge
/// or tiny. Ticks over too many decades for a common unit are shortened individually.
fn tick_texts(ticks: &[f64]) -> Vec<String> {
    let most = ticks.iter().fold(0.0_f64, |most, tick| most.max(tick.abs()));
    let step = step(ticks);
    // The power of ten of the axis, and its suffix.
    let exponent = if most > 0.0 { most.log10().floor() } else { 0.0 };
    let unit = format::unit(most);
    let plain = (1.0, String::new());
    let marked = unit.map(|(size, suffix)| (size, suffix.to_owned()));
    let power = (10_f64.powf(exponent), format!("e{exponent}"));
    for (size, mark) in [Some(plain).filter(|_| most < 1e6), marked, Some(power)].into_iter().flatten() {
        let texts: Vec<String> = ticks.iter().map(|tick| format::fixed(tick / size, decimals(step / size)) + &mark).collect();
        if texts.iter().all(|text| text.len() <= LABEL) {
            return texts;
        }
    }
    let short = |tick: &f64| Some(format::human(Some(*tick))).filter(|text| text.len() <= LABEL).unwrap_or_else(|| format!("{tick:.0e}"));
    ticks.iter().map(short).collect()
}

/// The smallest distance between ticks; a hundredth of the value for a single tick.
fn step(ticks: &[f64]) -> f64 {
    let least = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    // Rounding errors can make differences of round numbers slightly too small.
    if least.is_finite() { least * (1.0 + 1e-6) } else { ticks.first().map_or(1.0, |tick| tick.abs() / 100.0) }
}

/// A price with at least the decimals of the ticks around it.
fn close_text(price: f64, ticks: &[f64]) -> String {
    let usual = format::price(Some(price));
    let shown = usual.split_once('.').map_or(0, |(_, after)| after.len());
    let wanted = decimals(step(ticks));
    let fine = format::fixed(price, wanted);
    if price.abs() < 1e6 && wanted > shown && fine.len() <= LABEL { fine } else { fitting(price, usual) }
}

/// A price in the usual format if it fits the axis, else in three digits with a unit or a power of ten.
pub(super) fn price_text(price: Option<f64>) -> String {
    price.map_or_else(|| format::MISSING.to_owned(), |known| fitting(known, format::price(price)))
}

/// The label of a figure, shortened until it fits the axis.
pub(super) fn fitting(value: f64, usual: String) -> String {
    text::fitting([usual, format::human(Some(value)), format!("{value:.2e}"), format!("{value:.0e}")], LABEL)
}

fn put_axis(layout: &ChartLayout, buf: &mut Buffer, y: u16, glyph: &str, style: Style) {
    buf[(layout.plot.x - 1, y)].set_symbol(glyph).set_style(style);
}

/// Writes a label left of the axis.
pub(super) fn label(layout: &ChartLayout, buf: &mut Buffer, y: u16, label: &str, style: Style) {
    let cells = usize::from(AXIS_WIDTH - 2);
    let slot = Rect { x: layout.plot.x - AXIS_WIDTH, y, width: cells as u16, height: 1 };
    widgets::put(buf, slot, 0, 0, &text::fit(label, cells, text::Align::Right), style);
}

pub(super) fn time(data: &ChartData<'_>, layout: &ChartLayout, buf: &mut Buffer, theme: &Theme) {
    let axis = layout.axis;
    if axis.is_empty() {
        return;
    }
    widgets::put(buf, axis, 0, 0, &"─".repeat(usize::from(axis.width)), theme.style(Role::Grid));
    if axis.x > layout.area.x {
        buf[(axis.x - 1, axis.y)].set_symbol("└").set_style(theme.style(Role::Grid));
    }
    let mut free = layout.labels.x;
    let tag = super::overlay::time_tag(data, layout).map_or(0..0, |(left, label)| left..left + text::width(&label) as u16);
    for (i, label) in time_labels(data, layout) {
        let Some(x) = layout.x_of(i) else { continue };
        let width = text::width(&label) as u16;
        let left = x.saturating_sub(width / 2).max(layout.labels.x);
        let under_tag = left < tag.end && tag.start < left + width;
        if left < free || under_tag || left + width > layout.labels.right() {
            continue;
        }
        buf[(x, axis.y)].set_symbol("┴").set_style(theme.style(Role::Grid));
        widgets::put(buf, layout.labels, left - layout.labels.x, 0, &label, theme.dim());
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
            Self::Month(count) => DateTime::from_timestamp_millis(ms)
                .map_or(0, |time| (i64::from(time.year()) * 12 + i64::from(time.month0())).div_euclid(count)),
        }
    }
}

/// The candles with a time label: the first of each interval. The interval is long enough that labels do not crowd; with fewer than two
/// labels a shorter one is used, whose labels are left out where they do not fit. Gaps in the data get no label.
fn time_labels(data: &ChartData<'_>, layout: &ChartLayout) -> Vec<(usize, String)> {
    let (first, last) = layout.shown;
    let times = &data.candles.timestamp[first..last];
    let (Some(&start), Some(&end)) = (times.first(), times.last()) else { return Vec::new() };
    let span = end.saturating_sub(start).max(1);
    let cells = (times.len() as i64 * i64::from(layout.columns)).max(1);
    let enough = |step: &&Step| {
        let cells_each = step.length() as f64 / span as f64 * cells as f64;
        cells_each >= 11.0
    };
    let fitting = STEPS.iter().position(|step| enough(&step)).unwrap_or(STEPS.len() - 1);
    let mut tries = STEPS[..=fitting].iter().rev().map(|step| step_labels(times, first, *step));
    tries.find(|labels| labels.len() > 1).unwrap_or_else(|| step_labels(times, first, STEPS[fitting]))
}

/// The first candle of each interval but the initial one.
fn step_labels(times: &[i64], first: usize, step: Step) -> Vec<(usize, String)> {
    let Some(&start) = times.first() else { return Vec::new() };
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
    let Some(time) = DateTime::from_timestamp_millis(ms) else { return String::new() };
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
        Step::Time(length) if length < DAY_MS && previous.is_none() && !midnight => time.format("%b %-d %H:%M").to_string(),
        Step::Time(length) if length >= DAY_MS || new_day || midnight => time.format("%b %-d").to_string(),
        Step::Time(_) => time.format("%H:%M").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticks_of_an_axis_have_one_precision() {
        let cases: [(&[f64], &[&str]); 9] = [
            (&[6.5, 7.0, 7.5], &["6.5", "7.0", "7.5"]),
            (&[0.9, 1.0, 1.1], &["0.9", "1.0", "1.1"]),
            (&[999.5, 1_000.0, 1_000.5], &["999.5", "1,000.0", "1,000.5"]),
            (&[1.000_02, 1.000_04], &["1.00002", "1.00004"]),
            (&[12_310_000.0, 12_320_000.0], &["12.31M", "12.32M"]),
            (&[0.000_000_95, 0.000_001, 0.000_001_05], &["0.95e-6", "1.00e-6", "1.05e-6"]),
            (&[1.0, 10.0, 100.0], &["1", "10", "100"]),
            (&[1e-9, 1e-3, 1e3, 1e9], &["1e-9", "0.00100", "1,000", "1.00B"]),
            (&[5e-4], &["0.000500"]),
        ];
        for (ticks, texts) in cases {
            assert_eq!(tick_texts(ticks), texts);
        }
    }

    #[test]
    fn the_last_close_is_as_fine_as_its_axis() {
        assert_eq!(close_text(1.000_036, &[1.000_02, 1.000_04]), "1.00004");
        assert_eq!(close_text(14.309, &[14.0, 14.5]), "14.31");
        assert_eq!(close_text(0.000_003_124, &[0.000_003, 0.000_004]), "3.12e-6");
    }

    #[test]
    fn a_label_is_whole_whatever_the_price() {
        for (price, says) in [
            (59_870.0, "59,870.00"),
            (123_456.7, "123k"),
            (0.000_010_7, "0.0000107"),
            (0.000_003_124, "3.12e-6"),
            (-0.000_003_124, "-3.12e-6"),
            (9.99e-120, "9.99e-120"),
            (-9.99e-120, "-1e-119"),
        ] {
            assert_eq!(price_text(Some(price)), says);
        }
    }
}
