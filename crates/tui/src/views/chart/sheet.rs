//! The candle sheet: maps candles to columns of the screen by zoom and offset, and draws them with their overlays.

use std::{borrow::Cow, sync::Arc};

use super::{
    indicators::Studies,
    overlays::{ChartOverlays, Slots, lead},
    patterns::ChartPatterns,
};
use crate::{
    views::{prelude::*, price::by_column},
    widgets::candles::{
        ChartData, ChartLayout, Crosshair, Glyph, Last, label_cells, render, render_words,
    },
};
use analysis::{
    condense::condense,
    timeframes::CandleVec,
    trendlines::{LineType, Trend, Trendline, TrendlineAnswer},
};
use model::{annotations::UserLevel, candles::Candles};
use query::{queries::candles::TokenCandles, service::cached::CachedAnswer};

/// Empty columns at the right, into which lines are extended; level labels are drawn there.
const FUTURE: u16 = 8;

/// Fewer candles than this have three columns each, even if they do not all fit then.
const FEW: usize = 60;
/// As many candles of three columns are enough to begin with.
const ENOUGH: usize = 40;
/// Minimum number of candles on screen, where there are as many.
const SHOWN_MIN: usize = 8;

/// Columns for each candle, or candles for each column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Zoom {
    columns: u16,
    per_column: usize,
}

impl Default for Zoom {
    fn default() -> Self {
        Self {
            columns: 1,
            per_column: 1,
        }
    }
}

/// Columns of a candle, by zoom level, zooming in.
const COLUMNS: &[u16] = &[1, 3, 5, 8];

/// Maximum number of columns of a candle when few candles fill the screen.
const FILLING_MAX: u16 = 5;

/// Candles of a column, by zoom level, zooming out.
const PER_COLUMN: &[usize] = &[1, 2, 3, 5, 8, 12, 20, 40];

impl Zoom {
    const THREE: Self = Self {
        columns: 3,
        per_column: 1,
    };

    /// Empty slots at the right.
    fn future(self) -> u16 {
        FUTURE.div_ceil(self.columns.max(1))
    }

    fn closer(self) -> Self {
        match PER_COLUMN.iter().rev().find(|per| **per < self.per_column) {
            Some(&per_column) => Self { per_column, ..self },
            None => Self {
                columns: COLUMNS
                    .iter()
                    .copied()
                    .find(|c| *c > self.columns)
                    .unwrap_or(self.columns),
                ..self
            },
        }
    }

    fn wider(self) -> Self {
        match COLUMNS
            .iter()
            .rev()
            .find(|columns| **columns < self.columns)
        {
            Some(&columns) => Self { columns, ..self },
            None => Self {
                per_column: PER_COLUMN
                    .iter()
                    .copied()
                    .find(|p| *p > self.per_column)
                    .unwrap_or(self.per_column),
                ..self
            },
        }
    }

    /// The number of candles in `columns` columns.
    pub(super) fn candles(self, columns: usize) -> usize {
        columns / usize::from(self.columns) * self.per_column
    }
}

impl Zoom {
    /// The duration of a column with several candles: `8d/column`, `32h/column`.
    pub(super) fn column_text(self, frame: &str) -> Option<String> {
        let unit = frame.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let each: usize = frame.trim_end_matches(unit).parse().unwrap_or(1);
        (self.per_column > 1).then(|| format!("{}{unit}/column", each * self.per_column))
    }
}

/// A column of the screen: one candle, or several merged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CandleColumn {
    /// Start of its first candle; also the axis label.
    pub time: Time,
    pub open: f64,
    pub high: f64,
    pub low: f64,
    pub close: f64,
    pub volume: f64,
}

/// The viewport of the chart.
pub(super) struct ChartWindow {
    pub zoom: Zoom,
    /// Scroll offset: candles hidden to the right.
    pub offset: usize,
    /// Its candle index refers to all candles of the sheet.
    pub crosshair: Option<Crosshair>,
    pub log: bool,
    pub volume: bool,
}

/// The loaded candles as columns.
#[derive(Default)]
pub(super) struct ChartSheet {
    candles: CandleVec,
    source: Option<Arc<CachedAnswer<TokenCandles>>>,
    /// The newest price, kept while older candles are on screen.
    newest: Option<(Time, Last)>,
    /// Cells of a price on the axis.
    label: u16,
    /// The glyphs in the last frame.
    marks: Vec<Glyph>,
    /// The area of the last frame.
    area: Rect,
}

