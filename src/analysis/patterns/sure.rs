//! How sure a find is: the logistic regression of being right on the marks of the shape.

use super::{
    name::PatternName as P,
    shape::{Marks, Shape},
};

/// Finds below this are not answered.
pub(super) const LEAST: f64 = 0.3;
/// ln(0.3 / 0.7).
const LEAST_LOGIT: f64 = -0.847;

/// The bases of the likeliest patterns between two lines, and of flags and pennants.
pub(super) const PAIR_BASE: f64 = -20.0;
pub(super) const FLAG_BASE: f64 = -16.2;

/// What each mark counts, in logits.
struct Weights {
    base: f64,
    clarity: f64,
    fit: f64,
    even: f64,
    prior: f64,
    step: f64,
}

/// The parts of Autochartist's quality — clarity, evenness, the trend before — with the tolerances and the smallest swing.
const TURNED: Weights = Weights { base: 0.0, clarity: 9.0, fit: 1.8, even: 8.3, prior: 5.3, step: 2.8 };
const DOUBLE: Weights = Weights { base: -17.5, clarity: 10.7, fit: 2.2, even: 0.0, prior: 0.0, step: 4.6 };
const CUP: Weights = Weights { base: -32.9, clarity: 32.0, fit: 2.2, even: 0.0, prior: 3.4, step: 0.0 };
const ROUNDED: Weights = Weights { base: -18.0, clarity: 12.0, fit: 5.0, even: 0.0, prior: 7.0, step: 0.0 };

fn weights(name: P) -> Weights {
    let base = match name {
        P::DoubleTop | P::DoubleBottom => return DOUBLE,
        P::CupAndHandle | P::InverseCupAndHandle => return CUP,
        P::RoundingBottom | P::RoundingTop => return ROUNDED,
        P::HeadAndShoulders | P::InverseHeadAndShoulders => -21.7,
        P::TripleTop | P::TripleBottom => -20.9,
        P::AscendingTriangle | P::DescendingTriangle => -21.2,
        P::SymmetricalTriangle | P::RisingWedge | P::FallingWedge | P::BroadeningTop | P::BroadeningBottom => -21.5,
        P::Rectangle | P::AscendingChannel | P::DescendingChannel => PAIR_BASE,
        P::BullFlag | P::BearFlag | P::BullPennant | P::BearPennant => FLAG_BASE,
    };
    Weights { base, ..TURNED }
}

/// Whether turns of this evenness and smallest swing (in true ranges) can make a find, all else perfect. It spares the sums of most
/// candidates.
pub(super) fn may_be(base: f64, even: f64, smallest: f64) -> bool {
    // ln x is at most x/e.
    let step = (smallest / std::f64::consts::E).min(8.0_f64.ln());
    base + TURNED.clarity + TURNED.fit + TURNED.prior + TURNED.even * even.clamp(0.1, 0.85) + TURNED.step * step >= LEAST_LOGIT
}

/// The probability that the shape is what it looks like.
pub(super) fn sureness(shape: &Shape, range: f64) -> f64 {
    let weights = weights(shape.name);
    let Marks { clarity, fit, even, prior, .. } = shape.marks;
    let smallest = shape.turns.as_slice().windows(2).map(|leg| (leg[1].price - leg[0].price).abs()).fold(f64::MAX, f64::min);
    let logit = weights.base
        + weights.clarity * clarity
        + weights.fit * fit.max(0.0)
        + weights.prior * prior
        + weights.even * even.clamp(0.1, 0.85)
        + weights.step * (smallest / range).clamp(0.5, 8.0).ln();
    1.0 / (1.0 + (-logit).exp())
}
