//! The tables `yields` and `gas` of a dataset, and the history of `yields` recorded while it was a live table.

use std::{collections::HashSet, path::Path};

use crate::{
    Dataset,
    live_files::{HISTORY_BYTES_MAX, history_files},
};
use frames::{frame_rows::FromFrame, parquet_files::parquet_columns};
use model::{
    chain::Chain,
    findings::{Finding, Severity},
    rows::{FromColumns, GasRow, YieldObservation, YieldRow},
    yield_rows::{YieldDay, yield_days},
};

impl Dataset {
    /// Every yield pool, by id.
    pub fn yields(&self) -> &[YieldRow] {
        &self.yields
    }

    /// What the pool paid on each day on which it was seen, oldest first; empty without a history.
    pub fn yield_days_of(&self, pool: &str) -> &[YieldDay] {
        self.yield_days.get(pool).map_or(&[], Vec::as_slice)
    }

    /// Reads the history of the pools that a plan can use from the dataset's folder.
    pub(crate) fn with_yield_days(mut self, folder: &Path) -> Self {
        let usable = |row: &&YieldRow| row.single().is_some() && row.unusable().is_none();
        let pools: HashSet<String> = self
            .yields
            .iter()
            .filter(usable)
            .map(|row| row.pool.clone())
            .collect();
        let mut observed = Vec::new();
        let mut damaged = Vec::new();
        for file in history_files(folder, "yields")
            .iter()
            .filter(|_| !pools.is_empty())
        {
            match parquet_columns(file, YieldObservation::COLUMNS, HISTORY_BYTES_MAX) {
                Some(Ok(frame)) => observed.extend(
                    YieldObservation::rows(&frame)
                        .into_iter()
                        .filter(|row| pools.contains(&row.pool)),
                ),
                Some(Err(error)) => damaged.push((file.clone(), error.to_string())),
                None => damaged.push((file.clone(), "is missing or too large".to_owned())),
            }
        }
        self.yield_days = yield_days(observed);
        if let Some(table) = self.table_mut("yields") {
            for (file, reason) in damaged {
                let name = file
                    .strip_prefix(folder)
                    .unwrap_or(&file)
                    .display()
                    .to_string();
                let reason = format!("the yield history lacks this file: it {reason}");
                table
                    .findings
                    .add(Finding::new(Severity::Warning, name, reason));
            }
        }
        self
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
        let reasons: Vec<_> = data
            .yields()
            .iter()
            .map(|row| row.unusable().map(|(column, _)| column))
            .collect();
        let expected = [
            None,
            Some("tvl"),
            Some("apy"),
            Some("apy_base"),
            Some("apy_reward"),
            Some("apy"),
            Some("category"),
            Some("apy"),
            None,
        ];
        assert_eq!(reasons, expected);
        assert_eq!(data.yields()[8].parts(), Some((7.0, 0.0)));
        let findings = &data.table("yields").unwrap().findings;
        let told: u64 = findings
            .counts()
            .iter()
            .filter(|count| count.reason.ends_with("no plan uses the pool"))
            .map(|count| count.count)
            .sum();
        assert_eq!(told, 7);
    }

    #[test]
    fn exit_values_that_make_no_sense_are_reported() {
        let text = "pool,protocol,chain,symbol,tokens,tvlUsd,apyBase,apyReward,utilization,lock_days,exit_fee,cap_left_usd
            p1,a,eth,USDC,0x1,20000,1,,0.9,7,0.1,5000
            p2,a,eth,USDC,0x1,20000,1,,85,,,
            p3,a,eth,USDC,0x1,20000,1,,,-1,,
            p4,a,eth,USDC,0x1,20000,1,,,,-0.1,
            p5,a,eth,USDC,0x1,20000,1,,,,100,
            p6,a,eth,USDC,0x1,20000,1,,,,,-5";
        let tokens = "token_address,symbol,name,chain,decimals\n0x1,USDC,USD Coin,eth,6";
        let data = dataset(&[("tokens", tokens), ("yields", text)]);
        let findings = &data.table("yields").unwrap().findings;
        let count = |says: &str| -> u64 {
            let counts = findings.counts();
            let told = counts.iter().filter(|count| count.reason.contains(says));
            told.map(|count| count.count).sum()
        };
        assert_eq!(
            [
                "not a fraction from 0 to 1",
                "the value is negative, which makes no sense",
                "the fee takes the whole deposit",
                "the amount is negative",
            ]
            .map(count),
            [1, 2, 1, 1]
        );
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
        let data = dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,USDC,USD Coin,eth",
            ),
            ("yields", text),
        ]);
        let kept: Vec<_> = data
            .yields()
            .iter()
            .map(|row| (row.pool.as_str(), row.protocol.as_deref()))
            .collect();
        assert_eq!(
            kept,
            [
                ("a", Some("first")),
                ("b", Some("second")),
                ("c", Some("first"))
            ]
        );
        let findings = &data.table("yields").unwrap().findings;
        assert_eq!(
            findings
                .counts()
                .iter()
                .filter(|count| count.reason.contains("same pool"))
                .map(|count| count.count)
                .sum::<u64>(),
            4
        );
    }

    #[test]
    fn gas_is_known_by_chain_and_derived_from_prices() {
        let gas = "chain,usd_per_100k_gas,gas_price_gwei,native_price_usd\neth,0.5,,\nbase,,2,3000\narb1,,2,";
        let data = dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,USDC,USD Coin,eth",
            ),
            ("gas", gas),
        ]);
        let usd = |chain: &str| {
            data.gas_of(&super::Chain::parse(chain).unwrap())
                .and_then(super::GasRow::usd)
        };
        assert_eq!(
            (usd("ethereum"), usd("arb"), usd("bsc")),
            (Some(0.5), None, None)
        );
        assert!((usd("base").unwrap() - 0.6).abs() < 1e-12);
    }
}
