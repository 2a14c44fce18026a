//! The analyses: pure functions from slices and structs to answers. No I/O, clock, randomness or globals; they never fail on what
//! data lack, a gap is part of the answer.

pub mod dex;
pub mod growth;
pub mod market;
pub mod token;
