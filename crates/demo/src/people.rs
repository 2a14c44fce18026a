//! The tables of people: labels, holders, holder counts, opinion leaders. All invented except the burn addresses.

use std::collections::HashMap;

use super::{
    error::DemoError,
    market::{DemoMarket, DemoToken, LEADERS, chains},
    output::{DemoTable, row},
    pools::DemoPool,
    random::{Random, round},
    stories::{self, Story, TokenHistory},
};
use model::address::Address;

pub(super) const KOL_COLUMNS: &str = "token_address kol_address handle followers engagement_rate";
pub(super) const HOLDER_COLUMNS: &str = "token_address holder_address balance";
pub(super) const COUNT_COLUMNS: &str = "token_address date holders whale_balance";
pub(super) const LABEL_COLUMNS: &str = "address label name chain";

/// Number of ordinary holders per token, in addition to opinion leaders, pools and services.
const HOLDERS: usize = 76;
const OPINION_LEADERS: usize = 72;
const EXCHANGES: &[&str] = &[
    "Northgate Exchange",
    "Kumo Exchange",
    "Bourse Azur",
    "Tidewater Markets",
];
const FIRST: &[&str] = &[
    "ada", "brook", "cleo", "dario", "esme", "fenn", "gaia", "hiro", "ines", "jory", "kaia",
    "lumi", "mirelle", "nico", "odile", "pax", "quill", "rhea",
];
const LAST: &[&str] = &[
    "onchain", "ledger", "alpha", "yields", "charts", "research", "degen", "macro",
];

/// The usual burn addresses.
pub(super) fn burn_addresses() -> [Address; 2] {
    let mut dead = [0; 20];
    dead[18..].copy_from_slice(&[0xde, 0xad]);
    [Address::ZERO, Address(dead)]
}

/// An opinion leader (KOL).
pub(super) struct OpinionLeader {
    address: Address,
    handle: String,
    followers: i64,
    engagement_rate: f64,
}

fn opinion_leaders(market: &DemoMarket) -> Vec<OpinionLeader> {
    let mut random = Random::new(market.options.seed, "voices");
    (0..OPINION_LEADERS)
        .map(|i| OpinionLeader {
            address: random.address(),
            handle: format!(
                "@{}_{}{}",
                FIRST[i % FIRST.len()],
                LAST[(i / FIRST.len() + i) % LAST.len()],
                if i % 5 == 0 { "_eth" } else { "" }
            ),
            followers: round(random.spread(1_800.0, 1.9e6), 4) as i64,
            engagement_rate: round(random.spread(0.002, 0.14), 3),
        })
        .collect()
}

/// Indices of the opinion leaders of `token`, 3 to 14 of them.
fn opinion_leaders_of(market: &DemoMarket, token: &DemoToken) -> Vec<usize> {
    let mut random = market.random("kols", token);
    let count = if token.index < LEADERS {
        8 + random.below(7)
    } else {
        3 + random.below(9)
    };
    let mut all: Vec<usize> = (0..OPINION_LEADERS).collect();
    (0..count)
        .map(|i| all.swap_remove(random.below(OPINION_LEADERS - i)))
        .collect()
}

/// Handles of the opinion leaders of `token`, who also write its posts.
pub(super) fn handles(market: &DemoMarket, token: &DemoToken) -> Vec<String> {
    let leaders = opinion_leaders(market);
    opinion_leaders_of(market, token)
        .into_iter()
        .map(|index| leaders[index].handle.clone())
        .collect()
}

pub(super) fn write_kols(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    let leaders = opinion_leaders(market);
    for token in &market.tokens {
        for index in opinion_leaders_of(market, token) {
            let leader = &leaders[index];
            row!(
                table,
                token.address,
                leader.address,
                &leader.handle,
                leader.followers,
                leader.engagement_rate
            )?;
        }
    }
    Ok(())
}

