//! Yield pools and gas: the parts of a yield, the criteria for unusable rows, the price of gas. Rating usable pools belongs to the
//! analysis.

use super::{
    address::Address,
    chain::Chain,
    rows::{GasRow, YieldRow},
};

/// TVL in USD under which a pool is dust.
pub const TVL_MIN: f64 = 10_000.0;
/// Percent a year above which a yield is taken for a mistake.
pub const APY_MAX: f64 = 1e6;
/// The two pseudo-addresses of a chain's native coin.
pub const NATIVE: [Address; 2] = [Address([0xee; 20]), Address::ZERO];

impl YieldRow {
    /// Base and reward yield in percent a year; the total counts as base where neither part is known.
    pub fn parts(&self) -> Option<(f64, f64)> {
        match (self.apy_base, self.apy_reward) {
            (None, None) => self.apy.map(|apy| (apy, 0.0)),
            (base, reward) => Some((base.unwrap_or_default(), reward.unwrap_or_default())),
        }
    }

    /// Reason why no plan can use the pool: the column and the message.
    pub fn unusable(&self) -> Option<(&'static str, &'static str)> {
        let category = self.category.as_deref().unwrap_or_default();
        if category.to_ascii_lowercase().split([' ', '-', '_']).any(|word| word == "cdp") {
            return Some(("category", "collateral of a debt position earns no deposit yield; no plan uses the pool"));
        }
        if self.tvl.is_none_or(|tvl| tvl < TVL_MIN) {
            return Some(("tvl", "less than $10,000 locked, or not known; no plan uses the pool"));
        }
        let Some((base, reward)) = self.parts() else {
            return Some(("apy", "none of apy_base, apy_reward and apy is known; no plan uses the pool"));
        };
        if base < 0.0 || reward < 0.0 {
            return Some((if base < 0.0 { "apy_base" } else { "apy_reward" }, "a negative yield; no plan uses the pool"));
        }
        (base + reward > APY_MAX).then_some(("apy", "more than 1,000,000 % a year; no plan uses the pool"))
    }

    /// The single asset of the pool; `None` where it has two or more, or they are unknown.
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
        self.usd_per_100k_gas.or_else(derived).filter(|usd| *usd >= 0.0 && usd.is_finite())
    }
}

impl super::Dataset {
    /// Every yield pool, by id.
    pub fn yields(&self) -> &[YieldRow] {
        &self.yields
    }

    pub fn gas_of(&self, chain: &Chain) -> Option<&GasRow> {
        self.gas.iter().find(|row| row.chain == *chain)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::dataset;

    #[test]
    fn a_row_that_no_plan_can_use_says_why() {
        let text = "pool,protocol,chain,symbol,tokens,tvlUsd,apyBase,apyReward,apy,category
            p1,aave,Ethereum,USDC,0x1,20000,1,,1,Lending
            p2,aave,eth,USDC,0x1,9999,1,,1,Lending
            p3,aave,eth,USDC,0x1,20000,,,,Lending
            p4,aave,eth,USDC,0x1,20000,-1,4,3,Lending
            p5,aave,eth,USDC,0x1,20000,5,-4,1,Lending
            p6,aave,eth,USDC,0x1,20000,900000,200000,,Lending
            p7,maker,eth,USDC,0x1,20000,5,,,CDP
            p8,aave,eth,USDC,0x1,20000,NaN,,,Lending
            p9,aave,eth,USDC,0x1,20000,,,7,Perpetuals";
        let tokens = "token_address,symbol,name,chain,decimals\n0x1,USDC,USD Coin,eth,6";
        let data = dataset(&[("tokens", tokens), ("yields", text)]);
        let reasons: Vec<_> = data.yields().iter().map(|row| row.unusable().map(|(column, _)| column)).collect();
        let expected =
            [None, Some("tvl"), Some("apy"), Some("apy_base"), Some("apy_reward"), Some("apy"), Some("category"), Some("apy"), None];
        assert_eq!(reasons, expected);
        assert_eq!(data.yields()[8].parts(), Some((7.0, 0.0)));
        let findings = &data.table("yields").unwrap().findings;
        let told: u64 =
            findings.counts().iter().filter(|count| count.reason.ends_with("no plan uses the pool")).map(|count| count.count).sum();
        assert_eq!(told, 7);
    }

    #[test]
    fn of_two_rows_with_one_id_the_first_that_can_be_used_is_kept() {
        let text = "pool,protocol,chain,symbol,tokens,tvl,apy_base,apy_reward
            a,first,eth,USDC,0x1,20000,1,
            a,second,eth,USDC,0x1,20000,2,
            b,first,eth,USDC,0x1,20000,-1,
            b,second,eth,USDC,0x1,20000,2,
            b,third,eth,USDC,0x1,20000,3,
            c,first,eth,USDC,0x1,1,1,
            c,second,eth,USDC,0x1,2,2,";
        let data = dataset(&[("tokens", "token_address,symbol,name,chain\n0x1,USDC,USD Coin,eth"), ("yields", text)]);
        let kept: Vec<_> = data.yields().iter().map(|row| (row.pool.as_str(), row.protocol.as_deref())).collect();
        assert_eq!(kept, [("a", Some("first")), ("b", Some("second")), ("c", Some("first"))]);
        let findings = &data.table("yields").unwrap().findings;
        assert_eq!(findings.counts().iter().filter(|count| count.reason.contains("same pool")).map(|count| count.count).sum::<u64>(), 4);
    }

    #[test]
    fn gas_is_known_by_chain_and_derived_from_prices() {
        let gas = "chain,usd_per_100k_gas,gas_price_gwei,native_price_usd\neth,0.5,,\nbase,,2,3000\narb1,,2,";
        let data = dataset(&[("tokens", "token_address,symbol,name,chain\n0x1,USDC,USD Coin,eth"), ("gas", gas)]);
        let usd = |chain: &str| data.gas_of(&super::Chain::parse(chain).unwrap()).and_then(super::GasRow::usd);
        assert_eq!((usd("ethereum"), usd("arb"), usd("bsc")), (Some(0.5), None, None));
        assert!((usd("base").unwrap() - 0.6).abs() < 1e-12);
    }
}
