//! Eligible yield pools, prepared once per data snapshot: single-asset pools with usable values, by token and chain.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use super::{
    curve::{Dilution, YieldCurve},
    exit::PoolExit,
    expected::{YieldBasis, YieldRecord, YieldRemark},
    risk::{APPROVAL_GAS, Category, RiskTraits, SIGMA_UNKNOWN},
};
use crate::numeric::median;
use model::data::Data;
use model::{
    address::Address,
    chain::Chain,
    rows::{GasRow, YieldRow},
    time::Time,
    yield_rows::{NATIVE, YieldDay, native_chains},
};

/// A single-asset pool. Values are in USD, rates are fractions per year.
#[derive(Debug, Clone)]
pub struct YieldPool {
    pub id: String,
    pub protocol: String,
    pub chain: Chain,
    pub token: Address,
    pub meta: Option<String>,
    pub tvl: f64,
    /// Quoted yield before any deposit, in percent per year.
    pub quoted: f64,
    /// Yield before any deposit that the plan expects, in percent per year.
    pub expected: f64,
    pub basis: YieldBasis,
    pub remarks: Vec<YieldRemark>,
    pub curve: YieldCurve,
    pub score: f64,
    /// Parts of the score.
    pub traits: RiskTraits,
    pub outlier: bool,
    pub exit: PoolExit,
    /// Gas of the approval and of the deposit in USD; `None` if the chain's gas price is unknown.
    pub gas: Option<[f64; 2]>,
    /// Index of its protocol within `Pools`; `chain_number`: of its chain.
    pub protocol_number: u32,
    pub chain_number: u32,
}

impl YieldPool {
    /// Yield of the next year before any deposit, in percent: as expected, for as long as the pool pays, less its fees.
    pub fn net_expected(&self) -> f64 {
        self.expected * self.exit.earning_part() - 100.0 * self.exit.cost()
    }

    /// Whether there is a reason to doubt the quote.
    pub fn is_doubtful(&self) -> bool {
        self.remarks
            .iter()
            .any(|remark| remark.code.is_about_the_quote())
    }

    /// Gas cost of a deposit in USD; 0 if unknown.
    pub fn fee(&self) -> f64 {
        self.gas
            .map_or(0.0, |[approval, deposit]| approval + deposit)
    }
}

/// The yield pools of a dataset.
#[derive(Debug, Default)]
pub struct Pools {
    /// Sorted by token, chain, id.
    pub pools: Vec<YieldPool>,
    index: HashMap<(Address, Chain), Range<usize>>,
    chains: HashSet<Chain>,
    /// Whether the way out of any pool is known.
    pub knows_exits: bool,
    /// Whether the amount that can be withdrawn is known of any pool.
    pub knows_withdrawable: bool,
    /// Number of distinct protocols and chains.
    pub protocols: usize,
    pub chain_count: usize,
}

/// Returns the number of `name`, assigning the next one if it is new.
fn numbered(numbers: &mut HashMap<String, u32>, name: &str) -> u32 {
    if let Some(number) = numbers.get(name) {
        return *number;
    }
    let number = numbers.len() as u32;
    numbers.insert(name.to_owned(), number);
    number
}

impl Pools {
    /// `now` is when the money is moved: pools that end do so relative to it.
    pub fn new(dataset: &dyn Data, now: Time) -> Self {
        let gas = |chain: &Chain| dataset.gas_of(chain).and_then(GasRow::usd);
        Self::from_rows(
            dataset.yields(),
            gas,
            |pool| dataset.yield_days_of(pool),
            now,
        )
    }

    /// Builds the pools from the usable rows; `gas` returns the USD price of 100,000 gas on a chain, `days` a pool's known past.
    pub fn from_rows<'a>(
        rows: &[YieldRow],
        gas: impl Fn(&Chain) -> Option<f64>,
        days: impl Fn(&str) -> &'a [YieldDay],
        now: Time,
    ) -> Self {
        let spreads = Spreads::new(rows, &days);
        let chains: HashSet<Chain> = rows.iter().filter_map(|row| row.chain.clone()).collect();
        let gas: HashMap<&Chain, f64> = chains
            .iter()
            .filter_map(|chain| Some((chain, gas(chain)?)))
            .collect();
        let pools = rows.iter().filter_map(|row| {
            let chain = row.chain.as_ref()?;
            let gas = gas.get(chain).copied();
            pool(row, chain, days(&row.pool), gas, &spreads, now)
        });
        let mut pools = Self::of(pools);
        pools.chains = chains;
        pools
    }

    /// Builds the index. No two pools may share an id.
    pub fn of(pools: impl Iterator<Item = YieldPool>) -> Self {
        let mut pools: Vec<YieldPool> = pools.collect();
        pools.sort_by(|a, b| {
            a.token
                .cmp(&b.token)
                .then_with(|| a.chain.cmp(&b.chain))
                .then_with(|| a.id.cmp(&b.id))
        });
        let (mut protocols, mut chain_numbers) = (HashMap::new(), HashMap::new());
        for pool in &mut pools {
            pool.protocol_number = numbered(&mut protocols, &pool.protocol);
            pool.chain_number = numbered(&mut chain_numbers, pool.chain.as_str());
        }
        let mut index = HashMap::new();
        let mut start = 0;
        for end in 1..=pools.len() {
            let same = pools.get(end).is_some_and(|pool| {
                pool.token == pools[start].token && pool.chain == pools[start].chain
            });
            if !same {
                index.insert((pools[start].token, pools[start].chain.clone()), start..end);
                start = end;
            }
        }
        let chains = pools.iter().map(|pool| pool.chain.clone()).collect();
        Self {
            knows_exits: pools.iter().any(|pool| pool.exit.is_known()),
            knows_withdrawable: pools
                .iter()
                .any(|pool| pool.exit.withdrawable_usd.is_some()),
            pools,
            index,
            chains,
            protocols: protocols.len(),
            chain_count: chain_numbers.len(),
        }
    }

    /// Index range of the token's pools on the chain. A chain's native coin has two addresses, and is a coin such as `coin:ETH`; if one of
    /// the three has no pools, those of another are returned.
    pub fn on(&self, token: Address, chain: &Chain) -> Range<usize> {
        let of = |token: Address| self.index.get(&(token, chain.clone())).cloned();
        let twin = || {
            let is_native = NATIVE.contains(&token) || native_chains(token).contains(chain);
            NATIVE.into_iter().filter(|_| is_native).find_map(of)
        };
        of(token).or_else(twin).unwrap_or(0..0)
    }

    /// Whether any pool ends, so that plans depend on the day.
    pub fn knows_ends(&self) -> bool {
        self.pools.iter().any(|pool| pool.exit.matures_at.is_some())
    }

    /// Whether any row of the table is on the chain.
    pub fn knows(&self, chain: &Chain) -> bool {
        self.chains.contains(chain)
    }
}

