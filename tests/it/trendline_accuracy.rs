//! Accuracy of trendlines on synthetic channels, and of the trend word. Bounds are looser than the measured values, so that only real
//! regressions fail. `cargo test --release trendline_accuracy -- --nocapture` prints the figures.

use analysis::{
    timeframes::CandleVec,
    trendlines::{LineType, Trend, trend::WEIGHTS, trendlines},
};
use model::time::DAY_MS;

use crate::{random::Random, shared::shared};

#[allow(
    dead_code,
    reason = "the bench folds by token and span, which no test here does"
)]
#[path = "../../benches/accuracy/trends/marks.rs"]
mod marks;

/// Candles between two parallel lines, and those lines in units of the channel: floor(x) = base + slope·x, height 1.
struct Channel {
    candles: CandleVec,
    base: f64,
    slope: f64,
    height: f64,
}

#[derive(Clone, Copy)]
struct Recipe {
    name: &'static str,
    candles: (usize, usize),
    /// Maximum number of wicks per side that pierce the line.
    false_wicks: usize,
    /// Maximum distance of turns from the line, in units of the noise.
    slack: f64,
    goal: f64,
    bound: f64,
}

const fn recipe(
    name: &'static str,
    candles: (usize, usize),
    false_wicks: usize,
    slack: f64,
    goal: f64,
    bound: f64,
) -> Recipe {
    Recipe {
        name,
        candles,
        false_wicks,
        slack,
        goal,
        bound,
    }
}

const RECIPES: [Recipe; 7] = [
    recipe("clean, 60 to 250 candles", (60, 250), 0, 0.25, 0.95, 0.97),
    recipe(
        "false wicks, 60 to 250 candles",
        (60, 250),
        3,
        0.25,
        0.90,
        0.95,
    ),
    recipe("clean, 30 candles", (30, 30), 0, 0.25, 0.90, 0.95),
    recipe("one false wick, 30 candles", (30, 30), 1, 0.25, 0.90, 0.90),
    recipe(
        "false wicks, 1,000 candles",
        (1_000, 1_000),
        10,
        0.25,
        0.90,
        0.97,
    ),
    recipe(
        "loose turns, 60 to 250 candles",
        (60, 250),
        0,
        1.0,
        0.95,
        0.93,
    ),
    recipe(
        "loose turns and false wicks, 60 to 250 candles",
        (60, 250),
        3,
        1.0,
        0.90,
        0.90,
    ),
];

fn channel(random: &mut Random, recipe: Recipe) -> Channel {
    let n = recipe.candles.0 + random.below(recipe.candles.1 - recipe.candles.0 + 1);
    let height = 10.0_f64.powf(random.between(-4.0, 4.0));
    let drift = random.between(-2.5, 2.5);
    let slope = drift * height / n as f64;
    let base = height * (3.0 + random.between(0.0, 10.0));
    // A line touched by fewer than three turns cannot be found.
    let path = loop {
        let path = path(random, n);
        let turns = |low: bool| {
            path.iter()
                .filter(|(level, turns)| *turns && (*level < 0.5) == low)
                .count()
        };
        if turns(true) >= 3 && turns(false) >= 3 {
            break path;
        }
    };
    let noise = random.between(0.01, 0.05);
    let mut made = CandleVec::default();
    let mut before = path[0].0;
    for (i, &(level, turns)) in path.iter().enumerate() {
        let close = (level + noise * random.normal()).clamp(0.02, 0.98);
        let (mut low, mut high) = (before.min(close), before.max(close));
        low = (low - noise * random.between(0.0, 1.5)).max(0.0 + noise * random.between(0.0, 0.5));
        high =
            (high + noise * random.between(0.0, 1.5)).min(1.0 - noise * random.between(0.0, 0.5));
        let near = recipe.slack * noise * random.normal();
        if turns && level < 0.5 {
            low = level.min(0.02) + near;
        } else if turns {
            high = level.max(0.98) + near;
        }
        let floor = base + slope * i as f64;
        made.timestamp.push(i as i64 * DAY_MS);
        made.open.push(floor + height * before);
        made.close.push(floor + height * close);
        made.low.push(floor + height * low.min(before).min(close));
        made.high.push(floor + height * high.max(before).max(close));
        made.volume.push(f64::NAN);
        before = close;
    }
    for _ in 0..recipe.false_wicks {
        let (i, j) = (random.below(n), random.below(n));
        made.low[i] =
            (base + slope * i as f64 - height * random.between(0.1, 0.6)).min(made.low[i]);
        made.high[j] =
            (base + slope * j as f64 + height * random.between(1.1, 1.6)).max(made.high[j]);
    }
    Channel {
        candles: made,
        base,
        slope,
        height,
    }
}

/// Levels between 0 and 1 with a flag for turns: legs from one line to the other, a fifth of which stop short.
fn path(random: &mut Random, n: usize) -> Vec<(f64, bool)> {
    let legs = 7 + random.below(5);
    let mut low = random.below(2) == 0;
    let mut levels = Vec::with_capacity(n);
    let mut from = if low { 0.9 } else { 0.1 };
    while levels.len() < n {
        let length = ((n as f64 / legs as f64) * random.between(0.6, 1.4))
            .round()
            .max(3.0);
        let short = if random.below(5) == 0 {
            random.between(0.1, 0.35)
        } else {
            0.0
        };
        let to = if low { short } else { 1.0 - short };
        let length = length as usize;
        levels.extend((1..=length).map(|k| {
            (
                from + (to - from) * k as f64 / length as f64,
                k == length && short == 0.0,
            )
        }));
        (from, low) = (to, !low);
    }
    levels.truncate(n);
    levels
}

