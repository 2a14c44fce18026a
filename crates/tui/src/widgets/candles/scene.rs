//! The chart as a scene for pixels: the same data in the same layout as the cells' painters have, without words and axes.

use ratatui::layout::Rect;

use super::{
    ChartData, Glyph, IndicatorCurve, axes, curves, layout::ChartLayout, overlay, scale::Scale,
};
use crate::widgets::{
    pixels::{
        Rgb, WHOLE,
        plot::{PlotPoint, PlotScene, PlotShape, SignKind},
    },
    text,
    theme::{Role, Theme, mixed},
};

/// Share of a candle's columns that its body takes; the rest is air.
const BODY: f64 = 0.74;

/// Points of a line for each column.
const POINTS: f64 = 2.0;

/// Cells between the end of a candle and its mark, at least; and of the mark from the edge of the next row, where no word stands.
const MARK_OFF: (f64, f64) = (0.55, 0.25);

/// The scene of a drawn chart; `None` where the theme has no colors of its own.
pub(super) fn scene(
    data: &ChartData<'_>,
    layout: &ChartLayout,
    theme: &Theme,
) -> Option<PlotScene> {
    let background = theme.rgb(Role::Background)?;
    let bottom = (0..layout.panes())
        .filter_map(|nth| layout.pane(nth))
        .map(Rect::bottom)
        .max();
    let below = layout
        .volume
        .bottom()
        .max(layout.plot.bottom())
        .max(bottom.unwrap_or(0));
    let area = Rect {
        height: below - layout.plot.y,
        ..layout.plot
    };
    let mut builder = Builder {
        data,
        layout,
        theme,
        background,
        shapes: Vec::with_capacity(data.candles.len() * 2 + 64),
    };
    builder.grid();
    builder.spans();
    builder.volume();
    builder.candles();
    builder.lines();
    for curve in data.curves {
        builder.curve(curve, layout.plot, &layout.scale);
    }
    builder.levels();
    builder.marks();
    builder.panes();
    builder.crosshair();
    Some(PlotScene {
        area,
        background,
        shapes: builder.shapes,
    })
}

struct Builder<'a> {
    data: &'a ChartData<'a>,
    layout: &'a ChartLayout,
    theme: &'a Theme,
    background: Rgb,
    shapes: Vec<PlotShape>,
}

