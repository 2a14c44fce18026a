//! The picture of a plot: its shapes, placed in fractions of cells, and their painting in pixels at the cell size.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{PixelCanvas, Rgb, WHOLE};

/// The shapes of a plot, without its words. Places are in cells from its area's top left.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotScene {
    /// The cells it covers.
    pub area: Rect,
    pub background: Rgb,
    /// From the lowest to the uppermost.
    pub shapes: Vec<PlotShape>,
}

pub type PlotPoint = (f64, f64);

#[derive(Debug, Clone, PartialEq)]
pub enum PlotShape {
    /// A soft surface in eighths of the color, with a finer edge.
    Surface {
        x: (f64, f64),
        y: (f64, f64),
        color: Rgb,
        share: usize,
        edged: bool,
    },
    /// A bar of a histogram.
    Bar {
        x: f64,
        width: f64,
        y: (f64, f64),
        color: Rgb,
    },
    /// From the top down: wick, body.
    Candle {
        x: f64,
        width: f64,
        wick: (f64, f64),
        body: (f64, f64),
        color: Rgb,
    },
    /// Points from left to right, clipped to the rows.
    Line {
        points: Vec<PlotPoint>,
        rows: (f64, f64),
        color: Rgb,
        dashed: bool,
    },
    /// One pixel high or wide, in eighths of the color.
    Rule {
        from: PlotPoint,
        to: PlotPoint,
        color: Rgb,
        share: usize,
        dashed: bool,
    },
    Sign {
        at: PlotPoint,
        kind: SignKind,
        color: Rgb,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignKind {
    Disc,
    Diamond,
    Up,
    Down,
}

/// Pixels of a cell: width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPixels {
    pub width: u16,
    pub height: u16,
}

impl CellPixels {
    /// `None` for a size that no terminal has.
    pub fn new(width: u16, height: u16) -> Option<Self> {
        ((2..=64).contains(&width) && (4..=128).contains(&height)).then_some(Self { width, height })
    }
}

/// Dashes, in shares of a cell's height: drawn, left out.
const DASH: (f64, f64) = (0.45, 0.3);

impl PlotScene {
    /// Paints the scene at this cell size.
    pub fn paint(&self, cell: CellPixels) -> PixelCanvas {
        let (width, height) = (f64::from(cell.width), f64::from(cell.height));
        let size = (
            usize::from(self.area.width) * usize::from(cell.width),
            usize::from(self.area.height) * usize::from(cell.height),
        );
        let mut painter = Painter {
            canvas: PixelCanvas::new(size.0, size.1, self.background),
            width,
            height,
        };
        for shape in &self.shapes {
            painter.shape(shape);
        }
        painter.canvas
    }
}

/// Farther from the picture than this nothing is told apart.
const FAR: f64 = 1e6;

/// The nearest pixel.
fn pixel(place: f64) -> i64 {
    place.round().clamp(-FAR, FAR) as i64
}

struct Painter {
    canvas: PixelCanvas,
    /// Of a cell.
    width: f64,
    height: f64,
}

impl Painter {
    fn x(&self, cells: f64) -> i64 {
        pixel(cells * self.width)
    }

    fn y(&self, cells: f64) -> i64 {
        pixel(cells * self.height)
    }

    /// At least one pixel.
    fn rows(&self, (top, bottom): (f64, f64)) -> Range<i64> {
        let top = self.y(top);
        top..self.y(bottom).max(top + 1)
    }

    /// Pixels `width` cells wide around a place: as wide for each, whatever the place.
    fn columns(&self, x: f64, width: f64) -> Range<i64> {
        let pixels = ((width * self.width).floor() as i64).max(1);
        let left = pixel(x * self.width - pixels as f64 / 2.0);
        left..left + pixels
    }

    /// The weight of a line, by the cells' size.
    fn weight(&self) -> f64 {
        (self.height / 11.0).clamp(1.25, 4.0)
    }

    fn shape(&mut self, shape: &PlotShape) {
        match shape {
            PlotShape::Surface {
                x,
                y,
                color,
                share,
                edged,
            } => {
                let ink = self.canvas.ink(*color);
                let (columns, rows) = (self.x(x.0)..self.x(x.1), self.rows(*y));
                self.canvas.fill(columns.clone(), rows.clone(), ink, *share);
                if *edged {
                    for edge in [rows.start..rows.start + 1, rows.end - 1..rows.end] {
                        self.canvas.fill(columns.clone(), edge, ink, 2);
                    }
                    for edge in [
                        columns.start..columns.start + 1,
                        columns.end - 1..columns.end,
                    ] {
                        self.canvas.fill(edge, rows.start + 1..rows.end - 1, ink, 2);
                    }
                }
            }
            PlotShape::Bar { x, width, y, color } => {
                let ink = self.canvas.ink(*color);
                let (columns, rows) = (self.columns(*x, *width), self.rows(*y));
                self.canvas.fill(columns, rows, ink, WHOLE);
            }
            PlotShape::Candle {
                x,
                width,
                wick,
                body,
                color,
            } => self.candle(*x, *width, *wick, *body, *color),
            PlotShape::Line {
                points,
                rows,
                color,
                dashed,
            } => self.line(points, *rows, *color, *dashed),
            PlotShape::Rule {
                from,
                to,
                color,
                share,
                dashed,
            } => self.rule(*from, *to, *color, *share, *dashed),
            PlotShape::Sign { at, kind, color } => self.sign(*at, *kind, *color),
        }
    }

