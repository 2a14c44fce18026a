//! Security warnings for results about the price or the trade of tokens. They come first in a tool's result.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::{Api, tools::Tool};
use model::{address::Address, error::Result};
use query::queries::{
    parameter::{ParameterKind, TokenReader},
    security::{SecurityWarning, WarningsOf},
    snapshot::Snapshot,
};

/// The tools whose answers could be followed without a look at security.
const PRICED: &[&str] = &[
    "token",
    "token_batch",
    "candles",
    "candle_batch",
    "trendline",
    "patterns",
    "indicators",
    "track_record",
    "dexes",
    "dex",
    "pools",
    "compare",
    "yield",
];

/// Most tokens of one call that are looked at.
const TOKENS_MAX: usize = 20;

/// What stands before the answer to the call: a sentence for each token that is warned of.
pub(super) async fn before(
    api: &Api,
    tool: &Tool,
    arguments: &JsonObject,
    snapshot: Option<&Arc<Snapshot>>,
) -> Option<String> {
    let snapshot = snapshot.filter(|_| PRICED.contains(&tool.name()))?;
    let asked = tokens(snapshot, tool, arguments);
    if asked.is_empty() {
        return None;
    }
    // Of the data that the answer is from, which may be those of an earlier day.
    let warnings: Result<Vec<SecurityWarning>> =
        api.service.find(snapshot, WarningsOf(asked), || {}).await;
    let name = |token: &Address| {
        snapshot
            .dataset
            .token(token)
            .and_then(|token| token.row.symbol.clone())
            .unwrap_or_else(|| token.short())
    };
    let told: Vec<String> = warnings
        .ok()?
        .iter()
        .map(|of| {
            format!(
                "Warning about {}. {} Say this before anything else.",
                name(&of.token_address),
                of.warning
            )
        })
        .collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// The tokens that the call names.
fn tokens(snapshot: &Snapshot, tool: &Tool, arguments: &JsonObject) -> Vec<Address> {
    let names = arguments
        .iter()
        .flat_map(|(name, value)| match (tool.kind(name), value) {
            (Some(ParameterKind::Address), Value::String(text)) => vec![text.as_str()],
            (Some(ParameterKind::Addresses { .. }), Value::String(text)) => {
                text.split(',').collect()
            }
            (Some(ParameterKind::Addresses { .. }), Value::Array(all)) => {
                all.iter().filter_map(Value::as_str).collect()
            }
            // The wallet of a yield plan: from token to amount.
            (None, Value::Object(wallet)) if name == "tokens" => {
                wallet.keys().map(String::as_str).collect()
            }
            _ => Vec::new(),
        });
    let reader = TokenReader::of(snapshot);
    names
        .take(TOKENS_MAX)
        .filter_map(|name| reader.read(name.trim()).ok().flatten())
        .collect()
}
