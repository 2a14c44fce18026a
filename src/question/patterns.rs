//! The question behind GET /technical/{contractAddress}/patterns.

use std::borrow::Cow;

use super::{
    Question,
    candles::interval,
    known_token,
    parameter::{Arguments, CONTRACT, Parameter, ParameterKind, parameter},
    progress::Progress,
    request::{Value, request},
    snapshot::Snapshot,
    track_record::TrackRecordQuestion,
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
        explain: Explain = parameter(
            "explain",
            ParameterKind::Word { words: &["false", "levels", "true"], default: Some("false") },
            "`levels`: adds the evidence behind each pattern and its prices; `true`: what became of the token's earlier patterns too, which \
             takes seconds when it is asked first.",
        ),
    }
}

/// How much is told beside the documented answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explain {
    Plain,
    /// What patterns rest on, and their prices.
    Levels,
    /// The record of earlier ones too.
    Record,
}

impl Value for Explain {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        Ok(match arguments.word(parameter.name)? {
            Some("levels") => Self::Levels,
            Some("true") => Self::Record,
            _ => Self::Plain,
        })
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Plain => None,
            Self::Levels => Some("levels".into()),
            Self::Record => Some("true".into()),
        }
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
        let explain = self.explain != Explain::Plain;
        let mut answer = frame.map_or_else(PatternsAnswer::empty, |frame| patterns(&frame.as_candles(), explain));
        if self.explain == Explain::Record {
            let mut records = TrackRecordQuestion::of_token(snapshot, self.contract_address, self.timeframe, progress)?;
            records.retain(|record| answer.patterns.iter().any(|pattern| pattern.name == record.name));
            answer.track_record = Some(records);
        }
        Ok(answer)
    }

    fn heavy(&self) -> bool {
        self.explain == Explain::Record
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
