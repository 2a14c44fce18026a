//! The names and forms in which a tool's arguments are accepted, beyond those in its schema: one name for a token in every tool, and what a
//! language model sends in its place. What a value means is the endpoint's to say.

use serde_json::{Value, json};

use super::tools::Tool;
use analysis::indicators::KINDS;
use query::queries::{
    parameter::ParameterKind,
    snapshot::Snapshot,
    tokens::named::{LargestNamed, largest_named},
};
use rmcp::model::JsonObject;

/// The argument that names one token.
pub(super) const TOKEN: &str = "token_address";
/// The argument that names several tokens.
pub(super) const TOKENS: &str = "addresses";
/// The member of a body that names several tokens.
pub(super) const BODY_TOKENS: &str = "token_addresses";

/// Other names of `TOKEN`, among them that of the API's paths in camel case.
const TOKEN_NAMES: &[&str] = &[
    TOKEN,
    "contractAddress",
    "contract_address",
    "contract",
    "token",
    "symbol",
    "address",
];
/// Other names of `TOKENS`.
const TOKENS_NAMES: &[&str] = &[TOKENS, BODY_TOKENS, "tokens", "symbols"];
/// Other names of the address of a wallet.
const WALLET_NAMES: &[&str] = &["wallet", "holder_address", "holder"];

/// The name that the schema shows for a parameter or a member of a body.
pub(super) fn shown(name: &'static str, kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Address => TOKEN,
        _ => name,
    }
}

/// The tool's own name of an argument; `None` if it has none of that meaning.
pub(super) fn own_name<'t>(tool: &'t Tool, given: &str) -> Option<&'t str> {
    let exact = tool.names().find(|own| *own == given);
    exact.or_else(|| {
        let of_kind =
            |is: fn(ParameterKind) -> bool| tool.names().find(|own| tool.kind(own).is_some_and(is));
        let in_body = |name: &str| {
            tool.names()
                .find(|own| *own == name && tool.kind(own).is_none())
        };
        let one =
            || of_kind(|kind| matches!(kind, ParameterKind::Address)).or_else(|| in_body(TOKEN));
        let several = || {
            tool.names()
                .find(|own| *own == TOKENS)
                .or_else(|| in_body(BODY_TOKENS))
        };
        if TOKEN_NAMES.contains(&given) {
            one().or_else(several)
        } else if TOKENS_NAMES.contains(&given) {
            several().or_else(one)
        } else if WALLET_NAMES.contains(&given) {
            of_kind(|kind| matches!(kind, ParameterKind::Holder))
        } else {
            None
        }
    })
}

/// The arguments under the tool's own names and in the forms that it takes. One that it does not have stays as it is, to be refused.
pub(super) fn with_own_names(tool: &Tool, given: JsonObject) -> JsonObject {
    let mut arguments = JsonObject::new();
    for (name, value) in given {
        let Some(own) = own_name(tool, &name) else {
            // A setting beside the settings.
            if let Some(whole) = tool.object_with(&name)
                && let Value::Object(settings) = arguments.entry(whole).or_insert_with(|| json!({}))
            {
                settings.insert(name, value);
            } else {
                arguments.insert(name, value);
            }
            continue;
        };
        let value = taken(tool.kind(own), own, value);
        match (arguments.get_mut(own), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
            // What the client said first counts.
            (Some(_), _) => {}
            (None, value) => drop(arguments.insert(own.to_owned(), value)),
        }
    }
    arguments
}

/// The value in the form that the tool takes.
fn taken(kind: Option<ParameterKind>, own: &str, value: Value) -> Value {
    match (kind, value) {
        (None, Value::String(text)) if own == BODY_TOKENS => listed(&text),
        // One in a list is one.
        (Some(ParameterKind::Address), Value::Array(items)) if items.len() == 1 => {
            items.into_iter().next().unwrap_or_default()
        }
        (Some(ParameterKind::Indicators { .. }), Value::String(names)) => names
            .split(',')
            .map(|name| usual(name.trim()))
            .collect::<Vec<_>>()
            .join(",")
            .into(),
        (Some(ParameterKind::Words(words)), Value::String(names)) => names
            .split(',')
            .map(|name| counted(words, name.trim()))
            .collect::<Vec<_>>()
            .join(",")
            .into(),
        // A sum is asked for as `sum:value`, and its column is `sum_value`.
        (_, Value::String(columns)) if own == "sort" => columns.replace(':', "_").into(),
        // A day is meant to its end, as in `as_of`.
        (Some(ParameterKind::Time), Value::String(day)) if own == "to" && is_day(&day) => {
            format!("{day}T23:59:59Z").into()
        }
        // Amounts are texts, since they exceed what a number can hold.
        (None, Value::Object(amounts)) if own == "tokens" => amounts
            .into_iter()
            .map(|(token, amount)| match amount {
                Value::Number(number) if number.is_u64() => (token, number.to_string().into()),
                amount => (token, amount),
            })
            .collect(),
        (_, value) => value,
    }
}

