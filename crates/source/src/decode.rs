//! Runs polars' decoders on files of unknown origin.

use polars::prelude::PolarsError;

/// Runs a decoder on untrusted bytes; its error or panic becomes an error message.
pub fn guarded<T>(
    what: &str,
    decode: impl FnOnce() -> Result<T, PolarsError>,
) -> Result<T, String> {
    model::untrusted::guarded(what, decode)
}
