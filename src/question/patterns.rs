//! The question behind GET /technical/{contractAddress}/patterns. Its parameters are checked; the detection is not built yet and
//! says so.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, flag_text, known_token,
    parameter::{Arguments, EXPLAIN, Parameter, ParameterKind, parameter},
    progress::Progress,
    snapshot::Snapshot,
    target,
};
use crate::{
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

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Patterns {
    pub patterns: Vec<Pattern>,
    /// `strong_buy`, `buy`, `hold`, `sell` or `strong_sell`.
    pub recommended_action: String,
}

/// A chart pattern.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    pub name: String,
    /// 0-1.
    pub confidence: f64,
    /// 100 when confirmed.
    pub completion_percent: f64,
    /// Percent of the breakout level, signed.
    pub projected_movement: f64,
    /// Index of the first candle, the oldest of the frame being 0.
    pub start_index: i64,
    pub end_index: i64,
}

impl Question for PatternsQuestion {
    type Answer = Patterns;
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

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<Patterns> {
        known_token(snapshot, &self.contract_address)?;
        require_candles(snapshot, &self.contract_address)?;
        Err(Problem::new(Code::NotBuilt, "Chart-pattern detection is not built yet; trendlines are: GET /technical/{address}/trendline."))
    }
}

/// The problem that the token has no candle at all.
pub(super) fn require_candles(snapshot: &Snapshot, token: &Address) -> Result<()> {
    if !snapshot.dataset.candles().of(token).is_empty() {
        return Ok(());
    }
    let detail = if snapshot.dataset.has("candles") {
        format!("The loaded datasets hold no candles of token `{token}`.")
    } else {
        "The loaded datasets have no `candles` table: add candles.csv or candles.parquet to the dataset folder.".to_owned()
    };
    Err(Problem::new(Code::NoCandles, detail))
}
