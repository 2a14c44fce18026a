//! Synthetic yield problems, reproducible from a seed: pools as in real lists, dirty rows among them, a wallet of given value, and rotating
//! preferences. For tests and benches.
#![allow(dead_code, unreachable_pub, reason = "each user takes a part of it")]

use analysis::yields::{
    amounts, case::PlanPreferences, pools::Pools, risk::RiskLevel, wallet::WalletToken,
};
use model::{
    address::Address,
    chain::Chain,
    rows::{GasRow, YieldRow},
    time::{DAY_MS, Time},
};
use ruint::aliases::U256;

use crate::random::Random;

/// Numbers of pools and tokens, and wallet values, of the benchmark.
pub const POOLS: [usize; 4] = [20, 200, 2_000, 20_000];
pub const TOKENS: [usize; 3] = [1, 5, 50];
pub const WALLETS: [f64; 3] = [5e3, 1e6, 1e8];
/// When the plans are made.
pub const NOW: Time = Time(20_000 * DAY_MS);
/// Four seeds for each combination: 144 instances.
pub const SEEDS: [u64; 4] = [11, 23, 37, 59];

const CHAINS: [(&str, f64); 6] = [
    ("eth", 0.63),
    ("base", 0.004),
    ("arb1", 0.008),
    ("oeth", 0.002),
    ("bnb", 0.011),
    ("pol", 0.001),
];
const CATEGORIES: [&str; 8] = [
    "Lending",
    "Lending",
    "Lending",
    "Yield",
    "Dexs",
    "Liquid Staking",
    "RWA",
    "Vault",
];
const DECIMALS: [u32; 4] = [18, 6, 8, 18];

/// One problem.
#[derive(Debug, Clone)]
pub struct Instance {
    pub rows: Vec<YieldRow>,
    pub gas: Vec<GasRow>,
    pub holdings: Vec<WalletToken>,
    pub wish: PlanPreferences,
}

impl Instance {
    pub fn pools(&self) -> Pools {
        Pools::from_rows(
            &self.rows,
            |chain| {
                self.gas
                    .iter()
                    .find(|row| row.chain == *chain)
                    .and_then(GasRow::usd)
            },
            |_| &[],
            NOW,
        )
    }

    /// Writes the problem as a dataset: tokens, yields and gas.
    pub fn write(&self, folder: &std::path::Path) {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let mut tokens = "token_address,symbol,name,chain,decimals,price\n".to_owned();
        for holding in &self.holdings {
            let chain = holding.chain.as_ref().map_or("eth", Chain::as_str);
            let decimals = holding.decimals.unwrap_or_default();
            tokens += &format!(
                "{},T,Token,{chain},{decimals},{}\n",
                holding.address,
                number(holding.price)
            );
        }
        let mut yields =
            "pool,protocol,chain,symbol,tokens,tvl,apy_base,apy_reward,apy,category,total_supply_usd,sigma,count,outlier\n".to_owned();
        for row in &self.rows {
            let addresses: Vec<String> = row.tokens.iter().map(ToString::to_string).collect();
            yields += &format!(
                "{},{},{},T,{},{},{},{},{},{},{},{},{},{}\n",
                row.pool,
                row.protocol.as_deref().unwrap_or_default(),
                row.chain.as_ref().map_or("eth", Chain::as_str),
                addresses.join(";"),
                number(row.tvl),
                number(row.apy_base),
                number(row.apy_reward),
                number(row.apy),
                row.category.as_deref().unwrap_or_default(),
                number(row.total_supply_usd),
                number(row.sigma),
                row.count
                    .map_or_else(String::new, |count| count.to_string()),
                row.outlier.unwrap_or_default()
            );
        }
        let gas = CHAINS.iter().fold(
            "chain,usd_per_100k_gas\n".to_owned(),
            |text, (chain, usd)| text + &format!("{chain},{usd}\n"),
        );
        for (name, text) in [("tokens", tokens), ("yields", yields), ("gas", gas)] {
            std::fs::write(folder.join(format!("{name}.csv")), text).expect("written");
        }
    }
}

