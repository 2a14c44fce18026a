//! Analyses: pure functions from slices and structs to results. No I/O, no clock, no randomness, no state: the same data give the same
//! bytes. Missing data are never an error; a gap is part of the result.

pub mod column;
pub mod compare;
pub mod condense;
pub mod dex;
pub mod frames;
pub mod growth;
pub mod indicators;
pub mod market;
pub mod numeric;
pub mod patterns;
pub mod security;
pub mod token;
pub mod track_record;
pub mod trendlines;
pub mod yields;
