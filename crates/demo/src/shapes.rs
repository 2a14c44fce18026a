//! Chart patterns as polylines, and their assignment to the ends of the tokens' price paths, for the analyses to detect.

/// A pattern: corners as (bar, height), the first at (0, 0); heights in units of the pattern's size.
pub(super) struct PriceShape {
    pub(super) name: &'static str,
    corners: &'static [(u32, f64)],
}

/// The final price movement of the `asset_index`-th asset.
pub(super) fn ending(asset_index: usize) -> PriceEnding {
    ENDINGS[asset_index % ENDINGS.len()]
}

impl PriceShape {
    pub(super) fn bars(&self) -> usize {
        self.corners.last().map_or(0, |corner| corner.0 as usize)
    }

    /// Height at `bar`, interpolated linearly between the corners.
    pub(super) fn height(&self, bar: usize) -> f64 {
        let bar = bar as f64;
        self.corners
            .windows(2)
            .find(|pair| bar <= f64::from(pair[1].0))
            .map_or_else(
                || self.corners.last().map_or(0.0, |corner| corner.1),
                |pair| {
                    let (from, to) = (f64::from(pair[0].0), f64::from(pair[1].0));
                    pair[0].1 + (pair[1].1 - pair[0].1) * (bar - from) / (to - from)
                },
            )
    }
}

macro_rules! shapes {
    ($($name:literal: $($corner:expr),*;)*) => { &[$(PriceShape { name: $name, corners: &[$($corner),*] }),*] };
}

/// Most break out in their last bars, except those named "forming".
pub(super) const SHAPES: &[PriceShape] = shapes! {
    "double bottom": (0, 0.0), (12, -1.6), (21, -0.65), (30, -1.57), (41, -0.5);
    "head and shoulders": (0, 0.0), (10, 1.1), (16, 0.55), (24, 1.75), (32, 0.57), (38, 1.12), (46, 0.3);
    "ascending triangle": (0, 0.0), (8, 1.2), (15, 0.2), (22, 1.2), (28, 0.55), (34, 1.21), (38, 0.85), (44, 1.5);
    "cup and handle": (0, 0.0), (8, 1.3), (12, 0.85), (17, 0.5), (23, 0.32), (30, 0.3), (36, 0.42), (42, 0.75), (48, 1.3), (54, 0.95), (60, 1.5);
    "bull flag": (0, 0.0), (7, 2.2), (11, 1.75), (14, 2.05), (18, 1.6), (21, 1.9), (25, 1.48), (30, 2.4);
    "inverse head and shoulders": (0, 0.0), (10, -1.1), (16, -0.55), (24, -1.75), (32, -0.57), (38, -1.12), (46, -0.3);
    "descending channel": (0, 0.0), (6, -0.9), (12, -0.25), (20, -1.4), (26, -0.75), (34, -1.9), (40, -1.25), (48, -2.4);
    "symmetrical triangle, forming": (0, 0.0), (8, 1.3), (16, 0.1), (23, 1.1), (30, 0.3), (36, 0.92), (41, 0.5);
    "double top": (0, 0.0), (12, 1.6), (21, 0.65), (30, 1.57), (41, 0.4);
    "falling wedge": (0, 0.0), (6, 0.5), (14, -0.9), (21, -0.2), (28, -1.2), (34, -0.75), (40, -1.42), (44, -1.13), (50, -0.5);
    "rectangle, forming": (0, 0.0), (6, 0.8), (13, -0.1), (20, 0.8), (27, -0.1), (34, 0.8), (41, -0.1), (46, 0.5);
    "ascending channel": (0, 0.0), (6, 0.9), (12, 0.25), (20, 1.4), (26, 0.75), (34, 1.9), (40, 1.25), (46, 2.1);
    "triple top": (0, 0.0), (10, 1.5), (17, 0.7), (25, 1.52), (32, 0.72), (40, 1.48), (49, 0.4);
    "bear flag": (0, 0.0), (7, -2.2), (11, -1.75), (14, -2.05), (18, -1.6), (21, -1.9), (25, -1.48), (30, -2.4);
};

/// Final price movement of a token.
#[derive(Debug, Clone, Copy)]
pub(super) enum PriceEnding {
    /// The pattern `SHAPES[i]`.
    Shape(usize),
    /// A trend, in daily standard deviations per bar.
    Trend(f64),
    /// A random walk.
    Open,
}

use PriceEnding::{Open, Shape as Through, Trend};

/// Final price movements, assigned to the assets cyclically.
const ENDINGS: &[PriceEnding] = &[
    Through(0),
    Trend(0.24),
    Through(1),
    Open,
    Through(2),
    Through(3),
    Trend(-0.26),
    Through(4),
    Through(5),
    Through(6),
    Open,
    Through(7),
    Through(8),
    Trend(0.2),
    Through(9),
    Through(10),
    Through(11),
    Open,
    Through(12),
    Through(13),
    Trend(-0.22),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_pass_through_their_corners_in_order() {
        for shape in SHAPES {
            assert_eq!(shape.corners[0], (0, 0.0), "{}", shape.name);
            assert!(
                shape.corners.windows(2).all(|pair| pair[0].0 < pair[1].0),
                "{}",
                shape.name
            );
            for (bar, height) in shape.corners {
                assert!(
                    (shape.height(*bar as usize) - height).abs() < 1e-12,
                    "{}",
                    shape.name
                );
            }
        }
        assert!(
            ENDINGS
                .iter()
                .all(|ending| !matches!(ending, Through(i) if *i >= SHAPES.len()))
        );
    }
}
