//! The question behind GET /technical/{contractAddress}/trendline.

use super::{
    Question,
    candles::interval,
    flag_text, known_token,
    parameter::{Arguments, EXPLAIN, Parameter, ParameterKind, parameter},
    patterns::{CONTRACT, TIMEFRAMES, require_candles},
    progress::Progress,
    snapshot::Snapshot,
    target,
};
use crate::{
    analysis::{
        frames,
        trendlines::{TrendlineAnswer, trendlines},
    },
    dataset::address::Address,
    error::Result,
};

pub const PERIOD_DEFAULT: u64 = 14;

#[derive(Debug, Clone, PartialEq)]
pub struct TrendlineQuestion {
    pub contract_address: Address,
    pub period: u64,
    /// `None`: daily, or what the data have instead.
    pub timeframe: Option<&'static str>,
    pub explain: bool,
}

impl Question for TrendlineQuestion {
    type Answer = TrendlineAnswer;
    const NAME: &'static str = "trendline";
    const SUMMARY: &'static str = "Trendline analysis: regression, support, resistance, and the trend.";
    const PATH: &'static str = "/technical/{contractAddress}/trendline";
    const NEEDS: &'static [&'static str] = &["candles"];
    const PARAMETERS: &'static [Parameter] = &[
        CONTRACT,
        parameter(
            "period",
            ParameterKind::Integer { min: 2, max: 1_000_000, default: PERIOD_DEFAULT },
            "Candles to analyze; when the token has fewer, those it has.",
        ),
        parameter(
            "timeframe",
            ParameterKind::Word { words: TIMEFRAMES, default: None },
            "Length of a candle; without it daily, or what the data have where they are coarser.",
        ),
        EXPLAIN,
    ];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self {
            contract_address: arguments.address("contractAddress")?,
            period: arguments.integer("period")?,
            timeframe: arguments.word("timeframe")?,
            explain: arguments.flag("explain")?,
        })
    }

    fn target(&self) -> String {
        target(
            &format!("/technical/{}/trendline", self.contract_address),
            &[
                ("period", Some(self.period.to_string())),
                ("timeframe", self.timeframe.map(str::to_owned)),
                ("explain", flag_text(self.explain)),
            ],
        )
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<TrendlineAnswer> {
        known_token(snapshot, &self.contract_address)?;
        require_candles(snapshot, &self.contract_address)?;
        let series = snapshot.dataset.candles().of(&self.contract_address);
        let frame = match self.timeframe {
            Some(timeframe) => frames::frame(&series, interval(timeframe)),
            None => frames::base(&series).map(|(_, frame)| frame),
        };
        progress.step(1, 2)?;
        let period = usize::try_from(self.period).unwrap_or(usize::MAX);
        Ok(frame.map_or_else(TrendlineAnswer::empty, |frame| trendlines(&frame.as_candles(), period, self.explain)))
    }
}
