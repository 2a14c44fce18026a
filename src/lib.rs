//! tokendeck
pub mod dataset;
pub mod error;
pub mod tui;
