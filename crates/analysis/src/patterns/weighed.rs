//! Advice weighed by the record of its patterns, as answers carry it. `track_record::advice` weighs it.

use schemars::JsonSchema;
use serde::Serialize;

use super::TradeAction;

/// `recommendedAction` with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    pub word: AdviceWord,
    /// What made it this word.
    pub reason: AdviceReason,
    /// The reason with its figures.
    pub text: String,
}

model::words! {
    /// A word of advice. Without a record better than chance none is stronger than `watch`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AdviceWord {
        StrongBuy = "strong_buy",
        Buy = "buy",
        /// Patterns point one way, but nothing shows that following them pays.
        Watch = "watch",
        /// Patterns point nowhere, or against each other.
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
    /// Documented answers have no word `watch`.
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

/// The reason of an advice's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceReason {
    /// The record of its patterns is better than chance.
    Record,
    /// The record of all tokens is still being counted; GET /technical/track-record says how far it is.
    NoRecord,
    /// The record of its patterns is no better than chance.
    NoBetterThanChance,
    /// No close is beyond the boundary yet, so that nobody would have entered.
    NotEntered,
    /// Patterns point both ways.
    Disagreement,
    /// What there is, is still forming or old.
    Faint,
    /// No pattern is open.
    NoPattern,
    /// The token holds a peg, so that its patterns are of a fraction of a percent, or those of its coin.
    Pegged,
    /// Its candles end long before the newest in the data: nobody can act on them.
    Stale,
    /// The security inference forbids a buy: AVOID, HIGH RISK, or a sale that fails.
    Security,
}
