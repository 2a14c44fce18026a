//! The query behind GET /technical/{contractAddress}/patterns.

use std::borrow::Cow;

use super::{
    Query,
    coins::Coins,
    parameter::{Arguments, CONTRACT, Parameter, ParameterKind, parameter},
    request::{ParameterValue, Request as _, request},
    snapshot::Snapshot,
    timeframes::{TIMEFRAME, candles_of, frame_of, interval, last_candle},
    track_record::{TrackRecordQuery, advise},
    view::View,
};
use analysis::patterns::{Pattern, PatternsAnswer, patterns_to_advise};
use model::{address::Address, error::Result, progress::Progress, time::Time};

request! {
    PatternsQuery at "/technical/{contractAddress}/patterns" {
        contract_address: Address = CONTRACT,
        timeframe: &'static str = TIMEFRAME,
        explain: Explain = parameter(
            "explain",
            ParameterKind::Word { words: &["false", "true", "record"], default: Some("false") },
            "`true`: add the evidence behind each pattern and its prices; `record`: also add the outcomes of the token's earlier \
                patterns, which takes a few seconds the first time.",
        ),
        include: &'static str = parameter(
            "include",
            ParameterKind::Word { words: &["all", "active"], default: Some("all") },
            "`active`: only patterns that are forming, or were confirmed in the last 60 candles and have reached neither target nor stop.",
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

impl Query for PatternsQuery {
    type Answer = PatternsAnswer;
    const NAME: &'static str = "patterns";
    const SUMMARY: &'static str = "Detect chart patterns.";
    const NEEDS: &'static [&'static str] = &["candles"];

    fn as_of(&self, snapshot: &Snapshot, answer: &PatternsAnswer) -> Option<Time> {
        answer.as_of.or_else(|| {
            last_candle(
                snapshot,
                &self.contract_address,
                Some(interval(self.timeframe)),
            )
        })
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<PatternsAnswer> {
        let candles = candles_of(view, &self.contract_address, progress)?;
        let series = candles.series();
        let interval = interval(self.timeframe);
        let frame = frame_of(&series, &self.contract_address, self.timeframe)?;
        let coins = Coins::of(view, &self.contract_address, interval, progress)?;
        progress.step(1, 2)?;
        let explain = self.explain != Explain::Plain;
        let mut answer = patterns_to_advise(&frame.as_candles(), &coins.frames().coins(), explain);
        advise(
            view,
            &self.contract_address,
            &mut answer,
            self.timeframe,
            progress,
        )?;
        if self.include == "active" {
            answer.patterns.retain(Pattern::is_active);
        }
        if !explain {
            return Ok(answer.plain());
        }
        if self.explain == Explain::Record {
            let mut records =
                TrackRecordQuery::of_token(view, self.contract_address, self.timeframe, progress)?;
            records.retain(|record| {
                answer
                    .patterns
                    .iter()
                    .any(|pattern| pattern.name == record.name)
            });
            answer.track_record = Some(records);
        }
        Ok(answer)
    }

    fn heavy(&self, _: &Snapshot) -> bool {
        self.explain == Explain::Record
    }

    fn shows_verdict(&self) -> bool {
        true
    }

    fn etag(&self, snapshot: &Snapshot) -> String {
        snapshot.etag_of_advice(&self.target(), self.timeframe)
    }
}
