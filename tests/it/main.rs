use {criterion as _, insta as _, portable_pty as _, proptest as _, tempfile as _, ureq as _, vt100 as _};

mod candle_frames;
mod dataset;
mod demo;
mod trendline_accuracy;
mod trendline_properties;
