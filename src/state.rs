//! What is kept per user between runs.

pub mod keys;
