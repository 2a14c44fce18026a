//! Chart patterns against the synthetic labelled generator, with different seeds for development and report.

use detector::detect;
use generator::{Bars, DEVELOPMENT, Found, REPORT, Sizes, score, set};

#[path = "../../tests/generator/detector.rs"]
mod detector;
#[path = "../../tests/generator/patterns.rs"]
mod generator;

const SIZES: Sizes = Sizes {
    instances: 60,
    misses: 25,
    walks: 120,
    walk_length: 1_000,
};

pub(super) fn report() {
    print("reporting seeds", REPORT);
}

pub(super) fn development() {
    print("development seeds", DEVELOPMENT);
}

fn print(what: &str, seed: u64) {
    println!(
        "Chart patterns, {what}: {} easy and {} hard of each name.\n",
        SIZES.instances, SIZES.instances
    );
    println!("{}", score(&set(seed, SIZES), detect));
}
