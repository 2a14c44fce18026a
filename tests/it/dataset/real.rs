//! The recorded sample data through `tests/real/dataset.toml`. The numbers were worked out from the files with another program.

use std::path::Path;

use tokendeck::dataset::{Dataset, address::Address, candles::Interval, findings::Severity, load::load, progress::Silent};

use super::UNI;
use crate::shared::shared;

fn real() -> Option<Dataset> {
    shared("data/real").map(|_| load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real")), &Silent).expect("the real data load"))
}

/// Table, rows, rows set aside, warnings.
const EXPECTED: &[(&str, usize, u64, u64)] = &[
    ("tokens", 8764, 0, 0),
    // 67,005 daily and 149,181 hourly; the 6,620 + 23,989 of native assets have no token.
    ("candles", 185_577, 30_609, 0),
    // 14,326 come in smallest units; the 2,005 of 0x1651… are of a token without decimals and stay without a balance.
    ("holders", 20_491, 0, 2_005),
    ("holder_counts", 19_781, 0, 0),
    // Without log_index rows have no key, so none is a repeat.
    ("transfers", 27_645, 0, 0),
    // 15,111 rows; 100 name an address twice in one category of one chain.
    ("labels", 15_011, 0, 100),
    ("dexes", 94, 0, 0),
    // The 94 rows of dexes list 169 fees; 21 list none (a note each).
    ("fee_tiers", 169, 0, 0),
    ("pools", 151, 0, 0),
    // 42 of ETH and 1 of USDT are mapped; 176 BTC, 9 SOL, 1 ZEC, 1 DOGE and 28 without an asset are set aside.
    ("posts", 43, 215, 0),
];

#[test]
fn every_table_of_the_real_data_has_the_rows_it_should() {
    let Some(dataset) = real() else { return };
    for (name, rows, bad, warnings) in EXPECTED {
        let table = dataset.table(name).expect("in the schema");
        assert!(table.loaded(), "{name}: {:?}", table.state);
        let found = (table.height(), table.rows_bad, table.findings.count(Severity::Warning));
        assert_eq!(found, (*rows, *bad, *warnings), "{name}");
        assert_eq!(table.findings.count(Severity::Error), *bad, "{name}");
    }
    let loaded: Vec<_> = dataset.tables.iter().filter(|table| table.loaded()).map(|table| table.schema.name).collect();
    assert_eq!(loaded.len(), EXPECTED.len(), "{loaded:?}");
}

#[test]
fn the_real_figures_arrive_unchanged() {
    let Some(dataset) = real() else { return };
    let uni = Address::parse(UNI).expect("an address");
    let candles = dataset.candles().of(&uni);
    let candles = candles.series();
    let sizes: Vec<_> = candles.iter().map(|(interval, candles)| (*interval, candles.len(), candles.close.last().copied())).collect();
    assert_eq!(sizes, [(Interval::HOUR, 23_988, Some(7.473)), (Interval::DAY, 1_445, Some(7.7))]);
    assert_eq!(candles[1].1.timestamp.last(), Some(&1_762_992_000_000));
    assert_eq!(dataset.holder_counts_of(&uni)[0].holders, Some(5));
    let tiers: Vec<_> = dataset
        .fee_tiers()
        .iter()
        .filter(|tier| tier.dex_id == "pancakeswap-v3" && tier.chain.as_ref().is_some_and(|chain| chain.as_str() == "eth"))
        .map(|tier| (tier.tier.as_deref().unwrap_or_default(), tier.fee))
        .collect();
    assert_eq!(tiers, [("0.01%", Some(0.0001)), ("0.05%", Some(0.0005)), ("0.25%", Some(0.0025)), ("1%", Some(0.01))]);
    let cdai = Address::parse("0x5d3a536e4d6dbd6114cc1ead35777bab948e3643").expect("an address");
    let pairs: Vec<_> = dataset.pools_of(&cdai).filter_map(|pool| pool.pair.as_deref()).collect();
    assert_eq!(pairs, ["cDAI/cUSDC/USDT", "cDAI/cUSDC"], "the pools 0x52ea… and 0xa2b4…");
    let usdt = Address::parse("0xdac17f958d2ee523a2206206994597c13d831ec7").expect("an address");
    let third = dataset.pools_of(&usdt).filter(|pool| pool.pair.as_deref() == Some("cDAI/cUSDC/USDT"));
    assert_eq!(third.map(|pool| pool.tokens.len()).collect::<Vec<_>>(), [3], "the third token of 0x52ea…");
    assert_eq!(dataset.posts_newest(|_, _| Ok::<_, std::io::Error>(())).unwrap().len(), 43);
}

#[test]
fn the_same_files_have_one_identity() {
    let (Some(first), Some(second)) = (real(), real()) else { return };
    assert_eq!(first.identity, second.identity);
    assert_ne!(first.identity, [0; 32]);
}
