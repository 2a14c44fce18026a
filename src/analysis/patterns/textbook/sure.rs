//! How sure a find is: a logistic regression of being right on the marks of its shape, in place of a fixed mean of them whose cube
//! was taken. The marks are those of Autochartist's quality (clarity, uniformity, the trend before) with the use of the tolerances;
//! three things chance does not give were added: evenly long legs count for more, swings that stand out of the noise of single
//! candles, and more turns than needed.
//!
//! Tuned on labelled patterns made by the project's generator and by a rougher variant of it (legs twice as uneven, geometry up to
//! the limits of the definitions, noisier), 400 of each name, against 400,000 candles of random walk. With one set of weights for a
//! group of names rather than one for each, so that they follow no generator too closely.

use super::{
    name::PatternName as P,
    shape::{Marks, Shape},
};

/// Finds below this are not answered.
pub(super) const LEAST: f64 = 0.45;
/// ln(p/(1 − p)) of it.
const LEAST_LOGIT: f64 = -0.201;

/// What each mark counts, in logits.
pub(super) struct Weights {
    base: f64,
    clarity: f64,
    fit: f64,
    even: f64,
    prior: f64,
    step: f64,
    turn: f64,
}

const TOP: Weights = Weights { base: -28.5, clarity: 10.8, fit: 2.3, even: 8.0, prior: 11.2, step: 2.7, turn: 0.0 };
const DOUBLE: Weights = Weights { base: -16.7, clarity: 11.4, fit: 1.9, even: 0.0, prior: 0.0, step: 4.1, turn: 0.0 };
pub(super) const PAIR: Weights = Weights { base: -28.6, clarity: 8.9, fit: 2.2, even: 8.8, prior: 5.0, step: 2.9, turn: 1.24 };
pub(super) const FLAG: Weights = Weights { base: -18.5, clarity: 5.9, fit: 2.2, even: 5.5, prior: 9.7, step: 1.2, turn: 0.76 };
const CUP: Weights = Weights { base: -33.0, clarity: 32.3, fit: 2.8, even: 0.0, prior: 3.4, step: 0.0, turn: 0.0 };
const ROUNDED: Weights = Weights { base: -18.2, clarity: 12.3, fit: 5.1, even: 0.0, prior: 7.3, step: 0.0, turn: 0.0 };

fn weights(name: P) -> &'static Weights {
    match name {
        P::HeadAndShoulders | P::InverseHeadAndShoulders | P::TripleTop | P::TripleBottom => &TOP,
        P::DoubleTop | P::DoubleBottom => &DOUBLE,
        P::AscendingTriangle
        | P::DescendingTriangle
        | P::SymmetricalTriangle
        | P::RisingWedge
        | P::FallingWedge
        | P::BroadeningTop
        | P::BroadeningBottom
        | P::Rectangle
        | P::AscendingChannel
        | P::DescendingChannel => &PAIR,
        P::BullFlag | P::BearFlag | P::BullPennant | P::BearPennant => &FLAG,
        P::CupAndHandle | P::InverseCupAndHandle => &CUP,
        P::RoundingBottom | P::RoundingTop => &ROUNDED,
    }
}

impl Weights {
    fn logit(&self, marks: Marks, turns: usize, step: f64) -> f64 {
        self.base
            + self.clarity * marks.clarity
            + self.fit * marks.fit.max(0.0)
            // Beyond this evenness more of it says nothing.
            + self.even * marks.even.clamp(0.1, 0.85)
            + self.prior * marks.prior
            + self.step * step
            + self.turn * turns as f64
    }

    /// Whether turns of this evenness and smallest swing (in true ranges) can make a find, all else perfect. It spares the sums of
    /// most candidates.
    pub(super) fn may_find(&self, turns: usize, even: f64, smallest: f64) -> bool {
        // ln x is at most x/e.
        let step = (smallest / std::f64::consts::E).min(8.0_f64.ln());
        self.logit(Marks { clarity: 1.0, fit: 1.0, even, prior: 1.0 }, turns, step) >= LEAST_LOGIT
    }
}

/// The probability that the shape is what it looks like.
pub(super) fn sureness(shape: &Shape, range: f64) -> f64 {
    let turns = shape.turns.as_slice();
    let smallest = turns.windows(2).map(|leg| (leg[1].price - leg[0].price).abs()).fold(f64::MAX, f64::min);
    let step = (smallest / range).clamp(0.5, 8.0).ln();
    1.0 / (1.0 + (-weights(shape.name).logit(shape.marks, turns.len(), step)).exp())
}
