//! blockchain-etl's CSV: tokens, token_transfers, contracts. Amounts are in smallest units.

use super::{super::look::Looked, Asked, Plan, Take, has};
use crate::dataset::{manifest::Unit, source::Layout};

pub(super) fn is_transfers(looked: &Looked) -> bool {
    let header = looked.header();
    has(&header, &["token_address", "from_address", "to_address", "value", "transaction_hash", "log_index", "block_number"])
        && !has(&header, &["timestamp"])
}

pub(super) fn transfers(asked: &Asked<'_>) -> Result<Plan, String> {
    let timed = has(&asked.looked.header(), &["block_timestamp"]);
    let take = Take::into("transfers", asked.looked.rows(&Layout::default())?);
    if timed {
        return Ok(Plan::of(vec![take.columns(&[("timestamp", "block_timestamp")])]));
    }
    Ok(Plan::of(vec![take]).saying("the format has no times, so timestamp is left empty; block_number tells the order"))
}

pub(super) fn is_tokens(looked: &Looked) -> bool {
    has(&looked.header(), &["address", "symbol", "name", "decimals", "total_supply"])
}

pub(super) fn tokens(asked: &Asked<'_>) -> Result<Plan, String> {
    let mut take = Take::into("tokens", asked.looked.rows(&Layout::default())?)
        .columns(&[("token_address", "address"), ("total_supply", "total_supply")])
        .set("chain", asked.said.chain);
    take.rule("total_supply").unit = Some(Unit::Raw);
    Ok(Plan::of(vec![take]).saying(format!("chain {}", asked.said.chain)))
}

pub(super) fn is_contracts(looked: &Looked) -> bool {
    has(&looked.header(), &["address", "bytecode", "is_erc20"])
}

pub(super) fn contracts(asked: &Asked<'_>) -> Result<Plan, String> {
    let contracts = Take::into("contracts", asked.looked.rows(&Layout::default())?).columns(&[("token_address", "address")]);
    let tokens = Take::into("tokens", asked.looked.rows(&Layout::default())?)
        .columns(&[("token_address", "address")])
        .set("chain", asked.said.chain)
        .keep("is_erc20", &["True", "true", "TRUE", "1", "t"], "are no ERC-20 tokens");
    Ok(Plan::of(vec![contracts, tokens]).saying(format!("chain {}", asked.said.chain)))
}
