#![allow(clippy::unwrap_used, reason = "a test that lacks a value has failed")]

use {criterion as _, insta as _, portable_pty as _, proptest as _, tempfile as _, ureq as _, vt100 as _};

mod candle_frames;
mod cli;
mod config;
mod dataset;
mod demo;
mod documents;
mod trendline_accuracy;
mod trendline_properties;
