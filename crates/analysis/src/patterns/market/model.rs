//! Logistic additive model: the log odds of a candidate as a sum of piecewise linear curves over its measures. The addend of each curve is
//! the explanation.

use std::ops::Range;

use super::{coefficients, measures, name::PatternName, overlap::SelectionParams, trees::Trees};

/// Number of knots per curve.
pub const KNOTS: usize = 5;

/// Addend of a measure to the log odds: linear between knots, constant beyond the outer ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    pub measure: usize,
    pub knots: [f64; KNOTS],
    pub adds: [f64; KNOTS],
    /// Slope from each knot to the next; 0 where they coincide.
    slopes: [f64; KNOTS - 1],
}

impl Curve {
    pub const fn new(measure: usize, knots: [f64; KNOTS], adds: [f64; KNOTS]) -> Self {
        let mut slopes = [0.0; KNOTS - 1];
        let mut k = 0;
        while k < slopes.len() {
            let width = knots[k + 1] - knots[k];
            slopes[k] = if width > 0.0 {
                (adds[k + 1] - adds[k]) / width
            } else {
                0.0
            };
            k += 1;
        }
        Self {
            measure,
            knots,
            adds,
            slopes,
        }
    }

    pub fn at(&self, value: f64) -> f64 {
        // Branch-free: the segment of a value is unpredictable.
        let [low, .., high] = self.knots;
        let k = usize::from(value >= self.knots[1])
            + usize::from(value >= self.knots[2])
            + usize::from(value >= self.knots[3]);
        let inside = if value < low { low } else { value };
        let inside = if inside > high { high } else { inside };
        self.adds[k] + (inside - self.knots[k]) * self.slopes[k]
    }

    /// Smallest and largest addend.
    fn bounds(&self) -> (f64, f64) {
        self.adds
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), adds| {
                (low.min(*adds), high.max(*adds))
            })
    }
}

/// Index of the knot interval that holds a value, and the value's relative position in it.
pub fn knot_interval(knots: &[f64; KNOTS], value: f64) -> (usize, f64) {
    let mut k = 0;
    while k + 2 < KNOTS && value >= knots[k + 1] {
        k += 1;
    }
    let width = knots[k + 1] - knots[k];
    let share = if width > 0.0 {
        ((value - knots[k]) / width).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (k, share)
}

/// An additive model: intercept and curves.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditiveModel {
    intercept: f64,
    /// Curves over the thorough measures come last; the others in descending order of their range.
    curves: Vec<Curve>,
    /// Index of the first curve over a thorough measure.
    thorough_from: usize,
    /// Upper bound on the sum of the curves from each index on.
    upper_bounds: Vec<f64>,
}

impl AdditiveModel {
    pub fn new(intercept: f64, mut curves: Vec<Curve>) -> Self {
        let range = |curve: &Curve| {
            let (low, high) = curve.bounds();
            high - low
        };
        let thorough = |curve: &Curve| measures::is_thorough(curve.measure);
        curves.sort_by(|a, b| {
            thorough(a)
                .cmp(&thorough(b))
                .then(range(b).total_cmp(&range(a)))
                .then(a.measure.cmp(&b.measure))
        });
        let thorough_from = curves.partition_point(|curve| !thorough(curve));
        let mut upper_bounds = vec![0.0; curves.len() + 1];
        for (k, curve) in curves.iter().enumerate().rev() {
            upper_bounds[k] = upper_bounds[k + 1] + curve.bounds().1;
        }
        Self {
            intercept,
            curves,
            thorough_from,
            upper_bounds,
        }
    }

    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    pub fn logit(&self, measures: &[f64]) -> f64 {
        self.at_least(measures, f64::MIN).unwrap_or(f64::MIN)
    }

    /// Log odds; `None` as soon as they are certain to be below `least`.
    pub fn at_least(&self, measures: &[f64], least: f64) -> Option<f64> {
        self.with_thorough(measures, self.without_thorough(measures, least)?, least)
    }