/// An indicator with its usual periods, if none are named.
fn usual(name: &str) -> &str {
    KINDS
        .iter()
        .find(|kind| kind.word.eq_ignore_ascii_case(name))
        .map_or(name, |kind| kind.usual)
}

/// The word, in the plural or singular if only that is known.
fn counted<'w>(words: &[&'static str], word: &'w str) -> &'w str {
    let plural = |known: &&&'static str| known.strip_suffix('s') == Some(word);
    if words.contains(&word) {
        word
    } else if let Some(known) = words.iter().find(plural) {
        known
    } else {
        let one = word.strip_suffix('s').unwrap_or(word);
        if words.contains(&one) { one } else { word }
    }
}

fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| {
            if [4, 7].contains(&at) {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
}

fn listed(text: &str) -> Value {
    let names = text.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(|name| json!(name))
        .collect()
}

/// Puts the address of the largest token in place of each symbol that several tokens have, if it is by far the largest; returns a sentence
/// for each.
pub(super) fn settle_ambiguous(
    tool: &Tool,
    arguments: &mut JsonObject,
    snapshot: &Snapshot,
) -> Vec<String> {
    let mut said = Vec::new();
    let mut settled = |name: &str| -> Option<String> {
        let LargestNamed { address, says } = largest_named(snapshot, name.trim())?;
        if !said.contains(&says) {
            said.push(says);
        }
        Some(address.to_string())
    };
    for (name, value) in arguments.iter_mut() {
        match (tool.kind(name), value) {
            (Some(ParameterKind::Address) | None, Value::String(text))
                if tool.kind(name).is_some() || name == TOKEN =>
            {
                if let Some(address) = settled(text) {
                    *text = address;
                }
            }
            (Some(ParameterKind::Addresses { .. }), Value::String(text)) => {
                let names = text
                    .split(',')
                    .map(|name| settled(name).unwrap_or_else(|| name.to_owned()));
                *text = names.collect::<Vec<_>>().join(",");
            }
            (Some(ParameterKind::Addresses { .. }) | None, Value::Array(names))
                if tool.kind(name).is_some() || name == BODY_TOKENS =>
            {
                for name in names.iter_mut() {
                    if let Some(address) = name.as_str().and_then(&mut settled) {
                        *name = address.into();
                    }
                }
            }
            // The wallet of a yield plan: from token to amount.
            (None, Value::Object(wallet)) if name == "tokens" => {
                *wallet = std::mem::take(wallet)
                    .into_iter()
                    .map(|(name, amount)| (settled(&name).unwrap_or(name), amount))
                    .collect();
            }
            (Some(_), Value::String(text)) if name == "where" => {
                *text = in_conditions(text, &mut settled);
            }
            _ => {}
        }
    }
    said
}

/// Columns whose conditions name tokens.
const TOKEN_COLUMNS: &[&str] = &[TOKEN, "token0", "token1", "tokens"];

/// The conditions with each token as `settled` has it.
fn in_conditions(text: &str, settled: &mut impl FnMut(&str) -> Option<String>) -> String {
    let is_end = |sign: char| sign.is_whitespace() || "()".contains(sign);
    let is_operator = |sign: char| ":=!<>".contains(sign);
    let words = text.split_inclusive(is_end).map(|piece| {
        let (word, end) = piece.split_at(piece.trim_end_matches(is_end).len());
        let settled = word.find(is_operator).and_then(|at| {
            let (column, rest) = word.split_at(at);
            let value = rest.trim_start_matches(is_operator);
            let operator = &rest[..rest.len() - value.len()];
            TOKEN_COLUMNS
                .contains(&column)
                .then(|| settled(value.trim_matches('"')))?
                .map(|address| format!("{column}{operator}{address}{end}"))
        });
        settled.unwrap_or_else(|| piece.to_owned())
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mcp::tools::tools, routes::ENDPOINTS};

    fn tool(name: &str) -> &'static Tool {
        tools(ENDPOINTS)
            .iter()
            .find(|tool| tool.name() == name)
            .expect(name)
    }

    #[test]
    fn a_token_is_named_in_many_ways() {
        for (name, given, own) in [
            ("token", "token", Some("token_address")),
            ("patterns", "token_address", Some("contractAddress")),
            ("patterns", "contract_address", Some("contractAddress")),
            ("patterns", "tokens", Some("contractAddress")),
            ("rehearse_alert", "contractAddress", Some("token_address")),
            ("compare", "tokens", Some("addresses")),
            ("tokens", "symbol", Some("addresses")),
            ("create_job", "token_address", Some("token_addresses")),
            ("create_job", "addresses", Some("token_addresses")),
            ("yield", "tokens", Some("tokens")),
            ("held_tokens", "address", Some("address")),
            ("held_tokens", "wallet", Some("address")),
            ("held_tokens", "token", None),
            ("posts", "symbol", None),
            ("tables", "limit", None),
        ] {
            assert_eq!(own_name(tool(name), given), own, "{name} {given}");
        }
        let arguments = |name: &str, given: Value| {
            let Value::Object(given) = given else {
                panic!("no object")
            };
            Value::Object(with_own_names(tool(name), given))
        };
        assert_eq!(
            arguments("create_job", json!({ "tokens": "UNI, LINK" })),
            json!({ "token_addresses": ["UNI", "LINK"] })
        );
        assert_eq!(
            arguments("token", json!({ "token": ["UNI"] })),
            json!({ "token_address": "UNI" })
        );
        assert_eq!(
            arguments("token", json!({ "symbol": "A", "token_address": "B" }))
                .as_object()
                .map(JsonObject::len),
            Some(1)
        );
    }

    #[test]
    fn what_models_send_is_taken() {
        for (name, given, taken) in [
            (
                "yield",
                json!({ "riskLevel": "low", "tokens": { "USDC": 5, "DAI": "6" }, "settings": { "minApy": 2 } }),
                json!({ "settings": { "riskLevel": "low", "minApy": 2 }, "tokens": { "USDC": "5", "DAI": "6" } }),
            ),
            (
                "indicators",
                json!({ "symbol": "UNI", "names": "RSI, macd,sma_50", "to": "2026-11-10" }),
                json!({ "contractAddress": "UNI", "names": "rsi_14,macd_12_26_9,sma_50", "to": "2026-11-10T23:59:59Z" }),
            ),
            (
                "candles",
                json!({ "from": "2026-11-10", "to": "2026-11-10T12:00:00Z" }),
                json!({ "from": "2026-11-10", "to": "2026-11-10T12:00:00Z" }),
            ),
            (
                "tokens",
                json!({ "only": "symbol, chain,prices", "sort": "-price" }),
                json!({ "only": "symbol,chains,price", "sort": "-price" }),
            ),
            (
                "table",
                json!({ "sort": "-sum:market_cap" }),
                json!({ "sort": "-sum_market_cap" }),
            ),
            (
                "tokens",
                json!({ "riskLevel": 1 }),
                json!({ "riskLevel": 1 }),
            ),
        ] {
            let Value::Object(given) = given else {
                panic!("no object")
            };
            assert_eq!(Value::Object(with_own_names(tool(name), given)), taken);
        }
    }

    #[test]
    fn tokens_in_conditions_are_found() {
        let mut settled = |name: &str| (name == "WETH").then(|| "0x12".to_owned());
        for (text, expected) in [
            ("token_address:WETH", "token_address:0x12"),
            (
                "(token0=WETH or token1:\"WETH\") fee<1",
                "(token0=0x12 or token1:0x12) fee<1",
            ),
            (
                "symbol:WETH token_address:UNI",
                "symbol:WETH token_address:UNI",
            ),
            ("token_address:WETH ", "token_address:0x12 "),
            ("", ""),
        ] {
            assert_eq!(in_conditions(text, &mut settled), expected);
        }
    }
}
