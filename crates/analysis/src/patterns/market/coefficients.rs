//! Coefficients of the fitted model by kind: the addend of each measure to the log odds. `cargo bench --bench accuracy -- charts-fit`
//! fits them to all chartists' marks and rewrites the files below; none of the numbers is written by hand.

#![allow(
    clippy::unreadable_literal,
    clippy::approx_constant,
    reason = "fitted numbers: none is a mathematical constant, and four digits need no underscores"
)]

mod context_flags;
mod context_lines;
mod context_reversals;
mod own_flags;
mod own_lines;
mod own_reversals;
mod sieve_flags;
mod sieve_lines;
mod sieve_reversals;

use super::model::Curve;

/// Intercept and curves of an additive model.
type Fitted = (f64, &'static [Curve]);

/// First stage: by a candidate's cheap measures, in the order of the kinds.
pub(super) const SIEVE: [Fitted; 13] = [
    sieve_reversals::DOUBLE,
    sieve_reversals::HEAD_AND_SHOULDERS,
    sieve_reversals::TRIPLE,
    sieve_reversals::ROUNDING,
    sieve_reversals::CUP,
    sieve_lines::RECTANGLE,
    sieve_lines::CHANNEL,
    sieve_lines::WEDGE,
    sieve_lines::LEVEL_TRIANGLE,
    sieve_lines::SYMMETRICAL_TRIANGLE,
    sieve_lines::BROADENING,
    sieve_flags::FLAG,
    sieve_flags::PENNANT,
];

/// Second stage: by all of a candidate's own measures, in the order of the kinds.
pub(super) const OWN: [Fitted; 13] = [
    own_reversals::DOUBLE,
    own_reversals::HEAD_AND_SHOULDERS,
    own_reversals::TRIPLE,
    own_reversals::ROUNDING,
    own_reversals::CUP,
    own_lines::RECTANGLE,
    own_lines::CHANNEL,
    own_lines::WEDGE,
    own_lines::LEVEL_TRIANGLE,
    own_lines::SYMMETRICAL_TRIANGLE,
    own_lines::BROADENING,
    own_flags::FLAG,
    own_flags::PENNANT,
];

/// Third stage: by the context measures, in the order of the kinds.
pub(super) const CONTEXT: [Fitted; 13] = [
    context_reversals::DOUBLE,
    context_reversals::HEAD_AND_SHOULDERS,
    context_reversals::TRIPLE,
    context_reversals::ROUNDING,
    context_reversals::CUP,
    context_lines::RECTANGLE,
    context_lines::CHANNEL,
    context_lines::WEDGE,
    context_lines::LEVEL_TRIANGLE,
    context_lines::SYMMETRICAL_TRIANGLE,
    context_lines::BROADENING,
    context_flags::FLAG,
    context_flags::PENNANT,
];
