//! The warnings of security that go with an answer about the price or the trade of tokens. They stand first in a tool's answer.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::{Api, tools::Tool};
use model::{address::Address, error::Result};
use query::{
    deck::Deck,
    question::{
        parameter::{ParameterKind, TokenReader},
        security::{SecurityWarning, WarningsOf},
        snapshot::Snapshot,
    },
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
pub(super) async fn before(api: &Api, tool: &Tool, arguments: &JsonObject, snapshot: Option<&Snapshot>) -> Option<String> {
    let asked = if PRICED.contains(&tool.name()) { tokens(&api.deck, tool, arguments) } else { Vec::new() };
    let snapshot = snapshot.filter(|_| !asked.is_empty())?;
    let deck = api.deck.clone();
    let current = deck.snapshot().ok().filter(|current| current.generation == snapshot.generation)?;
    let warnings: Result<Vec<SecurityWarning>> = deck.find(&current, WarningsOf(asked), || {}).await;
    let name = |token: &Address| current.dataset.token(token).and_then(|token| token.row.symbol.clone()).unwrap_or_else(|| token.short());
    let told: Vec<String> = warnings
        .ok()?
        .iter()
        .map(|of| format!("Warning about {}. {} Say this before anything else.", name(&of.token_address), of.warning))
        .collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// The tokens that the call names.
fn tokens(deck: &Deck, tool: &Tool, arguments: &JsonObject) -> Vec<Address> {
    let names = arguments.iter().flat_map(|(name, value)| match (tool.kind(name), value) {
        (Some(ParameterKind::Address), Value::String(text)) => vec![text.as_str()],
        (Some(ParameterKind::Addresses { .. }), Value::String(text)) => text.split(',').collect(),
        (Some(ParameterKind::Addresses { .. }), Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        // The wallet of a yield plan: from token to amount.
        (None, Value::Object(wallet)) if name == "tokens" => wallet.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    });
    let reader = TokenReader::of(deck);
    names.take(TOKENS_MAX).filter_map(|name| reader.read(name.trim()).ok().flatten()).collect()
}
