//! Yield pools and gas: the parts of a yield, the criteria for unusable rows, the price of gas. Rating usable pools belongs to the
//! analysis.

use std::collections::{BTreeMap, HashMap};

use super::{
    address::Address,
    chain::Chain,
    rows::{GasRow, YieldObservation, YieldRow},
    time::Day,
};

/// TVL in USD below which a pool counts as dust.
pub const TVL_MIN: f64 = 10_000.0;
/// Percent per year above which a yield counts as an error.
pub const APY_MAX: f64 = 1e6;
/// The two pseudo-addresses of a chain's native coin.
pub const NATIVE: [Address; 2] = [Address([0xee; 20]), Address::ZERO];

/// Coins that pay the gas of chains, with these chains; each has 18 decimals and the addresses of `NATIVE` there.
const NATIVE_COINS: &[(&str, &[&str])] = &[
    ("ETH", &["eth", "base", "arb1", "oeth", "linea", "scr"]),
    ("BNB", &["bnb"]),
    ("POL", &["pol"]),
    ("AVAX", &["avax"]),
];
pub const NATIVE_DECIMALS: i64 = 18;

/// Chains whose gas is paid in the coin, such as `coin:ETH`; empty for any other token.
pub fn native_chains(coin: Address) -> Vec<Chain> {
    NATIVE_COINS
        .iter()
        .filter(|(symbol, _)| Address::coin(symbol) == coin)
        .flat_map(|(_, chains)| chains.iter().filter_map(|chain| Chain::known(chain)))
        .collect()
}

/// Base and reward yield; the total counts as base where neither part is known.
fn parts(base: Option<f64>, reward: Option<f64>, total: Option<f64>) -> Option<(f64, f64)> {
    match (base, reward) {
        (None, None) => total.map(|apy| (apy, 0.0)),
        (base, reward) => Some((base.unwrap_or_default(), reward.unwrap_or_default())),
    }
}

/// What a pool paid on a day, as last seen on that day, in percent per year.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YieldDay {
    pub day: Day,
    pub apy: f64,
}

/// The days of each pool, oldest first. Days without an observation are missing.
pub fn yield_days(
    observed: impl IntoIterator<Item = YieldObservation>,
) -> HashMap<String, Vec<YieldDay>> {
    let mut last: HashMap<String, BTreeMap<Day, (i64, f64)>> = HashMap::new();
    for seen in observed.into_iter().filter(|seen| seen.gone != Some(true)) {
        let Some((base, reward)) = parts(seen.apy_base, seen.apy_reward, seen.apy) else {
            continue;
        };
        let of_day = last
            .entry(seen.pool)
            .or_default()
            .entry(seen.observed_at.day())
            .or_insert((i64::MIN, 0.0));
        if seen.observed_at.0 >= of_day.0 {
            *of_day = (seen.observed_at.0, base + reward);
        }
    }
    let days = |days: BTreeMap<Day, (i64, f64)>| {
        days.into_iter()
            .map(|(day, (_, apy))| YieldDay { day, apy })
            .collect()
    };
    last.into_iter()
        .map(|(pool, of_pool)| (pool, days(of_pool)))
        .collect()
}

impl YieldRow {
    /// Base and reward yield in percent per year; the total counts as base if neither part is known.
    pub fn parts(&self) -> Option<(f64, f64)> {
        parts(self.apy_base, self.apy_reward, self.apy)
    }

    /// Reason why no plan can use the pool: the column and the message.
    pub fn unusable(&self) -> Option<(&'static str, &'static str)> {
        let category = self.category.as_deref().unwrap_or_default();
        if category
            .to_ascii_lowercase()
            .split([' ', '-', '_'])
            .any(|word| word == "cdp")
        {
            return Some((
                "category",
                "collateral of a debt position earns no deposit yield; no plan uses the pool",
            ));
        }
        if self.tvl.is_none_or(|tvl| tvl < TVL_MIN) {
            return Some((
                "tvl",
                "less than $10,000 is locked, or the amount is unknown; no plan uses the pool",
            ));
        }
        let Some((base, reward)) = self.parts() else {
            return Some((
                "apy",
                "apy_base, apy_reward and apy are all unknown; no plan uses the pool",
            ));
        };
        if base < 0.0 || reward < 0.0 {
            return Some((
                if base < 0.0 { "apy_base" } else { "apy_reward" },
                "the yield is negative; no plan uses the pool",
            ));
        }
        (base + reward > APY_MAX).then_some((
            "apy",
            "the yield is above 1,000,000% per year; no plan uses the pool",
        ))
    }

    /// An exit column whose value makes no sense: the column and the message.
    pub fn wrong_exit(&self) -> Option<(&'static str, &'static str)> {
        let is_negative = |cell: Option<f64>| cell.is_some_and(|value| value < 0.0);
        let negative = "the value is negative, which makes no sense; it counts as unknown";
        let amounts = [
            ("withdrawable_usd", self.withdrawable_usd),
            ("cap_left_usd", self.cap_left_usd),
        ];
        let times = [
            ("lock_days", self.lock_days),
            ("cooldown_days", self.cooldown_days),
            ("deposit_fee", self.deposit_fee),
            ("exit_fee", self.exit_fee),
        ];
        let found = |cells: &[(&'static str, Option<f64>)]| {
            let mut negative = cells.iter().filter(|(_, cell)| is_negative(*cell));
            negative.next().map(|(name, _)| *name)
        };
        if let Some(utilization) = self.utilization
            && !(0.0..=1.0).contains(&utilization)
        {
            return Some((
                "utilization",
                "the value is not a fraction from 0 to 1; it counts as the nearest of the two",
            ));
        }
        if let Some(column) = found(&amounts) {
            return Some((column, "the amount is negative; it counts as 0"));
        }
        if let Some(column) = found(&times) {
            return Some((column, negative));
        }
        let fees = [
            ("deposit_fee", self.deposit_fee),
            ("exit_fee", self.exit_fee),
        ];
        let mut all = fees
            .into_iter()
            .filter(|(_, fee)| fee.is_some_and(|fee| fee >= 100.0));
        all.next().map(|(column, _)| {
            (
                column,
                "the fee takes the whole deposit: fees are in percent; no plan uses the pool",
            )
        })
    }

    /// The single asset of the pool; `None` if it has several, or if they are unknown.
    pub fn single(&self) -> Option<Address> {
        match self.tokens.as_slice() {
            [token] => Some(*token),
            _ => None,
        }
    }
}

impl GasRow {
    /// USD for 100,000 gas: as given, or from the gas price and the price of the native coin.
    pub fn usd(&self) -> Option<f64> {
        let derived = || Some(self.gas_price_gwei? * 1e-9 * self.native_price_usd? * 1e5);
        self.usd_per_100k_gas
            .or_else(derived)
            .filter(|usd| *usd >= 0.0 && usd.is_finite())
    }
}