/// Exchanges, lockers and bridges of the demo: (address, label, name, chain).
fn services(market: &DemoMarket) -> Vec<(Address, &'static str, String, &'static str)> {
    let mut random = Random::new(market.options.seed, "services");
    let mut all = Vec::new();
    for chain in chains() {
        for (i, exchange) in EXCHANGES.iter().enumerate() {
            all.push((
                random.address(),
                "exchange",
                format!("{exchange} {}", i % 3 + 1),
                chain,
            ));
        }
        all.push((
            random.address(),
            "bridge",
            "Causeway Bridge".to_owned(),
            chain,
        ));
        all.push((
            random.address(),
            "locker",
            "Keepfast Locker".to_owned(),
            chain,
        ));
    }
    all
}

pub(super) fn write_labels(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    let mut row = |address: Address, label: &str, name: &str, chain: &str| {
        row!(table, address, label, name, chain)
    };
    for chain in chains() {
        for (address, name) in burn_addresses()
            .into_iter()
            .zip(["Null address", "Dead address"])
        {
            row(address, "burn", name, chain)?;
        }
    }
    for (address, label, name, chain) in services(market) {
        row(address, label, &name, chain)?;
    }
    for pool in market.pools() {
        row(
            pool.address,
            "liquidity_pool",
            &format!("{}: {}", pool.dex, pool.pair),
            pool.chain,
        )?;
    }
    for token in market.tokens.iter().filter(|token| !token.real) {
        row(
            deployer(market, token),
            "deployer",
            &format!("{}: deployer", token.symbol),
            token.chain(),
        )?;
    }
    Ok(())
}

pub(super) fn deployer(market: &DemoMarket, token: &DemoToken) -> Address {
    market.random("deployer", token).address()
}

/// Holders of a token with balances, largest first: concentrated, and at most the supply in sum.
fn holders(
    market: &DemoMarket,
    leaders: &[OpinionLeader],
    services: &[(Address, &str, String, &str)],
    pools: &[&DemoPool],
    token: &DemoToken,
) -> Vec<(Address, f64)> {
    let mut random = market.random("holders", token);
    let mut rows: Vec<(Address, f64)> = Vec::new();
    let mut left = token.supply;
    let mut give = |address: Address, balance: f64, rows: &mut Vec<(Address, f64)>| {
        let balance = round(balance, 6);
        if balance > 0.0 && balance <= left {
            left -= balance;
            rows.push((address, balance));
        }
    };
    // The opinion leaders' wallets in USD: large, medium, small and empty ones in turn.
    for (i, index) in opinion_leaders_of(market, token).into_iter().enumerate() {
        let usd = [
            random.spread(110e3, 900e3),
            random.spread(12e3, 85e3),
            random.spread(60.0, 6e3),
            0.0,
        ][i % 4];
        give(
            leaders[index].address,
            (usd / token.price).min(token.supply * 0.03),
            &mut rows,
        );
    }
    for pool in pools {
        give(
            pool.address,
            (pool.liquidity / 2.0 / token.price).min(token.supply * 0.06),
            &mut rows,
        );
    }
    for (address, label, _, chain) in services {
        let share = match *label {
            "exchange" => random.between(0.008, 0.06),
            "bridge" => random.between(0.0, 0.04),
            _ if token.real => 0.0,
            _ => random.between(0.0, 0.12),
        };
        if token.chains.contains(chain) {
            give(*address, token.supply * share, &mut rows);
        }
    }
    if !token.stable && (!token.real || token.index.is_multiple_of(3)) {
        give(
            burn_addresses()[1],
            token.supply * random.spread(0.002, 0.12),
            &mut rows,
        );
    }
    if !token.real {
        give(
            deployer(market, token),
            token.supply * random.spread(0.01, 0.22),
            &mut rows,
        );
    }
    // Power law over the ordinary holders: the r-th holds about 1/r^s of the first's balance.
    let steepness = random.between(0.7, 1.25);
    let weights: Vec<f64> = (1..=HOLDERS)
        .map(|rank| (rank as f64).powf(-steepness) * random.between(0.8, 1.2))
        .collect();
    let scale = token.supply * random.between(0.25, 0.42) / weights.iter().sum::<f64>();
    for weight in weights {
        give(random.address(), weight * scale, &mut rows);
    }
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    rows
}

/// Initial holders of a token with a story.
pub(super) fn first_holders(market: &DemoMarket, token: &DemoToken) -> Vec<(Address, f64)> {
    let pools: Vec<&DemoPool> = market.pools_of(token).collect();
    holders(
        market,
        &opinion_leaders(market),
        &services(market),
        &pools,
        token,
    )
}