/// Medians of the known spreads, for pools without one.
struct Spreads {
    by_category: BTreeMap<Category, f64>,
    all: f64,
}

/// Minimum number of pools of a category with a known spread for its median to count.
const SPREADS_MIN: usize = 5;

impl Spreads {
    fn new<'a>(rows: &[YieldRow], days: &impl Fn(&str) -> &'a [YieldDay]) -> Self {
        let mut known: BTreeMap<Category, Vec<f64>> = BTreeMap::new();
        for row in rows {
            if let Some(sigma) = spread(row, days(&row.pool)) {
                let category = Category::of(row.category.as_deref());
                known.entry(category).or_default().push(sigma);
            }
        }
        let mut all: Vec<f64> = known.values().flatten().copied().collect();
        known.retain(|_, spreads| spreads.len() >= SPREADS_MIN);
        Self {
            all: if all.is_empty() {
                SIGMA_UNKNOWN
            } else {
                median(&mut all)
            },
            by_category: known
                .into_iter()
                .map(|(category, mut spreads)| (category, median(&mut spreads)))
                .collect(),
        }
    }
}

/// The pool's own spread: as given, or of its history.
fn spread(row: &YieldRow, days: &[YieldDay]) -> Option<f64> {
    row.sigma.or_else(|| {
        YieldRecord {
            days,
            ..YieldRecord::default()
        }
        .sigma()
    })
}

fn pool(
    row: &YieldRow,
    chain: &Chain,
    days: &[YieldDay],
    gas: Option<f64>,
    spreads: &Spreads,
    now: Time,
) -> Option<YieldPool> {
    if row.unusable().is_some() {
        return None;
    }
    let (token, tvl, (base, reward)) = (row.single()?, row.tvl?, row.parts()?);
    if base + reward <= 0.0 {
        return None;
    }
    let is =
        |cell: Option<&str>, word: &str| cell.is_some_and(|cell| cell.eq_ignore_ascii_case(word));
    let record = YieldRecord {
        quoted: base + reward,
        days,
        mean_30d: row.apy_mean_30d,
        two_sided: is(row.exposure.as_deref(), "multi") || is(row.il_risk.as_deref(), "yes"),
        outlier: row.outlier.unwrap_or(false),
    };
    let (expected, basis) = record.expected();
    // Both parts are expected to fall short alike; as quoted they stay to the last bit.
    let part = |quoted: f64| {
        if basis == YieldBasis::Quoted {
            quoted
        } else {
            quoted * expected / record.quoted
        }
    };
    let category = Category::of(row.category.as_deref());
    let dilution = match category {
        Category::Lending => Dilution::Squared,
        Category::Vault | Category::Dex => Dilution::Shared,
        Category::Staking | Category::Rwa => Dilution::None,
    };
    // For lending, tvl is supply minus debt, but the yield is shared by the whole supply.
    let size = match row.total_supply_usd {
        Some(supply) if category == Category::Lending && supply >= tvl => supply,
        _ => tvl,
    };
    let exit = PoolExit::new(row, size, now);
    let own = spread(row, days);
    let alike = || spreads.by_category.get(&category).copied();
    let traits = RiskTraits {
        category,
        tvl,
        count: row.count.unwrap_or(0).max(0) as f64,
        sigma: own.or_else(alike).unwrap_or(spreads.all),
        assumed: own.is_none(),
        rewards: reward / (base + reward),
        outlier: record.outlier,
    };
    let usd = |gas_units: f64| gas.map(|usd| gas_units / 1e5 * usd);
    Some(YieldPool {
        id: row.pool.clone(),
        protocol: row.protocol.clone().unwrap_or_default(),
        chain: chain.clone(),
        token,
        meta: row.pool_meta.clone(),
        tvl,
        quoted: record.quoted,
        expected,
        basis,
        remarks: record.remarks(),
        curve: YieldCurve {
            base: part(base) / 100.0 * exit.earning_part(),
            reward: part(reward) / 100.0 * exit.earning_part(),
            cost: exit.cost(),
            size,
            dilution,
        },
        score: traits.score(),
        traits,
        outlier: traits.outlier,
        exit,
        protocol_number: 0,
        chain_number: 0,
        gas: usd(APPROVAL_GAS)
            .zip(usd(category.gas() - APPROVAL_GAS))
            .map(|(approval, deposit)| [approval, deposit]),
    })
}
