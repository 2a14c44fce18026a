//! Finds tokens by what the user types: an address, a symbol or a name. Every provider with a `search` is queried; the rows it returns
//! about a token are stored when that token is added.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use polars::prelude::{DataFrame, PolarsResult};

use super::{RefreshError, RefreshWatch};
use crate::{
    live::{
        ask::{Ask, RequestTarget, elsewhere},
        pages::{AskOutcome, Asker},
        plan::origin_of,
        rows::Known,
        state::RefreshLock,
    },
    part_files::{Parts, ReplaceScope},
    provider::{Providers, RequestScope},
};
use frames::{
    decode::guarded,
    frame_rows::{FromFrame as _, filtered},
    order,
};
use model::{
    address::Address,
    chain::Chain,
    rows::{PoolRow, TokenRow},
    schema,
    time::Time,
};
use wire::{RemoteClient, web::WebVersion};

/// The providers to search, and the dataset to search for.
pub struct FindContext<'a> {
    pub dataset: &'a Path,
    pub providers: &'a Providers,
    pub wire: &'a Arc<RemoteClient>,
    pub now: Time,
    pub watch: Arc<dyn RefreshWatch>,
}

/// A token that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundToken {
    pub address: Address,
    pub chain: Chain,
    pub symbol: Option<String>,
    pub name: Option<String>,
    /// USD.
    pub market_cap: Option<f64>,
    /// Liquidity in USD, over all of its pools that were found.
    pub liquidity: f64,
    pub pools: usize,
}

/// The tokens found, the most liquid first, and the rows that the providers returned.
#[derive(Debug, Default)]
pub struct FoundTokens {
    pub tokens: Vec<FoundToken>,
    /// Providers that failed, with the reason.
    pub failures: Vec<String>,
    frames: Vec<(&'static str, DataFrame)>,
}

/// The hosts that a search connects to, with the number of requests.
pub fn search_hosts(context: &FindContext<'_>) -> BTreeMap<String, u64> {
    let mut hosts = BTreeMap::new();
    for ask in searches(context.providers, "x") {
        if let Some(origin) = origin_of(&ask, elsewhere(context.wire, ask.provider).as_deref()) {
            *hosts.entry(origin).or_default() += 1;
        }
    }
    hosts
}

fn searches<'a>(providers: &'a Providers, words: &str) -> Vec<Ask<'a>> {
    let all = providers.values().flat_map(|provider| {
        provider
            .requests
            .iter()
            .map(move |request| (provider, request))
    });
    all.filter(|(_, request)| request.each == RequestScope::Search)
        .map(|(provider, request)| {
            let about = RequestTarget {
                search: Some(words.to_owned()),
                ..RequestTarget::default()
            };
            Ask {
                provider,
                request,
                about,
                interval: None,
                span: None,
                present: None,
            }
        })
        .collect()
}

/// Queries the providers that offer a search. An address matches only itself; other texts match a symbol or, if no symbol matches, a name.
pub fn find(context: &FindContext<'_>, words: &str) -> Result<FoundTokens, RefreshError> {
    let address = Address::parse(words.trim());
    let mut asker = Asker {
        wire: context.wire,
        dataset: context.dataset,
        known: Known {
            tokens: address.into_iter().collect(),
            ..Known::default()
        },
        watch: Arc::clone(&context.watch),
        requests: 0,
    };
    let mut found = FoundTokens::default();
    for ask in searches(context.providers, words.trim()) {
        match asker.all_pages(&ask, WebVersion::default()) {
            AskOutcome::Rows(rows) => found.frames.extend(rows.frames),
            AskOutcome::Unknown | AskOutcome::Unchanged => {}
            AskOutcome::Failed(fault) => found
                .failures
                .push(format!("{} {}", ask.provider.name, fault.reason)),
            AskOutcome::Stopped => return Err(RefreshError::Stopped),
        }
    }
    context.wire.settle();
    let rows = |table: &str| {
        found
            .frames
            .iter()
            .filter(|(filled, _)| *filled == table)
            .map(|(_, frame)| frame)
            .collect::<Vec<_>>()
    };
    let tokens: Vec<TokenRow> = rows("tokens")
        .into_iter()
        .flat_map(TokenRow::rows)
        .collect();
    let pools: Vec<PoolRow> = rows("pools").into_iter().flat_map(PoolRow::rows).collect();
    found.tokens = joined(&tokens, &pools, address, words.trim());
    Ok(found)
}

/// The tokens that are meant, each chain of one apart, the most liquid first.
fn joined(
    tokens: &[TokenRow],
    pools: &[PoolRow],
    address: Option<Address>,
    words: &str,
) -> Vec<FoundToken> {
    let is = |text: &Option<String>| {
        text.as_ref()
            .is_some_and(|text| text.eq_ignore_ascii_case(words.trim_start_matches('$')))
    };
    let by_symbol = tokens.iter().any(|token| is(&token.symbol));
    let meant = |token: &&TokenRow| match address {
        Some(address) => token.token_address == address,
        None if by_symbol => is(&token.symbol),
        None => is(&token.name),
    };
    let mut found: BTreeMap<(Address, Chain), FoundToken> = BTreeMap::new();
    for token in tokens.iter().filter(meant) {
        for chain in &token.chain {
            let entry = found
                .entry((token.token_address, chain.clone()))
                .or_insert_with(|| FoundToken {
                    address: token.token_address,
                    chain: chain.clone(),
                    symbol: None,
                    name: None,
                    market_cap: None,
                    liquidity: 0.0,
                    pools: 0,
                });
            entry.symbol = entry.symbol.take().or_else(|| token.symbol.clone());
            entry.name = entry.name.take().or_else(|| token.name.clone());
            entry.market_cap = entry.market_cap.or(token.market_cap);
        }
    }
    let mut counted = std::collections::HashSet::new();
    for pool in pools
        .iter()
        .filter(|pool| counted.insert((pool.address, pool.chain.clone())))
    {
        for token in [pool.token0, pool.token1] {
            if let Some(found) = found.get_mut(&(token, pool.chain.clone())) {
                found.liquidity += pool.liquidity.unwrap_or(0.0);
                found.pools += 1;
            }
        }
    }
    let mut found: Vec<FoundToken> = found.into_values().collect();
    found.sort_by(|a, b| {
        b.liquidity
            .total_cmp(&a.liquidity)
            .then(a.address.cmp(&b.address))
    });
    found
}

