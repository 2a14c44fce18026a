//! The candles of the chart as columns on screen: which are shown at a zoom and an offset, and where the trendlines fall on them.

use std::{fmt, sync::Arc};

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    finds::Finds,
    over::{Over, Slots, lead},
};
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
        format, text,
        theme::Role,
        view::Context,
        widgets::candles::{ChartData, ChartLayout, Crosshair, render},
    },
};

/// Empty columns at the right, where lines are drawn on.
pub(super) const FUTURE: u16 = 6;

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

/// Columns of a candle at most where few candles are to fill the screen.
const FILLING_MAX: u16 = 5;

/// Candles of a column, from near to far.
const PER_COLUMN: &[usize] = &[1, 2, 3, 5, 8, 12, 20, 40];

impl Zoom {
    pub(super) fn closer(self) -> Self {
        match PER_COLUMN.iter().rev().find(|per| **per < self.per_column) {
            Some(&per_column) => Self { per_column, ..self },
            None => Self { columns: COLUMNS.iter().copied().find(|c| *c > self.columns).unwrap_or(self.columns), ..self },
        }
    }

    fn wider(self) -> Self {
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
    /// Where the chart was drawn last.
    area: Rect,
}

impl Sheet {
    /// Turns an answer into columns, once.
    pub(super) fn take(&mut self, known: Option<&Arc<Known<TokenCandles>>>) {
        let Some(known) = known else {
            *self = Self { area: self.area, ..Self::default() };
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
        self.room(zoom).min(self.len())
    }

    /// How many candles there is room for.
    fn room(&self, zoom: Zoom) -> usize {
        ChartData::capacity(self.area, zoom.columns, FUTURE) * zoom.per_column
    }

    fn all_fit(&self, zoom: Zoom) -> bool {
        self.len() <= self.room(zoom)
    }

    /// Where the next frame is drawn.
    pub(super) fn stand(&mut self, area: Rect) {
        self.area = area;
    }

    /// The widest candles, within reason, with which all are on screen; none if they do not even fit with one column each.
    pub(super) fn filling(&self) -> Option<Zoom> {
        let zooms = COLUMNS.iter().rev().filter(|columns| **columns <= FILLING_MAX).map(|&columns| Zoom { columns, per_column: 1 });
        zooms.into_iter().find(|zoom| self.all_fit(*zoom))
    }

    /// Farther away, unless all candles are on screen already.
    pub(super) fn wider(&self, zoom: Zoom) -> Zoom {
        let more = match self.filling() {
            Some(filling) => zoom.columns > filling.columns,
            None => !self.all_fit(zoom),
        };
        if more { zoom.wider() } else { zoom }
    }

    /// As far away as all candles need, not farther.
    pub(super) fn no_farther(&self, zoom: Zoom) -> Zoom {
        let closer = zoom.closer();
        if zoom.per_column > 1 && self.all_fit(closer) { self.no_farther(closer) } else { zoom }
    }

    /// The zoom and the offset with which candles `from..=to` fill most of the screen, with some of what came before and after.
    pub(super) fn around(&self, from: usize, to: usize) -> (Zoom, usize) {
        let wanted = (to + 1 - from) * 4 / 3;
        let near = COLUMNS.iter().rev().map(|&columns| Zoom { columns, per_column: 1 });
        let far = PER_COLUMN.iter().map(|&per_column| Zoom { columns: 1, per_column });
        let zoom = near.chain(far).find(|&zoom| self.room(zoom) >= wanted).unwrap_or_default();
        let spare = self.shown(zoom).saturating_sub(to + 1 - from);
        (zoom, self.len().saturating_sub(to + 1 + spare / 3))
    }

    pub(super) fn index_of(&self, time: Time) -> Option<usize> {
        self.candles.timestamp.binary_search(&time.0).ok()
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
        (last.saturating_sub(self.room(zoom).max(1)), last)
    }

    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        window: &Window,
        lines: Option<&TrendlineAnswer>,
        finds: &Finds,
        context: &Context<'_>,
    ) -> ChartLayout {
        let zoom = window.zoom;
        self.stand(area);
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
        let slots = Slots { candles: all, first, last, per: zoom.per_column };
        let mut over = Over::default();
        if let Some(answer) = lines {
            over.trendlines(answer, &slots);
        }
        over.patterns(finds.drawn(), finds.chosen(), &slots);
        let crosshair = |crosshair: Crosshair| slots.slot(crosshair.candle).map(|candle| Crosshair { candle, ..crosshair });
        let data = ChartData {
            columns: zoom.columns,
            future: FUTURE,
            lines: &over.lines,
            spans: &over.spans,
            levels: &over.levels,
            marks: &over.marks,
            crosshair: window.crosshair.and_then(crosshair),
            log: window.log,
            volume: window.volume,
            ascii: context.ascii,
            ..ChartData::new(condensed.as_ref().map_or(part, CandleVec::as_candles))
        };
        render(&data, area, buffer, context.theme)
    }
}

pub(super) struct LineStyle {
    pub role: Role,
    pub dashed: bool,
    /// At the line's end, so that colour is not all that tells the lines apart.
    pub label: &'static str,
}

pub(super) fn style(kind: LineType) -> LineStyle {
    match kind {
        LineType::Regression => LineStyle { role: Role::Accent, dashed: true, label: "reg" },
        LineType::Support => LineStyle { role: Role::Up, dashed: false, label: "S" },
        LineType::Resistance => LineStyle { role: Role::Down, dashed: false, label: "R" },
    }
}

/// What stands under the chart for a line.
pub(super) struct Legend {
    pub name: String,
    pub says: String,
    pub role: Role,
}

/// The lines' legends in at most `cells`, and the gap between them: slopes give way first, then touches, then the gaps.
pub(super) fn legends(answer: &TrendlineAnswer, cells: usize) -> (Vec<Legend>, usize) {
    let tiers = [(true, true, 3), (false, true, 3), (false, false, 3), (false, false, 2)];
    let tier = |(slopes, touches, gap): (bool, bool, usize)| {
        let legends: Vec<Legend> = answer.trendlines.iter().map(|line| legend(line, slopes, touches)).collect();
        (legends, gap)
    };
    let fits = |(legends, gap): &(Vec<Legend>, usize)| {
        // Each comes after a gap, its name and what it says a cell apart.
        legends.iter().map(|legend| gap + text::width(&legend.name) + 1 + text::width(&legend.says)).sum::<usize>() <= cells
    };
    let [fullest @ .., shortest] = tiers;
    fullest.into_iter().map(tier).find(fits).unwrap_or_else(|| tier(shortest))
}

fn legend(line: &Trendline, slopes: bool, touches: bool) -> Legend {
    let mut says = word(&line.strength);
    if let Some(touches) = line.touches.as_ref().filter(|known| touches && !known.is_empty()) {
        says.push_str(&format!(", {} touches", touches.len()));
    }
    if slopes {
        says.push_str(&format!(", slope {}", format::price(Some(line.slope))));
    }
    Legend { name: word(&line.kind), says, role: style(line.kind).role }
}

/// The word as the API writes it.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
