//! The question behind GET /tokens/{token_address}/candles.

use std::{ops::Range, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question,
    paging::Paging,
    parameter::{ParameterKind, TOKEN, parameter},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular},
    timeframes::{FROM, TIMEFRAME, TIMEFRAMES, TO, candles_of, interval},
};
use crate::{
    analysis::frames,
    dataset::{address::Address, in_place::FetchKey, time::Time},
    error::Result,
};

request! {
    CandlesQuestion at "/tokens/{token_address}/candles" {
        token_address: Address = TOKEN,
        timeframe: &'static str = TIMEFRAME,
        from: Option<Time> = FROM,
        to: Option<Time> = TO,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 5_000, default: 500 }, "Candles to return, the latest."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenCandles {
    pub token_address: Address,
    pub timeframe: &'static str,
    /// The latest candles within `limit`, oldest first.
    pub candles: Vec<Candle>,
    /// Whether `limit` left out earlier candles.
    #[serde(skip)]
    pub cut: bool,
    /// With no candles: the other timeframes in which the token has candles, stored or resampled from finer ones.
    #[serde(skip)]
    pub elsewhere: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Candle {
    /// Start of the candle.
    pub timestamp: Time,
    /// USD; null where the data hold no finite number.
    pub open: Option<f64>,
    pub high: Option<f64>,
    pub low: Option<f64>,
    pub close: Option<f64>,
    /// Whole tokens traded; null where unknown.
    pub volume: Option<f64>,
}

/// The range of the last `limit` timestamps within `from..=to`, and whether earlier ones were cut off.
pub(super) fn latest(timestamps: &[i64], from: Option<Time>, to: Option<Time>, limit: u64) -> (Range<usize>, bool) {
    let first = from.map_or(0, |from| timestamps.partition_point(|&time| time < from.0));
    let end = to.map_or(timestamps.len(), |to| timestamps.partition_point(|&time| time <= to.0)).max(first);
    let start = first.max(end.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX)));
    (start..end, start > first)
}

impl Question for CandlesQuestion {
    type Answer = TokenCandles;
    const NAME: &'static str = "candles";
    const SUMMARY: &'static str = "A token's candles: stored, or resampled from finer ones.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn fetch_keys(&self, _: &Snapshot) -> Vec<FetchKey> {
        vec![FetchKey::Chart(self.token_address)]
    }

    fn paging(&self, answer: &TokenCandles) -> Option<Paging> {
        answer.candles.first().filter(|_| answer.cut).map(|first| Paging::Before(first.timestamp))
    }

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<TokenCandles> {
        let candles = candles_of(snapshot, &self.token_address)?;
        let series = candles.series();
        let frame = frames::frame(&series, interval(self.timeframe));
        let (mut candles, mut cut) = (Vec::new(), false);
        if let Some(frame) = &frame {
            let all = frame.as_candles();
            let range;
            (range, cut) = latest(all.timestamp, self.from, self.to, self.limit);
            let finite = |number: f64| number.is_finite().then_some(number);
            candles.extend(range.map(|i| Candle {
                timestamp: Time(all.timestamp[i]),
                open: finite(all.open[i]),
                high: finite(all.high[i]),
                low: finite(all.low[i]),
                close: finite(all.close[i]),
                volume: finite(all.volume[i]),
            }));
        }
        let has = |word: &&&str| frames::frame(&series, interval(word)).is_some_and(|frame| !frame.as_candles().is_empty());
        let elsewhere = if frame.is_none() { TIMEFRAMES.iter().filter(has).copied().collect() } else { Vec::new() };
        Ok(TokenCandles { token_address: self.token_address, timeframe: self.timeframe, candles, cut, elsewhere })
    }
}

impl Tabular for CandlesQuestion {
    fn tabled(&self, snapshot: &Arc<Snapshot>, whole: bool, progress: &Progress) -> Result<Tabled> {
        let limit = if whole { u64::MAX } else { self.limit };
        let answer = Self { limit, ..self.clone() }.answer(snapshot, progress)?;
        Tabled::of(&answer.candles, &["timestamp", "open", "high", "low", "close", "volume"])
    }
}
