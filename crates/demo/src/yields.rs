//! Yield pools and gas. Protocol names are real, their figures invented; sizes and rates are distributed as on the chains in 2026, when
//! most lending of volatile assets paid next to nothing and that of dollars three to six percent.

use super::{
    error::DemoError,
    facts::{Dex, FACTS},
    market::{DemoMarket, DemoToken},
    output::{DemoTable, row},
    random::{Random, round},
};
use model::time::Day;

pub(super) const YIELD_COLUMNS: &str = "\
    pool protocol chain symbol tokens tvl apy_base apy_reward apy category total_supply_usd total_borrow_usd sigma mu count outlier \
    stablecoin il_risk exposure apy_mean_30d pool_meta utilization cooldown_days matures_at";
pub(super) const GAS_COLUMNS: &str = "chain usd_per_100k_gas gas_price_gwei native_price_usd";

/// Days from the request of a withdrawal until it is paid; lending pools and vaults pay at once what they have.
const COOLDOWNS: &[(&str, f64)] = &[
    ("lido", 4.0),
    ("coinbase-wrapped-staked-eth", 7.0),
    ("aave-safety-module", 20.0),
    ("maple", 30.0),
    ("ondo-yield-assets", 3.0),
];
/// The protocol whose pools end, and when.
const MATURES: (&str, (i32, u32, u32)) = ("pendle", (2_027, 3, 25));

/// A protocol with its category, chains and accepted tokens.
struct Protocol {
    name: &'static str,
    category: &'static str,
    chains: &'static [&'static str],
    symbols: &'static [&'static str],
    /// USD in its largest pools.
    size: f64,
    /// Fraction of pools with additional rewards.
    rewards: f64,
}

macro_rules! protocols {
    ($($name:literal $category:literal [$($chain:literal)*] [$($symbol:literal)*] $size:literal $rewards:literal;)*) => {
        &[$(Protocol { name: $name, category: $category, chains: &[$($chain),*], symbols: &[$($symbol),*], size: $size, rewards: $rewards }),*]
    };
}

const PROTOCOLS: &[Protocol] = protocols! {
    "aave-v3" "lending" ["eth" "base" "arb1" "oeth" "bnb" "pol"] ["USDC" "USDT" "WETH" "WBTC" "cbBTC" "LINK" "DAI" "cbETH" "WMATIC" "WBNB" "rETH" "AAVE"] 2.4e9 0.15;
    "compound-v3" "lending" ["eth" "base" "arb1" "oeth" "pol"] ["USDC" "WETH" "USDT" "WBTC" "COMP"] 6e8 0.5;
    "morpho-blue" "lending" ["eth" "base"] ["USDC" "WETH" "cbBTC" "USDT" "DAI" "WBTC"] 9e8 0.35;
    "fluid-lending" "lending" ["eth" "base" "arb1"] ["USDC" "USDT" "WETH" "ARB"] 2.2e8 0.4;
    "sparklend" "lending" ["eth"] ["WETH" "DAI" "rETH" "USDC" "WBTC"] 8e8 0.2;
    "venus-core-pool" "lending" ["bnb"] ["WBNB" "USDT" "USDC" "CAKE" "WETH"] 4e8 0.6;
    "moonwell" "lending" ["base" "oeth"] ["USDC" "WETH" "cbETH" "AERO" "VELO" "OP"] 9e7 0.8;
    "euler-v2" "lending" ["eth" "base" "arb1"] ["USDC" "WETH" "USDT"] 1.1e8 0.6;
    "lido" "staking" ["eth"] ["stETH"] 2.2e10 0.0;
    "rocket-pool" "staking" ["eth"] ["rETH"] 3.1e9 0.0;
    "coinbase-wrapped-staked-eth" "staking" ["base"] ["cbETH"] 4.4e8 0.0;
    "aave-safety-module" "staking" ["eth"] ["AAVE"] 1.6e8 1.0;
    "spark-savings" "rwa" ["eth" "arb1" "base"] ["USDC" "USDT"] 3.2e8 0.0;
    "maple" "rwa" ["eth"] ["USDC" "USDT"] 1.9e9 0.1;
    "ondo-yield-assets" "rwa" ["eth"] ["ONDO"] 3.1e7 0.0;
    "yearn-finance" "vault" ["eth" "arb1" "base" "pol"] ["USDC" "WETH" "DAI" "USDT" "CRV"] 5.2e7 0.2;
    "beefy" "vault" ["arb1" "base" "oeth" "bnb" "pol"] ["USDC" "WETH" "USDT" "CAKE" "GMX"] 1.1e7 0.3;
    "harvest-finance" "vault" ["base" "eth" "arb1" "pol"] ["USDC" "WETH" "cbBTC"] 6e6 0.5;
    "pendle" "vault" ["eth" "arb1"] ["stETH" "PENDLE" "USDC" "ENA"] 9e7 0.6;
};

