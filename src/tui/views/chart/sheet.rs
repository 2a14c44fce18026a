//! The candles of the chart as columns on screen: which are shown at a zoom and an offset, and where the trendlines fall on them.

use std::{fmt, sync::Arc};

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    analysis::{
        condense::condense,
        frames::CandleVec,
        trendlines::{LineType, Trendline, TrendlineAnswer},
    },
    dataset::{candles::Candles, time::Time},
    deck::known::Known,
    question::candles::TokenCandles,
    tui::{
        format,
        theme::Role,
        view::Context,
        widgets::candles::{ChartData, ChartLayout, Crosshair, Line, render},
    },
};

/// Empty columns at the right, where lines are drawn on.
const FUTURE: u16 = 6;

/// How many columns a candle takes, or how many candles a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Zoom {
    columns: u16,
    per_column: usize,
}

impl Default for Zoom {
    fn default() -> Self {
        Self { columns: 1, per_column: 1 }
    }
}

/// Columns of a candle, from near to as near as it gets.
const COLUMNS: &[u16] = &[1, 2, 3, 5, 8];

/// Candles of a column, from near to far.
const PER_COLUMN: &[usize] = &[1, 2, 3, 5, 8, 12, 20, 40];

impl Zoom {
    pub(super) fn closer(self) -> Self {
        match PER_COLUMN.iter().rev().find(|per| **per < self.per_column) {
            Some(&per_column) => Self { per_column, ..self },
            None => Self { columns: COLUMNS.iter().copied().find(|c| *c > self.columns).unwrap_or(self.columns), ..self },
        }
    }

    pub(super) fn wider(self) -> Self {
        match COLUMNS.iter().rev().find(|columns| **columns < self.columns) {
            Some(&columns) => Self { columns, ..self },
            None => Self { per_column: PER_COLUMN.iter().copied().find(|p| *p > self.per_column).unwrap_or(self.per_column), ..self },
        }
    }

    /// How many candles lie in so many columns.
    pub(super) fn candles(self, columns: usize) -> usize {
        columns / usize::from(self.columns) * self.per_column
    }
}

impl fmt::Display for Zoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.per_column > 1 { write!(f, "{} candles a column", self.per_column) } else { write!(f, "×{}", self.columns) }
    }
}

/// What of the sheet is on screen.
pub(super) struct Window {
    pub zoom: Zoom,
    /// Candles hidden to the right.
    pub offset: usize,
    /// Its candle counts in all candles of the sheet.
    pub crosshair: Option<Crosshair>,
    pub log: bool,
    pub volume: bool,
}

/// The candles answered last, as columns.
#[derive(Default)]
pub(super) struct Sheet {
    candles: CandleVec,
    source: Option<Arc<Known<TokenCandles>>>,
    /// Columns that candles were given in the last frame.
    capacity_columns: usize,
}

impl Sheet {
    /// Turns an answer into columns, once.
    pub(super) fn take(&mut self, known: Option<&Arc<Known<TokenCandles>>>) {
        let Some(known) = known else {
            *self = Self { capacity_columns: self.capacity_columns, ..Self::default() };
            return;
        };
        if self.source.as_ref().is_some_and(|source| Arc::ptr_eq(source, known)) {
            return;
        }
        let all = &known.answer.candles;
        let column = |figure: fn(&crate::question::candles::Candle) -> Option<f64>| {
            all.iter().map(|candle| figure(candle).unwrap_or(f64::NAN)).collect()
        };
        self.candles = CandleVec {
            timestamp: all.iter().map(|candle| candle.timestamp.0).collect(),
            open: column(|candle| candle.open),
            high: column(|candle| candle.high),
            low: column(|candle| candle.low),
            close: column(|candle| candle.close),
            volume: column(|candle| candle.volume),
        };
        self.source = Some(Arc::clone(known));
    }

