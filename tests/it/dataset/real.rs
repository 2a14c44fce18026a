//! The recorded sample data through `tests/real/dataset.toml`, and a few synthetic rows in the same columns for machines without them. The
//! expected numbers were computed from the files with another program.

use std::{fs, path::Path};

use load::{Dataset, loader::load};
use model::{address::Address, candles::Interval, findings::Severity, progress::NoProgress};

use super::{UNI, folder};
use crate::shared::shared;

fn real() -> Option<Dataset> {
    shared("data/real").map(|_| {
        load(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real")),
            &NoProgress,
        )
        .expect("the real data load")
    })
}

/// Table, rows, rejected rows, warnings.
const EXPECTED: &[(&str, usize, u64, u64)] = &[
    // 28 more share an address with another token: contracts of a chain's own, and of Aave on several chains.
    ("tokens", 8736, 0, 28),
    // There are 67,005 daily and 149,181 hourly rows; the 6,620 + 23,989 of native assets have no token.
    ("candles", 185_577, 30_609, 0),
    // Of these, 14,326 come in smallest units; the 2,005 of 0x1651… are of a token without decimals and stay without a balance.
    ("holders", 20_491, 0, 2_005),
    ("holder_counts", 19_781, 0, 0),
    // Without log_index rows have no key, so none is a repeat.
    ("transfers", 27_645, 0, 0),
    // Of 15,111 rows, 100 name an address twice in one category of one chain.
    ("labels", 15_011, 0, 100),
    ("dexes", 94, 0, 0),
    // The 94 rows of dexes list 169 fees; 21 list none (a note each).
    ("fee_tiers", 169, 0, 0),
    ("pools", 151, 0, 0),
    // Mapped are 42 of ETH and 1 of USDT; 176 BTC, 9 SOL, 1 ZEC, 1 DOGE and 28 without an asset are rejected.
    ("posts", 43, 215, 0),
];

/// A few rows of each file, with its irregularities: assets without a token, tokens without decimals, one label twice.
const SAMPLE: &[(&str, &str)] = &[
    (
        "tokens.csv",
        "chain,chain_id,address,symbol,name,decimals,price_usd,market_cap_usd,holders\n\
         ethereum,1,0x0000000000000000000000000000000000000000,ETH,Ether,18,,,\n\
         ethereum,1,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,18,7.5,5e9,381\n\
         ethereum,1,0xdac17f958d2ee523a2206206994597c13d831ec7,USDT,Tether,6,1,,\n\
         ethereum,1,0x1651c2cbeaef244eb302be1d17caa87abccccddd,0x1651,Without Decimals,,,,\n",
    ),
    (
        "candles_daily.csv",
        "chain,token,symbol,ts,interval,open,high,low,close,volume\n\
         native,,BTC,2020-11-15T00:00:00Z,1d,16060,16149.5,15769,15939.5,9541.4\n\
         ethereum,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,2025-11-12T00:00:00Z,1d,8,9,7,7.5,100\n\
         ethereum,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,2025-11-13T00:00:00Z,1d,7.5,8,7,7.7,100\n",
    ),
    (
        "candles_hourly.csv",
        "chain,token,symbol,ts,interval,open,high,low,close,volume\n\
         ethereum,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,2025-11-13T10:00:00Z,1h,7.5,8,7,7.473,100\n",
    ),
    (
        "holder_balances.csv",
        "chain,token,symbol,holder,balance_raw,balance,as_of\n\
         ethereum,0x1651c2cbeaef244eb302be1d17caa87abccccddd,0x1651,0xc610bce255811a9a1b2c5702b892d430cbd05ac9,100000000000000000000,,2020-08-05\n\
         ethereum,0xdac17f958d2ee523a2206206994597c13d831ec7,USDT,0xad4b20874c75ae37764103886c679025cf6ba85d,2500000,,2020-08-05\n\
         ethereum,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,0xad4b20874c75ae37764103886c679025cf6ba85d,,1.5,2020-08-05\n",
    ),
    (
        "holder_counts.csv",
        "chain,token,symbol,date,holders\nethereum,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,2020-09-14,5\n",
    ),
    (
        "transfers.csv",
        "chain,token,symbol,block,ts,tx_hash,tx_index,from,to,amount_raw,amount,method\n\
         ethereum,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,4171839,2017-08-18T04:07:28Z,\
         0x114e5db5ccdcdb8832af13b3373ba218a8232271e7f3a7d36ae15f7301303bfd,29,0xccf7d9acf9ce815d9a351f0efd5ae1e50366df2e,\
         0x5ee74272863edadec044bd07cb8219aee138acc2,100000000,10000,transfer\n",
    ),
    (
        "labels.csv",
        "chain,chain_id,address,category,label,name,native_balance,txn_count\n\
         ethereum,1,0x011b6e24ffb0b5f5fcc564cf4183c5bbbc96d515,bridge,arbitrum,Arbitrum: Old Bridge,0.0,50\n\
         ethereum,1,0x011b6e24ffb0b5f5fcc564cf4183c5bbbc96d515,bridge,bridge,Old Bridge,0.0,50\n",
    ),
    (
        "dexes.csv",
        "id,name,version,chain,chain_id,router,factory,fee_tiers_ppm\n\
         pancakeswap-v3,PancakeSwap,v3,ethereum,1,0xeff92a263d31888d860bd50809a8d171709b7b1c,0x1097053fd2ea711dad45caccc45eff7548fcb362,100;2500\n\
         curve,Curve,,ethereum,1,0xeff92a263d31888d860bd50809a8d171709b7b1c,0x1097053fd2ea711dad45caccc45eff7548fcb362,\n",
    ),
    (
        "pools.csv",
        "dex,chain,chain_id,address,pair,tokens,liquidity_usd,volume24h_usd\n\
         curve,ethereum,1,0x52ea46506b9cc5ef470c5bf89f17dc28bb35d85c,UNI/ETH/USDT,0x1f9840a85d5af5bf1d1762f925bdaddc4201f984;\
         0x0000000000000000000000000000000000000000;0xdac17f958d2ee523a2206206994597c13d831ec7,1000,50\n",
    ),
    (
        "posts.ndjson",
        "{\"id\":\"1\",\"token\":\"ETH\",\"title\":\"of ether\",\"published_at\":\"2025-11-07T07:20:54Z\",\"impressions\":null,\"engagement\":5}\n\
         {\"id\":\"2\",\"token\":\"BTC\",\"title\":\"of no token\",\"published_at\":\"2025-11-07T08:20:54Z\",\"impressions\":null,\"engagement\":6}\n\
         {\"id\":\"3\",\"token\":\"USDT\",\"title\":\"of tether\",\"published_at\":\"2025-11-07T09:20:54Z\",\"impressions\":7,\"engagement\":8}\n",
    ),
];

