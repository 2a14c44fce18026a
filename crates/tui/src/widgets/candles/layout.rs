//! The layout of the chart, and the mapping from screen positions to candles and prices.

use ratatui::layout::Rect;

use super::{ChartData, scale::Scale};

/// Cells of the axis and of the gap before its labels.
pub(super) const AXIS: u16 = 2;

/// Minimum columns of a plot beside an axis.
const PLOT_COLUMNS: u16 = 8;

/// Rows guaranteed to the candles before panes get any, and the minimum and maximum rows of a pane.
const PLOT_ROWS: u16 = 8;
const PANE_ROWS: (u16, u16) = (4, 12);

/// The areas of a drawn chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartLayout {
    pub area: Rect,
    /// Prices.
    pub plot: Rect,
    /// Volume, under the axis; empty without volume.
    pub volume: Rect,
    /// The row of the time axis.
    pub axis: Rect,
    /// The row of its labels.
    pub labels: Rect,
    pub scale: Scale,
    /// Prices of lone wicks that reach out of the scale: the lowest, the highest.
    pub(super) cut: [Option<f64>; 2],
    /// Screen column of the first candle.
    pub(super) first_x: u16,
    pub(super) columns: u16,
    /// The range of drawn candles; the latest if not all fit.
    pub(super) shown: (usize, usize),
    /// The first pane's row, the rows of each pane, and the number of panes that fit.
    panes: (u16, u16, u16),
}

impl ChartLayout {
    pub fn new(data: &ChartData<'_>, area: Rect) -> Self {
        let columns = data.columns.max(1);
        let axis_width = if area.width >= AXIS + data.label + PLOT_COLUMNS {
            AXIS + data.label
        } else {
            0
        };
        // Small charts drop the volume first, then the axis.
        let axis_rows = if area.height >= 6 { 2 } else { 0 };
        let volume_rows = if data.volume && area.height >= 11 {
            (area.height / 6).clamp(2, 8)
        } else {
            0
        };
        let wanted = u16::try_from(data.panes.len()).unwrap_or(u16::MAX);
        let room = area
            .height
            .saturating_sub(axis_rows + volume_rows + PLOT_ROWS);
        // A quarter for one, less than half for all.
        let share = (area.height / 4).min(area.height * 2 / 5 / wanted.max(1));
        let rows = share
            .min(room / wanted.max(1))
            .clamp(PANE_ROWS.0, PANE_ROWS.1);
        let fitting = wanted.min(room / rows);
        let inner = Rect {
            width: area.width - axis_width,
            ..area
        };
        let plot = Rect {
            height: area.height - axis_rows - volume_rows - fitting * rows,
            ..inner
        };
        let axis = Rect {
            y: plot.bottom(),
            height: axis_rows.min(1),
            ..inner
        };
        let volume = Rect {
            y: axis.bottom(),
            height: volume_rows,
            ..inner
        };
        let panes = (volume.bottom(), rows, fitting);
        let labels = Rect {
            y: volume.bottom() + fitting * rows,
            height: axis_rows.min(1),
            ..inner
        };
        let slots = usize::from(plot.width / columns);
        let fit = slots
            .saturating_sub(usize::from(data.future))
            .max(slots.min(1));
        let count = data.candles.len();
        let shown = (count.saturating_sub(fit), count);
        // The latest candle is at the right, before the future slots; odd columns remain at the left.
        let used = (shown.1 - shown.0
            + usize::from(data.future).min(slots.saturating_sub(shown.1 - shown.0)))
            as u16
            * columns;
        let first_x = plot.x + plot.width.saturating_sub(used);
        let (scale, cut) = range(data, shown);
        Self {
            area,
            plot,
            volume,
            axis,
            labels,
            scale,
            cut,
            first_x,
            columns,
            shown,
            panes,
        }
    }

    /// The area of a pane; `None` if it does not fit.
    pub fn pane(&self, nth: usize) -> Option<Rect> {
        let (top, height, count) = self.panes;
        let nth = u16::try_from(nth).ok().filter(|nth| *nth < count)?;
        Some(Rect {
            y: top + nth * height,
            height,
            ..self.plot
        })
    }

    /// Number of panes that fit.
    pub fn panes(&self) -> usize {
        usize::from(self.panes.2)
    }

    /// Whether the prices have an axis at the right.
    pub(super) fn has_axis(&self) -> bool {
        self.area.right() > self.plot.right()
    }

    /// Cells of a label of the axis.
    pub(super) fn label_cells(&self) -> usize {
        usize::from((self.area.right() - self.plot.right()).saturating_sub(AXIS))
    }

    /// The candle at a screen column.
    pub fn candle_at(&self, x: u16) -> Option<usize> {
        if x < self.first_x || x >= self.plot.right() {
            return None;
        }
        let index = self.shown.0 + usize::from((x - self.first_x) / self.columns);
        (index < self.shown.1).then_some(index)
    }

    /// The price at the middle of a row of the plot.
    pub fn price_at(&self, y: u16) -> Option<f64> {
        if y < self.plot.y || y >= self.plot.bottom() {
            return None;
        }
        let below = f64::from(self.plot.bottom() - 1 - y) + 0.5;
        Some(self.scale.price(below / f64::from(self.plot.height)))
    }

