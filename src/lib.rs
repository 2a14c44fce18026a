//! tokendeck
pub mod dataset;
pub mod error;
