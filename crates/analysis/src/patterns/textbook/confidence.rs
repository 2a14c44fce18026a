//! Confidence of a textbook pattern: logistic regression on the scores of its shape. It replaces a fixed mean of the scores, cubed. The
//! scores are those of Autochartist's quality rating (clarity, uniformity, prior trend) and the unused tolerance; three properties that
//! chance rarely produces were added: a higher weight for evenly long legs, swings that stand out of the noise of single candles, and more
//! turns than necessary.
//!
//! Fitted to labeled patterns from the project's generator and from a rougher variant of it (legs twice as uneven, geometry up to the
//! limits of the definitions, noisier), 400 of each name, against 400,000 candles of random walk. One set of weights per group of names
//! rather than one per name, to avoid overfitting to the generator.

use super::{
    Reason,
    name::PatternName as P,
    shape::{PatternShape, ShapeScores, smallest_swing},
};
use crate::numeric::{finite, sigmoid};

/// Minimum confidence of a returned pattern. On 504 real charts, chartists drew 3 of 10 between 0.45 and 0.6, and each displaces likelier patterns
/// of the market search around it.
pub(super) const LEAST: f64 = 0.6;
/// Its log odds, ln(p/(1 − p)).
const LEAST_LOGIT: f64 = 0.405;

/// Regression coefficient of each score, in log odds.
pub(super) struct ScoreWeights {
    base: f64,
    clarity: f64,
    fit: f64,
    even: f64,
    prior: f64,
    step: f64,
    turn: f64,
}

const TOP: ScoreWeights = ScoreWeights {
    base: -28.5,
    clarity: 10.8,
    fit: 2.3,
    even: 8.0,
    prior: 11.2,
    step: 2.7,
    turn: 0.0,
};
const DOUBLE: ScoreWeights = ScoreWeights {
    base: -16.7,
    clarity: 11.4,
    fit: 1.9,
    even: 0.0,
    prior: 0.0,
    step: 4.1,
    turn: 0.0,
};
pub(super) const PAIR: ScoreWeights = ScoreWeights {
    base: -28.6,
    clarity: 8.9,
    fit: 2.2,
    even: 8.8,
    prior: 5.0,
    step: 2.9,
    turn: 1.24,
};
pub(super) const FLAG: ScoreWeights = ScoreWeights {
    base: -18.5,
    clarity: 5.9,
    fit: 2.2,
    even: 5.5,
    prior: 9.7,
    step: 1.2,
    turn: 0.76,
};
const CUP: ScoreWeights = ScoreWeights {
    base: -33.0,
    clarity: 32.3,
    fit: 2.8,
    even: 0.0,
    prior: 3.4,
    step: 0.0,
    turn: 0.0,
};
const ROUNDED: ScoreWeights = ScoreWeights {
    base: -18.2,
    clarity: 12.3,
    fit: 5.1,
    even: 0.0,
    prior: 7.3,
    step: 0.0,
    turn: 0.0,
};

fn weights(name: P) -> &'static ScoreWeights {
    match name {
        P::HeadAndShoulders | P::InverseHeadAndShoulders | P::TripleTop | P::TripleBottom => &TOP,
        P::DoubleTop | P::DoubleBottom => &DOUBLE,
        P::BullFlag | P::BearFlag | P::BullPennant | P::BearPennant => &FLAG,
        P::CupAndHandle | P::InverseCupAndHandle => &CUP,
        P::RoundingBottom | P::RoundingTop => &ROUNDED,
        // Patterns between two lines.
        _ => &PAIR,
    }
}