    /// The screen column in the middle of a candle's slot.
    pub fn x_of(&self, index: usize) -> Option<u16> {
        (self.shown.0..self.shown.1)
            .contains(&index)
            .then(|| self.left_of(index) + (self.body_width() - 1) / 2)
    }

    /// The screen row of a price.
    pub fn y_of(&self, price: f64) -> Option<u16> {
        let place = self.scale.place(price);
        // The maximum of the range is in the top row.
        let is_shown = (0.0..=1.0).contains(&place) && self.plot.height > 0;
        is_shown.then(|| {
            self.plot.bottom()
                - 1
                - ((place * f64::from(self.plot.height)) as u16).min(self.plot.height - 1)
        })
    }

    pub(super) fn left_of(&self, index: usize) -> u16 {
        self.first_x + (index - self.shown.0) as u16 * self.columns
    }

    /// Columns of a candle's body: odd, to center the wick, with a gap beside it where it fits; of three, the outer ones are half used.
    pub(super) fn body_width(&self) -> u16 {
        match self.columns {
            0..=2 => 1,
            3 => 3,
            columns if columns % 2 == 0 => columns - 1,
            columns => columns - 2,
        }
    }

    /// The fractional column of a fractional index; whole indices are at the middle of their bodies.
    pub(super) fn x_exact(&self, index: f64) -> f64 {
        f64::from(self.first_x)
            + (index - self.shown.0 as f64) * f64::from(self.columns)
            + f64::from(self.body_width()) / 2.0
    }

    /// The fractional index at a fractional column.
    pub(super) fn index_exact(&self, x: f64) -> f64 {
        self.shown.0 as f64
            + (x - f64::from(self.first_x) - f64::from(self.body_width()) / 2.0)
                / f64::from(self.columns)
    }

    /// The height of a price above the bottom of the plot, in fractional cells.
    pub(super) fn rise(&self, price: f64) -> f64 {
        self.scale.place(price) * f64::from(self.plot.height)
    }
}

/// Fewest candles of which one can be told to be out of the way of the others.
const CROWD: usize = 8;

/// From this share of the bodies' range on, a wick reaches far beyond them.
const FAR: f64 = 0.4;

/// The price that the axis reaches to, and the one beyond it: a single wick that reaches far beyond the bodies, where
/// no other does, does not take the axis. `ends` are the candles' lows, or their highs; `up` is 1, or −1 for lows.
fn reach(ends: &[f64], (bottom, top): (f64, f64), up: f64) -> (f64, Option<f64>) {
    let farthest = |ends: &mut dyn Iterator<Item = f64>| {
        ends.map(|end| end * up).fold(f64::NEG_INFINITY, f64::max) * up
    };
    let end = farthest(&mut ends.iter().copied());
    let others = farthest(&mut ends.iter().copied().filter(|other| *other != end));
    let edge = if up > 0.0 { top } else { bottom };
    let is_lone = ends.len() >= CROWD && ends.iter().filter(|other| **other == end).count() == 1;
    let is_far = |price: f64| (price - edge) * up > (top - bottom) * FAR;
    if is_lone && top > bottom && is_far(end) && !is_far(others) {
        (others, Some(end))
    } else {
        (end, None)
    }
}

/// The price range of the drawn candles and of levels near them, with a margin; and the ends of wicks beyond it.
fn range(data: &ChartData<'_>, shown: (usize, usize)) -> (Scale, [Option<f64>; 2]) {
    let valid: Vec<usize> = (shown.0..shown.1)
        .filter(|&i| data.candles.valid(i))
        .collect();
    if valid.is_empty() {
        return (Scale::new(0.0, 1.0, false), [None; 2]);
    }
    let candles = &data.candles;
    let of = |prices: &[f64]| valid.iter().map(|&i| prices[i]).collect::<Vec<f64>>();
    let body = |bodies: (f64, f64), &i: &usize| {
        (
            bodies.0.min(candles.open[i]).min(candles.close[i]),
            bodies.1.max(candles.open[i]).max(candles.close[i]),
        )
    };
    let bodies = valid.iter().fold((f64::INFINITY, f64::NEG_INFINITY), body);
    let (low, lowest) = reach(&of(candles.low), bodies, -1.0);
    let (high, highest) = reach(&of(candles.high), bodies, 1.0);
    (scale(data, low, high), [lowest, highest])
}

/// The scale of these prices and of levels near them, with a margin.
fn scale(data: &ChartData<'_>, low: f64, high: f64) -> Scale {
    let near = (high - low) * 0.5;
    let levels = data
        .levels
        .iter()
        .map(|level| level.price)
        .filter(|price| (low - near..=high + near).contains(price) && *price > 0.0);
    let (low, high) = levels.fold((low, high), |(low, high), price| {
        (low.min(price), high.max(price))
    });
    if data.log {
        let room = (high / low).powf(0.03);
        Scale::new(low / room, high * room, true)
    } else {
        let room = (high - low) * 0.03;
        Scale::new((low - room).max(low * 0.5), high + room, false)
    }
}
