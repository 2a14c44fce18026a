//! tokendeck: a crypto-token analyst's dashboard and JSON API over the analyst's own datasets.
//!
//! # The map
//!
//! The idea that carries it is a **question**: each thing that can be asked is one type, its fields the parameters, its answer the
//! documented shape. The terminal, the API, the command line and the jobs are four ways of asking the same questions of one deck.
//!
//! | module | what lives there |
//! |---|---|
//! | [`wire`] | the one place that opens a connection outwards: object stores and web servers |
//! | [`dataset`] | one immutable generation of tables: the schema, reading files, findings, typed access by token |
//! | [`demo`] | the demo market: a synthetic dataset, and the contracts in it |
//! | [`analysis`] | pure functions from slices and structs to answers |
//! | [`question`] | everything that can be asked, one type each, with its parameters and its answer |
//! | [`deck`] | the one door: the current generation, the memo of answers, the pool that works them out |
//! | [`jobs`] | deep analyses and alerts: queue, workers and the store that loses none |
//! | [`document`] | a report as sections of facts, and its files in HTML and Markdown |
//! | [`state`] | what is kept per user: keys, watchlist, session |
//! | [`api`] | the HTTP face: the endpoint table, guard, replies, OpenAPI and its page, the questions as tools (MCP), events, figures |
//! | [`tui`] | the terminal face: the key table, the app, views and widgets |
//! | [`config`], [`cli`] | every setting with its default; one file a command, where the faces are wired together |
//! | [`error`] | the one kind of refusal, in domain words, with the table of codes |
//! | [`untrusted`] | catches panics of code that works on untrusted bytes |
//! | `toml_reader`, `spelling` | TOML that a person writes, each entry with its line; which known name a misspelt one is nearest to |
//!
//! # Invariants
//!
//! - Imports go one way: `wire → dataset → analysis → question → deck → jobs → document → api | tui → cli`. `api` and `tui` do not know each other;
//!   `demo` knows `dataset` alone.
//! - Analyses are pure: no file, clock, randomness or global; the same data give the same bytes.
//! - Connections outwards are opened in `wire` only, and the first one after a dataset that names files elsewhere was agreed to.
//! - hyper stays in `api`; ratatui and crossterm stay in `tui` and in `cli/shot`.
//! - Files are touched in `dataset`, `demo`, `state`, `jobs`, `config` and `cli` only.
//! - The faces hold no arithmetic of the market, and no face asks anything but the deck.
//! - A generation never changes; a reload makes another and swaps it in whole.
//! - Nothing from outside panics: not a file, a request, a key, a terminal's size.
//!
//! `tests/it/architecture.rs` holds the arrows.

pub mod analysis;
pub mod api;
pub mod cli;
pub mod config;
pub mod dataset;
pub mod deck;
pub mod demo;
pub mod document;
pub mod error;
pub mod jobs;
pub mod question;
mod spelling;
pub mod state;
mod toml_reader;
pub mod tui;
pub mod untrusted;
pub mod wire;
