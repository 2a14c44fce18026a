//! The question behind GET /technical/{contractAddress}/patterns.

use std::borrow::Cow;

use super::{
    Question,
    coins::Coins,
    parameter::{Arguments, CONTRACT, Parameter, ParameterKind, parameter},
    progress::Progress,
    request::{ParameterValue, Request as _, request},
    snapshot::Snapshot,
    timeframes::{TIMEFRAME, candles_of, interval, last_candle},
    track_record::TrackRecordQuestion,
};
use analysis::{
    frames,
    patterns::{PatternsAnswer, patterns_and_status},
};
use model::{address::Address, error::Result, time::Time};

request! {
    PatternsQuestion at "/technical/{contractAddress}/patterns" {
        contract_address: Address = CONTRACT,
        timeframe: &'static str = TIMEFRAME,
        explain: Explain = parameter(
            "explain",
            ParameterKind::Word { words: &["false", "true", "record"], default: Some("false") },
            "`true`: adds the evidence behind each pattern and its prices; `record`: what became of the token's earlier patterns too, which \
             takes seconds when it is asked first.",
        ),
    }
}

/// The explanation added to the documented answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explain {
    Plain,
    /// Evidence and price levels of each pattern.
    Levels,
    /// `Levels`, and the track record of earlier patterns.
    Record,
}

impl ParameterValue for Explain {
    fn read(arguments: &Arguments<'_>, parameter: &Parameter) -> Result<Self> {
        Ok(match arguments.word(parameter.name)? {
            Some("true") => Self::Levels,
            Some("record") => Self::Record,
            _ => Self::Plain,
        })
    }

    fn written(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Plain => None,
            Self::Levels => Some("true".into()),
            Self::Record => Some("record".into()),
        }
    }

    fn is_set(&self) -> bool {
        *self != Self::Plain
    }
}

impl Question for PatternsQuestion {
    type Answer = PatternsAnswer;
    const NAME: &'static str = "patterns";
    const SUMMARY: &'static str = "Chart-pattern detection.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn as_of(&self, snapshot: &Snapshot, answer: &PatternsAnswer) -> Option<Time> {
        answer.as_of.or_else(|| last_candle(snapshot, &self.contract_address, Some(interval(self.timeframe))))
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<PatternsAnswer> {
        let candles = candles_of(snapshot, &self.contract_address)?;
        let series = candles.series();
        let interval = interval(self.timeframe);
        let frame = frames::frame(&series, interval);
        let coins = Coins::of(snapshot, &self.contract_address)?;
        progress.step(1, 2)?;
        let explain = self.explain != Explain::Plain;
        let mut answer = frame.map_or_else(PatternsAnswer::empty, |frame| {
            patterns_and_status(&frame.as_candles(), &coins.frames(interval).coins(), explain).0
        });
        if explain {
            TrackRecordQuestion::advise(snapshot, &self.contract_address, &mut answer, self.timeframe, progress);
        }
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

    fn etag(&self, snapshot: &Snapshot) -> String {
        let target = self.target();
        if self.explain == Explain::Plain { snapshot.etag(&target) } else { snapshot.etag_of_advice(&target) }
    }
}
