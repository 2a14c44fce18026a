//! The track record of one kind of pattern, as answers carry it. `track_record` counts it.

use schemars::JsonSchema;
use serde::Serialize;

use super::PatternName;

/// What became of the patterns of one name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatternRecord {
    pub name: PatternName,
    /// Patterns that are decided: target or stop was met, or 600 candles have passed.
    pub count: u64,
    /// Patterns that are not decided yet.
    pub open: u64,
    /// Fraction of the decided ones of which a high or low met the target first. Null where none is decided, as those below.
    pub target: Option<f64>,
    /// Fraction of which a close lay beyond the stop first.
    pub stop: Option<f64>,
    /// Fraction of which neither was met within 600 candles.
    pub neither: Option<f64>,
    /// Days from the breakout to target or stop, the middle of those that met one.
    pub median_days: Option<f64>,
    /// What `target` is of entries at every candle, in the same direction and with target and stop at the same distances: what a drift of
    /// the market gives without any pattern.
    pub random_target: Option<f64>,
    /// What `stop` is of those.
    pub random_stop: Option<f64>,
}

impl PatternRecord {
    /// Of a name that no pattern had.
    pub fn none(name: PatternName) -> Self {
        let (target, stop, neither, median_days, random_target, random_stop) = Default::default();
        Self { name, count: 0, open: 0, target, stop, neither, median_days, random_target, random_stop }
    }
}