/// The chain's locker.
pub(super) fn locker(market: &DemoMarket, chain: &str) -> Option<Address> {
    services(market)
        .into_iter()
        .find(|(_, label, _, at)| *label == "locker" && *at == chain)
        .map(|(address, ..)| address)
}

/// Writes the final holders of a token with a story, and those of its pool's liquidity.
fn write_story(
    market: &DemoMarket,
    token: &DemoToken,
    story: Story,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    let history = TokenHistory::of(market, token, story);
    let mut rows: Vec<(Address, u128)> = history
        .balances
        .into_iter()
        .filter(|(_, units)| *units > 0)
        .collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    for (holder, units) in rows {
        row!(table, token.address, holder, stories::whole(token, units))?;
    }
    if let Some(pool) = history.pool {
        for (holder, share) in history.liquidity {
            row!(table, pool, holder, share)?;
        }
    }
    Ok(())
}

pub(super) fn write_holders(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    let (leaders, services) = (opinion_leaders(market), services(market));
    let mut pools_of: HashMap<Address, Vec<&DemoPool>> = HashMap::new();
    for pool in market.pools() {
        for token in [pool.token0, pool.token1] {
            pools_of.entry(token).or_default().push(pool);
        }
    }
    for token in &market.tokens {
        // With a requested number of transfers there are no stories.
        if let Some(story) =
            stories::of(market, token).filter(|_| market.options.transfers.is_none())
        {
            write_story(market, token, story, table)?;
            continue;
        }
        let pools = pools_of.get(&token.address).map_or(&[][..], Vec::as_slice);
        for (holder, balance) in holders(market, &leaders, &services, pools, token) {
            row!(table, token.address, holder, balance)?;
        }
    }
    Ok(())
}

/// Relative course of a token's holder count, ending at 1; `x` runs from 0 to 1.
fn growth(kind: usize, x: f64) -> f64 {
    match kind {
        0 => 0.55 + 0.45 * x,
        1 => 0.12 + 0.88 / (1.0 + (-11.0 * (x - 0.62)).exp()),
        2 => 1.45 - 0.45 * x,
        3 => (3.2 * (x - 1.0)).exp(),
        4 => 0.9 + 0.9 * (-(x - 0.55) * (x - 0.55) / 0.03).exp() + 0.1 * x,
        _ => 0.97 + 0.03 * x,
    }
}

/// Final holder count of the token.
pub(super) fn holder_count(market: &DemoMarket, token: &DemoToken) -> i64 {
    let mut random = market.random("counts", token);
    (token.cap().powf(0.52) * random.spread(0.9, 4.0)) as i64 + 160
}

pub(super) fn write_counts(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for token in &market.tokens {
        let last = holder_count(market, token) as f64;
        let mut random = market.random("growth", token);
        let kind = token.index % 6;
        // Whales trade in waves, ending in accumulation, distribution or neither.
        let lean = [0.006, -0.006, 0.0, 0.004, -0.0035][token.index % 5];
        let mut whales = token.supply * random.between(0.18, 0.42);
        let wave = random.between(16.0, 75.0);
        let (mut busy, mut mood) = (0.0, 0.0);
        let days = market.options.days as usize;
        for i in 0..days {
            let ago = days - i;
            busy = 0.9 * busy + 0.0015 * random.normal();
            mood = 0.95 * mood + 0.3 * lean * random.normal();
            whales *= 1.0
                + lean * (ago as f64 / wave).cos()
                + mood * (ago as f64 / 40.0).min(1.0)
                + 0.0011 * random.normal();
            whales = whales.min(token.supply * 0.85);
            let share = growth(kind, (i + 1) as f64 / days as f64) / growth(kind, 1.0);
            // The last count equals the one in the table `tokens`.
            let holders = last * share * (1.0 + busy * ((ago - 1) as f64 / 10.0).min(1.0));
            row!(
                table,
                token.address,
                DemoMarket::day(ago),
                (holders.round() as i64).max(2),
                round(whales, 6)
            )?;
        }
    }
    Ok(())
}
