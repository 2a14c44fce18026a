//! The tables read by the security inference only: contracts, known scams, pool events, locks, funding. All invented: bytecode comes from
//! `contracts`, events from `stories`.

use const_hex::encode_prefixed as hex;

use super::{
    contracts::{ContractCode, Identity, contract},
    error::DemoError,
    market::{DemoMarket, DemoToken, END_MS, LARGEST},
    output::{DemoTable, row},
    people::deployer,
    random::Random,
    stories::{self, STORIES, Story, TokenHistory},
};
use model::time::{DAY_MS, Time};

pub(super) const CONTRACT_COLUMNS: &str = "\
    token_address bytecode creation_bytecode creator created_at is_proxy is_verified constructor_types owner";
pub(super) const SCAM_COLUMNS: &str = "address name scam_type bytecode reported_at source";
pub(super) const EVENT_COLUMNS: &str = "pool timestamp block_number kind reserve0 reserve1";
pub(super) const LOCK_COLUMNS: &str = "token_address holder_address amount unlocks_at";
pub(super) const FUNDING_COLUMNS: &str = "from_address to_address timestamp";

/// (name, symbol, kind, contract) of invented scams.
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

/// Tokens with a story.
pub(super) fn with_story(market: &DemoMarket) -> impl Iterator<Item = (&DemoToken, Story)> {
    market
        .tokens
        .iter()
        .filter_map(|token| Some((token, stories::of(market, token)?)))
}

pub(super) const ROWS: u64 = (STORIES.len() + LARGEST) as u64;

pub(super) fn write_contracts(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for (token, story) in with_story(market) {
        let Some(contract) = contract(story.contract) else {
            continue;
        };
        let supply =
            (token.supply as u128).saturating_mul(10_u128.pow(token.decimals.clamp(0, 18) as u32));
        let identity = Identity {
            name: &token.name,
            symbol: &token.symbol,
            decimals: token.decimals.clamp(0, 255) as u8,
            supply,
        };
        let ContractCode { runtime, creation } = contract.code(&identity);
        let (creator, created_at) = (
            deployer(market, token),
            Time(stories::deployed(token, story)),
        );
        let (is_proxy, no_types) = (false, None::<&str>);
        row!(
            table,
            token.address,
            &hex(&runtime),
            &hex(&creation),
            creator,
            created_at,
            is_proxy,
            story.verified,
            no_types,
            creator
        )?;
    }
    Ok(())
}

pub(super) fn write_scams(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    let mut random = Random::new(market.options.seed, "scams");
    for (name, symbol, kind, code) in SCAMS {
        let Some(contract) = contract(code) else {
            continue;
        };
        let identity = Identity {
            name,
            symbol,
            ..Identity::default()
        };
        let reported_at = Time(END_MS - (60 + random.below(500) as i64) * DAY_MS);
        row!(
            table,
            random.address(),
            *name,
            *kind,
            &hex(&contract.code(&identity).runtime),
            reported_at,
            "invented"
        )?;
    }
    Ok(())
}

pub(super) fn write_pool_events(
    market: &DemoMarket,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    for (token, story) in with_story(market) {
        let history = TokenHistory::of(market, token, story);
        let Some(pool) = market
            .pools()
            .iter()
            .find(|pool| Some(pool.address) == history.pool)
        else {
            continue;
        };
        let Some(quote) = market.other_of(pool, token) else {
            continue;
        };
        let (address, first) = (pool.address, pool.token0 == token.address);
        for event in &history.pool_events {
            let own = stories::smallest(token, event.token as u128);
            let other = stories::smallest(quote, stories::units(quote, event.other));
            let (reserve0, reserve1) = if first { (own, other) } else { (other, own) };
            row!(
                table,
                address,
                Time(event.time),
                stories::block(event.time),
                event.kind,
                &reserve0,
                &reserve1
            )?;
        }
    }
    Ok(())
}

pub(super) fn write_locks(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for (token, story) in with_story(market) {
        let history = TokenHistory::of(market, token, story);
        let Some(pool) = history.pool else { continue };
        for (locker, amount, until) in history.locks {
            row!(table, pool, locker, amount, Time(until))?;
        }
    }
    Ok(())
}

pub(super) fn write_funding(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for (token, story) in with_story(market) {
        for (from, to, time) in TokenHistory::of(market, token, story).funding {
            row!(table, from, to, Time(time))?;
        }
    }
    Ok(())
}
