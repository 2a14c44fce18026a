//! Pictures in pixels: a canvas of at most 256 colors with anti-aliased strokes, what is drawn on it, and its codings as PNG and sixel.

pub mod letters;
pub mod plot;
pub mod png;
pub mod sixel;

use std::ops::Range;

pub use crate::widgets::theme::Rgb;

/// Colors of a canvas: as many as an 8-bit palette and most sixel terminals have.
const COLORS_MAX: usize = 256;

/// Steps of coverage at the edge of a stroke. Few, so that the palette stays small; eight look smooth.
const STEPS: usize = 8;

/// The whole of a pixel is covered.
pub const WHOLE: usize = STEPS;

/// A picture as indices into its own palette.
#[derive(Debug, Clone)]
pub struct PixelCanvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    palette: Vec<Rgb>,
    inks: Vec<Rgb>,
    /// By ink and step: the color that each one becomes under it, once known.
    mixes: Vec<[Option<u8>; COLORS_MAX]>,
}

impl PixelCanvas {
    pub fn new(width: usize, height: usize, background: Rgb) -> Self {
        Self {
            width,
            height,
            pixels: vec![0; width * height],
            palette: vec![background],
            inks: Vec::new(),
            mixes: Vec::new(),
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    pub fn palette(&self) -> &[Rgb] {
        &self.palette
    }

    /// The palette index of every pixel, row by row.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    pub fn rgb(&self, x: usize, y: usize) -> Option<Rgb> {
        let index = self
            .pixels
            .get(y * self.width + x)
            .filter(|_| x < self.width)?;
        self.palette.get(usize::from(*index)).copied()
    }

    /// The number of a color to draw with.
    pub fn ink(&mut self, color: Rgb) -> usize {
        self.inks
            .iter()
            .position(|ink| *ink == color)
            .unwrap_or_else(|| {
                self.inks.push(color);
                self.mixes.extend([[None; COLORS_MAX]; STEPS]);
                self.inks.len() - 1
            })
    }

    /// The palette index of a color under `step` steps of an ink.
    fn mix(&mut self, under: u8, ink: usize, step: usize) -> u8 {
        let place = ink * STEPS + step - 1;
        if let Some(known) = self.mixes[place][usize::from(under)] {
            return known;
        }
        let mixed = crate::widgets::theme::mixed(
            self.palette[usize::from(under)],
            self.inks[ink],
            step as f64 / STEPS as f64,
        );
        let index = self.index_of(mixed);
        self.mixes[place][usize::from(under)] = Some(index);
        index
    }

    /// The color in the palette, or the nearest where that is full.
    fn index_of(&mut self, color: Rgb) -> u8 {
        if let Some(index) = self.palette.iter().position(|known| *known == color) {
            return index as u8;
        }
        if self.palette.len() < COLORS_MAX {
            self.palette.push(color);
            return (self.palette.len() - 1) as u8;
        }
        let far = |other: Rgb| {
            let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
            square(color.0, other.0) + square(color.1, other.1) + square(color.2, other.2)
        };
        (0..self.palette.len())
            .min_by_key(|&index| far(self.palette[index]))
            .map_or(0, |index| index as u8)
    }

    /// Covers a pixel with steps of an ink; does nothing outside the canvas.
    pub fn dab(&mut self, x: i64, y: i64, ink: usize, step: usize) {
        if step == 0 || x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let place = y as usize * self.width + x as usize;
        self.pixels[place] = self.mix(self.pixels[place], ink, step.min(WHOLE));
    }

    /// Fills whole pixels, clipped to the canvas.
    pub fn fill(&mut self, x: Range<i64>, y: Range<i64>, ink: usize, step: usize) {
        let clip = |range: Range<i64>, most: usize| {
            range.start.clamp(0, most as i64) as usize..range.end.clamp(0, most as i64) as usize
        };
        let (columns, rows) = (clip(x, self.width), clip(y, self.height));
        if step == 0 || columns.is_empty() {
            return;
        }
        for row in rows {
            let (mut under, mut mixed) = (None, 0);
            for place in row * self.width + columns.start..row * self.width + columns.end {
                let here = self.pixels[place];
                if under != Some(here) {
                    (under, mixed) = (Some(here), self.mix(here, ink, step.min(WHOLE)));
                }
                self.pixels[place] = mixed;
            }
        }
    }

    /// Lays another canvas over this one, its top left at these pixels.
    pub fn lay(&mut self, other: &Self, (left, top): (i64, i64)) {
        let indices: Vec<u8> = other
            .palette
            .iter()
            .map(|color| self.index_of(*color))
            .collect();
        for (y, row) in other.pixels.chunks_exact(other.width.max(1)).enumerate() {
            for (x, index) in row.iter().enumerate() {
                let (x, y) = (left + x as i64, top + y as i64);
                if x >= 0 && y >= 0 && x < self.width as i64 && y < self.height as i64 {
                    self.pixels[y as usize * self.width + x as usize] =
                        indices[usize::from(*index)];
                }
            }
        }
    }

    /// A stroke of `weight` pixels between two points, clipped to `rows`.
    pub fn stroke(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        weight: f64,
        rows: &Range<i64>,
        ink: usize,
    ) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        if !length.is_finite() || length == 0.0 {
            return;
        }
        let steep = dy.abs() > dx.abs();
        // Along the longer axis, so that each step has one interval across.
        let turn = |(x, y): (f64, f64)| if steep { (y, x) } else { (x, y) };
        let (mut a, mut b) = (turn(from), turn(to));
        if a.0 > b.0 {
            std::mem::swap(&mut a, &mut b);
        }
        let slope = (b.1 - a.1) / (b.0 - a.0);
        let half = weight / 2.0 * length / (b.0 - a.0);
        let along = if steep {
            rows.clone()
        } else {
            0..self.width as i64
        };
        let most = if steep { self.width } else { self.height } as i64;
        let (first, last) = (
            (a.0.floor() as i64).max(along.start),
            (b.0.ceil() as i64).min(along.end),
        );
        for step in first..last {
            let (begin, end) = ((step as f64).max(a.0), ((step + 1) as f64).min(b.0));
            let share = end - begin;
            let middle = a.1 + slope * (f64::midpoint(begin, end) - a.0);
            let (low, high) = (middle - half, middle + half);
            for across in (low.floor() as i64).max(0)..(high.ceil() as i64).min(most) {
                let covered = (high.min((across + 1) as f64) - low.max(across as f64))
                    .clamp(0.0, 1.0)
                    * share;
                let (x, y) = if steep {
                    (across, step)
                } else {
                    (step, across)
                };
                if rows.contains(&y) {
                    self.dab(x, y, ink, (covered * STEPS as f64).round() as usize);
                }
            }
        }
    }

