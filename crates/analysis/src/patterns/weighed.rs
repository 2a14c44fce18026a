//! Advice weighed by the track record of its patterns, as in responses. `track_record::advice` weighs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PatternName, TradeAction};
use crate::track_record::errors::Evidence;

/// `recommendedAction` with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    pub word: AdviceWord,
    /// Why it is this word.
    pub reason: AdviceReason,
    /// The reason with its values.
    pub text: String,
}

model::words! {
    /// A word of advice. Without a pattern whose track record beats its base rate, none is stronger than `watch`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AdviceWord {
        StrongBuy = "strong_buy",
        Buy = "buy",
        /// Patterns point one way, but no track record supports them.
        Watch = "watch",
        /// No pattern has a direction, or patterns disagree.
        Hold = "hold",
        Sell = "sell",
        StrongSell = "strong_sell",
    }
}

impl From<TradeAction> for AdviceWord {
    fn from(action: TradeAction) -> Self {
        match action {
            TradeAction::StrongBuy => Self::StrongBuy,
            TradeAction::Buy => Self::Buy,
            TradeAction::Hold => Self::Hold,
            TradeAction::Sell => Self::Sell,
            TradeAction::StrongSell => Self::StrongSell,
        }
    }
}

impl AdviceWord {
    pub fn is_buy(self) -> bool {
        matches!(self, Self::StrongBuy | Self::Buy)
    }
}

impl From<AdviceWord> for TradeAction {
    /// Documented responses have no word `watch`.
    fn from(word: AdviceWord) -> Self {
        match word {
            AdviceWord::StrongBuy => Self::StrongBuy,
            AdviceWord::Buy => Self::Buy,
            AdviceWord::Watch | AdviceWord::Hold => Self::Hold,
            AdviceWord::Sell => Self::Sell,
            AdviceWord::StrongSell => Self::StrongSell,
        }
    }
}

/// The reason for the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceReason {
    /// The track record of its patterns beats the base rate (`beats_base_rate`).
    Record,
    /// The track record of all tokens is still being computed; GET /technical/track-record returns its progress.
    NoRecord,
    /// The track record of its patterns does not beat the base rate, or has too few entries.
    NoBetterThanChance,
    /// Not triggered: no close is beyond the boundary yet.
    NotEntered,
    /// Patterns point in both directions.
    Disagreement,
    /// All patterns are still forming, old or weak.
    Faint,
    /// No pattern is open.
    NoPattern,
    /// The token is pegged, so its patterns are fractions of a percent, or those of its coin.
    Pegged,
    /// Its candles end long before the newest in the data, so its patterns are too old to act on.
    Stale,
    /// The security verdict forbids a buy: AVOID, HIGH RISK, or a failing sell.
    Security,
}

// The track record of one kind of pattern, as in responses. `track_record` computes it.

/// Track record of the patterns of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatternRecord {
    pub name: PatternName,
    /// Number of completed patterns: target or stop reached, or 600 candles passed.
    pub count: u64,
    /// Number of open patterns.
    pub open: u64,
    /// Hit rate: the fraction of completed patterns that reached the target first, by a high or low. Null if none has completed, like the
    /// fields below.
    pub target: Option<f64>,
    /// Fraction that closed beyond the stop first.
    pub stop: Option<f64>,
    /// Fraction that reached neither within 600 candles.
    pub neither: Option<f64>,
    /// Median number of days from the breakout to target or stop, for patterns that reached one.
    pub median_days: Option<f64>,
    /// Base rate for `target`: entries at every candle, in the same direction and with target and stop at the same distances; the effect of
    /// the market's drift without any pattern. Entries in the pattern, and one mean trade before it, are excluded, because its own move
    /// would count for them.
    pub random_target: Option<f64>,
    /// Base rate for `stop`.
    pub random_stop: Option<f64>,
    /// The difference of `target` from its base rate.
    #[serde(flatten)]
    pub evidence: Evidence,
}

impl PatternRecord {
    /// The empty record of a name without patterns.
    pub fn none(name: PatternName) -> Self {
        let (target, stop, neither, median_days, random_target, random_stop, evidence) =
            Default::default();
        Self {
            name,
            count: 0,
            open: 0,
            target,
            stop,
            neither,
            median_days,
            random_target,
            random_stop,
            evidence,
        }
    }
}
