//! Demo candles: a Brownian bridge fills each step of a token's path, with intraday seasonality of activity. Streamed: only one token's
//! path and one step's candles are in memory.

use super::{
    DemoOptions,
    error::DemoError,
    market::{DemoMarket, DemoToken, END_MS, LEADERS},
    output::{DemoTable, row},
    path::Path,
    random::{Random, round},
};
use model::{
    candles::Interval,
    time::{DAY_MS, Time},
};

pub(super) const COLUMNS: &str = "token_address interval timestamp open high low close volume";
const PRICE_DIGITS: i32 = 6;
const VOLUME_DIGITS: i32 = 4;
/// Trading activity by UTC hour: low at night, high when Europe and America both trade.
const HOURS: [f64; 24] = [
    0.95, 0.9, 0.85, 0.8, 0.75, 0.72, 0.75, 0.85, 0.95, 1.0, 1.0, 1.02, 1.1, 1.3, 1.5, 1.55, 1.45,
    1.3, 1.15, 1.05, 1.0, 0.98, 0.97, 0.96,
];

/// Candle interval and number of candles of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CandlePlan {
    pub(super) interval: Interval,
    pub(super) count: u64,
}

impl CandlePlan {
    pub(super) fn new(options: &DemoOptions, token: usize) -> Self {
        let days = u64::from(options.days);
        if let Some(rows) = options.candles {
            let tokens = u64::from(options.tokens.max(1));
            let count = rows / tokens + u64::from((token as u64) < rows % tokens);
            return Self {
                interval: options
                    .interval
                    .unwrap_or_else(|| finest_needed(rows.div_ceil(tokens), days)),
                count,
            };
        }
        let interval = options.interval.unwrap_or(if token < LEADERS {
            Interval::HOUR
        } else {
            Interval::DAY
        });
        Self {
            interval,
            count: days * DAY_MS as u64 / interval.0 as u64,
        }
    }
}

/// Returns the longest usual interval at which `count` candles fit into `days`, or one minute.
fn finest_needed(count: u64, days: u64) -> Interval {
    let fits = |interval: &&Interval| count * interval.0 as u64 <= days * DAY_MS as u64;
    let minutes = |n: i64| Interval(n * Interval::HOUR.0 / 60);
    [
        Interval::DAY,
        Interval::FOUR_HOURS,
        Interval::HOUR,
        minutes(5),
        minutes(1),
    ]
    .iter()
    .find(fits)
    .copied()
    .unwrap_or(minutes(1))
}

/// Errors: the interval neither divides a day nor is whole days, or candles would start before 1970.
pub(super) fn check(options: &DemoOptions) -> Result<(), DemoError> {
    let plan = CandlePlan::new(options, 0);
    let length = plan.interval.0;
    if length < Interval::HOUR.0 / 60 || (DAY_MS % length != 0 && length % DAY_MS != 0) {
        return Err(DemoError::Interval(plan.interval));
    }
    let most = (END_MS / length) as u64;
    if plan.count > most {
        let tokens = u64::from(options.tokens);
        return Err(DemoError::TooManyCandles {
            count: plan.count,
            interval: plan.interval,
            most: most * tokens,
        });
    }
    Ok(())
}

pub(super) fn rows(market: &DemoMarket) -> u64 {
    (0..market.tokens.len())
        .map(|token| CandlePlan::new(&market.options, token).count)
        .sum()
}

/// Returns the price path of `token` in daily or longer steps, and the number of candles per step.
pub(super) fn path(market: &DemoMarket, token: &DemoToken, plan: CandlePlan) -> (Path, usize) {
    let step = plan.interval.0.max(DAY_MS);
    let per_step = (step / plan.interval.0) as u64;
    (
        Path::new(
            token,
            market.options.seed,
            plan.count.div_ceil(per_step) as usize,
            step as f64 / DAY_MS as f64,
        ),
        per_step as usize,
    )
}

