//! The integration tests, one binary; a module a topic.

mod api;
mod candle_frames;
mod dataset;
mod demo;
mod jobs;
mod state;
mod trendline_accuracy;
mod trendline_properties;

use {criterion as _, insta as _, portable_pty as _, ureq as _, vt100 as _};