/// The 144 benchmark instances, each with (pools, tokens, wallet value).
pub fn benchmark() -> impl Iterator<Item = ((usize, usize, f64), Instance)> {
    let mut count = 0;
    let sizes = POOLS.into_iter().flat_map(|pools| {
        TOKENS
            .into_iter()
            .flat_map(move |tokens| WALLETS.map(|wallet| (pools, tokens, wallet)))
    });
    sizes.flat_map(|size| SEEDS.map(|seed| (size, seed))).map(
        move |((pools, tokens, wallet), seed)| {
            count += 1;
            (
                (pools, tokens, wallet),
                instance(seed * 1_000_003 + count, pools, tokens, wallet),
            )
        },
    )
}

pub fn instance(seed: u64, pools: usize, tokens: usize, wallet: f64) -> Instance {
    let mut random = Random(seed);
    let rotation = random.below(3);
    let chains = [6, 2, 1, 6][random.below(4)];
    let held: Vec<(Address, Chain, bool)> = (0..tokens)
        .map(|i| {
            let mut bytes = [0; 20];
            bytes[..8].copy_from_slice(&random.word().to_be_bytes());
            bytes[19] = i as u8;
            (
                Address(bytes),
                chain(random.below(chains)),
                random.chance(0.5),
            )
        })
        .collect();
    let protocols = 4 + random.below(36);
    let rows = (0..pools)
        .map(|i| row(i, &held, protocols, &mut random))
        .collect();
    let mut weights: Vec<f64> = (0..tokens).map(|_| random.scale(0.02, 1.0)).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight *= wallet / sum;
    }
    let holdings = held
        .iter()
        .zip(weights)
        .map(|((address, chain, stable), usd)| holding(*address, chain, *stable, usd, &mut random))
        .collect();
    let gas = CHAINS.iter().map(|(name, usd)| GasRow {
        chain: Chain::known(name).expect("a chain of the list"),
        usd_per_100k_gas: Some(*usd),
        gas_price_gwei: None,
        native_price_usd: None,
    });
    let min_apy = [0.0, 0.0, 2.0, 4.0][random.below(4)];
    Instance {
        rows,
        gas: gas.collect(),
        holdings,
        wish: PlanPreferences {
            risk: RiskLevel::ALL[rotation],
            min_apy,
            max_lock_days: None,
            exit_within_days: None,
        },
    }
}

/// Adds what a dataset may know about the way out of its pools, and quotes far above their mean; the rest is unchanged.
pub fn with_exits(seed: u64, mut instance: Instance) -> Instance {
    let mut random = Random(seed ^ 0x0e71);
    for row in &mut instance.rows {
        let tvl = row.tvl.unwrap_or(1e6);
        let mut some = |part: f64, low: f64, high: f64| {
            let value = random.scale(low, high);
            random.chance(part).then_some(value)
        };
        row.withdrawable_usd = some(0.5, 1e-4 * tvl, tvl);
        row.utilization = some(0.2, 0.05, 1.0);
        row.cap_left_usd = some(0.2, 1e3, 1e8);
        row.cooldown_days = some(0.2, 0.5, 40.0);
        row.exit_fee = some(0.2, 0.01, 0.5);
        row.deposit_fee = some(0.1, 0.01, 0.5);
        row.apy_mean_30d = some(0.3, 0.3, 1.5).map(|part| part * row.apy.unwrap_or(1.0));
        row.lock_days = random
            .chance(0.3)
            .then(|| [0.0, 3.0, 7.0, 30.0, 180.0][random.below(5)]);
        row.matures_at = random
            .chance(0.15)
            .then(|| Time(NOW.0 + random.between(-60.0, 600.0) as i64 * DAY_MS));
    }
    let mut days = |part, days: [f64; 3]| random.chance(part).then(|| days[random.below(3)]);
    instance.wish.max_lock_days = days(0.2, [0.0, 7.0, 60.0]);
    instance.wish.exit_within_days = days(0.2, [1.0, 14.0, 60.0]);
    instance
}

