//! tokendeck: a crypto-token analyst's dashboard and JSON API over the analyst's own datasets.
//!
//! # Modules
//!
//! The central concept is the **question**: each query is one type, its fields the parameters, its answer the documented JSON schema. The
//! terminal, the API, the command line and the jobs are four front ends to the same questions, all asked of one deck.
//!
//! | module | contents |
//! |---|---|
//! | [`wire`] | the only place that opens outgoing connections: object stores and web servers |
//! | [`dataset`] | one immutable generation of tables: the schema, reading files, findings, typed access by token |
//! | [`demo`] | the demo market: a synthetic dataset, and the contracts in it |
//! | [`analysis`] | pure functions from slices and structs to answers |
//! | [`question`] | the queries, one type each, with their parameters and answers |
//! | [`deck`] | the single entry point: current generation, answer cache, worker pool |
//! | [`jobs`] | deep analyses and alerts: queue, workers and durable store |
//! | [`document`] | a report as sections of facts, and its files in HTML and Markdown |
//! | [`state`] | per-user state: keys, watchlist, session |
//! | [`api`] | the HTTP front end: endpoint table, guard, replies, OpenAPI and its page, MCP tools, events, metrics |
//! | [`tui`] | the terminal front end: key bindings, app, views and widgets |
//! | [`config`], [`cli`] | every setting with its default; one file per command, where the front ends are wired together |
//! | [`error`] | the one error type, in domain terms, with the table of codes |
//! | [`untrusted`] | catches panics of code that works on untrusted bytes |
//! | `toml_reader`, `spelling` | TOML with line numbers for error messages; the nearest known name to a misspelt one |
//!
//! # Invariants
//!
//! - Imports go one way: in `wire → dataset → analysis → question → deck → jobs → document → api | tui → cli` each part imports only those
//!   to its left. `api` and `tui` do not know each other; `demo` knows `dataset` alone; `config` and `state` stand above `deck` and
//!   `dataset`; `error` and `untrusted` import nothing.
//! - Analyses are pure: no file, clock, randomness or global; the same data give the same bytes.
//! - Outgoing connections are opened in `wire` only, the first one after the user consented to a dataset with remote files.
//! - hyper stays in `api`; ratatui and crossterm stay in `tui` and in `cli/shot`.
//! - Files are touched in `dataset`, `demo`, `state`, `jobs`, `config` and `cli` only.
//! - The front ends hold no market arithmetic, and ask the deck only.
//! - A generation never changes; a reload makes another and swaps it in whole.
//! - No outside input causes a panic: not a file, a request, a key, a terminal's size.
//! - Inside a part too the modules have an order, and each imports only those before it: `tests/it/architecture/inside.rs` lists them from
//!   the lowest layer up.
//!
//! `tests/it/architecture.rs` enforces these rules.

pub mod cli;
pub mod config;
pub mod state;
