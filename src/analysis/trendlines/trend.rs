//! The trend word: what a person says of the span, and the chance that two chartists both say it. Three measures of the closes make
//! one score, and the score three chances: an ordinal logistic model (McCullagh 1980) whose two thresholds mirror each other, so that
//! prices turned upside down have the mirrored chances. Its weights are fitted by `cargo bench --bench accuracy -- trends`, which
//! also prints how right the word is on tokens that the fit has not seen.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Trend, window::Window};
use crate::analysis::numeric::{Line, mean_and_deviation};

/// Fitted to 480 spans of 30, 60 and 150 real candles, each named by two chartists. One point of score changes the odds by e.
pub const WEIGHTS: Weights = Weights {
    // A close further away by one deviation of a walk of such steps.
    net: 7.70,
    // A straight rise against no line at all.
    fit: 9.40,
    // The last close at the top of the range against its middle.
    place: 1.85,
    // What the score must pass where the window is long.
    threshold: 4.36,
};

/// The threshold rises by this over the number of closes. Nothing was marked on spans shorter than 30, so it is not fitted: it is what
/// keeps the noise about a level, which in few candles looks like anything, from being called a trend (at most an eighth of spans of
/// 14). On the marked spans it changes next to nothing.
const SHORT: f64 = 36.0;

/// Closes whose logarithms differ by no more than this are one price.
const CONSTANT: f64 = 1e-9;

/// Beyond this many deviations nothing gets surer.
const NET_MOST: f64 = 5.0;

/// What the word rests on. None depends on the unit of the price; all change their sign where prices are turned upside down (1/p).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// How many closes.
    pub closes: usize,
    /// From the first close to the last, in deviations of a random walk of such steps: Student's t of the mean step. −5 to 5.
    pub net: f64,
    /// R² of the straight line through the closes' logarithms, adjusted for their number (Ezekiel 1930), with the line's direction.
    pub fit: f64,
    /// Where the last close lies in the range of all: −1 at the lowest, 1 at the highest.
    pub place: f64,
}

/// What a unit of each measure adds to the score, and what the score must pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    pub net: f64,
    pub fit: f64,
    pub place: f64,
    pub threshold: f64,
}

/// How likely it is that two chartists both say each word. They add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Chances {
    pub uptrend: f64,
    pub sideways: f64,
    pub downtrend: f64,
}

/// Why the trend is called so: above `threshold` the score makes an uptrend likelier than not, below its negative a downtrend.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrendReasons {
    /// The sum of what the parts contribute.
    pub score: f64,
    /// Higher for few candles.
    pub threshold: f64,
    /// What makes the score.
    pub parts: Vec<TrendPart>,
    /// How likely each word is.
    pub chances: Chances,
}

/// One part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TrendPart {
    /// What is measured.
    pub measure: TrendMeasure,
    /// The measure.
    pub value: f64,
    /// What it adds to the score.
    pub contribution: f64,
}

/// What the trend word rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrendMeasure {
    /// From the first close to the last, in deviations of a random walk of such steps.
    NetMove,
    /// R² of the straight line through the logarithms of the closes, adjusted for their number, with the line's sign.
    StraightLine,
    /// Where the last close lies in the range: −1 lowest, 1 highest.
    LastClose,
}

/// The word and its confidence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrendVerdict {
    pub(super) trend: Trend,
    pub(super) confidence: f64,
    /// None where there are too few closes, or all are one price.
    pub(super) why: Option<TrendReasons>,
}

/// The word for a window, from the logarithms of its closes.
pub(super) fn judge(window: &Window, logs: &[f64]) -> TrendVerdict {
    let sideways = |confidence| TrendVerdict { trend: Trend::Sideways, confidence, why: None };
    if logs.len() < 3 {
        return sideways(0.0);
    }
    let Some(measures) = Measures::of(&window.x, logs) else {
        return sideways(1.0);
    };
    let why = WEIGHTS.reasons(&measures);
    let (trend, confidence) = why.chances.word();
    TrendVerdict { trend, confidence, why: Some(why) }
}

impl Measures {
    /// Of the closes' logarithms at x (grows by at least 1); None where fewer than three or all are one price.
    pub(super) fn of(x: &[f64], logs: &[f64]) -> Option<Self> {
        let (first, last) = (*logs.first()?, *logs.last()?);
        let (low, high) = logs.iter().fold((first, first), |(low, high), &y| (low.min(y), high.max(y)));
        if logs.len() < 3 || high - low <= CONSTANT {
            return None;
        }
        let steps: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (_, deviation) = mean_and_deviation(&steps);
        let net = (last - first) / (deviation * (steps.len() as f64).sqrt());
        // Relative to the first, so that no unit of price is left.
        let points = x.iter().copied().zip(logs.iter().map(|y| y - first));
        let line = Line::least_squares(points.clone());
        let n = logs.len() as f64;
        let adjusted = 1.0 - (1.0 - line.r2(points)) * (n - 1.0) / (n - 2.0);
        Some(Self {
            closes: logs.len(),
            // Equal steps have no deviation: as sure as can be.
            net: if net.is_nan() { 0.0 } else { net.clamp(-NET_MOST, NET_MOST) },
            fit: if line.slope == 0.0 { 0.0 } else { adjusted.max(0.0) * line.slope.signum() },
            place: 2.0 * (last - low) / (high - low) - 1.0,
        })
    }

    fn threshold(&self, weights: &Weights) -> f64 {
        weights.threshold + SHORT / self.closes as f64
    }
}

impl Weights {
    fn parts(&self, measures: &Measures) -> [TrendPart; 3] {
        let part = |measure, value, weight| TrendPart { measure, value, contribution: weight * value };
        [
            part(TrendMeasure::NetMove, measures.net, self.net),
            part(TrendMeasure::StraightLine, measures.fit, self.fit),
            part(TrendMeasure::LastClose, measures.place, self.place),
        ]
    }

    fn score(&self, measures: &Measures) -> f64 {
        self.parts(measures).iter().map(|part| part.contribution).sum()
    }

    /// P(uptrend) = σ(score − threshold), P(downtrend) = σ(−score − threshold), and sideways what is left.
    pub fn chances(&self, measures: &Measures) -> Chances {
        let (score, threshold) = (self.score(measures), measures.threshold(self));
        let (uptrend, downtrend) = (logistic(score - threshold), logistic(-score - threshold));
        Chances { uptrend, sideways: (1.0 - uptrend - downtrend).max(0.0), downtrend }
    }

    fn reasons(&self, measures: &Measures) -> TrendReasons {
        TrendReasons {
            score: self.score(measures),
            threshold: measures.threshold(self),
            parts: self.parts(measures).to_vec(),
            chances: self.chances(measures),
        }
    }
}

impl Chances {
    /// The likeliest word; sideways before the others.
    pub fn word(&self) -> (Trend, f64) {
        if self.uptrend > self.sideways.max(self.downtrend) {
            (Trend::Uptrend, self.uptrend)
        } else if self.downtrend > self.sideways.max(self.uptrend) {
            (Trend::Downtrend, self.downtrend)
        } else {
            (Trend::Sideways, self.sideways)
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
