//! The one notation of a price axis: of its ticks, and of the tags beside them.

use super::scale::decimals;
use crate::widgets::text;
use model::{candles::Candles, format};

/// Cells of a label: at least, and at most.
const CELLS: (u16, u16) = (9, 14);

/// Cells that a price of these candles, or a level half as high, takes as tables write it: `59,870.00`, `0.00000831`.
pub(super) fn cells(candles: &Candles<'_>) -> u16 {
    let prices = candles
        .low
        .iter()
        .copied()
        .filter(|low| *low > 0.0 && low.is_finite());
    let least = prices.fold(f64::INFINITY, f64::min);
    let longest = format::price(Some(least / 2.0).filter(|least| least.is_finite())).len();
    (longest as u16).clamp(CELLS.0, CELLS.1)
}

/// A unit or power of ten common to the whole axis, and the decimals that tell its ticks apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PriceNotation {
    /// `None` over too many decades: each price is shortened alone.
    common: Option<(f64, String)>,
    decimals: usize,
    cells: usize,
}

impl PriceNotation {
    /// Plain where the ticks fit; with a common unit or power of ten if they are huge or tiny.
    pub(super) fn of(ticks: &[f64], cells: usize) -> Self {
        let most = ticks
            .iter()
            .fold(0.0_f64, |most, tick| most.max(tick.abs()));
        let step = step(ticks);
        let exponent = if most > 0.0 {
            most.log10().floor()
        } else {
            0.0
        };
        let plain = Some((1.0, String::new())).filter(|_| most < 1e6);
        let unit = format::unit(most).map(|(size, suffix)| (size, suffix.to_owned()));
        let power = Some((10_f64.powf(exponent), format!("e{exponent}")));
        let tries = [plain, unit, power].into_iter().flatten();
        let tries = tries.map(|(size, mark)| Self {
            decimals: decimals(step / size),
            common: Some((size, mark)),
            cells,
        });
        let fits = |notation: &Self| {
            ticks
                .iter()
                .all(|tick| notation.written(*tick, notation.decimals).is_some())
        };
        tries.into_iter().find(fits).unwrap_or(Self {
            common: None,
            decimals: decimals(step),
            cells,
        })
    }

    /// `None` if it does not fit, or would read as zero.
    fn written(&self, price: f64, decimals: usize) -> Option<String> {
        let (size, mark) = self.common.as_ref()?;
        let digits = format::fixed(price / size, decimals);
        let is_told = price == 0.0 || digits.contains(|c: char| ('1'..='9').contains(&c));
        Some(digits + mark).filter(|text| is_told && text.len() <= self.cells)
    }

    pub(super) fn tick(&self, price: f64) -> String {
        self.written(price, self.decimals)
            .unwrap_or_else(|| fit_value(price, format::human(Some(price)), self.cells))
    }

    /// A price between the ticks: as tables write it, and at least as fine as the ticks.
    pub(super) fn tag(&self, price: f64) -> String {
        let usual = format::price(Some(price));
        let shown = usual.split_once('.').map_or(0, |(_, after)| after.len());
        let is_plain = self.common.as_ref().is_none_or(|(_, mark)| mark.is_empty());
        if is_plain
            && usual.len() <= self.cells
            && (shown >= self.decimals || self.common.is_none())
        {
            return usual;
        }
        let finest = if is_plain {
            shown.max(self.decimals)
        } else {
            self.decimals + 1
        };
        let written = (0..=finest)
            .rev()
            .find_map(|decimals| self.written(price, decimals));
        written.unwrap_or_else(|| fit_value(price, usual, self.cells))
    }
}

/// The smallest distance between ticks; a hundredth of the value for a single tick.
fn step(ticks: &[f64]) -> f64 {
    let least = ticks
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .fold(f64::INFINITY, f64::min);
    // Rounding errors can make differences of round numbers slightly too small.
    if least.is_finite() {
        least * (1.0 + 1e-6)
    } else {
        ticks.first().map_or(1.0, |tick| tick.abs() / 100.0)
    }
}

/// A figure, shortened until it fits.
pub(super) fn fit_value(value: f64, usual: String, cells: usize) -> String {
    text::longest_that_fits(
        [
            usual,
            format::human(Some(value)),
            format::brief(value, cells),
        ],
        cells,
    )
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
            (
                &[0.000_000_95, 0.000_001, 0.000_001_05],
                &["0.95e-6", "1.00e-6", "1.05e-6"],
            ),
            (&[1.0, 10.0, 100.0], &["1", "10", "100"]),
            (
                &[1e-9, 1e-3, 1e3, 1e9],
                &["1.00e-9", "0.00100", "1,000", "1.00B"],
            ),
            (&[5e-4], &["0.000500"]),
        ];
        for (ticks, texts) in cases {
            let notation = PriceNotation::of(ticks, 9);
            assert_eq!(
                ticks
                    .iter()
                    .map(|tick| notation.tick(*tick))
                    .collect::<Vec<_>>(),
                texts
            );
        }
    }

    #[test]
    fn a_tag_is_as_fine_as_its_axis_and_in_its_notation() {
        let cases: [(&[f64], usize, f64, &str); 10] = [
            (&[4.0, 5.0], 9, 1.2e-9, "1.20e-9"),
            (&[1.000_02, 1.000_04], 9, 1.000_036, "1.00004"),
            (&[14.0, 14.5], 9, 14.309, "14.31"),
            (&[55_000.0, 60_000.0], 9, 59_870.0, "59,870.00"),
            (&[120_000.0, 125_000.0], 9, 123_456.78, "123,456.8"),
            (&[0.000_008, 0.000_008_5], 10, 0.000_008_314, "0.00000831"),
            (&[0.000_010, 0.000_012], 9, 0.000_009_44, "0.0000094"),
            (
                &[0.000_000_95, 0.000_001, 0.000_001_05],
                9,
                0.000_001_012_3,
                "1.012e-6",
            ),
            (&[12_310_000.0, 12_320_000.0], 9, 12_314_400.0, "12.314M"),
            (&[1e-9, 1e-3, 1e3, 1e9], 9, -9.99e-120, "-1.0e-119"),
        ];
        for (ticks, cells, price, says) in cases {
            assert_eq!(PriceNotation::of(ticks, cells).tag(price), says);
        }
    }

    #[test]
    fn small_prices_have_as_many_cells_as_in_a_table() {
        for (low, wanted) in [
            (7.3, 9),
            (0.000_010_5, 10),
            (8.31e-6, 10),
            (3.2e-10, 14),
            (8.31e-13, 9),
            (f64::NAN, 9),
        ] {
            assert_eq!(
                cells(&Candles {
                    low: &[low],
                    ..Candles::default()
                }),
                wanted,
                "{low}"
            );
        }
    }
}