impl FoundTokens {
    /// Stores the token in the dataset, with the rows about it and its pools.
    pub fn keep(&self, context: &FindContext<'_>, token: &FoundToken) -> Result<(), RefreshError> {
        let _lock = RefreshLock::take(context.dataset)?.ok_or(RefreshError::Busy)?;
        let text = token.address.to_string();
        for (table, columns) in [
            ("pools", &["token0", "token1"][..]),
            ("tokens", &["token_address"]),
        ] {
            let Some(schema) = schema::table(table) else {
                continue;
            };
            let frames = self
                .frames
                .iter()
                .filter(|(filled, _)| *filled == table)
                .map(|(_, frame)| frame.clone());
            let of_token = guarded("table", || {
                let Some(whole) = order::whole(frames)? else {
                    return Ok(None);
                };
                of_token(&whole, columns, &text, &token.chain).map(Some)
            })?;
            let Some(frame) = of_token.filter(|frame| frame.height() > 0) else {
                continue;
            };
            Parts {
                dataset: context.dataset,
                schema,
            }
            .replace(&frame, &ReplaceScope::Keys, context.now)?;
        }
        Ok(())
    }
}

/// The rows with the token in one of the columns, on the chain.
fn of_token(
    frame: &DataFrame,
    columns: &[&str],
    token: &str,
    chain: &Chain,
) -> PolarsResult<DataFrame> {
    let mut kept = vec![false; frame.height()];
    for column in columns {
        for (kept, text) in kept.iter_mut().zip(frame.column(column)?.str()?.iter()) {
            *kept |= text == Some(token);
        }
    }
    let chain = chain.to_string();
    if let Ok(chains) = frame.column("chain").and_then(|column| column.str()) {
        for (kept, text) in kept.iter_mut().zip(chains.iter()) {
            *kept &= text == Some(chain.as_str());
        }
    }
    filtered(frame, kept)
}

/// Stores a coin, which has no contract and needs no request.
pub fn keep_coin(dataset: &Path, symbol: &str, now: Time) -> Result<Address, RefreshError> {
    let _lock = RefreshLock::take(dataset)?.ok_or(RefreshError::Busy)?;
    let symbol = symbol.to_uppercase();
    let (address, chain) = (Address::coin(&symbol), Chain::of_coin(&symbol));
    let row = serde_json::json!({ "token_address": address.to_string(), "symbol": symbol, "name": symbol, "chain": chain.to_string() });
    let raw = serde_json::value::RawValue::from_string(row.to_string())?;
    let schema = &schema::TABLES[0];
    if let Some(frame) = crate::live::rows::own(schema, vec![raw])? {
        Parts { dataset, schema }.replace(&frame, &ReplaceScope::Keys, now)?;
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_symbol_that_several_tokens_have_gives_all_of_them_the_most_liquid_first() {
        let address =
            |number: u32| Address::parse(&format!("0x{number:040x}")).expect("an address");
        let frame = |table: &str, rows: Vec<serde_json::Value>| {
            let raw = rows
                .iter()
                .map(|row| serde_json::value::RawValue::from_string(row.to_string()).expect("JSON"))
                .collect();
            crate::live::rows::own(schema::table(table).expect("a table"), raw)
                .expect("read")
                .expect("rows")
        };
        let token = |number: u32, symbol: &str, name: &str, chain: &str| json!({ "token_address": address(number), "symbol": symbol, "name": name, "chain": chain });
        let pool = |number: u32, token: u32, chain: &str, liquidity: f64| json!({ "address": address(number), "dex_id": "x", "token0": address(token), "token1": address(99), "chain": chain, "liquidity": liquidity });
        let tokens = [
            token(1, "UNI", "Uniswap", "eth"),
            token(2, "uni", "Fake", "base"),
            token(1, "UNI", "Uniswap", "eth"),
            token(3, "X", "UNI", "eth"),
        ];
        let tokens = TokenRow::rows(&frame("tokens", tokens.to_vec()));
        let pools = [
            pool(10, 1, "eth", 5.0),
            pool(10, 1, "eth", 5.0),
            pool(11, 2, "base", 50.0),
            pool(12, 1, "base", 900.0),
        ];
        let pools = PoolRow::rows(&frame("pools", pools.to_vec()));
        let found = joined(&tokens, &pools, None, "$uni");
        assert_eq!(
            found
                .iter()
                .map(|token| (token.address, token.liquidity, token.pools))
                .collect::<Vec<_>>(),
            [(address(2), 50.0, 1), (address(1), 5.0, 1)]
        );
        assert_eq!(
            joined(&tokens, &pools, Some(address(3)), "x")[0]
                .symbol
                .as_deref(),
            Some("X")
        );
        assert_eq!(
            joined(&tokens, &pools, None, "Fake").len(),
            1,
            "by name where no symbol is so"
        );
    }
}
