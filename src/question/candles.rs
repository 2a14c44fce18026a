//! The question behind GET /tokens/{token_address}/candles.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, known_token,
    paging::Paging,
    parameter::{ParameterKind, TOKEN, parameter},
    patterns::{TIMEFRAMES, require_candles},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular},
};
use crate::{
    analysis::frames,
    dataset::{address::Address, candles::Interval, time::Time},
    error::Result,
};

request! {
    CandlesQuestion at "/tokens/{token_address}/candles" {
        token_address: Address = TOKEN,
        timeframe: &'static str = parameter("timeframe", ParameterKind::Word { words: TIMEFRAMES, default: Some("1d") }, "Length of a candle."),
        from: Option<Time> = parameter("from", ParameterKind::Time, "The earliest start of a candle."),
        to: Option<Time> = parameter("to", ParameterKind::Time, "The latest start of a candle."),
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 5_000, default: 500 }, "Candles to return, the latest."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenCandles {
    pub token_address: Address,
    pub timeframe: &'static str,
    /// The latest that fit, oldest first.
    pub candles: Vec<Candle>,
    /// There are more before these that `limit` left out.
    #[serde(skip)]
    pub cut: bool,
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

/// The interval behind a word of `TIMEFRAMES`.
pub fn interval(timeframe: &str) -> Interval {
    Interval::parse(timeframe).unwrap_or(Interval::DAY)
}

impl Question for CandlesQuestion {
    type Answer = TokenCandles;
    const NAME: &'static str = "candles";
    const SUMMARY: &'static str = "A token's candles: stored, or resampled from finer ones.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn wants(&self) -> Vec<Address> {
        vec![self.token_address]
    }

    fn paging(&self, answer: &TokenCandles) -> Option<Paging> {
        answer.candles.first().filter(|_| answer.cut).map(|first| Paging::Before(first.timestamp))
    }

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<TokenCandles> {
        known_token(snapshot, &self.token_address)?;
        require_candles(snapshot, &self.token_address)?;
        let series = snapshot.dataset.candles().of(&self.token_address);
        let frame = frames::frame(&series, interval(self.timeframe));
        let (mut candles, mut cut) = (Vec::new(), false);
        if let Some(frame) = &frame {
            let all = frame.as_candles();
            let start = self.from.map_or(0, |from| all.timestamp.partition_point(|&time| time < from.0));
            let end = self.to.map_or(all.len(), |to| all.timestamp.partition_point(|&time| time <= to.0)).max(start);
            let from = start;
            let start = start.max(end.saturating_sub(usize::try_from(self.limit).unwrap_or(usize::MAX)));
            cut = start > from;
            let finite = |number: f64| number.is_finite().then_some(number);
            candles.extend((start..end).map(|i| Candle {
                timestamp: Time(all.timestamp[i]),
                open: finite(all.open[i]),
                high: finite(all.high[i]),
                low: finite(all.low[i]),
                close: finite(all.close[i]),
                volume: finite(all.volume[i]),
            }));
        }
        Ok(TokenCandles { token_address: self.token_address, timeframe: self.timeframe, candles, cut })
    }
}

impl Tabular for CandlesQuestion {
    fn tabled(&self, snapshot: &Arc<Snapshot>, whole: bool, progress: &Progress) -> Result<Tabled> {
        let limit = if whole { u64::MAX } else { self.limit };
        let answer = Self { limit, ..self.clone() }.answer(snapshot, progress)?;
        Tabled::of(&answer.candles, &["timestamp", "open", "high", "low", "close", "volume"])
    }
}
