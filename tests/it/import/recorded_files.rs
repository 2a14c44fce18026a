//! The recorded files in their sources' formats: imported, or refused with a remedy. Expected counts were computed by hand.

use super::{Desk, errors, taken};
use crate::shared::shared;

const WBTC: &str = "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599";
const ARB: &str = "0x912ce59144191c1204e64559fe8253a0e49e6548";
const STCELO: &str = "0xc668583dcbdc9ae6fa3ce46462758188adfdfc24";
const XRP: &str = "0x39fbbabf11738317a448031930706cd3e612e1b9";

/// File, format, token argument, table, new rows, repeated, left out.
type Sample = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    u64,
    u64,
    u64,
);

const FILES: &[Sample] = &[
    (
        "tokenlist_optimism.json",
        "token-list",
        None,
        "tokens",
        1071,
        1,
        96,
    ),
    (
        "etherscan-labels_tokens_meme.csv",
        "etherscan-tokens",
        None,
        "tokens",
        406,
        148,
        0,
    ),
    (
        "ethereum-etl_tokens.csv",
        "ethereum-etl-tokens",
        None,
        "tokens",
        1,
        0,
        0,
    ),
    (
        "binance-vision_UNIUSDT-30m-2023-02.csv",
        "binance-klines",
        None,
        "candles",
        1344,
        0,
        0,
    ),
    (
        "bybit_AAVEUSDT_1d.csv",
        "bybit",
        None,
        "candles",
        1646,
        1,
        0,
    ),
    (
        "coinmetrics_uni.csv",
        "coinmetrics",
        None,
        "holder_counts",
        497,
        0,
        1,
    ),
    (
        "cryptocompare_BTC-USD_days.parquet",
        "cryptocompare",
        Some(WBTC),
        "candles",
        5294,
        3,
        0,
    ),
    (
        "dune_stcelo-holders_2024-02-15.csv",
        "holders",
        Some(STCELO),
        "holders",
        373,
        0,
        0,
    ),
    (
        "ethereum-etl_token_transfers.csv",
        "ethereum-etl-transfers",
        None,
        "transfers",
        2,
        0,
        0,
    ),
    (
        "etherscan-api_txlist_TVS.json",
        "etherscan-txlist",
        None,
        "transfers",
        298,
        0,
        2,
    ),
    (
        "etherscan-labels_accounts_bridge.csv",
        "etherscan-accounts",
        None,
        "labels",
        166,
        0,
        0,
    ),
    (
        "etherscan_export-AvgGasPrice.csv",
        "etherscan-chart",
        None,
        "gas",
        1,
        0,
        1086,
    ),
    (
        "export-tokenholders-for-contract-0x1bBD79f1Ecb3f2cCC586A5E3A26eE1d1D2E1991f.csv",
        "etherscan-holders",
        None,
        "holders",
        338,
        0,
        0,
    ),
    (
        "freqtrade_XRP_USDT_USDT-1h-futures.json",
        "freqtrade-json",
        Some(XRP),
        "candles",
        100,
        0,
        0,
    ),
    (
        "python-binance_ARBUSDT_1h.csv",
        "python-binance",
        Some(ARB),
        "candles",
        6774,
        0,
        0,
    ),
];

#[test]
fn every_recorded_file_is_taken_or_refused_with_what_to_do() {
    let Some(raw) = shared("data/real/raw") else {
        return;
    };
    let desk = Desk::empty();
    for (file, format, token, table, new, repeated, left_out) in FILES {
        let path = format!("{raw}/{file}");
        if let Some(token) = token {
            let reason = desk.refuses(&[&path]);
            assert!(reason.contains("--token ADDRESS"), "{file}: {reason}");
            let report = desk.imports(&[&path, "--token", token]);
            assert_eq!(
                (
                    report["files"][0]["format"].as_str(),
                    taken(&report, 0, table)
                ),
                (Some(*format), [*new, 0, 0, *repeated, 0, *left_out]),
                "{file}"
            );
            continue;
        }
        // The user is asked for a token list's chain, and for an account dump's label.
        let said = said(format);
        if let Some(option) = said.first() {
            let reason = desk.refuses(&[&path]);
            assert!(
                reason.contains(option) && reason.contains("In dataset.toml: "),
                "{file}: {reason}"
            );
        }
        let report = desk.imports(&[&[path.as_str()], said].concat());
        let found = taken(&report, 0, table);
        assert_eq!(report["files"][0]["format"], *format, "{file}");
        // The token lists overlap, so only the total of the row outcomes is fixed.
        if *table == "tokens" {
            assert_eq!(
                (
                    found[0] + found[1] + found[2] + found[3],
                    found[4],
                    found[5]
                ),
                (
                    new + repeated
                        + if *file == "etherscan-labels_tokens_meme.csv" {
                            5
                        } else {
                            0
                        },
                    0,
                    *left_out
                ),
                "{file}: {found:?}"
            );
        } else {
            assert_eq!(found, [*new, 0, 0, *repeated, 0, *left_out], "{file}");
        }
    }
    let ether = format!("{raw}/etherscan_export-EtherPrice.csv");
    assert_eq!(
        taken(&desk.imports(&[&ether]), 0, "gas"),
        [0, 1, 0, 0, 0, 1086]
    );
    let reason = desk.refuses(&[&format!("{raw}/freqtrade_ETH_BTC-5m.feather")]);
    assert!(
        reason.contains("has prices of ETH in BTC, but candles must be in USD"),
        "{reason}"
    );
    let dataset = desk.dataset();
    assert_eq!(errors(&dataset), 0);
    let gas = dataset.table("gas").unwrap().frame();
    let cost = gas
        .column("usd_per_100k_gas")
        .unwrap()
        .f64()
        .unwrap()
        .get(0)
        .unwrap();
    assert!(
        (cost - 15.878_840_129 * 1e-4 * 448.84).abs() < 1e-9,
        "{cost}"
    );
    // Importing all again adds nothing.
    let before = super::files(&desk.data());
    for (file, format, token, table, ..) in FILES {
        let path = format!("{raw}/{file}");
        let token: Vec<&str> = token.iter().flat_map(|token| ["--token", token]).collect();
        let report = desk.imports(&[&[path.as_str()], &token[..], said(format)].concat());
        let [new, changed, ..] = taken(&report, 0, table);
        // Exceptions: two lists disagree about some tokens, and the gas price is combined with the coin's.
        if !["tokens", "gas"].contains(table) {
            assert_eq!((new, changed), (0, 0), "{file}");
        }
    }
    let differs: Vec<_> = super::files(&desk.data())
        .into_iter()
        .zip(before)
        .filter(|(after, before)| after != before)
        .map(|(after, _)| after.0)
        .collect();
    assert!(
        differs.iter().all(|path| path.ends_with("tokens.parquet")),
        "{differs:?}"
    );
}

/// Required arguments for files of this format.
fn said(format: &str) -> &'static [&'static str] {
    match format {
        "etherscan-tokens" | "ethereum-etl-tokens" => &["--chain", "eth"],
        "etherscan-accounts" => &["--label", "bridge"],
        _ => &[],
    }
}
