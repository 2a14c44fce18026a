//! Price paths: drift regimes, volatility clustering, a common market factor, and a chart pattern or trend at the end. Levels are log
//! prices. `candles` fills each step.

use super::{
    market::DemoToken,
    random::Random,
    shapes::{self, PriceEnding, PriceShape, SHAPES},
};

/// GARCH(1,1) (Bollerslev 1986), with weights as estimated from daily returns of large tokens.
const SHOCK_WEIGHT: f64 = 0.10;
const VARIANCE_WEIGHT: f64 = 0.86;
/// Beta: a token's share in the market's return.
const BETA: f64 = 0.55;
/// Standard deviation of the market's daily return.
const MARKET_SPREAD: f64 = 0.017;
/// Height of a pattern in daily standard deviations, and the factor by which these shrink inside it.
const SHAPE_SIZE: f64 = 6.2;
const SHAPE_CALM: f64 = 0.6;
/// Noise of a pattern's closes around its lines, in standard deviations of its days.
const SHAPE_NOISE: f64 = 0.6;
/// Daily mean reversion towards the initial price.
const MEAN_REVERSION: f64 = 0.006;
const TREND_BARS: usize = 64;
/// Invented tokens that crash, and the number of steps before the end.
const CRASHES: &[(&str, usize)] = &[("SAFEMAX", 9), ("CLAIMETH", 33), ("BLOX∞", 150)];

#[derive(Debug, Clone)]
pub(super) struct Path {
    /// One more than the steps: the initial level, then the level at the end of each step.
    pub(super) levels: Vec<f64>,
    /// Standard deviation of each step.
    pub(super) spreads: Vec<f64>,
    /// Standard deviation of a typical step.
    pub(super) usual: f64,
}

impl Path {
    /// Generates `steps` steps of `length` days each; the last ends at the token's price.
    pub(super) fn new(token: &DemoToken, seed: u64, steps: usize, length: f64) -> Self {
        let mut path = if token.stable {
            pegged(token, seed, steps)
        } else {
            random_walk(token, seed, steps, length)
        };
        let shift = token.price.ln() - path.levels.last().copied().unwrap_or_default();
        path.levels.iter_mut().for_each(|level| *level += shift);
        path
    }

    /// Simple return of step `i`, as a fraction.
    pub(super) fn change(&self, i: usize) -> f64 {
        (self.levels[i + 1] - self.levels[i]).exp() - 1.0
    }
}

fn pegged(token: &DemoToken, seed: u64, steps: usize) -> Path {
    let mut random = Random::new(seed, &format!("peg:{}", token.symbol));
    let mut level = 0.0;
    let slip = steps * 3 / 5;
    let mut levels: Vec<f64> = Vec::with_capacity(steps + 1);
    for i in 0..=steps {
        level = 0.7 * level + 0.0005 * random.normal();
        // An invented stablecoin loses its peg once and regains it.
        let loss = if !token.real && i >= slip {
            -0.07 * (-((i - slip) as f64) / 5.0).exp()
        } else {
            0.0
        };
        levels.push(level + loss);
    }
    Path {
        levels,
        spreads: vec![0.0006; steps],
        usual: 0.0006,
    }
}

fn random_walk(token: &DemoToken, seed: u64, steps: usize, length: f64) -> Path {
    let mut random = Random::new(seed, &format!("path:{}", token.asset));
    let mut market = Random::new(seed, "market");
    let usual = length.sqrt()
        * if token.real {
            random.between(0.026, 0.042)
        } else {
            random.between(0.04, 0.065)
        };
    let plan = PathPlan::new(token, steps, &mut random);
    let mut walk = Walk {
        variance: usual * usual,
        usual,
        drift: 0.0,
        left: 0,
    };
    let mut market_drift = 0.0;
    let (mut levels, mut spreads) = (vec![0.0], Vec::with_capacity(steps));
    let (mut level, mut noise) = (0.0, 0.0);
    for i in 0..steps {
        if i % 45 == 0 {
            market_drift = market.between(-0.1, 0.1);
        }
        let market_return = length.sqrt() * MARKET_SPREAD * (market.normal() + market_drift);
        let (step, spread) = match plan.at(i) {
            PathPart::Shape(shape, bar) => {
                let before = noise;
                noise = 0.45 * noise + SHAPE_NOISE * usual * SHAPE_CALM * random.normal();
                (
                    SHAPE_SIZE * usual * (shape.height(bar + 1) - shape.height(bar)) + noise
                        - before,
                    usual * SHAPE_CALM,
                )
            }
            PathPart::Trend(drift) => {
                let (step, spread) = walk.step(&mut random);
                (0.8 * (step - walk.drift) + drift * usual, spread)
            }
            PathPart::Open => {
                let (step, spread) = walk.step(&mut random);
                (
                    step + BETA * market_return - MEAN_REVERSION * length * level,
                    spread,
                )
            }
        };
        level += step;
        levels.push(level);
        spreads.push(spread);
    }
    let mut path = Path {
        levels,
        spreads,
        usual,
    };
    path.limit_range(
        if token.real { 1.7 } else { 2.6 },
        steps as f64 * length / 400.0,
    );
    path.crash(token);
    path
}