    pub(super) fn len(&self) -> usize {
        self.candles.timestamp.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn time(&self, index: usize) -> Option<Time> {
        self.candles.timestamp.get(index).copied().map(Time)
    }

    /// How many candles the last frame had room for.
    pub(super) fn shown(&self, zoom: Zoom) -> usize {
        zoom.candles(self.capacity_columns).min(self.len())
    }

    /// The candle behind a slot of the frame drawn last.
    pub(super) fn index_of_slot(&self, slot: usize, zoom: Zoom, offset: usize) -> Option<usize> {
        let (first, last) = self.range(zoom, offset);
        let lead = lead(last - first, zoom.per_column);
        let index = if slot == 0 { first } else { first + lead + (slot - 1) * zoom.per_column };
        (index < last).then_some(index)
    }

    fn range(&self, zoom: Zoom, offset: usize) -> (usize, usize) {
        let last = self.len().saturating_sub(offset);
        (last.saturating_sub(zoom.candles(self.capacity_columns).max(1)), last)
    }

    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        window: &Window,
        lines: Option<&TrendlineAnswer>,
        context: &Context<'_>,
    ) -> ChartLayout {
        let zoom = window.zoom;
        self.capacity_columns = ChartData::capacity(area, zoom.columns, FUTURE) * usize::from(zoom.columns);
        let (first, last) = self.range(zoom, window.offset);
        let all = self.candles.as_candles();
        let part = Candles {
            timestamp: &all.timestamp[first..last],
            open: &all.open[first..last],
            high: &all.high[first..last],
            low: &all.low[first..last],
            close: &all.close[first..last],
            volume: &all.volume[first..last],
        };
        let condensed = (zoom.per_column > 1).then(|| condense(&part, zoom.per_column));
        // The place of a candle of the whole sheet among the slots; the first slot may hold fewer candles than the others.
        let lead = lead(last - first, zoom.per_column);
        let place = |index: f64| (index - first as f64 - lead as f64) / zoom.per_column as f64 + f64::from(u8::from(zoom.per_column > 1));
        let drawn: Vec<Line<'_>> = lines.map_or_else(Vec::new, |answer| {
            answer.trendlines.iter().filter_map(|line| self.line(line, zoom.per_column as f64, &place, last - first)).collect()
        });
        let slot = |crosshair: Crosshair| {
            let inside = (first..last).contains(&crosshair.candle);
            inside.then(|| Crosshair { candle: place(crosshair.candle as f64).max(0.0) as usize, ..crosshair })
        };
        let data = ChartData {
            columns: zoom.columns,
            future: FUTURE,
            lines: &drawn,
            crosshair: window.crosshair.and_then(slot),
            log: window.log,
            volume: window.volume,
            ascii: context.ascii,
            ..ChartData::new(condensed.as_ref().map_or(part, CandleVec::as_candles))
        };
        render(&data, area, buffer, context.theme)
    }

    /// A trendline in slots: its window begins at the candle of its start time.
    fn line(&self, line: &Trendline, per: f64, place: &impl Fn(f64) -> f64, shown: usize) -> Option<Line<'static>> {
        let start = line.start_time?;
        let end = line.end_time?;
        let begin = self.candles.timestamp.binary_search(&start.0).ok()?;
        let stop = self.candles.timestamp.binary_search(&end.0).ok()?;
        let slope = line.slope * per;
        let from = place(begin as f64);
        let until = place(stop as f64 + f64::from(FUTURE) * per);
        let style = style(line.kind);
        (until > 0.0 && from < shown as f64).then_some(Line {
            intercept: line.intercept - slope * from,
            slope,
            from,
            to: until,
            role: style.0,
            dashed: style.1,
            label: "",
        })
    }
}

/// Candles in the first group, when groups are counted from the last candle.
fn lead(candles: usize, per: usize) -> usize {
    match candles % per {
        0 => per,
        rest => rest,
    }
}

fn style(kind: LineType) -> (Role, bool) {
    match kind {
        LineType::Regression => (Role::Accent, true),
        LineType::Support => (Role::Up, false),
        LineType::Resistance => (Role::Down, false),
    }
}

/// What stands under the chart for a line.
pub(super) struct Legend {
    pub name: String,
    pub says: String,
    pub role: Role,
}

pub(super) fn legends(answer: &TrendlineAnswer) -> Vec<Legend> {
    answer
        .trendlines
        .iter()
        .map(|line| {
            let today = line.touches.as_ref().filter(|touches| !touches.is_empty()).map(|touches| format!(", {} touches", touches.len()));
            Legend {
                name: word(&line.kind),
                says: format!("{}{}, slope {}", word(&line.strength), today.unwrap_or_default(), format::price(Some(line.slope))),
                role: style(line.kind).0,
            }
        })
        .collect()
}

/// The word as the API writes it.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
