//! tokendeck
pub mod analysis;
pub mod api;
pub mod dataset;
pub mod deck;
pub mod error;
pub mod jobs;
pub mod question;
pub mod state;
pub mod tui;
