//! The trend word against two chartists' labels of the same spans of real candles, cross-validated by token; then on noise around a level,
//! which has no trend, and random walks, which have one if they end far away. Also prints the weights fitted to all spans, which are built
//! into `analysis::trendlines::trend`.

use std::collections::BTreeSet;

use analysis::trendlines::{
    Trend, measures,
    trend::{Chances, WEIGHTS, Weights},
};
use fit::fit;
use marks::{Span, level_candles, spans};
use noise::{SHAPES, closes};

use crate::{charts::score::calibration, random::Random};

#[path = "trends/fit.rs"]
pub(crate) mod fit;
#[path = "trends/marks.rs"]
mod marks;
#[path = "trends/noise.rs"]
mod noise;

/// Noise series per cell of the table.
const ROUNDS: usize = 4_000;

pub(super) fn report() {
    println!("\nTrend words.");
    let spans = match spans() {
        Ok(spans) => spans,
        Err(missing) => return println!("Not measured: {missing}"),
    };
    let groups: BTreeSet<&str> = spans.iter().map(|span| span.group.as_str()).collect();
    let held_out: Vec<(&Span, Chances)> = groups
        .iter()
        .flat_map(|group| {
            let (test, rest): (Vec<&Span>, Vec<&Span>) =
                spans.iter().partition(|span| span.group == *group);
            let weights = fit(&rest);
            test.into_iter()
                .map(move |span| (span, weights.chances(&span.measures)))
                .collect::<Vec<_>>()
        })
        .collect();
    let all: Vec<&Span> = spans.iter().collect();
    let now: Vec<(&Span, Chances)> = all
        .iter()
        .map(|span| (*span, WEIGHTS.chances(&span.measures)))
        .collect();
    println!(
        "{} spans of {} tokens, each named by two chartists.\n",
        spans.len(),
        groups.len()
    );
    println!(
        "{:34} {:>7} {:>7} {:>9} {:>12}",
        "", "right", "clear", "opposite", "calibration"
    );
    let row = |name: &str, score: &Score| {
        println!(
            "{name:34} {:>7.3} {:>7.3} {:>9} {:>12.3}",
            score.right, score.clear, score.opposite, score.calibration
        );
    };
    row("each token with the others' weights", &score(&held_out));
    for length in [150, 60, 30] {
        let part: Vec<_> = held_out
            .iter()
            .copied()
            .filter(|(span, _)| span.length == length)
            .collect();
        row(&format!("  of these, {length} candles"), &score(&part));
    }
    row("with the program's own weights", &score(&now));
    confusion(&held_out);
    weights("fitted to all", fit(&all));
    weights("the program's", WEIGHTS);
    called_a_trend();
}

struct Score {
    /// Accuracy on the spans that both chartists label equally, and on those where both were sure.
    right: f64,
    clear: f64,
    opposite: usize,
    /// Mean |confidence − fraction correct| over ten bins; correct means agreement with both chartists.
    calibration: f64,
}

fn score(said: &[(&Span, Chances)]) -> Score {
    let (mut right, mut clear, mut opposite, mut judged) = ((0, 0), (0, 0), 0, Vec::new());
    for (span, chances) in said {
        let (word, confidence) = chances.word();
        let same = span.both() == Some(word);
        judged.push((confidence, same));
        let Some(both) = span.both() else { continue };
        right = (right.0 + usize::from(same), right.1 + 1);
        if span.sure {
            clear = (clear.0 + usize::from(same), clear.1 + 1);
        }
        opposite += usize::from(!same && word != Trend::Sideways && both != Trend::Sideways);
    }
    let share = |(part, whole): (usize, usize)| part as f64 / whole.max(1) as f64;
    Score {
        right: share(right),
        clear: share(clear),
        opposite,
        calibration: calibration(&judged),
    }
}

fn confusion(said: &[(&Span, Chances)]) {
    const WORDS: [Trend; 3] = [Trend::Uptrend, Trend::Sideways, Trend::Downtrend];
    println!(
        "\n{:24} {:>9} {:>9} {:>9}",
        "both chartists say", "uptrend", "sideways", "downtrend"
    );
    for both in WORDS {
        let counts = WORDS.map(|word| {
            said.iter()
                .filter(|(span, chances)| span.both() == Some(both) && chances.word().0 == word)
                .count()
        });
        println!(
            "{:24} {:>9} {:>9} {:>9}",
            format!("{both:?}"),
            counts[0],
            counts[1],
            counts[2]
        );
    }
}

fn weights(name: &str, weights: Weights) {
    let Weights {
        net,
        fit,
        place,
        threshold,
    } = weights;
    println!(
        "\nweights {name}: net {net:.2}, fit {fit:.2}, place {place:.2}, threshold {threshold:.2}"
    );
}

/// Prints the false-positive rate on series without a trend, by noise shape and length.
fn called_a_trend() {
    const LENGTHS: [usize; 5] = [8, 14, 30, 60, 150];
    println!(
        "\n{:34} {}",
        "called a trend, of so many candles",
        LENGTHS.map(|n| format!("{n:>7}")).concat()
    );
    for (name, shape) in SHAPES {
        let mut random = Random(5);
        let shares = LENGTHS.map(|n| {
            let called = (0..ROUNDS)
                .filter(|_| is_trend(&closes(*shape, n, &mut random)))
                .count();
            format!("{:>7.3}", called as f64 / ROUNDS as f64)
        });
        println!("{name:34} {}", shares.concat());
    }
}

fn is_trend(closes: &[f64]) -> bool {
    let candles = level_candles(closes);
    measures(&candles.as_candles(), closes.len())
        .is_some_and(|measures| WEIGHTS.chances(&measures).word().0 != Trend::Sideways)
}
