//! How likely a candidate is what its kind says: a sum of curves over its measures, in logits. And what each curve adds, which is the
//! explanation.

use std::borrow::Cow;

use super::{choice::Rule, coefficients};

/// Knots of a curve.
pub const KNOTS: usize = 5;

/// What a measure adds to the logarithm of the odds: straight between knots, level beyond the outer ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    pub measure: usize,
    pub knots: [f64; KNOTS],
    pub adds: [f64; KNOTS],
}

impl Curve {
    pub const fn new(measure: usize, knots: [f64; KNOTS], adds: [f64; KNOTS]) -> Self {
        Self { measure, knots, adds }
    }

    pub fn at(&self, value: f64) -> f64 {
        let (k, share) = place(&self.knots, value);
        self.adds[k] + share * (self.adds[k + 1] - self.adds[k])
    }
}

/// The stretch between knots in which a value lies, and how far along.
pub fn place(knots: &[f64; KNOTS], value: f64) -> (usize, f64) {
    let mut k = 0;
    while k + 2 < KNOTS && value >= knots[k + 1] {
        k += 1;
    }
    let width = knots[k + 1] - knots[k];
    let share = if width > 0.0 { ((value - knots[k]) / width).clamp(0.0, 1.0) } else { 0.0 };
    (k, share)
}

/// A base and curves over measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    pub base: f64,
    pub curves: Cow<'static, [Curve]>,
}

impl Judge {
    pub fn logit(&self, measures: &[f64]) -> f64 {
        self.base + self.curves.iter().map(|curve| curve.at(measures[curve.measure])).sum::<f64>()
    }

    /// Each measure, its value and what it adds.
    pub fn parts(&self, measures: &[f64]) -> impl Iterator<Item = (usize, f64, f64)> {
        self.curves.iter().map(|curve| (curve.measure, measures[curve.measure], curve.at(measures[curve.measure])))
    }
}

/// What is fitted: a judge of each kind's own measures and one of its company, and how the answer is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// By the quick measures of each of [`Kind::ALL`](super::Kind::ALL): what is far off is dropped before the rest is measured.
    pub sieve: Vec<Judge>,
    /// By all measures.
    pub own: Vec<Judge>,
    pub company: Vec<Judge>,
    pub rule: Rule,
}

impl Model {
    /// The one fitted to all marks.
    pub fn built_in() -> Self {
        let judge = |(base, curves): &(f64, &'static [Curve])| Judge { base: *base, curves: Cow::Borrowed(curves) };
        Self {
            sieve: coefficients::SIEVE.iter().map(judge).collect(),
            own: coefficients::OWN.iter().map(judge).collect(),
            company: coefficients::COMPANY.iter().map(judge).collect(),
            rule: Rule::default(),
        }
    }
}

/// Candidates less likely than this by their quick measures are left out…
pub const SIEVE_LEAST: f64 = -2.3;
/// …and those less likely than about one in seven by all of them.
pub const OWN_LEAST: f64 = -2.0;

pub(super) fn share(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}
