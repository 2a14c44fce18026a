//! Price scales: mapping prices to positions and back, linear or logarithmic, and round tick values.

/// Limit for doubling the requested ticks while fewer than three fit.
const TICKS_MOST: usize = 12;

/// Maps a price range to 0 (low) … 1 (high).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// A scale over `low..=high`; an empty range is widened, and a range that has no logarithm is linear.
    pub fn new(low: f64, high: f64, log: bool) -> Self {
        let (mut low, mut high) = if low.is_finite() && high.is_finite() && low <= high {
            (low, high)
        } else {
            (0.0, 1.0)
        };
        if high - low <= high.abs() * 1e-9 {
            let margin = if high == 0.0 { 1.0 } else { high.abs() * 0.01 };
            (low, high) = (low - margin, high + margin);
        }
        let log = log && low > 0.0;
        if !(high - low).is_finite() {
            (low, high) = (low / 4.0, high / 4.0);
        }
        Self { low, high, log }
    }

    pub fn low(&self) -> f64 {
        self.low
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    /// The position of the price; outside 0…1 beyond the range, NaN if undefined.
    pub fn place(&self, price: f64) -> f64 {
        if self.log {
            if price <= 0.0 {
                f64::NAN
            } else {
                (price / self.low).ln() / (self.high / self.low).ln()
            }
        } else {
            (price - self.low) / (self.high - self.low)
        }
    }

    /// The price at a position.
    pub fn price(&self, place: f64) -> f64 {
        if self.log {
            self.low * (self.high / self.low).powf(place)
        } else {
            self.low + place * (self.high - self.low)
        }
    }

    /// About `most` round prices inside the range, ascending, three or more where possible: steps of 1, 2 or 5 times a power of ten; on a
    /// logarithmic scale over more than a decade, 1, 2 and 5 times each power (or each power alone).
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let mut most = most;
        while most > 0 {
            let decades = if self.log {
                (self.high / self.low).log10()
            } else {
                0.0
            };
            let ticks = if decades > 1.0 {
                self.log_ticks(most, decades)
            } else {
                self.even_ticks(most)
            };
            let ticks: Vec<f64> = ticks
                .into_iter()
                .filter(|tick| (self.low..=self.high).contains(tick))
                .collect();
            // A single tick shows no scale, and one may be hidden by the tag of the last price.
            if ticks.len() > 2 || most > TICKS_MOST {
                return ticks;
            }
            most *= 2;
        }
        Vec::new()
    }

    fn even_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|unit| unit * power)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(power * 10.0);
        if !step.is_normal() {
            return Vec::new();
        }
        let first = (self.low / step).ceil();
        // Multiples, not sums: sums accumulate rounding errors.
        (0..=most.min(1_000))
            .map(|i| (first + i as f64) * step)
            .collect()
    }

    fn log_ticks(&self, most: usize, decades: f64) -> Vec<f64> {
        let units: &[f64] = if decades * 3.0 <= most as f64 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let stride = (decades / most as f64).ceil().max(1.0) as i32;
        let (first, last) = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        (first..=last)
            .step_by(stride as usize)
            .flat_map(|power| units.iter().map(move |unit| unit * 10_f64.powi(power)))
            .collect()
    }
}

/// Decimals that distinguish ticks this far apart.
pub fn decimals(step: f64) -> usize {
    if step.is_finite() && step > 0.0 {
        (-step.log10().floor()).clamp(0.0, 12.0) as usize
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round() {
        let cases: [(f64, f64, bool, usize, &[f64]); 5] = [
            (6.1, 8.2, false, 5, &[6.5, 7.0, 7.5, 8.0]),
            (0.0, 100.0, false, 4, &[0.0, 50.0, 100.0]),
            (1.0, 1_000.0, true, 4, &[1.0, 10.0, 100.0, 1_000.0]),
            (1.0, 60.0, true, 6, &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]),
            (
                2_900.0,
                3_100.0,
                true,
                4,
                &[2_900.0, 2_950.0, 3_000.0, 3_050.0, 3_100.0],
            ),
        ];
        for (low, high, log, most, expected) in cases {
            assert_eq!(
                Scale::new(low, high, log).ticks(most),
                expected,
                "{low}..{high}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_price_comes_back_from_its_place(low in 1e-9_f64..1e9, factor in 1.001_f64..1e6, place in 0.0_f64..1.0, log in any::<bool>()) {
            let scale = Scale::new(low, low * factor, log);
            let price = scale.price(place);
            prop_assert!((scale.place(price) - place).abs() < 1e-6);
            let ticks = scale.ticks(8);
            prop_assert!(ticks.len() <= 25 && ticks.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(ticks.len() > 2 && scale.ticks(2).len() > 2, "{:?}", scale.ticks(2));
        }

        #[test]
        fn any_range_has_a_scale(low in any::<f64>(), high in any::<f64>(), log in any::<bool>(), most in 0_usize..50) {
            let scale = Scale::new(low, high, log);
            prop_assert!(scale.low() < scale.high());
            let _ = scale.ticks(most);
        }
    }
}
