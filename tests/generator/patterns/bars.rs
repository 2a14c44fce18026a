//! OHLCV bars from intrabar paths, and pure random walks.

use crate::random::Random;

/// Path points per bar.
pub(super) const STEPS: usize = 12;

/// Open, high, low, close, volume; equal lengths.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bars {
    pub(crate) open: Vec<f64>,
    pub(crate) high: Vec<f64>,
    pub(crate) low: Vec<f64>,
    pub(crate) close: Vec<f64>,
    /// NaN if unknown.
    pub(crate) volume: Vec<f64>,
}

impl Bars {
    pub(crate) fn len(&self) -> usize {
        self.close.len()
    }

    /// `path`: the level at `STEPS` points per bar, plus the last bar's close.
    pub(super) fn from_path(path: &[f64]) -> Self {
        let mut bars = Self::default();
        for start in (0..path.len() - 1).step_by(STEPS) {
            let within = &path[start..=start + STEPS];
            bars.open.push(within[0]);
            bars.high
                .push(within.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            bars.low
                .push(within.iter().copied().fold(f64::INFINITY, f64::min));
            bars.close.push(within[STEPS]);
        }
        bars
    }

    /// Median true range (Wilder 1978, without his smoothing).
    pub(super) fn true_range(&self) -> f64 {
        let mut ranges: Vec<f64> = (1..self.len())
            .map(|i| self.high[i].max(self.close[i - 1]) - self.low[i].min(self.close[i - 1]))
            .collect();
        ranges.sort_by(f64::total_cmp);
        ranges[ranges.len() / 2]
    }

    /// Converts log levels, scaled by `unit`, to prices around `price`.
    pub(super) fn priced(mut self, unit: f64, price: f64) -> Self {
        let middle = self.close[self.len() / 2];
        for column in [
            &mut self.open,
            &mut self.high,
            &mut self.low,
            &mut self.close,
        ] {
            for level in column.iter_mut() {
                *level = price * (unit * (*level - middle)).exp();
            }
        }
        self
    }

    /// Volumes around one level, larger on larger bars, tripled at `surge`; NaN in a fifth of the series.
    pub(super) fn traded(mut self, random: &mut Random, surge: Option<usize>) -> Self {
        let level = random.scale(1e2, 1e8);
        let known = random.chance(0.8);
        let surges = random.chance(0.6);
        let range = self.true_range();
        self.volume = (0..self.len())
            .map(|i| {
                let size = ((self.high[i] - self.low[i]) / range).sqrt();
                let surge = if surges && surge == Some(i) { 3.0 } else { 1.0 };
                if known {
                    level * (0.3 * random.normal()).exp() * (0.5 + size) * surge
                } else {
                    f64::NAN
                }
            })
            .collect();
        self
    }
}

/// Volatility process of the bars: GARCH(1,1) around one (Bollerslev 1986), or constant.
pub(super) struct Volatility {
    clustered: bool,
    variance: f64,
}

impl Volatility {
    pub(super) fn new(clustered: bool) -> Self {
        Self {
            clustered,
            variance: 1.0,
        }
    }

    /// Next bar's standard deviation.
    pub(super) fn next(&mut self, random: &mut Random) -> f64 {
        if !self.clustered {
            return 1.0;
        }
        let shock = self.variance * random.normal().powi(2);
        self.variance = (0.05 + 0.12 * shock + 0.83 * self.variance).clamp(0.1, 9.0);
        self.variance.sqrt()
    }
}

/// Path points of a random walk of `bars` bars from 0, without the first.
pub(super) fn wander(
    random: &mut Random,
    volatility: &mut Volatility,
    bars: usize,
    spread: f64,
    drift: f64,
) -> Vec<f64> {
    let mut level = 0.0;
    let mut path = Vec::with_capacity(bars * STEPS);
    for _ in 0..bars {
        let step = spread * volatility.next(random) / (STEPS as f64).sqrt();
        for _ in 0..STEPS {
            level += step * random.normal() + drift / STEPS as f64;
            path.push(level);
        }
    }
    path
}

/// A pure random walk: every finding in it is a false positive.
pub(crate) fn walk(random: &mut Random, length: usize) -> Bars {
    let clustered = random.chance(0.5);
    let spread = random.scale(0.003, 0.06);
    let mut path = vec![0.0];
    path.extend(wander(
        random,
        &mut Volatility::new(clustered),
        length,
        spread,
        0.0,
    ));
    let mut bars = Bars::from_path(&path);
    if clustered {
        wicks(random, &mut bars, 0.08);
    }
    let price = random.scale(1e-4, 5e4);
    bars.priced(1.0, price).traded(random, None)
}

/// Adds wicks to a `share` of the bars, half a true range long on average.
pub(super) fn wicks(random: &mut Random, bars: &mut Bars, share: f64) {
    let range = bars.true_range();
    for i in 0..bars.len() {
        if random.chance(share) {
            let length = 0.5 * range * random.exponential().min(3.0);
            if random.chance(0.5) {
                bars.high[i] += length;
            } else {
                bars.low[i] -= length;
            }
        }
    }
}
