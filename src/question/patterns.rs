//! The question behind GET /technical/{contractAddress}/patterns.

use super::{
    Question,
    candles::interval,
    known_token,
    parameter::{CONTRACT, EXPLAIN, ParameterKind, parameter},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
};
use crate::{
    analysis::{
        frames,
        patterns::{PatternsAnswer, patterns},
    },
    dataset::{address::Address, shelf::Want},
    error::{Code, Problem, Result},
};

/// The frames candles are asked for in.
pub const TIMEFRAMES: &[&str] = &["1h", "4h", "1d", "1w"];

request! {
    PatternsQuestion at "/technical/{contractAddress}/patterns" {
        contract_address: Address = CONTRACT,
        timeframe: &'static str = parameter("timeframe", ParameterKind::Word { words: TIMEFRAMES, default: Some("1d") }, "Length of a candle."),
        explain: bool = EXPLAIN,
    }
}

impl Question for PatternsQuestion {
    type Answer = PatternsAnswer;
    const NAME: &'static str = "patterns";
    const SUMMARY: &'static str = "Chart-pattern detection.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn wants(&self, _: &Snapshot) -> Vec<Want> {
        vec![Want::Chart(self.contract_address)]
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<PatternsAnswer> {
        known_token(snapshot, &self.contract_address)?;
        require_candles(snapshot, &self.contract_address)?;
        let candles = snapshot.dataset.candles().of(&self.contract_address);
        let series = candles.series();
        let frame = frames::frame(&series, interval(self.timeframe));
        progress.step(1, 2)?;
        Ok(frame.map_or_else(PatternsAnswer::empty, |frame| patterns(&frame.as_candles(), self.explain)))
    }
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