/// Scores, number of turns and smallest swing (ln) of a typical pattern: medians of the 124 found on the real daily and hourly candles used
/// for measuring accuracy. Scores without weight in a group are 0.
fn typical(name: P) -> (ShapeScores, usize, f64) {
    let scores = |clarity, fit, even, prior| ShapeScores {
        clarity,
        fit,
        even,
        prior,
    };
    match name {
        P::HeadAndShoulders | P::InverseHeadAndShoulders | P::TripleTop | P::TripleBottom => {
            (scores(0.69, 0.33, 0.62, 1.0), 5, 2.06)
        }
        P::DoubleTop | P::DoubleBottom => (scores(0.76, 0.32, 0.0, 0.0), 3, 2.0),
        P::BullFlag | P::BearFlag | P::BullPennant | P::BearPennant => {
            (scores(0.67, 0.6, 0.58, 0.71), 4, 0.59)
        }
        P::CupAndHandle | P::InverseCupAndHandle | P::RoundingBottom | P::RoundingTop => {
            (scores(0.89, 0.62, 0.0, 1.0), 3, 0.0)
        }
        _ => (scores(0.72, 0.62, 0.66, 1.0), 5, 1.83),
    }
}

/// Labels of the terms of the log odds, in a trader's words.
const LABELS: [&str; 6] = [
    "closes explained by shape, R²",
    "smallest share of tolerance left",
    "evenness of leg durations",
    "prior move in heights, up to 1",
    "ln(smallest swing / true range)",
    "turns that touch its lines",
];

impl ScoreWeights {
    fn parts(&self, scores: ShapeScores, turns: usize, step: f64) -> [(f64, f64); 6] {
        // More evenness than this carries no information.
        let (fit, even) = (scores.fit.max(0.0), scores.even.clamp(0.1, 0.85));
        let values = [scores.clarity, fit, even, scores.prior, step, turns as f64];
        let weights = [
            self.clarity,
            self.fit,
            self.even,
            self.prior,
            self.step,
            self.turn,
        ];
        std::array::from_fn(|k| (values[k], weights[k] * values[k]))
    }

    fn logit(&self, scores: ShapeScores, turns: usize, step: f64) -> f64 {
        self.parts(scores, turns, step)
            .iter()
            .fold(self.base, |logit, (_, adds)| logit + adds)
    }

    /// Whether turns of this evenness and smallest swing (in true ranges) can reach the minimum confidence if all else is perfect. Rejects
    /// most candidates before their sums are computed.
    pub(super) fn may_find(&self, turns: usize, even: f64, smallest: f64) -> bool {
        // Upper bound: ln x ≤ x/e.
        let step = (smallest / std::f64::consts::E).min(8.0_f64.ln());
        self.logit(
            ShapeScores {
                clarity: 1.0,
                fit: 1.0,
                even,
                prior: 1.0,
            },
            turns,
            step,
        ) >= LEAST_LOGIT
    }
}

/// Logarithm of the smallest swing in true ranges.
fn step(shape: &PatternShape, range: f64) -> f64 {
    (smallest_swing(shape.turns.as_slice()) / range)
        .clamp(0.5, 8.0)
        .ln()
}

/// Probability that the shape is the pattern it looks like.
pub(super) fn confidence_of(shape: &PatternShape, range: f64) -> f64 {
    sigmoid(weights(shape.name).logit(
        shape.scores,
        shape.turns.as_slice().len(),
        step(shape, range),
    ))
}

/// Contributions to its log odds relative to a typical pattern of its kind, the largest first; `confidence` is the result.
pub(super) fn why(shape: &PatternShape, range: f64, confidence: f64) -> Vec<Reason> {
    let weights = weights(shape.name);
    let (typical, turns, swing) = typical(shape.name);
    let parts = weights.parts(
        shape.scores,
        shape.turns.as_slice().len(),
        step(shape, range),
    );
    let told = LABELS
        .iter()
        .zip(parts)
        .zip(weights.parts(typical, turns, swing));
    let reasons: Vec<Reason> = told
        .filter(|((_, (_, adds)), (_, typically))| *adds != 0.0 || *typically != 0.0)
        .map(|((measure, (value, adds)), (_, typically))| Reason {
            measure,
            value: finite(value),
            contribution: finite(adds - typically),
        })
        .collect();
    Reason::adding_up(
        reasons,
        LABELS.len(),
        (confidence / (1.0 - confidence)).ln(),
    )
}