/// Like `EXPECTED`, for the sample.
const EXPECTED_OF_SAMPLE: &[(&str, usize, u64, u64)] = &[
    ("tokens", 4, 0, 0),
    ("candles", 3, 1, 0),
    ("holders", 3, 0, 1),
    ("holder_counts", 1, 0, 0),
    ("transfers", 1, 0, 0),
    ("labels", 1, 0, 1),
    ("dexes", 2, 0, 0),
    ("fee_tiers", 2, 0, 0),
    ("pools", 1, 0, 0),
    ("posts", 2, 1, 0),
];

fn sample() -> (tempfile::TempDir, Dataset) {
    let toml = include_str!("../../real/dataset.toml")
        .replace("../../../shared/data/real/", "")
        .replace(".parquet", ".csv");
    let place = folder(
        &SAMPLE
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect::<Vec<_>>(),
    );
    fs::write(place.path().join("dataset.toml"), toml).expect("written");
    let dataset = load(place.path(), &NoProgress).expect("the sample loads");
    (place, dataset)
}

fn assert_rows(dataset: &Dataset, expected: &[(&str, usize, u64, u64)]) {
    for (name, rows, bad, warnings) in expected {
        let table = dataset.table(name).expect("in the schema");
        assert!(table.loaded(), "{name}: {:?}", table.state);
        let found = (
            table.height(),
            table.rows_bad,
            table.findings.count(Severity::Warning),
        );
        assert_eq!(
            found,
            (*rows, *bad, *warnings),
            "{name}: {:#?}",
            table.findings.kept()
        );
        assert_eq!(table.findings.count(Severity::Error), *bad, "{name}");
    }
    let loaded: Vec<_> = dataset
        .tables
        .iter()
        .filter(|table| table.loaded())
        .map(|table| table.schema.name)
        .collect();
    assert_eq!(loaded.len(), expected.len(), "{loaded:?}");
}

