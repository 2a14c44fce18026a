//! The single integration-test binary: each module tests a part of the program through its public interface, as its user would.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

use {criterion as _, insta as _, proptest as _};

mod alerts;
mod api;
mod architecture;
mod as_of;
mod broken;
mod cache;
mod candle_frames;
mod chain;
mod cli;
mod clickhouse;
mod config;
mod dataset;
mod demo;
mod documents;
mod import;
mod jobs;
mod parity;
#[path = "../generator/patterns.rs"]
mod pattern_generator;
mod pattern_properties;
mod patterns;
mod patterns_accuracy;
mod pty;
#[path = "../generator/random.rs"]
mod random;
mod recipes;
#[path = "../generator/recorded_pools.rs"]
mod recorded_pools;
mod rehearsal;
mod release;
mod remote;
mod reports;
mod screens;
mod security;
mod security_artifacts;
mod security_checklist;
mod security_contracts;
mod security_judgement;
mod security_mutants;
mod security_planted;
mod security_record;
mod security_sales;
mod security_snapshots;
mod shared;
mod single_flight;
mod state;
mod trendline_accuracy;
mod trendline_properties;
mod wait;
mod warnings;
mod watch;
mod words;
mod yields;
