//! Significance of the closes' movement against noise: Mann-Kendall test with a correction for autocorrelation, and a test of the drift.
//! Two tests, because the first misses short steady rises and the second slow ones in noise. They do not affect the trend word: to a
//! viewer, even a random walk that ended far away has trended.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{Trend, window::Window};
use crate::numeric::{Line, lag_one, mann_kendall, mean_and_deviation};

/// Significance level: below this p-value, chance does not explain the move.
const SIGNIFICANT: f64 = 0.10;

/// Whether chance explains the closes' movement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Significance {
    /// Significant direction (p below 0.10), or sideways.
    pub trend: Trend,
    /// Combined p-value of both tests: twice the smaller (Bonferroni), at most 1.
    pub p: f64,
    /// Two-sided p-value of the Mann-Kendall test, corrected for autocorrelation.
    pub p_rank: f64,
    /// Two-sided p-value of Student's t-test that the mean log return is 0.
    pub p_drift: f64,
}

impl Significance {
    /// Result for too few closes.
    pub(super) const NONE: Self = Self {
        trend: Trend::Sideways,
        p: 1.0,
        p_rank: 1.0,
        p_drift: 1.0,
    };

    /// Runs both tests on the log closes.
    pub(super) fn of(window: &Window, logs: &[f64]) -> Self {
        if logs.len() < 3 {
            return Self::NONE;
        }
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
        Self {
            trend,
            p,
            p_rank,
            p_drift,
        }
    }
}

/// Two-sided p-value of the Mann-Kendall test, with its variance inflated by (1+ρ)/(1−ρ) (Yue & Wang 2004). ρ is the lag-one
/// autocorrelation about the trend, corrected for its bias in short series (Marriott & Pope 1954) and limited to 0.97.
fn rank_test(values: &[f64], r1: f64) -> f64 {
    let n = values.len() as f64;
    let rho = if n > 4.0 {
        ((n * r1 + 2.0) / (n - 4.0)).clamp(0.0, 0.97)
    } else {
        0.0
    };
    let found = mann_kendall(values);
    if found.variance <= 0.0 || found.s == 0.0 {
        return 1.0;
    }
    let z = (found.s - found.s.signum()) / (found.variance * (1.0 + rho) / (1.0 - rho)).sqrt();
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}

/// Mean step, and the two-sided p-value of Student's t-test that it is 0.
fn drift_test(steps: &[f64]) -> (f64, f64) {
    let m = steps.len() as f64;
    let (mean, deviation) = mean_and_deviation(steps);
    if steps.len() < 2 {
        return (mean, 1.0);
    }
    let t = mean * m.sqrt() / deviation;
    let p = match StudentsT::new(0.0, 1.0, m - 1.0) {
        Ok(student) if t.is_finite() => (2.0 * student.sf(t.abs())).clamp(0.0, 1.0),
        // Zero deviation: certain if the mean is not 0.
        _ => f64::from(u8::from(mean == 0.0)),
    };
    (mean, p)
}
