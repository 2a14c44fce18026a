//! Shared by the questions about candles: the parameters that select candles, and the errors for a token without any.

use super::{
    known_token,
    parameter::{Parameter, ParameterKind, parameter},
    snapshot::Snapshot,
};
use model::{
    address::Address,
    candles::{ChartCandles, Interval},
    error::{Code, Problem, Result},
};
use store::in_place::FetchKey;

/// The supported candle lengths.
pub const TIMEFRAMES: &[&str] = &["1h", "4h", "1d", "1w"];

pub const TIMEFRAME: Parameter =
    parameter("timeframe", ParameterKind::Word { words: TIMEFRAMES, default: Some("1d") }, "Length of a candle.");
pub const FROM: Parameter = parameter("from", ParameterKind::Time, "The earliest start of a candle.");
pub const TO: Parameter = parameter("to", ParameterKind::Time, "The latest start of a candle.");

/// The interval of a word of `TIMEFRAMES`.
pub fn interval(timeframe: &str) -> Interval {
    Interval::parse(timeframe).unwrap_or(Interval::DAY)
}

/// The token's candles. Errors: the token is unknown, has no candles, or they are not fetched yet.
pub(super) fn candles_of<'a>(snapshot: &'a Snapshot, token: &Address) -> Result<ChartCandles<'a>> {
    known_token(snapshot, token)?;
    require_candles(snapshot, token)?;
    Ok(snapshot.dataset.candles().of(token))
}

/// Errors: the token has no candles, or they are remote and not fetched yet.
pub(super) fn require_candles(snapshot: &Snapshot, token: &Address) -> Result<()> {
    if let Some(in_place) = snapshot.dataset.in_place("candles").filter(|in_place| in_place.lacks(&FetchKey::Chart(*token))) {
        let detail = format!(
            "The candles of `{token}` stay at `{}` and are not here: ask for them first, at /tokens/{token}/candles, or say read = \"bring\" \
             in dataset.toml.",
            in_place.source
        );
        return Err(Problem::new(Code::SourceUnavailable, detail));
    }
    if !snapshot.dataset.candles().of(token).is_empty() {
        return Ok(());
    }
    let detail =
        snapshot.dataset.absence_reason("candles").unwrap_or_else(|| format!("The loaded datasets hold no candles of token `{token}`."));
    Err(Problem::new(Code::NoCandles, detail))
}