    /// A crisp wick in the very middle of its body, both on whole pixels.
    fn candle(&mut self, x: f64, width: f64, wick: (f64, f64), body: (f64, f64), color: Rgb) {
        let ink = self.canvas.ink(color);
        let thin = (self.height / 24.0).round().max(1.0) as i64;
        let mut columns = self.columns(x, width);
        // As odd or as even as the wick, or that would stand off the middle.
        let wide = columns.end - columns.start;
        if wide > thin && (wide - thin) % 2 == 1 {
            columns.end -= 1;
        }
        let left = columns.start + (columns.end - columns.start - thin).max(0) / 2;
        let (wick, body) = (self.rows(wick), self.rows(body));
        self.canvas
            .fill(left..left + thin.min(wide), wick, ink, WHOLE);
        self.canvas.fill(columns, body, ink, WHOLE);
    }

    fn line(&mut self, points: &[PlotPoint], rows: (f64, f64), color: Rgb, dashed: bool) {
        let ink = self.canvas.ink(color);
        let (weight, rows) = (self.weight(), self.rows(rows));
        let at = |(x, y): PlotPoint| (x * self.width, y * self.height);
        let places: Vec<PlotPoint> = points.iter().map(|point| at(*point)).collect();
        let (drawn, left_out) = (DASH.0 * self.height, DASH.1 * self.height);
        let mut gone = 0.0;
        for pair in places.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if !dashed || !length.is_finite() {
                self.canvas.stroke(from, to, weight, &rows, ink);
                continue;
            }
            // Of a line far beyond the plot, no endless number of dashes.
            let mut along = 0.0;
            while along < length.min(1e5) {
                let phase = (gone + along) % (drawn + left_out);
                let part = if phase < drawn {
                    drawn - phase
                } else {
                    drawn + left_out - phase
                }
                .max(0.5)
                .min(length - along);
                if phase < drawn {
                    let place = |share: f64| {
                        (
                            from.0 + (to.0 - from.0) * share,
                            from.1 + (to.1 - from.1) * share,
                        )
                    };
                    self.canvas.stroke(
                        place(along / length),
                        place((along + part) / length),
                        weight,
                        &rows,
                        ink,
                    );
                }
                along += part.max(0.01);
            }
            gone += length;
        }
    }

    fn rule(&mut self, from: PlotPoint, to: PlotPoint, color: Rgb, share: usize, dashed: bool) {
        let ink = self.canvas.ink(color);
        let flat = from.1 == to.1;
        // The pixel that the place lies in.
        let pixel = |cells: f64, size: f64| pixel((cells * size).floor());
        let (start, end) = if flat {
            (self.x(from.0), self.x(to.0))
        } else {
            (self.y(from.1), self.y(to.1))
        };
        let across = if flat {
            pixel(from.1, self.height)
        } else {
            pixel(from.0, self.width)
        };
        let (drawn, period) = if dashed {
            (
                (DASH.0 * self.height).round() as i64,
                ((DASH.0 + DASH.1) * self.height).round() as i64,
            )
        } else {
            (1, 1)
        };
        let mut at = start;
        while at < end {
            let part = at..(at + drawn).min(end);
            let (columns, rows) = if flat {
                (part, across..across + 1)
            } else {
                (across..across + 1, part)
            };
            self.canvas.fill(columns, rows, ink, share);
            at += period.max(1);
        }
    }

    fn sign(&mut self, (x, y): PlotPoint, kind: SignKind, color: Rgb) {
        let ink = self.canvas.ink(color);
        let at = (
            (x * self.width).clamp(-FAR, FAR),
            (y * self.height).clamp(-FAR, FAR),
        );
        let size = self.width.min(self.height / 2.0);
        match kind {
            SignKind::Disc => self.canvas.spot(at, size * 0.28, false, ink),
            SignKind::Diamond => self.canvas.spot(at, size * 0.36, true, ink),
            SignKind::Up => self
                .canvas
                .arrow((at.0, at.1 - size / 2.0), size, true, ink),
            SignKind::Down => self
                .canvas
                .arrow((at.0, at.1 + size / 2.0), size, false, ink),
        }
    }
}
