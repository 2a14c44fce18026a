//! The types that every part of tokendeck shares: addresses, times, chains, the schema of the tables, their typed rows, candles, findings
//! and the one error type. Nothing here reads a file, uses the network or depends on how rows are stored.

pub mod address;
pub mod annotations;
pub mod candles;
pub mod disk_lru;
pub mod field_hash;
pub mod kept_texts;
pub mod private_files;
pub mod system;
pub mod token_names;
pub mod wall_clock;

pub mod chain;
pub mod chain_state;
pub mod command_line;
pub mod data;
pub mod day_counts;
pub mod error;
pub mod findings;
pub mod flight;
pub mod format;
pub mod holding;
pub mod interval;
pub mod json_members;
pub mod locks;
pub mod logged_request;
pub mod names;
pub mod progress;
pub mod rows;
pub mod scalar;
pub mod schema;
pub mod social;
pub mod spelling;
pub mod table_ask;
pub mod table_state;
pub mod time;
pub mod token;
pub mod toml_reader;
pub mod untrusted;
mod words;
pub mod yield_rows;