impl Builder<'_> {
    fn color(&self, role: Role) -> Rgb {
        self.theme.rgb(role).unwrap_or(self.background)
    }

    /// A place in cells from the left, in the middle of a candle's slot where the index is whole.
    fn x(&self, index: f64) -> f64 {
        self.layout.x_exact(index) - f64::from(self.layout.plot.x)
    }

    /// The column of a candle's left edge, in cells from the left.
    fn left(&self, index: usize) -> f64 {
        f64::from(self.layout.left_of(index) - self.layout.plot.x)
    }

    fn y(&self, price: f64) -> f64 {
        f64::from(self.layout.plot.height) - self.layout.rise(price)
    }

    /// Rows of an area, from the picture's top.
    fn rows(&self, area: Rect) -> (f64, f64) {
        (
            f64::from(area.y - self.layout.plot.y),
            f64::from(area.bottom() - self.layout.plot.y),
        )
    }

    fn width(&self) -> f64 {
        f64::from(self.layout.plot.width)
    }

    fn body_width(&self) -> f64 {
        (f64::from(self.layout.columns) * BODY).min(f64::from(self.layout.body_width()))
    }

    /// Faint lines at the labeled prices and times, and the rule of the time axis.
    fn grid(&mut self) {
        let color = self.color(Role::Grid);
        let (top, bottom) = self.rows(self.layout.plot);
        let mut rule = |from: PlotPoint, to: PlotPoint, share| {
            self.shapes.push(PlotShape::Rule {
                from,
                to,
                color,
                share,
                dashed: false,
            });
        };
        let width = f64::from(self.layout.plot.width);
        for price in axes::ticks(self.layout) {
            let y = f64::from(self.layout.plot.height) - self.layout.rise(price);
            rule((0.0, y), (width, y), 3);
        }
        for (index, _) in axes::time_labels(self.data, self.layout) {
            let x = self.layout.x_exact(index as f64) - f64::from(self.layout.plot.x);
            rule((x, top), (x, bottom), 3);
        }
        if !self.layout.axis.is_empty() {
            rule((0.0, bottom + 0.5), (width, bottom + 0.5), WHOLE);
        }
    }

    fn spans(&mut self) {
        for span in self.data.spans {
            let (from, to) = (
                span.from.max(self.layout.shown.0),
                span.to.min(self.layout.shown.1.saturating_sub(1)),
            );
            if from > to {
                continue;
            }
            let (top, bottom) = self.rows(self.layout.plot);
            let x = (
                self.left(from),
                (self.left(to) + f64::from(self.layout.columns)).min(self.width()),
            );
            let within = |price: f64| {
                Some(self.y(price))
                    .filter(|y| y.is_finite())
                    .unwrap_or(bottom)
                    .clamp(top, bottom)
            };
            let y = span.prices.map_or((top, bottom), |(low, high)| {
                (within(high.max(low)), within(low.min(high)))
            });
            let color = self.color(span.role);
            self.shapes.push(PlotShape::Surface {
                x,
                y,
                color,
                share: 1,
                edged: span.prices.is_some(),
            });
        }
    }

    fn candles(&mut self) {
        let candles = &self.data.candles;
        let (top, bottom) = self.rows(self.layout.plot);
        // A wick beyond the axis ends with the plot.
        let inside = |y: f64| y.clamp(top, bottom);
        for index in
            (self.layout.shown.0..self.layout.shown.1).filter(|index| candles.valid(*index))
        {
            let (open, close) = (candles.open[index], candles.close[index]);
            let color = self.color(if close < open { Role::Down } else { Role::Up });
            let wick = (
                inside(self.y(candles.high[index])),
                inside(self.y(candles.low[index])),
            );
            let body = (self.y(open.max(close)), self.y(open.min(close)));
            self.shapes.push(PlotShape::Candle {
                x: self.x(index as f64),
                width: self.body_width(),
                wick,
                body,
                color,
            });
        }
    }

    fn volume(&mut self) {
        let area = self.layout.volume;
        let values = &self.data.candles.volume;
        let (first, last) = self.layout.shown;
        let most = values[first..last]
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .fold(0.0_f64, f64::max);
        if area.is_empty() || most <= 0.0 {
            return;
        }
        let (top, bottom) = self.rows(area);
        for index in first..last {
            let Some(value) = Some(values[index]).filter(|value| value.is_finite() && *value > 0.0)
            else {
                continue;
            };
            let falls = self.data.candles.close[index] < self.data.candles.open[index];
            let marked = self
                .data
                .crosshair
                .is_some_and(|crosshair| crosshair.candle == index);
            let color = self.color(match (falls, marked) {
                (true, true) => Role::Down,
                (true, false) => Role::DownSoft,
                (false, true) => Role::Up,
                (false, false) => Role::UpSoft,
            });
            // Not quite up to the words above.
            let y = (bottom - value / most * (bottom - top - 0.15), bottom);
            self.shapes.push(PlotShape::Bar {
                x: self.x(index as f64),
                width: self.body_width(),
                y,
                color,
            });
        }
    }

    fn lines(&mut self) {
        for line in self.data.lines {
            let (from, to) = (self.x(line.from), self.x(line.to));
            if from.is_nan() || to.is_nan() {
                continue;
            }
            let (from, to) = (from.clamp(0.0, self.width()), to.clamp(0.0, self.width()));
            let pieces = ((to - from) * POINTS).ceil() as usize;
            let place = |piece: usize| {
                let x = from + (to - from) * piece as f64 / pieces as f64;
                (
                    x,
                    self.y(overlay::price_at(
                        line,
                        self.layout,
                        x + f64::from(self.layout.plot.x),
                    )),
                )
            };
            // A straight line needs its ends alone.
            let points: Vec<PlotPoint> = match pieces {
                0 => continue,
                _ if !line.geometric && !self.data.log => vec![place(0), place(pieces)],
                _ => (0..=pieces).map(place).collect(),
            };
            let color = self.color(line.role);
            self.line(&points, self.rows(self.layout.plot), color, line.dashed);
        }
    }

    /// Adds the parts of a line that have a place.
    fn line(&mut self, points: &[PlotPoint], rows: (f64, f64), color: Rgb, dashed: bool) {
        for part in points
            .split(|(_, y)| !y.is_finite())
            .filter(|part| part.len() > 1)
        {
            self.shapes.push(PlotShape::Line {
                points: part.to_vec(),
                rows,
                color,
                dashed,
            });
        }
    }

    fn curve(&mut self, curve: &IndicatorCurve, area: Rect, scale: &Scale) {
        let (top, bottom) = self.rows(area);
        let (first, last) = self.layout.shown;
        let place = |index: usize| {
            let value = curve.values.get(index).copied().unwrap_or(f64::NAN);
            (
                self.x(index as f64),
                bottom - scale.place(value) * (bottom - top),
            )
        };
        let points: Vec<PlotPoint> = (first..last).map(place).collect();
        let color = self.color(curve.role);
        self.line(&points, (top, bottom), color, curve.dashed);
    }

    fn levels(&mut self) {
        for level in self
            .data
            .levels
            .iter()
            .filter(|level| self.layout.y_of(level.price).is_some())
        {
            let y = self.y(level.price);
            let from = level.from.map_or(0.0, |index| {
                self.left(index.clamp(self.layout.shown.0, self.layout.shown.1))
            });
            let color = self.color(level.role);
            // Its word stands at the right edge.
            let to = self.width() - text::width(level.label) as f64;
            self.shapes.push(PlotShape::Rule {
                from: (from, y),
                to: (to, y),
                color,
                share: WHOLE,
                dashed: true,
            });
        }
    }

    fn marks(&mut self) {
        let shown = self.layout.shown.0..self.layout.shown.1;
        for mark in self
            .data
            .marks
            .iter()
            .filter(|mark| shown.contains(&mark.index))
        {
            let (high, low) = (
                self.data.candles.high[mark.index],
                self.data.candles.low[mark.index],
            );
            let y = if mark.over {
                (self.y(high) - MARK_OFF.0).min(self.y(high).floor() - MARK_OFF.1)
            } else {
                (self.y(low) + MARK_OFF.0).max(self.y(low).ceil() + MARK_OFF.1)
            };
            let kind = match mark.glyph {
                Glyph::Touch => SignKind::Disc,
                Glyph::Anchor => SignKind::Diamond,
                Glyph::BreakUp => SignKind::Up,
                Glyph::BreakDown => SignKind::Down,
            };
            if (0.0..f64::from(self.layout.plot.height)).contains(&y) {
                self.shapes.push(PlotShape::Sign {
                    at: (self.x(mark.index as f64), y),
                    kind,
                    color: self.color(mark.role),
                });
            }
        }
    }

    fn panes(&mut self) {
        for (nth, pane) in self.data.panes.iter().enumerate() {
            let Some(area) = self.layout.pane(nth) else {
                return;
            };
            let inside = Rect {
                y: area.y + 1,
                height: area.height - 1,
                ..area
            };
            let Some(scale) = curves::scale(pane, self.layout) else {
                continue;
            };
            let (top, bottom) = self.rows(inside);
            let y = |value: f64| bottom - scale.place(value) * (bottom - top);
            let (zero, grid) = (y(0.0), self.color(Role::Grid));
            for guide in pane
                .guides
                .iter()
                .map(|guide| y(*guide))
                .filter(|y| (top..bottom).contains(y))
            {
                let to = (self.width(), guide);
                self.shapes.push(PlotShape::Rule {
                    from: (0.0, guide),
                    to,
                    color: grid,
                    share: WHOLE,
                    dashed: true,
                });
            }
            let (first, last) = self.layout.shown;
            for (index, &value) in pane
                .bars
                .iter()
                .enumerate()
                .take(last)
                .skip(first)
                .filter(|(_, value)| value.is_finite())
            {
                let color = self.color(if value < 0.0 {
                    Role::DownSoft
                } else {
                    Role::UpSoft
                });
                let (x, end) = (self.x(index as f64), y(value).clamp(top, bottom));
                let bar = (
                    zero.min(end).clamp(top, bottom),
                    zero.max(end).clamp(top, bottom),
                );
                self.shapes.push(PlotShape::Bar {
                    x,
                    width: self.body_width(),
                    y: bar,
                    color,
                });
            }
            for curve in &pane.curves {
                self.curve(curve, inside, &scale);
            }
        }
    }

    fn crosshair(&mut self) {
        let Some(crosshair) = self.data.crosshair else {
            return;
        };
        let color = mixed(self.background, self.color(Role::Text), 0.6);
        let (top, bottom) = self.rows(self.layout.plot);
        if let Some((price, _)) = overlay::crosshair_price(self.data, self.layout) {
            let y = self.y(price);
            self.shapes.push(PlotShape::Rule {
                from: (0.0, y),
                to: (self.width(), y),
                color,
                share: WHOLE,
                dashed: true,
            });
        }
        if self.layout.x_of(crosshair.candle).is_some() {
            let x = self.x(crosshair.candle as f64);
            let panes = (0..self.layout.panes()).filter_map(|nth| self.layout.pane(nth));
            let insides = panes.map(|area| Rect {
                y: area.y + 1,
                height: area.height - 1,
                ..area
            });
            let areas: Vec<(f64, f64)> = insides.map(|area| self.rows(area)).collect();
            for (top, bottom) in std::iter::once((top, bottom)).chain(areas) {
                self.shapes.push(PlotShape::Rule {
                    from: (x, top),
                    to: (x, bottom),
                    color,
                    share: WHOLE,
                    dashed: true,
                });
            }
        }
    }
}