#[test]
fn a_sample_of_the_real_data_has_the_rows_and_figures_it_should() {
    let (place, dataset) = sample();
    assert_rows(&dataset, EXPECTED_OF_SAMPLE);
    let [uni, usdt, other] = [
        UNI,
        "0xdac17f958d2ee523a2206206994597c13d831ec7",
        "0x1651c2cbeaef244eb302be1d17caa87abccccddd",
    ]
    .map(|text| Address::parse(text).expect("an address"));
    let candles = dataset.candles().of(&uni);
    let sizes: Vec<_> = candles
        .series()
        .iter()
        .map(|(interval, candles)| (*interval, candles.len(), candles.close.last().copied()))
        .collect();
    assert_eq!(
        sizes,
        [
            (Interval::HOUR, 1, Some(7.473)),
            (Interval::DAY, 2, Some(7.7))
        ]
    );
    let balance = |token: &Address| dataset.holders_of(token).get(0).and_then(|row| row.balance);
    assert_eq!(
        (balance(&uni), balance(&usdt), balance(&other)),
        (Some(1.5), Some(2.5), None),
        "whole, in smallest units, of no decimals"
    );
    assert_eq!(
        dataset
            .fee_tiers()
            .iter()
            .map(|tier| tier.fee)
            .collect::<Vec<_>>(),
        [Some(0.0001), Some(0.0025)]
    );
    assert_eq!(
        dataset
            .pools_of(&usdt)
            .map(|pool| pool.tokens.len())
            .collect::<Vec<_>>(),
        [3],
        "the third token of the pool"
    );
    assert_eq!(
        load(place.path(), &NoProgress)
            .expect("it loads again")
            .identity,
        dataset.identity
    );
    assert_ne!(dataset.identity, [0; 32]);
}

#[test]
fn every_table_of_the_real_data_has_the_rows_it_should() {
    let Some(dataset) = real() else { return };
    assert_rows(&dataset, EXPECTED);
}

#[test]
fn the_real_figures_arrive_unchanged() {
    let Some(dataset) = real() else { return };
    let uni = Address::parse(UNI).expect("an address");
    let candles = dataset.candles().of(&uni);
    let candles = candles.series();
    let sizes: Vec<_> = candles
        .iter()
        .map(|(interval, candles)| (*interval, candles.len(), candles.close.last().copied()))
        .collect();
    assert_eq!(
        sizes,
        [
            (Interval::HOUR, 23_988, Some(7.473)),
            (Interval::DAY, 1_445, Some(7.7))
        ]
    );
    assert_eq!(candles[1].1.timestamp.last(), Some(&1_762_992_000_000));
    assert_eq!(
        dataset
            .holder_counts_of(&uni)
            .iter()
            .next()
            .and_then(|count| count.holders),
        Some(5)
    );
    let tiers: Vec<_> = dataset
        .fee_tiers()
        .iter()
        .filter(|tier| {
            tier.dex_id == "pancakeswap-v3"
                && tier
                    .chain
                    .as_ref()
                    .is_some_and(|chain| chain.as_str() == "eth")
        })
        .map(|tier| (tier.tier.as_deref().unwrap_or_default(), tier.fee))
        .collect();
    assert_eq!(
        tiers,
        [
            ("0.01%", Some(0.0001)),
            ("0.05%", Some(0.0005)),
            ("0.25%", Some(0.0025)),
            ("1%", Some(0.01))
        ]
    );
    let cdai = Address::parse("0x5d3a536e4d6dbd6114cc1ead35777bab948e3643").expect("an address");
    let pairs: Vec<_> = dataset
        .pools_of(&cdai)
        .filter_map(|pool| pool.pair.as_deref())
        .collect();
    assert_eq!(
        pairs,
        ["cDAI/cUSDC/USDT", "cDAI/cUSDC"],
        "the pools 0x52ea… and 0xa2b4…"
    );
    let usdt = Address::parse("0xdac17f958d2ee523a2206206994597c13d831ec7").expect("an address");
    let third = dataset
        .pools_of(&usdt)
        .filter(|pool| pool.pair.as_deref() == Some("cDAI/cUSDC/USDT"));
    assert_eq!(
        third.map(|pool| pool.tokens.len()).collect::<Vec<_>>(),
        [3],
        "the third token of 0x52ea…"
    );
    assert_eq!(
        dataset
            .posts_newest(|_, _| Ok::<_, std::io::Error>(()))
            .unwrap()
            .len(),
        43
    );
}
