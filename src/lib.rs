//! tokendeck: a crypto-token analyst's dashboard and JSON API over the analyst's own datasets.
//!
//! This crate is the program: its commands, its settings, and what it remembers of its user. What it does lies in the crates below
//! `crates/`; `ARCHITECTURE.md` describes them, and `tests/it/architecture.rs` holds the rules that Cargo cannot.

pub mod cli;
pub mod config;
pub mod state;