    /// Log odds without the thorough measures; `None` if these can no longer raise it to `least`.
    pub(super) fn without_thorough(&self, measures: &[f64], least: f64) -> Option<f64> {
        self.add(0..self.thorough_from, measures, self.intercept, least)
    }

    /// Adds the thorough measures to the result of `without_thorough`.
    pub(super) fn with_thorough(&self, measures: &[f64], logit: f64, least: f64) -> Option<f64> {
        self.add(
            self.thorough_from..self.curves.len(),
            measures,
            logit,
            least,
        )
    }

    fn add(
        &self,
        range: Range<usize>,
        measures: &[f64],
        mut logit: f64,
        least: f64,
    ) -> Option<f64> {
        let bound_of_rest = self.upper_bounds[range.end];
        for (curve, bound) in self.curves[range.clone()]
            .iter()
            .zip(&self.upper_bounds[range])
        {
            if logit + bound < least {
                return None;
            }
            logit += curve.at(measures[curve.measure]);
        }
        (logit + bound_of_rest >= least).then_some(logit)
    }

    /// Index, value and addend of each measure.
    pub fn parts(&self, measures: &[f64]) -> impl Iterator<Item = (usize, f64, f64)> {
        self.curves.iter().map(|curve| {
            (
                curve.measure,
                measures[curve.measure],
                curve.at(measures[curve.measure]),
            )
        })
    }
}

/// The trees tell how well a candidate fits what chartists draw; the confidence is the share of such answers that one of two chartists draws
/// (Platt 1999, "Probabilistic outputs for support vector machines"). Each name has an offset of its own, shrunk towards none by the number of
/// its answers (ridge regression; Hoerl & Kennard 1970), so that a rare name keeps the confidence of all names together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    pub intercept: f64,
    pub slope: f64,
    /// Log odds added to answers of each of [`PatternName::ALL`].
    pub offsets: [f64; PatternName::ALL.len()],
}

impl Calibration {
    /// The confidence as it is.
    pub const NONE: Self = Self {
        intercept: 0.0,
        slope: 1.0,
        offsets: [0.0; PatternName::ALL.len()],
    };

    pub fn logit(&self, name: PatternName, logit: f64) -> f64 {
        self.intercept + self.slope * logit + self.offset(name)
    }

    pub(super) fn offset(&self, name: PatternName) -> f64 {
        self.offsets[name as usize]
    }
}

/// Fitted parameters: one additive model per kind for each of the first two stages, the trees of the third, and the selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// First stage, by the cheap measures of each of [`CandidateKind::ALL`](super::CandidateKind::ALL): drops unlikely candidates before
    /// the other measures are computed.
    pub sieve: Vec<AdditiveModel>,
    /// Second stage, by all measures.
    pub own: Vec<AdditiveModel>,
    /// Third stage, by all measures and those of the candidates around it.
    pub trees: Trees,
    /// From the trees' log odds to those of the confidence.
    pub calibration: Calibration,
    pub selection: SelectionParams,
}

impl Model {
    /// The model fitted to all chartists' marks.
    pub fn built_in() -> &'static Self {
        &coefficients::BUILT_IN
    }
}

/// Minimum log odds by the cheap measures (first stage).
pub const SIEVE_MIN_LOGIT: f64 = -2.3;
/// Minimum log odds by all measures (second stage), about one in six. Lower ones do not matter as context for others, and the time grows
/// with the square of the number kept.
pub const OWN_MIN_LOGIT: f64 = -1.6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_changes_the_confidence_of_its_name_only() {
        let mut calibration = Calibration {
            intercept: 0.5,
            slope: 2.0,
            ..Calibration::NONE
        };
        calibration.offsets[PatternName::Rectangle as usize] = -0.4;
        for (name, expected) in [(PatternName::Rectangle, 2.1), (PatternName::BullFlag, 2.5)] {
            assert!(
                (calibration.logit(name, 1.0) - expected).abs() < 1e-12,
                "{name:?}"
            );
        }
    }
}