/// Fraction of lines within a tenth of the channel's height of the true one over all candles.
fn hit_rate(recipe: Recipe, seed: u64, rounds: usize) -> f64 {
    let mut random = Random(seed);
    let mut hits = 0;
    for _ in 0..rounds {
        let channel = channel(&mut random, recipe);
        let candles = channel.candles.as_candles();
        let answer = trendlines(&candles, candles.len(), false);
        for (kind, offset) in [
            (LineType::Support, 0.0),
            (LineType::Resistance, channel.height),
        ] {
            let line = answer
                .trendlines
                .iter()
                .find(|line| line.kind == kind)
                .expect("three candles give both lines");
            let last = (candles.len() - 1) as f64;
            let off = |x: f64| {
                (line.intercept + line.slope * x - channel.base - offset - channel.slope * x).abs()
                    / channel.height
            };
            hits += usize::from(off(0.0).max(off(last)) <= 0.10);
        }
    }
    hits as f64 / (2 * rounds) as f64
}

#[test]
fn lines_come_within_a_tenth_of_the_channel() {
    let mut missed = Vec::new();
    for recipe in RECIPES {
        let rate = [1, 2, 3]
            .map(|seed| hit_rate(recipe, seed, 400))
            .iter()
            .sum::<f64>()
            / 3.0;
        println!("{}: {rate:.3} (goal {:.2})", recipe.name, recipe.goal);
        if rate < recipe.bound {
            missed.push(format!(
                "{}: {rate:.3}, at least {:.2} expected",
                recipe.name, recipe.bound
            ));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Closes of noise around a level, or around a rise of so many standard deviations.
fn noisy(random: &mut Random, n: usize, rise: f64) -> CandleVec {
    swaying(random, n, rise, 0.0)
}

/// Like `noisy`, with AR(1) noise of coefficient `memory`.
fn swaying(random: &mut Random, n: usize, rise: f64, memory: f64) -> CandleVec {
    let mut made = CandleVec::default();
    let mut noise = random.normal();
    for i in 0..n {
        noise = memory * noise + (1.0 - memory * memory).sqrt() * random.normal();
        let close = (0.05 * (rise * i as f64 / (n - 1) as f64 + noise)).exp();
        made.timestamp.push(i as i64 * DAY_MS);
        for column in [
            &mut made.open,
            &mut made.high,
            &mut made.low,
            &mut made.close,
        ] {
            column.push(close);
        }
        made.volume.push(1.0);
    }
    made
}

#[test]
fn noise_about_a_level_is_seldom_called_a_trend_and_a_rise_out_of_it_always() {
    const ROUNDS: usize = 1_000;
    for (n, called_bound) in [(14, 0.12), (30, 0.03), (60, 0.03), (200, 0.03)] {
        let mut random = Random(7 + n as u64);
        let (mut called, mut found, mut wrong) = (0, 0, 0);
        for _ in 0..ROUNDS {
            let flat = noisy(&mut random, n, 0.0);
            called +=
                usize::from(trendlines(&flat.as_candles(), n, false).trend != Trend::Sideways);
            let size = random.between(4.0, 8.0);
            let up = random.below(2) == 0;
            let trend = noisy(&mut random, n, if up { size } else { -size });
            match trendlines(&trend.as_candles(), n, false).trend {
                Trend::Sideways => {}
                word if (word == Trend::Uptrend) == up => found += 1,
                _ => wrong += 1,
            }
        }
        let share = |count: usize| count as f64 / ROUNDS as f64;
        println!(
            "n = {n}: flat called trend {:.3}, true trend found {:.3}, wrong way {:.3}",
            share(called),
            share(found),
            share(wrong)
        );
        assert!(
            share(called) <= called_bound && share(found) >= 0.95 && wrong == 0,
            "n = {n}"
        );
    }
}

/// The significance tests against noise, which no longer decide the trend word, keep their error rates.
#[test]
fn noise_with_memory_is_seldom_significant() {
    const ROUNDS: usize = 1_000;
    for (n, bound) in [(14, 0.11), (50, 0.10), (200, 0.06)] {
        let mut random = Random(70 + n as u64);
        let called = (0..ROUNDS).filter(|_| {
            let flat = swaying(&mut random, n, 0.0, 0.7);
            trendlines(&flat.as_candles(), n, true)
                .significance
                .expect("explained")
                .trend
                != Trend::Sideways
        });
        let share = called.count() as f64 / ROUNDS as f64;
        println!("n = {n}: AR(1) of 0.7 significant {share:.3}");
        assert!(
            share <= bound,
            "n = {n}: {share:.3} significant, at most {bound} expected"
        );
    }
}

/// In sample: the weights were fitted to these spans. `cargo bench --bench accuracy -- trends` prints the out-of-sample figures.
#[test]
fn real_spans_are_called_what_two_chartists_call_them() {
    if shared("data/charts").is_none() {
        return;
    }
    let spans = marks::spans().expect("the spans");
    let (mut right, mut whole) = (0_usize, 0);
    for span in &spans {
        let Some(both) = span.both() else { continue };
        let (word, _) = WEIGHTS.chances(&span.measures).word();
        let opposite = word != both && word != Trend::Sideways && both != Trend::Sideways;
        assert!(
            !opposite && (word == both || !span.sure),
            "{both:?} called {word:?}: {:?}",
            span.measures
        );
        (right, whole) = (right + usize::from(word == both), whole + 1);
    }
    assert!(
        whole > 100 && right as f64 >= 0.94 * f64::from(whole),
        "{right} of {whole}"
    );
}