pub(super) fn write(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for token in &market.tokens {
        let plan = CandlePlan::new(&market.options, token.index);
        let (path, per_step) = path(market, token, plan);
        let interval = plan.interval.to_string();
        let mut random = Random::new(
            market.options.seed,
            &format!("candles:{}:{}", token.asset, plan.interval),
        );
        let mut filler = Filler::new(token, &path, per_step, &mut random);
        // The first step may have more candles than are asked for.
        let skipped = path.spreads.len() * per_step - plan.count as usize;
        let start = END_MS - plan.interval.0 * (plan.count as usize + skipped) as i64;
        for step in 0..path.spreads.len() {
            filler.fill(step, &mut random);
            for (j, &[open, high, low, close, volume]) in filler.candles.iter().enumerate() {
                let i = step * per_step + j;
                if i >= skipped {
                    let timestamp = Time(start + plan.interval.0 * i as i64);
                    row!(
                        table,
                        token.address,
                        &interval,
                        timestamp,
                        open,
                        high,
                        low,
                        close,
                        volume
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// Fills the steps of a token's path with candles.
struct Filler<'a> {
    path: &'a Path,
    /// Cumulative share of a step's variance at the end of each candle.
    shares: Vec<f64>,
    /// Tokens traded in a typical step.
    usual_volume: f64,
    /// Open, high, low, close, volume of the current step's candles.
    candles: Vec<[f64; 5]>,
    offsets: Vec<f64>,
    volatility: f64,
}

impl<'a> Filler<'a> {
    fn new(token: &DemoToken, path: &'a Path, per_step: usize, random: &mut Random) -> Self {
        let weights: Vec<f64> = (0..per_step)
            .map(|j| HOURS[(j * 24 / per_step) % 24])
            .collect();
        let total: f64 = weights.iter().sum();
        let shares = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight / total;
                Some(*sum)
            })
            .collect();
        let turnover = random.spread(0.012, 0.09);
        Self {
            path,
            shares,
            usual_volume: token.supply * turnover,
            candles: Vec::with_capacity(per_step),
            offsets: vec![0.0; per_step],
            volatility: 0.0,
        }
    }

    fn share(&self, j: usize) -> f64 {
        self.shares[j] - if j == 0 { 0.0 } else { self.shares[j - 1] }
    }

    /// Fills a step with a Brownian bridge between its ends, its variance distributed by hourly activity.
    fn fill(&mut self, step: usize, random: &mut Random) {
        let (from, to, spread) = (
            self.path.levels[step],
            self.path.levels[step + 1],
            self.path.spreads[step],
        );
        let per_step = self.offsets.len();
        let mut level = 0.0;
        for j in 0..per_step {
            // Volatility clusters over several candles.
            self.volatility = 0.93 * self.volatility + 0.13 * random.normal();
            level +=
                spread * self.share(j).sqrt() * (1.0 + self.volatility).max(0.3) * random.normal();
            self.offsets[j] = level;
        }
        let closing_error = level - (to - from);
        self.candles.clear();
        let mut open = from;
        let mut open_price = round(from.exp(), PRICE_DIGITS);
        for j in 0..per_step {
            let close = if j + 1 == per_step {
                to
            } else {
                from + self.offsets[j] - closing_error * self.shares[j]
            };
            let usual = self.path.usual * self.share(j).sqrt();
            let wick = 0.55 * spread * self.share(j).sqrt();
            let high = open.max(close) + wick * random.normal().abs();
            let low = open.min(close) - wick * random.normal().abs();
            let activity = (0.45 + 0.75 * (close - open).abs() / usual).min(9.0)
                * (0.3 * random.normal()).exp();
            let close_price = round(close.exp(), PRICE_DIGITS);
            let volume = round(self.usual_volume * self.share(j) * activity, VOLUME_DIGITS);
            self.candles.push([
                open_price,
                round(high.exp(), PRICE_DIGITS),
                round(low.exp(), PRICE_DIGITS),
                close_price,
                volume,
            ]);
            (open, open_price) = (close, close_price);
        }
    }
}

/// Returns the daily path of `token`: its candles' own path if those are daily or shorter.
pub(super) fn daily(market: &DemoMarket, token: &DemoToken) -> Path {
    let plan = CandlePlan::new(&market.options, token.index);
    if plan.interval <= Interval::DAY {
        path(market, token, plan).0
    } else {
        Path::new(
            token,
            market.options.seed,
            market.options.days as usize,
            1.0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candles_asked_for_are_shared_among_the_tokens() {
        let options = DemoOptions {
            tokens: 7,
            candles: Some(100_003),
            ..DemoOptions::default()
        };
        let plans: Vec<CandlePlan> = (0..7).map(|i| CandlePlan::new(&options, i)).collect();
        assert_eq!(plans.iter().map(|plan| plan.count).sum::<u64>(), 100_003);
        assert!(plans.iter().all(|plan| plan.interval == plans[0].interval));
    }

    #[test]
    fn intervals_that_do_not_tile_days_and_candles_before_1970_are_refused() {
        let with = |interval: i64, candles| {
            check(&DemoOptions {
                interval: Some(Interval(interval)),
                candles,
                ..DemoOptions::default()
            })
        };
        for (interval, candles, fine) in [
            (60_000, None, true),
            (7 * DAY_MS, None, true),
            (7 * 60_000, None, false),
            (1_000, None, false),
            (DAY_MS + 60_000, None, false),
            (DAY_MS, Some(64 * 20_772), true),
            (DAY_MS, Some(64 * 20_772 + 1), false),
        ] {
            assert_eq!(
                with(interval, candles).is_ok(),
                fine,
                "{interval} {candles:?}"
            );
        }
    }
}
