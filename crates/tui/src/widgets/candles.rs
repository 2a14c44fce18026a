//! The candlestick chart: candles, volume, lines, spans, levels and a crosshair over two axes. It draws the given data, one candle in each
//! slot; aggregating, selecting and computing are the caller's.

mod axes;
mod body;
mod curves;
mod layout;
mod notation;
mod overlay;
mod scale;
mod scene;

use crate::zone::DisplayZone;
use ratatui::{buffer::Buffer, layout::Rect};

pub use self::{
    curves::{IndicatorCurve, IndicatorPane},
    layout::ChartLayout,
    scale::{Scale, decimals},
};
use crate::widgets::{
    pixels::plot::PlotScene,
    theme::{Role, Theme},
};
use model::candles::Candles;

/// The data of a chart. Indices refer to the given candles; a line may begin before the first and end after the last.
#[derive(Debug, Clone, Copy)]
pub struct ChartData<'a> {
    /// Oldest first. An invalid one leaves a gap.
    pub candles: Candles<'a>,
    /// Columns for each candle: 1, or more when zoomed in.
    pub columns: u16,
    /// Empty slots after the last candle, for projections.
    pub future: u16,
    /// Cells of a price on the axis.
    pub label: u16,
    pub lines: &'a [ChartLine<'a>],
    pub spans: &'a [Span<'a>],
    pub levels: &'a [PriceLevel<'a>],
    pub curves: &'a [IndicatorCurve],
    /// Drawn under the volume, as many as fit.
    pub panes: &'a [IndicatorPane],
    pub marks: &'a [Mark],
    pub crosshair: Option<Crosshair>,
    /// The price tag on the axis: by default the last valid candle's close.
    pub last: Option<Last>,
    pub log: bool,
    pub volume: bool,
    /// ASCII glyphs only.
    pub ascii: bool,
    /// Of the times below the chart.
    pub zone: DisplayZone,
}

/// `price = intercept + slope × index`, or `intercept × exp(slope × index)`, from one index to another.
#[derive(Debug, Clone, Copy)]
pub struct ChartLine<'a> {
    pub intercept: f64,
    pub slope: f64,
    /// Straight on a logarithmic scale.
    pub geometric: bool,
    pub from: f64,
    pub to: f64,
    pub role: Role,
    pub dashed: bool,
    pub label: &'a str,
}

/// Candles `from..=to` shaded in the role's tint, between two prices or over the whole height.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    pub from: usize,
    pub to: usize,
    pub prices: Option<(f64, f64)>,
    pub role: Role,
    pub label: &'a str,
}

/// A glyph over or under a candle.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub index: usize,
    pub over: bool,
    pub role: Role,
    pub glyph: Glyph,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyph {
    /// A touch of a line.
    Touch,
    /// A pivot.
    Anchor,
    /// The breakout candle, upward or downward.
    BreakUp,
    BreakDown,
}

/// A dashed line at a price.
#[derive(Debug, Clone, Copy)]
pub struct PriceLevel<'a> {
    pub price: f64,
    /// The first index; `None` for the whole width.
    pub from: Option<usize>,
    pub role: Role,
    pub label: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crosshair {
    /// Index of the candle.
    pub candle: usize,
    /// The price of its horizontal line; by default the candle's close.
    pub price: Option<f64>,
}

/// The newest price. Its candle need not be on screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Last {
    pub close: f64,
    /// The close is below the open.
    pub falling: bool,
}

impl Last {
    /// From the last valid candle.
    pub fn of(candles: &Candles<'_>) -> Option<Self> {
        let last = (0..candles.len()).rev().find(|&i| candles.valid(i))?;
        Some(Self {
            close: candles.close[last],
            falling: candles.close[last] < candles.open[last],
        })
    }
}

impl<'a> ChartData<'a> {
    pub fn new(candles: Candles<'a>) -> Self {
        Self {
            candles,
            columns: 1,
            future: 0,
            label: label_cells(&candles),
            lines: &[],
            spans: &[],
            levels: &[],
            curves: &[],
            panes: &[],
            marks: &[],
            crosshair: None,
            last: Last::of(&candles),
            log: false,
            volume: true,
            ascii: false,
            zone: DisplayZone::default(),
        }
    }

    /// Number of candles that fit in the area next to labels of this width, for choosing the data.
    pub fn capacity(area: Rect, label: u16, columns: u16, future: u16) -> usize {
        usize::from(
            (area.width.saturating_sub(layout::AXIS + label) / columns.max(1))
                .saturating_sub(future),
        )
    }
}

/// Cells that the prices of candles take on the axis.
pub fn label_cells(candles: &Candles<'_>) -> u16 {
    notation::cells(candles)
}

/// Draws the chart; the returned layout maps mouse positions.
pub fn render(data: &ChartData<'_>, area: Rect, buf: &mut Buffer, theme: &Theme) -> ChartLayout {
    draw(data, area, buf, theme).0
}

/// As `render`, with words and axes alone; the rest is for a picture under them. In a theme without colors there is none, and all is cells.
pub fn render_words(
    data: &ChartData<'_>,
    area: Rect,
    buf: &mut Buffer,
    theme: &Theme,
) -> (ChartLayout, Option<PlotScene>) {
    let (layout, words) = draw(data, area, buf, theme);
    let scene = scene::scene(data, &layout, theme)
        .filter(|scene| !layout.plot.is_empty() && !scene.area.is_empty());
    let blank = theme.text().patch(theme.style(Role::Background));
    for place in scene.iter().flat_map(|scene| scene.area.positions()) {
        if !words.iter().any(|word| word.contains(place)) {
            buf[place].reset();
            buf[place].set_style(blank);
        }
    }
    (layout, scene)
}

/// Draws the chart in cells; also returns where words stand.
fn draw(
    data: &ChartData<'_>,
    area: Rect,
    buf: &mut Buffer,
    theme: &Theme,
) -> (ChartLayout, Vec<Rect>) {
    let layout = ChartLayout::new(data, area.intersection(buf.area));
    let mut words = Vec::new();
    if layout.plot.is_empty() {
        return (layout, words);
    }
    overlay::spans(data, &layout, buf, theme);
    body::candles(data, &layout, buf, theme);
    body::volume(data, &layout, buf, theme);
    axes::price(data, &layout, buf, theme);
    axes::time(data, &layout, buf, theme);
    overlay::marks(data, &layout, buf, theme);
    overlay::span_frames(data, &layout, buf, theme);
    // Words of levels stand in their rows, before those of lines.
    overlay::levels(data, &layout, buf, theme, &mut words);
    overlay::lines(data, &layout, buf, theme, &mut words);
    curves::over(data, &layout, buf, theme);
    overlay::span_labels(data, &layout, buf, theme, &mut words);
    overlay::crosshair(data, &layout, buf, theme);
    curves::panes(data, &layout, buf, theme);
    words.extend(
        (0..layout.panes())
            .filter_map(|nth| layout.pane(nth))
            .map(|pane| Rect { height: 1, ..pane }),
    );
    (layout, words)
}

#[cfg(test)]
mod scene_tests;
#[cfg(test)]
mod tests;
