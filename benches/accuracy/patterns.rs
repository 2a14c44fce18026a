//! Chart patterns against the labelled generator. What is developed against and what is reported have other seeds.

use tokendeck::{
    analysis::{frames::CandleVec, patterns::patterns},
    dataset::time::DAY_MS,
};

use generator::{Bars, DEVELOPMENT, Found, REPORT, Sizes, score, set};

#[path = "../../tests/generator/patterns.rs"]
mod generator;

const SIZES: Sizes = Sizes { instances: 60, misses: 25, walks: 120, walk_length: 1_000 };

pub(super) fn report() {
    print("reporting seeds", REPORT);
}

pub(super) fn development() {
    print("development seeds", DEVELOPMENT);
}

fn print(what: &str, seed: u64) {
    println!("Chart patterns, {what}: {} easy and {} hard of each name.\n", SIZES.instances, SIZES.instances);
    println!("{}", score(&set(seed, SIZES), detect));
}

fn detect(bars: &Bars) -> Vec<Found> {
    let candles = CandleVec {
        timestamp: (0..bars.len() as i64).map(|i| i * DAY_MS).collect(),
        open: bars.open.clone(),
        high: bars.high.clone(),
        low: bars.low.clone(),
        close: bars.close.clone(),
        volume: bars.volume.clone(),
    };
    patterns(&candles.as_candles(), false)
        .patterns
        .iter()
        .map(|pattern| Found {
            name: pattern.name.word(),
            start: pattern.start_index,
            end: pattern.end_index,
            confidence: pattern.confidence,
            completion: pattern.completion_percent,
            movement: pattern.projected_movement,
        })
        .collect()
}
