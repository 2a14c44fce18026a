//! Analyses: pure functions from slices and structs to results. No I/O, no clock, no randomness, no state: the same data give the same
//! bytes. Missing data are never an error; a gap is part of the result.
//!
//! They can be used without the dashboard:
//!
//! | call | what it gives |
//! |---|---|
//! | [`patterns::patterns`] | chart patterns of candles, with targets and stops |
//! | [`trendlines::trendlines`] | the trend's word and its lines |
//! | [`indicators::Indicator`] | indicators by their usual names |
//! | [`yields::plan`] | the plan with the highest yield after gas, and the proof of its gap |
//!
//! What needs a whole dataset ([`market`], [`growth`]) asks for it through [`model::data::Data`]. `examples/patterns.rs` is a
//! program of thirty lines over the first two.

pub mod clusters;
pub mod column;
pub mod compare;
pub mod condense;
pub mod dex;
pub mod exact_sum;
pub mod flows;
pub mod groups;
pub mod growth;
pub mod indicators;
pub mod market;
pub mod numeric;
pub mod patterns;
pub mod peg;
pub mod rehearsal;
pub mod roles;
pub mod social;
pub mod timeframes;
pub mod token;
pub mod track_record;
pub mod trendlines;
pub mod yields;
