//! Trend word: how chartists would call the span, and the probability that two of them agree on it. Three measures of the closes form a
//! score, and the score three probabilities: an ordinal logistic model (McCullagh 1980) with symmetric thresholds, so that prices turned
//! upside down have mirrored probabilities. The weights are fitted by `cargo bench --bench accuracy -- trends`, which also reports the
//! accuracy on held-out tokens.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Trend, window::Window};
use crate::numeric::{Line, mean_and_deviation, sigmoid};

/// Fitted to 480 spans of 30, 60 and 150 real candles, each labeled by two chartists. One point of score multiplies the odds by e.
pub const WEIGHTS: Weights = Weights {
    // Per standard deviation of a random walk with such steps.
    net: 7.70,
    // A perfectly straight rise, against no linear trend.
    fit: 9.40,
    // Last close at the top of the range, against its middle.
    place: 1.85,
    // Threshold of the score for long windows.
    threshold: 4.36,
};

/// Added to the threshold, divided by the number of closes. Not fitted, since no spans shorter than 30 were labeled: it keeps noise about
/// a level, which can look like anything in few candles, from being called a trend (at most an eighth of spans of 14). Its effect on the
/// labeled spans is negligible.
const SHORT: f64 = 36.0;

/// Maximum range of the log closes that counts as a constant price.
const CONSTANT: f64 = 1e-9;

/// Limit of `net`: more deviations add no certainty.
const NET_MOST: f64 = 5.0;

/// Measures of the trend word. All are independent of the price unit and change sign if prices are turned upside down (1/p).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// Number of closes.
    pub closes: usize,
    /// Net move from the first to the last close, in standard deviations of a random walk with such steps: Student's t of the mean step. −5
    /// to 5.
    pub net: f64,
    /// Adjusted R² (Ezekiel 1930) of the linear fit to the log closes, with the sign of its slope.
    pub fit: f64,
    /// Position of the last close in the range: −1 lowest, 1 highest.
    pub place: f64,
}

/// Weight of each measure in the score, and the threshold of the score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    pub net: f64,
    pub fit: f64,
    pub place: f64,
    pub threshold: f64,
}

/// Probability of each trend label that two chartists both choose it. The probabilities add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Chances {
    pub uptrend: f64,
    pub sideways: f64,
    pub downtrend: f64,
}

/// Explanation of the trend: a score above `threshold` makes an uptrend likelier than not, one below its negative a downtrend.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrendReasons {
    /// Sum of the parts' contributions.
    pub score: f64,
    /// Threshold of the score; higher for few candles.
    pub threshold: f64,
    /// Parts of the score.
    pub parts: Vec<TrendPart>,
    /// Probability of each trend label.
    pub chances: Chances,
}

/// One part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TrendPart {
    /// Name of the measure.
    pub measure: TrendMeasure,
    /// Value of the measure.
    pub value: f64,
    /// Contribution to the score.
    pub contribution: f64,
}

/// Measures behind the trend label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrendMeasure {
    /// Net move from the first to the last close, in standard deviations of a random walk with such steps.
    NetMove,
    /// Adjusted R² of the linear fit to the log closes, with the sign of its slope.
    StraightLine,
    /// Position of the last close in the range: −1 lowest, 1 highest.
    LastClose,
}

/// The trend word and its confidence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrendVerdict {
    pub(super) trend: Trend,
    pub(super) confidence: f64,
    /// `None` with too few closes or a constant price.
    pub(super) why: Option<TrendReasons>,
}

/// Minimum probability of each label, whatever the measures are: 480 labeled spans cannot distinguish 0.99 from certainty.
const DOUBT: f64 = 0.005;

/// Added to the doubt, divided by the square of the number of closes. Not fitted, as `SHORT`: with 14 closes no chance is over 0.94, and its
/// effect on the labeled spans is small.
const DOUBT_SHORT: f64 = 5.0;

/// Probability of one of the three labels, limited by the number of labeled spans and of closes.
pub(super) fn less_sure(chance: f64, closes: usize) -> f64 {
    let doubt = DOUBT + DOUBT_SHORT / (closes * closes).max(25) as f64;
    (chance * (1.0 - 3.0 * doubt) + doubt).clamp(0.0, 1.0)
}

/// Determines the trend word of a window from its log closes.
pub(super) fn classify(window: &Window, logs: &[f64]) -> TrendVerdict {
    let sideways = |confidence| TrendVerdict {
        trend: Trend::Sideways,
        confidence,
        why: None,
    };
    if logs.len() < 3 {
        return sideways(0.0);
    }
    let Some(measures) = Measures::of(&window.x, logs) else {
        return sideways(1.0);
    };
    let why = WEIGHTS.reasons(&measures);
    let (trend, confidence) = why.chances.word();
    TrendVerdict {
        trend,
        confidence,
        why: Some(why),
    }
}

impl Measures {
    /// Measures of the log closes at x (increasing by at least 1); `None` with fewer than three closes or a constant price.
    pub(super) fn of(x: &[f64], logs: &[f64]) -> Option<Self> {
        let (first, last) = (*logs.first()?, *logs.last()?);
        let (low, high) = logs
            .iter()
            .fold((first, first), |(low, high), &y| (low.min(y), high.max(y)));
        if logs.len() < 3 || high - low <= CONSTANT {
            return None;
        }
        let steps: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (_, deviation) = mean_and_deviation(&steps);
        let net = (last - first) / (deviation * (steps.len() as f64).sqrt());
        // Relative to the first, which removes the price unit.
        let points = x.iter().copied().zip(logs.iter().map(|y| y - first));
        let line = Line::least_squares(points.clone());
        let n = logs.len() as f64;
        let adjusted = 1.0 - (1.0 - line.r2(points)) * (n - 1.0) / (n - 2.0);
        Some(Self {
            closes: logs.len(),
            // Equal steps have zero deviation: maximum certainty.
            net: if net.is_nan() {
                0.0
            } else {
                net.clamp(-NET_MOST, NET_MOST)
            },
            fit: if line.slope == 0.0 {
                0.0
            } else {
                adjusted.max(0.0) * line.slope.signum()
            },
            place: 2.0 * (last - low) / (high - low) - 1.0,
        })
    }

    fn threshold(&self, weights: &Weights) -> f64 {
        weights.threshold + SHORT / self.closes as f64
    }
}

impl Weights {
    fn parts(&self, measures: &Measures) -> [TrendPart; 3] {
        let part = |measure, value, weight| TrendPart {
            measure,
            value,
            contribution: weight * value,
        };
        [
            part(TrendMeasure::NetMove, measures.net, self.net),
            part(TrendMeasure::StraightLine, measures.fit, self.fit),
            part(TrendMeasure::LastClose, measures.place, self.place),
        ]
    }

    fn score(&self, measures: &Measures) -> f64 {
        self.parts(measures)
            .iter()
            .map(|part| part.contribution)
            .sum()
    }

    /// P(uptrend) = σ(score − threshold), P(downtrend) = σ(−score − threshold); sideways is the rest. Each is limited by the number of closes.
    pub fn chances(&self, measures: &Measures) -> Chances {
        let (score, threshold) = (self.score(measures), measures.threshold(self));
        let (uptrend, downtrend) = (sigmoid(score - threshold), sigmoid(-score - threshold));
        let sure = |chance| less_sure(chance, measures.closes);
        Chances {
            uptrend: sure(uptrend),
            sideways: sure((1.0 - uptrend - downtrend).max(0.0)),
            downtrend: sure(downtrend),
        }
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
    /// The most probable word; sideways wins ties.
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
