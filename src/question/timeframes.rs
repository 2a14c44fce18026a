//! What questions about candles have in common: the parameters that choose candles, and the refusal where a token has none.

use super::{
    known_token,
    parameter::{Parameter, ParameterKind, parameter},
    snapshot::Snapshot,
};
use crate::{
    dataset::{
        address::Address,
        candles::{ChartCandles, Interval},
        shelf::Want,
    },
    error::{Code, Problem, Result},
};

/// The lengths of a candle that can be asked for.
pub const TIMEFRAMES: &[&str] = &["1h", "4h", "1d", "1w"];

pub const TIMEFRAME: Parameter =
    parameter("timeframe", ParameterKind::Word { words: TIMEFRAMES, default: Some("1d") }, "Length of a candle.");
pub const FROM: Parameter = parameter("from", ParameterKind::Time, "The earliest start of a candle.");
pub const TO: Parameter = parameter("to", ParameterKind::Time, "The latest start of a candle.");

/// The interval behind a word of `TIMEFRAMES`.
pub fn interval(timeframe: &str) -> Interval {
    Interval::parse(timeframe).unwrap_or(Interval::DAY)
}

/// The token's candles, or the problem that it is not there or has none.
pub(super) fn candles_of<'a>(snapshot: &'a Snapshot, token: &Address) -> Result<ChartCandles<'a>> {
    known_token(snapshot, token)?;
    require_candles(snapshot, token)?;
    Ok(snapshot.dataset.candles().of(token))
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