pub(super) fn write(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    let mut random = Random::new(market.options.seed, "yields");
    for protocol in PROTOCOLS {
        for chain in protocol.chains {
            for symbol in protocol.symbols {
                if let Some(token) = market.find(symbol, chain) {
                    single(protocol, chain, token, None, &mut random, table)?;
                    // A protocol may run several pools for one token, each with a note.
                    if matches!(protocol.name, "morpho-blue" | "yearn-finance" | "maple")
                        && random.unit() < 0.4
                    {
                        let meta = *random.pick(&["Prime", "Core", "Frontier"]);
                        single(protocol, chain, token, Some(meta), &mut random, table)?;
                    }
                }
            }
        }
    }
    for dex in FACTS.dexes.iter().filter(|dex| dex.version != "v4") {
        for pair in [
            ["WETH", "USDC"],
            ["WBTC", "WETH"],
            ["USDC", "USDT"],
            ["WBNB", "USDT"],
            ["UNI", "WETH"],
            ["ARB", "WETH"],
        ] {
            if let [Some(first), Some(second)] = pair.map(|symbol| market.find(symbol, dex.chain)) {
                double(dex, first, second, &mut random, table)?;
            }
        }
    }
    Ok(())
}

struct Rates {
    base: Option<f64>,
    reward: Option<f64>,
}

impl Rates {
    fn total(&self) -> f64 {
        self.base.unwrap_or(0.0) + self.reward.unwrap_or(0.0)
    }
}

fn id(random: &mut Random) -> String {
    let text = random.digest();
    format!(
        "{}-{}-{}-{}-{}",
        &text[2..10],
        &text[10..14],
        &text[14..18],
        &text[18..22],
        &text[22..34]
    )
}

/// Base and reward APY of a single-token pool, in percent.
fn rates(protocol: &Protocol, token: &DemoToken, utilisation: f64, random: &mut Random) -> Rates {
    let base = match protocol.category {
        "lending" if token.stable => 6.2 * utilisation.powi(2) * random.between(0.85, 1.25),
        "lending" if token.asset == "eth" => 2.4 * utilisation.powi(2) * random.between(0.8, 1.2),
        "lending" => 2.5 * utilisation.powi(3) * random.unit().powi(2),
        "staking" if token.asset == "eth" => random.between(2.1, 2.6),
        "staking" => 0.0,
        "rwa" => random.between(3.1, 5.2),
        _ if token.stable => random.between(2.8, 8.4),
        _ => random.spread(0.4, 9.0),
    };
    let reward = (random.unit() < protocol.rewards).then(|| round(random.spread(0.15, 4.5), 5));
    // As in real data: the base may be unknown, and some pools have rewards only.
    let base = if protocol.category == "staking" && base == 0.0 {
        None
    } else {
        Some(round(base, 5))
    };
    Rates { base, reward }
}

/// A pool, without the figures drawn while it is written.
struct YieldPool<'a> {
    protocol: &'a str,
    category: &'a str,
    chain: &'a str,
    symbol: &'a str,
    tokens: &'a [&'a str],
    tvl: f64,
    /// USD supplied and borrowed, for lending.
    lent: Option<(f64, f64)>,
    rates: Rates,
    stable: bool,
    /// Distinguishes it from other pools of the same token.
    meta: Option<&'a str>,
}