impl ChartSheet {
    /// Converts an answer to columns, unless it is the current one.
    pub(super) fn take(&mut self, known: Option<&Arc<CachedAnswer<TokenCandles>>>) {
        let Some(known) = known else {
            *self = Self {
                area: self.area,
                ..Self::default()
            };
            return;
        };
        if self
            .source
            .as_ref()
            .is_some_and(|source| Arc::ptr_eq(source, known))
        {
            return;
        }
        self.candles = by_column(&known.answer.candles);
        self.label = label_cells(&self.candles.as_candles());
        if self
            .source
            .as_ref()
            .is_none_or(|source| source.answer.timeframe != known.answer.timeframe)
        {
            self.newest = None;
        }
        // After panning far back, the loaded candles end early; the newest price is then the one known before.
        let here = self
            .time(self.len().saturating_sub(1))
            .zip(Last::of(&self.candles.as_candles()));
        self.newest = here
            .filter(|(time, _)| self.newest.is_none_or(|(newest, _)| newest <= *time))
            .or(self.newest);
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

    /// Number of candles in the last frame.
    pub(super) fn shown(&self, zoom: Zoom) -> usize {
        self.room(zoom).min(self.len())
    }

    /// Number of candles that fit.
    fn room(&self, zoom: Zoom) -> usize {
        ChartData::capacity(self.area, self.label, zoom.columns, zoom.future()) * zoom.per_column
    }

    fn all_fit(&self, zoom: Zoom) -> bool {
        self.len() <= self.room(zoom)
    }

    /// Sets the area of the next frame.
    pub(super) fn set_area(&mut self, area: Rect) {
        self.area = area;
    }

    /// The closest zoom, up to `FILLING_MAX` columns each, at which all candles fit.
    fn filling(&self) -> Zoom {
        // A candle of two columns has no room for a body of two and air.
        let near = (1..=FILLING_MAX)
            .rev()
            .filter(|columns| *columns != 2)
            .map(|columns| Zoom {
                columns,
                per_column: 1,
            });
        let each = self
            .len()
            .div_ceil(self.room(Zoom::default()).max(1))
            .max(1);
        near.into_iter()
            .find(|zoom| self.all_fit(*zoom))
            .unwrap_or(Zoom {
                columns: 1,
                per_column: each,
            })
    }

    /// The zoom to begin with: few candles fill the screen; of many, the one chosen before stays unless it is wider than needed.
    pub(super) fn first(&self, chosen: Option<Zoom>) -> Zoom {
        let filling = self.filling();
        let usual = if self.len() < FEW || self.room(Zoom::THREE) >= ENOUGH {
            Zoom::THREE
        } else {
            Zoom::default()
        };
        match chosen {
            _ if filling.per_column == 1 => {
                if filling.columns > usual.columns {
                    filling
                } else {
                    usual
                }
            }
            Some(chosen) if self.all_fit(chosen) => filling,
            Some(chosen) => chosen,
            None => usual,
        }
    }

    /// Whether all candles fit at one column each or more.
    pub(super) fn is_small(&self) -> bool {
        self.all_fit(Zoom::default())
    }

    /// The next wider zoom; the last one has all candles over the whole width.
    pub(super) fn wider(&self, zoom: Zoom) -> Zoom {
        let (next, filling) = (zoom.wider(), self.filling());
        let is_widest = zoom.per_column >= filling.per_column && zoom.columns <= filling.columns;
        match next {
            _ if is_widest => zoom,
            next if next == zoom || self.all_fit(next) => filling,
            next => next,
        }
    }

    /// The next closer zoom, unless too few candles would be left.
    pub(super) fn closer(&self, zoom: Zoom) -> Zoom {
        let next = zoom.closer();
        if self.room(next) >= SHOWN_MIN {
            next
        } else {
            zoom
        }
    }

    /// The zoom and offset at which candles `from..=to` fill most of the screen, with some context on both sides.
    pub(super) fn around(&self, from: usize, to: usize) -> (Zoom, usize) {
        let wanted = (to + 1 - from) * 4 / 3;
        let near = COLUMNS.iter().rev().map(|&columns| Zoom {
            columns,
            per_column: 1,
        });
        let far = PER_COLUMN.iter().map(|&per_column| Zoom {
            columns: 1,
            per_column,
        });
        let zoom = near
            .chain(far)
            .find(|&zoom| self.room(zoom) >= wanted)
            .unwrap_or_default();
        let spare = self.shown(zoom).saturating_sub(to + 1 - from);
        (zoom, self.len().saturating_sub(to + 1 + spare / 3))
    }

    pub(super) fn index_of(&self, time: Time) -> Option<usize> {
        self.candles.timestamp.binary_search(&time.0).ok()
    }

    /// The candle index of a slot in the last frame.
    pub(super) fn index_of_slot(&self, slot: usize, zoom: Zoom, offset: usize) -> Option<usize> {
        let (first, last) = self.range(zoom, offset);
        let lead = lead(last - first, zoom.per_column);
        let index = if slot == 0 {
            first
        } else {
            first + lead + (slot - 1) * zoom.per_column
        };
        (index < last).then_some(index)
    }

    /// The column that contains a candle.
    pub(super) fn column(&self, index: usize, zoom: Zoom, offset: usize) -> Option<CandleColumn> {
        let (first, last) = self.range(zoom, offset);
        if !(first..last).contains(&index) {
            return None;
        }
        let end = last - (last - 1 - index) / zoom.per_column * zoom.per_column;
        let part = self.part(end.saturating_sub(zoom.per_column).max(first), end);
        if let [time] = *part.timestamp {
            // A single candle is shown unchanged, valid or not.
            let [open, high, low, close, volume] =
                [part.open, part.high, part.low, part.close, part.volume].map(|figures| figures[0]);
            return Some(CandleColumn {
                time: Time(time),
                open,
                high,
                low,
                close,
                volume,
            });
        }
        let one = condense(&part, zoom.per_column);
        let figure = |figures: &[f64]| figures.first().copied().unwrap_or(f64::NAN);
        Some(CandleColumn {
            time: one.timestamp.first().copied().map(Time)?,
            open: figure(&one.open),
            high: figure(&one.high),
            low: figure(&one.low),
            close: figure(&one.close),
            volume: figure(&one.volume),
        })
    }

    fn part(&self, first: usize, last: usize) -> Candles<'_> {
        self.candles.as_candles().part(first..last)
    }