impl Path {
    /// Compresses the path's range, so that long histories stay within plausible prices.
    fn limit_range(&mut self, limit: f64, years: f64) {
        let (low, high) = self
            .levels
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), level| {
                (low.min(*level), high.max(*level))
            });
        let scale = (limit * years.max(1.0).powf(0.25) / (high - low).max(1e-9)).min(1.0);
        self.levels
            .iter_mut()
            .chain(&mut self.spreads)
            .for_each(|value| *value *= scale);
        self.usual *= scale;
    }

    /// Steps before the end at which the token crashes, if it does.
    fn crashes(token: &DemoToken) -> Option<usize> {
        CRASHES
            .iter()
            .find(|(symbol, _)| !token.real && *symbol == token.symbol)
            .map(|(_, before_end)| *before_end)
    }

    /// Description of the last price movement of `token`; `None` for a random walk.
    pub(super) fn ending(token: &DemoToken) -> Option<&'static str> {
        match shapes::ending(token.asset_index) {
            _ if token.stable => None,
            _ if Self::crashes(token).is_some() => Some("liquidity removed"),
            PriceEnding::Shape(shape) => Some(SHAPES[shape].name),
            PriceEnding::Trend(drift) => Some(if drift > 0.0 { "uptrend" } else { "downtrend" }),
            PriceEnding::Open => None,
        }
    }

    /// Applies a crash, as when liquidity is pulled: the price loses over nine tenths within two steps and moves little after.
    fn crash(&mut self, token: &DemoToken) {
        let Some(before_end) = Self::crashes(token) else {
            return;
        };
        let Some(at) = self.levels.len().checked_sub(before_end + 2) else {
            return;
        };
        let base = self.levels[at];
        for (i, level) in self.levels.iter_mut().enumerate().skip(at + 1) {
            *level = base + 0.3 * (*level - base) - if i == at + 1 { 1.4 } else { 2.9 };
        }
    }
}

struct Walk {
    variance: f64,
    usual: f64,
    drift: f64,
    /// Steps until the regime changes.
    left: usize,
}

impl Walk {
    fn step(&mut self, random: &mut Random) -> (f64, f64) {
        if self.left == 0 {
            self.left = random.spread(8.0, 48.0) as usize;
            self.drift =
                self.usual * random.pick(&[-0.24, -0.15, -0.08, 0.0, 0.0, 0.08, 0.15, 0.24]);
        }
        self.left -= 1;
        let spread = self.variance.sqrt();
        let jump = if random.unit() < 0.012 { 2.6 } else { 1.0 };
        let shock = spread * jump * random.normal();
        self.variance = (1.0 - SHOCK_WEIGHT - VARIANCE_WEIGHT) * self.usual * self.usual
            + SHOCK_WEIGHT * shock * shock
            + VARIANCE_WEIGHT * self.variance;
        (shock + self.drift, spread)
    }
}

enum PathPart {
    Shape(&'static PriceShape, usize),
    Trend(f64),
    Open,
}

/// Placement of patterns and trends on the path.
struct PathPlan {
    steps: usize,
    ending: PriceEnding,
    /// A pattern in the middle, and its first step.
    middle: Option<(&'static PriceShape, usize)>,
}

impl PathPlan {
    fn new(token: &DemoToken, steps: usize, random: &mut Random) -> Self {
        let shape = random.pick(SHAPES);
        let start = (steps as f64 * random.between(0.2, 0.6)) as usize;
        let middle = (random.unit() < 0.7 && start + shape.bars() + TREND_BARS < steps)
            .then_some((shape, start));
        Self {
            steps,
            ending: shapes::ending(token.asset_index),
            middle,
        }
    }

    fn at(&self, i: usize) -> PathPart {
        match (self.ending, self.middle) {
            (PriceEnding::Shape(shape), _) if i + SHAPES[shape].bars() >= self.steps => {
                let shape = &SHAPES[shape];
                PathPart::Shape(shape, i + shape.bars() - self.steps)
            }
            (PriceEnding::Trend(drift), _) if i + TREND_BARS >= self.steps => {
                PathPart::Trend(drift)
            }
            (_, Some((shape, start))) if (start..start + shape.bars()).contains(&i) => {
                PathPart::Shape(shape, i - start)
            }
            _ => PathPart::Open,
        }
    }
}