/// Writes a single-token pool.
fn single(
    protocol: &Protocol,
    chain: &str,
    token: &DemoToken,
    meta: Option<&str>,
    random: &mut Random,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    let utilisation = if token.stable {
        random.between(0.55, 0.93)
    } else {
        random.between(0.02, 0.88)
    };
    let rates = rates(protocol, token, utilisation, random);
    let scale = if chain == "eth" { 1.0 } else { 0.14 } * if meta.is_none() { 1.0 } else { 0.3 };
    let supply = (protocol.size * scale * random.spread(0.02, 1.0)).min(token.cap() * 0.4);
    let lending = protocol.category == "lending";
    let borrowed = if lending { supply * utilisation } else { 0.0 };
    let pool = YieldPool {
        protocol: protocol.name,
        category: protocol.category,
        chain,
        symbol: &token.symbol,
        tokens: &[&token.address.to_string()],
        // Lending TVL excludes the borrowed amount.
        tvl: supply - borrowed,
        lent: lending.then_some((supply, borrowed)),
        rates,
        stable: token.stable,
        meta,
    };
    pool.write(random, table)
}

/// Writes an exchange's liquidity pool of two tokens.
fn double(
    dex: &Dex,
    first: &DemoToken,
    second: &DemoToken,
    random: &mut Random,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    let rates = Rates {
        base: Some(round(random.spread(0.4, 38.0), 5)),
        reward: (random.unit() < 0.3).then(|| round(random.spread(0.5, 12.0), 5)),
    };
    let pool = YieldPool {
        protocol: dex.id,
        category: "dex",
        chain: dex.chain,
        symbol: &format!("{}-{}", first.symbol, second.symbol),
        tokens: &[&first.address.to_string(), &second.address.to_string()],
        tvl: random.spread(4e5, 1.6e8),
        lent: None,
        rates,
        stable: first.stable && second.stable,
        meta: None,
    };
    pool.write(random, table)
}

impl YieldPool<'_> {
    fn write(&self, random: &mut Random, table: &mut DemoTable) -> Result<(), DemoError> {
        let total = self.rates.total();
        let single = self.tokens.len() == 1;
        let observed = random.below(900) as i64 + 20;
        let outlier = random.unit() < 0.02;
        let (_, (year, month, day)) = MATURES;
        let ends = Day::of(year, month, day).map(Day::start);
        let mut cooldowns = COOLDOWNS.iter();
        let cooldown = cooldowns.find(|(protocol, _)| *protocol == self.protocol);
        row!(
            table,
            &id(random),
            self.protocol,
            self.chain,
            &self.symbol.to_uppercase(),
            self.tokens,
            self.tvl.round(),
            self.rates.base,
            self.rates.reward,
            round(total, 6),
            self.category,
            self.lent.map(|(supply, _)| supply.round()),
            self.lent.map(|(_, borrowed)| borrowed.round()),
            round(total * random.spread(0.02, 0.6), 4),
            round(total * random.between(0.8, 1.3), 4),
            observed,
            outlier,
            self.stable,
            if single || self.stable { "no" } else { "yes" },
            if single { "single" } else { "multi" },
            (observed >= 30).then(|| round(total * random.between(0.85, 1.2), 4)),
            self.meta,
            self.lent
                .map(|(supply, borrowed)| round(borrowed / supply, 4)),
            cooldown.map(|(_, days)| *days),
            ends.filter(|_| self.protocol == MATURES.0),
        )
    }
}

pub(super) fn write_gas(_: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for gas in &FACTS.gas {
        let native = DemoMarket::asset_price(gas.asset);
        row!(
            table,
            gas.chain,
            round(gas.gwei * 1e-9 * native * 1e5, 4),
            gas.gwei,
            native
        )?;
    }
    Ok(())
}
