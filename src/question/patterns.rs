//! The question behind GET /technical/{contractAddress}/patterns.

use super::{
    Question,
    candles::interval,
    flag_text, known_token,
    parameter::{Arguments, EXPLAIN, Parameter, ParameterKind, parameter},
    progress::Progress,
    snapshot::Snapshot,
    target,
};
use crate::{
    analysis::{
        frames,
        patterns::{PatternsAnswer, patterns},
    },
    dataset::address::Address,
    error::{Code, Problem, Result},
};

/// The frames candles are asked for in.
pub const TIMEFRAMES: &[&str] = &["1h", "4h", "1d", "1w"];

pub(super) const CONTRACT: Parameter = parameter("contractAddress", ParameterKind::Address, "The token's contract address.");

#[derive(Debug, Clone, PartialEq)]
pub struct PatternsQuestion {
    pub contract_address: Address,
    pub timeframe: &'static str,
    pub explain: bool,
}

impl Question for PatternsQuestion {
    type Answer = PatternsAnswer;
    const NAME: &'static str = "patterns";
    const SUMMARY: &'static str = "Chart-pattern detection.";
    const PATH: &'static str = "/technical/{contractAddress}/patterns";
    const NEEDS: &'static [&'static str] = &["candles"];
    const PARAMETERS: &'static [Parameter] =
        &[CONTRACT, parameter("timeframe", ParameterKind::Word { words: TIMEFRAMES, default: Some("1d") }, "Length of a candle."), EXPLAIN];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self {
            contract_address: arguments.address("contractAddress")?,
            timeframe: arguments.word("timeframe")?.unwrap_or("1d"),
            explain: arguments.flag("explain")?,
        })
    }

    fn target(&self) -> String {
        target(
            &format!("/technical/{}/patterns", self.contract_address),
            &[("timeframe", Some(self.timeframe.to_owned())), ("explain", flag_text(self.explain))],
        )
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<PatternsAnswer> {
        known_token(snapshot, &self.contract_address)?;
        require_candles(snapshot, &self.contract_address)?;
        let series = snapshot.dataset.candles().of(&self.contract_address);
        let frame = frames::frame(&series, interval(self.timeframe));
        progress.step(1, 2)?;
        Ok(frame.map_or_else(PatternsAnswer::empty, |frame| patterns(&frame.as_candles(), self.explain)))
    }
}

/// The problem that the token has no candle at all.
pub(super) fn require_candles(snapshot: &Snapshot, token: &Address) -> Result<()> {
    if !snapshot.dataset.candles().of(token).is_empty() {
        return Ok(());
    }
    let detail = snapshot.dataset.lack("candles").unwrap_or_else(|| format!("The loaded datasets hold no candles of token `{token}`."));
    Err(Problem::new(Code::NoCandles, detail))
}
