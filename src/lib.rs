//! tokendeck: a crypto-token analyst's dashboard and JSON API over the analyst's own datasets.
//!
//! This crate is the program: its commands, its settings and the user's stored state. The crates below `crates/` do the work;
//! `ARCHITECTURE.md` describes them, and `tests/it/architecture.rs` checks the rules that Cargo cannot enforce.

pub mod cli;
pub mod config;
pub mod state;
