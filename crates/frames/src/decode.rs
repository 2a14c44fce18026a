//! Runs polars' decoders on files of unknown origin.

use model::untrusted::DecodeError;
use polars::prelude::PolarsError;

/// Runs a decoder of polars on untrusted bytes.
pub fn guarded<T>(
    format: &'static str,
    decode: impl FnOnce() -> Result<T, PolarsError>,
) -> Result<T, DecodeError> {
    model::untrusted::guarded(format, decode)
}
