//! The questions' arithmetic: pure functions over dataset slices. No input or output, no clock, no randomness, no state; the same
//! candles give the same bytes. Knows the standard library, the dataset types, statrs and serde, and nothing of the faces.

pub mod frames;
pub mod numeric;
pub mod trendlines;
