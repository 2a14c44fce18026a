//! tokendeck
pub mod analysis;
pub mod dataset;
pub mod error;
