//! The query behind GET /technical/{contractAddress}/trendline.

use super::{
    Query,
    parameter::{CONTRACT, EXPLAIN, ParameterKind, parameter},
    request::request,
    snapshot::Snapshot,
    timeframes::{TIMEFRAMES, candles_of, frame_of, interval, last_candle},
    view::View,
};
use analysis::{
    timeframes,
    trendlines::{TrendlineAnswer, trendlines},
};
use model::{address::Address, error::Result, progress::Progress, time::Time};

pub const PERIOD_DEFAULT: u64 = 14;

request! {
    TrendlineQuery at "/technical/{contractAddress}/trendline" {
        contract_address: Address = CONTRACT,
        period: u64 = parameter(
            "period",
            ParameterKind::Integer { min: 2, max: 1_000_000, default: PERIOD_DEFAULT },
            "Number of candles to analyze; all of them if the token has fewer.",
        ),
        /// `None`: daily candles, or the nearest timeframe in the data.
        timeframe: Option<&'static str> = parameter(
            "timeframe",
            ParameterKind::Word { words: TIMEFRAMES, default: None },
            "Candle length. Default: daily, or the length in the data if that is longer.",
        ),
        explain: bool = EXPLAIN,
    }
}

impl Query for TrendlineQuery {
    type Answer = TrendlineAnswer;
    const NAME: &'static str = "trendline";
    const SUMMARY: &'static str = "Get trend, regression, support and resistance.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn as_of(&self, snapshot: &Snapshot, answer: &TrendlineAnswer) -> Option<Time> {
        answer.as_of.or_else(|| {
            last_candle(
                snapshot,
                &self.contract_address,
                self.timeframe.map(interval),
            )
        })
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TrendlineAnswer> {
        let candles = candles_of(view, &self.contract_address, progress)?;
        let series = candles.series();
        let frame = match self.timeframe {
            Some(timeframe) => Some(frame_of(&series, &self.contract_address, timeframe)?),
            None => timeframes::base(&series).map(|(_, frame)| frame),
        };
        progress.step(1, 2)?;
        let period = usize::try_from(self.period).unwrap_or(usize::MAX);
        Ok(frame.map_or_else(TrendlineAnswer::empty, |frame| {
            trendlines(&frame.as_candles(), period, self.explain)
        }))
    }
}
