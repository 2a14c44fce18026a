//! Accuracy of the detector on labelled cases, with bounds looser than the measured values, so that only real regressions fail; and
//! consistency of the generator with its labels. `cargo bench --bench accuracy -- patterns` prints the figures.

#[path = "../generator/detector.rs"]
mod detector;

#[allow(
    dead_code,
    reason = "the bench deals the windows into folds by their tokens, too"
)]
#[path = "../../benches/accuracy/charts/data.rs"]
mod data;
#[allow(
    dead_code,
    reason = "the bench calibrates confidences by the answers, too"
)]
#[path = "../../benches/accuracy/charts/score.rs"]
mod judge;

use analysis::patterns::patterns;
use detector::detect;

use crate::{
    pattern_generator::{Bars, DEVELOPMENT, Found, Kind, NAMES, REPORT, Set, Sizes, score, set},
    shared::shared,
};

const SIZES: Sizes = Sizes {
    instances: 12,
    misses: 4,
    walks: 20,
    walk_length: 1_000,
};

#[test]
fn the_detector_finds_what_is_there_and_little_else() {
    let score = score(&set(DEVELOPMENT ^ 0x77, SIZES), detect);
    println!("{score}");
    let (easy, hard) = score.recall();
    let (confirmed, forming) = score.completion();
    for (what, value, least) in [
        ("macro F1", score.macro_f1(), 0.45),
        ("recall of easy ones", easy, 0.65),
        ("recall of hard ones", hard, 0.38),
        ("right signs", score.right_sign(), 0.93),
        ("confirmed at 100", confirmed, 0.94),
        ("forming below 100", forming, 0.75),
    ] {
        assert!(value >= least, "{what}: {value:.3} is below {least}");
    }
    // A finding in a random walk is not false: chartists draw there as much as on a market. So precision and calibration, which count every
    // finding beside the label as wrong, have no bound here; the real charts below do.
    for (what, value, most) in [
        (
            "patterns per 1,000 candles of a random walk",
            score.false_per_thousand(),
            40.0,
        ),
        ("near misses reported", score.near_misses(), 0.06),
        ("error of the movement", score.movement_error(), 0.10),
    ] {
        assert!(value <= most, "{what}: {value:.3} is above {most}");
    }
}

/// The built-in model was trained on these charts, so this guards the program, not the method: out-of-fold figures are lower, and `cargo
/// bench --bench accuracy -- charts` prints them.
#[test]
fn real_charts_are_read_as_chartists_read_them() {
    if shared("data/charts").is_none() {
        return;
    }
    let windows = data::read().windows;
    let said: Vec<_> = windows
        .iter()
        .map(|window| judge::said(&patterns(&window.candles.as_candles(), false)))
        .collect();
    let score = judge::score(&windows, &said);
    println!("{score}");
    for (what, value, least) in [
        ("F1", score.f1, 0.48),
        ("F1 at overlap 0.7", score.strict_f1, 0.35),
        ("exact F1", score.exact_f1, 0.42),
        ("recall of clear marks", score.clear, 0.62),
        ("accepted", score.accepted, 0.55),
        ("AUC of confidence", score.auc, 0.65),
    ] {
        assert!(value >= least, "{what}: {value:.3} is below {least}");
    }
    let per_thousand = 1_000.0 * score.answers as f64 / score.candles as f64;
    assert!(
        (15.0..=40.0).contains(&per_thousand),
        "{per_thousand:.1} answers in 1,000 candles"
    );
}

#[test]
fn a_detector_that_copies_the_labels_has_a_perfect_score() {
    let made = set(
        DEVELOPMENT,
        Sizes {
            instances: 4,
            misses: 1,
            walks: 1,
            walk_length: 50,
        },
    );
    let labels: Vec<_> = made
        .cases
        .iter()
        .map(|case| (case.bars.close.clone(), case.label.clone()))
        .collect();
    let score = score(&made, |bars| {
        let known = labels.iter().find(|(close, _)| *close == bars.close);
        let found = known.map(|(_, label)| Found {
            name: label.name,
            start: label.start,
            end: label.end,
            confidence: 1.0,
            completion: if label.confirmed { 100.0 } else { 60.0 },
            movement: label.movement,
        });
        found.into_iter().collect()
    });
    assert_eq!(
        (score.macro_f1(), score.average_precision(), score.recall()),
        (1.0, 1.0, (1.0, 1.0))
    );
    assert_eq!(
        (
            score.right_sign(),
            score.movement_error(),
            score.completion(),
            score.calibration()
        ),
        (1.0, 0.0, (1.0, 1.0), 0.0)
    );
    assert_eq!(
        (score.near_misses(), score.false_per_thousand()),
        (0.0, 0.0)
    );
}

#[test]
fn made_up_series_are_candles_and_hold_their_labels() {
    let Set {
        cases,
        misses,
        walks,
    } = set(
        DEVELOPMENT,
        Sizes {
            instances: 6,
            misses: 1,
            walks: 4,
            walk_length: 300,
        },
    );
    assert!(cases.len() == NAMES.len() * 12 && misses.len() > NAMES.len() && walks.len() == 4);
    let believed = |bars: &Bars| {
        (0..bars.len()).all(|i| {
            let (o, h, l, c) = (bars.open[i], bars.high[i], bars.low[i], bars.close[i]);
            l > 0.0 && h.is_finite() && l <= o.min(c) && o.max(c) <= h
        })
    };
    assert!(walks.iter().all(believed));
    for case in cases.iter().chain(&misses) {
        let (label, bars) = (&case.label, &case.bars);
        assert!(believed(bars), "{label:?}");
        assert!(
            label.start < label.end && label.end < bars.len() && label.start >= 20,
            "{label:?}"
        );
        assert!(
            label.confirmed || label.end == bars.len() - 1,
            "{label:?}: a forming one lasts to the end"
        );
        assert!(
            label.movement != 0.0 && (-99.9..100.0).contains(&label.movement),
            "{label:?}"
        );
        if let Kind::NearMiss(rule) = case.kind {
            assert!(!rule.is_empty());
        }
    }
    // The same seed reproduces the series; another does not.
    let again = set(
        DEVELOPMENT,
        Sizes {
            instances: 1,
            misses: 0,
            walks: 0,
            walk_length: 0,
        },
    );
    assert_eq!(again.cases[0].bars, cases[0].bars);
    let other = set(
        REPORT,
        Sizes {
            instances: 1,
            misses: 0,
            walks: 0,
            walk_length: 0,
        },
    );
    assert_ne!(other.cases[0].bars, cases[0].bars);
}