    fn range(&self, zoom: Zoom, offset: usize) -> (usize, usize) {
        let last = self.len().saturating_sub(offset);
        (last.saturating_sub(self.room(zoom).max(1)), last)
    }

    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        window: &ChartWindow,
        (lines, own): (Option<&TrendlineAnswer>, &[UserLevel]),
        (patterns, studies): (&ChartPatterns, &Studies),
        context: &Context<'_>,
    ) -> ChartLayout {
        let zoom = window.zoom;
        self.set_area(area);
        let (first, last) = self.range(zoom, window.offset);
        let all = self.candles.as_candles();
        let part = self.part(first, last);
        let condensed = (zoom.per_column > 1).then(|| condense(&part, zoom.per_column));
        let slots = Slots {
            candles: all,
            first,
            last,
            per: zoom.per_column,
            future: zoom.future(),
        };
        let mut overlays = ChartOverlays::default();
        if let Some(answer) = lines {
            overlays.trendlines(answer, &slots);
        }
        let at = window
            .crosshair
            .map(|crosshair| crosshair.candle)
            .or(last.checked_sub(1))
            .and_then(|candle| self.time(candle));
        let drawn = studies.drawn(&slots, at);
        overlays.patterns(
            patterns.drawn(),
            (patterns.chosen(), patterns.shows_targets()),
            &slots,
        );
        overlays.own_levels(own);
        let crosshair = |crosshair: Crosshair| {
            slots.slot(crosshair.candle).map(|candle| Crosshair {
                candle,
                ..crosshair
            })
        };
        let data = ChartData {
            columns: zoom.columns,
            future: zoom.future(),
            label: self.label,
            lines: &overlays.lines,
            spans: &overlays.spans,
            levels: &overlays.levels,
            curves: &drawn.curves,
            panes: &drawn.panes,
            marks: &overlays.marks,
            crosshair: window.crosshair.and_then(crosshair),
            last: self.newest.map(|(_, last)| last),
            log: window.log,
            volume: window.volume,
            ascii: context.ascii,
            zone: context.zone.of_series(part.timestamp),
            ..ChartData::new(condensed.as_ref().map_or(part, CandleVec::as_candles))
        };
        let layout = if context.picture.is_on() {
            let (layout, scene) = render_words(&data, area, buffer, context.theme);
            context.picture.put(scene);
            layout
        } else {
            render(&data, area, buffer, context.theme)
        };
        let signs = [
            Glyph::Touch,
            Glyph::Anchor,
            Glyph::BreakUp,
            Glyph::BreakDown,
        ];
        self.marks = signs
            .into_iter()
            .filter(|glyph| overlays.marks.iter().any(|mark| mark.glyph == *glyph))
            .collect();
        layout
    }

    /// The legend of the glyphs in the last frame: `• touch  ◆ pivot`.
    pub(super) fn marks(&self, ascii: bool) -> impl Iterator<Item = String> {
        self.marks.iter().map(move |glyph| {
            let says = match glyph {
                Glyph::Touch => "touch",
                Glyph::Anchor => "pivot",
                Glyph::BreakUp | Glyph::BreakDown => "break",
            };
            format!("{} {says}", glyph.sign(ascii))
        })
    }
}

