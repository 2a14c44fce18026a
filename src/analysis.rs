//! The analyses: pure functions from slices and structs to answers. No input or output, no clock, no randomness, no state; the same
//! data give the same bytes. They never fail on what data lack: a gap is part of the answer.

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
