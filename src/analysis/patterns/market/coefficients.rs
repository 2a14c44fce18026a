//! The fitted model: what each measure adds to the logarithm of the odds, by kind. `cargo bench --bench accuracy -- charts-fit` fits
//! it to all marks of chartists and prints these files anew; nothing here is written by hand.

#![allow(
    clippy::unreadable_literal,
    clippy::approx_constant,
    reason = "fitted numbers: none is a mathematical constant, and four digits need no underscores"
)]

mod company_flags;
mod company_lines;
mod company_reversals;
mod own_flags;
mod own_lines;
mod own_reversals;
mod sieve_flags;
mod sieve_lines;
mod sieve_reversals;

use super::model::Curve;

/// A base and its curves.
type Fitted = (f64, &'static [Curve]);

/// By a candidate's quick measures, in the order of the kinds.
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

/// By a candidate's own measures, in the order of the kinds.
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

/// By the company it keeps.
pub(super) const COMPANY: [Fitted; 13] = [
    company_reversals::DOUBLE,
    company_reversals::HEAD_AND_SHOULDERS,
    company_reversals::TRIPLE,
    company_reversals::ROUNDING,
    company_reversals::CUP,
    company_lines::RECTANGLE,
    company_lines::CHANNEL,
    company_lines::WEDGE,
    company_lines::LEVEL_TRIANGLE,
    company_lines::SYMMETRICAL_TRIANGLE,
    company_lines::BROADENING,
    company_flags::FLAG,
    company_flags::PENNANT,
];