pub(super) struct LineStyle {
    pub role: Role,
    pub dashed: bool,
    /// The label at the line's end, so that lines do not differ by color alone.
    pub label: &'static str,
}

pub(super) fn style(kind: LineType) -> LineStyle {
    match kind {
        LineType::Regression => LineStyle {
            role: Role::Accent,
            dashed: true,
            label: "reg",
        },
        LineType::Support => LineStyle {
            role: Role::Up,
            dashed: false,
            label: "S",
        },
        LineType::Resistance => LineStyle {
            role: Role::Down,
            dashed: false,
            label: "R",
        },
    }
}

/// The legend of a line, under the chart.
pub(super) struct Legend {
    pub name: Cow<'static, str>,
    pub says: String,
    pub role: Role,
}

/// The lines' legends in at most `cells`, and the gap between them. When space is short: slopes are dropped first, then touches, then names
/// are shortened, then gaps.
pub(super) fn legends(answer: &TrendlineAnswer, cells: usize) -> (Vec<Legend>, usize) {
    let tiers = [
        (true, true, true, 3),
        (false, true, true, 3),
        (false, false, true, 3),
        (false, false, false, 3),
        (false, false, false, 2),
    ];
    let tier = |(slopes, touches, names, gap): (bool, bool, bool, usize)| {
        let legends: Vec<Legend> = answer
            .trendlines
            .iter()
            .map(|line| legend(line, slopes, touches, names))
            .collect();
        (legends, gap)
    };
    let [fullest @ .., shortest] = tiers;
    fullest
        .into_iter()
        .map(tier)
        .find(|legends| legends_width(legends) <= cells)
        .unwrap_or_else(|| tier(shortest))
}

/// The width of the legends: a gap before each, and a cell between name and text.
pub(super) fn legends_width((legends, gap): &(Vec<Legend>, usize)) -> usize {
    legends
        .iter()
        .map(|legend| gap + text::width(&legend.name) + 1 + text::width(&legend.says))
        .sum()
}

/// The width of the legends with line names only.
pub(super) fn named_width(answer: &TrendlineAnswer) -> usize {
    legends_width(&(
        answer
            .trendlines
            .iter()
            .map(|line| legend(line, false, false, true))
            .collect(),
        3,
    ))
}

fn legend(line: &Trendline, slopes: bool, touches: bool, names: bool) -> Legend {
    let mut says = words::of(&line.strength);
    if let Some(touches) = line
        .touches
        .as_ref()
        .filter(|known| touches && !known.is_empty())
    {
        says.push_str(&format!(", {} touches", touches.len()));
    }
    if slopes {
        says.push_str(&format!(", slope {}", format::price(Some(line.slope))));
    }
    let style = style(line.kind);
    Legend {
        name: if names {
            words::of(&line.kind).into()
        } else {
            style.label.into()
        },
        says,
        role: style.role,
    }
}

/// The trend and its color, in at most `cells`: `uptrend, confidence 0.93, last 14 candles`, or `uptrend 0.93, 14 candles`.
pub(super) fn trend(answer: &TrendlineAnswer, candles: &str, cells: usize) -> (String, Role) {
    let role = match answer.trend {
        Trend::Uptrend => Role::Up,
        Trend::Downtrend => Role::Down,
        Trend::Sideways => Role::Text,
    };
    // Fewer than three candles have no trend.
    if answer.confidence == 0.0 {
        ("no trend yet".to_owned(), Role::Dim)
    } else {
        let (word, sure) = (answer.trend.word(), answer.confidence);
        let named = if answer.trend == Trend::Sideways {
            "trend sideways"
        } else {
            word
        };
        // Never without its candles: a trend of what?
        let short = candles.trim_start_matches("last ");
        let wordings = [
            format!("{named}, confidence {sure:.2}, {candles}"),
            format!("{word} {sure:.2}, {candles}"),
            format!(
                "{word} {sure:.2}{}{short}",
                if short.is_empty() { "" } else { ", " }
            ),
        ];
        (text::longest_that_fits(wordings, cells), role)
    }
}
