//! The track record of one kind of pattern, as in responses. `track_record` computes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PatternName;

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
    /// the market's drift without any pattern.
    pub random_target: Option<f64>,
    /// Base rate for `stop`.
    pub random_stop: Option<f64>,
}

impl PatternRecord {
    /// The empty record of a name without patterns.
    pub fn none(name: PatternName) -> Self {
        let (target, stop, neither, median_days, random_target, random_stop) = Default::default();
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
        }
    }
}
