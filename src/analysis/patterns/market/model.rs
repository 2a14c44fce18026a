//! How likely a candidate is what its kind says: a sum of curves over its measures, in logits. And what each curve adds, which is the
//! explanation.

use std::ops::Range;

use super::{coefficients, measures, overlap::OverlapRule};

/// Knots of a curve.
pub const KNOTS: usize = 5;

/// What a measure adds to the logarithm of the odds: straight between knots, level beyond the outer ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    pub measure: usize,
    pub knots: [f64; KNOTS],
    pub adds: [f64; KNOTS],
    /// From each knot to the next; 0 where they are one.
    slopes: [f64; KNOTS - 1],
}

impl Curve {
    pub const fn new(measure: usize, knots: [f64; KNOTS], adds: [f64; KNOTS]) -> Self {
        let mut slopes = [0.0; KNOTS - 1];
        let mut k = 0;
        while k < slopes.len() {
            let width = knots[k + 1] - knots[k];
            slopes[k] = if width > 0.0 { (adds[k + 1] - adds[k]) / width } else { 0.0 };
            k += 1;
        }
        Self { measure, knots, adds, slopes }
    }

    pub fn at(&self, value: f64) -> f64 {
        // Without a branch: which stretch a value lies in can't be foretold.
        let [low, .., high] = self.knots;
        let k = usize::from(value >= self.knots[1]) + usize::from(value >= self.knots[2]) + usize::from(value >= self.knots[3]);
        let inside = if value < low { low } else { value };
        let inside = if inside > high { high } else { inside };
        self.adds[k] + (inside - self.knots[k]) * self.slopes[k]
    }

    /// The least and the most that it adds.
    fn bounds(&self) -> (f64, f64) {
        self.adds.iter().fold((f64::MAX, f64::MIN), |(low, high), adds| (low.min(*adds), high.max(*adds)))
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
    base: f64,
    /// Those over measures that look at every candle last; of the others those that can add or take most first.
    curves: Vec<Curve>,
    /// How many come before those.
    ready: usize,
    /// The most that the curves from each one on can add.
    most: Vec<f64>,
}

impl Judge {
    pub fn new(base: f64, mut curves: Vec<Curve>) -> Self {
        let reach = |curve: &Curve| {
            let (low, high) = curve.bounds();
            high - low
        };
        let thorough = |curve: &Curve| measures::is_thorough(curve.measure);
        curves.sort_by(|a, b| thorough(a).cmp(&thorough(b)).then(reach(b).total_cmp(&reach(a))).then(a.measure.cmp(&b.measure)));
        let ready = curves.partition_point(|curve| !thorough(curve));
        let mut most = vec![0.0; curves.len() + 1];
        for (k, curve) in curves.iter().enumerate().rev() {
            most[k] = most[k + 1] + curve.bounds().1;
        }
        Self { base, curves, ready, most }
    }

    pub fn base(&self) -> f64 {
        self.base
    }

    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    pub fn logit(&self, measures: &[f64]) -> f64 {
        self.at_least(measures, f64::MIN).unwrap_or(f64::MIN)
    }

    /// None as soon as it is certain to be below `least`.
    pub fn at_least(&self, measures: &[f64], least: f64) -> Option<f64> {
        self.rest(measures, self.first(measures, least)?, least)
    }

    /// Without the measures that look at every candle; None where these can't lift it to `least` any more.
    pub(super) fn first(&self, measures: &[f64], least: f64) -> Option<f64> {
        self.add(0..self.ready, measures, self.base, least)
    }

    /// With these.
    pub(super) fn rest(&self, measures: &[f64], first: f64, least: f64) -> Option<f64> {
        self.add(self.ready..self.curves.len(), measures, first, least)
    }

    fn add(&self, range: Range<usize>, measures: &[f64], mut logit: f64, least: f64) -> Option<f64> {
        let last = self.most[range.end];
        for (curve, most) in self.curves[range.clone()].iter().zip(&self.most[range]) {
            if logit + most < least {
                return None;
            }
            logit += curve.at(measures[curve.measure]);
        }
        (logit + last >= least).then_some(logit)
    }

    /// Each measure, its value and what it adds.
    pub fn parts(&self, measures: &[f64]) -> impl Iterator<Item = (usize, f64, f64)> {
        self.curves.iter().map(|curve| (curve.measure, measures[curve.measure], curve.at(measures[curve.measure])))
    }
}

/// What is fitted: a judge of each kind's own measures and one of its company, and how the answer is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// By the quick measures of each of [`CandidateKind::ALL`](super::CandidateKind::ALL): what is far off is dropped before the rest is measured.
    pub sieve: Vec<Judge>,
    /// By all measures.
    pub own: Vec<Judge>,
    pub company: Vec<Judge>,
    pub rule: OverlapRule,
}

impl Model {
    /// The one fitted to all marks.
    pub fn built_in() -> Self {
        let judge = |(base, curves): &(f64, &'static [Curve])| Judge::new(*base, curves.to_vec());
        Self {
            sieve: coefficients::SIEVE.iter().map(judge).collect(),
            own: coefficients::OWN.iter().map(judge).collect(),
            company: coefficients::COMPANY.iter().map(judge).collect(),
            rule: OverlapRule::default(),
        }
    }
}

/// Candidates less likely than this by their quick measures are left out…
pub const SIEVE_LEAST: f64 = -2.3;
/// …and those less likely than one in six by all of them. What is kept below that is company for nobody, and costs time by its square.
pub const OWN_LEAST: f64 = -1.6;

pub(super) fn share(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}