    /// A disc, or a diamond, around a point.
    pub fn spot(&mut self, (x, y): (f64, f64), radius: f64, diamond: bool, ink: usize) {
        let far = |dx: f64, dy: f64| {
            if diamond {
                (dx.abs() + dy.abs()) * std::f64::consts::FRAC_1_SQRT_2
            } else {
                dx.hypot(dy)
            }
        };
        let reach = radius.ceil() as i64 + 2;
        for py in y as i64 - reach..=y as i64 + reach {
            for px in x as i64 - reach..=x as i64 + reach {
                let covered = radius + 0.5 - far(px as f64 + 0.5 - x, py as f64 + 0.5 - y);
                self.dab(
                    px,
                    py,
                    ink,
                    (covered.clamp(0.0, 1.0) * STEPS as f64).round() as usize,
                );
            }
        }
    }

    /// A triangle with its point at `(x, y)`, upward or downward.
    pub fn arrow(&mut self, (x, y): (f64, f64), size: f64, up: bool, ink: usize) {
        for step in 0..size.round().max(1.0) as i64 {
            let half = (step as f64 + 0.5) * 0.6;
            let row = if up { y as i64 + step } else { y as i64 - step };
            for px in (x - half).floor() as i64..(x + half).ceil() as i64 {
                let covered =
                    ((x + half).min((px + 1) as f64) - (x - half).max(px as f64)).clamp(0.0, 1.0);
                self.dab(px, row, ink, (covered * STEPS as f64).round() as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests;
