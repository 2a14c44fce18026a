//! The lengths of candles that questions take, and the refusal where a token has no candles.

use super::snapshot::Snapshot;
use crate::{
    dataset::{address::Address, candles::Interval, shelf::Want},
    error::{Code, Problem, Result},
};

/// The lengths of a candle that can be asked for.
pub const TIMEFRAMES: &[&str] = &["1h", "4h", "1d", "1w"];

/// The interval behind a word of `TIMEFRAMES`.
pub fn interval(timeframe: &str) -> Interval {
    Interval::parse(timeframe).unwrap_or(Interval::DAY)
}

/// The problem that the token has no candle at all.
pub(super) fn require_candles(snapshot: &Snapshot, token: &Address) -> Result<()> {
    if let Some(shelf) = snapshot.dataset.shelf("candles").filter(|shelf| shelf.lacks(&Want::Chart(*token))) {
        let detail = format!(
            "The candles of `{token}` stay at `{}` and are not here: ask for them first, at /tokens/{token}/candles, or say read = \"bring\" \
             in dataset.toml.",
            shelf.source
        );
        return Err(Problem::new(Code::SourceUnavailable, detail));
    }
    if !snapshot.dataset.candles().of(token).is_empty() {
        return Ok(());
    }
    let detail = snapshot.dataset.lack("candles").unwrap_or_else(|| format!("The loaded datasets hold no candles of token `{token}`."));
    Err(Problem::new(Code::NoCandles, detail))
}
