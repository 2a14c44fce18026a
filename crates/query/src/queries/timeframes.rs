//! Shared by the queries about candles: the parameters that select candles, and the errors for a token without any.

use super::{
    known_token,
    parameter::{Parameter, ParameterKind, parameter},
    snapshot::Snapshot,
    view::View,
};
use analysis::timeframes::{self, Frame};
use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval},
    error::{Code, Problem, Result},
    progress::Progress,
    time::Time,
};

/// The supported candle lengths.
pub const TIMEFRAMES: &[&str] = &["1h", "4h", "1d", "1w"];

pub const TIMEFRAME: Parameter = parameter(
    "timeframe",
    ParameterKind::Word {
        words: TIMEFRAMES,
        default: Some("1d"),
    },
    "Candle length.",
);
pub const FROM: Parameter = parameter("from", ParameterKind::Time, "Earliest candle start.");
pub const TO: Parameter = parameter("to", ParameterKind::Time, "Latest candle start.");

/// The interval of a word of `TIMEFRAMES`.
pub fn interval(timeframe: &str) -> Interval {
    Interval::parse(timeframe).unwrap_or(Interval::DAY)
}

/// The candles of this timeframe, stored or made of shorter ones. Errors: all that the token has are longer; the text names the timeframes
/// that there are.
pub(super) fn frame_of<'a>(
    series: &[(Interval, Candles<'a>)],
    token: &Address,
    timeframe: &str,
) -> Result<Frame<'a>> {
    timeframes::frame(series, interval(timeframe)).ok_or_else(|| {
        let there = timeframes_in(series).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let detail = if there.is_empty() {
            format!("Token `{token}` has no `{timeframe}` candles, and none in any of the timeframes {}.", TIMEFRAMES.join(", "))
        } else {
            format!("Token `{token}` has no `{timeframe}` candles; available: {there}.")
        };
        Problem::new(Code::NoCandles, detail)
    })
}

/// The timeframes in which the token has candles, stored or made of shorter ones.
pub fn timeframes_of(snapshot: &Snapshot, token: &Address) -> Vec<&'static str> {
    timeframes_in(&snapshot.dataset.candles().loaded(token).series()).collect()
}

fn timeframes_in(series: &[(Interval, Candles<'_>)]) -> impl Iterator<Item = &'static str> {
    TIMEFRAMES.iter().copied().filter(|word| {
        timeframes::frame(series, interval(word))
            .is_some_and(|frame| !frame.as_candles().is_empty())
    })
}

/// Start of the last of the token's candles of this length, which are here. Default: a daily candle, or one of the length in the data.
pub(super) fn last_candle(
    snapshot: &Snapshot,
    token: &Address,
    interval: Option<Interval>,
) -> Option<Time> {
    let candles = snapshot.dataset.candles().of(token);
    let series = candles.series();
    let frame = match interval {
        Some(interval) => timeframes::frame(&series, interval)?,
        None => timeframes::base(&series)?.1,
    };
    frame
        .as_candles()
        .timestamp
        .last()
        .map(|start| Time(*start))
}

/// The token's candles, brought where they are at an engine. Errors: the token is unknown, has no candles, or they cannot be fetched.
pub(super) fn candles_of<'a>(
    view: &'a View<'_>,
    token: &Address,
    progress: &Progress,
) -> Result<ChartCandles<'a>> {
    known_token(view, token)?;
    view.bring("candles", &[*token], progress)?;
    let candles = view.dataset.candles().of(token);
    if !candles.is_empty() {
        return Ok(candles);
    }
    let detail = view
        .dataset
        .absence_reason("candles")
        .unwrap_or_else(|| format!("No candles of token `{token}` in the dataset."));
    Err(Problem::new(Code::NoCandles, detail))
}
