//! The trend word and its confidence: Mann-Kendall with a correction for autocorrelation, and a test of the drift. Two tests, because
//! the first misses short steady rises and the second slow ones in noise.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{Trend, window::Window};
use crate::analysis::numeric::{Line, lag_one, mann_kendall, mean_and_deviation};

/// Below this p the closes have a trend.
const SIGNIFICANT: f64 = 0.10;

/// What the tests say.
pub(super) struct Verdict {
    pub(super) trend: Trend,
    pub(super) confidence: f64,
    /// Of both tests together.
    pub(super) p: f64,
}

impl Verdict {
    /// Too few closes to test.
    pub(super) const NONE: Self = Self { trend: Trend::Sideways, confidence: 0.0, p: 1.0 };
}

/// Both tests on ln(close), p the smaller of the two doubled (Bonferroni).
pub(super) fn judge(window: &Window) -> Verdict {
    // Next to a price 1e300 times its own a close can round to 0, which has no logarithm.
    let logs: Vec<f64> = window.close.iter().map(|close| close.max(f64::MIN_POSITIVE).ln()).collect();
    let points = window.x.iter().copied().zip(logs.iter().copied());
    let line = Line::least_squares(points.clone());
    let residuals: Vec<f64> = points.map(|(x, y)| y - line.at(x)).collect();
    let p_rank = rank_test(&window.close, lag_one(&residuals));
    let steps: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (drift, p_drift) = drift_test(&steps);
    let p = (2.0 * p_rank.min(p_drift)).min(1.0);
    let direction = if p_rank <= p_drift { line.slope } else { drift };
    let trend = match direction {
        _ if p >= SIGNIFICANT => Trend::Sideways,
        0.0.. => Trend::Uptrend,
        _ => Trend::Downtrend,
    };
    let confidence = if trend == Trend::Sideways { p } else { 1.0 - p };
    Verdict { trend, confidence, p }
}

/// Two-sided p of Mann-Kendall, its variance inflated by (1+ρ)/(1−ρ) (Yue & Wang 2004). ρ is the lag-one autocorrelation about the
/// trend, corrected for its bias in short series (Marriott & Pope 1954) and kept below 0.97.
fn rank_test(values: &[f64], r1: f64) -> f64 {
    let n = values.len() as f64;
    let rho = if n > 4.0 { ((n * r1 + 2.0) / (n - 4.0)).clamp(0.0, 0.97) } else { 0.0 };
    let found = mann_kendall(values);
    if found.variance <= 0.0 || found.s == 0.0 {
        return 1.0;
    }
    let z = (found.s - found.s.signum()) / (found.variance * (1.0 + rho) / (1.0 - rho)).sqrt();
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}

/// The mean step and the two-sided p of Student's t that it is 0.
fn drift_test(steps: &[f64]) -> (f64, f64) {
    let m = steps.len() as f64;
    let (mean, deviation) = mean_and_deviation(steps);
    if steps.len() < 2 {
        return (mean, 1.0);
    }
    let t = mean * m.sqrt() / deviation;
    let p = match StudentsT::new(0.0, 1.0, m - 1.0) {
        Ok(student) if t.is_finite() => (2.0 * student.sf(t.abs())).clamp(0.0, 1.0),
        // No deviation at all: certain when the steps lead somewhere.
        _ => f64::from(u8::from(mean == 0.0)),
    };
    (mean, p)
}
