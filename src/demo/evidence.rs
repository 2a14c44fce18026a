//! The tables that security is inferred from, beside transfers and holders: contracts, known scams, pool events, locks, funding. What is
//! in them is invented; the contracts are `contracts`', the past is `stories`'.

use std::fmt::Write as _;

use super::{
    contracts::{ContractCode, Identity, contract},
    market::{DemoMarket, DemoToken, END_MS, LARGEST},
    output::{DemoCell, DemoTable},
    people::deployer,
    random::Random,
    stories::{self, Past, STORIES, Story},
};
use crate::dataset::time::{DAY_MS, Time};

pub(super) const CONTRACT_COLUMNS: &[&str] =
    &["token_address", "bytecode", "creation_bytecode", "creator", "created_at", "is_proxy", "is_verified", "constructor_types", "owner"];
pub(super) const SCAM_COLUMNS: &[&str] = &["address", "name", "scam_type", "bytecode", "reported_at", "source"];
pub(super) const EVENT_COLUMNS: &[&str] = &["pool", "timestamp", "block_number", "kind", "reserve0", "reserve1"];
pub(super) const LOCK_COLUMNS: &[&str] = &["token_address", "holder_address", "amount", "unlocks_at"];
pub(super) const FUNDING_COLUMNS: &[&str] = &["from_address", "to_address", "timestamp"];

/// (name, symbol, kind, contract): scams that nobody ever ran.
const SCAMS: &[(&str, &str, &str, &str)] = &[
    ("Rocket Yak 1000x", "RYAK", "honeypot", "sell_block_pair"),
    ("Pond Emperor", "POND", "honeypot", "sell_block_pair"),
    ("Golden Turnip", "TURNIP", "honeypot", "sell_block_all"),
    ("Lantern Gate", "LNTRN", "honeypot", "sell_allowlist"),
    ("Safe Vault Max", "SVMAX", "rug_pull", "hidden_mint"),
    ("Everhold Reserve", "EVER", "rug_pull", "hidden_mint"),
    ("Quick Reflect", "QREF", "rug_pull", "tax_raisable"),
    ("Free Ether Claim", "FREETH", "phishing", "phantom_airdrop"),
    ("Harvest Knife", "KNIFE", "rug_pull", "role_drain"),
    ("Open Till", "TILL", "exploit", "public_drain"),
    ("Second Key", "KEY2", "rug_pull", "shadow_owner"),
];

/// The market's tokens that have a story.
pub(super) fn told(market: &DemoMarket) -> impl Iterator<Item = (&DemoToken, Story)> {
    market.tokens.iter().filter_map(|token| Some((token, stories::of(market, token)?)))
}

pub(super) const ROWS: u64 = (STORIES.len() + LARGEST) as u64;

fn hex(bytes: &[u8]) -> String {
    // Writing into a String cannot fail.
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn write_contracts(market: &DemoMarket, table: &mut DemoTable) -> Result<(), String> {
    for (token, story) in told(market) {
        let Some(contract) = contract(story.contract) else { continue };
        let supply = (token.supply as u128).saturating_mul(10_u128.pow(token.decimals.clamp(0, 18) as u32));
        let identity = Identity { name: &token.name, symbol: &token.symbol, decimals: token.decimals.clamp(0, 255) as u8, supply };
        let ContractCode { runtime, creation } = contract.code(&identity);
        let creator = deployer(market, token).to_string();
        table.row(&[
            DemoCell::Text(&token.address.to_string()),
            DemoCell::Text(&hex(&runtime)),
            DemoCell::Text(&hex(&creation)),
            DemoCell::Text(&creator),
            DemoCell::Time(Time(stories::deployed(token, story))),
            DemoCell::Bool(false),
            DemoCell::Bool(story.verified),
            DemoCell::Null,
            DemoCell::Text(&creator),
        ])?;
    }
    Ok(())
}

pub(super) fn write_scams(market: &DemoMarket, table: &mut DemoTable) -> Result<(), String> {
    let mut random = Random::new(market.seed, "scams");
    for (name, symbol, kind, code) in SCAMS {
        let Some(contract) = contract(code) else { continue };
        let identity = Identity { name, symbol, ..Identity::default() };
        let reported = END_MS - (60 + random.below(500) as i64) * DAY_MS;
        table.row(&[
            DemoCell::Text(&random.address().to_string()),
            DemoCell::Text(name),
            DemoCell::Text(kind),
            DemoCell::Text(&hex(&contract.code(&identity).runtime)),
            DemoCell::Time(Time(reported)),
            DemoCell::Text("invented"),
        ])?;
    }
    Ok(())
}

pub(super) fn write_pool_events(market: &DemoMarket, table: &mut DemoTable) -> Result<(), String> {
    for (token, story) in told(market) {
        let past = Past::of(market, token, story);
        let Some(address) = past.pool else { continue };
        let first = market.pools().iter().any(|pool| pool.address == address && pool.token0 == token.address);
        for event in &past.pool_events {
            let (a, b) = (stories::smallest(token, event.token as u128), format!("{:.0}", event.other));
            let (a, b) = if first { (a, b) } else { (b, a) };
            table.row(&[
                DemoCell::Text(&address.to_string()),
                DemoCell::Time(Time(event.time)),
                DemoCell::Int(stories::block(event.time)),
                DemoCell::Text(event.kind),
                DemoCell::Text(&a),
                DemoCell::Text(&b),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn write_locks(market: &DemoMarket, table: &mut DemoTable) -> Result<(), String> {
    for (token, story) in told(market) {
        let past = Past::of(market, token, story);
        let Some(pool) = past.pool else { continue };
        for (locker, amount, until) in past.locks {
            table.row(&[
                DemoCell::Text(&pool.to_string()),
                DemoCell::Text(&locker.to_string()),
                DemoCell::Float(amount),
                DemoCell::Time(Time(until)),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn write_funding(market: &DemoMarket, table: &mut DemoTable) -> Result<(), String> {
    for (token, story) in told(market) {
        for (from, to, time) in Past::of(market, token, story).funding {
            table.row(&[DemoCell::Text(&from.to_string()), DemoCell::Text(&to.to_string()), DemoCell::Time(Time(time))])?;
        }
    }
    Ok(())
}