fn chain(at: usize) -> Chain {
    Chain::known(CHAINS[at].0).expect("a chain of the list")
}

fn holding(
    address: Address,
    chain: &Chain,
    stable: bool,
    usd: f64,
    random: &mut Random,
) -> WalletToken {
    let price = if stable {
        1.0
    } else {
        random.scale(0.5, 60_000.0)
    };
    let decimals = DECIMALS[random.below(DECIMALS.len())];
    let tokens = usd / price;
    // Formatted as text, so that no float affects the last digits of the amount.
    let text = format!("{tokens:.0$}", decimals.min(6) as usize);
    let amount = amounts::from_tokens(&text, decimals)
        .filter(|amount| !amount.is_zero())
        .unwrap_or(U256::ONE);
    WalletToken {
        address,
        symbol: Some("T".to_owned()),
        amount,
        chain: Some(chain.clone()),
        decimals: Some(decimals),
        price: Some(price),
        held: None,
    }
}

fn row(
    at: usize,
    held: &[(Address, Chain, bool)],
    protocols: usize,
    random: &mut Random,
) -> YieldRow {
    let (token, chain, stable) = &held[random.below(held.len())];
    let category = CATEGORIES[random.below(CATEGORIES.len())];
    let tvl = random.scale(3e4, 3e9);
    let base = match category {
        "Liquid Staking" => 1.5 + 2.0 * random.unit(),
        "RWA" => 2.5 + 2.5 * random.unit(),
        _ if *stable => random.scale(1.0, 14.0),
        _ => random.scale(0.05, 8.0),
    };
    let reward = random.chance(0.35).then(|| random.scale(0.1, 9.0));
    let lending = category == "Lending";
    let utilisation = 0.2 + 0.7 * random.unit();
    let count = random.below(1_000) as i64;
    let mut row = YieldRow {
        pool: format!("pool-{at}"),
        protocol: Some(format!("protocol-{}", random.below(protocols))),
        chain: Some(chain.clone()),
        symbol: Some("T".to_owned()),
        tokens: vec![*token],
        tvl: Some(tvl),
        apy_base: (!random.chance(0.03)).then_some(base),
        apy_reward: reward,
        apy: Some(base + reward.unwrap_or(0.0)),
        category: Some(category.to_owned()),
        total_supply_usd: lending.then(|| tvl / (1.0 - utilisation)),
        sigma: (!random.chance(0.1)).then(|| random.scale(0.005, 1.5)),
        count: (!random.chance(0.02)).then_some(count),
        outlier: Some(random.chance(0.03)),
        il_risk: None,
        exposure: None,
        apy_mean_30d: None,
        pool_meta: None,
        withdrawable_usd: None,
        utilization: None,
        cap_left_usd: None,
        lock_days: None,
        cooldown_days: None,
        matures_at: None,
        exit_fee: None,
        deposit_fee: None,
    };
    if random.chance(0.06) {
        corrupt_row(&mut row, held, random);
    }
    row
}

/// Corrupts a row as in real lists of pools.
fn corrupt_row(row: &mut YieldRow, held: &[(Address, Chain, bool)], random: &mut Random) {
    match random.below(9) {
        0 => row.tvl = None,
        1 => row.tvl = Some(random.scale(1.0, 9_000.0)),
        2 => (row.apy_base, row.apy_reward, row.apy) = (None, None, None),
        3 => row.apy_base = Some(-1.0),
        4 => row.apy_base = Some(3e6),
        5 => row.tokens.push(held[random.below(held.len())].0),
        6 => row.category = Some("CDP".to_owned()),
        7 => (row.apy_base, row.apy_reward, row.apy) = (Some(0.0), None, Some(0.0)),
        _ => row.tokens.clear(),
    }
}
